//! The programs that are measured, each in its own process.

use super::client::spawn;
use anyhow::{Context, Result, ensure};
use portcullis_tools::setup;
use portcullis_tools::tool::say;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(super) struct MeasuredGateway {
    process: Child,
    base: String,
}

impl Drop for MeasuredGateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl MeasuredGateway {
    pub(super) fn start(program: &Path, card: &str, upstream: SocketAddr) -> Result<Self> {
        Self::with(
            program,
            &["--card", card, "--policy", "policies/pii", "--upstream", &format!("http://{upstream}/v1")],
        )
    }

    /// Starts the gateway with these arguments.
    pub(super) fn with(program: &Path, arguments: &[&str]) -> Result<Self> {
        let mut serve = Command::new(program);
        serve.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        serve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = serve.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let base = line.trim_end().strip_prefix("listening on http://").context("the gateway does not listen")?;
        let base = base.trim_end_matches("/v1").to_owned();
        Ok(Self { process, base })
    }

    pub(super) fn address(&self) -> Result<SocketAddr> {
        Ok(self.base.parse()?)
    }

    pub(super) fn memory(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

/// LiteLLM's proxy, with a guardrail server that accepts every text.
pub(super) struct LiteLlmProxy {
    process: Child,
    pub(super) address: SocketAddr,
}

impl Drop for LiteLlmProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Longest time that the proxy may take to start.
const PATIENCE: Duration = Duration::from_secs(300);

impl LiteLlmProxy {
    /// Starts the proxy in front of a model server, with a configuration in `folder`.
    pub(super) fn start(upstream: SocketAddr, folder: &Path) -> Result<Self> {
        let peers = setup::peers()?;
        let guardrail = allow_everything()?;
        let configuration = json!({
            "model_list": [{"model_name": "m", "litellm_params": {
                "model": "openai/m", "api_base": format!("http://{upstream}/v1"), "api_key": "any"}}],
            "guardrails": [{"guardrail_name": "nothing", "litellm_params": {
                "guardrail": "generic_guardrail_api", "mode": ["pre_call", "post_call"], "default_on": true,
                "api_base": format!("http://{guardrail}"), "fail_on_error": true}}],
            "general_settings": {"master_key": "any"},
        });
        // The configuration is written as JSON, because JSON is valid YAML.
        let path = folder.join("proxy.yaml");
        fs::write(&path, configuration.to_string())?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(peers.join("bin/python"));
        command.arg(peers.join("bin/litellm")).args(["--host", "127.0.0.1", "--port", &address.port().to_string()]);
        command.arg("--config").arg(&path).env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        say("starting LiteLLM's proxy");
        let mut proxy = Self { process: command.spawn().context("cannot start LiteLLM's proxy")?, address };
        let begun = Instant::now();
        while !is_alive(address) {
            ensure!(proxy.process.try_wait()?.is_none(), "LiteLLM's proxy ended");
            ensure!(begun.elapsed() < PATIENCE, "LiteLLM's proxy did not start within {} s", PATIENCE.as_secs());
            thread::sleep(Duration::from_millis(200));
        }
        Ok(proxy)
    }
}

/// Whether a server answers with status 200.
fn is_alive(address: SocketAddr) -> bool {
    let answer = || -> Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(b"GET /health/liveliness HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    answer().is_ok_and(|line| line.split(' ').nth(1) == Some("200"))
}

/// A server of LiteLLM's Generic Guardrail API that accepts every text.
fn allow_everything() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // If a client disconnects, only this client's connection ends.
            let _ = spawn(move || allow(stream));
        }
    })?;
    Ok(address)
}

fn allow(stream: TcpStream) -> Result<()> {
    const BODY: &str = "{\"action\":\"NONE\"}";
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(length) = body_length(&mut reader)? {
        reader.read_exact(&mut vec![0; length])?;
        let length = BODY.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{BODY}")?;
    }
    Ok(())
}

/// Reads the head of a request and returns the length of its body; `None` if the client has disconnected.
pub(super) fn body_length(reader: &mut impl BufRead) -> Result<Option<usize>> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let head = line.trim_end().to_ascii_lowercase();
        if let Some(value) = head.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if head.is_empty() {
            return Ok(Some(length));
        }
    }
}
