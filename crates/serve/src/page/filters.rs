//! Filters: those of a query line, and those that its results suggest.

use std::collections::BTreeMap;

use maud::{Markup, html};

use codeweaver::query::view::MatchState;

use super::code::safe;
use crate::params::{Params, encoded};
use crate::query_line::QueryLine;
use crate::search::Search;

/// Maximum number of values listed of a filter.
const MAX_VALUES: usize = 8;
/// Parameters of a search that cannot be written as filters in the query line.
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

/// The query line with all filters in its text. The lines of a pasted text have none.
pub fn text(line: &QueryLine) -> String {
    if line.query.contains('\n') {
        return line.query.clone();
    }

    let words = std::iter::once(line.query.clone()).filter(|query| !query.is_empty());
    words.chain(filters(line).into_iter().map(|filter| filter.word())).collect::<Vec<_>>().join(" ")
}

/// The parameters of a search from the box, besides the text in the box.
pub fn kept(params: &Params, line: &QueryLine) -> Vec<(String, String)> {
    let own = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), params.text(name)?.to_owned())));
    let mut kept: Vec<(String, String)> = own.collect();

    if line.query.contains('\n') {
        kept.extend(filters(line).into_iter().filter_map(|filter| filter.parameter()));
    }
    kept
}

/// The URL of a search for `line`, with the other parameters as they are, from the first result on.
pub fn href(params: &Params, line: &QueryLine) -> String {
    href_with(params, line, &[])
}

/// As [`href`], with `changes` of other parameters.
pub fn href_with(params: &Params, line: &QueryLine, changes: &[(&str, Option<&str>)]) -> String {
    let mut pairs = vec![("q".to_owned(), text(line))];
    let kept = kept(params, line).into_iter();
    pairs.extend(kept.filter(|(name, _)| changes.iter().all(|(changed, _)| *changed != name)));
    pairs.extend(changes.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned()))));
    format!("/search?{}", encoded(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
}

/// `line` with another query.
pub fn with_query(line: &QueryLine, query: String) -> QueryLine {
    QueryLine { query, ..line.clone() }
}

/// A filter of a query line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Filter {
    name: &'static str,
    value: String,
}

impl Filter {
    fn new(name: &'static str, value: &str) -> Filter {
        Filter { name, value: value.to_owned() }
    }

    /// As it is typed.
    fn word(&self) -> String {
        let has_blank = self.value.contains(char::is_whitespace);
        let quote = if has_blank { "\"" } else { "" };
        format!("{}:{quote}{}{quote}", self.name, self.value)
    }

    /// The parameter that says the same; `None` if there is none.
    fn parameter(&self) -> Option<(String, String)> {
        let name = match self.name {
            "-path" => "exclude",
            "state" => return None,
            name => name,
        };
        Some((name.to_owned(), self.value.clone()))
    }

    /// `line` with this filter, or without it if it has it.
    fn toggled(&self, line: &QueryLine) -> QueryLine {
        let mut line = line.clone();

        match self.name {
            "repo" => toggle(&mut line.repositories, &self.value),
            "path" => toggle(&mut line.paths, &self.value),
            "-path" => toggle(&mut line.paths, &format!(":!{}", self.value)),
            "lang" => toggle(&mut line.languages, &self.value),
            "kind" => toggle(&mut line.kinds, &self.value),
            "rev" => line.rev = line.rev.is_none().then(|| self.value.clone()),
            _ => {
                let state = line.state.is_none().then(|| state_by_name(&self.value));
                line.state = state.flatten();
            }
        }

        line
    }
}

/// Adds `value`, or removes it if it is there.
fn toggle(values: &mut Vec<String>, value: &str) {
    match values.iter().position(|own| own == value) {
        Some(at) => drop(values.remove(at)),
        None => values.push(value.to_owned()),
    }
}

/// A filter called `name` for each of `values`.
fn named<'a>(name: &'static str, values: &'a [String]) -> impl Iterator<Item = Filter> + 'a {
    values.iter().map(move |value| Filter::new(name, value))
}

/// The filters of a line, in the order in which its text has them.
fn filters(line: &QueryLine) -> Vec<Filter> {
    let paths = line.paths.iter().map(|path| match path.strip_prefix(":!") {
        Some(path) => Filter::new("-path", path),
        None => Filter::new("path", path),
    });

    let mut filters: Vec<Filter> = named("repo", &line.repositories).collect();
    filters.extend(paths);
    filters.extend(named("lang", &line.languages));
    filters.extend(named("kind", &line.kinds));
    filters.extend(line.rev.iter().map(|rev| Filter::new("rev", rev)));
    filters.extend(line.state.map(|state| Filter::new("state", state_name(state))));
    filters
}

/// Filters that narrow the results, with the number of `hits` that each would leave.
pub fn aside<'a>(search: &Search, params: &Params, hits: impl Iterator<Item = Hit<'a>>) -> Markup {
    let hits: Vec<Hit<'a>> = hits.collect();
    let line = &search.line;

    let languages = counts(hits.iter().map(|hit| hit.language.to_owned()));
    let kinds = counts(hits.iter().map(|hit| hit.kind.to_owned()));
    let states = counts(hits.iter().map(|hit| state_name(hit.state).to_owned()));
    // A pasted text of several lines has no place for this filter.
    let has_state = !line.query.contains('\n') && states.len() > 1;
    let repos = counts(hits.iter().map(|hit| hit.repo.to_owned()));
    // The directories of a catalogue are its repositories.
    let directories = if repos.len() > 1 { Vec::new() } else { directories(&hits) };

    let groups = [
        ("Repository", "repo", repos),
        ("Language", "lang", languages),
        ("Directory", "path", counts(directories.into_iter())),
        ("Kind", "kind", kinds),
        ("State", "state", if has_state { states } else { Vec::new() }),
    ];

    let active = filters(line);
    let with_tests = search.filters.include_tests;
    let tests = href_with(params, line, &[("tests", Some(if with_tests { "0" } else { "1" }))]);

    html! {
        aside #filters aria-label="Filters" {
            @if !active.is_empty() {
                h2 { "Active filters" }
                ul.active {
                    @for filter in &active {
                        li {
                            a href=(href(params, &filter.toggled(line))) {
                                span.visually-hidden { "Remove " }
                                code { (safe(&filter.word())) } span aria-hidden="true" { " ×" }
                            }
                        }
                    }
                }
            }

            @for (title, name, values) in &groups {
                (group(title, params, line, values.iter().map(|(value, n)| (Filter::new(name, value), *n))))
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
    line: &QueryLine,
    values: impl Iterator<Item = (Filter, usize)>,
) -> Markup {
    let active = filters(line);
    // Active filters are listed above, to be removed.
    let values: Vec<(Filter, usize)> = values.filter(|(filter, _)| !active.contains(filter)).collect();

    html! {
        @if !values.is_empty() {
            h2 { (title) }
            ul {
                @for (filter, n) in values.iter().take(MAX_VALUES) {
                    li {
                        a href=(href(params, &filter.toggled(line))) { (shown(filter)) }
                        " " span.count { (n) }
                    }
                }
            }
        }
    }
}

/// Kinds are words, other values are names.
fn shown(filter: &Filter) -> String {
    let value = safe(&filter.value);
    if filter.name == "kind" { value.replace('_', " ") } else { value.into_owned() }
}

/// The values that are not empty with their numbers, the most frequent first.
fn counts(values: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in values.filter(|value| !value.is_empty()) {
        *counts.entry(value).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
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

fn state_name(state: MatchState) -> &'static str {
    match state {
        MatchState::Committed | MatchState::Unreadable => "committed",
        MatchState::Staged => "staged",
        MatchState::Dirty => "dirty",
        MatchState::Untracked => "untracked",
    }
}

fn state_by_name(name: &str) -> Option<MatchState> {
    let states = [MatchState::Committed, MatchState::Staged, MatchState::Dirty, MatchState::Untracked];
    states.into_iter().find(|state| state_name(*state) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_as_it_is_read() {
        for written in [
            "retry with backoff path:src/net -path:\"old code\" lang:rust kind:function rev:v1.2 state:dirty",
            "/a b/i repo:a/* lang:go",
            "\"exact text\" path:src",
            "lang:go",
            "trace\nlang:go",
        ] {
            let line = QueryLine::parse(written);
            assert_eq!(text(&line), written);
            assert_eq!(QueryLine::parse(&text(&line)), line);
        }
    }

    #[test]
    fn filters_are_added_and_removed() {
        let line = QueryLine::parse("words lang:go");
        let toggled = |name, value| text(&Filter::new(name, value).toggled(&line));
        assert_eq!(toggled("lang", "go"), "words");
        assert_eq!(toggled("lang", "rust"), "words lang:go lang:rust");
        assert_eq!(toggled("path", "a b"), "words path:\"a b\" lang:go");
        assert_eq!(toggled("state", "dirty"), "words lang:go state:dirty");
    }

    #[test]
    fn filters_of_a_pasted_text_are_parameters() {
        let line = QueryLine { languages: vec!["go".into()], ..QueryLine::parse("a\nb") };
        assert_eq!(href(&Params::default(), &line), "/search?q=a%0Ab&lang=go");
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
