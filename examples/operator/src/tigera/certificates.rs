//! The certificate authority and the pairs it signs, in the operator's own namespace.
//!
//! What is there is kept: a copied authority means that nothing is issued anew after a switch.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tracing::info;

use super::objects::{Cluster, installation as kind};
use crate::object::{self, Error};

/// Name of the Secret with the authority.
pub const AUTHORITY: &str = "tigera-ca-private";
const PAIRS: [&str; 2] = ["node-certs", "typha-certs"];
/// Annotation of a pair: which authority signed it.
const ISSUER: &str = "certificates.operator.tigera.io/issuer";

/// Makes the authority and the pairs where they are missing, and adopts them where they are there. Gives a hash of the
/// authority.
pub async fn ensure(cluster: &Cluster, installation: &DynamicObject) -> Result<String, Error> {
    let api = Api::<Secret>::namespaced(cluster.client.clone(), &cluster.settings.namespace);
    let authority = match api.get_opt(AUTHORITY).await? {
        Some(secret) => secret,
        None => create(&api, AUTHORITY, new_authority()?, None).await?,
    };
    adopt(&api, &authority, installation).await?;
    let hash = hash(&authority);
    for name in PAIRS {
        let pair = match api.get_opt(name).await? {
            Some(pair) if pair.annotations().get(ISSUER).is_none_or(|issuer| *issuer == hash) => pair,
            Some(_) => {
                api.delete(name, &kube::api::DeleteParams::default()).await?;
                create(&api, name, new_pair(name, &authority)?, Some(&hash)).await?
            }
            None => create(&api, name, new_pair(name, &authority)?, Some(&hash)).await?,
        };
        adopt(&api, &pair, installation).await?;
    }
    Ok(hash)
}

async fn create(
    api: &Api<Secret>,
    name: &str,
    data: BTreeMap<String, ByteString>,
    issuer: Option<&str>,
) -> Result<Secret, Error> {
    let mut secret = Secret { data: Some(data), ..Secret::default() };
    secret.metadata.name = Some(name.to_owned());
    secret.metadata.annotations = issuer.map(|issuer| [(ISSUER.to_owned(), issuer.to_owned())].into());
    info!("issuing {name}");
    Ok(api.create(&PostParams::default(), &secret).await?)
}

/// Makes a Secret, perhaps a copy that somebody brought, go with the Installation.
async fn adopt(api: &Api<Secret>, secret: &Secret, installation: &DynamicObject) -> Result<(), Error> {
    if !secret.owner_references().is_empty() {
        return Ok(());
    }
    let owner = object::controller_of(&kind(), installation);
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
    api.patch(&secret.name_any(), &PatchParams::default(), &patch).await?;
    Ok(())
}

fn hash(secret: &Secret) -> String {
    let certificate = secret.data.as_ref().and_then(|data| data.get("tls.crt"));
    object::hex(&Sha256::digest(certificate.map(|bytes| bytes.0.as_slice()).unwrap_or_default()))
}

fn new_authority() -> Result<BTreeMap<String, ByteString>, Error> {
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "tigera-operator-signer");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok(pair(certificate.pem(), key.serialize_pem()))
}

fn new_pair(name: &str, authority: &Secret) -> Result<BTreeMap<String, ByteString>, Error> {
    let part = |key: &str| {
        let bytes = authority.data.as_ref().and_then(|data| data.get(key));
        String::from_utf8_lossy(bytes.map(|bytes| bytes.0.as_slice()).unwrap_or_default()).into_owned()
    };
    let signer = KeyPair::from_pem(&part("tls.key")).map_err(failed)?;
    let issuer = Issuer::from_ca_cert_pem(&part("tls.crt"), signer).map_err(failed)?;
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::new([name.to_owned()]).map_err(failed)?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
    Ok(pair(certificate.pem(), key.serialize_pem()))
}

fn pair(certificate: String, key: String) -> BTreeMap<String, ByteString> {
    [("tls.crt", certificate), ("tls.key", key)]
        .map(|(name, pem)| (name.to_owned(), ByteString(pem.into_bytes())))
        .into()
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of map_err")]
fn failed(error: rcgen::Error) -> Error {
    Error::Object(format!("cannot issue a certificate: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_signs_pairs() {
        let authority = Secret { data: Some(new_authority().expect("an authority")), ..Secret::default() };
        let pair = new_pair("node-certs", &authority).expect("a pair");
        assert!(pair["tls.crt"].0.starts_with(b"-----BEGIN CERTIFICATE-----"));
        assert_eq!(hash(&authority).len(), 64);
    }
}
