//! `bind`: what is particular about a Pipe beside the rules of every tenant's resource.

use serde_json::Value;

use crate::{
    contracts::kinds::INTEGRATION,
    error::{Error, ObjectRef, Result},
};

use super::{
    progress::is_midway,
    run::{Remark, Wanted, operator_id},
};

/// Checks the Integration of the Pipe's name: an operator puts what the Pipe says in its place, whoever made it.
///
/// # Errors
/// Somebody else made it (exit 3), unless it may be taken over.
pub fn check_integration(wanted: &Wanted, integration: Option<&Value>) -> Result<Option<Remark>> {
    let Some(integration) = integration else { return Ok(None) };
    let mut owners = integration.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let owner = owners.find(|owner| owner["controller"] == true);
    let text = |key: &str| owner.and_then(|owner| owner[key].as_str()).unwrap_or_default();
    if text("kind") == wanted.kind.kind && text("name") == wanted.name {
        return Ok(None);
    }
    let Wanted { namespace, name, .. } = wanted;
    let maker = match owner {
        Some(_) => format!("{} {} made it", text("kind").to_ascii_lowercase(), text("name")),
        None => format!("no {} made it", wanted.kind.kind.to_ascii_lowercase()),
    };
    let what = format!("an operator would replace integration {name} in namespace {namespace}: {maker}");
    if wanted.take_over {
        return Ok(Some(Remark::Warning(what)));
    }
    Err(Error::refused("NameTaken", what)
        .object(ObjectRef::new(INTEGRATION.kind, Some(namespace), name))
        .hint("give the binding another name: --name NAME")
        .hint("to have it replaced: --take-over"))
}

/// What to tell about the Integration of a Pipe that gets another id: in some phases its new operator never looks at the
/// id and waits for what the former one has begun. Clearing the status before the new operator has it would have the
/// former one begin anew.
pub fn midway(id: Option<&str>, existing: Option<&Value>, integration: Option<&Value>) -> Vec<Remark> {
    let moved = existing.is_some_and(|existing| operator_id(existing) != id);
    let Some(integration) = integration.filter(|integration| moved && is_midway(integration)) else {
        return Vec::new();
    };
    let text = |pointer: &str| integration.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name, phase) = (text("/metadata/namespace"), text("/metadata/name"), text("/status/phase"));
    let object = format!("{}/{name}", INTEGRATION.result_name());
    vec![
        Remark::Warning(format!(
            "integration {name} is in phase {phase} under its former operator; the new one may wait for that for ever"
        )),
        Remark::Hint(format!(
            "if it stays there: kubectl patch {object} -n {namespace} --subresource=status --type=merge -p '{{\"status\": null}}'"
        )),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{contracts::kinds::PIPE, error::Exit, tenancy::run::IdFrom};

    fn wanted(take_over: bool) -> Wanted {
        Wanted {
            kind: PIPE,
            namespace: "team".into(),
            name: "orders".into(),
            id: "tenant-a".into(),
            from: IdFrom::CommandLine,
            take_over,
            force: false,
        }
    }

    fn made_by(kind: &str, name: &str) -> Value {
        json!({"metadata": {"name": "orders", "ownerReferences": [
            {"kind": "Other", "name": "x"}, {"kind": kind, "name": name, "controller": true}]}})
    }

    #[test]
    fn an_integration_in_the_middle_of_a_build_is_told_of() {
        let pipe = |id: &str| json!({"metadata": {"annotations": {"camel.apache.org/operator.id": id}}});
        let integration =
            |phase: &str| json!({"metadata": {"name": "orders", "namespace": "team"}, "status": {"phase": phase}});
        let told = |id, before: &Value, phase| midway(Some(id), Some(before), Some(&integration(phase))).len();
        assert_eq!(told("b", &pipe("a"), "Building Kit"), 2);
        assert_eq!(told("b", &pipe("a"), "Running"), 0);
        assert_eq!(told("a", &pipe("a"), "Building Kit"), 0);
        assert_eq!(midway(Some("a"), None, Some(&integration("Building Kit"))), []);
        assert_eq!(midway(Some("b"), Some(&pipe("a")), None), []);
    }

    #[test]
    fn an_integration_that_the_pipe_did_not_make_is_not_replaced_silently() {
        assert_eq!(check_integration(&wanted(false), None).expect("free"), None);
        assert_eq!(check_integration(&wanted(false), Some(&made_by("Pipe", "orders"))).expect("its own"), None);
        for (integration, maker) in [
            (json!({"metadata": {"name": "orders"}}), "no pipe made it"),
            (made_by("KameletBinding", "orders"), "kameletbinding orders made it"),
            (made_by("Pipe", "other"), "pipe other made it"),
        ] {
            let error = check_integration(&wanted(false), Some(&integration)).expect_err(maker);
            assert_eq!((error.exit(), error.all_hints().len()), (Exit::Refused, 2));
            assert!(error.message().ends_with(maker), "{error}");
            let remark = check_integration(&wanted(true), Some(&integration)).expect("told");
            assert!(matches!(remark, Some(Remark::Warning(_))));
        }
    }
}
