//! Delimiter families: what starts and ends the parts of a text, as data (C2, appendix D).
//!
//! `data/families.txt` → [`Family`]: a flat list of tokens with what each opens, closes or skips, dispatched by first
//! byte. [`super`] runs over a text with it. Settings add delimiters of their own in front ([`custom`]).

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::chunk::language::{LanguageId, TEXT};
use crate::config::CustomDelimiter;

/// Kinds and their default priorities (appendix D): of two overlapping delimiters the higher one stands.
pub const KINDS: [(&str, u8); 29] = [
    ("module_boundary", 90),
    ("class", 85),
    ("interface", 80),
    ("type_alias", 75),
    ("impl_block", 75),
    ("struct", 75),
    ("extension", 70),
    ("function", 70),
    ("property", 65),
    ("method", 65),
    ("enum", 65),
    ("context_manager", 60),
    ("module", 60),
    ("docstring", 60),
    ("decorator", 55),
    ("namespace", 55),
    ("comment_block", 55),
    ("try_catch", 50),
    ("loop", 50),
    ("conditional", 50),
    ("paragraph", 40),
    ("block", 30),
    ("annotation", 30),
    ("array", 25),
    ("tuple", 20),
    ("comment_line", 20),
    ("template_string", 15),
    ("string", 10),
    ("generic", 3),
];

/// Kinds nothing here produces, but settings may name.
const RARE_KINDS: [(&str, u8); 2] = [("pragma", 5), ("whitespace", 1)];

/// The stored form of a kind and its default priority; `generic` for unknown names.
pub fn kind(name: &str) -> (&'static str, u8) {
    let name = name.trim().to_ascii_lowercase();
    let known = |&&(kind, _): &&(&str, u8)| kind == name;
    KINDS.iter().chain(&RARE_KINDS).find(known).copied().unwrap_or(("generic", 3))
}

/// How a delimiter ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// At one of its end tokens.
    Pair,
    /// With the bracket that closes the next `{` of the statement.
    Body,
    /// Before the next line that is not deeper.
    Dedent,
    /// Before the next delimiter of this extent with at least its priority.
    Next,
    /// With the line.
    Line,
    /// Before a blank line.
    Blank,
    /// With the tag of the same name.
    Tag,
}

#[derive(Debug, Clone)]
pub(crate) struct Delimiter {
    pub kind: &'static str,
    pub priority: u8,
    pub inclusive: bool,
    pub whole_lines: bool,
    pub nestable: bool,
    /// Does not open if another start with the same end stands earlier on its line (`while x do`).
    pub soft: bool,
    pub extent: Extent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Anchor {
    Column0,
    LineStart,
    Anywhere,
}

/// Text in which no delimiter counts.
#[derive(Debug, Clone)]
pub(crate) struct Skip {
    /// Empty: to the end of the line.
    pub close: Vec<u8>,
    pub is_comment: bool,
    pub nested: bool,
    pub multiline: bool,
    pub escapes: bool,
    /// Only if it closes within a few bytes: `'a'` is a literal, `'a` is not.
    pub short: bool,
    /// A final `\` continues the line.
    pub continued: bool,
}

/// Something to look for, and what it means.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// Lower case in families that ignore case; `\x1f` stands for one or more blanks.
    pub bytes: Vec<u8>,
    pub anchor: Anchor,
    pub skip: Option<u16>,
    pub opens: Option<u16>,
    /// Bit set over the delimiters it can end.
    pub closes: Vec<u64>,
}

/// The placeholder for blanks inside a token; no source line holds it as text.
pub(crate) const BLANKS: u8 = 0x1f;

impl Token {
    pub fn closes(&self, delimiter: u16) -> bool {
        let (word, bit) = (usize::from(delimiter / 64), delimiter % 64);
        self.closes.get(word).is_some_and(|bits| bits >> bit & 1 == 1)
    }

    pub fn closes_any(&self) -> bool {
        !self.closes.is_empty()
    }

    /// As shown in the metadata of a chunk.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace('\x1f', " ")
    }

    fn set_closes(&mut self, delimiter: u16) {
        let word = usize::from(delimiter / 64);
        if self.closes.len() <= word {
            self.closes.resize(word + 1, 0);
        }
        self.closes[word] |= 1 << (delimiter % 64);
    }
}

/// Delimiters that start where the layout says, not at a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Top,
    Indent,
    Label,
    Tag,
    Paragraph,
}

#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub ignore_case: bool,
    pub newline_ends: bool,
    pub column_0_resets: bool,
    /// The delimiter that `) {` opens.
    pub paren_body: Option<u16>,
    /// Any delimiter that ends with its body: brackets then end statements.
    pub has_bodies: bool,
    pub delimiters: Vec<Delimiter>,
    pub layout: Vec<(Layout, u16)>,
    pub skips: Vec<Skip>,
    pub tokens: Vec<Token>,
    /// Candidates by first byte, in the order they are tried: stricter and longer first.
    pub dispatch: Vec<Vec<u16>>,
    /// The pseudo-delimiter of runs of comments.
    pub comment: u16,
    /// The first so many delimiters are from the settings.
    pub n_custom: u16,
}

/// The family of that name; `plain_style` if there is none.
pub(crate) fn by_name(name: &str) -> &'static Family {
    FAMILIES.compiled.get(name).unwrap_or(&FAMILIES.plain)
}

/// The names of all families, sorted.
#[cfg(test)]
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = FAMILIES.compiled.keys().copied().collect();
    names.sort_unstable();
    names
}

/// Version of the table's contents: changes whenever any line of it does.
pub fn table_fingerprint() -> &'static str {
    &FAMILIES.fingerprint
}

/// The family of a language, inferred from the text for plain text of unknown origin.
pub fn family_name(language: LanguageId, text: &str) -> &'static str {
    if language == TEXT { infer_family(text) } else { language.family() }
}

/// The family of `language` with the delimiters of the settings in front, which take precedence.
pub(crate) fn custom(family_name: &str, added: &[CustomDelimiter]) -> Family {
    let mut builder = Builder::default();
    for delimiter in added {
        builder.custom(delimiter);
    }
    builder.n_custom = index_u16(builder.delimiters.len());
    builder.family(family_name, 0);
    builder.finish()
}

/// Guesses the family of a text of an unknown language from how its lines look; `plain_style` if nothing stands out.
///
/// Reads at most the first 64 KiB. Deterministic; ties go to the earlier row of [`HINTS`].
pub fn infer_family(text: &str) -> &'static str {
    let mut end = text.len().min(64 << 10);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut scores = [0u32; HINTS.len()];
    let mut n_lines = 0u32;
    for line in text[..end].lines().map(str::trim).filter(|line| !line.is_empty()) {
        n_lines += 1;
        for (score, (_, starts, ends, _)) in scores.iter_mut().zip(&HINTS) {
            let starts = starts.iter().any(|start| line.starts_with(start));
            let ends = ends.iter().any(|end| line.ends_with(end));
            *score += u32::from(starts) + u32::from(ends);
        }
    }
    let best = scores
        .iter()
        .zip(&HINTS)
        .filter(|(score, (_, _, _, per_cent))| **score >= 3 && **score * 100 >= n_lines * per_cent)
        // The first of equals: `max_by_key` alone would give the last.
        .rev()
        .max_by_key(|(score, _)| **score);
    best.map_or("plain_style", |(_, (family, ..))| family)
}

/// Family, beginnings of lines, ends of lines, and the share of lines in per cent that must show one of them.
type Hint = (&'static str, &'static [&'static str], &'static [&'static str], u32);

const HINTS: [Hint; 13] = [
    ("c_style", &["//", "/*", "#include", "#define", "} else"], &[";", "{", "}", "};"], 40),
    ("python_style", &["def ", "class ", "import ", "from ", "elif ", "@"], &["):", "else:", "try:"], 15),
    ("lisp_style", &["(", ";;"], &["))"], 50),
    ("markup_style", &["<", "</", "<!--"], &["/>"], 50),
    ("latex_style", &["\\begin{", "\\end{", "\\section", "\\usepackage", "\\item"], &["\\\\"], 15),
    ("ruby_style", &["def ", "end", "require ", "module ", "attr_"], &[" do", "|"], 25),
    (
        "shell",
        &["if [", "fi", "done", "echo ", "export ", "set -", "esac", "$"],
        &["; then", "; do", ";;", "\\"],
        25,
    ),
    ("sql_style", &["SELECT ", "INSERT ", "CREATE ", "ALTER ", "DROP ", "FROM ", "WHERE "], &[], 20),
    ("config_style", &["["], &["]"], 8),
    ("basic_style", &["Sub ", "End Sub", "Dim ", "End If", "Function ", "Next"], &[" Then"], 25),
    (
        "assembly_style",
        &["mov", "push", "pop", "call", "jmp", "ret", ".globl", ".section", "add", "ld"],
        &[],
        30,
    ),
    ("data_style", &["{", "}", "[", "]", "\""], &["},", "],", "\",", "{", "["], 80),
    ("diff_style", &["+", "-", "@@ "], &[], 40),
];

struct Families {
    compiled: FxHashMap<&'static str, Family>,
    plain: Family,
    fingerprint: String,
}

const SOURCE: &str = include_str!("../data/families.txt");

/// Name, parent and lines of a section.
type Section = (&'static str, Option<&'static str>, Vec<&'static str>);

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(sections);

static FAMILIES: LazyLock<Families> = LazyLock::new(|| {
    let compile = |name: &str| {
        let mut builder = Builder::default();
        builder.family(name, 0);
        builder.finish()
    };
    Families {
        compiled: SECTIONS.iter().map(|&(name, ..)| (name, compile(name))).collect(),
        plain: compile("plain_style"),
        fingerprint: blake3::hash(SOURCE.as_bytes()).to_hex()[..16].to_owned(),
    }
});

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
    delimiters: Vec<Delimiter>,
    layout: Vec<(Layout, u16)>,
    skips: Vec<Skip>,
    tokens: Vec<Token>,
    n_custom: u16,
    /// What the table holds that is not understood; empty, as a test shows.
    unknown: Vec<String>,
}

impl Builder {
    /// A family's own lines before its parent's: the first claim of a token stands.
    fn family(&mut self, name: &str, depth: usize) {
        let Some((_, parent, lines)) = SECTIONS.iter().find(|(other, ..)| *other == name) else { return };
        for line in lines {
            self.line(line);
        }
        if let Some(parent) = parent.filter(|_| depth < 8) {
            self.family(parent, depth + 1);
        }
    }

    fn line(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        match first {
            "ignore_case" => self.ignore_case = true,
            "newline_ends" => self.newline_ends = true,
            "column_0_resets" => self.column_0_resets = true,
            "paren_body" => self.wants_paren_body = true,
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
                let flags = |word: &str| word == "multiline" || word == "raw";
                let marks: Vec<&str> = rest.iter().copied().filter(|word| !flags(word)).collect();
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

    fn skip(&mut self, start: &str, skip: Skip) {
        let index = index_u16(self.skips.len());
        self.skips.push(skip);
        let token = self.token(start);
        token.skip.get_or_insert(index);
    }

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

    fn custom(&mut self, custom: &CustomDelimiter) {
        let escaped = |mark: &String| mark.trim().replace([' ', '\t'], "~");
        let starts: Vec<String> = custom.starts.iter().map(escaped).filter(|mark| !mark.is_empty()).collect();
        let ends: Vec<String> = custom.ends.iter().map(escaped).filter(|mark| !mark.is_empty()).collect();
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
        // A mark that both starts and ends cannot nest.
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

    fn token(&mut self, text: &str) -> &mut Token {
        let (anchor, bytes) = parse_token(text);
        let found = self.tokens.iter().position(|token| token.bytes == bytes && token.anchor == anchor);
        let index = found.unwrap_or_else(|| {
            self.tokens.push(Token { bytes, anchor, skip: None, opens: None, closes: Vec::new() });
            self.tokens.len() - 1
        });
        &mut self.tokens[index]
    }

    fn finish(mut self) -> Family {
        let has_bodies = self.delimiters.iter().any(|delimiter| delimiter.extent == Extent::Body);
        let plain = |kind_name: &str| {
            let (kind, priority) = kind(kind_name);
            let (inclusive, whole_lines, nestable, soft) = (true, true, true, false);
            Delimiter { kind, priority, inclusive, whole_lines, nestable, soft, extent: Extent::Body }
        };
        if has_bodies && !self.tokens.iter().any(|token| token.bytes == b"{" && token.opens.is_some()) {
            self.delimiter(plain("block"), &["{"], &["}"]);
        }
        let paren_body = (self.wants_paren_body).then(|| index_u16(self.delimiters.len()));
        if self.wants_paren_body {
            self.delimiters.push(plain("function"));
        }
        if has_bodies || self.wants_paren_body {
            for index in 0..self.delimiters.len() {
                if self.delimiters[index].extent == Extent::Body {
                    self.token("}").set_closes(index_u16(index));
                }
            }
        }
        let comment = index_u16(self.delimiters.len());
        self.delimiters.push(plain("comment_block"));
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
            delimiters: self.delimiters,
            layout: self.layout,
            skips: self.skips,
            tokens: self.tokens,
            comment,
            n_custom: self.n_custom,
        }
    }
}

impl Skip {
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

/// Anchor and bytes of a mark as written in the table.
fn parse_token(text: &str) -> (Anchor, Vec<u8>) {
    let (anchor, text) = match (text.strip_prefix("^^"), text.strip_prefix('^')) {
        (Some(rest), _) if !rest.is_empty() => (Anchor::Column0, rest),
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

/// Tables are far smaller than that; settings could exceed it only by tens of thousands of delimiters.
fn index_u16(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::language;

    #[test]
    fn every_line_of_the_table_is_understood() {
        for (name, parent, lines) in SECTIONS.iter() {
            assert!(!lines.is_empty() || parent.is_some(), "{name} is empty");
            if let Some(parent) = parent {
                assert!(FAMILIES.compiled.contains_key(parent), "{name} : {parent}");
            }
            let mut builder = Builder::default();
            builder.family(name, 0);
            assert!(builder.unknown.is_empty(), "{name}: {:?}", builder.unknown);
            for line in lines.iter().filter(|line| line.contains(" => ")) {
                let kind_name = line.split(':').next().unwrap();
                assert!(KINDS.iter().any(|(kind, _)| *kind == kind_name), "{name}: {line}");
            }
        }
    }

    #[test]
    fn every_language_has_a_family() {
        for language in language::all() {
            let family = language.family();
            assert!(FAMILIES.compiled.contains_key(family), "{}: {family}", language.name());
        }
    }

    #[test]
    fn priorities_are_those_of_appendix_d() {
        for (name, priority) in [("class", 85), ("function", 70), ("comment_block", 55), ("whitespace", 1)] {
            assert_eq!(kind(name), (name, priority));
        }
        assert_eq!(kind("Class").0, "class");
        assert_eq!(kind("no such kind"), ("generic", 3));
    }

    #[test]
    fn marks_have_anchors_blanks_and_escapes() {
        assert_eq!(parse_token("^^def"), (Anchor::Column0, b"def".to_vec()));
        assert_eq!(parse_token("^end~if"), (Anchor::LineStart, b"end\x1fif".to_vec()));
        assert_eq!(parse_token("\\;"), (Anchor::Anywhere, b";".to_vec()));
        assert_eq!(parse_token("\\=>"), (Anchor::Anywhere, b"=>".to_vec()));
        assert_eq!(parse_token("\\begin{"), (Anchor::Anywhere, b"\\begin{".to_vec()));
        assert_eq!(parse_token("^"), (Anchor::Anywhere, b"^".to_vec()));
    }

    #[test]
    fn unknown_text_gets_a_family_by_its_looks() {
        for (text, family) in [
            ("int main() {\n  int a = 1;\n  return a;\n}\n", "c_style"),
            ("import os\n\ndef f(x):\n    return x\n\nclass A(object):\n    pass\n", "python_style"),
            ("(define (f x)\n  (+ x 1))\n(define y 2)\n(display y)\n", "lisp_style"),
            ("<a>\n  <b>x</b>\n  <c/>\n</a>\n", "markup_style"),
            ("\\section{A}\nwords\n\\begin{itemize}\n\\item one\n\\end{itemize}\n", "latex_style"),
            ("SELECT a\nFROM b\nWHERE c = 1;\n", "sql_style"),
            ("if [ -f x ]; then\n  echo yes\nfi\n", "shell"),
            ("The quick brown fox.\nIt jumps over the dog.\n\nThe end.\n", "plain_style"),
            ("", "plain_style"),
        ] {
            assert_eq!(infer_family(text), family, "{text}");
        }
    }
}
