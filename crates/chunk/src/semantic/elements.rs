//! Nesting of HTML elements, as the scanner of the grammar counts it.
//!
//! The scanner copies its list of open elements at every token, so its time grows with the product of length
//! and nesting: 0.5 MB of `<div>` took 19 s. The list is followed here in linear time. Where the two differ,
//! more elements are open here than there.

use memchr::memmem;

/// Maximum number of elements that are open at once. Browsers keep 512.
const MAX_OPEN: usize = 256;

/// Elements that have no contents.
const VOID: &str = "area base basefont bgsound br col command embed frame hr image img input isindex keygen link \
    menuitem meta nextid param source track wbr";
/// Elements that end a paragraph.
const AFTER_PARAGRAPH: &str = "address article aside blockquote details div dl fieldset figcaption figure footer \
    form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section";

/// Returns whether more elements are open at some place than a parser is given.
pub(super) fn are_too_deep(bytes: &[u8]) -> bool {
    let mut open: Vec<&[u8]> = Vec::new();
    let mut at = 0;
    // A search for the end of each of many comments without one would be quadratic.
    let last_end_of_comment = memmem::rfind(bytes, b"-->").unwrap_or(0);

    while let Some(start) = memchr::memchr(b'<', &bytes[at..]).map(|n| at + n) {
        let Some(tag) = Tag::at(bytes, start) else {
            at = if start < last_end_of_comment { after_comment(bytes, start) } else { start + 1 };
            continue;
        };
        at = tag.end;

        if tag.is_end {
            if let Some(n) = open.iter().rposition(|name| name.eq_ignore_ascii_case(tag.name)) {
                open.truncate(n);
            }
            continue;
        }

        while open.last().is_some_and(|parent| is_ended_by(parent, tag.name)) {
            open.pop();
        }
        if !is_one_of(tag.name, VOID) && !tag.is_empty {
            open.push(tag.name);
        }
        if open.len() > MAX_OPEN {
            return true;
        }
        at = after_raw_text(bytes, &tag);
    }
    false
}

/// A start tag or an end tag.
struct Tag<'a> {
    name: &'a [u8],
    is_end: bool,
    /// Whether it ends with `/>`.
    is_empty: bool,
    /// Offset after it.
    end: usize,
}

impl<'a> Tag<'a> {
    /// The tag whose `<` is at `start`; `None` if there is none.
    fn at(bytes: &'a [u8], start: usize) -> Option<Tag<'a>> {
        let mut at = start + 1;
        let is_end = bytes.get(at) == Some(&b'/');
        at += usize::from(is_end);
        at += count(&bytes[at..], |byte| byte.is_ascii_whitespace());

        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-:".contains(&byte) || !byte.is_ascii();
        let len = count(&bytes[at..], is_of_name);
        let name = &bytes[at..at + len];
        if name.is_empty() {
            return None;
        }

        let (end, is_empty) = end_of_tag(bytes, at + len);
        Some(Tag { name, is_end, is_empty, end })
    }
}

/// Returns the offset after the tag whose attributes begin at `at`, and whether it ends with `/>`.
fn end_of_tag(bytes: &[u8], mut at: usize) -> (usize, bool) {
    // Whether an attribute has a name and `=`, and its value is at hand.
    let mut in_value = false;

    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => return (at + 1, !in_value && bytes[at - 1] == b'/'),
            // A tag that is not closed.
            b'<' => return (at, false),
            b'"' | b'\'' if in_value && bytes[at - 1] == b'=' => {
                // Without a second quote, the first is a character like any other.
                at += memchr::memchr(byte, &bytes[at + 1..]).map_or(0, |n| n + 1);
                in_value = false;
            }
            b'=' => in_value = true,
            _ if byte.is_ascii_whitespace() => in_value = false,
            _ => {}
        }
        at += 1;
    }
    (at, false)
}

/// Returns the offset after the comment at `start`, or after its first character if it is none.
fn after_comment(bytes: &[u8], start: usize) -> usize {
    let comment = bytes[start..].strip_prefix(b"<!--");
    let end = comment.and_then(|rest| memmem::find(rest, b"-->"));
    end.map_or(start + 1, |n| start + n + "<!---->".len())
}

/// Returns the offset after the contents of a script or a style, which have no tags, and after `tag` if it is
/// another one.
fn after_raw_text(bytes: &[u8], tag: &Tag<'_>) -> usize {
    if tag.is_empty || !is_one_of(tag.name, "script style") {
        return tag.end;
    }

    let is_end = |at: &usize| {
        let rest = &bytes[*at + 2..];
        rest.len() >= tag.name.len() && rest[..tag.name.len()].eq_ignore_ascii_case(tag.name)
    };
    let ends = memmem::find_iter(&bytes[tag.end..], b"</").map(|n| tag.end + n);
    ends.into_iter().find(is_end).unwrap_or(bytes.len())
}

/// Returns whether an element that is open ends before an element called `name`, without an end tag.
fn is_ended_by(open: &[u8], name: &[u8]) -> bool {
    let (is, by) = (|names| is_one_of(open, names), |names| is_one_of(name, names));

    is("li") && by("li")
        || is("dt dd") && by("dt dd")
        || is("p") && by(AFTER_PARAGRAPH)
        || is("colgroup") && !by("col")
        || is("rb rt rp") && by("rb rt rp")
        || is("optgroup") && by("optgroup")
        || is("tr") && by("tr")
        || is("td th") && by("td th tr")
}

/// Returns whether `name` is one of `names`, which are separated by blanks.
fn is_one_of(name: &[u8], names: &str) -> bool {
    names.split(' ').any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

/// The number of bytes at the beginning that are `wanted`.
fn count(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| wanted(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DegradationReason;
    use crate::grammar;
    use crate::lines::TextIndex;
    use crate::semantic::parse;

    #[test]
    fn a_page_of_open_elements_is_not_parsed() {
        let html = grammar::by_language("html").unwrap();
        let page = "<div>\n".repeat(90_000);
        let parsed = parse(&TextIndex::new(page.as_bytes()), html);
        assert_eq!(parsed.err(), Some(DegradationReason::TooDeep));

        let page = "<div>\n<p>a\n".repeat(MAX_OPEN - 1);
        assert!(parse(&TextIndex::new(page.as_bytes()), html).is_ok());
    }

    #[test]
    fn only_elements_that_are_open_count() {
        let n = 4 * MAX_OPEN;
        for shallow in [
            "<div>".repeat(MAX_OPEN),
            "<div></div>".repeat(n),
            "<DIV></div >".repeat(n),
            "<p>a".repeat(n),
            "<ul>".to_owned() + &"<li>a".repeat(n),
            "<table>".to_owned() + &"<tr><td>a<td>b".repeat(n),
            "<dl>".to_owned() + &"<dt>a<dd>b".repeat(n),
            "<br><img src=\"a>b\"><input>".repeat(n),
            "<circle r='1' />".repeat(n),
            "a <!-- <div> --> b".repeat(n),
            "<script>if (a<b) {}</script>".repeat(n),
            "<style>a<b</STYLE>".repeat(n),
            "1 < 2 && a <> b".repeat(4),
            "<div><b><i></div>".repeat(n),
        ] {
            assert!(!are_too_deep(shallow.as_bytes()), "{}", &shallow[..40]);
        }
        for deep in [
            "<div>".repeat(n),
            "<DIV\nclass=a>".repeat(n),
            "< div>".repeat(n),
            "<li><p>".repeat(n),
            "<a b=c/>".repeat(n),
            "<a b=\">".to_owned() + &"<b>".repeat(n),
            "<a '>".to_owned() + &"<b>".repeat(n) + "'",
            "<!--".to_owned() + &"<b>".repeat(n),
            "<é><a-b>".repeat(n),
        ] {
            assert!(are_too_deep(deep.as_bytes()), "{}", deep.chars().take(40).collect::<String>());
        }
    }
}
