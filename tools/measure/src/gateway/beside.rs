//! Measures the short answers of one client while another client, with another key, asks for the texts that are dearest
//! to map.

use super::client::{ask_as, spawn};
use super::model_server::ModelServer;
use super::programs::MeasuredGateway;
use super::shapes::SHAPES;
use super::shown;
use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{self, say};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SENTENCES: usize = 3;
/// Length in bytes of the texts with which the dearest shapes are found, and of those beside which is measured.
const SAMPLE: usize = 4 << 10;
const LONG: usize = 64 << 10;
/// Number of the dearest shapes.
const DEAREST: usize = 4;
/// Number of requests that the other client has open at the same time.
const BESIDE: usize = 8;
/// Number of measurements alone and beside, in turn, and the time of each.
const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_secs(4);
/// Largest accepted ratio of the medians, in hundredths.
const MOST: u128 = 200;
const POLICIES: [&str; 2] = ["pii", "biography"];
const KEYS: [&str; 2] = ["the-key-of-the-measured-client", "the-key-of-the-other-client"];

/// Errors: a median more than doubles.
pub(super) fn run(program: &Path) -> Result<()> {
    say(&format!(
        "short answers of {SENTENCES} sentences, beside {BESIDE} open requests of another key for texts of {LONG} bytes"
    ));
    println!("| policy | shape | alone, p50 / p99 | beside, p50 / p99 | median |\n| --- | --- | --- | --- | --- |");
    let server = ModelServer::start(Arc::new(Vec::new()))?;
    let mut slow = Vec::new();
    for policy in POLICIES {
        let configuration = configuration(policy, server.address)?;
        let start =
            || MeasuredGateway::with(program, &["--card", "model", "--config", &configuration.to_string_lossy()]);
        for shape in dearest(&start()?)? {
            let (mut alone, mut beside) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let gateway = start()?;
                let address = gateway.address()?;
                short(address, TIME / 4)?;
                alone.extend(short(address, TIME)?);
                let over = Arc::new(AtomicBool::new(false));
                let others = (0..BESIDE).map(|_| long(address, shape, Arc::clone(&over)));
                let others = others.collect::<Result<Vec<_>>>()?;
                thread::sleep(TIME / 8);
                beside.extend(short(address, TIME)?);
                over.store(true, Ordering::Relaxed);
                // The open requests of the other client end with the gateway.
                drop(gateway);
                others.into_iter().for_each(|other| drop(other.join()));
            }
            let (shown_alone, shown_beside) = (shown(&mut alone), shown(&mut beside));
            let ratio = median(&beside)?.as_micros() * 100 / median(&alone)?.as_micros().max(1);
            println!("| {policy} | `{shape}` | {shown_alone} | {shown_beside} | {}.{:02} |", ratio / 100, ratio % 100);
            if ratio > MOST {
                slow.push(format!("{policy}: {shape}"));
            }
        }
    }
    ensure!(slow.is_empty(), "beside these, the median more than doubles: {}", slow.join(", "));
    Ok(())
}

/// Writes the configuration of a gateway with two keys, and returns its path.
fn configuration(policy: &str, upstream: SocketAddr) -> Result<PathBuf> {
    let folder = tool::root()?.join(tool::target_dir()).join("beside");
    fs::create_dir_all(&folder)?;
    let policy = tool::root()?.join("policies").join(policy);
    let mut text = format!(
        "policy = \"{}\"\n[[model]]\nname = \"m\"\nupstream = \"http://{upstream}/v1\"\n",
        policy.to_string_lossy()
    );
    for (number, key) in KEYS.iter().enumerate() {
        let path = folder.join(format!("{number}.key"));
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        std::io::Write::write_all(&mut file, key.as_bytes())?;
        text.push_str(&format!(
            "[[key]]\nname = \"client-{number}\"\nsecret = {{ file = \"{}\" }}\nmodels = [\"m\"]\n",
            path.to_string_lossy()
        ));
    }
    let path = folder.join("gateway.toml");
    fs::write(&path, text)?;
    Ok(path)
}

/// The shapes whose answers take longest.
fn dearest(gateway: &MeasuredGateway) -> Result<Vec<&'static str>> {
    let address = gateway.address()?;
    let mut times = Vec::new();
    for shape in SHAPES {
        let asked = Instant::now();
        ask_as(address, KEYS[0], &format!("0 0 shape {} {SAMPLE}", shape.name), |_| Ok(()))
            .with_context(|| shape.name)?;
        times.push((asked.elapsed(), shape.name));
    }
    times.sort_unstable();
    Ok(times.into_iter().rev().take(DEAREST).map(|(_, name)| name).collect())
}

/// The times of the answers of the measured client.
fn short(address: SocketAddr, time: Duration) -> Result<Vec<Duration>> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < time {
        let asked = Instant::now();
        ask_as(address, KEYS[0], &format!("0 {SENTENCES} quick"), |_| Ok(()))?;
        times.push(asked.elapsed());
    }
    Ok(times)
}

/// Asks for one long text after the other. An answer may end early here.
fn long(address: SocketAddr, shape: &'static str, over: Arc<AtomicBool>) -> Result<thread::JoinHandle<()>> {
    spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let prompt = format!("0 0 shape {shape} {LONG}");
            let _ = ask_as(address, KEYS[1], &prompt, |_| Ok(()));
        }
    })
}

fn median(sorted: &[Duration]) -> Result<Duration> {
    sorted.get(sorted.len() / 2).copied().context("no answer")
}
