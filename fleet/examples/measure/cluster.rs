//! The audit on a scheduler and two executors with one thread each. All of them are processes of this program.

use crate::{audited, on, rate};
use portcullis_core::hex;
use portcullis_fleet::cluster::{
    ClusterClient, ExecutorOptions, SchedulerAddress, SchedulerOptions, executor, scheduler,
};
use portcullis_fleet::{QueryPlace, TrustFolder};
use portcullis_fleet_core::AuditAnswer;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(60);
/// As `fleet scheduler` has it.
const EXECUTOR_TIMEOUT: u64 = 15;

/// Identifies this program.
fn program() -> String {
    hex::encode(&Sha256::digest(std::fs::read(std::env::current_exe().unwrap()).unwrap()))
}

/// Runs as a process of the cluster if the arguments say so.
pub(crate) fn is_process() -> bool {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (bind, ready) = (SocketAddr::from(([127, 0, 0, 1], 0)), |address: SocketAddr| eprintln!("ready at {address}"));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["scheduler"] => {
            let options =
                SchedulerOptions { bind, allow_network: false, executor_timeout: EXECUTOR_TIMEOUT, program: program() };
            on(2, scheduler(&options, &ready)).unwrap();
        }
        ["executor", url] => {
            let options = ExecutorOptions {
                scheduler: SchedulerAddress::parse(url, false).unwrap(),
                bind,
                allow_network: false,
                threads: 1,
                work: None,
                program: program(),
                wait: WAIT,
            };
            on(2, executor(&options, &ready)).unwrap();
        }
        _ => return false,
    }
    true
}

/// A process of the cluster, which is killed when it goes out of scope.
struct Process(Child);

impl Process {
    /// Starts a process. Returns it with its address once it is ready.
    fn start(args: &[&str]) -> (Self, String) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut process = Self(command.args(args).stderr(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
        let ready = lines.find_map(|line| line.unwrap().strip_prefix("ready at ").map(str::to_owned));
        thread::spawn(move || lines.for_each(drop));
        (process, ready.expect("the process is ready"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures the audit on a cluster, and on one that loses an executor. The answers must be that of one process.
pub(crate) fn measure(tables: &str, trust: &TrustFolder, records: usize, embedded: &(AuditAnswer, Duration)) {
    let (_scheduler, address) = Process::start(&["scheduler"]);
    let url = format!("http://{address}");
    let place =
        || QueryPlace::Cluster(ClusterClient::new(SchedulerAddress::parse(&url, false).unwrap(), program(), WAIT));
    let (_first, _) = Process::start(&["executor", &url]);
    let (second, _) = Process::start(&["executor", &url]);
    let (answer, undisturbed, verified) = audited(tables, trust, 2, place());
    assert_eq!(answer, embedded.0);
    rate("audit, two executor processes: verification", records, verified);
    rate("audit, two executor processes: all of it", records, undisturbed);
    let ratio = undisturbed.as_secs_f64() / embedded.1.as_secs_f64();
    println!("two executor processes take {ratio:.2} times the time of one process with two threads");

    let killed = thread::spawn({
        let middle = undisturbed.mul_f64(0.3);
        move || {
            thread::sleep(middle);
            drop(second);
        }
    });
    let (answer, whole, _) = audited(tables, trust, 2, place());
    killed.join().unwrap();
    assert_eq!(answer, embedded.0);
    let extra = whole.saturating_sub(undisturbed).as_secs_f64();
    println!("with one executor killed after 30 % of that time: {extra:.1} s more ({:.1} s)", whole.as_secs_f64());
}
