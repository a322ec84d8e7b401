//! `cargo xtask bench gateway`: what the gateway adds to the time of a text, with a model server that writes at a
//! known pace.
//!
//! Model server and clients are threads of this program, so one clock has both ends of each span. A span may leave once
//! the first piece after its sentence is there, which shows where the sentence ends. What the gate adds is counted from
//! then on; what a reader waits is counted from the arrival of each piece.

use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::setup;
use portcullis_tools::tool::{self, cargo, say};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two pieces of a stream: 50 tokens per second.
const PACE: Duration = Duration::from_millis(20);
/// Pieces of a sentence.
const TOKENS: usize = 10;
/// What the sentences speak of: no two of an answer are alike, because repetition is refused.
const PLACES: [&str; 13] = [
    "harbour ", "mill ", "bridge ", "market ", "orchard ", "library ", "station ", "quarry ", "garden ", "theatre ",
    "bakery ", "school ", "tower ",
];
const KINDS: [&str; 11] =
    ["old ", "quiet ", "narrow ", "famous ", "empty ", "busy ", "stone ", "wooden ", "painted ", "hidden ", "small "];
const SIDES: [&str; 7] = ["north ", "east ", "south ", "west ", "left ", "right ", "outside "];
const ENDS: [&str; 5] = ["sleeps. ", "closes. ", "waits. ", "opens. ", "shines. "];
/// Sentences of a paced answer.
const SENTENCES: usize = 40;
/// Sentences of a short answer.
const SHORT: usize = 3;
/// How long short answers are asked for.
const THROUGHPUT: Duration = Duration::from_secs(10);
/// Clients that ask for short answers.
const ASKERS: usize = 16;
/// Stack of a thread of this program.
const STACK: usize = 256 << 10;

/// When the pieces of one sentence were written, and the one after it.
#[derive(Clone, Default)]
struct Written {
    pieces: Vec<Instant>,
    closed: Option<Instant>,
}

/// What the model server wrote of each stream.
type Clock = Arc<Vec<Mutex<Vec<Written>>>>;

/// A model server of threads. The prompt names the stream and how many sentences it has; `paced` or at once.
struct ModelServer {
    address: SocketAddr,
}

/// The gateway as a process.
struct Gateway {
    process: Child,
    base: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What one run of paced streams showed.
struct Paced {
    added: Vec<Duration>,
    waited: Vec<Duration>,
    first: Vec<Duration>,
    /// From the first request to the end of the last answer.
    took: Duration,
    /// Most memory of the gateway while all streams were open, in KiB.
    memory: u64,
}

/// Measures with this program, or with one that is built for it.
pub(crate) fn run(program: Option<PathBuf>) -> Result<()> {
    let program = match program {
        Some(program) => program,
        None => {
            setup::tools()?;
            tool::run(cargo().args(["build", "--quiet", "--locked", "--release", "--package", "portcullis"]))?;
            tool::target_dir().join("release/portcullis")
        }
    };
    let ideal = PACE * u32::try_from(SENTENCES * TOKENS)?;
    say(&format!("streams of 50 tokens a second, {SENTENCES} sentences of {TOKENS} tokens, policy pii"));
    println!(
        "| card | streams | added to a span, p50 / p99 | piece to release, p50 / p99 | first text, p50 / p99 | behind |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut memory = Vec::new();
    for (card, streams, slow) in
        [("model", 64, false), ("model", 64, true), ("sim", 64, false), ("model", 500, false), ("model", 1000, false)]
    {
        let Paced { mut added, mut waited, mut first, took, memory: most } = paced(&program, card, streams, slow)?;
        let behind = took.saturating_sub(ideal);
        let name = if slow { format!("{streams}, one not read") } else { streams.to_string() };
        let (added, waited, first) = (shown(&mut added), shown(&mut waited), shown(&mut first));
        println!("| {card} | {name} | {added} | {waited} | {first} | {} ms |", behind.as_millis());
        memory.push((card, name, most));
    }
    say("memory of the process");
    for (card, streams, most) in memory {
        println!("{card}, {streams} streams: {} MiB", most >> 10);
    }
    say(&format!("short answers of {SHORT} sentences at full speed, {ASKERS} clients"));
    let server = ModelServer::start(Arc::new(Vec::new()))?;
    let bare = throughput(server.address)?;
    for card in ["model", "sim"] {
        let gateway = Gateway::start(&program, card, server.address)?;
        println!("{card}: {} answers a second; the model server alone: {bare}", throughput(gateway.address()?)?);
    }
    Ok(())
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
    let gateway = Gateway::start(program, card, server.address)?;
    let address = gateway.address()?;
    // The first answers warm up what is made once.
    for _ in 0..4 {
        ask(address, "0 1 quick", |_| Ok(()))?;
    }
    let begun = Instant::now();
    let clients = (0..streams).map(|stream| {
        let (clock, reads) = (Arc::clone(&clock), !(slow && stream == 0));
        spawn(move || -> Result<(Vec<Duration>, Vec<Duration>, Duration)> {
            // Streams do not begin in step.
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

/// Answers a second.
fn throughput(address: SocketAddr) -> Result<u64> {
    let (over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients = (0..ASKERS).map(|_| {
        let (over, count) = (Arc::clone(&over), Arc::clone(&count));
        spawn(move || -> Result<()> {
            while !over.load(Ordering::Relaxed) {
                ask(address, &format!("0 {SHORT} quick"), |_| Ok(()))?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        })
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;
    thread::sleep(THROUGHPUT);
    over.store(true, Ordering::Relaxed);
    let answers = count.load(Ordering::Relaxed) as u64;
    for client in clients {
        let Ok(asked) = client.join() else { bail!("a client panicked") };
        asked?;
    }
    Ok(answers / THROUGHPUT.as_secs())
}

fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    Ok(thread::Builder::new().stack_size(STACK).spawn(work)?)
}

fn request(address: SocketAddr, prompt: &str) -> Result<TcpStream> {
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": prompt}]}).to_string();
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    Ok(stream)
}

/// Asks, and hands on each piece of text when it comes.
fn ask(address: SocketAddr, prompt: &str, mut heard: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let mut reader = BufReader::new(request(address, prompt)?);
    let mut line = String::new();
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the answer broke off");
        let Some(data) = line.trim_end().strip_prefix("data: ") else { continue };
        if data == "[DONE]" {
            return Ok(());
        }
        let event: Value = serde_json::from_str(data)?;
        ensure!(event.get("error").is_none_or(Value::is_null), "{data}");
        if let Some(text) = event["choices"][0]["delta"]["content"].as_str().filter(|text| !text.is_empty()) {
            heard(text)?;
        }
    }
}

/// Asks, and does not read until the others are done.
fn stall(address: SocketAddr, stream: usize) -> Result<()> {
    let mut asked = request(address, &format!("{stream} {SENTENCES} paced"))?;
    thread::sleep(PACE * u32::try_from(SENTENCES * TOKENS)?);
    let _ = asked.read(&mut [0; 16])?;
    Ok(())
}

impl ModelServer {
    fn start(clock: Clock) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let clock = Arc::clone(&clock);
                // A client that goes away ends its own answer only.
                let _ = spawn(move || serve(stream, &clock));
            }
        })?;
        Ok(Self { address })
    }
}

/// A sentence of an answer.
fn pieces(sentence: usize) -> [&'static str; TOKENS] {
    let of = |words: &'static [&'static str]| words[sentence % words.len()];
    ["The ", of(&KINDS), of(&PLACES), "lies ", of(&SIDES), "of ", "the ", "town ", "and ", of(&ENDS)]
}

fn serve(stream: TcpStream, clock: &Clock) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "no request");
        let head = line.trim_end().to_ascii_lowercase();
        if let Some(value) = head.strip_prefix("content-length: ") {
            length = value.parse()?;
        }
        if head.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let prompt = body["messages"][0]["content"].as_str().context("no prompt")?;
    let mut words = prompt.split(' ');
    let (number, sentences) = (words.next().context("a stream")?, words.next().context("sentences")?);
    let (number, sentences): (usize, usize) = (number.parse()?, sentences.parse()?);
    let paced = words.next() == Some("paced");
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let event = |delta: Value, finish: Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let mut due = Instant::now();
    for sentence in (0..sentences).map(pieces) {
        for (at, piece) in sentence.into_iter().enumerate() {
            if paced {
                due += PACE;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let now = Instant::now();
                let mut written = clock.get(number).context("a stream")?.lock().unwrap_or_else(PoisonError::into_inner);
                if at == 0 {
                    written.last_mut().into_iter().for_each(|last| last.closed = Some(now));
                    written.push(Written::default());
                }
                written.last_mut().into_iter().for_each(|last| last.pieces.push(now));
            }
            stream.write_all(event(json!({"content": piece}), Value::Null).as_bytes())?;
        }
    }
    if paced {
        let mut written = clock.get(number).context("a stream")?.lock().unwrap_or_else(PoisonError::into_inner);
        written.last_mut().into_iter().for_each(|last| last.closed = Some(Instant::now()));
    }
    stream.write_all(event(json!({}), json!("stop")).as_bytes())?;
    stream.write_all(b"data: [DONE]\n\n")?;
    Ok(())
}

impl Gateway {
    fn start(program: &Path, card: &str, upstream: SocketAddr) -> Result<Self> {
        let upstream = format!("http://{upstream}/v1");
        let mut serve = Command::new(program);
        serve.args(["serve", "--card", card, "--policy", "policies/pii", "--listen", "127.0.0.1:0", "--upstream"]);
        serve.arg(upstream).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = serve.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let base = line.trim_end().strip_prefix("listening on http://").context("the gateway does not listen")?;
        let base = base.trim_end_matches("/v1").to_owned();
        Ok(Self { process, base })
    }

    fn address(&self) -> Result<SocketAddr> {
        Ok(self.base.parse()?)
    }

    /// Memory in use, in KiB.
    fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}
