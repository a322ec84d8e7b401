//! The SQL functions: adapters from columns to the functions over evidence.

mod decode;
mod definition;
mod judge;
mod tree;
mod work;

pub(crate) use decode::parse_note;
pub(crate) use definition::{Aggregate, Definition, Function};

use datafusion::arrow::array::{ArrayRef, BinaryArray, FixedSizeBinaryArray, StringArray};
use datafusion::common::cast::{as_binary_array, as_fixed_size_binary_array, as_string_array};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;

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
