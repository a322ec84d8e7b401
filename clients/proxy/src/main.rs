//! Stands between clients and a gateway, and passes on only answers that the evidence proves.

use std::process::ExitCode;

fn main() -> ExitCode {
    portcullis_proxy::program::main()
}
