//! How the functions of the audit, and tables in memory, travel between the processes of a cluster.
//!
//! A function is sent as the digest of the sender's program file and as its definition, which contains everything that
//! its results depend on. A process with another program file refuses it: results of another program would be kept
//! under the name of this one.

use crate::functions::{Aggregate, AuditFunction, Definition};
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, TableReference, exec_err};
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, Extension, LogicalPlan, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// What a process says about a function of another program.
const FOREIGN: &str = "it comes from another build of fleet";

/// What an executor that has no codec of ours says about our functions, and what a scheduler says if an executor
/// refused a task. Words of Ballista 55 and DataFusion 55.
const WITHOUT: [&str; 3] = [
    "ExtensionCodec is not provided for",
    "LogicalExtensionCodec is not provided",
    "task could not be prepared or was rejected by executor",
];

/// Whether a query failed because a process is not this program.
pub(super) fn is_foreign(failed: &str) -> bool {
    failed.contains(FOREIGN) || WITHOUT.iter().any(|words| failed.contains(words))
}

/// Writes and reads functions for one program.
#[derive(Clone, Debug)]
struct Functions {
    program: String,
}

impl Functions {
    /// Program and definition, in two lines. A function of the engine is sent by its name, with an empty definition.
    fn encode(&self, function: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        let Some(function) = function.inner().downcast_ref::<AuditFunction>() else { return Ok(()) };
        self.write(function.definition(), buf)
    }

    fn decode(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        Ok(Arc::new(self.read::<Definition>(name, buf)?.function()))
    }

    fn encode_aggregate(&self, function: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        Aggregate::of(function).map_or(Ok(()), |definition| self.write(&definition, buf))
    }

    fn decode_aggregate(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        Ok(Arc::new(self.read::<Aggregate>(name, buf)?.function()))
    }

    fn write(&self, definition: &impl Serialize, buf: &mut Vec<u8>) -> Result<()> {
        buf.extend_from_slice(self.program.as_bytes());
        buf.push(b'\n');
        serde_json::to_writer(buf, definition).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    fn read<T: DeserializeOwned>(&self, name: &str, buf: &[u8]) -> Result<T> {
        let json = self.own(name, buf)?;
        serde_json::from_slice(json).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    /// The definition of a function of this program. Errors: it comes from another one.
    fn own<'a>(&self, name: &str, buf: &'a [u8]) -> Result<&'a [u8]> {
        let end = buf.iter().position(|byte| *byte == b'\n').unwrap_or(buf.len());
        let (program, rest) = buf.split_at(end);
        if program != self.program.as_bytes() {
            let program = String::from_utf8_lossy(program);
            return exec_err!("`{name}` cannot be run: {FOREIGN}, {program}, and this is {}", self.program);
        }
        Ok(rest.get(1..).unwrap_or_default())
    }
}

/// The codec of logical plans.
#[derive(Debug)]
pub(super) struct LogicalCodec {
    functions: Functions,
    ballista: BallistaLogicalExtensionCodec,
}

impl LogicalCodec {
    pub(super) fn new(program: &str) -> Self {
        Self {
            functions: Functions { program: program.to_owned() },
            ballista: BallistaLogicalExtensionCodec::default(),
        }
    }
}

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.ballista.try_decode(buf, inputs, context)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        _: &TableReference,
        schema: SchemaRef,
        _: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        Ok(Arc::new(read_table(buf, schema)?))
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        table: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        match table.downcast_ref::<MemTable>() {
            Some(table) => write_table(table, buf),
            None => exec_err!("the table `{name}` cannot be sent to a cluster"),
        }
    }

    fn try_decode_file_format(&self, buf: &[u8], context: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.ballista.try_decode_file_format(buf, context)
    }

    fn try_encode_file_format(&self, buf: &mut Vec<u8>, format: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.ballista.try_encode_file_format(buf, format)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.functions.decode(name, buf)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.functions.encode(function, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.functions.decode_aggregate(name, buf)
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.functions.encode_aggregate(function, buf)
    }
}

/// The codec of physical plans.
#[derive(Debug)]
pub(super) struct PhysicalCodec {
    functions: Functions,
    ballista: BallistaPhysicalExtensionCodec,
}

impl PhysicalCodec {
    pub(super) fn new(program: &str) -> Self {
        Self {
            functions: Functions { program: program.to_owned() },
            ballista: BallistaPhysicalExtensionCodec::default(),
        }
    }
}

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.ballista.try_decode(buf, inputs, context, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.ballista.try_encode(node, buf, converter)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.functions.decode(name, buf)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.functions.encode(function, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.functions.decode_aggregate(name, buf)
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.functions.encode_aggregate(function, buf)
    }
}

/// Writes a table in memory: for each partition the length of an Arrow IPC stream (u64, little-endian), and the stream.
fn write_table(table: &MemTable, buf: &mut Vec<u8>) -> Result<()> {
    let schema = table.schema();
    for partition in &table.batches {
        let Ok(batches) = partition.try_read() else { return exec_err!("a table in memory is being written to") };
        let mut stream = Vec::new();
        let mut writer = StreamWriter::try_new(&mut stream, &schema)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
        buf.extend_from_slice(&(stream.len() as u64).to_le_bytes());
        buf.append(&mut stream);
    }
    Ok(())
}

fn read_table(mut buf: &[u8], schema: SchemaRef) -> Result<MemTable> {
    let mut partitions = Vec::new();
    while !buf.is_empty() {
        let Some((length, rest)) = buf.split_first_chunk() else { return exec_err!("a sent table is cut off") };
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((stream, rest)) = rest.split_at_checked(length) else { return exec_err!("a sent table is cut off") };
        let batches = StreamReader::try_new(stream, None)?;
        partitions.push(batches.collect::<std::result::Result<Vec<RecordBatch>, _>>()?);
        buf = rest;
    }
    MemTable::try_new(schema, partitions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::ReplayTask;
    use datafusion::arrow::array::{ArrayRef, UInt64Array};
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::functions::string::lower;
    use portcullis_core::hex::HexBytes;
    use portcullis_evidence::verify::judge::{ChainJudge, ChainStart, PublicLogHead};

    #[test]
    fn a_function_arrives_in_the_same_program_only() {
        let (own, other) = (PhysicalCodec::new("one"), LogicalCodec::new("two"));
        let replay = Definition::ReplayBundle(ReplayTask { sample: 7, seed: "a\nb".to_owned() });
        for definition in Definition::PLAIN.iter().chain([&replay]) {
            let (sent, mut buf) = (definition.function(), Vec::new());
            own.try_encode_udf(&sent, &mut buf).unwrap();
            assert_eq!(*own.try_decode_udf(definition.name(), &buf).unwrap(), sent);
            let refused = other.try_decode_udf(definition.name(), &buf).unwrap_err().strip_backtrace();
            assert!(is_foreign(&refused) && refused.contains("one, and this is two"), "{refused}");
            // Cut off, it is another program or not a definition.
            assert!(own.try_decode_udf(definition.name(), &buf[..buf.len() - 1]).is_err());
        }
        let log = Some(PublicLogHead { issuer: HexBytes([7; 32]), seen: Some(1) });
        let judge = Aggregate::JudgeCards(ChainJudge { start: ChainStart::First, log });
        for aggregate in [Aggregate::Tree, judge, Aggregate::JudgeTickets] {
            let (sent, mut buf) = (aggregate.function(), Vec::new());
            own.try_encode_udaf(&sent, &mut buf).unwrap();
            assert_eq!(*own.try_decode_udaf(aggregate.name(), &buf).unwrap(), sent);
            assert!(other.try_decode_udaf(aggregate.name(), &buf).is_err());
            assert!(own.try_decode_udaf(aggregate.name(), &buf[..buf.len() - 1]).is_err());
        }
        // A function of the engine goes by its name.
        let mut buf = Vec::new();
        own.try_encode_udf(&lower(), &mut buf).unwrap();
        assert!(buf.is_empty());
        // A process without our codec says that it has none.
        let mut buf = Vec::new();
        own.try_encode_udf(&Definition::TreeRoot.function(), &mut buf).unwrap();
        let plain = BallistaPhysicalExtensionCodec::default().try_decode_udf("tree_root", &buf).unwrap_err();
        assert!(is_foreign(&plain.strip_backtrace()), "{plain}");
        let plain = BallistaLogicalExtensionCodec::default().try_decode_udf("tree_root", &buf).unwrap_err();
        assert!(is_foreign(&plain.strip_backtrace()), "{plain}");
    }

    #[test]
    fn a_table_in_memory_arrives_with_its_partitions() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::UInt64, false)]));
        let batch = |values: &[u64]| {
            let column: ArrayRef = Arc::new(UInt64Array::from(values.to_vec()));
            RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap()
        };
        let partitions = vec![vec![batch(&[1, 2]), batch(&[3])], vec![], vec![batch(&[4])]];
        let table = MemTable::try_new(Arc::clone(&schema), partitions.clone()).unwrap();
        let mut buf = Vec::new();
        write_table(&table, &mut buf).unwrap();
        let read = read_table(&buf, Arc::clone(&schema)).unwrap();
        let found: Vec<Vec<RecordBatch>> =
            read.batches.iter().map(|partition| partition.try_read().unwrap().clone()).collect();
        assert_eq!(found, partitions);
        assert!(read_table(&buf[..buf.len() - 1], Arc::clone(&schema)).is_err());
        assert!(read_table(&buf[..4], schema).is_err());
    }
}
