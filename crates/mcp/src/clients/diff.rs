//! Unified diffs of edits. An edit changes one range of text, so a diff has one hunk.

use std::fmt::Write as _;

const CONTEXT: usize = 3;
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// Returns the diff of the file `name` from `old` to `new`, where `None` means no file. Empty if the texts
/// are equal.
pub fn unified(name: &str, old: Option<&str>, new: Option<&str>) -> String {
    if old == new {
        return String::new();
    }

    let before: Vec<&str> = old.unwrap_or_default().split_inclusive('\n').collect();
    let after: Vec<&str> = new.unwrap_or_default().split_inclusive('\n').collect();
    let prefix = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    // The common suffix must not overlap the common prefix.
    let rest = before.len().min(after.len()) - prefix;
    let suffix = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();

    let (from, tail) = (prefix.saturating_sub(CONTEXT), suffix.min(CONTEXT));
    let (old_end, new_end) = (before.len() - suffix, after.len() - suffix);

    let mut out = String::new();
    let _ = writeln!(out, "--- {}\n+++ {}", file_header(name, old), file_header(name, new));
    let _ =
        writeln!(out, "@@ -{} +{} @@", line_range(from, old_end + tail), line_range(from, new_end + tail));

    write_lines(&mut out, ' ', &before[from..prefix]);
    write_lines(&mut out, '-', &before[prefix..old_end]);
    write_lines(&mut out, '+', &after[prefix..new_end]);
    write_lines(&mut out, ' ', &after[new_end..new_end + tail]);
    out
}

/// The name of a file in a header; `/dev/null` if there is no file.
fn file_header<'n>(name: &'n str, text: Option<&str>) -> &'n str {
    if text.is_some() { name } else { "/dev/null" }
}

/// The 0-based lines `from..end` as a range of a hunk: the first line, 1-based, and the number of lines. An
/// empty range names the line before it.
fn line_range(from: usize, end: usize) -> String {
    let n = end - from;
    format!("{},{n}", if n == 0 { from } else { from + 1 })
}

fn write_lines(out: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        let _ = match line.strip_suffix('\n') {
            Some(line) => writeln!(out, "{mark}{line}"),
            None => writeln!(out, "{mark}{line}\n{NO_NEWLINE}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_has_three_lines_of_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\n5\nnew\n6\n7\n8\n9\n";
        assert_eq!(
            unified("f", Some(old), Some(new)),
            "--- f\n+++ f\n@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n"
        );
        assert_eq!(unified("f", Some(old), Some(old)), "");
    }

    #[test]
    fn new_and_removed_files_and_a_missing_final_newline() {
        assert_eq!(unified("f", None, Some("a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("f", Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
        let end = unified("f", Some("a\nb"), Some("a\nb\nc\n"));
        assert_eq!(end, "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n");
    }
}
