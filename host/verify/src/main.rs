//! Checks the evidence of a Portcullis card offline. It trusts neither the card nor the supplier of the evidence.

use std::process::ExitCode;

fn main() -> ExitCode {
    portcullis_verify::main()
}
