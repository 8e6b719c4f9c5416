//! Where the settings of an install come from: its own earlier ones, those of another operator, or defaults.

use serde_json::{Map, Value, json};

use crate::{
    cluster::Cluster,
    commands::Session,
    contracts::camel_k::FAMILY,
    error::{Error, Exit, Result},
    manifests::operator::{Settings, Watch},
    report,
    tenancy::{claim, id::OperatorId},
    ui::Ui,
};

use super::{InstallArgs, named, observe, wish};

/// The settings that the flags and what is kept come to.
///
/// # Errors
/// Settings that no operator could work with.
pub async fn wanted(cluster: &Cluster, ui: &Ui, args: &InstallArgs, id: &str, named: Settings) -> Result<Settings> {
    let base = base(cluster, args, cluster.namespace(), id).await?;
    let mut settings = named.over(base.clone());
    if settings.openshift.is_none() && named::is_openshift(cluster).await? {
        settings.openshift = Some(true);
    }
    wish::check(&settings)?;
    if let Some(like) = &args.like {
        say_difference(ui, like, &base, &settings);
    }
    Ok(settings)
}

/// The settings that the flags are laid over.
async fn base(cluster: &Cluster, args: &InstallArgs, namespace: &str, id: &str) -> Result<Settings> {
    let earlier = observe::earlier(cluster, namespace, id, args.standby).await?;
    // What tells the roles of instances of one id apart is no setting that anybody names.
    let rbac_suffix = earlier.rbac_suffix.clone();
    match &args.like {
        Some(like) => Ok(Settings { rbac_suffix, ..of_another(cluster, namespace, like).await? }),
        None if args.change.reset => Ok(Settings { rbac_suffix, ..Settings::default() }),
        None => Ok(earlier),
    }
}

/// The settings of another operator. Its own namespace stays what is watched when the new one lives elsewhere.
async fn of_another(cluster: &Cluster, namespace: &str, like: &str) -> Result<Settings> {
    let like = like.parse::<OperatorId>()?.to_string();
    let missing = |what: &str| {
        Error::not_found("NoSettings", format!("operator {like} has no settings to start from: {what}"))
            .hint("--like takes the id of an operator that kctl installed; see: kctl list-operators")
    };
    let claim = observe::read_claim(cluster, &claim::name(FAMILY.name, &like)).await?;
    let active = claim.and_then(|claim| claim.active()).ok_or_else(|| missing("nobody holds that id"))?;
    let kept = observe::kept(cluster, &active.namespace, &like).await?;
    let mut settings = kept.ok_or_else(|| missing(&format!("none are kept in namespace {}", active.namespace)))?;
    if active.namespace != namespace && matches!(settings.watch, None | Some(Watch::Own)) {
        settings.watch = Some(Watch::Namespaces(vec![active.namespace]));
    }
    Ok(settings)
}

/// Says what the settings have that those they were cloned from have not.
fn say_difference(ui: &Ui, like: &str, base: &Settings, settings: &Settings) {
    let (base, settings) = (said(base), said(settings));
    let lines: Vec<String> = settings
        .iter()
        .filter(|(key, value)| base.get(*key) != Some(*value))
        .map(|(key, value)| {
            let before = base.get(key).map_or_else(|| "not said".to_owned(), Value::to_string);
            format!("\n  {key}: {before} -> {value}")
        })
        .collect();
    if lines.is_empty() {
        ui.note(&format!("the settings are those of operator {like}"));
    } else {
        ui.note(&format!("the settings are those of operator {like}, but for:{}", lines.concat()));
    }
}

/// What settings say, without what they leave open.
fn said(settings: &Settings) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(settings) else { return Map::new() };
    for value in fields.values_mut() {
        if let Value::Object(inner) = value {
            inner.retain(|_, value| !value.is_null());
        }
    }
    fields.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
    fields
}

/// `--show-settings`.
pub async fn show(session: &Session<'_>, cluster: &Cluster, namespace: &str, id: &str) -> Result<Exit> {
    let Some(settings) = observe::kept(cluster, namespace, id).await? else {
        return Err(Error::not_found(
            "NoSettings",
            format!("namespace {namespace} keeps no settings of an operator {id}"),
        )
        .hint("see where it is installed: kctl list-operators -A"));
    };
    let mut shown = json!({"operatorId": id, "namespace": namespace});
    if let Value::Object(fields) = &mut shown {
        fields.extend(said(&settings));
    }
    session.ui.data(&report::manifest::yaml(&[shown])?);
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_is_shown() {
        let settings = Settings { version: Some("2.9.0".into()), ..Settings::default() };
        assert_eq!(Value::Object(said(&settings)), json!({"version": "2.9.0"}));
        assert!(said(&Settings::default()).is_empty());
    }
}
