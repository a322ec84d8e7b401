//! Comparisons of several bundles, tickets and notes: plain SQL, one file per check.

use crate::engine::Engine;
use crate::error::Error;
use crate::rows::{Columns, session_rows};
use datafusion::arrow::array::{Array, RecordBatch, StringArray};
use datafusion::common::cast::{as_string_array, as_uint16_array, as_uint64_array};
use futures::{StreamExt, TryStreamExt, stream};
use portcullis_core::hex;
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::public_log::{LoggedSession, PublicLog, SessionState};
use portcullis_evidence::ticket::Chain;
use portcullis_fleet_core::{Finding, FleetCode, Session, Source};

/// Views over `sessions`, `tickets`, `notes` and `logged`: what the checks compare. They need the functions of an
/// audit.
const VIEWS: [&str; 5] = [
    include_str!("sql/view-chain.sql"),
    include_str!("sql/view-issued.sql"),
    include_str!("sql/view-witnessed.sql"),
    include_str!("sql/view-forks.sql"),
    include_str!("sql/view-unlogged.sql"),
];

/// Each check gives rows of key, seat, serial, bundle and detail: one finding per row.
const CHECKS: [(FleetCode, &str); 21] = [
    (FleetCode::Fork, include_str!("sql/fork.sql")),
    (FleetCode::Fork, include_str!("sql/fork-witness.sql")),
    (FleetCode::SerialTwice, include_str!("sql/serial-twice.sql")),
    (FleetCode::SerialMissing, include_str!("sql/serial-missing.sql")),
    (FleetCode::BundleMissing, include_str!("sql/bundle-missing.sql")),
    (FleetCode::CheckpointMissing, include_str!("sql/checkpoint-missing.sql")),
    (FleetCode::PreviousClose, include_str!("sql/previous-close.sql")),
    (FleetCode::Abandoned, include_str!("sql/abandoned.sql")),
    (FleetCode::Open, include_str!("sql/open.sql")),
    (FleetCode::Pending, include_str!("sql/pending.sql")),
    (FleetCode::LogTicket, include_str!("sql/log-ticket.sql")),
    (FleetCode::LogBehind, include_str!("sql/log-behind.sql")),
    (FleetCode::LogClosed, include_str!("sql/log-closed.sql")),
    (FleetCode::LogAbandoned, include_str!("sql/log-abandoned.sql")),
    (FleetCode::ChainMissing, include_str!("sql/chain-missing.sql")),
    (FleetCode::SelfIssued, include_str!("sql/self-issued.sql")),
    (FleetCode::Unplaced, include_str!("sql/unplaced.sql")),
    (FleetCode::Doubled, include_str!("sql/doubled.sql")),
    (FleetCode::PolicyReverted, include_str!("sql/policy-reverted.sql")),
    (FleetCode::TicketUntrusted, include_str!("sql/ticket-untrusted.sql")),
    (FleetCode::NoteUntrusted, include_str!("sql/note-untrusted.sql")),
];

/// Runs all checks over the sessions and the public log. Errors: [`Error::Engine`].
pub(crate) async fn run(engine: &Engine, sessions: &[Session], log: Option<&PublicLog>) -> Result<Vec<Finding>, Error> {
    let tables = [("sessions", session_rows(sessions)?), ("logged", log_rows(log)?), ("log_heads", head_rows(log)?)];
    for (name, rows) in tables.clone() {
        engine.register(name, rows.schema(), vec![vec![rows]])?;
    }
    for view in VIEWS {
        engine.run(view).await?;
    }
    let found = CHECKS.map(|(code, query)| async move {
        // An aggregate of text can have another type of text.
        let query = format!(
            "SELECT key, seat, serial, CAST(bundle AS VARCHAR) AS bundle, CAST(detail AS VARCHAR) AS detail FROM ({query})"
        );
        let batches = engine.run(&query).await?;
        batches.iter().map(|batch| of_batch(code, batch)).collect::<Result<Vec<_>, Error>>()
    });
    let found: Vec<Vec<Vec<Finding>>> = stream::iter(found).buffered(engine.small_queries()).try_collect().await?;
    let findings = found.into_iter().flatten().flatten().collect();
    for (name, _) in tables {
        engine.context().deregister_table(name)?;
    }
    Ok(findings)
}

fn of_batch(code: FleetCode, batch: &RecordBatch) -> Result<Vec<Finding>, Error> {
    let column = |name: &'static str| batch.column_by_name(name).ok_or(Error::Column(name));
    let (key, bundle, detail) = (column("key")?, column("bundle")?, column("detail")?);
    let (key, bundle, detail) = (as_string_array(key)?, as_string_array(bundle)?, as_string_array(detail)?);
    let (seat, serial) = (as_uint16_array(column("seat")?)?, as_uint64_array(column("serial")?)?);
    let text = |column: &StringArray, row: usize| column.is_valid(row).then(|| column.value(row).to_owned());
    let finding = |row: usize| Finding {
        key: text(key, row),
        seat: seat.is_valid(row).then(|| seat.value(row)),
        serial: serial.is_valid(row).then(|| serial.value(row)),
        ..Finding::of_fleet(Source::Fleet, code, text(bundle, row).as_deref(), text(detail, row).unwrap_or_default())
    };
    Ok((0..batch.num_rows()).map(finding).collect())
}

/// The table `logged`: the sessions in the public log.
fn log_rows(log: Option<&PublicLog>) -> Result<RecordBatch, Error> {
    let all = log.into_iter().flat_map(PublicLog::chains);
    let all = all.flat_map(|(chain, sessions)| sessions.iter().map(move |(serial, session)| (chain, serial, session)));
    let all: Vec<_> = all.collect();
    let hex = |bytes: fn(&(&Chain, &u64, &LoggedSession)) -> [u8; 32]| -> Vec<String> {
        all.iter().map(|row| hex::encode(&bytes(row))).collect()
    };
    let (keys, tickets) = (hex(|(chain, ..)| chain.key), hex(|(.., session)| session.ticket));
    let mut columns = Columns::default();
    columns.texts("key", keys.iter().map(|key| Some(&**key)));
    columns.seats(all.iter().map(|(chain, ..)| Some(chain.seat)));
    columns.numbers("serial", all.iter().map(|(_, serial, _)| Some(**serial)));
    columns.texts("ticket", tickets.iter().map(|ticket| Some(&**ticket)));
    columns.flags("opened", all.iter().map(|(.., session)| session.is_opened));
    columns.flags("closed", all.iter().map(|(.., session)| session.state == SessionState::Closed));
    columns.flags("ended", all.iter().map(|(.., session)| session.state > SessionState::Opened));
    columns.flags("abandoned", all.iter().map(|(.., session)| session.state == SessionState::Abandoned));
    columns.batch()
}

/// The table `log_heads`: the head of the public log, if there is one. Witnesses saw it after sessions that began
/// before the second `settled`, whatever their clocks.
fn head_rows(log: Option<&PublicLog>) -> Result<RecordBatch, Error> {
    let key = log.map(|log| hex::encode(&log.head.key));
    let mut columns = Columns::default();
    columns.texts("issuer", key.iter().map(|key| Some(&**key)));
    columns.numbers("settled", log.iter().map(|log| log.head.seen.map(|seen| seen.saturating_sub(CLOCK_SKEW))));
    columns.batch()
}
