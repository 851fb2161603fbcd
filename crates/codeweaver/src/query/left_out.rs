//! Left-out files: the names of a query that are in no indexed file, but in a file that the index leaves out
//! because it is generated, vendored, minified, too large or a lock file. Such a name is not "nowhere".

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codeweaver_git::{BStr, BString, ByteSlice as _};
use codeweaver_index::policy::{SkipReason, skip_reason};
use codeweaver_text::plural;

use super::answer::Ranking;
use super::answer::absences::is_name;
use super::cancel::Cancel;
use super::error::QueryError;
use super::grep::{Found, GrepFile, GrepRequest, Page, Pattern};
use super::request::{Filters, Request, ViewRequest};
use super::view::View;

/// Time in which left-out files are searched for a name, and for each further name of the same search.
const BUDGET: Duration = Duration::from_secs(1);
const BUDGET_OF_FURTHER: Duration = Duration::from_millis(100);
/// Maximum number of further names that the time is prolonged for.
const MAX_FURTHER: u32 = 20;
/// Maximum number of names that are looked up.
const MAX_NAMES: usize = 3;
/// Maximum number of files that a note names.
const MAX_FILES: usize = 3;

/// Moves the names among the absent words of `ranking` that a left-out file of `view` has to its notes.
/// `find` searches lines.
///
/// # Errors
/// Those of `find`.
pub fn note<'a>(
    request: &Request,
    view: &View,
    ranking: &mut Ranking,
    find: impl Fn(&GrepRequest) -> Result<Found<'a>, QueryError>,
) -> Result<(), QueryError> {
    let is_only = request.query.split_whitespace().count() == 1;
    let names = ranking.absent_words.iter().filter(|word| is_only || is_name(word));
    let names: Vec<String> = names.take(MAX_NAMES).cloned().collect();
    let files = match names.is_empty() {
        true => BTreeSet::new(),
        false => left_out(view),
    };
    if files.is_empty() {
        return Ok(());
    }

    let mut lines = lines_of(files, &request.view, BUDGET);
    lines.filters.repos.clone_from(&request.filters.repos);

    for name in names {
        lines.pattern = Pattern::any_word(std::slice::from_ref(&name));
        let note = match find(&lines) {
            Ok(found) if found.n_files() == 0 => continue,
            Ok(found) => note_of(&name, &found),
            Err(QueryError::Cancelled) => {
                request.view.cancel.check()?;
                format!(
                    "`{name}` is in no indexed file; those that are left out were not all searched in time"
                )
            }
            Err(error) => return Err(error),
        };

        ranking.absent_words.retain(|word| *word != name);
        ranking.notes.push(note);
    }
    Ok(())
}

/// The note on a name that the files of `found` have.
fn note_of(name: &str, found: &Found<'_>) -> String {
    let paths: Vec<String> = found.files().take(MAX_FILES).map(|file| file.path).collect();
    let others = match found.n_files() - paths.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let files = plural(found.n_files() as u64, "file");
    format!(
        "`{name}` is only in {files} that the index leaves out: {}{others}; exact search shows the lines",
        paths.join(", ")
    )
}

/// The left-out files with lines that have one of some names.
#[derive(Debug, Default)]
pub struct Naming {
    /// Files with their lines.
    pub files: Vec<GrepFile>,
    /// Number of files that were not searched: for want of time, or because they could not be read.
    pub n_unsearched: usize,
}

/// The left-out files of `view` with a line that has one of `names` as a word, as written. All names are
/// searched for at once: the files are read once. `asked` is the request for the view, `find` searches lines.
///
/// # Errors
/// Those of `find`.
pub fn naming<'a>(
    view: &View,
    asked: &ViewRequest,
    names: &[String],
    find: impl Fn(&GrepRequest) -> Result<Found<'a>, QueryError>,
) -> Result<Naming, QueryError> {
    let files = if names.is_empty() { BTreeSet::new() } else { left_out(view) };
    let n_files = files.len();
    if n_files == 0 {
        return Ok(Naming::default());
    }

    let word = Pattern { ignore_case: false, ..Pattern::any_word(names) };
    let n_further = (names.len().saturating_sub(1) as u32).min(MAX_FURTHER);
    let budget = BUDGET + BUDGET_OF_FURTHER * n_further;
    let request = GrepRequest { pattern: word, ..lines_of(files, asked, budget) };
    let mut naming = Naming::default();

    let searched = find(&request).and_then(|found| {
        naming.n_unsearched = found.info.unread_files as usize;
        found.for_each(Page::default(), |file| {
            naming.files.push(file);
            Ok::<(), QueryError>(())
        })
    });
    match searched {
        Err(QueryError::Cancelled) => {
            asked.cancel.check()?;
            Ok(Naming { files: Vec::new(), n_unsearched: n_files })
        }
        searched => searched.map(|()| naming),
    }
}

/// A request for lines of `files`, without a pattern, that ends within `budget`.
fn lines_of(files: BTreeSet<BString>, asked: &ViewRequest, budget: Duration) -> GrepRequest {
    let deadline = Instant::now() + budget;
    let cancel = asked.cancel.clone();
    let cancel = Cancel::when(move || Instant::now() >= deadline || cancel.is_cancelled());

    GrepRequest {
        pattern: Pattern::default(),
        filters: Filters { include_tests: true, files: Some(Arc::new(files)), ..Filters::default() },
        view: ViewRequest { cancel, ..asked.clone() },
        context: 0,
    }
}

/// The paths of the files of `view` with text that the index leaves out by itself. What the user excludes and
/// what has credentials is not searched by anything.
fn left_out(view: &View) -> BTreeSet<BString> {
    let mut found = BTreeSet::new();
    visit_skipped(view, is_text, |path, _| {
        found.insert(path.to_owned());
    });
    found
}

/// Calls `visit` with each file of `view` that is not indexed for a reason that `is_wanted`, and the reason.
pub fn visit_skipped(
    view: &View,
    is_wanted: impl Fn(SkipReason) -> bool,
    mut visit: impl FnMut(&BStr, SkipReason),
) {
    let mut counts = view.snapshot.totals.skipped.iter();
    if !counts.any(|(number, count)| *count > 0 && skip_reason(*number).is_some_and(&is_wanted)) {
        return;
    }

    for (_, record, path) in view.reader.live_entries(&view.snapshot.entries) {
        // A path is skipped by its entry, or by the doc of its blob.
        let reason = skip_reason(record.skipped).or_else(|| doc_reason(view, record.doc));
        if let Some(reason) = reason.filter(|&reason| is_wanted(reason)) {
            visit(path.as_bstr(), reason);
        }
    }
}

/// Returns whether files that are left out for this reason have text that exact search covers.
fn is_text(reason: SkipReason) -> bool {
    matches!(
        reason,
        SkipReason::TooLarge
            | SkipReason::Generated
            | SkipReason::GeneratedDocs
            | SkipReason::Vendored
            | SkipReason::Minified
            | SkipReason::LockFile
            | SkipReason::Crashed
    )
}

/// The reason for which the content of a doc is not indexed.
fn doc_reason(view: &View, doc: u32) -> Option<SkipReason> {
    let (segment, ordinal) = view.reader.locate_doc(doc)?;
    skip_reason(view.reader.segments[segment].docs().get(ordinal as usize)?.skipped)
}
