//! Processes of a cluster, over loopback.

use portcullis_core::hex;
use portcullis_fleet::cluster::{ClusterClient, SchedulerAddress};
use portcullis_fleet::{AuditOptions, QueryPlace};
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for anything that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The program of this build.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fleet"))
}

/// A process, with its stderr by lines. It is killed when it goes out of scope.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines, seen: Vec::new() }
    }

    /// Waits for a line of stderr with this text.
    #[track_caller]
    pub(crate) fn line(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(why @ (RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) => {
                    panic!("{why:?}: no line with `{text}` in:\n{}", self.seen.join("\n"));
                }
            }
        }
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the end. Returns the status and everything on stderr.
    #[track_caller]
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.runs() {
            assert!(Instant::now() < deadline, "it does not end: {:?}", self.seen);
            thread::sleep(Duration::from_millis(20));
        }
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        (self.child.wait().unwrap(), self.seen.join("\n"))
    }

    pub(crate) fn stdout(&mut self) -> String {
        std::io::read_to_string(self.child.stdout.take().unwrap()).unwrap()
    }

    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    pub(crate) fn interrupt(&self) {
        self.signal("INT");
    }

    pub(crate) fn kill(&self) {
        self.signal("KILL");
    }

    fn signal(&self, signal: &str) {
        let kill = format!("kill -s {signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A scheduler of this program file, and its URL.
pub(crate) fn scheduler(program: &Path) -> (Process, String) {
    let mut process =
        Process::start(Command::new(program).args(["scheduler", "--bind", "127.0.0.1:0", "--executor-timeout", "6"]));
    let ready = process.line("scheduler ready at ");
    (process, ready.rsplit(' ').next().unwrap().to_owned())
}

/// An executor with one thread, which is ready.
pub(crate) fn executor(program: &Path, url: &str, folder: &Path) -> Process {
    let mut process = Process::start(&mut executor_command(program, url, folder));
    process.line("executor ready at ");
    process
}

pub(crate) fn executor_command(program: &Path, url: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["executor", "--scheduler", url, "--threads", "1", "--wait", "5", "--work"]).arg(folder);
    command
}

/// This process as one that asks the cluster of a scheduler.
pub(crate) fn place(url: &str) -> QueryPlace {
    let digest = hex::encode(&Sha256::digest(std::fs::read(program()).unwrap()));
    QueryPlace::Cluster(ClusterClient::new(
        SchedulerAddress::parse(url, false).unwrap(),
        digest,
        Duration::from_secs(10),
    ))
}

/// A cluster that all tests share: a scheduler and two executors.
struct Shared {
    url: String,
    /// The processes end when this process ends, since their shells read from it.
    _held: Vec<Child>,
}

/// These options on the shared cluster.
pub(crate) fn on_shared(options: &AuditOptions) -> AuditOptions {
    static SHARED: OnceLock<Mutex<Shared>> = OnceLock::new();
    let shared = SHARED.get_or_init(|| Mutex::new(start_shared()));
    let place = place(&shared.lock().unwrap().url);
    AuditOptions { place, jobs: 4, ..options.clone() }
}

fn start_shared() -> Shared {
    let folder = std::env::temp_dir();
    let (scheduler, process) = held(&["scheduler", "--bind", "127.0.0.1:0"], "scheduler ready at ");
    let mut processes = vec![process];
    let url = scheduler.rsplit(' ').next().unwrap().to_owned();
    for _ in 0..2 {
        let work = folder.display().to_string();
        let args = ["executor", "--scheduler", &url, "--threads", "1", "--work", &work];
        processes.push(held(&args, "executor ready at ").1);
    }
    Shared { url, _held: processes }
}

/// Starts a process that ends when this one does, however that ends. Returns its line with this text.
fn held(args: &[&str], text: &str) -> (String, Child) {
    const HOLD: &str = r#""$0" "$@" < /dev/null & fleet=$!; cat > /dev/null; kill $fleet; wait $fleet"#;
    let mut command = Command::new("sh");
    command.args(["-c", HOLD]).arg(program()).args(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (sender, lines) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    // Later lines are read too, so that the process never waits for a reader.
    thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    let deadline = Instant::now() + PATIENCE;
    let mut line = String::new();
    while !line.contains(text) {
        line = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).expect(text);
    }
    (line, child)
}

/// A copy of the program that is another program file: a byte follows its end.
pub(crate) fn other_program(folder: &Path) -> PathBuf {
    let path = folder.join("other-fleet");
    let mut content = std::fs::read(program()).unwrap();
    content.push(0);
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}
