//! Sources from http(s) addresses.

use std::time::Duration;

use http::{Request, header};
use http_body_util::{BodyExt, Limited};
use kube::{client::Body, config::Config};
use url::Url;

use crate::{
    error::{Error, Result},
    settings::Proxies,
};

use super::{
    kubeconfig::{chain, proxy_for},
    stack,
};

/// Redirects to follow.
const HOPS: usize = 5;
/// A larger source could not be stored in a cluster anyway.
const LARGEST: usize = 16 << 20;
const USER_AGENT: &str = concat!("kctl/", env!("CARGO_PKG_VERSION"));

/// Downloads a source, without any credentials; `limit` is the time it may take, zero for no limit.
///
/// # Errors
/// Not an address, or an answer other than 200 (exit 2); no answer (exit 1, or 6 when it took too long).
pub async fn fetch(address: &str, proxies: &Proxies, limit: Duration) -> Result<Vec<u8>> {
    let url = Url::parse(address).map_err(|error| {
        Error::usage(format!("{address} is not an address: {error}")).hint("https://HOST/PATH/NAME.yaml")
    })?;
    if limit.is_zero() {
        return follow(url, proxies).await;
    }
    tokio::time::timeout(limit, follow(url, proxies)).await.unwrap_or_else(|_| {
        Err(Error::deadline(format!("no answer from {address} within {}s", limit.as_secs_f32()))
            .hint("raise the limit with --request-timeout"))
    })
}

async fn follow(mut url: Url, proxies: &Proxies) -> Result<Vec<u8>> {
    let first = url.clone();
    for _ in 0..=HOPS {
        match get(&url, proxies).await? {
            Answer::Content(bytes) => return Ok(bytes),
            Answer::Elsewhere(next) if url.scheme() == "https" && next.scheme() != "https" => {
                return Err(Error::usage(format!("{url} leads to {next}, which is not encrypted"))
                    .hint(format!("look at it, and if it is right: kctl run {next}")));
            }
            Answer::Elsewhere(next) => url = next,
        }
    }
    Err(Error::usage(format!("{first} leads from one address to another without end"))
        .hint("download it, and run the file"))
}

enum Answer {
    Content(Vec<u8>),
    Elsewhere(Url),
}

async fn get(url: &Url, proxies: &Proxies) -> Result<Answer> {
    let failed = |what: String| {
        Error::failed("Unreachable", format!("cannot read {url}: {what}")).hint("download it, and run the file")
    };
    let refused = |what: String| {
        Error::usage(format!("cannot read {url}: {what}"))
            .hint("check the address; it must be readable without a login")
    };
    let origin = url.origin().ascii_serialization().parse::<http::Uri>().map_err(|error| refused(error.to_string()))?;
    let proxy = proxy_for(&origin, None, proxies)?;
    let client = stack::client(&Config::new(origin), proxy)?;
    let request = Request::get(&url[url::Position::BeforePath..url::Position::AfterQuery])
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::ACCEPT, "*/*")
        .body(Body::empty())
        .map_err(|error| refused(error.to_string()))?;
    let response = client.send(request).await.map_err(|error| failed(chain(&error)))?;
    let status = response.status();
    if status.is_redirection() {
        let to = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let next = to.and_then(|to| url.join(to).ok()).filter(|next| matches!(next.scheme(), "http" | "https"));
        return next.map(Answer::Elsewhere).ok_or_else(|| refused(format!("{status} without an address to go to")));
    }
    if !status.is_success() {
        return Err(refused(status.to_string()));
    }
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    let body = body.map_err(|error| failed(error.to_string()))?;
    Ok(Answer::Content(body.to_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::error::Exit;

    /// Answers each request with the head and body for its path, else with 404.
    async fn server(answers: &'static [(&'static str, &'static str, &'static str)]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let count = stream.read(&mut request).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&request[..count]);
                let path = text.split(' ').nth(1).unwrap_or_default();
                let known = answers.iter().find(|(known, ..)| *known == path);
                let (head, body) = known.map_or(("404 Not Found", ""), |(_, head, body)| (*head, *body));
                let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).await.expect("the caller listens");
            }
        });
        address
    }

    async fn get(address: &str) -> Result<String> {
        let bytes = fetch(address, &Proxies::default(), Duration::from_secs(10)).await?;
        Ok(String::from_utf8(bytes).expect("a text"))
    }

    #[tokio::test]
    async fn content_redirects_and_failures() {
        let base = server(&[
            ("/a.yaml?x=1", "200 OK", "- from: x"),
            ("/old/a.yaml", "302 Found\r\nlocation: ../a.yaml?x=1", ""),
            ("/round", "302 Found\r\nlocation: /round", ""),
            ("/nowhere", "302 Found\r\nlocation: ftp://x/", ""),
        ])
        .await;
        assert_eq!(get(&format!("{base}/a.yaml?x=1")).await.expect("there"), "- from: x");
        assert_eq!(get(&format!("{base}/old/a.yaml#part")).await.expect("there"), "- from: x");
        for (path, exit, says) in [
            ("/round", Exit::Usage, "without end"),
            ("/nowhere", Exit::Usage, "without an address"),
            ("/none.yaml", Exit::Usage, "404 Not Found"),
        ] {
            let error = get(&format!("{base}{path}")).await.expect_err(path);
            assert_eq!(error.exit(), exit);
            assert!(error.message().contains(says), "{error}");
            assert_eq!(error.all_hints().len(), 1);
        }
        let error = get("http://127.0.0.1:1/a.yaml").await.expect_err("nobody there");
        assert_eq!(error.exit(), Exit::Failed);
        let error = get("http://").await.expect_err("no address");
        assert_eq!(error.exit(), Exit::Usage);
    }
}
