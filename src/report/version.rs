//! Versions: of kctl, the server and the operators.

use serde_json::{Map, Value, json};

use super::{API_VERSION, Report, Table};
use crate::tenancy::operators::Operator;

/// The program itself.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its version.
    pub version: &'static str,
    /// The commit it was built from; known of released programs.
    pub commit: Option<&'static str>,
    /// When it was built; known of released programs.
    pub built: Option<&'static str>,
}

/// What an API server says of itself, word for word: forks and old servers write what they like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// As `v1.36.3` or `v1.30.2-eks-db838b0`.
    pub git_version: Option<String>,
    /// As `1`.
    pub major: Option<String>,
    /// As `36` or `20+`.
    pub minor: Option<String>,
}

impl Server {
    /// The answer to `GET /version`. What is missing or no text is not known.
    pub fn parse(answer: &Value) -> Self {
        let text = |key: &str| match answer.get(key) {
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        Self { git_version: text("gitVersion"), major: text("major"), minor: text("minor") }
    }

    /// One line for people.
    fn text(&self) -> String {
        match (&self.git_version, &self.major, &self.minor) {
            (Some(version), ..) => version.clone(),
            (None, Some(major), Some(minor)) => format!("{major}.{minor}"),
            _ => "<unknown>".to_owned(),
        }
    }
}

/// What `version` found.
#[derive(Clone, Debug)]
pub struct VersionInfo {
    /// kctl.
    pub client: Client,
    /// The API server, when it was asked and has answered.
    pub server: Option<Server>,
    /// The operators that can be seen.
    pub operators: Vec<Operator>,
    /// What the user was warned of.
    pub warnings: Vec<String>,
}

impl Report for VersionInfo {
    fn document(&self) -> Value {
        let Client { version, commit, built } = self.client;
        let mut out = Map::new();
        out.insert("apiVersion".into(), json!(API_VERSION));
        out.insert("kind".into(), json!("VersionInfo"));
        out.insert(
            "client".into(),
            known([("version", json!(version)), ("commit", json!(commit)), ("built", json!(built))]),
        );
        if let Some(Server { git_version, major, minor }) = &self.server {
            let server = [("gitVersion", json!(git_version)), ("major", json!(major)), ("minor", json!(minor))];
            out.insert("server".into(), known(server));
        }
        let operators = self.operators.iter().map(|operator| {
            known([
                ("id", json!(operator.id)),
                ("family", json!(operator.family)),
                ("namespace", json!(operator.namespace)),
                ("version", json!(operator.version)),
            ])
        });
        out.insert("operators".into(), operators.collect());
        out.insert("warnings".into(), json!(self.warnings));
        Value::Object(out)
    }

    fn table(&self, _wide: bool) -> Table {
        let mut table = Table::new(["COMPONENT", "ID", "FAMILY", "NAMESPACE", "VERSION"]);
        let none = String::new;
        table.row(["client".into(), none(), none(), none(), self.client()]);
        if let Some(server) = &self.server {
            table.row(["server".into(), none(), none(), none(), server.text()]);
        }
        for operator in &self.operators {
            table.row([
                "operator".into(),
                operator.id.clone(),
                operator.family.into(),
                operator.namespace.clone(),
                operator.version.clone().unwrap_or_else(|| "<unknown>".into()),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.client.version.to_owned()]
    }
}

impl VersionInfo {
    fn client(&self) -> String {
        let more: Vec<&str> = self.client.commit.into_iter().chain(self.client.built).collect();
        if more.is_empty() {
            self.client.version.to_owned()
        } else {
            format!("{} ({})", self.client.version, more.join(", "))
        }
    }
}

/// An object without the fields that are not known.
fn known<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenancy::operators::State;

    #[test]
    fn a_server_may_say_what_it_likes() {
        for (answer, text) in [
            (json!({"gitVersion": "v1.30.2-eks-db838b0", "major": "1", "minor": "30+"}), "v1.30.2-eks-db838b0"),
            (json!({"gitVersion": "not semver at all", "minor": "20+"}), "not semver at all"),
            (json!({"gitVersion": "", "major": "1", "minor": "20+"}), "1.20+"),
            (json!({"major": 1, "minor": 36}), "1.36"),
            (json!({"gitVersion": null}), "<unknown>"),
            (json!(["x"]), "<unknown>"),
            (json!("v1"), "<unknown>"),
        ] {
            assert_eq!(Server::parse(&answer).text(), text, "{answer}");
        }
    }

    #[test]
    fn the_document_has_every_documented_field() {
        let mut operator = Operator::at("camel-k", "tenant-a", "ops", State::Active);
        operator.version = Some("2.10.1".into());
        let info = VersionInfo {
            client: Client { version: "0.1.0", commit: Some("abc"), built: None },
            server: Some(Server { git_version: Some("v1.36.3".into()), major: Some("1".into()), minor: None }),
            operators: vec![operator],
            warnings: vec!["w".into()],
        };
        assert_eq!(
            info.document(),
            json!({
                "apiVersion": "kctl.dev/v1alpha1", "kind": "VersionInfo",
                "client": {"version": "0.1.0", "commit": "abc"},
                "server": {"gitVersion": "v1.36.3", "major": "1"},
                "operators": [{"id": "tenant-a", "family": "camel-k", "namespace": "ops", "version": "2.10.1"}],
                "warnings": ["w"],
            })
        );
        let client_only = VersionInfo { server: None, operators: Vec::new(), ..info };
        assert_eq!(client_only.document()["operators"], json!([]));
        assert!(client_only.document().get("server").is_none());
    }
}
