//! Runs the verifier of tests/independent on every bundle that a test makes, and compares the results. That verifier
//! was written from the documents only. `PORTCULLIS_INDEPENDENT=1` enables this; each bundle starts a Python process.

use super::World;
use portcullis_authority::keys::public_pem;
use portcullis_evidence::bundle::MemoryFiles;
use portcullis_evidence::verify::{BundleProperty, EvidenceStatus, VerifyReport};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Compares our report with that of the other verifier. Exit code and warnings must be equal, and the other verifier
/// must also report our contradiction.
pub(super) fn compare(world: &World, files: &MemoryFiles, report: &VerifyReport, sim: bool) {
    if is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &world.trust(sim), world, files);
        compare_folder(folder.path(), report, sim);
    }
}

fn is_wanted() -> bool {
    std::env::var_os("PORTCULLIS_INDEPENDENT").is_some_and(|value| value == "1")
}

/// As [`compare`], for a folder that [`write`] has written.
pub(super) fn compare_folder(folder: &Path, report: &VerifyReport, sim: bool) {
    if !is_wanted() {
        return;
    }
    let root = crate::root();
    let mut python = Command::new(root.join(".venv/bin/python"));
    python
        .arg("-B")
        .arg(root.join("tests/independent/verify.py"))
        .arg(folder.join("bundle"))
        .arg("--trust")
        .arg(folder.join("trust"));
    let output = python.args(sim.then_some("--allow-sim")).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let ours = |status: EvidenceStatus| -> BTreeSet<String> {
        let reasons = BundleProperty::ALL.iter().flat_map(|property| &report.properties.of(*property).reasons);
        reasons.filter(|reason| reason.status == status).map(|reason| reason.code.to_string()).collect()
    };
    assert_eq!(output.status.code(), Some(report.exit_code.into()), "{said}\n{:#?}", report.properties);
    // The output is "contradicted CODE WHERE", or one of three words and all warnings.
    let mut words = said.split_whitespace();
    let (contradicted, warned): (BTreeSet<String>, BTreeSet<String>) = match words.next() {
        Some("contradicted") => (words.take(1).map(str::to_owned).collect(), BTreeSet::new()),
        _ => (BTreeSet::new(), words.map(str::to_owned).collect()),
    };
    assert!(contradicted.is_subset(&ours(EvidenceStatus::Contradicted)), "{said}\n{:#?}", report.properties);
    assert!(report.exit_code == 3 || warned == ours(EvidenceStatus::Warned), "{said}\n{:#?}", report.properties);
}

/// Writes a bundle into `folder`, with the trust folder of the world's parties.
pub fn write(folder: &Path, trust: &portcullis_evidence::verify::TrustedParties, world: &World, files: &MemoryFiles) {
    let put = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    files.0.iter().for_each(|(name, content)| put(&format!("bundle/{name}"), content));
    put("trust/roots/root.pem", world.root.certificate_pem().unwrap().as_bytes());
    put("trust/sim-roots/root.pem", world.sim_root.certificate_pem().unwrap().as_bytes());
    for (file, key) in [("issuers/issuer", &world.issuer), ("approvers/approver", &world.approver)] {
        put(&format!("trust/{file}.pub"), public_pem(&key.verifying_key()).unwrap().as_bytes());
    }
    put("trust/withholders/clerk.pub", public_pem(&super::clerk().verifying_key()).unwrap().as_bytes());
    put("trust/witnesses/witness.pub", trust.witnesses[0].to_string().as_bytes());
}
