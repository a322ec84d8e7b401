//! Runs a task over all units: on the threads of this process, or on a cluster. The results of finished units are kept
//! here, wherever the work is done, so that an interrupted audit goes on where it was.

use crate::engine::Engine;
use crate::error::Error;
use crate::functions::{Worker, unit_function};
use crate::options::AuditOptions;
use crate::units::{Reply, Task, Unit};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::DataFusionError;
use datafusion::common::cast::as_string_array;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{ScalarUDF, col};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the results of one task depend on, and where they go.
struct Book<T: Task> {
    task: T,
    options: AuditOptions,
    identity: Vec<u8>,
}

/// Runs a task over all units. Results are in the order of the units.
pub(crate) async fn run<T: Task>(
    engine: &Engine,
    options: &AuditOptions,
    identity: &[u8],
    task: &T,
    units: &[Unit],
) -> Result<Vec<T::Outcome>, Error> {
    if units.is_empty() {
        return Ok(Vec::new());
    }
    let book = Arc::new(Book { task: task.clone(), options: options.clone(), identity: identity.to_vec() });
    let units: Vec<Unit> = units.iter().map(|unit| book.prepared(unit)).collect();
    #[cfg(feature = "cluster")]
    if engine.cluster().is_some() {
        return on_cluster(engine, &book, &units).await;
    }
    // One row per batch and many partitions, so that a long unit does not hold others back.
    let jobs = options.jobs.max(1);
    let mut partitions = vec![Vec::new(); jobs.min(units.len())];
    for (at, unit) in units.iter().enumerate() {
        if let Some(partition) = partitions.get_mut(at % jobs) {
            partition.push(std::slice::from_ref(unit));
        }
    }
    let worker: Worker = {
        let book = Arc::clone(&book);
        Arc::new(move |unit| {
            let unit: Unit = serde_json::from_str(unit)?;
            let reply = book.task.run(&unit);
            Ok(serde_json::to_string(&book.finish(&unit, reply)?)?)
        })
    };
    let mut results = call(engine, &unit_function(T::NAME, worker), partitions).await.map_err(stopped)?;
    let result = |unit| {
        let text = results.remove(&serde_json::to_string(unit)?).ok_or(Error::Column("result"))?;
        Ok(serde_json::from_str(&text)?)
    };
    units.iter().map(result).collect()
}

/// Calls a function with each unit, as JSON. Returns the results by the unit's JSON.
async fn call(
    engine: &Engine,
    function: &ScalarUDF,
    partitions: Vec<Vec<&[Unit]>>,
) -> Result<BTreeMap<String, String>, Error> {
    let schema = Arc::new(Schema::new(vec![Field::new("unit", DataType::Utf8, false)]));
    let batch = |units: &[Unit]| {
        let texts: Vec<String> = units.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        let column: ArrayRef = Arc::new(StringArray::from(texts));
        Ok::<_, Error>(RecordBatch::try_new(Arc::clone(&schema), vec![column])?)
    };
    let partition = |batches: Vec<&[Unit]>| batches.into_iter().map(batch).collect::<Result<Vec<_>, _>>();
    let partitions = partitions.into_iter().map(partition).collect::<Result<Vec<_>, _>>()?;
    let table = MemTable::try_new(Arc::clone(&schema), partitions)?;
    let units = engine.context().read_table(Arc::new(table))?;
    let asked = units.select(vec![col("unit"), function.call(vec![col("unit")]).alias("result")])?;
    let mut results = BTreeMap::new();
    for batch in engine.collect(asked).await? {
        let column = |name: &'static str| batch.column_by_name(name).ok_or(Error::Column(name));
        let (units, done) = (as_string_array(column("unit")?)?, as_string_array(column("result")?)?);
        for row in 0..batch.num_rows() {
            results.insert(units.value(row).to_owned(), done.value(row).to_owned());
        }
    }
    Ok(results)
}

/// Finds the error of this program in an error of the engine.
fn stopped(error: Error) -> Error {
    let Error::Engine(engine) = error else { return error };
    let stopped = matches!(
        engine.find_root(),
        DataFusionError::External(inner) if matches!(inner.downcast_ref(), Some(Error::Stopped))
    );
    if stopped { Error::Stopped } else { Error::Engine(engine) }
}

impl<T: Task> Book<T> {
    /// The unit, marked if there is a result for it.
    fn prepared(&self, unit: &Unit) -> Unit {
        Unit { kept: self.kept(unit).is_some(), ..unit.clone() }
    }

    fn kept(&self, unit: &Unit) -> Option<T::Outcome> {
        self.options.work.get(&self.task.key(&self.identity, unit))
    }

    /// Keeps the result of a unit, and reports the step. Errors: the result cannot be kept, or the audit was stopped.
    fn finish(&self, unit: &Unit, reply: Reply<T::Outcome>) -> Result<T::Outcome, Error> {
        let Some(outcome) = reply.outcome else {
            // If the file of the result went away in the meantime, the work is done after all.
            let Some(kept) = self.kept(unit) else {
                let unit = Unit { kept: false, ..unit.clone() };
                let reply = self.task.run(&unit);
                return self.finish(&unit, reply);
            };
            self.report(true, &kept)?;
            return Ok(kept);
        };
        if reply.keep {
            self.options.work.put(&self.task.key(&self.identity, unit), &outcome)?;
        }
        self.report(false, &outcome)?;
        Ok(outcome)
    }

    /// Reports the step of each bundle of a unit.
    fn report(&self, kept: bool, outcome: &T::Outcome) -> Result<(), Error> {
        (0..T::bundles(outcome)).try_for_each(|_| (self.options.progress)(T::step(kept)))
    }
}

/// Runs a task on a cluster. A few units are one job, so that an interrupted audit repeats only the jobs that ran.
#[cfg(feature = "cluster")]
async fn on_cluster<T: Task>(engine: &Engine, book: &Arc<Book<T>>, units: &[Unit]) -> Result<Vec<T::Outcome>, Error> {
    use futures::{StreamExt, TryStreamExt};
    let jobs = book.options.jobs.max(1);
    let function = book.task.definition().function();
    let work = units.chunks(units.len().div_ceil(jobs * 4).clamp(1, JOB_UNITS)).map(|chunk| {
        let function = &function;
        async move {
            let mut replies = call(engine, function, vec![vec![chunk]]).await?;
            let mut outcomes = Vec::with_capacity(chunk.len());
            for unit in chunk {
                let text = replies.remove(&serde_json::to_string(unit)?).ok_or(Error::Column("result"))?;
                let reply: Reply<T::Outcome> = serde_json::from_str(&text)?;
                // What an executor could not read is read here: a fault of the evidence shows here too.
                if !reply.keep && tokio::task::block_in_place(|| book.task.run(unit)) != reply {
                    return Err(Error::NotShared(unit.uri.clone()));
                }
                outcomes.push(tokio::task::block_in_place(|| book.finish(unit, reply))?);
            }
            Ok(outcomes)
        }
    });
    let done: Vec<Vec<T::Outcome>> = futures::stream::iter(work).buffered(jobs).try_collect().await?;
    Ok(done.into_iter().flatten().collect())
}

/// Units of one job of a cluster.
#[cfg(feature = "cluster")]
const JOB_UNITS: usize = 16;
