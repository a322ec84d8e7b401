//! A start that fails uses no ticket, leaves no bundle and no new key, and says what is wrong and where. A stop that is
//! cut short leaves a bundle that can be finished.
#![cfg(test)]
#![cfg(feature = "sim")]

use portcullis_test_support::root;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const KEY: &str = "0123456789abcdef0123456789abcdef\n";

/// A folder with a ticket, keys, and a configuration.
struct Scene {
    folder: tempfile::TempDir,
    public_key: String,
    policy: String,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut scene = Self { folder, public_key: String::new(), policy: String::new() };
        let info: serde_json::Value = serde_json::from_slice(&scene.run("card info --json").stdout).unwrap();
        scene.public_key = info["public_key"].as_str().unwrap().to_owned();
        let digests = String::from_utf8(scene.run("policy digest policies/pii").stdout).unwrap();
        let line = digests.lines().find(|line| line.starts_with("policy")).unwrap();
        scene.policy = line.split_whitespace().last().unwrap().to_owned();
        std::fs::create_dir(scene.path("tickets")).unwrap();
        scene.issue("1.cose", "");
        scene.secret("client.key", KEY, 0o600);
        std::fs::write(scene.path("in.txt"), "Call the desk.").unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn secret(&self, name: &str, text: &str, mode: u32) {
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn issue(&self, name: &str, more: &str) {
        let (public_key, policy) = (&self.public_key, &self.policy);
        let (code, said) = self.said(&format!(
            "ticket issue --store @tickets.sqlite --key @issuer.key --public-key {public_key} --policy {policy} \
             --output @tickets/{name}{more}"
        ));
        assert_eq!(code, Some(0), "{said}");
    }

    /// Runs a command line; `@name` is a path below the scene's folder.
    fn run(&self, line: &str) -> Output {
        let folder = format!("{}/", self.folder.path().display());
        let words = line.split_whitespace().map(|word| word.replace('@', &folder));
        let mut command = Command::new("timeout");
        command.args(["300", env!("CARGO_BIN_EXE_portcullis")]).args(words);
        command.current_dir(root()).stdin(Stdio::null()).output().unwrap()
    }

    /// Exit code and standard error.
    fn said(&self, line: &str) -> (Option<i32>, String) {
        let out = self.run(line);
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    }

    /// Writes `gateway.toml` with these lines before its model; a line replaces the default line of the same key.
    fn configure(&self, lines: &str) {
        let folder = format!("{}/", self.folder.path().display());
        let mut text = String::new();
        for (key, value) in [("listen", "127.0.0.1:0"), ("policy", "policies/pii"), ("bundles", "@bundles")] {
            if !lines.lines().any(|line| line.starts_with(key)) {
                text += &format!("{key} = \"{value}\"\n");
            }
        }
        text += lines;
        if !lines.contains("[[model]]") {
            text += "\n[[model]]\nname = \"m\"\nupstream = \"http://127.0.0.1:9/v1\"\n";
        }
        std::fs::write(self.path("gateway.toml"), text.replace('@', &folder)).unwrap();
    }

    fn is_untouched(&self, what: &str) {
        assert!(self.path("tickets/1.cose").exists(), "{what}: the ticket was used");
        for folder in ["bundles", "b"] {
            let left = std::fs::read_dir(self.path(folder)).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{what}: something is left in `{folder}`");
            assert!(folder == "bundles" || !self.path(folder).exists(), "{what}: a bundle is left");
        }
    }
}

/// Every reason that can be known before the session.
#[test]
fn a_gateway_that_cannot_start_uses_no_ticket() {
    let scene = Scene::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    scene.secret("short.key", "0123456789abcde\n", 0o600);
    scene.secret("open.key", KEY, 0o644);
    std::fs::write(scene.path("file"), "").unwrap();
    let key = |file: &str| format!("[[key]]\nname = \"a\"\nsecret = {{ file = \"@{file}\" }}\n");
    let model = |more: &str| format!("[[model]]\nname = \"m\"\nupstream = \"http://127.0.0.1:9/v1\"\n{more}\n");
    let admin = |at: &str, file: &str| format!("[admin]\nlisten = \"{at}\"\nkey = {{ file = \"@{file}\" }}\n");
    let witness = scene.run("witness key --store @witness.sqlite --key @witness.key");
    std::fs::write(scene.path("witness.pub"), witness.stdout).unwrap();
    let rows: Vec<(String, String, &str)> = vec![
        (format!("listen = \"{port}\"\n"), String::new(), "cannot listen on"),
        (admin(&port.to_string(), "client.key"), String::new(), "cannot listen on"),
        (admin("127.0.0.1:0", "none.key"), String::new(), "none.key"),
        (admin("127.0.0.1:0", "short.key"), String::new(), "at least 16"),
        (key("none.key"), String::new(), "none.key"),
        (key("short.key"), String::new(), "at least 16"),
        (key("open.key"), String::new(), "chmod 600"),
        ("[tls]\ncertificate = \"@none.pem\"\nkey = \"@client.key\"\n".into(), String::new(), "none.pem"),
        (model("upstream_key = { file = \"@none.key\" }"), String::new(), "none.key"),
        (model("upstream_key = { file = \"@open.key\" }"), String::new(), "chmod 600"),
        (model("upstream_ca = \"@none.pem\""), String::new(), "none.pem"),
        (model("profile = \"@none.toml\""), String::new(), "none.toml"),
        ("lisen = \"127.0.0.1:0\"\n".into(), String::new(), "did you mean `listen`?"),
        ("policy = \"policies/none\"\n".into(), String::new(), "policies/none"),
        (String::new(), "--bundles @file/bundles".into(), "file/bundles"),
        (String::new(), "--device-cert @none.pem".into(), "none.pem"),
        (String::new(), "--approval @none.cose".into(), "none.cose"),
        (String::new(), "--texts sealed:@none.pub".into(), "none.pub"),
        (String::new(), format!("--witness {gone} --witness-key @none.pub"), "none.pub"),
        (String::new(), format!("--witness {gone} --witness-key @witness.pub"), "no connection to the witness"),
        (String::new(), "--anchors @none.jsonl".into(), "none.jsonl"),
    ];
    for (lines, flags, told) in rows {
        scene.configure(&lines);
        let what = format!("{lines}{flags}");
        let bundles = if flags.contains("--bundles") { "" } else { "--bundles @bundles" };
        let (code, said) = scene.said(&format!("serve --config @gateway.toml --tickets @tickets {bundles} {flags}"));
        assert_eq!(code, Some(1), "{what}: {said}");
        assert!(said.contains(told), "{what}: {said}");
        scene.is_untouched(&what);
    }
    // The same ticket opens a session afterwards.
    scene.configure("");
    drop(taken);
    let (code, said) = scene.said("run --policy policies/pii --input @in.txt --ticket @tickets/1.cose --bundle @b");
    assert_eq!(code, Some(0), "{said}");
}

/// The folder for bundles is that of the configuration or of the flag. Without either, flags about bundles are refused.
#[test]
fn flags_about_bundles_hold_for_the_folder_of_the_configuration() {
    let scene = Scene::new();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let witness = scene.run("witness key --store @witness.sqlite --key @witness.key");
    std::fs::write(scene.path("witness.pub"), witness.stdout).unwrap();
    let witnessed = format!("--tickets @tickets --witness {gone} --witness-key @witness.pub");
    for (with_bundles, flags, told) in [
        (true, witnessed.as_str(), "no connection to the witness"),
        (true, "--tickets @tickets --texts sealed:@none.pub", "none.pub"),
        (false, "--tickets @tickets", "needs `bundles`"),
        (false, "--texts none", "`--texts` is about a bundle; give `--bundles DIR`"),
        (false, witnessed.as_str(), "`--witness` is about a bundle; give `--bundles DIR`"),
    ] {
        scene.configure("");
        if !with_bundles {
            let text = std::fs::read_to_string(scene.path("gateway.toml")).unwrap();
            let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("bundles")).collect();
            std::fs::write(scene.path("gateway.toml"), lines.join("\n")).unwrap();
        }
        let (code, said) = scene.said(&format!("serve --config @gateway.toml {flags}"));
        assert_eq!(code, Some(1), "{flags}: {said}");
        assert!(said.contains(told), "{flags}: {said}");
        scene.is_untouched(flags);
    }
}

/// A ticket that the session cannot keep is not claimed from the folder.
#[test]
fn a_ticket_that_does_not_fit_stays_in_its_folder() {
    let scene = Scene::new();
    std::fs::remove_file(scene.path("tickets/1.cose")).unwrap();
    std::fs::remove_file(scene.path("tickets.sqlite")).unwrap();
    for (more, told) in [
        (" --text-lane", "requires the text lane"),
        (" --heartbeat-records 50", "`--witness`"),
        (" --hours 0", "ends in"),
    ] {
        scene.issue("1.cose", more);
        scene.configure("");
        let (code, said) = scene.said("serve --config @gateway.toml --bundles @bundles --tickets @tickets");
        assert_eq!(code, Some(1), "{more}: {said}");
        assert!(said.contains(told), "{more}: {said}");
        scene.is_untouched(more);
        for name in ["tickets/1.cose", "tickets.sqlite"] {
            std::fs::remove_file(scene.path(name)).unwrap();
        }
    }
}

#[test]
fn a_gate_or_a_run_that_cannot_start_leaves_no_bundle() {
    let scene = Scene::new();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let witness = scene.run("witness key --store @witness.sqlite --key @witness.key");
    std::fs::write(scene.path("witness.pub"), witness.stdout).unwrap();
    scene.secret("short.key", "0123456789abcde\n", 0o600);
    scene.secret("open.key", KEY, 0o644);
    let issuer = |file: &str| format!("--issuer http://{gone} --issuer-wait 1 --issuer-token @{file}");
    let ticket = "--ticket @tickets/1.cose";
    let rows = [
        (format!("{ticket} --witness {gone} --witness-key @witness.pub"), "no connection to the witness"),
        (format!("{ticket} --texts sealed:@none.pub"), "none.pub"),
        (format!("{ticket} --approval @none.cose"), "none.cose"),
        (format!("{ticket} --anchors @none.jsonl"), "none.jsonl"),
        (format!("{ticket} --profile @none.toml"), "none.toml"),
        (format!("{ticket} --ledger @none/ledger"), "none/ledger"),
        (issuer("short.key"), "at least 16"),
        (issuer("open.key"), "chmod 600"),
        (issuer("client.key"), "issuer"),
    ];
    let commands = [
        "run --policy policies/pii --input @in.txt --bundle @b",
        "gated --policy policies/pii --socket @gate --bundle @b",
    ];
    for (flags, told) in &rows {
        for command in commands {
            let (code, said) = scene.said(&format!("{command} {flags}"));
            assert_eq!(code, Some(1), "{command} {flags}: {said}");
            assert!(said.contains(told), "{command} {flags}: {said}");
            scene.is_untouched(flags);
        }
    }
    let others = [
        ("run --policy policies/pii --input @none.txt --bundle @b", "none.txt"),
        ("run --policy policies/pii --input @in.txt --bundle @b --output @none/out", "none/out"),
        ("run --policy policies/pii --input @in.txt --bundle @b --engine ngram:@none.txt", "none.txt"),
        (
            "run --policy policies/pii --input @in.txt --bundle @b --engine ngram:@in.txt --prefilter-policy @none.toml",
            "none.toml",
        ),
        ("gated --policy policies/pii --socket @none/gate --bundle @b", "none/gate"),
        ("card bench --policy policies/none", "policies/none"),
    ];
    for (line, told) in others {
        let (code, said) = scene.said(line);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(said.contains(told), "{line}: {said}");
        scene.is_untouched(line);
    }
}

/// A model server that begins an answer and does not end it.
fn endless_model() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut head = String::new();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                reader.read_line(&mut head).unwrap();
                if head.starts_with("GET") {
                    let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
                    return;
                }
                let begun = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(begun.as_bytes());
                let text = |text: &str| {
                    let choice = serde_json::json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
                    format!("data: {}\n\n", serde_json::json!({ "choices": [choice] }))
                };
                // No sentence is like another: a repetition would be refused, and the answer would end.
                let birds = ["Birds", "Robins", "Larks", "Owls", "Finches", "Wrens", "Swallows", "Herons"];
                let verbs = ["sing", "sleep", "wait", "fly", "feed", "nest", "rest", "gather"];
                for (bird, verb) in verbs.iter().flat_map(|verb| birds.iter().map(move |bird| (bird, verb))) {
                    let _ = stream.write_all(text(&format!("{bird} {verb} in the morning. ")).as_bytes());
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
        }
    });
    address
}

/// A gateway process; killed when the test ends.
struct Served {
    process: Child,
    address: String,
    log: PathBuf,
}

impl Served {
    fn start(scene: &Scene) -> Self {
        let log = scene.path("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.args(["serve", "--config"]).arg(scene.path("gateway.toml")).current_dir(root());
        let log_file = std::fs::File::create(&log).unwrap();
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("it listens").replace("/v1", "");
        Self { process, address, log }
    }

    /// Asks for a streamed answer, and waits for its first text.
    fn ask(&self) -> TcpStream {
        let body = r#"{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Birds?"}]}"#;
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let length = body.len();
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let (mut seen, mut buffer) = (String::new(), [0; 4096]);
        while !seen.contains("Birds sing") {
            let count = stream.read(&mut buffer).unwrap();
            assert_ne!(count, 0, "{seen}");
            seen += &String::from_utf8_lossy(&buffer[..count]);
        }
        stream
    }

    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.process), signal).unwrap();
    }

    /// The exit code, if the process ends in this time.
    fn code_within(&mut self, time: Duration) -> Option<i32> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn trust(scene: &Scene) {
    std::fs::create_dir_all(scene.path("trust/sim-roots")).unwrap();
    std::fs::write(scene.path("trust/sim-roots/simulation.pem"), scene.run("ca simulation").stdout).unwrap();
}

/// What `docker stop` and a pod do when the time that they allow is shorter than that of the drain: SIGTERM, then
/// SIGKILL while an answer is open. The times are scaled down.
#[test]
fn a_gateway_that_is_killed_while_it_drains_leaves_a_bundle_that_can_be_finished() {
    let scene = Scene::new();
    trust(&scene);
    scene.configure(&format!(
        "[rotation]\ndrain_ms = 60000\n[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n",
        endless_model()
    ));
    let mut gateway = Served::start(&scene);
    let _open = gateway.ask();
    gateway.signal(rustix::process::Signal::TERM);
    assert_eq!(gateway.code_within(Duration::from_secs(2)), None, "the answer is open, so it drains");
    gateway.signal(rustix::process::Signal::KILL);
    gateway.process.wait().unwrap();
    assert!(!scene.path("bundles/session-000001/manifest.json").exists(), "the bundle is unfinished");
    let (code, said) = scene.said("bundle finish @bundles/session-000001");
    assert!(code == Some(0) || code == Some(10), "{code:?}: {said}");
    let checked = scene.run("check @bundles/session-000001 --trust @trust --allow-sim");
    let shown = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(10), "{shown}");
    assert!(!shown.contains("contradicted"), "{shown}");
}

/// With enough time the same stop leaves a whole bundle, and clients get an error that tells them to ask again.
#[test]
fn a_gateway_that_may_drain_leaves_a_whole_bundle() {
    let scene = Scene::new();
    trust(&scene);
    scene.configure(&format!(
        "[rotation]\ndrain_ms = 500\n[[model]]\nname = \"m\"\nupstream = \"http://{}\"\n",
        endless_model()
    ));
    let mut gateway = Served::start(&scene);
    let mut open = gateway.ask();
    gateway.signal(rustix::process::Signal::TERM);
    let mut rest = String::new();
    open.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("shutting_down") && !rest.contains("gate_failed"), "{rest}");
    assert_eq!(gateway.code_within(Duration::from_secs(60)), Some(0));
    assert!(scene.path("bundles/session-000001/manifest.json").exists());
    let checked = scene.run("check @bundles/session-000001 --trust @trust --allow-sim");
    assert_eq!(checked.status.code(), Some(10), "{}", String::from_utf8_lossy(&checked.stdout));
    // The base has no `/v1`: the log names the URL that was asked.
    let log = std::fs::read_to_string(&gateway.log).unwrap();
    assert!(log.contains("/models\"") && log.contains("ends in `/v1`"), "{log}");
}

/// SIGTERM ends the wait for a ticket.
#[test]
fn a_gateway_that_waits_for_a_ticket_can_be_stopped() {
    let scene = Scene::new();
    std::fs::remove_file(scene.path("tickets/1.cose")).unwrap();
    scene.configure("");
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.args(["serve", "--config"]).arg(scene.path("gateway.toml"));
    command.arg("--bundles").arg(scene.path("bundles"));
    command.arg("--tickets").arg(scene.path("tickets")).current_dir(root()).stdin(Stdio::null());
    let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut gateway = Served { process, address: String::new(), log: PathBuf::new() };
    assert_eq!(gateway.code_within(Duration::from_secs(3)), None, "it waits");
    gateway.signal(rustix::process::Signal::TERM);
    assert_eq!(gateway.code_within(Duration::from_secs(20)), Some(0));
}

#[test]
fn settings_that_are_wrong_are_shown_with_their_line() {
    let scene = Scene::new();
    let files = [
        ("serve --config @a.toml", "[limit]\nrequest_ms = 5\n", 1),
        ("authority serve --store @s.sqlite --key @i.key --config @a.toml", "listn = \"x\"\n", 1),
        ("run --policy policies/pii --profile @a.toml --input @in.txt", "domain = \"support\"\ndomian = \"x\"\n", 2),
        ("prefilter --policy @a.toml @in.txt", "\nthreshhold = \"alert\"\n", 2),
        ("policy compose @c --plan @a.toml", "version = \"1.0.0\"\n[[membre]]\nname = \"x\"\n", 2),
    ];
    for (line, text, number) in files {
        std::fs::write(scene.path("a.toml"), text).unwrap();
        let (code, said) = scene.said(line);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(!said.contains('\u{fffd}'), "{line}: {said}");
        let place = format!("a.toml:{number}:");
        let wrong = text.lines().nth(number - 1).unwrap();
        assert!(said.contains(&place) && said.contains(wrong), "{line}: {said}");
        assert!(said.contains("did you mean") || said.contains("the keys here are"), "{line}: {said}");
        assert!(!scene.path("i.key").exists(), "{line}: a key was made");
    }
    let policy = scene.path("policy");
    std::fs::create_dir(&policy).unwrap();
    let manifest = std::fs::read_to_string(root().join("policies/pii/policy.toml")).unwrap();
    std::fs::write(policy.join("policy.toml"), format!("[pakage]\n{manifest}")).unwrap();
    let (code, said) = scene.said("policy check @policy");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("policy.toml:1:") && said.contains("[pakage]") && said.contains("`package`"), "{said}");
}

/// `serve` without its minimum says what the minimum is.
#[test]
fn missing_flags_of_serve_are_named_once() {
    let scene = Scene::new();
    for flags in ["", "--policy policies/pii", "--upstream http://127.0.0.1:9/v1"] {
        let (code, said) = scene.said(&format!("serve {flags}"));
        assert_eq!(code, Some(2), "{flags}: {said}");
        assert!(said.contains("give `--config FILE`, or `--policy DIR` and `--upstream URL`"), "{flags}: {said}");
    }
}

/// A command that fails leaves no private key, so that the corrected command can make it.
#[test]
fn a_failing_command_leaves_no_new_key() {
    let scene = Scene::new();
    let ca = "ca root --key @new.key";
    let approve = "policy approve policies/pii --key @new.key --new-key --name N";
    let issuer = format!("--public-key {} --policy {} --output @t.cose", scene.public_key, scene.policy);
    std::fs::create_dir(scene.path("public")).unwrap();
    for line in [
        format!("{ca} --subject Example"),
        format!("{approve} --output @none/x"),
        format!("{approve} --output @approval --public @public"),
        format!("ticket issue --store @none/s.sqlite --key @new.key {issuer}"),
        format!("ticket issue --store @s.sqlite --key @new.key --public-log @log --log-policy @none.policy {issuer}"),
        "witness key --store @none/w.sqlite --key @new.key".to_owned(),
        "witness key --store @w.sqlite --key @new.key --issuer @none.pem".to_owned(),
    ] {
        let (code, said) = scene.said(&line);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(!scene.path("new.key").exists(), "{line}: a key is left: {said}");
        assert!(!scene.path("approval").exists(), "{line}: an approval is left");
    }
    let (code, said) = scene.said(&format!("{ca} --subject CN=Example"));
    assert_eq!(code, Some(0), "{said}");
    assert!(scene.path("new.key").exists());
}

/// The services of the issuer and the witness check their settings, and bind their port, before they open or make a key
/// and a store.
#[test]
fn a_service_that_cannot_start_makes_no_store() {
    let scene = Scene::new();
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, port) = (busy.local_addr().unwrap(), busy.local_addr().unwrap().port());
    scene.secret("client.token", "a-token-of-a-client\n", 0o600);
    let token = scene.path("client.token");
    let config = format!(
        "[[client]]\nname = \"c\"\ntoken = {token:?}\n[[card]]\nname = \"k\"\npublic_key = \"{}\"\n\
         [[policy]]\nname = \"pii\"\ndigest = \"{}\"\n",
        scene.public_key, scene.policy
    );
    std::fs::write(scene.path("good.toml"), &config).unwrap();
    std::fs::write(scene.path("twice.toml"), format!("{config}[[client]]\nname = \"d\"\ntoken = {token:?}\n")).unwrap();
    std::fs::write(scene.path("no-card.toml"), config.replace("[[card]]", "[[card]]\nseats = 0")).unwrap();
    let issuer = "authority serve --store @new.sqlite --key @new.key --config";
    let witness = "witness serve --store @new.sqlite --key @new.key";
    for (line, why) in [
        (format!("{issuer} @good.toml --listen {address}"), "cannot listen on"),
        (format!("{issuer} @twice.toml --listen 127.0.0.1:0"), "the token of another client"),
        (format!("{issuer} @no-card.toml --listen 127.0.0.1:0"), "seats"),
        (format!("{issuer} @good.toml --listen 192.0.2.1:0"), "loopback"),
        (format!("{issuer} @none.toml"), "none.toml"),
        (format!("{witness} --port {port}"), "cannot listen on"),
        (format!("{witness} --port 0 --issuer @none.pem"), "none.pem"),
        (format!("{witness} --port 0 --log no-key"), "no-key"),
    ] {
        let (code, said) = scene.said(&line);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(said.contains(why), "{line}: {said}");
        let left: Vec<_> = ["new.key", "new.sqlite", "new.sqlite.marks"].map(|name| scene.path(name)).into();
        assert!(left.iter().all(|path| !path.exists()), "{line}: a key or a store is left");
    }
}
