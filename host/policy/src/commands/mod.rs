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
pub use diff::{Change, Diff, RuleChange, Witness, diff};
pub use eval::eval_line;
pub use explain::{BankExplanation, Condition, Explanation, NearMiss, conditions, explain};
pub use format::{Formatted, format, format_source};
pub use report::{BankUse, Report, RuleUse, check, check_schema};
pub use test::{Expectation, Input, Judged, TestCase, TestResult, parse_tests, run_tests};
