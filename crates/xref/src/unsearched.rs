//! Sources that no answer covers: those of submodules, those that the settings exclude, those that are never
//! shown because they have credentials, and those whose text is not in git. Each may use a symbol.

use codeweaver::query::view::View;
use codeweaver::query::{left_out, submodules};
use codeweaver_chunk::language;
use codeweaver_git::{ByteSlice as _, quoting};
use codeweaver_index::policy::SkipReason;
use codeweaver_text::plural;

use super::dialect;

/// The code of the warnings on sources that are not searched.
const NOT_SEARCHED: &str = "CALL_GRAPH_NOT_SEARCHED";
/// Maximum number of files that a warning names.
const MAX_NAMED: usize = 3;

/// A warning for each kind of sources in `view` that is not searched.
pub(super) fn warnings(view: &View) -> Vec<String> {
    let excluded = sources(view, |reason| {
        matches!(reason, SkipReason::Excluded | SkipReason::NotIncluded | SkipReason::Ignored)
    });
    let secret = sources(view, |reason| reason == SkipReason::Secret);
    let unreadable = sources(view, |reason| {
        matches!(reason, SkipReason::Binary | SkipReason::Filtered | SkipReason::LfsPointer)
    });

    let found = [
        submodules::note(view),
        note(&excluded, "not searched: policy.include, policy.exclude or .codeweaverignore"),
        note(&secret, "not searched: credentials are never shown"),
        note(&unreadable, "not searched: what git has of it is no text"),
    ];
    found.into_iter().flatten().map(|note| format!("{NOT_SEARCHED}: {note}")).collect()
}

/// The paths of the files in a language with a call graph that are skipped for a reason that `is_wanted`.
fn sources(view: &View, is_wanted: impl Fn(SkipReason) -> bool) -> Vec<String> {
    let skipped = left_out::skipped(view, is_wanted).into_iter();
    let sources = skipped.filter(|path| {
        let language = language::by_path(path.as_bstr());
        language.is_some_and(|language| dialect::for_language(language.name()).is_some())
    });
    sources.map(|path| quoting::text(&path)).collect()
}

/// The note on files at `paths`; `None` without any.
fn note(paths: &[String], why: &str) -> Option<String> {
    let named: Vec<_> = paths.iter().take(MAX_NAMED).map(|path| quoting::printed(path)).collect();
    let (named, more) = (named.join(", "), if paths.len() > MAX_NAMED { ", …" } else { "" });
    let is_are = if paths.len() == 1 { "is" } else { "are" };

    let files = plural(paths.len() as u64, "source file");
    (!paths.is_empty()).then(|| format!("{files} ({named}{more}) {is_are} {why}"))
}
