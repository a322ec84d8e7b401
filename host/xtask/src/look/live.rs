//! Checks the live page of a running gateway in a real browser, with streams on the simulated card.
//!
//! A proxy stands between the browser and the gateway. Before it passes on a request for the page's figures, it
//! requests another answer from the gateway. So the browser's final content shows whether the page was updated. The
//! proxy also replaces the name of a rule by markup.

use crate::browser::Browser;
use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::demo;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const KEY: &str = "look-secret-of-the-page";
/// The model server's answer. The policy refuses its middle sentence.
const ANSWER: &str = "The line is closed. Write to ana@example.org today. Buses run instead.";
/// The proxy's replacement for a rule's name.
const HOSTILE: &str = "<img src=x onerror=document.title=1></td><script>document.title=2</script>";
const WAIT: Duration = Duration::from_secs(60);
const HEIGHT: u32 = 2400;

/// A gateway that is killed when this value is dropped.
struct GatewayProcess(Child);

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens the page of a running gateway, and saves it as a file for the checks of all pages.
pub(crate) fn see(browser: &Browser, folder: &Path) -> Result<PathBuf> {
    let upstream = model_server()?;
    let [clients, admin] = [free()?, free()?];
    let gateway = start(folder, upstream, clients, admin)?;
    for _ in 0..3 {
        ask(clients)?;
    }
    // One stream, the slow one, stays open.
    thread::spawn(move || ask_for(clients, "slow"));
    await_open_stream(admin)?;
    let made = Arc::new(AtomicUsize::new(0));
    let proxy = proxy(clients, admin, Arc::clone(&made))?;
    let url = format!("http://admin:{KEY}@{proxy}/ui");
    let dom = browser.dom_at(&url, false)?;
    let (updates, page) = (made.load(Ordering::SeqCst), folder.join("live-page.html"));
    fs::write(&page, &dom)?;
    ensure!(updates >= 2, "the page asked for its figures {updates} times in ten seconds");
    let begun = figure(&dom, "Streams")?;
    let begun: usize = begun.rsplit_once(", ").context("a rate and a sum")?.1.trim_end_matches(" in all").parse()?;
    // There are three streams at the start, including the slow one, and one more per update. The last update may not be
    // complete yet.
    ensure!(begun >= 3 + updates, "{begun} streams are shown after {updates} updates");
    ensure!(figure(&dom, "Open streams")? == "1", "one stream is open");
    ensure!(figure(&dom, "State")?.starts_with("open"), "the session is open");
    ensure!(figure(&dom, "Last checkpoint")?.ends_with(" ago"), "a checkpoint is signed once a stream has ended");
    ensure!(dom.contains("&lt;img src=x onerror="), "the name of the rule is shown as it is");
    ensure!(!dom.contains("<img") && dom.matches("<script").count() == 1, "a name became markup");
    ensure!(dom.contains("<title>Gateway</title>"), "a name became a script");
    let (_, lost) = dom.split_once("id=\"lost\"").context("the place for a lost gateway")?;
    ensure!(lost.split_once('>').is_some_and(|(_, rest)| rest.starts_with("</p>")), "the page lost its gateway");
    for said in ["closed", "ana@example.org", "Buses"] {
        ensure!(!dom.contains(said), "the page shows text of an answer: `{said}`");
    }
    for width in super::WIDTHS {
        for dark in [false, true] {
            let shade = if dark { "dark" } else { "light" };
            let picture = folder.join(format!("live-{width}-{shade}.png"));
            browser.screenshot_at(&url, &picture, (width.max(500), HEIGHT), dark)?;
            ensure!(fs::metadata(&picture)?.len() > 20_000, "the picture shows next to nothing");
        }
    }
    // Without the key, the browser does not get any part of the page.
    let refused = browser.dom_at(&format!("http://{proxy}/ui"), false)?;
    ensure!(!refused.contains("Open streams"), "the page is shown without the key");
    drop(gateway);
    Ok(page)
}

/// The value next to a name on the page.
fn figure(dom: &str, name: &str) -> Result<String> {
    let (_, rest) = dom.split_once(&format!(">{name}</td>")).with_context(|| format!("`{name}` is not on the page"))?;
    let cell = rest.split_once('>').and_then(|(_, rest)| rest.split_once("</td>")).context("a cell follows")?.0;
    Ok(cell.to_owned())
}

/// An unused address.
fn free() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Starts the gateway with the policy of the reports; it writes bundles and has the admin listener.
fn start(folder: &Path, upstream: SocketAddr, clients: SocketAddr, admin: SocketAddr) -> Result<GatewayProcess> {
    let (key, config) = (folder.join("admin.key"), folder.join("gateway.toml"));
    fs::write(&key, KEY)?;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
    let text = format!(
        "listen = \"{clients}\"\npolicy = \"policies/pii\"\nbundles = \"{}\"\n[[model]]\nname = \"small\"\n\
         upstream = \"http://{upstream}/v1\"\n[admin]\nlisten = \"{admin}\"\nkey = {{ file = \"{}\" }}\n",
        folder.join("bundles").display(),
        key.display()
    );
    fs::write(&config, text)?;
    let mut command = Command::new(demo::binary()?);
    command.args(["serve", "--card", "sim", "--config"]).arg(&config).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().context("its output")?;
    let gateway = GatewayProcess(child);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    ensure!(line.starts_with("listening on"), "the gateway does not start: `{line}`");
    Ok(gateway)
}

/// Waits until the slow answer has begun, and a checkpoint covers the other answers.
fn await_open_stream(admin: SocketAddr) -> Result<()> {
    let until = Instant::now() + WAIT;
    let mut state = String::new();
    while Instant::now() < until {
        state = exchange(admin, &format!("GET /ui/state HTTP/1.1\r\nhost: a\r\nx-api-key: {KEY}\r\n"), "")?;
        if state.contains("\"stream-0-0\":\"chatcmpl") && state.contains(" ago\"") {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    bail!("no open stream and checkpoint are shown within {} s: {state}", WAIT.as_secs())
}

fn ask(clients: SocketAddr) -> Result<()> {
    ask_for(clients, "now")
}

fn ask_for(clients: SocketAddr, word: &str) -> Result<()> {
    let body =
        format!("{{\"model\":\"small\",\"stream\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"{word}\"}}]}}");
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
    let answer = exchange(clients, &head, &body)?;
    ensure!(answer.contains("The line is closed."), "no answer: {answer}");
    Ok(())
}

/// Sends a request on a new connection, and reads the answer.
fn exchange(to: SocketAddr, head: &str, body: &str) -> Result<String> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Reads the head of a request and its body.
fn read_request(stream: &TcpStream) -> Result<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, String::from_utf8(body)?))
}

/// Starts a model server that always gives the same answer; if a request contains the word `slow`, the end of the
/// answer is slow.
fn model_server() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || -> Result<()> {
                let (_, body) = read_request(&stream)?;
                let delta = |text: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{text}}}]}}\n\n");
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
                // The policy ends an answer at its first refusal, so the slow answer has no text that is refused.
                let is_slow = body.contains("slow");
                let said = if is_slow { "The line is closed. Buses " } else { ANSWER };
                stream.write_all(delta(&format!("{{\"content\":\"{said}\"}}")).as_bytes())?;
                if is_slow {
                    thread::sleep(WAIT * 2);
                }
                let end =
                    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
                Ok(stream.write_all(end.as_bytes())?)
            });
        }
    });
    Ok(address)
}

/// Starts the proxy. The proxy counts in `made` the answers that it has requested.
fn proxy(clients: SocketAddr, admin: SocketAddr, made: Arc<AtomicUsize>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let made = Arc::clone(&made);
            thread::spawn(move || -> Result<()> {
                let (head, _) = read_request(&stream)?;
                let is_state = head.starts_with("GET /ui/state ");
                if is_state {
                    ask(clients)?;
                    made.fetch_add(1, Ordering::SeqCst);
                }
                let kept: String = head
                    .split_inclusive("\r\n")
                    .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"))
                    .collect();
                let answer = exchange(admin, &kept, "")?;
                let (head, body) = answer.split_once("\r\n\r\n").context("a head")?;
                let body = if is_state { with_markup(body)? } else { body.to_owned() };
                let head: String = head
                    .split_inclusive("\r\n")
                    .filter(|line| !line.to_ascii_lowercase().starts_with("content-length:"))
                    .collect();
                let head = format!("{}\r\ncontent-length: {}\r\n\r\n", head.trim_end(), body.len());
                Ok(stream.write_all([head, body].concat().as_bytes())?)
            });
        }
    });
    Ok(address)
}

/// The cells, with markup as the first rule's name.
fn with_markup(cells: &str) -> Result<String> {
    let mut cells: serde_json::Map<String, serde_json::Value> = serde_json::from_str(cells)?;
    ensure!(cells.get("rule-0-1").is_some_and(|count| count != ""), "no rule refused anything");
    cells.insert("rule-0-0".into(), HOSTILE.into());
    Ok(serde_json::to_string(&cells)?)
}
