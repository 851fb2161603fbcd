//! Parses texts within bounds that fall at the same place on every machine.
//!
//! Some grammars and their scanners take quadratic time, look ahead to the end of the file at every token, or
//! end the process on texts that do not occur in practice. Such texts are refused by their shape before
//! parsing ([`refusal`]), or hidden from the scanner ([`visible`]), or given up when the parse has used its
//! budget ([`Budget`]).

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::{blank, bodies, class_macros, conditions, elements, item_macros, unknown_syntax};
use crate::DegradationReason;
use crate::grammar::{self, Loaded};
use crate::lines::TextIndex;

/// Maximum number of bytes given to a parser.
const MAX_PARSE_BYTES: usize = 8 << 20;
/// Maximum nesting of brackets.
const MAX_BRACKET_DEPTH: u32 = 1_000;
/// Maximum punctuation in long runs: this number, and one more for every [`BYTES_PER_PUNCTUATION`] of the
/// text. JSON, which consists of punctuation, is exempt. Some parsers take quadratic time and more for chains
/// of operators that the grammar does not allow, in steps that report no progress. Of 7,400 real files two
/// have more than 57 beyond the share of their length.
const MIN_PUNCTUATION: u32 = 128;
const BYTES_PER_PUNCTUATION: usize = 64;
/// Maximum indentation. Some scanners keep it in a buffer of fixed size and abort when it is full.
const MAX_INDENT_DEPTH: u32 = 100;
/// Maximum length of a line. Some scanners look ahead to the line end at every token. JSON, often one line,
/// is exempt.
const MAX_LINE_BYTES: u32 = 32 << 10;
/// Number of progress reports that a parse may make: this number, and one more for every
/// [`BYTES_PER_REPORT`]. Reports follow the work done and never the time. Real files need one for every 130
/// bytes on average and for every 34 at most.
const MIN_REPORTS: u64 = 64;
const BYTES_PER_REPORT: u64 = 32;
/// Number of reports in which every parse version is recovering from errors: this number, one more for every
/// [`BYTES_PER_RECOVERY`], and at most [`MAX_RECOVERIES`]. Such a step costs a hundred times the usual. One
/// real file in sixty has any; SQL of another dialect has up to 136 in 41 kB.
const MIN_RECOVERIES: u64 = 64;
const BYTES_PER_RECOVERY: u64 = 256;
const MAX_RECOVERIES: u64 = 144;
/// Size of the blocks in which a parser reads the text.
const BLOCK_BYTES: usize = 256;
/// Number of blocks that a parser may read: this number, and each block of the text [`READS_PER_BLOCK`]
/// times. Some scanners look ahead to the end of the file at every token. Real files have a block read twice
/// on average and 24 times at most.
const MIN_READS: u64 = 1_000;
const READS_PER_BLOCK: u64 = 64;

thread_local! {
    /// One parser for each thread, which reuses its buffers, with the grammar that it is set to.
    static PARSER: RefCell<(Parser, Option<usize>)> = RefCell::new((Parser::new(), None));
}

/// Parses a text within bounds of size, shape and work.
///
/// # Errors
///
/// `TooDeep` or `ParseBudget` if a bound is exceeded, `NoGrammar` if the parser does not accept the grammar.
pub fn parse(index: &TextIndex<'_>, grammar: &Loaded) -> Result<Tree, DegradationReason> {
    parse_as(index, grammar, false)
}

/// Parses a text for its definitions: like [`parse`], but if the text has errors, without the parts that hide
/// definitions ([`super::bodies`]).
pub(crate) fn parse_definitions(index: &TextIndex<'_>, grammar: &Loaded) -> Result<Tree, DegradationReason> {
    parse_as(index, grammar, true)
}

/// Parses `bytes` once and drops the tree. This is the share of tree-sitter in chunking, for comparison.
/// Returns false if the parse is given up. Texts that [`refusal`] keeps from the parser are parsed here.
pub fn parse_only(bytes: &[u8], grammar: &Loaded) -> bool {
    PARSER.with_borrow_mut(|(parser, current)| {
        *current = None;
        parser.set_language(&grammar.language).is_ok()
            && parse_within(parser, bytes, None, &Budget::new(bytes.len() as u64)).is_some()
    })
}

fn parse_as(index: &TextIndex<'_>, grammar: &Loaded, definitions: bool) -> Result<Tree, DegradationReason> {
    if let Some(reason) = refusal(index, grammar) {
        return Err(reason);
    }

    let bytes = visible(index.bytes(), grammar);
    let name = grammar::GRAMMARS[grammar.index].name;

    PARSER.with_borrow_mut(|(parser, current)| {
        set_grammar(parser, current, grammar)?;
        parse_best(parser, name, bytes, definitions).ok_or(DegradationReason::ParseBudget)
    })
}
/// Sets the parser to a grammar, unless it is the `current` one.
fn set_grammar(
    parser: &mut Parser,
    current: &mut Option<usize>,
    grammar: &Loaded,
) -> Result<(), DegradationReason> {
    if *current != Some(grammar.index) {
        *current = None;
        parser.set_language(&grammar.language).map_err(|_| DegradationReason::NoGrammar)?;
        *current = Some(grammar.index);
    }
    Ok(())
}

/// Parses a text, and once more in another form if the grammar has problems with such texts. Returns the
/// better tree; `None` if the budget is used up.
fn parse_best(parser: &mut Parser, grammar: &str, bytes: Cow<'_, [u8]>, definitions: bool) -> Option<Tree> {
    let parser = SharedParser(RefCell::new(parser));
    let bytes = as_meant(grammar, bytes);
    let (bytes, tree) = as_known(grammar, bytes, &parser)?;

    // All probes of one text share a budget.
    let probes = Budget::new(bytes.len() as u64);
    let better = match grammar {
        "rust" => {
            let shown = item_macros::shown(&bytes, &tree, &mut |part| parser.parse_within(part, &probes));
            let again = shown.and_then(|shown| parser.parse(&shown));
            // Items that are well-formed by themselves may not be so where they are.
            again.filter(|again| tree.root_node().has_error() || !again.root_node().has_error())
        }
        "haskell" => {
            let again = without_conditions(&bytes).and_then(|shown| parser.parse(&shown));
            again.filter(|again| bodies::error_bytes(again) <= bodies::error_bytes(&tree))
        }
        _ if definitions => bodies::tree_without_bodies(
            grammar,
            &bytes,
            &tree,
            &|bytes, old| parser.parse_again(bytes, old),
            &|part| parser.parse_within(part, &probes),
        ),
        _ => None,
    };

    Some(better.unwrap_or(tree))
}

/// A parser that is set to a grammar and shared by callbacks.
struct SharedParser<'a>(RefCell<&'a mut Parser>);

impl SharedParser<'_> {
    /// Parses a text with a budget of its own.
    fn parse(&self, bytes: &[u8]) -> Option<Tree> {
        self.parse_within(bytes, &Budget::new(bytes.len() as u64))
    }

    /// Parses a text and reuses the unchanged parts of `old`.
    fn parse_again(&self, bytes: &[u8], old: &Tree) -> Option<Tree> {
        let budget = Budget::new(bytes.len() as u64);
        parse_within(&mut self.0.borrow_mut(), bytes, Some(old), &budget)
    }

    fn parse_within(&self, bytes: &[u8], budget: &Budget) -> Option<Tree> {
        parse_within(&mut self.0.borrow_mut(), bytes, None, budget)
    }
}

/// Returns the text without macros that the grammar reads as something else.
fn as_meant<'a>(grammar: &str, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    let shown = match grammar {
        "c" | "cpp" => class_macros::without_class_macros(&bytes),
        _ => None,
    };
    shown.map_or(bytes, Cow::Owned)
}

/// Returns the text and its tree, or, if that has fewer errors, the text in a form that the grammar knows.
/// `None` if the budget is used up.
fn as_known<'a>(
    grammar: &str,
    bytes: Cow<'a, [u8]>,
    parser: &SharedParser<'_>,
) -> Option<(Cow<'a, [u8]>, Tree)> {
    let tree = parser.parse(&bytes)?;
    if !tree.root_node().has_error() {
        return Some((bytes, tree));
    }

    let known = match grammar {
        "csharp" => conditions::resolved(&bytes, &tree, &|shown| parser.parse(shown)),
        _ => unknown_syntax::rewritten(grammar, &bytes).and_then(|shown| {
            let again = parser.parse(&shown)?;
            (bodies::error_bytes(&again) < bodies::error_bytes(&tree)).then_some((shown, again))
        }),
    };

    Some(match known {
        Some((shown, again)) => (Cow::Owned(shown), again),
        None => (bytes, tree),
    })
}

/// Returns the tree of a text; `None` if the budget is used up. Unchanged parts of `old` are reused.
fn parse_within(parser: &mut Parser, bytes: &[u8], old: Option<&Tree>, budget: &Budget) -> Option<Tree> {
    if !budget.is_left() {
        return None;
    }

    let mut progress = |state: &ParseState| {
        if budget.report(state.has_error()) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);

    let mut read = |offset: usize, _| {
        // To a scanner no more text is the end of the file. The next report then ends the parse.
        if budget.read() { block(bytes, offset) } else { &[] }
    };

    let tree = parser.parse_with_options(&mut read, old, Some(options));
    // A parser that was stopped would go on with the old text.
    if tree.is_none() {
        parser.reset();
    }

    tree.filter(|_| budget.is_left())
}

/// Returns the reason why a text is not given to the parser, by its size and shape.
fn refusal(index: &TextIndex<'_>, grammar: &Loaded) -> Option<DegradationReason> {
    let (n_bytes, shape) = (index.bytes().len(), &index.shape);
    let name = grammar::GRAMMARS[grammar.index].name;
    let is_json = name == "json";
    if n_bytes > MAX_PARSE_BYTES || shape.longest_line > MAX_LINE_BYTES && !is_json {
        return Some(DegradationReason::ParseBudget);
    }

    let max_punctuation = MIN_PUNCTUATION + (n_bytes / BYTES_PER_PUNCTUATION) as u32;
    let is_too_deep = shape.bracket_depth > MAX_BRACKET_DEPTH
        || shape.indent_depth > MAX_INDENT_DEPTH
        || shape.punctuation > max_punctuation && !is_json
        || name == "html" && elements::are_too_deep(index.bytes());
    is_too_deep.then_some(DegradationReason::TooDeep)
}

/// Returns the bytes that the parser of a grammar may read without looping for ever or ending the process.
/// Offsets are kept.
fn visible<'a>(bytes: &'a [u8], grammar: &Loaded) -> Cow<'a, [u8]> {
    match grammar::GRAMMARS[grammar.index].name {
        "kotlin" => Cow::Borrowed(without_open_annotation(bytes)),
        "ruby" => without_long_heredoc_words(bytes),
        _ => Cow::Borrowed(bytes),
    }
}

/// Returns `bytes` without a last line that holds an annotation and has no line end. Kotlin's scanner looks
/// for the blank or line end after an annotation, even beyond the end of the file.
fn without_open_annotation(bytes: &[u8]) -> &[u8] {
    let last_line = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    if bytes[last_line..].contains(&b'@') { &bytes[..last_line] } else { bytes }
}

/// Returns `bytes` with blanks for each `<<` before an end word that is longer than usual, and for those
/// after many on one line.
///
/// Ruby's scanner keeps the end words of open here-documents in 1,024 bytes, each with its length in one
/// byte, and aborts when a word is longer or too many are open. A string that is appended without a blank
/// often looks like a long end word. Words that stay open over several lines may still exceed the buffer; as
/// with any grammar that ends the process, that costs the one file.
fn without_long_heredoc_words(bytes: &[u8]) -> Cow<'_, [u8]> {
    const MAX_WORD_BYTES: usize = 64;
    const MAX_LINE_TOTAL: usize = 512;

    let mut shown = Cow::Borrowed(bytes);
    let (mut line_total, mut last) = (0, 0);

    for (at, _) in bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"<<") {
        let word = &bytes[at + 2..];
        let word = word.strip_prefix(b"-").or_else(|| word.strip_prefix(b"~")).unwrap_or(word);
        let len = match word {
            [quote @ (b'\'' | b'"' | b'`'), quoted @ ..] => {
                quoted.iter().take_while(|&byte| byte != quote).take(MAX_WORD_BYTES + 1).count()
            }
            plain => plain
                .iter()
                .take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii())
                .take(MAX_WORD_BYTES + 1)
                .count(),
        };

        if bytes[last..at].contains(&b'\n') {
            line_total = 0;
        }

        last = at;
        line_total += len.min(MAX_WORD_BYTES) + 4;
        if len > MAX_WORD_BYTES || line_total > MAX_LINE_TOTAL {
            shown.to_mut()[at..at + 2].fill(b' ');
        }
    }

    shown
}

/// Returns `bytes` with blanks for the lines of `#if`, `#else` and `#endif`; `None` if there is no `#else`.
/// Haskell's scanner skips the text after an `#else`.
fn without_conditions(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    if !lines.any(|line| is_directive(line, b"el")) {
        return None;
    }

    let mut shown = bytes.to_vec();
    for line in shown.split_inclusive_mut(|&byte| byte == b'\n') {
        if [&b"if"[..], b"el", b"endif"].iter().any(|name| is_directive(line, name)) {
            blank(line);
        }
    }

    Some(shown)
}

/// Returns whether a line is a directive of the preprocessor whose name begins with `name`.
fn is_directive(line: &[u8], name: &[u8]) -> bool {
    line.strip_prefix(b"#").is_some_and(|rest| rest.trim_ascii_start().starts_with(name))
}

/// Returns the bytes at `offset`, at most [`BLOCK_BYTES`], ending on a character boundary. For a character
/// that is cut, the lexer asks once more and decodes the answer without checking that it is not empty.
fn block(bytes: &[u8], offset: usize) -> &[u8] {
    let rest = bytes.get(offset..).unwrap_or_default();
    let longest = rest.len().min(BLOCK_BYTES);
    let end = (longest.saturating_sub(3)..=longest)
        .rev()
        .find(|&end| rest.get(end).is_none_or(|byte| byte & 0xc0 != 0x80))
        .unwrap_or(longest);
    &rest[..end]
}

/// Work that a parse may still do, in units that are the same on every machine.
struct Budget {
    reports: Cell<u64>,
    /// Reports that are made while recovering from errors.
    recoveries: Cell<u64>,
    /// Reads of a block of text.
    reads: Cell<u64>,
}

impl Budget {
    fn new(n_bytes: u64) -> Budget {
        let n_blocks = n_bytes.div_ceil(BLOCK_BYTES as u64);
        Budget {
            reports: Cell::new(MIN_REPORTS + n_bytes / BYTES_PER_REPORT),
            recoveries: Cell::new((MIN_RECOVERIES + n_bytes / BYTES_PER_RECOVERY).min(MAX_RECOVERIES)),
            reads: Cell::new(MIN_READS + n_blocks * READS_PER_BLOCK),
        }
    }

    /// Counts a progress report. Returns false if the budget is used up.
    fn report(&self, in_recovery: bool) -> bool {
        Budget::take(&self.reports);
        if in_recovery {
            Budget::take(&self.recoveries);
        }
        self.is_left()
    }

    /// Counts a read. Returns false if the budget is used up.
    fn read(&self) -> bool {
        Budget::take(&self.reads);
        self.is_left()
    }

    fn is_left(&self) -> bool {
        self.reports.get() > 0 && self.recoveries.get() > 0 && self.reads.get() > 0
    }

    fn take(counter: &Cell<u64>) {
        counter.set(counter.get().saturating_sub(1));
    }
}
