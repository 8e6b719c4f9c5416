//! Reads what locks namespaces against cluster-wide operators.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

use super::{AT_ONCE, place, readable};
use crate::{
    cluster::{ApiError, Cluster, ListOptions},
    contracts::{FAMILIES, Family, Lock, Registry, kinds::LEASE},
    tenancy::{
        evidence::PlatformFacts,
        ownership::{Locks, NamespaceLocks, PlatformLock},
    },
};

/// From so many namespaces on two lists of the whole cluster are cheaper than two for each namespace.
const MANY: usize = 8;

type Platforms = Vec<(String, PlatformLock)>;

impl Cluster {
    /// What locks these namespaces against cluster-wide operators.
    pub async fn locks(&self, namespaces: impl IntoIterator<Item = &str>) -> Result<Locks, ApiError> {
        let namespaces: BTreeSet<&str> = namespaces.into_iter().collect();
        if namespaces.len() >= MANY
            && let (Some(platforms), Some(leases)) = self.lock_objects(None).await?
        {
            let mut found: BTreeMap<&str, NamespaceLocks> =
                namespaces.iter().map(|namespace| (*namespace, NamespaceLocks::none())).collect();
            for (namespace, platform) in platforms {
                if let Some(platforms) = found.get_mut(namespace.as_str()).and_then(|locks| locks.platforms.as_mut()) {
                    platforms.push(platform);
                }
            }
            for (namespace, lease) in leases {
                if let Some(leases) = found.get_mut(namespace.as_str()).and_then(|locks| locks.leases.as_mut()) {
                    leases.insert(lease);
                }
            }
            return Ok(found.into_iter().collect());
        }
        let read: Vec<_> = stream::iter(namespaces)
            .map(async |namespace| Ok::<_, ApiError>((namespace, self.namespace_locks(namespace).await?)))
            .buffered(AT_ONCE / 2)
            .try_collect()
            .await?;
        Ok(read.into_iter().collect())
    }

    async fn namespace_locks(&self, namespace: &str) -> Result<NamespaceLocks, ApiError> {
        let (platforms, leases) = self.lock_objects(Some(namespace)).await?;
        let platforms: Option<Vec<_>> =
            platforms.map(|platforms| platforms.into_iter().map(|(_, platform)| platform).collect());
        let leases = match leases {
            Some(leases) => Some(leases.into_iter().map(|(_, name)| name).collect()),
            None => self.named_leases(namespace, platforms.as_deref().unwrap_or_default()).await?,
        };
        Ok(NamespaceLocks { platforms, leases })
    }

    /// Registry objects and Leases, each with its namespace; `None` for what may not be listed.
    async fn lock_objects(
        &self,
        namespace: Option<&str>,
    ) -> Result<(Option<Platforms>, Option<Vec<(String, String)>>), ApiError> {
        let metadata = ListOptions { metadata_only: true, ..ListOptions::default() };
        let (platforms, leases) = tokio::try_join!(self.lock_platforms(namespace, &metadata), async {
            readable(self.list(&LEASE, namespace, &metadata).await)
        })?;
        Ok((platforms, leases.map(|found: Vec<Value>| found.iter().filter_map(place).collect())))
    }

    async fn lock_platforms(
        &self,
        namespace: Option<&str>,
        metadata: &ListOptions,
    ) -> Result<Option<Platforms>, ApiError> {
        let mut locks = Vec::new();
        for (family, registry) in registries() {
            let Some(found) = readable(self.list(&registry.kind, namespace, metadata).await)? else { return Ok(None) };
            locks.extend(found.iter().filter_map(|object| PlatformFacts::parse(family, object)).map(|platform| {
                (platform.namespace, PlatformLock { name: platform.name, secondary: platform.secondary })
            }));
        }
        Ok(Some(locks))
    }

    /// The Leases that may lock a namespace, asked for by name by a caller who may not list them.
    async fn named_leases(
        &self,
        namespace: &str,
        platforms: &[PlatformLock],
    ) -> Result<Option<BTreeSet<String>>, ApiError> {
        let fixed = FAMILIES.iter().flat_map(|family| family.rules).filter_map(|rules| match rules.lock {
            Lock::Lease(name) => Some(name.to_owned()),
            Lock::Registry { .. } | Lock::None => None,
        });
        let of_platforms =
            registries().flat_map(|(family, _)| platforms.iter().map(|platform| family.lease.of(&platform.name)));
        let wanted = fixed.chain(of_platforms).map(|name| (namespace.to_owned(), name)).collect();
        let mut found = BTreeSet::new();
        for ((_, name), answer) in self.each(&LEASE, wanted).await {
            match readable(answer)? {
                Some(Some(_)) => {
                    found.insert(name);
                }
                Some(None) => {}
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }
}

fn registries() -> impl Iterator<Item = (&'static Family, Registry)> {
    FAMILIES.iter().filter_map(|family| Some((*family, family.registry?)))
}
