//! An issuer's process, the commands beside it, and a proxy that loses answers.

use portcullis_test_support::root;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TOKEN: &str = "the-token-of-the-only-client";

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    /// The card's public key.
    pub(crate) card: String,
    policy: String,
    store: String,
    issuer: Issuer,
}

/// The issuer's process. All clones are the same process.
#[derive(Clone)]
pub(crate) struct Issuer(Arc<Mutex<State>>);

struct State {
    /// The command line without `--listen`.
    command: Vec<String>,
    address: SocketAddr,
    running: Option<Child>,
}

/// What a proxy does with a request.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Action {
    /// Passes it on, and the answer back.
    Pass,
    /// Closes the connection.
    Lose,
}

impl Scene {
    /// A trust folder, a configuration, and texts. `store` is the issuer's store; `@name` is a file in the folder.
    pub(crate) fn new(store: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let state = State { command: Vec::new(), address, running: None };
        let issuer = Issuer(Arc::new(Mutex::new(state)));
        let mut scene = Self { folder, card: String::new(), policy: String::new(), store: store.to_owned(), issuer };
        let info: serde_json::Value = serde_json::from_str(&scene.output("card info --json")).unwrap();
        scene.card = info["public_key"].as_str().unwrap().to_owned();
        let digests = scene.output("policy digest policies/pii");
        let line = digests.lines().find(|line| line.starts_with("policy")).unwrap();
        scene.policy = line.split_whitespace().last().unwrap().to_owned();
        let write = |name: &str, text: &str| {
            let path = scene.folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            // Some of the files are tokens.
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        write(
            "texts.jsonl",
            "{\"id\":\"a\",\"text\":\"Call the desk.\"}\n{\"id\":\"b\",\"text\":\"The line is closed.\"}\n",
        );
        write("client.token", &format!("{TOKEN}\n"));
        write("other.token", "the-token-of-another-client\n");
        let token = scene.folder.path().join("client.token");
        let (card, policy) = (&scene.card, &scene.policy);
        let config = format!(
            "listen = \"127.0.0.1:0\"\n[[client]]\nname = \"gateway\"\ntoken = {token:?}\n\
             [[card]]\nname = \"card\"\npublic_key = \"{card}\"\n\
             [[policy]]\nname = \"pii\"\ndigest = \"{policy}\"\n"
        );
        write("issuer.toml", &config);
        write("trust/sim-roots/simulation.pem", &scene.output("ca simulation"));
        write("series/.keep", "");
        std::fs::remove_file(scene.folder.path().join("series/.keep")).unwrap();
        write("trust/issuers/registrar.pub", &scene.output(&scene.ticket("key")));
        scene
    }

    fn words(&self, line: &str) -> Vec<String> {
        let below = |name: &str| self.folder.path().join(name).display().to_string();
        line.split(' ').map(|word| word.strip_prefix('@').map_or_else(|| word.to_owned(), below)).collect()
    }

    fn execute(&self, line: &str) -> Output {
        let mut command = Command::new("timeout");
        command.args(["120", env!("CARGO_BIN_EXE_portcullis")]).args(self.words(line));
        command.current_dir(root()).stdin(Stdio::null()).output().unwrap()
    }

    /// Exit code and standard error of a command line.
    pub(crate) fn run(&self, line: &str) -> (Option<i32>, String) {
        let out = self.execute(line);
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    }

    /// Standard output of a command line that succeeds.
    #[track_caller]
    pub(crate) fn output(&self, line: &str) -> String {
        let out = self.execute(line);
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    pub(crate) fn spawn(&self, line: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.args(self.words(line)).current_dir(root()).stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().unwrap()
    }

    /// A command of `ticket` with the issuer's store, key and log.
    pub(crate) fn ticket(&self, command: &str) -> String {
        let store = &self.store;
        format!("ticket {command} --store {store} --key @issuer.key --name registrar --public-log @log")
    }

    pub(crate) fn serve(&self) -> String {
        self.ticket("serve").replace("ticket serve", "authority serve") + " --config @issuer.toml"
    }

    /// A session whose bundle is `series/NUMBER`.
    pub(crate) fn session(&self, number: usize) -> String {
        self.session_with(number, &self.url())
    }

    pub(crate) fn session_with(&self, number: usize, url: &str) -> String {
        format!(
            "run --policy policies/pii --input @texts.jsonl --bundle @series/{number} --issuer {url} --issuer-token \
             @client.token"
        )
    }

    pub(crate) fn ticket_request(&self) -> String {
        let (card, policy, request, zeros) = (&self.card, &self.policy, "07".repeat(16), "00".repeat(32));
        format!(
            "{{\"request\":\"{request}\",\"public_key\":\"{card}\",\"seat\":0,\"policy\":\"{policy}\",\"profile\":\
             \"{zeros}\",\"text_lane\":false,\"witness\":false}}"
        )
    }

    /// The series has this number of bundles, and nothing is missing or contradicted: the exit code is 10 because the
    /// card is simulated.
    #[track_caller]
    pub(crate) fn check_series(&self, count: usize) {
        let verifier = std::path::Path::new(env!("CARGO_BIN_EXE_portcullis")).with_file_name("portcullis-verify");
        let mut command = Command::new(verifier);
        command.args(self.words("verify-series @series --trust @trust --allow-sim --json"));
        let out = command.output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        assert_eq!(out.status.code(), Some(10), "{text}{}", String::from_utf8_lossy(&out.stderr));
        for wrong in ["serial-missing", "serial-twice", "previous-close", "abandoned", "not-closed"] {
            assert!(!text.contains(wrong), "{wrong}: {text}");
        }
        let bundles = std::fs::read_dir(self.folder.path().join("series")).unwrap();
        assert_eq!(bundles.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count(), count);
    }

    /// Number of entries in the public log.
    pub(crate) fn log_size(&self) -> u64 {
        let head = std::fs::read_to_string(self.folder.path().join("log/checkpoint")).unwrap();
        head.lines().nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn issuer(&self) -> Issuer {
        self.issuer.clone()
    }

    pub(crate) fn start(&mut self) {
        let command = self.words(&self.serve());
        self.issuer.0.lock().unwrap().command = command;
        self.issuer.start();
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.issuer.0.lock().unwrap().address)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.issuer.0.lock().unwrap().address).unwrap()
    }

    /// Status of the answer to GET.
    pub(crate) fn get(&self, path: &str) -> u16 {
        let mut stream = self.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].parse().unwrap()
    }

    /// Ends the issuer; returns its exit code.
    pub(crate) fn end(&self, signal: Signal) -> Option<i32> {
        self.issuer.signal(signal);
        self.issuer.wait()
    }

    /// Starts a proxy before the issuer; returns its address. `decide` gets the path of each request, and a function
    /// that passes the request on and drops the answer.
    pub(crate) fn proxy(&self, mut decide: impl FnMut(&str, &dyn Fn()) -> Action + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let upstream = self.issuer.0.lock().unwrap().address;
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let Some((path, request)) = read_request(&client) else { continue };
                let forward = || {
                    let mut server = TcpStream::connect(upstream).unwrap();
                    server.write_all(&request).unwrap();
                    let mut answer = Vec::new();
                    server.read_to_end(&mut answer).unwrap();
                    answer
                };
                if decide(&path, &|| drop(forward())) == Action::Pass {
                    let _ = client.write_all(&forward());
                }
            }
        });
        format!("http://{address}")
    }
}

/// The path of a request, and all of its bytes.
fn read_request(client: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(client);
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let begin = request.len();
        if reader.read_line(&mut request).ok()? == 0 {
            return None;
        }
        let line = request[begin..].to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let path = request.split(' ').nth(1)?.to_owned();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, [request.into_bytes(), body].concat()))
}

impl Issuer {
    pub(crate) fn start(&self) {
        let mut state = self.0.lock().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.args(&state.command).args(["--listen", &state.address.to_string()]);
        command.current_dir(root()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening on http://{}\n", state.address));
        state.running = Some(child);
    }

    /// Kills the process.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.0.lock().unwrap().running.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Kills the process, and starts a new one at the same address.
    pub(crate) fn restart(&self) {
        self.kill();
        self.start();
    }

    pub(crate) fn signal(&self, with: Signal) {
        signal(self.0.lock().unwrap().running.as_ref().unwrap(), with);
    }

    /// Waits for the end of the process; returns its exit code.
    pub(crate) fn wait(&self) -> Option<i32> {
        let child = self.0.lock().unwrap().running.take();
        child.unwrap().wait().unwrap().code()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.issuer.kill();
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

pub(crate) fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(90), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Sends a request up to the first `sent` bytes of its body.
pub(crate) fn begin_post(stream: &mut TcpStream, path: &str, body: &str, sent: usize) {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{}",
        &body[..sent]
    );
    stream.write_all(head.as_bytes()).unwrap();
}

/// Sends the rest of a request; returns the answer.
pub(crate) fn end_post(mut stream: TcpStream, rest: &str) -> String {
    stream.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
