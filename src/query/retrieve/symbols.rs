//! Names in a question → chunks that define them.

use crate::chunk::SymbolKind;
use crate::query::request::Mode;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};
use crate::store::postings::{Field, Postings};
use crate::text::{self, stem};
use rustc_hash::FxHashMap;

/// Names that are looked for at most; a pasted text has hundreds of capitalised words.
const MAX_WANTED: usize = 48;
/// Words of a question that are looked at for names.
const MAX_WORDS: usize = 2000;
/// Words of a question that are tried as one name, in symbol mode.
const MAX_WORDS_IN_NAME: usize = 4;
/// Shorter names are not completed or corrected.
const MIN_FUZZY_BYTES: usize = 4;
/// Names of one segment that are looked through for a part of a name.
const MAX_NAMES: usize = 100_000;
/// Names that a beginning may be completed to.
const MAX_COMPLETIONS: usize = 200;

/// A name that is looked for among definitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// As written, with its qualifiers.
    pub name: String,
    /// 0..1: how sure it is that the question means a name at all.
    pub certainty: f32,
}

impl Wanted {
    /// The name without its qualifiers.
    pub fn last(&self) -> &str {
        last_of(&self.name)
    }
}

/// The names that `query` may mean. In symbol mode, every word and every few neighbours are taken for a name.
pub fn wanted(query: &str, identifiers: &[String], mode: Mode) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> =
        identifiers.iter().map(|name| Wanted { name: name.clone(), certainty: 1.0 }).collect();
    let mut add = |name: String, certainty: f32| {
        if wanted.len() < MAX_WANTED && !wanted.iter().any(|known| known.name == name) {
            wanted.push(Wanted { name, certainty });
        }
    };
    let words = query.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(MAX_WORDS).collect();
    let terms = text::query_terms(query);
    let says_something = |word: &str| terms.iter().any(|term| term.term == stem(&word.to_lowercase()));
    for (i, word) in words.iter().enumerate() {
        let is_capitalised =
            word.chars().next().is_some_and(char::is_uppercase) && word.chars().any(char::is_lowercase);
        // A qualifier is no name of its own.
        let is_part = identifiers.iter().any(|name| segments(name).any(|segment| segment == *word));
        if is_capitalised
            && !is_part
            && word.len() > 2
            && (i > 0 || (words.len() <= 3 && says_something(word)))
        {
            add((*word).to_owned(), 0.6);
        }
    }
    if mode == Mode::Symbol {
        for n in 1..=MAX_WORDS_IN_NAME.min(words.len()) {
            for few in words.windows(n) {
                add(few.concat(), n as f32 / words.len() as f32);
            }
        }
    }
    wanted
}

/// Rows that define one of `names`, with how well (0..1): 1 for the name as written, less for other case or a part of a
/// qualified name. A name that nothing bears, if `fuzzy` or if it is all there is to go by, is completed and corrected.
pub fn find(view: &View, scope: &Scope, names: &[Wanted], fuzzy: bool) -> FxHashMap<RowId, f32> {
    let mut found: FxHashMap<RowId, f32> = FxHashMap::default();
    let postings: Vec<_> = view.reader.segments.iter().map(|segment| segment.postings()).collect();
    for wanted in names {
        let Some(name) = Name::of(wanted) else { continue };
        let mut best = 0.0f32;
        for (s, postings) in postings.iter().enumerate() {
            let Some(postings) = postings else { continue };
            best = best.max(add_rows(
                view,
                scope,
                s,
                postings,
                &name,
                std::slice::from_ref(&name.term),
                false,
                &mut found,
            ));
        }
        let alone = names.len() == 1 && wanted.certainty == 1.0;
        if name.joined.len() < MIN_FUZZY_BYTES || !(fuzzy || (alone && best == 0.0)) {
            continue;
        }
        for (s, postings) in postings.iter().enumerate() {
            let Some(postings) = postings else { continue };
            let mut terms = postings.terms_with_prefix(Field::Symbol, &name.joined, MAX_COMPLETIONS);
            terms.extend(
                misspellings(&name.joined)
                    .into_iter()
                    .filter(|term| postings.get(Field::Symbol, term).is_some()),
            );
            if fuzzy {
                let all = postings.terms_with_prefix(Field::Symbol, "", MAX_NAMES);
                terms.extend(all.into_iter().filter(|term| term.contains(&name.joined)));
            }
            terms.sort();
            terms.dedup();
            add_rows(view, scope, s, postings, &name, &terms, true, &mut found);
        }
    }
    found
}

/// A wanted name in the forms it is compared in.
struct Name<'a> {
    segments: Vec<&'a str>,
    last: &'a str,
    /// Letters and digits of `last` in lower case.
    joined: String,
    /// How `last` as a whole stands in the index.
    term: String,
    certainty: f32,
}

impl<'a> Name<'a> {
    fn of(wanted: &'a Wanted) -> Option<Name<'a>> {
        let segments: Vec<&str> = segments(&wanted.name).collect();
        let last = *segments.last()?;
        let joined = joined(last);
        let term = stem(&joined);
        (!joined.is_empty()).then_some(Name { segments, last, joined, term, certainty: wanted.certainty })
    }

    /// How well a definition bears this name, 0..1.
    fn strength(&self, name: &str, qualified: &str, kind: u8, fuzzy: bool) -> f32 {
        let own = last_of(name);
        let fit = if own == self.last {
            self.qualifier_fit(qualified)
        } else {
            let theirs = joined(own);
            match () {
                () if theirs == self.joined => 0.8 * self.qualifier_fit(qualified),
                () if !fuzzy => 0.0,
                () if theirs.starts_with(&self.joined) => {
                    0.4 + 0.3 * self.joined.len() as f32 / theirs.len() as f32
                }
                () if is_one_edit_apart(&theirs, &self.joined) => 0.5,
                () if theirs.contains(&self.joined) => {
                    0.3 + 0.3 * self.joined.len() as f32 / theirs.len() as f32
                }
                () => 0.0,
            }
        };
        fit * kind_share(kind) * self.certainty
    }

    /// `Parser.next` asks for the `next` of Parser: another `next` is only a possibility.
    fn qualifier_fit(&self, qualified: &str) -> f32 {
        if self.segments.len() == 1 {
            return 1.0;
        }
        let wanted = self.segments.iter().rev().skip(1);
        let theirs: Vec<&str> = segments(qualified).collect();
        let theirs = theirs.iter().rev().skip(1);
        let n_fit = wanted.zip(theirs).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        if n_fit > 0 { 1.0 } else { 0.6 }
    }
}

/// Members and keys carry names that others define.
pub fn kind_share(kind: u8) -> f32 {
    use SymbolKind as K;
    match SymbolKind::from_u8(kind) {
        Some(K::Field | K::Property | K::Variable | K::EnumMember | K::Key | K::Heading | K::Selector) => 0.7,
        Some(K::Impl | K::Namespace | K::Other) => 0.5,
        _ => 1.0,
    }
}

#[allow(clippy::too_many_arguments)]
fn add_rows(
    view: &View,
    scope: &Scope,
    s: usize,
    postings: &Postings<'_>,
    name: &Name<'_>,
    terms: &[String],
    fuzzy: bool,
    found: &mut FxHashMap<RowId, f32>,
) -> f32 {
    let segment = &view.reader.segments[s];
    let mut best = 0.0f32;
    for term in terms {
        let Some(list) = postings.get(Field::Symbol, term) else { continue };
        list.for_each(|row, _| {
            if !scope.rows[s].contains(row) {
                return;
            }
            let Some(record) = segment.rows().get(row as usize) else { return };
            let strengths = segment.symbols_of(record).map(|symbol| {
                name.strength(
                    segment.string(symbol.name),
                    segment.string(symbol.qualified_name),
                    symbol.kind,
                    fuzzy,
                )
            });
            let strength = strengths.fold(0.0, f32::max);
            if strength > 0.0 {
                let slot = found.entry(RowId { segment: s as u32, row }).or_default();
                *slot = slot.max(strength);
                best = best.max(strength);
            }
        });
    }
    best
}

fn segments(name: &str) -> impl Iterator<Item = &str> {
    name.split([':', '.', '#', '/', '>', '-']).filter(|segment| !segment.is_empty())
}

/// The last segment of a qualified name.
pub fn last_of(name: &str) -> &str {
    segments(name).last().unwrap_or(name)
}

/// Letters and digits in lower case: how naming styles meet.
pub fn joined(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Index terms of all words one edit away from `word` (one letter left out, doubled, changed, or two swapped), sorted.
fn misspellings(word: &str) -> Vec<String> {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    if !word.is_ascii() || word.len() > text::MAX_TERM_BYTES {
        return Vec::new();
    }
    let bytes = word.as_bytes();
    let mut all: Vec<Vec<u8>> = Vec::with_capacity(bytes.len() * 80);
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        for &letter in LETTERS {
            all.push([head, &[letter], tail].concat());
            if !tail.is_empty() {
                all.push([head, &[letter], &tail[1..]].concat());
            }
        }
        if !tail.is_empty() {
            all.push([head, &tail[1..]].concat());
        }
        if tail.len() > 1 {
            all.push([head, &[tail[1], tail[0]], &tail[2..]].concat());
        }
    }
    let mut terms: Vec<String> =
        all.into_iter().filter_map(|bytes| String::from_utf8(bytes).ok()).map(|word| stem(&word)).collect();
    terms.sort();
    terms.dedup();
    terms
}

/// Whether one letter left out, added or changed, or two swapped, make one word of the other.
fn is_one_edit_apart(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long.iter()).take_while(|(x, y)| x == y).count();
    if same == long.len() {
        return false;
    }
    if short.len() < long.len() {
        return short[same..] == long[same + 1..];
    }
    let swapped = same + 1 < long.len() && short[same] == long[same + 1] && short[same + 1] == long[same];
    short[same + 1..] == long[same + 1..] || (swapped && short[same + 2..] == long[same + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(wanted: &str, name: &str, qualified: &str, fuzzy: bool) -> f32 {
        let wanted = Wanted { name: wanted.to_owned(), certainty: 1.0 };
        Name::of(&wanted).unwrap().strength(name, qualified, SymbolKind::Function as u8, fuzzy)
    }

    #[test]
    fn the_better_a_name_fits_the_stronger() {
        for separator in ["::", ".", "#", "->"] {
            let wanted = format!("Parser{separator}next");
            assert_eq!(strength(&wanted, "next", "Parser::next", false), 1.0, "{separator}");
            assert!(strength(&wanted, "next", "Lexer::next", false) < 1.0);
        }
        let exact = strength("next_token", "next_token", "next_token", false);
        let other_style = strength("next_token", "nextToken", "nextToken", false);
        let longer = strength("next_tok", "nextToken", "nextToken", true);
        let misspelt = strength("next_tokne", "nextToken", "nextToken", true);
        let inner = strength("token", "nextTokenKind", "nextTokenKind", true);
        assert!(
            exact > other_style
                && other_style > longer
                && longer > misspelt
                && misspelt > inner
                && inner > 0.0
        );
        assert_eq!(strength("next_tok", "nextToken", "nextToken", false), 0.0);
        assert_eq!(strength("next", "Parser", "Parser", true), 0.0);
    }

    #[test]
    fn one_edit_is_found_both_by_test_and_by_listing() {
        for (a, b, expected) in [
            ("parser", "parsr", true),
            ("parser", "praser", true),
            ("parser", "parserx", true),
            ("parser", "harser", true),
            ("parser", "parser", false),
            ("parser", "pasrre", false),
            ("parser", "lexer", false),
        ] {
            assert_eq!(is_one_edit_apart(a, b), expected, "{a} {b}");
            if expected {
                assert!(misspellings(b).contains(&stem(a)), "{a} {b}");
            }
        }
    }

    #[test]
    fn capitalised_words_may_be_names() {
        let names = |query: &str, mode| {
            wanted(query, &text::identifiers(query), mode).into_iter().map(|w| w.name).collect::<Vec<_>>()
        };
        assert_eq!(names("how the Parser reads JSON", Mode::Hybrid), ["Parser"]);
        assert_eq!(names("How it reads", Mode::Hybrid), [""; 0]);
        assert_eq!(names("next token", Mode::Symbol), ["next", "token", "nexttoken"]);
    }
}
