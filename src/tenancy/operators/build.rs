//! The rows: one for each Deployment, then for what claims, pointers, Subscriptions and platforms tell beyond those.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Counted, LeaseInfo, Operator, PlatformInfo, Scope, State, identify};
use crate::contracts::{self, FAMILIES, Family, IdSource, LeaseName, Watch};
use crate::tenancy::env::{PodFacts, Setting};
use crate::tenancy::evidence::{ClaimFacts, DeploymentFacts, Evidence, Place, PlatformFacts, PointerState, Source};

/// All operators that evidence tells of, by id, family, namespace and Deployment. `now` is the server's clock.
pub fn operators(evidence: &Evidence, now: Timestamp) -> Vec<Operator> {
    let mut all: Vec<Operator> = FAMILIES.iter().flat_map(|family| of_family(family, evidence, now)).collect();
    all.sort_by(|a, b| {
        let key = |row: &'_ Operator| (row.id.clone(), row.family, row.namespace.clone(), row.deployment.clone());
        key(a).cmp(&key(b))
    });
    all
}

/// The operators of one family, in no order.
pub(super) fn of_family(family: &'static Family, evidence: &Evidence, now: Timestamp) -> Vec<Operator> {
    Rows { family, evidence, now, found: Vec::new() }.build()
}

/// Namespace and name of every Lease that an operator of this evidence would hold.
pub fn lease_places(evidence: &Evidence) -> BTreeSet<(String, String)> {
    let mut places = BTreeSet::new();
    for deployment in &evidence.deployments {
        let identity = identify(deployment, &evidence.config_maps);
        if identity.id_known {
            let name = deployment_lease(deployment.family, deployment, &identity.id);
            places.insert((deployment.namespace.clone(), name));
        }
    }
    for claim in &evidence.claims {
        let Some(family) = contracts::family(&claim.family) else { continue };
        for place in claim.active.iter().chain(&claim.standbys) {
            places.insert((place.namespace.clone(), family.lease.of(&claim.id)));
        }
    }
    for platform in evidence.platforms.iter().filter(|platform| platform.is_named_like_its_id()) {
        places.insert((platform.namespace.clone(), platform.family.lease.of(platform.stands_for())));
    }
    places
}

struct Rows<'a> {
    family: &'static Family,
    evidence: &'a Evidence,
    now: Timestamp,
    found: Vec<Operator>,
}

impl Rows<'_> {
    fn build(mut self) -> Vec<Operator> {
        let deployments = self.evidence.deployments.iter().filter(|found| found.family.name == self.family.name);
        for deployment in deployments {
            self.add_deployment(deployment);
        }
        self.judge_deployments();
        for claim in self.evidence.claims.iter().filter(|claim| claim.family == self.family.name) {
            self.add_claim(claim);
        }
        self.add_pointer();
        self.add_subscriptions();
        self.add_platforms();
        self.add_details();
        self.found
    }

    fn add_deployment(&mut self, deployment: &DeploymentFacts) {
        let identity = identify(deployment, &self.evidence.config_maps);
        // Where the namespace is the identity, two Deployments in it are one operator that elects one of its pods.
        if matches!(self.family.id, IdSource::Namespace { .. })
            && let Some(same) =
                self.found.iter_mut().find(|row| row.namespace == deployment.namespace && row.id == identity.id)
        {
            same.replicas = Some(same.replicas.unwrap_or(0) + deployment.replicas);
            same.ready_replicas = same.ready_replicas.zip(deployment.ready_replicas).map(|(one, other)| one + other);
            return;
        }
        let state = if deployment.ready_replicas == Some(0) { State::NotReady } else { State::Active };
        let mut row = Operator::at(self.family.name, identity.id, &deployment.namespace, state);
        row.id_known = identity.id_known;
        row.scope = identity.scope;
        row.version = identity.version;
        row.deployment = Some(deployment.name.clone());
        row.deployment_uid.clone_from(&deployment.uid);
        row.image.clone_from(&deployment.image);
        row.replicas = Some(deployment.replicas);
        row.ready_replicas = deployment.ready_replicas;
        row.managed_by = deployment.managed_by.map(str::to_owned);
        row.created_at = deployment.created_at;
        row.evidence.insert(Source::Deployment);
        let lease = deployment_lease(self.family, deployment, &row.id);
        row.lease = self.lease(&deployment.namespace, &lease);
        self.found.push(row);
    }

    /// States that follow from more than one Deployment: of the same id, or beside a pointer.
    fn judge_deployments(&mut self) {
        let pointer = self.pointer();
        let places: Vec<_> = self.found.iter().map(|row| (row.id.clone(), row.id_known)).collect();
        for row in &mut self.found {
            let same_id = places.iter().filter(|(id, known)| *known && *id == row.id).count();
            let claim = self.evidence.claims.iter().find(|claim| is_of(claim, self.family, row));
            if let Some(claim) = claim {
                row.operation.clone_from(&claim.operation);
                match role(claim, row) {
                    Some(Role::Active) => row.claimed = true,
                    Some(Role::Standby) => {
                        row.claimed = true;
                        // One that somebody scaled up by hand does not wait.
                        let runs = row.replicas.is_some_and(|replicas| replicas > 0);
                        row.state = if runs { State::Duplicate } else { State::Standby };
                    }
                    None => row.state = State::Duplicate,
                }
                if row.claimed {
                    row.evidence.insert(Source::Claim);
                    row.managed_by = claim.managed_by.clone().or_else(|| row.managed_by.take());
                }
                continue;
            }
            // An empty id is no id: operators before v1.10 shared it without harm.
            let twice = same_id > 1 && row.id_known && !row.id.is_empty();
            row.state = match &pointer {
                Some(PointerState::Says(id)) if *id != row.id => State::Standby,
                Some(PointerState::Absent) if places.len() > 1 => State::Duplicate,
                _ if twice => State::Duplicate,
                _ => row.state,
            };
        }
    }

    /// Places a claim names that have no Deployment. Where Deployments could not be read the claim is believed.
    fn add_claim(&mut self, claim: &ClaimFacts) {
        if claim.renamed_to.is_some() {
            return;
        }
        let deployed = self
            .found
            .iter()
            .any(|row| row.id_known && row.id == claim.id && row.evidence.contains(&Source::Deployment));
        let places = claim.active.iter().map(|place| (Role::Active, place));
        for (role, place) in places.chain(claim.standbys.iter().map(|place| (Role::Standby, place))) {
            if self.found.iter().any(|row| is_at(row, place)) {
                continue;
            }
            let seen = self.evidence.deployments_seen.has(&place.namespace);
            let state = match role {
                Role::Active if !seen => State::Active,
                Role::Standby if !seen => State::Standby,
                Role::Active if !deployed => self.undeployed(&claim.id, &place.namespace),
                _ => State::Dangling,
            };
            let mut row = Operator::at(self.family.name, &claim.id, &place.namespace, state);
            row.deployment = Some(place.deployment.clone());
            row.claimed = true;
            row.managed_by.clone_from(&claim.managed_by);
            row.operation.clone_from(&claim.operation);
            row.created_at = claim.created_at;
            row.evidence.insert(Source::Claim);
            self.found.push(row);
        }
    }

    fn add_pointer(&mut self) {
        let Some(PointerState::Says(id)) = self.pointer() else { return };
        let mut named = false;
        for row in self.found.iter_mut().filter(|row| row.id == id) {
            row.evidence.insert(Source::Pointer);
            named = true;
        }
        if named {
            return;
        }
        let state = if self.evidence.deployments_seen.has(&id) { State::Dangling } else { State::Active };
        let mut row = Operator::at(self.family.name, &id, &id, state);
        row.evidence.insert(Source::Pointer);
        self.found.push(row);
    }

    fn add_subscriptions(&mut self) {
        let IdSource::Env(variables) = self.family.id else { return };
        for found in self.evidence.subscriptions.iter().filter(|found| found.family.name == self.family.name) {
            let pod = PodFacts { namespace: found.namespace.clone(), ..Default::default() };
            let ids = variables.iter().map(|v| found.environment.get(v.name, &pod, &self.evidence.config_maps));
            let Some((id, known)) = ids.into_iter().find_map(non_empty) else { continue };
            let mut told = false;
            for row in self.found.iter_mut().filter(|row| row.id == id) {
                told = true;
                if row.namespace == found.namespace {
                    row.evidence.insert(Source::Subscription);
                    row.managed_by.get_or_insert_with(|| "olm".into());
                }
            }
            if told {
                continue;
            }
            let seen = self.evidence.deployments_seen.has(&found.namespace);
            let state = if seen { self.undeployed(&id, &found.namespace) } else { State::Active };
            let mut row = Operator::at(self.family.name, id, &found.namespace, state);
            row.id_known = known;
            row.version.clone_from(&found.version);
            row.managed_by = Some("olm".into());
            row.created_at = found.created_at;
            row.evidence.insert(Source::Subscription);
            self.found.push(row);
        }
    }

    /// Platforms named like an id that nothing else told of.
    fn add_platforms(&mut self) {
        let told: Vec<String> = self.found.iter().filter(|row| row.id_known).map(|row| row.id.clone()).collect();
        let candidates: Vec<&PlatformFacts> = self
            .evidence
            .platforms
            .iter()
            .filter(|platform| platform.family.name == self.family.name && platform.is_named_like_its_id())
            .filter(|platform| !told.iter().any(|id| id == platform.stands_for()))
            .filter(|platform| self.may_be_an_operators(platform))
            .collect();
        for platform in candidates {
            let lease = self.lease(&platform.namespace, &self.family.lease.of(platform.stands_for()));
            let live = lease.as_ref().is_some_and(|lease| lease.live);
            let state = match (self.evidence.deployments_seen.has(&platform.namespace), live) {
                (true, true) => State::External,
                (true, false) => State::Missing,
                (false, true) => State::Active,
                (false, false) => State::NotReady,
            };
            let mut row = Operator::at(self.family.name, platform.stands_for(), &platform.namespace, state);
            row.version.clone_from(&platform.version);
            row.created_at = platform.created_at;
            self.found.push(row);
        }
    }

    /// A platform without id, marks of an installer and Lease is a tenant's own when an operator watches its namespace.
    fn may_be_an_operators(&self, platform: &PlatformFacts) -> bool {
        let marked = platform.id.is_some() || platform.installed;
        let lease = self.family.lease.of(&platform.name);
        marked
            || self.lease(&platform.namespace, &lease).is_some()
            || !self.found.iter().any(|row| row.state.acts() && row.watches(&platform.namespace) == Some(true))
    }

    /// Leases, platforms and resources, which only add to a row.
    fn add_details(&mut self) {
        for at in 0..self.found.len() {
            let row = &self.found[at];
            let lease = row.lease.clone().or_else(|| self.lease(&row.namespace, &self.family.lease.of(&row.id)));
            let mut of_row = self.evidence.platforms.iter().filter(|platform| {
                platform.family.name == row.family
                    && platform.namespace == row.namespace
                    && platform.stands_for() == row.id
            });
            let platform =
                of_row.clone().find(|platform| platform.name == row.id).or_else(|| of_row.next()).map(|found| {
                    PlatformInfo {
                        name: found.name.clone(),
                        phase: found.phase.clone(),
                        version: found.version.clone(),
                    }
                });
            let known = row.id_known && !row.id.is_empty() && self.family.id_annotation.is_some();
            let resources = known.then(|| Counted {
                by_kind: self.evidence.ids.by_kind(&row.id, None),
                complete: self.evidence.ids_are_complete(self.family),
            });
            let row = &mut self.found[at];
            let added = [
                (Source::Lease, lease.is_some()),
                (Source::Platform, platform.is_some()),
                (Source::Ids, resources.as_ref().is_some_and(|counted| !counted.by_kind.is_empty())),
            ];
            row.evidence.extend(added.into_iter().filter(|(_, there)| *there).map(|(source, _)| source));
            if row.operation.is_none() {
                row.operation = self.evidence.switches.get(self.family.name).cloned();
            }
            row.lease = lease;
            row.platform = platform;
            row.resources = resources;
            if matches!(self.family.watch, Watch::Everything) {
                row.scope = Scope::Cluster;
            }
        }
    }

    /// The state of an id that has no Deployment.
    fn undeployed(&self, id: &str, namespace: &str) -> State {
        let platform = self.evidence.platforms.iter().any(|platform| {
            platform.family.name == self.family.name && platform.namespace == namespace && platform.stands_for() == id
        });
        let lease = self.lease(namespace, &self.family.lease.of(id));
        if platform && lease.is_some_and(|lease| lease.live) { State::External } else { State::Missing }
    }

    fn lease(&self, namespace: &str, name: &str) -> Option<LeaseInfo> {
        let found = self.evidence.leases.iter().find(|lease| lease.namespace == namespace && lease.name == name)?;
        Some(LeaseInfo { holder: found.holder.clone(), renew_time: found.renew_time, live: found.is_live(self.now) })
    }

    fn pointer(&self) -> Option<PointerState> {
        self.family.pointer?;
        Some(self.evidence.pointers.get(self.family.name).cloned().unwrap_or(PointerState::Absent))
    }
}

#[derive(Clone, Copy)]
enum Role {
    Active,
    Standby,
}

fn role(claim: &ClaimFacts, row: &Operator) -> Option<Role> {
    if claim.active.as_ref().is_some_and(|place| is_at(row, place)) {
        return Some(Role::Active);
    }
    claim.standbys.iter().any(|place| is_at(row, place)).then_some(Role::Standby)
}

fn is_at(row: &Operator, place: &Place) -> bool {
    row.namespace == place.namespace && row.deployment.as_ref() == Some(&place.deployment)
}

fn is_of(claim: &ClaimFacts, family: &Family, row: &Operator) -> bool {
    claim.family == family.name && row.id_known && claim.id == row.id && claim.renamed_to.is_none()
}

/// The Lease of a Deployment: what its command line says, else what its id makes it.
fn deployment_lease(family: &Family, deployment: &DeploymentFacts, id: &str) -> String {
    let flag = match family.lease {
        LeaseName::PerId { flag, .. } => deployment.flag(flag),
        LeaseName::Fixed(_) => None,
    };
    flag.map_or_else(|| family.lease.of(id), str::to_owned)
}

fn non_empty(setting: Setting) -> Option<(String, bool)> {
    match setting {
        Setting::Value(id) if !id.is_empty() => Some((id, true)),
        Setting::Hidden(shown) => Some((shown, false)),
        _ => None,
    }
}
