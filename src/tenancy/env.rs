//! The environment a container will have, as far as it can be told from its manifest and from `ConfigMap`s.
//!
//! The kubelet's order: `envFrom` sources first, a later one over an earlier one, then `env` entries in order, the last
//! of a name over the ones before. An optional reference that leads nowhere sets nothing. Secrets are never read.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a container finds in one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The variable is not set.
    Absent,
    /// It is set, perhaps to nothing.
    Value(String),
    /// It is set to something that was not or cannot be read; the text tells where it stands, as in `<secret a/b>`.
    Hidden(String),
}

/// Contents of `ConfigMap`s by namespace and name: `None` when it does not exist, no entry when it was not read.
pub type ConfigMaps = BTreeMap<(String, String), Option<BTreeMap<String, String>>>;

/// What the downward API needs to know about a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// Namespace of the pod.
    pub namespace: String,
    /// Labels of the pod template.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod template.
    pub annotations: BTreeMap<String, String>,
    /// Service account of the pod.
    pub service_account: String,
}

/// The environment of a container as its manifest writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    entries: Vec<(String, Source)>,
    from: Vec<EnvFrom>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Text(String),
    Field(String),
    ConfigMap { name: String, key: String, optional: bool },
    Secret { name: String, key: String },
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct EnvFrom {
    prefix: String,
    name: String,
    secret: bool,
}

impl Environment {
    /// Reads `env` and `envFrom` of a container.
    pub fn parse(container: &Value) -> Self {
        let list = |key: &str| container.get(key).and_then(Value::as_array).into_iter().flatten();
        Self {
            entries: list("env").filter_map(|entry| Some((text(entry, "/name")?, source(entry)))).collect(),
            from: list("envFrom").filter_map(from).collect(),
        }
    }

    /// Names of the `ConfigMap`s that have to be read to know the environment, each once.
    pub fn config_maps(&self) -> Vec<&str> {
        let keys = self.entries.iter().filter_map(|(_, source)| match source {
            Source::ConfigMap { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let mut names: Vec<_> = keys.chain(self.from.iter().filter(|f| !f.secret).map(|f| f.name.as_str())).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What the container finds in a variable.
    ///
    /// A Secret in `envFrom` might set any variable. It is taken to set none of those that are told by something that
    /// can be read; of the others, [`Environment::secret_that_may_set`] tells.
    pub fn get(&self, variable: &str, pod: &PodFacts, maps: &ConfigMaps) -> Setting {
        let mut found = Setting::Absent;
        for from in self.from.iter().filter(|from| !from.secret) {
            let Some(key) = variable.strip_prefix(from.prefix.as_str()) else { continue };
            match maps.get(&(pod.namespace.clone(), from.name.clone())) {
                Some(Some(data)) => {
                    if let Some(value) = data.get(key) {
                        found = Setting::Value(value.clone());
                    }
                }
                None if found == Setting::Absent => found = Setting::Hidden(format!("<configmap {}>", from.name)),
                Some(None) | None => {}
            }
        }
        for (at, (name, source)) in self.entries.iter().enumerate() {
            if name == variable {
                found = match self.read(at, source, pod, maps) {
                    Setting::Absent => found,
                    set => set,
                };
            }
        }
        found
    }

    /// The Secret in `envFrom` that may set a variable, when there is one.
    pub fn secret_that_may_set(&self, variable: &str) -> Option<&str> {
        self.from
            .iter()
            .rev()
            .find(|from| from.secret && variable.starts_with(&from.prefix))
            .map(|from| from.name.as_str())
    }

    fn read(&self, at: usize, source: &Source, pod: &PodFacts, maps: &ConfigMaps) -> Setting {
        match source {
            Source::Text(value) => self.expand(at, value, pod, maps),
            Source::Field(path) => field(path, pod),
            Source::Secret { name, key } => Setting::Hidden(format!("<secret {name}/{key}>")),
            Source::Other => Setting::Hidden("<unknown>".into()),
            Source::ConfigMap { name, key, optional } => {
                let read = maps.get(&(pod.namespace.clone(), name.clone()));
                match read.map(|map| map.as_ref().and_then(|data| data.get(key))) {
                    Some(Some(value)) => Setting::Value(value.clone()),
                    Some(None) if *optional => Setting::Absent,
                    _ => Setting::Hidden(format!("<configmap {name}/{key}>")),
                }
            }
        }
    }

    /// Fills in `$(NAME)` from entries before `at`; a name that is not set stays as it is written, `$$` is one `$`.
    fn expand(&self, at: usize, value: &str, pod: &PodFacts, maps: &ConfigMaps) -> Setting {
        let mut out = String::new();
        let mut rest = value;
        while let Some(dollar) = rest.find('$') {
            out.push_str(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
                continue;
            }
            let reference = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
            let Some((name, after)) = reference else {
                out.push('$');
                continue;
            };
            let earlier = self.entries[..at].iter().enumerate().rev().find(|(_, (entry, _))| entry == name);
            match earlier.map(|(index, (_, source))| self.read(index, source, pod, maps)) {
                Some(Setting::Value(text)) => out.push_str(&text),
                Some(hidden @ Setting::Hidden(_)) => return hidden,
                Some(Setting::Absent) | None => {
                    out.push_str("$(");
                    out.push_str(name);
                    out.push(')');
                }
            }
            rest = after;
        }
        out.push_str(rest);
        Setting::Value(out)
    }
}

fn field(path: &str, pod: &PodFacts) -> Setting {
    let keyed = |prefix: &str| path.strip_prefix(prefix)?.strip_prefix("['")?.strip_suffix("']");
    let from = |map: &BTreeMap<String, String>, key: &str| Setting::Value(map.get(key).cloned().unwrap_or_default());
    match path {
        "metadata.namespace" => Setting::Value(pod.namespace.clone()),
        "spec.serviceAccountName" => Setting::Value(pod.service_account.clone()),
        _ => match (keyed("metadata.annotations"), keyed("metadata.labels")) {
            (Some(key), _) => from(&pod.annotations, key),
            (_, Some(key)) => from(&pod.labels, key),
            _ => Setting::Hidden(format!("<field {path}>")),
        },
    }
}

fn source(entry: &Value) -> Source {
    let optional = |at: &str| entry.pointer(at).and_then(Value::as_bool).unwrap_or_default();
    let key_of = |kind: &str| {
        let at = format!("/valueFrom/{kind}");
        Some((text(entry, &format!("{at}/name"))?, text(entry, &format!("{at}/key"))?))
    };
    if let Some(path) = text(entry, "/valueFrom/fieldRef/fieldPath") {
        Source::Field(path)
    } else if let Some((name, key)) = key_of("configMapKeyRef") {
        Source::ConfigMap { name, key, optional: optional("/valueFrom/configMapKeyRef/optional") }
    } else if let Some((name, key)) = key_of("secretKeyRef") {
        Source::Secret { name, key }
    } else if entry.get("valueFrom").is_some_and(|from| !from.is_null()) {
        Source::Other
    } else {
        // The API server drops an empty value, so an entry without one is set to nothing.
        Source::Text(text(entry, "/value").unwrap_or_default())
    }
}

fn from(entry: &Value) -> Option<EnvFrom> {
    let prefix = text(entry, "/prefix").unwrap_or_default();
    let named = |at: &str| text(entry, at);
    match (named("/configMapRef/name"), named("/secretRef/name")) {
        (Some(name), _) => Some(EnvFrom { prefix, name, secret: false }),
        (None, Some(name)) => Some(EnvFrom { prefix, name, secret: true }),
        (None, None) => None,
    }
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> PodFacts {
        PodFacts {
            namespace: "ops".into(),
            labels: BTreeMap::from([("team".into(), "red".into())]),
            annotations: BTreeMap::from([("olm.targetNamespaces".into(), "a,b".into())]),
            service_account: "sa".into(),
        }
    }

    fn maps() -> ConfigMaps {
        let data = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>())
        };
        ConfigMaps::from([
            (("ops".into(), "settings".into()), data(&[("X", "from-map"), ("key", "keyed"), ("ID", "prefixed")])),
            (("ops".into(), "later".into()), data(&[("X", "from-later")])),
            (("ops".into(), "gone".into()), None),
        ])
    }

    fn set(text: &str) -> Setting {
        Setting::Value(text.into())
    }

    fn hidden(text: &str) -> Setting {
        Setting::Hidden(text.into())
    }

    #[test]
    fn one_variable_as_the_container_sees_it() {
        let reference = |kind: &str, name: &str, optional: bool| json!({"name": "X", "valueFrom": {kind: {"name": name, "key": "key", "optional": optional}}});
        let field = |path: &str| json!({"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}});
        let from_map = |name: &str| json!({"configMapRef": {"name": name, "optional": true}});
        let plain = |value: &str| json!({"name": "X", "value": value});
        let none = json!([]);
        for (what, env, env_from, expected) in [
            ("absent", json!([{"name": "Y", "value": "y"}]), none.clone(), Setting::Absent),
            ("plain", json!([plain("x")]), none.clone(), set("x")),
            ("set and empty", json!([{"name": "X"}]), none.clone(), set("")),
            ("the last duplicate wins", json!([plain("first"), plain("last")]), none.clone(), set("last")),
            ("own namespace", json!([field("metadata.namespace")]), none.clone(), set("ops")),
            ("service account", json!([field("spec.serviceAccountName")]), none.clone(), set("sa")),
            ("annotation", json!([field("metadata.annotations['olm.targetNamespaces']")]), none.clone(), set("a,b")),
            ("annotation not there", json!([field("metadata.annotations['no']")]), none.clone(), set("")),
            ("label", json!([field("metadata.labels['team']")]), none.clone(), set("red")),
            ("pod name", json!([field("metadata.name")]), none.clone(), hidden("<field metadata.name>")),
            ("config map", json!([reference("configMapKeyRef", "settings", false)]), none.clone(), set("keyed")),
            (
                "absent map",
                json!([reference("configMapKeyRef", "gone", false)]),
                none.clone(),
                hidden("<configmap gone/key>"),
            ),
            ("absent optional map", json!([reference("configMapKeyRef", "gone", true)]), none.clone(), Setting::Absent),
            (
                "an optional reference to nothing leaves the entry before it",
                json!([plain("before"), reference("configMapKeyRef", "gone", true)]),
                none.clone(),
                set("before"),
            ),
            (
                "map not read",
                json!([reference("configMapKeyRef", "new", true)]),
                none.clone(),
                hidden("<configmap new/key>"),
            ),
            ("secret", json!([reference("secretKeyRef", "keys", true)]), none.clone(), hidden("<secret keys/key>")),
            (
                "other source",
                json!([{"name": "X", "valueFrom": {"resourceFieldRef": {}}}]),
                none.clone(),
                hidden("<unknown>"),
            ),
            ("envFrom", none.clone(), json!([from_map("settings")]), set("from-map")),
            ("later envFrom", none.clone(), json!([from_map("settings"), from_map("later")]), set("from-later")),
            ("env over envFrom", json!([plain("")]), json!([from_map("settings")]), set("")),
            ("absent envFrom", none.clone(), json!([from_map("gone")]), Setting::Absent),
            ("envFrom not read", none.clone(), json!([from_map("new")]), hidden("<configmap new>")),
            ("envFrom secret", none.clone(), json!([{"secretRef": {"name": "keys"}}]), Setting::Absent),
            (
                "expanded",
                json!([{"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}, plain("$(NS)-x")]),
                none.clone(),
                set("ops-x"),
            ),
            (
                "only entries before it",
                json!([plain("$(NS)"), {"name": "NS", "value": "n"}]),
                none.clone(),
                set("$(NS)"),
            ),
            ("escaped", json!([plain("$$(NS) $ $(")]), none.clone(), set("$(NS) $ $(")),
        ] {
            let environment = Environment::parse(&json!({"env": env, "envFrom": env_from}));
            assert_eq!(environment.get("X", &pod(), &maps()), expected, "{what}");
        }
    }

    #[test]
    fn prefixes() {
        let environment = Environment::parse(&json!({"envFrom": [
            {"prefix": "OPERATOR_", "configMapRef": {"name": "settings"}},
            {"prefix": "OTHER_", "secretRef": {"name": "keys"}},
        ]}));
        assert_eq!(environment.get("OPERATOR_ID", &pod(), &maps()), set("prefixed"));
        assert_eq!(environment.get("ID", &pod(), &maps()), Setting::Absent);
        assert_eq!(environment.secret_that_may_set("OTHER_X"), Some("keys"));
        assert_eq!(environment.secret_that_may_set("X"), None);
    }

    #[test]
    fn which_config_maps_are_needed() {
        let environment = Environment::parse(&json!({
            "env": [
                {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "two", "key": "k"}}},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "never", "key": "k"}}},
            ],
            "envFrom": [{"configMapRef": {"name": "one"}}, {"configMapRef": {"name": "two"}}, {"secretRef": {"name": "never"}}],
        }));
        assert_eq!(environment.config_maps(), ["one", "two"]);
    }
}
