//! The editor of the user, opened at a line.

use std::path::Path;
use std::process::{Command, ExitStatus};

/// Variables that name the editor, as git reads them. Settings of git do not count, because those of a
/// repository are not the user's.
const VARIABLES: [&str; 3] = ["GIT_EDITOR", "VISUAL", "EDITOR"];
/// The editor if no variable names one.
const FALLBACK: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Opens `file` at `line` and waits until the editor ends.
///
/// # Errors
/// The editor cannot be started.
pub fn open(file: &Path, line: u32) -> std::io::Result<ExitStatus> {
    command(&name(), file, line).status()
}

/// The editor that [`open`] starts, with its arguments.
pub fn name() -> String {
    let named = VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
    named.map(|value| value.trim().to_owned()).find(|value| !value.is_empty()).unwrap_or(FALLBACK.to_owned())
}

/// The command that opens `file` at `line` in `editor`, a program with arguments or a path with blanks.
fn command(editor: &str, file: &Path, line: u32) -> Command {
    let (program, arguments) = if Path::new(editor).is_file() {
        (editor, "")
    } else {
        editor.split_once(char::is_whitespace).unwrap_or((editor, ""))
    };

    let mut command = Command::new(program);
    command.args(arguments.split_whitespace());

    let with_line = || format!("{}:{line}", file.display());
    let stem =
        Path::new(program).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.as_str() {
        "code" | "code-insiders" | "codium" | "cursor" | "windsurf" => command.arg("--goto").arg(with_line()),
        "hx" | "helix" | "zed" | "subl" | "sublime_text" => command.arg(with_line()),
        "vi" | "vim" | "nvim" | "view" | "nano" | "emacs" | "emacsclient" | "kak" | "micro" | "joe"
        | "jed" | "mg" | "ne" | "gvim" | "gedit" => command.arg(format!("+{line}")).arg(file),
        _ => command.arg(file),
    };
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_given_as_the_editor_takes_it() {
        let file = Path::new("a b.rs");
        let line_of = |editor| {
            let command = command(editor, file, 7);
            let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
            std::iter::once(command.get_program().to_string_lossy().into_owned())
                .chain(arguments)
                .collect::<Vec<_>>()
        };

        assert_eq!(line_of("vim"), ["vim", "+7", "a b.rs"]);
        assert_eq!(line_of("/usr/bin/emacsclient -t"), ["/usr/bin/emacsclient", "-t", "+7", "a b.rs"]);
        assert_eq!(line_of("code --wait"), ["code", "--wait", "--goto", "a b.rs:7"]);
        assert_eq!(line_of("hx"), ["hx", "a b.rs:7"]);
        assert_eq!(line_of("my-editor -x"), ["my-editor", "-x", "a b.rs"]);
    }
}
