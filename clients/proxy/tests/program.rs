//! Runs the program as a user does. `host/gateway/tests/checking_client.rs` tests what it serves.
#![cfg(test)]

use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portcullis-proxy")).args(words).output().unwrap()
}

#[test]
fn what_cannot_be_served_is_said_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let trust = folder.path().to_str().unwrap();
    let gateway = ["--gateway", "http://127.0.0.1:1/v1"];
    for (code, more, why) in [
        (2, &[][..], "--trust <DIR>"),
        (1, &["--trust", "/nowhere"], "/nowhere"),
        (1, &["--trust", trust, "--listen", "0.0.0.0:0"], "not of the loopback interface"),
        (1, &["--trust", trust, "--gateway-ca", "/nowhere/ca.pem"], "cannot read `/nowhere/ca.pem`"),
    ] {
        let ended = run(&[&gateway, more].concat());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{said}");
        assert!(said.contains(why) && ended.stdout.is_empty(), "{said}");
    }
    let version = String::from_utf8(run(&["--version"]).stdout).unwrap();
    assert_eq!(version.trim(), concat!("portcullis-proxy ", env!("CARGO_PKG_VERSION")));
}
