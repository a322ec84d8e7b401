//! The audit: every bundle is verified, the tables are compared with what the cards signed, and bundles are compared
//! with each other.

use crate::checks;
use crate::engine::Engine;
use crate::error::Error;
use crate::functions::{Worker, checkpoint_signed, signer_of, unit_function};
use crate::ingest::open;
use crate::tables::Tables;
use crate::trees::{Listed, TableOutcome, compare};
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::DataFusionError;
use datafusion::common::cast::{as_binary_array, as_string_array, as_uint8_array};
use portcullis_core::hex;
use portcullis_evidence::bundle::{BundleError, Files};
use portcullis_evidence::verify::{Options, Trust};
use portcullis_fleet_core::{
    Answer, Finding, FleetCode, Key, Outcome, Question, ReplayOutcome, Session, Source, Work, broken, digest, failed,
    replay, verify,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use url::Url;

/// A step that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The audit has this many bundles.
    Bundles(u64),
    /// A bundle was verified.
    Verified,
    /// The result of an earlier, equal verification was used.
    Reused,
    /// A bundle's tables were compared with its checkpoints.
    Compared,
    /// A sample of a bundle's streams was replayed.
    Replayed,
}

/// Receives each step, from any thread. An error stops the audit.
pub(crate) type Progress = dyn Fn(Step) -> Result<(), Error> + Send + Sync;

/// How to audit.
#[derive(Clone)]
pub struct AuditOptions {
    pub trust: Arc<Trust>,
    pub options: Options,
    /// Where results of finished units are kept.
    pub work: Work,
    /// Identifies this program: results of another program are not used.
    pub program: String,
    /// The largest number of streams to replay per session; 0 means that nothing is replayed.
    pub sample: u64,
    /// Seed of the sample; without it, the digest of all bundles.
    pub seed: Option<String>,
    /// Number of threads' worth of work at one time.
    pub jobs: usize,
    /// Receives each step. An error, such as [`Error::Stopped`], stops the audit.
    pub progress: Arc<Progress>,
}

/// A unit of work, as the SQL functions get it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unit {
    bundle: String,
    name: String,
    uri: String,
    /// URIs of the earlier bundles of the chain, for a replay that may need them.
    #[serde(default)]
    earlier: Vec<String>,
}

/// Audits all bundles in the tables. Errors: the tables cannot be read, or the engine failed. What is wrong with a
/// bundle or with the tables is a finding.
pub async fn audit(tables: &Tables, options: &AuditOptions) -> Result<Answer, Error> {
    let engine = Engine::new(tables, options.jobs).await?;
    for function in signer_of(&options.trust) {
        engine.context().register_udf(function);
    }
    engine.context().register_udf(checkpoint_signed(&options.trust));
    let (units, listed) = list(&engine).await?;
    (options.progress)(Step::Bundles(units.len() as u64))?;

    let mut outcomes: Vec<Outcome> = run(&engine, "verify_bundle", verifier(options), &units).await?;
    let identity = identity(options);
    let (tables_hold, strays) =
        compare(&engine, tables, &listed, (&options.work, identity.as_slice()), &*options.progress).await?;
    let tickets: BTreeMap<&str, &[u8]> =
        listed.iter().map(|listed| (&*listed.bundle, listed.ticket.as_slice())).collect();
    let mut findings = Vec::new();
    for outcome in &mut outcomes {
        let session = &mut outcome.session;
        if let Some((found, ticket)) = tables_hold.get(&session.bundle).zip(tickets.get(&*session.bundle)) {
            findings.extend(of_tables(session, found, ticket));
        }
    }
    findings.extend(strays.iter().map(|name| {
        let what =
            format!("`{name}` is of no bundle that the tables list: an ingest was interrupted, or a row is gone");
        Finding::of_fleet(Source::Tables, FleetCode::TableRoot, None, what)
    }));
    if options.sample > 0 {
        add_replays(&engine, options, &units, &mut outcomes, &mut findings).await?;
    }
    let sessions: Vec<Session> = outcomes.iter().map(|outcome| outcome.session.clone()).collect();
    findings.extend(checks::run(&engine, &sessions).await?);
    Ok(Answer::new(outcomes, findings, &options.trust.files, options.sample))
}

/// The bundles in the tables, and those of them that could be read when they were ingested.
async fn list(engine: &Engine) -> Result<(Vec<Unit>, Vec<Listed>), Error> {
    let (mut units, mut listed) = (Vec::new(), Vec::new());
    let query = "SELECT b.bundle, b.name, b.uri, b.lanes, b.error, t.content AS ticket
        FROM bundles b LEFT JOIN ticket_files t ON t.bundle = b.bundle ORDER BY b.name, b.bundle";
    for batch in engine.run(query).await? {
        let column = |name: &'static str| batch.column_by_name(name).ok_or(Error::Column(name));
        let text = |name| Ok::<_, Error>(as_string_array(column(name)?)?);
        let (bundles, names, uris, errors) = (text("bundle")?, text("name")?, text("uri")?, text("error")?);
        let (lanes, tickets) = (as_uint8_array(column("lanes")?)?, as_binary_array(column("ticket")?)?);
        for row in 0..batch.num_rows() {
            let bundle = bundles.value(row).to_owned();
            // Whoever writes the tables could write anything here, and queries contain these ids.
            if hex::decode::<32>(&bundle).is_none() {
                return Err(Error::Column("bundle"));
            }
            if errors.is_null(row) {
                let ticket = if tickets.is_null(row) { Vec::new() } else { tickets.value(row).to_vec() };
                listed.push(Listed { bundle: bundle.clone(), lanes: lanes.value(row), ticket });
            }
            let (name, uri) = (names.value(row).to_owned(), uris.value(row).to_owned());
            units.push(Unit { bundle, name, uri, earlier: Vec::new() });
        }
    }
    Ok((units, listed))
}

/// Everything but the input on which a result depends.
fn identity(options: &AuditOptions) -> Vec<u8> {
    format!("{:?}", (&options.program, &options.trust.files, options.options)).into_bytes()
}

/// Runs a function over all units, one per row, on all threads of the engine. Results are in the order of the units.
async fn run<T: DeserializeOwned>(
    engine: &Engine,
    name: &str,
    worker: Worker,
    units: &[Unit],
) -> Result<Vec<T>, Error> {
    if units.is_empty() {
        return Ok(Vec::new());
    }
    engine.context().register_udf(unit_function(name, worker));
    let schema = Arc::new(Schema::new(vec![Field::new("unit", DataType::Utf8, false)]));
    // One row per batch and many partitions, so that a long unit does not hold others back.
    let jobs = engine.context().copied_config().target_partitions().max(1);
    let mut partitions = vec![Vec::new(); jobs.min(units.len())];
    for (at, unit) in units.iter().enumerate() {
        let column: ArrayRef = Arc::new(StringArray::from(vec![serde_json::to_string(unit)?]));
        if let Some(partition) = partitions.get_mut(at % jobs) {
            partition.push(RecordBatch::try_new(Arc::clone(&schema), vec![column])?);
        }
    }
    let table = format!("units_of_{name}");
    engine.register(&table, schema, partitions)?;
    let rows = engine.run(&format!("SELECT unit, {name}(unit) AS result FROM {table}")).await.map_err(stopped)?;
    let mut results = BTreeMap::new();
    for batch in rows {
        let column = |name: &'static str| batch.column_by_name(name).ok_or(Error::Column(name));
        let (units, done) = (as_string_array(column("unit")?)?, as_string_array(column("result")?)?);
        for row in 0..batch.num_rows() {
            results.insert(units.value(row).to_owned(), serde_json::from_str(done.value(row))?);
        }
    }
    let result = |unit| results.remove(&serde_json::to_string(unit)?).ok_or(Error::Column("result"));
    units.iter().map(result).collect()
}

/// Finds the error of this program in an error of the engine.
fn stopped(error: Error) -> Error {
    let Error::Engine(engine) = error else { return error };
    let stopped = matches!(
        engine.find_root(),
        DataFusionError::External(inner) if matches!(inner.downcast_ref(), Some(Error::Stopped))
    );
    if stopped { Error::Stopped } else { Error::Engine(engine) }
}

/// The files of a unit, if their content is the one that was ingested.
fn files(unit: &Unit) -> Result<Box<dyn Files>, Box<Outcome>> {
    let unread = |what: &dyn std::fmt::Display| Box::new(failed(&unit.name, &unit.bundle, FleetCode::Unread, what));
    let uri = Url::parse(&unit.uri).map_err(|error| unread(&error))?;
    let of = |error: BundleError| match broken(&unit.name, &unit.bundle, &error) {
        Ok(outcome) => Box::new(outcome),
        Err(error) => unread(&error),
    };
    let files = open(&uri).map_err(of)?;
    let found = digest(&*files).map_err(of)?;
    if hex::encode(&found) != unit.bundle {
        let what = format!("the content of {} is not the one that was ingested", unit.uri);
        return Err(Box::new(failed(&unit.name, &unit.bundle, FleetCode::BundleChanged, what)));
    }
    Ok(files)
}

/// `verify_bundle(unit)`: today's verifier, over the bundle itself.
fn verifier(options: &AuditOptions) -> Worker {
    let (options, identity) = (options.clone(), identity(options));
    Arc::new(move |unit| {
        let unit: Unit = serde_json::from_str(unit)?;
        let outcome = match files(&unit) {
            Err(outcome) => *outcome,
            Ok(files) => {
                let key = Key::new("verify", &[&identity, unit.bundle.as_bytes(), unit.name.as_bytes()]);
                if let Some(kept) = options.work.get::<Outcome>(&key) {
                    (options.progress)(Step::Reused)?;
                    return Ok(serde_json::to_string(&kept)?);
                }
                let question = Question { trust: &options.trust, options: options.options };
                match verify(&unit.name, &unit.bundle, &*files, question) {
                    Ok(outcome) => {
                        options.work.put(&key, &outcome)?;
                        outcome
                    }
                    Err(error) => failed(&unit.name, &unit.bundle, FleetCode::Unread, error),
                }
            }
        };
        (options.progress)(Step::Verified)?;
        Ok(serde_json::to_string(&outcome)?)
    })
}

/// What the comparison of the tables means for a session.
fn of_tables(session: &mut Session, found: &TableOutcome, ticket: &[u8]) -> Vec<Finding> {
    let mut found = found.clone();
    // Nothing is compared with a bundle that the verifier could not read.
    let read = !session.properties.is_empty();
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
    let finding = |(code, detail, count)| Finding {
        key: session.key.clone(),
        seat: session.seat,
        serial: session.serial,
        count,
        ..Finding::of_fleet(Source::Tables, code, Some(&session.name), detail)
    };
    found.codes().map(finding).collect()
}

/// Replays a sample of each bundle that the verifier could read.
async fn add_replays(
    engine: &Engine,
    options: &AuditOptions,
    units: &[Unit],
    outcomes: &mut [Outcome],
    findings: &mut Vec<Finding>,
) -> Result<(), Error> {
    let ids = units.iter().fold(Sha256::new(), |all, unit| all.chain_update(&unit.bundle));
    let seed = options.seed.clone().unwrap_or_else(|| hex::encode(&ids.finalize()));
    let uris: BTreeMap<&str, &Unit> = units.iter().map(|unit| (&*unit.bundle, unit)).collect();
    let mut chains: BTreeMap<_, Vec<&Session>> = BTreeMap::new();
    let sessions: Vec<Session> = outcomes.iter().map(|outcome| outcome.session.clone()).collect();
    for session in sessions.iter().filter(|session| session.key.is_some()) {
        chains.entry((&session.key, session.seat)).or_default().push(session);
    }
    let mut chosen = Vec::new();
    for session in sessions.iter().filter(|session| !session.properties.is_empty()) {
        let Some(unit) = uris.get(&*session.bundle) else { continue };
        let mut earlier: Vec<&Session> = chains.get(&(&session.key, session.seat)).cloned().unwrap_or_default();
        // Streams can continue those of earlier sessions.
        earlier.retain(|other| session.continued > 0 && other.serial < session.serial);
        earlier.sort_by_key(|other| (other.serial, &other.bundle));
        let earlier = earlier.iter().filter_map(|other| uris.get(&*other.bundle)).map(|unit| unit.uri.clone());
        chosen.push(Unit { earlier: earlier.collect(), ..(*unit).clone() });
    }
    let done: Vec<ReplayOutcome> = run(engine, "replay_bundle", replayer(options, &seed), &chosen).await?;
    for (unit, replayed) in chosen.iter().zip(done) {
        if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.session.bundle == unit.bundle) {
            let session = &mut outcome.session;
            session.replay = Some(replayed.replayed);
            findings.extend(replayed.findings.into_iter().map(|finding| Finding {
                key: session.key.clone(),
                seat: session.seat,
                serial: session.serial,
                ..finding
            }));
        }
    }
    Ok(())
}

/// `replay_bundle(unit)`: today's replay, over the bundle itself.
fn replayer(options: &AuditOptions, seed: &str) -> Worker {
    let (options, seed, identity) = (options.clone(), seed.to_owned(), identity(options));
    Arc::new(move |unit| {
        let unit: Unit = serde_json::from_str(unit)?;
        let unread = |detail: &dyn std::fmt::Display| ReplayOutcome {
            findings: vec![Finding::of_fleet(Source::Replay, FleetCode::Unread, Some(&unit.name), detail)],
            ..ReplayOutcome::default()
        };
        let outcome =
            replay_unit(&unit, &options, (seed.as_str(), identity.as_slice())).unwrap_or_else(|why| unread(&why));
        (options.progress)(Step::Replayed)?;
        Ok(serde_json::to_string(&outcome)?)
    })
}

/// Errors: why the bundle or an earlier one could not be read.
fn replay_unit(unit: &Unit, options: &AuditOptions, (seed, identity): (&str, &[u8])) -> Result<ReplayOutcome, String> {
    let files = files(unit).map_err(|_| "the bundle could not be read again".to_owned())?;
    let mut inputs = vec![
        identity.to_vec(),
        unit.bundle.clone().into_bytes(),
        unit.name.clone().into_bytes(),
        options.sample.to_le_bytes().to_vec(),
        seed.as_bytes().to_vec(),
    ];
    let mut earlier = Vec::new();
    for uri in &unit.earlier {
        let url = Url::parse(uri).map_err(|error| error.to_string())?;
        let files = open(&url).map_err(|error| format!("an earlier bundle: {error}"))?;
        inputs.push(digest(&*files).map_err(|error| format!("an earlier bundle: {error}"))?.to_vec());
        earlier.push(files);
    }
    let key = Key::new("replay", &inputs.iter().map(Vec::as_slice).collect::<Vec<_>>());
    if let Some(kept) = options.work.get(&key) {
        return Ok(kept);
    }
    let earlier: Vec<&dyn Files> = earlier.iter().map(|files| &**files).collect();
    let outcome = replay(&unit.name, &earlier, &*files, (options.sample, seed)).map_err(|error| error.to_string())?;
    options.work.put(&key, &outcome).map_err(|error| error.to_string())?;
    Ok(outcome)
}
