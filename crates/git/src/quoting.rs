//! Paths as text. Git allows every byte but NUL in a path; text and terminals do not.
//!
//! A path that text cannot carry is quoted as git quotes it: `"a\377b"`, with the escapes of C. [`text`]
//! quotes only paths that are not UTF-8, for JSON and other programs. [`printed`] is for people and also
//! quotes paths with quotes, control characters or invisible ones, as git does with `core.quotePath=false`.
//! [`bytes`] reads both, so that every path that was shown can be passed back.

use std::borrow::Cow;
use std::fmt::Write as _;

use codeweaver_text::is_unprintable;

use super::{BString, ByteSlice as _};

/// Returns the path as text: as it is, or quoted if it is not UTF-8 or begins with a quote.
pub fn text(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(path) if !path.starts_with('"') => path.to_owned(),
        _ => quoted(path),
    }
}

/// Returns a path in [`text`] form as it is printed: on one line, without characters that act on a terminal
/// or are hidden by it, and quoted also if it ends like `path:12` or `path:3-7`, the notation of lines.
pub fn printed(text: &str) -> Cow<'_, str> {
    let is_plain = text.chars().all(|c| !matches!(c, '"' | '\\') && !is_unprintable(c));
    let is_clear = is_plain && lines_at(text.as_bytes()).is_none();

    if is_clear || unquoted(text).is_some() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(quoted(text.as_bytes()))
    }
}

/// Returns the [`printed`] path, prefixed if it could be mistaken for an option or for pathspec magic.
pub fn argument(text: &str) -> Cow<'_, str> {
    let shown = printed(text);
    if shown.starts_with(['-', ':']) { Cow::Owned(format!("./{shown}")) } else { shown }
}

/// Returns the path that `text` stands for: unquoted if it is quoted, else as it is.
pub fn bytes(text: &str) -> BString {
    unquoted(text).unwrap_or_else(|| text.into())
}

/// Returns the position of the colon in `path:12` or `path:3-7`.
pub fn lines_at(place: &[u8]) -> Option<usize> {
    let colon = place.rfind_byte(b':')?;
    let lines = &place[colon + 1..];
    let is_lines = !lines.is_empty() && lines.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');

    is_lines.then_some(colon)
}

/// Returns the length of the quoted path that `text` begins with, quotes included.
pub fn quoted_len(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.strip_prefix('"')?.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    Some(end + 2)
}

/// Bytes that have an escape of one letter, with that letter.
const ESCAPES: [(u8, char); 9] = [
    (b'"', '"'),
    (b'\\', '\\'),
    (0x07, 'a'),
    (0x08, 'b'),
    (b'\t', 't'),
    (b'\n', 'n'),
    (0x0b, 'v'),
    (0x0c, 'f'),
    (b'\r', 'r'),
];

fn quoted(path: &[u8]) -> String {
    let mut out = String::from("\"");

    for (start, end, c) in path.char_indices() {
        let escape = ESCAPES.iter().find(|(byte, _)| path[start..end] == [*byte]);
        match escape {
            Some((_, letter)) => out.extend(['\\', *letter]),
            // Invalid bytes are shown as U+FFFD, which also occurs as itself.
            None if !is_unprintable(c) && path[start..end] == *c.encode_utf8(&mut [0; 4]).as_bytes() => {
                out.push(c);
            }
            None => path[start..end].iter().for_each(|byte| {
                let _ = write!(out, "\\{byte:03o}");
            }),
        }
    }

    out.push('"');
    out
}

/// Returns the path of a text that is quoted as a whole; `None` for any other text.
pub(super) fn unquoted(text: &str) -> Option<BString> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if quoted_len(text) != Some(text.len()) {
        return None;
    }

    let mut path = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();

    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            path.push(byte);
            continue;
        }

        let escape = rest.next()?;
        match ESCAPES.iter().find(|(_, letter)| escape == *letter as u8) {
            Some((byte, _)) => path.push(*byte),
            None => {
                let digits = [escape, rest.next()?, rest.next()?];
                let is_octal = digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
                let number = digits.iter().fold(0, |n, digit| n * 8 + u32::from(digit.wrapping_sub(b'0')));
                path.push(u8::try_from(number).ok().filter(|byte| is_octal && *byte != 0)?);
            }
        }
    }

    Some(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use codeweaver_testkit::TestRepo;

    const NAMES: &[&[u8]] = &[
        b"plain/name.rs",
        b"a\xffb",
        "\u{fffd}".as_bytes(),
        "ünï/漢.rs".as_bytes(),
        "a\u{202e}b".as_bytes(),
        b"tab\tand\nline\rand\x07bell",
        b"quo\"te",
        b"\"quoted\"",
        b"\"",
        b"\"\\",
        b"back\\slash",
        b"\\377",
        b"-dash",
        b"a:12",
        b"a:3-7",
        b" blank ",
        b"\xed\xa0\x80\xf4\x90\x80\x80",
    ];

    #[test]
    fn every_shown_path_reads_back() {
        for name in NAMES {
            let text = text(name);
            assert_eq!(bytes(&text), *name, "{text}");
            let shown = printed(&text);
            assert_eq!(bytes(&shown), *name, "{shown}");
            assert!(!shown.chars().any(is_unprintable), "{shown:?}");
            assert_eq!(printed(&shown), shown, "printed once");
        }
    }

    #[test]
    fn any_bytes_read_back() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let len = rng.usize(1..12);
            let name: Vec<u8> =
                (0..len).map(|_| *rng.choice(b"\"\\01a\t\n\x80\xc3\xa9\xff").unwrap()).collect();
            let text = text(&name);
            assert_eq!(bytes(&text), name);
            assert_eq!(bytes(&printed(&text)), name, "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn quoted_paths_are_those_of_git() {
        use std::os::unix::ffi::OsStrExt as _;
        let repo = TestRepo::init();
        for name in [&b"a\xffb"[..], b"t\tn\nq\"b\\", b"plain"] {
            std::fs::write(repo.root().join(std::ffi::OsStr::from_bytes(name)), "x\n").unwrap();
        }
        repo.git(["add", "-A"]);
        let listed = repo.git_text(["ls-files"]);
        let lines: Vec<&str> = listed.lines().collect();
        assert_eq!(lines, ["\"a\\377b\"", "plain", "\"t\\tn\\nq\\\"b\\\\\""]);
        let ours: Vec<String> = lines.iter().map(|line| printed(&text(&bytes(line))).into_owned()).collect();
        assert_eq!(ours, lines);
    }

    #[test]
    fn what_is_not_quoted_is_the_path_itself() {
        for text in
            ["\"", "\"a", "a\"", "\"a\\\"", "\"\\x41\"", "\"a\"b\"", "\"\\000\"", "\"\\999\"", "\"\\400\""]
        {
            assert_eq!(bytes(text), text, "{text}");
        }
        assert_eq!(quoted_len("\"a\\\"b\":12"), Some(6));
        assert_eq!((printed("a:12"), printed("a:12.py")), ("\"a:12\"".into(), "a:12.py".into()));
        assert_eq!(quoted_len("a\"b\""), None);
    }
}
