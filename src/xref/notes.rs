//! Which notes are returned, and in which order (appendix E).

use std::collections::BTreeSet;

use super::response::Note;

/// Notes of an answer, with what was left out.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub notes: Vec<Note>,
    /// Relevant notes, returned or not.
    pub total: usize,
}

/// Keeps notes on `files` and, where they name a symbol, on `symbols`; sorts them by file, type, symbol, line (what has none
/// last) and hash of the detail; cuts at `limit`.
pub(crate) fn keep(
    mut notes: Vec<Note>,
    files: &BTreeSet<String>,
    symbols: &BTreeSet<String>,
    limit: usize,
) -> Kept {
    notes.retain(|note| {
        files.contains(&note.file) && note.symbol_id.as_ref().is_none_or(|id| symbols.contains(id))
    });
    notes.sort_by_cached_key(|note| {
        let detail = blake3::hash(note.detail.as_deref().unwrap_or("").as_bytes());
        let (symbol, line) = (&note.symbol_id, note.start_line);
        (
            note.file.clone(),
            note.note_type,
            (symbol.is_none(), symbol.clone()),
            (line.is_none(), line),
            *detail.as_bytes(),
        )
    });
    notes.dedup();
    let total = notes.len();
    notes.truncate(limit);
    Kept { notes, total }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(
        file: &str,
        note_type: &'static str,
        symbol: Option<&str>,
        line: Option<u32>,
        detail: Option<&str>,
    ) -> Note {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Note {
            file: file.to_owned(),
            note_type,
            symbol_id: owned(symbol),
            start_line: line,
            detail: owned(detail),
        }
    }

    #[test]
    fn notes_are_kept_by_relevance_sorted_and_cut() {
        let files = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let symbols = BTreeSet::from(["s".to_owned(), "t".to_owned()]);
        let sorted = [
            note("a", "one", Some("s"), Some(1), None),
            note("a", "one", Some("s"), Some(2), None),
            note("a", "one", Some("s"), None, None),
            note("a", "one", Some("t"), Some(1), None),
            note("a", "one", None, Some(1), None),
            note("a", "two", Some("s"), Some(1), None),
            note("b", "one", None, None, None),
        ];
        let mut given: Vec<Note> = sorted.iter().rev().cloned().collect();
        given.push(note("elsewhere", "one", None, None, None));
        given.push(note("a", "one", Some("unknown"), None, None));
        given.push(sorted[2].clone());
        let all = keep(given.clone(), &files, &symbols, 50);
        assert_eq!(all.notes, sorted);
        assert_eq!(all.total, sorted.len());
        let cut = keep(given, &files, &symbols, 3);
        assert_eq!(cut.notes, sorted[..3]);
        assert_eq!(cut.total, sorted.len());
    }

    #[test]
    fn details_decide_last_by_their_hash_a_missing_one_as_the_empty_text() {
        let files = BTreeSet::from(["a".to_owned()]);
        let details = [None, Some("x"), Some("y"), Some("z")];
        let notes: Vec<Note> = details.iter().map(|detail| note("a", "one", None, None, *detail)).collect();
        let mut expected = notes.clone();
        expected
            .sort_by_key(|note| *blake3::hash(note.detail.as_deref().unwrap_or("").as_bytes()).as_bytes());
        assert_eq!(keep(notes, &files, &BTreeSet::new(), 50).notes, expected);
    }
}
