//! Senders: whether a request over HTTP is meant for this server, and whether a page of its own has sent it.
//!
//! A page of another site can make a browser send requests, also under a name that resolves to this machine.
//! So authorities are parsed as a whole: a name that only begins like one of ours is another name.

use std::net::Ipv6Addr;

/// Splits an authority, `HOST` or `HOST:PORT`, into the host without brackets and the port. `None` if there
/// is anything else in it.
pub fn parse_authority(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, rest) = inner.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, rest)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };

    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if host.is_empty() || !(authority.starts_with('[') || host.chars().all(is_of_name)) {
        return None;
    }

    match rest.strip_prefix(':') {
        None => rest.is_empty().then_some((host, None)),
        // `u16` also parses a sign.
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((host, Some(port.parse().ok()?)))
        }
        Some(_) => None,
    }
}

/// Splits the origin of a page into its scheme, which is `http` or `https`, and its authority; `None` for any
/// other origin.
pub fn parse_origin(origin: &str) -> Option<(&str, &str)> {
    let (scheme, authority) = origin.split_once("://")?;
    parse_authority(authority)?;
    matches!(scheme, "http" | "https").then_some((scheme, authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_a_host_with_or_without_a_port() {
        for (authority, expected) in [
            ("localhost", ("localhost", None)),
            ("code.example:9328", ("code.example", Some(9328))),
            ("127.0.0.1:80", ("127.0.0.1", Some(80))),
            ("[::1]", ("::1", None)),
            ("[::1]:80", ("::1", Some(80))),
        ] {
            assert_eq!(parse_authority(authority), Some(expected), "{authority}");
        }
        for authority in [
            "",
            ":80",
            "localhost:",
            "localhost:+1",
            "localhost:65536",
            "localhost:80:80",
            "a@localhost",
            "localhost/x",
            "local host",
            "[::1]evil",
            "[::1].evil.com",
            "[::1]:80evil",
            "[localhost]",
            "[::1",
            "::1",
        ] {
            assert_eq!(parse_authority(authority), None, "{authority}");
        }
    }

    #[test]
    fn an_origin_is_that_of_a_page() {
        assert_eq!(parse_origin("https://localhost:80"), Some(("https", "localhost:80")));
        for origin in ["null", "localhost", "ftp://localhost", "http://localhost/", "http://[::1]evil"] {
            assert_eq!(parse_origin(origin), None, "{origin}");
        }
    }
}
