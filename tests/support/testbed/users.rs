//! Who may talk to the API server, and the kubeconfig files that let them.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::pki::Certificate;

/// The group that may do everything.
pub const MASTERS: &str = "system:masters";

/// Rows of the token file that tests can draw, per cluster.
const ADMINS: usize = 300;
const TENANTS: usize = 600;

/// One row of the token file.
#[derive(Clone, Debug)]
pub struct Account {
    pub token: String,
    pub name: String,
    pub group: String,
}

impl Account {
    fn new(secret: &str, name: &str, group: &str) -> Self {
        Self { token: format!("{secret}.{name}"), name: name.into(), group: group.into() }
    }

    /// The row: token, user, uid, groups.
    pub fn row(&self) -> String {
        format!("{},{name},uid-{name},\"{}\"\n", self.token, self.group, name = self.name)
    }
}

/// All accounts of a cluster. The API server reads the token file only at its start, so they exist beforehand.
pub struct Accounts {
    /// The harness itself, the controller manager, the scheduler and kwok.
    pub own: [Account; 4],
    /// Each may do everything; a test draws its own to find its requests in the audit log.
    pub admins: Vec<Account>,
    /// Each may do nothing but ask what it may do.
    pub tenants: Vec<Account>,
}

impl Accounts {
    /// Accounts whose tokens contain `secret`.
    pub fn new(secret: &str) -> Self {
        let own = ["testbed", "system:kube-controller-manager", "system:kube-scheduler", "kwok"];
        Self {
            own: own.map(|name| Account::new(secret, name, MASTERS)),
            admins: (1..=ADMINS).map(|n| Account::new(secret, &format!("admin-{n:03}"), MASTERS)).collect(),
            tenants: (1..=TENANTS)
                .map(|n| Account::new(secret, &format!("user-{n:03}"), &format!("group-{n:03}")))
                .collect(),
        }
    }

    /// Every account, the harness's first.
    pub fn all(&self) -> Vec<Account> {
        self.own.iter().chain(&self.admins).chain(&self.tenants).cloned().collect()
    }
}

/// Where an API server listens and whom to trust.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub server: String,
    /// The authority's certificate, PEM.
    pub authority: String,
}

impl Endpoint {
    /// A kubeconfig with one context; `credentials` is what stands under `user:`.
    pub fn kubeconfig(&self, context: &str, credentials: &Value, namespace: &str) -> Value {
        let authority = BASE64_STANDARD.encode(&self.authority);
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context,
            "contexts": [{"name": context, "context": {"cluster": "testbed", "user": context, "namespace": namespace}}],
            "clusters": [{"name": "testbed", "cluster": {"server": self.server, "certificate-authority-data": authority}}],
            "users": [{"name": context, "user": credentials}],
        })
    }

    /// Writes such a kubeconfig to `path`.
    pub fn write_kubeconfig(&self, path: &Path, context: &str, credentials: &Value, namespace: &str) {
        let config = self.kubeconfig(context, credentials, namespace);
        let text = serde_saphyr::to_string(&config).expect("a kubeconfig is plain data");
        fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

/// Somebody with a kubeconfig.
#[derive(Clone, Debug)]
pub struct User {
    /// The name the API server knows, as it stands in its messages and in role bindings.
    pub name: String,
    /// The group the user is in, `system:masters` for an admin.
    pub group: String,
    /// The bearer token, empty for a user with a certificate.
    pub token: String,
    /// The kubeconfig file.
    pub kubeconfig: PathBuf,
    pub(super) credentials: Value,
    pub(super) label: String,
}

impl User {
    pub(super) fn with_token(account: &Account, label: &str) -> Self {
        let credentials = json!({"token": account.token});
        Self { token: account.token.clone(), ..Self::new(&account.name, &account.group, label, credentials) }
    }

    pub(super) fn with_certificate(name: &str, group: &str, certificate: &Certificate) -> Self {
        let credentials = json!({
            "client-certificate-data": BASE64_STANDARD.encode(&certificate.certificate),
            "client-key-data": BASE64_STANDARD.encode(&certificate.key),
        });
        Self::new(name, group, name, credentials)
    }

    fn new(name: &str, group: &str, label: &str, credentials: Value) -> Self {
        Self {
            name: name.into(),
            group: group.into(),
            token: String::new(),
            kubeconfig: PathBuf::new(),
            credentials,
            label: label.into(),
        }
    }
}
