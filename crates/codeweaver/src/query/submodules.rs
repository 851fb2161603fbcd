//! Submodules: repositories of their own, so what they hold is in no answer about the repository that has
//! them.

use codeweaver_git::quoting;
use codeweaver_index::policy::{SkipReason, skip_reason};
use codeweaver_text::plural;

use super::view::View;

/// Maximum number of submodules that a note names.
const MAX_NAMED: usize = 3;

/// The note that the submodules of `view` are not searched; `None` if it has none.
pub fn note(view: &View) -> Option<String> {
    let mut counts = view.snapshot.totals.skipped.iter();
    if !counts.any(|(number, count)| *count > 0 && skip_reason(*number) == Some(SkipReason::Submodule)) {
        return None;
    }

    let entries = view.reader.live_entries(&view.snapshot.entries);
    let links = entries.filter(|(_, record, _)| skip_reason(record.skipped) == Some(SkipReason::Submodule));
    let paths: Vec<String> = links.map(|(.., path)| quoting::text(path)).collect();
    note_on(&paths)
}

/// The note that the submodules at `paths` are not searched; `None` without any.
pub(super) fn note_on(paths: &[String]) -> Option<String> {
    let first = paths.first()?;
    let named: Vec<_> = paths.iter().take(MAX_NAMED).map(|path| quoting::printed(path)).collect();
    let (named, more) = (named.join(", "), if paths.len() > MAX_NAMED { ", …" } else { "" });
    let (is_are, it) = if paths.len() == 1 { ("is", "it") } else { ("are", "one") };

    let count = plural(paths.len() as u64, "submodule");
    let first = quoting::printed(first);
    Some(format!(
        "{count} ({named}{more}) {is_are} not part of this index; search {it} with `git -C {first} codeweaver search`"
    ))
}
