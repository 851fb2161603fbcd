//! Verbatim: files that have a short query as it is written, such as a message or another string literal.
//!
//! The words of files and the postings of chunks say which chunks have all words of the query. Those of the
//! best files among them are read and compared. A file that has the query between quotation marks comes
//! before all others: its words were copied, not chosen.

use std::borrow::Cow;

use memchr::memmem;
use rustc_hash::FxHashMap;

use codeweaver_index::Codebase;
use codeweaver_store::live::LiveRows;
use codeweaver_store::postings::{Field, PostingList};
use codeweaver_store::segment::Segment;
use codeweaver_store::words::{DocSet, Needle, is_word_byte};
use codeweaver_text::QueryTerm;

use super::answer::Ranking;
use super::error::QueryError;
use super::intent::Intent;
use super::request::{Mode, Request};
use super::response::Strategy;
use super::retrieve::parallel;
use super::similar::texts::Texts;
use super::view::scope::Scope;
use super::view::{RowId, View};

/// Reason that a response gives for a file.
const REASON: &str = "its text, which has the query verbatim";

/// Minimum and maximum length of a query in bytes.
const MIN_BYTES: usize = 8;
const MAX_BYTES: usize = 300;
/// Minimum number of words of a message, if the query has another intent than to debug.
const MIN_MESSAGE_WORDS: usize = 4;
/// Maximum number of chunks that become candidates.
const MAX_ROWS: usize = 128;
/// Maximum number of files that are read.
const MAX_READ: usize = 48;
/// Number of files that are read in parallel before those with the text are counted, and number of them in
/// one task. Both are independent of the number of threads, as is the result.
const READ_AT_ONCE: usize = 16;
const READ_BY_ONE: usize = 4;
/// Number of files with the text after which no more are read.
const ENOUGH: usize = 10;
/// Number of words from which a part of a literal counts like the whole.
const MIN_WORDS_OF_PART: usize = 4;
/// Relevance of a file that has the query verbatim.
const RELEVANCE: f32 = 0.97;

/// Chunks that have all words of a query and so may have its text.
#[derive(Default)]
pub(super) struct Verbatim {
    /// Keyed by store-wide doc id, ascending by row.
    by_doc: FxHashMap<u32, Vec<RowId>>,
    /// Chunks that become candidates; none if there are too many.
    pub rows: Vec<RowId>,
    /// Whether the case of letters is ignored, and text outside of literals counts.
    is_lenient: bool,
}

impl Verbatim {
    /// Finds the chunks of `scope` that may have the query verbatim. `terms` are those of the query.
    ///
    /// A query about a fault is usually a message; its case and quotes may differ from those in the code.
    pub fn find(
        request: &Request,
        terms: &[QueryTerm],
        view: &View,
        scope: &Scope,
        min_parallel_rows: u64,
    ) -> Verbatim {
        if !may_be_copied(request) {
            return Verbatim::default();
        }

        let is_lenient = request.intent == Some(Intent::Debug);
        let needles = needles_of(request.query.trim(), is_lenient);
        let rows = rows_with_all(view, scope, &needles, terms, min_parallel_rows);

        let mut by_doc: FxHashMap<u32, Vec<RowId>> = FxHashMap::default();
        for &id in &rows {
            by_doc.entry(view.doc_of(id)).or_default().push(id);
        }

        // Too many rows are no evidence, but ranked files among them are still compared.
        Verbatim { by_doc, rows: if rows.len() > MAX_ROWS { Vec::new() } else { rows }, is_lenient }
    }

    /// Moves the files of `ranking` that have the query verbatim to its front, in the same order.
    ///
    /// # Errors
    /// [`QueryError`] if a blob cannot be read.
    pub fn promote(
        &self,
        codebase: &Codebase,
        request: &Request,
        view: &View,
        min_parallel_rows: u64,
        ranking: &mut Ranking,
    ) -> Result<(), QueryError> {
        if self.by_doc.is_empty() {
            return Ok(());
        }

        let folded = request.query.trim().to_ascii_lowercase();
        let text = if self.is_lenient { folded.as_str() } else { request.query.trim() };
        let copied = CopiedText {
            text,
            finder: memmem::Finder::new(text),
            is_lenient: self.is_lenient,
            is_code: is_like_code(text),
        };
        let mut files: Vec<(usize, &[RowId])> = Vec::new();
        for (at, file) in ranking.files.iter().enumerate() {
            if let Some(rows) = self.by_doc.get(&file.doc).filter(|_| !file.features.file.roles.is_prose) {
                files.push((at, rows));
            }
        }
        files.truncate(MAX_READ);

        let mut found: Vec<(usize, RowId)> = Vec::new();
        for batch in files.chunks(READ_AT_ONCE) {
            let parts: Vec<_> = batch.chunks(READ_BY_ONE).collect();
            let found_in_parts = parallel::map(parts.len(), view.n_rows(), min_parallel_rows, |part| {
                copied.find_in(parts[part], codebase, view)
            });
            for found_in_part in found_in_parts {
                found.extend(found_in_part?);
            }

            // Counted after each batch, so that the result does not depend on the number of threads.
            if found.len() >= ENOUGH {
                break;
            }
        }

        found.truncate(ENOUGH);
        promote(ranking, &found);
        Ok(())
    }
}

/// Moves the files at the positions of `found`, which ascend, to the front of `ranking`. The row that has the
/// text becomes the first chunk of its file if it is one of its chunks.
fn promote(ranking: &mut Ranking, found: &[(usize, RowId)]) {
    if found.is_empty() {
        return;
    }

    let (mut first, mut rest) = (Vec::new(), Vec::new());
    let mut found = found.iter().peekable();

    for (at, mut file) in std::mem::take(&mut ranking.files).into_iter().enumerate() {
        let Some((_, row)) = found.next_if(|(with_text, _)| *with_text == at) else {
            rest.push(file);
            continue;
        };

        // The text is what is shown of the file.
        if let Some(at) = file.chunks.iter().position(|chunk| chunk.id == *row) {
            file.chunks[..=at].rotate_right(1);
        }
        file.relevance = file.relevance.max(RELEVANCE);
        file.reasons.push(REASON.to_owned());
        first.push(file);
    }

    ranking.files = first.into_iter().chain(rest).collect();
    ranking.strategies.push(Strategy::Verbatim);
}

/// A query as it is compared with files.
struct CopiedText<'a> {
    /// In lower case if `is_lenient`.
    text: &'a str,
    finder: memmem::Finder<'a>,
    is_lenient: bool,
    /// Whether the text counts outside of literals, since it looks like code.
    is_code: bool,
}

impl CopiedText<'_> {
    /// Returns those of `files` that have the text, each with the first row that has it. A file is a position
    /// in the ranking with its rows.
    fn find_in(
        &self,
        files: &[(usize, &[RowId])],
        codebase: &Codebase,
        view: &View,
    ) -> Result<Vec<(usize, RowId)>, QueryError> {
        let mut texts = Texts::new(codebase, view);
        let mut found = Vec::new();

        for &(at, rows) in files {
            found.extend(self.row_of(rows, view, &mut texts)?.map(|row| (at, row)));
        }
        Ok(found)
    }

    /// Returns the first of `rows`, which are of one file, that has the text.
    fn row_of(
        &self,
        rows: &[RowId],
        view: &View,
        texts: &mut Texts<'_>,
    ) -> Result<Option<RowId>, QueryError> {
        for &id in rows {
            let (_, row) = view.row(id);
            let (start, end) = (row.start_byte as usize, row.end_byte as usize);
            let chunk = texts.of_doc(id)?.get(start..end).unwrap_or_default();
            let chunk =
                if self.is_lenient { Cow::Owned(chunk.to_ascii_lowercase()) } else { Cow::Borrowed(chunk) };

            if self.finder.find_iter(&chunk).any(|at| self.counts_at(&chunk, at)) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns whether the text at `at` of `chunk` counts: by itself, or because it fills a literal.
    fn counts_at(&self, chunk: &[u8], at: usize) -> bool {
        self.is_lenient
            || self.is_code
            || literal_around(chunk, at, self.text.len()).is_some_and(|literal| fills(literal, self.text))
    }
}

/// Returns whether the query may be a text that was copied: it has one line, and two words or a character
/// that names do not have, and is searched for by its words.
fn may_be_copied(request: &Request) -> bool {
    let text = request.query.trim();

    // A few plain words with another intent than to debug are a subject, not a message.
    let is_subject = request.intent.is_some_and(|intent| intent != Intent::Debug)
        && text.split_whitespace().count() < MIN_MESSAGE_WORDS
        && !is_like_code(text);

    matches!(request.mode, Mode::Hybrid | Mode::Keyword)
        && !is_subject
        && (MIN_BYTES..=MAX_BYTES).contains(&text.len())
        && !text.contains('\n')
        && !text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '#'))
}

/// Returns whether `text` has characters that code has and sentences do not.
fn is_like_code(text: &str) -> bool {
    text.contains(['{', '}', '[', ']', '=', ';', '<', '>', '%', '$', '|', '\\', '"'])
}

/// Returns whether `text` is most of a `literal` that contains it: all but blanks, a final punctuation mark
/// and an escaped line end, or at least [`MIN_WORDS_OF_PART`] words. Fewer words occur in a longer text by
/// chance.
fn fills(literal: &[u8], text: &str) -> bool {
    text.split_whitespace().count() >= MIN_WORDS_OF_PART || bare_len(literal) == bare_len(text.as_bytes())
}

/// The length of `text` without blanks around it, and without punctuation marks and escaped line ends at its
/// end.
fn bare_len(mut text: &[u8]) -> usize {
    loop {
        match text {
            [rest @ .., b'\\', b'n' | b'r' | b't'] => text = rest,
            [rest @ .., last] if b".!?:,".contains(last) || last.is_ascii_whitespace() => text = rest,
            _ => return text.trim_ascii_start().len(),
        }
    }
}

/// Returns the literal of one line around the `len` bytes of `chunk` at `at`: the bytes between two equal
/// quotation marks.
fn literal_around(chunk: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    let line = memchr::memrchr(b'\n', &chunk[..at]).map_or(0, |end| end + 1);
    let before = &chunk[line..at];
    let after = &chunk[at + len..];
    let after = &after[..memchr::memchr(b'\n', after).unwrap_or(after.len())];

    [b'"', b'\'', b'`'].into_iter().find_map(|mark| {
        let open = open_literal(before, mark)?;
        let close = memchr::memchr(mark, after)?;
        Some(&chunk[line + open + 1..at + len + close])
    })
}

/// Returns the position of the `mark` that opens the literal that is not closed at the end of `before`.
fn open_literal(before: &[u8], mark: u8) -> Option<usize> {
    let mut open = None;

    for at in memchr::memchr_iter(mark, before) {
        let previous = at.checked_sub(1).map_or(b' ', |at| before[at]);
        open = match open {
            _ if previous == b'\\' => open,
            Some(_) => None,
            // An apostrophe follows a letter.
            None if mark == b'\'' && previous.is_ascii_alphabetic() => None,
            None => Some(at),
        };
    }
    open
}

/// Returns the rows of `scope` that have all words of `terms`, of files that have all `needles`.
fn rows_with_all(
    view: &View,
    scope: &Scope,
    needles: &[Needle],
    terms: &[QueryTerm],
    min_parallel_rows: u64,
) -> Vec<RowId> {
    let words: Vec<&str> =
        terms.iter().filter(|term| term.is_word()).map(|term| term.term.as_str()).collect();

    let segments = &view.reader.segments;
    let by_segment = parallel::map(segments.len(), view.n_rows(), min_parallel_rows, |s| {
        // Of a segment without hidden docs there is nothing to tell.
        let shown = view.live().get(s).filter(|live| view.is_limited && !live.all());
        let rows = rows_of_segment(&segments[s], &scope.rows[s], shown, needles, &words);
        rows.into_iter().map(move |row| RowId { segment: s as u32, row })
    });

    by_segment.into_iter().flatten().collect()
}

/// Returns rows as [`rows_with_all`] does, of one segment. `wanted` are its rows in scope; `shown` those that
/// a limited reader may see.
fn rows_of_segment(
    segment: &Segment,
    wanted: &LiveRows,
    shown: Option<&LiveRows>,
    needles: &[Needle],
    words: &[&str],
) -> Vec<u32> {
    const FIELDS: [Field; 3] = [Field::Body, Field::Symbol, Field::Doc];
    if wanted.n_live() == 0 {
        return Vec::new();
    }

    let Some(postings) = segment.postings() else { return Vec::new() };
    let mut lists: Vec<_> = words.iter().map(|word| FIELDS.map(|field| postings.get(field, word))).collect();
    // The rarest word comes first, so that few rows are compared.
    lists.sort_by_key(n_postings);
    let Some((rarest, others)) = lists.split_first() else { return Vec::new() };

    let mut rows = listed(rarest);
    rows.retain(|&row| wanted.contains(row));
    for lists in others {
        if rows.is_empty() {
            break;
        }
        retain_listed(&mut rows, lists);
    }

    // Most segments have no such row, and words take longer to read than postings.
    if !rows.is_empty()
        && let Some(docs) = docs_with_all(segment, shown, needles)
    {
        let records = segment.rows();
        rows.retain(|&row| records.get(row as usize).is_some_and(|record| docs.contains(record.doc)));
    }
    rows
}

/// The number of postings in `lists`.
fn n_postings(lists: &[Option<PostingList<'_>>; 3]) -> u32 {
    lists.iter().flatten().map(PostingList::df).sum()
}

/// Returns the rows in any of `lists`, ascending.
fn listed(lists: &[Option<PostingList<'_>>; 3]) -> Vec<u32> {
    let mut rows: Vec<u32> = Vec::new();
    for list in lists.iter().flatten() {
        list.for_each(|row, _| rows.push(row));
    }

    // A stable sort is fast on a few ascending runs.
    rows.sort();
    rows.dedup();
    rows
}

/// Returns the docs of `segment` that have all `needles`; `None` if its words are not stored. With `shown`,
/// only docs with such rows.
fn docs_with_all(segment: &Segment, shown: Option<&LiveRows>, needles: &[Needle]) -> Option<DocSet> {
    let is_shown = |doc: u32| shown.is_some_and(|shown| segment.doc_rows(doc).any(|row| shown.contains(row)));
    let words = segment.words()?;
    let words = if shown.is_some() { words.limited_to(&is_shown) } else { words };

    let mut docs: Option<DocSet> = None;

    for needle in needles {
        if docs.as_ref().is_some_and(DocSet::is_empty) {
            break;
        }
        let Some(docs_with_needle) = words.docs_with(needle) else { continue };
        match &mut docs {
            Some(docs) => docs.intersect(&docs_with_needle),
            None => docs = Some(docs_with_needle),
        }
    }

    let mut docs = docs?;
    // Files whose words are not known may have all of them.
    docs.unite(&words.unknown());
    Some(docs)
}

/// Returns the words of `text` as whole words, the longest first, since few files have long words. A copied
/// text is taken to begin and end with a word.
fn needles_of(text: &str, ignore_case: bool) -> Vec<Needle> {
    let mut needles: Vec<Needle> = text
        .split(|c: char| c.is_ascii() && !is_word_byte(c as u8))
        .filter(|word| !word.is_empty())
        .map(|word| Needle { text: word.to_owned(), is_start: true, is_end: true, ignore_case })
        .collect();

    needles.sort_by_key(|needle| std::cmp::Reverse(needle.text.len()));
    needles.dedup();
    needles
}

/// Keeps those of `rows`, which ascend, that are in any of `lists`.
fn retain_listed(rows: &mut Vec<u32>, lists: &[Option<PostingList<'_>>]) {
    let mut is_listed = vec![false; rows.len()];
    for list in lists.iter().flatten() {
        list.for_each_of(rows, |at| is_listed[at] = true);
    }

    let mut is_listed = is_listed.into_iter();
    rows.retain(|_| is_listed.next() == Some(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_between_equal_marks_on_its_line() {
        let quoted = |line: &str| {
            let at = line.find("no slot left").unwrap();
            literal_around(line.as_bytes(), at, "no slot left".len()).is_some()
        };

        for line in [
            "x\nfail(\"E1: no slot left in %s\");\n",
            "raise Full('no slot left')",
            "`no slot left`",
            "{ a: 'it', b: 'no slot left' }",
        ] {
            assert!(quoted(line), "{line}");
        }

        for line in [
            "// no slot left",
            "\"a\"\nno slot left\n\"b\"",
            "it's no slot left in bob's",
            "'x' no slot left",
            "(`Ts`), no slot left (`Tm`)",
        ] {
            assert!(!quoted(line), "{line}");
        }
    }

    #[test]
    fn a_text_fills_a_literal_but_for_blanks_and_signs_or_has_four_words() {
        for (literal, text, expected) in [
            ("no slot left", "no slot left", true),
            (" No slot left.\\n", "No slot left", true),
            ("read a scroll of fire", "read a scroll", false),
            ("E1: there is no slot left for it", "there is no slot", true),
        ] {
            assert_eq!(fills(literal.as_bytes(), text), expected, "{literal}");
        }
    }
}
