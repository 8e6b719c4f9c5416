//! Which operator takes a resource. Pure, and the heart of this family.
//!
//! A resource names its operator in the annotation `camel.apache.org/operator.id`. What happens to a resource without it
//! changed over the years, hence the eras.

use std::fmt;
use std::str::FromStr;

/// The operator id when nobody chooses one.
pub const DEFAULT_ID: &str = "camel-k";

/// A range of Camel K releases that decide alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// v1.7 to v1.9: ids are optional and there is no default one.
    E0,
    /// v1.10 to v1.12: the default id `camel-k`; the operator makes its platform.
    E1,
    /// v2.0 to v2.4: Pipes replace `KameletBinding`s.
    E2,
    /// v2.5 to v2.7: the operator makes no platform any more.
    E3,
    /// v2.8 to v2.10.
    E4,
    /// v2.11: whoever watches a resource without an id takes it.
    E5,
}

impl Era {
    /// All of them, oldest first.
    pub const ALL: [Self; 6] = [Self::E0, Self::E1, Self::E2, Self::E3, Self::E4, Self::E5];

    /// The last release of the era.
    pub fn version(self) -> &'static str {
        match self {
            Self::E0 => "1.9.2",
            Self::E1 => "1.12.1",
            Self::E2 => "2.4.0",
            Self::E3 => "2.7.0",
            Self::E4 => "2.10.1",
            Self::E5 => "2.11.0-SNAPSHOT",
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl FromStr for Era {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|era| era.to_string().eq_ignore_ascii_case(text));
        found.ok_or_else(|| "eras are e0 to e5".to_owned())
    }
}

/// What the rule needs to know about an operator.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its releases' rules.
    pub era: Era,
    /// Its id; may be empty.
    pub id: String,
    /// The namespace it runs in.
    pub namespace: String,
    /// Whether it watches the whole cluster.
    pub global: bool,
}

/// What an operator does with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It takes it.
    Take,
    /// It leaves it alone.
    Leave,
    /// It takes it, unless the namespace of the resource is locked.
    UnlessLocked,
}

impl Identity {
    /// Decides about a resource with the id `carried` (empty without the annotation) in a namespace that is watched.
    pub fn verdict(&self, carried: &str, namespace: &str) -> Verdict {
        let same = carried == self.id;
        let unassigned = carried.is_empty();
        let takes_unassigned = match self.era {
            Era::E0 => false,
            Era::E1 | Era::E2 | Era::E3 | Era::E4 => self.id == DEFAULT_ID || !self.global,
            Era::E5 => true,
        };
        if !(same || unassigned && takes_unassigned) {
            return Verdict::Leave;
        }
        // A lock stands for a local operator. It matters to those from elsewhere who watch everything.
        let lock_matters = unassigned || self.era == Era::E0;
        if lock_matters && self.global && self.namespace != namespace { Verdict::UnlessLocked } else { Verdict::Take }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Leave, Take, UnlessLocked};
    use super::*;

    fn operator(era: Era, id: &str, global: bool) -> Identity {
        Identity { era, id: id.into(), namespace: "ops".into(), global }
    }

    #[test]
    fn the_same_id_is_taken_everywhere() {
        for era in &Era::ALL[1..] {
            for global in [true, false] {
                let tenant_a = operator(*era, "tenant-a", global);
                assert_eq!(tenant_a.verdict("tenant-a", "team"), Take, "{era}");
                assert_eq!(tenant_a.verdict("tenant-b", "team"), Leave, "{era}");
                assert_eq!(tenant_a.verdict("Tenant-A", "team"), Leave, "{era}: case matters");
                assert_eq!(tenant_a.verdict("tenant-a ", "team"), Leave, "{era}: blanks matter");
            }
        }
    }

    #[test]
    fn without_an_id_the_era_decides() {
        use Era::{E0, E1, E2, E3, E4, E5};
        let middle = [E1, E2, E3, E4];
        let mut table = vec![
            // era, id, global, verdict in another namespace, verdict in its own
            (E0, "", true, UnlessLocked, Take),
            (E0, "", false, Take, Take),
            (E0, "camel-k", true, Leave, Leave),
            (E0, "tenant-a", false, Leave, Leave),
            (E5, "", true, UnlessLocked, Take),
            (E5, "camel-k", true, UnlessLocked, Take),
            (E5, "tenant-a", true, UnlessLocked, Take),
            (E5, "tenant-a", false, Take, Take),
        ];
        for era in middle {
            table.extend([
                (era, "", true, UnlessLocked, Take),
                (era, "camel-k", true, UnlessLocked, Take),
                (era, "tenant-a", true, Leave, Leave),
                (era, "camel-k", false, Take, Take),
                (era, "tenant-a", false, Take, Take),
            ]);
        }
        for (era, id, global, elsewhere, own) in table {
            let operator = operator(era, id, global);
            assert_eq!(operator.verdict("", "team"), elsewhere, "{era} {id:?} global={global} elsewhere");
            assert_eq!(operator.verdict("", "ops"), own, "{era} {id:?} global={global} in its own namespace");
        }
    }

    #[test]
    fn a_lock_keeps_the_oldest_out_even_with_an_id() {
        assert_eq!(operator(Era::E0, "tenant-a", true).verdict("tenant-a", "team"), UnlessLocked);
        assert_eq!(operator(Era::E0, "tenant-a", true).verdict("tenant-a", "ops"), Take);
        assert_eq!(operator(Era::E0, "tenant-a", false).verdict("tenant-a", "team"), Take);
    }

    #[test]
    fn eras_are_read_in_any_case() {
        assert_eq!("e4".parse(), Ok(Era::E4));
        assert_eq!("E0".parse(), Ok(Era::E0));
        assert!("e6".parse::<Era>().is_err());
    }
}
