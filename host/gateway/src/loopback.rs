//! Checks the host name in requests.
//!
//! A web page can make its own name resolve to 127.0.0.1 ("DNS rebinding"). The browser then lets the page read the
//! gateway's answers. If no key is required, only the host name in the request shows that a page of another site sent
//! it.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

/// Whether this host is a loopback host.
pub(crate) fn is_loopback<S: AsRef<str>>(host: &url::Host<S>) -> bool {
    match host {
        url::Host::Domain(name) => name.as_ref().eq_ignore_ascii_case("localhost"),
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Whether a request is meant for a loopback host: it has exactly one `Host` header, and all host names in it are
/// loopback names (RFC 9112, section 3.2). The port is ignored, because a tunnel can change it.
pub(crate) fn is_meant_for_loopback(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let is_near = |authority: &Authority| {
        !authority.as_str().contains('@') && url::Host::parse(authority.host()).is_ok_and(|host| is_loopback(&host))
    };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    host.as_ref().is_some_and(is_near) && uri.authority().is_none_or(is_near)
}
