//! A gateway over the software model of the card, a scripted model server, and a client that reads raw bytes.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of the support")]

use portcullis_card::transport::model::ModelCard;
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardChoice, CardError, CardTransport, DmaBuffer, SessionConfig, WatchedByte, forward_card};
use portcullis_gate::anchor::AnchorSet;
use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamGovernor};
use portcullis_gateway::config::GatewayConfig;
use portcullis_gateway::session::{GatewaySessions, Opener, RotationRequest, SessionParts};
use portcullis_gateway::{ServeError, logs, serve};
use portcullis_policy::PolicyPackage;
use portcullis_recorder::{RecorderOptions, TextRetention, TicketSource};
use portcullis_sim::SimConfig;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

const MANIFEST: &str = portcullis_test_support::manifest!(
    "door",
    r#"[[class]]
name = "bad"
pattern = [{ regex = '\bbad\w{0,8}' }]
[[class]]
name = "drop"
tool = [{ name = "drop_table" }]
[[class]]
name = "shell"
tool = [{ name = "*", argument = "/command", regex = 'rm -rf' }]
[continuity]
presupposition = false
contradiction = false
discontinuity = false
repetitions = 0
"#
);

const RULES: &str = r#"
@id("ALLOW") permit (principal, action, resource);
@id("NO-BAD") forbid (principal, action, resource) when { context.classes.contains("bad") };
@id("NO-DROP") forbid (principal, action, resource) when { context.classes.contains("drop") };
@id("NO-SHELL") forbid (principal, action, resource) when { context.classes.contains("shell") };
"#;

/// The test policies' text that ends an answer and replaces refused text.
pub const REFUSAL: &str = "<ended>";
pub const PLACEHOLDER: &str = "<withheld>";

/// The test policy: it refuses words with `bad`, `drop_table` and `rm -rf`.
pub fn policy(on_refuse: &str) -> Arc<GatePolicy> {
    policy_of(on_refuse, RULES)
}

/// A shipped package that continues after a refusal.
pub fn redacting(name: &str) -> Arc<GatePolicy> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(name);
    let refusal = format!("[refusal]\non_refuse = \"redact\"\ntext = \"{REFUSAL}\"\nplaceholder = \"{PLACEHOLDER}\"\n");
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for part in ["", "vocabulary/"] {
        for entry in std::fs::read_dir(folder.join(part)).into_iter().flatten().map(Result::unwrap) {
            let path = entry.path();
            if path.is_file() && path.extension().is_some_and(|e| e == "toml" || e == "cedar" || e == "txt") {
                let file = entry.file_name().into_string().unwrap();
                files.insert(format!("{part}{file}"), std::fs::read(path).unwrap());
            }
        }
    }
    files.get_mut("policy.toml").unwrap().extend_from_slice(refusal.as_bytes());
    let package = PolicyPackage::from_files(files).unwrap_or_else(|e| panic!("{e:?}"));
    let compiled = package.compile().unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

/// A policy that refuses nothing.
pub fn lenient_policy() -> Arc<GatePolicy> {
    policy_of("stop", "@id(\"ALLOW\") permit (principal, action, resource);\n")
}

fn policy_of(on_refuse: &str, rules: &str) -> Arc<GatePolicy> {
    let refusal =
        format!("[refusal]\non_refuse = \"{on_refuse}\"\ntext = \"{REFUSAL}\"\nplaceholder = \"{PLACEHOLDER}\"\n");
    let files = BTreeMap::from([
        ("policy.toml".to_owned(), format!("{MANIFEST}{refusal}").into_bytes()),
        ("rules.cedar".to_owned(), rules.as_bytes().to_vec()),
    ]);
    let package = PolicyPackage::from_files(files).unwrap_or_else(|e| panic!("{e:?}"));
    let compiled = package.compile().unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

/// One step of a model server's script.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Waits this long.
    Wait(Duration),
}

/// The head of an answer that is a stream of events.
pub fn event_head() -> Step {
    Step::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

pub fn event(value: &Value) -> Step {
    Step::Write(format!("data: {value}\n\n").into_bytes())
}

/// A chunk of a chat completion with one delta.
pub fn delta(delta: Value) -> Step {
    event(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

pub fn text(text: &str) -> Step {
    delta(json!({"content": text}))
}

/// The end of a chat completion.
pub fn end(reason: &str) -> Vec<Step> {
    vec![
        event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})),
        event(&json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14}})),
        Step::Write(b"data: [DONE]\n\n".to_vec()),
    ]
}

/// A whole chat completion from these deltas.
pub fn chat(deltas: impl IntoIterator<Item = Step>, reason: &str) -> Vec<Step> {
    [event_head()].into_iter().chain(deltas).chain(end(reason)).collect()
}

/// Gives a model server's answer to a request path and body.
pub type Script = Arc<dyn Fn(&str, &Value) -> Vec<Step> + Send + Sync>;

/// A model server.
pub struct Upstream {
    pub address: SocketAddr,
    /// The bodies of the requests that the server got.
    pub asked: Arc<Mutex<Vec<Value>>>,
    /// Number of connections that were closed before the server had written everything.
    pub cut: Arc<AtomicUsize>,
}

impl Upstream {
    pub fn new(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, cut) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (kept, counted) = (Arc::clone(&asked), Arc::clone(&cut));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, kept, counted) = (Arc::clone(&script), Arc::clone(&kept), Arc::clone(&counted));
                std::thread::spawn(move || {
                    let Some((path, body)) = read_request(&stream) else { return };
                    let steps = script(&path, &body);
                    kept.lock().unwrap().push(body);
                    let mut stream = stream;
                    for step in steps {
                        let written = match step {
                            Step::Write(bytes) => stream.write_all(&bytes).and_then(|()| stream.flush()),
                            Step::Wait(time) => {
                                std::thread::sleep(time);
                                Ok(())
                            }
                        };
                        if written.is_err() {
                            counted.fetch_add(1, Ordering::SeqCst);
                            return;
                        }
                    }
                });
            }
        });
        Self { address, asked, cut }
    }
}

pub fn read_request(stream: &TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).ok()?))
}

/// Opens sessions of the simulated card, each with a bundle under `folder`.
pub fn opener(policy: &Arc<GatePolicy>, folder: &Path) -> Opener {
    opener_with(policy, folder, TextRetention::Plain)
}

/// Like [`opener`], with a setting for the texts in bundles.
pub fn opener_with(policy: &Arc<GatePolicy>, folder: &Path, texts: TextRetention) -> Opener {
    let (policy, folder) = (Arc::clone(policy), folder.to_owned());
    let mut sessions = 0;
    Box::new(move |salt: SaltKey| {
        sessions += 1;
        let name = format!("session-{sessions}");
        let mut card: Box<dyn CardTransport> = Box::new(SimCard::new(SimConfig::default()).unwrap());
        let options = RecorderOptions {
            folder: folder.join(&name),
            ticket: TicketSource::SelfIssued,
            approval: None,
            device_cert: None,
            device_chain: None,
            witness: None,
            profile: portcullis_core::state::AgentProfile::default(),
            checkpoint_interval: None,
            texts: texts.clone(),
        };
        let anchors = AnchorSet::new(Vec::new(), &policy.mapper);
        let (recorder, config) = options.start(card.as_mut(), &policy.package, &policy.compiled, &anchors)?;
        let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), GateSettings::new(salt)).unwrap());
        Ok(SessionParts { card, config, recorder: Some(recorder), name, governors: vec![governor] })
    })
}

/// Writes a file of a secret, which only its owner can read.
pub fn write_secret(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Sends a request without a body to an admin listener. Returns the status and the body of the answer.
pub fn request(address: SocketAddr, method: &str, path: &str, head: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let text =
        format!("{method} {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\ncontent-length: 0\r\n{head}\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// An unused address, and the configuration lines that put the admin listener there.
pub fn admin(folder: &tempfile::TempDir) -> (SocketAddr, String) {
    let file = folder.path().join("admin.key");
    write_secret(&file, "the-admin-secret\n");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    (address, format!("[admin]\nlisten = \"{address}\"\nkey = {{ file = \"{}\" }}\n", file.display()))
}

/// Bytes of the log.
pub type LogBytes = Arc<Mutex<Vec<u8>>>;

struct LogWriter(LogBytes);

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log of the process since the first call: all levels of all crates.
pub fn log_lines() -> LogBytes {
    static LINES: OnceLock<LogBytes> = OnceLock::new();
    let start = || {
        let lines = LogBytes::default();
        let kept = Arc::clone(&lines);
        let subscriber = logs::subscriber(move || LogWriter(Arc::clone(&kept)), tracing::Level::TRACE);
        tracing::subscriber::set_global_default(subscriber).unwrap();
        lines
    };
    Arc::clone(LINES.get_or_init(start))
}

/// A gateway that runs in its own thread.
pub struct Gateway {
    pub address: SocketAddr,
    /// Ends the open sessions of all cards.
    pub rotation: RotationRequest,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    served: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Gateway {
    /// A gateway under this policy; `settings` are further lines of its configuration.
    pub fn new(policy: &Arc<GatePolicy>, upstream: &Upstream, settings: &str) -> Self {
        let models = format!("[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n", upstream.address);
        Self::with(policy, &format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{settings}\n{models}"))
    }

    /// A gateway with this configuration.
    pub fn with(policy: &Arc<GatePolicy>, config: &str) -> Self {
        let config = GatewayConfig::parse(config).unwrap();
        let policy = Arc::clone(policy);
        let models = config.models.len();
        let mut sessions = 0;
        let open = move |salt: SaltKey| {
            let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), GateSettings::new(salt)).unwrap());
            sessions += 1;
            Ok(SessionParts {
                card: CardChoice::Model.open().unwrap(),
                config: SessionConfig::default(),
                recorder: None,
                name: format!("session-{sessions}"),
                governors: vec![governor; models],
            })
        };
        Self::over(config, Box::new(open))
    }

    /// A gateway whose card is lost after this many submissions; `model` are further lines of the model's
    /// configuration.
    pub fn with_mortal_card(policy: &Arc<GatePolicy>, upstream: &Upstream, submissions: u32, model: &str) -> Self {
        let config = format!(
            "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n{model}",
            upstream.address
        );
        let policy = Arc::clone(policy);
        let open = move |salt: SaltKey| {
            let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), GateSettings::new(salt)).unwrap());
            Ok(SessionParts {
                card: Box::new(MortalCard::new(submissions)),
                config: SessionConfig::default(),
                recorder: None,
                name: "session".into(),
                governors: vec![governor],
            })
        };
        Self::over(GatewayConfig::parse(&config).unwrap(), Box::new(open))
    }

    /// Waits for the service to end by itself.
    pub fn wait(mut self) -> Result<(), ServeError> {
        self.served.take().map_or(Ok(()), |served| served.join().unwrap())
    }

    /// Starts a gateway that must fail; returns the error.
    pub fn refused(policy: &Arc<GatePolicy>, config: GatewayConfig) -> ServeError {
        let opened = Arc::new(AtomicUsize::new(0));
        let (policy, counted) = (Arc::clone(policy), Arc::clone(&opened));
        let open = move |salt: SaltKey| {
            counted.fetch_add(1, Ordering::SeqCst);
            let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), GateSettings::new(salt)).unwrap());
            Ok(SessionParts {
                card: CardChoice::Model.open().unwrap(),
                config: SessionConfig::default(),
                recorder: None,
                name: "session".into(),
                governors: vec![governor],
            })
        };
        let sessions = GatewaySessions::new(vec![Box::new(open)], &config.rotation, &config.evidence);
        let why = serve(&config, sessions, std::future::pending(), |_| panic!("it listens")).unwrap_err();
        assert_eq!(opened.load(Ordering::SeqCst), 0, "a session was opened: {why}");
        why
    }

    /// A gateway with this configuration and one card, whose sessions come from `open`.
    pub fn over(config: GatewayConfig, open: Opener) -> Self {
        Self::over_cards(config, vec![open])
    }

    /// A gateway with this configuration; the sessions of each card come from its opener.
    pub fn over_cards(config: GatewayConfig, open: Vec<Opener>) -> Self {
        let sessions = GatewaySessions::new(open, &config.rotation, &config.evidence);
        let rotation = sessions.rotation(Duration::from_millis(config.rotation.drain_ms));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let served = std::thread::spawn(move || {
            let stopped = async move {
                let _ = stopped.await;
            };
            serve(&config, sessions, stopped, |address| tell.send(address).unwrap())
        });
        let address = told.recv_timeout(Duration::from_secs(30)).expect("the gateway listens");
        Self { address, rotation, stop: Some(stop), served: Some(served) }
    }

    pub fn stop(mut self) {
        self.end().unwrap();
    }

    /// Ends the service as a signal does; returns its result.
    pub fn stopped(mut self) -> Result<(), ServeError> {
        self.end()
    }

    /// Whether the service has not ended by itself.
    pub fn is_serving(&self) -> bool {
        self.served.as_ref().is_some_and(|served| !served.is_finished())
    }

    fn end(&mut self) -> Result<(), ServeError> {
        self.stop.take().map(|stop| stop.send(()));
        self.served.take().map_or(Ok(()), |served| served.join().unwrap())
    }

    /// Sends a body to a path, and returns the answer.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, body, "")
    }

    /// Like [`Gateway::post`], with further lines in the head.
    pub fn post_with(&self, path: &str, body: &Value, head: &str) -> Answer {
        self.try_post_with(path, body, head).expect("an HTTP head")
    }

    /// Like [`Gateway::post_with`]; `None` if the gateway is gone.
    pub fn try_post_with(&self, path: &str, body: &Value, head: &str) -> Option<Answer> {
        post(self.address, path, body, head)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.raw(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes())
    }

    /// Sends these bytes, and returns the answer.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        self.try_raw(bytes).expect("an HTTP head")
    }

    /// Sends these bytes, and returns the answer; `None` if the gateway is gone.
    pub fn try_raw(&self, bytes: &[u8]) -> Option<Answer> {
        send(self.address, bytes)
    }
}

/// Sends a body to a path of a gateway, with further lines in the head. `None` if the gateway is gone.
pub fn post(address: impl ToSocketAddrs, path: &str, body: &Value, head: &str) -> Option<Answer> {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n{head}\r\n"
    );
    send(address, &[head.as_bytes(), body.as_bytes()].concat())
}

fn send(address: impl ToSocketAddrs, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    (!answer.is_empty()).then(|| Answer::parse(&answer))
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A card that fails after this many submissions.
pub struct MortalCard {
    card: ModelCard,
    left: u32,
}

impl MortalCard {
    pub fn new(submissions: u32) -> Self {
        Self { card: ModelCard::new(), left: submissions }
    }

    fn alive(&self) -> Result<(), CardError> {
        if self.left == 0 { Err(CardError::Gone(0)) } else { Ok(()) }
    }
}

impl CardTransport for MortalCard {
    forward_card!(card: describe, allocate, release, quantum, patience);

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        self.alive()?;
        self.card.read32(address)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.alive()?;
        self.card.write32(address, value)
    }

    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.alive()?;
        self.card.dma_read(buffer, offset, into)
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        // An entry has 128 bytes; the tables that are loaded at OPEN are longer.
        if from.len() == 128 {
            self.left = self.left.saturating_sub(1);
        }
        self.card.dma_write(buffer, offset, from)
    }

    fn wait(&mut self, watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        self.alive()?;
        self.card.wait(watch)
    }
}

/// The response to a client.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// Parses the bytes of a connection.
    pub fn parse(bytes: &[u8]) -> Self {
        let split = bytes.windows(4).position(|at| at == b"\r\n\r\n").expect("an HTTP head");
        let head = String::from_utf8(bytes[..split].to_vec()).unwrap().to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = &bytes[split + 4..];
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_vec() };
        Self { status, head, body: String::from_utf8(body).unwrap() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The data of every event; `[DONE]` and comments are left out.
    pub fn events(&self) -> Vec<Value> {
        let lines = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The `portcullis` object.
    pub fn provenance(&self) -> Value {
        let find =
            |value: &Value| value.get("portcullis").or_else(|| value.get("response")?.get("portcullis")).cloned();
        if self.head.contains("text/event-stream") {
            self.events().iter().rev().find_map(find).unwrap_or(Value::Null)
        } else {
            find(&self.json()).unwrap_or(Value::Null)
        }
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = bytes.windows(2).position(|at| at == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..line]).unwrap(), 16).unwrap();
        let Some(chunk) = bytes.get(line + 2..line + 2 + size) else { break };
        body.extend_from_slice(chunk);
        bytes = bytes.get(line + 4 + size..).unwrap_or_default();
    }
    body
}

/// A chat request of one user message.
pub fn ask(content: &str, stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": content}]})
}

/// The tools that the scripts of the tests call.
pub const TOOLS: [&str; 5] = ["look", "see", "say", "run", "drop_table"];

/// A request to this path, with an offer of [`TOOLS`].
pub fn offering(path: &str, mut request: Value) -> Value {
    let schema = json!({"type": "object"});
    let tool = |name: &str| match path {
        "/v1/messages" => json!({"name": name, "input_schema": schema}),
        "/v1/responses" => json!({"type": "function", "name": name, "parameters": schema}),
        _ => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
    };
    if path != "/v1/completions" {
        request["tools"] = TOOLS.map(tool).into();
    }
    request
}

/// A chat request of one user message, with an offer of [`TOOLS`].
pub fn ask_with_tools(content: &str, stream: bool) -> Value {
    offering("/v1/chat/completions", ask(content, stream))
}

/// The text in a field of the first choice of a chat stream or answer.
pub fn said(answer: &Answer, field: &str) -> String {
    if answer.head.contains("text/event-stream") {
        let piece = |event: &Value| event["choices"][0]["delta"][field].as_str().map(str::to_owned);
        answer.events().iter().filter_map(piece).collect()
    } else {
        answer.json()["choices"][0]["message"][field].as_str().unwrap_or_default().to_owned()
    }
}

/// The end reason of a chat stream or answer.
pub fn finish(answer: &Answer) -> String {
    let reason = |value: &Value| value["choices"][0]["finish_reason"].as_str().map(str::to_owned);
    if answer.head.contains("text/event-stream") {
        answer.events().iter().find_map(reason).unwrap_or_default()
    } else {
        reason(&answer.json()).unwrap_or_default()
    }
}
