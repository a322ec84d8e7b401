//! A changed bundle neither verifies nor replays.

use super::scene::{CONTRADICTED, SIMULATED, Scene, copy, kinds, list, replaced};
use portcullis_core::hex;
use portcullis_core::manifest::MAPPING_VERSION;
use portcullis_core::wire::{Record, RecordType};
use portcullis_evidence::bundle::MANIFEST;
use sha2::{Digest, Sha256};
use std::process::Command;
use zerocopy::{FromBytes, IntoBytes};

#[test]
fn a_bundle_verifies_replays_and_does_neither_when_it_is_changed() {
    let scene = Scene::new();
    scene.input();
    let out = scene.bundle("b", " --release checkpoint --on-refuse stop");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    // A run without a bundle gives the same determinations as the run with a bundle.
    let plain = scene.said("run --policy policies/pii --input @in.jsonl --json --release checkpoint --on-refuse stop");
    assert_eq!(String::from_utf8(out.stdout).unwrap(), plain);

    assert_eq!(scene.code("verify @b --trust @trust --allow-sim"), SIMULATED);
    assert_eq!(scene.code("verify @b --trust @trust"), CONTRADICTED, "simulated evidence is none");
    let report = scene.verified("b");
    assert_eq!(report["assurance"], "L0");
    for property in ["policy", "complete", "replayable"] {
        assert_eq!(report["properties"][property]["status"], "affirmed", "{report}");
    }
    assert!(scene.said("replay @b").starts_with("4 of 4 streams replay"));
    let sampled: serde_json::Value = serde_json::from_str(&scene.said("replay @b --sample 2 --seed s --json")).unwrap();
    assert_eq!((&sampled["replayed"], &sampled["streams"]), (&2.into(), &4.into()));
    // An existing folder is not overwritten.
    assert_eq!(scene.bundle("b", "").status.code(), Some(1));

    // Only the replay checks the input of a stream.
    scene.changed("b", "given", "inputs.jsonl", |text| replaced(text, "Sentence one", "Sentence two"));
    assert_eq!(scene.code("replay @given"), CONTRADICTED);
    scene.changed("b", "proposed", "inputs.jsonl", |text| replaced(text, "Call the desk.", "Call that desk."));
    assert_eq!(scene.code("replay @proposed"), CONTRADICTED);
    scene.changed("b", "policy", "policy/package/policy.toml", |text| replaced(text, "max_depth", "#max_depth"));
    assert_eq!(scene.code("replay @policy"), CONTRADICTED);
    // A missing input is a warning, not a contradiction.
    scene.changed("b", "withheld", "inputs.jsonl", |text| {
        text.split_inclusive(|b| *b == b'\n').skip(1).flatten().copied().collect()
    });
    assert_eq!(scene.code("replay @withheld"), 5);
    assert_eq!(scene.verified("withheld")["properties"]["replayable"]["status"], "warned");
    // The verifier detects all other changes.
    scene.changed("b", "text", "spans.jsonl", |text| replaced(text, "Nothing here.", "Nothing there."));
    scene.changed("b", "record", "records/lane-0.bin", |mut bytes| {
        bytes[192 * 3 + 130] ^= 1;
        bytes
    });
    scene.changed("b", "image", "policy/image.bin", |mut bytes| {
        bytes[130] ^= 1;
        bytes
    });
    for changed in ["text", "record", "image"] {
        let report = scene.verified(changed);
        assert_eq!(report["exit_code"], CONTRADICTED, "{changed}");
    }
}

/// `check` verifies and replays: it detects changes that the verifier alone cannot detect, and reports the bundle's
/// digest.
#[test]
fn check_verifies_and_replays() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    let check = |bundle: &str| format!("check @{bundle} --trust @trust --allow-sim");
    let (code, json, reasons) = scene.replayed(&check("b"));
    assert_eq!((code, reasons), (SIMULATED, vec![]), "{json}");
    assert_eq!((&json["status"], &json["exit_code"]), (&"warned".into(), &SIMULATED.into()));
    assert_eq!((&json["replay"]["status"], &json["replay"]["replayed"]), (&"affirmed".into(), &4.into()));
    let manifest = Sha256::digest(std::fs::read(scene.path("b").join(MANIFEST)).unwrap());
    let digest = hex::encode(&manifest);
    assert_eq!(json["verify"]["session"]["bundle_digest"], digest);
    let text = String::from_utf8(scene.run(&check("b")).stdout).unwrap();
    assert!(text.contains(&format!("bundle       {digest}\n")), "{text}");
    assert!(text.contains("replay       4 of 4 streams replay") && text.starts_with("verdict      warned\n"), "{text}");
    assert_eq!(text.matches("verdict  ").count(), 1, "{text}");
    assert_eq!(scene.code("check @b --trust @trust"), CONTRADICTED, "simulated evidence is none");

    // The card's signatures do not cover the input of a stream, so only the replay detects this change.
    scene.changed("b", "given", "inputs.jsonl", |text| replaced(text, "Sentence one", "Sentence two"));
    scene.reseal("given");
    assert_eq!(scene.code("verify @given --trust @trust --allow-sim"), SIMULATED);
    let (code, json, reasons) = scene.replayed(&check("given"));
    assert_eq!((code, reasons), (CONTRADICTED, vec!["replay-differs".to_owned()]), "{json}");
    // A change that only the verifier detects.
    scene.changed("b", "signed", "records/lane-0.bin", |mut bytes| {
        bytes[192 * 3 + 150] ^= 1;
        bytes
    });
    scene.reseal("signed");
    assert_eq!(scene.code(&check("signed")), CONTRADICTED);

    // A folder that is not a bundle, and a path that does not exist.
    copy(&scene.path("b"), &scene.path("stray"));
    std::fs::write(scene.path("stray/else"), "").unwrap();
    let out = scene.run(&format!("{} --json", check("stray")));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((out.status.code(), &json["exit_code"]), (Some(CONTRADICTED), &CONTRADICTED.into()));
    assert!(json["error"].as_str().unwrap().contains("`else` is not a file of a bundle"), "{json}");
    for missing in [check("missing"), "replay @missing".to_owned()] {
        let out = scene.run(&missing);
        assert_eq!(out.status.code(), Some(1), "{missing}");
        assert!(String::from_utf8_lossy(&out.stderr).contains("holds no bundle"), "{missing}");
    }
}

/// The anchor store of a bundle is read into memory: its name in the bundle is not a path on this machine.
#[test]
fn a_bundle_with_an_anchor_store_replays() {
    let scene = Scene::new();
    scene.input();
    let store = r#"{"entity":{"id":"ana","name":"Ana Silva","aliases":["Silva"],"kind":"person"}}
{"fact":{"entity":"ana","text":"Ana Silva was born in Porto in 1950.","source":"register"}}
"#;
    std::fs::write(scene.path("store.jsonl"), store).unwrap();
    let out = scene.bundle("b", " --anchors @store.jsonl");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(std::fs::read_dir(scene.path("b/anchors")).unwrap().count(), 1);
    for line in ["replay @b", "check @b --trust @trust --allow-sim"] {
        let (code, json, reasons) = scene.replayed(line);
        assert_eq!(reasons, Vec::<String>::new(), "{line}: {json}");
        assert_eq!(code, if line.starts_with("check") { SIMULATED } else { 0 }, "{line}: {json}");
    }
}

/// An archive of a bundle is checked like its folder. An archive with other entries, or a truncated one, is refused.
#[test]
fn check_reads_a_tar_archive() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    let check = |name: &str| scene.run(&format!("check @{name} --trust @trust --allow-sim"));
    let folder = check("b");
    assert_eq!(folder.status.code(), Some(SIMULATED));
    let tar = |name: &str, words: &[&str]| {
        let words = words.iter().map(|word| word.replace('@', scene.0.path().to_str().unwrap()));
        let archive = scene.path(name);
        assert!(Command::new("tar").arg("-cf").arg(archive).args(words).status().unwrap().success(), "{name}");
    };
    tar("top.tar", &["--format=ustar", "-C", "@/b", "."]);
    tar("gnu.tar", &["--format=gnu", "-C", "@", "b"]);
    for name in ["top.tar", "gnu.tar"] {
        let out = check(name);
        let shown = String::from_utf8_lossy(&out.stderr);
        assert_eq!((out.status.code(), &out.stdout), (Some(SIMULATED), &folder.stdout), "{name}: {shown}");
        // Every command that reads a bundle reads an archive of it.
        for line in [
            "verify @NAME --trust @trust --allow-sim",
            "replay @NAME",
            "inspect @NAME",
            "prove @NAME --index 3 --output @NAME.proof",
            "extract @NAME --output @NAME.parts",
        ] {
            let [here, there] = ["b", name].map(|name| scene.run(&line.replace("NAME", name)));
            let shown = String::from_utf8_lossy(&there.stderr);
            assert_eq!(there.status.code(), here.status.code(), "{line}, {name}: {shown}");
            if line.starts_with("verify") || line.starts_with("replay") || line.starts_with("inspect") {
                assert_eq!(there.stdout, here.stdout, "{line}, {name}");
            }
        }
        std::fs::remove_file(scene.path("b.proof")).unwrap();
        std::fs::remove_dir_all(scene.path("b.parts")).unwrap();
    }
    let whole = std::fs::read(scene.path("top.tar")).unwrap();
    let code = |bytes: &[u8]| {
        std::fs::write(scene.path("changed.tar"), bytes).unwrap();
        check("changed.tar").status.code()
    };
    // A truncated archive: without its end, with a truncated file, or with missing files.
    for length in [512, 700, whole.len() / 3, whole.len() / 2] {
        assert_eq!(code(&whole[..length]), Some(CONTRADICTED), "{length} bytes");
    }
    let place = whole.windows(12).position(|bytes| bytes == b"Nothing here").unwrap();
    for (at, what) in [(place, "a text"), (1, "a header")] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert_eq!(code(&changed), Some(CONTRADICTED), "{what}");
        assert_eq!(scene.code("verify @changed.tar --trust @trust --allow-sim"), CONTRADICTED, "{what}");
    }
    // The changed header of the archive is a fault of the evidence. A file that is not an archive is an error.
    assert_eq!(scene.code("replay @changed.tar"), CONTRADICTED);
    assert_eq!(code(b"no archive"), Some(1));
    assert_eq!(scene.code("replay @changed.tar"), 1);
    assert_eq!(scene.code("verify @changed.tar --trust @trust --allow-sim"), 1);
    // An archive with a link, and an archive with a duplicate file.
    std::os::unix::fs::symlink("manifest.json", scene.path("b/README.md.link")).unwrap();
    tar("link.tar", &["--format=ustar", "-C", "@/b", "."]);
    std::fs::remove_file(scene.path("b/README.md.link")).unwrap();
    tar("twice.tar", &["--format=ustar", "--hard-dereference", "-C", "@/b", ".", "./manifest.json"]);
    for (name, words) in [("link.tar", "neither a file nor a folder"), ("twice.tar", "is there twice")] {
        let out = check(name);
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.code() == Some(CONTRADICTED) && said.contains(words), "{name}: {said}");
    }
    // A closed pipe does not change the exit code.
    let mut child = scene.start("check @link.tar --trust @trust --allow-sim");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(CONTRADICTED));
}

/// A stream without END replays as far as it goes, with a warning.
#[test]
fn a_stream_that_did_not_end_is_a_named_warning() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    let log = "records/lane-0.bin";
    let kinds = kinds(&std::fs::read(scene.path("b").join(log)).unwrap());
    let last = |kind| kinds.iter().rposition(|k| *k == kind).unwrap();
    let (begin, end) = (last(RecordType::Begin), last(RecordType::End));
    assert!(begin < end && kinds[begin..end].contains(&RecordType::Verdict));
    // Only END is missing: all input was judged.
    scene.changed("b", "end", log, |bytes| bytes[..192 * end].to_vec());
    let (code, json, reasons) = scene.replayed("replay @end");
    assert_eq!((code, reasons), (5, vec!["stream-unfinished".to_owned()]), "{json}");
    // The verdicts are missing too: the input was not judged.
    scene.changed("b", "verdicts", log, |bytes| bytes[..192 * (begin + 1)].to_vec());
    let (code, json, reasons) = scene.replayed("replay @verdicts");
    assert_eq!(code, 5, "{json}");
    assert!(["stream-unfinished", "input-unconsumed"].iter().all(|code| reasons.contains(&(*code).into())), "{json}");
    // Records that a checkpoint covers are missing.
    assert_eq!(scene.code("check @verdicts --trust @trust --allow-sim"), CONTRADICTED);
}

/// An engine's proposal that the gate did not request: no record judges it, so it is not evidence.
#[test]
fn a_proposal_that_nobody_asked_for_is_a_named_warning() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    let inputs = std::fs::read_to_string(scene.path("b/inputs.jsonl")).unwrap();
    let engines = inputs.lines().filter(|line| line.contains("\"proposals\"")).count();
    assert_eq!(engines, 2, "{inputs}");
    for nth in 0..engines {
        let name = format!("more-{nth}");
        scene.changed("b", &name, "inputs.jsonl", |text| {
            let mut lines: Vec<_> = std::str::from_utf8(&text).unwrap().lines().map(str::to_owned).collect();
            let line = lines.iter_mut().filter(|line| line.contains("\"proposals\"")).nth(nth).unwrap();
            let before = line.strip_suffix("]}}").unwrap();
            let more = r#"{"Ok":{"Candidate":{"text":"More.","logprobs":null}}}"#;
            *line = format!("{before},{more}]}}}}");
            lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
        });
        let (code, json, reasons) = scene.replayed(&format!("replay @{name}"));
        assert_eq!((code, reasons), (5, vec!["input-unconsumed".to_owned()]), "{json}");
        scene.reseal(&name);
        let (code, json, reasons) = scene.replayed(&format!("check @{name} --trust @trust --allow-sim"));
        assert_eq!((code, reasons), (SIMULATED, vec!["input-unconsumed".to_owned()]), "{json}");
    }
}

/// If no seed is given, a random seed is drawn and printed, so that the sample can be repeated.
#[test]
fn a_sample_without_a_seed_draws_one_and_says_it() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    let drawn = || {
        let (code, json, _) = scene.replayed("replay @b --sample 2");
        assert_eq!((code, &json["replayed"]), (0, &2.into()), "{json}");
        (json["seed"].as_str().unwrap().to_owned(), json)
    };
    let ((seed, first), (other, _)) = (drawn(), drawn());
    assert!(seed.len() == 32 && seed != other, "{seed} {other}");
    assert_eq!(scene.replayed(&format!("replay @b --sample 2 --seed {seed}")).1, first);
    let text = scene.said(&format!("replay @b --sample 2 --seed {seed}"));
    assert!(text.contains(&format!("the sample was drawn with the seed `{seed}`")), "{text}");
    assert_eq!(scene.code("replay @b --seed s"), 2);
}

/// A truncated log, a record of unknown type, and a malformed line are faults of the bundle, not errors of the
/// program.
#[test]
fn a_broken_file_is_a_finding() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    scene.changed("b", "cut", "records/lane-0.bin", |bytes| bytes[..bytes.len() - 100].to_vec());
    scene.changed("b", "type", "records/lane-0.bin", |mut bytes| {
        let mut record = Record::read_from_bytes(&bytes[192 * 2..192 * 3]).unwrap();
        record.answer.record_type = 0xee;
        bytes[192 * 2..192 * 3].copy_from_slice(record.as_bytes());
        bytes
    });
    scene.changed("b", "line", "inputs.jsonl", |text| replaced(text, "{\"index\"", "{\"indes\""));
    scene.changed("b", "input", "inputs.jsonl", |text| replaced(text, "{\"text\":", "{\"tekst\":"));
    for (bundle, expected, words) in [
        ("cut", "replay-bundle", "the log ends within a record"),
        ("type", "replay-bundle", "record 2 is of no type"),
        ("line", "replay-bundle", "inputs.jsonl"),
        ("input", "replay-input", "tekst"),
    ] {
        let (code, json, reasons) = scene.replayed(&format!("replay @{bundle}"));
        assert_eq!(code, CONTRADICTED, "{bundle}: {json}");
        assert!(reasons.iter().any(|code| code == expected) && json.to_string().contains(words), "{bundle}: {json}");
        assert_eq!(scene.code(&format!("check @{bundle} --trust @trust --allow-sim")), CONTRADICTED, "{bundle}");
    }
}

/// Other mappings and layouts give a warning that names them. A bundle's anchor store must not be a database.
#[test]
fn another_version_is_no_contradiction() {
    let scene = Scene::new();
    scene.input();
    assert!(scene.bundle("b", "").status.success());
    let said = |name: &str| {
        let out = scene.run(&format!("replay @{name}"));
        (out.status.code().unwrap(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    // The package digest under a mapping version: the first line of the hashed listing contains the version.
    let package = |mapping: u32| {
        let mut listing = format!("portcullis package 1, mapping {mapping}\n");
        let mut files = Vec::new();
        list(&scene.path("b/policy/package"), "", &mut files);
        files.sort();
        for file in files {
            let bytes = std::fs::read(scene.path("b/policy/package").join(&file)).unwrap();
            let digest = hex::encode(&Sha256::digest(&bytes));
            listing.push_str(&format!("{digest}  {}  {file}\n", bytes.len()));
        }
        Sha256::digest(listing)
    };
    let image = std::fs::read(scene.path("b/policy/image.bin")).unwrap();
    let now = package(MAPPING_VERSION);
    let at = image.windows(32).position(|w| w == now.as_slice()).unwrap();
    for mapping in [MAPPING_VERSION - 1, MAPPING_VERSION + 1] {
        let name = format!("mapping-{mapping}");
        scene.changed("b", &name, "policy/image.bin", |mut image| {
            image[at..at + 32].copy_from_slice(&package(mapping));
            image
        });
        let (code, why) = said(&name);
        let named = ["unknown-version", &format!("another version (mapping {mapping},"), "replay with the release"];
        let named = named.iter().all(|words| why.contains(words));
        assert!(code == 5 && named, "{code}: {why}");
    }
    scene.changed("b", "layout", "policy/image.bin", |mut image| {
        let digest = portcullis_core::wire::MAP_DIGEST;
        let at = image.windows(digest.len()).position(|w| w == digest).unwrap();
        image[at] ^= 1;
        image
    });
    let (code, why) = said("layout");
    assert!(code == 5 && why.contains("unknown-version: the tables are of another version's layout"), "{code}: {why}");

    copy(&scene.path("b"), &scene.path("database"));
    std::fs::create_dir_all(scene.path("database/anchors")).unwrap();
    let store = scene.path("database/anchors").join("ab".repeat(32));
    std::fs::write(&store, b"SQLite format 3\0 and whatever else").unwrap();
    let (code, why) = said("database");
    assert!(code == CONTRADICTED && why.contains("is a SQLite database"), "{code}: {why}");
}
