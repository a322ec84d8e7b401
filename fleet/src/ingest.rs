//! Bundles, tickets and notes become tables. Nothing is checked here: an audit does that.

use crate::bundle_uri::{broken_id, open, unfinished_id};
use crate::engine::{QueryPlace, SqlEngine};
use crate::error::FleetError;
use crate::rows::{BYTES, BundleRow, RecordRows, checkpoint_rows, statement_rows, write_options};
use crate::tables::{FleetTableStore, bounded};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::cast::as_string_array;
use datafusion::object_store::buffered::BufWriter;
use datafusion::parquet::arrow::AsyncArrowWriter;
use futures::future::LocalBoxFuture;
use portcullis_core::hex;
use portcullis_evidence::bundle::{self, Bundle, BundleError, SnapshotFiles};
use portcullis_evidence::ticket::SessionTicket;
use portcullis_fleet_core::{BundleSmallFiles, digest};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use url::Url;

/// Records of one batch.
const BATCH: usize = 1 << 16;
/// Largest ticket or note in bytes.
const STATEMENT_MAX: u64 = 1 << 20;

/// Something to ingest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IngestInput {
    /// A bundle: a folder or a tar archive.
    Bundle(PathBuf),
    /// A ticket of an issuer, without its session.
    Ticket(PathBuf),
    /// A note of a witness, without its session.
    Note(PathBuf),
}

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestOutcome {
    pub name: String,
    /// Number of records that were written.
    pub records: u64,
    /// Whether the records were there already.
    pub known: bool,
    /// Why the bundle is broken. It is in the tables by its name, and an audit reports it.
    pub broken: Option<String>,
    /// Whether the bundle is not finished: its session still runs, or it died. It is in the tables by its name only.
    pub unfinished: bool,
}

/// Ingests one input. An input that is in the tables already is not written again. Errors: the input cannot be read,
/// or the tables cannot be written. A broken bundle is not an error.
pub fn ingest<'a>(
    tables: &'a FleetTableStore,
    input: &'a IngestInput,
    progress: &'a mut dyn FnMut(u64),
) -> LocalBoxFuture<'a, Result<IngestOutcome, FleetError>> {
    Box::pin(ingest_one(tables, input, progress))
}

async fn ingest_one(
    tables: &FleetTableStore,
    input: &IngestInput,
    progress: &mut dyn FnMut(u64),
) -> Result<IngestOutcome, FleetError> {
    match input {
        IngestInput::Bundle(path) => ingest_bundle(tables, path, progress).await,
        IngestInput::Ticket(path) => ingest_statement(tables, "tickets", path).await,
        IngestInput::Note(path) => ingest_statement(tables, "notes", path).await,
    }
}

async fn ingest_statement(tables: &FleetTableStore, folder: &str, path: &Path) -> Result<IngestOutcome, FleetError> {
    let read = |source| FleetError::Read { path: path.to_owned(), source };
    let mut content = Vec::new();
    fs::File::open(path).map_err(read)?.take(STATEMENT_MAX + 1).read_to_end(&mut content).map_err(read)?;
    if content.len() as u64 > STATEMENT_MAX {
        return Err(read(std::io::Error::other("it is larger than 1 MiB")));
    }
    let name = name_of(path);
    let object = format!("{folder}/{}.parquet", hex::encode(&Sha256::digest(&content)));
    let known = tables.exists(&object).await?;
    if !known {
        write(tables, &object, statement_rows(None, &[(name.clone(), content)])?).await?;
    }
    Ok(IngestOutcome { name, records: 0, known, broken: None, unfinished: false })
}

async fn ingest_bundle(
    tables: &FleetTableStore,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<IngestOutcome, FleetError> {
    let name = name_of(path);
    let absolute = fs::canonicalize(path).map_err(|source| FleetError::Read { path: path.to_owned(), source })?;
    let uri = Url::from_file_path(&absolute)
        .map_err(|()| FleetError::Place { place: absolute.display().to_string(), why: "it has no URL".to_owned() })?;
    let broken = BundleRow { bundle: broken_id(&uri), name, uri: uri.to_string(), ..BundleRow::default() };
    let unfinished = row_of(&unfinished_id(&uri));
    if bundle::is_unfinished(path) {
        let error = Some(BundleError::unfinished().to_string());
        let row = BundleRow { bundle: unfinished_id(&uri), error, ..broken.clone() };
        write(tables, &unfinished, row.batch()?).await?;
        tables.remove(&row_of(&broken.bundle)).await?;
        return Ok(IngestOutcome { name: row.name, records: 0, known: false, broken: None, unfinished: true });
    }
    let done = ingest_content(tables, &uri, broken, progress).await?;
    tables.remove(&unfinished).await?;
    Ok(done)
}

async fn ingest_content(
    tables: &FleetTableStore,
    uri: &Url,
    broken: BundleRow,
    progress: &mut dyn FnMut(u64),
) -> Result<IngestOutcome, FleetError> {
    let files = match open(uri).and_then(|files| Ok((digest(&*files)?, files))) {
        Ok((id, files)) => (BundleRow { bundle: hex::encode(&id), ..broken.clone() }, files),
        Err(error) => return write_broken(tables, broken, error).await,
    };
    let (row, files) = (files.0, SnapshotFiles::new(&*files.1));
    match Bundle::open(&files).and_then(|bundle| Ok((BundleSmallFiles::read(&bundle)?, bundle))) {
        Ok((content, bundle)) => {
            let done = write_bundle(tables, row, &bundle, content, progress).await?;
            // What was in this place before shows nothing.
            tables.remove(&row_of(&broken.bundle)).await?;
            Ok(done)
        }
        Err(error) => write_broken(tables, broken, error).await,
    }
}

fn row_of(bundle: &str) -> String {
    format!("bundles/{bundle}.parquet")
}

/// Removes the bundles that were in the place of this one when they were ingested, and whose content is another one.
/// Returns their number. Errors: the bundle or the tables cannot be read, or the tables cannot be written.
pub async fn replace(tables: &FleetTableStore, path: &Path) -> Result<usize, FleetError> {
    let read = |source| FleetError::Read { path: path.to_owned(), source };
    let uri = Url::from_file_path(fs::canonicalize(path).map_err(read)?).map_err(|()| FleetError::Column("uri"))?;
    let present = hex::encode(&digest(&*open(&uri)?)?);
    let engine = SqlEngine::at(&QueryPlace::Here, tables, 1).await?;
    let mut older = Vec::new();
    for batch in engine.run("SELECT bundle, uri FROM bundles").await? {
        let column =
            |name| Ok::<_, FleetError>(as_string_array(batch.column_by_name(name).ok_or(FleetError::Column(name))?)?);
        let (bundles, uris) = (column("bundle")?, column("uri")?);
        let rows = (0..batch.num_rows()).filter(|row| uris.value(*row) == uri.as_str());
        older.extend(rows.map(|row| bundles.value(row).to_owned()).filter(|bundle| *bundle != present));
    }
    // Whoever writes the tables could write anything here.
    if older.iter().any(|bundle| hex::decode::<32>(bundle).is_none()) {
        return Err(FleetError::Column("bundle"));
    }
    for bundle in &older {
        let of_bundle = format!("/bundle={bundle}/");
        for (name, _) in tables.list("records").await?.iter().filter(|(name, _)| name.contains(&of_bundle)) {
            tables.remove(name).await?;
        }
        for folder in ["checkpoints", "tickets", "notes"] {
            tables.remove(&format!("{folder}/{bundle}.parquet")).await?;
        }
        // The row is last, so that this can be done again if it was interrupted.
        tables.remove(&row_of(bundle)).await?;
    }
    Ok(older.len())
}

async fn write_broken(
    tables: &FleetTableStore,
    row: BundleRow,
    error: BundleError,
) -> Result<IngestOutcome, FleetError> {
    if !error.is_no_bundle() {
        return Err(error.into());
    }
    let (name, broken) = (row.name.clone(), error.to_string());
    let row = BundleRow { error: Some(broken.clone()), ..row };
    write(tables, &row_of(&row.bundle), row.batch()?).await?;
    Ok(IngestOutcome { name, records: 0, known: false, broken: Some(broken), unfinished: false })
}

async fn write_bundle(
    tables: &FleetTableStore,
    row: BundleRow,
    bundle: &Bundle<'_>,
    content: BundleSmallFiles,
    progress: &mut dyn FnMut(u64),
) -> Result<IngestOutcome, FleetError> {
    let (id, name) = (row.bundle.clone(), row.name.clone());
    let own = row_of(&id);
    let known = tables.exists(&own).await?;
    let mut records = 0;
    if !known {
        let place = place_of(&content.ticket);
        for lane in 0..content.lanes {
            let object = format!("records/{place}/lane={lane}/bundle={id}/part-0.parquet");
            records += write_records(tables, &object, bundle, &content, lane, progress).await?;
        }
        write(tables, &format!("checkpoints/{id}.parquet"), checkpoint_rows(&id, &content.checkpoints)?).await?;
        let ticket = [(name.clone(), content.ticket)];
        write(tables, &format!("tickets/{id}.parquet"), statement_rows(Some(&id), &ticket)?).await?;
        let notes: Vec<_> = content.notes.into_iter().map(|note| (name.clone(), note)).collect();
        write(tables, &format!("notes/{id}.parquet"), statement_rows(Some(&id), &notes)?).await?;
    }
    // A bundle that was moved gets its new place. The row is last, so an interrupted ingest is not taken for a whole
    // one.
    let row =
        BundleRow { lanes: content.lanes, certificate: Some(content.certificate), chain: Some(content.chain), ..row };
    write(tables, &own, row.batch()?).await?;
    Ok(IngestOutcome { name, records, known, broken: None, unfinished: false })
}

/// The folders of a session: what its ticket claims.
pub(crate) fn place_of(ticket: &[u8]) -> String {
    match SessionTicket::parse(ticket) {
        Ok(ticket) => place(&hex::encode(&ticket.content.key), ticket.content.seat, ticket.content.serial),
        Err(_) => place("unknown", 0, 0),
    }
}

fn place(key: &str, seat: u16, serial: u64) -> String {
    format!("key={key}/seat={seat}/serial={serial}")
}

async fn write_records(
    tables: &FleetTableStore,
    object: &str,
    bundle: &Bundle<'_>,
    content: &BundleSmallFiles,
    lane: u8,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, FleetError> {
    let (ends, mut records) = (content.segment_ends(lane), bundle.records(lane)?);
    let mut writer = writer(tables, object, crate::rows::records())?;
    let (mut rows, mut place) = (RecordRows::default(), 0);
    while let Some(record) = next(&mut *records)? {
        rows.push(&record, place, &ends)?;
        place += 1;
        if place % BATCH as u64 == 0 {
            bounded("writing records", writer.write(&rows.batch()?)).await??;
            progress(place);
        }
    }
    bounded("writing records", writer.write(&rows.batch()?)).await??;
    bounded("writing records", writer.close()).await??;
    Ok(place)
}

/// The next record. Bytes after the last whole record are not a record; the verifier reports them.
fn next(from: &mut dyn BufRead) -> Result<Option<[u8; BYTES]>, FleetError> {
    let mut record = [0; BYTES];
    match from.read_exact(&mut record) {
        Ok(()) => Ok(Some(record)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(source) => Err(FleetError::Bundle(BundleError::Io { name: bundle::RECORDS.to_owned(), source })),
    }
}

fn writer(
    tables: &FleetTableStore,
    object: &str,
    schema: SchemaRef,
) -> Result<AsyncArrowWriter<BufWriter>, FleetError> {
    let to = BufWriter::new(tables.store(), tables.object(object));
    Ok(AsyncArrowWriter::try_new(to, schema, Some(write_options()))?)
}

async fn write(tables: &FleetTableStore, object: &str, rows: RecordBatch) -> Result<(), FleetError> {
    let mut writer = writer(tables, object, rows.schema())?;
    bounded("writing a table", writer.write(&rows)).await??;
    bounded("writing a table", writer.close()).await??;
    Ok(())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
