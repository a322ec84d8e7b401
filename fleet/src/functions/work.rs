//! Functions that run one unit of work per row: `verify_bundle` and `replay_bundle`.

use super::{arrays, at, text};
use datafusion::arrow::array::{Array, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use std::sync::Arc;

/// Does the work of one row, given as JSON, and returns its result as JSON. Errors end the query.
pub(crate) type Worker = Arc<dyn Fn(&str) -> std::result::Result<String, crate::Error> + Send + Sync>;

/// A function over one column of JSON. The engine gives each row to one of its threads, with the other rows of its
/// batch; a batch of one row is one unit.
pub(crate) fn unit_function(name: &str, worker: Worker) -> ScalarUDF {
    let run = move |args: &[ColumnarValue]| -> Result<ColumnarValue> {
        let args = arrays(args)?;
        let units = text(&args, 0)?;
        let mut results = Vec::with_capacity(units.len());
        for row in 0..units.len() {
            let Some(unit) = at(units, row) else { return exec_err!("a unit of work is null") };
            results.push(worker(unit).map_err(|error| DataFusionError::External(Box::new(error)))?);
        }
        Ok(ColumnarValue::Array(Arc::new(StringArray::from(results))))
    };
    create_udf(name, vec![DataType::Utf8], DataType::Utf8, Volatility::Volatile, Arc::new(run))
}
