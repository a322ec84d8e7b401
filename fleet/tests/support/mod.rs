//! Sessions of a card in software, as bundles on disk, and audits of them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "test support: a broken scene must stop the test, and each test binary uses a part of it"
)]

pub(crate) mod bucket;
#[cfg(feature = "cluster")]
pub(crate) mod cluster;

use portcullis_evidence::bundle::MemoryFiles;
use portcullis_evidence::verify::{TrustedParties, VerifyOptions};
use portcullis_fleet::{
    AuditOptions, AuditStep, FleetError, FleetTableStore, IngestInput, QueryPlace, TrustFolder, audit, ingest,
};
use portcullis_fleet_core::{AuditAnswer, WorkFolder};
use portcullis_test_support::world::{self, Parts, START, World, sha};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use zerocopy::IntoBytes;

/// Sessions 1 to 4 of one card, each with the end of the one before in its ticket, and a folder for their bundles.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) sessions: Vec<Parts>,
    pub(crate) folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(|_, _| ())
    }

    /// Changes each session before the next one names its end.
    pub(crate) fn with(mut change: impl FnMut(u64, &mut Parts)) -> Self {
        let world = World::new();
        let (mut sessions, mut previous): (Vec<Parts>, _) = (Vec::new(), [0; 32]);
        for serial in 1..=4 {
            let mut session = world.session(&world.card, serial, previous);
            session.witness_log = sessions.last().map(Parts::witness_leaves).unwrap_or_default();
            session.witness_time = START + (serial - 1) * 100_000;
            change(serial, &mut session);
            previous = sha(session.log.checkpoints.last().unwrap().as_bytes());
            sessions.push(session);
        }
        let folder = tempfile::tempdir().unwrap();
        world::write(folder.path(), &world.trust(false), &world, &MemoryFiles::default());
        Self { world, sessions, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn trust(&self) -> TrustedParties {
        TrustedParties::load(&self.path("trust"), false).unwrap()
    }

    /// Writes a bundle.
    pub(crate) fn bundle(&self, name: &str, files: &MemoryFiles) -> IngestInput {
        let folder = self.path(name);
        for (file, content) in &files.0 {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        IngestInput::Bundle(folder)
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    pub(crate) fn session(&self, serial: usize) -> MemoryFiles {
        self.sessions[serial - 1].files()
    }

    /// The bundles of all sessions but some.
    pub(crate) fn all_but(&self, left_out: &[usize]) -> Vec<IngestInput> {
        let serials = (1..=self.sessions.len()).filter(|serial| !left_out.contains(serial));
        serials.map(|serial| self.bundle(&serial.to_string(), &self.session(serial))).collect()
    }

    pub(crate) fn ingest(&self, inputs: &[IngestInput]) -> String {
        let place = self.path("tables").display().to_string();
        let tables = FleetTableStore::create(&place).unwrap();
        for input in inputs {
            block_on(ingest(&tables, input, &mut |_| ())).unwrap();
        }
        place
    }

    pub(crate) fn options(&self) -> AuditOptions {
        AuditOptions {
            trust: TrustFolder::load(&self.path("trust"), false).unwrap(),
            options: VerifyOptions::default(),
            public_log: None,
            work: WorkFolder::default(),
            program: "test".to_owned(),
            sample: 0,
            seed: None,
            jobs: 2,
            place: QueryPlace::Here,
            progress: Arc::new(|_| Ok(())),
        }
    }

    /// The answer about these inputs.
    pub(crate) fn answer(&self, inputs: &[IngestInput]) -> AuditAnswer {
        let place = self.ingest(inputs);
        self.audit(&place, &self.options())
    }

    /// The answer about these tables. Where there is a cluster, it must give the same one.
    pub(crate) fn audit(&self, tables: &str, options: &AuditOptions) -> AuditAnswer {
        let answer = run(tables, options).unwrap();
        #[cfg(feature = "cluster")]
        {
            let on_cluster = run(tables, &cluster::on_shared(options)).unwrap();
            let json = |answer: &AuditAnswer| serde_json::to_string_pretty(answer).unwrap();
            assert_eq!(json(&on_cluster), json(&answer), "the cluster's answer is another one");
        }
        answer
    }

    /// The findings about these inputs.
    pub(crate) fn findings(&self, inputs: &[IngestInput]) -> BTreeSet<(String, String)> {
        found(&self.answer(inputs))
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(future)
}

pub(crate) fn run(place: &str, options: &AuditOptions) -> Result<AuditAnswer, FleetError> {
    block_on(async { audit(&FleetTableStore::open(place).await?, options).await })
}

/// Counts the steps of an audit, and stops it after this many verifications.
pub(crate) fn counting(options: AuditOptions, stop_after: usize) -> (AuditOptions, Arc<Mutex<Vec<AuditStep>>>) {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let progress = move |step| {
        let mut seen = seen.lock().unwrap();
        seen.push(step);
        let verified = seen.iter().filter(|step| **step == AuditStep::Verified).count();
        if verified > stop_after { Err(FleetError::Stopped) } else { Ok(()) }
    };
    (AuditOptions { progress: Arc::new(progress), ..options }, steps)
}

/// Bundle and code of each finding; `-` if a finding concerns no bundle.
pub(crate) fn found(answer: &AuditAnswer) -> BTreeSet<(String, String)> {
    let name = |bundle: &Option<String>| bundle.clone().unwrap_or_else(|| "-".to_owned());
    answer.findings.iter().map(|finding| (name(&finding.bundle), finding.code.to_string())).collect()
}

pub(crate) fn set(expected: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    expected.iter().map(|(bundle, code)| ((*bundle).to_owned(), (*code).to_owned())).collect()
}

/// The codes that the single verifier finds in a bundle.
pub(crate) fn verifier_codes(scene: &Scene, name: &str) -> BTreeSet<(String, String)> {
    let report = single(scene, &scene.path(name));
    let properties = portcullis_evidence::verify::BundleProperty::ALL;
    let reasons = properties.iter().flat_map(|property| &report.properties.of(*property).reasons);
    reasons.map(|reason| (name.to_owned(), reason.code.to_string())).collect()
}

/// The single verifier's report.
pub(crate) fn single(scene: &Scene, path: &Path) -> portcullis_evidence::verify::VerifyReport {
    let files = portcullis_evidence::bundle::at(path).unwrap();
    portcullis_evidence::verify::verify(&*files, &scene.trust(), VerifyOptions::default(), &mut |_| ()).unwrap()
}
