//! Decodes text in encodings other than UTF-8, recognised by its byte order mark.

use std::borrow::Cow;

/// Returns the UTF-8 form of UTF-16 or UTF-32 with a byte order mark, without the mark, as git stores a file
/// with `working-tree-encoding`. Other bytes, and bytes that are invalid in that encoding, are returned
/// unchanged.
///
/// Line ends are kept, so lines have the same numbers in both forms.
pub fn to_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match decode(bytes) {
        Some(text) => Cow::Owned(text.into_bytes()),
        None => Cow::Borrowed(bytes),
    }
}

/// Does the same as [`to_utf8`] for bytes that are owned.
pub fn into_utf8(bytes: Vec<u8>) -> Vec<u8> {
    match decode(&bytes) {
        Some(text) => text.into_bytes(),
        None => bytes,
    }
}

/// Decodes text with a byte order mark; `None` without a mark or if the text is invalid.
fn decode(bytes: &[u8]) -> Option<String> {
    // The mark of UTF-32 begins with the mark of UTF-16.
    match bytes {
        [0xff, 0xfe, 0, 0, rest @ ..] => utf32(rest, u32::from_le_bytes),
        [0, 0, 0xfe, 0xff, rest @ ..] => utf32(rest, u32::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => None,
    }
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
            // Not without its mark, and not if it is cut.
            assert_eq!(*to_utf8(&form[4..]), form[4..]);
            assert_eq!(*to_utf8(&form[..form.len() - 1]), form[..form.len() - 1]);
        }
    }

    #[test]
    fn other_bytes_are_unchanged() {
        for bytes in [&b""[..], b"plain", b"\xef\xbb\xbfmarked", b"\xff\xfe\x00\xd8", b"\xff", b"\xff\xfea"] {
            assert_eq!(to_utf8(bytes), bytes, "{bytes:?}");
        }
    }
}
