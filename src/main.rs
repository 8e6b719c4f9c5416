//! Entry and exit code.
fn main() {}
