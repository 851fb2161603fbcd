//! Hook scripts: rendering the templates in `hooks/`, and adding, replacing and removing their block in a
//! file.
//!
//! The templates differ only in the event. Each is usable as it is; installation replaces the lines that
//! name the binary and the mode. Only the lines from the first marker to the second are ours.

use std::path::Path;

use gix::bstr::{BString, ByteSlice, ByteVec};

use super::{Event, HookError, HookMode};

const BEGIN: &str = "# >>> codeweaver >>>";
const END: &str = "# <<< codeweaver <<<";
pub(super) const SHEBANG: &str = "#!/bin/sh\n";
/// Suffixes of the first line of a block whose file, or file and directory, we created. `deinit` recognises
/// blocks of earlier versions by these suffixes and the markers, so they never change.
const CREATED_FILE: &str = " (file made by codeweaver)";
const CREATED_DIR: &str = " (file and directory made by codeweaver)";

const BINARY_LINE: &str = "  binary=git-codeweaver\n";
const MODE_LINE: &str = "  mode=background\n";

/// Shells that can run the block. Others, such as fish and csh, cannot.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh", "busybox"];

/// Derives the event from the arguments. Git does not pass the event to a configured hook, but the arguments
/// differ as documented in githooks(5): none, `previous new flag`, `amend|rebase`, and a squash flag.
const EVENT_FROM_ARGUMENTS: &str = "\
case $#,${1-} in
0,*) set -- post-commit ;;
3,*) set -- post-checkout \"$@\" ;;
1,amend|1,rebase) set -- post-rewrite \"$@\" ;;
1,*) set -- post-merge \"$@\" ;;
*) exit 0 ;;
esac
";

/// Binary and mode of an installed script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rendering {
    /// The program as a shell word, or `None` to search `PATH`.
    binary: Option<BString>,
    mode: HookMode,
}

/// Files and directories that we created, so that removal of the block restores the state before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Existing,
    CreatedFile,
    CreatedDir,
}

/// A block in a file, as the byte range to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    start: usize,
    end: usize,
    pub origin: Origin,
}

/// A file with two blocks or half a block, which was edited by hand. Removing a guessed range could remove
/// lines of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

impl Rendering {
    /// Prepares the scripts for a program. `binary` must be absolute; `None` searches `PATH`.
    pub fn new(binary: Option<&Path>, mode: HookMode) -> Result<Rendering, HookError> {
        let binary = binary.map(shell_word).transpose()?;
        Ok(Rendering { binary, mode })
    }

    /// Renders the block: the template from marker to marker, with its final newline.
    fn block(&self, event: Event, origin: Origin) -> BString {
        let template = event.template();
        let body = template.strip_prefix(SHEBANG).unwrap_or(template);
        let (first, rest) = body.split_once('\n').unwrap_or((body, ""));

        let mut block = BString::from(first);
        block.push_str(match origin {
            Origin::Existing => "",
            Origin::CreatedFile => CREATED_FILE,
            Origin::CreatedDir => CREATED_DIR,
        });
        block.push_byte(b'\n');

        block.push_str(self.with_settings(rest));
        block
    }

    /// Renders a new hook file with the block.
    pub fn file(&self, event: Event, origin: Origin) -> BString {
        let mut file = BString::from(SHEBANG);
        file.push_str(self.block(event, origin));
        file
    }

    /// Renders the value of `hook.<name>.command`: one script for all events, without comments and
    /// indentation.
    ///
    /// Git appends ` "$@"` and passes the value to a shell, so it is a function definition followed by a
    /// call.
    pub fn command(&self) -> BString {
        let template = Event::PostCommit.template();
        let lines: String = template
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("( #"))
            .filter(|line| *line != ") || :" && !line.starts_with("set -- "))
            .flat_map(|line| [line.split(" # ").next().unwrap_or(line).trim_end(), "\n"])
            .collect();

        let mut command = BString::from("codeweaver() (\n");
        command.push_str(EVENT_FROM_ARGUMENTS);
        command.push_str(self.with_setting_lines(&lines, BINARY_LINE.trim_start(), MODE_LINE.trim_start()));
        command.push_str(")\ncodeweaver");
        command
    }

    fn with_settings(&self, text: &str) -> BString {
        self.with_setting_lines(text, BINARY_LINE, MODE_LINE)
    }

    /// Replaces the lines that set the binary and the mode.
    fn with_setting_lines(&self, text: &str, binary_line: &str, mode_line: &str) -> BString {
        let mut text = text.to_owned();
        if self.mode == HookMode::Foreground {
            text = text.replacen(mode_line, &mode_line.replace("background", "foreground"), 1);
        }

        let Some(binary) = &self.binary else { return text.into() };
        let line = binary_line.replace("git-codeweaver", "");
        let mut replacement = BString::from(line.trim_end());
        replacement.push_str(binary);
        replacement.push_byte(b'\n');
        text.as_bytes().replacen(binary_line, &replacement, 1).into()
    }

    /// Returns `text` with our block: replaced in its place, or else added below the shebang, since an `exit`
    /// or `exec` could keep a later block from running. All other bytes stay.
    pub fn insert(&self, event: Event, text: &[u8]) -> Result<BString, Damaged> {
        let (before, after, origin) = match find(text)? {
            Some(block) => (&text[..block.start], &text[block.end..], block.origin),
            None => {
                let at = if text.starts_with(b"#!") { line_end(text, 0) } else { 0 };
                (&text[..at], &text[at..], Origin::Existing)
            }
        };

        let mut out = BString::from(before);
        let block = self.block(event, origin);
        if before.last().is_some_and(|byte| *byte != b'\n') {
            // After a shebang without newline, the block starts with a newline and omits its last one.
            out.push_byte(b'\n');
            out.push_str(block.trim_end());
        } else {
            out.push_str(block);
        }

        out.push_str(after);
        Ok(out)
    }
}

/// Finds our block. `Ok(None)` if there is none.
pub(super) fn find(text: &[u8]) -> Result<Option<Block>, Damaged> {
    let mut open: Option<(usize, Origin)> = None;
    let mut found = None;
    let mut start = 0;

    while start < text.len() {
        let end = line_end(text, start);
        let line = text[start..end].trim_end();
        if line.starts_with_str(BEGIN) {
            if open.is_some() || found.is_some() {
                return Err(Damaged);
            }
            open = Some((start, origin_of(line)));
        } else if line == END.as_bytes() {
            let (begin, origin) = open.take().ok_or(Damaged)?;
            let no_newline = !text[start..end].ends_with(b"\n");
            let begin = if no_newline { begin.saturating_sub(1) } else { begin };
            found = Some(Block { start: begin, end, origin });
        }

        start = end;
    }

    if open.is_some() { Err(Damaged) } else { Ok(found) }
}

/// Returns `text` without the block; `None` if the file should be removed because we created all of it.
pub(super) fn without(text: &[u8], block: Block) -> Option<BString> {
    let rest: BString = [&text[..block.start], &text[block.end..]].concat().into();
    (block.origin == Origin::Existing || rest != SHEBANG).then_some(rest)
}

/// Returns the program recorded in an installed script or command; `None` if it searches `PATH`.
pub(super) fn recorded_binary(text: &[u8]) -> Option<std::path::PathBuf> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(b"binary='"))?;
    let word = line.strip_suffix(b"'")?;
    Some(word.replace(r"'\''", "'").into_path_buf_lossy())
}

/// Returns whether a POSIX shell runs this file, so that it may contain our block. True for a text without
/// shebang, which git passes to `sh`.
pub(super) fn is_shell_script(text: &[u8]) -> bool {
    if text.contains(&0) {
        return false;
    }
    match text.starts_with(b"#!") {
        true => interpreter(text).is_some_and(|program| SHELLS.contains(&&*program)),
        false => text.to_str().is_ok(),
    }
}

/// The name of the program that runs a script by its first line, also behind `env`; `None` without one.
pub(super) fn interpreter(text: &[u8]) -> Option<String> {
    let shebang = text.strip_prefix(b"#!")?;
    let line = shebang[..line_end(shebang, 0)].to_str_lossy();

    let mut words = line.split_whitespace();
    let mut program = words.next().map(program_name);
    if program == Some("env") {
        program = words.find(|word| !word.starts_with('-') && !word.contains('=')).map(program_name);
    }
    program.map(str::to_owned)
}

fn program_name(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or(word).trim_end_matches(".exe")
}

fn origin_of(line: &[u8]) -> Origin {
    match line {
        line if line.ends_with_str(CREATED_FILE) => Origin::CreatedFile,
        line if line.ends_with_str(CREATED_DIR) => Origin::CreatedDir,
        _ => Origin::Existing,
    }
}

/// The position behind the newline that ends the line from `start` on.
fn line_end(text: &[u8], start: usize) -> usize {
    text[start..].find_byte(b'\n').map_or(text.len(), |at| start + at + 1)
}

/// Quotes `path` in single quotes, inside which a shell treats no character as special.
fn shell_word(path: &Path) -> Result<BString, HookError> {
    let bytes = <[u8]>::from_path(path)
        .filter(|bytes| path.is_absolute() && !bytes.iter().any(|byte| b"\n\r\0".contains(byte)))
        .ok_or_else(|| HookError::UnusableBinaryPath { path: path.to_owned() })?;

    let separators = if cfg!(windows) { bytes.replace("\\", "/") } else { bytes.to_owned() };
    let mut word = BString::from("'");
    word.push_str(separators.replace("'", r"'\''"));
    word.push_byte(b'\'');
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rendering() -> Rendering {
        Rendering::new(Some(Path::new("/opt/it's here/git-codeweaver")), HookMode::Background).unwrap()
    }

    #[test]
    fn the_templates_differ_in_their_event_only() {
        let first = Event::PostCommit.template();
        assert!(first.contains(BINARY_LINE) && first.contains(MODE_LINE));
        for event in Event::ALL {
            let expected =
                first.replace("set -- post-commit \"$@\"", &format!("set -- {} \"$@\"", event.name()));
            assert_eq!(event.template(), expected, "{}", event.name());
            assert_eq!(find(event.template().as_bytes()).unwrap().unwrap().origin, Origin::Existing);
        }
    }

    #[test]
    fn inserting_and_removing_gives_back_every_byte() {
        let table: [&[u8]; 9] = [
            b"#!/bin/sh\nexit 3\n",
            b"#!/bin/sh\r\necho a\r\n",
            b"#!/bin/sh",
            b"#!/usr/bin/env bash\n\n\necho no newline at end",
            b"echo no shebang\n",
            b"",
            b"#!/bin/sh\n",
            b"#!/bin/sh\necho \xff\xfe\n",
            b"\n#!/bin/sh\n# >>> other >>>\n# <<< other <<<\n",
        ];
        for text in table {
            let with = rendering().insert(Event::PostMerge, text).unwrap();
            let block = find(&with).unwrap().unwrap();
            assert_eq!(without(&with, block).unwrap(), text.as_bstr());
            assert_eq!(rendering().insert(Event::PostMerge, &with).unwrap(), with, "idempotent");
        }
    }

    proptest! {
        #[test]
        fn any_hook_is_byte_for_byte_as_before(
            shebang in "(#! ?/(usr/)?bin/(env )?(sh|bash|zsh)( -e)?)?",
            lines in "((\n|\r\n|\r)[a-z#! éÿ\t]{0,6}){0,6}(\n|\r\n)?",
            event in 0..Event::ALL.len(),
            mode in prop::bool::ANY,
        ) {
            let mode = if mode { HookMode::Background } else { HookMode::Foreground };
            let rendering = Rendering::new(Some(Path::new("/a/git-codeweaver")), mode).unwrap();
            let text = shebang + &lines;
            let with = rendering.insert(Event::ALL[event], text.as_bytes()).unwrap();
            let block = find(&with).unwrap().unwrap();
            prop_assert_eq!(without(&with, block).unwrap(), text.as_bytes().as_bstr());
            prop_assert_eq!(rendering.insert(Event::ALL[event], &with).unwrap(), with);
        }
    }

    #[test]
    fn an_old_block_is_replaced_where_it_is() {
        let old = b"#!/bin/sh\necho before\n# >>> codeweaver >>> v0\nold\n# <<< codeweaver <<<\necho after\n";
        let new = rendering().insert(Event::PostCommit, old).unwrap();
        assert!(new.starts_with(b"#!/bin/sh\necho before\n# >>> codeweaver >>>"));
        assert!(new.ends_with(b"# <<< codeweaver <<<\necho after\n"));
        assert!(!new.contains_str("\nold\n"));
    }

    #[test]
    fn damaged_blocks_are_left_alone() {
        let table: [&[u8]; 3] = [
            b"# >>> codeweaver >>>\necho\n",
            b"# <<< codeweaver <<<\n",
            b"# >>> codeweaver >>>\n# <<< codeweaver <<<\n# >>> codeweaver >>>\n# <<< codeweaver <<<\n",
        ];
        for text in table {
            assert_eq!(rendering().insert(Event::PostCommit, text), Err(Damaged));
        }
    }

    #[test]
    fn a_created_file_is_removed_unless_the_user_added_to_it() {
        let made = rendering().file(Event::PostCommit, Origin::CreatedFile);
        assert_eq!(without(&made, find(&made).unwrap().unwrap()), None);
        let mut more = made.clone();
        more.push_str("echo mine\n");
        let block = find(&more).unwrap().unwrap();
        assert_eq!(without(&more, block).unwrap(), "#!/bin/sh\necho mine\n");
        assert_eq!(rendering().insert(Event::PostCommit, &made).unwrap(), made, "keeps its origin");
    }

    #[test]
    fn the_binary_is_quoted_and_read_back() {
        let path = Path::new("/opt/it's here/git-codeweaver");
        for text in [rendering().file(Event::PostCommit, Origin::Existing), rendering().command()] {
            assert!(text.contains_str(r"binary='/opt/it'\''s here/git-codeweaver'"), "{text}");
            assert_eq!(recorded_binary(&text).as_deref(), Some(path));
        }
        assert_eq!(recorded_binary(Event::PostCommit.template().as_bytes()), None);
        for bad in ["relative/path", "/with\nnewline"] {
            assert!(Rendering::new(Some(Path::new(bad)), HookMode::Background).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_mode_is_recorded() {
        let foreground = Rendering::new(None, HookMode::Foreground).unwrap();
        assert!(foreground.file(Event::PostCommit, Origin::Existing).contains_str("\n  mode=foreground\n"));
        assert!(foreground.command().contains_str("\nmode=foreground\n"));
    }

    #[test]
    fn the_configured_command_is_the_script_without_comments() {
        let command = Rendering::new(None, HookMode::Background).unwrap().command();
        let text = command.to_str().unwrap();
        assert!(
            text.starts_with("codeweaver() (\ncase ") && text.ends_with("exit 0\n)\ncodeweaver"),
            "{text}"
        );
        assert!(!text.contains(" # ") && !text.contains("set -- post-commit \"$@\""), "{text}");
        assert!(text.contains("\nbinary=git-codeweaver\nmode=background\n"), "{text}");
    }

    #[test]
    fn shells_are_distinguished_from_other_programs() {
        let table: [(&[u8], bool); 13] = [
            (b"#!/bin/sh\n", true),
            (b"#! /bin/bash -e\n", true),
            (b"#!/usr/bin/env bash\n", true),
            (b"#!/usr/bin/env -S FOO=1 zsh -f\n", true),
            (b"#!C:/Program/bin/sh.exe\n", true),
            (b"echo plain\n", true),
            (b"", true),
            (b"#!/usr/bin/env python3\n", false),
            (b"#!/usr/bin/fish\n", false),
            (b"#!/usr/bin/node\n", false),
            (b"#!\n", false),
            (b"\x7fELF\0\0", false),
            (b"\xff\xfe\xfa", false),
        ];
        for (text, expected) in table {
            assert_eq!(is_shell_script(text), expected, "{}", text.as_bstr());
        }
    }
}
