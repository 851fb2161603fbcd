//! Access: the tokens of clients with the repositories that they open, and the accepted host names.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use axum::http::{HeaderMap, Uri, header};

use codeweaver_base::sync;

/// Name of the cookie of a browser that has presented a token.
pub const COOKIE: &str = "codeweaver";
/// Minimum length of a token in characters. Shorter ones could be guessed.
const MIN_TOKEN_CHARS: usize = 16;
/// Context of the key derivation that makes the value of the cookie, from which the token cannot be computed.
const COOKIE_CONTEXT: &str = "git-codeweaver 2026-11-24 cookie of a browser";

/// A failure to read the tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the tokens in {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A token is so short that it could be guessed.
    #[error("the token in line {line} of {} is too short: at least {MIN_TOKEN_CHARS} characters are needed", path.display())]
    TooShort { path: PathBuf, line: usize },
    /// The file has no token.
    #[error("{} has no token", path.display())]
    Empty { path: PathBuf },
}

/// The repositories that a client may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    All,
    /// The repositories of a catalogue whose name matches one of these globs.
    Repositories(Arc<[String]>),
}

/// A secret that clients must present. Only its hash is kept.
#[derive(Clone)]
pub struct Token {
    hash: blake3::Hash,
    cookie: String,
    access: Access,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("access", &self.access).finish_non_exhaustive()
    }
}

impl Token {
    fn new(token: &str, access: Access) -> Token {
        let cookie = blake3::Hash::from_bytes(blake3::derive_key(COOKIE_CONTEXT, token.as_bytes()));
        Token { hash: blake3::hash(token.as_bytes()), cookie: cookie.to_hex().to_string(), access }
    }

    /// Returns whether `text` is the token. The time depends only on the length of `text`.
    fn is(&self, text: &str) -> bool {
        // Hashes are compared in constant time.
        blake3::hash(text.trim().as_bytes()) == self.hash
    }

    fn is_cookie(&self, text: &str) -> bool {
        // As with the token, comparing hashes takes the same time for any text.
        blake3::hash(text.as_bytes()) == blake3::hash(self.cookie.as_bytes())
    }

    /// The `Set-Cookie` header of a browser that has presented the token.
    pub fn set_cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", self.cookie)
    }
}

/// The tokens in a file, which is read again when it has changed.
///
/// Each line has a token, followed by the globs of the repositories that it is valid for; without globs, it
/// is valid for all. Blank lines and lines that begin with `#` are ignored.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    read: Mutex<(Option<SystemTime>, Arc<[Token]>)>,
}

impl Tokens {
    /// # Errors
    /// The file cannot be read, has no token, or has one that is too short.
    pub fn read(path: &Path) -> Result<Tokens, TokenError> {
        let read = (modified(path), read(path)?);
        Ok(Tokens { path: path.to_path_buf(), read: Mutex::new(read) })
    }

    /// The tokens in the file as it is now. If it cannot be read, the previous tokens stay in force.
    fn present(&self) -> Arc<[Token]> {
        let now = modified(&self.path);
        let mut cached = sync::lock(&self.read);

        if cached.0 != now {
            match read(&self.path) {
                Ok(tokens) => *cached = (now, tokens),
                Err(error) => {
                    // The time is kept, so that an error is reported once and not with every request.
                    cached.0 = now;
                    tracing::error!(component = "serve", operation = "tokens", %error, "the former tokens stay in force");
                }
            }
        }

        cached.1.clone()
    }

    /// The token that equals `text`; `None` if there is none.
    pub fn find(&self, text: &str) -> Option<Token> {
        self.present().iter().find(|token| token.is(text)).cloned()
    }

    /// The access that the token in `headers` gives. It is a bearer token or the cookie of a browser; `None`
    /// if there is no valid one.
    pub fn access_of(&self, headers: &HeaderMap) -> Option<Access> {
        let texts = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let bearers = texts(header::AUTHORIZATION).filter_map(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        });
        let cookies = texts(header::COOKIE).flat_map(|value| value.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == COOKIE).then_some(value)
        });
        let (bearers, cookies): (Vec<&str>, Vec<&str>) = (bearers.collect(), cookies.collect());

        let tokens = self.present();
        let token = tokens.iter().find(|token| {
            bearers.iter().any(|text| token.is(text)) || cookies.iter().any(|text| token.is_cookie(text))
        });
        token.map(|token| token.access.clone())
    }
}

/// Time of the last change of a file, if it can be read.
fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

/// Reads the tokens in a file.
fn read(path: &Path) -> Result<Arc<[Token]>, TokenError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| TokenError::Unreadable { path: path.to_path_buf(), source })?;

    let mut tokens = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(token) = words.next() else { continue };
        if token.chars().count() < MIN_TOKEN_CHARS {
            return Err(TokenError::TooShort { path: path.to_path_buf(), line: i + 1 });
        }

        let globs: Arc<[String]> = words.map(str::to_owned).collect();
        let access = if globs.is_empty() { Access::All } else { Access::Repositories(globs) };
        tokens.push(Token::new(token, access));
    }

    if tokens.is_empty() {
        return Err(TokenError::Empty { path: path.to_path_buf() });
    }
    Ok(tokens.into())
}

/// The host names that the server accepts. Others are refused, since another site could make its name resolve
/// to this machine.
#[derive(Debug)]
pub struct Names(Vec<String>);

impl Names {
    pub fn new(host: IpAddr, names: &[String]) -> Names {
        let mut all: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        all.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        // An unspecified address is not a name that clients use.
        if !host.is_unspecified() {
            all.push(host.to_string());
        }
        Names(all)
    }

    /// The names without ports.
    pub fn all(&self) -> &[String] {
        &self.0
    }

    /// Returns whether the request is for this server and, if a page has sent it, for the server of that
    /// page.
    pub fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let host = uri.authority().map(|authority| authority.as_str());
        let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
        let Some(host) = host.filter(|host| self.has(host)) else { return false };

        match headers.get(header::ORIGIN).map(|origin| origin.to_str()) {
            // Only browsers send an origin.
            None => true,
            Some(Ok(origin)) => {
                let authority = origin.split_once("://").map(|(_, authority)| authority);
                authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
            }
            Some(Err(_)) => false,
        }
    }

    /// Returns whether the host of `authority`, with or without a port, is one of the names.
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

    fn tokens(text: &str) -> (tempfile::TempDir, Result<Tokens, TokenError>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        std::fs::write(&path, text).unwrap();
        let read = Tokens::read(&path);
        (dir, read)
    }

    #[test]
    fn only_tokens_and_their_cookies_are_accepted() {
        let text = "# team\n0123456789abcdef\n\nfedcba9876543210 payments/* docs\n";
        let (_dir, tokens) = tokens(text);
        let tokens = tokens.unwrap();
        let cookie = tokens.find("0123456789abcdef").unwrap().set_cookie();
        let cookie = cookie.split(';').next().unwrap();
        let some = Access::Repositories(["payments/*".to_owned(), "docs".to_owned()].into());
        for (pairs, expected) in [
            (vec![("authorization", "Bearer 0123456789abcdef")], Some(Access::All)),
            (vec![("authorization", "bearer 0123456789abcdef")], Some(Access::All)),
            (vec![("authorization", "Bearer fedcba9876543210")], Some(some)),
            (vec![("authorization", "Basic 0123456789abcdef")], None),
            (vec![("authorization", "Bearer 0123456789abcdeF")], None),
            (vec![("authorization", "Bearer payments/*")], None),
            (vec![("authorization", "Bearer ")], None),
            (vec![("cookie", cookie)], Some(Access::All)),
            (vec![("cookie", &format!("a=b; {cookie}")[..])], Some(Access::All)),
            (vec![("cookie", "codeweaver=0123456789abcdef")], None),
            (vec![("cookie", "codeweaver=")], None),
            (vec![], None),
        ] {
            assert_eq!(tokens.access_of(&headers(&pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let (dir, tokens) = tokens("0123456789abcdef\n");
        let tokens = tokens.unwrap();
        let path = dir.path().join("tokens");
        let write = |text: &str, seconds: u64| {
            std::fs::write(&path, text).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        write("another-token-of-some-length\n", 1_000);
        assert!(tokens.find("0123456789abcdef").is_none());
        assert!(tokens.find("another-token-of-some-length").is_some());
        write("short\n", 2_000);
        assert!(tokens.find("another-token-of-some-length").is_some(), "the former ones stay in force");
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
    fn files_without_a_good_token_are_refused() {
        let read = |text| tokens(text).1;
        assert!(matches!(read("0123456789abcdef\nshort all/*"), Err(TokenError::TooShort { line: 2, .. })));
        assert!(matches!(read("# nothing\n\n"), Err(TokenError::Empty { .. })));
        let missing = Tokens::read(Path::new("/nonexistent/tokens"));
        assert!(matches!(missing, Err(TokenError::Unreadable { .. })));
    }
}
