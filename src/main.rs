//! Entry and exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    kctl::commands::main()
}
