//! A test engine behind HTTP with prepared answers, correct or faulty: `/v1/completions` and llama.cpp's `/completion`.
//!
//! A step is a line with a JSON list of alternatives: `["text", {"text", "logprobs": [-0.1]}]`. The first prompt gets
//! the first step; a prompt that was seen before gets the same step as before. The seed selects the alternative.
//! Log-probabilities belong to the words of the text; the last log-probability covers the rest of the text.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer takes an hour.
    Slow,
    /// The connection is closed without an answer.
    Drop,
    Cut,
    /// The body is not JSON.
    Garbage,
    /// The body is JSON with unexpected fields.
    Shape,
    Utf8,
    /// The body never ends.
    Endless,
    /// The answer has status 500.
    Status,
    /// The log-probabilities are not numbers below zero.
    Logprobs,
}

/// A server on a free local port; it stops when it is dropped.
pub struct Server {
    /// The server's address in the form `http://ADDRESS`.
    pub address: String,
    steps: Arc<Steps>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Steps {
    list: Vec<Vec<Value>>,
    /// Prompts in order of arrival, each with its first seed.
    prompts: Mutex<Vec<(String, u64)>>,
    /// The fault, and the number of correct answers that come before it.
    fault: Option<(Fault, usize)>,
    requests: Mutex<Vec<String>>,
}

impl Server {
    /// Serves the steps. If a fault is given, this number of requests is answered correctly before it.
    pub fn start(steps: &str, fault: Option<(Fault, usize)>) -> Self {
        Self::at("127.0.0.1:0", steps, fault).unwrap()
    }

    pub fn at(address: &str, steps: &str, fault: Option<(Fault, usize)>) -> io::Result<Self> {
        let lines = steps.lines().filter(|line| !line.trim().is_empty());
        let list = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
        let steps = Arc::new(Steps { list, prompts: Mutex::default(), fault, requests: Mutex::default() });
        let listener = TcpListener::bind(address)?;
        let address = format!("http://{}", listener.local_addr()?);
        let stopped = Arc::new(AtomicBool::new(false));
        let (answers, stop) = (Arc::clone(&steps), Arc::clone(&stopped));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let steps = Arc::clone(&answers);
                // If a client disconnects, only this client's request ends.
                std::thread::spawn(move || steps.answer(stream).ok());
            }
        });
        Ok(Self { address, steps, stopped, thread: Some(thread) })
    }

    /// The bodies of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.steps.requests.lock().unwrap().clone()
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        self.thread.take().map(JoinHandle::join);
    }
}

/// Splits a text into `count` tokens of one word each; the last token also has the rest.
fn tokens(text: &str, count: usize) -> Vec<&str> {
    text.splitn(count.max(1), ' ')
        .enumerate()
        .map(|(at, word)| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            &text[start.saturating_sub(usize::from(at > 0))..start + word.len()]
        })
        .take(count)
        .collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.stopped.store(true, Ordering::SeqCst);
        // This connection wakes the listener, so that it can stop.
        drop(TcpStream::connect(self.address.trim_start_matches("http://")));
        let _ = thread.join();
    }
}

impl Steps {
    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = String::new();
        reader.take(length).read_to_string(&mut body)?;
        let request: Value = serde_json::from_str(&body)?;
        let number = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(body);
            requests.len()
        };
        let fault = self.fault.filter(|(_, after)| number > *after).map(|(fault, _)| fault);
        let openai = first.contains("/v1/completions");
        let (text, logprobs) = self.step(&request);
        let logprobs = if fault == Some(Fault::Logprobs) { vec![json!(7.5), json!(7.5)] } else { logprobs };
        let answer = if openai {
            let logprobs = json!({"tokens": tokens(&text, logprobs.len()), "token_logprobs": logprobs});
            let choice = json!({"text": text, "finish_reason": "stop", "logprobs": logprobs});
            json!({"object": "text_completion", "choices": [choice]})
        } else {
            let tokens = tokens(&text, logprobs.len());
            let tokens =
                tokens.iter().zip(&logprobs).map(|(token, logprob)| json!({"token": token, "logprob": logprob}));
            json!({"content": text, "stop": true, "completion_probabilities": tokens.collect::<Vec<_>>()})
        };
        let mut bytes = serde_json::to_vec(&answer)?;
        let mut status = "200 OK";
        let mut length = None;
        match fault {
            Some(Fault::Slow) => std::thread::sleep(Duration::from_secs(3600)),
            Some(Fault::Drop) => return Ok(()),
            Some(Fault::Cut) => {
                length = Some(bytes.len());
                bytes.truncate(bytes.len() / 2);
            }
            Some(Fault::Garbage) => bytes.fill(b'?'),
            Some(Fault::Shape) => bytes = br#"{"choices": "none", "content": 7}"#.to_vec(),
            Some(Fault::Utf8) if openai => bytes = b"{\"choices\":[{\"text\":\"\xff\"}]}".to_vec(),
            Some(Fault::Utf8) => bytes = b"{\"content\":\"\xff\"}".to_vec(),
            Some(Fault::Status) => status = "500 Internal Server Error",
            Some(Fault::Endless) => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")?;
                loop {
                    stream.write_all(&[b' '; 4096])?;
                }
            }
            Some(Fault::Logprobs) | None => {}
        }
        let length = length.unwrap_or(bytes.len());
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&bytes)
    }

    /// Text and log-probabilities for a request. Both are empty after the last step or alternative.
    fn step(&self, request: &Value) -> (String, Vec<Value>) {
        let (prompt, seed) = (request["prompt"].as_str().unwrap(), request["seed"].as_u64().unwrap());
        let mut prompts = self.prompts.lock().unwrap();
        let at = prompts.iter().position(|(known, _)| known == prompt).unwrap_or_else(|| {
            prompts.push((prompt.to_owned(), seed));
            prompts.len() - 1
        });
        let alternative = seed.saturating_sub(prompts[at].1) as usize;
        match self.list.get(at).and_then(|step| step.get(alternative)) {
            Some(Value::String(text)) => (text.clone(), Vec::new()),
            Some(full) => {
                (full["text"].as_str().unwrap().to_owned(), full["logprobs"].as_array().cloned().unwrap_or_default())
            }
            None => (String::new(), Vec::new()),
        }
    }
}
