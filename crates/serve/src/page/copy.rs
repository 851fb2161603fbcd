//! Copy: the search on screen as a command and as a call of an MCP tool.

use maud::{Markup, html};
use serde_json::{Map, Value, json};

use codeweaver::query::Condition;
use codeweaver::query::grep::LineAnswer;
use codeweaver::query::response::MatchState;

use super::code::safe;
use crate::params::Params;
use crate::search::Search;

/// A search by meaning.
pub fn of_matches(search: &Search, params: &Params) -> Markup {
    let mut arguments = Map::new();
    arguments.insert("query".to_owned(), json!(typed(search)));
    // The others are in the query.
    if search.query.is_verbatim() {
        add_filters(&mut arguments, search);
    } else if !search.filters.include_tests {
        arguments.insert("include_tests".to_owned(), json!(false));
    }
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

/// Adds the conditions that an exact search has arguments for.
fn add_filters(arguments: &mut Map<String, Value>, search: &Search) {
    let (mut paths, mut languages) = (Vec::new(), Vec::new());
    for condition in &search.query.conditions {
        match condition {
            Condition::Repo(glob) => paths.push(format!("{}/**", glob.trim_matches('/'))),
            Condition::Path(path) => paths.push(path.clone()),
            Condition::ExcludedPath(path) => paths.push(format!(":!{path}")),
            Condition::Language(name) => languages.push(name.clone()),
            _ => {}
        }
    }

    for (name, values) in [("paths", paths), ("focus_languages", languages)] {
        if !values.is_empty() {
            arguments.insert(name.to_owned(), json!(values));
        }
    }
    if !search.filters.include_tests {
        arguments.insert("include_tests".to_owned(), json!(false));
    }
    if let Some(rev) = search.query.rev() {
        arguments.insert("rev".to_owned(), json!(rev));
    }
}

/// The query with its conditions, where its text has room for them.
fn typed(search: &Search) -> String {
    search.query.to_string()
}

/// The command, for the root of the repository.
fn command(search: &Search, params: &Params) -> String {
    let mut words = vec!["git codeweaver search".to_owned(), quoted(&typed(search))];

    if let Some(mode) = params.text("mode") {
        words.push(format!("--mode {}", quoted(mode)));
    }
    // A text that has no room for conditions.
    if search.query.is_verbatim() {
        words.extend(search.query.conditions.iter().filter_map(option));
    }

    for (is_set, flag) in [
        (!search.filters.include_tests, "--no-tests"),
        (params.flag("committed"), "--committed"),
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

/// The option of the command line that means the same as a condition; `None` if there is none.
fn option(condition: &Condition) -> Option<String> {
    let name = match condition {
        Condition::Repo(_) => "repos",
        Condition::ExcludedPath(_) => "exclude",
        Condition::State(MatchState::Committed) => return Some("--committed".to_owned()),
        Condition::State(_) | Condition::Without(_) => return None,
        other => other.name(),
    };
    Some(format!("--{name} {}", quoted(condition.value())))
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
