//! Values to text: table, json, yaml, name.

pub mod manifest;
