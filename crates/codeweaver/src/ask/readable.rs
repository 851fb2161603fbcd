//! Readable: the text of a quote as a person reads it, without line breaks inside paragraphs and without the
//! markup of Markdown, reStructuredText, MyST and JSX. The words and the code stay as they are.

use super::inline;

/// Minimum indentation of code after a blank line.
const CODE_INDENT: usize = 4;
/// The same after a directive of reStructuredText.
const DIRECTIVE_INDENT: usize = 3;

/// Returns `text` with each paragraph, list item and table row on one line.
pub fn readable(text: &str) -> String {
    let mut writer = Writer::default();
    for line in text.lines() {
        writer.line(line);
    }
    writer.end_paragraph();

    let lines = writer.lines.join("\n");
    lines.trim_matches('\n').trim_end().to_owned()
}

/// The lines written so far, and the paragraph that is being read.
#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    paragraph: String,
    /// The characters that end the fence around code.
    fence: Option<String>,
    is_code: bool,
    was_blank: bool,
    after_directive: bool,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let content = line.trim();

        if let Some(fence) = &self.fence {
            let is_end = content.starts_with(fence.as_str());
            self.lines.push(line.to_owned());
            self.fence = self.fence.take().filter(|_| !is_end);
            return;
        }
        if let Some(fence) = ["```", "~~~"].into_iter().find(|fence| content.starts_with(fence)) {
            self.end_paragraph();
            self.fence = Some(fence.to_owned());
            self.lines.push(line.to_owned());
            return;
        }
        if content.is_empty() {
            self.end_paragraph();
            self.was_blank = true;
            if self.lines.last().is_some_and(|last| !last.is_empty()) {
                self.lines.push(String::new());
            }
            return;
        }

        let indent = line.len() - line.trim_start().len();
        let needed = if self.after_directive { DIRECTIVE_INDENT } else { CODE_INDENT };
        let is_indented = self.paragraph.is_empty() && (indent >= needed || line.starts_with('\t'));
        let is_first = self.lines.is_empty() && !self.after_directive;
        self.is_code = is_indented && (self.is_code || self.was_blank || is_first);
        self.was_blank = false;
        if self.is_code {
            self.lines.push(line.to_owned());
            return;
        }

        self.prose(content);
    }

    fn prose(&mut self, content: &str) {
        if let Some(directive) = content.strip_prefix(".. ").filter(|rest| rest.contains("::")) {
            self.end_paragraph();
            self.after_directive = true;
            // `.. warning:: Text` has text, the name of a language or of a file is none.
            let (name, text) = directive.split_once("::").unwrap_or((directive, ""));
            if text.trim().contains(' ') {
                self.paragraph = format!("{}: {}", capitalised(name), text.trim());
            }
            return;
        }

        let is_option = content.starts_with(':')
            && content[1..].split_once(':').is_some_and(|(name, _)| is_name(name) && !content.contains('`'));
        let is_marker = ["///", ":::", "!!!", "???", "+++"].iter().any(|mark| content.starts_with(mark));
        let is_rule = content.len() > 2 && content.chars().all(|c| "=-~^#*+'\"_".contains(c));
        if is_rule || is_marker || is_option && self.after_directive || inline::is_tag(content) {
            self.end_paragraph();
            return;
        }
        self.after_directive = false;

        if begins_item(content) {
            self.end_paragraph();
        }
        if !self.paragraph.is_empty() {
            self.paragraph.push(' ');
        }
        self.paragraph.push_str(content);
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.is_empty() {
            return;
        }

        // A colon announces code, a second one is markup.
        let (text, colon) = match paragraph.strip_suffix("::") {
            Some(text) => (text.trim_end(), ":"),
            None => (paragraph.as_str(), ""),
        };
        let text = inline::plain(text);
        if !text.trim().is_empty() || !colon.is_empty() {
            self.lines.push(format!("{}{colon}", text.trim()));
        }
    }
}

/// Returns whether a line begins a list item or a row of a table, which is a line of its own.
fn begins_item(content: &str) -> bool {
    let after_digits = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_digits.len() < content.len()
        && (after_digits.starts_with(". ") || after_digits.starts_with(") "));
    is_numbered || content.starts_with('|') || ["- ", "* ", "+ "].iter().any(|mark| content.starts_with(mark))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_ ".contains(c))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn paragraphs_are_joined_and_code_is_kept() {
        for (text, expected) in [
            (
                "If another program\nuses :exc:`OSError`,\nsee :ref:`in-use`.",
                "If another program uses `OSError`, see in-use.",
            ),
            (
                "Run it ::\n\n    $ flask run\n    done\n\nThen\nstop.",
                "Run it:\n\n    $ flask run\n    done\n\nThen stop.",
            ),
            ("Do this:\n\n.. code-block:: python\n   :linenos:\n\n   x = 1\n", "Do this:\n\n   x = 1"),
            ("* one\n  more\n* two", "* one more\n* two"),
            ("```sh\na\nb\n```", "```sh\na\nb\n```"),
            (".. warning:: Do not\n   use it.", "Warning: Do not use it."),
            ("<Tabs>\nText here.\n</Tabs>\n\n::: tip\nMore.\n:::", "Text here.\n\nMore."),
            ("Title\n-----\n\nText.", "Title\n\nText."),
            ("| a | b |\n| c | d |", "| a | b |\n| c | d |"),
            ("", ""),
        ] {
            assert_eq!(readable(text), expected, "{text}");
        }
    }
}
