//! A composition, from the command that makes it to the check of records under its members.

use super::scene::{CONTRADICTED, SIMULATED, Scene, replaced};

/// A scene with a composition `house`: the clinical package as member `ward`, and `pii` as member `desk`.
fn composed() -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.path("patients.toml"), "audience = \"patient\"\n").unwrap();
    let profile = scene.path("patients.toml");
    let members = "--member ward=policies/clinical --member desk=policies/pii";
    let made = scene.said(&format!("policy compose @house {members} --profile ward={} --json", profile.display()));
    let report: serde_json::Value = serde_json::from_str(&made).unwrap();
    assert_eq!(report["composition"], "house 1.0.0");
    assert_eq!(report["domains"], serde_json::json!({"used": 5, "of": 32}));
    assert_eq!(report["members"][1]["domains"], serde_json::json!({"general": 2, "support": 3, "finance": 4}));
    scene
}

#[test]
fn a_composition_judges_and_its_bundles_verify_and_replay() {
    let scene = composed();
    scene.input();
    // The package alone gives the same determinations as the member `desk` of the composition.
    let plain = scene.said("run --policy policies/pii --input @in.jsonl --json");
    assert_eq!(scene.said("run --policy @house --member desk --input @in.jsonl --json --bundle @desk"), plain);
    let ward =
        "run --policy @house --member ward --profile @house/profiles/ward/patients.toml --input @in.jsonl --json";
    let alone = scene.said("run --policy policies/clinical --profile @patients.toml --input @in.jsonl --json");
    assert_eq!(scene.said(&format!("{ward} --bundle @ward")), alone);
    assert_ne!(plain, alone);

    let digests: Vec<_> = ["desk", "ward"]
        .into_iter()
        .map(|bundle| {
            assert_eq!(scene.code(&format!("verify @{bundle} --trust @trust --allow-sim")), SIMULATED);
            assert!(scene.said(&format!("replay @{bundle}")).starts_with("4 of 4 streams replay"), "{bundle}");
            assert_eq!(scene.code(&format!("check @{bundle} --trust @trust --allow-sim")), SIMULATED);
            let report = scene.verified(bundle);
            for property in ["policy", "complete", "replayable"] {
                assert_eq!(report["properties"][property]["status"], "affirmed", "{report}");
            }
            (report["package_digest"].clone(), report["policy_digest"].clone())
        })
        .collect();
    assert_eq!(digests[0], digests[1], "one image for both");

    // If a stream's context names the other member, the replay uses that member's policy and gives other records.
    let contexts = std::fs::read_dir(scene.path("desk/contexts")).unwrap();
    for entry in contexts {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(text.contains("\"policy\":\"house 1.0.0/desk\""), "{text}");
    }
    // The package digest covers every file of every member.
    let changed = "policy/package/members/ward/policy.toml";
    scene.changed("desk", "edited", changed, |text| replaced(text, "max_depth = 3", "max_depth = 4"));
    assert_eq!(scene.code("replay @edited"), CONTRADICTED);
    assert_eq!(scene.verified("edited")["exit_code"], CONTRADICTED);
}

#[test]
fn commands_take_a_composition_with_the_name_of_a_member() {
    let scene = composed();
    let refused = |line: &str, expected: &str| {
        let out = scene.run(line);
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{line}: {text}");
        assert!(text.contains(expected), "{line}: {text}");
    };
    refused("explain --policy @house text", "no member is named");
    refused("explain --policy @house --member deks text", "did you mean `desk`?");
    refused("explain --policy policies/pii --member desk text", "only a composition has members");
    refused("explain --policy @house --member ward text", "the profile's digest");
    refused("policy compose @house --member a=policies/pii", "cannot make the folder");
    refused("policy compose @new --member a=policies/pii --member b=policies/biography", "member `b` does not fit");
    refused("policy compose @new --member a=policies/pii --profile b=patients.toml", "there is no member `b`");
    assert!(!scene.path("new").exists(), "what does not fit leaves no folder");
    assert_eq!(scene.code("policy compose @new"), 2);

    let shown = scene.said("explain --policy @house --member desk p@example.org");
    assert!(shown.contains("policy house 1.0.0/desk") && shown.contains("PII-EMAIL"), "{shown}");
    let checked = scene.said("policy check @house");
    for line in ["member ward", "policy bank: ", "domains: 5 of 32", "2 general, 3 support, 4 finance"] {
        assert!(checked.contains(line), "{line}: {checked}");
    }
    assert!(scene.said("policy test @house --member desk --card model").contains(" 0 failed"));
    // Every command that prints the digest of the composition prints the same digest.
    let digest = scene.said("policy digest @house");
    let image = scene.said("policy build @house --output @house.bin");
    let policy_digest = digest.split_whitespace().last().unwrap();
    assert!(image.starts_with(policy_digest), "{digest}{image}");
    assert!(checked.contains(policy_digest));

    // A composition from a plan file has the same bytes as the composition from flags.
    let clinical = super::scene::root().join("policies/clinical");
    let pii = super::scene::root().join("policies/pii");
    let plan = format!(
        "version = \"1.0.0\"\n[[member]]\nname = \"ward\"\npackage = \"{}\"\nprofiles = [\"patients.toml\"]\n\
         [[member]]\nname = \"desk\"\npackage = \"{}\"\n",
        clinical.display(),
        pii.display()
    );
    std::fs::write(scene.path("plan.toml"), plan).unwrap();
    std::fs::create_dir(scene.path("other")).unwrap();
    scene.said("policy compose @other/house --plan @plan.toml");
    assert_eq!(scene.said("policy digest @other/house"), digest);
}
