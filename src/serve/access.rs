//! Who may ask: the token of the server, and the names under which it is reached.

use axum::http::{HeaderMap, Uri, header};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Name of the cookie of a browser that has presented the token.
pub const COOKIE: &str = "codeweaver";
/// Fewest characters of a token, so that it cannot be guessed.
const MIN_TOKEN_CHARS: usize = 16;
/// Distinguishes the value of the cookie from the token, so that the one does not tell the other.
const COOKIE_CONTEXT: &str = "git-codeweaver 2026-11-24 cookie of a browser";

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token in {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// It could be guessed.
    #[error("the token in {} is too short: at least {MIN_TOKEN_CHARS} characters on one line are needed", path.display())]
    TooShort { path: PathBuf },
}

/// A secret that clients must present. Only its hash is kept.
#[derive(Clone)]
pub struct Token {
    hash: blake3::Hash,
    cookie: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the token from the first line of a file.
    ///
    /// # Errors
    /// The file cannot be read, or the token is too short.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TokenError::Unreadable { path: path.to_path_buf(), source })?;
        let token = text.lines().next().unwrap_or_default().trim();
        if token.chars().count() < MIN_TOKEN_CHARS {
            return Err(TokenError::TooShort { path: path.to_path_buf() });
        }
        Ok(Token::new(token))
    }

    fn new(token: &str) -> Token {
        let cookie = blake3::Hash::from_bytes(blake3::derive_key(COOKIE_CONTEXT, token.as_bytes()));
        Token { hash: blake3::hash(token.as_bytes()), cookie: cookie.to_hex().to_string() }
    }

    /// Whether `text` is the token. Takes the same time for every text of a length.
    pub fn is(&self, text: &str) -> bool {
        // The comparison of hashes takes constant time.
        blake3::hash(text.trim().as_bytes()) == self.hash
    }

    /// The `Set-Cookie` header of a browser that has presented the token.
    pub fn set_cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", self.cookie)
    }

    /// Whether `headers` present the token: as a bearer token, or as the cookie of a browser.
    pub fn is_presented(&self, headers: &HeaderMap) -> bool {
        let texts = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let is_cookie = |pair: &str| {
            let (name, value) = pair.trim().split_once('=').unwrap_or_default();
            name == COOKIE && blake3::hash(value.as_bytes()) == blake3::hash(self.cookie.as_bytes())
        };
        texts(header::AUTHORIZATION).any(|value| {
            let (scheme, token) = value.split_once(' ').unwrap_or_default();
            scheme.eq_ignore_ascii_case("bearer") && self.is(token)
        }) || texts(header::COOKIE).flat_map(|value| value.split(';')).any(is_cookie)
    }
}

/// The names under which a server may be reached. Any other is refused, since a page of another site could
/// make its name resolve to this machine.
#[derive(Debug)]
pub struct Names(Vec<String>);

impl Names {
    pub fn new(host: IpAddr, names: &[String]) -> Names {
        let mut all: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        all.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        if !host.is_unspecified() {
            all.push(host.to_string());
        }
        Names(all)
    }

    /// Without ports, for checks of others.
    pub fn all(&self) -> &[String] {
        &self.0
    }

    /// Whether the request is for this server and, if a page has sent it, for the server of that page.
    pub fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let host = uri.authority().map(|authority| authority.as_str());
        let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
        let Some(host) = host.filter(|host| self.has(host)) else { return false };
        match headers.get(header::ORIGIN).map(|origin| origin.to_str()) {
            None => true,
            Some(Ok(origin)) => {
                let of_origin = origin.split_once("://").map(|(_, authority)| authority);
                of_origin.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
            }
            Some(Err(_)) => false,
        }
    }

    fn has(&self, authority: &str) -> bool {
        let name = match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => authority.rsplit_once(':').map_or(authority, |(name, _)| name),
        };
        self.0.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let name = |name: &str| axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
        pairs.iter().map(|(key, value)| (name(key), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_the_token_and_its_cookie_are_accepted() {
        let token = Token::new("0123456789abcdef");
        let cookie = token.set_cookie();
        let cookie = cookie.split(';').next().unwrap();
        for (pairs, expected) in [
            (vec![("authorization", "Bearer 0123456789abcdef")], true),
            (vec![("authorization", "bearer 0123456789abcdef")], true),
            (vec![("authorization", "Basic 0123456789abcdef")], false),
            (vec![("authorization", "Bearer 0123456789abcdeF")], false),
            (vec![("authorization", "Bearer ")], false),
            (vec![("cookie", cookie)], true),
            (vec![("cookie", &format!("a=b; {cookie}")[..])], true),
            (vec![("cookie", "codeweaver=0123456789abcdef")], false),
            (vec![("cookie", "codeweaver=")], false),
            (vec![], false),
        ] {
            assert_eq!(token.is_presented(&headers(&pairs)), expected, "{pairs:?}");
        }
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
            (vec![("host", "")], false),
            (vec![], false),
            (vec![("host", "localhost:9328"), ("origin", "http://localhost:9328")], true),
            (vec![("host", "localhost:9328"), ("origin", "http://localhost:80")], false),
            (vec![("host", "localhost:9328"), ("origin", "https://evil.example")], false),
            (vec![("host", "localhost:9328"), ("origin", "null")], false),
        ] {
            assert_eq!(names.allow(&uri, &headers(&pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_short_token_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "short\n0123456789abcdef").unwrap();
        assert!(matches!(Token::read(&path), Err(TokenError::TooShort { .. })));
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        assert!(Token::read(&path).unwrap().is("0123456789abcdef"));
        assert!(matches!(Token::read(&dir.path().join("none")), Err(TokenError::Unreadable { .. })));
    }
}
