//! Checks the evidence of a Portcullis card, offline, trusting neither the card nor whoever hands the evidence over.

use std::process::ExitCode;

fn main() -> ExitCode {
    portcullis_verify::main()
}
