//! The HTTP stack below the client.
//!
//! kube's own leaves Nagle's algorithm on, which costs some 40 ms on each new TLS connection, and retries in silence.

use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, Write};
use hyper_util::{
    client::{
        legacy::{
            Client,
            connect::{
                Connection, HttpConnector,
                proxy::{SocksV5, Tunnel},
            },
        },
        proxy::matcher::Intercept,
    },
    rt::TokioExecutor,
};
use kube::{
    client::{Body, ConfigExt},
    config::Config,
};
use tower::{BoxError, Service, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

use crate::error::{Error, Result};

use super::kubeconfig::chain;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client for `config`, through `proxy` where one is given.
pub(super) fn client(config: &Config, proxy: Option<Intercept>) -> Result<kube::Client> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let Some(proxy) = proxy else { return over(config, tcp) };
    match proxy.uri().scheme_str() {
        Some("socks5" | "socks5h") => {
            let socks = SocksV5::new(proxy.uri().clone(), tcp);
            match proxy.raw_auth() {
                Some((user, password)) => over(config, socks.with_auth(user.to_owned(), password.to_owned())),
                None => over(config, socks),
            }
        }
        Some("https") => {
            let tls = config.rustls_https_connector_with_connector(tcp).map_err(|error| unusable(&error))?;
            over(config, tunnel(&proxy, tls))
        }
        _ => over(config, tunnel(&proxy, tcp)),
    }
}

fn tunnel<C>(proxy: &Intercept, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri().clone(), connector);
    match proxy.basic_auth() {
        Some(header) => tunnel.with_auth(header.clone()),
        None => tunnel,
    }
}

fn over<C>(config: &Config, connector: C) -> Result<kube::Client>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let https = config.rustls_https_connector_with_connector(connector).map_err(|error| unusable(&error))?;
    let http: Client<_, Body> = Client::builder(TokioExecutor::new()).build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(DecompressionLayer::new().gzip(!config.disable_compression))
        .option_layer(config.auth_layer().map_err(|error| unusable(&error))?)
        .layer(config.extra_headers_layer().map_err(|error| unusable(&error))?)
        .map_err(BoxError::from)
        .service(http);
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

fn unusable(error: &kube::Error) -> Error {
    Error::usage(format!("the kubeconfig cannot be used: {}", chain(error)))
}
