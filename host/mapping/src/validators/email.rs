//! E-mail addresses: a domain that is delegated or private, and no other notation with an `@`.
//!
//! A match of the pattern is a local part, an `@` with at most one space on either side, and labels with dots. The
//! address ends with the last label that is a top-level domain.

use super::{Apart, MatchValidator};
use crate::domains;
use crate::words::is_unspaced;
use std::ops::Range;

/// User names of version control systems, which stand for a repository's host.
const REPOSITORIES: [&str; 3] = ["git", "hg", "svn"];
/// Commands that take `user@host` as an argument.
const LOGINS: [&str; 2] = ["ssh", "sftp"];
/// Commands that take `user@host:path` as an argument.
const COPIES: [&str; 5] = ["scp", "rsync", "ssh", "sftp", "git"];
/// Number of bytes before an address in which a command is looked for.
const COMMAND_REACH: usize = 256;
/// The only suffix of an init system's units that is a delegated domain.
const UNIT: &str = "target";

pub(crate) struct EmailValidator {
    /// Further top-level domains, in small letters.
    pub(crate) private: Vec<String>,
}

impl MatchValidator for EmailValidator {
    fn accept(&self, text: &str, found: &Range<usize>, _: Apart<'_>) -> Result<Range<usize>, usize> {
        let matched = text.get(found.clone()).unwrap_or_default();
        let (local, domain) = matched.split_once('@').unwrap_or_default();
        // Every match that begins before this `@` has the same domain.
        let next = found.start + local.len() + 1;
        let host = domain.trim_start();
        let Some(length) = self.length(host) else { return Err(next) };
        let end = next + (domain.len() - host.len()) + length;
        let (before, after) = (text.get(..found.start), text.get(end..));
        let place = Place { before: before.unwrap_or_default(), after: after.unwrap_or_default() };
        let labels: Vec<&str> = host.get(..length).unwrap_or_default().split('.').collect();
        if is_version(&labels) || is_unit(&labels) || place.is_decorator(local, domain) || place.is_login(local) {
            return Err(next);
        }
        Ok(found.start + own_script(local)..end)
    }
}

impl EmailValidator {
    /// The length of the longest beginning of `host` that ends with a top-level domain.
    fn length(&self, host: &str) -> Option<usize> {
        let mut start = 0;
        let mut longest = None;
        for label in host.split('.') {
            let top = self.top_level(label).filter(|_| start > 0);
            longest = top.map(|length| start + length).or(longest);
            start += label.len() + 1;
        }
        longest
    }

    fn is_domain(&self, label: &str) -> bool {
        self.private.iter().any(|domain| domain.eq_ignore_ascii_case(label)) || domains::is_top_level(label)
    }

    /// The length of the top-level domain that a label is, or with which it begins where the script changes. Labels in
    /// other scripts are not looked up.
    fn top_level(&self, label: &str) -> Option<usize> {
        let ascii = label.find(|c: char| !c.is_ascii()).unwrap_or(label.len());
        let (first, rest) = label.split_at_checked(ascii)?;
        if first.len() > 4 && first.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--")) {
            return Some(label.len());
        }
        if rest.is_empty() || !first.is_empty() && rest.starts_with(is_unspaced) {
            // A sentence that follows without a space begins with a capital: `jane@example.orgThen`.
            let small = first.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(first.len());
            let ends = [first, first.get(..small).unwrap_or_default()];
            return ends.iter().find(|label| self.is_domain(label)).map(|label| label.len());
        }
        (label.chars().nth(1).is_some()).then_some(label.len())
    }
}

/// Where the local part of an address begins. In a script without spaces between words, it begins where the script
/// changes.
fn own_script(local: &str) -> usize {
    let name = local.trim_end();
    if name.ends_with(is_unspaced) {
        return 0;
    }
    name.rfind(is_unspaced).map_or(0, |at| name.ceil_char_boundary(at + 1))
}

/// Whether all labels before the last one are the numbers of a version, at least two: `1.0.dev`, `v0.3.0-rc.app`.
fn is_version(labels: &[&str]) -> bool {
    let number = |label: &&str| label.starts_with(|c: char| c.is_ascii_digit());
    match labels.split_last() {
        Some((_, [first, rest @ ..])) => {
            !rest.is_empty() && number(&first.trim_start_matches(['v', 'V'])) && rest.iter().all(number)
        }
        _ => false,
    }
}

/// Whether the host is the instance of an init system's unit: `wants@tty1.target`.
fn is_unit(labels: &[&str]) -> bool {
    matches!(labels, [_, last] if last.eq_ignore_ascii_case(UNIT))
}

/// The text on both sides of a match.
struct Place<'t> {
    before: &'t str,
    after: &'t str,
}

impl Place<'_> {
    /// Whether the `@` begins a name that is called, as decorators are: `@app.post("/items")`.
    fn is_decorator(&self, local: &str, domain: &str) -> bool {
        local.ends_with(char::is_whitespace) && !domain.starts_with(char::is_whitespace) && self.after.starts_with('(')
    }

    /// Whether the match names a host to log in to: `git@host:path`, `ssh://git@host/path`, `scp file user@host:path`.
    fn is_login(&self, local: &str) -> bool {
        let has_path =
            |host: &str| host.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()));
        let path = has_path(self.after);
        // Whatever its last label is, what stands between `git@` and the path is a host.
        let behind_host = self.after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
        let user = local.rsplit(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '+')).next();
        if self.before.ends_with("://") {
            let path = has_path(behind_host) || behind_host.starts_with('/');
            return path && user.is_some_and(|user| REPOSITORIES.contains(&user));
        }
        has_path(behind_host) && user.is_some_and(|user| REPOSITORIES.contains(&user)) || self.is_argument(path)
    }

    /// Whether a command stands before the match, on the same line and with only arguments between them. Without a
    /// path, only options may be between.
    fn is_argument(&self, path: bool) -> bool {
        let from = self.before.ceil_char_boundary(self.before.len().saturating_sub(COMMAND_REACH));
        let line = self.before.get(from..).and_then(|text| text.rsplit('\n').next()).unwrap_or_default();
        let mut arguments: Vec<&str> = Vec::new();
        if !line.ends_with([' ', '\t', '"', '\'']) {
            return false;
        }
        for word in line.split_whitespace().rev() {
            let command = word.trim_start_matches(['`', '"', '\'', '(', '$']);
            if LOGINS.contains(&command) && arguments.iter().rev().try_fold(false, option).is_some() {
                return true;
            }
            if COPIES.contains(&command) {
                return path;
            }
            if word.ends_with(['.', ',', ';', ':', '!', '?', '|', '&']) {
                return false;
            }
            arguments.push(word);
        }
        false
    }
}

/// Whether the next argument may be the value of an option; `None` if this argument is neither an option nor a value.
fn option(may_be_value: bool, argument: &&str) -> Option<bool> {
    let is_option = argument.starts_with('-');
    (is_option || may_be_value).then_some(is_option)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address in a text: a match of a simple pattern around the first `@` with a dot behind it.
    fn found<'t>(text: &'t str, matched: &str) -> Option<&'t str> {
        let start = text.find(matched).unwrap();
        let validator = EmailValidator { private: vec!["acme".into()] };
        let range = validator.accept(text, &(start..start + matched.len()), &|_| false).ok()?;
        text.get(range)
    }

    #[test]
    fn an_address_has_a_delegated_or_private_domain() {
        for address in
            ["jane@example.com", "jane @ files.internal", "j@nas.acme", "j@xn--exmple-cua.xn--p1ai", "ана@пример.рф"]
        {
            assert_eq!(found(address, address), Some(address), "{address}");
        }
        for (text, address) in [("jane@roe.com.Please", "jane@roe.com"), ("jane@roe.orgThen", "jane@roe.org")] {
            assert_eq!(found(text, text), Some(address), "{text}");
        }
        for other in ["banner_16x9@2dxl-77ed5d09.jpg", "getty@tty1.service", "wants@tty1.target", "x @app.route"] {
            assert_eq!(found(other, other), None, "{other}");
        }
    }

    #[test]
    fn an_address_ends_where_the_script_changes() {
        let text = "请联系ana.roe@example.com以便我们确认";
        assert_eq!(found(text, text), Some("ana.roe@example.com"));
        let text = "ご質問はana.roe@example.comまで";
        assert_eq!(found(text, text), Some("ana.roe@example.com"));
        let text = "jane@例え.テスト";
        assert_eq!(found(text, text), Some(text));
    }

    #[test]
    fn versions_and_decorators() {
        for version in ["kit@v1.4.0-rc3.arm", "pkg@1.0.dev", "toolchain@v0.0.1-go1.26.8.linux.app"] {
            let address = version.ends_with("linux.app");
            assert_eq!(found(version, version).is_some(), address, "{version}");
        }
        assert_eq!(found("x @app.post(\"/x\")", "x @app.post"), None);
        assert!(found("jane @roe.com (home)", "jane @roe.com").is_some());
    }

    #[test]
    fn a_host_to_log_in_to_is_no_address() {
        for (text, matched) in [
            ("git clone git@github.com:acme/widgets.git", "git@github.com"),
            ("url = git@git.example.org:a/b.git", "git@git.example.org"),
            ("git clone git@git.example.forge1:a/b.git", "git@git.example"),
            ("ssh://git@git.example.org:2222/a/b.git", "git@git.example.org"),
            ("rsync -a build/ deploy@node1.lan:/var/in/", "deploy@node1.lan"),
            ("Run `scp x admin@files.internal:/srv`", "admin@files.internal"),
            ("ssh -p 22 -v root@box.lan", "root@box.lan"),
        ] {
            assert_eq!(found(text, matched), None, "{text}");
        }
        for (text, matched) in [
            ("Write to git@example.org: thanks", "git@example.org"),
            ("jane@example.org:8080", "jane@example.org"),
            ("We use ssh. Ask jane@example.org:22", "jane@example.org"),
            ("git+ssh://jane.roe@example.org:repo.git", "jane.roe@example.org"),
            ("We use scp, as jane@example.org:x", "jane@example.org"),
            ("scp and mail to jane@example.org", "jane@example.org"),
            ("ssh to the box or jane@example.org", "jane@example.org"),
        ] {
            assert_eq!(found(text, matched), Some(matched), "{text}");
        }
    }
}
