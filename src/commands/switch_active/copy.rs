//! Plans and makes the copies a new operator needs.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

use crate::{
    cluster::{Cluster, switch::Unread},
    contracts::{
        kinds::{CONFIG_MAP, Kind, SECRET},
        tigera,
    },
    error::{Error, ObjectRef, Result},
    tenancy::{
        plan::Step,
        switch::{
            Finding, certificates,
            copies::{self, Action, Chosen, Left, NEVER_TYPES, Wish},
        },
    },
};

use super::{Rehearsal, account::Account, guard::Guard};

/// Objects read at once.
const AT_ONCE: usize = 8;

/// One object to copy.
pub struct Item {
    /// Which, and why.
    pub chosen: Chosen,
    /// The object; `None` when it may not be read.
    pub source: Option<Value>,
    /// What the target has.
    target: Option<Value>,
    /// What is to be done; `None` when it cannot be told.
    pub action: Option<Action>,
}

/// What is copied and what is not.
#[derive(Default)]
pub struct Copies {
    /// Namespace they come from.
    pub from: String,
    /// Objects to copy.
    pub items: Vec<Item>,
    /// Objects that stay.
    pub left: Vec<Left>,
    /// Names that the target has already, whether copied or not.
    there: Vec<(Kind, String)>,
}

impl Copies {
    /// Whether the target will have an object.
    pub fn will_have(&self, kind: Kind, name: &str) -> bool {
        self.there.iter().any(|(other, there)| *other == kind && there == name)
            || self.items.iter().any(|item| item.chosen.kind == kind && item.chosen.name == name)
    }

    /// Whether the source has an object.
    pub fn source_has(&self, kind: Kind, name: &str) -> bool {
        self.items.iter().any(|item| item.chosen.kind == kind && item.chosen.name == name)
            || self.left.iter().any(|left| left.kind == kind && left.name == name)
    }

    /// The writes, with the source of each.
    pub fn steps<'a>(&'a self, to: &'a str, run: &'a str) -> impl Iterator<Item = (&'a Item, Step)> {
        self.items.iter().filter_map(move |item| {
            let source = item.source.as_ref()?;
            let step = copies::step(item.chosen.kind, source, item.target.as_ref(), item.action.as_ref()?, to, run)?;
            Some((item, step))
        })
    }

    /// What the user should know, and what stops the switch.
    pub fn findings(&self, to: &str, now: jiff::Timestamp) -> Vec<Finding> {
        let mut found = Vec::new();
        let pair = |item: &Item| certificates::of_secret(item.source.as_ref()?);
        let ca = self.items.iter().find(|item| item.chosen.name == tigera::CA).and_then(pair);
        for item in &self.items {
            let label = format!("{}/{}", item.chosen.kind.result_name(), item.chosen.name);
            if let Some(Action::Conflict(why)) = &item.action {
                found.push(
                    Finding::refuse("CopyConflict", format!("{label} exists in namespace {to}: {why}"))
                        .hint("write over what differs with --overwrite, or leave it with --exclude NAME"),
                );
            }
            if item.chosen.kind == SECRET
                && let Some(pair) = pair(item)
            {
                found.extend(certificates::judge(&item.chosen.name, &pair, ca.as_ref(), &self.from, now));
            }
            if item.source.as_ref().is_some_and(|source| source["immutable"] == true) {
                found.push(Finding::warn(
                    "ImmutableDropped",
                    format!("{label} is immutable; its copy will not be, so that the operator can renew it"),
                ));
            }
        }
        found
    }
}

/// Finds out what has to be copied from `from` to `to`.
pub async fn plan(
    cluster: &Cluster,
    from: &str,
    to: &str,
    wish: &Wish,
    rehearsal: Option<Rehearsal>,
    unread: &mut Unread,
) -> Result<Copies> {
    let (mut theirs, mut there) = (Unread::new(), Unread::new());
    let (sources, targets) = tokio::join!(cluster.contents(from, &mut theirs), cluster.contents(to, &mut there));
    if let (Some(first), false, None | Some(Rehearsal::Server)) = (theirs.first(), wish.none, rehearsal) {
        return Err(Error::not_authorised(format!("cannot tell what has to be copied: {first}"))
            .hint("switch without copies: --no-copy"));
    }
    unread.extend(theirs);
    unread.extend(there);
    let names = |found: Vec<(Kind, Value)>| {
        let name = |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        found.into_iter().filter_map(|(kind, object)| Some((kind, name(&object)?))).collect()
    };
    let (chosen, mut left) = copies::choose(&sources?, wish);
    let read: Vec<Item> = stream::iter(chosen)
        .map(|chosen| item(cluster, chosen, from, to, wish.overwrite, rehearsal))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let mut items = Vec::new();
    for item in read {
        let kind = item.source.as_ref().and_then(|source| source["type"].as_str()).unwrap_or_default();
        if NEVER_TYPES.contains(&kind) {
            left.push(Left {
                kind: SECRET,
                name: item.chosen.name,
                why: format!("of type {kind}, which belongs to one place"),
                can_include: false,
            });
        } else {
            items.push(item);
        }
    }
    Ok(Copies { from: from.to_owned(), items, left, there: names(targets?) })
}

/// Copies of objects that are known by name; what the source does not have is left out.
pub async fn named(
    cluster: &Cluster,
    from: &str,
    to: &str,
    chosen: Vec<Chosen>,
    overwrite: bool,
    rehearsal: Option<Rehearsal>,
) -> Result<Copies> {
    let read: Vec<Item> = stream::iter(chosen)
        .map(|chosen| item(cluster, chosen, from, to, overwrite, rehearsal))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let items = read.into_iter().filter(|item| item.source.is_some() || rehearsal.is_some()).collect();
    Ok(Copies { from: from.to_owned(), items, ..Copies::default() })
}

async fn item(
    cluster: &Cluster,
    chosen: Chosen,
    from: &str,
    to: &str,
    overwrite: bool,
    rehearsal: Option<Rehearsal>,
) -> Result<Item> {
    let (source, target) = tokio::join!(
        cluster.get(&chosen.kind, Some(from), &chosen.name),
        cluster.get(&chosen.kind, Some(to), &chosen.name),
    );
    let blind = rehearsal == Some(Rehearsal::Client);
    let (source, target) = match (source, target) {
        (Err(error), _) | (_, Err(error)) if blind && error.is_forbidden() => (None, None),
        (source, target) => (source?, target?),
    };
    let action = source.as_ref().map(|source| copies::decide(source, target.as_ref(), overwrite));
    Ok(Item { chosen, source, target, action })
}

/// What is told about the copies before anything is written.
pub fn describe(copies: &Copies) -> String {
    let mut lines = Vec::new();
    for item in &copies.items {
        let what = match &item.action {
            Some(Action::Create) => "copy".to_owned(),
            Some(Action::Equal) => "there already, the same".to_owned(),
            Some(Action::Update(why)) => format!("write over: {why}"),
            Some(Action::Conflict(why)) => format!("conflict: {why}"),
            None => "copy (not compared: you may not read it)".to_owned(),
        };
        let hash =
            item.source.as_ref().map(|source| format!(" {}", copies::short(&copies::hash(source)))).unwrap_or_default();
        lines.push(format!(
            "    {}/{}{hash}: {what} ({})",
            item.chosen.kind.result_name(),
            item.chosen.name,
            item.chosen.why
        ));
    }
    let more: Vec<String> = copies
        .left
        .iter()
        .filter(|left| left.can_include)
        .map(|left| format!("{}/{}", left.kind.result_name(), left.name))
        .collect();
    if !more.is_empty() {
        lines.push(format!("    not copied (--include NAME): {}", more.join(", ")));
    }
    for left in copies.left.iter().filter(|left| left.why.starts_with("belongs")) {
        lines.push(format!("    not copied: {}/{} {}", left.kind.result_name(), left.name, left.why));
    }
    lines.join("\n")
}

/// Makes the copies, each checked by reading it back. `guard` is asked before each write.
pub async fn carry_out(
    cluster: &Cluster,
    account: &Account<'_>,
    copies: &Copies,
    to: &str,
    guard: &Guard,
) -> Result<usize> {
    let run = account.id();
    let mut made = 0;
    for (item, step) in copies.steps(to, &run) {
        let Chosen { kind, name, .. } = &item.chosen;
        guard.check(cluster).await?;
        let action = match cluster.write(&step, false).await {
            Ok(applied) => applied.change.word(),
            // Another run may have made the same copy, or our own answer got lost: reading back tells.
            Err(error) if error.is_already_exists() || error.is_undecided() => "unchanged",
            Err(error) => return Err(error.into()),
        };
        let back = cluster.get(kind, Some(to), name).await?;
        let wanted = item.source.as_ref().map(copies::hash);
        if back.as_ref().map(copies::hash) != wanted {
            return Err(Error::refused(
                "CopyDiffers",
                format!(
                    "{}/{name} in namespace {to} does not hold what was copied: somebody else writes it",
                    kind.result_name()
                ),
            )
            .object(ObjectRef::new(kind.kind, Some(to), name))
            .hint("the pointer was not changed; run the command again"));
        }
        account.tell(kind, Some(to), name, action, wanted);
        made += 1;
    }
    for item in copies.items.iter().filter(|item| item.action == Some(Action::Equal)) {
        account.tell(&item.chosen.kind, Some(to), &item.chosen.name, "unchanged", None);
    }
    Ok(made)
}

/// Looks whether a source has changed since it was copied.
pub async fn verify_sources(cluster: &Cluster, copies: &Copies) -> Result<()> {
    for item in copies.items.iter().filter(|item| item.source.is_some()) {
        let Chosen { kind, name, .. } = &item.chosen;
        let now = cluster.get(kind, Some(&copies.from), name).await?;
        if now.as_ref().map(copies::hash) != item.source.as_ref().map(copies::hash) {
            return Err(Error::refused(
                "SourceChanged",
                format!("{}/{name} in namespace {} changed while it was copied", kind.result_name(), copies.from),
            )
            .object(ObjectRef::new(kind.kind, Some(&copies.from), name))
            .hint("the pointer was not changed; run the command again"));
        }
    }
    Ok(())
}

/// Deletes kctl's own unchanged copies from a namespace that is not active.
pub async fn cleanup(
    cluster: &Cluster,
    account: &Account<'_>,
    namespace: &str,
    rehearsal: Option<Rehearsal>,
) -> Result<()> {
    use crate::{cluster::ListOptions, tenancy::plan::Write};
    let marked = ListOptions { metadata_only: true, ..ListOptions::labelled(copies::MARK_LABEL) };
    for kind in [SECRET, CONFIG_MAP] {
        for found in cluster.list(&kind, Some(namespace), &marked).await? {
            let name = found.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let Some(object) = cluster.get(&kind, Some(namespace), name).await? else { continue };
            if !copies::is_unchanged_copy(&object) {
                account.tell(&kind, Some(namespace), name, "skipped", Some("changed since it was copied".into()));
                continue;
            }
            let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
            if rehearsal != Some(Rehearsal::Client) {
                let step = Step::new(kind, Some(namespace), name, Write::Delete { uid });
                match cluster.write(&step, rehearsal.is_some()).await {
                    Err(error) if error.is_not_found() => continue,
                    other => other?,
                };
            }
            account.tell(&kind, Some(namespace), name, "deleted", None);
        }
    }
    Ok(())
}
