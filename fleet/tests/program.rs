//! The program: commands, output and exit codes.

use crate::support::Scene;
use std::process::{Command, Output};

fn fleet(scene: &Scene, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fleet")).current_dir(scene.folder.path()).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn expect(scene: &Scene, args: &[&str], code: i32) -> (String, String) {
    let output = fleet(scene, args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
    (out, err)
}

#[test]
fn from_bundles_to_a_page() {
    let scene = Scene::new();
    scene.all_but(&[]);
    let (_, err) = expect(&scene, &["ingest", "1", "2", "4", "--to", "tables"], 0);
    assert!(err.contains("3 of 3: 4: "), "{err}");
    let (out, err) = expect(&scene, &["audit", "tables", "--trust", "trust"], 3);
    assert!(out.starts_with("contradicted (3 bundles)\ncontradicted: serial-missing\n"), "{out}");
    assert!(err.contains("verified: 3 of 3 bundles"), "{err}");

    expect(&scene, &["ingest", "3", "1", "--to", "tables"], 0);
    let (out, _) = expect(&scene, &["audit", "tables", "--trust", "trust", "--json"], 0);
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&answer["status"], &answer["totals"]["sessions"]), (&"affirmed".into(), &4.into()));

    let query = "SELECT status, count(*) AS n FROM sessions GROUP BY status";
    let (out, _) = expect(&scene, &["sql", "tables", query, "--json"], 0);
    assert_eq!(out, "{\"status\":\"affirmed\",\"n\":4}\n");
    expect(&scene, &["sql", "tables", "SELECT nothing"], 1);
    expect(&scene, &["report", "--output", "audit.html"], 0);
    assert!(scene.path("audit.html").exists());
    let (_, err) = expect(&scene, &["report", "--output", "audit.html"], 1);
    assert!(err.contains("cannot write `audit.html`"), "{err}");
}

#[test]
fn a_session_that_still_runs_is_ingested_when_it_has_ended() {
    let scene = Scene::new();
    scene.all_but(&[]);
    let manifest = scene.path("4/manifest.json");
    let content = std::fs::read(&manifest).unwrap();
    std::fs::remove_file(&manifest).unwrap();
    let (_, err) = expect(&scene, &["ingest", "1", "2", "3", "4", "--to", "tables"], 5);
    assert!(err.contains("4 of 4: 4: not finished, and listed as such"), "{err}");
    let warned = || {
        let (out, _) = expect(&scene, &["audit", "tables", "--trust", "trust"], 5);
        assert!(out.starts_with("warned (4 bundles)\nwarned: 4: unfinished\n"), "{out}");
    };
    warned();
    // Until it is ingested again, its end is not in the tables.
    std::fs::write(&manifest, content).unwrap();
    warned();
    expect(&scene, &["ingest", "1", "2", "3", "4", "--to", "tables"], 0);
    let (out, _) = expect(&scene, &["audit", "tables", "--trust", "trust"], 0);
    assert!(out.starts_with("affirmed (4 bundles)"), "{out}");
}

/// A damaged file is named by every command that reads the tables.
#[test]
fn a_damaged_table_is_named() {
    let scene = Scene::new();
    scene.all_but(&[]);
    expect(&scene, &["ingest", "1", "2", "3", "4", "--to", "tables"], 0);
    let path = crate::tables::files(&scene.path("tables/tickets")).remove(0);
    std::fs::write(&path, [b"PAR1".as_slice(), &[0x91; 500], b"PAR1"].concat()).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let (out, _) = expect(&scene, &["audit", "tables", "--trust", "trust"], 3);
    assert!(out.starts_with("contradicted (4 bundles)\ncontradicted: ") && out.contains("table-unread"), "{out}");
    assert!(out.contains(&name), "{out}");
    let (_, err) = expect(&scene, &["sql", "tables", "SELECT count(content) FROM ticket_files"], 1);
    assert!(err.contains(&name) && err.contains("cannot be read"), "{err}");
    expect(&scene, &["sql", "tables", "SELECT count(*) FROM records"], 0);
}

/// The advice about a bundle that was broken, or that has changed, helps.
#[test]
fn a_bundle_that_has_changed_is_ingested_again() {
    let scene = Scene::new();
    scene.all_but(&[]);
    let audit = |code: i32, finding: &str| {
        let (out, _) = expect(&scene, &["audit", "tables", "--trust", "trust"], code);
        assert!(out.contains(finding), "{out}");
    };
    let image = scene.path("2/policy/image.bin");
    let content = std::fs::read(&image).unwrap();
    std::fs::remove_file(&image).unwrap();
    expect(&scene, &["ingest", "1", "2", "3", "4", "--to", "tables"], 3);
    audit(3, "contradicted: 2: no-bundle");
    std::fs::write(&image, content).unwrap();
    audit(3, "contradicted: 2: bundle-changed");
    expect(&scene, &["ingest", "2", "--to", "tables"], 0);
    audit(0, "affirmed (4 bundles)");

    // Another whole bundle in the place of one that was ingested: nothing hides that, unless the auditor says so.
    let other = Scene::with(|serial, session| {
        if serial == 3 {
            session.witness_time += 50
        }
    });
    scene.bundle("3", &other.session(3));
    audit(3, "contradicted: 3: bundle-changed");
    expect(&scene, &["ingest", "3", "--to", "tables"], 0);
    audit(3, "contradicted: 3: bundle-changed");
    let (_, err) = expect(&scene, &["ingest", "3", "--to", "tables", "--replace"], 0);
    assert!(err.contains("3: replaces 1 with another content"), "{err}");
    audit(0, "affirmed (4 bundles)");
    let (_, err) = expect(&scene, &["ingest", "3", "--to", "tables", "--replace"], 0);
    assert!(!err.contains("replaces"), "{err}");
}

#[test]
fn errors_name_a_remedy() {
    let scene = Scene::new();
    let (_, err) = expect(&scene, &["audit", "tables", "--trust", "trust"], 1);
    assert!(err.contains("run `fleet ingest BUNDLE... --to tables` first"), "{err}");
    let (_, err) = expect(&scene, &["report", "--output", "x.html"], 1);
    assert!(err.contains("run `fleet audit"), "{err}");
    let (_, err) = expect(&scene, &["ingest", "nowhere", "--to", "tables"], 1);
    assert!(err.contains("`nowhere`"), "{err}");
    expect(&scene, &["ingest", "--to", "tables"], 2);
    expect(&scene, &["audit", "tables"], 2);
    // A broken bundle is listed, and an audit reports it.
    std::fs::create_dir_all(scene.path("broken")).unwrap();
    std::fs::write(scene.path("broken/x.txt"), "x").unwrap();
    let (_, err) = expect(&scene, &["ingest", "broken", "--to", "tables"], 3);
    assert!(err.contains("broken, and listed as such"), "{err}");
    let (out, _) = expect(&scene, &["audit", "tables", "--trust", "trust"], 3);
    assert!(out.contains("contradicted: broken: no-bundle"), "{out}");
}
