//! Secrets: keys that clients show, and files of private keys.
//!
//! A file of secrets may be readable by one user only: its owner, with mode 600 or less. There is one exception. A file
//! that belongs to root may be readable by its group, with mode 640 or less, if this process is not root: Kubernetes
//! (`fsGroup`) and systemd (an access control list, which the mode shows as the group's) hand out secrets in this way.
//! PostgreSQL has the same rule for its keys.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Shortest key or token that a client shows, in characters.
pub const MIN_CHARS: usize = 16;
/// Largest file of a secret in bytes.
const MAX_BYTES: u64 = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// Other users can reach the secret.
    #[error("{}", exposed(path, *mode, *of_root))]
    Exposed {
        path: PathBuf,
        /// The permissions of the file.
        mode: u32,
        /// Whether the file belongs to root.
        of_root: bool,
    },
    #[error("the variable `{0}` is not set")]
    Unset(String),
    #[error("{0} holds no key: one line of visible ASCII characters")]
    Form(String),
    #[error("the key in {0} is short: a key has at least {MIN_CHARS} characters; `openssl rand -hex 32` makes one")]
    Short(String),
}

fn exposed(path: &Path, mode: u32, of_root: bool) -> String {
    let shown = path.display();
    let root = match of_root {
        true => "; a file of root may have mode 640 for a service of its group",
        false => "",
    };
    format!(
        "`{shown}` has mode {mode:o}, so that other users can reach the secret: `chmod 600 {shown}`{root} (in Kubernetes: \
         `defaultMode: 0400` and an `fsGroup`)"
    )
}

/// Whether only one user, or the group of a file of root, can read a file with this mode. `owner` is the file's user,
/// `user` that of the process.
const fn is_private(mode: u32, owner: u32, user: u32) -> bool {
    let of_owner = mode & 0o177 == 0;
    of_owner || (mode & 0o137 == 0 && owner == 0 && user != 0)
}

/// Opens a file that holds a secret.
///
/// # Errors
/// [`SecretError`]: other users can read or change the file.
pub fn open(path: &Path) -> Result<File, SecretError> {
    let read = |source| SecretError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(read)?;
    // The mode is that of the open file: the path may name another file by now.
    let found = file.metadata().map_err(read)?;
    let mode = found.mode() & 0o7777;
    if !is_private(mode, found.uid(), rustix::process::geteuid().as_raw()) {
        return Err(SecretError::Exposed { path: path.to_owned(), mode, of_root: found.uid() == 0 });
    }
    Ok(file)
}

/// Reads the text of a file that holds a secret.
///
/// # Errors
/// As [`open`]; the file is not UTF-8.
pub fn text(path: &Path) -> Result<String, SecretError> {
    let mut text = String::new();
    let read = open(path)?.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|source| SecretError::Read { path: path.to_owned(), source })?;
    Ok(text)
}

/// Reads a secret of one line from a file; a final line end is ignored.
///
/// # Errors
/// As [`text`]; the file has more or less than one line of visible ASCII characters.
pub fn line(path: &Path) -> Result<String, SecretError> {
    one_line(&text(path)?, format!("the file `{}`", path.display()))
}

/// Reads a secret of one line from a variable of the environment.
///
/// # Errors
/// The variable is not set, or is not one line of visible ASCII characters.
pub fn variable(name: &str) -> Result<String, SecretError> {
    let text = std::env::var(name).map_err(|_| SecretError::Unset(name.to_owned()))?;
    one_line(&text, format!("the variable `{name}`"))
}

fn one_line(text: &str, place: String) -> Result<String, SecretError> {
    let line = text.trim_end_matches(['\r', '\n']);
    if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(SecretError::Form(place));
    }
    Ok(line.to_owned())
}

/// Reads a key or token that clients show: like [`line()`], with at least [`MIN_CHARS`] characters.
///
/// # Errors
/// As [`line()`]; the key is short.
pub fn key(path: &Path) -> Result<String, SecretError> {
    long(line(path)?, || format!("the file `{}`", path.display()))
}

/// Like [`key`], from a variable of the environment.
///
/// # Errors
/// As [`variable`]; the key is short.
pub fn key_variable(name: &str) -> Result<String, SecretError> {
    long(variable(name)?, || format!("the variable `{name}`"))
}

fn long(key: String, place: impl FnOnce() -> String) -> Result<String, SecretError> {
    if key.len() < MIN_CHARS { Err(SecretError::Short(place())) } else { Ok(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_of_secrets_is_for_one_user() {
        // (mode, owner, user of the process, whether it is accepted)
        for (mode, owner, user, good) in [
            (0o600, 7, 7, true),
            (0o400, 7, 7, true),
            (0o640, 7, 7, false),
            (0o440, 7, 7, false),
            (0o604, 7, 7, false),
            (0o644, 7, 7, false),
            (0o700, 7, 7, false),
            (0o600, 7, 0, true),
            (0o640, 7, 0, false),
            // A secret of Kubernetes with an `fsGroup`, a credential of systemd.
            (0o440, 0, 7, true),
            (0o640, 0, 7, true),
            (0o660, 0, 7, false),
            (0o444, 0, 7, false),
            (0o644, 0, 7, false),
            (0o640, 0, 0, false),
            (0o640, 8, 7, false),
        ] {
            assert_eq!(is_private(mode, owner, user), good, "{mode:o} of {owner} for {user}");
        }
    }

    #[test]
    fn a_key_is_one_long_line_of_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        let write = |text: &str, mode| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        write("0123456789abcdef\n", 0o600);
        let link = folder.path().join("link");
        symlink("a.key", &link).unwrap();
        assert_eq!(key(&link).unwrap(), "0123456789abcdef");
        write("0123456789abcde\n", 0o600);
        assert!(matches!(key(&path), Err(SecretError::Short(_))));
        assert_eq!(line(&path).unwrap(), "0123456789abcde");
        for text in ["", "\n", "two words are no key\n", "0123456789abcdef\n0123456789abcdef\n", "0123456789abcdefä"] {
            write(text, 0o600);
            assert!(matches!(key(&path), Err(SecretError::Form(_))), "{text:?}");
        }
        write("0123456789abcdef\n", 0o644);
        for path in [&path, &link] {
            let refused = key(path).unwrap_err().to_string();
            assert!(refused.contains("mode 644") && refused.contains("chmod 600"), "{refused}");
        }
        assert!(matches!(key(&folder.path().join("none")), Err(SecretError::Read { .. })));
        assert!(matches!(key_variable("PORTCULLIS_NO_SUCH_VARIABLE"), Err(SecretError::Unset(_))));
    }
}
