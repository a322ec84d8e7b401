//! `portcullis card …`.

use crate::failure::{CommandFailure, FAULT, SUCCESS};
use crate::machine;
use crate::open::CardArgs;
use portcullis_card::diagnostics::bench::BenchConfig;
use portcullis_card::diagnostics::{bench, selftest};
use portcullis_card::machine::pci::Bdf;
use portcullis_card::{CardInfo, await_public_key};
use portcullis_core::hex;
use portcullis_policy::ImagePolicySet;
use portcullis_report::terminal::TerminalTone;
use portcullis_verify::console::stdout_terminal;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub(crate) enum CardCommand {
    /// The kinds of card that this program drives, and the PCI functions of this machine that may be one.
    List {
        /// Every PCI function.
        #[arg(long)]
        all: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what this machine lacks before a card can be driven, and what mends it. Exit code 1 when something is
    /// missing.
    Doctor {
        /// The card, as `lspci -D` prints it.
        bdf: Bdf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give a PCI card to the kernel's vfio-pci (root). Refused for a function that is not a Portcullis card, and for
    /// one that the machine is using: a mounted disk, a network interface that is up.
    Bind {
        /// The card, as `lspci -D` prints it.
        bdf: Bdf,
        /// Bind any function, even one in use. The machine loses the disk or network behind it.
        #[arg(long)]
        force: bool,
    },
    /// Take a PCI card from vfio-pci (root).
    Unbind {
        /// The card, as `lspci -D` prints it.
        bdf: Bdf,
    },
    /// What a card says about itself.
    Info {
        #[command(flatten)]
        card: CardArgs,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Bring a card up, ask it known questions, close it. Exit code 4 when an answer is wrong.
    Selftest {
        #[command(flatten)]
        card: CardArgs,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Serve the simulated card as a PCI device on a UNIX socket (vfio-user), for `--card vfio-user:PATH` and for
    /// virtual machines. Drivers of the same user may connect, one at a time; each finds the card as after power-up.
    /// Ends with SIGINT or SIGTERM.
    #[cfg(feature = "sim")]
    Serve {
        /// The socket. One that no process listens on is replaced.
        #[arg(long, value_name = "PATH")]
        socket: PathBuf,
        /// Add a base address register (BAR4) by which a test disturbs the card's bus.
        #[arg(long)]
        test_bench: bool,
        /// Lanes of the card: 1 or 4 (built with `PORTCULLIS_LANES=8`: 1 or 8).
        #[arg(long, value_name = "LANES", default_value_t = 1)]
        lanes: u8,
        #[command(flatten)]
        sim: crate::open::SimArgs,
    },
    /// Saturate a card and print how fast it judges: verdicts per second, clocks per second, clocks per verdict, use of
    /// the bus, latency. For the simulated card also how fast one of its tables alone is swept, in the same run.
    Bench {
        #[command(flatten)]
        card: CardArgs,
        /// Policy whose image is used; the default is a generated one that fills the tables.
        #[arg(long, value_name = "DIR")]
        policy: Option<PathBuf>,
        /// Verdicts to take.
        #[arg(long, default_value_t = BenchConfig::default().verdicts)]
        verdicts: u64,
        /// Streams in flight in each lane.
        #[arg(long, default_value_t = BenchConfig::default().streams)]
        streams: u16,
        /// Have checkpoints signed meanwhile, one after every 4,096 records.
        #[arg(long)]
        attest: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &CardCommand) -> Result<u8, CommandFailure> {
    match command {
        CardCommand::List { all, json } => machine::list(*all, *json),
        CardCommand::Doctor { bdf, json } => machine::doctor(*bdf, *json),
        CardCommand::Bind { bdf, force } => machine::bind(*bdf, *force),
        CardCommand::Unbind { bdf } => machine::unbind(*bdf),
        CardCommand::Info { card, json } => info(card, *json),
        CardCommand::Selftest { card, json } => self_test(card, *json),
        #[cfg(feature = "sim")]
        CardCommand::Serve { socket, test_bench, lanes, sim } => serve(socket, *test_bench, sim.config(*lanes)),
        CardCommand::Bench { card, policy, verdicts, streams, attest, json } => {
            let image = match policy {
                Some(dir) => ImagePolicySet::load(dir)?.image().clone(),
                None => bench::full_image().map_err(anyhow::Error::from)?,
            };
            let config = BenchConfig { verdicts: (*verdicts).max(1), streams: (*streams).max(1), attest: *attest };
            let report = bench::run(card.open()?, &image, config)?;
            let clocks = report.clocks_per_verdict_hundredths();
            let sweep = if card.name() == "sim" { sweep_alone() } else { None };
            if *json {
                outln!(
                    "{}",
                    serde_json::json!({
                        "card": card.name(), "lanes": report.lanes.len(), "lane_verdicts": report.lanes, "rows": report.rows, "verdicts": report.verdicts, "admits": report.admits,
                        "rejects": report.rejects, "decomposes": report.decomposes,
                        "opened_microseconds": report.opened.as_micros(), "microseconds": report.elapsed.as_micros(), "verdicts_per_second": report.verdicts_per_second(),
                        "clocks": report.clocks, "clocks_per_second": report.clocks_per_second(), "table_clocks_per_second": sweep, "hundredths_of_a_clock_per_verdict": clocks,
                        "bus_read_basis_points": report.bus_basis_points().map(|bus| bus.0),
                        "bus_write_basis_points": report.bus_basis_points().map(|bus| bus.1),
                        "latency_nanoseconds": {
                            "p50": report.latency(0.5), "p99": report.latency(0.99), "p999": report.latency(0.999), "max": report.latency(1.0),
                        },
                        "latency_histogram": report.latency_steps(),
                    })
                );
            } else {
                outln!("card                {}", card.name());
                outln!("lanes               {}", report.lanes.len());
                outln!("rows swept          {}", report.rows);
                outln!(
                    "verdicts            {} ({} admit, {} reject, {} decompose)",
                    report.verdicts,
                    report.admits,
                    report.rejects,
                    report.decomposes
                );
                if report.lanes.len() > 1 {
                    let shares: Vec<_> = report.lanes.iter().map(ToString::to_string).collect();
                    outln!("verdicts by lane    {}", shares.join(", "));
                }
                outln!("verdicts a second   {} of wall time", report.verdicts_per_second());
                if let Some(rate) = report.clocks_per_second() {
                    outln!("clocks a second     {rate} of wall time");
                    if let Some(sweep) = sweep {
                        let ratio = u128::from(sweep) * 100 / u128::from(rate.max(1));
                        outln!(
                            "swept table alone   {sweep} clocks a second, {}.{:02} times as many",
                            ratio / 100,
                            ratio % 100
                        );
                    }
                }
                if let Some(clocks) = clocks {
                    outln!("clocks a verdict    {}.{:02}", clocks / 100, clocks % 100);
                }
                if let Some((read, write)) = report.bus_basis_points() {
                    let percent = |points: u64| format!("{}.{:02} %", points / 100, points % 100);
                    outln!(
                        "bus data beats      {} of its clocks for reads, {} for writes",
                        percent(read),
                        percent(write)
                    );
                }
                let micros = |nanos: u64| format!("{}.{} µs", nanos / 1000, nanos % 1000 / 100);
                let [half, most, nearly_all] = [0.5, 0.99, 0.999].map(|share| micros(report.latency(share)));
                outln!("latency             p50 {half}, p99 {most}, p99.9 {nearly_all}: from submission to answer");
                for (end, count) in report.latency_steps().into_iter().filter(|step| step.1 > 0) {
                    outln!("  under {:>10}  {count}", micros(end));
                }
            }
            Ok(SUCCESS)
        }
    }
}

/// Simulated clocks per second when only one table is swept.
#[cfg(feature = "sim")]
fn sweep_alone() -> Option<u64> {
    const CLOCKS: u64 = 1_000_000;
    let time = portcullis_sim::sweep_alone(CLOCKS)?;
    u64::try_from(u128::from(CLOCKS) * 1_000_000_000 / time.as_nanos().max(1)).ok()
}

#[cfg(not(feature = "sim"))]
fn sweep_alone() -> Option<u64> {
    None
}

#[cfg(feature = "sim")]
fn serve(path: &std::path::Path, test_bench: bool, config: portcullis_sim::SimConfig) -> Result<u8, CommandFailure> {
    use anyhow::Context;
    use portcullis_sim::{pci::PciCard, serve::CardServerSocket};
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::os::fd::AsFd;

    let (stop, signalled) = std::os::unix::net::UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, signalled.try_clone()?)?;
    }
    let mut card = PciCard::new(config).context("the simulated card")?;
    if test_bench {
        card = card.with_bench();
    }
    let socket = CardServerSocket::bind(path).map_err(anyhow::Error::from)?;
    outln!("listening on {}", path.display());
    socket.serve(&mut card, stop.as_fd(), |end| errln!("driver: {end}")).map_err(anyhow::Error::from)?;
    Ok(SUCCESS)
}

/// What the card reports of its bus.
const fn bus(info: &CardInfo) -> &'static str {
    match (info.needs_reset, info.stale) {
        (true, _) => "needs the hardware reset: it may still write to memory of an earlier session",
        (false, true) => "stale: it may still write to memory of the session before the hardware reset",
        (false, false) => "good",
    }
}

fn info(args: &CardArgs, json: bool) -> Result<u8, CommandFailure> {
    let mut card = args.open()?;
    let describe = card.describe();
    let info = CardInfo::read(&mut card)?;
    let key = if info.signer { await_public_key(&mut card)? } else { [0; 32] };
    let rows = [
        ("card", describe),
        ("register map", format!("{}.{}", info.map_version.0, info.map_version.1)),
        ("map digest", info.map_digest.clone()),
        ("lanes", info.lanes.to_string()),
        ("rows a clock", info.rows_per_clock.to_string()),
        ("policy rows", info.policy_rows.to_string()),
        ("entropy rows", info.entropy_rows.to_string()),
        ("streams", info.max_streams.to_string()),
        ("ring entries", format!("at most 2^{}", info.ring_log2)),
        ("log entries", format!("at most 2^{}", info.log_log2)),
        ("reads in flight", info.reads.to_string()),
        ("table digest", present(info.digest)),
        ("log and signer", present(info.signer)),
        ("heartbeats", present(info.heartbeat)),
        ("public key", hex::encode(&key)),
        ("design id", hex::encode(&info.design_id)),
        ("boot nonce", hex::encode(&info.boot_nonce)),
        ("key flags", format!("{:#04x}", info.key_flags)),
        ("life", info.life.name().to_owned()),
        ("fault", info.fault.name().to_owned()),
        ("bus", bus(&info).to_owned()),
    ];
    if json {
        let object: serde_json::Map<_, _> = rows.into_iter().map(|(k, v)| (k.replace(' ', "_"), v.into())).collect();
        outln!("{}", serde_json::Value::Object(object));
    } else {
        for (name, value) in rows {
            outln!("{name:<16} {value}");
        }
    }
    Ok(SUCCESS)
}

fn present(there: bool) -> String {
    if there { "present" } else { "not present" }.to_owned()
}

fn self_test(args: &CardArgs, json: bool) -> Result<u8, CommandFailure> {
    let report = selftest::run(args.open()?).map_err(|e| CommandFailure::Card(e.into()))?;
    let lanes = report.info.lanes;
    for check in &report.checks {
        if json {
            outln!("{}", serde_json::json!({ "check": check.name, "lane": check.lane, "passed": check.passed() }));
        } else {
            let place = if lanes > 1 { format!("lane {}: ", check.lane) } else { String::new() };
            let (tone, mark) =
                if check.passed() { (TerminalTone::Good, "ok    ") } else { (TerminalTone::Bad, "FAILED") };
            outln!("{} {place}{}", stdout_terminal().paint(tone, mark), check.name);
        }
    }
    if !json {
        outln!("{} checks, {} records", report.checks.len(), report.records);
    }
    Ok(if report.passed() { SUCCESS } else { FAULT })
}
