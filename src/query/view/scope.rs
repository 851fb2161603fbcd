//! Scope: the rows of a view that pass the filters of a request.
//!
//! A filter narrows the results only. Term statistics stay those of the whole snapshot.

use crate::chunk::{LanguageId, SemanticClass, SymbolKind};
use crate::policy::PathFlags;
use crate::query::request::Filters;
use crate::store::StoreReader;
use crate::store::live::LiveRows;
use crate::store::snapshot::Snapshot;
use gix::bstr::{BStr, ByteSlice};
use gix::glob::wildmatch;

/// The rows of a view that pass some filters.
pub struct Scope {
    /// By segment.
    pub rows: Vec<LiveRows>,
    /// Sum over the segments.
    pub n_rows: u64,
    /// Languages of the filter that no live row has.
    pub absent_languages: Vec<String>,
}

impl Scope {
    /// The rows of `live`, which are all live rows of `snapshot` by segment, that pass `filters`.
    pub fn new(reader: &StoreReader, snapshot: &Snapshot, live: &[LiveRows], filters: &Filters) -> Scope {
        let languages: Vec<String> = filters.languages.iter().map(|name| canonical_language(name)).collect();
        let by_file = !languages.is_empty()
            || !filters.paths.is_empty()
            || !filters.exclude_paths.is_empty()
            || !filters.include_tests;
        let rows = if by_file {
            let entries = reader.live_entries(&snapshot.entries);
            let passing =
                entries.filter(|(_, record, path)| passes_path(filters, path, PathFlags(record.flags as u8)));
            reader.rows_of(passing.map(|(_, record, _)| record))
        } else {
            live.to_vec()
        };
        let mut scope = Scope { rows, n_rows: 0, absent_languages: Vec::new() };
        if !languages.is_empty() || !filters.kinds.is_empty() {
            scope.retain_rows(reader, &languages, &filters.kinds);
        }
        scope.n_rows = scope.rows.iter().map(|rows| u64::from(rows.n_live())).sum();
        scope.absent_languages = absent_languages(reader, live, &languages);
        scope
    }

    /// Keeps the rows in one of `languages` and of one of `kinds`; an empty list keeps all.
    fn retain_rows(&mut self, reader: &StoreReader, languages: &[String], kinds: &[String]) {
        for (segment, rows) in reader.segments.iter().zip(&mut self.rows) {
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

/// Whether `filters` allow a file at `path`. The language and kind filters are about rows and are not tested.
pub fn passes_path(filters: &Filters, path: &[u8], flags: PathFlags) -> bool {
    let matches = |globs: &[String]| globs.iter().any(|glob| glob_matches(glob, path));
    (filters.include_tests || !flags.contains(PathFlags::TEST))
        && (filters.paths.is_empty() || matches(&filters.paths))
        && !matches(&filters.exclude_paths)
}

/// Whether `glob` matches `path`. `*` stays within a folder, `**` does not. A glob without a slash also
/// matches file names at any depth, and the path of a folder matches everything below it.
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

/// The name of a language in the language table, or `name` in lower case if it is unknown.
pub fn canonical_language(name: &str) -> String {
    LanguageId::by_name(name).map_or_else(|| name.to_lowercase(), |language| language.name().to_owned())
}

fn absent_languages(reader: &StoreReader, live: &[LiveRows], wanted: &[String]) -> Vec<String> {
    let mut wanted: Vec<String> = wanted.to_vec();
    wanted.retain(|name| {
        let found = live.iter().zip(&reader.segments).any(|(live, segment)| {
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
