//! Paths in URIs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Percent-encodes every byte of `path` that is not allowed as it is in the path of a URI. There, a path of
/// Windows is `/C:/dir`.
pub fn encode(path: &Path) -> String {
    let is_native = cfg!(windows) && path.is_absolute();
    let mut encoded = String::from(if is_native { "/" } else { "" });

    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if is_native => encoded.push('/'),
            b'/' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => encoded.push(byte as char),
            byte => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }

    encoded
}

/// Decodes a percent-encoded path. Returns `None` if an escape is invalid or the result is not UTF-8.
pub fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();

    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }

    String::from_utf8(bytes).ok()
}

/// The path of a `file:` URI; `None` for another scheme or another machine. Java writes such URIs with one
/// slash.
pub fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file:")?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let path = decode(rest.strip_prefix("localhost").unwrap_or(rest))?;

    let path = PathBuf::from(native(&path));
    path.is_absolute().then_some(path)
}

/// The decoded path of a URI as the system writes it: on Windows the drive follows the slash.
pub fn native(path: &str) -> &str {
    if cfg!(windows) { path.trim_start_matches('/') } else { path }
}

/// The absolute path that a client means by `text`: itself, that of a `file:` URI, or one below the home
/// directory after `~`. `None` for relative paths and other schemes.
pub fn local_path(text: &str) -> Option<PathBuf> {
    if let Some(path) = to_path(text) {
        return Some(path);
    }
    if let Some(below) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        return Some(std::env::home_dir()?.join(below.trim_start_matches('/')));
    }
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip_through_uris() {
        for path in ["/home/u/repo", "/tmp/with space/ä%20&?#", "/"] {
            let uri = encode(Path::new(path));
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(decode(&uri).as_deref(), Some(path));
            #[cfg(unix)]
            assert_eq!(to_path(&format!("file://{uri}")).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(decode("/a%2"), None);
        assert_eq!(decode("/a%ff"), None);
        for uri in ["https://example.org/a", "file://server/share", "file:a", "/a", ""] {
            assert_eq!(to_path(uri), None, "{uri}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_client_names_a_path_in_several_ways() {
        for text in ["/a b", "file:///a%20b", "file://localhost/a%20b", "file:/a%20b"] {
            assert_eq!(local_path(text).as_deref(), Some(Path::new("/a b")), "{text}");
        }
        let home = std::env::home_dir().unwrap();
        assert_eq!(local_path("~/a"), Some(home.join("a")));
        assert_eq!(local_path("~"), Some(home));
        for text in ["a", "~user/a", "https://example.org/a", ""] {
            assert_eq!(local_path(text), None, "{text}");
        }
    }
}
