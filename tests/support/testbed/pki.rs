//! A certificate authority for one cluster. Keys are made here because it takes a millisecond; the API server would take
//! half a second for its own, and client certificates could not be signed.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use sha2::{Digest as _, Sha256};

/// A certificate and its private key, both PEM.
pub struct Certificate {
    pub certificate: String,
    pub key: String,
}

/// Whether a client certificate is to be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    Valid,
    Expired,
}

/// The cluster's certificate authority.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self, Error> {
        let mut params = named("testbed-ca", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        CertifiedIssuer::self_signed(params, KeyPair::generate()?).map(Self)
    }

    /// The authority's certificate, PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for the API server on loopback.
    pub fn server(&self) -> Result<Certificate, Error> {
        let mut params = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// A client certificate: the common name is the user, the organisation is the group.
    pub fn client(&self, user: &str, group: &str, validity: Validity) -> Result<Certificate, Error> {
        let mut params = named(user, Some(group));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if validity == Validity::Expired {
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<Certificate, Error> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        Ok(Certificate { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn named(common_name: &str, organisation: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organisation) = organisation {
        params.distinguished_name.push(DnType::OrganizationName, organisation);
    }
    params
}

/// A pair of keys for service account tokens: private and public, PEM.
pub fn signing_keys() -> Result<(String, String), Error> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

/// A string nobody can guess.
pub fn secret() -> Result<String, Error> {
    let digest = Sha256::digest(KeyPair::generate()?.serialize_der());
    Ok(BASE64_URL_SAFE_NO_PAD.encode(digest))
}
