//! Facts about other people's software: names, keys, versions. No rules, no input and output.

pub mod camel_dsl;
pub mod camel_traits;
pub mod kinds;
