//! `cargo xtask bench gateway`: measures how much the gateway delays a text that a model server writes at a known pace.
//!
//! Model server and clients are threads of this program, so one clock measures both ends. The first piece after a
//! sentence shows its end, so the gate cannot release a span before this piece arrives. The gate's delay is counted
//! from that arrival. The reader's delay is counted from the arrival of each piece.

mod beside;
mod client;
mod model_server;
mod programs;
mod served;
#[path = "../../../../host/mapping/tests/support/shapes.rs"]
#[expect(dead_code, reason = "a list for several programs")]
mod shapes;
mod short;

use anyhow::{Context, Result, bail, ensure};
use client::{ask, spawn, stall};
use model_server::{Clock, ModelServer};
use portcullis_tools::setup;
use portcullis_tools::tool::{self, cargo, say};
use programs::MeasuredGateway;
pub(crate) use served::run as served;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two pieces of a stream: 50 tokens per second.
const PACE: Duration = Duration::from_millis(20);
const TOKENS: usize = 10;
const SENTENCES: usize = 40;
/// Number of runs of each of two cases that are compared.
const ROUNDS: usize = 3;

/// The results of one run of paced streams.
#[derive(Default)]
struct Paced {
    added: Vec<Duration>,
    waited: Vec<Duration>,
    first: Vec<Duration>,
    /// Time from the start of the first request to the end of the last answer.
    took: Duration,
    /// Largest memory of the gateway in KiB while all streams were open.
    memory: u64,
}

impl Paced {
    /// Adds the results of another run.
    fn extend(&mut self, other: Self) {
        self.added.extend(other.added);
        self.waited.extend(other.waited);
        self.first.extend(other.first);
        self.took = self.took.max(other.took);
        self.memory = self.memory.max(other.memory);
    }
}

/// The program to measure: this one, or one that is built now.
fn built(program: Option<PathBuf>) -> Result<PathBuf> {
    match program {
        Some(program) => Ok(program),
        None => {
            setup::tools()?;
            tool::run(cargo().args(["build", "--quiet", "--locked", "--release", "--package", "portcullis"]))?;
            Ok(tool::target_dir().join("release/portcullis"))
        }
    }
}

/// Measures the short answers of one client beside the dearest texts of another.
pub(crate) fn beside(program: Option<PathBuf>) -> Result<()> {
    beside::run(&built(program)?)
}

/// Measures the program `program`, or builds the program to measure.
pub(crate) fn run(program: Option<PathBuf>) -> Result<()> {
    let program = built(program)?;
    let ideal = PACE * u32::try_from(SENTENCES * TOKENS)?;
    say(&format!("streams of 50 tokens a second, {SENTENCES} sentences of {TOKENS} tokens, policy pii"));
    println!(
        "| card | streams | added to a span, p50 / p99 | piece to release, p50 / p99 | first text, p50 / p99 | behind |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut memory = Vec::new();
    for (card, cases) in [
        ("model", &[(64, false), (64, true)][..]),
        ("sim", &[(64, false)]),
        ("model", &[(500, false)]),
        ("model", &[(1000, false)]),
    ] {
        let mut runs: Vec<Paced> = cases.iter().map(|_| Paced::default()).collect();
        // Cases that are compared run in turn, so that changes of the machine's load affect both.
        for _ in 0..if cases.len() > 1 { ROUNDS } else { 1 } {
            for ((streams, slow), run) in cases.iter().zip(&mut runs) {
                run.extend(paced(&program, card, *streams, *slow)?);
            }
        }
        for ((streams, slow), Paced { mut added, mut waited, mut first, took, memory: most }) in cases.iter().zip(runs)
        {
            let behind = took.saturating_sub(ideal);
            let name = if *slow { format!("{streams}, one not read") } else { streams.to_string() };
            let (added, waited, first) = (shown(&mut added), shown(&mut waited), shown(&mut first));
            println!("| {card} | {name} | {added} | {waited} | {first} | {} ms |", behind.as_millis());
            memory.push((card, name, most));
        }
    }
    say("memory of the process");
    for (card, streams, most) in memory {
        println!("{card}, {streams} streams: {} MiB", most >> 10);
    }
    short::run(&program)
}

/// The median and the 99th percentile, in milliseconds.
fn shown(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
    let shown = |time: Option<&Duration>| {
        let us = time.map(Duration::as_micros)?;
        Some(format!("{}.{:02}", us / 1000, us % 1000 / 10))
    };
    let shown = |time| shown(time).unwrap_or_else(|| "none".to_owned());
    format!("{} / {} ms", shown(at(50)), shown(at(99)))
}

fn paced(program: &Path, card: &str, streams: usize, slow: bool) -> Result<Paced> {
    let clock: Clock = Arc::new((0..streams).map(|_| Mutex::default()).collect());
    let server = ModelServer::start(Arc::clone(&clock))?;
    let gateway = MeasuredGateway::start(program, card, server.address)?;
    let address = gateway.address()?;
    // The first answers are not counted, because they fill caches.
    for _ in 0..4 {
        ask(address, "0 1 quick", |_| Ok(()))?;
    }
    let begun = Instant::now();
    let clients = (0..streams).map(|stream| {
        let (clock, reads) = (Arc::clone(&clock), !(slow && stream == 0));
        spawn(move || -> Result<(Vec<Duration>, Vec<Duration>, Duration)> {
            // The streams begin at different times.
            thread::sleep(PACE * u32::try_from(stream % 10)?);
            let asked = Instant::now();
            if !reads {
                return stall(address, stream).map(|()| (Vec::new(), Vec::new(), Duration::ZERO));
            }
            let (mut added, mut waited, mut first, mut heard) = (Vec::new(), Vec::new(), None, 0);
            ask(address, &format!("{stream} {SENTENCES} paced"), |text| {
                let now = Instant::now();
                first.get_or_insert(now - asked);
                for _ in text.matches('.') {
                    let written = clock.get(stream).context("a stream")?.lock().unwrap_or_else(PoisonError::into_inner);
                    let sentence = written.get(heard).context("a sentence that was not written")?;
                    added.extend(sentence.closed.map(|closed| now - closed));
                    waited.extend(sentence.pieces.iter().map(|piece| now - *piece));
                    heard += 1;
                }
                Ok(())
            })?;
            ensure!(heard == SENTENCES, "stream {stream}: {heard} of {SENTENCES} sentences");
            Ok((added, waited, first.context("no text")?))
        })
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;
    thread::sleep(PACE * u32::try_from(SENTENCES * TOKENS / 2)?);
    let memory = gateway.memory()?;
    let (mut added, mut waited, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    for (stream, client) in clients.into_iter().enumerate() {
        let Ok(times) = client.join() else { bail!("a client panicked") };
        let (of_spans, of_pieces, first) = times?;
        if !(slow && stream == 0) {
            added.extend(of_spans);
            waited.extend(of_pieces);
            firsts.push(first);
        }
    }
    Ok(Paced { added, waited, first: firsts, took: begun.elapsed(), memory })
}
