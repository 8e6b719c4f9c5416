//! The `IntegrationPlatform` of an operator: where it pushes what it builds, and how it builds.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::settings::Settings;

/// How an operator builds images. `None` and empty mean "not said".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Build {
    /// A whole platform spec; what is said besides is laid over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Value>,
    /// Image that built ones start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_image: Option<String>,
    /// `ConfigMap` with the registry's certificate authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_ca: Option<String>,
    /// Where Maven's settings are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maven_settings: Option<Reference>,
    /// Secrets with certificate authorities for Maven.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maven_ca_secrets: Vec<Reference>,
    /// Maven repositories, as the flag takes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maven_repositories: Vec<Repository>,
    /// `pod` or `routine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Time a build may take, such as `10m0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// How images are published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_strategy: Option<String>,
    /// Builds at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_running_builds: Option<u32>,
    /// Version of the Camel K runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_version: Option<String>,
}

impl Build {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This, and `earlier` where this says nothing.
    pub fn over(self, earlier: Self) -> Self {
        fn either<T>(new: Vec<T>, old: Vec<T>) -> Vec<T> {
            if new.is_empty() { old } else { new }
        }
        // Settings and repositories both make the one settings file: naming one drops the other.
        let (maven_settings, maven_repositories) = match (self.maven_settings, self.maven_repositories) {
            (None, named) if named.is_empty() => (earlier.maven_settings, earlier.maven_repositories),
            named => named,
        };
        Self {
            platform: self.platform.or(earlier.platform),
            base_image: self.base_image.or(earlier.base_image),
            registry_ca: self.registry_ca.or(earlier.registry_ca),
            maven_settings,
            maven_ca_secrets: either(self.maven_ca_secrets, earlier.maven_ca_secrets),
            maven_repositories,
            strategy: self.strategy.or(earlier.strategy),
            timeout: self.timeout.or(earlier.timeout),
            publish_strategy: self.publish_strategy.or(earlier.publish_strategy),
            max_running_builds: self.max_running_builds.or(earlier.max_running_builds),
            runtime_version: self.runtime_version.or(earlier.runtime_version),
        }
    }
}

/// A key of a `ConfigMap` or Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The key.
    pub key: String,
}

/// A Maven repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// Address.
    pub url: String,
    /// Id; made up when none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Repositories it is asked instead of, as Maven writes them: `*`, `central`, `external:*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_of: Option<String>,
    /// Whether it has snapshots.
    #[serde(default)]
    pub snapshots: bool,
}

/// Key of the settings file in its `ConfigMap`.
const SETTINGS_KEY: &str = "settings.xml";

/// Name of the `ConfigMap` with the Maven settings that kctl makes.
pub fn maven_settings_name(id: &str) -> String {
    format!("{id}-maven-settings")
}

/// The spec of the platform; `None` when nothing is said that would need one.
///
/// OpenShift has a registry of its own, so there a platform is of use in any case.
pub fn spec(id: &str, settings: &Settings) -> Option<Value> {
    let (registry, build) = (&settings.registry, &settings.build);
    if registry.address.is_none() && build.is_empty() && settings.openshift != Some(true) {
        return None;
    }
    let mut spec = build.platform.clone().unwrap_or_else(|| json!({}));
    let mut set = |path: &[&str], value: Option<Value>| {
        if let Some(value) = value {
            put(&mut spec, path, value);
        }
    };
    let text = |value: &Option<String>| value.as_ref().map(|value| json!(value));
    set(&["build", "registry", "address"], text(&registry.address));
    set(&["build", "registry", "secret"], text(&registry.secret));
    set(&["build", "registry", "insecure"], registry.insecure.map(Value::from));
    set(&["build", "registry", "organization"], text(&registry.organization));
    set(&["build", "registry", "ca"], text(&build.registry_ca));
    set(&["build", "baseImage"], text(&build.base_image));
    set(&["build", "buildConfiguration", "strategy"], text(&build.strategy));
    set(&["build", "timeout"], text(&build.timeout));
    set(&["build", "publishStrategy"], text(&build.publish_strategy));
    set(&["build", "maxRunningBuilds"], build.max_running_builds.map(Value::from));
    set(&["build", "runtimeVersion"], text(&build.runtime_version));
    set(&["build", "maven", "settings"], maven_settings(id, build));
    if !build.maven_ca_secrets.is_empty() {
        let secrets: Vec<Value> =
            build.maven_ca_secrets.iter().map(|one| json!({"name": one.name, "key": one.key})).collect();
        set(&["build", "maven", "caSecrets"], Some(json!(secrets)));
    }
    Some(spec)
}

fn maven_settings(id: &str, build: &Build) -> Option<Value> {
    if !build.maven_repositories.is_empty() {
        return Some(json!({"configMapKeyRef": {"name": maven_settings_name(id), "key": SETTINGS_KEY}}));
    }
    let reference = build.maven_settings.as_ref()?;
    let kind = if reference.kind == "Secret" { "secretKeyRef" } else { "configMapKeyRef" };
    Some(json!({kind: {"name": reference.name, "key": reference.key}}))
}

/// Sets a field, making the objects on the way.
fn put(object: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    if let Some(fields) = object.as_object_mut() {
        put(fields.entry(*first).or_insert(Value::Null), rest, value);
    }
}

/// Secrets and `ConfigMaps` that a platform spec names and that have to be there: kind, name.
///
/// The `ConfigMap` that kctl makes itself is none of them.
pub fn named_objects(id: &str, spec: &Value) -> Vec<(&'static str, String)> {
    let at = |path: &str| spec.pointer(path).and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
    let mut found = Vec::new();
    found.extend(at("/build/registry/secret").map(|name| ("Secret", name)));
    found.extend(at("/build/registry/ca").map(|name| ("ConfigMap", name)));
    found.extend(at("/build/maven/settings/secretKeyRef/name").map(|name| ("Secret", name)));
    found.extend(
        at("/build/maven/settings/configMapKeyRef/name")
            .filter(|name| *name != maven_settings_name(id))
            .map(|name| ("ConfigMap", name)),
    );
    let secrets = spec.pointer("/build/maven/caSecrets").and_then(Value::as_array).into_iter().flatten();
    found.extend(secrets.filter_map(|one| one["name"].as_str()).map(|name| ("Secret", name.to_owned())));
    found
}

/// The data of the `ConfigMap` with Maven's settings, when repositories are said.
pub fn maven_settings_data(build: &Build) -> Option<Value> {
    if build.maven_repositories.is_empty() {
        return None;
    }
    Some(json!({SETTINGS_KEY: settings_xml(&build.maven_repositories)}))
}

fn settings_xml(repositories: &[Repository]) -> String {
    let (mut mirrors, mut others) = (String::new(), String::new());
    for (index, repository) in repositories.iter().enumerate() {
        let id = escaped(repository.id.as_deref().unwrap_or(&format!("repository-{index}")));
        let url = escaped(&repository.url);
        if let Some(of) = &repository.mirror_of {
            let of = escaped(of);
            mirrors += &format!("    <mirror><id>{id}</id><url>{url}</url><mirrorOf>{of}</mirrorOf></mirror>\n");
        } else {
            let snapshots = repository.snapshots;
            others += &format!(
                "        <repository><id>{id}</id><url>{url}</url><snapshots><enabled>{snapshots}</enabled></snapshots></repository>\n"
            );
        }
    }
    let plugins = others.replace("repository>", "pluginRepository>");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <settings xmlns=\"http://maven.apache.org/SETTINGS/1.0.0\">\n\
         \x20 <mirrors>\n{mirrors}  </mirrors>\n\
         \x20 <profiles>\n    <profile>\n      <id>kctl</id>\n\
         \x20     <activation><activeByDefault>true</activeByDefault></activation>\n\
         \x20     <repositories>\n{others}      </repositories>\n\
         \x20     <pluginRepositories>\n{plugins}      </pluginRepositories>\n\
         \x20   </profile>\n  </profiles>\n</settings>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(build: Build) -> Settings {
        Settings { build, ..Settings::default() }
    }

    #[test]
    fn a_platform_is_made_when_something_is_said() {
        assert_eq!(spec("a", &Settings::default()), None);
        assert_eq!(spec("a", &Settings { openshift: Some(true), ..Settings::default() }), Some(json!({})));
        let said = Build {
            platform: Some(
                json!({"profile": "Knative", "build": {"baseImage": "old", "maven": {"cliOptions": ["-q"]}}}),
            ),
            base_image: Some("new".into()),
            strategy: Some("pod".into()),
            max_running_builds: Some(3),
            maven_ca_secrets: vec![Reference { kind: "Secret".into(), name: "ca".into(), key: "ca.crt".into() }],
            ..Build::default()
        };
        assert_eq!(
            spec("a", &build(said)),
            Some(json!({"profile": "Knative", "build": {
                "baseImage": "new",
                "buildConfiguration": {"strategy": "pod"},
                "maxRunningBuilds": 3,
                "maven": {"cliOptions": ["-q"], "caSecrets": [{"name": "ca", "key": "ca.crt"}]},
            }}))
        );
    }

    #[test]
    fn what_is_named_has_to_be_there() {
        let spec = json!({"build": {
            "registry": {"secret": "s", "ca": "c"},
            "maven": {"settings": {"secretKeyRef": {"name": "m"}}, "caSecrets": [{"name": "x"}]},
        }});
        let expected = [("Secret", "s"), ("ConfigMap", "c"), ("Secret", "m"), ("Secret", "x")];
        assert_eq!(named_objects("a", &spec), expected.map(|(kind, name)| (kind, name.to_owned())));
        let own = json!({"build": {"maven": {"settings": {"configMapKeyRef": {"name": "a-maven-settings"}}}}});
        assert!(named_objects("a", &own).is_empty());
    }

    #[test]
    fn repositories_become_a_settings_file() {
        let repository = |url: &str, mirror_of: Option<&str>| Repository {
            url: url.into(),
            id: None,
            mirror_of: mirror_of.map(str::to_owned),
            snapshots: false,
        };
        let repositories = vec![repository("https://m/?a&b", Some("*")), repository("https://r", None)];
        let said = Build { maven_repositories: repositories, ..Build::default() };
        let text = maven_settings_data(&said).expect("data")["settings.xml"].to_string();
        assert!(text.contains("<url>https://m/?a&amp;b</url><mirrorOf>*</mirrorOf>"), "{text}");
        assert!(text.contains("<pluginRepository><id>repository-1</id><url>https://r</url>"), "{text}");
        let reference = spec("a", &build(said)).expect("a platform")["build"]["maven"]["settings"].clone();
        assert_eq!(reference, json!({"configMapKeyRef": {"name": "a-maven-settings", "key": "settings.xml"}}));
    }

    #[test]
    fn naming_maven_settings_drops_repositories_named_earlier() {
        let reference = Reference { kind: "ConfigMap".into(), name: "m".into(), key: "settings.xml".into() };
        let earlier = Build {
            maven_repositories: vec![Repository { url: "u".into(), id: None, mirror_of: None, snapshots: false }],
            timeout: Some("5m0s".into()),
            ..Build::default()
        };
        let named = Build { maven_settings: Some(reference.clone()), ..Build::default() };
        let both = named.over(earlier.clone());
        assert_eq!((both.maven_settings, both.maven_repositories.len()), (Some(reference), 0));
        assert_eq!(both.timeout, earlier.timeout);
        assert_eq!(Build::default().over(earlier.clone()), earlier);
    }
}
