//! The event that a hook of an agent gets: a tool has run, and this is its answer.
//!
//! Read here is no more than the question that is worth an answer: the names that were searched for, the
//! words that were not found, the lines that were read.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// Maximum number of names that are looked up.
const MAX_NAMES: usize = 2;
/// Number of characters that a name has at least: shorter ones are variables.
const MIN_NAME: usize = 3;
/// Number of lines from which a text that was read is no longer about one definition.
const MAX_LINES: u32 = 200;

/// Programs that search for a pattern.
const SEARCHERS: [&str; 6] = ["rg", "grep", "egrep", "fgrep", "ag", "ack"];
/// Their options that are followed by a value.
const WITH_VALUE: [&str; 22] = [
    "-A",
    "-B",
    "-C",
    "-m",
    "-g",
    "-t",
    "-T",
    "-f",
    "-d",
    "-D",
    "-j",
    "-M",
    "--glob",
    "--iglob",
    "--type",
    "--type-not",
    "--max-count",
    "--after-context",
    "--before-context",
    "--context",
    "--include",
    "--exclude",
];
/// Words of languages that patterns for definitions have.
const KEYWORDS: [&str; 34] = [
    "fn",
    "def",
    "func",
    "function",
    "fun",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "impl",
    "type",
    "const",
    "let",
    "var",
    "pub",
    "async",
    "await",
    "static",
    "void",
    "int",
    "return",
    "import",
    "from",
    "use",
    "new",
    "self",
    "this",
    "public",
    "private",
    "module",
    "package",
    "export",
    "the",
];

/// An event of Claude Code; other fields are not used.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// Directory of the agent.
    pub cwd: PathBuf,
    hook_event_name: String,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    tool_response: Value,
}

/// The question behind the call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Names of definitions.
    Names(Vec<String>),
    /// Words without a match.
    NotFound(String),
    /// Lines of a file.
    Lines { file: String, first: u32, last: u32 },
}

impl Event {
    /// Reads an event; `None` for other events and other texts.
    pub fn parse(text: &str) -> Option<Event> {
        let event: Event = serde_json::from_str(text).ok()?;
        (event.hook_event_name == "PostToolUse").then_some(event)
    }

    /// The question behind the call; `None` if there is nothing to add.
    pub fn question(&self) -> Option<Question> {
        match self.tool_name.as_str() {
            "Grep" => self.of_pattern(self.input("pattern")?),
            "Bash" => self.of_pattern(&searched(self.input("command")?)?),
            "Glob" if self.is_empty() => {
                let words = words_of(self.input("pattern")?);
                (!words.is_empty()).then(|| Question::NotFound(words.join(" ")))
            }
            "Read" => self.of_lines(),
            _ => None,
        }
    }

    /// The text of the answer that the agent has.
    pub fn response(&self) -> String {
        let mut text = String::new();
        put_strings(&self.tool_response, &mut text);
        text
    }

    fn input(&self, name: &str) -> Option<&str> {
        self.tool_input.get(name)?.as_str()
    }

    fn of_pattern(&self, pattern: &str) -> Option<Question> {
        let words = words_of(pattern);
        if words.is_empty() {
            return None;
        }

        let names: Vec<String> = words.iter().filter(|word| is_name(word)).cloned().collect();
        if words.len() <= MAX_NAMES && !names.is_empty() && !self.is_empty() {
            return Some(Question::Names(names));
        }
        self.is_empty().then(|| Question::NotFound(words.join(" ")))
    }

    fn of_lines(&self) -> Option<Question> {
        let number = |name: &str| u32::try_from(self.tool_input.get(name)?.as_u64()?).ok();
        let (first, n) = (number("offset")?.max(1), number("limit")?);
        let last = first.checked_add(n.checked_sub(1)?)?;
        let file = self.input("file_path")?.to_owned();
        (n <= MAX_LINES).then_some(Question::Lines { file, first, last })
    }

    /// Returns whether the tool has found nothing.
    fn is_empty(&self) -> bool {
        // Which of the numbers counts depends on what was to be printed: with lines, no files are counted.
        let response = &self.tool_response;
        let counts = ["numFiles", "numLines", "numMatches"];
        let largest = counts.iter().filter_map(|name| response.get(name)?.as_u64()).max();
        if let Some(largest) = largest {
            return largest == 0;
        }

        let text = self.response();
        let text = text.trim();
        text.is_empty() || text == "No matches found" || text == "No files found"
    }
}

/// Appends all strings in `value`, each on a line.
fn put_strings(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => {
            text.push_str(string);
            text.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| put_strings(item, text)),
        Value::Object(fields) => fields.values().for_each(|field| put_strings(field, text)),
        _ => {}
    }
}

/// The identifiers in a pattern, without those of the language of patterns and of definitions.
fn words_of(pattern: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        // `\b` and `\s` are no letters.
        if c == '\\' {
            chars.next();
        }
        plain.push(if c == '_' || c.is_alphanumeric() { c } else { ' ' });
    }

    let mut words: Vec<String> = Vec::new();
    for word in plain.split_whitespace() {
        let is_word = word.chars().count() >= MIN_NAME && !word.starts_with(|c: char| c.is_ascii_digit());
        if is_word && !KEYWORDS.contains(&word) && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// Returns whether a word may be the name of a definition.
fn is_name(word: &str) -> bool {
    word.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// The pattern that a command line searches for.
fn searched(command: &str) -> Option<String> {
    segments(command).iter().find_map(|words| pattern_of(words))
}

/// The pattern of a simple command.
fn pattern_of(words: &[String]) -> Option<String> {
    let is_setting = |word: &String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let mut words = words.iter().skip_while(|word| is_setting(word));

    let program = words.next()?.rsplit('/').next()?;
    let is_git_grep = program == "git" && words.next().is_some_and(|word| word == "grep");
    if !is_git_grep && !SEARCHERS.contains(&program) {
        return None;
    }

    // The first word that is no option is the pattern, unless an option gives it.
    while let Some(word) = words.next() {
        match word.as_str() {
            "-e" | "--regexp" | "--" => return words.next().cloned(),
            option if WITH_VALUE.contains(&option) => {
                words.next();
            }
            option if option.starts_with('-') => {}
            pattern => return Some(pattern.to_owned()),
        }
    }
    None
}

/// The words of the simple commands of a command line, as a shell splits them. Expansions are not made.
fn segments(command: &str) -> Vec<Vec<String>> {
    let mut segments = vec![Vec::new()];
    let (mut word, mut is_word, mut quote) = (String::new(), false, None);
    let mut chars = command.chars();

    while let Some(c) = chars.next() {
        match (quote, c) {
            // The end of a quotation may be within a word.
            (Some(mark), _) if c == mark => quote = None,
            (Some('"') | None, '\\') => {
                // In double quotes, a backslash is kept before most characters.
                let next = chars.next().unwrap_or('\\');
                if quote.is_some() && !['"', '\\', '$', '`'].contains(&next) {
                    word.push('\\');
                }
                word.push(next);
                is_word = true;
            }
            (Some(_), _) => word.push(c),
            (None, '\'' | '"') => (quote, is_word) = (Some(c), true),
            (None, ' ' | '\t' | '\n' | ';' | '|' | '&') => {
                if std::mem::take(&mut is_word)
                    && let Some(words) = segments.last_mut()
                {
                    words.push(std::mem::take(&mut word));
                }
                if !matches!(c, ' ' | '\t') {
                    segments.push(Vec::new());
                }
            }
            (None, _) => {
                word.push(c);
                is_word = true;
            }
        }
    }

    if is_word && let Some(words) = segments.last_mut() {
        words.push(word);
    }
    segments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(tool: &str, input: Value, response: Value) -> Option<Question> {
        let event = json!({
            "session_id": "s", "cwd": "/r", "hook_event_name": "PostToolUse", "tool_name": tool,
            "tool_input": input, "tool_response": response,
        });
        Event::parse(&event.to_string()).unwrap().question()
    }

    fn names(names: &[&str]) -> Option<Question> {
        Some(Question::Names(names.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn the_names_of_patterns_are_asked_about() {
        let found = json!({ "mode": "content", "numFiles": 1, "content": "a.rs:1: x" });
        for (pattern, expected) in [
            ("open_session", names(&["open_session"])),
            (r"\bfn\s+open_session\(", names(&["open_session"])),
            ("class Cart|struct Basket", names(&["Cart", "Basket"])),
            ("Cart.total", names(&["Cart", "total"])),
            ("a|b", None),
            ("the words of a message here", None),
            (".*", None),
        ] {
            assert_eq!(question("Grep", json!({ "pattern": pattern }), found.clone()), expected, "{pattern}");
        }
    }

    /// As Claude Code 2.1 answers in each mode of its tool.
    #[test]
    fn lines_are_found_where_no_files_are_counted() {
        let lines = |n: u64, content: &str| {
            json!({
                "mode": "content", "numFiles": 0, "filenames": [], "content": content, "numLines": n,
                "totalLines": n,
            })
        };
        let input = json!({ "pattern": "open_session", "output_mode": "content" });
        let found = lines(1, "a.py:1:def open_session(app):");
        assert_eq!(question("Grep", input.clone(), found), names(&["open_session"]));
        let not_found = Some(Question::NotFound("open_session".to_owned()));
        assert_eq!(question("Grep", input.clone(), lines(0, "")), not_found);

        let count = json!({
            "mode": "count", "numFiles": 1, "filenames": [], "content": "a.py:2", "numMatches": 2,
        });
        assert_eq!(question("Grep", input, count), names(&["open_session"]));
    }

    #[test]
    fn the_patterns_of_commands_are_found() {
        for (command, expected) in [
            ("rg -n open_session src", names(&["open_session"])),
            (
                "cd src && LC_ALL=C grep -rn -A 3 --include='*.py' \"def open_session\" .",
                names(&["open_session"]),
            ),
            ("git grep -n -e open_session -- src | head", names(&["open_session"])),
            (r"cat a | grep 'a\.open_session(' ", names(&["open_session"])),
            ("/usr/bin/rg -t py 'open_session'", names(&["open_session"])),
            ("git log --grep open_session", None),
            ("sed -n 1,9p open_session.py", None),
            ("echo 'rg open_session'", None),
            ("rg", None),
        ] {
            let found = json!({ "stdout": "a.py:1: open_session", "stderr": "", "interrupted": false });

            assert_eq!(question("Bash", json!({ "command": command }), found), expected, "{command}");
        }
    }

    #[test]
    fn what_was_not_found_is_asked_by_its_words() {
        let words = |words: &str| Some(Question::NotFound(words.to_owned()));
        let none = json!({ "mode": "files_with_matches", "numFiles": 0, "filenames": [] });
        assert_eq!(
            question("Grep", json!({ "pattern": "session cookie.*signing" }), none.clone()),
            words("session cookie signing")
        );
        assert_eq!(question("Glob", json!({ "pattern": "**/*sessions*" }), none), words("sessions"));
        let empty = json!({ "stdout": "", "stderr": "" });
        assert_eq!(question("Bash", json!({ "command": "rg sign_cookie" }), empty), words("sign_cookie"));
        assert_eq!(
            question("Grep", json!({ "pattern": "absent" }), json!("No matches found")),
            words("absent")
        );
    }

    #[test]
    fn a_range_that_was_read_is_asked_about_and_a_whole_file_is_not() {
        let read = json!({ "file_path": "/r/a.py", "offset": 10, "limit": 20 });
        let lines = Question::Lines { file: "/r/a.py".to_owned(), first: 10, last: 29 };
        assert_eq!(question("Read", read, json!("…")), Some(lines));

        for input in [
            json!({ "file_path": "/r/a.py" }),
            json!({ "file_path": "/r/a.py", "offset": 1, "limit": 2000 }),
            json!({ "file_path": "/r/a.py", "offset": -1, "limit": 0 }),
            json!({ "offset": 1, "limit": 2 }),
        ] {
            assert_eq!(question("Read", input.clone(), json!("…")), None, "{input}");
        }

        assert_eq!(question("Edit", json!({ "pattern": "open_session" }), json!("…")), None);
        assert!(Event::parse("").is_none() && Event::parse("{\"cwd\": 1}").is_none());
        assert!(Event::parse(r#"{"cwd":"/","hook_event_name":"Stop","tool_name":"Grep"}"#).is_none());
    }
}
