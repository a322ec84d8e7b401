//! A model server that writes at a known pace, or as fast as possible, and records the time of each write.

use super::client::spawn;
use super::programs::body_length;
use super::shapes::SHAPES;
use super::{PACE, TOKENS};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Nouns for the sentences. All sentences of an answer differ, because the policy refuses repetition.
const PLACES: [&str; 13] = [
    "harbour ", "mill ", "bridge ", "market ", "orchard ", "library ", "station ", "quarry ", "garden ", "theatre ",
    "bakery ", "school ", "tower ",
];
const KINDS: [&str; 11] =
    ["old ", "quiet ", "narrow ", "famous ", "empty ", "busy ", "stone ", "wooden ", "painted ", "hidden ", "small "];
const SIDES: [&str; 7] = ["north ", "east ", "south ", "west ", "left ", "right ", "outside "];
const ENDS: [&str; 5] = ["sleeps. ", "closes. ", "waits. ", "opens. ", "shines. "];

/// The times at which the pieces of a sentence, and the first piece after the sentence, were written.
#[derive(Clone, Default)]
pub(super) struct SentenceWriteTimes {
    pub(super) pieces: Vec<Instant>,
    pub(super) closed: Option<Instant>,
}

/// The times of the sentences written so far, for each stream.
pub(super) type Clock = Arc<Vec<Mutex<Vec<SentenceWriteTimes>>>>;

/// A model server in threads. The prompt gives the stream, the number of sentences, and `paced` for a paced answer, or
/// `shape` for a text of a shape: its name and its length in bytes.
pub(super) struct ModelServer {
    pub(super) address: SocketAddr,
}

impl ModelServer {
    pub(super) fn start(clock: Clock) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let clock = Arc::clone(&clock);
                // If a client disconnects, only the answer to this client ends.
                let _ = spawn(move || serve(stream, &clock));
            }
        })?;
        Ok(Self { address })
    }
}

fn pieces(sentence: usize) -> [&'static str; TOKENS] {
    let of = |words: &'static [&'static str]| words[sentence % words.len()];
    ["The ", of(&KINDS), of(&PLACES), "lies ", of(&SIDES), "of ", "the ", "town ", "and ", of(&ENDS)]
}

fn serve(stream: TcpStream, clock: &Clock) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let length = body_length(&mut reader)?.context("no request")?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let prompt = body["messages"][0]["content"].as_str().context("no prompt")?;
    let mut words = prompt.split(' ');
    let (number, sentences) = (words.next().context("a stream")?, words.next().context("sentences")?);
    let (number, sentences): (usize, usize) = (number.parse()?, sentences.parse()?);
    let manner = words.next();
    let paced = manner == Some("paced");
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let event = |delta: Value, finish: Value| {
        format!(
            "data: {}\n\n",
            json!({"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m",
                   "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        )
    };
    if manner == Some("shape") {
        let (name, bytes) = (words.next().context("a shape")?, words.next().context("a length")?.parse()?);
        let shape = SHAPES.iter().find(|shape| shape.name == name).context("no shape has this name")?;
        stream.write_all(event(json!({"content": shape.text(bytes)}), Value::Null).as_bytes())?;
    }
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
                    written.push(SentenceWriteTimes::default());
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
