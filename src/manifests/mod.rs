//! From a wish to objects, pure.

pub mod crds;
pub mod operator;
pub mod rbac;
