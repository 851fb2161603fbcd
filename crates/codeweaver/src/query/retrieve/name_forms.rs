//! Forms of a name in a query, and how definitions fit it.

use codeweaver_chunk::SymbolKind;
use codeweaver_text::{self as text, TermKind, is_one_edit_apart, stem};

use crate::query::parse::names::{QueryName, last_segment, normalised, segments};

/// A name in the forms in which it is compared.
pub struct NameForms<'a> {
    segments: Vec<&'a str>,
    last: &'a str,
    /// `last`, [`normalised`].
    pub normalised: String,
    /// The index term of `last` as a whole.
    pub term: String,
    certainty: f32,
}

impl NameForms<'_> {
    /// Returns whether the name is a single letter, without regard to qualifiers.
    pub fn is_letter(&self) -> bool {
        self.normalised.chars().count() == 1
    }

    /// Returns whether a definition is called `name` as the query writes it, without regard to qualifiers.
    pub fn is_name(&self, name: &str) -> bool {
        last_segment(name) == self.last
    }

    /// Returns whether the nearest qualifier agrees with that in `qualified`, or the name has none.
    pub fn has_qualifier(&self, qualified: &str) -> bool {
        self.qualifier_fit(qualified) == 1.0
    }

    /// Returns whether a folder or the file of `path` is called as the nearest qualifier, for a definition
    /// whose name `qualified` has none of its own.
    pub fn has_place(&self, qualified: &str, path: &[u8]) -> bool {
        let [.., qualifier, _] = self.segments.as_slice() else { return false };
        if segments(qualified).nth(1).is_some() {
            return false;
        }

        let components = path.split(|&byte| byte == b'/');
        components
            .map(|part| part.split(|&byte| byte == b'.').next().unwrap_or(part))
            .any(|part| part.eq_ignore_ascii_case(qualifier.as_bytes()))
    }

    /// Returns the fit as [`Self::fit`] does, of a definition whose qualifier agrees.
    pub fn fit_without_qualifier(&self, name: &str, kind: u8) -> f32 {
        let fit = if self.is_name(name) { 1.0 } else { 0.0 };
        fit * kind_factor(kind) * self.certainty
    }

    /// Returns the longest of several parts of the name, as a term.
    pub fn longest_part(&self) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        text::visit_terms(self.last, |term, kind| {
            if kind == TermKind::Part {
                parts.push(term.to_owned());
            }
        });
        parts.into_iter().max_by_key(|part| part.len())
    }
}

impl<'a> NameForms<'a> {
    /// `None` if the name has no letters and digits.
    pub fn new(wanted: &'a QueryName) -> Option<NameForms<'a>> {
        let segments: Vec<&str> = segments(&wanted.name).collect();
        let last = *segments.last()?;

        let normalised = normalised(last);
        let term = stem(&normalised);

        (!normalised.is_empty()).then_some(NameForms {
            segments,
            last,
            normalised,
            term,
            certainty: wanted.certainty,
        })
    }

    /// Returns the fit of a definition called `name`, 0–1. If `fuzzy`, a part of the name and one edit fit as
    /// well.
    pub fn fit(&self, name: &str, qualified: &str, kind: u8, fuzzy: bool) -> f32 {
        let last = last_segment(name);
        let fit = if last == self.last {
            self.qualifier_fit(qualified)
        } else {
            let other = normalised(last);
            match () {
                () if other == self.normalised => 0.8 * self.qualifier_fit(qualified),
                () if !fuzzy => 0.0,
                () if other.starts_with(&self.normalised) => {
                    0.4 + 0.3 * self.normalised.len() as f32 / other.len() as f32
                }
                () if is_one_edit_apart(&other, &self.normalised) => 0.5,
                () if other.contains(&self.normalised) => {
                    0.3 + 0.3 * self.normalised.len() as f32 / other.len() as f32
                }
                () => 0.0,
            }
        };

        fit * kind_factor(kind) * self.certainty
    }

    /// Returns 1 if the qualifiers agree (`Parser.next` and `Parser::next`) or the name has none, else 0.6.
    fn qualifier_fit(&self, qualified: &str) -> f32 {
        if self.segments.len() == 1 {
            return 1.0;
        }

        let wanted = self.segments.iter().rev().skip(1);
        let theirs: Vec<&str> = segments(qualified).collect();
        let theirs = theirs.iter().rev().skip(1);
        let n_equal = wanted.zip(theirs).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();

        if n_equal > 0 { 1.0 } else { 0.6 }
    }
}

/// Returns the factor for the kind of a symbol. Members, keys and `impl` blocks often have a name that is
/// defined elsewhere.
fn kind_factor(kind: u8) -> f32 {
    use SymbolKind as K;
    match SymbolKind::from_u8(kind) {
        Some(K::Field | K::Property | K::Variable | K::EnumMember | K::Key | K::Heading | K::Selector) => 0.7,
        Some(K::Impl | K::Namespace | K::Other) => 0.5,
        _ => 1.0,
    }
}

/// Returns whether a symbol of this kind declares its name: others repeat a name that is declared elsewhere.
pub fn is_declaration(kind: u8, nesting: u8) -> bool {
    use SymbolKind as K;
    match SymbolKind::from_u8(kind) {
        Some(K::Variable) => nesting == 0,
        Some(kind) => kind_factor(kind as u8) == 1.0,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(wanted: &str, name: &str, qualified: &str, fuzzy: bool) -> f32 {
        let wanted = QueryName { name: wanted.to_owned(), certainty: 1.0 };
        NameForms::new(&wanted).unwrap().fit(name, qualified, SymbolKind::Function as u8, fuzzy)
    }

    #[test]
    fn exact_names_fit_better_than_similar_ones() {
        for separator in ["::", ".", "#", "->"] {
            let wanted = format!("Parser{separator}next");
            assert_eq!(fit(&wanted, "next", "Parser::next", false), 1.0, "{separator}");
            assert!(fit(&wanted, "next", "Lexer::next", false) < 1.0);
        }
        let exact = fit("next_token", "next_token", "next_token", false);
        let other_style = fit("next_token", "nextToken", "nextToken", false);
        let longer = fit("next_tok", "nextToken", "nextToken", true);
        let misspelt = fit("next_tokne", "nextToken", "nextToken", true);
        let inner = fit("token", "nextTokenKind", "nextTokenKind", true);
        assert!(
            exact > other_style
                && other_style > longer
                && longer > misspelt
                && misspelt > inner
                && inner > 0.0
        );
        assert_eq!(fit("next_tok", "nextToken", "nextToken", false), 0.0);
        assert_eq!(fit("next", "Parser", "Parser", true), 0.0);
    }

    #[test]
    fn a_qualifier_may_be_a_folder_or_the_file() {
        let wanted = QueryName { name: "mpsc::Sender".to_owned(), certainty: 1.0 };
        let name = NameForms::new(&wanted).unwrap();
        assert!(name.has_place("Sender", b"src/sync/mpsc/bounded.rs"));
        assert!(name.has_place("Sender", b"src/Mpsc.rs"));
        assert!(!name.has_place("Other::Sender", b"src/Mpsc.rs"), "it has another qualifier");
        assert!(!name.has_place("Sender", b"src/sync/oneshot.rs") && !name.has_qualifier("Sender"));
        assert!(name.is_name("Sender") && !name.is_name("sender"), "the case counts");
        assert_eq!(name.longest_part(), None);
        let wanted = QueryName { name: "yamlFile".to_owned(), certainty: 1.0 };
        let name = NameForms::new(&wanted).unwrap();
        assert!(!name.has_place("yamlFile", b"yamlFile/a.rs"), "it has no qualifier");
        assert_eq!(name.longest_part().as_deref(), Some("file"));
    }
}
