//! The processes that the tests start.

pub(crate) use portcullis_test_support::root;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) fn kit() -> Option<PathBuf> {
    installed(portcullis_tools::setup::clients())
}

/// The folder of an environment. If it cannot be installed, the reason is printed for the tally of skipped tests.
pub(crate) fn installed<E: std::fmt::Display>(environment: Result<PathBuf, E>) -> Option<PathBuf> {
    let reason = match environment {
        Ok(folder) => return Some(folder),
        Err(error) => format!("\nSKIPPED {error:#}\n"),
    };
    std::io::stdout().write_all(reason.as_bytes()).unwrap();
    None
}

pub(crate) fn python(environment: &Path) -> Command {
    Command::new(environment.join("bin/python"))
}

/// A process that is killed when the test ends.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts a process, whose first line of output must contain its address.
    pub(crate) fn start(command: &mut Command) -> (Self, String) {
        Self::try_start(command).unwrap_or_else(|| panic!("{command:?} ended without a line"))
    }

    /// Like [`Process::start`], for a process that may end before it listens.
    pub(crate) fn try_start(command: &mut Command) -> Option<(Self, String)> {
        let mut process = Self(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().ok()?);
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| (process, line.trim_end().to_owned()))
    }

    /// Starts a process without output.
    pub(crate) fn silent(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Waits for the process to end by itself; returns its exit code.
    pub(crate) fn code(mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
    }

    /// Sends SIGTERM, as an operator does. The process must end without an error.
    pub(crate) fn end(self) {
        self.signal(rustix::process::Signal::TERM);
        assert_eq!(self.code(), Some(0));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a llama.cpp server with a small model on a free port; returns its base URL.
pub(crate) fn model_server(environment: &Path) -> (Process, String) {
    let mut server = python(environment);
    server.arg(root().join("examples/model_server.py")).arg("0").stderr(Stdio::null());
    Process::start(&mut server)
}

pub(crate) fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// Sends a request with curl; returns status and body. The status is 0 if no server listens.
pub(crate) fn curl(url: &str, body: Option<&Value>) -> (u16, String) {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--no-buffer", "--max-time", "300", "--header", "authorization: Bearer any"]);
    curl.args(["--write-out", "%{stderr}%{http_code}", url]);
    if let Some(body) = body {
        curl.args(["--header", "content-type: application/json", "--data", &body.to_string()]);
    }
    let out = curl.output().unwrap();
    let status = String::from_utf8(out.stderr).unwrap().parse().unwrap();
    (status, String::from_utf8(out.stdout).unwrap())
}
