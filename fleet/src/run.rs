//! Runs a task over all units: on the threads of this process, or on a cluster, by the same plan. The results of
//! finished units are kept here, wherever the work is done, so that an interrupted audit goes on where it was.

use crate::columns;
use crate::engine::SqlEngine;
use crate::error::FleetError;
use crate::functions::Definition;
use crate::options::AuditOptions;
use crate::units::{AuditTask, AuditUnit, Reply, ReplyRow};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::DataFusionError;
use datafusion::common::cast::as_uint64_array;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{ScalarUDF, col};
use datafusion::prelude::DataFrame;
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// What the results of one task depend on, and where they go.
struct Book<T: AuditTask> {
    task: T,
    options: AuditOptions,
    identity: Vec<u8>,
    /// Whether the work is done in this process.
    is_here: bool,
}

/// Runs a task over all units. Results are in the order of the units.
pub(crate) async fn run<T: AuditTask>(
    engine: &SqlEngine,
    options: &AuditOptions,
    identity: &[u8],
    task: &T,
    units: &[AuditUnit],
) -> Result<Vec<T::Outcome>, FleetError>
where
    Definition: From<T>,
{
    let (task, is_here) = (task.clone(), engine.is_here());
    let function = Definition::from(task.clone()).function();
    let book = Arc::new(Book { task, options: options.clone(), identity: identity.to_vec(), is_here });
    let units: Vec<(u64, AuditUnit)> = (0..).zip(units.iter().map(|unit| book.prepared(unit))).collect();
    let jobs = options.jobs.max(1);
    let job = engine.job_units(units.len(), jobs);
    let work = units.chunks(job).map(|job| run_job(engine, &book, &function, job));
    let done: Vec<_> = stream::iter(work).buffered(jobs).try_collect().await?;
    let mut outcomes: BTreeMap<u64, T::Outcome> = done.into_iter().flatten().collect();
    let outcome = |(number, _): &(u64, AuditUnit)| outcomes.remove(number).ok_or(FleetError::Column("reply"));
    units.iter().map(outcome).collect()
}

/// Runs one job. Each unit is finished as soon as its reply is there.
async fn run_job<T: AuditTask>(
    engine: &SqlEngine,
    book: &Arc<Book<T>>,
    function: &ScalarUDF,
    job: &[(u64, AuditUnit)],
) -> Result<Vec<(u64, T::Outcome)>, FleetError> {
    let units: BTreeMap<u64, &AuditUnit> = job.iter().map(|(number, unit)| (*number, unit)).collect();
    let replies = engine.stream(asked(engine, function, job, book.options.jobs)?).await?;
    let replies = replies.and_then(|batch| async move { Ok(stream::iter(rows(&batch)?.into_iter().map(Ok))) });
    let finished = replies.try_flatten().map_ok(|(number, reply)| {
        let (book, unit) = (Arc::clone(book), units.get(&number).copied().cloned());
        async move {
            let unit = unit.ok_or(FleetError::Column("number"))?;
            let done = spawn_blocking(move || book.receive(&unit, &reply)).await;
            Ok((number, done.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??))
        }
    });
    finished.try_buffer_unordered(book.options.jobs.max(1)).try_collect().await
}

/// The numbers of units, and the replies to them.
fn rows(batch: &RecordBatch) -> Result<Vec<(u64, ReplyRow)>, FleetError> {
    let column = |name: &'static str| batch.column_by_name(name).ok_or(FleetError::Column(name));
    let replies = columns::values(column("reply")?.as_struct_opt().ok_or(FleetError::Column("reply"))?)?;
    Ok(as_uint64_array(column("number")?)?.values().iter().copied().zip(replies).collect())
}

/// The query of a job: the number of each unit, and the reply. One row per batch and one partition per thread, so that
/// a long unit does not hold others back.
fn asked(
    engine: &SqlEngine,
    function: &ScalarUDF,
    job: &[(u64, AuditUnit)],
    threads: usize,
) -> Result<DataFrame, FleetError> {
    let unit = DataType::Struct(columns::units());
    let fields = vec![Field::new("number", DataType::UInt64, false), Field::new("unit", unit, false)];
    let schema = Arc::new(Schema::new(fields));
    let mut partitions = vec![Vec::new(); engine.partitions(threads).min(job.len()).max(1)];
    let count = partitions.len();
    for (at, (number, unit)) in job.iter().enumerate() {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(vec![*number])),
            Arc::new(columns::structs(&columns::units(), std::slice::from_ref(unit))?),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
        if let Some(partition) = partitions.get_mut(at % count) {
            partition.push(batch);
        }
    }
    let units = engine.context().read_table(Arc::new(MemTable::try_new(schema, partitions)?))?;
    Ok(units.select(vec![col("number"), function.call(vec![col("unit")]).alias("reply")])?)
}

impl<T: AuditTask> Book<T> {
    /// The unit, marked if there is a result for it.
    fn prepared(&self, unit: &AuditUnit) -> AuditUnit {
        AuditUnit { kept: self.kept(unit).is_some(), ..unit.clone() }
    }

    fn kept(&self, unit: &AuditUnit) -> Option<T::Outcome> {
        self.options.work.get(&self.task.key(&self.identity, unit))
    }

    /// Finishes a unit with the reply to it. Errors: as [`Book::finish`], and an executor could not read what this
    /// process can read.
    fn receive(&self, unit: &AuditUnit, reply: &ReplyRow) -> Result<T::Outcome, FleetError> {
        let reply = reply.reply()?;
        // What an executor could not read is read here: a fault of the evidence shows here too.
        if !reply.keep && !self.is_here && self.task.run(unit) != reply {
            return Err(FleetError::NotShared(unit.uri.clone()));
        }
        self.finish(unit, reply)
    }

    /// Keeps the result of a unit, and reports the step. Errors: the result cannot be kept, or the audit was stopped.
    fn finish(&self, unit: &AuditUnit, reply: Reply<T::Outcome>) -> Result<T::Outcome, FleetError> {
        let Some(outcome) = reply.outcome else {
            // If the file of the result went away in the meantime, the work is done after all.
            let Some(kept) = self.kept(unit) else {
                let unit = AuditUnit { kept: false, ..unit.clone() };
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
    fn report(&self, kept: bool, outcome: &T::Outcome) -> Result<(), FleetError> {
        (0..T::bundles(outcome)).try_for_each(|_| (self.options.progress)(T::step(kept)))
    }
}
