//! Addresses: which of them a client may load, and which hosts a policy lists.

use crate::view::reference;
use portcullis_core::manifest::LoadPolicy;
use std::collections::BTreeSet;
use url::{Host, Url};

/// The base of relative addresses; its host is on no list (RFC 2606).
const BASE: &str = "https://relative.invalid/";

/// The hosts that a policy lists.
#[derive(Debug, Default)]
pub(crate) struct ListedHosts {
    exact: BTreeSet<String>,
    /// Domains whose own name and all names below it are listed.
    parents: BTreeSet<String>,
}

impl ListedHosts {
    /// Reads a list: host names, IP addresses, and `*.example.org` for a domain with all names below it. `Err` contains
    /// the first entry that is neither.
    pub(crate) fn new(list: &[String]) -> Result<Self, String> {
        let mut hosts = Self::default();
        for entry in list {
            let (name, parent) = entry.strip_prefix("*.").map_or((entry.as_str(), false), |name| (name, true));
            let parsed = Host::parse(name).map_err(|_| entry.clone())?;
            let is_name = matches!(&parsed, Host::Domain(name) if name.contains('.'));
            let shown = without_dot(&parsed.to_string()).to_owned();
            let strange =
                |c: char| matches!(parsed, Host::Domain(_)) && !(c.is_ascii_alphanumeric() || "-._".contains(c));
            if shown.is_empty() || shown.contains(strange) || (parent && !is_name) {
                return Err(entry.clone());
            }
            if parent { &mut hosts.parents } else { &mut hosts.exact }.insert(shown);
        }
        Ok(hosts)
    }

    /// Whether the host is listed, or is below a listed domain.
    fn contains(&self, host: &str) -> bool {
        let host = without_dot(host);
        let mut above = std::iter::successors(Some(host), |name| name.split_once('.').map(|(_, above)| above));
        self.exact.contains(host) || above.any(|name| self.parents.contains(name))
    }

    /// Whether a client reads the host of an address as a listed one. An address with a user, a backslash, or a control
    /// character is never listed, because clients differ in how they read it.
    pub(crate) fn allow(&self, address: &str) -> bool {
        let plain = |text: &str| !text.contains(|c: char| c == '\\' || c.is_control());
        let listed = |text: &str| {
            let base = Url::parse(BASE).ok();
            let url = Url::options().base_url(base.as_ref()).parse(text).ok();
            url.is_some_and(|url| {
                matches!(url.scheme(), "http" | "https" | "ftp" | "ws" | "wss")
                    && url.username().is_empty()
                    && url.password().is_none()
                    && url.host_str().is_some_and(|host| self.contains(host))
            })
        };
        let decoded = unescaped(address);
        plain(address) && plain(&decoded) && listed(address) && (decoded == address || listed(&decoded))
    }
}

fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// The text with character references replaced.
pub(super) fn unescaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match text.get(at..).and_then(reference).filter(|_| next == '&') {
            Some((length, characters)) => {
                shown.push_str(&characters);
                at += length;
            }
            None => {
                shown.push(next);
                at += next.len_utf8();
            }
        }
    }
    shown
}

/// Whether the address names a file of the page's own host, which has the text already, or a place in the page. Nothing
/// that could name another host, and no query, because a host can pass a query on.
fn is_own(address: &str) -> bool {
    let address = address.trim_matches(|c: char| c <= ' ');
    let (path, place) = address.split_once('#').map_or((address, ""), |(path, place)| (path, place));
    let strange = |c: char| matches!(c, ':' | '?' | '\\' | '%' | '&') || c.is_control();
    !path.contains(strange) && !path.contains("//") && !place.contains(char::is_control)
}

/// Whether a client must not load an address by itself.
pub(super) fn is_refused(address: &str, policy: LoadPolicy, hosts: &ListedHosts) -> bool {
    let listed = policy == LoadPolicy::Listed && hosts.allow(address.trim_matches(|c: char| c <= ' '));
    !listed && !is_own(address)
}

/// Whether a link leads to another host, and to none of the list. `www` alone stands for a web address.
pub(super) fn is_unlisted(address: &str, hosts: &ListedHosts) -> bool {
    let address = address.trim_matches(|c: char| c <= ' ');
    match address.get(..4).filter(|www| www.eq_ignore_ascii_case("www.")) {
        Some(_) => !hosts.allow(&format!("https://{address}")),
        None => !is_own(address.split('?').next().unwrap_or_default()) && !hosts.allow(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_compared_as_a_browser_reads_it() {
        let list = ["Example.org", "*.media.example.net", "192.0.2.7", "b\u{fc}cher.example"].map(str::to_owned);
        let hosts = ListedHosts::new(&list).unwrap();
        for address in [
            "https://example.org",
            "HTTPS://EXAMPLE.ORG./a?b#c",
            "//example.org/a",
            "https://example.org:8443/",
            "https://ex%61mple.org/",
            "https://media.example.net/",
            "https://a.b.media.example.net/",
            "http://192.0.2.7/",
            "http://0xc0000207/",
            "https://xn--bcher-kva.example/",
            "https://\u{ff45}xample.org/",
        ] {
            assert!(hosts.allow(address), "{address}");
        }
        for address in [
            "https://example.org.evil.example/",
            "https://evilexample.org/",
            "https://a.example.org/",
            "https://example.org@evil.example/",
            "https://user@example.org/",
            "https://evil.example/example.org",
            "https://evil.example?https://example.org",
            "https://evil.example\\@example.org/",
            "https://example.org\\.evil.example/",
            "https://example.org\t.evil.example/",
            "https://xmedia.example.net/",
            "https://example.org&period;evil.example/",
            "https://evil.example&#x23;.example.org/",
            "data:text/html,example.org",
            "javascript://example.org/%0aalert(1)",
            "file://example.org/a",
            "https:example.org/a",
            "/a?b",
            "https://",
            "",
        ] {
            assert!(!hosts.allow(address), "{address}");
        }
        for entry in ["", "*", "*.", "*.org", "*.192.0.2.7", "https://example.org", "example.org/a", "a b", "a:8"] {
            assert_eq!(ListedHosts::new(&[entry.to_owned()]).unwrap_err(), entry);
        }
    }

    #[test]
    fn a_file_beside_the_page_names_no_other_host() {
        for own in ["", "#a", " logo.png", "/img/a b.png", "../a/b.svg#icon", "{logo}"] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "//a",
            "/\\a",
            "\\\\a",
            "a:b",
            "https:a",
            "/a?b",
            "/\t/a",
            "&sol;/a",
            "/%2f/a",
            "a.png, //b/c 2x",
            "\u{1}:a",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
