//! `prove` and `check-receipt`.

use crate::console::say;
use crate::output::write_new;
use crate::{SIMULATED, TrustArgs, WARNED};
use anyhow::Context;
use portcullis_evidence::bundle::{Directory, Receipt};
use portcullis_evidence::hex::encode;
use portcullis_evidence::receipt::{self, MAX_BYTES, Proof, ReceiptError};
use portcullis_evidence::report::plain;
use portcullis_evidence::ticket::IssuedBy;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Arguments of `prove`.
#[derive(Debug, clap::Args)]
pub struct ProveArgs {
    /// Folder of the bundle
    bundle: PathBuf,
    /// Lane of the record
    #[arg(long, value_name = "LANE", default_value_t = 0)]
    lane: u8,
    /// Log index of the record in that lane
    #[arg(long, value_name = "N")]
    index: u64,
    /// The proof; a file that exists is left as it is
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Arguments of `check-receipt`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The proof, as `prove` wrote it
    proof: PathBuf,
    /// The receipt, one line of JSON: {"serial", "lane", "index", "salt"}
    #[arg(long, value_name = "FILE")]
    receipt: PathBuf,
    /// The released text, byte for byte
    #[arg(long, value_name = "FILE")]
    text: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
}

pub(crate) fn prove(args: &ProveArgs) -> anyhow::Result<u8> {
    let proof = receipt::prove(&Directory::new(&args.bundle), args.lane, args.index)?;
    let mut json = serde_json::to_vec(&proof)?;
    json.push(b'\n');
    write_new(&args.output, &json)?;
    Ok(0)
}

pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    let proof = Proof::parse(&read(&args.proof)?)?;
    let receipt: Receipt = serde_json::from_slice(&read(&args.receipt)?)
        .map_err(|error| ReceiptError::Malformed(format!("the receipt: {error}")))?;
    let checked = proof.check(&receipt, &read(&args.text)?, &trust, options)?;
    let card = &checked.device;
    let lane = if receipt.lane == 0 { String::new() } else { format!(" of lane {}", receipt.lane) };
    say(format_args!("admitted: record {}{lane} of session {}", receipt.index, receipt.serial));
    say(format_args!("card      {} (design {})", plain(&card.subject), encode(&card.design_id)));
    let mut code = 0;
    match &checked.issued_by {
        IssuedBy::Issuer { name, .. } => say(format_args!("ticket    by {}", plain(name))),
        IssuedBy::SelfIssued => {
            say("ticket    by the operator: nobody else saw the session");
            code = WARNED;
        }
    }
    if options.at.is_none() {
        say("time      without --at the certificate's validity is not checked");
        code = WARNED;
    }
    if checked.simulated {
        say("SIMULATED: the key of this card is public; this is no evidence");
        code = SIMULATED;
    }
    Ok(code)
}

/// A small file.
fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read `{}`", path.display()))?;
    anyhow::ensure!(bytes.len() <= MAX_BYTES, "`{}` is larger than {MAX_BYTES} bytes", path.display());
    Ok(bytes)
}
