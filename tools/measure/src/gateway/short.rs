//! Measures short answers at full speed: answers per second and time per answer, in comparison with the model server
//! alone and with LiteLLM's proxy.

use super::client::{ask, spawn};
use super::model_server::ModelServer;
use super::programs::{LiteLlmProxy, MeasuredGateway};
use super::shown;
use anyhow::{Result, bail};
use portcullis_tools::tool::say;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SENTENCES: usize = 3;
const TIME: Duration = Duration::from_secs(10);
/// Number of clients that send requests at the same time, as fast as possible.
const CLIENTS: usize = 16;
const WORK: &str = "target/xtask/bench";

/// Measures the model server alone, behind the gateway, and behind LiteLLM's proxy.
pub(super) fn run(program: &Path) -> Result<()> {
    say(&format!("short answers of {SENTENCES} sentences: {CLIENTS} clients at full speed, then one client"));
    println!("| before the model server | answers a second | time of an answer, one client, p50 / p99 |");
    println!("| --- | --- | --- |");
    let server = ModelServer::start(Arc::new(Vec::new()))?;
    row("nothing", server.address)?;
    for card in ["model", "sim"] {
        let gateway = MeasuredGateway::start(program, card, server.address)?;
        row(&format!("the gateway, card {card}"), gateway.address()?)?;
    }
    fs::create_dir_all(WORK)?;
    let proxy = LiteLlmProxy::start(server.address, Path::new(WORK))?;
    row("LiteLLM's proxy and a guardrail that does nothing", proxy.address)
}

fn row(name: &str, address: SocketAddr) -> Result<()> {
    // Before the measurement, completes all work that is only done once.
    for _ in 0..20 {
        ask_once(address)?;
    }
    let rate = answers(address, CLIENTS)?.len() as u64 / TIME.as_secs();
    let mut times = answers(address, 1)?;
    println!("| {name} | {rate} | {} |", shown(&mut times));
    Ok(())
}

fn ask_once(address: SocketAddr) -> Result<()> {
    ask(address, &format!("0 {SENTENCES} quick"), |_| Ok(()))
}

/// The times of all answers that `clients` clients received within [`TIME`].
fn answers(address: SocketAddr, clients: usize) -> Result<Vec<Duration>> {
    let over = Arc::new(AtomicBool::new(false));
    let askers = (0..clients).map(|_| {
        let over = Arc::clone(&over);
        spawn(move || -> Result<Vec<Duration>> {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                ask_once(address)?;
                times.push(asked.elapsed());
            }
            Ok(times)
        })
    });
    let askers = askers.collect::<Result<Vec<_>>>()?;
    thread::sleep(TIME);
    over.store(true, Ordering::Relaxed);
    let mut all = Vec::new();
    for asker in askers {
        let Ok(times) = asker.join() else { bail!("a client panicked") };
        all.extend(times?);
    }
    Ok(all)
}
