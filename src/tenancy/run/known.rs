//! Whether an operator has the id, and watches the namespace.

use super::{IdFrom, Observed, Remark, Wanted};
use crate::{
    contracts::camel_k,
    error::{Error, Result},
    tenancy::{
        id::{OperatorId, nearest},
        operators::{Operator, Scope, State, with_id},
    },
};

/// Checks that an id which cannot be looked up is at least one that an operator can have.
///
/// # Errors
/// It is not (exit 2), unless `force`.
pub fn check_form(id: &str, force: bool) -> Result<()> {
    match id.parse::<OperatorId>() {
        Err(invalid) if !force => Err(invalid.into()),
        _ => Ok(()),
    }
}

/// Checks that an operator has the id and watches the namespace.
pub(super) fn check_id(wanted: &Wanted, observed: &Observed, remarks: &mut Vec<Remark>) -> Result<()> {
    let known: Vec<&Operator> = with_id(&observed.operators, camel_k::NAME, &wanted.id).collect();
    let refusal = if known.is_empty() {
        unknown(wanted, observed, remarks)
    } else {
        let absent = known.iter().all(|operator| matches!(operator.state, State::Missing | State::Dangling));
        if absent {
            let id = &wanted.id;
            remarks.push(Remark::Warning(format!(
                "operator {id} has no Deployment at present; nothing runs until it has"
            )));
        }
        let acting = observed.responsible(&wanted.id, &wanted.namespace).filter(|operator| operator.state.acts());
        let places: Vec<_> = acting.map(Operator::place).collect();
        if places.len() > 1 {
            let (id, places) = (&wanted.id, places.join(" and "));
            remarks.push(Remark::Warning(format!(
                "operator {id} is there more than once, at {places}: each would run it"
            )));
        }
        if !absent
            && known.iter().all(|operator| operator.watches(&wanted.namespace).is_none())
            && known.iter().all(|operator| operator.namespace != wanted.namespace)
        {
            let Wanted { id, namespace, .. } = wanted;
            remarks.push(Remark::Note(format!(
                "you may not see which namespaces operator {id} watches; if {namespace} is not among them, nothing will run"
            )));
        }
        not_watched(wanted, observed, &known)
    };
    match refusal {
        Some(error) if !wanted.force => Err(error),
        Some(error) => {
            remarks.push(Remark::Warning(error.message().to_owned()));
            Ok(())
        }
        None => Ok(()),
    }
}

fn not_watched(wanted: &Wanted, observed: &Observed, known: &[&Operator]) -> Option<Error> {
    let Wanted { namespace, id, .. } = wanted;
    if known.iter().any(|operator| operator.watches(namespace) != Some(false)) {
        return None;
    }
    let operator = known.first()?;
    let error = Error::refused(
        "NotWatched",
        format!(
            "operator {id} ({}) does not watch namespace {namespace}: it watches {}",
            operator.place(),
            scope(operator)
        ),
    );
    let error = match observed.only_one_in(namespace) {
        Some(other) => {
            let command = wanted.command();
            error
                .hint(format!("{other} is the one operator that watches namespace {namespace}: {command} -x {other} …"))
        }
        None => error.hint(format!("kctl list-operators -n {namespace}")),
    };
    Some(error.hint("--force writes it nevertheless, for an operator that will watch it later"))
}

fn scope(operator: &Operator) -> String {
    match &operator.scope {
        Scope::Cluster => "all namespaces".into(),
        Scope::Own => format!("only its own, {}", operator.namespace),
        Scope::Namespaces(names) if names.is_empty() => "none".into(),
        Scope::Namespaces(names) => format!("only {}", names.join(", ")),
        Scope::Unknown => "unknown namespaces".into(),
    }
}

fn unknown(wanted: &Wanted, observed: &Observed, remarks: &mut Vec<Remark>) -> Option<Error> {
    let (id, command) = (wanted.id.as_str(), wanted.command());
    let force = "--force writes it nevertheless, for an operator that comes later";
    if let Some(to) = observed.renamed.get(id) {
        let error = if to.is_empty() {
            Error::not_found("OperatorNotFound", format!("operator {id} was uninstalled")).hint("kctl list-operators")
        } else {
            Error::not_found("OperatorNotFound", format!("operator {id} was renamed to {to}"))
                .hint(format!("{command} -x {to} …"))
        };
        return Some(error.hint(force));
    }
    let near = nearest(id, observed.ids());
    let only = observed.only_one_in(&wanted.namespace);
    let only = || {
        only.map(|only| {
            format!("{only} is the one operator that watches namespace {}: {command} -x {only} …", wanted.namespace)
        })
    };
    if wanted.from == IdFrom::Default {
        if observed.knows_all() {
            let text = format!("no operator id is given, and no operator has the default one, {id}");
            let hint = only().unwrap_or_else(|| format!("kctl list-operators shows the ids; then {command} -x ID …"));
            return Some(Error::not_found("OperatorNotFound", text).hint(hint).hint(force));
        }
    } else if observed.knows_all() || near.is_some() {
        let error = Error::not_found("OperatorNotFound", format!("no operator has the id {id}"));
        let error = near
            .into_iter()
            .fold(error, |error, near| error.hint(format!("did you mean {near}? {command} -x {near} …")));
        return Some(error.hint("kctl list-operators shows the ids").hint(force));
    } else if let Err(error) = check_form(id, false) {
        return Some(error);
    }
    remarks.push(Remark::Warning(format!(
        "cannot tell whether an operator has the id {id}: you may not list all operators; if none has it, nothing runs"
    )));
    if wanted.from == IdFrom::Default {
        remarks.extend(only().map(Remark::Hint));
    }
    None
}
