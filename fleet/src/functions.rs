//! The SQL functions: adapters from columns to the functions over evidence.

mod decode;
mod definition;
mod judge;
mod tree;
mod work;

pub(crate) use decode::parse_note;
pub(crate) use definition::{Aggregate, AuditFunction, Definition};

use datafusion::arrow::array::{ArrayRef, BinaryArray, FixedSizeBinaryArray, StringArray};
use datafusion::common::cast::{as_binary_array, as_fixed_size_binary_array, as_string_array};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{AggregateUDF, ColumnarValue, ScalarUDF};
use judge::Judge;

impl Definition {
    pub(crate) fn function(&self) -> ScalarUDF {
        match self {
            Self::TreeRoot => tree::tree_root(),
            Self::TreeSize => tree::tree_size(),
            Self::ColumnsHold => decode::columns_hold(),
            Self::DecodeTicket => decode::decode_ticket(),
            Self::DecodeCheckpoint => decode::decode_checkpoint(),
            Self::DecodeNote => decode::decode_note(),
            Self::CheckpointSigned(trust) => decode::checkpoint_signed(trust),
            Self::VerifyBundle(task) => work::unit_function(task),
            Self::ReplayBundle(task) => work::unit_function(task),
        }
    }
}

impl Aggregate {
    /// What this function is; `None` for one of the engine.
    #[cfg(feature = "cluster")]
    pub(crate) fn of(function: &AggregateUDF) -> Option<Self> {
        let of_judge = function.inner().downcast_ref::<Judge>().map(Judge::aggregate);
        of_judge.or_else(|| function.inner().downcast_ref::<tree::TreeAggregate>().map(|_| Self::Tree))
    }

    pub(crate) fn function(self) -> AggregateUDF {
        match self {
            Self::Tree => tree::tree(),
            Self::JudgeCards(_) | Self::JudgeTickets => AggregateUDF::from(Judge::new(self)),
        }
    }
}

/// The arguments as arrays of equal length.
fn arrays(args: &[ColumnarValue]) -> Result<Vec<ArrayRef>> {
    ColumnarValue::values_to_arrays(args)
}

fn argument(args: &[ArrayRef], at: usize) -> Result<&ArrayRef> {
    match args.get(at) {
        Some(array) => Ok(array),
        None => exec_err!("a function of the audit got too few arguments"),
    }
}

fn binary(args: &[ArrayRef], at: usize) -> Result<&BinaryArray> {
    as_binary_array(argument(args, at)?)
}

fn fixed(args: &[ArrayRef], at: usize) -> Result<&FixedSizeBinaryArray> {
    as_fixed_size_binary_array(argument(args, at)?)
}

fn text(args: &[ArrayRef], at: usize) -> Result<&StringArray> {
    as_string_array(argument(args, at)?)
}

/// The value in a row; `None` for null.
fn at<'a, A: datafusion::arrow::array::ArrayAccessor<Item = &'a T>, T: ?Sized + 'a>(
    array: A,
    row: usize,
) -> Option<&'a T> {
    (row < array.len() && array.is_valid(row)).then(|| array.value(row))
}
