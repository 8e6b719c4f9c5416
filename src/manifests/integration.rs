//! From a wish and its sources to an Integration.

use serde_json::{Map, Value, json};

use crate::{
    contracts::{
        camel_k::{OPERATOR_ID, PLATFORM_ID, PROFILE_ID, PROFILE_NAMESPACE},
        camel_traits::ADDONS,
        kinds::INTEGRATION,
    },
    error::{Error, Result},
};

use super::{
    closest, dependencies, did_you_mean, flows, metadata, mounts,
    names::{self, NameFrom},
    properties,
    sources::{self, Source},
    traits::{self, Setting},
    wish::{Wish, property_entries},
};

/// The trait profiles.
const PROFILES: &[&str] = &["Kubernetes", "Knative", "OpenShift"];

/// A larger object is not stored: etcd takes 1.5 MiB at most.
const LARGEST: usize = 1_400_000;

/// A checked wish: everything about the Integration except its operator and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Name.
    pub name: String,
    /// The operator id of an `--annotation`, if one was given.
    pub annotated_id: Option<String>,
    /// Remarks on what was typed, for warnings.
    pub remarks: Vec<String>,
    annotations: Map<String, Value>,
    labels: Map<String, Value>,
    spec: Map<String, Value>,
    traits: Map<String, Value>,
    kit: Option<(Option<String>, String)>,
}

/// Where and for whom an Integration is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target<'a> {
    /// The operator's id; `None` leaves the Integration without one.
    pub id: Option<&'a str>,
    /// The namespace; `None` leaves it to whoever applies the manifest.
    pub namespace: Option<&'a str>,
    /// Whether the operator is a v1, which wants some traits under `addons`.
    pub addons: bool,
}

impl Draft {
    /// Checks a wish; `read` gives the text of a file it names.
    ///
    /// # Errors
    /// Anything wrong with an option or a source (exit 2).
    pub fn new(wish: &Wish, sources: &[Source], read: &dyn Fn(&str) -> Result<String>) -> Result<Self> {
        let name = name(wish, sources)?;
        let mut remarks = Vec::new();
        let (annotations, annotated_id) = annotations(wish)?;
        let labels = metadata::labels(&wish.labels)?;
        let (traits, unknown) = traits::traits(&settings(wish, read)?)?;
        remarks.extend(unknown);
        let spec = spec(wish, sources, read, &mut remarks)?;
        let kit = wish.kit.as_deref().map(|kit| metadata::namespaced_name("--kit", kit)).transpose()?;
        let draft = Self { name, annotated_id, remarks, annotations, labels, spec, traits, kit };
        let size = draft.object(Target::default()).to_string().len();
        if size > LARGEST {
            let error = Error::usage(format!("the integration would have {size} bytes, more than a cluster stores"));
            return Err(if wish.compression { error.hint("leave a source out") } else { error.hint("--compression") });
        }
        Ok(draft)
    }

    /// Whether it has a trait whose place depends on the operator's version.
    pub fn has_addons(&self) -> bool {
        self.traits.keys().any(|id| ADDONS.contains(&id.as_str()))
    }

    /// The Integration.
    pub fn object(&self, target: Target<'_>) -> Value {
        let mut meta = Map::new();
        meta.insert("name".into(), json!(self.name));
        meta.extend(target.namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
        if !self.labels.is_empty() {
            meta.insert("labels".into(), json!(self.labels));
        }
        let mut annotations = self.annotations.clone();
        annotations.extend(target.id.map(|id| (OPERATOR_ID.to_owned(), json!(id))));
        if !annotations.is_empty() {
            meta.insert("annotations".into(), json!(annotations));
        }
        let mut spec = self.spec.clone();
        if let Some((namespace, name)) = &self.kit {
            let mut kit = Map::new();
            let namespace = namespace.as_deref().or(target.namespace);
            kit.extend(namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
            kit.insert("name".into(), json!(name));
            spec.insert("integrationKit".into(), json!(kit));
        }
        let traits = traits::placed(&self.traits, target.addons);
        if !traits.is_empty() {
            spec.insert("traits".into(), json!(traits));
        }
        json!({
            "apiVersion": INTEGRATION.api_version(), "kind": INTEGRATION.kind, "metadata": meta, "spec": spec,
        })
    }
}

/// The explicit operator id: `-x`, or the annotation typed on the command line.
///
/// # Errors
/// The two disagree, or the id is blank (exit 2).
pub fn explicit_id(flag: Option<&str>, annotated: Option<&str>) -> Result<Option<String>> {
    if let (Some(flag), Some(annotated)) = (flag, annotated)
        && flag != annotated
    {
        return Err(Error::usage(format!("-x {flag} and --annotation {OPERATOR_ID}={annotated} name two operators"))
            .hint("leave the annotation out; -x writes it"));
    }
    match flag.or(annotated) {
        Some(id) if id.trim().is_empty() => {
            Err(Error::usage("the operator id is empty").hint("kctl list-operators shows the ids"))
        }
        Some(id) if id.trim() != id => {
            Err(Error::usage(format!("the operator id {id:?} has blanks around it")).hint(format!("-x {}", id.trim())))
        }
        id => Ok(id.map(str::to_owned)),
    }
}

fn name(wish: &Wish, sources: &[Source]) -> Result<String> {
    let given = [
        (!sources.is_empty()).then_some("sources"),
        wish.image.is_some().then_some("--image"),
        wish.git.is_some().then_some("--git"),
    ];
    let given: Vec<_> = given.into_iter().flatten().collect();
    match given[..] {
        [] => return Err(Error::usage("nothing to run").hint("kctl run -x ID FILE…, or --image IMAGE, or --git URL")),
        [_] => {}
        _ => {
            return Err(Error::usage(format!("{} cannot be combined", given.join(" and ")))
                .hint("an image or a repository is run as it is; run the files alone"));
        }
    }
    let own_names: Vec<_> = sources.iter().map(|source| source.origin.name()).collect();
    let from = match (&wish.image, &wish.git) {
        (Some(image), _) => NameFrom::Image(image),
        (_, Some(git)) => NameFrom::Git(git),
        _ => NameFrom::Sources(&own_names),
    };
    names::integration_name(wish.name.as_deref(), from)
}

fn annotations(wish: &Wish) -> Result<(Map<String, Value>, Option<String>)> {
    let mut annotations = Map::new();
    if let Some(profile) = &wish.integration_profile {
        let (namespace, name) = metadata::namespaced_name("--integration-profile", profile)?;
        annotations.insert(PROFILE_ID.into(), json!(name));
        annotations.extend(namespace.map(|namespace| (PROFILE_NAMESPACE.to_owned(), json!(namespace))));
    }
    if let Some(platform) = &wish.platform {
        let (namespace, name) = metadata::namespaced_name("--platform", platform)?;
        if namespace.is_some() {
            return Err(Error::usage(format!("--platform {platform}: a platform is named without its namespace"))
                .hint(format!("--platform {name}")));
        }
        annotations.insert(PLATFORM_ID.into(), json!(name));
    }
    let (typed, id) = metadata::annotations(&wish.annotations)?;
    annotations.extend(typed);
    Ok((annotations, id))
}

/// The trait options, and the options that stand for one.
fn settings(wish: &Wish, read: &dyn Fn(&str) -> Result<String>) -> Result<Vec<Setting>> {
    let mut settings = wish.traits.iter().map(|text| Setting::parse(text)).collect::<Result<Vec<_>>>()?;
    let mut add = |id: &str, property: &str, flag: &str, values: Vec<String>| {
        settings.extend(values.into_iter().map(|value| Setting::of(id, property, value, flag)));
    };
    let all = |texts: &[String], check: fn(&str) -> Result<String>| {
        texts.iter().map(|text| check(text)).collect::<Result<Vec<_>>>()
    };
    let entries = |flag: &str, options: &[String]| {
        Ok::<_, Error>(property_entries(flag, options, read)?.iter().map(properties::encode).collect::<Vec<_>>())
    };
    add("camel", "properties", "-p", entries("-p", &wish.properties)?);
    add("builder", "properties", "--build-property", entries("--build-property", &wish.build_properties)?);
    add("mount", "configs", "--config", all(&wish.configs, mounts::config)?);
    add("mount", "resources", "--resource", all(&wish.resources, mounts::resource)?);
    add("mount", "volumes", "--volume", all(&wish.volumes, mounts::volume)?);
    add("environment", "vars", "--env", all(&wish.env, mounts::env)?);
    if let Some(image) = &wish.image {
        if image.trim() != image || image.is_empty() || image.contains(char::is_whitespace) {
            return Err(Error::usage(format!("--image {image:?} is not an image")).hint("--image registry/name:tag"));
        }
        add("container", "image", "--image", vec![image.clone()]);
    }
    Ok(settings)
}

fn spec(
    wish: &Wish,
    sources: &[Source],
    read: &dyn Fn(&str) -> Result<String>,
    remarks: &mut Vec<String>,
) -> Result<Map<String, Value>> {
    let mut spec = Map::new();
    let content = sources::content(sources, wish.compression)?;
    let mut lists = vec![("flows", json!(content.flows)), ("sources", json!(content.sources))];
    lists.push(("dependencies", json!(dependencies::all(&wish.dependencies, remarks)?)));
    if let Some(empty) = wish.maven_repositories.iter().find(|repository| repository.trim().is_empty()) {
        return Err(Error::usage(format!("--maven-repository {empty:?} is empty")).hint("--maven-repository https://…"));
    }
    lists.push(("repositories", json!(wish.maven_repositories)));
    for (field, list) in lists {
        if list.as_array().is_some_and(|items| !items.is_empty()) {
            spec.insert(field.into(), list);
        }
    }
    if let Some(profile) = &wish.profile {
        spec.insert("profile".into(), json!(trait_profile(profile)?));
    }
    if let Some(account) = &wish.service_account {
        spec.insert("serviceAccountName".into(), json!(metadata::service_account(account)?));
    }
    if let Some(git) = git(wish)? {
        spec.insert("git".into(), git);
    }
    if let Some(path) = &wish.pod_template {
        spec.insert("template".into(), pod_template(path, &read(path)?)?);
    }
    Ok(spec)
}

fn trait_profile(text: &str) -> Result<&'static str> {
    let known = PROFILES.iter().find(|profile| profile.eq_ignore_ascii_case(text));
    known.copied().ok_or_else(|| {
        Error::usage(format!("--profile {text:?} is no trait profile"))
            .hints(did_you_mean(closest(text, PROFILES.iter().copied())))
            .hint(format!("one of {}; for an IntegrationProfile: --integration-profile", PROFILES.join(", ")))
    })
}

fn git(wish: &Wish) -> Result<Option<Value>> {
    let places = [("branch", &wish.git_branch), ("tag", &wish.git_tag), ("commit", &wish.git_commit)];
    let given: Vec<_> =
        places.iter().filter_map(|(field, value)| value.as_ref().map(|value| (*field, value))).collect();
    let Some(url) = &wish.git else {
        return match given.first() {
            None => Ok(None),
            Some((field, _)) => {
                Err(Error::usage(format!("--git-{field} without --git")).hint(format!("--git URL --git-{field} …")))
            }
        };
    };
    if given.len() > 1 {
        let flags: Vec<_> = given.iter().map(|(field, _)| format!("--git-{field}")).collect();
        return Err(Error::usage(format!("{} cannot be combined", flags.join(" and "))).hint("give one of them"));
    }
    let mut git = Map::new();
    git.insert("url".into(), json!(url));
    git.extend(given.into_iter().map(|(field, value)| (field.to_owned(), json!(value))));
    Ok(Some(Value::Object(git)))
}

/// A pod template: a pod's spec, or a document that has it under `spec`.
fn pod_template(path: &str, text: &str) -> Result<Value> {
    let wrong = |reason: &str| {
        Error::usage(format!("--pod-template {path}: {reason}")).hint("a pod's spec: containers:, volumes:, …")
    };
    let documents = flows::yaml_documents(text).map_err(|reason| wrong(&format!("not valid YAML: {reason}")))?;
    let [Value::Object(fields)] = &documents[..] else { return Err(wrong("not one YAML map")) };
    match fields.get("spec") {
        Some(spec) if spec.is_object() => Ok(json!({"spec": spec})),
        Some(_) => Err(wrong("its spec is not a map")),
        None if fields.is_empty() => Err(wrong("it is empty")),
        None => Ok(json!({"spec": fields})),
    }
}

#[cfg(test)]
mod tests;
