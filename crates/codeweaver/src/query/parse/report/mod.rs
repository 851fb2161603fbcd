//! Report: a long query taken apart, such as an issue report, an error with its stack trace or a paragraph of
//! a specification.
//!
//! * [`trace`]: the frames of stack traces, by language;
//! * `lines`: the kind of each line: prose, code, part of a trace, or noise;
//! * `noise`: headings of issue templates, versions, logs, trailers;
//! * [`title`]: the first line or sentence;
//! * [`messages`]: texts that the code may have verbatim;
//! * `places`: paths and modules.
//!
//! Nothing here knows the repository. [`crate::query::report`] searches for the parts.

mod lines;
pub mod messages;
mod noise;
mod places;
pub mod title;
pub mod trace;

use std::borrow::Cow;

use codeweaver_text::{self as text, Mention};

use lines::Lines;
use messages::Message;
use trace::Frame;

/// Maximum number of words of a text of one line that is not a report.
const MIN_WORDS: usize = 40;
/// Minimum number of words of a text of several lines that is a report.
const MIN_WORDS_OF_LINES: usize = 12;
/// Maximum length of the text that is parsed. Of a longer text, the beginning and the end are.
const MAX_BYTES: usize = 96 * 1024;
/// Maximum number of identifiers of each kind.
const MAX_NAMES: usize = 40;

/// The parts of a long query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The subject: the first line or sentence, without tags.
    pub title: String,
    /// Sentences without the title, code and noise.
    pub prose: String,
    /// Code blocks, without traces.
    pub code: String,
    /// Frames of all stack traces; of each trace, the innermost frame first.
    pub frames: Vec<Frame>,
    /// Files, and lines of files, outside of traces.
    pub mentions: Vec<Mention>,
    /// Modules and types with their qualifiers, as `a.b.c`, of at least two segments.
    pub modules: Vec<String>,
    /// Identifiers of the title, and identifiers that are formatted as code.
    pub names: Vec<String>,
    /// Other identifiers of the prose.
    pub other_names: Vec<String>,
    /// Texts that the code may have verbatim.
    pub messages: Vec<Message>,
}

impl Report {
    /// Parses `text`; `None` if it is a query of a few words.
    pub fn parse(text: &str) -> Option<Report> {
        is_report(text).then(|| Report::from_short(&shortened(text)))
    }

    fn from_short(text: &str) -> Report {
        let lines = Lines::parse(text);

        let (mut title, prose) = title::split(&lines.prose);
        if title.is_empty() {
            // A text without prose has its error as title, or else its first line.
            let first = text.lines().map(str::trim).find(|line| !line.is_empty());
            title = title::split(lines.errors.first().map_or(first.unwrap_or_default(), String::as_str)).0;
        }

        let names = names_of(&title, &prose);
        let mut other_names = text::identifiers(&prose);
        other_names.retain(|name| !names.contains(name));

        let readable = format!("{title}\n{prose}");
        let mut mentions = places::mentions(&readable);
        for mention in places::mentions(&lines.code).into_iter().chain(places::mentions(&lines.links)) {
            if !mentions.contains(&mention) {
                mentions.push(mention);
            }
        }

        Report {
            modules: places::modules(&readable),
            messages: messages::collect(&title, &prose, &lines.errors),
            frames: lines.frames,
            code: lines.code,
            title,
            prose,
            mentions,
            names,
            other_names,
        }
    }
}

/// Returns `query` in one line, for a heading: of a report, its title.
pub fn heading(query: &str) -> Cow<'_, str> {
    match Report::parse(query) {
        Some(report) => report.title.into(),
        None => query.into(),
    }
}

/// Returns whether `text` has several lines, or is long.
pub fn is_report(text: &str) -> bool {
    let n_lines = text.lines().filter(|line| !line.trim().is_empty()).take(2).count();
    let least = if n_lines > 1 { MIN_WORDS_OF_LINES } else { MIN_WORDS + 1 };

    text.split_whitespace().take(least).count() == least
}

/// Returns the first two thirds and the last third of [`MAX_BYTES`] of a longer text.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_BYTES {
        return text.into();
    }

    let head = text.floor_char_boundary(MAX_BYTES / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - MAX_BYTES / 3);

    format!("{}\n{}", &text[..head], &text[tail..]).into()
}

/// Returns identifiers of the title, then identifiers between back-ticks.
fn names_of(title: &str, prose: &str) -> Vec<String> {
    let mut names = text::identifiers(title);
    let spans = prose.split('`').skip(1).step_by(2).filter(|span| !span.contains('\n'));

    for span in spans {
        for name in text::identifiers(&format!("`{span}`")) {
            if names.len() < MAX_NAMES && !names.contains(&name) && span.split_whitespace().count() <= 3 {
                names.push(name);
            }
        }
    }

    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_several_lines_or_many_words() {
        assert!(!is_report("where are expired tokens refreshed"));
        assert!(!is_report("one\ntwo"));
        assert!(is_report("one two three four five six\nseven eight nine ten eleven twelve"));
        assert!(is_report(&"word ".repeat(41)));
        assert!(!is_report(&"word ".repeat(40)));
    }

    #[test]
    fn an_issue_is_taken_apart() {
        let report = Report::parse(
            "[Bug]: Cookies with `SameSite` are dropped (#123)\n\
             \n\
             ### Describe the bug\n\
             <!-- a clear description -->\n\
             After a redirect `CookieJar.update_cookies` loses them, see `src/jar.py`.\n\
             Also http.cookies.morsel is involved.\n\
             \n\
             ```python\n\
             jar = make_jar()\n\
             ```\n\
             \n\
             ```\n\
             Traceback (most recent call last):\n\
             \x20 File \"/usr/lib/python3.11/site-packages/web/client.py\", line 12, in get\n\
             \x20   return await self._request(url)\n\
             \x20 File \"/usr/lib/python3.11/site-packages/web/jar.py\", line 40, in filter\n\
             ValueError: cookie domain is not allowed here\n\
             ```\n\
             \n\
             ### Versions\n\
             Python 3.11.2\n\
             web 2.0\n\
             - [x] I have searched the existing issues\n",
        )
        .unwrap();
        assert_eq!(report.title, "Cookies with `SameSite` are dropped");
        assert_eq!(report.names, ["SameSite", "CookieJar.update_cookies", "src/jar.py"]);
        let functions: Vec<_> = report.frames.iter().filter_map(|it| it.function.as_deref()).collect();
        assert_eq!(functions, ["filter", "get"], "innermost first");
        assert_eq!(report.mentions[0].path, "src/jar.py");
        assert_eq!(report.modules, ["CookieJar.update_cookies", "http.cookies.morsel"]);
        assert_eq!(report.code.trim(), "jar = make_jar()");
        assert_eq!(report.messages[0].text, "cookie domain is not allowed here");
        for noise in ["Describe", "clear description", "3.11", "searched", "Traceback", "make_jar"] {
            assert!(!report.prose.contains(noise), "{noise}: {}", report.prose);
        }
    }

    #[test]
    fn of_a_very_long_text_both_ends_are_looked_at() {
        let text = format!("the start fails here\n{}\nlast_call() é", "é padding text\n".repeat(20_000));
        let report = Report::parse(&text).unwrap();
        assert_eq!(report.title, "the start fails here");
        assert!(report.prose.contains("last_call"));
    }
}
