//! Copy: the search on screen as a command and as a call of an MCP tool.

use maud::{Markup, html};
use serde_json::{Map, Value, json};

use codeweaver::query::grep::LineAnswer;

use super::code::safe;
use crate::params::Params;
use crate::search::Search;

/// A search by meaning.
pub fn of_matches(search: &Search, params: &Params) -> Markup {
    let mut arguments = Map::new();
    arguments.insert("query".to_owned(), json!(search.line.query));
    add_filters(&mut arguments, search);
    panel(&command(search, params), "find_code", arguments)
}

/// A search for lines.
pub fn of_lines(search: &Search, answer: &LineAnswer, params: &Params) -> Markup {
    let mut arguments = Map::new();
    arguments.insert("pattern".to_owned(), json!(answer.pattern));
    arguments.insert("regex".to_owned(), json!(answer.mode == "regex"));

    for name in ["ignore_case", "word"] {
        if params.flag(name) {
            arguments.insert(name.to_owned(), json!(true));
        }
    }

    add_filters(&mut arguments, search);
    panel(&command(search, params), "find_text", arguments)
}

/// A command and a call of an MCP tool with the same result as the page.
pub fn panel(command: &str, tool: &str, arguments: Map<String, Value>) -> Markup {
    let call = json!({ "name": tool, "arguments": arguments });
    let call = serde_json::to_string_pretty(&call).unwrap_or_default();
    html! {
        details.copy {
            summary { "The same in a terminal and for agents" }
            (text("Command", "copy-command", command))
            (text("MCP tool call", "copy-call", &call))
        }
    }
}

fn text(title: &str, id: &str, text: &str) -> Markup {
    html! {
        div.copied {
            h2 { (title) }
            pre id=(id) tabindex="0" { @for line in text.split_inclusive('\n') {
                @let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
                (safe(line)) (end)
            } }
            button.copy type="button" data-copy=(id) hidden { "Copy " span.visually-hidden { (title) } }
        }
    }
}

fn add_filters(arguments: &mut Map<String, Value>, search: &Search) {
    let line = &search.line;
    let paths = [repositories(search), line.paths.clone()].concat();

    for (name, values) in [("paths", &paths), ("focus_languages", &line.languages)] {
        if !values.is_empty() {
            arguments.insert(name.to_owned(), json!(values));
        }
    }

    if !search.filters.include_tests {
        arguments.insert("include_tests".to_owned(), json!(false));
    }
    if let Some(rev) = &line.rev {
        arguments.insert("rev".to_owned(), json!(rev));
    }
}

fn repositories(search: &Search) -> Vec<String> {
    search.line.repositories.iter().map(|glob| format!("{}/**", glob.trim_matches('/'))).collect()
}

/// The command, for the root of the repository.
fn command(search: &Search, params: &Params) -> String {
    let line = &search.line;
    let mut words = vec!["git codeweaver search".to_owned(), quoted(&line.query)];
    let mut option = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));

    if let Some(mode) = params.text("mode") {
        option("mode", mode);
    }
    line.languages.iter().for_each(|language| option("lang", language));
    repositories(search).iter().for_each(|path| option("path", path));

    for path in &line.paths {
        match path.strip_prefix(":!") {
            Some(path) => option("exclude", path),
            None => option("path", path),
        }
    }

    line.kinds.iter().for_each(|kind| option("kind", kind));
    line.rev.iter().for_each(|rev| option("rev", rev));

    let is_committed =
        line.state == Some(codeweaver::query::view::MatchState::Committed) || params.flag("committed");

    for (is_set, flag) in [
        (!search.filters.include_tests, "--no-tests"),
        (is_committed, "--committed"),
        (params.flag("ignore_case"), "--ignore-case"),
        (params.flag("word"), "--word"),
        (params.flag("explain"), "--explain"),
    ] {
        if is_set {
            words.push(flag.to_owned());
        }
    }

    words.join(" ")
}

/// A word of a POSIX shell.
pub fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c));
    if !word.is_empty() && is_plain && !word.starts_with('-') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("src/a.rs"), "src/a.rs");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!((quoted(""), quoted("--rev")), ("''".into(), "'--rev'".into()));
    }
}
