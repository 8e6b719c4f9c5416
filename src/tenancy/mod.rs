//! The rules, pure: ids, operators from evidence, ownership, claims, plans.

pub mod claim;
pub mod id;
pub mod objects;
pub mod plan;
