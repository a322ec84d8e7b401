//! The commands `prove` and `check-receipt`.

use crate::console::{json_line, json_pretty, say};
use crate::exit_code::{CONTRADICTED, SIMULATED, WARNED};
use crate::output::{code_of, write_new};
use crate::trust::TrustArgs;
use anyhow::Context;
use portcullis_evidence::bundle::{self, Receipt};
use portcullis_evidence::hex::encode;
use portcullis_evidence::receipt::{self, MAX_BYTES, ReceiptError, ReceiptProof, ReceiptStanding};
use portcullis_evidence::ticket::SELF_ISSUER;
use portcullis_evidence::verify::SignerIdentity;
use portcullis_report::escape::printable;
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Arguments of `prove`.
#[derive(Debug, clap::Args)]
pub struct ProveArgs {
    /// Folder of the bundle, or a tar archive of it
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
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn prove(args: &ProveArgs) -> anyhow::Result<u8> {
    let proof = receipt::prove(&*bundle::at(&args.bundle)?, args.lane, args.index)?;
    write_new(&args.output, format!("{}\n", json_line(&proof)?).as_bytes())?;
    Ok(0)
}

pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    match check_files(args) {
        Ok((receipt, result)) => {
            if args.json {
                say(json_pretty(&result.to_json(&receipt))?);
            } else {
                show(&receipt, &result);
            }
            Ok(result.exit_code)
        }
        Err(error) if args.json && code_of(&error) == CONTRADICTED => {
            let result = json!({"status": "contradicted", "exit_code": CONTRADICTED, "error": format!("{error:#}")});
            say(json_pretty(&result)?);
            Ok(CONTRADICTED)
        }
        Err(error) => Err(error),
    }
}

/// The result of `check-receipt` if there is no contradiction.
struct ReceiptCheckOutcome {
    standing: ReceiptStanding,
    exit_code: u8,
    card: String,
    design_id: String,
    issuer: SignerIdentity,
    self_issued: bool,
    certificate_time_checked: bool,
    simulated: bool,
    /// The file ends with a line break that the admitted text does not have.
    extra_line_break: bool,
}

impl ReceiptCheckOutcome {
    fn to_json(&self, receipt: &Receipt) -> serde_json::Value {
        json!({
            "status": self.standing, "exit_code": self.exit_code, "serial": receipt.serial, "lane": receipt.lane,
            "index": receipt.index, "card": self.card, "design_id": self.design_id, "issuer": self.issuer,
            "self_issued": self.self_issued, "certificate_time_checked": self.certificate_time_checked, "simulated": self.simulated,
            "extra_line_break": self.extra_line_break,
        })
    }
}

fn check_files(args: &CheckArgs) -> anyhow::Result<(Receipt, ReceiptCheckOutcome)> {
    let (trust, options) = args.trust.load()?;
    let proof = ReceiptProof::parse(&read(&args.proof)?)?;
    let receipt = Receipt::parse(&read(&args.receipt)?)
        .map_err(|error| ReceiptError::Malformed(format!("the receipt: {error}")))?;
    let text = read(&args.text)?;
    // Editors end a file with a line break, which is not a part of the released text.
    let without = text.strip_suffix(b"\r\n").or_else(|| text.strip_suffix(b"\n"));
    let check = |text: &[u8]| proof.check(&receipt, text, &trust, options);
    let (checked, extra_line_break) = match (check(&text), without) {
        (Err(ReceiptError::OtherText), Some(without)) => (check(without)?, true),
        (checked, _) => (checked?, false),
    };
    let issuer = checked.issuer;
    let self_issued = issuer.claimed == SELF_ISSUER;
    let warned =
        self_issued || options.at.is_none() || checked.standing == ReceiptStanding::NotJudged || extra_line_break;
    let result = ReceiptCheckOutcome {
        standing: checked.standing,
        exit_code: if checked.simulated {
            SIMULATED
        } else if warned {
            WARNED
        } else {
            0
        },
        card: checked.device.subject.clone(),
        design_id: encode(&checked.device.design_id),
        issuer,
        self_issued,
        certificate_time_checked: options.at.is_some(),
        simulated: checked.simulated,
        extra_line_break,
    };
    Ok((receipt, result))
}

fn show(receipt: &Receipt, result: &ReceiptCheckOutcome) {
    let lane = if receipt.lane == 0 { String::new() } else { format!(" of lane {}", receipt.lane) };
    let record = format!("record {}{lane} of session {}", receipt.index, receipt.serial);
    match result.standing {
        ReceiptStanding::Admitted => say(format_args!("admitted: {record}")),
        ReceiptStanding::NotJudged => {
            say(format_args!("not judged: {record} ends its stream"));
            say("text      formatting after the last span; the card logged its commitment, and no rule looked at it");
        }
    }
    if result.extra_line_break {
        say("text      the file without the line break at its end; the admitted text has none there");
    }
    say(format_args!("card      {} (design {})", printable(&result.card), result.design_id));
    if result.self_issued {
        say("ticket    by the operator: nobody else saw the session");
    } else {
        say(format_args!("ticket    by {}", printable(&result.issuer.to_string())));
    }
    if !result.certificate_time_checked {
        say("time      without --at the certificate's validity is not checked");
    }
    if result.simulated {
        say("SIMULATED: the key of this card is public; this is not evidence");
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read `{}`", path.display()))?;
    anyhow::ensure!(bytes.len() <= MAX_BYTES, "`{}` is larger than {MAX_BYTES} bytes", path.display());
    Ok(bytes)
}
