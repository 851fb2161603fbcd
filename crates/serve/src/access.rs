//! Access: the repositories that clients may see, and the accepted host names.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, Uri, header};

use codeweaver::query::request::matches_name;
use codeweaver::service::ErrorKind;
use codeweaver::service::sender::{parse_authority, parse_origin};

use super::failure::Failure;

/// The repositories that a client may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    All,
    /// The repositories of a catalogue whose name matches one of these globs.
    Repositories(Arc<[String]>),
}

impl Access {
    /// Returns whether the client may see the repository `name`.
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Access::All => true,
            Access::Repositories(globs) => globs.iter().any(|glob| matches_name(glob, name)),
        }
    }

    /// Refuses a request about the catalogue as a whole, unless the client may see all of it.
    ///
    /// # Errors
    /// The client may not see all repositories.
    pub fn check_all(&self, what: &str) -> Result<(), Failure> {
        if *self == Access::All {
            return Ok(());
        }
        let why = format!("{what} needs a token for all repositories");
        Err(Failure::new(ErrorKind::NotAllowed, "this is not served", why))
    }
}

/// The host names that the server accepts. Others are refused, since another site could make its name resolve
/// to this machine.
#[derive(Debug)]
pub struct Names {
    all: Vec<String>,
    /// Those that the user has given. A proxy may serve them by TLS.
    given: Vec<String>,
}

impl Names {
    pub fn new(host: IpAddr, names: &[String]) -> Names {
        let given: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut all = given.clone();
        all.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        // An unspecified address is not a name that clients use.
        if !host.is_unspecified() {
            all.push(host.to_string());
        }
        Names { all, given }
    }

    /// The names without ports.
    pub fn all(&self) -> &[String] {
        &self.all
    }

    /// Returns whether the request is for this server and, if a page has sent it, for the server of that
    /// page.
    pub fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let (Some(host), Some(origin)) = (only(headers, header::HOST), only(headers, header::ORIGIN)) else {
            return false;
        };

        let authority = uri.authority().map(|authority| authority.as_str()).or(host);
        let Some(authority) = authority.filter(|it| has(&self.all, it)) else { return false };
        // Only browsers send an origin.
        origin.is_none_or(|origin| self.is_same(origin, authority))
    }

    /// Returns whether `origin` is that of a page which was requested from `authority`. The server itself
    /// speaks no TLS.
    fn is_same(&self, origin: &str, authority: &str) -> bool {
        let Some((scheme, other)) = parse_origin(origin) else { return false };
        other.eq_ignore_ascii_case(authority) && (scheme == "http" || has(&self.given, authority))
    }
}

/// Returns whether the host of `authority`, with or without a port, is one of `names`.
fn has(names: &[String], authority: &str) -> bool {
    let host = parse_authority(authority).map(|(host, _)| host);
    host.is_some_and(|host| names.iter().any(|name| name.eq_ignore_ascii_case(host)))
}

/// The value of a header that may be absent; `None` if there are several or if it is no text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<Option<&str>> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.to_str()).transpose().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn other_hosts_and_origins_are_refused() {
        let names = Names::new("127.0.0.1".parse().unwrap(), &["Code.example".to_owned()]);
        let uri = Uri::from_static("/");

        for (pairs, expected) in [
            (vec![("host", "localhost:9328")], true),
            (vec![("host", "127.0.0.1:9328")], true),
            (vec![("host", "[::1]:9328")], true),
            (vec![("host", "code.EXAMPLE")], true),
            (vec![("host", "evil.example:9328")], false),
            (vec![("host", "localhost.evil.example")], false),
            (vec![("host", "[::1]evil")], false),
            (vec![("host", "[::1].evil.com")], false),
            (vec![("host", "[::1]:80.evil.com")], false),
            (vec![("host", "localhost:80:80")], false),
            (vec![("host", "evil@localhost")], false),
            (vec![("host", "localhost"), ("host", "evil.example")], false),
            (vec![("host", "")], false),
            (vec![], false),
            (vec![("host", "localhost:9328"), ("origin", "http://localhost:9328")], true),
            (vec![("host", "localhost:9328"), ("origin", "https://localhost:9328")], false),
            (vec![("host", "localhost:9328"), ("origin", "ftp://localhost:9328")], false),
            (vec![("host", "localhost:9328"), ("origin", "http://localhost:80")], false),
            (vec![("host", "localhost:9328"), ("origin", "https://evil.example")], false),
            (vec![("host", "localhost:9328"), ("origin", "null")], false),
            (vec![("host", "code.example"), ("origin", "https://code.example")], true),
            (vec![("host", "code.example"), ("origin", "http://code.example")], true),
            (vec![("host", "code.example"), ("origin", "file://code.example")], false),
        ] {
            assert_eq!(names.allow(&uri, &headers(&pairs)), expected, "{pairs:?}");
        }
    }
}
