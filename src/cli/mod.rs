//! What may be typed: shared flag groups and value parsers.

pub mod global;
