//! Sources that no answer covers: those of submodules, those that the settings exclude, those that are never
//! shown because they have credentials, and those whose text is not in git. Each may use a symbol.

use std::collections::BTreeSet;

use codeweaver::query::view::View;
use codeweaver::query::{left_out, submodules};
use codeweaver_chunk::language;
use codeweaver_git::{BStr, BString, quoting};
use codeweaver_index::policy::SkipReason;
use codeweaver_text::plural;

use super::dialect;

/// The code of the warnings on sources that are not searched.
const NOT_SEARCHED: &str = "CALL_GRAPH_NOT_SEARCHED";
/// Maximum number of files that a warning names.
const MAX_NAMED: usize = 3;

/// Sources that are not searched for one cause.
#[derive(Default)]
struct Sources {
    n: usize,
    /// The first paths.
    named: BTreeSet<BString>,
}

impl Sources {
    fn add(&mut self, path: &BStr) {
        self.n += 1;
        self.named.insert(path.to_owned());
        if self.named.len() > MAX_NAMED {
            self.named.pop_last();
        }
    }

    /// The note on these sources; `None` without any.
    fn note(&self, why: &str) -> Option<String> {
        let named: Vec<_> = self.named.iter().map(|path| quoting::text(path)).collect();
        let named: Vec<_> = named.iter().map(|path| quoting::printed(path)).collect();
        let (named, more) = (named.join(", "), if self.n > MAX_NAMED { ", …" } else { "" });
        let is_are = if self.n == 1 { "is" } else { "are" };

        let files = plural(self.n as u64, "source file");
        (self.n > 0).then(|| format!("{files} ({named}{more}) {is_are} not searched: {why}"))
    }
}

/// The cause for which sources that are skipped for `reason` are not searched, as a place in [`CAUSES`].
fn cause_of(reason: SkipReason) -> Option<usize> {
    use SkipReason as R;
    match reason {
        R::Excluded | R::NotIncluded | R::Ignored => Some(0),
        R::Secret => Some(1),
        R::Binary | R::Filtered | R::LfsPointer => Some(2),
        _ => None,
    }
}

const CAUSES: [&str; 3] = [
    "policy.include, policy.exclude or .codeweaverignore",
    "credentials are never shown",
    "what git has of it is no text",
];

/// A warning for each kind of sources in `view` that is not searched.
pub(super) fn warnings(view: &View) -> Vec<String> {
    let mut sources: [Sources; CAUSES.len()] = Default::default();
    left_out::visit_skipped(
        view,
        |reason| cause_of(reason).is_some(),
        |path, reason| {
            let language = language::by_path(path);
            let has_graph = language.is_some_and(|language| dialect::for_language(language.name()).is_some());
            if let Some(cause) = cause_of(reason).filter(|_| has_graph) {
                sources[cause].add(path);
            }
        },
    );

    let notes = sources.iter().zip(CAUSES).filter_map(|(sources, why)| sources.note(why));
    submodules::note(view).into_iter().chain(notes).map(|note| format!("{NOT_SEARCHED}: {note}")).collect()
}
