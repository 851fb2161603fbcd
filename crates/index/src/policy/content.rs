//! Decisions by the content of a blob, independent of its path.

use std::sync::LazyLock;

use gix::bstr::ByteSlice as _;

use super::{Exempt, SkipReason, generated_docs};

/// Number of bytes that are searched for a NUL, which makes a blob binary; close to the 8,000 of git.
const BINARY_PROBE_BYTES: usize = 8_192;
const LFS_PREFIX: &[u8] = b"version https://git-lfs.github.com/spec/v1";
const LFS_MAX_BYTES: usize = 1_024;
/// Minimum size of minified files. Shorter blobs with long lines are tables and licences.
const MINIFIED_MIN_BYTES: usize = 8_192;
/// Average line length above which a file may be minified. Hand-written code averages 30 to 50 bytes per
/// line, prose with one line per paragraph less than 400.
const MINIFIED_LINE_BYTES: usize = 500;
/// Maximum length of an ordinary line, as people write them.
const ORDINARY_LINE_BYTES: usize = 200;
/// Number of ordinary lines of code with which a file with a few long lines, such as tables, fixtures and
/// images, is one that people write. A minified file has a licence and a line or two of glue.
const MIN_ORDINARY_LINES: usize = 4;
/// Number of ordinary lines for each long one, at least.
const ORDINARY_PER_LONG: usize = 2;
/// Maximum size of files with credentials.
const SECRET_MAX_BYTES: usize = 65_536;

/// Version of the rules, without the table of [`generated_docs`].
const VERSION: u32 = 3;

/// The first reason that applies to the content, except those that `exempt` names.
pub(super) fn skip(bytes: &[u8], exempt: Exempt) -> Option<SkipReason> {
    let rule = RULES.iter().find(|(reason, applies)| !exempt.from(*reason) && applies(bytes));
    rule.map(|(reason, _)| *reason)
}

/// A hash of everything in this module that decides.
pub(super) fn fingerprint() -> &'static str {
    static FINGERPRINT: LazyLock<String> = LazyLock::new(|| {
        let mut hash = blake3::Hasher::new();
        hash.update(&VERSION.to_le_bytes()).update(generated_docs::TABLE.as_bytes());
        hash.finalize().to_hex()[..16].to_owned()
    });
    &FINGERPRINT
}

/// A reason, and the function that returns whether it applies to the bytes of a blob.
type Rule = (SkipReason, fn(&[u8]) -> bool);
const RULES: &[Rule] = &[
    (SkipReason::Empty, |bytes| bytes.trim_ascii().is_empty()),
    (SkipReason::Binary, is_binary),
    (SkipReason::LfsPointer, |bytes| bytes.len() < LFS_MAX_BYTES && bytes.starts_with(LFS_PREFIX)),
    (SkipReason::Secret, is_secret),
    (SkipReason::GeneratedDocs, generated_docs::is_generated),
    (SkipReason::Minified, is_minified),
];

fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

fn is_minified(bytes: &[u8]) -> bool {
    bytes.len() >= MINIFIED_MIN_BYTES
        && bytes.len() / (bytes.find_iter("\n").count() + 1) > MINIFIED_LINE_BYTES
        && !is_mostly_ordinary(bytes)
}

/// Returns whether most lines are ordinary lines of code, besides which a few long ones have most of the
/// bytes.
fn is_mostly_ordinary(bytes: &[u8]) -> bool {
    let (mut n_ordinary, mut n_long) = (0, 0);

    for line in bytes.lines() {
        match line.len() {
            n if n > MINIFIED_LINE_BYTES => n_long += 1,
            n if n <= ORDINARY_LINE_BYTES => n_ordinary += usize::from(is_code(line)),
            _ => {}
        }
    }
    n_ordinary >= MIN_ORDINARY_LINES.max(ORDINARY_PER_LONG * n_long)
}

/// Returns whether a line has a word, and is not a comment in one of the usual forms, as licences are.
fn is_code(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let is_comment = [&b"//"[..], b"/*", b"*", b"#", b"--", b";", b"<!--"];
    line.iter().any(u8::is_ascii_alphanumeric) && !is_comment.iter().any(|mark| line.starts_with(mark))
}

/// Returns whether a file is a credential. Code that contains an example of one is not.
pub(super) fn is_secret(bytes: &[u8]) -> bool {
    bytes.len() <= SECRET_MAX_BYTES
        && (is_private_key(bytes)
            || SECRET_BEGINNINGS.iter().any(|beginning| bytes.trim_ascii_start().starts_with(beginning))
            || SECRET_FIELDS.iter().any(|fields| fields.iter().all(|field| bytes.contains_str(field)))
            || bytes.lines().any(is_secret_line))
}

const SECRET_BEGINNINGS: &[&[u8]] = &[b"PuTTY-User-Key-File-", b"AGE-SECRET-KEY-1", b"$ANSIBLE_VAULT;"];
/// Sets of strings. A file with all strings of one set is a credential.
const SECRET_FIELDS: &[&[&str]] = &[
    &["\"type\": \"service_account\"", "\"private_key\": \"-----BEGIN"],
    &["\"private_key\":\"-----BEGIN", "\"service_account\""],
];

/// Names that identify a credential if they are assigned a literal value.
const SECRET_LINES: &[&[u8]] =
    &[b"aws_secret_access_key", b"_authToken", b"//registry.npmjs.org/:_authToken"];

fn is_secret_line(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let Some((name, value)) = line.split_once_str("=") else { return false };
    let (name, value) = (name.trim_ascii(), value.trim_ascii());

    let named = SECRET_LINES.contains(&name) || name.starts_with(b"//") && name.ends_with(b"/:_authToken");
    // `${TOKEN}` and `<your token>` are placeholders.
    named
        && value.len() >= 16
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.".contains(byte))
}

/// Returns whether a private key in PEM armour begins the file or is at least half of it.
fn is_private_key(bytes: &[u8]) -> bool {
    let (mut in_key, mut key_bytes, mut first) = (false, 0, true);

    for line in bytes.lines().map(<[u8]>::trim_ascii_end) {
        let is_begin = line.starts_with(b"-----BEGIN ") && line.ends_with(b"PRIVATE KEY-----")
            || line == b"-----BEGIN PGP PRIVATE KEY BLOCK-----";
        if is_begin {
            if first {
                return true;
            }
            in_key = true;
        }

        first &= line.is_empty();
        if in_key {
            key_bytes += line.len() + 1;
        }
        in_key &= !line.starts_with(b"-----END ");
    }

    key_bytes * 2 >= bytes.len() && key_bytes > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key in parts, so that this source file is not skipped as a credential.
    fn key(kind: &str) -> String {
        let body = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n".repeat(10);
        format!("-----{} {kind}PRIVATE KEY-----\n{body}-----{} {kind}PRIVATE KEY-----\n", "BEGIN", "END")
    }

    #[test]
    fn blobs_are_skipped_by_their_content() {
        let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        let code = "fn main() { println!(\"hello\") }\n".repeat(1_000);
        let mentions = format!("{code}const HEADER: &str = \"-----{} RSA PRIVATE KEY-----\";\n", "BEGIN");
        let embeds = format!("{code}{}{code}", key("RSA "));
        let blob = "x9Yq".repeat(5_000);
        let go = "func f() int {\n\treturn 1\n}\n".repeat(3);
        let fixture = format!("package a\n\nconst table = `{blob}`\n\n{go}").into();
        let jsx = "export function Logo() {\n  const size = 16\n  const alt = 'logo'\n  return (\n";
        let component = format!("{jsx}    <img src=\"data:image/png;base64,{blob}\" />\n  )\n}}\n").into();
        let lines = format!("var a=1;\n{}\n", "b();".repeat(400)).repeat(40).into();
        let glue = format!("/*!\n * x\n */\n'use strict';\n(function(){{\n{blob}\n}})();\n").into();

        let cases: Vec<(&str, Vec<u8>, Option<SkipReason>)> = vec![
            ("empty", b"".to_vec(), Some(SkipReason::Empty)),
            ("blank", b" \n\n\t".to_vec(), Some(SkipReason::Empty)),
            ("code", code.into(), None),
            ("nul", b"ab\0cd".to_vec(), Some(SkipReason::Binary)),
            ("late nul", format!("{}\0", "x\n".repeat(8_192)).into(), None),
            ("lfs", lfs.into(), Some(SkipReason::LfsPointer)),
            ("key", key("").into(), Some(SkipReason::Secret)),
            ("rsa key after blank", format!("\n\n{}", key("RSA ")).into(), Some(SkipReason::Secret)),
            (
                "certificate then key",
                format!("some certificate\n{}", key("EC ")).into(),
                Some(SkipReason::Secret),
            ),
            ("mentions a key", mentions.into(), None),
            ("embeds a key", embeds.into(), None),
            (
                "npm token",
                b"//npm.example.com/:_authToken=npm_0123456789abcdefghij\n".to_vec(),
                Some(SkipReason::Secret),
            ),
            (
                "npm variable",
                b"//npm.example.com/:_authToken=${NPM_TOKEN}\nregistry=https://x\n".to_vec(),
                None,
            ),
            (
                "aws",
                b"[default]\naws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY\n".to_vec(),
                Some(SkipReason::Secret),
            ),
            ("one long line", "a=1;".repeat(4_000).into(), Some(SkipReason::Minified)),
            (
                "licence, then one long line",
                format!("/*\n * x\n */\n{}", "a=1;".repeat(4_000)).into(),
                Some(SkipReason::Minified),
            ),
            ("short long line", "a=1;".repeat(200).into(), None),
            ("code with a fixture of one line", fixture, None),
            ("component with an image", component, None),
            ("lines as of a compressor", lines, Some(SkipReason::Minified)),
            ("licence and glue", glue, Some(SkipReason::Minified)),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(skip(&bytes, Exempt::default()), expected, "{name}");
        }
    }
}
