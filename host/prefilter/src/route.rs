//! The two routes of an input: to the program that acts on it, or to no program.

use crate::report::{FilterReport, commitment};

/// The destination of an input.
#[derive(Debug)]
pub enum InputRoute {
    /// The program that acts on the input, with the required pass.
    Executive(ExecutionPass),
    /// No program gets the input; there is only the report.
    NonExecutive(FilterReport),
}

/// The permission to act on one input. Only the router makes it, if the report permits the input. Code that acts on
/// inputs requires a pass, and checks that the pass belongs to the bytes.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use portcullis_prefilter::{FilterPolicy, InputPrefilter, InputRoute};
///
/// let filter = InputPrefilter::new(FilterPolicy::profile("user-prompt")?)?;
/// let InputRoute::Executive(pass) = filter.route(b"How do tides work?") else { return Err("refused".into()) };
/// assert!(pass.spend(b"How do clouds form?").is_err(), "the pass belongs to other bytes");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ExecutionPass {
    report: FilterReport,
    input: [u8; 32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pass is not for these bytes")]
pub struct WrongPass;

impl ExecutionPass {
    /// The report about the input.
    #[must_use]
    pub const fn report(&self) -> &FilterReport {
        &self.report
    }

    /// Gives up the permission, and returns the report.
    #[must_use]
    pub fn into_report(self) -> FilterReport {
        self.report
    }

    /// Uses the permission for its input. Errors: [`WrongPass`]: the pass belongs to other bytes.
    pub fn spend(self, bytes: &[u8]) -> Result<FilterReport, WrongPass> {
        if commitment(bytes) == self.input { Ok(self.report) } else { Err(WrongPass) }
    }
}

pub(crate) struct InputRouter;

impl InputRouter {
    pub(crate) fn route(report: FilterReport, input: [u8; 32]) -> InputRoute {
        if report.is_executive() {
            InputRoute::Executive(ExecutionPass { report, input })
        } else {
            InputRoute::NonExecutive(report)
        }
    }
}
