//! The columns of the tables, and rows in them.

use crate::error::FleetError;
use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryBuilder, ListBuilder, StringArray, StringBuilder, UInt8Array,
    UInt16Array, UInt16Builder, UInt32Builder, UInt64Array, UInt64Builder,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::schema::types::ColumnPath;
use portcullis_core::wire::Record;
use portcullis_fleet_core::{AuditFinding, AuditedSession, CheckpointFile, SegmentEnds};
use std::sync::Arc;

/// Bytes of a record.
pub(crate) const BYTES: usize = Record::BYTES;
/// The column type of a record.
pub(crate) const RECORD: DataType = DataType::FixedSizeBinary(BYTES as i32);
/// Records of one row group. Rows of other tables are fewer.
const GROUP: usize = 1 << 18;

/// The columns that the folders of `records` give.
pub(crate) fn partitions() -> Vec<(String, DataType)> {
    [
        ("key", DataType::Utf8),
        ("seat", DataType::UInt16),
        ("serial", DataType::UInt64),
        ("lane", DataType::UInt8),
        ("bundle", DataType::Utf8),
    ]
    .map(|(name, kind)| (name.to_owned(), kind))
    .to_vec()
}

fn schema<const N: usize>(columns: [(&str, DataType, bool); N]) -> SchemaRef {
    Arc::new(Schema::new(columns.map(|(name, kind, nullable)| Field::new(name, kind, nullable)).to_vec()))
}

pub(crate) fn records() -> SchemaRef {
    schema([
        ("record_index", DataType::UInt64, false),
        ("tick", DataType::UInt64, false),
        ("kind", DataType::Utf8, false),
        ("slot", DataType::UInt16, true),
        ("sequence", DataType::UInt32, true),
        ("determination", DataType::Utf8, true),
        ("stage", DataType::Utf8, true),
        ("fault", DataType::UInt16, false),
        ("checkpoint", DataType::UInt64, true),
        ("record", RECORD, false),
    ])
}

pub(crate) fn bundles() -> SchemaRef {
    schema([
        ("bundle", DataType::Utf8, false),
        ("name", DataType::Utf8, false),
        ("uri", DataType::Utf8, false),
        ("lanes", DataType::UInt8, false),
        ("error", DataType::Utf8, true),
        ("certificate", DataType::Binary, true),
        ("chain", DataType::Binary, true),
    ])
}

pub(crate) fn checkpoints() -> SchemaRef {
    schema([
        ("bundle", DataType::Utf8, false),
        ("place", DataType::UInt64, false),
        ("message", DataType::Binary, false),
        ("sizes", DataType::List(Arc::new(Field::new("item", DataType::UInt64, true))), false),
    ])
}

/// Tickets or notes; `bundle` is absent if they were given by themselves.
pub(crate) fn statements() -> SchemaRef {
    schema([("bundle", DataType::Utf8, true), ("name", DataType::Utf8, false), ("content", DataType::Binary, false)])
}

/// How Parquet files are written: zstd at level 3. Records do not repeat, so a dictionary of them would only cost.
#[must_use]
pub fn write_options() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()))
        .set_max_row_group_row_count(Some(GROUP))
        .set_column_dictionary_enabled(ColumnPath::from("record"), false)
        .build()
}

/// A row of `bundles`.
#[derive(Clone, Debug, Default)]
pub(crate) struct BundleRow {
    pub(crate) bundle: String,
    pub(crate) name: String,
    pub(crate) uri: String,
    pub(crate) lanes: u8,
    pub(crate) error: Option<String>,
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) chain: Option<Vec<u8>>,
}

impl BundleRow {
    pub(crate) fn batch(&self) -> Result<RecordBatch, FleetError> {
        let text = |text: &str| Arc::new(StringArray::from(vec![text.to_owned()])) as ArrayRef;
        let bytes = |bytes: &Option<Vec<u8>>| Arc::new(BinaryArray::from(vec![bytes.as_deref()])) as ArrayRef;
        let columns: Vec<ArrayRef> = vec![
            text(&self.bundle),
            text(&self.name),
            text(&self.uri),
            Arc::new(UInt8Array::from(vec![self.lanes])),
            Arc::new(StringArray::from(vec![self.error.as_deref()])),
            bytes(&self.certificate),
            bytes(&self.chain),
        ];
        Ok(RecordBatch::try_new(bundles(), columns)?)
    }
}

pub(crate) fn checkpoint_rows(bundle: &str, checkpoints: &[CheckpointFile]) -> Result<RecordBatch, FleetError> {
    let mut sizes = ListBuilder::new(UInt64Builder::new());
    for checkpoint in checkpoints {
        sizes.append_value(checkpoint.sizes.iter().copied().map(Some));
    }
    let messages = checkpoints.iter().map(|checkpoint| &checkpoint.message[..]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(checkpoints.iter().map(|_| bundle))),
        Arc::new(UInt64Array::from_iter_values(0..checkpoints.len() as u64)),
        Arc::new(BinaryArray::from_iter_values(messages)),
        Arc::new(sizes.finish()),
    ];
    Ok(RecordBatch::try_new(self::checkpoints(), columns)?)
}

/// Rows of tickets or notes: name and content.
pub(crate) fn statement_rows(bundle: Option<&str>, rows: &[(String, Vec<u8>)]) -> Result<RecordBatch, FleetError> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter(rows.iter().map(|_| bundle))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(name, _)| name))),
        Arc::new(BinaryArray::from_iter_values(rows.iter().map(|(_, content)| content))),
    ];
    Ok(RecordBatch::try_new(statements(), columns)?)
}

/// Rows of `records`, collected into batches.
pub struct RecordRows {
    index: UInt64Builder,
    tick: UInt64Builder,
    kind: StringBuilder,
    slot: UInt16Builder,
    sequence: UInt32Builder,
    determination: StringBuilder,
    stage: StringBuilder,
    fault: UInt16Builder,
    checkpoint: UInt64Builder,
    record: FixedSizeBinaryBuilder,
}

impl Default for RecordRows {
    fn default() -> Self {
        Self {
            index: UInt64Builder::new(),
            tick: UInt64Builder::new(),
            kind: StringBuilder::new(),
            slot: UInt16Builder::new(),
            sequence: UInt32Builder::new(),
            determination: StringBuilder::new(),
            stage: StringBuilder::new(),
            fault: UInt16Builder::new(),
            checkpoint: UInt64Builder::new(),
            record: FixedSizeBinaryBuilder::new(BYTES as i32),
        }
    }
}

impl RecordRows {
    /// Adds the record at this place in the lane's file. Errors: [`FleetError::Arrow`].
    pub fn push(&mut self, bytes: &[u8; BYTES], place: u64, ends: &SegmentEnds) -> Result<(), FleetError> {
        let columns = portcullis_fleet_core::RecordColumns::of(bytes);
        self.index.append_value(columns.index);
        self.tick.append_value(columns.tick);
        self.kind.append_value(columns.kind);
        self.slot.append_option(columns.slot);
        self.sequence.append_option(columns.sequence);
        self.determination.append_option(columns.determination);
        self.stage.append_option(columns.stage);
        self.fault.append_value(columns.fault);
        self.checkpoint.append_option(ends.checkpoint_of(place));
        Ok(self.record.append_value(bytes)?)
    }

    /// The rows since the last batch. Errors: [`FleetError::Arrow`].
    pub fn batch(&mut self) -> Result<RecordBatch, FleetError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.index.finish()),
            Arc::new(self.tick.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.slot.finish()),
            Arc::new(self.sequence.finish()),
            Arc::new(self.determination.finish()),
            Arc::new(self.stage.finish()),
            Arc::new(self.fault.finish()),
            Arc::new(self.checkpoint.finish()),
            Arc::new(self.record.finish()),
        ];
        Ok(RecordBatch::try_new(records(), columns)?)
    }
}

/// Columns of a table in memory.
#[derive(Default)]
struct ArrowColumns(Vec<(Field, ArrayRef)>);

impl ArrowColumns {
    fn add(&mut self, name: &str, kind: DataType, column: ArrayRef) {
        self.0.push((Field::new(name, kind, true), column));
    }

    fn texts<'a>(&mut self, name: &str, values: impl Iterator<Item = Option<&'a str>>) {
        self.add(name, DataType::Utf8, Arc::new(StringArray::from_iter(values)));
    }

    fn numbers(&mut self, name: &str, values: impl Iterator<Item = Option<u64>>) {
        self.add(name, DataType::UInt64, Arc::new(UInt64Array::from_iter(values)));
    }

    fn flags(&mut self, name: &str, values: impl Iterator<Item = bool>) {
        self.add(name, DataType::Boolean, Arc::new(BooleanArray::from_iter(values.map(Some))));
    }

    fn seats(&mut self, values: impl Iterator<Item = Option<u16>>) {
        self.add("seat", DataType::UInt16, Arc::new(UInt16Array::from_iter(values)));
    }

    fn batch(self) -> Result<RecordBatch, FleetError> {
        let (fields, columns): (Vec<Field>, _) = self.0.into_iter().unzip();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }
}

/// The table `sessions`: the verifier's facts about each bundle.
pub(crate) fn session_rows(sessions: &[AuditedSession]) -> Result<RecordBatch, FleetError> {
    let mut columns = ArrowColumns::default();
    let all = || sessions.iter();
    columns.texts("bundle", all().map(|s| Some(&*s.bundle)));
    columns.texts("name", all().map(|s| Some(&*s.name)));
    columns.texts("status", all().map(|s| Some(s.status.name())));
    columns.texts("key", all().map(|s| s.key.as_deref()));
    columns.seats(all().map(|s| s.seat));
    columns.numbers("serial", all().map(|s| s.serial));
    columns.texts("issuer", all().map(|s| s.issuer.as_deref()));
    columns.texts("issuer_key", all().map(|s| s.issuer_key.as_deref()));
    columns.texts("ticket", all().map(|s| s.ticket.as_deref()));
    columns.texts("policy", all().map(|s| s.policy.as_deref()));
    columns.texts("previous_close", all().map(|s| s.previous_close.as_deref()));
    columns.texts("last_checkpoint", all().map(|s| s.last_checkpoint.as_deref()));
    columns.numbers("first_seen", all().map(|s| s.witnessed.map(|(first, _)| first)));
    columns.numbers("last_seen", all().map(|s| s.witnessed.map(|(_, last)| last)));
    columns.flags("self_issued", all().map(|s| s.self_issued));
    columns.flags("closed", all().map(|s| s.closed));
    columns.flags("known", all().map(|s| s.known));
    // Whether the verifier could read the bundle at all, and whether it found no fault of the signatures.
    columns.flags("read", all().map(|s| !s.properties.is_empty()));
    columns.flags("genuine", all().map(|s| s.properties.get("genuine").is_some_and(|status| status != "contradicted")));
    columns.flags("simulated", all().map(|s| s.simulated));
    columns.add("lanes", DataType::UInt8, Arc::new(UInt8Array::from_iter(all().map(|s| Some(s.lanes)))));
    columns.numbers("checkpoints", all().map(|s| Some(s.checkpoints)));
    columns.numbers("records", all().map(|s| Some(s.records)));
    columns.numbers("signed_records", all().map(|s| Some(s.signed_records)));
    columns.numbers("streams", all().map(|s| Some(s.streams)));
    columns.numbers("admits", all().map(|s| Some(s.admits)));
    columns.numbers("rejects", all().map(|s| Some(s.rejects)));
    columns.batch()
}

/// The table `findings`.
pub(crate) fn finding_rows(findings: &[AuditFinding]) -> Result<RecordBatch, FleetError> {
    let mut columns = ArrowColumns::default();
    let all = || findings.iter();
    columns.texts("status", all().map(|f| Some(f.status.name())));
    columns.texts("code", all().map(|f| Some(&*f.code)));
    columns.texts("bundle", all().map(|f| f.bundle.as_deref()));
    columns.texts("key", all().map(|f| f.key.as_deref()));
    columns.seats(all().map(|f| f.seat));
    columns.numbers("serial", all().map(|f| f.serial));
    columns.texts("detail", all().map(|f| Some(&*f.detail)));
    columns.numbers("count", all().map(|f| Some(f.count)));
    columns.batch()
}
