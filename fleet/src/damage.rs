//! Table files that cannot be read: damaged ones, and those that are not of these tables. They are found before the
//! engine sees them, since it would give up all tables for one such file.

use crate::error::FleetError;
use crate::rows;
use crate::tables::{FleetTableStore, bounded};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::cast::as_string_array;
use datafusion::object_store::ObjectMeta;
use datafusion::parquet::arrow::ParquetRecordBatchStreamBuilder;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader;
use datafusion::parquet::file::metadata::PageIndexPolicy;
use futures::future::LocalBoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use portcullis_core::hex;
use portcullis_fleet_core::{ResultKey, WorkFolder};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The folders of the tables.
const FOLDERS: [&str; 5] = ["bundles", "checkpoints", "notes", "records", "tickets"];
/// The ending of a file's name. The engine leaves other files alone.
pub(crate) const ENDING: &str = ".parquet";

/// A file of the tables.
pub(crate) struct TableFile {
    pub(crate) size: u64,
    /// SHA-256 of the content, or why it cannot be read.
    pub(crate) digest: Result<[u8; 32], String>,
}

/// The files of the tables, by name.
pub(crate) type TableFiles = BTreeMap<String, TableFile>;

/// Reads every file of the tables, `jobs` of them at one time. A file that was read whole is kept in `work` by its
/// digest, and only its digest is computed the next time. Errors: the tables cannot be listed, or the result cannot be
/// kept.
pub(crate) async fn read_all(
    tables: &FleetTableStore,
    (work, program): (&WorkFolder, &[u8]),
    jobs: usize,
) -> Result<TableFiles, FleetError> {
    let key = ResultKey::new("readable", &[program]);
    let known: Arc<BTreeSet<String>> = Arc::new(work.get(&key).unwrap_or_default());
    let mut all = Vec::new();
    for folder in FOLDERS {
        let listed = tables.list(folder).await?;
        all.extend(listed.into_iter().map(|(name, object)| (folder, name, object)));
    }
    let reads = all.into_iter().map(|(folder, name, object)| {
        let (tables, known) = (tables.clone(), Arc::clone(&known));
        async move {
            // A task of its own, so that a fault of the decoder is a fault of this file.
            let (own, size) = (name.clone(), object.size);
            let read = tokio::spawn(async move { read(&tables, folder, &own, &object, &known).await });
            let read = read.await.unwrap_or_else(|_| Err("the decoder cannot read it".to_owned()));
            (folder, name, size, read)
        }
    });
    let (mut files, mut readable) = (TableFiles::new(), BTreeSet::new());
    let mut reads = stream::iter(reads).buffered(jobs.max(1));
    while let Some((folder, name, size, digest)) = reads.next().await {
        readable.extend(digest.iter().map(|digest| of_folder(folder, digest)));
        files.insert(name, TableFile { size, digest });
    }
    if readable != *known {
        work.put(&key, &readable)?;
    }
    Ok(files)
}

/// The files of the tables that cannot be read, by name, and why. Errors: the tables cannot be listed.
pub fn unread(
    tables: &FleetTableStore,
    jobs: usize,
) -> LocalBoxFuture<'_, Result<BTreeMap<String, String>, FleetError>> {
    Box::pin(async move {
        let files = read_all(tables, (&WorkFolder::default(), &[]), jobs).await?;
        Ok(files.into_iter().filter_map(|(name, file)| Some((name, file.digest.err()?))).collect())
    })
}

/// Under this name a readable file is kept: the folder decides which columns a file must have.
fn of_folder(folder: &str, digest: &[u8; 32]) -> String {
    format!("{folder} {}", hex::encode(digest))
}

/// Reads a file to its end. Returns its digest. Errors: why it cannot be read.
async fn read(
    tables: &FleetTableStore,
    folder: &str,
    name: &str,
    object: &ObjectMeta,
    known: &BTreeSet<String>,
) -> Result<[u8; 32], String> {
    if folder == "records" && name.ends_with(ENDING) && !is_of_session(name) {
        return Err("it is not in the folders of a session and a bundle".to_owned());
    }
    let digest = tables.digest(object).await.map_err(|error| error.to_string())?;
    if name.ends_with(ENDING) && !known.contains(&of_folder(folder, &digest)) {
        decode(tables, folder, name, object).await?;
    }
    Ok(digest)
}

/// Decodes all rows of a file, and the index of its pages, which the engine uses.
#[expect(deprecated, reason = "the engine reads objects in the same way, and has no public reader in its place")]
async fn decode(tables: &FleetTableStore, folder: &str, name: &str, object: &ObjectMeta) -> Result<(), String> {
    let late = |error: FleetError| error.to_string();
    let broken = |error: &dyn std::fmt::Display| format!("it is not a whole Parquet file: {error}");
    let reader =
        async_reader::ParquetObjectReader::new(tables.store(), object.location.clone()).with_file_size(object.size);
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let builder = ParquetRecordBatchStreamBuilder::new_with_options(reader, options);
    let builder = bounded("opening a table", builder).await.map_err(late)?.map_err(|error| broken(&error))?;
    if !has_columns(builder.schema(), &columns(folder)) {
        return Err(format!("its columns are not those of the table `{folder}`"));
    }
    let mut rows = builder.build().map_err(|error| broken(&error))?;
    while let Some(batch) =
        bounded("reading a table", rows.try_next()).await.map_err(late)?.map_err(|error| broken(&error))?
    {
        if folder == "bundles" && !is_of_file(&batch, name) {
            return Err("it holds the row of another bundle".to_owned());
        }
    }
    Ok(())
}

fn columns(folder: &str) -> SchemaRef {
    match folder {
        "bundles" => rows::bundles(),
        "checkpoints" => rows::checkpoints(),
        "records" => rows::records(),
        _ => rows::statements(),
    }
}

fn has_columns(found: &Schema, expected: &Schema) -> bool {
    let of = |schema: &Schema| -> Vec<_> {
        schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone(), f.is_nullable())).collect()
    };
    of(found) == of(expected)
}

/// Whether these rows of `bundles` are of the bundle that the file's name gives.
fn is_of_file(rows: &RecordBatch, name: &str) -> bool {
    let bundle = name.strip_prefix("bundles/").and_then(|file| file.strip_suffix(ENDING)).unwrap_or_default();
    let column = rows.column_by_name("bundle").and_then(|column| as_string_array(column).ok());
    hex::decode::<32>(bundle).is_some() && column.is_some_and(|named| named.iter().all(|one| one == Some(bundle)))
}

/// Whether the name of a file of records has the folders from which the engine takes columns.
fn is_of_session(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let ["records", key, seat, serial, lane, bundle, _] = *parts else { return false };
    let number = |part: &str, column: &str, most: u64| {
        let number = part.strip_prefix(column).and_then(|number| number.parse::<u64>().ok());
        number.is_some_and(|number| number <= most)
    };
    key.starts_with("key=")
        && number(seat, "seat=", u16::MAX.into())
        && number(serial, "serial=", u64::MAX)
        && number(lane, "lane=", u8::MAX.into())
        && bundle.starts_with("bundle=")
}
