//! Decodes text in encodings other than UTF-8: those with a byte order mark, UTF-16 without one, which its
//! zero bytes show, and legacy ones, which are guessed from the bytes as browsers do.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

/// Version of the decoder. Raised whenever the same bytes would give another text.
pub const VERSION: u32 = 3;

/// Number of bytes in which a NUL makes a file binary, as in git.
const BINARY_PROBE_BYTES: usize = 8_192;

/// Minimum number of pairs of bytes that show UTF-16 without a mark.
const MIN_PAIRS: usize = 4;
/// Minimum number of pairs in which the one byte is zero, for each in which the other byte is, as in a
/// surrogate.
const MIN_RATIO: usize = 8;

/// A text in UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text without a byte order mark, or bytes that no encoding explains.
    pub text: Cow<'a, [u8]>,
    /// The label of the encoding that the bytes had; `None` for UTF-8 and for unexplained bytes.
    pub encoding: Option<&'static str>,
}

/// Decodes the bytes of a file: UTF-16 and UTF-32 with a byte order mark, as git stores a file with
/// `working-tree-encoding`, UTF-16 without one, and text that is not UTF-8 but in a legacy encoding.
///
/// UTF-8, binary files, and bytes that are invalid in the encoding that is most likely are returned
/// unchanged, so is UTF-8 with a few invalid bytes. Line ends are kept, so lines have the same numbers in
/// both forms.
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    match marked(bytes).or_else(|| unmarked(bytes)).or_else(|| legacy(bytes)) {
        Some((text, encoding)) => Decoded { text: Cow::Owned(text.into_bytes()), encoding: Some(encoding) },
        None => Decoded { text: Cow::Borrowed(bytes), encoding: None },
    }
}

/// Does the same as [`decode`] for bytes that are owned.
pub fn decode_owned(bytes: Vec<u8>) -> Decoded<'static> {
    match decode(&bytes) {
        Decoded { text: Cow::Owned(text), encoding } => Decoded { text: Cow::Owned(text), encoding },
        Decoded { text: Cow::Borrowed(_), encoding } => Decoded { text: Cow::Owned(bytes), encoding },
    }
}

/// Returns the text of [`decode`].
pub fn to_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    decode(bytes).text
}

/// Does the same as [`to_utf8`] for bytes that are owned.
pub fn into_utf8(bytes: Vec<u8>) -> Vec<u8> {
    decode_owned(bytes).text.into_owned()
}

/// Decodes text with a byte order mark; `None` without a mark or if the text is invalid.
fn marked(bytes: &[u8]) -> Option<(String, &'static str)> {
    // The mark of UTF-32 begins with the mark of UTF-16.
    let (text, encoding) = match bytes {
        [0xff, 0xfe, 0, 0, rest @ ..] => (utf32(rest, u32::from_le_bytes), "UTF-32LE"),
        [0, 0, 0xfe, 0xff, rest @ ..] => (utf32(rest, u32::from_be_bytes), "UTF-32BE"),
        [0xff, 0xfe, rest @ ..] => (utf16(rest, u16::from_le_bytes), "UTF-16LE"),
        [0xfe, 0xff, rest @ ..] => (utf16(rest, u16::from_be_bytes), "UTF-16BE"),
        _ => return None,
    };
    Some((text?, encoding))
}

/// Decodes UTF-16 without a byte order mark; `None` if the bytes are no such text.
///
/// In most text, at least half of the characters are of Latin script: one byte of their pair is zero, always
/// the same one, and the other byte hardly ever is.
fn unmarked(bytes: &[u8]) -> Option<(String, &'static str)> {
    let (pairs, _) = bytes[..bytes.len().min(BINARY_PROBE_BYTES)].as_chunks::<2>();
    if pairs.len() < MIN_PAIRS || is_damaged_utf16(bytes) {
        return None;
    }
    let n_zero = |at: usize| pairs.iter().filter(|pair| pair[at] == 0).count();

    let (text, encoding) = match (n_zero(0), n_zero(1)) {
        (other, n) if MIN_RATIO * other <= n && 2 * n >= pairs.len() => {
            (utf16(bytes, u16::from_le_bytes), "UTF-16LE")
        }
        (n, other) if MIN_RATIO * other <= n && 2 * n >= pairs.len() => {
            (utf16(bytes, u16::from_be_bytes), "UTF-16BE")
        }
        _ => return None,
    };

    // A table of small numbers has control characters.
    let is_text = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}');
    Some((text.filter(|text| text.chars().all(is_text))?, encoding))
}

/// Decodes text that is not UTF-8 in the legacy encoding that is most likely; `None` if there is no such
/// text.
fn legacy(bytes: &[u8]) -> Option<(String, &'static str)> {
    let is_binary = || bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0);
    if std::str::from_utf8(bytes).is_ok() || is_binary() || is_damaged_utf8(bytes) {
        return None;
    }
    if is_damaged_utf16(bytes) {
        return None;
    }

    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;

    // No text has such characters; a wrong guess does.
    let is_text = !text.chars().any(|c| matches!(c, '\u{80}'..='\u{9f}'));
    is_text.then(|| (text.into_owned(), encoding.name()))
}

/// Returns whether bytes that are no [`marked`] text have the mark of UTF-16: a cut or damaged file.
fn is_damaged_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Returns whether bytes are UTF-8 in which some characters are invalid: most of those beyond ASCII are
/// valid.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut n_valid, mut n_invalid) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        n_valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        n_invalid += usize::from(!chunk.invalid().is_empty());
    }
    n_valid > n_invalid
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks();
    let text = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>();
    text.ok().filter(|_| rest.is_empty())
}

fn utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> Option<String> {
    let (units, rest) = bytes.as_chunks();
    let text = units.iter().map(|bytes| char::from_u32(unit(*bytes))).collect::<Option<_>>();
    text.filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_encodings_are_decoded() {
        let text = "fn ünï() {}\r\n// 漢 \u{1f600}\n";
        let utf16 =
            |to: fn(u16) -> [u8; 2]| ["\u{feff}", text].concat().encode_utf16().flat_map(to).collect();
        let utf32 =
            |to: fn(u32) -> [u8; 4]| ["\u{feff}", text].concat().chars().flat_map(|c| to(c.into())).collect();
        let forms: [Vec<u8>; 4] = [
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            utf32(u32::to_le_bytes),
            utf32(u32::to_be_bytes),
        ];
        for form in forms {
            assert_eq!(to_utf8(&form), text.as_bytes(), "{form:?}");
            // Not if it is cut.
            assert_eq!(*to_utf8(&form[..form.len() - 1]), form[..form.len() - 1]);
        }
    }

    #[test]
    fn utf16_is_known_without_its_mark_and_utf32_is_not() {
        let text = "fn ünï() {}\r\n// 漢 \u{1f600}\n";
        for (encoding, unit) in
            [("UTF-16LE", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("UTF-16BE", u16::to_be_bytes)]
        {
            let form: Vec<u8> = text.encode_utf16().flat_map(unit).collect();
            let decoded = decode(&form);
            assert_eq!((decoded.encoding, &*decoded.text), (Some(encoding), text.as_bytes()));
            assert_eq!(*to_utf8(&form[..form.len() - 1]), form[..form.len() - 1]);
        }

        let utf32: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        let numbers: Vec<u8> = (1..200u16).flat_map(u16::to_le_bytes).collect();
        let greek: Vec<u8> = "αβγδε ζηθ".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for binary in [utf32, numbers, greek, b"a\0b".to_vec(), b"\0\0\0\0".to_vec()] {
            assert_eq!(*to_utf8(&binary), binary);
        }
    }

    #[test]
    fn other_bytes_are_unchanged() {
        for bytes in [&b""[..], b"plain", b"\xef\xbb\xbfmarked", b"\xff\xfe\x00\xd8", b"\xff\xfea"] {
            assert_eq!(to_utf8(bytes), bytes, "{bytes:?}");
        }
    }

    #[test]
    fn legacy_encodings_are_guessed() {
        let texts: [(&encoding_rs::Encoding, &str); 6] = [
            (encoding_rs::WINDOWS_1252, "// Größe prüfen und zurückgeben, für später\nint groesse;\n"),
            (encoding_rs::WINDOWS_1251, "# Вычисляет размер файла и возвращает его\n"),
            (encoding_rs::SHIFT_JIS, "// ファイルの大きさを計算して返します。\n"),
            (encoding_rs::EUC_JP, "/* 設定ファイルを読み込みます。*/\n"),
            (encoding_rs::GBK, "// 计算文件的大小并返回结果，然后写入数据库\n"),
            (encoding_rs::EUC_KR, "// 파일의 크기를 계산하여 반환합니다\n"),
        ];
        for (encoding, text) in texts {
            let (bytes, _, has_errors) = encoding.encode(text);
            assert!(!has_errors);
            let decoded = decode(&bytes);
            assert_eq!((decoded.encoding, &*decoded.text), (Some(encoding.name()), text.as_bytes()));
        }
    }

    #[test]
    fn damaged_utf8_and_binary_files_are_no_legacy_text() {
        for bytes in [&b"\xc3\xa4\xc3\xb6 \xff \xc3\xbc"[..], b"caf\xe9\0", b"plain ascii"] {
            assert_eq!(decode(bytes), Decoded { text: Cow::Borrowed(bytes), encoding: None }, "{bytes:?}");
        }
    }
}
