//! Commands for readers and auditors of a bundle.

use super::scene::{CONTRADICTED, SIMULATED, Scene, root};
use portcullis_evidence::bundle::DirectoryFiles;
use portcullis_evidence::verify::{TrustedParties, VerifyOptions, verify};
use std::io::Write as _;
use std::process::Command;

#[test]
fn a_reader_checks_the_receipt_of_one_span() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    let receipts = std::fs::read_to_string(scene.path("b/receipts.jsonl")).unwrap();
    let spans = std::fs::read_to_string(scene.path("b/spans.jsonl")).unwrap();
    let line = receipts.lines().next().unwrap();
    let receipt: serde_json::Value = serde_json::from_str(line).unwrap();
    let index = receipt["index"].as_u64().unwrap();
    let span =
        spans.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()).find(|s| s["index"] == index);
    let span = span.unwrap();
    let text = format!("{}{}", span["held"].as_str().unwrap(), span["text"].as_str().unwrap());
    std::fs::write(scene.path("receipt.json"), line).unwrap();
    std::fs::write(scene.path("text"), &text).unwrap();
    std::fs::write(scene.path("other"), text.replace('e', "a")).unwrap();
    scene.said(&format!("prove @b --index {index} --output @proof.json"));
    let check = |text: &str| {
        scene.code(&format!(
            "check-receipt @proof.json --receipt @receipt.json --text @{text} --trust @trust --allow-sim"
        ))
    };
    assert_eq!(check("text"), SIMULATED);
    assert_eq!(check("other"), CONTRADICTED);
}

#[test]
fn stock_tools_check_the_demos_bundle() {
    let scene = Scene::new();
    scene.said("run --policy policies/pii --card sim --input tests/demo/sentences.jsonl --bundle @b");
    scene.said("extract @b --output @out");
    let script = root().join("tests/stock-tools.sh");
    let run = |folder: &str| {
        let root = scene.path("trust/sim-roots/simulation.pem");
        let out = Command::new("sh").arg(&script).arg(scene.path(folder)).arg(root).output().unwrap();
        (out.status.code().unwrap(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    for folder in ["b", "out"] {
        let (code, said) = run(folder);
        println!("{said}");
        // 4 means: nothing failed, but the installed tools do not support SLH-DSA.
        assert!(code == 0 || code == 4, "{said}");
        if code == 4 {
            let line = said.lines().find(|line| line.starts_with("SKIPPED")).unwrap_or_default();
            // Print past the test harness, which captures the output.
            writeln!(std::io::stderr(), "{line}").unwrap();
        }
    }
    let flip = |place: usize| {
        move |mut bytes: Vec<u8>| {
            bytes[place] ^= 1;
            bytes
        }
    };
    // Change a record, the table, the ticket, the content of a checkpoint, and its signature. Only tools that support
    // SLH-DSA detect the last change.
    for (number, (file, place)) in [
        ("records/lane-0.bin", 700),
        ("policy/image.bin", 300),
        ("ticket.cose", 40),
        ("checkpoints/00000001.cose", 13 + 32),
        ("checkpoints/00000000.cose", 9000),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("changed-{number}");
        scene.changed("b", &name, file, flip(place));
        let (code, said) = run(&name);
        assert!(code == 1 || (code == 4 && place == 9000), "{file}: {said}");
    }
}

/// Bundles and reports name the approver of the policy, if the verifier has the key, and the ids of the rules.
#[test]
fn approvals_and_rules_are_reported() {
    let scene = Scene::new();
    scene.input();
    for folder in ["issuers", "approvers"] {
        std::fs::create_dir(scene.path(&format!("trust/{folder}"))).unwrap();
    }
    let approve = |policy: &str, output: &str| {
        scene.run(&format!(
            "policy approve policies/{policy} --key @board.key --name Board --output @{output} --public @{output}.pub"
        ))
    };
    // A mistyped path does not create a new approver.
    let out = approve("pii", "pii.cose");
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("--new-key"), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(!scene.path("board.key").exists() && !scene.path("pii.cose").exists());
    let first = "policy approve policies/pii --key @board.key --new-key --name Board --output @first.cose";
    assert!(scene.run(first).status.success());
    assert_eq!(scene.run(&first.replace("first.cose", "second.cose")).status.code(), Some(1), "a key is not replaced");
    let out = approve("pii", "pii.cose");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let digests = scene.said("policy digest policies/pii");
    assert_eq!(String::from_utf8_lossy(&out.stdout), format!("Board approves\n{digests}"));
    // An existing file is not overwritten.
    assert_eq!(approve("pii", "pii.cose").status.code(), Some(1));
    assert!(approve("residency", "residency.cose").status.success());
    let other = scene.bundle("other", " --approval @residency.cose");
    assert!(String::from_utf8_lossy(&other.stderr).contains("approval is of another policy"));
    assert!(!scene.path("other").exists());

    assert!(scene.bundle("b", " --approval @pii.cose").status.success());
    // The verifier does not have the approver's key.
    let report = scene.verified("b");
    assert_eq!(report["properties"]["policy"]["status"], "contradicted");
    assert_eq!(report["session"]["approvals"], serde_json::json!([]));
    // A key that is trusted only for tickets is not an approver's key.
    std::fs::copy(scene.path("pii.cose.pub"), scene.path("trust/issuers/board.pub")).unwrap();
    assert_eq!(scene.verified("b")["exit_code"], CONTRADICTED);
    std::fs::copy(scene.path("pii.cose.pub"), scene.path("trust/approvers/directors.pub")).unwrap();
    let report = scene.verified("b");
    let approval = &report["session"]["approvals"][0];
    assert_eq!((&report["exit_code"], &approval["claimed"]), (&SIMULATED.into(), &"Board".into()));
    assert_eq!(approval["file"], "approvers/directors.pub");
    scene.changed("b", "forged", "policy/approval.cose", |mut cose| {
        *cose.last_mut().unwrap() ^= 1;
        cose
    });
    assert_eq!(scene.verified("forged")["exit_code"], CONTRADICTED);

    let email = report["session"]["refusals"].as_array().unwrap().iter().find(|r| r["id"] == "PII-EMAIL");
    assert_eq!(email.unwrap()["reason"], "an e-mail address");
    let trust = TrustedParties::load(&scene.path("trust"), true).unwrap();
    let options = VerifyOptions { allow_sim: true, allow_not_enforced: true, at: None };
    let found = verify(&DirectoryFiles::new(scene.path("b")), &trust, options, &mut |_| {}).unwrap();
    let shown = portcullis_report::evidence::page(&found, &portcullis_report::evidence::EvidencePageInputs::default());
    for text in ["<td>PII-EMAIL</td><td>an e-mail address</td>", "<td>PII-PHONE</td>", "which calls itself `Board`"] {
        assert!(shown.contains(text), "{text}");
    }
}
