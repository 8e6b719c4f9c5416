//! `run` and `bind`: which operator a resource is for, and whether kctl may write it.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{
    operators::{Operator, State, with_id},
    ownership::{Locks, Ownership, Resource, Takes, decide},
    patch::patch,
    plan::{Step, TENANT_MANAGER, Write},
    progress,
};
use crate::{
    contracts::{
        camel_k::{self, OPERATOR_ID},
        kinds::{INTEGRATION, KAMELET_BINDING, Kind, PIPE},
    },
    error::{Error, ObjectRef, Result},
};

mod known;
#[cfg(test)]
mod tests;
mod words;

pub use known::check_form;
pub use words::{untaken, version_remarks};

use known::check_id;

/// Where an operator id comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdFrom {
    /// The command line.
    CommandLine,
    /// An environment variable of this name.
    Environment(String),
    /// A config file.
    ConfigFile(String),
    /// The label of the namespace.
    NamespaceLabel,
    /// Nothing names one.
    Default,
}

impl IdFrom {
    /// Whether somebody chose it for this very run: such an id may move an existing resource.
    fn is_explicit(&self) -> bool {
        matches!(self, Self::CommandLine | Self::Environment(_))
    }
}

impl fmt::Display for IdFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("the command line"),
            Self::Environment(name) | Self::ConfigFile(name) => f.write_str(name),
            Self::NamespaceLabel => f.write_str("the namespace's label kctl.dev/operator-id"),
            Self::Default => f.write_str("the default"),
        }
    }
}

/// What the user wants, beside the resource itself.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its kind: an Integration, a Pipe or a `KameletBinding`.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The operator's id.
    pub id: String,
    /// Where that comes from.
    pub from: IdFrom,
    /// `--take-over`.
    pub take_over: bool,
    /// `--force`.
    pub force: bool,
}

impl Wanted {
    /// What messages call it: `integration orders`.
    pub fn what(&self) -> String {
        format!("{} {}", self.kind.kind.to_ascii_lowercase(), self.name)
    }

    /// The command that writes it.
    fn command(&self) -> &'static str {
        if self.kind == INTEGRATION { "kctl run" } else { "kctl bind" }
    }
}

/// What was seen on the cluster.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The resource of that name.
    pub existing: Option<Value>,
    /// Operators that Deployments and claims tell of.
    pub operators: Vec<Operator>,
    /// Whether every operator Deployment of the cluster could be listed.
    pub all_deployments: bool,
    /// Whether the claims are marked complete.
    pub all_claimed: bool,
    /// Ids that have moved on to another one; to an empty one when their operator is gone.
    pub renamed: BTreeMap<String, String>,
    /// Locks of the namespace, looked at only for an existing resource without id.
    pub locks: Locks,
}

/// Something to tell the user on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Good to know.
    Note(String),
    /// Likely to matter.
    Warning(String),
    /// What could be done.
    Hint(String),
}

/// The outcome of the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The id to stamp; `None` leaves an existing resource without one.
    pub id: Option<String>,
    /// What to tell the user.
    pub remarks: Vec<Remark>,
}

/// Decides for which operator the resource is written.
///
/// # Errors
/// The id is unknown (exit 5) or no id at all (exit 2); its operator does not watch the namespace, or another operator
/// owns the resource (exit 3).
pub fn check(wanted: &Wanted, observed: &Observed) -> Result<Decision> {
    let mut remarks = Vec::new();
    let Some(existing) = &observed.existing else {
        remarks.extend(source_note(wanted));
        check_id(wanted, observed, &mut remarks)?;
        return Ok(Decision { id: Some(wanted.id.clone()), remarks });
    };
    if let Some(maker) = maker(existing) {
        let error =
            Error::refused("MadeByAnother", format!("{} is made by {maker}, which would undo it", wanted.what()))
                .object(ObjectRef::new(wanted.kind.kind, Some(&wanted.namespace), &wanted.name))
                .hint("to run another one beside it: --name NAME");
        if !wanted.force {
            return Err(error);
        }
        remarks.push(Remark::Warning(error.message().to_owned()));
    }
    let carried = operator_id(existing);
    let ownership = decide(&resource(wanted, carried), &observed.operators, &observed.locks);
    if !wanted.from.is_explicit()
        && let Some(kept) = kept(wanted, carried, &ownership)
    {
        remarks.extend(kept.note);
        if let Some(id) = &kept.id {
            let kept = Wanted { id: id.clone(), force: true, ..wanted.clone() };
            check_id(&kept, observed, &mut remarks)?;
        }
        return Ok(Decision { id: kept.id, remarks });
    }
    remarks.extend(source_note(wanted));
    check_id(wanted, observed, &mut remarks)?;
    if let Some(owner) = other_owner(wanted, carried, &ownership, observed) {
        if !wanted.take_over {
            return Err(owner.refusal(wanted));
        }
        remarks.push(Remark::Note(format!("taking {} over: {}", wanted.name, owner.text)));
    } else if let Some(carried) = carried.filter(|carried| *carried != wanted.id) {
        remarks.push(Remark::Note(format!("{} carried the id {carried}, and no operator takes it", wanted.name)));
    }
    Ok(Decision { id: Some(wanted.id.clone()), remarks })
}

/// The id that an object carries.
pub fn operator_id(object: &Value) -> Option<&str> {
    object.pointer("/metadata/annotations")?.get(OPERATOR_ID)?.as_str().filter(|id| !id.is_empty())
}

/// The Pipe (or other object) that makes a resource and writes over it.
fn maker(object: &Value) -> Option<String> {
    let mut owners = object.pointer("/metadata/ownerReferences")?.as_array()?.iter();
    let owner = owners.find(|owner| {
        owner["controller"] == true
            || [PIPE.kind, KAMELET_BINDING.kind].contains(&owner["kind"].as_str().unwrap_or_default())
    })?;
    Some(format!("{} {}", owner["kind"].as_str()?, owner["name"].as_str()?))
}

fn resource(wanted: &Wanted, id: Option<&str>) -> Resource {
    Resource {
        kind: wanted.kind,
        namespace: wanted.namespace.clone(),
        name: wanted.name.clone(),
        id: id.map(str::to_owned),
    }
}

/// Tells an id that was not typed.
fn source_note(wanted: &Wanted) -> Option<Remark> {
    let id = &wanted.id;
    match &wanted.from {
        IdFrom::CommandLine => None,
        IdFrom::Default => Some(default_note()),
        from => Some(Remark::Note(format!("operator id {id} comes from {from}"))),
    }
}

/// The note of a run that names no operator.
pub fn default_note() -> Remark {
    Remark::Note(format!(
        "no operator id is given, so it is {}; name the operator with -x, which will be needed in future",
        camel_k::DEFAULT_ID
    ))
}

/// An existing resource stays with its operator when nobody asked for another one.
struct Kept {
    id: Option<String>,
    note: Option<Remark>,
}

fn kept(wanted: &Wanted, carried: Option<&str>, ownership: &Ownership) -> Option<Kept> {
    let Wanted { name, id, from, .. } = wanted;
    match carried {
        Some(carried) if carried == id => None,
        Some(carried) => Some(Kept {
            id: Some(carried.to_owned()),
            note: Some(Remark::Note(format!(
                "{name} keeps its operator id {carried} (not {id} of {from}); to move it: -x {id} --take-over"
            ))),
        }),
        None => {
            let mine = ownership.takers().any(|taker| taker.id == *id);
            let other = ownership.others(id).next().filter(|_| !mine)?;
            let may = if other.takes == Takes::Yes { "takes" } else { "may take" };
            Some(Kept {
                id: None,
                note: Some(Remark::Note(format!(
                    "{name} stays without an operator id: operator {} in namespace {} {may} it ({}); to move it: -x {id} --take-over",
                    other.id, other.namespace, other.reason
                ))),
            })
        }
    }
}

/// Another operator that owns, or may own, the resource.
struct OtherOwner {
    text: String,
}

impl OtherOwner {
    fn refusal(&self, wanted: &Wanted) -> Error {
        let Wanted { namespace, name, id, .. } = wanted;
        Error::refused("OtherOwner", format!("not given to operator {id}: {}", self.text))
            .object(ObjectRef::new(wanted.kind.kind, Some(namespace), name))
            .hint(format!("to move it to {id}: {} -x {id} --take-over …", wanted.command()))
            .hint("to run another one beside it: --name NAME")
    }
}

fn other_owner(
    wanted: &Wanted,
    carried: Option<&str>,
    ownership: &Ownership,
    observed: &Observed,
) -> Option<OtherOwner> {
    let id = &wanted.id;
    if carried == Some(id.as_str()) {
        return None;
    }
    let what = format!("{} in namespace {}", wanted.what(), wanted.namespace);
    if carried.is_none() && ownership.takers().any(|taker| taker.id == *id) {
        return None;
    }
    let mut others: Vec<_> = ownership.others(id).collect();
    others.sort_by_key(|other| other.takes);
    if let Some(other) = others.first() {
        let owned = if other.takes == Takes::Yes { "is owned" } else { "may be owned" };
        return Some(OtherOwner {
            text: format!(
                "{what} {owned} by operator {} in namespace {} ({})",
                other.id, other.namespace, other.reason
            ),
        });
    }
    let sure = observed.knows_all();
    match carried {
        Some(carried) if !sure && with_id(&observed.operators, camel_k::NAME, carried).next().is_none() => {
            Some(OtherOwner {
                text: format!("{what} carries the id {carried}, and it cannot be seen whether an operator has it"),
            })
        }
        None if !sure && *id != camel_k::DEFAULT_ID && has_phase(observed) => {
            Some(OtherOwner { text: format!("{what} carries no id and is run by an operator that cannot be seen") })
        }
        _ => None,
    }
}

fn has_phase(observed: &Observed) -> bool {
    let phase = observed.existing.as_ref().and_then(|object| object.pointer("/status/phase")?.as_str());
    phase.is_some_and(|phase| !phase.is_empty())
}

impl Observed {
    /// Whether an id that is not among the operators' certainly belongs to nobody.
    fn knows_all(&self) -> bool {
        let ids_known = self.operators.iter().all(|operator| operator.id_known);
        (self.all_deployments && ids_known) || self.all_claimed
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let of_family = self.operators.iter().filter(|operator| operator.family == camel_k::NAME && operator.id_known);
        of_family.map(|operator| operator.id.as_str())
    }

    /// The operators of an id that act in a namespace, as far as is known.
    pub fn responsible<'a>(&'a self, id: &'a str, namespace: &'a str) -> impl Iterator<Item = &'a Operator> {
        with_id(&self.operators, camel_k::NAME, id)
            .filter(move |operator| operator.state != State::Standby && operator.watches(namespace) != Some(false))
    }

    /// The one operator that certainly watches a namespace, when there is just one.
    fn only_one_in(&self, namespace: &str) -> Option<&str> {
        let mut here = self.operators.iter().filter(|operator| {
            operator.family == camel_k::NAME
                && operator.id_known
                && operator.state.acts()
                && operator.watches(namespace) == Some(true)
        });
        let first = here.next()?;
        here.next().is_none().then_some(first.id.as_str())
    }
}

/// The step that makes the resource what is wanted; `None` when it is that already.
pub fn step(wanted: &Wanted, existing: Option<&Value>, object: Value) -> Option<Step> {
    let write = match existing {
        None => Write::Create { object, manager: TENANT_MANAGER },
        Some(existing) => Write::Patch {
            patch: patch(existing, &object, TENANT_MANAGER)?,
            observed: existing.clone(),
            manager: TENANT_MANAGER,
            subresource: None,
        },
    };
    Some(Step::new(wanted.kind, Some(&wanted.namespace), &wanted.name, write))
}

/// The step after a change of id that makes the new operator start anew: in some phases an operator never looks at
/// the id again and would wait for what the former one has begun. A Pipe looks at it in every phase.
pub fn restart(wanted: &Wanted, before: &Value, now: &Value) -> Option<Step> {
    let follows = wanted.kind != INTEGRATION;
    if follows || operator_id(before) == operator_id(now) || !progress::is_midway(now) {
        return None;
    }
    let write = Write::Patch {
        patch: serde_json::json!({"status": null}),
        observed: now.clone(),
        manager: TENANT_MANAGER,
        subresource: Some("status"),
    };
    Some(Step::new(wanted.kind, Some(&wanted.namespace), &wanted.name, write))
}
