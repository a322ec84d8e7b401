//! The commands `portcullis policy …`, without argument parsing and printing.

mod create;
mod diff;
mod eval;
mod explain;
mod format;
mod joint;
mod report;
mod test;

pub use create::{create, template};
pub use diff::{DiffWitness, PackageDiff, RuleChange, RuleChangeKind, diff};
pub use eval::eval_line;
pub use explain::{BankExplanation, DescriptorExplanation, ExplainedCondition, NearMiss, conditions, explain};
pub use format::{FormattedSource, format, format_source};
pub use report::{BankUse, PolicyCheckReport, RuleRowUse, check, check_schema};
pub use test::{
    PolicyTestExpectation, PolicyTestInput, PolicyTestVerdict, TestCase, TestResult, parse_tests, run_tests,
};
