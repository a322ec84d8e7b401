//! Functions that run one unit of work per row: `verify_bundle` and `replay_bundle`.

use super::{Function, arrays, at, text};
use crate::units::{Task, Unit};
use datafusion::arrow::array::{Array, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility};
use std::sync::Arc;
use tokio::task::block_in_place;

/// Does the work of one row, given as JSON, and returns its result as JSON. Errors end the query.
pub(crate) type Worker = Arc<dyn Fn(&str) -> std::result::Result<String, crate::Error> + Send + Sync>;

/// A function over one column of JSON, for runtimes with several threads. The engine gives each batch to one of its
/// threads; a batch of one row is one unit. Only this process can run it.
pub(crate) fn unit_function(name: &str, worker: Worker) -> ScalarUDF {
    Function::here(name, move |args| over_units(args, &*worker))
}

/// The function of a task that any process of a cluster can run. It keeps no results and reports no progress: whoever
/// asks does that, with the replies.
pub(super) fn remote_function<T: Task>(task: &T) -> ScalarUDF {
    let (definition, task) = (task.definition(), task.clone());
    let worker = move |unit: &str| Ok(serde_json::to_string(&task.run(&serde_json::from_str::<Unit>(unit)?))?);
    let run = move |args: &[ColumnarValue]| over_units(args, &worker);
    Function::of(definition, vec![DataType::Utf8], DataType::Utf8, Volatility::Volatile, run)
}

fn over_units(
    args: &[ColumnarValue],
    worker: &dyn Fn(&str) -> std::result::Result<String, crate::Error>,
) -> Result<ColumnarValue> {
    let args = arrays(args)?;
    let units = text(&args, 0)?;
    let mut results = Vec::with_capacity(units.len());
    for row in 0..units.len() {
        let Some(unit) = at(units, row) else { return exec_err!("a unit of work is null") };
        // A unit is long. The thread's other tasks, which wait for their turn, go to another thread.
        let result = block_in_place(|| worker(unit));
        results.push(result.map_err(|error| DataFusionError::External(Box::new(error)))?);
    }
    Ok(ColumnarValue::Array(Arc::new(StringArray::from(results))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::ArrayRef;
    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::arrow::record_batch::RecordBatch;
    use datafusion::datasource::MemTable;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Each unit waits until both have begun, so one thread for both would never finish in time.
    #[test]
    fn units_run_at_the_same_time() {
        for _ in 0..50 {
            let begun = Arc::new((Mutex::new(0), Condvar::new()));
            let worker: Worker = Arc::new(move |_| {
                let (count, changed) = &*begun;
                let mut count = count.lock().unwrap();
                *count += 1;
                changed.notify_all();
                let (count, _) = changed.wait_timeout_while(count, PATIENCE, |count| *count < 2).unwrap();
                Ok(if *count < 2 { "alone" } else { "together" }.to_owned())
            });
            let schema = Arc::new(Schema::new(vec![Field::new("unit", DataType::Utf8, false)]));
            let unit = |name: &str| {
                let column: ArrayRef = Arc::new(StringArray::from(vec![name]));
                vec![RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap()]
            };
            let table = MemTable::try_new(Arc::clone(&schema), vec![unit("a"), unit("b")]).unwrap();
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
            runtime.block_on(async {
                let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
                context.register_udf(unit_function("work", worker));
                context.register_table("units", Arc::new(table)).unwrap();
                let rows = context.sql("SELECT work(unit) FROM units").await.unwrap().collect().await.unwrap();
                for batch in rows {
                    let done = text(batch.columns(), 0).unwrap();
                    assert!(done.iter().all(|done| done == Some("together")), "{done:?}");
                }
            });
        }
    }
}
