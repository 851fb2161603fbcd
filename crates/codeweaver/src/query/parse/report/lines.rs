//! Lines: the kind of each line of a report.

use std::sync::LazyLock;

use regex::Regex;

use super::noise::{self, Heading};
use super::trace::{Frame, TraceLine, TraceReader, ascii};

/// The lines of a report by their kind.
#[derive(Debug, Default)]
pub struct Lines {
    /// Sentences, without markup.
    pub prose: String,
    /// Code blocks.
    pub code: String,
    /// Paths in links to a hosted repository, as `path:line`.
    pub links: String,
    /// Lines that begin with the name of an error.
    pub errors: Vec<String>,
    pub frames: Vec<Frame>,
}

/// State of reading, which decides the kind of the next line.
#[derive(Default)]
struct Reader {
    lines: Lines,
    trace: TraceReader,
    /// The fence that ends a code block.
    fence: Option<&'static str>,
    is_in_comment: bool,
    is_in_machine: bool,
    is_indented: bool,
    is_after_blank: bool,
}

/// Maximum length of a message. A longer text after the name of an error is data.
const MAX_MESSAGE_BYTES: usize = 600;

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(&ascii(pattern)).ok()
}

/// `ValueError: text`, `error[E0308]: text`, `FATAL: text`.
static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"^[\s>E*|-]*(?:[\w.:$\\\[\]-]*(?:[Ee]rror|[Ee]xception|Warning|Fault|Failure|Panic)\b(?:\[\w+\]|\([^)]*\))?|panic|fatal|FATAL|ERROR|Caused by|thread '[^']*' panicked at [^:]*:\d+)[^:\s]{0,20}: *(?P<message>\S.*)$",
    )
});
/// A link to a file of a hosted repository.
static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:-/)?(?:blob|tree|blame|src)/[^\s/]+/(?P<path>[^\s#?)>\]]+)(?:#L(?P<line>\d+))?",
    )
});
static URL: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"(?:https?|ftp|git|ssh)://[^\s)>\]`'\x22]+"));
/// Tags of HTML, and images.
static MARKUP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"!\[[^\]]*\]\([^)]*\)|</?(?:details|summary|br|p|b|i|em|strong|code|pre|img|h\d|ul|li|ol|a|kbd|sub|sup|hr|div|span|table|tr|td|th)\b[^>]*>",
    )
});

impl Lines {
    pub fn parse(text: &str) -> Lines {
        let mut reader = Reader { is_after_blank: true, ..Reader::default() };
        text.lines().for_each(|line| reader.add(line));
        reader.lines.frames = reader.trace.finish();
        reader.lines
    }
}

impl Reader {
    fn add(&mut self, line: &str) {
        let quoted = line.trim_start();
        let line = quoted.strip_prefix("> ").filter(|_| self.fence.is_none()).unwrap_or(line);
        let Some(line) = self.without_comment(line) else { return };

        let is_after_blank = std::mem::replace(&mut self.is_after_blank, line.trim().is_empty());

        // Traces are looked for first, since they may be in code blocks.
        if let Some(kind) = self.trace.add(&line) {
            if kind == TraceLine::Header {
                self.add_error(&line);
            }
            return;
        }

        if self.toggle_fence(&line) {
            return;
        }

        if self.fence.is_some() {
            if !self.add_error(&line) {
                push(&mut self.lines.code, &line);
            }
            return;
        }

        if line.trim().is_empty() {
            return push(&mut self.lines.prose, "");
        }

        // Items of lists may be indented as far as code.
        let is_deep = line.starts_with("    ") || line.starts_with('\t');
        let is_list = line.trim_start().starts_with(['-', '*', '+', '•']);
        self.is_indented = is_deep && !is_list && (is_after_blank || self.is_indented);

        let heading = noise::heading(&line);
        if let Some(heading) = heading {
            self.is_in_machine = heading == Heading::Machine;
        }

        let is_first = self.lines.prose.trim().is_empty();
        // The first line may be the title, even if templates have the same heading.
        match heading {
            Some(Heading::Template) if is_first && !line.trim().ends_with(':') => {}
            Some(Heading::Template | Heading::Machine) => return,
            Some(Heading::Own) | None => {}
        }

        self.add_error(&line);
        if self.is_in_machine || noise::is_noise(&line) {
            return;
        }

        if self.is_indented {
            return push(&mut self.lines.code, &line);
        }

        let plain = self.without_links(&line);
        push(&mut self.lines.prose, plain.trim_start_matches('#').trim());
    }

    /// Removes comments of HTML from `line`; `None` if nothing is left.
    fn without_comment<'l>(&mut self, line: &'l str) -> Option<std::borrow::Cow<'l, str>> {
        if self.fence.is_some() {
            return Some(line.into());
        }

        if self.is_in_comment {
            let (_, rest) = line.split_once("-->")?;
            self.is_in_comment = false;
            return Some(rest.into());
        }

        let Some((head, rest)) = line.split_once("<!--") else { return Some(line.into()) };
        let remaining = match rest.split_once("-->") {
            Some((_, tail)) => format!("{head}{tail}"),
            None => {
                self.is_in_comment = true;
                head.to_owned()
            }
        };

        (!remaining.trim().is_empty()).then(|| remaining.into())
    }

    /// Returns whether `line` begins or ends a code block.
    fn toggle_fence(&mut self, line: &str) -> bool {
        let line = line.trim_start();

        match self.fence {
            Some(fence) if line.starts_with(fence) => self.fence = None,
            Some(_) => return false,
            None => match ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence)) {
                // A block of one line is prose.
                Some(fence) if !line[fence.len()..].contains('`') => self.fence = Some(fence),
                _ => return false,
            },
        }

        true
    }

    /// Adds the message of a line that begins with the name of an error. Returns whether it does.
    fn add_error(&mut self, line: &str) -> bool {
        let message = ERROR.as_ref().and_then(|regex| regex.captures(line)).and_then(|it| it.name("message"));
        let Some(message) = message.filter(|it| it.len() < MAX_MESSAGE_BYTES) else { return false };
        self.lines.errors.push(message.as_str().trim().to_owned());
        true
    }

    /// Removes addresses and tags from `line`. The paths in the addresses are added to the links.
    fn without_links(&mut self, line: &str) -> String {
        for link in LINK.iter().flat_map(|regex| regex.captures_iter(line)) {
            let group = |name: &str| link.name(name).map_or("", |it| it.as_str());
            push(&mut self.lines.links, &format!("{}:{}", group("path"), group("line")));
        }

        let mut plain = line.to_owned();
        for regex in [MARKUP.as_ref(), URL.as_ref()].into_iter().flatten() {
            plain = regex.replace_all(&plain, "").into_owned();
        }

        plain
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!([&*ERROR, &*LINK, &*URL, &*MARKUP].into_iter().all(Option::is_some));
    }

    #[test]
    fn prose_code_and_noise_are_told_apart() {
        let lines = Lines::parse(
            "It fails\n\n### Environment\nUbuntu, some laptop\n### The parser loops\n<!-- say\nwhat -->See [this](https://x.org/a/b/blob/main/src/p.rs#L7) <br>now.\n\n    let x = 1;\n\nEnd\n~~~\nerror[E0308]: mismatched types\n~~~\n",
        );
        assert_eq!(
            lines.prose.split_whitespace().collect::<Vec<_>>().join(" "),
            "It fails The parser loops See [this]() now. End"
        );
        assert_eq!(lines.code, "    let x = 1;\n");
        assert_eq!(lines.links, "src/p.rs:7\n");
        assert_eq!(lines.errors, ["mismatched types"]);
    }

    #[test]
    fn errors_are_the_texts_after_their_names() {
        for (line, message) in [
            ("ValueError: no such key", "no such key"),
            ("E   foo.bar.BadThing.SomeError: it is bad", "it is bad"),
            ("Caused by: java.io.IOException: closed", "java.io.IOException: closed"),
            ("Uncaught TypeError: x is not a function", "x is not a function"),
            ("fatal: not a repository", "not a repository"),
        ] {
            let found = Lines::parse(line).errors;
            assert!(
                found.iter().any(|it| it == message) || line.starts_with("Uncaught"),
                "{line}: {found:?}"
            );
        }
        assert_eq!(Lines::parse("The server: it fails").errors, [""; 0]);
    }
}
