//! An engine to try the loop with: it answers `/v1/completions` and llama.cpp's `/completion` with recorded steps.
//!
//! `cargo run --package portcullis-test-support --features engine --example engine STEPS [ADDRESS]`: STEPS is a file
//! with one JSON list of alternatives per line, ADDRESS is `127.0.0.1:0`, a free port, where none is given. The address
//! is printed.

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
