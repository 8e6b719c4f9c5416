//! Values to text: table, json, yaml, name.
