//! Exit codes, and how a failure is shown.

use portcullis_policy::PolicyError;
use std::process::ExitCode;

/// Everything was done.
pub(crate) const SUCCESS: u8 = 0;
/// An operational error.
pub(crate) const ERROR: u8 = 1;
/// Something was refused.
pub(crate) const REFUSED: u8 = 3;
/// A fault of the card.
pub(crate) const FAULT: u8 = 4;

/// Why a command ended.
pub(crate) enum Failure {
    /// Problems of a policy, shown as source excerpts.
    Policy(PolicyError),
    /// Anything else, with its causes.
    Other(anyhow::Error),
    /// The card failed.
    Card(anyhow::Error),
}

impl Failure {
    /// Shows the failure on stderr and gives its exit code. A closed pipe is no failure.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Policy(error) => eprintln!("{}", error.render()),
            Self::Other(error) if is_closed_pipe(&error) => return ExitCode::SUCCESS,
            Self::Other(error) => eprintln!("error: {error:#}"),
            Self::Card(error) => {
                eprintln!("fault: {error:#}\nnothing further was released");
                return ExitCode::from(FAULT);
            }
        }
        ExitCode::from(ERROR)
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe))
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl From<portcullis_card::SessionError> for Failure {
    fn from(error: portcullis_card::SessionError) -> Self {
        match error {
            // Nothing failed: the card was asked for what it does not have.
            portcullis_card::SessionError::Missing(_) => Self::Other(error.into()),
            error => Self::Card(error.into()),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        // It hides the pipe that was closed.
        if error.is_io() { std::io::Error::from(error).into() } else { Self::Other(error.into()) }
    }
}

impl From<portcullis_gate::remote::RemoteError> for Failure {
    fn from(error: portcullis_gate::remote::RemoteError) -> Self {
        Self::Other(error.into())
    }
}
