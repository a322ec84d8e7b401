//! The policies that cases name: shipped policies, a policy that permits everything, and `biography` in an open world.
//! Each policy is compiled once.

use crate::judged::{MeasuredJudgement, MeasuredPolicy, text_of};
use anyhow::{Context, Result, ensure};
use portcullis_policy::PolicyPackage;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// A package that permits everything and has the default settings for continuity.
pub(crate) const PERMIT_ALL: &str = "[package]\nname = \"permit-all\"\nversion = \"1.0.0\"\ndescription = \"Permits everything.\"\n\
    [enumerations]\ndomain = [\"any\"]\naudience = [\"any\"]\ntemporal = [\"any\"]\nregister = [\"any\"]\n";
const CLOSED: &str = "closed_world = true";

/// How a package with a closed world is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum World {
    /// No change.
    #[default]
    Shipped,
    Open,
    /// An open world and a trust slope that does not end any text, so that every span has a slope.
    OpenWithoutHalt,
}

/// How a case names its policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CasePolicyName {
    /// The name of a shipped package; `None` is the policy that permits everything.
    pub(crate) package: Option<String>,
    pub(crate) world: World,
}

impl CasePolicyName {
    /// The policy that the fields `policy` and `closed_world` of a row name.
    pub(crate) fn of(row: &Value) -> Self {
        let world = if row["closed_world"] == false { World::Open } else { World::Shipped };
        Self { package: row["policy"].as_str().map(str::to_owned), world }
    }

    pub(crate) fn shipped(package: &str) -> Self {
        Self { package: Some(package.to_owned()), world: World::Shipped }
    }
}

/// A text with its policy, store and intent.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyQuestion {
    pub(crate) policy: CasePolicyName,
    pub(crate) store: Option<String>,
    pub(crate) intent: String,
    pub(crate) text: String,
}

impl PolicyQuestion {
    /// The text of a row under the policy that the row names, without store and intent.
    pub(crate) fn of(row: &Value) -> Self {
        Self { policy: CasePolicyName::of(row), text: text_of(&row["text"]), ..Self::default() }
    }
}

#[derive(Default)]
pub(crate) struct CompiledPolicyCache {
    compiled: RefCell<BTreeMap<CasePolicyName, Rc<MeasuredPolicy>>>,
}

impl CompiledPolicyCache {
    pub(crate) fn get(&self, name: &CasePolicyName) -> Result<Rc<MeasuredPolicy>> {
        if let Some(policy) = self.compiled.borrow().get(name) {
            return Ok(Rc::clone(policy));
        }
        let policy = Rc::new(MeasuredPolicy::new(package(name)?)?);
        self.compiled.borrow_mut().insert(name.clone(), Rc::clone(&policy));
        Ok(policy)
    }

    /// The outcome of each text, in order. Texts with the same policy and store are judged together.
    pub(crate) fn judge(&self, questions: &[PolicyQuestion]) -> Result<Vec<MeasuredJudgement>> {
        let mut together: BTreeMap<(&CasePolicyName, Option<&str>), Vec<usize>> = BTreeMap::new();
        for (at, q) in questions.iter().enumerate() {
            together.entry((&q.policy, q.store.as_deref())).or_default().push(at);
        }
        let mut judged: Vec<MeasuredJudgement> = questions.iter().map(|_| MeasuredJudgement::default()).collect();
        for ((name, store), places) in together {
            let texts = places.iter().filter_map(|at| questions.get(*at)).map(|q| (q.text.as_str(), q.intent.clone()));
            for (of, at) in self.get(name)?.texts(store, texts)?.into_iter().zip(&places) {
                if let Some(place) = judged.get_mut(*at) {
                    *place = of;
                }
            }
        }
        Ok(judged)
    }
}

/// The package that permits everything, with this manifest.
pub(crate) fn permit_all(manifest: &str) -> Result<PolicyPackage> {
    let permit = "@id(\"ALLOW\")\npermit (principal, action, resource);\n";
    let files = [("policy.toml", manifest), ("permit-all.cedar", permit)];
    Ok(PolicyPackage::from_files(files.map(|(f, t)| (f.to_owned(), t.as_bytes().to_vec())).into())?)
}

fn package(name: &CasePolicyName) -> Result<PolicyPackage> {
    let Some(folder) = &name.package else { return permit_all(PERMIT_ALL) };
    let package = PolicyPackage::load(&Path::new("policies").join(folder))?;
    if name.world == World::Shipped {
        return Ok(package);
    }
    let mut files = package.files().clone();
    let manifest = files.get_mut("policy.toml").context("a package has a manifest")?;
    let text = std::str::from_utf8(manifest)?;
    ensure!(text.contains(CLOSED), "`{folder}` has no line `{CLOSED}`");
    let mut text = text.replace(CLOSED, "closed_world = false");
    if name.world == World::OpenWithoutHalt {
        let bound =
            |line: &str| ["warning", "correction", "halt"].iter().any(|key| line.starts_with(&format!("{key} =")));
        text = text.lines().filter(|line| !bound(line)).map(|line| format!("{line}\n")).collect();
    }
    *manifest = text.into_bytes();
    Ok(PolicyPackage::from_files(files)?)
}
