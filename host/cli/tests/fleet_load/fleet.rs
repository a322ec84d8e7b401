//! The processes of the fleet, and how each is killed and started again.

use crate::process::{Process, free_port, installed, root};
use crate::stores::{Database, Server};
use crate::support::Upstream;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const CARDS: usize = 8;
pub(crate) const HOSTS: usize = 2;
const PROGRAM: &str = env!("CARGO_BIN_EXE_portcullis");
const TOKEN: &str = "the-token-of-every-gateway";
/// Longest time until a process serves after its start, or until the fleet serves again after a kill.
const PATIENCE: Duration = Duration::from_secs(240);

pub(crate) struct Fleet {
    folder: PathBuf,
    server: Server,
    database: Database,
    hosts: Vec<Host>,
    cards: Vec<Card>,
    front: String,
    _proxy: Process,
}

/// An issuer and a witness; the ports stay the same after a restart.
struct Host {
    issuer_port: String,
    issuer: Option<Process>,
    witness_port: String,
    witness: Option<Process>,
}

/// A gateway with its card; its seat is its place in the list.
struct Card {
    port: String,
    gateway: Option<Process>,
}

/// The answers about all bundles of the fleet.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Bundles whose answer is "affirmed" or "simulated".
    pub(crate) affirmed: usize,
    pub(crate) warned: usize,
    pub(crate) contradicted: usize,
    pub(crate) records: u64,
}

/// Sends a request with the client's key; returns the status, or 0 if no whole answer came.
pub(crate) fn ask(url: &str, client: usize, body: &Value) -> u16 {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--max-time", "120", "--output", "/dev/null", "--write-out", "%{http_code}"]);
    curl.args(["--header", &format!("authorization: Bearer client-{client}")]);
    curl.args(["--header", "content-type: application/json", "--data", &body.to_string(), url]);
    let out = curl.output().unwrap();
    // With another exit code, the connection ended within the answer.
    if out.status.success() { String::from_utf8(out.stdout).unwrap().parse().unwrap() } else { 0 }
}

fn wait_for(what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Whether a server answers 200 at this path.
fn is_ready(port: &str, path: &str) -> bool {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--fail", "--max-time", "5", "--output", "/dev/null"]);
    curl.arg(format!("http://127.0.0.1:{port}{path}")).status().unwrap().success()
}

impl Fleet {
    /// Starts all processes. `None` without PostgreSQL or HAProxy; the reason is printed.
    pub(crate) fn start(folder: &Path, upstream: &Upstream) -> Option<Self> {
        let server = match Server::make() {
            Ok(server) => server,
            Err(why) => {
                println!("SKIPPED {why}");
                return None;
            }
        };
        let haproxy = root().join(portcullis_tools::tool::target_dir()).join("haproxy");
        let haproxy = portcullis_tools::debian::unpacked("haproxy", "usr/sbin/haproxy", &haproxy);
        let haproxy = installed(haproxy.map(|unpacked| unpacked.unwrap_or_else(|| "/".into())))?;
        let database = server.database();
        fs::create_dir_all(folder.join("trust/sim-roots")).unwrap();
        let front = free_port();
        let cards = (0..CARDS).map(|_| Card { port: free_port(), gateway: None }).collect::<Vec<_>>();
        let proxy = proxy(&haproxy, folder, &front, &cards);
        let host = |_| Host { issuer_port: free_port(), issuer: None, witness_port: free_port(), witness: None };
        let hosts = (0..HOSTS).map(host).collect();
        let mut fleet = Self { folder: folder.to_owned(), server, database, hosts, cards, front, _proxy: proxy };
        fleet.configure(upstream);
        for host in 0..HOSTS {
            fleet.start_witness(host);
            fleet.start_issuer(host);
        }
        for card in 0..CARDS {
            fleet.start_card(card);
        }
        wait_for("HAProxy finds a gateway", || ask(&fleet.url(), 0, &serde_json::json!({})) != 503);
        Some(fleet)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/chat/completions", self.front)
    }

    /// Standard output of a command that succeeds. A word that begins with `@` is a path in the folder.
    #[track_caller]
    fn output(&self, line: &str) -> String {
        let out = self.portcullis(line).output().unwrap();
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn portcullis(&self, line: &str) -> Command {
        let below = |name: &str| self.folder.join(name).display().to_string();
        let word = |word: &str| word.strip_prefix('@').map_or_else(|| word.to_owned(), below);
        let mut command = Command::new(PROGRAM);
        command.current_dir(root()).args(line.split(' ').map(word)).stdin(Stdio::null());
        command
    }

    /// The options of every command over the issuer's store.
    fn store(&self) -> String {
        format!("{} --log-policy @trust/log-policy.txt", self.log())
    }

    /// The same options before there is a policy for the public log.
    fn log(&self) -> String {
        format!("--store {} --key @issuer.pem --name registrar --public-log @log", self.database.issuer)
    }

    /// Writes keys, the trust folder, and the configurations of issuers and gateways.
    fn configure(&self, upstream: &Upstream) {
        let write = |name: String, text: &str| {
            let path = self.folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            // One of the files is a token.
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        };
        let info: Value = serde_json::from_str(&self.output("card info --json")).unwrap();
        let digests = self.output("policy digest policies/pii");
        let policy = digests.lines().find(|line| line.starts_with("policy")).unwrap();
        let seats = (0..CARDS).map(|seat| seat.to_string()).collect::<Vec<_>>().join(", ");
        write("token".into(), &format!("{TOKEN}\n"));
        write(
            "issuer.toml".into(),
            &format!(
                "[[client]]\nname = \"gateways\"\ntoken = {:?}\n[[card]]\nname = \"card\"\npublic_key = {}\nseats = \
                 [{seats}]\n[[policy]]\nname = \"pii\"\ndigest = {:?}\n",
                self.folder.join("token"),
                info["public_key"],
                policy.split_whitespace().last().unwrap(),
            ),
        );
        write("trust/issuers/registrar.pub".into(), &self.output(&format!("ticket key {}", self.log())));
        write("trust/sim-roots/simulation.pem".into(), &self.output("ca simulation"));
        let log = self.output(&format!("ticket log {}", self.log()));
        write("log.pub".into(), log.trim());
        let mut policy = format!("log {log}");
        for (number, host) in self.hosts.iter().enumerate() {
            let key = self.output(&format!("witness key {}", witness_options(number)));
            write(format!("trust/witnesses/{number}.pub"), &key);
            write(format!("witness-{number}.pub"), &key);
            let url = format!("http://127.0.0.1:{}/log", host.witness_port);
            policy += &format!("witness w{number} {} {url}\n", key.trim());
        }
        // One witness at a time is killed.
        write("trust/log-policy.txt".into(), &format!("{policy}group all any w0 w1\nquorum all\n"));
        write("upstream".into(), &format!("http://{}/v1", upstream.address));
    }

    fn start_witness(&mut self, host: usize) {
        let issuer = "--issuer @trust/issuers/registrar.pub";
        let port = &self.hosts[host].witness_port;
        let log = fs::read_to_string(self.folder.join("log.pub")).unwrap();
        let line = format!("witness serve {} {issuer} --log {log} --port {port}", witness_options(host));
        let process = self.serve(&line, &format!("witness-{host}"));
        self.hosts[host].witness = Some(process);
    }

    fn start_issuer(&mut self, host: usize) {
        let port = self.hosts[host].issuer_port.clone();
        let line = format!("authority serve {} --config @issuer.toml --listen 127.0.0.1:{port}", self.store());
        let process = self.serve(&line, &format!("issuer-{host}"));
        self.hosts[host].issuer = Some(process);
        wait_for("an issuer is ready", || is_ready(&port, "/readyz"));
    }

    /// Starts a gateway. It ends again without a session if its issuer cannot give it a ticket yet.
    fn start_card(&mut self, seat: usize) {
        let host = &self.hosts[seat % HOSTS];
        let port = self.cards[seat].port.clone();
        let upstream = fs::read_to_string(self.folder.join("upstream")).unwrap();
        let line = format!(
            "serve --policy policies/pii --card sim --listen 127.0.0.1:{port} --upstream {upstream} --bundles \
             @bundles/seat-{seat} --seat {seat} --issuer http://127.0.0.1:{} --issuer-token @token --issuer-wait 120 \
             --witness 127.0.0.1:{} --witness-key @witness-{}.pub --checkpoint-interval 64",
            host.issuer_port,
            host.witness_port,
            seat % HOSTS,
        );
        fs::create_dir_all(self.folder.join(format!("bundles/seat-{seat}"))).unwrap();
        let process = self.serve(&line, &format!("gateway-{seat}"));
        self.cards[seat].gateway = Some(process);
        wait_for("a gateway is ready", || is_ready(&port, "/readyz"));
    }

    /// Starts a server, whose messages go to a file of this name, and waits for its first line.
    fn serve(&self, line: &str, name: &str) -> Process {
        let log = self.folder.join(format!("{name}.log"));
        let log = fs::File::options().create(true).append(true).open(log).unwrap();
        Process::start(self.portcullis(line).stderr(log)).0
    }

    /// Kills a gateway in the middle of its session, completes its bundle, and starts it again.
    pub(crate) fn kill_card(&mut self, seat: usize) -> &'static str {
        kill(&mut self.cards[seat].gateway);
        let bundles = self.folder.join(format!("bundles/seat-{seat}"));
        let sessions = fs::read_dir(&bundles).unwrap().map(|entry| entry.unwrap().path());
        let last = sessions.filter(|path| path.is_dir()).max().expect("a session");
        self.output(&format!("bundle finish {}", last.display()));
        let info: Value = serde_json::from_str(&self.output("card info --json")).unwrap();
        let key = info["public_key"].as_str().unwrap();
        // If the gateway was killed between the session's end and the report of it, the end is in the bundle. Without a
        // closing checkpoint, nothing can sign an end any more. An issuer that is just restarting changes nothing.
        let issuer =
            format!("--issuer http://127.0.0.1:{} --issuer-token @token", self.hosts[seat % HOSTS].issuer_port);
        let report = format!("ticket report {issuer} --public-key {key} {}", last.display());
        let _ = self.portcullis(&report).output().unwrap();
        let listed = self.output(&format!("ticket list {}", self.store()));
        // The only card is listed with its seat, except for the seat 0.
        let is_own = |line: &&str| match line.split_once(" seat ") {
            Some((_, rest)) => rest.starts_with(&format!("{seat}:")),
            None => seat == 0,
        };
        let pending = listed.lines().filter(is_own);
        let pending = pending.filter(|line| line.ends_with("opened") || line.ends_with("issued"));
        for line in pending {
            let serial = line.split_whitespace().nth(1).unwrap();
            let what = format!("--public-key {key} --seat {seat} --serial {serial} --remark killed");
            self.output(&format!("ticket abandon {} {what}", self.store()));
        }
        self.start_card(seat);
        "gateway"
    }

    pub(crate) fn kill_issuer(&mut self, host: usize) -> &'static str {
        kill(&mut self.hosts[host].issuer);
        self.start_issuer(host);
        "issuer"
    }

    pub(crate) fn kill_witness(&mut self, host: usize) -> &'static str {
        kill(&mut self.hosts[host].witness);
        self.start_witness(host);
        "witness"
    }

    pub(crate) fn crash_database(&mut self) -> &'static str {
        self.server.crash();
        self.server.start();
        for host in &self.hosts {
            wait_for("an issuer is ready", || is_ready(&host.issuer_port, "/readyz"));
        }
        "database"
    }

    /// Ends all gateways as an operator does, then the other processes.
    pub(crate) fn end(&mut self) {
        for card in &mut self.cards {
            card.gateway.take().unwrap().end();
        }
        let listed = self.output(&format!("ticket list {}", self.store()));
        for line in listed.lines() {
            assert!(line.ends_with("closed") || line.ends_with("abandoned"), "{line}");
        }
        for host in &mut self.hosts {
            host.issuer.take().unwrap().end();
            kill(&mut host.witness);
        }
    }

    /// Verifies every bundle, and the sessions of each seat as a series.
    pub(crate) fn check(&self) -> Checked {
        let mut checked = Checked::default();
        for seat in 0..CARDS {
            let bundles = self.folder.join(format!("bundles/seat-{seat}"));
            let sessions = fs::read_dir(&bundles).unwrap().map(|entry| entry.unwrap().path());
            for session in sessions.filter(|path| path.is_dir()) {
                let (code, said) = self.verify(&format!("verify {} --allow-sim", session.display()));
                match code {
                    Some(0 | 10) => checked.affirmed += 1,
                    Some(5) => checked.warned += 1,
                    _ => {
                        println!("{}: {said}", session.display());
                        checked.contradicted += 1;
                    }
                }
                let answer: Value = serde_json::from_str(&said).unwrap();
                checked.records += answer["session"]["records"].as_u64().unwrap_or_default();
            }
            let log = self.folder.join("log");
            let series = format!("verify-series {} --allow-sim --public-log {}", bundles.display(), log.display());
            let (code, said) = self.verify(&series);
            assert!(matches!(code, Some(0 | 5 | 10)), "{said}");
        }
        checked
    }

    fn verify(&self, line: &str) -> (Option<i32>, String) {
        let mut command = Command::new(Path::new(PROGRAM).with_file_name("portcullis-verify"));
        command.args(line.split(' ')).arg("--json").arg("--trust").arg(self.folder.join("trust"));
        let out = command.output().unwrap();
        (out.status.code(), String::from_utf8(out.stdout).unwrap())
    }
}

fn witness_options(host: usize) -> String {
    format!("--store @witness-{host}.sqlite --key @witness-{host}.pem --name witness-{host}")
}

fn kill(process: &mut Option<Process>) {
    let process = process.take().expect("a running process");
    process.signal(rustix::process::Signal::KILL);
    drop(process);
}

/// Starts HAProxy with the configuration of docs/how-to/several-cards.md, with these gateways and ports.
fn proxy(haproxy: &Path, folder: &Path, front: &str, cards: &[Card]) -> Process {
    let page = fs::read_to_string(root().join("docs/how-to/several-cards.md")).unwrap();
    let text = page.split("```haproxy\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
    let shared = text.lines().filter(|line| !line.trim_start().starts_with("server "));
    let mut lines: Vec<String> = shared.map(|line| line.replace(":8080", &format!("127.0.0.1:{front}"))).collect();
    lines.extend(cards.iter().enumerate().map(|(n, card)| format!("  server card-{n} 127.0.0.1:{}", card.port)));
    let path = folder.join("haproxy.cfg");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let mut command = Command::new(haproxy.join("usr/sbin/haproxy"));
    command.env("LD_LIBRARY_PATH", haproxy.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH)));
    Process::silent(command.arg("-f").arg(path).stderr(Stdio::null()))
}
