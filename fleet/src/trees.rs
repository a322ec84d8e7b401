//! Compares the tables with what the cards signed: trees over the records, signatures of the checkpoints, and decoded
//! columns against the bytes of the records.
//!
//! The unit is one bundle; the engine computes the trees of many bundles in one query. The result of a unit is kept
//! under the digest of its Parquet files.

use crate::damage::{ENDING, TableFile, TableFiles};
use crate::engine::SqlEngine;
use crate::error::FleetError;
use crate::ingest::place_of;
use crate::progress::{AuditStep, Progress};
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::common::cast::{
    as_binary_array, as_boolean_array, as_int64_array, as_list_array, as_string_array, as_uint8_array, as_uint64_array,
};
use portcullis_fleet_core::{CheckpointFile, FleetCode, LaneSegments, ResultKey, SubtreeSet, WorkFolder, check_trees};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parquet bytes of the bundles of one query. An interrupted audit repeats at most one query.
const QUERY_BYTES: u64 = 4 << 30;
/// Bundles of one query.
const QUERY_BUNDLES: usize = 256;

/// What the tables hold of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableOutcome {
    pub(crate) records: u64,
    pub(crate) checkpoints: u64,
    /// Digest of the last checkpoint, in hexadecimal.
    pub(crate) last_checkpoint: Option<String>,
    /// Code, text of the first finding, and number of findings.
    pub(crate) faults: Vec<(String, String, u64)>,
}

impl TableOutcome {
    /// The findings; a code of another program does not occur, since results are kept by program.
    pub(crate) fn codes(&self) -> impl Iterator<Item = (FleetCode, &str, u64)> {
        self.faults
            .iter()
            .map(|(id, detail, count)| (FleetCode::of_id(id).unwrap_or(FleetCode::TableRoot), &**detail, *count))
    }

    /// Whether a file of the bundle cannot be read, so that nothing can be compared.
    pub(crate) fn is_unread(&self) -> bool {
        self.faults.iter().any(|(code, ..)| code == FleetCode::TableUnread.id())
    }

    pub(crate) fn add(&mut self, code: FleetCode, detail: String) {
        self.faults.push((code.id().to_owned(), detail, 1));
    }
}

/// A bundle of the tables.
#[derive(Clone, Debug)]
pub(crate) struct ListedBundle {
    pub(crate) bundle: String,
    pub(crate) lanes: u8,
    pub(crate) ticket: Vec<u8>,
}

/// The objects of each bundle, and what is wrong with those that belong to none of the listed ones.
struct Objects<'a> {
    of_bundles: BTreeMap<String, Vec<(&'a str, &'a TableFile)>>,
    lost: Vec<(FleetCode, String)>,
}

/// Compares the tables of these bundles. Also returns what is wrong with files of no bundle.
pub(crate) async fn compare(
    engine: &SqlEngine,
    listed: &[ListedBundle],
    files: &TableFiles,
    (work, program): (&WorkFolder, &[u8]),
    progress: &Progress,
) -> Result<(BTreeMap<String, TableOutcome>, Vec<(FleetCode, String)>), FleetError> {
    let objects = objects(listed, files);
    let (mut outcomes, mut pending, mut bytes) = (BTreeMap::new(), Vec::new(), 0);
    for bundle in listed {
        let own = objects.of_bundles.get(&bundle.bundle).map(Vec::as_slice).unwrap_or_default();
        let unread: Vec<String> = own.iter().filter_map(|(name, file)| unread(name, file)).collect();
        if !unread.is_empty() {
            let mut outcome = TableOutcome::default();
            unread.into_iter().for_each(|what| outcome.add(FleetCode::TableUnread, what));
            outcomes.insert(bundle.bundle.clone(), outcome);
            progress(AuditStep::Compared)?;
            continue;
        }
        let key = key(program, bundle, own);
        if let Some(kept) = work.get(&key) {
            outcomes.insert(bundle.bundle.clone(), kept);
            progress(AuditStep::Compared)?;
            continue;
        }
        bytes += own.iter().map(|(_, file)| file.size).sum::<u64>();
        pending.push((bundle, key, misplaced(bundle, own)));
        if bytes >= QUERY_BYTES || pending.len() >= QUERY_BUNDLES {
            query(engine, std::mem::take(&mut pending), work, &mut outcomes, progress).await?;
            bytes = 0;
        }
    }
    query(engine, pending, work, &mut outcomes, progress).await?;
    Ok((outcomes, objects.lost))
}

/// What to say about a file that cannot be read.
fn unread(name: &str, file: &TableFile) -> Option<String> {
    file.digest.as_ref().err().map(|why| format!("`{name}`: {why}"))
}

fn objects<'a>(listed: &[ListedBundle], files: &'a TableFiles) -> Objects<'a> {
    let mut objects = Objects { of_bundles: BTreeMap::new(), lost: Vec::new() };
    // A damaged file can also be a folder with files in it.
    let has_unread_row = |id: &str| {
        let row = format!("bundles/{id}{ENDING}");
        files.range(row.clone()..).take_while(|(name, _)| name.starts_with(&row)).any(|(_, file)| file.digest.is_err())
    };
    for bundle in listed {
        objects.of_bundles.insert(bundle.bundle.clone(), Vec::new());
    }
    for (name, file) in files {
        let is_record = name.starts_with("records/");
        let id = if is_record {
            name.split('/').find_map(|part| part.strip_prefix("bundle="))
        } else {
            name.split('/').nth(1).and_then(|file| file.strip_suffix(ENDING))
        };
        let unread = unread(name, file);
        match id.and_then(|id| objects.of_bundles.get_mut(id)) {
            Some(own) => own.push((name, file)),
            None if unread.is_some() => objects.lost.extend(unread.map(|what| (FleetCode::TableUnread, what))),
            // Broken bundles have a row in `bundles`, and nothing else. Tickets and notes can be given by themselves.
            None if !is_record && !name.starts_with("checkpoints/") => {}
            // The row of the bundle cannot be read, and that is reported.
            None if id.is_some_and(has_unread_row) => {}
            None => {
                let what = "is of no bundle that the tables list: an ingest was interrupted, or a row is gone";
                objects.lost.push((FleetCode::TableRoot, format!("`{name}` {what}")));
            }
        }
    }
    objects
}

/// The key of a result: program, and the content of all objects of the bundle.
fn key(program: &[u8], bundle: &ListedBundle, objects: &[(&str, &TableFile)]) -> ResultKey {
    let mut inputs = vec![program.to_vec(), bundle.bundle.clone().into_bytes()];
    for (name, file) in objects {
        inputs.push(name.as_bytes().to_vec());
        inputs.push(file.digest.iter().flatten().copied().collect());
    }
    ResultKey::new("tables", &inputs.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The first file of records that is not in the folders of the bundle's ticket and lanes.
fn misplaced(bundle: &ListedBundle, objects: &[(&str, &TableFile)]) -> Option<String> {
    let place = place_of(&bundle.ticket);
    let expected = |lane| format!("records/{place}/lane={lane}/bundle={}/part-0.parquet", bundle.bundle);
    let expected: Vec<String> = (0..bundle.lanes).map(expected).collect();
    let records = objects.iter().map(|(name, _)| *name).filter(|name| name.starts_with("records/"));
    records.filter(|name| !expected.iter().any(|one| one == name)).min().map(str::to_owned)
}

type Pending<'a> = (&'a ListedBundle, ResultKey, Option<String>);

/// What the engine read of a bundle.
#[derive(Default)]
struct QueriedBundle {
    lanes: BTreeMap<u8, LaneSegments>,
    wrong_columns: u64,
    checkpoints: Vec<CheckpointFile>,
    last_checkpoint: Option<String>,
    unsigned: Vec<u64>,
}

async fn query(
    engine: &SqlEngine,
    pending: Vec<Pending<'_>>,
    work: &WorkFolder,
    outcomes: &mut BTreeMap<String, TableOutcome>,
    progress: &Progress,
) -> Result<(), FleetError> {
    if pending.is_empty() {
        return Ok(());
    }
    // The ids are in hexadecimal, so they need no quoting.
    let ids: Vec<String> = pending.iter().map(|(bundle, ..)| format!("'{}'", bundle.bundle)).collect();
    let ids = ids.join(", ");
    let mut found: BTreeMap<String, QueriedBundle> = BTreeMap::new();
    let trees = include_str!("sql/trees.sql").replace("$bundles", &ids);
    for batch in engine.run(&trees).await? {
        read_trees(&batch, &mut found)?;
    }
    let checkpoints = include_str!("sql/signatures.sql").replace("$bundles", &ids);
    for batch in engine.run(&checkpoints).await? {
        read_checkpoints(&batch, &mut found)?;
    }
    for (bundle, key, misplaced) in pending {
        let outcome = outcome(bundle, found.remove(&bundle.bundle).unwrap_or_default(), misplaced);
        work.put(&key, &outcome)?;
        outcomes.insert(bundle.bundle.clone(), outcome);
        progress(AuditStep::Compared)?;
    }
    Ok(())
}

fn outcome(bundle: &ListedBundle, mut found: QueriedBundle, misplaced: Option<String>) -> TableOutcome {
    let lanes: Vec<LaneSegments> =
        (0..bundle.lanes).map(|lane| found.lanes.remove(&lane).unwrap_or_default()).collect();
    let (records, faults) = check_trees(&found.checkpoints, &lanes);
    let mut outcome = TableOutcome {
        records,
        checkpoints: found.checkpoints.len() as u64,
        last_checkpoint: found.last_checkpoint,
        faults: faults.into_iter().map(|(code, detail, count)| (code.id().to_owned(), detail, count)).collect(),
    };
    if let Some(name) = misplaced {
        outcome.add(FleetCode::TableColumns, format!("`{name}` is not in the folders of the bundle's ticket"));
    }
    if found.wrong_columns > 0 {
        let what = format!("{} records have decoded columns that differ from their bytes", found.wrong_columns);
        outcome.add(FleetCode::TableColumns, what);
    }
    if let Some(first) = found.unsigned.first() {
        let what = format!("no certified card signed checkpoint {first}");
        outcome.faults.push((FleetCode::TableSignature.id().to_owned(), what, found.unsigned.len() as u64));
    }
    outcome
}

fn read_trees(batch: &RecordBatch, found: &mut BTreeMap<String, QueriedBundle>) -> Result<(), FleetError> {
    let column = |name: &'static str| batch.column_by_name(name).ok_or(FleetError::Column(name));
    let bundles = as_string_array(column("bundle")?)?;
    let lanes = as_uint8_array(column("lane")?)?;
    let checkpoints = as_uint64_array(column("checkpoint")?)?;
    let trees = as_binary_array(column("tree")?)?;
    let wrong = as_int64_array(column("wrong")?)?;
    for row in 0..batch.num_rows() {
        let found = found.entry(bundles.value(row).to_owned()).or_default();
        let checkpoint = checkpoints.is_valid(row).then(|| checkpoints.value(row));
        let tree = SubtreeSet::from_bytes(trees.value(row)).map_err(|_| FleetError::Column("tree"))?;
        found.lanes.entry(lanes.value(row)).or_default().segments.entry(checkpoint).or_default().merge(&tree);
        found.wrong_columns = found.wrong_columns.saturating_add(u64::try_from(wrong.value(row)).unwrap_or(u64::MAX));
    }
    Ok(())
}

fn read_checkpoints(batch: &RecordBatch, found: &mut BTreeMap<String, QueriedBundle>) -> Result<(), FleetError> {
    let column = |name: &'static str| batch.column_by_name(name).ok_or(FleetError::Column(name));
    let bundles = as_string_array(column("bundle")?)?;
    let messages = as_binary_array(column("message")?)?;
    let digests = as_string_array(column("digest")?)?;
    let sizes = as_list_array(column("sizes")?)?;
    let signed = as_boolean_array(column("signed")?)?;
    for row in 0..batch.num_rows() {
        let found = found.entry(bundles.value(row).to_owned()).or_default();
        let sizes = sizes.value(row);
        let sizes = as_uint64_array(&sizes)?.iter().map(Option::unwrap_or_default).collect();
        if !(signed.is_valid(row) && signed.value(row)) {
            found.unsigned.push(found.checkpoints.len() as u64);
        }
        found.last_checkpoint = digests.is_valid(row).then(|| digests.value(row).to_owned());
        found.checkpoints.push(CheckpointFile { message: messages.value(row).to_vec(), sizes });
    }
    Ok(())
}
