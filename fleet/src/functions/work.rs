//! Functions that run one unit of work per row: `verify_bundle` and `replay_bundle`.

use super::{AuditFunction, Definition, argument, arrays};
use crate::columns;
use crate::units::{AuditTask, AuditUnit, ReplyRow};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility};
use std::sync::Arc;
use tokio::task::block_in_place;

/// The function of a task, for runtimes with several threads, in any process. It keeps no results and reports no
/// progress: whoever asks does that, with the replies. The engine gives each batch to one of its threads.
pub(super) fn unit_function<T: AuditTask>(task: &T) -> ScalarUDF
where
    Definition: From<T>,
{
    let (definition, task) = (Definition::from(task.clone()), task.clone());
    over_units(definition, move |unit| ReplyRow::new(&task.run(unit)))
}

fn over_units(
    definition: Definition,
    worker: impl Fn(&AuditUnit) -> std::result::Result<ReplyRow, crate::FleetError> + Send + Sync + 'static,
) -> ScalarUDF {
    let external = |error: crate::FleetError| DataFusionError::External(Box::new(error));
    let run = move |args: &[ColumnarValue]| {
        let args = arrays(args)?;
        let Some(units) = argument(&args, 0)?.as_struct_opt() else {
            return exec_err!("a unit of work is not a struct");
        };
        // A unit is long. The thread's other tasks, which wait for their turn, go to another thread.
        let units = columns::values::<AuditUnit>(units).map_err(external)?;
        let replies = units.iter().map(|unit| block_in_place(|| worker(unit)).map_err(external));
        let replies = columns::structs(&columns::replies(), &replies.collect::<Result<Vec<_>>>()?).map_err(external)?;
        Ok(ColumnarValue::Array(Arc::new(replies)))
    };
    let (units, replies) = (DataType::Struct(columns::units()), DataType::Struct(columns::replies()));
    AuditFunction::of(definition, vec![units], replies, Volatility::Volatile, run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, RecordBatch};
    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::datasource::MemTable;
    use datafusion::logical_expr::col;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Each unit waits until both have begun, so one thread for both would never finish in time.
    #[test]
    fn units_run_at_the_same_time() {
        for _ in 0..50 {
            let begun = Arc::new((Mutex::new(0), Condvar::new()));
            let worker = move |_: &AuditUnit| {
                let (count, changed) = &*begun;
                let mut count = count.lock().unwrap();
                *count += 1;
                changed.notify_all();
                let (count, _) = changed.wait_timeout_while(count, PATIENCE, |count| *count < 2).unwrap();
                Ok(ReplyRow { keep: *count >= 2, outcome: None })
            };
            let schema = Arc::new(Schema::new(vec![Field::new("unit", DataType::Struct(columns::units()), false)]));
            let unit = |name: &str| {
                let unit = AuditUnit { bundle: name.to_owned(), ..AuditUnit::default() };
                let column: ArrayRef = Arc::new(columns::structs(&columns::units(), &[unit]).unwrap());
                vec![RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap()]
            };
            let table = MemTable::try_new(Arc::clone(&schema), vec![unit("a"), unit("b")]).unwrap();
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
            runtime.block_on(async {
                let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
                let function = over_units(Definition::TreeRoot, worker);
                let units = context.read_table(Arc::new(table)).unwrap();
                let done = units.select(vec![function.call(vec![col("unit")])]).unwrap().collect().await.unwrap();
                let replies =
                    done.iter().flat_map(|batch| columns::values::<ReplyRow>(batch.column(0).as_struct()).unwrap());
                assert!(replies.map(|reply| reply.keep).eq([true, true]));
            });
        }
    }
}
