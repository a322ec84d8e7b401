//! The commands and options of a cluster. A program that was built without it has them too, and says how to build it.

use clap::Args;
use portcullis_fleet::QueryPlace;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The option for addresses outside the loopback interface.
#[derive(Debug, Args)]
struct NetworkArgs {
    /// Use an address that is not of the loopback interface. A cluster has no authentication and no encryption:
    /// whoever reaches a port can run queries, read files and use buckets with the rights of the processes, and change
    /// answers
    #[arg(long)]
    allow_network: bool,
}

/// Where `audit` and `sql` run.
#[derive(Debug, Args)]
pub(super) struct PlaceArgs {
    /// Run on the cluster of this scheduler, and not in this process: http://HOST:PORT
    #[arg(long, value_name = "URL")]
    cluster: Option<String>,
    /// Seconds to wait for the cluster's first executor
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(0..=3600))]
    cluster_wait: u16,
    #[command(flatten)]
    network: NetworkArgs,
}

#[derive(Debug, Args)]
pub(super) struct SchedulerArgs {
    /// Where to listen; with port 0, at a free port, which is printed
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    bind: SocketAddr,
    /// Give the work of an executor to others after this many seconds without a sign of life from it
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u16).range(5..=3600))]
    executor_timeout: u16,
    #[command(flatten)]
    network: NetworkArgs,
}

#[derive(Debug, Args)]
pub(super) struct ExecutorArgs {
    /// The scheduler: http://HOST:PORT
    #[arg(long, value_name = "URL")]
    scheduler: String,
    /// Where to listen. The port gives results, and the next one takes tasks; with port 0, two free ports
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    bind: SocketAddr,
    /// Tasks at one time; without it, one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Folder for intermediate results, which needs space; without it, the system's folder for temporary files
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Seconds to wait for the scheduler at the start
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(0..=3600))]
    wait: u16,
    #[command(flatten)]
    network: NetworkArgs,
}

impl PlaceArgs {
    /// Whether this process does the work.
    pub(super) const fn is_here(&self) -> bool {
        self.cluster.is_none()
    }
}

#[cfg(feature = "cluster")]
mod with {
    use super::super::{processors, program, runtime, say};
    use super::{ExecutorArgs, PlaceArgs, QueryPlace, SchedulerArgs};
    use anyhow::Context;
    use log::{Level, LevelFilter, Log, Metadata, Record};
    use portcullis_fleet::cluster::{
        ClusterClient, ExecutorOptions, SchedulerAddress, SchedulerOptions, executor, scheduler,
    };
    use portcullis_report::escape::printable;
    use std::time::Duration;

    /// What a process writes whose port is open to a network.
    const WARNING: &str = "warning: this port has no authentication and no encryption; whoever reaches it can run \
        queries, read files and use buckets with the rights of this process, and change answers";

    impl PlaceArgs {
        pub(in super::super) fn place(&self, program: &str) -> anyhow::Result<QueryPlace> {
            let Some(url) = &self.cluster else { return Ok(QueryPlace::Here) };
            let address = SchedulerAddress::parse(url, self.network.allow_network)?;
            let wait = Duration::from_secs(self.cluster_wait.into());
            Ok(QueryPlace::Cluster(ClusterClient::new(address, program.to_owned(), wait)))
        }
    }

    pub(in super::super) fn run_scheduler(args: &SchedulerArgs) -> anyhow::Result<u8> {
        log_warnings()?;
        let options = SchedulerOptions {
            bind: args.bind,
            allow_network: args.network.allow_network,
            executor_timeout: args.executor_timeout.into(),
            program: program()?,
        };
        let ready = |address: std::net::SocketAddr| {
            if !address.ip().is_loopback() {
                say(WARNING);
            }
            say(&format!("scheduler ready at http://{address}"));
        };
        serve(processors(), scheduler(&options, &ready), "scheduler stopped")
    }

    pub(in super::super) fn run_executor(args: &ExecutorArgs) -> anyhow::Result<u8> {
        log_warnings()?;
        let threads = args.threads.map_or_else(processors, usize::from);
        let options = ExecutorOptions {
            scheduler: SchedulerAddress::parse(&args.scheduler, args.network.allow_network)?,
            bind: args.bind,
            allow_network: args.network.allow_network,
            threads,
            work: args.work.clone(),
            program: program()?,
            wait: Duration::from_secs(args.wait.into()),
        };
        let url = options.scheduler.url();
        let ready = move |address: std::net::SocketAddr| {
            if !address.ip().is_loopback() {
                say(WARNING);
            }
            say(&format!("executor ready at {address}, {threads} threads, for {url}"));
        };
        // Tasks run on threads of their own.
        serve(2, executor(&options, &ready), "executor stopped")
    }

    fn serve(
        threads: usize,
        service: impl Future<Output = Result<(), portcullis_fleet::FleetError>>,
        end: &str,
    ) -> anyhow::Result<u8> {
        let runtime = runtime(threads)?;
        let done = runtime.block_on(service);
        // What still runs is given up.
        runtime.shutdown_timeout(Duration::from_secs(1));
        done?;
        say(end);
        Ok(0)
    }

    /// Writes warnings and errors of the libraries to stderr.
    struct Stderr;

    impl Log for Stderr {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.level() <= Level::Warn
        }

        fn log(&self, record: &Record<'_>) {
            if self.enabled(record.metadata()) {
                let level = record.level().as_str().to_ascii_lowercase();
                say(&format!("{level}: {}", printable(&record.args().to_string())));
            }
        }

        fn flush(&self) {}
    }

    fn log_warnings() -> anyhow::Result<()> {
        log::set_logger(&Stderr).map_err(anyhow::Error::from).context("cannot write warnings")?;
        log::set_max_level(LevelFilter::Warn);
        Ok(())
    }
}

#[cfg(not(feature = "cluster"))]
mod without {
    use super::{ExecutorArgs, PlaceArgs, QueryPlace, SchedulerArgs};
    use anyhow::bail;

    const REMEDY: &str = "this program was built without the cluster: build it with `cargo build --release --features \
        cluster` in the folder fleet";

    impl PlaceArgs {
        pub(in super::super) fn place(&self, _: &str) -> anyhow::Result<QueryPlace> {
            let Self { cluster_wait: _, network, .. } = self;
            let _ = network.allow_network;
            if self.is_here() { Ok(QueryPlace::Here) } else { bail!(REMEDY) }
        }
    }

    pub(in super::super) fn run_scheduler(args: &SchedulerArgs) -> anyhow::Result<u8> {
        let SchedulerArgs { bind: _, executor_timeout: _, network: _ } = args;
        bail!(REMEDY)
    }

    pub(in super::super) fn run_executor(args: &ExecutorArgs) -> anyhow::Result<u8> {
        let ExecutorArgs { scheduler: _, bind: _, threads: _, work: _, wait: _, network: _ } = args;
        bail!(REMEDY)
    }
}

#[cfg(feature = "cluster")]
pub(super) use with::{run_executor, run_scheduler};
#[cfg(not(feature = "cluster"))]
pub(super) use without::{run_executor, run_scheduler};
