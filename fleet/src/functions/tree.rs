//! `tree(record)`: the subtrees over a set of records, as an aggregate; and its root and size.
//!
//! The index of a record comes from its own bytes, not from a column.

use super::{AuditFunction, Definition, arrays, binary};
use crate::rows::{BYTES, RECORD};
use datafusion::arrow::array::{
    Array, ArrayRef, BinaryArray, BinaryBuilder, BooleanArray, FixedSizeBinaryArray, StringArray, UInt64Array,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::cast::{as_binary_array, as_fixed_size_binary_array};
use datafusion::common::{DataFusionError, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, EmitTo, GroupsAccumulator, ScalarUDF, Signature,
    Volatility,
};
use portcullis_core::hex;
use portcullis_evidence::tree::leaf;
use portcullis_fleet_core::{RecordColumns, SubtreeSet};
use std::sync::Arc;

/// The aggregate `tree(record)`.
pub(crate) fn tree() -> AggregateUDF {
    AggregateUDF::from(TreeAggregate { signature: Signature::exact(vec![RECORD], Volatility::Immutable) })
}

/// `tree_root(tree)`: the root in hexadecimal; null unless the records are those from 0 on without a gap.
pub(crate) fn tree_root() -> ScalarUDF {
    let root = |args: &[ColumnarValue]| -> Result<ColumnarValue> {
        let args = arrays(args)?;
        let roots = sets(binary(&args, 0)?)?;
        let hex = |set: Option<SubtreeSet>| set?.root().ok().map(|(_, root)| hex::encode(&root));
        Ok(ColumnarValue::Array(Arc::new(StringArray::from_iter(roots.into_iter().map(hex)))))
    };
    AuditFunction::of(Definition::TreeRoot, vec![DataType::Binary], DataType::Utf8, Volatility::Immutable, root)
}

/// `tree_size(tree)`: the number of records; null where [`tree_root`] is null.
pub(crate) fn tree_size() -> ScalarUDF {
    let size = |args: &[ColumnarValue]| -> Result<ColumnarValue> {
        let args = arrays(args)?;
        let sizes = sets(binary(&args, 0)?)?.into_iter().map(|set| set?.root().ok().map(|(size, _)| size));
        Ok(ColumnarValue::Array(Arc::new(UInt64Array::from_iter(sizes))))
    };
    AuditFunction::of(Definition::TreeSize, vec![DataType::Binary], DataType::UInt64, Volatility::Immutable, size)
}

fn sets(states: &BinaryArray) -> Result<Vec<Option<SubtreeSet>>> {
    states.iter().map(|state| state.map(decode).transpose()).collect()
}

fn decode(state: &[u8]) -> Result<SubtreeSet> {
    SubtreeSet::from_bytes(state).map_err(|error| DataFusionError::External(Box::new(error)))
}

/// The aggregate of [`tree`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TreeAggregate {
    signature: Signature,
}

impl AggregateUDFImpl for TreeAggregate {
    fn name(&self) -> &str {
        "tree"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[subtrees]", args.name), DataType::Binary, true))])
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(TreeGroupStates::default()))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Adds a record. Errors: a row without a record.
fn push(set: &mut SubtreeSet, records: &FixedSizeBinaryArray, row: usize) -> Result<()> {
    let record: Option<&[u8; BYTES]> = records.is_valid(row).then(|| records.value(row).try_into().ok()).flatten();
    let Some(record) = record else { return exec_err!("a row of the records has no record") };
    set.push(RecordColumns::of(record).index, leaf(record));
    Ok(())
}

fn column(values: &[ArrayRef]) -> Result<&ArrayRef> {
    super::argument(values, 0)
}

/// The state of a query without groups.
#[derive(Debug, Default)]
struct One(SubtreeSet);

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let records = as_fixed_size_binary_array(column(values)?)?;
        (0..records.len()).try_for_each(|row| push(&mut self.0, records, row))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Binary(Some(self.0.to_bytes())))
    }

    fn size(&self) -> usize {
        self.0.memory()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for state in as_binary_array(column(states)?)?.iter().flatten() {
            self.0.merge(&decode(state)?);
        }
        Ok(())
    }
}

/// The states of all groups.
#[derive(Default)]
struct TreeGroupStates(Vec<SubtreeSet>);

impl TreeGroupStates {
    fn group(&mut self, group: usize) -> Result<&mut SubtreeSet> {
        match self.0.get_mut(group) {
            Some(set) => Ok(set),
            None => exec_err!("the engine named a group that it did not announce"),
        }
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let mut states = BinaryBuilder::new();
        emit_to.take_needed(&mut self.0).iter().for_each(|set| states.append_value(set.to_bytes()));
        Arc::new(states.finish())
    }
}

impl GroupsAccumulator for TreeGroupStates {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.resize_with(total_num_groups, SubtreeSet::new);
        let records = as_fixed_size_binary_array(column(values)?)?;
        for (row, group) in group_indices.iter().enumerate() {
            if opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row)) {
                push(self.group(*group)?, records, row)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(self.emit(emit_to))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.emit(emit_to)])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.0.resize_with(total_num_groups, SubtreeSet::new);
        let states = as_binary_array(column(values)?)?;
        for (row, group) in group_indices.iter().enumerate() {
            if let Some(state) = super::at(states, row) {
                self.group(*group)?.merge(&decode(state)?);
            }
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let records = as_fixed_size_binary_array(column(values)?)?;
        let mut states = BinaryBuilder::new();
        for row in 0..records.len() {
            let mut set = SubtreeSet::new();
            if opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row)) {
                push(&mut set, records, row)?;
            }
            states.append_value(set.to_bytes());
        }
        Ok(vec![Arc::new(states.finish())])
    }

    fn size(&self) -> usize {
        self.0.iter().map(SubtreeSet::memory).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{FixedSizeBinaryBuilder, UInt8Array};
    use datafusion::arrow::datatypes::Schema;
    use datafusion::arrow::record_batch::RecordBatch;
    use datafusion::common::cast::as_string_array;
    use datafusion::datasource::MemTable;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use portcullis_core::wire::Record;
    use portcullis_evidence::tree::root;
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    fn record(lane: u8, index: u64) -> Record {
        let mut record = Record::ZERO;
        record.answer.lane = lane;
        record.answer.log_index.set(index);
        record
    }

    fn schema() -> Arc<Schema> {
        Arc::new(Schema::new(vec![Field::new("lane", DataType::UInt8, false), Field::new("record", RECORD, false)]))
    }

    fn batch(records: &[(u8, u64)]) -> RecordBatch {
        let mut bytes = FixedSizeBinaryBuilder::new(BYTES as i32);
        records.iter().for_each(|(lane, index)| bytes.append_value(record(*lane, *index).as_bytes()).unwrap());
        let lanes = UInt8Array::from_iter_values(records.iter().map(|(lane, _)| *lane));
        RecordBatch::try_new(schema(), vec![Arc::new(lanes), Arc::new(bytes.finish())]).unwrap()
    }

    /// The roots in the first column of a query's rows.
    fn roots(partitions: Vec<Vec<RecordBatch>>, query: &str) -> Vec<Option<String>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        runtime.block_on(async {
            let mut config = SessionConfig::new().with_target_partitions(3).with_batch_size(7);
            config.options_mut().sql_parser.map_string_types_to_utf8view = false;
            let context = SessionContext::new_with_config(config);
            context.register_udaf(tree());
            context.register_udf(tree_root());
            context.register_udf(tree_size());
            context.register_table("records", Arc::new(MemTable::try_new(schema(), partitions).unwrap())).unwrap();
            let batches = context.sql(query).await.unwrap().collect().await.unwrap();
            let rows = |batch: &RecordBatch| {
                let column = as_string_array(batch.column(0)).unwrap();
                column.iter().map(|root| root.map(str::to_owned)).collect::<Vec<_>>()
            };
            batches.iter().flat_map(rows).collect()
        })
    }

    fn folded(lane: u8, size: u64) -> Option<String> {
        Some(hex::encode(&root((0..size).map(|index| leaf(record(lane, index).as_bytes())))))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Any order of the records, and any split into batches and partitions, give the roots of the plain fold.
        #[test]
        fn any_split_and_order_gives_the_roots_of_the_fold(
            (sizes, order) in (1..40_u64, 1..40_u64).prop_flat_map(|sizes| {
                let lane = |lane: u8, size: u64| (0..size).map(move |index| (lane, index));
                let all: Vec<_> = lane(0, sizes.0).chain(lane(1, sizes.1)).collect();
                (Just(sizes), Just(all).prop_shuffle())
            }),
            length in 1..20_usize,
            parts in 1..5_usize,
        ) {
            let mut partitions = vec![Vec::new(); parts];
            for (at, records) in order.chunks(length).enumerate() {
                partitions[at % parts].push(batch(records));
            }
            let query = "SELECT tree_root(tree(record)) FROM records GROUP BY lane ORDER BY lane";
            prop_assert_eq!(roots(partitions.clone(), query), vec![folded(0, sizes.0), folded(1, sizes.1)]);
            let query = "SELECT tree_root(tree(record)) FROM records WHERE lane = 1";
            prop_assert_eq!(roots(partitions.clone(), query), vec![folded(1, sizes.1)]);
            // Both lanes together have index 0 twice.
            prop_assert_eq!(roots(partitions, "SELECT tree_root(tree(record)) FROM records"), vec![None]);
        }
    }

    #[test]
    fn filters_and_gaps() {
        let all = batch(&[(0, 0), (0, 1), (0, 2), (1, 0)]);
        let root = |query: &str| roots(vec![vec![all.clone()]], query);
        let query = "SELECT tree_root(tree(record) FILTER (WHERE lane = 0)) FROM records GROUP BY lane ORDER BY lane";
        assert_eq!(root(query), [folded(0, 3), folded(0, 0)]);
        assert_eq!(root("SELECT tree_root(tree(record)) FROM records WHERE lane = 2"), [folded(0, 0)]);
        assert_eq!(root("SELECT tree_root(tree(record)) FROM records WHERE lane > 0"), [folded(1, 1)]);
        let gap = vec![vec![batch(&[(0, 0), (0, 2)])]];
        assert_eq!(roots(gap, "SELECT tree_root(tree(record)) FROM records"), [None]);
        let size = "SELECT CAST(tree_size(tree(record)) AS VARCHAR) FROM records WHERE lane = 0";
        assert_eq!(root(size), [Some("3".to_owned())]);
    }
}
