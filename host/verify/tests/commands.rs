//! Runs the commands as a user does, on bundles on disk.
#![cfg(test)]

use portcullis_test_support::world;

use portcullis_authority::keys::public_pem;
use portcullis_core::hex;
use portcullis_core::wire::Determination;
use portcullis_evidence::bundle::{self, MemoryFiles};
use portcullis_evidence::note::WitnessKey;
use portcullis_evidence::verify::Code;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use world::{Card, START, World, remanifest, sha};
use zerocopy::IntoBytes;

struct Scene {
    world: World,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { world: World::new(), folder: tempfile::tempdir().unwrap() };
        let world = &scene.world;
        let put = |name: &str, text: &str| {
            let path = scene.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let witness = WitnessKey::new("witness.example/1", world.witness.verifying_key()).unwrap();
        put("trust/roots/test.pem", &world.root.certificate_pem().unwrap());
        put("trust/sim-roots/test.pem", &world.sim_root.certificate_pem().unwrap());
        put("trust/issuers/registrar.pub", &public_pem(&world.issuer.verifying_key()).unwrap());
        put("trust/approvers/board.pub", &public_pem(&world.approver.verifying_key()).unwrap());
        put("trust/witnesses/one.pub", &format!("{witness}\n"));
        put("trust/revoked.txt", "# none\n");
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bundle(&self, name: &str, files: &MemoryFiles) -> PathBuf {
        let folder = self.path(name);
        for (name, content) in &files.0 {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    fn run(&self, command: &str, args: &[&str]) -> Output {
        let trusting = ["verify", "verify-series", "check-receipt", "report"].contains(&command);
        let trust = self.path("trust");
        let mut run = Command::new(env!("CARGO_BIN_EXE_portcullis-verify"));
        run.arg(command).args(args);
        if trusting {
            run.arg("--trust").arg(trust);
        }
        run.output().unwrap()
    }
}

#[track_caller]
fn assert_code(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}\n{errors}");
    text
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn verify_says_what_holds() {
    let scene = Scene::new();
    let parts = scene.world.honest();
    let honest = scene.bundle("honest", &parts.files());
    let said = assert_code(&scene.run("verify", &[text(&honest)]), 0);
    assert_eq!(said.matches("affirmed").count(), 6, "{said}");
    assert!(
        said.contains("assurance    L2") && said.contains("3 admitted, 1 rejected, 1 decomposed, 1 refused"),
        "{said}"
    );
    let json = assert_code(&scene.run("verify", &[text(&honest), "--json"]), 0);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["status"], &report["exit_code"]), (&"affirmed".into(), &0.into()));
    assert_eq!(report["session"]["key_id"].as_str().unwrap().len(), 64);

    // The cases: warned, contradicted, not a bundle, missing, usage error.
    let mut unwitnessed = parts.clone();
    unwitnessed.witnessed = false;
    let unwitnessed = scene.bundle("unwitnessed", &unwitnessed.files());
    assert!(assert_code(&scene.run("verify", &[text(&unwitnessed)]), 5).contains("no-witness"));
    let mut forged = parts.clone();
    forged.log.lanes[0][4].answer.determination = Determination::Admit.into();
    let forged = scene.bundle("forged", &forged.files());
    assert!(assert_code(&scene.run("verify", &[text(&forged)]), 3).contains("checkpoint-root"));
    fs::write(honest.join("extra.txt"), "").unwrap();
    let refused = scene.run("verify", &[text(&honest)]);
    assert!(assert_code(&refused, 3).is_empty() && String::from_utf8_lossy(&refused.stderr).contains("extra.txt"));
    let json = assert_code(&scene.run("verify", &[text(&honest), "--json"]), 3);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["status"], "contradicted");
    assert_code(&scene.run("verify", &["/nowhere"]), 1);
    assert_code(&scene.run("verify", &[]), 2);
}

/// Runs a command on a terminal of 60 columns, with `script` of util-linux.
fn on_a_terminal(scene: &Scene, words: &str, environment: &[(&str, &str)]) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_portcullis-verify");
    let trust = scene.path("trust");
    let command = format!("stty cols 60 rows 40; {program} {words} --trust {}", trust.display());
    let mut run = Command::new("script");
    run.args(["--quiet", "--return", "--command", &command, "/dev/null"]).stdin(Stdio::null());
    run.env("TERM", "xterm").env_remove("NO_COLOR").envs(environment.iter().copied());
    let output = run.output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    // The progress bar uses the same terminal, and clears its line.
    (output.status.code().unwrap(), shown.rsplit("\u{1b}[2K").next().unwrap().to_owned())
}

#[test]
fn a_terminal_gets_colours_and_lines_that_fit() {
    const RED: &str = "\u{1b}[1;31m";
    let scene = Scene::new();
    let mut parts = scene.world.honest();
    parts.log.lanes[0][4].answer.determination = Determination::Admit.into();
    let forged = scene.bundle("forged", &parts.files());
    let words = format!("verify {}", text(&forged));
    let (code, shown) = on_a_terminal(&scene, &words, &[]);
    assert!(code == 3 && shown.starts_with(&format!("verdict      {RED}contradicted\u{1b}[0m\n")), "{code} {shown:?}");
    let plain = shown.replace(RED, "").replace("\u{1b}[32m", "").replace("\u{1b}[33m", "").replace("\u{1b}[0m", "");
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let wide = |line: &&str| line.chars().count() > 60 && line.trim().contains(' ');
    assert_eq!(plain.lines().find(wide), None, "a line of words is wider than the terminal");
    // Output to a pipe is not wrapped.
    let piped = assert_code(&scene.run("verify", &[text(&forged)]), 3);
    assert!(!piped.contains('\u{1b}') && piped.lines().any(|line| line.len() > 80), "{piped}");
    assert!(plain.split_whitespace().eq(piped.split_whitespace()), "{plain}\n{piped}");
    for (option, environment) in [("", &[("NO_COLOR", "1")][..]), ("", &[("TERM", "dumb")]), ("--color never", &[])] {
        let (code, shown) = on_a_terminal(&scene, &format!("{words} {option}"), environment);
        assert!(code == 3 && !shown.contains('\u{1b}') && shown.contains("contradicted"), "{option} {environment:?}");
    }
    let coloured = assert_code(&scene.run("verify", &[text(&forged), "--color", "always"]), 3);
    assert!(coloured.contains(RED), "{coloured}");
    let json = assert_code(&scene.run("verify", &[text(&forged), "--json", "--color", "always"]), 3);
    assert!(!json.contains('\u{1b}'), "{json}");
    // Errors are wrapped for the terminal of stderr.
    let (code, shown) = on_a_terminal(&scene, "verify /nowhere/at/all/that/anybody/could/have/put/a/bundle", &[]);
    assert!(code == 1 && shown.starts_with(&format!("{RED}error:\u{1b}[0m")), "{code} {shown:?}");
}

/// The verdict comes first, then the claim of each part, then advice.
#[test]
fn a_report_begins_with_its_verdict_and_says_what_to_do() {
    let scene = Scene::new();
    let simulated = scene.bundle("simulated", &scene.world.session(&Card::simulated(), 1, [0; 32]).files());
    let said = assert_code(&scene.run("verify", &[text(&simulated), "--allow-sim"]), 10);
    assert!(said.starts_with("verdict      warned\n             What was checked holds."), "{said}");
    assert_eq!(said.matches("claim: ").count(), 5, "{said}");
    // All marks of a simulated card are on one line.
    let line = said.lines().find(|line| line.contains("sim-design")).unwrap();
    assert!(["sim-flag", "sim-key", "sim-root"].iter().all(|code| line.contains(code)), "{line}");
    assert_eq!(said.matches("sim-").count(), 4, "{said}");
    for code in Code::ALL.iter().filter(|code| said.contains(&format!("- {code}: "))) {
        assert!(said.contains(&format!("  to do: {}\n", code.remedy())), "{code}: {said}");
    }
    let honest = scene.bundle("honest", &scene.world.honest().files());
    let said = assert_code(&scene.run("verify", &[text(&honest)]), 0);
    let line = said.lines().find(|line| line.starts_with("witnessed")).unwrap();
    let times: Vec<&str> = line.split_whitespace().skip(1).filter(|word| *word != "to").collect();
    assert!(times.len() == 2 && times.iter().all(|time| time.len() == 20 && time.ends_with('Z')), "{line}");
    assert!(!said.contains("1970-"), "{said}");
}

#[test]
fn simulated_evidence_is_never_zero() {
    let scene = Scene::new();
    let files = scene.world.session(&Card::simulated(), 1, [0; 32]).files();
    let simulated = scene.bundle("simulated", &files);
    assert_code(&scene.run("verify", &[text(&simulated)]), 3);
    let said = assert_code(&scene.run("verify", &[text(&simulated), "--allow-sim"]), 10);
    assert!(
        said.contains("\nSIMULATED    the key of this card is public") && said.contains("assurance    L0"),
        "{said}"
    );
}

#[test]
fn trust_folders_are_strict() {
    let scene = Scene::new();
    let honest = scene.bundle("honest", &scene.world.honest().files());
    for (name, content) in [
        ("trust/revoke.txt", ""),
        ("trust/roots/readme", ""),
        ("trust/roots/broken.pem", "x"),
        ("trust/sim-roots/broken.pem", "x"),
        ("trust/issuers/broken.pub", "x"),
        ("trust/approvers/broken.pub", "x"),
        ("trust/approvers/board", ""),
        ("trust/witnesses/broken.pub", "x"),
    ] {
        fs::write(scene.path(name), content).unwrap();
        let output = scene.run("verify", &[text(&honest)]);
        assert_code(&output, 1);
        assert!(String::from_utf8_lossy(&output.stderr).contains(name.rsplit('/').next().unwrap()), "{output:?}");
        fs::remove_file(scene.path(name)).unwrap();
    }
    fs::write(scene.path("trust/revoked.txt"), format!("design {}\n", "11".repeat(16))).unwrap();
    assert!(assert_code(&scene.run("verify", &[text(&honest)]), 3).contains("revoked"));
}

#[test]
fn series() {
    let scene = Scene::new();
    let first = scene.world.honest();
    let close = sha(first.log.checkpoints.last().unwrap().as_bytes());
    let second = scene.world.session(&scene.world.card, 2, close).after(&first);
    scene.bundle("series/b", &first.files());
    scene.bundle("series/a", &second.files());
    let series = scene.path("series");
    let said = assert_code(&scene.run("verify-series", &[text(&series)]), 0);
    assert!(said.find("1  b\n").unwrap() < said.find("2  a\n").unwrap(), "in order of serials: {said}");
    fs::remove_dir_all(series.join("b")).unwrap();
    assert!(assert_code(&scene.run("verify-series", &[text(&series)]), 3).contains("serial-missing"));
    // A session that runs has no manifest yet.
    scene.bundle("series/b", &first.files());
    let running = scene.bundle("series/d", &second.files());
    fs::remove_file(running.join("manifest.json")).unwrap();
    let said = assert_code(&scene.run("verify-series", &[text(&series)]), 5);
    assert!(said.contains("warned unfinished: d: "), "{said}");
    // Regression: an entry that is not a bundle hid all others.
    let broken = scene.bundle("series/e", &first.files());
    fs::remove_file(broken.join("ticket.cose")).unwrap();
    fs::create_dir(series.join("c")).unwrap();
    let said = assert_code(&scene.run("verify-series", &[text(&series)]), 3);
    for part in ["1  b\n", "2  a\n", "contradicted no-bundle: c: ", "contradicted no-bundle: e: ", "unfinished: d: "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = assert_code(&scene.run("verify-series", &[text(&series), "--json"]), 3);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((report["sessions"].as_array().unwrap().len(), &report["exit_code"]), (2, &3.into()));
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["no-bundle", "no-bundle", "unfinished"]);
}

/// Regression: a missing bundle gave code 1, but an empty folder or a file of the macOS Finder gave 3 without advice,
/// although 3 means contradicted evidence.
#[test]
fn what_holds_no_bundle_is_named() {
    let scene = Scene::new();
    let files = scene.world.honest().files();
    fs::create_dir(scene.path("empty")).unwrap();
    fs::write(scene.path("file"), "no bundle").unwrap();
    fs::write(scene.path("b.tgz"), b"\x1f\x8b\x08\0rest").unwrap();
    fs::write(scene.path("b.zip"), b"PK\x03\x04rest").unwrap();
    for (name, message) in [
        ("nowhere", "No such file or directory"),
        ("empty", "the folder is empty"),
        ("file", "neither a folder nor a tar archive"),
        ("b.tgz", "a gzip file: unpack it first"),
        ("b.zip", "a zip file: unpack it first"),
    ] {
        let output = scene.run("verify", &[text(&scene.path(name))]);
        assert_code(&output, 1);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&format!("/{name}` holds no bundle: ")), "{said}");
        assert_eq!(said.matches(message).count(), 1, "{said}");
    }
    for (number, litter) in
        [".DS_Store", "contexts/._a.json", "Thumbs.db", "records/desktop.ini"].into_iter().enumerate()
    {
        let folder = scene.bundle(&format!("littered-{number}"), &files);
        fs::write(folder.join(litter), "x").unwrap();
        let output = scene.run("verify", &[text(&folder)]);
        assert_code(&output, 1);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(litter) && said.contains("remove it"), "{said}");
    }
    // Regression: empty folders were accepted under any name.
    let folder = scene.bundle("folders", &files);
    fs::create_dir_all(folder.join("texts/of another")).unwrap();
    let output = scene.run("verify", &[text(&folder)]);
    assert_code(&output, 3);
    assert!(String::from_utf8(output.stderr).unwrap().contains("texts/"), "the folder is named");
}

#[test]
fn receipts() {
    let scene = Scene::new();
    let parts = scene.world.honest();
    let honest = scene.bundle("honest", &parts.files());
    let (proof, receipt, span) = (scene.path("proof.json"), scene.path("receipt.json"), scene.path("span.txt"));
    let index = parts.receipts[0]["index"].to_string();
    assert_code(&scene.run("prove", &[text(&honest), "--index", &index, "--output", text(&proof)]), 0);
    assert_code(&scene.run("prove", &[text(&honest), "--index", &index, "--output", text(&proof)]), 1);
    assert_code(&scene.run("prove", &[text(&honest), "--index", "14", "--output", text(&span)]), 1);
    fs::write(&receipt, format!("{}\n", parts.receipts[0])).unwrap();
    fs::write(&span, "The dose is 5 mg.").unwrap();
    let at = START.to_string();
    let args = [text(&proof), "--receipt", text(&receipt), "--text", text(&span), "--at", &at];
    assert!(assert_code(&scene.run("check-receipt", &args), 0).contains("admitted"));
    assert!(assert_code(&scene.run("check-receipt", &args[..5]), 5).contains("--at"));
    // The line break that an editor adds is not an accusation; any other difference is.
    for end in ["\n", "\r\n"] {
        fs::write(&span, format!("The dose is 5 mg.{end}")).unwrap();
        assert!(assert_code(&scene.run("check-receipt", &args), 5).contains("without the line break at its end"));
    }
    for other in ["The dose is 5 mg.\n\n", "The dose is 50 mg.\n", "The dose is 50 mg."] {
        fs::write(&span, other).unwrap();
        assert_code(&scene.run("check-receipt", &args), 3);
    }
    fs::write(&receipt, "{}").unwrap();
    assert_code(&scene.run("check-receipt", &args), 3);
    fs::write(&proof, "{").unwrap();
    assert_code(&scene.run("check-receipt", &args), 3);
    fs::remove_file(&proof).unwrap();
    assert_code(&scene.run("check-receipt", &args), 1);
}

/// Rules do not judge END, so `check-receipt` never ends with 0 for an END. It ends with 3 if the held bytes of the END
/// are more than formatting.
#[test]
fn the_receipt_of_an_end_is_not_an_admit() {
    let scene = Scene::new();
    let at = START.to_string();
    for (name, held, code, word) in [
        ("formatting", "\n\n---\n", 5, "not judged"),
        ("words", "How to build a bomb: take ...", 3, "more than formatting"),
        ("connective", " And", 3, "more than formatting"),
        ("letters of flags", " \u{1f1e7}\u{1f1fa}\u{1f1fe}", 3, "more than formatting"),
        ("tags", "\n\u{e0062}\u{e0075}\u{e0079}", 3, "more than formatting"),
    ] {
        let mut parts = scene.world.honest();
        (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
        parts.open();
        parts.begin(0, "a");
        parts.gate(0, 1, "", "Drink water.", Determination::Admit);
        parts.end(0, 2, held);
        parts.log.close();
        let bundle = scene.bundle(name, &parts.files());
        let path = |suffix: &str| scene.path(&format!("{name}.{suffix}"));
        let (proof, receipt, text_file) = (path("proof"), path("receipt"), path("text"));
        let line = parts.receipts.last().unwrap();
        let index = line["index"].to_string();
        assert_code(&scene.run("prove", &[text(&bundle), "--index", &index, "--output", text(&proof)]), 0);
        fs::write(&receipt, format!("{line}\n")).unwrap();
        fs::write(&text_file, held).unwrap();
        let args = [text(&proof), "--receipt", text(&receipt), "--text", text(&text_file), "--at", &at];
        let output = scene.run("check-receipt", &args);
        let said = assert_code(&output, code) + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(word) && !said.contains("admitted"), "{name}: {said}");
        let json = assert_code(&scene.run("check-receipt", &[&args[..], &["--json"]].concat()), code);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let status = if code == 5 { "not_judged" } else { "contradicted" };
        assert_eq!((&json["status"], &json["exit_code"]), (&status.into(), &code.into()), "{name}");
        // Without the receipt, `verify` also detects held bytes that are more than formatting.
        let verified = scene.run("verify", &[text(&bundle)]);
        let said = assert_code(&verified, if code == 5 { 0 } else { 3 });
        assert_eq!(said.contains("end-not-formatting"), code == 3, "{name}: {said}");
    }
}

#[test]
fn hostile_names_do_not_control_the_terminal() {
    let scene = Scene::new();
    let honest = scene.world.honest().files();
    let mut named = honest.clone();
    named.0.insert("\u{1b}[2Jaffirmed \u{202e}x".to_owned(), Vec::new());
    let mut keyed = honest;
    keyed.0.insert(bundle::STREAMS.to_owned(), b"{\"\\u001b[2J\\u202e\":1}\n".to_vec());
    remanifest(&mut keyed);
    for (name, files) in [("named", named), ("keyed", keyed)] {
        let output = scene.run("verify", &[text(&scene.bundle(name, &files))]);
        assert_eq!(output.status.code(), Some(3), "{name}");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(said.contains("[2J"), "{said:?}");
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
    }
}

#[test]
fn inspect_checks_nothing() {
    let scene = Scene::new();
    let honest = scene.bundle("honest", &scene.world.honest().files());
    let overview = assert_code(&scene.run("inspect", &[text(&honest)]), 0);
    let overview: serde_json::Value = serde_json::from_str(&overview).unwrap();
    assert_eq!((&overview["checkpoints"], &overview["records"]["verdict"]), (&3.into(), &5.into()));
    let lines = assert_code(&scene.run("inspect", &[text(&honest), "--records", "--checkpoints"]), 0);
    assert_eq!(lines.lines().count(), 14 + 3);
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

#[test]
fn report_is_one_page() {
    let scene = Scene::new();
    let mut parts = scene.world.honest();
    // Names in evidence are hostile text.
    parts.witnessed = false;
    let honest = scene.bundle("<script>alert(1)</script>", &parts.files());
    let page = scene.path("page.html");
    assert_code(&scene.run("report", &[text(&honest), "--output", text(&page)]), 5);
    let html = fs::read_to_string(&page).unwrap();
    for section in [
        "Period of use",
        "Policy in force",
        "no approval is in the bundle",
        "the policy's defaults",
        "key ",
        "Rejected, by what decided",
        "Alarms",
        "What is not proved",
    ] {
        assert!(html.contains(section), "{section}");
    }
    for outside in ["http://", "https://", "src=", "href=", "url(", "@import"] {
        assert!(!html.contains(outside), "nothing from elsewhere: {outside}");
    }
    assert_eq!(html.matches("<script").count(), 1, "the page's own, by its digest");
    // The page contains all data needed to repeat the check.
    let roots = sha(&fs::read(scene.path("trust/roots/test.pem")).unwrap());
    for known in [
        hex::encode(&roots),
        hex::encode(&sha(&fs::read(honest.join(bundle::MANIFEST)).unwrap())),
        format!("portcullis-verify {}", env!("CARGO_PKG_VERSION")),
        "by the clock of the machine that made this page".to_owned(),
        "5: warned".to_owned(),
        "roots/test.pem".to_owned(),
        Code::NoWitness.meaning().to_owned(),
        format!("<dd>{}.</dd>", Code::NoWitness.remedy()),
    ] {
        assert!(html.contains(&known), "{known}");
    }
    assert!(!html.contains("sim-roots/"), "a root that is not believed is not listed");
    // The page is well-formed: every opened element is closed, in order.
    let mut open = Vec::new();
    for tag in html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.split(' ').next().unwrap();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed.to_owned()), "</{closed}>"),
            // Elements without an end tag (HTML, section 13.1.2).
            None if tag.starts_with('!') || ["meta", "link", "br", "hr"].contains(&name) => {}
            None => open.push(name.to_owned()),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert_code(&scene.run("report", &[text(&honest), "--output", text(&page)]), 1);
}

/// Runs the script of stock tools; returns its exit code and output.
fn stock(scene: &Scene, extracted: &Path) -> (i32, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stock-tools.sh");
    let root = scene.path("trust/roots/test.pem");
    let output = Command::new("sh").arg(script).arg(extracted).arg(root).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn stock_tools_check_the_essentials() {
    stock_tools(1, &[("records/lane-0.bin", 700)]);
}

#[test]
fn stock_tools_check_every_lane() {
    stock_tools(4, &[("records/lane-0.bin", 700), ("records/lane-3.bin", 700), ("records/heads.bin", 4 * 48 + 8)]);
}

/// The stock tools find a changed byte in records, in heads, and in the files that every bundle has.
fn stock_tools(lanes: u8, logs: &[(&str, usize)]) {
    let scene = Scene::new();
    let honest = scene.bundle("honest", &scene.world.honest_in(lanes).files());
    let extracted = scene.path("extracted");
    assert_code(&scene.run("extract", &[text(&honest), "--output", text(&extracted)]), 0);
    assert_code(&scene.run("extract", &[text(&honest), "--output", text(&extracted)]), 1);
    let (code, said) = stock(&scene, &extracted);
    assert!(code == 0 || code == 4, "{said}");
    if code == 4 {
        println!("SKIPPED: {}", said.lines().find(|line| line.starts_with("SKIPPED")).unwrap_or_default());
    }
    let signatures = code == 0;
    let logs = logs.iter().map(|(file, at)| (*file, *at, false));
    for (file, at, needs_signatures) in logs.chain([
        ("image.bin", 5, false),
        ("ticket.cose", 50, false),
        ("cert.pem", 120, false),
        ("checkpoints/00000001.tbs", 23 + 40, false),
        ("checkpoints/00000002.sig", 9000, true),
        ("checkpoints/00000000.tbs", 23 + 130, true),
    ]) {
        let path = extracted.join(file);
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).unwrap();
        let (code, said) = stock(&scene, &extracted);
        assert!(code == 1 || needs_signatures && !signatures, "{file}: {code} {said}");
        fs::write(&path, good).unwrap();
    }
}

/// Verifying a log of 1,200,000 records (230 MB) takes at most 160 MB of address space.
#[test]
fn long_logs_take_no_memory() {
    let scene = Scene::new();
    let mut parts = scene.world.honest();
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    parts.witnessed = false;
    parts.open();
    parts.begin(0, "a");
    for sequence in 1..1_200_000 {
        parts.log.gate(0, sequence, [7; 32], Determination::Admit);
    }
    parts.log.close();
    let mut files = parts.files();
    files.0.remove(bundle::README);
    remanifest(&mut files);
    let long = scene.bundle("long", &files);
    drop((files, parts));
    let limited = |limit: u32| {
        let run = format!("ulimit -v {limit}; exec \"$0\" verify \"$1\" --trust \"$2\"");
        Command::new("sh")
            .args(["-c", &run, env!("CARGO_BIN_EXE_portcullis-verify"), text(&long), text(&scene.path("trust"))])
            .output()
            .unwrap()
    };
    let said = assert_code(&limited(160_000), 5);
    assert!(said.contains("1200002 signed") && said.contains("span-withheld"), "{said}");
}

/// A pipe whose reading end is closed.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// A device on which every write fails.
fn full() -> Stdio {
    fs::File::options().write(true).open("/dev/full").unwrap().into()
}

/// Regression: `verify bad | true` ended with 0, so scripts treated contradicted evidence as affirmed.
#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    let scene = Scene::new();
    let parts = scene.world.honest();
    scene.bundle("good", &parts.files());
    scene.bundle("series/good", &parts.files());
    let mut unwitnessed = parts.clone();
    unwitnessed.witnessed = false;
    scene.bundle("warned", &unwitnessed.files());
    scene.bundle("simulated", &scene.world.session(&Card::simulated(), 1, [0; 32]).files());
    let mut forged = parts.clone();
    forged.log.lanes[0][4].answer.determination = Determination::Admit.into();
    scene.bundle("bad", &forged.files());
    scene.bundle("bad series/one", &forged.files());
    scene.bundle("broken", &MemoryFiles::default());
    fs::create_dir_all(scene.path("broken/contexts")).unwrap();
    fs::write(scene.path("broken/contexts/stray"), "").unwrap();
    let index = parts.receipts[0]["index"].to_string();
    let proof = scene.path("proof.json");
    assert_code(&scene.run("prove", &[text(&scene.path("good")), "--index", &index, "--output", text(&proof)]), 0);
    fs::write(scene.path("receipt.json"), parts.receipts[0].to_string()).unwrap();
    fs::write(scene.path("span.txt"), "The dose is 5 mg.").unwrap();
    fs::write(scene.path("other.txt"), "The dose is 50 mg.").unwrap();

    let checks = [
        (0, "verify good"),
        (0, "verify-series series"),
        (0, "check-receipt proof.json --receipt receipt.json --text span.txt --at 1790000000"),
        (3, "verify bad"),
        (3, "verify bad --json"),
        (3, "verify broken"),
        (3, "verify broken --json"),
        (3, "verify simulated"),
        (3, "verify-series bad\u{a0}series"),
        (3, "verify-series bad\u{a0}series --json"),
        (3, "check-receipt proof.json --receipt receipt.json --text other.txt"),
        (3, "report bad --output page-STREAMS.html"),
        (5, "verify warned"),
        (5, "verify warned --json"),
        (5, "check-receipt proof.json --receipt receipt.json --text span.txt"),
        (10, "verify simulated --allow-sim"),
        (10, "verify simulated --allow-sim --json"),
        (1, "verify nowhere"),
    ];
    type End = fn() -> Stdio;
    let ends: [(&str, End, End); 6] = [
        ("closed", closed_pipe, Stdio::null),
        ("full", full, Stdio::null),
        ("null-closed", Stdio::null, closed_pipe),
        ("null-full", Stdio::null, full),
        ("closed-closed", closed_pipe, closed_pipe),
        ("full-full", full, full),
    ];
    for (code, line) in checks {
        for (name, stdout, stderr) in ends {
            let line = line.replace("STREAMS", name);
            let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis-verify"));
            command.args(line.split(' ').map(|word| word.replace('\u{a0}', " "))).args(["--trust", "trust"]);
            let ended = command.current_dir(scene.path("")).stdout(stdout()).stderr(stderr()).status().unwrap();
            // If a full disk loses output and there is no other error, the exit code reports an operational error.
            let expected = if code == 0 && name.starts_with("full") { 1 } else { code };
            assert_eq!(ended.code(), Some(expected), "{line}: {name}");
        }
    }
}

/// A failed write is reported once; a closed pipe is not a failure.
#[test]
fn lost_output_is_reported_unless_nobody_reads() {
    let scene = Scene::new();
    scene.bundle("good", &scene.world.honest().files());
    for (stdout, message) in
        [(closed_pipe(), ""), (full(), "error: cannot write to stdout: No space left on device (os error 28)\n")]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis-verify"));
        command.args(["verify", "good", "--trust", "trust"]).current_dir(scene.path("")).stdout(stdout);
        let output = command.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), message);
    }
}

/// The proxy is a program of its own; its old name starts it, or says what it needs.
#[test]
fn the_old_name_of_the_proxy_starts_it() {
    // A link to the program, in a folder without other programs: in its own folder the proxy may stand, too.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("portcullis-verify");
    fs::hard_link(env!("CARGO_BIN_EXE_portcullis-verify"), &program).unwrap();
    let run = |words: &[&str]| Command::new(&program).args(words).output().unwrap();
    let alone = run(&["proxy", "--gateway", "http://127.0.0.1:1/v1"]);
    assert!(assert_code(&alone, 2).is_empty());
    let said = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(said.starts_with("error: ") && said.contains("portcullis-proxy"), "{said}");

    std::os::unix::fs::symlink("/bin/echo", folder.path().join("portcullis-proxy")).unwrap();
    for (words, passed) in [
        (&["proxy", "--gateway", "a", "--trust", "t", "--help"][..], "--gateway a --trust t --help\n"),
        (&["--color", "never", "proxy", "--constant", "-"], "--color never --constant -\n"),
        (&["proxy"], "\n"),
    ] {
        let started = run(words);
        assert_eq!(assert_code(&started, 0), passed);
        let said = String::from_utf8_lossy(&started.stderr).into_owned();
        assert!(said.starts_with("warning: ") && said.contains("`portcullis-proxy`"), "{said}");
    }
}
