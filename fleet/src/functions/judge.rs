//! `judge_cards(fact)` and `judge_tickets(fact)`: the findings of the judge over the facts of a group, as aggregates.
//!
//! The state of a group is its facts. The judge puts them into one order, so neither place nor order of the work can
//! change a finding.

use super::Aggregate;
use crate::columns::{self, FindingRow};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{DataFusionError, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use portcullis_evidence::verify::judge::{ChainFact, ChainFacts, ChainJudge};
use portcullis_fleet_core::AuditFinding;
use std::mem::size_of_val;
use std::sync::Arc;

/// The aggregate of a judge.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Judge {
    aggregate: Aggregate,
    signature: Signature,
}

impl Judge {
    pub(super) fn new(aggregate: Aggregate) -> Self {
        let facts = DataType::Struct(columns::chain_facts());
        Self { aggregate, signature: Signature::exact(vec![facts], Volatility::Immutable) }
    }

    pub(super) const fn aggregate(&self) -> Aggregate {
        self.aggregate
    }
}

impl AggregateUDFImpl for Judge {
    fn name(&self) -> &str {
        self.aggregate.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(item(columns::findings())))
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(GroupFacts { aggregate: self.aggregate, facts: Vec::new() }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let facts = DataType::List(item(columns::chain_facts()));
        Ok(vec![Arc::new(Field::new(format!("{}[facts]", args.name), facts, true))])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

fn item(fields: Fields) -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Struct(fields), true))
}

/// Structs as one list.
fn list(structs: StructArray) -> Result<ScalarValue> {
    let (field, length) = (item(structs.fields().clone()), structs.len());
    let list = ListArray::try_new(field, OffsetBuffer::from_lengths([length]), Arc::new(structs), None)?;
    Ok(ScalarValue::List(Arc::new(list)))
}

/// The facts of a group, as columns.
#[derive(Debug)]
struct GroupFacts {
    aggregate: Aggregate,
    facts: Vec<ArrayRef>,
}

impl Accumulator for GroupFacts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.facts.push(Arc::clone(super::argument(values, 0)?));
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states = super::argument(states, 0)?;
        let Some(lists) = states.as_list_opt::<i32>() else { return exec_err!("a state of a judge is not a list") };
        self.facts.extend(lists.iter().flatten());
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let none: ArrayRef = Arc::new(StructArray::new_null(columns::chain_facts(), 0));
        let parts: Vec<&dyn Array> = self.facts.iter().chain([&none]).map(AsRef::as_ref).collect();
        Ok(vec![list(concat(&parts)?.as_struct().clone())?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut facts = Vec::new();
        for part in &self.facts {
            let Some(part) = part.as_struct_opt() else { return exec_err!("the facts of a judge are not structs") };
            facts.extend(columns::values::<ChainFact>(part).map_err(external)?);
        }
        let facts: ChainFacts = facts.into_iter().collect();
        let found = match self.aggregate {
            Aggregate::JudgeCards(judge) => judge.of_cards(facts),
            _ => ChainJudge::of_tickets(facts),
        };
        let found: Vec<FindingRow> = found.iter().flat_map(AuditFinding::of_chain).map(FindingRow::from).collect();
        list(columns::structs(&columns::findings(), &found).map_err(external)?)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.facts.iter().map(|facts| facts.get_array_memory_size()).sum::<usize>()
    }
}

fn external(error: crate::FleetError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
