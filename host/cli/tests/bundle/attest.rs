//! Attestations of a period.

use super::scene::{CONTRADICTED, SIMULATED, Scene, copy};
use super::session::Witness;
use serde_json::Value;
use std::process::Command;

/// The texts of `run` were complete before they were judged.
const ALLOW: &str = "--allow sim --allow not-enforced";
const EVER: &str = "--from 1970-01-01 --to 9999-12-31";
const WARNED: i32 = 5;

/// A scene with three sessions of one card in the folder `card`, each with a ticket, a witness and its texts. The
/// second and the third have another policy than the first; the policy of the third is approved.
fn three_sessions() -> Scene {
    let scene = Scene::new();
    scene.input();
    for folder in ["trust/issuers", "trust/witnesses", "trust/approvers", "card"] {
        std::fs::create_dir(scene.path(folder)).unwrap();
    }
    let issuer = "--store @issuer.db --key @issuer.key --name registrar.example";
    std::fs::write(scene.path("trust/issuers/issuer.pub"), scene.said(&format!("ticket key {issuer}"))).unwrap();
    let witness = Witness::start(&scene);
    let key = scene.said("witness key --store @witness.db --key @witness.key");
    std::fs::write(scene.path("trust/witnesses/witness.pub"), key).unwrap();
    let info: Value = serde_json::from_str(&scene.said("card info --json")).unwrap();
    let public_key = info["public_key"].as_str().unwrap();
    let approve = "policy approve policies/residency --key @board.key --new-key --name Board --output @board.cose";
    scene.said(&format!("{approve} --public @trust/approvers/board.pub"));
    for (session, policy, more) in [(1, "pii", ""), (2, "residency", ""), (3, "residency", " --approval @board.cose")] {
        let digests = scene.said(&format!("policy digest policies/{policy}"));
        let digest = digests.lines().find_map(|line| line.strip_prefix("policy digest")).unwrap().trim();
        let request = format!("--public-key {public_key} --policy {digest} --output @{session}.ticket");
        scene.said(&format!("ticket issue {issuer} {request}"));
        let watched = format!("--witness {} --witness-key @trust/witnesses/witness.pub", witness.1);
        let line = format!("--json --bundle @card/{session} --ticket @{session}.ticket {watched}{more}");
        scene.said(&format!("run --policy policies/{policy} --input @in.jsonl {line}"));
        let mut checkpoints: Vec<_> = std::fs::read_dir(scene.path(&format!("card/{session}/checkpoints")))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        checkpoints.sort();
        for (verb, file) in [("redeem", &checkpoints[0]), ("close", checkpoints.last().unwrap())] {
            scene.said(&format!("ticket {verb} {issuer} @card/{session}/checkpoints/{file} --public-key {public_key}"));
        }
    }
    scene
}

fn attest(scene: &Scene, folder: &str, output: &str, more: &str) -> (i32, Value) {
    let key = if scene.path("operator.key").exists() { "" } else { "--new-key --public @operator.pub " };
    let by = format!("--name Operator --key @operator.key {key}--output @{output}");
    let out = scene.run(&format!("attest @{folder} --trust @trust {ALLOW} {by} --json {more}"));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code().unwrap(), serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{said}")))
}

fn check(scene: &Scene, folder: &str, statement: &str, more: &str) -> (i32, Value) {
    let line = format!("attest @{folder} --trust @trust {ALLOW} --check @{statement} --signer @operator.pub --json");
    let out = scene.run(&format!("{line}{more}"));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code().unwrap(), serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{said}")))
}

fn codes(statement: &Value) -> Vec<&str> {
    statement["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn a_period_is_attested_and_made_again() {
    let scene = three_sessions();
    // A command that fails leaves neither a key nor a statement, so the corrected one can make both.
    let by = "--name Operator --key @operator.key --new-key --sample 0";
    for output in ["--output @none/out", "--output @out --public @none/operator.pub"] {
        assert_eq!(scene.code(&format!("attest @card --trust @trust {ALLOW} {EVER} {by} {output}")), 1, "{output}");
        assert!(!scene.path("operator.key").exists() && !scene.path("out").exists(), "{output}");
    }
    let (code, statement) = attest(&scene, "card", "out", EVER);
    assert_eq!(code, SIMULATED, "{statement:#}");
    let again = scene.run(&format!("attest @card --trust @trust {ALLOW} {EVER} {by} --output @more"));
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.code() == Some(1) && said.contains("the new key needs a new file"), "{said}");
    assert!(scene.path("operator.key").exists() && !scene.path("more").exists());
    assert_eq!((&statement["by"], &statement["outside"]), (&"Operator".into(), &0.into()));
    let chain = &statement["chains"][0];
    assert_eq!((&chain["first"], &chain["last"], &chain["begins"]), (&1.into(), &3.into(), &true.into()));
    // Nothing shows that no session followed the third.
    assert!(codes(&statement).contains(&"end-open"), "{statement:#}");
    assert!(!codes(&statement).contains(&"beginning-open"), "{statement:#}");
    assert_eq!(statement["sessions"].as_array().unwrap().len(), 3);
    assert_eq!(statement["totals"]["streams"], 12);
    let approved: Vec<_> =
        statement["sessions"].as_array().unwrap().iter().map(|one| one["approved"].clone()).collect();
    assert_eq!(approved, [false, false, true]);
    // One change of policy, and the policies in words.
    assert_eq!(statement["changes"].as_array().unwrap().len(), 1);
    assert_eq!((&statement["changes"][0]["serial"], &statement["changes"][0]["approved"]), (&2.into(), &false.into()));
    let policies = statement["policies"].as_array().unwrap();
    let mut names: Vec<_> = policies.iter().map(|policy| policy["packages"][0]["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["pii", "residency"]);
    let pii = policies.iter().find(|policy| policy["packages"][0]["name"] == "pii").unwrap();
    assert!(pii["packages"][0]["rules"].as_array().unwrap().iter().any(|rule| rule["id"] == "PII-EMAIL"
        && rule["effect"] == "decompose"
        && rule["reason"] == "an e-mail address"));
    assert!(statement["splits"].as_array().unwrap().iter().any(|used| used["rule"] == "PII-EMAIL"), "{statement:#}");
    // Every stream of every session replays.
    let replay = &statement["replay"];
    assert_eq!(
        (&replay["status"], &replay["replayed"], &replay["sessions"]),
        (&"affirmed".into(), &12.into(), &3.into())
    );
    let clauses = statement["clauses"].as_array().unwrap();
    assert!(clauses.iter().any(|clause| clause["clause"].as_str().unwrap().contains("article 12")));
    let page = std::fs::read_to_string(scene.path("out/attestation.html")).unwrap();
    for words in ["an e-mail address", "end-open", "article 12", "What is not shown"] {
        assert!(page.contains(words), "{words}");
    }

    // Stock tools check the signature.
    let openssl = |file: &str| {
        let args = ["pkeyutl", "-verify", "-pubin", "-rawin", "-inkey"];
        let mut command = Command::new("openssl");
        command.args(args).arg(scene.path("operator.pub")).arg("-in").arg(scene.path(file));
        command.arg("-sigfile").arg(scene.path("out/attestation.sig")).output().unwrap().status.success()
    };
    assert!(openssl("out/attestation.json") && !openssl("out/attestation.html"));

    // Whoever has the bundles makes the same statement and page, and may choose another sample.
    let none = Value::Array(Vec::new());
    let (code, checked) = check(&scene, "card", "out", "");
    assert_eq!((code, &checked["differences"]), (SIMULATED, &none), "{checked}");
    assert_eq!(checked["statement"], statement);
    let (code, checked) = check(&scene, "card", "out", " --seed auditor --sample 1");
    assert_eq!((code, &checked["differences"]), (SIMULATED, &none), "{checked}");
    let replay = &checked["statement"]["replay"];
    assert_eq!((&replay["seed"], &replay["replayed"]), (&"auditor".into(), &3.into()));
    // A statement without a replay says so, and the auditor can replay all the same.
    assert_eq!(attest(&scene, "card", "blind", &format!("{EVER} --sample 0")).1["replay"], Value::Null);
    let (code, checked) = check(&scene, "card", "blind", " --seed auditor");
    assert_eq!((code, &checked["statement"]["replay"]["replayed"]), (SIMULATED, &12.into()), "{checked}");
    let empty = "attest @card --trust @trust --check @blind --signer @operator.pub --seed auditor --sample 0";
    assert_eq!(scene.code(empty), 1);
    // A page that was changed.
    copy(&scene.path("out"), &scene.path("painted"));
    std::fs::write(scene.path("painted/attestation.html"), page.replace("end-open", "")).unwrap();
    let (code, checked) = check(&scene, "card", "painted", "");
    assert_eq!((code, &checked["differences"]), (CONTRADICTED, &serde_json::json!(["attestation.html"])));
}

#[test]
fn a_changed_statement_or_another_series_is_found() {
    let scene = three_sessions();
    assert_eq!(attest(&scene, "card", "out", EVER).0, SIMULATED);
    // A statement that was changed after it was signed is not read.
    copy(&scene.path("out"), &scene.path("forged"));
    let forged = std::fs::read_to_string(scene.path("out/attestation.json")).unwrap();
    std::fs::write(scene.path("forged/attestation.json"), forged.replace("\"alarms\": 0", "\"alarms\": 1")).unwrap();
    let (code, checked) = check(&scene, "card", "forged", "");
    assert_eq!((code, &checked["signed"]), (CONTRADICTED, &false.into()));

    // The operator leaves a session out: another statement, and the gap is found.
    copy(&scene.path("card"), &scene.path("less"));
    std::fs::remove_dir_all(scene.path("less/2")).unwrap();
    let (code, checked) = check(&scene, "less", "out", "");
    assert_eq!(code, CONTRADICTED);
    assert!(checked["differences"].as_array().unwrap().contains(&"/sessions".into()), "{checked}");
    // The auditor sees the gap, too.
    assert_eq!(codes(&checked["statement"])[0], "serial-missing");
    let (code, statement) = attest(&scene, "less", "gap", EVER);
    assert_eq!((code, &statement["status"]), (CONTRADICTED, &"contradicted".into()));
    assert_eq!(codes(&statement)[0], "serial-missing", "{statement:#}");
    // Without its first session, the series begins in the open.
    std::fs::remove_dir_all(scene.path("less/1")).unwrap();
    let (code, statement) = attest(&scene, "less", "late", EVER);
    assert_eq!(code, SIMULATED, "{statement:#}");
    assert!(codes(&statement).contains(&"beginning-open"), "{statement:#}");

    // A record that was changed stands first, and the statement is written all the same.
    copy(&scene.path("card/1"), &scene.path("less/1"));
    let record = scene.path("less/1/records/lane-0.bin");
    let mut bytes = std::fs::read(&record).unwrap();
    bytes[300] ^= 1;
    std::fs::write(&record, bytes).unwrap();
    scene.reseal("less/1");
    let (code, statement) = attest(&scene, "less", "changed", EVER);
    assert_eq!((code, &statement["findings"][0]["status"]), (CONTRADICTED, &"contradicted".into()));
    assert!(scene.path("changed/attestation.html").exists());
    // So is an entry that is not a bundle at all.
    std::fs::remove_file(scene.path("less/1/policy/image.bin")).unwrap();
    let (code, statement) = attest(&scene, "less", "broken", EVER);
    assert_eq!(code, CONTRADICTED);
    assert!(codes(&statement).contains(&"no-bundle"), "{statement:#}");
    // Regression: an empty folder, a file of another kind and a file of a file manager ended the command without a
    // statement, so they hid all bundles beside them.
    std::fs::create_dir(scene.path("card/empty")).unwrap();
    std::fs::write(scene.path("card/notes.txt"), "no bundle").unwrap();
    copy(&scene.path("card/1"), &scene.path("card/littered"));
    std::fs::write(scene.path("card/littered/.DS_Store"), "x").unwrap();
    let (code, statement) = attest(&scene, "card", "beside", EVER);
    assert_eq!((code, statement["sessions"].as_array().unwrap().len()), (CONTRADICTED, 3), "{statement:#}");
    let named = statement["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == "no-bundle");
    let named: Vec<_> = named.map(|finding| finding["session"].as_str().unwrap()).collect();
    assert_eq!(named, ["card/empty", "card/littered", "card/notes.txt"]);
}

#[test]
fn only_sessions_of_the_period_count() {
    let scene = three_sessions();
    let (code, statement) = attest(&scene, "card", "before", "--from 1970-01-01 --to 1970-01-31");
    assert_eq!((code, codes(&statement)), (WARNED, vec!["no-session"]), "{statement:#}");
    assert_eq!((&statement["outside"], &statement["totals"]["records"]), (&3.into(), &0.into()));
    // A session without a witness has no time: it counts, with a warning.
    scene.said("run --policy policies/pii --input @in.jsonl --json --bundle @card/alone");
    let (_, statement) = attest(&scene, "card", "undated", "--from 1970-01-01 --to 1970-01-31 --sample 0");
    assert!(codes(&statement).contains(&"undated"), "{statement:#}");
    assert_eq!((&statement["sessions"][0]["name"], &statement["replay"]), (&"card/alone".into(), &Value::Null));
}

#[test]
fn wrong_use_writes_nothing() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("card")).unwrap();
    let by = "--name Operator --key @operator.key --output @out";
    for (code, more) in [
        (2, "--from 2026-02-30 --to 2026-03-01"),
        (2, "--from 2026-02-01"),
        (1, "--from 2026-02-02 --to 2026-02-01 --new-key"),
        (1, "--from 2026-02-01 --to 2026-02-02"),
        (2, "--from 2026-02-01 --to 2026-02-02 --new-key --seed chosen"),
    ] {
        assert_eq!(scene.code(&format!("attest @card --trust @trust {by} {more}")), code, "{more}");
        assert!(!scene.path("out").exists() && !scene.path("operator.key").exists(), "{more}");
    }
    // No bundle.
    let line = format!("attest @card --trust @trust {by} --from 2026-02-01 --to 2026-02-02 --new-key");
    let out = scene.run(&line);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("no bundle"));
}
