//! Exit codes, and the printing of failures.

use portcullis_policy::PolicyPackageError;
use portcullis_report::escape::printable;
use portcullis_settings::TomlProblem;
use portcullis_verify::console::{self, describe, stderr_terminal, warn};

pub(crate) const SUCCESS: u8 = 0;
/// An operational error.
pub(crate) const ERROR: u8 = 1;
/// Something was refused.
pub(crate) const REFUSED: u8 = 3;
/// A fault of the card.
pub(crate) const FAULT: u8 = 4;
/// Something could not be checked or compared.
pub(crate) const WARNED: u8 = 5;

pub(crate) enum CommandFailure {
    /// Problems of a policy, printed as source excerpts.
    Policy(PolicyPackageError),
    Other(anyhow::Error),
    Card(anyhow::Error),
}

impl CommandFailure {
    /// Prints the failure on stderr and returns its exit code.
    pub(crate) fn report(self) -> u8 {
        match self {
            Self::Policy(error) => {
                let terminal = stderr_terminal();
                warn(error.render_in(terminal.colour, terminal.columns));
            }
            Self::Other(error) => match toml_problem(&error) {
                Some(problem) => console::error(problem.render().lines().map(printable).collect::<Vec<_>>().join("\n")),
                None => console::error(describe(&error)),
            },
            Self::Card(error) => {
                console::problem("fault", format_args!("{}\nnothing further was released", describe(&error)));
                return FAULT;
            }
        }
        ERROR
    }
}

/// The error of a file of settings that is the cause of this error.
fn toml_problem(error: &anyhow::Error) -> Option<&TomlProblem> {
    error.chain().find_map(|cause| cause.downcast_ref::<Box<TomlProblem>>()).map(|problem| &**problem)
}

impl std::fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Policy(error) => write!(f, "{}", error.render()),
            Self::Other(error) | Self::Card(error) => write!(f, "{}", describe(error)),
        }
    }
}

impl From<PolicyPackageError> for CommandFailure {
    fn from(error: PolicyPackageError) -> Self {
        Self::Policy(error)
    }
}

impl From<portcullis_card::SessionError> for CommandFailure {
    fn from(error: portcullis_card::SessionError) -> Self {
        match error {
            // The card has not failed: it lacks an optional part that was requested.
            portcullis_card::SessionError::Missing(_) => Self::Other(error.into()),
            error => Self::Card(error.into()),
        }
    }
}

impl From<portcullis_audit::AuditError> for CommandFailure {
    fn from(error: portcullis_audit::AuditError) -> Self {
        Self::Other(error.into())
    }
}

impl From<anyhow::Error> for CommandFailure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for CommandFailure {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<serde_json::Error> for CommandFailure {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<portcullis_gate::remote::RemoteError> for CommandFailure {
    fn from(error: portcullis_gate::remote::RemoteError) -> Self {
        Self::Other(error.into())
    }
}
