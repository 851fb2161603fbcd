//! A section between markers in a Markdown file that others write, too.

use super::guide;
use crate::clients::text::EditError;

const BEGIN: &str = "<!-- git-codeweaver: begin -->";
const END: &str = "<!-- git-codeweaver: end -->";

/// Returns `text` with the section: in the place of an earlier one, else at the end.
pub(super) fn insert(text: &str) -> Result<String, EditError> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let section = format!("{BEGIN}\n{}{END}", guide::section()).replace('\n', newline);

    if let Some((from, to)) = find(text)? {
        return Ok([&text[..from], &section, &text[to..]].concat());
    }

    let gap = match text {
        "" => String::new(),
        _ if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    Ok([text, &gap, &section, newline].concat())
}

/// Returns `text` without the section and the blank line before it; `None` if it has none.
pub(super) fn remove(text: &str) -> Result<Option<String>, EditError> {
    let Some((from, to)) = find(text)? else { return Ok(None) };

    let before = &text[..from];
    let gap =
        ["\r\n\r\n", "\n\n"].into_iter().find(|gap| before.ends_with(gap)).map_or(0, |gap| gap.len() / 2);
    let after = text[to..].strip_prefix("\r\n").or(text[to..].strip_prefix('\n')).unwrap_or(&text[to..]);
    Ok(Some([&before[..from - gap], after].concat()))
}

/// The bytes of the section, with its markers.
fn find(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    let (begins, ends) = (text.matches(BEGIN).count(), text.matches(END).count());

    match (begins, ends, text.find(BEGIN), text.find(END)) {
        (0, 0, ..) => Ok(None),
        (1, 1, Some(from), Some(to)) if from < to => Ok(Some((from, to + END.len()))),
        _ => Err(EditError(format!("it must have one line {BEGIN} and one line {END} after it"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_added_replaced_and_removed() {
        for text in ["", "# A\n", "# A", "# A\r\n\r\nB\r\n", "\n\n"] {
            let with = insert(text).unwrap();
            assert!(with.starts_with(text) && with.ends_with('\n'), "{text:?}");
            assert_eq!(with.contains("\r\n"), text.contains("\r\n"), "{text:?}");
            assert_eq!(insert(&with).unwrap(), with, "{text:?}");
            assert_eq!(remove(text).unwrap(), None, "{text:?}");
            let without = remove(&with).unwrap().unwrap();
            assert_eq!(
                without.trim_end_matches(['\r', '\n']),
                text.trim_end_matches(['\r', '\n']),
                "{text:?}"
            );
        }
        let old = format!("a\n\n{BEGIN}\nold\n{END}\n\nb\n");
        let new = insert(&old).unwrap();
        assert!(new.starts_with("a\n\n") && new.ends_with("\n\nb\n") && !new.contains("old"), "{new}");
        assert_eq!(remove(&old).unwrap().unwrap(), "a\n\nb\n");
        for damaged in [format!("{BEGIN}\n"), format!("{END}\n{BEGIN}\n"), format!("{old}{old}")] {
            assert!(insert(&damaged).is_err() && remove(&damaged).is_err(), "{damaged}");
        }
    }
}
