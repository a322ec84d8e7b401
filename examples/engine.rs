//! A test engine: it answers `/v1/completions` and llama.cpp's `/completion` with prepared steps.
//!
//! `cargo run --package portcullis-test-support --features engine --example engine STEPS [ADDRESS]`: each line of the
//! file STEPS is a JSON list of alternatives. ADDRESS is by default `127.0.0.1:0`, which selects a free port. The
//! address is printed.

use portcullis_test_support::engine::Server;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let steps = words.next().ok_or("expected a file with steps")?;
    let address = words.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let server = Server::at(&address, &std::fs::read_to_string(steps)?, None)?;
    println!("{}", server.address);
    server.wait();
    Ok(())
}
