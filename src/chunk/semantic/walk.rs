//! The semantic step: a syntax tree → atoms to pack, and symbols (C3, C4, C6).
//!
//! One walk with a cursor does both. Siblings become atoms; a node that alone exceeds the soft bound is *opened*, which
//! means that its children become atoms in its place. Everything is iterative: the depth of a tree is the input's choice.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::chunk::grammar::{self, Loaded};
use crate::chunk::lines::TextIndex;
use crate::chunk::pack::{Atom, Bounds};
use crate::chunk::rules::KindInfo;
use crate::chunk::symbols::{self, Context};
use crate::chunk::{DegradationReason, SemanticClass, Symbol, SymbolKind};

/// Most bytes given to a parser; larger texts degrade.
const MAX_PARSE_BYTES: usize = 8 << 20;
/// Deepest nesting of brackets given to a parser.
const MAX_BRACKET_DEPTH: u32 = 1_000;
/// Most punctuation in long runs given to a parser, and as much again for every so many bytes; that of JSON, which is made of
/// it, is not asked. Chains of operators that fit nowhere take some grammars quadratic time and more, in steps that do not
/// report progress. Of 7,400 real files two have more than 57 beyond what their length allows.
const PUNCTUATION_FLOOR: u32 = 128;
const PUNCTUATION_BYTES: usize = 64;
/// Deepest indentation given to a parser: some scanners keep it in a buffer of fixed size and abort when it is full.
const MAX_INDENT_DEPTH: u32 = 100;
/// Longest line given to a parser, but for JSON, which is often one line: some scanners look ahead to the line end at
/// every token.
const MAX_LINE_BYTES: u32 = 32 << 10;
/// A parse may report progress this often, and once more for every so many bytes. Reports come by work done, never by
/// time, so the bound falls at the same place on every machine (C9). Real files need one for every 130 bytes on average and
/// for every 34 at most.
const PROGRESS_FLOOR: u64 = 64;
const PROGRESS_BYTES: u64 = 32;
/// Of these reports, so many may find the parser recovering from errors in all that it tries at once: each costs a hundred
/// times the usual. One real file in sixty has any; SQL of another dialect has up to 136 in 41 kB.
const RECOVERY_FLOOR: u64 = 64;
const RECOVERY_BYTES: u64 = 256;
const MAX_RECOVERY: u64 = 144;
/// The text is handed over in pieces of this size, and so many may be asked for: some scanners look ahead to the end of the
/// file at every token. Real files have a piece asked for twice on average, and 24 times at most.
const PIECE_BYTES: usize = 256;
const PIECES_FLOOR: u64 = 1_000;
const PIECES_TIMES: u64 = 64;
/// Deepest nesting of definitions that is still described.
const MAX_NESTING: usize = 24;
/// Most keys, enum members and fields kept as symbols of one file; definitions proper are not bounded.
const MAX_DATA_SYMBOLS: usize = 4_000;

/// Costs of boundaries; the unit is that of [`crate::chunk::pack`].
mod cost {
    /// No blank line before the boundary.
    pub const NO_BLANK_LINE: u32 = 40;
    /// Between members of an opened type or module.
    pub const MEMBER: u32 = 60;
    /// Between statements of an opened function.
    pub const STATEMENT: u32 = 150;
    /// For each further opened node.
    pub const DEEPER: u32 = 30;
    pub const DEEPEST: u32 = 450;
    /// In the middle of a line, or between what belongs together, where the size leaves no choice.
    pub const TORN: u32 = 2_000;
    /// For a chunk that leaves or enters an opened type, or an opened function.
    pub const CROSS_TYPE: u32 = 60;
    pub const CROSS_CALLABLE: u32 = 140;
}

/// A definition that alone exceeded the soft bound.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub range: Range<u32>,
    pub kind: &'static str,
}

/// What the walk found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Cover the text from the first node to the end; `tokens` are not yet set.
    pub atoms: Vec<Atom>,
    /// Class of the most important node of each atom.
    pub classes: Vec<SemanticClass>,
    /// In order of their start.
    pub symbols: Vec<Symbol>,
    /// Definitions that were opened, in order of their start.
    pub opened: Vec<Opened>,
    pub error_bytes: u32,
    pub nodes_unknown: u32,
    pub nodes_classified: u32,
}

thread_local! {
    /// One parser a thread: its buffers are reused from file to file.
    static PARSER: RefCell<(Parser, Option<usize>)> = RefCell::new((Parser::new(), None));
}

/// Parses within bounds of bytes, bracket depth and work.
pub(crate) fn parse(index: &TextIndex<'_>, grammar: &Loaded) -> Result<Tree, DegradationReason> {
    let bytes = index.bytes();
    if bytes.len() > MAX_PARSE_BYTES {
        return Err(DegradationReason::ParseBudget);
    }
    if index.longest_line > MAX_LINE_BYTES && grammar::GRAMMARS[grammar.index].name != "json" {
        return Err(DegradationReason::ParseBudget);
    }
    let is_json = grammar::GRAMMARS[grammar.index].name == "json";
    let punctuation = PUNCTUATION_FLOOR + (bytes.len() / PUNCTUATION_BYTES) as u32;
    if index.bracket_depth > MAX_BRACKET_DEPTH
        || index.indent_depth > MAX_INDENT_DEPTH
        || index.punctuation > punctuation && !is_json
    {
        return Err(DegradationReason::TooDeep);
    }
    let bytes = visible(bytes, grammar);
    let work = Work::new(bytes.len() as u64);
    let mut progress = |state: &ParseState| {
        if work.reported(state.has_error()) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |offset: usize, _| {
        // No more text is the end of the file to a scanner; the next report then ends the parse.
        if work.asked() { piece(&bytes, offset) } else { &[] }
    };
    PARSER.with_borrow_mut(|(parser, current)| {
        if *current != Some(grammar.index) {
            *current = None;
            parser.set_language(&grammar.language).map_err(|_| DegradationReason::NoGrammar)?;
            *current = Some(grammar.index);
        }
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree.filter(|_| work.is_left()).ok_or(DegradationReason::ParseBudget)
    })
}

/// The bytes that a parser may see without standing still for ever or ending the process; places stay where they are.
fn visible<'a>(bytes: &'a [u8], grammar: &Loaded) -> Cow<'a, [u8]> {
    match grammar::GRAMMARS[grammar.index].name {
        "kotlin" => Cow::Borrowed(without_open_annotation(bytes)),
        "ruby" => without_long_words(bytes),
        _ => Cow::Borrowed(bytes),
    }
}

/// Kotlin's scanner looks for the blank or the line end behind an annotation, beyond the end of the file if it must; a last
/// line with an annotation and without an end is kept from it.
fn without_open_annotation(bytes: &[u8]) -> &[u8] {
    let last_line = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    if bytes[last_line..].contains(&b'@') { &bytes[..last_line] } else { bytes }
}

/// Ruby's scanner keeps the end words of open here-documents in 1,024 bytes, each with its length in one byte, and aborts when a word
/// is longer or just too many are open. What would begin one with a longer word than people choose, often a string that is
/// appended without a blank, shows no `<<`, nor does what comes after many on a line. Words that stay open over several lines may
/// still add up; as with any grammar that ends the process, that then costs the one file.
fn without_long_words(bytes: &[u8]) -> Cow<'_, [u8]> {
    const LONGEST: usize = 64;
    const MOST_IN_LINE: usize = 512;
    let mut shown = Cow::Borrowed(bytes);
    let (mut in_line, mut last) = (0, 0);
    for (at, _) in bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"<<") {
        let word = &bytes[at + 2..];
        let word = word.strip_prefix(b"-").or_else(|| word.strip_prefix(b"~")).unwrap_or(word);
        let len = match word {
            [quote @ (b'\'' | b'"' | b'`'), quoted @ ..] => {
                quoted.iter().take_while(|&byte| byte != quote).take(LONGEST + 1).count()
            }
            plain => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || !byte.is_ascii();
                plain.iter().take_while(is_part).take(LONGEST + 1).count()
            }
        };
        if bytes[last..at].contains(&b'\n') {
            in_line = 0;
        }
        last = at;
        in_line += len.min(LONGEST) + 4;
        if len > LONGEST || in_line > MOST_IN_LINE {
            shown.to_mut()[at..at + 2].fill(b' ');
        }
    }
    shown
}

/// The next bytes at `offset`, whole characters only: for one that is cut, the lexer asks once more and decodes what it is
/// given without looking whether there is any.
fn piece(bytes: &[u8], offset: usize) -> &[u8] {
    let rest = bytes.get(offset..).unwrap_or_default();
    let is_whole = |&end: &usize| rest.get(end).is_none_or(|byte| byte & 0xc0 != 0x80);
    let longest = rest.len().min(PIECE_BYTES);
    let end = (longest.saturating_sub(3)..=longest).rev().find(is_whole).unwrap_or(longest);
    &rest[..end]
}

/// Counts what a parse costs, in units that are the same on every machine.
struct Work {
    /// How many are left of reports, of reports in recovery, of pieces of text.
    reports: Cell<u64>,
    recoveries: Cell<u64>,
    pieces: Cell<u64>,
}

impl Work {
    fn new(n_bytes: u64) -> Work {
        let n_pieces = n_bytes.div_ceil(PIECE_BYTES as u64);
        Work {
            reports: Cell::new(PROGRESS_FLOOR + n_bytes / PROGRESS_BYTES),
            recoveries: Cell::new((RECOVERY_FLOOR + n_bytes / RECOVERY_BYTES).min(MAX_RECOVERY)),
            pieces: Cell::new(PIECES_FLOOR + n_pieces * PIECES_TIMES),
        }
    }

    /// Counts a report; false if there is nothing left.
    fn reported(&self, in_recovery: bool) -> bool {
        Work::take(&self.reports);
        if in_recovery {
            Work::take(&self.recoveries);
        }
        self.is_left()
    }

    /// Counts a piece of text; false if there is nothing left.
    fn asked(&self) -> bool {
        Work::take(&self.pieces);
        self.is_left()
    }

    fn is_left(&self) -> bool {
        self.reports.get() > 0 && self.recoveries.get() > 0 && self.pieces.get() > 0
    }

    fn take(of: &Cell<u64>) {
        of.set(of.get().saturating_sub(1));
    }
}

/// One level of the walk.
#[derive(Clone)]
struct Frame {
    kind: u16,
    /// Children become atoms.
    opened: bool,
    /// Inside an ERROR node.
    in_error: bool,
    /// No symbols are looked for.
    quiet: bool,
    in_callable: bool,
    /// Cost of a boundary between children.
    cut: u32,
    /// Cost for a chunk that goes on after the end of this level.
    cross_at_end: u32,
    /// Length of the scope stack outside.
    scopes: usize,
    run: Run,
}

/// Comments and annotations that wait for their definition.
#[derive(Clone, Default)]
struct Run {
    start: Option<u32>,
    end: u32,
    comment: Option<Range<u32>>,
    annotations: Option<u32>,
}

/// Cost of starting a chunk at an atom (`None`: belongs to what precedes it) and of holding it together with that.
#[derive(Clone, Copy)]
struct Boundary {
    cut: Option<u32>,
    crossing: u32,
    on_node: bool,
}

struct Walker<'a> {
    text: &'a str,
    index: &'a TextIndex<'a>,
    grammar: &'static Loaded,
    bounds: Bounds,
    threshold: f32,
    frames: Vec<Frame>,
    /// Symbols that enclose the current node.
    scopes: Vec<usize>,
    /// Boundary of an opened node, taken by its first atom.
    pending: Option<Boundary>,
    /// Crossing cost of levels that ended since the last atom.
    crossing: u32,
    /// Where the tokens of the last atom are counted up to.
    counted_to: u32,
    data_symbols: usize,
    out: Walked,
}

/// Walks a tree once. `threshold` is `semantic_importance_threshold` (C8).
pub(crate) fn walk(
    tree: &Tree,
    text: &str,
    index: &TextIndex<'_>,
    grammar: &'static Loaded,
    bounds: Bounds,
    threshold: f32,
) -> Walked {
    let root = tree.root_node();
    let mut walker = Walker {
        text,
        index,
        grammar,
        bounds,
        threshold,
        frames: Vec::with_capacity(64),
        scopes: Vec::new(),
        pending: None,
        crossing: 0,
        counted_to: 0,
        data_symbols: 0,
        out: Walked::default(),
    };
    let mut cursor = tree.walk();
    if root.is_error() {
        walker.out.error_bytes = text.len() as u32;
    }
    walker.frames.push(Frame {
        kind: root.kind_id(),
        opened: true,
        in_error: root.is_error(),
        quiet: false,
        in_callable: false,
        cut: 0,
        cross_at_end: 0,
        scopes: 0,
        run: Run::default(),
    });
    if !cursor.goto_first_child() {
        return walker.out;
    }
    loop {
        let child_frame = walker.enter(cursor.node());
        if let Some(frame) = child_frame {
            if cursor.goto_first_child() {
                walker.frames.push(frame);
                continue;
            }
            walker.scopes.truncate(frame.scopes);
        }
        while !cursor.goto_next_sibling() {
            walker.leave();
            if walker.frames.is_empty() || !cursor.goto_parent() {
                return walker.out;
            }
        }
        if walker.frames.is_empty() {
            return walker.out;
        }
    }
}

impl Walker<'_> {
    /// Visits a node; the level of its children if they are to be visited.
    fn enter(&mut self, node: Node<'_>) -> Option<Frame> {
        let kind = node.kind_id();
        let rules = &self.grammar.rules;
        let info = rules.kind(kind);
        let top = self.frames.len() - 1;
        let (opened_here, in_error, quiet) = {
            let frame = &self.frames[top];
            (frame.opened, frame.in_error, frame.quiet)
        };
        // Most nodes: inside something that is no atom level, neither a definition nor what waits for one.
        let is_error = node.is_error();
        if is_error && !in_error {
            self.out.error_bytes += node.end_byte().saturating_sub(node.start_byte()) as u32;
        }
        if quiet && !opened_here {
            return (node.has_error() && !is_error).then(|| self.inner_frame(kind, false, in_error, true));
        }
        let range = node.start_byte() as u32..node.end_byte() as u32;
        let symbol = if info.may_define() && !quiet { self.define(node, info) } else { None };
        let opened = opened_here && self.place(node, &range, info, symbol, is_error);

        let mut frame = self.inner_frame(kind, opened, in_error || is_error, quiet || info.skip);
        let scopes = self.scopes.len();
        frame.scopes = scopes;
        match symbol {
            Some(at) => {
                if scopes < MAX_NESTING {
                    self.scopes.push(at);
                }
                frame.in_callable |= self.out.symbols[at].kind.is_callable();
                frame.run = Run::default();
            }
            None => frame.run = self.frames[top].run.clone(),
        }
        if opened {
            self.open(&mut frame, node, &range, symbol);
        }
        self.wait(top, &range, info, is_error);
        let descend = opened || !frame.quiet || node.has_error();
        if !descend {
            self.scopes.truncate(scopes);
        }
        descend.then_some(frame)
    }

    fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.scopes.truncate(frame.scopes);
            self.crossing = self.crossing.max(frame.cross_at_end);
        }
    }

    fn inner_frame(&self, kind: u16, opened: bool, in_error: bool, quiet: bool) -> Frame {
        let outer = self.frames.last();
        Frame {
            kind,
            opened,
            in_error,
            quiet,
            in_callable: outer.is_some_and(|frame| frame.in_callable),
            cut: outer.map_or(0, |frame| frame.cut),
            cross_at_end: 0,
            scopes: self.scopes.len(),
            run: Run::default(),
        }
    }

    /// Adds the symbol of a node; its position in the list.
    fn define(&mut self, node: Node<'_>, info: &KindInfo) -> Option<usize> {
        let frame = self.frames.last()?;
        let start = node.start_byte() as u32;
        let attached = self.attached(&frame.run, start);
        let context = Context {
            text: self.text,
            index: self.index,
            rules: &self.grammar.rules,
            parent: self.scopes.last().map(|&at| &self.out.symbols[at]),
            parent_kind: frame.kind,
            in_callable: frame.in_callable,
            comment: if attached { frame.run.comment.clone() } else { None },
            annotations: if attached { frame.run.annotations } else { None },
            nesting: self.scopes.len() as u8,
        };
        let (symbol, merge) = symbols::define(node, self.grammar.rules.rules_of(info), &context)?;
        if matches!(symbol.kind, SymbolKind::Key | SymbolKind::EnumMember | SymbolKind::Field) {
            self.data_symbols += 1;
            if self.data_symbols > MAX_DATA_SYMBOLS {
                return None;
            }
        }
        if merge && let Some(last) = self.last_sibling() {
            let before = &mut self.out.symbols[last];
            if before.name == symbol.name && before.nesting == symbol.nesting && before.kind == symbol.kind {
                before.byte_range.end = symbol.byte_range.end;
                before.line_span.end = symbol.line_span.end;
                return Some(last);
            }
        }
        self.out.symbols.push(symbol);
        Some(self.out.symbols.len() - 1)
    }

    /// The last symbol of the current nesting.
    fn last_sibling(&self) -> Option<usize> {
        let nesting = self.scopes.len() as u8;
        self.out.symbols.iter().rposition(|symbol| symbol.nesting <= nesting)
    }

    /// Makes an atom of a node at an opened level, or says that it is to be opened.
    fn place(
        &mut self,
        node: Node<'_>,
        range: &Range<u32>,
        info: &KindInfo,
        symbol: Option<usize>,
        is_error: bool,
    ) -> bool {
        if range.start >= range.end {
            return false;
        }
        let class = symbol.map_or(info.class, |at| self.out.symbols[at].class);
        let named = info.named || is_error;
        if named {
            self.out.nodes_classified += 1;
            self.out.nodes_unknown += u32::from(class == SemanticClass::Unknown && !is_error);
        }
        let oversized = self.exceeds(range.clone(), self.bounds.soft) && node.child_count() > 0;
        let frame = &self.frames[self.frames.len() - 1];
        let attached = self.attached(&frame.run, range.start);
        let own_line = self.index.starts_line(range.start);
        let chunkable =
            oversized || class == SemanticClass::Unknown || class.importance().max() >= self.threshold;
        let cut = (named && own_line && chunkable && !attached && !info.follow).then(|| {
            let blank = frame.run.start.is_none() && !self.blank_line_before(range.start);
            frame.cut + if blank { cost::NO_BLANK_LINE } else { 0 }
        });
        let own = Boundary { cut, crossing: std::mem::take(&mut self.crossing), on_node: named };
        let boundary = match self.pending.take() {
            Some(outer) => Boundary { crossing: outer.crossing.max(own.crossing), ..outer },
            None => own,
        };
        if oversized {
            self.pending = Some(boundary);
            return true;
        }
        self.emit(range, boundary, class);
        false
    }

    fn emit(&mut self, range: &Range<u32>, boundary: Boundary, class: SemanticClass) {
        let Some(last) = self.out.atoms.last_mut() else {
            self.out.atoms.push(Atom { start: 0, on_node: true, ..Atom::default() });
            self.out.classes.push(class);
            self.counted_to = 0;
            self.count_to(range.end);
            return;
        };
        let cut = boundary.cut.or_else(|| {
            // What belongs together is parted only where it would exceed the bound.
            let long = range.end - last.start > self.bounds.soft;
            let more = if long { self.index.tokens(self.counted_to..range.end) } else { 0 };
            (last.tokens + more > self.bounds.soft + self.bounds.target / 4).then_some(cost::TORN)
        });
        match cut {
            Some(cut) => {
                let Boundary { crossing, on_node, .. } = boundary;
                self.out.atoms.push(Atom {
                    start: self.index.back_to_line_start(range.start),
                    tokens: 0,
                    cut,
                    crossing,
                    on_node,
                    forced: false,
                });
                self.out.classes.push(class);
                self.counted_to = range.start;
            }
            None => {
                last.crossing = last.crossing.max(boundary.crossing);
                let kept = &mut self.out.classes[self.out.atoms.len() - 1];
                if class.importance().max() > kept.importance().max() {
                    *kept = class;
                }
            }
        }
        self.count_to(range.end);
    }

    /// Counts the tokens of the last atom up to `end`, each byte once.
    fn count_to(&mut self, end: u32) {
        if let Some(last) = self.out.atoms.last_mut()
            && end > self.counted_to
            && end - last.start > self.bounds.soft
        {
            last.tokens += self.index.tokens(self.counted_to..end);
            self.counted_to = end;
        }
    }

    fn open(&mut self, frame: &mut Frame, node: Node<'_>, range: &Range<u32>, symbol: Option<usize>) {
        let kind = symbol.map(|at| self.out.symbols[at].kind);
        let class = symbol.map(|at| self.out.symbols[at].class);
        let outer = self.frames[self.frames.len() - 1].cut;
        let (cut, crossing) = match (kind, class) {
            (Some(kind), _) if kind.is_callable() => (outer.max(cost::STATEMENT), cost::CROSS_CALLABLE),
            (Some(_), Some(SemanticClass::BoundaryModule)) => (outer, 0),
            (Some(_), _) => (outer.max(cost::MEMBER), cost::CROSS_TYPE),
            (None, _) if frame.in_callable => (outer + cost::DEEPER, 0),
            (None, _) => (outer, 0),
        };
        frame.cut = cut.min(cost::DEEPEST);
        frame.cross_at_end = crossing;
        if let Some(pending) = &mut self.pending {
            pending.crossing = pending.crossing.max(crossing);
        }
        if symbol.is_some() {
            let kind = self.grammar.language.node_kind_for_id(node.kind_id()).unwrap_or("definition");
            self.out.opened.push(Opened { range: range.clone(), kind });
        }
    }

    /// Keeps comments and annotations for the definition that follows, drops them after anything else.
    fn wait(&mut self, top: usize, range: &Range<u32>, info: &KindInfo, is_error: bool) {
        if !(info.comment || info.attach) {
            if info.named || is_error {
                self.frames[top].run = Run::default();
            }
            return;
        }
        if info.comment && !self.index.starts_line(range.start) {
            return;
        }
        let joins = self.attached(&self.frames[top].run, range.start);
        let run = &mut self.frames[top].run;
        if !joins {
            *run = Run::default();
        }
        run.start.get_or_insert(range.start);
        run.end = range.end;
        if info.attach {
            run.annotations.get_or_insert(range.start);
        } else if let Some(comment) = &mut run.comment {
            comment.end = range.end;
        } else {
            run.comment = Some(range.clone());
        }
    }

    /// True if a run waits and no blank line stands between it and `start`.
    fn attached(&self, run: &Run, start: u32) -> bool {
        if run.start.is_none() || run.end > start {
            return false;
        }
        let bytes = self.index.bytes();
        let ended_line = run.end > 0 && bytes[run.end as usize - 1] == b'\n';
        let between = &bytes[run.end as usize..start as usize];
        usize::from(ended_line) + between.iter().filter(|&&byte| byte == b'\n').count() <= 1
    }

    fn blank_line_before(&self, start: u32) -> bool {
        let before = &self.index.bytes()[..start as usize];
        before
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_whitespace())
            .filter(|&&byte| byte == b'\n')
            .count()
            > 1
    }

    /// True if a range has more tokens than `limit`. Very long ranges are not counted: see `SURELY`.
    fn exceeds(&self, range: Range<u32>, limit: u32) -> bool {
        const SURELY: u32 = 16;
        let length = range.end - range.start;
        length > limit && (length > limit.saturating_mul(SURELY) || self.index.tokens(range) > limit)
    }
}
