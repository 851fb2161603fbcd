//! Tokens: the secrets that clients present, in a file that is read again when it changes.

use std::fs::Metadata;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use axum::http::{HeaderMap, header};

use codeweaver_base::sync;

use super::access::Access;
use super::guesses::Guesses;

/// Name of the cookie of a browser that has presented a token.
pub const COOKIE: &str = "codeweaver";
/// Minimum length of a token in characters. Shorter ones could be guessed.
const MIN_TOKEN_CHARS: usize = 16;
/// Maximum number of tokens and cookies of a request that are looked at.
const MAX_PRESENTED: usize = 4;
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

    /// Returns whether `shown` is the token or its cookie. Hashes are compared in constant time.
    fn is(&self, shown: &Shown) -> bool {
        match shown.is_cookie {
            true => shown.hash == blake3::hash(self.cookie.as_bytes()),
            false => shown.hash == self.hash,
        }
    }

    /// The `Set-Cookie` header of a browser that has presented the token.
    pub fn set_cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", self.cookie)
    }
}

/// The hash of a token, or of a cookie, that a client has presented.
struct Shown {
    hash: blake3::Hash,
    is_cookie: bool,
}

impl Shown {
    fn token(text: &str) -> Shown {
        Shown { hash: blake3::hash(text.trim().as_bytes()), is_cookie: false }
    }

    fn cookie(text: &str) -> Shown {
        Shown { hash: blake3::hash(text.as_bytes()), is_cookie: true }
    }
}

/// The reason why a client is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has presented no token, or a wrong one.
    NoToken,
    /// Too many wrong tokens have come from its address; its token was not looked at.
    TooMany,
}

/// The tokens in a file, which is read again when it has changed.
///
/// Each line has a token, followed by the globs of the repositories that it is valid for; without globs, it
/// is valid for all. Blank lines and lines that begin with `#` are ignored.
///
/// A file that has become bad makes no new token valid: of the former tokens, those that are still in it stay
/// valid, and no others.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    guesses: Guesses,
    present: Mutex<Present>,
}

/// The tokens of a version of the file.
#[derive(Debug)]
struct Present {
    version: Option<Version>,
    tokens: Arc<[Token]>,
    /// The reason why the file is bad.
    problem: Option<Arc<str>>,
}

/// Values that differ between versions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    modified: Option<SystemTime>,
    len: u64,
    #[cfg(unix)]
    changed: (u64, i64, i64),
}

impl Version {
    fn new(meta: &Metadata) -> Version {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;

        Version {
            modified: meta.modified().ok(),
            len: meta.len(),
            #[cfg(unix)]
            changed: (meta.ino(), meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// The version of the file at `path`; `None` if there is none.
    fn at(path: &Path) -> Option<Version> {
        std::fs::metadata(path).ok().as_ref().map(Version::new)
    }
}

impl Tokens {
    /// # Errors
    /// The file cannot be read, has no token, or has one that is too short.
    pub fn read(path: &Path) -> Result<Tokens, TokenError> {
        let version = Version::at(path);
        let (tokens, problem) = read(path);
        if let Some(problem) = problem {
            return Err(problem);
        }

        let present = Present { version, tokens: tokens.into(), problem: None };
        Ok(Tokens { path: path.to_path_buf(), guesses: Guesses::default(), present: Mutex::new(present) })
    }

    /// The reason why the file, as it is now, is bad; `None` if it is good.
    pub fn problem(&self) -> Option<Arc<str>> {
        self.refresh(|present| present.problem.clone())
    }

    /// Applies `get` to the tokens in the file as it is now.
    fn refresh<T>(&self, get: impl FnOnce(&Present) -> T) -> T {
        let mut present = sync::lock(&self.present);
        let version = Version::at(&self.path);
        if present.version == version {
            return get(&present);
        }

        let (mut tokens, problem) = read(&self.path);
        if let Some(error) = &problem {
            // A line that was cut off may look like a token, so none is added.
            tokens.retain(|token| present.tokens.iter().any(|former| former.hash == token.hash));
            tracing::error!(component = "server", operation = "tokens", %error, "only the tokens that are still in it stay valid");
        }

        let problem = problem.map(|error| error.to_string().into());
        *present = Present { version, tokens: tokens.into(), problem };
        get(&present)
    }

    /// Finds the token that equals `text`, which a client at `peer` has typed.
    ///
    /// # Errors
    /// There is none, or the client has tried too many.
    pub fn find(&self, text: &str, peer: IpAddr) -> Result<Token, Refusal> {
        self.check(&[Shown::token(text)], peer)
    }

    /// The access that the token in `headers` gives to a client at `peer`. It is a bearer token or the cookie
    /// of a browser.
    ///
    /// # Errors
    /// There is no valid token, or the client has tried too many.
    pub fn access_of(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Access, Refusal> {
        let texts = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let bearers = texts(header::AUTHORIZATION).filter_map(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| Shown::token(token))
        });
        let cookies = texts(header::COOKIE).flat_map(|value| value.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == COOKIE).then(|| Shown::cookie(value))
        });

        let shown: Vec<Shown> = bearers.chain(cookies).take(MAX_PRESENTED).collect();
        self.check(&shown, peer).map(|token| token.access)
    }

    /// Finds the token that one of `shown` is.
    fn check(&self, shown: &[Shown], peer: IpAddr) -> Result<Token, Refusal> {
        let tokens = self.refresh(|present| present.tokens.clone());
        let now = Instant::now();

        let mut refusal = Refusal::NoToken;
        for shown in shown {
            if !self.guesses.may_present(peer, &shown.hash, now) {
                refusal = Refusal::TooMany;
                continue;
            }

            let found = tokens.iter().find(|token| token.is(shown));
            self.guesses.note(peer, &shown.hash, found.is_some(), now);
            if let Some(token) = found {
                return Ok(token.clone());
            }
        }
        Err(refusal)
    }
}

/// Reads the tokens in a file: those that can be used, and the first problem with the file.
fn read(path: &Path) -> (Vec<Token>, Option<TokenError>) {
    let path_buf = || path.to_path_buf();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) => return (Vec::new(), Some(TokenError::Unreadable { path: path_buf(), source })),
    };

    let (mut tokens, mut problem) = (Vec::new(), None);
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(token) = words.next() else { continue };
        if token.chars().count() < MIN_TOKEN_CHARS {
            problem.get_or_insert(TokenError::TooShort { path: path_buf(), line: i + 1 });
            continue;
        }

        let globs: Arc<[String]> = words.map(str::to_owned).collect();
        let access = if globs.is_empty() { Access::All } else { Access::Repositories(globs) };
        tokens.push(Token::new(token, access));
    }

    if tokens.is_empty() {
        problem.get_or_insert(TokenError::Empty { path: path_buf() });
    }
    (tokens, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::tests::headers;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn tokens(text: &str) -> (tempfile::TempDir, Result<Tokens, TokenError>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        std::fs::write(&path, text).unwrap();
        let read = Tokens::read(&path);
        (dir, read)
    }

    fn is_valid(tokens: &Tokens, text: &str) -> bool {
        tokens.find(text, PEER).is_ok()
    }

    #[test]
    fn only_tokens_and_their_cookies_are_accepted() {
        let text = "# team\n0123456789abcdef\n\nfedcba9876543210 payments/* docs\n";
        let (_dir, tokens) = tokens(text);
        let tokens = tokens.unwrap();
        let cookie = tokens.find("0123456789abcdef", PEER).unwrap().set_cookie();
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
            assert_eq!(tokens.access_of(&headers(&pairs), PEER).ok(), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let (dir, tokens) = tokens("0123456789abcdef\n");
        let tokens = tokens.unwrap();
        std::fs::write(dir.path().join("tokens"), "another-token-of-some-length\n").unwrap();
        assert!(!is_valid(&tokens, "0123456789abcdef"));
        assert!(is_valid(&tokens, "another-token-of-some-length"));
        assert_eq!(tokens.problem(), None);
    }

    #[test]
    fn in_a_bad_file_only_former_tokens_are_valid() {
        let (kept, removed) = ("kept-0123456789abcdef", "removed-0123456789abcdef");
        for (bad, says) in [
            (Some(format!("{kept}\nnew-0123456789abcdef\nshort\n")), "line 3"),
            (Some("# nothing\n".to_owned()), "has no token"),
            (Some(String::new()), "has no token"),
            (None, "cannot read"),
        ] {
            let (dir, tokens) = tokens(&format!("{kept}\n{removed} docs\n"));
            let tokens = tokens.unwrap();
            assert!(is_valid(&tokens, removed));

            let path = dir.path().join("tokens");
            match &bad {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let is_kept = bad.as_ref().is_some_and(|text| text.contains(kept));
            assert_eq!(is_valid(&tokens, kept), is_kept, "{bad:?}");
            assert!(!is_valid(&tokens, removed), "{bad:?}");
            assert!(!is_valid(&tokens, "new-0123456789abcdef"), "{bad:?}");
            assert!(tokens.problem().unwrap().contains(says), "{bad:?}: {:?}", tokens.problem());

            std::fs::write(&path, format!("{removed}\n")).unwrap();
            assert!(is_valid(&tokens, removed), "a good file opens again");
            assert_eq!(tokens.problem(), None);
        }
    }

    #[test]
    fn guessing_ends_with_a_refusal_without_a_look() {
        let (_dir, tokens) = tokens("0123456789abcdef\nfedcba9876543210\n");
        let tokens = tokens.unwrap();
        assert!(is_valid(&tokens, "fedcba9876543210"));
        let wrong = (0..100).map(|n| tokens.find(&format!("wrong-0123456789-{n}"), PEER).unwrap_err());
        let refusals: Vec<Refusal> = wrong.collect();
        assert_eq!((refusals[0], refusals[99]), (Refusal::NoToken, Refusal::TooMany));

        assert_eq!(tokens.find("0123456789abcdef", PEER).unwrap_err(), Refusal::TooMany);
        assert!(is_valid(&tokens, "fedcba9876543210"), "it was right before");
        assert!(tokens.find("0123456789abcdef", "192.0.2.1".parse().unwrap()).is_ok());
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
