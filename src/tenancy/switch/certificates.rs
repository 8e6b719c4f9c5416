//! What the certificates of a copy tell: whether the operator will sign them anew, and soon.

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use x509_parser::{
    extensions::{GeneralName, ParsedExtension},
    pem::Pem,
    prelude::X509Certificate,
};

use crate::contracts::tigera;

use super::Finding;

/// The operator rotates a certificate this long before its end.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Keys that hold a certificate, newest convention first.
const KEYS: [&str; 3] = ["tls.crt", "cert.crt", "managed-cluster.crt"];

/// What is of interest in a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Key id of the issuer.
    pub authority: Option<Vec<u8>>,
    /// Key id of its own.
    pub subject: Option<Vec<u8>>,
    /// DNS names it is for.
    pub names: Vec<String>,
    /// When it ends.
    pub ends: Option<Timestamp>,
}

/// The first certificate of a Secret; `None` when it holds none that can be read.
pub fn of_secret(secret: &Value) -> Option<Certificate> {
    let data = secret.get("data")?;
    let text = KEYS.iter().find_map(|key| data.get(*key)?.as_str())?;
    parse(&BASE64_STANDARD.decode(text).ok()?)
}

/// The first certificate of a PEM text.
pub fn parse(pem: &[u8]) -> Option<Certificate> {
    let pem = Pem::iter_from_buffer(pem).flatten().find(|block| block.label == "CERTIFICATE")?;
    let certificate = pem.parse_x509().ok()?;
    Some(read(&certificate))
}

fn read(certificate: &X509Certificate<'_>) -> Certificate {
    let mut out = Certificate {
        authority: None,
        subject: None,
        names: Vec::new(),
        ends: Timestamp::from_second(certificate.validity().not_after.timestamp()).ok(),
    };
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(found) => {
                out.authority = found.key_identifier.as_ref().map(|id| id.0.to_vec());
            }
            ParsedExtension::SubjectKeyIdentifier(found) => out.subject = Some(found.0.to_vec()),
            ParsedExtension::SubjectAlternativeName(found) => {
                out.names.extend(found.general_names.iter().filter_map(|name| match name {
                    GeneralName::DNSName(name) => Some((*name).to_owned()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    out
}

/// What the user should know about a pair before it is copied out of namespace `from`.
pub fn judge(name: &str, pair: &Certificate, ca: Option<&Certificate>, from: &str, now: Timestamp) -> Vec<Finding> {
    let mut found = Vec::new();
    let issuer = ca.and_then(|ca| ca.subject.as_ref());
    if name != tigera::CA
        && let (Some(authority), Some(issuer)) = (&pair.authority, issuer)
        && authority != issuer
    {
        found.push(Finding::warn(
            "OtherAuthority",
            format!(
                "secret/{name} was not signed by the CA that is copied; unless it is user-supplied, the operator issues it anew and its pods restart"
            ),
        ));
    }
    let inside = |dns: &&String| dns.split('.').nth(1) == Some(from) || dns.split('.').nth(2) == Some(from);
    if let Some(dns) = pair.names.iter().find(inside) {
        found.push(Finding::warn(
            "NameCarriesNamespace",
            format!("the certificate in secret/{name} is for {dns}, a name in namespace {from}: it will not fit in another namespace"),
        ));
    }
    match pair.ends {
        Some(ends) if ends <= now => found.push(Finding::warn(
            "CertificateExpired",
            format!("the certificate in secret/{name} ended on {}", ends.strftime("%Y-%m-%d")),
        )),
        Some(ends) if ends.duration_since(now) < SOON => found.push(Finding::warn(
            "CertificateEndsSoon",
            format!(
                "the certificate in secret/{name} ends on {}: the operator renews it within 30 days of its end, which restarts pods and will look like the switch's fault",
                ends.strftime("%Y-%m-%d")
            ),
        )),
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

    use super::*;

    fn issuer() -> (Certificate, Issuer<'static, KeyPair>) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(2036, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        let read = parse(certificate.pem().as_bytes()).expect("a certificate");
        (read, Issuer::new(params, key))
    }

    fn pair(issuer: &Issuer<'static, KeyPair>, dns: &str, year: i32) -> Certificate {
        let mut params = CertificateParams::new(vec![dns.to_owned()]).expect("a name");
        params.use_authority_key_identifier_extension = true;
        params.not_after = date_time_ymd(year, 1, 10);
        let key = KeyPair::generate().expect("a key");
        let pem = params.signed_by(&key, issuer).expect("signed").pem();
        let secret = serde_json::json!({"data": {"tls.crt": BASE64_STANDARD.encode(pem)}});
        of_secret(&secret).expect("a certificate")
    }

    #[test]
    fn pairs_are_judged_by_issuer_name_and_end() {
        let ((ca, signer), (other, _)) = (issuer(), issuer());
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().expect("a time");
        let good = pair(&signer, "typha-server", 2032);
        let reasons = |pair: &Certificate, ca: &Certificate| {
            judge("typha-certs", pair, Some(ca), "old", now).iter().map(|found| found.reason).collect::<Vec<_>>()
        };
        assert_eq!(reasons(&good, &ca), Vec::<&str>::new());
        assert_eq!(reasons(&good, &other), ["OtherAuthority"]);
        assert_eq!(reasons(&pair(&signer, "metrics.old.svc", 2032), &ca), ["NameCarriesNamespace"]);
        assert_eq!(reasons(&pair(&signer, "typha-server", 2030), &ca), ["CertificateEndsSoon"]);
        assert_eq!(reasons(&pair(&signer, "typha-server", 2029), &ca), ["CertificateExpired"]);
    }

    #[test]
    fn what_is_no_certificate_tells_nothing() {
        assert_eq!(of_secret(&serde_json::json!({"data": {"tls.crt": "bm9uZQ=="}})), None);
        assert_eq!(of_secret(&serde_json::json!({"data": {"password": "bm9uZQ=="}})), None);
        assert_eq!(of_secret(&serde_json::json!({})), None);
    }
}
