//! The two routes: to the program that acts on the input, or not.

use crate::report::{FilterReport, commitment};

/// Where an input goes.
#[derive(Debug)]
pub enum Route {
    /// To the program that acts on the input, with the pass that it demands.
    Executive(Pass),
    /// Nowhere: only the report remains.
    NonExecutive(FilterReport),
}

/// The right of one input to be acted on. The router alone makes it, from a report that is executive; whoever acts on
/// inputs takes one and compares it with the bytes that it was given.
#[derive(Debug)]
pub struct Pass {
    report: FilterReport,
    input: [u8; 32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pass is not for these bytes")]
pub struct WrongPass;

impl Pass {
    /// The report about the input.
    #[must_use]
    pub const fn report(&self) -> &FilterReport {
        &self.report
    }

    /// The report about the input; the pass is dropped.
    #[must_use]
    pub fn into_report(self) -> FilterReport {
        self.report
    }

    /// Spends the pass on the bytes that it is for. Errors: [`WrongPass`]: it is for others.
    pub fn spend(self, bytes: &[u8]) -> Result<FilterReport, WrongPass> {
        if commitment(bytes) == self.input { Ok(self.report) } else { Err(WrongPass) }
    }
}

pub(crate) struct Router;

impl Router {
    pub(crate) fn route(report: FilterReport, input: [u8; 32]) -> Route {
        if report.is_executive() { Route::Executive(Pass { report, input }) } else { Route::NonExecutive(report) }
    }
}
