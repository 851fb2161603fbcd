//! Matches with their text, within the budget.

use std::collections::BTreeSet;

use codeweaver_chunk::SemanticClass;
use codeweaver_embed::Embedder;
use codeweaver_git::quoting;
use codeweaver_index::Codebase;
use codeweaver_store::records::RowRecord;
use codeweaver_store::rows::chunk_id_digits;
use codeweaver_store::segment::Segment;
use codeweaver_store::symbols::SymbolRecord;

use super::Ranking;
use super::budget::{Budget, Draft, Fitted};
use super::focus::{Choice, FocusBy, FoundChunk, Further, InFile};
use super::related::{Focused, Relations};
use super::texts::Texts;
use crate::query::definitions::title_of;
use crate::query::error::QueryError;
use crate::query::rank::{NearDuplicate, RankedFile, class_of};
use crate::query::response::{Content, FileInfo, Focus, Match, MatchType, Place, RepoPath, Span};
use crate::query::retrieve::{Candidate, parallel};
use crate::query::view::View;

/// Number of best matches whose focus is decided by their text too; that of the others follows from names and
/// documentation alone. An answer has room for the text of about as many.
const FOCUSED_BY_TEXT: usize = 10;
/// Maximum number of chunks of a file in which the focus is looked for.
const MAX_CHUNKS: usize = 6;
/// Maximum number of further definitions of a file.
const MAX_MORE_IN_FILE: usize = 5;
/// Minimum number of files that are not in memory for which matches are made on several threads, however
/// small the view. Texts in memory are scanned in less time than a thread takes to start.
const MIN_PARALLEL_READS: usize = 4;
/// Number of best matches whose focus is decided by the meanings of definitions too: each is a vector to
/// compute.
const FOCUSED_BY_MEANING: usize = 3;
/// Number of best matches whose related symbols are looked up.
const WITH_RELATED_SYMBOLS: usize = 3;

/// Returns the matches of `ranking` within `budget`, best first. They are made on several threads if the view
/// has `min_parallel_rows`, or if files have to be read. `embedder` is the model of the vector of the query.
pub fn matches(
    codebase: &Codebase,
    view: &View,
    ranking: &Ranking,
    budget: &Budget<'_>,
    min_parallel_rows: u64,
    embedder: Option<&dyn Embedder>,
) -> Result<Fitted, QueryError> {
    let files = ranking.files.iter().filter(|file| file.relevance >= budget.min_score);
    let drafting = Drafting {
        view,
        budget,
        by: FocusBy::new(&ranking.evidence, &ranking.intent, embedder),
        relations: budget.related.then(|| Relations::new(view)),
        // Ranks count all files, so that the depth of a match is the same on every page.
        files: files.enumerate().skip(budget.offset).take(budget.limit).collect(),
    };

    let n_files = drafting.files.len();
    let is_parallel = view.n_rows() >= min_parallel_rows
        || (0..n_files).filter(|&at| drafting.has_to_read(at)).count() >= MIN_PARALLEL_READS;
    let drafts = parallel::map_with(
        n_files,
        is_parallel,
        || Texts::new(codebase, view),
        |texts, at| drafting.draft(texts, at),
    );
    let drafts = drafts.into_iter().collect::<Result<Vec<Draft>, QueryError>>()?;

    let mut texts = Texts::new(codebase, view);
    let mut unread = BTreeSet::new();
    let mut fitted = budget.fit(drafts, |draft| read_text(draft, &mut texts, &mut unread))?;
    fitted.unread_repos = unread.into_iter().collect();
    Ok(fitted)
}

/// The files that become matches, and everything that decides their content besides their texts.
struct Drafting<'a> {
    view: &'a View,
    budget: &'a Budget<'a>,
    by: FocusBy<'a>,
    /// `None` if related symbols are not asked for.
    relations: Option<Relations<'a>>,
    /// With their ranks among all files of at least the minimum score, counted from 0.
    files: Vec<(usize, &'a RankedFile)>,
}

impl Drafting<'_> {
    /// The depth of the match for the file at `at` of `files`.
    fn depth(&self, at: usize) -> Depth {
        Depth {
            by_text: self.files[at].0 < FOCUSED_BY_TEXT,
            by_meaning: self.files[at].0 < FOCUSED_BY_MEANING,
            has_text: !self.budget.without_content && at < self.budget.texts,
        }
    }

    /// Returns whether the match for the file at `at` needs a blob that is not in memory.
    fn has_to_read(&self, at: usize) -> bool {
        let Depth { by_text, has_text, .. } = self.depth(at);
        (by_text || has_text) && !is_in_memory(self.view, self.files[at].1)
    }

    /// Builds the match for the file at `at`, without its text but with its related symbols.
    fn draft(&self, texts: &mut Texts<'_>, at: usize) -> Result<Draft, QueryError> {
        self.budget.cancel.check()?;
        let (rank, file) = self.files[at];
        let depth = self.depth(at);
        let mut draft = build_draft(texts, file, &self.by, &depth, self.budget)?;

        // Each lookup reads several other chunks, so only the best matches have one.
        if let Some(relations) = &self.relations
            && depth.has_text
            && rank < WITH_RELATED_SYMBOLS
            && let Some(symbol) = draft.symbol
        {
            let focused = Focused { id: draft.id, symbol, entry: file.entry };
            let mut related = relations.find(&focused, texts)?;
            if let Some(repos) = self.budget.repos {
                related.retain(|symbol| repos.contains(&quoting::bytes(&symbol.path)));
            }
            draft.found.related_symbols = related.iter().map(|symbol| symbol.symbol.clone()).collect();
            draft.found.relations = related;
        }
        Ok(draft)
    }
}

/// Returns the text of a match, or a sentence in its place if the text cannot be read. The name of a
/// repository that cannot be read is added to `unread`.
fn read_text(
    draft: &mut Draft,
    texts: &mut Texts<'_>,
    unread: &mut BTreeSet<String>,
) -> Result<String, QueryError> {
    let is_elsewhere = texts.view().whole.is_some();
    let text = match draft.text.take() {
        Some(text) => text,
        None => texts.get(draft.id)?.map(<[u8]>::to_vec),
    };

    Ok(match text {
        // Valid text, which is the rule, is not copied.
        Some(text) => String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        None => match &draft.found.file.in_repo {
            Some(RepoPath { name, .. }) => {
                unread.insert(name.clone());
                match is_elsewhere {
                    true => format!("(the repository {name} is not at hand)"),
                    false => format!("(the repository {name} cannot be read)"),
                }
            }
            None => "(this blob is not in this clone)".to_owned(),
        },
    })
}

/// Returns whether the blob of the best chunk of a file is in memory.
fn is_in_memory(view: &View, file: &RankedFile) -> bool {
    let id = file.chunks[0].id;
    let (segment, _) = view.row(id);
    segment.doc_of(id.row).is_some_and(|(_, doc)| view.has_in_memory(&segment.blob_oid(doc)))
}

/// The texts that are read for a match.
struct Depth {
    /// Whether the texts of the chunks decide the focus, besides names and documentation.
    by_text: bool,
    /// Whether the meanings of definitions decide it too.
    by_meaning: bool,
    /// Whether the match is to have text.
    has_text: bool,
}

/// Builds the match for a ranked file, without its text.
fn build_draft(
    texts: &mut Texts<'_>,
    file: &RankedFile,
    by: &FocusBy<'_>,
    depth: &Depth,
    budget: &Budget<'_>,
) -> Result<Draft, QueryError> {
    let view = texts.view();
    let chunks: Vec<FoundChunk> = file
        .chunks
        .iter()
        .take(MAX_CHUNKS)
        .map(|chunk| FoundChunk { id: chunk.id, share: share_of_best(file, chunk) })
        .collect();
    let (path, _) = view.entry(file.entry);
    let mut in_file = InFile::new(view, by, &chunks, path).with_entry_point(file.entry_point);
    if depth.by_meaning {
        in_file = in_file.with_meanings();
    }

    let mut read = Vec::new();
    let mut is_missing = false;
    if depth.by_text && !in_file.is_decided() {
        for chunk in &chunks {
            let text = texts.get(chunk.id)?;
            is_missing |= text.is_none();
            read.push(text.unwrap_or_default().to_vec());
        }
    }

    let Choice { chunk, focus, further } = in_file.choice(&read);
    // The text of the match is here already if it was read to find the focus.
    let text = read.get_mut(chunk).map(|text| (!is_missing).then(|| std::mem::take(text)));
    let best = &file.chunks[chunk];
    let (segment, row) = view.row(best.id);
    let focused = focus.as_ref().map(|(_, symbol)| *symbol);
    let (focus, head, class) = match focus {
        Some((focus, symbol)) => (focus, Some(symbol), SemanticClass::from_u8(symbol.class)),
        None => {
            let (start_line, end_line) = (row.start_line, row.end_line);
            let symbols: Vec<SymbolRecord> = segment.symbols_of(row).collect();
            (Focus { start_line, end_line, ..Focus::default() }, main_symbol(&symbols, row), None)
        }
    };
    let doc = segment.docs().get(row.doc as usize);
    let chunk_id = doc
        .filter(|_| budget.identities)
        .map_or_else(String::new, |doc| chunk_id_digits(&segment.key(doc), &(row.start_byte..row.end_byte)));
    let more_in_file = if further.is_empty() {
        nameless_spans(view, file, &chunks, chunk, &focus)
    } else {
        further.iter().take(MAX_MORE_IN_FILE).map(|further| span_of(segment, file, further)).collect()
    };

    let found = Match {
        file: FileInfo {
            path: quoting::text(path),
            language: segment.language(row.language).to_owned(),
            in_repo: view.repo_of(path),
        },
        content: Content {
            text: String::new(),
            title: segment.text(row.title),
            class: class.unwrap_or_else(|| class_of(view, best)).name(),
            signature: head.map(|symbol| segment.signature(&symbol)).unwrap_or_default(),
            doc: head.map(|symbol| segment.text(symbol.doc)).unwrap_or_default(),
            elided: !depth.has_text,
            chunk_id,
        },
        span: (row.start_line, row.end_line),
        focus,
        relevance_score: rounded(file.relevance),
        match_type: match_type(file),
        related_symbols: Vec::new(),
        relations: Vec::new(),
        blob: doc.map(|doc| segment.blob_oid(doc).to_string()).unwrap_or_default(),
        rev: view.spec.clone(),
        state: view.state_of(path),
        more_in_file,
        also_at: file.also_at.iter().map(|&id| quoting::text(view.entry(id).0)).collect(),
        near_copies: file.near_duplicates.iter().map(|duplicate| place(view, duplicate)).collect(),
        explanation: budget.explain.then_some(file.explanation),
        evidence: (budget.explain && file.explanation.report.is_none()).then_some(file.evidence),
        reasons: if budget.explain { file.reasons.clone() } else { Vec::new() },
    };

    Ok(Draft {
        found,
        id: best.id,
        symbol: focused,
        has_text: depth.has_text,
        n_tokens: row.token_count,
        text,
    })
}

/// The place of a further definition of `file`.
fn span_of(segment: &Segment, file: &RankedFile, further: &Further) -> Span {
    let Further { symbol, share } = further;
    Span {
        span: (symbol.start_line, symbol.end_line),
        title: title_of(segment, symbol),
        symbol: segment.name(symbol.qualified_name).to_owned(),
        line: symbol.start_line,
        relevance_score: rounded(file.relevance * share),
    }
}

/// The places of the `chunks` of `file` besides the one at `chosen` that have no definition and begin outside
/// of `focus`. They have no names.
fn nameless_spans(
    view: &View,
    file: &RankedFile,
    chunks: &[FoundChunk],
    chosen: usize,
    focus: &Focus,
) -> Vec<Span> {
    let focus_lines = focus.start_line..=focus.end_line;

    let mut spans = Vec::new();
    for (at, chunk) in chunks.iter().enumerate() {
        let (segment, row) = view.row(chunk.id);
        if at == chosen || row.n_symbols > 0 || focus_lines.contains(&row.start_line) {
            continue;
        }
        spans.push(Span {
            span: (row.start_line, row.end_line),
            title: segment.text(row.title),
            symbol: String::new(),
            line: row.start_line,
            relevance_score: rounded(file.relevance * chunk.share),
        });
    }

    spans.truncate(MAX_MORE_IN_FILE);
    spans
}

/// The symbol that gave a chunk its class, so that class and signature belong together.
fn main_symbol(symbols: &[SymbolRecord], row: &RowRecord) -> Option<SymbolRecord> {
    let main = symbols.iter().min_by_key(|symbol| {
        let len = symbol.end_byte.saturating_sub(symbol.start_byte);
        (symbol.class != row.class, symbol.nesting, std::cmp::Reverse(len), symbol.start_byte)
    });
    main.copied()
}

/// The place of a near-duplicate.
fn place(view: &View, duplicate: &NearDuplicate) -> Place {
    let (_, row) = view.row(duplicate.id);
    let path = quoting::text(view.entry(duplicate.entry).0);
    Place { path, span: (row.start_line, row.end_line) }
}

/// The evidence of a chunk as a share of that of the best chunk of its file, at most 1.
fn share_of_best(file: &RankedFile, chunk: &Candidate) -> f32 {
    (strength(chunk) / strength(&file.chunks[0]).max(f32::MIN_POSITIVE)).clamp(0.0, 1.0)
}

/// The sum of the evidence of a chunk.
fn strength(chunk: &Candidate) -> f32 {
    chunk.bm25 + chunk.cosine.max(0.0) + chunk.definition
}

/// Rounds `score` to four decimals; further digits are noise.
fn rounded(score: f32) -> f32 {
    (score * 10_000.0).round() / 10_000.0
}

/// The kind of evidence that contributed most to the score. A definition comes before all others, whatever it
/// contributed.
fn match_type(file: &RankedFile) -> MatchType {
    let e = &file.explanation;
    if e.definition > 0.0 {
        MatchType::Syntactic
    } else if e.path > e.lexical + e.dense {
        MatchType::FilePattern
    } else if e.dense > e.lexical {
        MatchType::Semantic
    } else {
        MatchType::Keyword
    }
}
