//! Absences: what a request names and the view does not have.

use super::no_such_path;
use crate::query::request::{Filters, Mode, Request};
use crate::query::retrieve::paths;
use crate::query::symbol_lookup::nearest;
use crate::query::view::View;
use crate::query::view::scope::{self, AbsentPath, canonical_language};
use codeweaver_chunk::LanguageId;
use codeweaver_text as text;

/// Maximum number of names, of languages and of paths of a query that are looked up.
const MAX_NAMED: usize = 3;
/// Minimum length of the name of a language that the query mentions. Shorter ones are everyday words, except
/// [`SHORT_LANGUAGES`].
const MIN_LANGUAGE_BYTES: usize = 4;
/// Short names of languages that mean nothing else.
const SHORT_LANGUAGES: &[&str] = &["c#", "c++", "f#", "lua", "php"];
/// Words before a directory.
const PLACES: &[&str] = &["under", "below", "inside", "within"];

/// What a request names and the view does not have.
#[derive(Debug, Default)]
pub struct Absences {
    /// Languages of the filters.
    languages: Vec<String>,
    /// Paths of the filters, each in a sentence.
    pub paths: Vec<String>,
    /// Words of the query, as written.
    words: Vec<String>,
    /// Those of `words` that are written like names, with the nearest names that are defined.
    names: Vec<(String, Vec<String>)>,
    /// Languages, files and directories that the query mentions, each in a sentence.
    mentioned: Vec<String>,
}

impl Absences {
    /// `languages` and `paths` are those of the filters, `words` those of the query that the view lacks.
    pub fn of(
        request: &Request,
        view: &View,
        languages: &[String],
        paths: &[AbsentPath],
        words: &[String],
    ) -> Absences {
        let mut absences = Absences {
            languages: languages.to_vec(),
            paths: paths.iter().map(no_such_path).collect(),
            words: words.to_vec(),
            ..Absences::default()
        };
        if request.mode == Mode::Semantic || request.query.contains('\n') {
            return absences;
        }
        let all = everything(request);
        let is_only = request.query.split_whitespace().count() == 1;
        let names = words.iter().filter(|word| is_only || is_name(word)).take(MAX_NAMED);
        absences.names = names.map(|name| (name.clone(), nearest(view, name, &all))).collect();
        absences.mentioned = mentioned(request, view);
        absences
    }

    /// What an answer with results lacks, each in a sentence.
    pub fn notes(&self) -> Vec<String> {
        let name = |(name, near): &(String, Vec<String>)| match near.as_slice() {
            [] => format!("`{name}` is nowhere in what is indexed"),
            near => {
                format!("`{name}` is nowhere in what is indexed; the nearest names are {}", near.join(", "))
            }
        };
        let names = self.names.iter().map(name);
        self.paths.iter().cloned().chain(names).chain(self.mentioned.iter().cloned()).collect()
    }

    /// What an answer without results lacks, to be appended to a sentence.
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
        for sentence in &self.mentioned {
            text.push_str(&format!("; {sentence}"));
        }
        text
    }
}

/// Whether a word is written like a name: with an underscore or a capital inside.
fn is_name(word: &str) -> bool {
    let inner = word.trim_matches('_');
    let has_hump =
        inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    inner.contains('_') || has_hump
}

/// What the query mentions and no indexed file is of: programming languages, files and directories.
fn mentioned(request: &Request, view: &View) -> Vec<String> {
    let mut found = Vec::new();
    let languages = languages(&request.query).into_iter().filter_map(|word| {
        let language = LanguageId::by_name(&word)?;
        (!language.is_prose() && !language.is_data()).then(|| language.name())
    });
    let mut languages: Vec<&str> = languages.collect();
    languages.dedup();
    // Languages are counted in the whole view.
    let is_whole = request.filters.repos.is_none();
    for name in languages.into_iter().take(MAX_NAMED).filter(|_| is_whole) {
        if scope::lacks_language(&view.reader, view.live(), name) {
            found.push(format!("no indexed file is written in {name}"));
        }
    }
    let everything = view.scope(&everything(request));
    let files = text::mentions(&request.query).into_iter().filter(|mention| mention.path.contains('/'));
    for mention in files.take(MAX_NAMED) {
        if paths::by_mentions(view, &everything, std::slice::from_ref(&mention)).is_empty() {
            found.push(format!("no indexed file is at {}", mention.path));
        }
    }
    for directory in directories(&request.query).into_iter().take(MAX_NAMED) {
        let inner = format!("{directory}/");
        let is_in_scope =
            |path: &[u8]| request.filters.repos.as_ref().is_none_or(|repos| repos.contains(path));
        let is_below = |path: &[u8]| memchr::memmem::find(path, inner.as_bytes()).is_some();
        let mut entries = view.reader.live_entries(&view.snapshot.entries);
        if !entries.any(|(_, _, path)| is_below(path) && is_in_scope(path)) {
            found.push(format!("no indexed file is below {inner}"));
        }
    }
    found
}

/// The filters of all that the request may be about: the repositories that it is limited to.
fn everything(request: &Request) -> Filters {
    Filters { include_tests: true, repos: request.filters.repos.clone(), ..Filters::default() }
}

/// Words of `query`, in lower case, that may be names of languages: long ones, [`SHORT_LANGUAGES`], and any
/// after a last `in` (`retry in go`).
fn languages(query: &str) -> Vec<String> {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '+' | '#');
    let words = query.split(|c: char| !is_of_word(c)).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let is_last_in = |at: usize| at + 1 == words.len() && at > 0 && words[at - 1] == "in";
    let is_language = |(at, word): &(usize, &String)| {
        word.len() >= MIN_LANGUAGE_BYTES || SHORT_LANGUAGES.contains(&word.as_str()) || is_last_in(*at)
    };
    words.iter().enumerate().filter(is_language).map(|(_, word)| word.clone()).collect()
}

/// The directories that `query` names.
fn directories(query: &str) -> Vec<&str> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let at = |i: usize| {
        let is_placed = i > 0 && PLACES.contains(&words[i - 1].to_ascii_lowercase().as_str());
        directory(words[i], is_placed)
    };
    (0..words.len()).filter_map(at).collect()
}

/// The directory that `word` names, if it is written like one: with a slash at its end, or with two and no
/// file at its end. `read/write` is no directory, unless `is_placed`: it stands after one of [`PLACES`].
fn directory(word: &str, is_placed: bool) -> Option<&str> {
    let word = word.trim_matches(|c: char| matches!(c, '`' | '"' | '\'' | ',' | ';' | ':' | '(' | ')' | '?'));
    let word = word.strip_prefix("./").unwrap_or(word);
    let path = word.trim_matches('/');
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '@' | '+');
    let last = path.rsplit('/').next().unwrap_or_default();
    let min_slashes = if is_placed { 1 } else { 2 };
    let is_directory =
        word.ends_with('/') || (path.matches('/').count() >= min_slashes && !last.contains('.'));
    (is_directory && !path.is_empty() && !path.contains("//") && path.chars().all(is_plain)).then_some(path)
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
    fn short_names_of_languages_are_told_from_everyday_words() {
        assert_eq!(languages("C# storage or PHP"), ["c#", "storage", "php"]);
        assert_eq!(languages("retry in Go"), ["retry", "go"]);
        assert_eq!(languages("go to a line in r mode"), ["line", "mode"]);
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
