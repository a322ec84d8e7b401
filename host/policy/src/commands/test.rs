//! `policy test`: runs a package's own tests with the evaluator and with `cedar-policy`.
//!
//! A line of `tests.jsonl` has one of two forms. `{"name", "category", "context": {…}, "expect": {…}}` gives a
//! descriptor; fields that the context leaves out have neutral values. `{"name", "text", "intent", "facts", "expect":
//! {…}}` gives a text, which a callback maps and judges; intent and facts are optional. `source` names the public rule
//! from which a test was made. `expect` contains `determination`, and optionally `stage` and `rule`.

use crate::compile::CompiledPackage;
use crate::context::{ContextConverter, MissingFieldMode};
use crate::decision::DescriptorDecision;
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind, PolicySourceRange, json_problem};
use crate::oracle::CedarOracle;
use crate::package::{PolicyPackage, TESTS_FILE};
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Determination, Stage};
use portcullis_image::ImageEvaluator;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// Line number in `tests.jsonl`, from 1.
    pub line: usize,
    pub name: String,
    pub input: PolicyTestInput,
    pub expect: PolicyTestExpectation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyTestInput {
    /// A descriptor, by its category and context.
    Context { category: String, context: Value },
    /// A text for the mapping, with its intent and facts.
    Text { text: String, task: StreamTask },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyTestExpectation {
    #[serde(deserialize_with = "determination")]
    pub determination: Determination,
    /// The expected deciding stage, if the test checks it.
    #[serde(default)]
    pub stage: Option<Stage>,
    /// The expected id of the deciding rule or reason, if the test checks it.
    #[serde(default)]
    pub rule: Option<String>,
}

/// The verdict on a text by the caller's mapping and evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTestVerdict {
    pub determination: Determination,
    pub stage: Option<Stage>,
    /// Id of the deciding rule or reason.
    pub rule: Option<String>,
}

impl From<&DescriptorDecision> for PolicyTestVerdict {
    fn from(decision: &DescriptorDecision) -> Self {
        Self { determination: decision.determination, stage: decision.stage, rule: decision.rule.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// Line number in `tests.jsonl`, from 1.
    pub line: usize,
    pub name: String,
    /// The reason why the test failed; `None` if it passed.
    pub failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyTestLine {
    name: String,
    #[serde(default)]
    #[allow(dead_code, reason = "the public rule that the test serves, for those who read the file")]
    source: String,
    category: Option<String>,
    context: Option<Value>,
    text: Option<String>,
    #[serde(default)]
    intent: String,
    #[serde(default)]
    facts: Vec<String>,
    expect: PolicyTestExpectation,
}

/// Reads one of the three determinations that a test can expect.
fn determination<'de, D: Deserializer<'de>>(from: D) -> Result<Determination, D::Error> {
    let name = String::deserialize(from)?;
    let known = [Determination::Admit, Determination::Reject, Determination::Decompose];
    known.into_iter().find(|known| known.name() == name).ok_or_else(|| {
        D::Error::custom(format!("`{}` is not a determination: expect admit, reject or decompose", name.escape_debug()))
    })
}

/// The tests of the package, in order. Errors: there are no tests, or some lines are malformed (the error lists all).
pub fn parse_tests(package: &PolicyPackage) -> Result<Vec<TestCase>, PolicyPackageError> {
    let missing =
        || PolicyProblem::new(PolicyProblemKind::Line, format!("no `{TESTS_FILE}`: a policy ships with its tests"));
    let bytes = package.files().get(TESTS_FILE).ok_or_else(missing)?;
    let text: Arc<str> = Arc::from(String::from_utf8_lossy(bytes));
    let (mut tests, mut problems, mut offset) = (Vec::new(), Vec::new(), 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end();
        if !content.trim().is_empty() {
            match parse_line(number + 1, content) {
                Ok(test) => tests.push(test),
                Err(what) => {
                    let source = Arc::clone(&text);
                    let place = PolicySourceRange { file: TESTS_FILE.into(), source, offset, length: content.len() };
                    let problem = PolicyProblem::new(
                        PolicyProblemKind::Line,
                        format!("{TESTS_FILE} line {}: {what}", number + 1),
                    );
                    problems.push(problem.at(place, "this line").help(
                        "a test is {\"name\", \"category\", \"context\": {…}, \"expect\": {\"determination\", \"stage\", \"rule\"}}, \
                         or has \"text\" in place of category and context",
                    ));
                }
            }
        }
        offset += line.len();
    }
    if tests.is_empty() && problems.is_empty() {
        problems.push(missing());
    }
    PolicyPackageError::unless_empty(problems)?;
    Ok(tests)
}

fn parse_line(number: usize, line: &str) -> Result<TestCase, String> {
    let line: PolicyTestLine = serde_json::from_str(line).map_err(|error| json_problem(&error))?;
    let input = match (line.category, line.context, line.text) {
        (Some(category), Some(context), None) => PolicyTestInput::Context { category, context },
        (None, None, Some(text)) => {
            PolicyTestInput::Text { text, task: StreamTask { intent: line.intent, facts: line.facts } }
        }
        (None, Some(_), None) => return Err("a context without `category`".into()),
        (Some(_), None, None) => return Err("a `category` without `context`".into()),
        (None, None, None) => return Err("neither `context` nor `text`".into()),
        _ => return Err("both `text` and `category` or `context`".into()),
    };
    Ok(TestCase { line: number, name: line.name, input, expect: line.expect })
}

/// Runs `tests`. This function judges contexts, with the evaluator and with Cedar; `judge_text` judges texts, and its
/// error fails the test. Errors: Cedar cannot load the package's rules.
pub fn run_tests(
    package: &PolicyPackage,
    compiled: &CompiledPackage,
    tests: &[TestCase],
    mut judge_text: impl FnMut(&TestCase, &str, &StreamTask) -> Result<PolicyTestVerdict, String>,
) -> Result<Vec<TestResult>, PolicyPackageError> {
    let oracle = CedarOracle::new(package, compiled)?;
    let evaluator = ImageEvaluator::new(&compiled.image);
    let contexts = ContextConverter::new(package.vocabulary());
    let mut judge = |test: &TestCase| match &test.input {
        PolicyTestInput::Text { text, task } => judge_text(test, text, task),
        PolicyTestInput::Context { category, context } => {
            let d =
                contexts.descriptor(category, context, MissingFieldMode::Neutral).map_err(|error| error.to_string())?;
            let banks = evaluator.evaluate(&d);
            oracle.check(&d, &banks).map_err(|error| format!("evaluator and cedar disagree: {error}"))?;
            Ok(PolicyTestVerdict::from(&DescriptorDecision::new(compiled, &d, &banks)))
        }
    };
    let results = tests.iter().map(|test| {
        let failure = judge(test).and_then(|judged| compare(&test.expect, &judged)).err();
        TestResult { line: test.line, name: test.name.clone(), failure }
    });
    Ok(results.collect())
}

fn compare(expect: &PolicyTestExpectation, judged: &PolicyTestVerdict) -> Result<(), String> {
    let stage = expect.stage.filter(|stage| *stage != Stage::None);
    let same = expect.determination == judged.determination
        && (stage.is_none() || stage == judged.stage)
        && (expect.rule.is_none() || expect.rule == judged.rule);
    if same {
        return Ok(());
    }
    let say = |determination: Determination, stage: Option<Stage>, rule: Option<&String>| {
        let stage = stage.map(|stage| format!(" at {}", stage.name())).unwrap_or_default();
        let rule = rule.map(|rule| format!(" by {rule}")).unwrap_or_default();
        format!("{}{stage}{rule}", determination.name())
    };
    Err(format!(
        "expected {}, got {}",
        say(expect.determination, stage, expect.rule.as_ref()),
        say(judged.determination, judged.stage, judged.rule.as_ref())
    ))
}
