//! Delimiters that most texts share: braces, brackets, blank lines. They serve texts without delimiters of
//! their language.

use codeweaver_config::ChunkerSettings;

use super::families;
use crate::pieces::Piece;

/// Splits `text` at braces and blank lines; otherwise like [`super::chunk_delimited`].
///
/// Returns `None` if there is neither, because the text splitter cuts a single paragraph at better places.
pub(crate) fn chunk_generic(text: &str, base: u32, settings: &ChunkerSettings) -> Option<Vec<Piece>> {
    let has_brackets = text.contains('{') && text.contains('}') || text.contains('[') && text.contains(']');
    if !has_brackets && !has_blank_line(text) {
        return None;
    }
    super::chunk_with_family(text, base, families::by_name("generic_style"), settings)
}

/// Returns true if a blank line separates two lines of text.
fn has_blank_line(text: &str) -> bool {
    text.trim().lines().any(|line| line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_brackets_or_blank_lines() {
        let settings = ChunkerSettings::default();
        assert_eq!(chunk_generic("one\ntwo\n", 0, &settings), None);
        assert_eq!(chunk_generic("", 0, &settings), None);
        assert_eq!(chunk_generic("\n\none\n\n\n", 0, &settings), None);
        assert!(chunk_generic("one\n\ntwo\n", 0, &settings).is_some());
        let pieces = chunk_generic("a {\n b\n}\nc\n", 7, &settings).unwrap();
        assert_eq!(pieces[0].byte_range, 7..17);
        assert_eq!(pieces[0].delimiter.as_ref().map(|found| found.kind), Some("block"));
    }
}
