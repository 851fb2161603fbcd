//! The search for a name as a word of a text.

/// Returns whether `name` occurs in `text` as a word. Returns true if `text` is not UTF-8.
pub(crate) fn has_word(text: &[u8], name: &str) -> bool {
    std::str::from_utf8(text).map_or(true, |text| occurrences(text, name).next().is_some())
}

/// Offsets at which `name` occurs as a word.
pub(crate) fn occurrences<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let part = |c: char| c.is_alphanumeric() || c == '_';

    text.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}
