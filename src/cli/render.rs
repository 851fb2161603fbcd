//! Text that is safe to print: escapes, colours, links, numbers.

use std::fmt::{Display, Write as _};
use std::io::Write;
use std::path::Path;

use clap::builder::styling::{AnsiColor, Color, Style};

use codeweaver_chunk::syntax::SyntaxKind;
use codeweaver_text::safe_json;

pub use codeweaver_text::{ago, bytes, count, duration, plural, safe};

/// As [`safe`], for each line.
pub fn safe_lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}

/// Serialises `value` as JSON in which no character acts on a terminal.
pub fn json(value: &impl serde::Serialize, pretty: bool) -> Result<String, serde_json::Error> {
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }?;
    Ok(safe_json(text))
}

/// Writes `value` as [`json`] would return it, and a line feed.
///
/// # Errors
/// Those of `out`, and of a value that is not complete.
pub fn write_json(out: &mut impl Write, value: &impl serde::Serialize) -> std::io::Result<()> {
    serde_json::to_writer_pretty(SafeJson(&mut *out), value)?;
    writeln!(out)
}

/// A writer of JSON in which no character acts on a terminal. Each write has whole characters, as those of a
/// serialiser do.
struct SafeJson<W>(W);

impl<W: Write> Write for SafeJson<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        if bytes.iter().all(is_plain) {
            self.0.write_all(bytes)?;
        } else {
            let text = std::str::from_utf8(bytes).map_err(std::io::Error::other)?;
            self.0.write_all(safe_json(text.to_owned()).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Returns `path` for display: relative to the current directory if it is below it, with unsafe characters
/// escaped.
pub fn shown_path(path: &Path) -> String {
    let below = std::env::current_dir().ok().and_then(|cwd| Some(path.strip_prefix(cwd).ok()?.to_path_buf()));
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => safe(&below.to_string_lossy()).into_owned(),
        None => safe(&path.to_string_lossy()).into_owned(),
    }
}

/// The line of a warning on stderr.
pub fn warning(paint: Paint, message: &str) -> String {
    format!("{} {}", paint.warning("warning:"), safe(message))
}

/// Text styles, switched on or off as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

    /// Emphasises a word of the query in the style of `git grep`.
    pub fn matched(self, text: impl Display) -> String {
        self.in_colour(AnsiColor::Red, text)
    }

    /// A piece of code, in one of the sixteen colours that the scheme of the terminal makes readable.
    pub fn syntax(self, kind: SyntaxKind, text: impl Display) -> String {
        let colour = match kind {
            SyntaxKind::Comment => return self.dim(text),
            SyntaxKind::Literal => AnsiColor::Green,
            SyntaxKind::Number => AnsiColor::Cyan,
            SyntaxKind::Keyword => AnsiColor::Magenta,
            SyntaxKind::Type => AnsiColor::Yellow,
            SyntaxKind::Function => AnsiColor::Blue,
        };
        self.in_style(Style::new().fg_color(Some(Color::Ansi(colour))), text)
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

/// The path as it stands in a URI. There, a path of Windows is `/C:/dir`.
fn percent_encoded(path: &Path) -> String {
    let mut out = String::from(if cfg!(windows) { "/" } else { "" });
    for &byte in path.as_os_str().as_encoded_bytes() {
        let byte = if cfg!(windows) && byte == b'\\' { b'/' } else { byte };
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped() {
        assert_eq!(safe_lines("a\r\nb\rc\n"), "a\nb\\rc");
    }

    #[test]
    fn json_escapes_terminal_controls_and_decodes_to_the_same_text() {
        let nasty = "\x1b[31m \u{9b}31m \u{202e} \u{e0001} \u{7f} ok";
        let text = json(&nasty, false).unwrap();
        assert!(text.is_ascii(), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), nasty);

        let (mut written, value) = (Vec::new(), vec![nasty, "é\n\t"]);
        write_json(&mut written, &value).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), json(&value, true).unwrap() + "\n");
    }

    #[test]
    fn links_are_percent_encoded_and_need_colours() {
        let path = Path::new("/a b/ü.rs");
        assert_eq!(Paint::off().link(path, 3, "t"), "t");
        assert_eq!(Paint::on().link(path, 3, "t"), "\x1b]8;;file:///a%20b/%C3%BC.rs#L3\x1b\\t\x1b]8;;\x1b\\");
    }
}
