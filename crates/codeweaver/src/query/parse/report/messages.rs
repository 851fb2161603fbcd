//! Messages: texts of a report that the code may have verbatim, such as the text of an error.
//!
//! Code has a message with gaps for its values. So the search is for its windows: a few adjacent words
//! without anything that looks like a value.

/// Number of words of a window.
const WINDOW: usize = 3;
/// Minimum length of a window in bytes.
const MIN_BYTES: usize = 9;
/// Maximum number of messages.
const MAX_MESSAGES: usize = 24;
/// Maximum number of windows of a message.
const MAX_WINDOWS: usize = 24;
/// Maximum length of a quoted text.
const MAX_QUOTED_BYTES: usize = 300;

/// A text that the code may have verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// As the report has it.
    pub text: String,
    /// Parts of it without values: adjacent words, or a code such as `E108`.
    pub windows: Vec<String>,
}

/// Returns the texts of `errors`, then quoted texts and codes of the title and the prose, without duplicates.
pub fn collect(title: &str, prose: &str, errors: &[String]) -> Vec<Message> {
    let mut found: Vec<Message> = Vec::new();
    for error in errors {
        add(&mut found, error);
    }

    for text in [title, prose] {
        quoted(text).for_each(|it| add(&mut found, it));
        codes(text).for_each(|it| add(&mut found, it));
    }
    found
}

/// Adds a message that has windows and is not among `found` yet, as long as there is room.
fn add(found: &mut Vec<Message>, text: &str) {
    let message = Message { text: text.to_owned(), windows: windows(text) };
    if found.len() < MAX_MESSAGES && !message.windows.is_empty() && !found.contains(&message) {
        found.push(message);
    }
}

/// Returns texts between quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    const MARKS: [(char, char); 5] = [('"', '"'), ('`', '`'), ('\'', '\''), ('“', '”'), ('‘', '’')];

    let all = MARKS.into_iter().flat_map(move |(open, close)| between(text, open, close));
    all.filter(|it| it.len() <= MAX_QUOTED_BYTES && !it.contains("\n\n"))
}

/// Returns the texts between `open`, which must not follow a letter or digit, and the next `close`.
fn between(text: &str, open: char, close: char) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(open)?;
            let after = &rest[start + open.len_utf8()..];
            // Otherwise it is an apostrophe, or the mark closes another text.
            if rest[..start].ends_with(|c: char| c.is_alphanumeric()) {
                rest = after;
                continue;
            }

            let end = after.find(close)?;
            rest = &after[end + close.len_utf8()..];
            return Some(&after[..end]);
        }
    })
}

/// Returns words in capitals with a digit or `_`: `E108`, `ERR_CLOSED`.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| is_code(word))
}

/// Returns whether `word` is the code of an error.
fn is_code(word: &str) -> bool {
    let has = |test: fn(char) -> bool| word.chars().any(test);

    (4..=40).contains(&word.len())
        && !has(|c| c.is_ascii_lowercase())
        && has(|c| c.is_ascii_uppercase())
        && has(|c| c.is_ascii_digit() || c == '_')
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && !["UTF_", "ISO", "RFC", "CVE", "SHA", "HTTP"].iter().any(|it| word.starts_with(it))
}

/// Returns the windows of `text`; a code is a window by itself.
fn windows(text: &str) -> Vec<String> {
    if is_code(text) {
        return vec![text.to_owned()];
    }

    let mut windows: Vec<String> = Vec::new();
    for fragment in fragments(text) {
        let words: Vec<&str> = fragment.split(' ').filter(|word| !word.is_empty()).collect();
        let size = WINDOW.min(words.len());
        if size < 2 {
            continue;
        }

        for window in words.windows(size).map(|window| window.join(" ")) {
            let window = window.trim_matches(|c: char| {
                matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '"' | '\'' | '`')
            });
            if window.len() >= MIN_BYTES
                && windows.len() < MAX_WINDOWS
                && !windows.iter().any(|it| it == window)
            {
                windows.push(window.to_owned());
            }
        }
    }

    windows
}

/// Splits a message at everything that looks like a value: numbers, quoted texts, paths, names with inner
/// punctuation.
fn fragments(text: &str) -> Vec<String> {
    let mut fragments = vec![String::new()];

    for word in text.split_whitespace() {
        if is_like_value(word) {
            fragments.push(String::new());
            continue;
        }

        let Some(last) = fragments.last_mut() else { break };
        last.push_str(word);
        last.push(' ');

        // The text after a colon is often another message.
        if word.ends_with([':', ';']) {
            fragments.push(String::new());
        }
    }

    fragments
}

/// Returns whether a word of a message looks like a value.
fn is_like_value(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?'));

    inner.is_empty()
        || inner.contains(['/', '\\', '<', '>', '{', '}', '[', ']', '=', '"', '`', '|', '@', '$', '#'])
        || (inner.contains('\'') && !inner.contains("n't") && !inner.ends_with("'s"))
        || inner.contains("::")
        || inner.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(title: &str, prose: &str, errors: &[&str]) -> Vec<String> {
        let errors: Vec<String> = errors.iter().map(|&it| it.to_owned()).collect();
        collect(title, prose, &errors).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn errors_quoted_texts_and_codes_are_messages() {
        assert_eq!(
            texts(
                "E108 is shown",
                "it says \"no free slot left\" but don't panic, it's `x`",
                &["cannot seek backwards"]
            ),
            ["cannot seek backwards", "E108", "no free slot left"]
        );
        assert_eq!(texts("a", "use UTF_8 or `name`", &[]), [""; 0]);
    }

    #[test]
    fn windows_leave_out_values() {
        assert_eq!(windows("expected 3 arguments but got 4"), ["arguments but got"]);
        assert_eq!(windows("unknown key 'abc' in the table"), ["unknown key", "in the table"]);
        assert_eq!(windows("E108"), ["E108"]);
        assert_eq!(
            windows("Could not load: no such module exists"),
            ["Could not load", "no such module", "such module exists"]
        );
        assert_eq!(windows("abc"), [""; 0]);
    }
}
