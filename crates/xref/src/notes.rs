//! Selects the notes of an answer and orders them.

use std::collections::BTreeSet;

use super::response::Note;

/// The returned notes, with the number of relevant ones.
#[derive(Debug, Default)]
pub(crate) struct SelectedNotes {
    pub notes: Vec<Note>,
    /// Number of relevant notes, returned or not.
    pub total: usize,
}

/// Selects the notes on `files` that name no symbol or one of `symbols`.
///
/// They are sorted by file, type, symbol, line and the BLAKE3 hash of the detail, with a missing symbol or
/// line last, deduplicated, and cut at `limit`.
pub(crate) fn select(
    mut notes: Vec<Note>,
    files: &BTreeSet<String>,
    symbols: &BTreeSet<String>,
    limit: usize,
) -> SelectedNotes {
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

    SelectedNotes { notes, total }
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
    fn notes_are_filtered_sorted_and_cut() {
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
        let all = select(given.clone(), &files, &symbols, 50);
        assert_eq!(all.notes, sorted);
        assert_eq!(all.total, sorted.len());
        let cut = select(given, &files, &symbols, 3);
        assert_eq!(cut.notes, sorted[..3]);
        assert_eq!(cut.total, sorted.len());
    }

    #[test]
    fn ties_are_ordered_by_the_hash_of_the_detail() {
        let files = BTreeSet::from(["a".to_owned()]);
        let details = [None, Some("x"), Some("y"), Some("z")];
        let notes: Vec<Note> = details.iter().map(|detail| note("a", "one", None, None, *detail)).collect();
        let mut expected = notes.clone();
        expected
            .sort_by_key(|note| *blake3::hash(note.detail.as_deref().unwrap_or("").as_bytes()).as_bytes());
        assert_eq!(select(notes, &files, &BTreeSet::new(), 50).notes, expected);
    }
}
