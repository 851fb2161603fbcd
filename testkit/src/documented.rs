//! Command lines of the program in the pages of the documentation.

use std::path::{Path, PathBuf};

/// Folders without pages of ours: outputs, and inputs of tests.
const LEFT_OUT: &[&str] = &["target", "fixtures", "tests", "node_modules"];

/// A command of the program as a page states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentedCommand {
    /// Path of the page from the root of the sources.
    pub page: PathBuf,
    pub line: usize,
    /// Arguments after the name of the program.
    pub args: Vec<String>,
    /// Whether it is in a block of code, and not within a sentence, where arguments may be left out.
    pub in_block: bool,
}

impl DocumentedCommand {
    /// The place and the command, for messages.
    pub fn explain(&self) -> String {
        format!("{}:{}: git codeweaver {}", self.page.display(), self.line, self.args.join(" "))
    }
}

/// Finds the commands in all Markdown files below `root`, the directory of the sources.
pub fn documented_commands(root: &Path) -> Vec<DocumentedCommand> {
    let mut pages = Vec::new();
    list_pages(root, &mut pages);
    pages.sort();

    let commands_of = |page: &PathBuf| {
        let text = std::fs::read_to_string(page).unwrap();
        commands_in(page.strip_prefix(root).unwrap(), &text)
    };
    pages.iter().flat_map(commands_of).collect()
}

fn list_pages(dir: &Path, pages: &mut Vec<PathBuf>) {
    for child in std::fs::read_dir(dir).unwrap().flatten() {
        let (path, name) = (child.path(), child.file_name().into_string().unwrap_or_default());
        let is_left_out = name.starts_with('.') || LEFT_OUT.contains(&&*name);
        match path.is_dir() {
            true if !is_left_out => list_pages(&path, pages),
            false if name.ends_with(".md") => pages.push(path),
            _ => {}
        }
    }
}

fn commands_in(page: &Path, text: &str) -> Vec<DocumentedCommand> {
    let mut found = Vec::new();
    let mut block: Option<Block> = None;
    let mut lines = text.lines().enumerate();

    while let Some((at, line)) = lines.next() {
        let mark = fence(line);
        let commands = match (&block, mark) {
            (None, Some((mark, info))) => {
                block = Some(Block { mark, has_remarks: info == "text" });
                continue;
            }
            (Some(open), Some((mark, ""))) if mark.starts_with(open.mark) => {
                block = None;
                continue;
            }
            (Some(open), _) => {
                let mut whole = line.to_owned();
                while let Some(begun) = whole.strip_suffix('\\') {
                    whole = begun.to_owned() + lines.next().map_or("", |(_, rest)| rest);
                }
                commands_of_line(&whole, open.has_remarks)
            }
            (None, None) => spans(line).flat_map(|span| commands_of_line(span, false)).collect(),
        };

        let in_block = block.is_some();
        let commands = commands.into_iter();
        found.extend(commands.map(|args| DocumentedCommand {
            page: page.into(),
            line: at + 1,
            args,
            in_block,
        }));
    }
    found
}

/// An open block of code.
struct Block<'a> {
    mark: &'a str,
    /// Whether two blanks separate a command from a remark about it.
    has_remarks: bool,
}

/// The mark of a fence, and the text after it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let length = line.len() - line.trim_start_matches('`').len();
    (length >= 3).then(|| (&line[..length], line[length..].trim()))
}

/// The spans of code in a line of prose.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The arguments of the program for each time that a line of shell runs it.
fn commands_of_line(line: &str, has_remarks: bool) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for words in simple_commands(line, has_remarks) {
        let is_before =
            |word: &String| word.ends_with(':') || word == "$" || word == "-" || is_assignment(word);
        let words: Vec<String> = words.into_iter().skip_while(is_before).collect();

        // Some programs take a command line as an argument.
        let nested = words.iter().filter(|word| word.starts_with("git codeweaver "));
        found.extend(nested.flat_map(|word| commands_of_line(word, false)));

        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (["git", "codeweaver", args @ ..] | ["git-codeweaver", args @ ..]) = &words[..] else { continue };
        found.push(args.iter().map(|&arg| arg.to_owned()).collect());
    }
    found
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// The words of each command in a line of shell, without redirections and comments.
fn simple_commands(line: &str, has_remarks: bool) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut is_target = false;
    let mut chars = line.chars().peekable();

    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), _) => word.get_or_insert_default().push(c),

            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (None, '#') if word.is_none() => break,
            (None, ' ') => {
                end_word(&mut word, &mut is_target, &mut commands);
                let has_begun = commands.last().is_some_and(|words| !words.is_empty());
                if has_remarks && has_begun && chars.peek() == Some(&' ') {
                    break;
                }
            }

            (None, '<' | '>') if chars.peek() != Some(&'(') => {
                // The number of a file that is redirected.
                word.take_if(|word| word.parse::<u8>().is_ok());
                end_word(&mut word, &mut is_target, &mut commands);
                while chars.next_if(|&next| matches!(next, '<' | '>' | '&')).is_some() {}
                is_target = true;
            }
            (None, '|' | '&' | ';' | '(' | ')' | '<' | '>') => {
                end_word(&mut word, &mut is_target, &mut commands);
                commands.push(Vec::new());
            }
            (None, _) => word.get_or_insert_default().push(c),
        }
    }

    end_word(&mut word, &mut is_target, &mut commands);
    commands
}

/// Adds a finished word to the last command, unless it is the target of a redirection.
fn end_word(word: &mut Option<String>, is_target: &mut bool, commands: &mut [Vec<String>]) {
    let Some(word) = word.take() else { return };
    if !std::mem::take(is_target) {
        commands.last_mut().unwrap().push(word);
    }
}
