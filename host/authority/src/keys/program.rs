//! A key that stays in a device: a program of the operator asks the device to sign.
//!
//! The program is called with one argument, and answers on standard output within [`PATIENCE`]:
//!
//! - `public-key`: the public key in PEM (RFC 8410).
//! - `sign`: the 64 bytes of the Ed25519 signature (RFC 8032) over standard input.
//!
//! It must end with exit code 0. Its first line on standard error is the reason if it does not. Every signature is
//! checked with the public key before it is used.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ed25519_dalek::pkcs8::DecodePublicKey;
use ed25519_dalek::{Signature, VerifyingKey};
use portcullis_evidence::signing::{SigningError, StatementKey};

/// Longest time of a call.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks whether a call has ended.
const PAUSE: Duration = Duration::from_millis(2);
/// Largest output that is read, in bytes.
const MAX_OUTPUT: u64 = 4096;

/// A program that signs, and its public key.
#[derive(Clone, Debug)]
pub struct SigningProgram {
    path: PathBuf,
    public: VerifyingKey,
}

impl SigningProgram {
    /// Asks the program for its public key. Errors: it does not start, fails, takes too long, or prints something else.
    pub fn start(path: &Path) -> Result<Self, SigningError> {
        let pem = call(path, "public-key", &[])?;
        let pem = std::str::from_utf8(&pem).ok().and_then(|pem| VerifyingKey::from_public_key_pem(pem.trim_end()).ok());
        let public = pem.ok_or_else(|| failed(path, "`public-key` prints no Ed25519 public key in PEM"))?;
        Ok(Self { path: path.to_owned(), public })
    }
}

impl StatementKey for SigningProgram {
    fn verifying_key(&self) -> VerifyingKey {
        self.public
    }

    fn signature(&self, message: &[u8]) -> Result<Signature, SigningError> {
        let bytes = call(&self.path, "sign", message)?;
        let signature = Signature::from_slice(&bytes)
            .map_err(|_| failed(&self.path, &format!("`sign` prints {} bytes instead of 64", bytes.len())))?;
        if self.public.verify_strict(message, &signature).is_err() {
            return Err(failed(&self.path, "`sign` prints a signature of another key or another message"));
        }
        Ok(signature)
    }
}

fn failed(path: &Path, why: &str) -> SigningError {
    SigningError(format!("`{}`: {why}", path.display()))
}

/// A process that is killed when the value is dropped.
struct SigningProcess(Child);

impl Drop for SigningProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the program, and returns its output.
fn call(path: &Path, what: &str, input: &[u8]) -> Result<Vec<u8>, SigningError> {
    let end = Instant::now() + PATIENCE;
    let mut command = Command::new(path);
    command.arg(what).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| failed(path, &format!("cannot be started: {error}")))?;
    let mut child = SigningProcess(child);
    let (stdin, stdout, stderr) = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
    let input = input.to_vec();
    // Threads, because a program may fill one pipe before it reads or ends the other. They end with the program.
    let writer = std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
    let output = std::thread::spawn(move || read(stdout));
    let errors = std::thread::spawn(move || read(stderr));
    let status = loop {
        match child.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => std::thread::sleep(PAUSE),
            Ok(None) => return Err(failed(path, &format!("`{what}` takes longer than {} s", PATIENCE.as_secs()))),
            Err(error) => return Err(failed(path, &error.to_string())),
        }
    };
    // A child of the program may still hold the pipes.
    while !(writer.is_finished() && output.is_finished() && errors.is_finished()) {
        if Instant::now() >= end {
            return Err(failed(path, &format!("`{what}` leaves a process that holds its output")));
        }
        std::thread::sleep(PAUSE);
    }
    let (output, errors) = (output.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if !status.success() {
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let why = errors.lines().next().unwrap_or_default();
        return Err(failed(path, &format!("`{what}` ends with {status}: {why}")));
    }
    Ok(output)
}

fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{generate, public_pem};

    /// A program with this body of a shell script, where `$1` is the argument.
    fn program(folder: &Path, body: &str) -> PathBuf {
        let path = folder.join("signer");
        // Another process writes the file: a child of another test could hold a descriptor of this one, and then the
        // program could not be started.
        let mut writer = Command::new("sh");
        writer.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{body}\n").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        path
    }

    #[test]
    fn what_a_program_can_do_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let key = generate(&folder.path().join("key.pem")).unwrap();
        let pem = public_pem(&key.verifying_key()).unwrap();
        let good = format!("[ $1 = public-key ] && {{ printf %s '{pem}'; exit; }}\n");
        let cases = [
            ("echo the device is locked >&2; exit 3", "the device is locked"),
            ("echo no key", "prints no Ed25519 public key"),
        ];
        for (body, why) in cases {
            let error = SigningProgram::start(&program(folder.path(), body)).unwrap_err();
            assert!(error.0.contains(why), "{body}: {error}");
        }
        let error = SigningProgram::start(&folder.path().join("none")).unwrap_err();
        assert!(error.0.contains("cannot be started"), "{error}");
        let signs = [
            ("echo the card was removed >&2; exit 1", "the card was removed"),
            ("cat > /dev/null; printf short", "5 bytes instead of 64"),
            ("cat > /dev/null; head -c 64 /dev/zero", "of another key or another message"),
            ("cat > /dev/null; head -c 65 /dev/zero", "65 bytes instead of 64"),
            // The program is not read to its end.
            ("cat > /dev/null; head -c 9999 /dev/zero", "the key does not sign"),
            ("exit 0", "0 bytes instead of 64"),
        ];
        for (body, why) in signs {
            let program = SigningProgram::start(&program(folder.path(), &format!("{good}{body}"))).unwrap();
            assert_eq!(program.verifying_key(), key.verifying_key());
            // The second is more than a pipe holds. A program that does not read its input must not block the caller.
            for message in [vec![1; 10], vec![1; 1 << 20]] {
                let error = program.signature(&message).unwrap_err();
                assert!(error.to_string().contains(why), "{body}: {error}");
            }
        }
    }
}
