//! The SQL engine over the tables: this process with all its cores, or a cluster.

#[cfg(feature = "cluster")]
use crate::cluster::ClusterClient;
use crate::error::FleetError;
use crate::functions::{Aggregate, Definition};
use crate::rows;
use crate::tables::FleetTableStore;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use futures::future::LocalBoxFuture;
#[cfg(feature = "cluster")]
use futures::stream;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use portcullis_fleet_core::AuditAnswer;
use std::sync::Arc;

/// Views that decode the statements from their bytes.
const VIEWS: [&str; 3] = [
    include_str!("sql/view-tickets.sql"),
    include_str!("sql/view-checkpoints.sql"),
    include_str!("sql/view-notes.sql"),
];

/// Units of one job of a cluster.
#[cfg(feature = "cluster")]
const JOB_UNITS: usize = 16;

/// Where queries run.
#[derive(Clone, Debug, Default)]
pub enum QueryPlace {
    /// In this process.
    #[default]
    Here,
    #[cfg(feature = "cluster")]
    Cluster(ClusterClient),
}

/// The engine with the tables `records`, `bundles`, `tickets`, `checkpoints` and `notes`.
pub struct SqlEngine {
    context: SessionContext,
    place: QueryPlace,
}

impl SqlEngine {
    /// The engine of this process over these tables, with `jobs` threads' worth of partitions. Errors:
    /// [`FleetError::SqlEngine`].
    pub fn new(tables: &FleetTableStore, jobs: usize) -> LocalBoxFuture<'_, Result<Self, FleetError>> {
        Self::at(&QueryPlace::Here, tables, jobs)
    }

    /// The engine at a place over these tables, with `jobs` threads' worth of partitions. Errors:
    /// [`FleetError::SqlEngine`], and for a cluster the errors of its scheduler.
    pub fn at<'a>(
        place: &'a QueryPlace,
        tables: &'a FleetTableStore,
        jobs: usize,
    ) -> LocalBoxFuture<'a, Result<Self, FleetError>> {
        Box::pin(Self::open(place, tables, jobs))
    }

    async fn open(place: &QueryPlace, tables: &FleetTableStore, jobs: usize) -> Result<Self, FleetError> {
        let mut config = SessionConfig::new().with_target_partitions(jobs.max(1)).with_information_schema(true);
        let options = config.options_mut();
        // Columns keep the types with which they were written.
        options.execution.parquet.schema_force_view_types = false;
        options.sql_parser.map_string_types_to_utf8view = false;
        let context = match place {
            QueryPlace::Here => SessionContext::new_with_config(config),
            #[cfg(feature = "cluster")]
            QueryPlace::Cluster(cluster) => cluster.context(config).await?,
        };
        context.register_object_store(tables.url(), tables.store());
        let engine = Self { context, place: place.clone() };
        engine.listing(tables, "records", "records", rows::records(), rows::partitions())?;
        engine.listing(tables, "bundles", "bundles", rows::bundles(), Vec::new())?;
        engine.listing(tables, "checkpoint_files", "checkpoints", rows::checkpoints(), Vec::new())?;
        engine.listing(tables, "note_files", "notes", rows::statements(), Vec::new())?;
        engine.listing(tables, "ticket_files", "tickets", rows::statements(), Vec::new())?;
        for definition in Definition::PLAIN {
            engine.context.register_udf(definition.function());
        }
        engine.context.register_udaf(Aggregate::Tree.function());
        for view in VIEWS {
            engine.run(view).await?;
        }
        Ok(engine)
    }

    pub(crate) const fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Whether queries run in this process.
    pub(crate) const fn is_here(&self) -> bool {
        matches!(self.place, QueryPlace::Here)
    }

    /// Units of one job, if there are this many and `jobs` jobs run at one time. In this process, each unit is finished
    /// as soon as it is done. The results of a cluster are there when the job is done, so a job has a few units: an
    /// audit that is interrupted repeats only the jobs that ran.
    pub(crate) fn job_units(&self, units: usize, jobs: usize) -> usize {
        match self.place {
            QueryPlace::Here => units.max(1),
            #[cfg(feature = "cluster")]
            QueryPlace::Cluster(_) => units.div_ceil(jobs.saturating_mul(4).max(1)).clamp(1, JOB_UNITS),
        }
    }

    /// Parts of one job that run at one time, if this engine has this many threads. The jobs of a cluster run beside
    /// each other.
    pub(crate) const fn partitions(&self, threads: usize) -> usize {
        match self.place {
            QueryPlace::Here => threads,
            #[cfg(feature = "cluster")]
            QueryPlace::Cluster(_) => 1,
        }
    }

    /// How many small queries should run at one time. A query of this process uses all threads already; one on a
    /// cluster waits for its stages most of the time.
    pub(crate) const fn small_queries(&self) -> usize {
        match self.place {
            QueryPlace::Here => 1,
            #[cfg(feature = "cluster")]
            QueryPlace::Cluster(_) => 8,
        }
    }

    fn listing(
        &self,
        tables: &FleetTableStore,
        name: &str,
        folder: &str,
        schema: SchemaRef,
        partitions: Vec<(String, DataType)>,
    ) -> Result<(), FleetError> {
        let url = ListingTableUrl::parse(format!("{}{folder}/", tables.url()))?;
        let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
            .with_file_extension(".parquet")
            .with_table_partition_cols(partitions);
        let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
        self.context.register_table(name, Arc::new(ListingTable::try_new(config)?))?;
        Ok(())
    }

    /// Registers rows in memory; each batch of `batches` can run on its own thread.
    pub(crate) fn register(
        &self,
        name: &str,
        schema: SchemaRef,
        batches: Vec<Vec<RecordBatch>>,
    ) -> Result<(), FleetError> {
        self.context.register_table(name, Arc::new(MemTable::try_new(schema, batches)?))?;
        Ok(())
    }

    /// Registers the sessions and findings of an audit as the tables `sessions` and `findings`. Errors:
    /// [`FleetError::SqlEngine`].
    pub fn add_answer(&self, answer: &AuditAnswer) -> Result<(), FleetError> {
        let sessions = rows::session_rows(&answer.sessions)?;
        self.register("sessions", sessions.schema(), vec![vec![sessions]])?;
        let findings = rows::finding_rows(&answer.findings)?;
        self.register("findings", findings.schema(), vec![vec![findings]])
    }

    /// Runs a query of this program.
    pub(crate) async fn run(&self, query: &str) -> Result<Vec<RecordBatch>, FleetError> {
        self.collect(self.context.sql(query).await?).await
    }

    /// Runs a query where this engine runs queries.
    pub(crate) async fn collect(&self, query: DataFrame) -> Result<Vec<RecordBatch>, FleetError> {
        match &self.place {
            QueryPlace::Here => Ok(query.collect().await?),
            #[cfg(feature = "cluster")]
            QueryPlace::Cluster(cluster) => cluster.collect(query).await,
        }
    }

    /// Runs a query where this engine runs queries, and gives its rows as they come.
    pub(crate) async fn stream(
        &self,
        query: DataFrame,
    ) -> Result<BoxStream<'static, Result<RecordBatch, FleetError>>, FleetError> {
        match &self.place {
            QueryPlace::Here => Ok(query.execute_stream().await?.map_err(FleetError::from).boxed()),
            #[cfg(feature = "cluster")]
            QueryPlace::Cluster(cluster) => Ok(stream::iter(cluster.collect(query).await?.into_iter().map(Ok)).boxed()),
        }
    }

    /// Runs a query of a user: one statement that only reads. Errors: [`FleetError::SqlEngine`].
    pub fn query<'a>(&'a self, query: &'a str) -> LocalBoxFuture<'a, Result<Vec<RecordBatch>, FleetError>> {
        Box::pin(self.reading(query))
    }

    async fn reading(&self, query: &str) -> Result<Vec<RecordBatch>, FleetError> {
        let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        self.collect(self.context.sql_with_options(query, options).await?).await
    }
}

/// Rows as a table of text. Errors: [`FleetError::Arrow`].
pub fn rows_as_text(batches: &[RecordBatch]) -> Result<String, FleetError> {
    Ok(pretty_format_batches(batches)?.to_string())
}

/// Rows as JSON, one object per line. Bytes are in hexadecimal. Errors: [`FleetError::Arrow`].
pub fn rows_as_json(batches: &[RecordBatch]) -> Result<String, FleetError> {
    let mut out = Vec::new();
    let mut writer = LineDelimitedWriter::new(&mut out);
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    writer.finish()?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
