//! `portcullis bundle`: commands that complete and edit bundles.

use crate::failure::{CommandFailure, SUCCESS};
use portcullis_evidence::bundle::{
    FinishReport, StreamChoice, WithholdReason, WithholdReport, finish, withhold, withhold_in_place,
};
use portcullis_report::escape::printable;
use portcullis_verify::{CONTRADICTED, console};
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub(crate) enum BundleCommand {
    /// Complete the bundle of a session that died.
    Finish(FinishArgs),
    /// Take the texts of streams out of a bundle, with a signed reason.
    Withhold(WithholdArgs),
}

/// A run that is killed, or that loses power, leaves a folder without a manifest, which is not a bundle yet. This
/// completes it as far as the evidence goes: it keeps the checkpoints whose records are there, the records after them
/// as far as they follow the rules, and every whole line about them. Half a record or half a line is taken out and
/// named. Nothing is made up: the bundle verifies as one that was not closed (exit code 5 of `portcullis verify`). A
/// finished bundle is left as it is.
///
/// Exit codes: 0 the bundle is complete; 1 an error, or a session still writes there; 2 usage; 3 the folder holds
/// nothing that a card signed, or was changed after it was finished.
#[derive(clap::Args)]
pub(crate) struct FinishArgs {
    /// Folder of the bundle.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only print what would be done; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write what was done as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Takes spans, salts, receipts, inputs and context documents (which hold the task) of the chosen streams out of a
/// finished bundle. Everything else still verifies; a verifier warns (exit code 5) and shows the reason, who signed it,
/// and how many streams it is about.
///
/// What remains of a withheld span is its record: what the mapping found in it (category, classes, quantities,
/// fractions), its length, the verdict, and the commitment, which says nothing without the salt. The id of a stream
/// remains unless --names is given. Anchor stores and the policy are not touched. Copies that were made before are not
/// reached: ledgers, receipts that readers have, backups.
///
/// Exit codes: 0 done; 1 an error, or no stream is meant; 2 usage; 3 the folder is not a finished bundle.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(group = clap::ArgGroup::new("choice").required(true).args(["stream", "all_but", "before", "all"]))]
#[command(group = clap::ArgGroup::new("where").required(true).args(["output", "in_place"]))]
pub(crate) struct WithholdArgs {
    /// Folder of the bundle.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The stream with this id; may be given several times.
    #[arg(long, value_name = "ID")]
    stream: Vec<String>,
    /// Every stream except the one with this id; may be given several times.
    #[arg(long, value_name = "ID")]
    all_but: Vec<String>,
    /// Every stream whose records a witness saw before this Unix second. The bundle must have a witness's notes.
    #[arg(long, value_name = "SECOND")]
    before: Option<u64>,
    /// Every stream.
    #[arg(long)]
    all: bool,
    /// Why, in one line.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Name of whoever signs, in one line.
    #[arg(long)]
    name: String,
    /// Their private key, Ed25519 in PEM, such as `portcullis policy approve --new-key` makes. Verifiers believe it
    /// when its public key is among the `withholders` of their trust folder.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// New folder for the bundle without the texts. The one with them stays as it is.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace the bundle, and remove the texts from this disk.
    #[arg(long)]
    in_place: bool,
    /// Take the ids of the streams out too.
    #[arg(long)]
    names: bool,
    /// Write what was done as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &BundleCommand) -> Result<u8, CommandFailure> {
    match command {
        BundleCommand::Finish(args) => finished(args),
        BundleCommand::Withhold(args) => withheld(args),
    }
}

fn withheld(args: &WithholdArgs) -> Result<u8, CommandFailure> {
    let key = portcullis_authority::keys::load(&args.key).map_err(anyhow::Error::from)?;
    let choice = match args.before {
        Some(second) => StreamChoice::Before(second),
        None if args.all => StreamChoice::AllBut(BTreeSet::new()),
        None if args.all_but.is_empty() => StreamChoice::Streams(args.stream.iter().cloned().collect()),
        None => StreamChoice::AllBut(args.all_but.iter().cloned().collect()),
    };
    let reason = WithholdReason { name: &args.name, reason: &args.reason, key: &key, names: args.names };
    let mut mended = |line: String| console::warn(printable(&line));
    let done = match &args.output {
        Some(output) => withhold(&args.folder, output, &choice, reason, &mut mended),
        None => withhold_in_place(&args.folder, &choice, reason, &mut mended),
    };
    let done = match done {
        Ok(done) => done,
        Err(error) if error.is_operational() => return Err(anyhow::anyhow!("{}", printable(&error.to_string())).into()),
        Err(error) => {
            console::error(printable(&error.to_string()));
            return Ok(CONTRADICTED);
        }
    };
    if args.json {
        outln!("{}", serde_json::to_string(&done)?);
    } else {
        let WithholdReport { streams, lines, contexts } = done;
        let folder = args.output.as_ref().unwrap_or(&args.folder).display();
        outln!("withheld from `{folder}`: {streams} streams ({lines} lines, {contexts} context documents)");
    }
    Ok(SUCCESS)
}

fn finished(args: &FinishArgs) -> Result<u8, CommandFailure> {
    let done = match finish(&args.folder, args.dry_run) {
        Ok(done) => done,
        Err(error) if error.is_operational() => return Err(anyhow::Error::from(error).into()),
        Err(error) => {
            console::error(error);
            return Ok(CONTRADICTED);
        }
    };
    let FinishReport { already, checkpoints, records, signed, mended } = done;
    if args.json {
        outln!(
            "{}",
            serde_json::json!({
                "already_finished": already,
                "changed": !args.dry_run && (!already || !mended.is_empty()),
                "checkpoints": checkpoints,
                "records": records,
                "signed_records": signed,
                "mended": mended,
            })
        );
        return Ok(SUCCESS);
    }
    for line in mended {
        outln!("{}", printable(&line));
    }
    if already {
        outln!("the bundle was finished already: {records} records under {checkpoints} checkpoints");
        return Ok(SUCCESS);
    }
    let done = if args.dry_run { "would be finished" } else { "finished" };
    outln!(
        "{done}: {records} records, {signed} of them under {checkpoints} checkpoints; verify it with `portcullis verify`"
    );
    Ok(SUCCESS)
}
