//! The clients that request answers; each runs in a thread of this program.

use super::{PACE, SENTENCES, TOKENS};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Stack size of a thread of this program, in bytes.
const STACK: usize = 256 << 10;

pub(super) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    Ok(thread::Builder::new().stack_size(STACK).spawn(work)?)
}

fn request(address: SocketAddr, key: &str, prompt: &str, streamed: bool) -> Result<TcpStream> {
    let body = json!({"model": "m", "stream": streamed, "messages": [{"role": "user", "content": prompt}]}).to_string();
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {key}\r\n\
         connection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    Ok(stream)
}

/// Sends a request, and calls `heard` with each piece of text when it arrives.
pub(super) fn ask(address: SocketAddr, prompt: &str, heard: impl FnMut(&str) -> Result<()>) -> Result<()> {
    ask_as(address, "any", prompt, heard)
}

/// As [`ask`], with an API key.
pub(super) fn ask_as(
    address: SocketAddr,
    key: &str,
    prompt: &str,
    mut heard: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut reader = BufReader::new(request(address, key, prompt, true)?);
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

/// Sends a request, but reads the answer only after all other clients have finished.
pub(super) fn stall(address: SocketAddr, stream: usize) -> Result<()> {
    let mut asked = request(address, "any", &format!("{stream} {SENTENCES} paced"), true)?;
    thread::sleep(PACE * u32::try_from(SENTENCES * TOKENS)?);
    let _ = asked.read(&mut [0; 16])?;
    Ok(())
}

/// Sends a request. Returns the text of the answer, and the rules that refused something of it.
pub(super) fn answer(address: SocketAddr, prompt: &str, streamed: bool) -> Result<(String, BTreeSet<String>)> {
    let mut reader = BufReader::new(request(address, "any", prompt, streamed)?);
    let (mut text, mut rules) = (String::new(), BTreeSet::new());
    let mut add = |value: &Value| -> Result<()> {
        ensure!(value.get("error").is_none_or(Value::is_null), "{value}");
        let choice = &value["choices"][0];
        text += choice["delta"]["content"].as_str().or(choice["message"]["content"].as_str()).unwrap_or_default();
        let streams = value["portcullis"]["streams"].as_array().into_iter().flatten();
        let named = streams.flat_map(|stream| stream["rules"].as_array().into_iter().flatten());
        rules.extend(named.filter_map(Value::as_str).map(str::to_owned));
        Ok(())
    };
    if !streamed {
        let mut body = String::new();
        reader.read_to_string(&mut body)?;
        let (_, body) = body.split_once("\r\n\r\n").context("an answer without a body")?;
        add(&serde_json::from_str(body)?)?;
        return Ok((text, rules));
    }
    let mut line = String::new();
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the answer broke off");
        match line.trim_end().strip_prefix("data: ") {
            Some("[DONE]") => return Ok((text, rules)),
            Some(event) => add(&serde_json::from_str(event)?)?,
            None => {}
        }
    }
}
