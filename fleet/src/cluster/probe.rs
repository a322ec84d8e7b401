//! Asks a scheduler whether it is there and has executors, over its own HTTP/1.1 route, with a limit on every wait.

use super::SchedulerAddress;
use crate::error::FleetError;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest time for one question.
const WAIT: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read.
const LENGTH: u64 = 4096;

/// What a scheduler says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchedulerHealth {
    /// At least one executor is there.
    Ready,
    /// The scheduler is there, and has no executor.
    Empty,
}

/// Asks a scheduler. Errors: [`FleetError::NoScheduler`], [`FleetError::NotScheduler`].
pub(super) async fn health(scheduler: &SchedulerAddress) -> Result<SchedulerHealth, FleetError> {
    let gone = |why: String| FleetError::NoScheduler { scheduler: scheduler.url(), why };
    let answer = match timeout(WAIT, ask(scheduler)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(gone(error.to_string())),
        Err(_) => return Err(gone(format!("it did not answer within {} s", WAIT.as_secs()))),
    };
    of(&answer).ok_or_else(|| FleetError::NotScheduler(scheduler.url()))
}

async fn ask(scheduler: &SchedulerAddress) -> io::Result<String> {
    let place = format!("{}:{}", scheduler.host, scheduler.port);
    let mut stream = TcpStream::connect(&place).await?;
    let question = format!("GET /readyz HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LENGTH).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Reads an answer; `None` if it is not one of a scheduler.
fn of(answer: &str) -> Option<SchedulerHealth> {
    let (head, _) = answer.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?;
    let server = |line: &str| line.to_ascii_lowercase().starts_with("server: ballista/");
    match (lines.any(server), status.split(' ').next()?) {
        (true, "200") => Some(SchedulerHealth::Ready),
        (true, "503") => Some(SchedulerHealth::Empty),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_of_a_scheduler_are_understood() {
        let answer = |status: &str, server: &str| format!("HTTP/1.1 {status}\r\nserver: {server}\r\n\r\nbody");
        assert_eq!(of(&answer("200 OK", "ballista/55.0.0")), Some(SchedulerHealth::Ready));
        assert_eq!(of(&answer("503 Service Unavailable", "ballista/55.0.0")), Some(SchedulerHealth::Empty));
        for other in [&*answer("200 OK", "nginx"), &answer("404 Not Found", "ballista/55.0.0"), "", "SSH-2.0-x\r\n\r\n"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
