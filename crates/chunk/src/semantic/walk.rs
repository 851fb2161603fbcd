//! Walks a syntax tree once with a cursor and makes atoms and symbols of its nodes.
//!
//! Siblings become atoms. A node that alone exceeds the soft bound is *opened*: its children become atoms in
//! its place. Nothing recurses, because the input decides the depth of the tree.

use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use crate::grammar::Loaded;
use crate::lines::TextIndex;
use crate::pack::{Atom, Bounds};
use crate::rules::KindInfo;
use crate::symbols::{self, Context, Defined};
use crate::{SemanticClass, Symbol, SymbolKind};

/// Maximum nesting of definitions in a qualified name.
const MAX_NESTING: usize = 24;
/// Maximum number of keys, enum members and fields of one file that become symbols. Other definitions are not
/// bounded.
const MAX_DATA_SYMBOLS: usize = 4_000;

/// Costs of boundaries, in the unit of [`crate::pack`].
mod cost {
    /// Added where no blank line precedes the boundary.
    pub const NO_BLANK_LINE: u32 = 40;
    /// Between members of an opened type or module.
    pub const MEMBER: u32 = 60;
    /// Between statements of an opened function.
    pub const STATEMENT: u32 = 150;
    /// Added for each further opened node.
    pub const DEEPER: u32 = 30;
    pub const DEEPEST: u32 = 450;
    /// Cost of a boundary in the middle of a line, or between parts of one unit, where the size leaves no
    /// choice.
    pub const TORN: u32 = 2_000;
    /// Cost of a chunk that leaves or enters an opened type, or an opened function.
    pub const CROSS_TYPE: u32 = 60;
    pub const CROSS_CALLABLE: u32 = 140;
}

/// A definition that alone exceeded the soft bound.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub range: Range<u32>,
    /// Grammar kind of its node.
    pub kind: &'static str,
    /// Position of its symbol.
    pub symbol: usize,
}

/// The result of a walk.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Atoms that cover the text from its beginning to its end; `tokens` are not complete.
    pub atoms: Vec<Atom>,
    /// Class of the most important node of each atom.
    pub classes: Vec<SemanticClass>,
    /// Symbols in order of their start.
    pub symbols: Vec<Symbol>,
    /// Definitions that were opened, in order of their start.
    pub opened: Vec<Opened>,
    pub error_bytes: u32,
    pub nodes_unknown: u32,
    pub nodes_classified: u32,
}

/// A node whose children are being visited.
#[derive(Clone)]
struct Frame {
    kind: u16,
    /// True if children become atoms.
    opened: bool,
    /// True inside an ERROR node.
    in_error: bool,
    /// True if children are not searched for symbols.
    skip_symbols: bool,
    /// True if children of kinds that are not searched elsewhere are searched.
    opens: bool,
    in_callable: bool,
    /// Cost of a boundary between children.
    cut: u32,
    /// Cost for a chunk that continues after the end of this node.
    cross_at_end: u32,
    /// Length of the scope stack outside the node.
    scopes: usize,
    /// Comments and annotations that precede the next child.
    leading: Leading,
}

/// Adjacent comments and annotations before a node.
#[derive(Clone, Default)]
struct Leading {
    start: Option<u32>,
    end: u32,
    comment: Option<Range<u32>>,
    /// Start of the first annotation.
    annotations: Option<u32>,
}

/// A node with its properties.
struct Visit<'t, 'g> {
    node: Node<'t>,
    info: &'g KindInfo,
    range: Range<u32>,
    is_error: bool,
    /// Position of the symbol that the node defines.
    symbol: Option<usize>,
}

/// Cost of starting a chunk at an atom (`None` if the atom belongs to the one before it), and of a chunk that
/// holds both.
#[derive(Clone, Copy)]
struct Boundary {
    cut: Option<u32>,
    crossing: u32,
    on_node: bool,
}

/// The input of a walk besides the tree.
#[derive(Clone, Copy)]
pub(crate) struct WalkInput<'a> {
    pub text: &'a str,
    pub index: &'a TextIndex<'a>,
    pub grammar: &'static Loaded,
    pub bounds: Bounds,
    /// `semantic_importance_threshold`: nodes of less important classes do not start a chunk.
    pub threshold: f32,
}

struct Walker<'a> {
    input: WalkInput<'a>,
    frames: Vec<Frame>,
    /// Symbols that enclose the current node.
    scopes: Vec<usize>,
    /// Boundary before an opened node, which its first atom takes over.
    pending: Option<Boundary>,
    /// Crossing cost of the nodes that have ended since the last atom.
    crossing: u32,
    /// Offset up to which the tokens of the last atom are counted.
    counted_to: u32,
    data_symbols: usize,
    /// Symbols of parts of nodes that have been visited, which begin after what has been visited, the next
    /// one last.
    later: Vec<Symbol>,
    out: Walked,
}

/// Walks a tree once. Linear in its nodes.
pub(crate) fn walk(tree: &Tree, input: WalkInput<'_>) -> Walked {
    let root = tree.root_node();
    let mut walker = Walker {
        input,
        frames: Vec::with_capacity(64),
        scopes: Vec::new(),
        pending: None,
        crossing: 0,
        counted_to: 0,
        data_symbols: 0,
        later: Vec::new(),
        out: Walked::default(),
    };

    let mut cursor = tree.walk();

    if root.is_error() {
        walker.out.error_bytes = input.text.len() as u32;
    }

    walker.frames.push(Frame {
        kind: root.kind_id(),
        opened: true,
        in_error: root.is_error(),
        skip_symbols: false,
        opens: false,
        in_callable: false,
        cut: 0,
        cross_at_end: 0,
        scopes: 0,
        leading: Leading::default(),
    });

    // The root has no children in a text without tokens.
    if cursor.goto_first_child() {
        walker.visit(&mut cursor);
    }
    walker.add_later(u32::MAX);
    walker.out
}

impl Walker<'_> {
    /// Visits the node at the cursor and all that follow it.
    fn visit(&mut self, cursor: &mut TreeCursor<'_>) {
        loop {
            let child_frame = self.enter(cursor.node());
            if let Some(frame) = child_frame {
                if cursor.goto_first_child() {
                    self.frames.push(frame);
                    continue;
                }
                // A node without children has no `leave`.
                self.scopes.truncate(frame.scopes);
            }

            while !cursor.goto_next_sibling() {
                self.leave();
                if self.frames.is_empty() || !cursor.goto_parent() {
                    return;
                }
            }
            if self.frames.is_empty() {
                return;
            }
        }
    }

    /// Visits a node. Returns the frame of its children if they are to be visited.
    fn enter(&mut self, node: Node<'_>) -> Option<Frame> {
        let kind = node.kind_id();
        let info = self.input.grammar.rules.kind(kind);
        let top = self.frames.len() - 1;
        let (opened_here, in_error, skip_symbols, opens) = {
            let frame = &self.frames[top];
            (frame.opened, frame.in_error, frame.skip_symbols, frame.opens)
        };

        let is_error = node.is_error();
        if is_error && !in_error {
            self.out.error_bytes += node.end_byte().saturating_sub(node.start_byte()) as u32;
        }

        // Most nodes are neither atom nor definition.
        if skip_symbols && !opened_here {
            return (node.has_error() && !is_error).then(|| self.inner_frame(kind, false, in_error, true));
        }

        let range = node.start_byte() as u32..node.end_byte() as u32;
        self.add_later(range.start);
        let symbol = if info.may_define() && !skip_symbols { self.define(node, info) } else { None };
        let visit = Visit { node, info, range, is_error, symbol };
        let opened = opened_here && self.place(&visit);

        let skips = skip_symbols || info.skip && !opens;
        let mut frame = self.inner_frame(kind, opened, in_error || is_error, skips);
        frame.opens = info.may_open && self.opens(node);
        let scopes = self.scopes.len();
        frame.scopes = scopes;
        match symbol {
            Some(at) => {
                if scopes < MAX_NESTING {
                    self.scopes.push(at);
                }
                frame.in_callable |= self.out.symbols[at].kind.is_callable();
                frame.leading = Leading::default();
            }
            None => frame.leading = self.frames[top].leading.clone(),
        }
        if opened {
            self.open(&mut frame, &visit);
        }

        self.update_leading(top, &visit);

        let is_visited = opened || !frame.skip_symbols || node.has_error();
        if !is_visited {
            self.scopes.truncate(scopes);
        }
        is_visited.then_some(frame)
    }

    /// Leaves the children of a node.
    fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.scopes.truncate(frame.scopes);
            self.crossing = self.crossing.max(frame.cross_at_end);
        }
    }

    /// Returns a frame that inherits from the current one.
    fn inner_frame(&self, kind: u16, opened: bool, in_error: bool, skip_symbols: bool) -> Frame {
        let outer = self.frames.last();

        Frame {
            kind,
            opened,
            in_error,
            skip_symbols,
            opens: false,
            in_callable: outer.is_some_and(|frame| frame.in_callable),
            cut: outer.map_or(0, |frame| frame.cut),
            cross_at_end: 0,
            scopes: self.scopes.len(),
            leading: Leading::default(),
        }
    }

    /// Returns whether all children of a node are searched for symbols.
    fn opens(&self, node: Node<'_>) -> bool {
        let parent_kind = self.frames.last().map_or(0, |frame| frame.kind);
        self.input.grammar.rules.opens(node, parent_kind, self.input.text.as_bytes())
    }

    /// Adds the symbols that a node defines. Returns the position of the first.
    fn define(&mut self, node: Node<'_>, info: &KindInfo) -> Option<usize> {
        let frame = self.frames.last()?;
        let start = node.start_byte() as u32;
        let attached = self.attached(&frame.leading, start);

        let context = Context {
            text: self.input.text,
            index: self.input.index,
            rules: &self.input.grammar.rules,
            parent: self.scopes.last().map(|&at| &self.out.symbols[at]),
            parent_kind: frame.kind,
            in_callable: frame.in_callable,
            comment: if attached { frame.leading.comment.clone() } else { None },
            annotations: if attached { frame.leading.annotations } else { None },
            nesting: self.scopes.len() as u8,
        };

        let rules = self.input.grammar.rules.rules_of(info);
        let Defined { symbol, others, merge } = symbols::define(node, rules, &context)?;

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
        let first = self.out.symbols.len() - 1;
        self.later.extend(others.into_iter().rev());
        Some(first)
    }

    /// Adds the symbols of parts of nodes that begin at `at` or before.
    fn add_later(&mut self, at: u32) {
        while let Some(symbol) = self.later.pop_if(|symbol| symbol.byte_range.start <= at) {
            self.out.symbols.push(symbol);
        }
    }

    /// Returns the last symbol of the current nesting.
    fn last_sibling(&self) -> Option<usize> {
        let nesting = self.scopes.len() as u8;
        self.out.symbols.iter().rposition(|symbol| symbol.nesting <= nesting)
    }

    /// Makes an atom of a child of an opened node. Returns true if the child is to be opened instead.
    fn place(&mut self, visit: &Visit<'_, '_>) -> bool {
        let &Visit { node, info, ref range, is_error, symbol } = visit;
        if range.start >= range.end {
            return false;
        }

        let class = symbol.map_or(info.class, |at| self.out.symbols[at].class);
        let named = info.named || is_error;
        if named {
            self.out.nodes_classified += 1;
            self.out.nodes_unknown += u32::from(class == SemanticClass::Unknown && !is_error);
        }

        let is_oversized = self.exceeds(range.clone(), self.input.bounds.soft) && node.child_count() > 0;
        let frame = &self.frames[self.frames.len() - 1];
        let is_attached = self.attached(&frame.leading, range.start);
        let starts_line = self.input.index.starts_line(range.start);
        let may_start_chunk = is_oversized
            || class == SemanticClass::Unknown
            || class.importance().max() >= self.input.threshold;

        let cut = (named && starts_line && may_start_chunk && !is_attached && !info.follow).then(|| {
            let is_tight = frame.leading.start.is_none() && !self.blank_line_before(range.start);
            frame.cut + if is_tight { cost::NO_BLANK_LINE } else { 0 }
        });

        let own = Boundary { cut, crossing: std::mem::take(&mut self.crossing), on_node: named };
        let boundary = match self.pending.take() {
            Some(outer) => Boundary { crossing: outer.crossing.max(own.crossing), ..outer },
            None => own,
        };

        if is_oversized {
            self.pending = Some(boundary);
            return true;
        }

        self.emit(range, boundary, class);
        false
    }

    /// Adds an atom, or extends the last one by a node that belongs to it.
    fn emit(&mut self, range: &Range<u32>, boundary: Boundary, class: SemanticClass) {
        let Some(last) = self.out.atoms.last_mut() else {
            self.out.atoms.push(Atom { start: 0, on_node: true, ..Atom::default() });
            self.out.classes.push(class);
            self.counted_to = 0;
            self.count_to(range.end);
            return;
        };

        let cut = boundary.cut.or_else(|| {
            // Parts of one unit are separated only where it would exceed the bound.
            let is_long = range.end - last.start > self.input.bounds.soft;
            let more = if is_long { self.input.index.tokens(self.counted_to..range.end) } else { 0 };
            (last.tokens + more > self.input.bounds.soft + self.input.bounds.target / 4).then_some(cost::TORN)
        });

        match cut {
            Some(cut) => {
                let Boundary { crossing, on_node, .. } = boundary;
                self.out.atoms.push(Atom {
                    start: self.input.index.back_to_line_start(range.start),
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
                let highest = &mut self.out.classes[self.out.atoms.len() - 1];
                if class.importance().max() > highest.importance().max() {
                    *highest = class;
                }
            }
        }

        self.count_to(range.end);
    }

    /// Counts the tokens of the last atom up to `end`. Each byte is counted at most once.
    fn count_to(&mut self, end: u32) {
        // A token has at least one byte, so an atom of fewer bytes cannot exceed the bound.
        if let Some(last) = self.out.atoms.last_mut()
            && end > self.counted_to
            && end - last.start > self.input.bounds.soft
        {
            last.tokens += self.input.index.tokens(self.counted_to..end);
            self.counted_to = end;
        }
    }

    /// Sets the costs of boundaries inside an opened node, and records it if it is a definition.
    fn open(&mut self, frame: &mut Frame, visit: &Visit<'_, '_>) {
        let symbol = visit.symbol;
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

        if let Some(symbol) = symbol {
            let language = &self.input.grammar.language;
            let kind = language.node_kind_for_id(visit.node.kind_id()).unwrap_or("definition");
            self.out.opened.push(Opened { range: visit.range.clone(), kind, symbol });
        }
    }

    /// Adds a comment or annotation to those that precede the next child. Any other named node resets them.
    fn update_leading(&mut self, top: usize, visit: &Visit<'_, '_>) {
        let &Visit { info, ref range, is_error, .. } = visit;
        if !(info.comment || info.attach) {
            // The modifier before an opened definition (`private def …`) stands between it and its comment.
            if (info.named || is_error) && !self.frames[top].opens {
                self.frames[top].leading = Leading::default();
            }
            return;
        }

        // A comment at the end of a line belongs to the code before it.
        if info.comment && !self.input.index.starts_line(range.start) {
            return;
        }

        let is_adjacent = self.attached(&self.frames[top].leading, range.start);
        let leading = &mut self.frames[top].leading;
        if !is_adjacent {
            *leading = Leading::default();
        }

        leading.start.get_or_insert(range.start);
        leading.end = range.end;
        if info.attach {
            leading.annotations.get_or_insert(range.start);
        } else if let Some(comment) = &mut leading.comment {
            comment.end = range.end;
        } else {
            leading.comment = Some(range.clone());
        }
    }

    /// Returns true if comments or annotations precede `start` without a blank line between them and it.
    fn attached(&self, leading: &Leading, start: u32) -> bool {
        if leading.start.is_none() || leading.end > start {
            return false;
        }

        let bytes = self.input.index.bytes();
        let ends_line = leading.end > 0 && bytes[leading.end as usize - 1] == b'\n';
        let between = &bytes[leading.end as usize..start as usize];
        usize::from(ends_line) + between.iter().filter(|&&byte| byte == b'\n').count() <= 1
    }

    /// Returns true if a blank line precedes the text at `start`.
    fn blank_line_before(&self, start: u32) -> bool {
        let before = &self.input.index.bytes()[..start as usize];
        before
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_whitespace())
            .filter(|&&byte| byte == b'\n')
            .count()
            > 1
    }

    /// Returns true if a range has more tokens than `limit`. A range of more than 16 bytes per token of the
    /// limit counts as larger without being counted.
    fn exceeds(&self, range: Range<u32>, limit: u32) -> bool {
        const MAX_BYTES_PER_TOKEN: u32 = 16;
        let length = range.end - range.start;
        length > limit
            && (length > limit.saturating_mul(MAX_BYTES_PER_TOKEN) || self.input.index.tokens(range) > limit)
    }
}
