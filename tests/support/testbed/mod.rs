//! A real Kubernetes API server for the tests, on loopback, without containers.
//!
//! [`Cluster::shared`] (etcd and kube-apiserver) is enough for most tests. [`Cluster::full`] also has the controller manager,
//! the scheduler and kwok, so that Deployments become available, garbage is collected and namespaces end. Both are started
//! by the first test that asks and shared by all tests of the process: use names of your own ([`Cluster::namespace`],
//! [`Cluster::unique`]) and draw users of your own. A test that asserts on the whole cluster starts [`Cluster::own`].
//!
//! Nothing outlives the tests, however they end (see `guard`). With `KCTL_TEST_KEEP` in the environment the directories with
//! logs and kubeconfig files stay.

mod audit;
mod boot;
mod client;
mod gate;
mod guard;
mod pki;
mod programs;
mod rbac;
mod users;
mod wait;

use std::env;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

pub use audit::{Mark, Request};
pub use client::Client;
pub use gate::Gate;
pub use pki::Validity;
pub use programs::{BUILD_COMMAND, Programs};
pub use users::User;
pub use wait::{try_wait_for, wait_for, wait_until};

use boot::{Kubeconfigs, Server};
use guard::Janitor;
use users::{Account, Accounts};

/// The annotation on a pod, or on a Deployment's pod template, that asks kwok for bad luck: [`NEVER_READY`] and so on. It
/// can be changed at any time. The last part of the first container's image name does the same
/// (`registry.example/never-ready:1.0`).
pub const POD_ANNOTATION: &str = "testbed.kctl.dev/pod";
/// The containers run, their probes never pass.
pub const NEVER_READY: &str = "never-ready";
/// The image cannot be pulled.
pub const IMAGE_PULL_ERROR: &str = "image-pull-error";
/// The containers end soon after each start.
pub const CRASH_LOOP: &str = "crash-loop";

/// What a cluster is made of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Nodes, 64 CPUs each. With none there is only an API server; with some also the controller manager, the scheduler and
    /// kwok.
    pub nodes: usize,
    /// More flags for kube-apiserver.
    pub api_server_flags: Vec<String>,
}

impl Options {
    /// Everything, and one node.
    pub fn full() -> Self {
        Self { nodes: 1, ..Self::default() }
    }
}

/// A running cluster. It has all methods of [`Client`], which act with all rights and are not in the audit log.
pub struct Cluster {
    // Dropped in this order: the programs first (see `Drop`), their directory last.
    server: Server,
    accounts: Accounts,
    programs: Programs,
    nodes: usize,
    admins_drawn: AtomicUsize,
    tenants_drawn: AtomicUsize,
    names_given: AtomicUsize,
    dir: PathBuf,
    /// Absent when the directory is to stay (`KCTL_TEST_KEEP`).
    janitor: Option<Janitor>,
}

impl Cluster {
    /// The API server that the tests of this process share. No controllers run, so nobody changes what a test writes.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
        started(SHARED.get_or_init(|| Self::start(&Options::default())))
    }

    /// The cluster with controllers and one node that the tests of this process share. It is another one than
    /// [`Self::shared`], so that a test's outcome does not depend on which tests ran before.
    pub fn full() -> &'static Self {
        static FULL: OnceLock<Result<Cluster, String>> = OnceLock::new();
        started(FULL.get_or_init(|| Self::start(&Options::full())))
    }

    /// A cluster for the caller alone; it ends when it is dropped. Takes about 3 seconds.
    pub fn own(options: &Options) -> Self {
        Self::start(options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a cluster and waits until it is of use.
    pub fn start(options: &Options) -> Result<Self, String> {
        let programs = Programs::find()?;
        let directory = tempfile::Builder::new().prefix("kctl-testbed-").tempdir();
        let dir = directory.map_err(|error| format!("cannot make a directory: {error}"))?.keep();
        let janitor = match env::var_os("KCTL_TEST_KEEP") {
            Some(_) => None,
            None => Some(Janitor::of(&dir).map_err(|error| format!("cannot start a shell: {error}"))?),
        };
        let accounts = Accounts::new(&pki::secret().map_err(|error| error.to_string())?);
        let server = boot::start(&programs, &dir, &accounts.all(), &options.api_server_flags)?;
        let mut cluster = Self {
            server,
            accounts,
            programs,
            nodes: options.nodes,
            admins_drawn: AtomicUsize::new(0),
            tenants_drawn: AtomicUsize::new(0),
            names_given: AtomicUsize::new(0),
            dir,
            janitor,
        };
        if options.nodes > 0 {
            cluster.start_controllers()?;
        }
        Ok(cluster)
    }

    fn start_controllers(&mut self) -> Result<(), String> {
        let [_, controller_manager, scheduler, kwok] = self.accounts.own.each_ref().map(|account| {
            self.with_kubeconfig(User::with_token(account, &account.name), "default").kubeconfig.display().to_string()
        });
        let kubeconfigs = Kubeconfigs { controller_manager, scheduler, kwok };
        let client = &self.server.client;
        let controllers = boot::start_controllers(&self.programs, &self.dir, client, &kubeconfigs, self.nodes)?;
        self.server.programs.extend(controllers);
        Ok(())
    }

    /// Where the API server listens, as a URL.
    pub fn url(&self) -> &str {
        &self.server.endpoint.server
    }

    /// The cluster's temporary directory: logs of the programs, kubeconfig files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A program that was built, `kubectl` for instance.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.path(name)
    }

    /// The process groups of everything that belongs to the cluster.
    pub fn process_groups(&self) -> Vec<u32> {
        self.server.programs.iter().map(guard::Program::group).chain(self.janitor.iter().map(Janitor::group)).collect()
    }

    /// An admin nobody else uses.
    pub fn admin(&self) -> User {
        self.draw(&self.accounts.admins, &self.admins_drawn, "admin")
    }

    /// A user without rights nobody else uses. `label` is the name of the kubeconfig's context; the name that the API server
    /// knows is [`User::name`].
    pub fn user(&self, label: &str) -> User {
        self.draw(&self.accounts.tenants, &self.tenants_drawn, label)
    }

    fn draw(&self, accounts: &[Account], drawn: &AtomicUsize, label: &str) -> User {
        let account = accounts.get(drawn.fetch_add(1, Ordering::Relaxed));
        let account = account.unwrap_or_else(|| panic!("all {} accounts are in use; raise the number", accounts.len()));
        self.with_kubeconfig(User::with_token(account, label), "default")
    }

    /// A user who presents a client certificate, with any name and group.
    pub fn certificate_user(&self, name: &str, group: &str, validity: Validity) -> User {
        let certificate = self.server.authority.client(name, group, validity);
        let certificate = certificate.unwrap_or_else(|error| panic!("cannot sign: {error}"));
        self.with_kubeconfig(User::with_certificate(name, group, &certificate), "default")
    }

    /// The same user with a kubeconfig whose context is in `namespace`.
    pub fn in_namespace(&self, user: &User, namespace: &str) -> User {
        self.with_kubeconfig(user.clone(), namespace)
    }

    /// A client that acts as `user`; what it sends is in the audit log under `user_agent`.
    pub fn client_as(&self, user: &User, user_agent: &str) -> Client {
        let client = Client::new(&self.server.endpoint, &user.credentials, user_agent);
        client.unwrap_or_else(|error| panic!("cannot make a client: {error}"))
    }

    /// Writes a kubeconfig with other credentials (what stands under `user:`), a refused token or an exec plugin for instance.
    pub fn kubeconfig_with(&self, credentials: &Value) -> PathBuf {
        let path = self.dir.join(format!("{}.kubeconfig", self.unique("custom")));
        self.server.endpoint.write_kubeconfig(&path, "custom", credentials, "default");
        path
    }

    fn with_kubeconfig(&self, user: User, namespace: &str) -> User {
        let kubeconfig = self.dir.join(format!("{}.kubeconfig", self.unique(&user.label.replace(':', "-"))));
        self.server.endpoint.write_kubeconfig(&kubeconfig, &user.label, &user.credentials, namespace);
        User { kubeconfig, ..user }
    }

    /// A name that was not given before in this cluster.
    pub fn unique(&self, prefix: &str) -> String {
        format!("{prefix}-{}", self.names_given.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Creates a namespace with a name of its own.
    pub fn namespace(&self, prefix: &str) -> String {
        let name = self.unique(prefix);
        self.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        if self.nodes > 0 {
            let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
            wait_until("the default service account", Duration::from_secs(30), || self.find(&account).is_some());
        }
        name
    }

    /// The present end of the audit log.
    pub fn audit_mark(&self) -> Mark {
        audit::mark(&self.audit_log())
    }

    /// What kctl sent as `user` since `mark`.
    pub fn requests_since(&self, mark: Mark, user: &User) -> Vec<Request> {
        let mut requests = self.all_requests_since(mark);
        requests.retain(|request| request.user == user.name && request.user_agent.starts_with("kctl/"));
        requests
    }

    /// What anybody sent since `mark`, except for the cluster's own programs and the harness.
    pub fn all_requests_since(&self, mark: Mark) -> Vec<Request> {
        audit::since(&self.audit_log(), mark)
    }

    fn audit_log(&self) -> PathBuf {
        self.dir.join("audit.log")
    }
}

fn started(cluster: &'static Result<Cluster, String>) -> &'static Cluster {
    cluster.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

impl Deref for Cluster {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.server.client
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Newest first: an API server whose etcd is gone hangs and keeps its port.
        while let Some(program) = self.server.programs.pop() {
            drop(program);
        }
    }
}
