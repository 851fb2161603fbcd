//! Lookup of files and lines in a view, by paths as users and clients write them.

use codeweaver_git::{BString, Oid, quoting};
use codeweaver_index::policy::{SkipReason, skip_reason};

use super::error::QueryError;
use super::view::{MatchState, RowId, View};

/// An indexed file of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Relative to the root of the repository.
    pub path: String,
    pub doc: u32,
    pub blob_oid: Oid,
    pub language: String,
    pub state: MatchState,
}

/// Returns the indexed file at `path`, which must be a [`clean`] path.
///
/// # Errors
/// [`QueryError::Parameter`] for a path that leaves the repository; [`QueryError::NotFound`], with the
/// reason, if the file is not in the view or not indexed.
pub fn file(view: &View, path: &str) -> Result<Located, QueryError> {
    let path = clean(path)?;
    let text = quoting::text(&path);

    let entry = view.reader.find_entry(&view.snapshot.entries, &path);
    let Some((record, _)) = entry.and_then(|id| view.reader.entry(id)) else {
        return Err(not_found(&text, &format!("is not in the index of {}", view.spec)));
    };

    let located = view.reader.locate_doc(record.doc).and_then(|(s, ordinal)| {
        let segment = &view.reader.segments[s];
        let doc = segment.docs().get(ordinal as usize)?;
        Some((segment.blob_oid(doc), segment.language(doc.language).to_owned(), doc.skipped))
    });

    match located {
        // An empty file has no chunks, but it is known.
        Some((.., skipped)) if skip_reason(skipped).is_some_and(|reason| reason != SkipReason::Empty) => {
            Err(not_indexed(&text, skipped))
        }
        Some((blob_oid, language, _)) => {
            let state = view.state_of(&path);
            Ok(Located { path: text, doc: record.doc, blob_oid, language, state })
        }
        None => Err(not_indexed(&text, record.skipped)),
    }
}

fn not_found(path: &str, why: &str) -> QueryError {
    QueryError::NotFound { what: format!("{} {why}", quoting::printed(path)) }
}

/// The error of a file that was skipped for the reason with this number.
fn not_indexed(path: &str, reason: u8) -> QueryError {
    let reason = skip_reason(reason);
    let name = reason.map_or("unknown", SkipReason::name);
    let why = match reason {
        Some(SkipReason::NotLocal) => ", because its contents are not in this clone until git fetches them",
        _ => "",
    };

    not_found(path, &format!("is not indexed ({name}){why}"))
}

/// The rows of a doc, in the order of the text.
pub fn rows(view: &View, doc: u32) -> impl Iterator<Item = RowId> + '_ {
    let range =
        view.reader.locate_doc(doc).map(|(s, ordinal)| (s as u32, view.reader.segments[s].doc_rows(ordinal)));
    range.into_iter().flat_map(|(segment, rows)| rows.map(move |row| RowId { segment, row }))
}

/// The error of a `line` behind the end of an indexed file; `None` if the file has it. Lines without text at
/// the end of a file are in no row and do not count.
pub fn beyond_end(view: &View, file: &Located, line: u32) -> Option<QueryError> {
    let total_lines = rows(view, file.doc).map(|id| view.row(id).1.end_line).max().unwrap_or(0);
    let path = || quoting::printed(&file.path).into_owned();
    (line > total_lines).then(|| QueryError::BeyondEnd { path: path(), line, total_lines })
}

/// Returns the bytes of `path`, which may be [quoted](quoting), without a leading `./`.
///
/// # Errors
/// [`QueryError::Parameter`] for absolute paths and those with `..` or NUL: only files of the repository are
/// read.
pub fn clean(path: &str) -> Result<BString, QueryError> {
    let given = path;
    let mut path = quoting::bytes(given.trim_start_matches("./"));
    while path.starts_with(b"./") {
        path.drain(..2);
    }

    let mut parts = path.split(|byte| b"/\\".contains(byte));
    let escapes = path.starts_with(b"/") || path.contains(&0) || parts.any(|part| part == b"..");

    if path.is_empty() || escapes {
        let found = format!("{given:?}");
        return Err(QueryError::Parameter {
            name: "path",
            must: "relative to the root of the repository, inside it",
            found,
        });
    }

    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_repository_are_refused() {
        for path in ["/etc/passwd", "../x", "a/../../x", "a\0b", "", "..", "a\\..\\b"] {
            assert!(clean(path).is_err(), "{path:?}");
        }
        for path in ["\"\\056./x\"", "\"a\\t/../../x\"", "./\"/etc\\040\""] {
            assert!(clean(path).is_err(), "{path:?} as quoted");
        }
        assert_eq!(clean("./src/a..b.rs").unwrap(), "src/a..b.rs");
        assert_eq!(clean("./\"a\\377b\"").unwrap(), b"a\xffb");
    }
}
