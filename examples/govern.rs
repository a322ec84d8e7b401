//! Governs a text with the library: policy, card, session, determinations, released text.
//!
//! `cargo run --package portcullis-gate --example govern policies/pii 'Write to ana@example.org. Thank you.'`
//!
//! The card is the model in Rust. For a real or simulated card, only the [`CardChoice`] would differ.

use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamEventKind, StreamGovernor, StreamInput};
use portcullis_policy::PolicyPackage;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (folder, text) = words.next().zip(words.next()).ok_or("expected the folder of a policy, and a text")?;

    // The policy package. It is compiled to tables, which the card locks from OPEN to CLOSE.
    let package = PolicyPackage::load(Path::new(&folder))?;
    let compiled = package.compile()?;
    let policy = Arc::new(GatePolicy::new(package, compiled)?);
    let card = CardChoice::Model.open()?;
    let mut session = CardSession::open(card, &policy.compiled.image, SessionConfig::default())?;

    // Salts hide the texts in the log; each session needs a new key.
    let governor = Arc::new(StreamGovernor::new(policy, GateSettings::new(SaltKey::random()?))?);
    let item = StreamInput::Text { id: "example".to_owned(), text, task: StreamTask::default() };
    governor.govern(&mut session, [item], |event| -> Result<(), SessionError> {
        match event.what {
            StreamEventKind::Determined(judged) => {
                let rule = judged.determination.rule.unwrap_or_default();
                println!("{:?} {:?} {rule}", judged.determination.determination, judged.text);
            }
            // Only these bytes may be shown.
            StreamEventKind::Released { text, .. } => println!("released {text:?}"),
            StreamEventKind::Ended { summary, .. } => {
                println!("{} admitted, {} rejected", summary.admitted, summary.rejected)
            }
            _ => {}
        }
        Ok(())
    })?;
    session.close()?;
    Ok(())
}
