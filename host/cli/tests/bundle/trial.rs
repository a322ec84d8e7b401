//! Decisions of a new policy on recorded streams.

use super::scene::{CONTRADICTED, Scene, copy, replaced, root};
use serde_json::{Value, json};

/// A copy of the policy `pii` with a changed rule file.
fn policy(scene: &Scene, folder: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    std::fs::create_dir(scene.path(folder)).unwrap();
    let to = scene.path(&format!("{folder}/pii"));
    copy(&root().join("policies/pii"), &to);
    let rules = to.join("pii.cedar");
    std::fs::write(&rules, change(std::fs::read(&rules).unwrap())).unwrap();
}

/// The JSON lines that a trial prints, and its exit code.
fn tried(scene: &Scene, policy: &str) -> (i32, Vec<Value>) {
    let out = scene.run(&format!("policy trial --bundles @bundles --policy {policy} --json"));
    let text = String::from_utf8(out.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (out.status.code().unwrap(), lines)
}

/// For each change: the text, the old outcome and the new outcome.
type Changes = Vec<[Value; 3]>;

/// Id and changes of each stream with different decisions.
fn changes(report: &Value) -> Vec<(&str, Changes)> {
    let fate = |fate: &Value| fate.get("rule").unwrap_or(&fate["determination"]).clone();
    let change = |change: &Value| [change["text"].clone(), fate(&change["before"]), fate(&change["after"])];
    let stream = |stream: &'_ Value| stream["changes"].as_array().unwrap().iter().map(change).collect();
    let streams = report["different"].as_array().unwrap().iter();
    streams.map(|different| (different["id"].as_str().unwrap(), stream(different))).collect()
}

fn of(streams: &[(&str, Changes)], id: &str) -> Changes {
    streams.iter().find(|(found, _)| *found == id).unwrap().1.clone()
}

#[test]
fn a_trial_lists_what_another_policy_decides_differently() {
    let scene = Scene::new();
    scene.input();
    std::fs::create_dir(scene.path("bundles")).unwrap();
    assert!(scene.bundle("bundles/1", "").status.success());
    assert!(scene.bundle("bundles/2", " --on-refuse stop").status.success());

    let (code, same) = tried(&scene, "policies/pii");
    assert_eq!((code, same.len()), (0, 2));
    for report in &same {
        assert_eq!((&report["compared"], &report["different"]), (&json!(4), &json!([])), "{report}");
    }

    policy(&scene, "loose", |rules| {
        replaced(rules, "contains(\"email\")", "contains(\"email\") && context.length > 9000")
    });
    let (code, loose) = tried(&scene, "@loose/pii");
    assert_eq!(code, 3);
    let is_mail = |[text, before, after]: &[Value; 3]| {
        text.as_str().unwrap().contains("@example.org") && before == "PII-EMAIL" && after == "admitted"
    };
    let skipped = changes(&loose[0]);
    assert!(of(&skipped, "a").iter().any(is_mail));
    assert!(skipped.iter().all(|(id, _)| *id != "b"), "nothing in it is an address");
    // An engine's candidates are compared up to the first different decision.
    for id in ["c", "d"] {
        let [change] = &of(&skipped, id)[..] else { panic!("{skipped:?}") };
        assert!(is_mail(change), "{skipped:?}");
    }
    // Where a refusal ended a text, the old policy did not judge the rest of the text, but the new policy does.
    let mut streams = loose[1]["different"].as_array().unwrap().iter();
    let stopped = streams.find(|stream| stream["id"] == "a").unwrap();
    assert!(stopped["stopped_before"].is_string() && stopped["stops"].is_null(), "{stopped}");
    assert!(stopped["admitted"].as_u64() > stopped["admitted_before"].as_u64());

    let short = "\n@id(\"SHORT\")\nforbid (principal, action, resource)\nwhen { context.length < 14 };\n";
    policy(&scene, "strict", |rules| [rules, short.as_bytes().to_vec()].concat());
    let (code, strict) = tried(&scene, "@strict/pii");
    assert_eq!(code, 3);
    let refused = |text: &str| [json!(text), json!("admitted"), json!("SHORT")];
    let found = changes(&strict[0]);
    assert!(of(&found, "b").contains(&refused("Nothing here.")), "{found:?}");
    assert_eq!(of(&found, "c"), [[json!("192.0.2.1"), json!("PII-IP"), json!("SHORT")]]);
    assert!(found.iter().all(|(id, _)| *id != "d"), "short candidates are joined with what follows");
    let text = String::from_utf8(scene.run("policy trial --bundles @bundles --policy @strict/pii").stdout).unwrap();
    assert!(text.contains("8 streams compared") && text.contains("refused by SHORT: "), "{text}");
}

/// Streams that cannot be compared are reported, and do not count as equal.
#[test]
fn a_trial_says_what_it_could_not_compare() {
    let scene = Scene::new();
    scene.input();
    std::fs::create_dir(scene.path("bundles")).unwrap();
    assert!(scene.bundle("bundles/1", "").status.success());
    scene.changed("bundles/1", "bundles/2", "inputs.jsonl", |text| replaced(text, "Sentence one", "Sentence two"));
    let (code, lines) = tried(&scene, "policies/pii");
    assert_eq!(code, 5);
    assert_eq!((&lines[0]["compared"], &lines[1]["compared"]), (&json!(4), &json!(3)));
    assert_eq!(lines[1]["replay"]["reasons"][0]["code"], "replay-differs");
    assert_eq!(scene.code("replay @bundles/2"), CONTRADICTED);

    std::fs::create_dir(scene.path("empty")).unwrap();
    for wrong in ["@empty", "@missing"] {
        let out = scene.run(&format!("policy trial --bundles {wrong} --policy policies/pii"));
        assert_eq!(out.status.code(), Some(1), "{wrong}: {}", String::from_utf8_lossy(&out.stderr));
    }
}
