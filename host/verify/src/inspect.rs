//! The command `inspect`.

use crate::console::{InfallibleStdout, json_line, json_pretty, say};
use anyhow::Context;
use portcullis_core::wire::{Answer, Determination, Fault, LaneHead, Record, RecordType, SessionFields, Stage};
use portcullis_evidence::bundle::{self, Bundle};
use portcullis_evidence::checkpoint::CoseCheckpoint;
use portcullis_evidence::hex::encode;
use portcullis_evidence::log;
use portcullis_evidence::ticket::{self, SessionTicket};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use zerocopy::{FromBytes, IntoBytes};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct InspectBundleArgs {
    /// Folder of the bundle, or a tar archive of it
    bundle: PathBuf,
    /// Show every record
    #[arg(long)]
    records: bool,
    /// Show every checkpoint
    #[arg(long)]
    checkpoints: bool,
}

pub(crate) fn run(args: &InspectBundleArgs) -> anyhow::Result<u8> {
    let files = bundle::at(&args.bundle)?;
    let bundle = Bundle::open(&*files)?;
    if args.checkpoints {
        let mut heads = bundle.heads()?;
        for serial in (0..bundle.checkpoints()).take_while(|_| !InfallibleStdout.is_gone()) {
            let heads = heads.as_mut().map(|heads| heads.read()).transpose()?.unwrap_or_default();
            say(json_line(&checkpoint(serial, &bundle.read(&bundle::checkpoint(serial))?, &heads))?);
        }
    }
    let mut kinds = BTreeMap::<&str, u64>::new();
    for lane in 0..bundle.lanes() {
        let mut log = bundle.records(lane)?;
        while let Some(record) = log::read(&mut log).context("the log ends within a record")?
            && !InfallibleStdout.is_gone()
        {
            let kind = RecordType::try_from(record.answer.record_type).map_or("unknown", RecordType::name);
            *kinds.entry(kind).or_default() += 1;
            if args.records {
                say(json_line(&describe(&record, kind))?);
            }
        }
    }
    if !args.records && !args.checkpoints {
        let overview = json!({
            "checked": "nothing: this is what the bundle says of itself",
            "files": bundle.names(),
            "checkpoints": bundle.checkpoints(),
            "lanes": bundle.lanes(),
            "records": kinds,
            "ticket": ticket(&bundle.read(bundle::TICKET)?),
        });
        say(json_pretty(&overview)?);
    }
    Ok(0)
}

fn ticket(bytes: &[u8]) -> Value {
    match SessionTicket::parse(bytes) {
        Err(error) => json!({"error": error.to_string()}),
        Ok(signed) => {
            let t = &signed.content;
            json!({
                "digest": encode(&signed.digest), "version": ticket::VERSION, "seat": t.seat, "serial": t.serial, "issuer": t.issuer, "key": encode(&t.key),
                "policy": encode(&t.policy), "contexts": t.contexts.iter().map(|c| encode(c)).collect::<Vec<_>>(),
                "profiles": t.profiles.iter().map(|p| encode(p)).collect::<Vec<_>>(), "text_lane": t.text_lane,
                "heartbeat_records": t.heartbeat_records, "heartbeat_ticks": t.heartbeat_ticks,
                "previous_close": encode(&t.previous_close), "not_before": t.not_before, "not_after": t.not_after,
            })
        }
    }
}

fn checkpoint(serial: u64, message: &[u8], heads: &[LaneHead]) -> Value {
    match CoseCheckpoint::parse(message) {
        Err(error) => json!({"file": serial, "error": error.to_string()}),
        Ok(signed) => {
            let c = &signed.checkpoint.wire;
            let head =
                |head: &LaneHead| json!({"lane": head.lane, "size": head.size.get(), "root": encode(&head.root)});
            let heads: Vec<_> = heads.iter().map(head).collect();
            json!({
                "lanes": c.lanes, "heads": heads, "serial": c.serial.get(), "state": signed.checkpoint.state.name(), "size": c.size.get(), "tick": c.tick.get(),
                "root": encode(&c.root), "policy": encode(&c.policy_digest), "ticket": encode(&c.ticket_digest),
                "design": encode(&c.design_id), "key_flags": c.key_flags, "epoch": c.epoch.get(),
                "boot_nonce": encode(&c.boot_nonce), "fault": signed.checkpoint.fault.name(),
                "digest": encode(&signed.checkpoint.digest()),
            })
        }
    }
}

fn describe(record: &Record, kind: &str) -> Value {
    let Answer { determination, stage, log_index, tick, policy_row, entropy_row, .. } = &record.answer;
    let fault = Fault::try_from(record.answer.fault.get()).map_or("unknown", Fault::name);
    let mut value = json!({"lane": record.answer.lane, "index": log_index.get(), "type": kind, "tick": tick.get()});
    let Some(fields) = value.as_object_mut() else { return value };
    let of_session = matches!(kind, "open" | "heartbeat" | "close" | "alarm");
    if let (true, Ok(session)) = (of_session, SessionFields::read_from_bytes(record.descriptor.as_bytes())) {
        fields.insert("policy".to_owned(), encode(&session.policy_digest).into());
        fields.insert("ticket".to_owned(), encode(&session.ticket_digest).into());
        fields.insert("heartbeat_nonce".to_owned(), session.heartbeat_nonce.get().into());
        fields.insert("open_streams".to_owned(), session.open_streams.get().into());
        fields.insert("cause".to_owned(), Fault::try_from(session.cause.get()).map_or("unknown", Fault::name).into());
    } else {
        fields.insert("slot".to_owned(), record.descriptor.slot.get().into());
        fields.insert("sequence".to_owned(), record.descriptor.sequence.get().into());
        fields.insert("commitment".to_owned(), encode(&record.descriptor.commitment).into());
        fields.insert("fault".to_owned(), fault.into());
    }
    if kind == "verdict" {
        let name = Determination::try_from(*determination).map_or("unknown", Determination::name);
        fields.insert("determination".to_owned(), name.into());
        fields.insert("stage".to_owned(), Stage::try_from(*stage).map_or("unknown", Stage::name).into());
        fields.insert("policy_row".to_owned(), policy_row.get().into());
        fields.insert("entropy_row".to_owned(), entropy_row.get().into());
    }
    value
}
