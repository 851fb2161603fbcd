//! Text that is safe to print: escapes, colours, links, numbers.

use crate::git::quoting;
use clap::builder::styling::{AnsiColor, Color, Style};
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::path::Path;
use std::time::Duration;

pub use crate::text::{bytes, count, plural};

/// Returns `text` on one line with every character escaped that acts on a terminal or is hidden by it: C0 and
/// C1 control characters, and characters that reorder or hide text. A tab becomes four blanks.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if is_unsafe(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// As [`safe`], for each line.
pub fn safe_lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}

fn is_unsafe(c: char) -> bool {
    quoting::is_unprintable(c)
}

/// Serialises `value` as JSON in which no character acts on a terminal. The serialiser escapes C0; other
/// unsafe characters are escaped here, which is sound because they occur only within strings.
pub fn json(value: &impl serde::Serialize, pretty: bool) -> Result<String, serde_json::Error> {
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }?;
    if !text.chars().any(|c| c != '\n' && is_unsafe(c)) {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c == '\n' || !is_unsafe(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    Ok(out)
}

/// Text styles, switched on or off as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    pub fn on() -> Paint {
        Paint { is_on: true }
    }

    pub fn off() -> Paint {
        Paint { is_on: false }
    }

    pub fn when(is_on: bool) -> Paint {
        Paint { is_on }
    }

    pub fn is_on(self) -> bool {
        self.is_on
    }

    fn in_style(self, style: Style, text: impl Display) -> String {
        if self.is_on { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    fn in_colour(self, colour: AnsiColor, text: impl Display) -> String {
        self.in_style(Style::new().bold().fg_color(Some(Color::Ansi(colour))), text)
    }

    pub fn error(self, text: impl Display) -> String {
        self.in_colour(AnsiColor::Red, text)
    }

    pub fn warning(self, text: impl Display) -> String {
        self.in_colour(AnsiColor::Yellow, text)
    }

    pub fn good(self, text: impl Display) -> String {
        self.in_colour(AnsiColor::Green, text)
    }

    pub fn title(self, text: impl Display) -> String {
        self.in_colour(AnsiColor::Cyan, text)
    }

    pub fn bold(self, text: impl Display) -> String {
        self.in_style(Style::new().bold(), text)
    }

    /// A word of the query, as `git grep` shows it.
    pub fn matched(self, text: impl Display) -> String {
        self.in_colour(AnsiColor::Red, text)
    }

    pub fn plain(self, text: impl Display) -> String {
        text.to_string()
    }

    pub fn dim(self, text: impl Display) -> String {
        self.in_style(Style::new().dimmed(), text)
    }

    /// Returns `text` as a hyperlink (OSC 8) to a line of a file. Without colours or with a relative path,
    /// returns it unchanged.
    pub fn link(self, path: &Path, line: u32, text: &str) -> String {
        if !self.is_on || !path.is_absolute() {
            return text.to_owned();
        }
        format!("\x1b]8;;file://{}#L{line}\x1b\\{text}\x1b]8;;\x1b\\", percent_encoded(path))
    }
}

fn percent_encoded(path: &Path) -> String {
    let mut out = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Formats a duration: `12 ms`, `3.4 s`, `2 min 05 s`, `3 h 12 min`.
pub fn duration(duration: Duration) -> String {
    let (ms, s) = (duration.as_millis(), duration.as_secs());
    match s {
        _ if ms < 1000 => format!("{ms} ms"),
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s / 60 % 60),
    }
}

/// Formats the age of `then`: `3 minutes ago`. Both times are in seconds since 1970.
pub fn ago(then: u64, now: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let seconds = now.saturating_sub(then);
    match UNITS.iter().find(|(length, _)| seconds >= *length) {
        Some((length, unit)) => format!("{} ago", plural(seconds / length, unit)),
        None => "just now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped() {
        assert_eq!(safe("plain ünïcode 漢字"), "plain ünïcode 漢字");
        assert_eq!(
            safe("\x1b]0;owned\x07\t\u{9b}31m\u{202e}x"),
            "\\u{1b}]0;owned\\u{7}    \\u{9b}31m\\u{202e}x"
        );
        assert_eq!(safe_lines("a\r\nb\rc\n"), "a\nb\\rc");
    }

    #[test]
    fn json_escapes_terminal_controls_and_decodes_to_the_same_text() {
        let nasty = "\x1b[31m \u{9b}31m \u{202e} \u{e0001} \u{7f} ok";
        let text = json(&nasty, false).unwrap();
        assert!(text.is_ascii(), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), nasty);
    }

    #[test]
    fn times_are_formatted_for_people() {
        let shown = [5, 3400, 125_000, 11_520_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(shown, ["5 ms", "3.4 s", "2 min 05 s", "3 h 12 min"]);
        assert_eq!([ago(10, 10), ago(10, 11), ago(10, 200)], ["just now", "1 second ago", "3 minutes ago"]);
    }

    #[test]
    fn links_are_percent_encoded_and_need_colours() {
        let path = Path::new("/a b/ü.rs");
        assert_eq!(Paint::off().link(path, 3, "t"), "t");
        assert_eq!(Paint::on().link(path, 3, "t"), "\x1b]8;;file:///a%20b/%C3%BC.rs#L3\x1b\\t\x1b]8;;\x1b\\");
    }
}
