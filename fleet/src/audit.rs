//! The audit: every bundle is verified, the tables are compared with what the cards signed, and bundles are compared
//! with each other.

use crate::chains;
use crate::damage::{self, TableFile};
use crate::engine::{QueryPlace, SqlEngine};
use crate::error::FleetError;
use crate::functions::Definition;
use crate::options::AuditOptions;
use crate::progress::AuditStep;
use crate::replays::add_replays;
use crate::run::run;
use crate::tables::FleetTableStore;
use crate::trees::{ListedBundle, TableOutcome, compare};
use crate::units::{AuditUnit, VerifyTask};
use datafusion::arrow::array::Array;
use datafusion::common::cast::{as_binary_array, as_string_array, as_uint8_array};
use futures::future::LocalBoxFuture;
use portcullis_core::hex;
use portcullis_evidence::verify::series::{CheckedPublicLog, GivenLog};
use portcullis_fleet_core::{
    AuditAnswer, AuditFinding, AuditFindingSource, AuditedSession, FleetCode, VerifyTaskOutcome,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Audits all bundles in the tables. Errors: the tables cannot be read, or the engine failed. What is wrong with a
/// bundle or with the tables is a finding.
pub fn audit<'a>(
    tables: &'a FleetTableStore,
    options: &'a AuditOptions,
) -> LocalBoxFuture<'a, Result<AuditAnswer, FleetError>> {
    Box::pin(answer(tables, options))
}

async fn answer(tables: &FleetTableStore, options: &AuditOptions) -> Result<AuditAnswer, FleetError> {
    let identity = identity(options);
    let files = damage::read_all(tables, (&options.work, &identity), options.jobs).await?;
    let is_unread = |(name, file): (_, &TableFile)| file.digest.is_err().then_some(name);
    let whole = tables.without(files.iter().filter_map(is_unread));
    // The processes of a cluster list the tables by themselves, so they would meet the files that cannot be read.
    let place = if files.values().all(|file| file.digest.is_ok()) { &options.place } else { &QueryPlace::Here };
    let engine = SqlEngine::at(place, &whole, options.jobs).await?;
    engine.context().register_udf(Definition::CheckpointSigned(options.trust.clone()).function());
    let (units, listed) = list(&engine).await?;
    (options.progress)(AuditStep::Bundles(units.len() as u64))?;

    let verification = VerifyTask::new(&options.trust, options.options);
    let mut outcomes: Vec<VerifyTaskOutcome> = run(&engine, options, &identity, &verification, &units).await?;
    let of_work = (&options.work, identity.as_slice());
    let (tables_hold, lost) = compare(&engine, &listed, &files, of_work, &*options.progress).await?;
    let tickets: BTreeMap<&str, &[u8]> =
        listed.iter().map(|listed| (&*listed.bundle, listed.ticket.as_slice())).collect();
    let mut findings = Vec::new();
    for outcome in &mut outcomes {
        let session = &mut outcome.session;
        if let Some((found, ticket)) = tables_hold.get(&session.bundle).zip(tickets.get(&*session.bundle)) {
            findings.extend(of_tables(session, found, ticket));
        }
    }
    findings.extend(
        lost.into_iter().map(|(code, what)| AuditFinding::of_fleet(AuditFindingSource::Tables, code, None, what)),
    );
    if options.sample > 0 {
        add_replays(&engine, options, &identity, &units, &mut outcomes, &mut findings).await?;
    }
    let given = options.public_log.as_deref();
    let sessions = outcomes.iter().filter_map(|outcome| outcome.facts.as_ref());
    for (code, what) in given.map(|given| given.findings(sessions)).unwrap_or_default() {
        findings.push(AuditFinding::of_fleet(AuditFindingSource::Fleet, FleetCode::Series(code), None, what));
    }
    let log = given.and_then(GivenLog::log);
    findings.extend(chains::judge(&engine, options, &outcomes, log).await?);
    let answer = AuditAnswer::new(outcomes, findings, &options.trust.trust().files, options.sample);
    Ok(AuditAnswer { public_log: log.map(CheckedPublicLog::of), ..answer })
}

/// The bundles in the tables, and those of them that could be read when they were ingested.
async fn list(engine: &SqlEngine) -> Result<(Vec<AuditUnit>, Vec<ListedBundle>), FleetError> {
    let (mut units, mut listed) = (Vec::new(), Vec::new());
    let query = "SELECT b.bundle, b.name, b.uri, b.lanes, b.error, t.content AS ticket
        FROM bundles b LEFT JOIN ticket_files t ON t.bundle = b.bundle ORDER BY b.name, b.bundle";
    for batch in engine.run(query).await? {
        let column = |name: &'static str| batch.column_by_name(name).ok_or(FleetError::Column(name));
        let text = |name| Ok::<_, FleetError>(as_string_array(column(name)?)?);
        let (bundles, names, uris, errors) = (text("bundle")?, text("name")?, text("uri")?, text("error")?);
        let (lanes, tickets) = (as_uint8_array(column("lanes")?)?, as_binary_array(column("ticket")?)?);
        for row in 0..batch.num_rows() {
            let bundle = bundles.value(row).to_owned();
            // Whoever writes the tables could write anything here, and queries contain these ids.
            if hex::decode::<32>(&bundle).is_none() {
                return Err(FleetError::Column("bundle"));
            }
            if errors.is_null(row) {
                let ticket = if tickets.is_null(row) { Vec::new() } else { tickets.value(row).to_vec() };
                listed.push(ListedBundle { bundle: bundle.clone(), lanes: lanes.value(row), ticket });
            }
            let (name, uri) = (names.value(row).to_owned(), uris.value(row).to_owned());
            units.push(AuditUnit { bundle, name, uri, earlier: Vec::new(), kept: false });
        }
    }
    Ok((units, listed))
}

/// Everything but the input on which a result depends.
fn identity(options: &AuditOptions) -> Vec<u8> {
    format!("{:?}", (&options.program, &options.trust.trust().files, options.options)).into_bytes()
}

/// What the comparison of the tables means for a session.
fn of_tables(session: &mut AuditedSession, found: &TableOutcome, ticket: &[u8]) -> Vec<AuditFinding> {
    let mut found = found.clone();
    // Nothing is compared with a bundle that the verifier could not read.
    let read = !session.properties.is_empty() && !found.is_unread();
    if read && found.faults.is_empty() && (found.records, found.checkpoints) != (session.records, session.checkpoints) {
        let what = format!(
            "the bundle has {} records and {} checkpoints, the tables hold {} and {}",
            session.records, session.checkpoints, found.records, found.checkpoints
        );
        found.add(FleetCode::TableMissing, what);
    }
    if read && found.faults.is_empty() && found.last_checkpoint != session.last_checkpoint {
        let what = "the last checkpoint in the tables is not that of the bundle".to_owned();
        found.add(FleetCode::TableRoot, what);
    }
    let digest = hex::encode(&Sha256::digest(ticket));
    if read && session.ticket.as_ref().is_some_and(|ticket| *ticket != digest) {
        let what = "the ticket in the tables is not that of the bundle".to_owned();
        found.add(FleetCode::TableColumns, what);
    }
    session.tables = Some(found.faults.is_empty());
    let finding = |(code, detail, count)| AuditFinding {
        key: session.key.clone(),
        seat: session.seat,
        serial: session.serial,
        count,
        ..AuditFinding::of_fleet(AuditFindingSource::Tables, code, Some(&session.name), detail)
    };
    found.codes().map(finding).collect()
}
