//! `bind`: what is particular about a Pipe beside the rules of every tenant's resource.

use serde_json::Value;

use crate::error::{Error, ObjectRef, Result};

use super::run::{Remark, Wanted};

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
        .object(ObjectRef::new("Integration", Some(namespace), name))
        .hint("give the binding another name: --name NAME")
        .hint("to have it replaced: --take-over"))
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
