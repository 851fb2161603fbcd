//! Absences: names, languages and paths of a request that the view does not have.

use codeweaver_chunk::LanguageId;
use codeweaver_text as text;

use super::no_such_path;
use crate::query::request::{Filters, Mode, Request};
use crate::query::retrieve::paths;
use crate::query::submodules;
use crate::query::symbol_lookup::nearest;
use crate::query::view::View;
use crate::query::view::scope::{self, AbsentPath, canonical_language};

/// Maximum number of names, of languages and of paths of a query that are looked up.
const MAX_NAMED: usize = 3;
/// Names of languages that mean nothing else in a query about code. Most names of languages are everyday
/// words: `basic`, `clean`, `processing`, `self`.
const UNMISTAKABLE: &[&str] = &[
    "c#",
    "c++",
    "clojure",
    "cobol",
    "coffeescript",
    "erlang",
    "f#",
    "fortran",
    "golang",
    "haskell",
    "java",
    "javascript",
    "kotlin",
    "lua",
    "matlab",
    "ocaml",
    "perl",
    "php",
    "powershell",
    "prolog",
    "python",
    "typescript",
    "verilog",
    "vhdl",
];
/// Names of languages that are also words, but not as the last word after `in`: `retry in go`.
const MEANT_AFTER_IN: &[&str] = &[
    "ada", "bash", "c", "dart", "elixir", "go", "groovy", "julia", "nim", "r", "ruby", "rust", "scala",
    "solidity", "swift", "zig",
];
/// Words between which and a language stands `in`: `written in Processing`.
const MADE: &[&str] =
    &["coded", "code", "implemented", "programmed", "reimplemented", "rewritten", "written"];
/// Words that announce a directory.
const PLACES: &[&str] = &["under", "below", "inside", "within"];

/// The names, languages and paths of a request that the view does not have.
#[derive(Debug, Default)]
pub struct Absences {
    /// Languages of the filters.
    languages: Vec<String>,
    /// Paths of the filters, each in a sentence.
    pub paths: Vec<String>,
    /// Words of the query, as written.
    words: Vec<String>,
    /// The names among `words`, with the nearest names that are defined.
    names: Vec<(String, Vec<String>)>,
    /// Languages, files and directories that the query mentions, each in a sentence.
    mentioned: Vec<String>,
    /// Submodules, which may have what is absent, in a sentence.
    submodules: Option<String>,
}

impl Absences {
    /// Collects the absences of `request`. `languages` and `paths` are those of the filters, `words` those of
    /// the query that the view lacks.
    pub fn new(
        request: &Request,
        view: &View,
        languages: &[String],
        paths: &[AbsentPath],
        words: &[String],
    ) -> Absences {
        let mut absences = Absences {
            languages: languages.to_vec(),
            paths: paths.iter().map(|absent| no_such_path(view, absent)).collect(),
            words: words.to_vec(),
            submodules: if words.is_empty() { None } else { submodules::note(view) },
            ..Absences::default()
        };

        // Such queries are descriptions or pasted texts, in which a missing word says nothing.
        if request.mode == Mode::Semantic || request.query.contains('\n') {
            return absences;
        }

        let all = everything(request);
        // A query of one word is meant as a name, however it is written.
        let is_only = request.query.split_whitespace().count() == 1;
        let names = words.iter().filter(|word| is_only || is_name(word)).take(MAX_NAMED);
        absences.names = names.map(|name| (name.clone(), nearest(view, name, &all))).collect();

        absences.mentioned = mentioned(request, view);
        absences
    }

    /// The absences of an answer with results, each in a sentence.
    pub fn notes(&self) -> Vec<String> {
        let names = self.names.iter().map(|(name, near)| absent_name(name, near));
        let submodules = self.submodules.iter().filter(|_| !self.names.is_empty());
        let absent = self.paths.iter().cloned().chain(names).chain(self.mentioned.iter().cloned());
        absent.chain(submodules.cloned()).collect()
    }

    /// The absences of an answer without results, to be appended to a sentence.
    pub fn suffix(&self) -> String {
        let mut text = String::new();

        for name in &self.languages {
            text.push_str(&format!("; there is no {} here", canonical_language(name)));
        }

        if !self.words.is_empty() {
            text.push_str(&format!("; nowhere in it: {}", self.words.join(", ")));
        }

        for (name, near) in self.names.iter().filter(|(_, near)| !near.is_empty()) {
            text.push_str(&format!("; the nearest names to {name} are {}", near.join(", ")));
        }

        for sentence in self.mentioned.iter().chain(&self.submodules) {
            text.push_str(&format!("; {sentence}"));
        }
        text
    }
}

/// The sentence that says that `name` is not indexed, with the names `near` it.
fn absent_name(name: &str, near: &[String]) -> String {
    match near {
        [] => format!("`{name}` is nowhere in what is indexed"),
        near => format!("`{name}` is nowhere in what is indexed; the nearest names are {}", near.join(", ")),
    }
}

/// Returns whether a word is written like a name: with an underscore or a capital inside.
pub fn is_name(word: &str) -> bool {
    let inner = word.trim_matches('_');
    let has_hump =
        inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    inner.contains('_') || has_hump
}

/// Sentences on the programming languages, files and directories that the query mentions and no indexed file
/// belongs to.
fn mentioned(request: &Request, view: &View) -> Vec<String> {
    let mut found = Vec::new();

    // Languages are counted in the whole view, so nothing can be said about some of its repositories.
    if request.filters.repos.is_none() {
        for name in code_languages(&request.query).into_iter().take(MAX_NAMED) {
            if scope::lacks_language(&view.reader, view.live(), name) {
                found.push(format!("no indexed file is written in {name}"));
            }
        }
    }

    let everything = view.scope(&everything(request));
    let files = text::mentions(&request.query).into_iter().filter(|mention| mention.path.contains('/'));
    for mention in files.take(MAX_NAMED) {
        // Only what is no exact path is compared with all of them.
        if paths::has_rows(view, &everything, &mention.path) {
            continue;
        }
        if paths::by_mentions(view, &everything, std::slice::from_ref(&mention)).is_empty() {
            found.push(format!("no indexed file is at {}", mention.path));
        }
    }

    for directory in directories(&request.query).into_iter().take(MAX_NAMED) {
        let inner = format!("{directory}/");
        if !has_file_below(request, view, &inner) {
            found.push(format!("no indexed file is below {inner}"));
        }
    }
    found
}

/// Returns whether an indexed file of the repositories of `request` has `directory`, with its slash, in its
/// path.
fn has_file_below(request: &Request, view: &View, directory: &str) -> bool {
    let repos = request.filters.repos.as_ref();
    view.reader.live_entries(&view.snapshot.entries).any(|(_, _, path)| {
        memchr::memmem::find(path, directory.as_bytes()).is_some()
            && repos.is_none_or(|repos| repos.contains(path))
    })
}

/// Filters that pass everything the request may be about: all files of the repositories that it is limited
/// to.
fn everything(request: &Request) -> Filters {
    Filters { include_tests: true, repos: request.filters.repos.clone(), ..Filters::default() }
}

/// The names, in the language table, of the programming languages that `query` mentions.
fn code_languages(query: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for word in languages(query) {
        let Some(language) = LanguageId::by_name(&word) else { continue };
        if !language.is_prose() && !language.is_data() {
            found.push(language.name());
        }
    }

    found.dedup();
    found
}

/// Words of `query`, in lower case, that stand where only a language can: [`UNMISTAKABLE`] ones, one of
/// [`MEANT_AFTER_IN`] at the end, any after `written in`, and any before `language`.
fn languages(query: &str) -> Vec<String> {
    let words: Vec<String> = query
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '#')))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();

    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let before = |n: usize| i.checked_sub(n).map_or("", |at| words[at].as_str());
        let after = words.get(i + 1).map_or("", String::as_str);
        let is_any_of = |names: &[&str]| names.contains(&word.as_str());

        let is_meant = before(1) == "in" && after.is_empty() && is_any_of(MEANT_AFTER_IN);
        let is_made_in = before(1) == "in" && MADE.contains(&before(2));
        if is_any_of(UNMISTAKABLE) || is_meant || is_made_in || after == "language" {
            found.push(word.clone());
        }
    }
    found
}

/// The directories that `query` names.
fn directories(query: &str) -> Vec<&str> {
    let words: Vec<&str> = query.split_whitespace().collect();

    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let is_placed = i > 0 && PLACES.contains(&words[i - 1].to_ascii_lowercase().as_str());
        found.extend(directory(word, is_placed));
    }
    found
}

/// The directory that `word` names, if it is written like one: with a slash at its end, or with two and no
/// file at its end. `read/write` is no directory, unless `is_placed`: it stands after one of [`PLACES`].
fn directory(word: &str, is_placed: bool) -> Option<&str> {
    let word = word.trim_matches(|c: char| matches!(c, '`' | '"' | '\'' | ',' | ';' | ':' | '(' | ')' | '?'));
    let word = word.strip_prefix("./").unwrap_or(word);
    let path = word.trim_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_plain =
        path.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '@' | '+'));

    let min_slashes = if is_placed { 1 } else { 2 };
    let is_directory =
        word.ends_with('/') || (path.matches('/').count() >= min_slashes && !last.contains('.'));

    (is_directory && !path.is_empty() && !path.contains("//") && is_plain).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_told_from_alternatives_and_files() {
        for (word, path) in [
            ("src/", Some("src")),
            ("`./src/net/`,", Some("src/net")),
            ("src/net/tls", Some("src/net/tls")),
            ("read/write", None),
            ("src/net/tls.c", None),
            ("https://example.org/a/b", None),
            ("/", None),
        ] {
            assert_eq!(directory(word, false), path, "{word}");
        }
        assert_eq!(directories("retry under lib/net, in read/write mode"), ["lib/net"]);
    }

    #[test]
    fn languages_are_told_from_everyday_words() {
        let cases: [(&str, &[&str]); 10] = [
            ("C# storage or PHP", &["c#", "php"]),
            ("retry in Go", &["go"]),
            ("python retry decorator", &["python"]),
            ("sketch written in Processing", &["processing"]),
            ("the Clean language", &["clean"]),
            ("clean form data", &[]),
            ("basic auth of self", &[]),
            ("an error in processing", &[]),
            ("go to a line in r mode", &[]),
            ("rust on a swift crystal", &[]),
        ];

        for (query, named) in cases {
            assert_eq!(languages(query), named, "{query}");
        }
    }

    #[test]
    fn every_name_of_a_language_is_in_the_table() {
        for name in UNMISTAKABLE.iter().chain(MEANT_AFTER_IN) {
            assert!(LanguageId::by_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn names_are_told_from_words() {
        for name in ["render_template", "renderTemplate", "__init_x", "HTTPServerError"] {
            assert!(is_name(name), "{name}");
        }
        for word in ["render", "COBOL", "Parser", "_private", "E2"] {
            assert!(!is_name(word), "{word}");
        }
    }
}
