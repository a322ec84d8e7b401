//! The work over one bundle, as a function of the bundle and of what was asked. It runs in this process, or in an
//! executor of a cluster, which keeps nothing.

use crate::bundle_uri::{broken_id, open, unfinished_id};
use crate::error::FleetError;
use crate::progress::AuditStep;
use crate::trust::TrustFolder;
use portcullis_core::hex;
use portcullis_evidence::bundle::{Bundle, BundleError, BundleFiles, SnapshotFiles};
use portcullis_evidence::verify::{SeriesCode, VerifyOptions};
use portcullis_fleet_core::{
    AuditFinding, AuditFindingSource, BundleSmallFiles, BundleVerifySettings, ChainBundle, FleetCode, ReplayOutcome,
    ResultKey, VerifyTaskOutcome, broken, digest, failed, replay, verify,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

/// A unit of work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuditUnit {
    pub(crate) bundle: String,
    pub(crate) name: String,
    pub(crate) uri: String,
    /// The earlier bundles of the chain, in its order, for a replay of streams that continue theirs.
    pub(crate) earlier: Vec<EarlierChainBundle>,
    /// There is a result for exactly these bundles, so the unit only has to show that they are still the same.
    pub(crate) kept: bool,
}

/// A bundle before that of the unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EarlierChainBundle {
    pub(crate) bundle: String,
    pub(crate) name: String,
    pub(crate) uri: String,
    /// Whether the unit answers for this bundle too.
    pub(crate) is_asked: bool,
}

/// The reply to a unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply<T> {
    /// Absent if the kept result holds.
    pub(crate) outcome: Option<T>,
    /// Whether the outcome is one of the evidence, and not of an attempt to read it.
    pub(crate) keep: bool,
}

impl<T> Reply<T> {
    const fn kept() -> Self {
        Self { outcome: None, keep: true }
    }

    const fn passing(outcome: T) -> Self {
        Self { outcome: Some(outcome), keep: false }
    }
}

/// A reply in columns. The outcome is the document that is kept, too: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReplyRow {
    pub(crate) keep: bool,
    pub(crate) outcome: Option<String>,
}

impl ReplyRow {
    pub(crate) fn new<T: Serialize>(reply: &Reply<T>) -> Result<Self, FleetError> {
        let outcome = reply.outcome.as_ref().map(serde_json::to_string).transpose()?;
        Ok(Self { keep: reply.keep, outcome })
    }

    pub(crate) fn reply<T: DeserializeOwned>(&self) -> Result<Reply<T>, FleetError> {
        let outcome = self.outcome.as_deref().map(serde_json::from_str).transpose()?;
        Ok(Reply { outcome, keep: self.keep })
    }
}

/// Work of one kind.
pub(crate) trait AuditTask: Clone + Send + Sync + 'static {
    type Outcome: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;

    const NAME: &'static str;

    /// The step of a finished unit, or of one whose result was kept.
    fn step(kept: bool) -> AuditStep;

    /// The key of a result.
    fn key(&self, identity: &[u8], unit: &AuditUnit) -> ResultKey;

    /// Number of bundles for which an outcome answers.
    fn bundles(_: &Self::Outcome) -> usize {
        1
    }

    /// Does the work. What cannot be read is an outcome too.
    fn run(&self, unit: &AuditUnit) -> Reply<Self::Outcome>;
}

/// The files of a unit, if their content is the one that was ingested.
fn files(unit: &AuditUnit) -> Result<Box<dyn BundleFiles>, Box<VerifyTaskOutcome>> {
    let unread = |what: &dyn std::fmt::Display| Box::new(failed(&unit.name, &unit.bundle, FleetCode::Unread, what));
    let uri = Url::parse(&unit.uri).map_err(|error| unread(&error))?;
    let is_broken = unit.bundle == broken_id(&uri);
    let of = |error: BundleError| match broken(&unit.name, &unit.bundle, &error) {
        Ok(outcome) => Box::new(outcome),
        // It held no bundle when it was ingested either.
        Err(_) if is_broken && error.is_no_bundle() => {
            Box::new(failed(&unit.name, &unit.bundle, FleetCode::Series(SeriesCode::NoBundle), error))
        }
        Err(error) => unread(&error),
    };
    if unit.bundle == unfinished_id(&uri) {
        let what = "it was not finished when it was ingested: its session still ran, or it had died";
        return Err(Box::new(failed(&unit.name, &unit.bundle, FleetCode::Unfinished, what)));
    }
    let files = open(&uri).map_err(of)?;
    let found = digest(&*files).map_err(of)?;
    if is_broken {
        // It has no content to compare with, but it must still be broken.
        let files = SnapshotFiles::new(&*files);
        Bundle::open(&files).and_then(|bundle| BundleSmallFiles::read(&bundle)).map_err(of)?;
    }
    if hex::encode(&found) != unit.bundle {
        let was = if is_broken { "it was broken when it was" } else { "it is not the one that was" };
        let what = format!("the content of {} has changed: {was} ingested", unit.uri);
        return Err(Box::new(failed(&unit.name, &unit.bundle, FleetCode::BundleChanged, what)));
    }
    Ok(files)
}

/// Today's verifier, over the bundle itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct VerifyTask {
    trust: TrustFolder,
    allow_sim: bool,
    allow_not_enforced: bool,
    at: Option<u64>,
}

impl VerifyTask {
    pub(crate) fn new(trust: &TrustFolder, options: VerifyOptions) -> Self {
        Self {
            trust: trust.clone(),
            allow_sim: options.allow_sim,
            allow_not_enforced: options.allow_not_enforced,
            at: options.at,
        }
    }
}

impl AuditTask for VerifyTask {
    type Outcome = VerifyTaskOutcome;

    const NAME: &'static str = "verify_bundle";

    fn step(kept: bool) -> AuditStep {
        if kept { AuditStep::Reused } else { AuditStep::Verified }
    }

    fn key(&self, identity: &[u8], unit: &AuditUnit) -> ResultKey {
        ResultKey::new("verify", &[identity, unit.bundle.as_bytes(), unit.name.as_bytes()])
    }

    fn run(&self, unit: &AuditUnit) -> Reply<VerifyTaskOutcome> {
        let files = match files(unit) {
            Ok(_) if unit.kept => return Reply::kept(),
            Ok(files) => files,
            Err(outcome) => return Reply::passing(*outcome),
        };
        let options =
            VerifyOptions { allow_sim: self.allow_sim, allow_not_enforced: self.allow_not_enforced, at: self.at };
        match verify(&unit.name, &unit.bundle, &*files, BundleVerifySettings { trust: self.trust.trust(), options }) {
            Ok(outcome) => Reply { outcome: Some(outcome), keep: true },
            Err(error) => Reply::passing(failed(&unit.name, &unit.bundle, FleetCode::Unread, error)),
        }
    }
}

/// Today's replay, over the bundle itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ReplayTask {
    /// The largest number of streams.
    pub(crate) sample: u64,
    pub(crate) seed: String,
}

impl ReplayTask {
    /// Errors: why the bundle or an earlier one could not be read, or the replay itself failed.
    fn replay(&self, unit: &AuditUnit) -> Result<Reply<Vec<ReplayOutcome>>, String> {
        let files = files(unit).map_err(|_| "the bundle could not be read again".to_owned())?;
        let mut earlier = Vec::new();
        for place in &unit.earlier {
            let url = Url::parse(&place.uri).map_err(|error| error.to_string())?;
            let files = open(&url).map_err(|error| format!("an earlier bundle: {error}"))?;
            let found = digest(&*files).map_err(|error| format!("an earlier bundle: {error}"))?;
            if hex::encode(&found) != place.bundle {
                return Err(format!("an earlier bundle: the content of {} has changed", place.uri));
            }
            earlier.push(files);
        }
        if unit.kept {
            return Ok(Reply::kept());
        }
        let before = unit.earlier.iter().zip(&earlier);
        let before =
            before.map(|(place, files)| ChainBundle { name: &place.name, files: &**files, is_asked: place.is_asked });
        let own = ChainBundle { name: &unit.name, files: &*files, is_asked: true };
        let chain: Vec<ChainBundle<'_>> = before.chain([own]).collect();
        let outcome = replay(&chain, (self.sample, &self.seed)).map_err(|error| error.to_string())?;
        Ok(Reply { outcome: Some(outcome), keep: true })
    }
}

impl AuditTask for ReplayTask {
    /// Of the earlier bundles that the unit answers for, and of its own, in order.
    type Outcome = Vec<ReplayOutcome>;

    const NAME: &'static str = "replay_bundle";

    fn bundles(outcome: &Self::Outcome) -> usize {
        outcome.len()
    }

    fn step(_: bool) -> AuditStep {
        AuditStep::Replayed
    }

    fn key(&self, identity: &[u8], unit: &AuditUnit) -> ResultKey {
        let sample = self.sample.to_le_bytes();
        let mut inputs = vec![identity, unit.bundle.as_bytes(), unit.name.as_bytes(), &sample, self.seed.as_bytes()];
        for place in &unit.earlier {
            let asked: &[u8] = if place.is_asked { b"asked" } else { b"" };
            inputs.extend([place.bundle.as_bytes(), place.name.as_bytes(), asked]);
        }
        ResultKey::new("replay", &inputs)
    }

    fn run(&self, unit: &AuditUnit) -> Reply<Vec<ReplayOutcome>> {
        self.replay(unit).unwrap_or_else(|why| {
            let failed = |name: &str| {
                let finding = AuditFinding::of_fleet(AuditFindingSource::Replay, FleetCode::Unread, Some(name), &why);
                ReplayOutcome { findings: vec![finding], ..ReplayOutcome::default() }
            };
            let asked = unit.earlier.iter().filter(|place| place.is_asked).map(|place| &*place.name);
            Reply::passing(asked.chain([&*unit.name]).map(failed).collect())
        })
    }
}
