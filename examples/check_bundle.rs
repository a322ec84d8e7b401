//! Checks a bundle with the library: verifies it, and replays it from its own texts.
//!
//! `cargo run --package portcullis-audit --example check_bundle first.bundle trust`
//!
//! The exit code is that of `portcullis check`. Simulated evidence is accepted here, and gives code 10.

use portcullis_audit::check;
use portcullis_evidence::bundle;
use portcullis_evidence::verify::{TrustedParties, VerifyOptions};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (folder, trust) = words.next().zip(words.next()).ok_or("expected a bundle and a trust folder")?;
    let options = VerifyOptions { allow_sim: true, ..VerifyOptions::default() };
    // The trusted keys come from your own folder, not from the bundle.
    let trust = TrustedParties::load(Path::new(&trust), options.allow_sim)?;
    let checked = check(&*bundle::at(Path::new(&folder))?, &trust, options, &mut |_records| {}, &mut || {})?;
    if let Some(error) = &checked.error {
        println!("not a bundle: {error}");
    }
    if let Some(report) = &checked.verify {
        println!("{}", serde_json::to_string_pretty(&report.properties)?);
    }
    println!("{}", checked.status);
    Ok(ExitCode::from(checked.exit_code))
}
