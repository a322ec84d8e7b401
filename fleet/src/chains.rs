//! Chains of sessions: what bundles, tickets, notes and the public log say together.
//!
//! The rules are those of the judge in `portcullis-evidence`. Here they run as aggregates of the engine, over facts
//! that are grouped by card, and over those that are grouped by ticket.

use crate::columns::{self, FindingRow};
use crate::engine::SqlEngine;
use crate::error::FleetError;
use crate::functions::{Aggregate, parse_note};
use crate::options::AuditOptions;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::cast::{as_binary_array, as_string_array, as_uint64_array};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::col;
use futures::{StreamExt, TryStreamExt, stream};
use portcullis_core::hex::{self, HexBytes};
use portcullis_evidence::note;
use portcullis_evidence::public_log::TrustedPublicLog;
use portcullis_evidence::ticket::SessionTicket;
use portcullis_evidence::verify::judge::{
    ChainFact, ChainFacts, ChainJudge, ChainStart, NoteFacts, PublicLogHead, SeenCheckpoint, SessionFacts,
    ShownCheckpoint, TicketFacts,
};
use portcullis_fleet_core::{AuditFinding, VerifyTaskOutcome};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Facts of one query, unless one group has more. A session has up to some 3 kB of them.
const QUERY_FACTS: usize = 1 << 14;
/// Bundles of one query for checkpoints.
const QUERY_BUNDLES: usize = 256;

/// Judges the sessions. Errors: the tables cannot be read, or the engine failed.
pub(crate) async fn judge(
    engine: &SqlEngine,
    options: &AuditOptions,
    outcomes: &[VerifyTaskOutcome],
    log: Option<&TrustedPublicLog>,
) -> Result<Vec<AuditFinding>, FleetError> {
    let (tickets, notes) = (tickets(engine, options).await?, notes(engine, options).await?);
    let sessions = sessions(engine, outcomes, &notes).await?;
    let mut logged = ChainFacts::default();
    for (chain, _) in log.into_iter().flat_map(TrustedPublicLog::chains) {
        log.into_iter().for_each(|log| logged.add_logged(*chain, log));
    }
    // Only the tickets and the checkpoints are compared by ticket.
    let without_notes = |session: &SessionFacts| SessionFacts { notes: Vec::new(), ..session.clone() };
    let of_sessions = sessions.iter().map(|session| (session.ticket, ChainFact::Session(without_notes(session))));
    let of_tickets = tickets.iter().map(|ticket| (ticket.ticket, ChainFact::Ticket(ticket.clone())));
    let by_ticket: Vec<_> = of_sessions.chain(of_tickets).collect();
    // Most tickets are those of one bundle, which has nothing to be compared with.
    let mut shared: BTreeMap<Option<HexBytes<32>>, u64> = BTreeMap::new();
    by_ticket.iter().for_each(|(ticket, _)| *shared.entry(*ticket).or_default() += 1);
    let is_alone = |(ticket, fact): &GroupedFact| {
        matches!(fact, ChainFact::Session(_)) && shared.get(ticket).is_some_and(|facts| *facts == 1)
    };
    let by_ticket = by_ticket.into_iter().filter(|fact| !is_alone(fact)).collect();
    let facts = sessions.into_iter().map(ChainFact::Session).chain(tickets.into_iter().map(ChainFact::Ticket));
    let facts = facts.chain(notes.into_iter().map(ChainFact::Note));
    let facts = facts.chain(logged.logged.into_iter().map(ChainFact::Logged));
    let by_card = facts.map(|fact| (fact.key(), fact)).collect();
    let judge = ChainJudge { start: ChainStart::First, log: log.map(PublicLogHead::new) };
    let mut findings = grouped(engine, Aggregate::JudgeCards(judge), by_card).await?;
    findings.extend(grouped(engine, Aggregate::JudgeTickets, by_ticket).await?);
    Ok(findings)
}

/// A fact, and the group that it is judged in.
type GroupedFact = (Option<HexBytes<32>>, ChainFact);

/// Judges facts by group, in queries of whole groups.
async fn grouped(
    engine: &SqlEngine,
    aggregate: Aggregate,
    mut facts: Vec<GroupedFact>,
) -> Result<Vec<AuditFinding>, FleetError> {
    facts.sort_by_key(|(group, _)| *group);
    let mut parts: Vec<Vec<GroupedFact>> = Vec::new();
    for fact in facts {
        let is_full = |part: &&mut Vec<GroupedFact>| {
            part.len() >= QUERY_FACTS && part.last().is_none_or(|(group, _)| *group != fact.0)
        };
        match parts.last_mut().filter(|part| !is_full(part)) {
            Some(part) => part.push(fact),
            None => parts.push(vec![fact]),
        }
    }
    let found = parts.into_iter().map(|part| query(engine, aggregate, part));
    let found: Vec<Vec<AuditFinding>> = stream::iter(found).buffered(engine.small_queries()).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn query(
    engine: &SqlEngine,
    aggregate: Aggregate,
    facts: Vec<GroupedFact>,
) -> Result<Vec<AuditFinding>, FleetError> {
    let (groups, facts): (Vec<_>, Vec<_>) = facts.into_iter().unzip();
    let groups: StringArray = groups.into_iter().map(|group| group.map(|group| group.to_string())).collect();
    let facts = columns::structs(&columns::chain_facts(), &facts)?;
    let columns: Vec<ArrayRef> = vec![Arc::new(groups), Arc::new(facts)];
    let kinds = [("group", true), ("fact", false)].into_iter().zip(&columns);
    let fields = kinds.map(|((name, nullable), column)| Field::new(name, column.data_type().clone(), nullable));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns)?;
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    let judged = engine.context().read_table(Arc::new(table))?;
    let judged =
        judged.aggregate(vec![col("group")], vec![aggregate.function().call(vec![col("fact")]).alias("found")])?;
    let mut findings = Vec::new();
    for batch in engine.collect(judged).await? {
        let found = batch.column_by_name("found").and_then(|found| found.as_list_opt::<i32>());
        for found in found.ok_or(FleetError::Column("found"))?.iter().flatten() {
            let found = found.as_struct_opt().ok_or(FleetError::Column("found"))?;
            for row in columns::values::<FindingRow>(found)? {
                findings.push(row.finding()?);
            }
        }
    }
    Ok(findings)
}

/// The facts of the sessions. Checkpoints are looked up where more than one bundle, or a note, is of one place.
async fn sessions(
    engine: &SqlEngine,
    outcomes: &[VerifyTaskOutcome],
    notes: &[NoteFacts],
) -> Result<Vec<SessionFacts>, FleetError> {
    let mut places = BTreeMap::new();
    let of_notes = notes.iter().filter_map(|note| Some((note.seen.as_ref()?.view.chain(), note.serial?)));
    let of_bundles = outcomes.iter().filter_map(|outcome| outcome.facts.as_ref()?.link());
    of_notes.chain(of_bundles).for_each(|place| *places.entry(place).or_insert(0_u64) += 1);
    let is_asked = |facts: &SessionFacts| facts.link().is_some_and(|place| places.get(&place).is_some_and(|n| *n > 1));
    let all = || outcomes.iter().filter_map(|outcome| Some((&*outcome.session.bundle, outcome.facts.as_ref()?)));
    let asked: Vec<&str> = all().filter(|(_, facts)| is_asked(facts)).map(|(bundle, _)| bundle).collect();
    let mut digests: BTreeMap<String, Vec<ShownCheckpoint>> = BTreeMap::new();
    for bundles in asked.chunks(QUERY_BUNDLES) {
        // The ids are in hexadecimal, so they need no quoting.
        let ids: Vec<String> = bundles.iter().map(|bundle| format!("'{bundle}'")).collect();
        let query = format!("SELECT bundle, serial, digest FROM checkpoints WHERE bundle IN ({})", ids.join(", "));
        for batch in engine.run(&query).await? {
            let column = |name: &'static str| batch.column_by_name(name).ok_or(FleetError::Column(name));
            let (bundles, serials) = (as_string_array(column("bundle")?)?, as_uint64_array(column("serial")?)?);
            let shown = bundles.iter().zip(serials).zip(as_string_array(column("digest")?)?);
            for ((bundle, serial), digest) in shown {
                // A malformed checkpoint shows nothing.
                let (Some(bundle), Some(serial), Some(digest)) = (bundle, serial, digest.and_then(hex::decode)) else {
                    continue;
                };
                digests
                    .entry(bundle.to_owned())
                    .or_default()
                    .push(ShownCheckpoint { serial, digest: HexBytes(digest) });
            }
        }
    }
    let asked: BTreeSet<&str> = asked.into_iter().collect();
    let facts = all().map(|(bundle, facts)| {
        let digests = asked.contains(bundle).then(|| digests.remove(bundle).unwrap_or_default());
        SessionFacts { digests, ..facts.clone() }
    });
    Ok(facts.collect())
}

/// Names and contents of the statements that were given by themselves.
async fn statements(engine: &SqlEngine, table: &str) -> Result<Vec<(String, Vec<u8>)>, FleetError> {
    let mut statements = Vec::new();
    for batch in engine.run(&format!("SELECT name, content FROM {table} WHERE bundle IS NULL")).await? {
        let column = |name: &'static str| batch.column_by_name(name).ok_or(FleetError::Column(name));
        let rows = as_string_array(column("name")?)?.iter().zip(as_binary_array(column("content")?)?);
        statements.extend(rows.filter_map(|(name, content)| Some((name?.to_owned(), content?.to_vec()))));
    }
    Ok(statements)
}

/// The tickets that were given by themselves. Whether an issuer's key was revoked later is a question for the verifier
/// of the session's bundle.
async fn tickets(engine: &SqlEngine, options: &AuditOptions) -> Result<Vec<TicketFacts>, FleetError> {
    let trust = options.trust.trust().as_ref().clone().without_dated_revocations();
    let ticket = |(name, content): (String, Vec<u8>)| {
        let Ok(ticket) = SessionTicket::parse(&content) else { return TicketFacts { name, ..TicketFacts::default() } };
        TicketFacts {
            key: Some(HexBytes(ticket.content.key)),
            seat: Some(ticket.content.seat),
            serial: Some(ticket.content.serial),
            ticket: Some(HexBytes(ticket.digest)),
            name,
            is_trusted: trust.issuer(&ticket, None).is_ok_and(|signer| signer.file.is_some()),
        }
    };
    Ok(statements(engine, "ticket_files").await?.into_iter().map(ticket).collect())
}

/// The notes that were given by themselves.
async fn notes(engine: &SqlEngine, options: &AuditOptions) -> Result<Vec<NoteFacts>, FleetError> {
    let witnesses = &options.trust.trust().witnesses;
    let note = |(name, content): (String, Vec<u8>)| {
        let parsed = parse_note(&content);
        let seen = note::verify(&content, witnesses).ok();
        let seen =
            seen.map(|note| SeenCheckpoint { serial: note.serial, digest: HexBytes(note.checkpoint), view: note.view });
        NoteFacts {
            key: parsed.as_ref().map(|(_, chain)| HexBytes(chain.key)),
            seat: parsed.as_ref().map(|(_, chain)| chain.seat),
            serial: parsed.as_ref().map(|(proof, _)| proof.entry.ticket),
            name,
            seen,
        }
    };
    Ok(statements(engine, "note_files").await?.into_iter().map(note).collect())
}
