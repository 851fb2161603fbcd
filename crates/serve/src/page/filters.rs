//! Filters: the conditions of a query, and those that its results suggest.

use std::collections::BTreeMap;

use maud::{Markup, html};

use codeweaver::query::response::MatchState;
use codeweaver::query::{Condition, TypedQuery};

use super::code::safe;
use crate::params::{Params, encoded};
use crate::search::Search;

/// Makes a condition of a value, if the value can be asked for.
type ToCondition = fn(String) -> Option<Condition>;
/// Values with their numbers.
type Counts = Vec<(String, usize)>;

/// Maximum number of values listed of a filter.
const MAX_VALUES: usize = 8;
/// Parameters of a search that cannot be written as conditions in the query.
const KEPT: [&str; 8] = ["mode", "tests", "explain", "committed", "ignore_case", "word", "context", "intent"];

/// The properties of a result that filters select by.
pub struct Hit<'a> {
    /// Name of its repository, in a catalogue; else empty.
    pub repo: &'a str,
    pub path: &'a str,
    pub language: &'a str,
    /// Kind of the definition; may be empty.
    pub kind: &'a str,
    pub state: MatchState,
}

/// The parameters of a search from the box, besides the text in the box.
pub fn kept(params: &Params, query: &TypedQuery) -> Vec<(String, String)> {
    let own = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), params.text(name)?.to_owned())));
    let mut kept: Vec<(String, String)> = own.collect();

    // The box has no room for conditions.
    if query.is_verbatim() {
        kept.extend(query.conditions.iter().filter_map(parameter));
    }
    kept
}

/// The parameter that says the same as a condition; `None` if there is none.
fn parameter(condition: &Condition) -> Option<(String, String)> {
    let name = match condition {
        Condition::ExcludedPath(_) => "exclude",
        Condition::Without(_) => return None,
        other => other.name(),
    };
    Some((name.to_owned(), condition.value().to_owned()))
}

/// The URL of a search for `query`, with the other parameters as they are, from the first result on.
pub fn href(params: &Params, query: &TypedQuery) -> String {
    href_with(params, query, &[])
}

/// As [`href`], with `changes` of other parameters.
pub fn href_with(params: &Params, query: &TypedQuery, changes: &[(&str, Option<&str>)]) -> String {
    let mut pairs = vec![("q".to_owned(), query.to_string())];
    let kept = kept(params, query).into_iter();
    pairs.extend(kept.filter(|(name, _)| changes.iter().all(|(changed, _)| *changed != name)));
    pairs.extend(changes.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned()))));
    format!("/search?{}", encoded(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
}

/// `query` with another text.
pub fn with_text(query: &TypedQuery, text: String) -> TypedQuery {
    let mut query = query.clone();
    query.text = text;
    query
}

/// Filters that narrow the results, with the number of `hits` that each would leave.
pub fn aside<'a>(search: &Search, params: &Params, hits: impl Iterator<Item = Hit<'a>>) -> Markup {
    let hits: Vec<Hit<'a>> = hits.collect();
    let query = &search.query;

    let languages = counts(hits.iter().map(|hit| hit.language.to_owned()));
    let kinds = counts(hits.iter().map(|hit| hit.kind.to_owned()));
    let states = counts(hits.iter().map(|hit| wanted_state(hit.state).name().to_owned()));
    let repos = counts(hits.iter().map(|hit| hit.repo.to_owned()));
    // The directories of a catalogue are its repositories.
    let directories = if repos.len() > 1 { Vec::new() } else { directories(&hits) };

    let groups: [(&str, ToCondition, Counts); 5] = [
        ("Repository", |name| Some(Condition::Repo(name)), repos),
        ("Language", |name| Some(Condition::Language(name)), languages),
        ("Directory", |path| Some(Condition::Path(path)), counts(directories.into_iter())),
        ("Kind", |name| Some(Condition::Kind(name)), kinds),
        (
            "State",
            |name| MatchState::by_name(&name).map(Condition::State),
            if states.len() > 1 { states } else { Vec::new() },
        ),
    ];

    let with_tests = search.filters.include_tests;
    let tests = href_with(params, query, &[("tests", Some(if with_tests { "0" } else { "1" }))]);

    html! {
        aside #filters aria-label="Filters" {
            @if !query.conditions.is_empty() {
                h2 { "Active filters" }
                ul.active {
                    @for condition in &query.conditions {
                        li {
                            a href=(href(params, &query.toggled(condition))) {
                                span.visually-hidden { "Remove " }
                                code { (safe(&condition.to_string())) } span aria-hidden="true" { " ×" }
                            }
                        }
                    }
                }
            }

            @for (title, condition, values) in groups {
                @let values = values.into_iter().filter_map(|(value, n)| Some((condition(value)?, n)));
                (group(title, params, query, values))
            }

            h2 { "Tests" }
            ul { li { a href=(tests) { @if with_tests { "Leave tests out" } @else { "Include tests" } } } }
            @if hits.len() > 1 { p.note { "Counts are of the best " (hits.len()) " results." } }
        }
    }
}

fn group(
    title: &str,
    params: &Params,
    query: &TypedQuery,
    values: impl Iterator<Item = (Condition, usize)>,
) -> Markup {
    // Active conditions are listed above, to be removed.
    let values: Vec<(Condition, usize)> =
        values.filter(|(condition, _)| !query.conditions.contains(condition)).collect();

    html! {
        @if !values.is_empty() {
            h2 { (title) }
            ul {
                @for (condition, n) in values.iter().take(MAX_VALUES) {
                    li {
                        a href=(href(params, &query.toggled(condition))) { (shown(condition)) }
                        " " span.count { (n) }
                    }
                }
            }
        }
    }
}

/// Kinds are words, other values are names.
fn shown(condition: &Condition) -> String {
    let value = safe(condition.value());
    if matches!(condition, Condition::Kind(_)) { value.replace('_', " ") } else { value.into_owned() }
}

/// The state that a query asks for to find a file in `state`.
fn wanted_state(state: MatchState) -> MatchState {
    if state == MatchState::Unreadable { MatchState::Committed } else { state }
}

/// The values that are not empty with their numbers, the most frequent first.
fn counts(values: impl Iterator<Item = String>) -> Counts {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in values.filter(|value| !value.is_empty()) {
        *counts.entry(value).or_default() += 1;
    }
    let mut counts: Counts = counts.into_iter().collect();
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    counts
}

/// The directory of each hit directly below the one that all hits share; empty if there is none.
fn directories(hits: &[Hit<'_>]) -> Vec<String> {
    let parent = |path: &str| path.rfind('/').map_or(0, |at| at + 1);
    let Some(first) = hits.first() else { return Vec::new() };
    let mut shared = &first.path[..parent(first.path)];

    for hit in hits {
        while !hit.path.starts_with(shared) {
            shared = &shared[..parent(&shared[..shared.len() - 1])];
        }
    }

    let below = hits.iter().map(|hit| {
        let end = hit.path[shared.len()..].find('/').map(|at| shared.len() + at);
        end.map_or_else(String::new, |end| hit.path[..end].to_owned())
    });
    below.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_a_pasted_text_are_parameters() {
        let query = TypedQuery::parse("a\nb").toggled(&Condition::Language("go".into()));
        assert_eq!(href(&Params::default(), &query), "/search?q=a%0Ab&lang=go");
    }

    #[test]
    fn directories_are_those_below_the_shared_one() {
        let of = |paths: &[&'static str]| {
            let hits: Vec<Hit<'_>> = paths
                .iter()
                .map(|path| Hit { repo: "", path, language: "", kind: "", state: MatchState::Committed })
                .collect();
            directories(&hits)
        };
        assert_eq!(of(&["src/a/x", "src/b/y", "src/z"]), ["src/a", "src/b", ""]);
        assert_eq!(of(&["a/x", "b", "ab/y"]), ["a", "", "ab"]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
