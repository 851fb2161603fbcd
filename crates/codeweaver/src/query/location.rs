//! Location: a file and some of its lines, in the forms in which people and programs write them.

/// A file as typed, and the lines of it that are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    /// The text before the lines.
    pub file: &'a str,
    /// First and last line, from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
}

impl<'a> Location<'a> {
    /// Reads `FILE`, `FILE:LINE`, `FILE:FROM-TO`, `FILE:LINE:COLUMN` as compilers print it (some with two
    /// columns), and the anchors of code hosts: `FILE#L3`, `FILE#L3-L5`, `FILE#L3C1-L5C9`. Any other text is
    /// the name of a file.
    pub fn parse(typed: &'a str) -> Location<'a> {
        let (file, lines) = anchored(typed)
            .or_else(|| with_column(typed))
            .or_else(|| with_lines(typed))
            .map_or((typed, None), |(file, lines)| (file, Some(lines)));
        Location { file, lines }
    }

    /// The first of the lines.
    pub fn line(&self) -> Option<u32> {
        self.lines.map(|(first, _)| first)
    }
}

/// Reads `FILE#L3-L5`.
fn anchored(typed: &str) -> Option<(&str, (u32, u32))> {
    let (file, anchor) = typed.rsplit_once("#L")?;
    let (from, to) = anchor.split_once('-').unwrap_or((anchor, anchor));
    let lines = (line_of_anchor(from)?, line_of_anchor(to)?);
    (!file.is_empty() && is_span(lines)).then_some((file, lines))
}

/// Reads `3`, `L3` or `L3C7`.
fn line_of_anchor(text: &str) -> Option<u32> {
    let text = text.strip_prefix('L').unwrap_or(text);
    let (line, column) = text.split_once('C').unwrap_or((text, "1"));
    column.parse::<u32>().ok()?;
    line.parse().ok()
}

/// Reads `FILE:LINE:COLUMN` or `FILE:LINE:FROM-TO`, with or without a colon at its end.
fn with_column(typed: &str) -> Option<(&str, (u32, u32))> {
    let (place, columns) = typed.strip_suffix(':').unwrap_or(typed).rsplit_once(':')?;
    let (from, to) = columns.split_once('-').unwrap_or((columns, columns));
    from.parse::<u32>().ok()?;
    to.parse::<u32>().ok()?;

    let (file, line) = place.rsplit_once(':')?;
    let line = line.parse().ok()?;
    (!file.is_empty() && is_span((line, line))).then_some((file, (line, line)))
}

/// Reads `FILE:LINE` or `FILE:FROM-TO`.
fn with_lines(typed: &str) -> Option<(&str, (u32, u32))> {
    let (file, lines) = typed.rsplit_once(':')?;
    let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
    let lines = (from.parse().ok()?, to.parse().ok()?);
    (!file.is_empty()).then_some((file, lines))
}

fn is_span((first, last): (u32, u32)) -> bool {
    first > 0 && first <= last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_in_the_forms_of_programs_and_code_hosts() {
        for (typed, file, lines) in [
            ("a.rs", "a.rs", None),
            ("a.rs:7", "a.rs", Some((7, 7))),
            ("a.rs:7-9", "a.rs", Some((7, 9))),
            ("a.rs:7:3", "a.rs", Some((7, 7))),
            ("a.rs:7:3:", "a.rs", Some((7, 7))),
            ("a.rs:7:3-12", "a.rs", Some((7, 7))),
            ("a.rs:7:x-12", "a.rs:7:x-12", None),
            ("a:b.rs:7-9", "a:b.rs", Some((7, 9))),
            ("a.rs#L3", "a.rs", Some((3, 3))),
            ("a.rs#L3-L5", "a.rs", Some((3, 5))),
            ("a.rs#L3-5", "a.rs", Some((3, 5))),
            ("a.rs#L3C1-L5C9", "a.rs", Some((3, 5))),
            ("a:b", "a:b", None),
            ("C#Lib.cs", "C#Lib.cs", None),
            ("a.rs#L5-L3", "a.rs#L5-L3", None),
            ("a.rs:0:1", "a.rs:0", Some((1, 1))),
            // Lines that cannot be are an error of the reader, not a part of the name.
            ("a.rs:9-7", "a.rs", Some((9, 7))),
            (":7", ":7", None),
        ] {
            assert_eq!(Location::parse(typed), Location { file, lines }, "{typed}");
        }
    }
}
