//! Differences between two copies, as a person reads them.

use std::fmt;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::compare::{Comparison, Side, compare};
use super::tokens::{Kind, Tokens};

/// Maximum number of differences that are shown.
const MAX_SHOWN: usize = 6;
/// Maximum number of characters of one side of a difference.
const MAX_CHARS: usize = 60;

/// A text of the reference, and the text of a copy that stands in its place.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Difference {
    /// `None` if the reference has nothing there.
    pub reference: Option<String>,
    /// `None` if the copy has nothing there.
    pub copy: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reference, &self.copy) {
            (Some(one), Some(two)) => write!(f, "{one} → {two}"),
            (Some(one), None) => write!(f, "without {one}"),
            (None, Some(two)) => write!(f, "with {two}"),
            (None, None) => Ok(()),
        }
    }
}

/// The first differences of a copy, and the number of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    pub shown: Vec<Difference>,
    pub n_all: usize,
}

/// A definition with its text.
#[derive(Debug, Clone, Copy)]
pub struct Read<'t> {
    pub text: &'t str,
    pub tokens: &'t Tokens,
    pub is_callable: bool,
}

impl Read<'_> {
    fn side(&self) -> Side<'_> {
        Side { tokens: &self.tokens.list, is_callable: self.is_callable }
    }

    /// The text of some tokens on one line, cut to [`MAX_CHARS`]; `None` for no tokens.
    fn excerpt(&self, tokens: Range<usize>) -> Option<String> {
        let places = self.tokens.places.get(tokens)?;
        let text = &self.text[places.first()?.start..places.last()?.end];
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");

        Some(match text.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        })
    }
}

/// The differences of `copy` from `reference`: renamed names and other literals once each, and everything
/// that only one of them has, in the order of the text.
pub fn differences(reference: Read<'_>, copy: Read<'_>) -> Differences {
    let Some(Comparison { pairs, .. }) = compare(reference.side(), copy.side(), 0.0) else {
        return Differences::default();
    };

    let mut all: Vec<Difference> = Vec::new();
    let mut seen = FxHashSet::default();
    let (mut from, ends) = ((0, 0), (reference.tokens.list.len() as u32, copy.tokens.list.len() as u32));

    for (a, b) in pairs.into_iter().chain([ends]) {
        if a > from.0 || b > from.1 {
            all.push(Difference {
                reference: reference.excerpt(from.0 as usize..a as usize),
                copy: copy.excerpt(from.1 as usize..b as usize),
            });
        }
        from = (a + 1, b + 1);

        let (Some(one), Some(two)) =
            (reference.tokens.list.get(a as usize), copy.tokens.list.get(b as usize))
        else {
            continue;
        };
        // The own names are shown with the members.
        let is_own = one.kind() == Kind::Own && two.kind() == Kind::Own;
        if one != two && !is_own && seen.insert((one.as_name(), two.as_name())) {
            all.push(Difference {
                reference: reference.excerpt(a as usize..a as usize + 1),
                copy: copy.excerpt(b as usize..b as usize + 1),
            });
        }
    }

    let n_all = all.len();
    all.truncate(MAX_SHOWN);
    Differences { shown: all, n_all }
}

#[cfg(test)]
mod tests {
    use codeweaver_chunk::LanguageId;

    use super::*;

    fn found(one: &str, two: &str) -> Vec<(Option<String>, Option<String>)> {
        let language = LanguageId::by_name("python").unwrap();
        let (a, b) = (Tokens::read(one, language, "f"), Tokens::read(two, language, "g"));
        let read = |text, tokens| Read { text, tokens, is_callable: true };
        let found = differences(read(one, &a), read(two, &b));
        found.shown.into_iter().map(|it| (it.reference, it.copy)).collect()
    }

    #[test]
    fn renamed_names_and_literals_are_shown_once_and_added_code_as_text() {
        let one = "def f(a):\n    total = a + 1\n    save(total, 'x')\n    return total";
        let two =
            "def g(a):\n    result = a + 2\n    save(result, 'x')\n    log(a,\n        a)\n    return result";
        let text = |text: &str| Some(text.to_owned());
        let expected = [(text("total"), text("result")), (text("1"), text("2")), (None, text("log(a, a)"))];
        assert_eq!(found(one, two), expected);
        assert_eq!(found(one, &one.replace("def f", "def g")), []);
    }
}
