//! Hints: the advice below a search without matches.

use std::io::Write as _;

use codeweaver::query::{Condition, Request, Searcher};
use codeweaver_index::status;

use super::context::Context;
use super::error::CliError;
use super::render::safe;

/// Prints suggestions for a search without matches: languages of the index, filters to relax, other commands.
/// `paths` are the path filters as typed.
pub fn print(
    context: &Context,
    searcher: &Searcher,
    request: &Request,
    conditions: &[Condition],
) -> Result<(), CliError> {
    let view = searcher.view(&request.view, &|_, _| false)?;
    let languages = status::languages(&view.reader, &view.snapshot);
    let names: Vec<&str> = languages.iter().map(|l| l.language.as_str()).take(12).collect();

    let mut out = context.out();
    // Where no file was searched, other words find nothing either.
    let scope = view.scope(&request.filters);
    let absent = &scope.absent_paths;
    let is_searched = absent.is_empty() || absent.len() < request.filters.paths.len();
    if !names.is_empty() && is_searched {
        writeln!(out, "Languages in this index: {}", names.join(", "))?;
    }

    let filters = &request.filters;
    let is_filtered = !(filters.languages.is_empty()
        && filters.paths.is_empty()
        && filters.exclude_paths.is_empty()
        && filters.kinds.is_empty()
        && filters.without.is_empty()
        && filters.files.is_none()
        && filters.include_tests);

    writeln!(out, "Try:")?;
    let prefix = context.prefix(&searcher.codebase);

    let paths = conditions.iter().filter_map(|condition| match condition {
        Condition::Path(typed) => Some(typed),
        _ => None,
    });
    for from_root in paths.filter_map(|typed| prefix.misplaced(typed)) {
        writeln!(
            out,
            "  --path {}   paths are relative to the current directory; this one is from the root",
            safe(&from_root)
        )?;
    }

    if !is_searched {
        writeln!(out, "  another --path: git codeweaver status --files names files that are not indexed")?;
        out.flush()?;
        return Ok(());
    }

    if is_filtered {
        writeln!(out, "  fewer conditions (lang:, path:, -path:, kind:, state:, -word, --no-tests)")?;
    }
    if request.min_score > 0.0 {
        writeln!(out, "  a lower --min-score (now {})", request.min_score)?;
    }
    writeln!(out, "  other words, or --intent understand|implement|debug|test")?;
    writeln!(out, "  git codeweaver status          show what is indexed and what is skipped")?;
    writeln!(out, "  git codeweaver config --show   show the settings")?;
    out.flush()?;
    Ok(())
}
