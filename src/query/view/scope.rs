//! Filters → the rows that may be found (requirement R2).
//!
//! Statistics stay those of the whole snapshot: a filter narrows what is found, it does not change what a word is worth.

use super::View;
use crate::chunk::{LanguageId, SemanticClass, SymbolKind};
use crate::policy::PathFlags;
use crate::query::request::Filters;
use crate::store::live::LiveRows;
use gix::bstr::{BStr, ByteSlice};
use gix::glob::wildmatch;

/// Rows that may be found, per segment.
pub struct Scope {
    pub rows: Vec<LiveRows>,
    pub n_rows: u64,
    /// Language names that were asked for and that the snapshot does not have.
    pub absent_languages: Vec<String>,
}

impl Scope {
    /// The rows of `view` that pass `filters`.
    pub fn new(view: &View, filters: &Filters) -> Scope {
        let languages: Vec<String> = filters.languages.iter().map(|name| canonical_language(name)).collect();
        let by_file = !languages.is_empty()
            || !filters.paths.is_empty()
            || !filters.exclude_paths.is_empty()
            || !filters.include_tests;
        let rows = if by_file {
            let entries = view.reader.live_entries(&view.snapshot.entries);
            let passing =
                entries.filter(|(_, record, path)| passes_path(filters, path, PathFlags(record.flags as u8)));
            view.reader.rows_of(passing.map(|(_, record, _)| record))
        } else {
            view.live().to_vec()
        };
        let mut scope = Scope { rows, n_rows: 0, absent_languages: Vec::new() };
        if !languages.is_empty() || !filters.kinds.is_empty() {
            scope.retain_rows(view, &languages, &filters.kinds);
        }
        scope.n_rows = scope.rows.iter().map(|rows| u64::from(rows.n_live())).sum();
        scope.absent_languages = absent_languages(view, &languages);
        scope
    }

    fn retain_rows(&mut self, view: &View, languages: &[String], kinds: &[String]) {
        for (segment, rows) in view.reader.segments.iter().zip(&mut self.rows) {
            let mut kept = LiveRows::empty(segment.n_rows());
            for row in rows.runs().flatten() {
                let record = &segment.rows()[row as usize];
                let language = languages.is_empty()
                    || languages.iter().any(|name| name == segment.language(record.language));
                let kind = kinds.is_empty() || {
                    let class = SemanticClass::from_u8(record.class).map_or("", SemanticClass::name);
                    let is_wanted = |name: &str| kinds.iter().any(|wanted| wanted.eq_ignore_ascii_case(name));
                    is_wanted(class)
                        || segment.symbols_of(record).any(|symbol| {
                            SymbolKind::from_u8(symbol.kind).is_some_and(|kind| is_wanted(kind.name()))
                        })
                };
                if language && kind {
                    kept.insert(row, row + 1);
                }
            }
            kept.seal();
            *rows = kept;
        }
    }
}

/// Whether a file may be shown at this path.
pub fn passes_path(filters: &Filters, path: &[u8], flags: PathFlags) -> bool {
    let matches = |globs: &[String]| globs.iter().any(|glob| glob_matches(glob, path));
    (filters.include_tests || !flags.contains(PathFlags::TEST))
        && (filters.paths.is_empty() || matches(&filters.paths))
        && !matches(&filters.exclude_paths)
}

/// `*` stays within a folder, `**` does not; a glob without a slash matches file names at any depth; a folder matches
/// everything below it.
fn glob_matches(glob: &str, path: &[u8]) -> bool {
    let glob = glob.trim_start_matches("./").trim_end_matches('/');
    if glob.is_empty() || glob == "." {
        return true;
    }
    let below = path.strip_prefix(glob.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
    let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
    let pattern: &BStr = glob.into();
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    below
        || gix::glob::wildmatch(pattern, path.as_bstr(), mode)
        || (!glob.contains('/') && gix::glob::wildmatch(pattern, name.as_bstr(), mode))
}

/// The name that the language table uses for `name`, or `name` in lower case.
pub fn canonical_language(name: &str) -> String {
    LanguageId::by_name(name).map_or_else(|| name.to_lowercase(), |language| language.name().to_owned())
}

fn absent_languages(view: &View, wanted: &[String]) -> Vec<String> {
    let mut wanted: Vec<String> = wanted.to_vec();
    wanted.retain(|name| {
        let found = view.live().iter().zip(&view.reader.segments).any(|(live, segment)| {
            live.runs().flatten().any(|row| segment.language(segment.rows()[row as usize].language) == name)
        });
        !found
    });
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_mean_what_users_expect() {
        let cases = [
            ("src", "src/a/b.rs", true),
            ("src/", "src/a/b.rs", true),
            ("sr", "src/a.rs", false),
            ("*.rs", "src/a/b.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**/*.rs", "src/a/b.rs", true),
            ("src/**", "src/a/b.rs", true),
            ("**/b.rs", "src/a/b.rs", true),
            ("./src", "src/a.rs", true),
            ("*.py", "src/a.rs", false),
        ];
        for (glob, path, expected) in cases {
            assert_eq!(glob_matches(glob, path.as_bytes()), expected, "{glob} on {path}");
        }
    }
}
