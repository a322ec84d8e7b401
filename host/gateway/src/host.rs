//! For which host a request is meant.
//!
//! A page in a browser can let its own name resolve to 127.0.0.1 ("DNS rebinding"). The browser then lets the page read
//! what the gateway answers. Where no key is in between, only the name in the request shows it.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

/// Whether this host is the machine itself.
pub(crate) fn is_loopback<S: AsRef<str>>(host: &url::Host<S>) -> bool {
    match host {
        url::Host::Domain(name) => name.as_ref().eq_ignore_ascii_case("localhost"),
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Whether a request is meant for the machine itself: it has one `Host`, and each host that it names is a loopback one
/// (RFC 9112, section 3.2). The port does not count, because a tunnel may have another.
pub(crate) fn is_meant_for_loopback(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let is_near = |authority: &Authority| {
        !authority.as_str().contains('@') && url::Host::parse(authority.host()).is_ok_and(|host| is_loopback(&host))
    };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    host.as_ref().is_some_and(is_near) && uri.authority().is_none_or(is_near)
}
