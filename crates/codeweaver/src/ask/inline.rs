//! Inline markup: the text of a paragraph without roles, links, emphasis and tags.

/// Elements of HTML that documents use between words. Tags of components begin with a capital.
const ELEMENTS: [&str; 26] = [
    "a", "abbr", "b", "br", "code", "dd", "details", "div", "dl", "dt", "em", "h1", "h2", "h3", "i", "img",
    "kbd", "li", "p", "span", "strong", "sub", "summary", "sup", "table", "ul",
];
/// Maximum length of a tag.
const MAX_TAG: usize = 300;
/// Roles of reStructuredText and MyST whose text is prose.
const PROSE_ROLES: [&str; 6] = ["ref", "doc", "term", "abbr", "strong", "emphasis"];

/// Returns the text of a paragraph. Code between backticks stays.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;

    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '`' => code(rest, &mut out),
            ':' | '{' => role(rest, &mut out).or_else(|| anchor(rest)),
            '[' | '!' => link(rest, &mut out),
            '<' => tag(rest, &out).map(|(n_bytes, _)| n_bytes).or_else(|| address(rest, &mut out)),
            '*' if rest.starts_with("**") => Some(2),
            _ => None,
        };

        let n_bytes = taken.unwrap_or_else(|| {
            out.push(first);
            first.len_utf8()
        });
        rest = &rest[n_bytes..];
    }

    out
}

/// Returns whether a line is nothing but tags.
pub fn is_tag(line: &str) -> bool {
    let mut rest = line;
    while !rest.is_empty() {
        let Some((n_bytes, _)) = tag(rest, "") else { return false };
        rest = rest[n_bytes..].trim_start();
    }
    !line.is_empty()
}

/// Reads code, or a link of reStructuredText.
fn code(text: &str, out: &mut String) -> Option<usize> {
    let n_marks = text.len() - text.trim_start_matches('`').len();
    let marks = &text[..n_marks];
    let inner = &text[n_marks..];
    let end = inner.find(marks)?;
    let (inner, after) = (&inner[..end], &inner[end + n_marks..]);
    let n_bytes = 2 * n_marks + end;

    if n_marks == 1 && after.starts_with('_') {
        let title = inner.split_once(" <").map_or(inner, |(title, _)| title);
        out.push_str(title);
        let n_underscores = after.len() - after.trim_start_matches('_').len();
        return Some(n_bytes + n_underscores);
    }

    out.push_str(&format!("`{}`", inner.trim()));
    Some(n_bytes)
}

/// Reads `:role:` or `{role}` with the text in backticks after it.
fn role(text: &str, out: &mut String) -> Option<usize> {
    let (close, inner) = match text.strip_prefix(':') {
        Some(inner) => (":`", inner),
        None => ("}`", &text[1..]),
    };
    let end = inner.find(close)?;
    let name = &inner[..end];
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) {
        return None;
    }

    let after = &inner[end + close.len()..];
    let length = after.find('`')?;
    let target = &after[..length];
    let short = name.rsplit(':').next().unwrap_or(name);

    match target.split_once(" <").or_else(|| target.split_once('<').filter(|_| target.ends_with('>'))) {
        Some((title, _)) => out.push_str(title.trim()),
        None if PROSE_ROLES.contains(&short) => out.push_str(target.trim_start_matches(['~', '!', '/'])),
        None => out.push_str(&format!("`{}`", last_name(target))),
    }
    Some(1 + end + close.len() + length + 1)
}

/// The name that is shown of the target of a role: only the last part after a tilde.
fn last_name(target: &str) -> &str {
    match target.strip_prefix('~') {
        Some(long) => long.rsplit('.').next().unwrap_or(long),
        None => target.trim_start_matches(['!', '.']),
    }
}

/// The length of `{ #anchor }` after a heading.
fn anchor(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    inner[..end].trim_start().starts_with('#').then_some(end + 2)
}

/// Reads `[text](target)`, `[text][target]`, or an image.
fn link(text: &str, out: &mut String) -> Option<usize> {
    let bracket = text.find('[').filter(|&at| at <= 1 && text[..at].chars().all(|c| c == '!'))?;
    let inner = &text[bracket + 1..];
    let end = closing(inner, '[', ']')?;
    let after = &inner[end + 1..];

    let (open, close) = match after.chars().next()? {
        '(' => ('(', ')'),
        '[' => ('[', ']'),
        _ => return None,
    };
    let length = closing(&after[1..], open, close)?;
    out.push_str(&plain(&inner[..end]));
    Some(bracket + 1 + end + 1 + 1 + length + 1)
}

/// The position of the bracket that closes the one before `text`.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            c if c == close && depth == 0 => return Some(at),
            c if c == close => depth -= 1,
            c if c == open => depth += 1,
            _ => {}
        }
    }
    None
}

/// The length of a tag of HTML or JSX, and its name. `before` is the text before it: `Vec<String>` has no
/// tag.
fn tag<'t>(text: &'t str, before: &str) -> Option<(usize, &'t str)> {
    let inner = text.strip_prefix('<')?;
    let end = inner.find('>').filter(|&end| end < MAX_TAG)?;
    let body = inner[..end].trim_start_matches('/');
    let name = &body[..body.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(body.len())];

    let is_component = name.starts_with(|c: char| c.is_ascii_uppercase())
        && (inner.starts_with('/') || !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    (is_component || ELEMENTS.contains(&name)).then_some((end + 2, name))
}

/// Reads `<https://…>`.
fn address(text: &str, out: &mut String) -> Option<usize> {
    let inner = text.strip_prefix('<').filter(|inner| inner.starts_with("http"))?;
    let end = inner.find('>')?;
    out.push_str(&inner[..end]);
    Some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_left_out_and_its_text_stays() {
        for (text, expected) in [
            ("see :func:`~flask.abort` or :meth:`.Flask.run`", "see `abort` or `Flask.run`"),
            (":ref:`the guide <guide>` and :doc:`/deploying/index`", "the guide and deploying/index"),
            ("use ``port=`` here", "use `port=` here"),
            ("the {func}`option` decorator, {py:class}`~a.B`", "the `option` decorator, `B`"),
            ("`Sphinx <https://x>`_ and `name`__", "Sphinx and name"),
            ("[Swagger UI](https://x/(a)) and [x][1]", "Swagger UI and x"),
            ("![logo](a.png)text", "logotext"),
            ("**Headers** stay *here*", "Headers stay *here*"),
            ("Title { #title }", "Title "),
            ("<Tabs>one</Tabs> <br/> two", "one  two"),
            ("a Vec<String> and x < y > z", "a Vec<String> and x < y > z"),
            ("`<Tabs>` and `[a](b)`", "`<Tabs>` and `[a](b)`"),
            ("<https://a.b>", "https://a.b"),
            ("at 12:30 { open } [ch", "at 12:30 { open } [ch"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        /// Any text can be read, and what has no markup stays.
        #[test]
        fn any_text_can_be_read(text in "[a-z:`{}\\[\\]()<>*#!/~ ]{0,60}", words in "[a-z ]{0,40}") {
            plain(&text);
            proptest::prop_assert_eq!(plain(&words), words);
        }
    }
}
