//! The rules, pure: ids, operators from evidence, ownership, claims, plans.

pub mod env;
pub mod evidence;
pub mod id;
pub mod operators;
pub mod ownership;
pub mod version;
