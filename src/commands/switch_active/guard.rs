//! Whether this run may still write: a run that slept while others went on must not.

use crate::{
    cluster::Cluster,
    contracts::{kinds::OPERATOR_CLAIM, tigera},
    error::{Error, ObjectRef, Result},
    tenancy::{
        claim::Claim,
        switch::pointer::{Pointer, Says},
    },
};

/// What must still be so.
#[derive(Clone, Debug)]
pub enum Guard {
    /// The pointer says this, and this switch (or none) is under way.
    Pointer {
        /// What it says.
        says: Says,
        /// Id of the switch under way.
        switch: Option<String>,
    },
    /// The claim of that name notes the operation of this run.
    Claim {
        /// Name of the claim.
        name: String,
        /// Id of the run.
        run: String,
    },
}

impl Guard {
    /// What the pointer says now must stay so.
    pub fn pointer(pointer: &Pointer) -> Self {
        Self::Pointer { says: pointer.says(), switch: pointer.switch().map(|switch| switch.id) }
    }

    /// Looks.
    ///
    /// # Errors
    /// Somebody else went on meanwhile (exit 3).
    pub async fn check(&self, cluster: &Cluster) -> Result<()> {
        match self {
            Self::Pointer { says, switch } => {
                let now = cluster.pointer().await?;
                if now.says() == *says && now.switch().map(|switch| switch.id) == *switch {
                    return Ok(());
                }
                Err(lost(&now))
            }
            Self::Claim { name, run } => {
                let now = cluster.get(&OPERATOR_CLAIM, None, name).await?.map(Claim::read);
                let operation = now.as_ref().and_then(Claim::operation);
                if operation.as_ref().is_some_and(|operation| operation.id == *run) {
                    return Ok(());
                }
                let what = match operation {
                    Some(other) => {
                        format!("another run carries out: {} to {}", other.kind, other.to.unwrap_or_default())
                    }
                    None => "another run ended it".to_owned(),
                };
                Err(Error::refused(
                    "OperationLost",
                    format!("lost the switch on the way: {what}; nothing more was written"),
                )
                .object(ObjectRef::new(OPERATOR_CLAIM.kind, None, name))
                .hint("kctl list-operators shows how it stands"))
            }
        }
    }
}

/// The error of a run that lost to another: it says who won.
pub fn lost(now: &Pointer) -> Error {
    let pointer = tigera::POINTER;
    let winner = match (now.switch(), now.says()) {
        (Some(switch), _) => format!("another run switches to {} since {}", switch.to, switch.since),
        (None, Says::Namespace(name)) => format!("somebody else made {name} active"),
        (None, Says::Absent) => "somebody deleted the pointer".to_owned(),
        (None, _) => "somebody else changed the pointer".to_owned(),
    };
    let error = Error::refused("Conflict", format!("lost to another run: {winner}; nothing more was written"))
        .object(ObjectRef::new(pointer.kind.kind, Some(pointer.namespace), pointer.name));
    match now.switch() {
        Some(switch) => error
            .hint(format!("to go on with it: kctl switch-active -n {}", switch.to))
            .hint("to turn it back: kctl switch-active -"),
        None => error.hint("kctl list-operators shows how it stands"),
    }
}
