//! Two gateways, each with its own card, behind HAProxy: when one gateway is killed, the other one serves its clients.

use crate::process::{Process, curl, free_port, installed, root};
use crate::support::{Upstream, chat, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SAID: &str = "The northern line is closed. Use the southern line.";

/// The root of the paths of HAProxy: `/` if it is installed, else the folder in which its package is unpacked.
fn haproxy() -> anyhow::Result<PathBuf> {
    let folder = root().join(portcullis_tools::tool::target_dir()).join("haproxy");
    let unpacked = portcullis_tools::debian::unpacked("haproxy", "usr/sbin/haproxy", &folder)?;
    Ok(unpacked.unwrap_or_else(|| "/".into()))
}

fn gateway(upstream: &Upstream, port: &str, bundles: &Path) -> Process {
    let mut serve = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    serve.current_dir(root()).stderr(Stdio::null());
    serve.args(["serve", "--policy", "policies/pii", "--card", "sim", "--listen", &format!("127.0.0.1:{port}")]);
    serve.args(["--upstream", &format!("http://{}/v1", upstream.address), "--bundles"]).arg(bundles);
    Process::start(&mut serve).0
}

/// Writes the configuration from docs/how-to/several-cards.md with other ports; returns the path of the file.
fn configuration(folder: &Path, front: &str, ports: [&str; 2]) -> PathBuf {
    let page = std::fs::read_to_string(root().join("docs/how-to/several-cards.md")).unwrap();
    let text = page.split("```haproxy\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
    let text = text
        .replace(":8080", &format!("127.0.0.1:{front}"))
        .replace("127.0.0.1:8081", &format!("127.0.0.1:{}", ports[0]));
    let path = folder.join("haproxy.cfg");
    std::fs::write(&path, text.replace("127.0.0.1:8082", &format!("127.0.0.1:{}", ports[1]))).unwrap();
    path
}

#[test]
fn a_gateway_that_dies_loses_only_its_own_answers() {
    let Some(proxy) = installed(haproxy()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::new(Arc::new(|_, _: &Value| chat(SAID.split_inclusive(' ').map(text), "stop")));
    let bundles = ["a", "b"].map(|name| folder.path().join(name));
    let (front, ports) = (free_port(), [free_port(), free_port()]);
    let [first, second] = [0, 1].map(|n| gateway(&upstream, &ports[n], &bundles[n]));
    let mut command = Command::new(proxy.join("usr/sbin/haproxy"));
    command.env("LD_LIBRARY_PATH", proxy.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH)));
    let configuration = configuration(folder.path(), &front, [&ports[0], &ports[1]]);
    let proxy = Process::silent(command.arg("-f").arg(configuration).stderr(Stdio::null()));

    let url = format!("http://127.0.0.1:{front}/v1/chat/completions");
    let ask = |user: usize| {
        let body = json!({"model": "m", "user": user.to_string(), "messages": [{"role": "user", "content": "News?"}]});
        curl(&url, Some(&body))
    };
    let begun = Instant::now();
    while ask(0).0 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "HAProxy finds the gateways");
        std::thread::sleep(Duration::from_millis(100));
    }
    let (over, killed, late) = (AtomicBool::new(false), AtomicBool::new(false), Mutex::new(Vec::new()));
    let (good, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for user in 0..4 {
            let (ask, over, killed, late, good, lost) = (&ask, &over, &killed, &late, &good, &lost);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let after = killed.load(Ordering::SeqCst);
                    let (status, body) = ask(user);
                    if status == 200 {
                        let answer: Value = serde_json::from_str(&body).expect("a whole answer");
                        assert_eq!(answer["choices"][0]["message"]["content"], SAID);
                        good.fetch_add(1, Ordering::SeqCst);
                    } else {
                        assert!(killed.load(Ordering::SeqCst), "{status}: {body}");
                        lost.fetch_add(1, Ordering::SeqCst);
                    }
                    if after {
                        late.lock().unwrap().push(status);
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        killed.store(true, Ordering::SeqCst);
        first.signal(rustix::process::Signal::KILL);
        let begun = Instant::now();
        while late.lock().unwrap().len() < 20 && begun.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(50));
        }
        over.store(true, Ordering::SeqCst);
    });
    let late = late.into_inner().unwrap();
    println!("{good:?} answers, {lost:?} lost; {} asked for after the death", late.len());
    // Requests are lost only if the killed gateway had them, or if HAProxy had not yet noticed its end.
    assert!(late.len() >= 20 && late.iter().rev().take(late.len() / 2).all(|status| *status == 200), "{late:?}");
    drop(first);
    second.end();
    drop(proxy);

    // The bundle of the killed gateway can be completed, and both bundles verify.
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_portcullis")).current_dir(root()).args(arguments).output().unwrap()
    };
    let [dead, ended] = bundles.map(|bundles| bundles.join("session-000001").to_str().unwrap().to_owned());
    let finished = run(&["bundle", "finish", &dead]);
    assert_eq!(finished.status.code(), Some(0), "{}", String::from_utf8_lossy(&finished.stderr));
    let trust = folder.path().join("trust");
    std::fs::create_dir_all(trust.join("sim-roots")).unwrap();
    std::fs::write(trust.join("sim-roots/simulation.pem"), run(&["ca", "simulation"]).stdout).unwrap();
    for bundle in [dead, ended] {
        let said = run(&["check", &bundle, "--trust", trust.to_str().unwrap(), "--allow-sim"]);
        assert_eq!(said.status.code(), Some(10), "{}", String::from_utf8_lossy(&said.stdout));
    }
}
