//! Definitions by a name, a pattern or a place, and the nearest names if there is none.

use super::error::QueryError;
use super::locate;
use super::names;
use super::request::{Filters, ViewRequest};
use super::search::Searcher;
use super::symbol_scan::{FoundSymbol, of_doc, scan};
use super::view::View;
use super::view::freshness::RequestUpdate;
use codeweaver_chunk::SymbolKind;
use codeweaver_git::{ByteSlice as _, quoting};
use codeweaver_index::policy::PathFlags;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of names that are given for one that does not exist.
const MAX_NEAR: usize = 8;
/// Maximum length of a name that is compared with all others.
const MAX_NAME: usize = 100;

/// How definitions fit what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameFit {
    Exact,
    /// In another case.
    Case,
    /// The name is a part of theirs.
    Part,
}

/// What is looked up.
#[derive(Debug, Clone, Default)]
pub struct SymbolRequest {
    /// `name`, `Type.name`, `PATH:LINE`, or a pattern with `*` and `?`.
    pub symbol: String,
    pub filters: Filters,
    /// What is searched; its files and its budget are set.
    pub view: ViewRequest,
}

/// The definitions that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolList {
    /// Code before data and prose, others before tests, then by path and line.
    pub symbols: Vec<FoundSymbol>,
    pub fit: NameFit,
    /// Names that are like it, if nothing fits.
    pub near: Vec<String>,
}

impl Searcher {
    /// Looks a name, a pattern or a place up in `view`.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for an empty name, [`QueryError::UnknownName`] for a language or kind that
    /// there is not, [`QueryError::NotFound`] if the file of a place is not indexed.
    pub fn find_symbols(&self, view: &View, request: &SymbolRequest) -> Result<SymbolList, QueryError> {
        self.guarded(|| {
            names::check(&request.filters)?;
            let symbol = request.symbol.trim();
            if symbol.is_empty() || symbol.contains('\0') {
                let found = format!("{:?}", request.symbol);
                return Err(QueryError::Parameter {
                    name: "symbol",
                    must: "a name, a pattern or FILE:LINE",
                    found,
                });
            }
            request.view.cancel.check()?;
            match place(symbol) {
                Some((path, line, name)) => at_place(view, path, line, name),
                None => Ok(by_name(view, symbol, &request.filters)),
            }
        })
    }

    /// The view that symbols are looked up in, with `files` as they are on disk.
    ///
    /// # Errors
    /// Those of [`Self::view`].
    pub fn symbol_view(
        &self,
        request: &SymbolRequest,
        update: RequestUpdate<'_>,
    ) -> Result<View, QueryError> {
        let path = place(request.symbol.trim()).and_then(|(path, ..)| locate::clean(path).ok());
        let files = path.map(|path| quoting::text(&path)).into_iter().collect();
        let view = ViewRequest { files, budget: ViewRequest::UNLIMITED, ..request.view.clone() };
        self.view(&view, update)
    }
}

/// Splits `PATH:LINE` and `PATH:LINE#NAME`.
fn place(symbol: &str) -> Option<(&str, u32, Option<&str>)> {
    let from = quoting::quoted_len(symbol).unwrap_or(0);
    symbol[from..].match_indices(':').find_map(|(at, _)| {
        let (path, rest) = (&symbol[..from + at], &symbol[from + at + 1..]);
        let (line, name) = rest.split_once('#').map_or((rest, None), |(line, name)| (line, Some(name)));
        let line = line.split('-').next().unwrap_or(line);
        let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        let line = line.parse().ok().filter(|&line| is_number && line > 0)?;
        (!path.is_empty()).then_some((path, line, name))
    })
}

/// The definition that begins at a line, else the innermost function or type around it.
fn at_place(view: &View, path: &str, line: u32, name: Option<&str>) -> Result<SymbolList, QueryError> {
    let file = locate::file(view, path)?;
    let only = Filters { include_tests: true, ..Filters::default() };
    let is_named = |own: &str, qualified: &str| name.is_none_or(|name| own == name || qualified == name);
    let mut found = of_doc(view, file.doc, &only, &is_named);
    found.retain(|symbol| symbol.path == file.path && (symbol.lines.0..=symbol.lines.1).contains(&line));
    let best = found.into_iter().min_by_key(|symbol| {
        let is_main = symbol.kind.is_callable() || symbol.kind.has_members();
        (symbol.lines.0 != line, !is_main, symbol.lines.1 - symbol.lines.0)
    });
    match best {
        Some(symbol) => Ok(SymbolList { symbols: vec![symbol], fit: NameFit::Exact, near: Vec::new() }),
        None => Err(QueryError::NotFound {
            what: format!("no definition is around line {line} of {}", quoting::printed(&file.path)),
        }),
    }
}

fn by_name(view: &View, symbol: &str, filters: &Filters) -> SymbolList {
    let lower = symbol.to_lowercase();
    let wanted: Vec<&str> = segments(symbol).collect();
    let wanted_lower: Vec<&str> = segments(&lower).collect();
    let is_pattern = symbol.contains(['*', '?']);
    let is_qualified = wanted.len() > 1;
    let glob = |pattern: &str, text: &str| {
        gix::glob::wildmatch(
            pattern.as_bytes().as_bstr(),
            text.as_bytes().as_bstr(),
            gix::glob::wildmatch::Mode::empty(),
        )
    };
    let ends_with = |qualified: &str, wanted: &[&str]| {
        let own: Vec<&str> = segments(qualified).collect();
        own.len() >= wanted.len() && own[own.len() - wanted.len()..] == *wanted
    };
    let fits = |fit: NameFit, name: &str, qualified: &str| match (fit, is_pattern) {
        // A part of a name has another case than the whole: `*evict*` is meant to find `performEvictions`.
        (_, true) => glob(&lower, &(if is_qualified { qualified } else { name }).to_lowercase()),
        // A name may contain a separator (`operator/`).
        (NameFit::Exact, false) => {
            name == symbol
                || qualified == symbol
                || wanted.last() == Some(&name) && ends_with(qualified, &wanted)
        }
        (NameFit::Case, false) => {
            name.len() == symbol.len() && name.to_lowercase() == lower
                || is_qualified && ends_with(&qualified.to_lowercase(), &wanted_lower)
        }
        (NameFit::Part, false) => {
            name.len() > symbol.len() && name.to_lowercase().contains(&lower)
                || is_qualified && qualified.to_lowercase().contains(&lower)
        }
    };
    for fit in [NameFit::Exact, NameFit::Case, NameFit::Part] {
        if is_pattern && fit > NameFit::Exact || fit == NameFit::Part && symbol.len() < 3 {
            break;
        }
        let mut symbols = scan(view, filters, &|name, qualified| fits(fit, name, qualified));
        if filters.kinds.is_empty() {
            leave_out_secondary(&mut symbols);
        }
        if !symbols.is_empty() {
            symbols.sort_by_cached_key(|symbol| (importance(symbol), symbol.path.clone(), symbol.lines));
            return SymbolList { symbols, fit, near: Vec::new() };
        }
    }
    let near = if is_pattern { Vec::new() } else { nearest(view, symbol, filters) };
    SymbolList { symbols: Vec::new(), fit: NameFit::Exact, near }
}

/// Leaves out the blocks that implement a type beside it, and headings and keys beside code.
fn leave_out_secondary(symbols: &mut Vec<FoundSymbol>) {
    use SymbolKind as K;
    for is_secondary in [(|kind| kind == K::Impl) as fn(SymbolKind) -> bool, |kind| {
        matches!(kind, K::Heading | K::Key | K::Selector)
    }] {
        if symbols.iter().any(|symbol| !is_secondary(symbol.kind)) {
            symbols.retain(|symbol| !is_secondary(symbol.kind));
        }
    }
}

/// The order of a list: code, then examples and what may be third-party, then tests.
pub fn importance(symbol: &FoundSymbol) -> u8 {
    let has = |flag| symbol.flags.contains(flag);
    match () {
        () if has(PathFlags::TEST) || symbol.kind == SymbolKind::Test => 2,
        () if has(PathFlags::EXAMPLE) || has(PathFlags::BENCH) || has(PathFlags::DOCS) => 1,
        () if has(PathFlags::VENDORED_LIKE) => 1,
        () => 0,
    }
}

/// Existing names that are like `symbol`: by edit distance, or because they share most words.
pub fn nearest(view: &View, symbol: &str, filters: &Filters) -> Vec<String> {
    let last = segments(symbol).last().unwrap_or(symbol).to_lowercase();
    if last.len() > MAX_NAME || last.len() < 3 {
        return Vec::new();
    }
    let words = words_of(segments(symbol).last().unwrap_or(symbol));
    let (letters, max_distance) = (letters_of(&last), 1 + last.len() / 4);
    let letters_of_words: Vec<u32> = words.iter().map(|word| letters_of(word)).collect();
    // Whether the letters of a name do not exclude that it is near. Nearly all names are excluded, by
    // a fraction of the work.
    let may_be_near = |name: &str| {
        let own = letters_of(name);
        // An edit changes at most two letters of the set: one is replaced by another.
        (own ^ letters).count_ones() as usize <= 2 * max_distance
            || letters_of_words.iter().filter(|word| **word & !own == 0).count() >= 2
    };
    let is_near = |name: &str| -> Option<usize> {
        if name.is_ascii() && !may_be_near(name) {
            return None;
        }
        let lower = name.to_lowercase();
        if lower.len().abs_diff(last.len()) <= 1 + last.len() / 3 {
            let distance = strsim::osa_distance(&lower, &last);
            if distance <= max_distance {
                return Some(distance);
            }
        }
        let own = words_of(name);
        let n_shared = words.iter().filter(|word| own.contains(word)).count();
        let most = words.len().max(own.len());
        (n_shared >= 2 && n_shared * 2 > most).then(|| 10 + most - n_shared)
    };
    let found = scan(view, filters, &|name, _| name.len() <= MAX_NAME && is_near(name).is_some());
    // A name that several definitions have is named once.
    let mut by_name: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    for symbol in found {
        if let Some(distance) = is_near(&symbol.name) {
            let known = by_name.entry(symbol.name).or_insert((distance, BTreeSet::new()));
            known.1.insert(symbol.qualified_name);
        }
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (name, (distance, mut qualified)) in by_name {
        let only = if qualified.len() == 1 { qualified.pop_first() } else { None };
        names.insert(only.unwrap_or(name), distance);
    }
    let mut names: Vec<(usize, String)> =
        names.into_iter().map(|(name, distance)| (distance, name)).collect();
    names.sort();
    names.into_iter().take(MAX_NEAR).map(|(_, name)| name).collect()
}

/// The letters and digits of an ASCII name as a set, without regard to case; digits share some bits. Bytes
/// outside ASCII are in no set.
fn letters_of(name: &str) -> u32 {
    name.bytes().fold(0, |letters, byte| {
        letters
            | match byte {
                b'a'..=b'z' | b'A'..=b'Z' => 1 << ((byte | 0x20) - b'a'),
                b'0'..=b'9' => 1 << (26 + byte % 6),
                _ => 0,
            }
    })
}

/// The words of a name in lower case: `parseHTTPHeader`, `parse_http_header`.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last: Option<char> = None;
    for c in name.chars() {
        let starts = c.is_uppercase() && !last.is_some_and(char::is_uppercase);
        if !c.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            if words.is_empty() {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        last = Some(c);
    }
    words.retain(|word| word.len() > 1);
    words
}

fn segments(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', ':', '\\', '#', '/', ' ']).filter(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_changes_at_most_two_letters_of_a_set() {
        for (a, b) in [("parser", "parsr"), ("parser", "pa_rser"), ("key1", "key7"), ("ab", "ba"), ("A", "b")]
        {
            assert!((letters_of(a) ^ letters_of(b)).count_ones() <= 2, "{a} {b}");
        }
        assert_eq!(letters_of("parseHTTP_2é"), letters_of("PARSEHTTP2"));
    }

    #[test]
    fn places_and_words_are_told_from_names() {
        assert_eq!(place("src/a.rs:12"), Some(("src/a.rs", 12, None)));
        assert_eq!(place("src/a.rs:12-14"), Some(("src/a.rs", 12, None)));
        assert_eq!(place("src/a.rs:12#A::b"), Some(("src/a.rs", 12, Some("A::b"))));
        assert_eq!(place("A::b"), None);
        assert_eq!(words_of("parse_http_header"), ["parse", "http", "header"]);
        assert_eq!(words_of("parseHttpHeader"), ["parse", "http", "header"]);
    }
}
