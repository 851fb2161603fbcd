//! The table of delimiter families, `data/families.txt`, compiled to [`Family`] values.

use std::sync::LazyLock;

use codeweaver_config::CustomDelimiter;

use super::{Anchor, BLANKS, Delimiter, Extent, Family, Layout, Skip, Token, kind};

pub(super) const SOURCE: &str = include_str!("../../data/families.txt");

/// Returns the names of all families, in the order of the table.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|&(name, ..)| name)
}

/// Compiles the family of that name with `custom` delimiters in front. If there is no such section, the
/// family has no lines of its own.
pub(super) fn compile(name: &str, custom: &[CustomDelimiter]) -> Family {
    let mut builder = Builder::default();
    for delimiter in custom {
        builder.custom(delimiter);
    }

    builder.n_custom = index_u16(builder.delimiters.len());
    builder.family(name, 0);
    builder.finish()
}

/// Name, parent and lines of a section.
type Section = (&'static str, Option<&'static str>, Vec<&'static str>);

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(sections);

/// Splits the table into its sections.
fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();

    for line in SOURCE.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (name, parent) = match header.split_once(':') {
                Some((name, parent)) => (name.trim(), Some(parent.trim())),
                None => (header, None),
            };
            sections.push((name, parent, Vec::new()));
        } else if let Some((_, _, lines)) = sections.last_mut() {
            lines.push(line);
        }
    }

    sections
}

#[derive(Default)]
struct Builder {
    ignore_case: bool,
    newline_ends: bool,
    column_0_resets: bool,
    wants_paren_body: bool,
    last_body: bool,
    numbered_lines: bool,
    delimiters: Vec<Delimiter>,
    layout: Vec<(Layout, u16)>,
    skips: Vec<Skip>,
    tokens: Vec<Token>,
    n_custom: u16,
    /// Lines and flags of the table that are not valid. A test checks that there are none.
    unknown: Vec<String>,
}

impl Builder {
    /// Adds a family's own lines, then those of its parent. The first claim of a token wins.
    fn family(&mut self, name: &str, depth: usize) {
        let Some((_, parent, lines)) = SECTIONS.iter().find(|(other, ..)| *other == name) else { return };
        for line in lines {
            self.line(line);
        }
        // The bound ends a cycle of parents.
        if let Some(parent) = parent.filter(|_| depth < 8) {
            self.family(parent, depth + 1);
        }
    }

    /// Adds one line of the table.
    fn line(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();

        match first {
            "ignore_case" => self.ignore_case = true,
            "newline_ends" => self.newline_ends = true,
            "column_0_resets" => self.column_0_resets = true,
            "paren_body" => self.wants_paren_body = true,
            "last_body" => self.last_body = true,
            "numbered_lines" => self.numbered_lines = true,
            "line_comment" | "line_skip" => {
                let continued = first == "line_skip";
                for start in rest {
                    let skip = Skip { is_comment: !continued, continued, ..Skip::line() };
                    self.skip(start, skip);
                }
            }
            "block_comment" => {
                if let [open, close, flags @ ..] = rest.as_slice() {
                    let close = parse_token(close).1;
                    let nested = flags.contains(&"nested");
                    self.skip(
                        open,
                        Skip { close, nested, is_comment: true, multiline: true, ..Skip::line() },
                    );
                }
            }
            "string" | "char" => {
                let marks: Vec<&str> =
                    rest.iter().copied().filter(|word| !matches!(*word, "multiline" | "raw")).collect();
                if let [open, ..] = marks.as_slice() {
                    let close = parse_token(marks.get(1).unwrap_or(open)).1;
                    let escapes = !rest.contains(&"raw");
                    let (multiline, short) = (rest.contains(&"multiline"), first == "char");
                    self.skip(open, Skip { close, escapes, multiline, short, ..Skip::line() });
                }
            }
            _ => match line.split_once(": ") {
                Some((kind, rest)) => self.delimiter_line(kind, rest),
                None => self.unknown.push(line.to_owned()),
            },
        }
    }

    /// Adds a comment or literal that `start` begins.
    fn skip(&mut self, start: &str, skip: Skip) {
        let index = index_u16(self.skips.len());
        self.skips.push(skip);
        let token = self.token(start);
        token.skip.get_or_insert(index);
    }

    /// Adds a line of starts, ends and flags: `kind: start … => end … ; flag …`.
    fn delimiter_line(&mut self, kind_name: &str, line: &str) {
        let (line, flags) = line.split_once(" ; ").unwrap_or((line, ""));
        let Some((starts, ends)) = line.split_once(" => ") else {
            self.unknown.push(line.to_owned());
            return;
        };

        let (kind, mut priority) = kind(kind_name);
        let (mut inclusive, mut whole_lines, mut nestable, mut soft) = (true, true, true, false);

        for flag in flags.split_ascii_whitespace() {
            match flag {
                "flat" => nestable = false,
                "partial" => whole_lines = false,
                "exclusive" => inclusive = false,
                "soft" => soft = true,
                _ => match flag.strip_prefix("priority=").and_then(|number| number.parse().ok()) {
                    Some(number) => priority = number,
                    None => self.unknown.push(flag.to_owned()),
                },
            }
        }

        let extent = Extent::Pair;
        let delimiter = Delimiter { kind, priority, inclusive, whole_lines, nestable, soft, extent };
        let starts: Vec<&str> = starts.split_ascii_whitespace().collect();
        let ends: Vec<&str> = ends.split_ascii_whitespace().collect();
        self.delimiter(delimiter, &starts, &ends);
    }

    /// Adds a delimiter of the settings, unless it has no start or no end.
    fn custom(&mut self, custom: &CustomDelimiter) {
        let starts: Vec<String> =
            custom.starts.iter().map(|mark| escaped(mark)).filter(|mark| !mark.is_empty()).collect();
        let ends: Vec<String> =
            custom.ends.iter().map(|mark| escaped(mark)).filter(|mark| !mark.is_empty()).collect();

        let (kind, _) = kind(&custom.kind);
        let delimiter = Delimiter {
            kind,
            priority: custom.priority,
            inclusive: custom.inclusive,
            whole_lines: custom.take_whole_lines,
            nestable: custom.nestable,
            soft: false,
            extent: Extent::Pair,
        };

        let starts: Vec<&str> = starts.iter().map(String::as_str).collect();
        let ends: Vec<&str> = ends.iter().map(String::as_str).collect();
        if !starts.is_empty() && !ends.is_empty() {
            self.delimiter(delimiter, &starts, &ends);
        }
    }

    /// Adds a delimiter with its tokens or its layout.
    fn delimiter(&mut self, mut delimiter: Delimiter, starts: &[&str], ends: &[&str]) {
        let index = index_u16(self.delimiters.len());
        delimiter.extent = match ends {
            ["<body>"] => Extent::Body,
            ["<dedent>"] => Extent::Dedent,
            ["<next>"] => Extent::Next,
            ["<line>"] => Extent::Line,
            ["<blank>"] => Extent::Blank,
            ["<tag>"] => Extent::Tag,
            _ => Extent::Pair,
        };

        // A mark that is both start and end cannot nest.
        delimiter.nestable &= !starts.iter().any(|start| ends.contains(start));

        for start in starts {
            let layout = match *start {
                "<top>" => Layout::Top,
                "<indent>" => Layout::Indent,
                "<label>" => Layout::Label,
                "<tag>" => Layout::Tag,
                "<paragraph>" => Layout::Paragraph,
                _ => {
                    self.token(start).opens.get_or_insert(index);
                    continue;
                }
            };
            self.layout.push((layout, index));
        }

        if delimiter.extent == Extent::Pair {
            for end in ends {
                self.token(end).set_closes(index);
            }
        }

        self.delimiters.push(delimiter);
    }

    /// Returns the token of a mark, added if it is new.
    fn token(&mut self, text: &str) -> &mut Token {
        let (anchor, bytes) = parse_token(text);
        let found = self.tokens.iter().position(|token| token.bytes == bytes && token.anchor == anchor);

        let index = found.unwrap_or_else(|| {
            self.tokens.push(Token { bytes, anchor, skip: None, opens: None, closes: Vec::new() });
            self.tokens.len() - 1
        });
        &mut self.tokens[index]
    }

    /// Adds the implied delimiters and completes the family.
    fn finish(mut self) -> Family {
        let has_bodies = self.delimiters.iter().any(|delimiter| delimiter.extent == Extent::Body);

        // Bodies need braces, even in families without blocks.
        if has_bodies && !self.tokens.iter().any(|token| token.bytes == b"{" && token.opens.is_some()) {
            self.delimiter(implied("block"), &["{"], &["}"]);
        }

        let paren_body = self.wants_paren_body.then(|| index_u16(self.delimiters.len()));
        if self.wants_paren_body {
            self.delimiters.push(implied("function"));
        }

        if has_bodies || self.wants_paren_body {
            for index in 0..self.delimiters.len() {
                if self.delimiters[index].extent == Extent::Body {
                    self.token("}").set_closes(index_u16(index));
                }
            }
        }

        let comment = index_u16(self.delimiters.len());
        self.delimiters.push(implied("comment_block"));

        // Bytes of the text are compared in lower case.
        if self.ignore_case {
            self.tokens.iter_mut().for_each(|token| token.bytes.make_ascii_lowercase());
        }

        Family {
            dispatch: dispatch(&self.tokens, self.ignore_case),
            ignore_case: self.ignore_case,
            newline_ends: self.newline_ends,
            column_0_resets: self.column_0_resets,
            has_bodies,
            paren_body,
            last_body: self.last_body,
            numbered_lines: self.numbered_lines,
            delimiters: self.delimiters,
            layout: self.layout,
            skips: self.skips,
            tokens: self.tokens,
            comment,
            n_custom: self.n_custom,
        }
    }
}

/// Returns a delimiter of the default priority that no line of the table defines.
fn implied(kind_name: &str) -> Delimiter {
    let (kind, priority) = kind(kind_name);
    Delimiter {
        kind,
        priority,
        inclusive: true,
        whole_lines: true,
        nestable: true,
        soft: false,
        extent: Extent::Body,
    }
}

/// Returns a mark of the settings as the table writes it, with `~` for blanks.
fn escaped(mark: &str) -> String {
    mark.trim().replace([' ', '\t'], "~")
}

impl Skip {
    /// Returns a skip to the end of the line.
    fn line() -> Skip {
        Skip {
            close: Vec::new(),
            is_comment: false,
            nested: false,
            multiline: false,
            escapes: false,
            short: false,
            continued: false,
        }
    }
}

/// Returns the indices of the tokens by first byte, longer tokens and stricter anchors first.
fn dispatch(tokens: &[Token], ignore_case: bool) -> Vec<Vec<u16>> {
    let mut dispatch: Vec<Vec<u16>> = vec![Vec::new(); 256];
    let mut order: Vec<u16> = (0..index_u16(tokens.len())).collect();
    order.sort_by_key(|&index| {
        let token = &tokens[usize::from(index)];
        (std::cmp::Reverse(token.bytes.len()), token.anchor, index)
    });

    for index in order {
        let Some(&first) = tokens[usize::from(index)].bytes.first() else { continue };
        dispatch[usize::from(first)].push(index);
        if ignore_case && first.is_ascii_lowercase() {
            dispatch[usize::from(first.to_ascii_uppercase())].push(index);
        }
    }

    dispatch
}

/// Parses a mark as written in the table to its anchor and bytes.
fn parse_token(text: &str) -> (Anchor, Vec<u8>) {
    let (anchor, text) = match (text.strip_prefix("^^"), text.strip_prefix('^')) {
        (Some(rest), _) if !rest.is_empty() => (Anchor::Column0, rest),
        (None, Some(rest)) if rest.len() > 1 && rest.starts_with('7') => (Anchor::Column7, &rest[1..]),
        (None, Some(rest)) if !rest.is_empty() => (Anchor::LineStart, rest),
        _ => (Anchor::Anywhere, text),
    };

    let mut bytes = Vec::with_capacity(text.len());

    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (*first, tail) {
            (b'\\', [next @ b';', tail @ ..]) => {
                bytes.push(*next);
                tail
            }
            (b'\\', [b'=', b'>', ..]) => tail,
            (b'~', _) => {
                bytes.push(BLANKS);
                tail
            }
            (other, _) => {
                bytes.push(other);
                tail
            }
        };
    }

    (anchor, bytes)
}

/// Returns a 16-bit index, saturating. The table is far smaller; settings exceed 16 bits only with tens of
/// thousands of delimiters.
fn index_u16(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language;

    #[test]
    fn every_line_of_the_table_is_understood() {
        for (name, parent, lines) in SECTIONS.iter() {
            assert!(!lines.is_empty() || parent.is_some(), "{name} is empty");
            if let Some(parent) = parent {
                assert!(names().any(|name| name == *parent), "{name} : {parent}");
            }
            let mut builder = Builder::default();
            builder.family(name, 0);
            assert!(builder.unknown.is_empty(), "{name}: {:?}", builder.unknown);
            for line in lines.iter().filter(|line| line.contains(" => ")) {
                let kind_name = line.split(':').next().unwrap();
                assert!(super::super::KINDS.iter().any(|(kind, _)| *kind == kind_name), "{name}: {line}");
            }
        }
    }

    #[test]
    fn every_language_has_a_family() {
        for language in language::all() {
            let family = language.family();
            assert!(names().any(|name| name == family), "{}: {family}", language.name());
        }
    }

    #[test]
    fn marks_have_anchors_blanks_and_escapes() {
        assert_eq!(parse_token("^^def"), (Anchor::Column0, b"def".to_vec()));
        assert_eq!(parse_token("^7*"), (Anchor::Column7, b"*".to_vec()));
        assert_eq!(parse_token("^end~if"), (Anchor::LineStart, b"end\x1fif".to_vec()));
        assert_eq!(parse_token("\\;"), (Anchor::Anywhere, b";".to_vec()));
        assert_eq!(parse_token("\\=>"), (Anchor::Anywhere, b"=>".to_vec()));
        assert_eq!(parse_token("\\begin{"), (Anchor::Anywhere, b"\\begin{".to_vec()));
        assert_eq!(parse_token("^"), (Anchor::Anywhere, b"^".to_vec()));
    }
}
