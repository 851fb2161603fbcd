//! Query line: the filters in the text that is searched for, such as `repo:api/* lang:go retry with backoff`.

use codeweaver::query::view::MatchState;

/// The parts of a query line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryLine {
    /// The text without the filters, as typed.
    pub query: String,
    /// Globs for names of repositories.
    pub repositories: Vec<String>,
    /// Pathspecs; those that begin with `:!` exclude.
    pub paths: Vec<String>,
    pub languages: Vec<String>,
    pub kinds: Vec<String>,
    pub rev: Option<String>,
    pub state: Option<MatchState>,
    /// Filters with an unknown value, as typed.
    pub unknown: Vec<String>,
}

impl QueryLine {
    /// Splits `text` into filters and query. Filters are words of the form `name:value` or `name:"va lue"`
    /// outside of quoted text and of regular expressions; `-path:` excludes. Other words with a colon belong
    /// to the query, and so does a text of several lines as a whole.
    pub fn parse(text: &str) -> QueryLine {
        let mut line = QueryLine::default();

        // A text of several lines has been pasted.
        if text.trim().contains('\n') {
            line.query = text.trim().to_owned();
            return line;
        }

        let mut words: Vec<&str> = Vec::new();
        let mut rest = text.trim();

        while !rest.is_empty() {
            let end = end_of_word(rest, words.is_empty());
            let (word, after) = rest.split_at(end);
            if !line.take(word) {
                words.push(word);
            }
            rest = after.trim_start();
        }

        line.query = words.join(" ");
        line
    }

    /// Adds `word` if it is a filter; returns whether it is one.
    fn take(&mut self, word: &str) -> bool {
        let Some((name, value)) = word.split_once(':') else { return false };
        let value = value.strip_prefix('"').map_or(value, |value| value.strip_suffix('"').unwrap_or(value));

        // `std::vector` and `https://…` are not filters.
        if value.is_empty() || value.starts_with([':', '/']) && name != "path" && name != "-path" {
            return false;
        }

        match name {
            "repo" => self.repositories.push(value.to_owned()),
            "path" | "file" => self.paths.push(value.to_owned()),
            "-path" | "-file" => self.paths.push(format!(":!{value}")),
            "lang" => self.languages.push(value.to_owned()),
            "kind" => self.kinds.push(value.to_owned()),
            "rev" => self.rev = Some(value.to_owned()),
            "state" => match state(value) {
                Some(state) => self.state = Some(state),
                None => self.unknown.push(word.to_owned()),
            },
            _ => return false,
        }

        true
    }
}

/// Length of the first word of `text` in bytes: up to the first blank outside of quotes, or a whole regular
/// expression between slashes if `may_be_regex`.
fn end_of_word(text: &str, may_be_regex: bool) -> usize {
    if may_be_regex && text.starts_with('/') {
        let ends = text.match_indices('/').skip(1).filter_map(|(at, _)| {
            let after = text[at + 1..].strip_prefix('i').unwrap_or(&text[at + 1..]);
            (after.is_empty() || after.starts_with(char::is_whitespace)).then(|| text.len() - after.len())
        });
        if let Some(end) = ends.last() {
            return end;
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

/// The state called `name`.
fn state(name: &str) -> Option<MatchState> {
    Some(match name {
        "committed" => MatchState::Committed,
        "staged" => MatchState::Staged,
        "dirty" => MatchState::Dirty,
        "untracked" => MatchState::Untracked,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_taken_out_of_the_query() {
        let line = QueryLine::parse(
            "lang:rust  retry with path:src/net -path:\"old code\" backoff kind:function rev:v1.2 repo:a/* state:dirty",
        );
        assert_eq!(
            line,
            QueryLine {
                query: "retry with backoff".into(),
                repositories: vec!["a/*".into()],
                paths: vec!["src/net".into(), ":!old code".into()],
                languages: vec!["rust".into()],
                kinds: vec!["function".into()],
                rev: Some("v1.2".into()),
                state: Some(MatchState::Dirty),
                unknown: Vec::new(),
            }
        );
    }

    #[test]
    fn other_words_with_colons_belong_to_the_query() {
        for text in [
            "std::vector iterator",
            "https://example.com/path",
            "error: path:",
            "lang::Object",
            "\"path:x is quoted\" words",
            "/lang:\\w+ x/",
            "/a b/i",
            "an unfinished \"quote of path",
        ] {
            let line = QueryLine::parse(text);
            assert_eq!(line, QueryLine { query: text.into(), ..QueryLine::default() });
        }
        assert_eq!(QueryLine::parse("/a b/ lang:go").query, "/a b/");
        assert_eq!(QueryLine::parse("lang:go /a b/").query, "/a b/");
        assert_eq!(QueryLine::parse("trace\nlang:go").query, "trace\nlang:go");
    }

    #[test]
    fn a_state_that_there_is_not_is_told() {
        let line = QueryLine::parse("state:lost query");
        assert_eq!((line.query.as_str(), line.unknown), ("query", vec!["state:lost".to_owned()]));
    }
}
