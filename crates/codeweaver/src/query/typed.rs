//! Typed query: a text with conditions, such as `lang:go path:src -mock retry with backoff`, in the one
//! language of queries that all front-ends read.

use std::fmt;

use super::grep::pattern::Pattern;
use super::response::MatchState;

/// A query as it is typed. `Display` writes it so that [`TypedQuery::parse`] reads the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedQuery {
    /// The text that is searched for, without the conditions.
    pub text: String,
    /// In the order in which they were typed. Of several revisions or states the last one counts.
    pub conditions: Vec<Condition>,
    /// Words that look like conditions and cannot be used, such as `state:lost`.
    pub unknown: Vec<String>,
    /// Whether `text` has no room for conditions, because everything in it is searched for.
    is_verbatim: bool,
}

/// A condition of a query. `Display` writes it as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `lang:`, the name of a language.
    Language(String),
    /// `path:`, a pathspec.
    Path(String),
    /// `-path:`, a pathspec of files that are left out.
    ExcludedPath(String),
    /// `kind:`, a kind of symbol or a semantic class.
    Kind(String),
    /// `repo:`, a glob for names of repositories of a catalogue.
    Repo(String),
    /// `rev:`, a revision instead of HEAD and the working tree.
    Rev(String),
    /// `state:`, the state of files in the working tree.
    State(MatchState),
    /// `-word` or `-"some words"`, a text that results must not have.
    Without(String),
}

impl TypedQuery {
    /// Splits `typed` into text and conditions.
    ///
    /// Conditions are words of the form `name:value` or `name:"va lue"` outside of quoted text and of regular
    /// expressions, and words that begin with a single hyphen and a letter (`-word`). Other words with a
    /// colon or hyphens, such as `std::vector`, `--option` and `-v`, belong to the text, and so does a text
    /// of several lines as a whole, since it was pasted.
    pub fn parse(typed: &str) -> TypedQuery {
        if typed.trim().contains('\n') {
            return TypedQuery::verbatim(typed);
        }

        let mut query = TypedQuery::default();
        let mut words: Vec<&str> = Vec::new();
        let mut rest = typed.trim();

        while !rest.is_empty() {
            let (word, after) = rest.split_at(end_of_word(rest, words.is_empty()));
            if !query.take(word) {
                words.push(word);
            }
            rest = after.trim_start();
        }

        query.text = words.join(" ");
        if query.conditions.is_empty() && query.unknown.is_empty() {
            typed.clone_into(&mut query.text);
        }
        query.with_something_to_find()
    }

    /// The query in the arguments of a command. A shell has removed the quotes of `path:"old code"`, so that
    /// a condition that is one argument keeps its blanks.
    pub fn from_arguments(arguments: &[String]) -> TypedQuery {
        let mut words = Vec::new();
        for argument in arguments {
            let condition = argument.split_once(':').map(|(name, value)| Condition::named(name, value));
            words.push(match condition {
                Some(Ok(Some(condition))) if arguments.len() > 1 => condition.to_string(),
                _ => argument.clone(),
            });
        }
        TypedQuery::parse(&words.join(" "))
    }

    /// The whole of `typed` as the text: a pattern, or a pasted text.
    pub fn verbatim(typed: &str) -> TypedQuery {
        TypedQuery { text: typed.to_owned(), is_verbatim: true, ..TypedQuery::default() }
    }

    /// A query without text.
    pub fn from_conditions(conditions: Vec<Condition>) -> TypedQuery {
        TypedQuery { conditions, ..TypedQuery::default() }
    }

    /// Returns whether the text has no room for conditions.
    pub fn is_verbatim(&self) -> bool {
        self.is_verbatim
    }

    /// The revision that is searched; `None` for HEAD and the working tree.
    pub fn rev(&self) -> Option<&str> {
        self.conditions.iter().rev().find_map(|condition| match condition {
            Condition::Rev(rev) => Some(rev.as_str()),
            _ => None,
        })
    }

    /// The state of the files that are searched; `None` for all.
    pub fn state(&self) -> Option<MatchState> {
        self.conditions.iter().rev().find_map(|condition| match condition {
            Condition::State(state) => Some(*state),
            _ => None,
        })
    }

    /// The pattern of the lines that the query asks for; `None` if it asks for code. With a kind, it asks for
    /// the code that has such a line, since lines have no kind.
    pub fn pattern(&self) -> Option<Pattern> {
        let has_kind = self.conditions.iter().any(|condition| matches!(condition, Condition::Kind(_)));

        if has_kind {
            return None;
        }

        match QueryText::parse(&self.text) {
            QueryText::Exact(text) => Some(Pattern::exact(text)),
            QueryText::Regex { expression, ignore_case } => {
                Some(Pattern { ignore_case, ..Pattern::regex(expression) })
            }
            _ => None,
        }
    }

    /// This query with `condition`, or without it if it has it. It replaces another revision or state.
    pub fn toggled(&self, condition: &Condition) -> TypedQuery {
        let mut query = self.clone();
        let is_single = matches!(condition, Condition::Rev(_) | Condition::State(_));

        query.conditions.retain(|own| {
            let is_replaced = is_single && std::mem::discriminant(own) == std::mem::discriminant(condition);
            own != condition && !is_replaced
        });
        if !self.conditions.contains(condition) {
            query.conditions.push(condition.clone());
        }

        query
    }

    /// Adds `word` to the conditions if it is one; returns whether it is.
    fn take(&mut self, word: &str) -> bool {
        if let Some(excluded) = excluded_text(word) {
            self.conditions.push(Condition::Without(excluded.to_owned()));
            return true;
        }
        let Some((name, value)) = word.split_once(':') else { return false };
        let value = value.replace('"', "");
        let value = value.as_str();

        // `std::vector` and `https://…` are no conditions.
        let is_about_paths = matches!(name, "path" | "-path");
        if value.is_empty() || value.starts_with([':', '/']) && !is_about_paths {
            return false;
        }

        match Condition::named(name, value) {
            Ok(Some(condition)) => self.conditions.push(condition),
            Ok(None) => return false,
            Err(CannotBeUsed) => self.unknown.push(word.to_owned()),
        }
        true
    }

    /// A query of nothing but excluded words searches for them as they are typed.
    fn with_something_to_find(mut self) -> TypedQuery {
        let is_excluded = |condition: &Condition| matches!(condition, Condition::Without(_));
        if self.text.is_empty() {
            let (excluded, others): (Vec<_>, Vec<_>) = self.conditions.into_iter().partition(is_excluded);
            let words: Vec<String> = excluded.iter().map(Condition::to_string).collect();
            (self.text, self.conditions) = (words.join(" "), others);
        }
        self
    }
}

impl fmt::Display for TypedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.is_verbatim {
            return Ok(());
        }

        for (at, condition) in self.conditions.iter().enumerate() {
            let space = if at == 0 && self.text.is_empty() { "" } else { " " };
            write!(f, "{space}{condition}")?;
        }
        Ok(())
    }
}

impl Condition {
    /// The condition called `name`; `None` if no condition has this name.
    ///
    /// # Errors
    /// The condition cannot be negated, or the state is unknown.
    fn named(name: &str, value: &str) -> Result<Option<Condition>, CannotBeUsed> {
        let value = value.to_owned();

        Ok(Some(match name {
            "lang" => Condition::Language(value),
            "path" => Condition::Path(value),
            "-path" => Condition::ExcludedPath(value),
            "kind" => Condition::Kind(value),
            "repo" => Condition::Repo(value),
            "rev" => Condition::Rev(value),
            "state" => Condition::State(MatchState::by_name(&value).ok_or(CannotBeUsed)?),
            "-lang" | "-kind" | "-repo" | "-rev" | "-state" => return Err(CannotBeUsed),
            _ => return Ok(None),
        }))
    }

    /// The name as it is typed.
    pub fn name(&self) -> &'static str {
        match self {
            Condition::Language(_) => "lang",
            Condition::Path(_) => "path",
            Condition::ExcludedPath(_) => "-path",
            Condition::Kind(_) => "kind",
            Condition::Repo(_) => "repo",
            Condition::Rev(_) => "rev",
            Condition::State(_) => "state",
            Condition::Without(_) => "-",
        }
    }

    /// The value, without quotes.
    pub fn value(&self) -> &str {
        match self {
            Condition::Language(value)
            | Condition::Path(value)
            | Condition::ExcludedPath(value)
            | Condition::Kind(value)
            | Condition::Repo(value)
            | Condition::Rev(value)
            | Condition::Without(value) => value,
            Condition::State(state) => state.name(),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = (self.name(), self.value());
        let is_excluded = matches!(self, Condition::Without(_));
        let colon = if is_excluded { "" } else { ":" };

        let is_plain = match is_excluded {
            true => excluded_text(&format!("-{value}")) == Some(value),
            false => !value.contains(char::is_whitespace),
        };
        let quote = if is_plain { "" } else { "\"" };
        write!(f, "{name}{colon}{quote}{value}{quote}")
    }
}

/// A word looks like a condition and cannot be used as one.
struct CannotBeUsed;

/// The kind of answer that the text of a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryText<'q> {
    /// All lines with a text.
    Exact(&'q str),
    /// All lines that match an expression; in any case after `/i`.
    Regex {
        /// Without its slashes.
        expression: &'q str,
        /// Whether upper and lower case are the same.
        ignore_case: bool,
    },
    /// Code with a text, ordered by its fit to the rest.
    Mixed {
        /// Without its quotes.
        exact: &'q str,
        /// Description of the code.
        rest: &'q str,
    },
    /// Code by meaning, name or words.
    Meaning,
}

impl<'q> QueryText<'q> {
    /// Recognises the form of `text`. Quotes mean nothing in a text of several lines, since it was pasted.
    pub fn parse(text: &'q str) -> QueryText<'q> {
        let text = text.trim();
        if text.contains('\n') {
            return QueryText::Meaning;
        }

        let (body, ignore_case) = match text.strip_suffix("/i") {
            Some(body) => (Some(body), true),
            None => (text.strip_suffix('/'), false),
        };
        if let Some(expression) = body.and_then(|body| body.strip_prefix('/')).filter(|it| !it.is_empty()) {
            return QueryText::Regex { expression, ignore_case };
        }

        match text.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((exact, rest)) if !exact.trim().is_empty() => match rest.trim() {
                "" => QueryText::Exact(exact),
                rest => QueryText::Mixed { exact, rest },
            },
            _ => QueryText::Meaning,
        }
    }
}

/// The text that `word` excludes; `None` if it excludes none. An option of a program, such as `-v` or
/// `--all`, does not.
fn excluded_text(word: &str) -> Option<&str> {
    let rest = word.strip_prefix('-')?;
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.strip_suffix('"').filter(|text| !text.trim().is_empty());
    }

    let mut chars = rest.chars();
    let starts_a_word = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    let is_word = starts_a_word && chars.all(|c| c.is_alphanumeric() || c == '_');
    (is_word && rest.chars().nth(1).is_some()).then_some(rest)
}

/// Length of the first word of `text` in bytes: up to the first blank outside of quotes, or a whole regular
/// expression between slashes if `may_be_regex`.
fn end_of_word(text: &str, may_be_regex: bool) -> usize {
    if may_be_regex && text.starts_with('/') {
        let ends = text.match_indices('/').skip(1).filter_map(|(at, _)| {
            let after = text[at + 1..].strip_prefix('i').unwrap_or(&text[at + 1..]);
            (after.is_empty() || after.starts_with(char::is_whitespace)).then(|| text.len() - after.len())
        });
        // Slashes in conditions after an expression do not belong to it, and slashes in it do not end it.
        let ends: Vec<usize> = ends.collect();
        let before_conditions = ends.iter().find(|&&end| are_conditions(&text[end..]));
        if let Some(end) = before_conditions.or(ends.last()) {
            return *end;
        }
    }

    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => return at,
            _ => {}
        }
    }

    // An unpaired quotation mark does not quote anything.
    if is_quoted { text.find(char::is_whitespace).unwrap_or(text.len()) } else { text.len() }
}

/// Returns whether all words of `text` are conditions.
fn are_conditions(text: &str) -> bool {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = rest.split_at(end_of_word(rest, false));
        if !TypedQuery::default().take(word) {
            return false;
        }
        rest = after.trim_start();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_taken_out_of_the_text() {
        let query = TypedQuery::parse(
            "lang:rust  retry with path:src/net -path:\"old code\" backoff -mock kind:function rev:v1.2 repo:a/* \
             state:dirty -\"not this\"",
        );
        assert_eq!(query.text, "retry with backoff");
        assert_eq!(
            query.conditions,
            [
                Condition::Language("rust".into()),
                Condition::Path("src/net".into()),
                Condition::ExcludedPath("old code".into()),
                Condition::Without("mock".into()),
                Condition::Kind("function".into()),
                Condition::Rev("v1.2".into()),
                Condition::Repo("a/*".into()),
                Condition::State(MatchState::Dirty),
                Condition::Without("not this".into()),
            ]
        );
        assert_eq!((query.rev(), query.state()), (Some("v1.2"), Some(MatchState::Dirty)));
        let quoted = TypedQuery::parse("x path:src/\"old code\"");
        assert_eq!(quoted.conditions, [Condition::Path("src/old code".into())]);
    }

    #[test]
    fn an_argument_that_is_a_condition_keeps_its_blanks() {
        let arguments = ["retry", "path:old code", "with backoff", "lang:go"].map(str::to_owned);
        let query = TypedQuery::from_arguments(&arguments);
        assert_eq!(query.text, "retry with backoff");
        assert_eq!(query.conditions, [Condition::Path("old code".into()), Condition::Language("go".into())]);
        assert_eq!(TypedQuery::from_arguments(&["path:src retry".to_owned()]).text, "retry");
    }

    #[test]
    fn lines_have_no_kind() {
        assert!(TypedQuery::parse("/a b/").pattern().is_some());
        assert_eq!(TypedQuery::parse("/a b/ kind:function").pattern(), None);
        assert_eq!(TypedQuery::parse("\"a b\" kind:function").pattern(), None);
    }

    #[test]
    fn other_words_with_colons_and_hyphens_belong_to_the_text() {
        for text in [
            "std::vector iterator",
            "https://example.com/path",
            "error: path:",
            "lang::Object",
            "\"path:x is -quoted\" words",
            "/lang:\\w+ -x/",
            "/a b/i",
            "an unfinished \"quote of path",
            "  as  typed ",
            "grep -v --invert-match -1 - x-ray non-empty",
            "-mock -\"some words\"",
        ] {
            assert_eq!(TypedQuery::parse(text), TypedQuery { text: text.into(), ..TypedQuery::default() });
        }
        assert_eq!(TypedQuery::parse("/a b/ lang:go").text, "/a b/");
        assert_eq!(TypedQuery::parse("lang:go /a b/").text, "/a b/");
        assert_eq!(TypedQuery::parse("/a b/c/i path:src/ -path:x/").text, "/a b/c/i");
        assert_eq!(TypedQuery::parse("/a b/ c/").text, "/a b/ c/");
        assert_eq!(TypedQuery::parse("trace\nlang:go -x"), TypedQuery::verbatim("trace\nlang:go -x"));
    }

    #[test]
    fn a_condition_that_cannot_be_used_is_told() {
        let query = TypedQuery::parse("state:lost -lang:go query");
        assert_eq!((query.text.as_str(), query.conditions.len()), ("query", 0));
        assert_eq!(query.unknown, ["state:lost", "-lang:go"]);
    }

    #[test]
    fn a_query_is_written_as_it_is_read() {
        for typed in [
            "retry with backoff path:src/net -path:\"old code\" lang:rust kind:function rev:v1.2 state:dirty",
            "/a b/i repo:a/* lang:go",
            "\"exact text\" path:src",
            "words -mock -\"some words\" -\"x-ray\" -\"v\"",
            "lang:go",
            "trace\nlang:go",
        ] {
            let query = TypedQuery::parse(typed);
            assert_eq!(query.to_string(), typed);
            assert_eq!(TypedQuery::parse(&query.to_string()), query);
        }
    }

    #[test]
    fn conditions_are_added_and_removed() {
        let query = TypedQuery::parse("words lang:go rev:v1");
        let toggled = |condition| query.toggled(&condition).to_string();
        assert_eq!(toggled(Condition::Language("go".into())), "words rev:v1");
        assert_eq!(toggled(Condition::Language("rust".into())), "words lang:go rev:v1 lang:rust");
        assert_eq!(toggled(Condition::Path("a b".into())), "words lang:go rev:v1 path:\"a b\"");
        assert_eq!(toggled(Condition::Rev("v2".into())), "words lang:go rev:v2");
        assert_eq!(toggled(Condition::State(MatchState::Dirty)), "words lang:go rev:v1 state:dirty");
    }

    #[test]
    fn quotes_and_slashes_ask_for_exact_text() {
        for (text, expected) in [
            ("\"a b\"", QueryText::Exact("a b")),
            ("/fn \\w+/", QueryText::Regex { expression: "fn \\w+", ignore_case: false }),
            ("/a\\/b/i", QueryText::Regex { expression: "a\\/b", ignore_case: true }),
            (
                "\"connection reset\" when a client leaves",
                QueryText::Mixed { exact: "connection reset", rest: "when a client leaves" },
            ),
            ("where is \"x\" set", QueryText::Meaning),
            ("\"unfinished", QueryText::Meaning),
            ("\"\" x", QueryText::Meaning),
            ("/", QueryText::Meaning),
            ("//", QueryText::Meaning),
            ("/usr/lib", QueryText::Meaning),
            ("\"a\"\nb", QueryText::Meaning),
        ] {
            assert_eq!(QueryText::parse(text), expected, "{text}");
        }
    }
}
