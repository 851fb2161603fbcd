//! The URL of an index, and the key to its engine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use codeweaver_http::check_base;

use super::error::OrgError;

/// Environment variable that has the key: `USER:PASSWORD`, or an API key.
pub const KEY_VARIABLE: &str = "CODEWEAVER_ORG_KEY";
/// The name of an index if the URL has none.
const DEFAULT_NAME: &str = "codeweaver";
/// Maximum length of the name of an index.
const MAX_NAME_BYTES: usize = 100;

/// An index of an engine.
#[derive(Clone)]
pub struct Address {
    /// The URLs of the engine, without slashes at their ends: those of its nodes, or of balancers before it.
    pub urls: Vec<String>,
    /// What the names of its indices begin with.
    pub prefix: String,
    /// Whether all URLs are on this machine.
    pub is_local: bool,
    /// The value of the header `Authorization`.
    pub(super) authorisation: Option<String>,
}

impl std::fmt::Debug for Address {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.urls.join(","), self.prefix)
    }
}

impl Address {
    /// Parses `https://HOST:PORT/NAME`, or `https://HOST:PORT` for the default name. Several nodes of an
    /// engine are written as `https://HOST:PORT,https://HOST:PORT/NAME`. `key` is that of [`KEY_VARIABLE`].
    ///
    /// # Errors
    /// [`OrgError::Setting`] for anything else. Only an engine on this machine is reached without TLS.
    pub fn parse(url: &str, key: Option<&str>) -> Result<Address, OrgError> {
        let wrong = |why: &str| OrgError::Setting { what: "the URL of the engine", why: why.to_owned() };
        let mut urls = Vec::new();
        let mut is_local = true;
        let mut name = DEFAULT_NAME;

        let mut rest = url.split(',').peekable();
        while let Some(url) = rest.next() {
            let (base, is_own) = check_base(url).map_err(wrong)?;
            is_local &= is_own;

            let after_scheme = base.find("://").map_or(0, |at| at + 3);
            match base[after_scheme..].find('/') {
                Some(_) if rest.peek().is_some() => {
                    return Err(wrong("may have a name in its last part only"));
                }
                Some(slash) => {
                    name = &base[after_scheme + slash + 1..];
                    urls.push(base[..after_scheme + slash].to_owned());
                }
                None => urls.push(base.to_owned()),
            }
        }

        let is_name = name.len() <= MAX_NAME_BYTES
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if !is_name {
            return Err(wrong("must end in a name of lower-case letters, digits, - and _"));
        }

        Ok(Address {
            urls,
            prefix: name.to_owned(),
            is_local,
            authorisation: key.map(str::trim).filter(|key| !key.is_empty()).map(authorisation),
        })
    }

    /// As [`Self::parse`], with the key of the environment.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_environment(url: &str) -> Result<Address, OrgError> {
        Address::parse(url, std::env::var(KEY_VARIABLE).ok().as_deref())
    }
}

/// The value of the header `Authorization` for a key.
fn authorisation(key: &str) -> String {
    match key.contains(':') {
        true => format!("Basic {}", STANDARD.encode(key)),
        false => format!("ApiKey {key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_the_index() {
        let parts =
            |url: &str| Address::parse(url, None).map(|it| (it.urls.join(" "), it.prefix, it.is_local));
        let host = |prefix: &str| ("https://host:9200".to_owned(), prefix.to_owned(), false);
        assert_eq!(parts("https://host:9200/").unwrap(), host("codeweaver"));
        assert_eq!(parts("https://host:9200/team-1").unwrap(), host("team-1"));
        assert!(parts("http://127.0.0.1:9200/a").unwrap().2);
        let both = parts("https://a:9200/,https://b/team-1").unwrap();
        assert_eq!(both, ("https://a:9200 https://b".to_owned(), "team-1".to_owned(), false));
        assert!(!parts("http://127.0.0.1:9200,https://b/a").unwrap().2);
        for wrong in [
            "http://host",
            "https://a/x,https://b/x",
            "https://a,",
            "http://127.0.0.1,http://host",
            "host",
            "https://host/A",
            "https://host/a/b",
            "https://host/_all",
            "https://u:p@h",
        ] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_a_password_or_a_token_and_is_never_shown() {
        let sent = |key: &str| Address::parse("https://h", Some(key)).unwrap().authorisation;
        assert_eq!(sent("me:secret").unwrap(), "Basic bWU6c2VjcmV0");
        assert_eq!(sent("abc=\n").unwrap(), "ApiKey abc=");
        assert_eq!(sent(" "), None);
        assert_eq!(format!("{:?}", Address::parse("https://h/x", Some("me:secret")).unwrap()), "https://h/x");
    }
}
