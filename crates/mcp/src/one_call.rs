//! One call of a tool without a session, for agents whose first tool is a shell.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use codeweaver::service::{Codebases, Waits};

use super::answer::Format;
use super::tools::{Call, ToolSpec};
use super::user::User;

/// The arguments that a word without a name stands for, by tool: for a single word, and for several.
const SUBJECTS: [(&str, &str, Option<&str>); 11] = [
    ("find_code", "query", Some("queries")),
    ("find_text", "pattern", None),
    ("find_symbol", "symbol", Some("symbols")),
    ("ask_docs", "question", None),
    ("find_similar", "file", None),
    ("file_outline", "file", None),
    ("call_graph", "symbol", Some("symbols")),
    ("read_code", "places", Some("places")),
    ("list_files", "paths", Some("paths")),
    ("changes", "from", None),
    ("manage_index", "action", None),
];

/// Beginnings of the answers that have nothing: of the tools in the order of their list.
const NOTHING: [&str; 5] = [
    "No matches found for query",
    "no line matches",
    "no definition of ",
    "No relevant information found",
    "0 files",
];

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    /// There is nothing of this kind.
    NothingFound,
    /// The index cannot answer now; the text says which call makes it.
    NotReady,
    Failed,
}

/// The answer of a tool.
#[derive(Debug)]
pub struct Said {
    pub text: String,
    pub outcome: Outcome,
}

/// The name of the tool and the words that it takes, for a line of usage.
pub fn usage(spec: &ToolSpec) -> String {
    let subject = SUBJECTS.iter().find(|(tool, ..)| *tool == spec.name);
    let words = subject.map_or_else(String::new, |(_, one, several)| {
        let more = if several.is_some() { "..." } else { "" };
        format!(" [{}]{more}", one.to_uppercase())
    });
    format!("{}{words} [NAME=VALUE]...", spec.name)
}

/// The caller of a tool.
pub struct Session {
    /// A directory inside the repository.
    pub dir: PathBuf,
    pub debug: bool,
    /// Codebases that are open already.
    pub open: Option<Arc<Codebases>>,
    /// Becomes true when the caller does not wait for the answer any more.
    pub is_cancelled: Arc<AtomicBool>,
}

/// Calls the tool `spec` in the repository of `session`. Each of `words` is `NAME=VALUE`, or a value of the
/// argument that the tool is about; a name that is given several times is a list.
pub fn call(spec: &ToolSpec, words: &[String], session: Session) -> Said {
    call_with(spec, arguments(spec, words), session)
}

/// Calls the tool `spec` with `arguments` in the repository of `session`.
pub fn call_with(spec: &ToolSpec, arguments: JsonObject, session: Session) -> Said {
    let Session { dir, debug, open, is_cancelled } = session;
    let codebases = open.map_or_else(|| Codebases::new(dir.clone()), |open| open.of_session(dir.clone()));
    // The directory is the user's own choice, as the workspace of a client is.
    codebases.trust.announce(Some(vec![dir]));

    let call = Call {
        codebases: Arc::new(codebases),
        debug,
        is_cancelled,
        is_ending: Arc::default(),
        user: User::absent(),
        steps: None,
        format: Format::from_arguments(&arguments),
        waits: Waits::default(),
        deadline: OnceLock::new(),
        elsewhere: Mutex::default(),
        root: Arc::default(),
    };

    match spec.run(arguments, &call) {
        Ok(result) => said(&result),
        Err(error) => Said { text: error.message.into_owned(), outcome: Outcome::Failed },
    }
}

fn said(result: &CallToolResult) -> Said {
    let text: String =
        result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect();

    // Only a gate has structured content with a reason.
    let is_gate = result.structured_content.as_ref().is_some_and(|content| content.get("reason").is_some());
    let outcome = match (result.is_error, is_gate) {
        (Some(true), _) => Outcome::Failed,
        (_, true) => Outcome::NotReady,
        _ if is_nothing(&text) => Outcome::NothingFound,
        _ => Outcome::Answered,
    };
    Said { text, outcome }
}

/// Returns whether the answer has none of what was asked for: its first line says so, or that of each of
/// several answers.
fn is_nothing(text: &str) -> bool {
    let (headings, others): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("# "));
    let n_nothing = others.iter().filter(|line| says_nothing(line)).count();

    if headings.is_empty() {
        others.first().is_some_and(|line| says_nothing(line))
    } else {
        n_nothing == headings.len()
    }
}

fn says_nothing(line: &str) -> bool {
    NOTHING.iter().any(|words| line.starts_with(words)) || line.contains(": none found")
}

/// The arguments that `words` stand for. They are checked as those of any call.
fn arguments(spec: &ToolSpec, words: &[String]) -> JsonObject {
    let subject = SUBJECTS.iter().find(|(tool, ..)| *tool == spec.name);
    let mut arguments = JsonObject::new();
    let mut unnamed: Vec<&str> = Vec::new();

    for word in words {
        match word.split_once('=') {
            Some((name, value)) if spec.has_argument(name) => add(&mut arguments, name, value),
            _ => unnamed.push(word),
        }
    }

    let Some((_, one, several)) = subject else { return arguments };
    let is_named = [Some(*one), *several].into_iter().flatten().any(|name| arguments.contains_key(name));
    let (mut about, mut others): (Vec<&str>, Vec<&str>) =
        unnamed.into_iter().partition(|word| named(word, spec, several.is_some()).is_none());

    // The tool is about something, which may look like an argument: `find_text limit=5` looks for that text.
    if about.is_empty() && !is_named && !others.is_empty() {
        about.push(others.remove(0));
    }

    for (name, value) in others.into_iter().filter_map(|word| named(word, spec, several.is_some())) {
        add(&mut arguments, name, value);
    }
    let name = if about.len() > 1 { several.unwrap_or(one) } else { one };
    about.into_iter().for_each(|word| add(&mut arguments, name, word));
    arguments
}

/// The name and the value of a word that is an argument if the tool has its subject from another word. What
/// the tool does not have is refused by its name. A tool that is about several things may be about the word,
/// unless the name is like one of its arguments.
fn named<'w>(word: &'w str, spec: &ToolSpec, takes_several: bool) -> Option<(&'w str, &'w str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.contains(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));

    (is_name && (!takes_several || spec.may_mean_argument(name))).then_some((name, value))
}

/// Adds a value; a second one of the same name makes a list.
fn add(arguments: &mut JsonObject, name: &str, value: &str) {
    let value = Value::from(value);
    match arguments.get_mut(name) {
        None => {
            arguments.insert(name.to_owned(), value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(known) => *known = Value::Array(vec![known.take(), value]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools;

    #[test]
    fn words_are_the_subject_of_the_tool_or_have_a_name() {
        let of = |tool: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Value::Object(arguments(tools::by_name(tool).unwrap(), &words))
        };

        assert_eq!(
            of("find_code", &["a = b", "max_results=3"]),
            json!({ "query": "a = b", "max_results": "3" })
        );
        assert_eq!(of("find_code", &["a", "b", "maxResults=3"])["queries"], json!(["a", "b"]));
        assert_eq!(of("read_code", &["a.rs:1-2"]), json!({ "places": "a.rs:1-2" }));
        assert_eq!(
            of("find_text", &["x", "paths=src", "paths=tests"]),
            json!({ "pattern": "x", "paths": ["src", "tests"] })
        );

        // Other names and misspelt ones, beside a subject.
        assert_eq!(of("find_text", &["x", "limit=5"]), json!({ "pattern": "x", "limit": "5" }));
        assert_eq!(of("find_text", &["pattern=x", "limit=5"]), json!({ "pattern": "x", "limit": "5" }));
        assert_eq!(of("find_text", &["x", "colour=5"]), json!({ "pattern": "x", "colour": "5" }));
        assert_eq!(
            of("find_text", &["limit=5", "paths=src"]),
            json!({ "pattern": "limit=5", "paths": "src" })
        );
        assert_eq!(of("find_code", &["x", "max_result=5"]), json!({ "query": "x", "max_result": "5" }));
        assert_eq!(of("find_code", &["x", "colour=5"]), json!({ "queries": ["x", "colour=5"] }));
    }

    #[test]
    fn every_tool_has_a_subject_among_its_arguments() {
        for spec in tools::all() {
            let (_, one, several) = SUBJECTS.iter().find(|(tool, ..)| *tool == spec.name).unwrap();
            assert!(spec.has_argument(one) && several.is_none_or(|name| spec.has_argument(name)), "{one}");
        }
    }
}
