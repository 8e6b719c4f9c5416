//! The rules, pure: ids, operators from evidence, ownership, claims, plans.

pub mod id;
pub mod plan;
