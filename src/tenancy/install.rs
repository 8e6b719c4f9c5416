//! The plan of an install: who may have the id, and what has to be written in which order.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::error::{Error, ObjectRef, Result};

use super::{
    claim::{Claim, Instance, Operation, Standing, standing},
    objects::{Mark, kind_of, owned_step, place_of},
    operators::{Operator, with_id},
    plan::{OWNER, Step, Write},
};

/// Objects that were looked for and found, by their URL path.
pub type Existing = HashMap<String, Value>;

/// The URL path of an object, as a key of [`Existing`].
///
/// # Errors
/// A kind that kctl does not write.
pub fn key(object: &Value) -> Result<String> {
    let (namespace, name) = place_of(object);
    Ok(kind_of(object)?.path(namespace, Some(name)))
}

/// What became of the holder of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Its Deployment does not exist and no live lease is held in its namespace.
    Gone,
    /// It is there, or it cannot be told that it is not; the text says why.
    There(String),
}

/// Something that uses an id without holding a claim to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// `Deployment` or `IntegrationPlatform`.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// What else is known: version, age.
    pub about: String,
}

/// Who wants which id, and how.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// Family of the operator.
    pub family: &'static str,
    /// The id.
    pub id: &'a str,
    /// Where the operator is to run.
    pub instance: &'a Instance,
    /// Take the id from a holder that is gone.
    pub take_over: bool,
    /// Wait under an id that another instance holds.
    pub standby: bool,
    /// Evidence the admin overrules.
    pub ignored: &'a [(String, String)],
    /// The operation this run would carry out.
    pub operation: &'a Operation,
}

/// How this run comes to hold the claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimMove {
    /// Create it.
    Create(Claim),
    /// Write this over the claim that was read, by compare-and-swap.
    Swap(Claim),
    /// It is held already and nothing is under way.
    Keep(Claim),
    /// Write this, with the instance among the standbys, over the claim that was read, by compare-and-swap.
    Join(Claim),
}

/// Decides how the wish may come to hold the id.
///
/// `holder` is asked for only when another instance holds the claim; `known` are the operators that evidence tells of;
/// `now` is the server's time.
///
/// # Errors
/// The id is taken, an operation is under way, or a rival uses the id (all exit 3).
pub fn claim_move(
    wish: &Wish<'_>,
    claim: Option<&Claim>,
    holder: Option<&Holder>,
    known: &[Operator],
    now: Timestamp,
) -> Result<ClaimMove> {
    let object = ObjectRef::new("OperatorClaim", None, super::claim::name(wish.family, wish.id));
    if wish.standby {
        return join(wish, claim).map_err(|error| error.object(object));
    }
    match (standing(claim, wish.instance), claim) {
        (Standing::Free, None) => {
            refuse_rivals(wish, &rivals(wish, known, now))?;
            Ok(ClaimMove::Create(Claim::new(wish.family, wish.id, wish.instance, wish.operation, wish.ignored)))
        }
        (Standing::Free, Some(claim)) => {
            refuse_rivals(wish, &rivals(wish, known, now))?;
            Ok(ClaimMove::Swap(claim.take_over(wish.instance, wish.operation)))
        }
        (Standing::Ours, Some(claim)) => Ok(ClaimMove::Keep(claim.clone())),
        (Standing::Unfinished(_), Some(claim)) => Ok(ClaimMove::Swap(claim.begin(wish.operation))),
        (Standing::Standby(active), _) => Err(Error::refused(
            "IsStandby",
            format!("{} is a standby of operator id {}; {active} is active", wish.instance, wish.id),
        )
        .object(object)
        .hint(format!("to change the standby: kctl install -x {} -n {} --standby", wish.id, wish.instance.namespace))
        .hint(format!("to make it active: kctl switch-active {} -x {}", wish.instance.namespace, wish.id))),
        (Standing::Busy(operation), _) => Err(busy(wish.id, &operation).object(object)),
        (Standing::Tombstone(to), _) => {
            let message = if to.is_empty() {
                format!("operator id {} was given up and its resources were left under it", wish.id)
            } else {
                format!("operator id {} was renamed to {to}", wish.id)
            };
            Err(Error::refused("IdRetired", message).object(object).hint("choose another id"))
        }
        (Standing::Held(active), Some(claim)) if wish.take_over => {
            if let Some(Holder::There(why)) = holder {
                return Err(Error::refused(
                    "HolderPresent",
                    format!("operator id {} cannot be taken over: its holder {active} is not gone: {why}", wish.id),
                )
                .object(object));
            }
            if let Some(operation) = claim.operation().filter(|operation| !operation.is_stale(now)) {
                return Err(busy(wish.id, &operation)
                    .object(object)
                    .hint("an operation that does not end can be taken over 10 minutes after it began"));
            }
            Ok(ClaimMove::Swap(claim.take_over(wish.instance, wish.operation)))
        }
        (Standing::Held(active), claim) => Err(id_taken(wish, &active, claim, known, now).object(object)),
        // A standing other than Free comes from a claim.
        (_, None) => Err(Error::failed("NoClaim", format!("the claim of operator id {} vanished", wish.id))),
    }
}

/// Decides how the wish may come to wait under the id.
fn join(wish: &Wish<'_>, claim: Option<&Claim>) -> Result<ClaimMove> {
    let id = wish.id;
    match (standing(claim, wish.instance), claim) {
        (Standing::Standby(_), Some(claim)) if claim.operation().is_none() => Ok(ClaimMove::Keep(claim.clone())),
        (Standing::Held(_), Some(claim)) if claim.operation().is_none() => {
            Ok(ClaimMove::Join(super::switch::standby::add(claim, wish.instance)))
        }
        (Standing::Ours, _) => {
            Err(Error::refused("IsActive", format!("{} is the active instance of operator id {id}", wish.instance))
                .hint(format!("to change it: kctl install -x {id} -n {}", wish.instance.namespace)))
        }
        (Standing::Free, _) => Err(Error::refused(
            "NotClaimed",
            format!("operator id {id} is not claimed: there is nothing to stand by for"),
        )
        .hint(format!("install it: kctl install -x {id} -n {}", wish.instance.namespace))),
        (Standing::Tombstone(to), _) => {
            Err(Error::refused("IdRetired", format!("operator id {id} was renamed or given up ({to})"))
                .hint("choose another id"))
        }
        (_, claim) => match claim.and_then(Claim::operation) {
            Some(operation) => Err(busy(id, &operation)),
            None => Err(Error::failed("NoClaim", format!("the claim of operator id {id} vanished"))),
        },
    }
}

fn busy(id: &str, operation: &Operation) -> Error {
    let mut error = Error::refused(
        "OperationUnderWay",
        format!("an operation on operator id {id} is under way: {} since {}", operation.kind, operation.since),
    );
    if let Some(resume) = &operation.resume {
        error = error.hint(format!("to go on with it: {resume}"));
    }
    if let Some(undo) = &operation.undo {
        error = error.hint(format!("to undo it: {undo}"));
    }
    error
}

fn id_taken(wish: &Wish<'_>, active: &Instance, claim: Option<&Claim>, known: &[Operator], now: Timestamp) -> Error {
    let at_holder = |found: &&Operator| {
        found.namespace == active.namespace && found.deployment.as_ref() == Some(&active.deployment)
    };
    let version = with_id(known, wish.family, wish.id).find(at_holder).and_then(|found| found.version.clone());
    let version = version.map(|version| format!(", version {version}")).unwrap_or_default();
    let since = claim
        .and_then(Claim::created)
        .map(|created| format!(", claimed {} ago", age(now, created)))
        .unwrap_or_default();
    Error::refused(
        "IdTaken",
        format!(
            "operator id {} is taken: Deployment {} in namespace {}{version}{since}",
            wish.id, active.deployment, active.namespace
        ),
    )
    .hint(format!("see it: kctl list-operators -n {}", active.namespace))
    .hint(format!("choose another id: kctl install -x {}-2 -n {}", wish.id, wish.instance.namespace))
    .hint(format!(
        "if that operator is gone for good: kctl install -x {} -n {} --take-over",
        wish.id, wish.instance.namespace
    ))
}

/// Time that has passed, in the one unit that matters, as kubectl shows ages.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Refuses the id when something that was not overruled uses it.
///
/// # Errors
/// A rival (exit 3), with the flag that overrules it.
pub fn refuse_rivals(wish: &Wish<'_>, rivals: &[Rival]) -> Result<()> {
    let overruled = |rival: &&Rival| wish.ignored.contains(&(rival.namespace.clone(), rival.name.clone()));
    let open: Vec<&Rival> = rivals.iter().filter(|rival| !overruled(rival)).collect();
    let Some(first) = open.first() else { return Ok(()) };
    let more = if open.len() > 1 { format!(" and {} more", open.len() - 1) } else { String::new() };
    Err(Error::refused(
        "IdTaken",
        format!(
            "operator id {} is taken: {} {} in namespace {}{}{more}",
            wish.id, first.kind, first.name, first.namespace, first.about
        ),
    )
    .object(ObjectRef::new(first.kind, Some(&first.namespace), &first.name))
    .hint(format!("see it: kctl list-operators -n {}", first.namespace))
    .hint(format!("choose another id: kctl install -x {}-2 -n {}", wish.id, wish.instance.namespace))
    .hint(format!(
        "if it is no operator at all: kctl install -x {} -n {} {}",
        wish.id,
        wish.instance.namespace,
        open.iter()
            .map(|rival| format!("--ignore-evidence {}/{}", rival.namespace, rival.name))
            .collect::<Vec<_>>()
            .join(" ")
    )))
}

/// What uses an id without holding its claim: Deployments, and platforms whose operator holds a live lease.
///
/// A lease or a platform alone is no evidence: any tenant can make one.
pub fn rivals(wish: &Wish<'_>, operators: &[Operator], now: Timestamp) -> Vec<Rival> {
    with_id(operators, wish.family, wish.id)
        .filter(|found| {
            found.namespace != wish.instance.namespace || found.deployment.as_ref() != Some(&wish.instance.deployment)
        })
        .filter_map(|found| {
            let version = found.version.as_ref().map(|version| format!(", version {version}"));
            let since = found.created_at.map(|created| format!(", {} old", age(now, created)));
            let about: String = version.into_iter().chain(since).collect();
            let (kind, name) = match (&found.deployment, &found.deployment_uid, &found.platform) {
                (Some(deployment), Some(_), _) => ("Deployment", deployment.clone()),
                (_, _, Some(platform)) if found.lease.as_ref().is_some_and(|lease| lease.live) => {
                    ("IntegrationPlatform", platform.name.clone())
                }
                _ => return None,
            };
            Some(Rival { kind, namespace: found.namespace.clone(), name, about })
        })
        .collect()
}

/// Definitions of kinds: created when absent, never replaced; kctl's own may be upgraded.
///
/// # Errors
/// An object without a known kind.
pub fn definitions(wanted: Vec<Value>, existing: &Existing) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for object in wanted {
        let observed = existing.get(&key(&object)?);
        let step = match observed {
            None => {
                let kind = kind_of(&object)?;
                let name = place_of(&object).1.to_owned();
                Step::new(kind, None, &name, Write::CreateOnly { object, manager: OWNER })
            }
            Some(observed) if schema(observed) < schema(&object) => {
                owned_step(object, Some(observed), Mark { label: "kctl.dev/shared", value: None }, false)?
            }
            Some(_) => continue,
        };
        steps.push(step);
    }
    Ok(steps)
}

/// The number kctl gives the schemas of its own definitions; those of others have none and are never older.
fn schema(definition: &Value) -> Option<u32> {
    definition.pointer("/metadata/annotations")?.get("kctl.dev/schema")?.as_str()?.parse().ok()
}

/// The steps that bring objects of kctl's about, in the order given.
///
/// # Errors
/// One of them exists and is somebody else's (exit 3).
pub fn owned(wanted: Vec<Value>, existing: &Existing, mark: Mark<'_>, force: bool) -> Result<Vec<Step>> {
    wanted
        .into_iter()
        .map(|object| {
            let observed = existing.get(&key(&object)?);
            owned_step(object, observed, mark, force)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tenancy::operators::State;

    fn operation() -> Operation {
        Operation {
            id: "run-2".into(),
            kind: "install".into(),
            since: "2026-01-01T00:00:00Z".into(),
            from: None,
            to: None,
            resume: Some("kctl install -x a -n ops".into()),
            undo: None,
        }
    }

    fn held_by(namespace: &str, finished: bool) -> Claim {
        let claim = Claim::new("camel-k", "a", &Instance::new(namespace, "a-operator"), &operation(), &[]);
        if finished { claim.finish("uid", Timestamp::UNIX_EPOCH) } else { claim }
    }

    fn decide(
        claim: Option<&Claim>,
        take_over: bool,
        holder: Option<&Holder>,
        rivals: &[Operator],
        now: &str,
    ) -> Result<ClaimMove> {
        let wish = Wish {
            family: "camel-k",
            id: "a",
            instance: &Instance::new("ops", "a-operator"),
            take_over,
            standby: false,
            ignored: &[("seeded".to_owned(), "ignored".to_owned())],
            operation: &operation(),
        };
        claim_move(&wish, claim, holder, rivals, now.parse().expect("a time"))
    }

    const SOON: &str = "2026-01-01T00:05:00Z";
    const LATE: &str = "2026-01-01T00:11:00Z";

    #[test]
    fn the_id_is_free_held_or_ours() {
        assert!(matches!(decide(None, false, None, &[], SOON), Ok(ClaimMove::Create(_))));
        assert!(matches!(decide(Some(&held_by("ops", true)), false, None, &[], SOON), Ok(ClaimMove::Keep(_))));
        assert!(matches!(decide(Some(&held_by("ops", false)), false, None, &[], SOON), Ok(ClaimMove::Swap(_))));
        let refusal = decide(Some(&held_by("alt", true)), false, None, &[], SOON).expect_err("taken");
        assert_eq!((refusal.exit(), refusal.reason()), (crate::error::Exit::Refused, "IdTaken"));
    }

    #[test]
    fn only_a_holder_that_is_gone_can_be_taken_over_from() {
        let there = Holder::There("its Deployment exists".into());
        let reason = |result: Result<ClaimMove>| result.err().map(|error| error.reason());
        assert_eq!(reason(decide(Some(&held_by("alt", true)), true, Some(&there), &[], LATE)), Some("HolderPresent"));
        assert_eq!(
            reason(decide(Some(&held_by("alt", false)), true, Some(&Holder::Gone), &[], SOON)),
            Some("OperationUnderWay")
        );
        for claim in [held_by("alt", true), held_by("alt", false)] {
            let Ok(ClaimMove::Swap(next)) = decide(Some(&claim), true, Some(&Holder::Gone), &[], LATE) else {
                panic!("a holder that is gone");
            };
            assert_eq!(next.active(), Some(Instance::new("ops", "a-operator")));
        }
    }

    #[test]
    fn evidence_blocks_a_new_claim_only() {
        let rival = |name: &str| {
            let mut operator = Operator::at("camel-k", "a", "seeded", State::Active);
            (operator.deployment, operator.deployment_uid) = (Some(name.to_owned()), Some("uid".to_owned()));
            operator
        };
        assert!(decide(None, false, None, &[rival("x")], SOON).is_err());
        assert!(decide(None, false, None, &[rival("ignored")], SOON).is_ok());
        let error = decide(None, false, None, &[rival("ignored"), rival("y")], SOON).expect_err("y is not overruled");
        assert!(error.all_hints().iter().any(|hint| hint.contains("--ignore-evidence seeded/y")));
        assert!(
            decide(Some(&held_by("ops", true)), false, None, &[rival("x")], SOON).is_ok(),
            "forged evidence must not block"
        );
    }

    #[test]
    fn definitions_are_made_once_and_only_kctls_own_are_upgraded() {
        let crd = |schema: Option<&str>| {
            let mut crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "x", "labels": {"kctl.dev/shared": "claims"},
                    "managedFields": [{"manager": "kctl", "operation": "Apply"}]}});
            if let Some(schema) = schema {
                crd["metadata"]["annotations"] = json!({"kctl.dev/schema": schema});
            }
            crd
        };
        let steps = |wanted: Value, observed: Option<Value>| {
            let existing = observed.into_iter().map(|object| (key(&object).expect("known"), object)).collect();
            definitions(vec![wanted], &existing).expect("steps").len()
        };
        assert_eq!(steps(crd(Some("2")), None), 1);
        assert_eq!(steps(crd(Some("2")), Some(crd(Some("1")))), 1);
        assert_eq!(steps(crd(Some("1")), Some(crd(Some("2")))), 0, "a newer one stays");
        assert_eq!(steps(crd(None), Some(crd(None))), 0);
    }

    #[test]
    fn ages() {
        let then = Timestamp::UNIX_EPOCH;
        let after = |seconds: i64| age(Timestamp::from_second(seconds).expect("a time"), then);
        assert_eq!([after(5), after(119), after(120), after(7_200), after(172_800)], ["5s", "119s", "2m", "2h", "2d"]);
    }
}
