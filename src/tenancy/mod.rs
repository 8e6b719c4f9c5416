//! The rules, pure: ids, operators from evidence, ownership, claims, plans.

pub mod bind;
pub mod claim;
pub mod env;
pub mod evidence;
pub mod id;
pub mod install;
pub mod objects;
pub mod operators;
pub mod ownership;
pub mod patch;
pub mod plan;
pub mod preview;
pub mod progress;
pub mod run;
pub mod switch;
pub mod taken;
pub mod version;
