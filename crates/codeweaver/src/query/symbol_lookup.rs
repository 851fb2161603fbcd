//! Definitions by a name, a pattern or a place, and the nearest names if there is none.

use std::collections::{BTreeMap, BTreeSet};

use codeweaver_chunk::SymbolKind;
use codeweaver_git::{ByteSlice as _, quoting};
use codeweaver_index::policy::PathFlags;

use super::error::QueryError;
use super::filters::Filters;
use super::locate;
use super::names;
use super::request::ViewRequest;
use super::symbol_scan::{FoundSymbol, of_doc, scan, scan_named, scan_some};
use super::view::View;

/// Maximum number of names that are given for one that does not exist.
const MAX_NEAR: usize = 8;
/// Maximum length of a name that is compared with all others.
const MAX_NAME: usize = 100;

/// Fit of definitions to the name that was asked for, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameFit {
    Exact,
    /// Equal except for case.
    Case,
    /// The name is a part of the names of the definitions.
    Part,
}

/// A request to look up definitions.
#[derive(Debug, Clone, Default)]
pub struct SymbolRequest {
    /// `name`, `Type.name`, `PATH:LINE`, or a pattern with `*` and `?`.
    pub symbol: String,
    pub filters: Filters,
    /// The state that is searched; `files` and `budget` are set by [`view_request`].
    pub view: ViewRequest,
}

/// The definitions that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolList {
    /// Code before data and prose, others before tests, then by path and line.
    pub symbols: Vec<FoundSymbol>,
    pub fit: NameFit,
    /// Similar names, if nothing fits.
    pub near: Vec<String>,
}

/// Looks up a name, a pattern or a place in `view`.
///
/// # Errors
/// [`QueryError::Parameter`] for an empty name, [`QueryError::UnknownName`] for a language or kind that there
/// is not, [`QueryError::NotFound`] if the file of a place is not indexed or no definition is there,
/// [`QueryError::BeyondEnd`] if it has no such line.
pub(crate) fn find(view: &View, request: &SymbolRequest) -> Result<SymbolList, QueryError> {
    names::check(&request.filters)?;

    let symbol = request.symbol.trim();
    if symbol.is_empty() || symbol.contains('\0') {
        let found = format!("{:?}", request.symbol);
        return Err(QueryError::Parameter { name: "symbol", must: "a name, a pattern or FILE:LINE", found });
    }

    request.view.cancel.check()?;

    match place(symbol) {
        Some((path, line, name)) => at_place(view, path, line, name),
        None => Ok(by_name(view, symbol, &request.filters)),
    }
}

/// The view in which the symbol of `request` is looked up, with the file of a place as it is on disk.
pub(crate) fn view_request(request: &SymbolRequest) -> ViewRequest {
    let path = place(request.symbol.trim()).and_then(|(path, ..)| locate::clean(path).ok());
    let files = path.map(|path| quoting::text(&path)).into_iter().collect();
    ViewRequest { files, budget: ViewRequest::UNLIMITED, ..request.view.clone() }
}

/// Splits `PATH:LINE` and `PATH:LINE#NAME`.
fn place(symbol: &str) -> Option<(&str, u32, Option<&str>)> {
    let from = quoting::quoted_len(symbol).unwrap_or(0);

    symbol[from..].match_indices(':').find_map(|(at, _)| {
        let (path, rest) = (&symbol[..from + at], &symbol[from + at + 1..]);
        let (line, name) = rest.split_once('#').map_or((rest, None), |(line, name)| (line, Some(name)));
        // The end of a range, and columns as compilers print them, say nothing.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let mut numbers = line.split(['-', ':']);
        let first = numbers.next().filter(|line| is_number(line) && numbers.all(is_number))?;
        let line = first.parse().ok().filter(|&line| line > 0)?;

        (!path.is_empty()).then_some((path, line, name))
    })
}

/// Returns the definition that begins at a line, else the innermost function or type around it.
fn at_place(view: &View, path: &str, line: u32, name: Option<&str>) -> Result<SymbolList, QueryError> {
    let file = locate::file(view, path)?;
    let only = Filters { include_tests: true, ..Filters::default() };

    let mut found = of_doc(view, file.doc, &only, &|own, qualified| {
        name.is_none_or(|name| own == name || qualified == name)
    });
    found.retain(|symbol| symbol.path == file.path && (symbol.lines.0..=symbol.lines.1).contains(&line));

    let best = found.into_iter().min_by_key(|symbol| {
        let is_main = symbol.kind.is_callable() || symbol.kind.has_members();
        (symbol.lines.0 != line, !is_main, symbol.lines.1 - symbol.lines.0)
    });

    match best {
        Some(symbol) => Ok(SymbolList { symbols: vec![symbol], fit: NameFit::Exact, near: Vec::new() }),
        None => Err(locate::beyond_end(view, &file, line).unwrap_or_else(|| QueryError::NotFound {
            what: format!("no definition is around line {line} of {}", quoting::printed(&file.path)),
        })),
    }
}

/// A name or a pattern, in the forms that definitions are compared with.
struct WantedName<'a> {
    symbol: &'a str,
    lower: &'a str,
    segments: Vec<&'a str>,
    lower_segments: Vec<&'a str>,
    is_pattern: bool,
}

impl WantedName<'_> {
    /// Returns whether the name has a qualifier.
    fn is_qualified(&self) -> bool {
        self.segments.len() > 1
    }

    /// The definitions that fit in the way of `fit`.
    fn scan(&self, view: &View, filters: &Filters, fit: NameFit) -> Vec<FoundSymbol> {
        let is_wanted = |name: &str, qualified: &str| self.fits(fit, name, qualified);
        match self.segments.last() {
            // A name that fits has the words of the last segment.
            Some(last) if fit == NameFit::Exact && !self.is_pattern => {
                scan_named(view, filters, last, &is_wanted)
            }
            _ => scan(view, filters, &is_wanted),
        }
    }

    /// Returns whether a definition fits in the way of `fit`. A pattern fits in one way only.
    fn fits(&self, fit: NameFit, name: &str, qualified: &str) -> bool {
        // A part of a name has another case than the whole: `*evict*` is meant to find `performEvictions`.
        if self.is_pattern {
            let text = if self.is_qualified() { qualified } else { name };
            return matches_glob(self.lower, &text.to_lowercase());
        }

        match fit {
            // A name may contain a separator (`operator/`).
            NameFit::Exact => {
                name == self.symbol
                    || qualified == self.symbol
                    || self.segments.last() == Some(&name) && ends_with(qualified, &self.segments)
            }
            NameFit::Case => {
                name.len() == self.symbol.len() && name.to_lowercase() == self.lower
                    || self.is_qualified() && ends_with(&qualified.to_lowercase(), &self.lower_segments)
            }
            NameFit::Part => {
                name.len() > self.symbol.len() && name.to_lowercase().contains(self.lower)
                    || self.is_qualified() && qualified.to_lowercase().contains(self.lower)
            }
        }
    }
}

/// Returns whether all of `text` matches a glob, in which `*` also matches separators.
fn matches_glob(pattern: &str, text: &str) -> bool {
    gix::glob::wildmatch(
        pattern.as_bytes().as_bstr(),
        text.as_bytes().as_bstr(),
        gix::glob::wildmatch::Mode::empty(),
    )
}

/// Returns whether the last segments of a qualified name are `wanted`.
fn ends_with(qualified: &str, wanted: &[&str]) -> bool {
    let own: Vec<&str> = segments(qualified).collect();
    own.len() >= wanted.len() && own[own.len() - wanted.len()..] == *wanted
}

/// Returns the definitions with the best fit, or the nearest names if there are none.
fn by_name(view: &View, symbol: &str, filters: &Filters) -> SymbolList {
    let lower = symbol.to_lowercase();
    let wanted = WantedName {
        symbol,
        lower: &lower,
        segments: segments(symbol).collect(),
        lower_segments: segments(&lower).collect(),
        is_pattern: symbol.contains(['*', '?']),
    };

    for fit in [NameFit::Exact, NameFit::Case, NameFit::Part] {
        // One or two letters are a part of too many names.
        if wanted.is_pattern && fit > NameFit::Exact || fit == NameFit::Part && symbol.len() < 3 {
            break;
        }

        let mut symbols = wanted.scan(view, filters, fit);
        if filters.kinds.is_empty() {
            leave_out_secondary(&mut symbols);
        }
        if !symbols.is_empty() {
            symbols.sort_by_cached_key(|symbol| (importance(symbol), symbol.path.clone(), symbol.lines));
            return SymbolList { symbols, fit, near: Vec::new() };
        }
    }

    let near = if wanted.is_pattern { Vec::new() } else { nearest(view, symbol, filters) };
    SymbolList { symbols: Vec::new(), fit: NameFit::Exact, near }
}

/// Removes the blocks that implement a type if there are other definitions, and headings and keys if there is
/// code.
fn leave_out_secondary(symbols: &mut Vec<FoundSymbol>) {
    use SymbolKind as K;
    let is_secondary: [fn(SymbolKind) -> bool; 2] =
        [|kind| kind == K::Impl, |kind| matches!(kind, K::Heading | K::Key | K::Selector)];

    for is_secondary in is_secondary {
        if symbols.iter().any(|symbol| !is_secondary(symbol.kind)) {
            symbols.retain(|symbol| !is_secondary(symbol.kind));
        }
    }
}

/// Returns the rank of a definition in a list: code, then examples and what may be third-party, then tests.
pub fn importance(symbol: &FoundSymbol) -> u8 {
    let has = |flag| symbol.flags.contains(flag);
    match () {
        () if symbol.is_test() => 2,
        () if has(PathFlags::EXAMPLE) || has(PathFlags::BENCH) || has(PathFlags::DOCS) => 1,
        () if has(PathFlags::VENDORED_LIKE) => 1,
        () => 0,
    }
}

/// A name that does not exist, in the forms in which existing names are compared with it.
struct MissingName {
    lower: String,
    letters: LetterCounts,
    max_distance: usize,
    words: Vec<String>,
    /// The sets of the letters of the name and of its words.
    set: u32,
    sets_of_words: Vec<u32>,
    /// Number of words that a name must share.
    min_shared: usize,
}

impl MissingName {
    fn new(name: &str) -> MissingName {
        let (lower, words) = (name.to_lowercase(), words_of(name));
        MissingName {
            letters: LetterCounts::new(&lower),
            max_distance: 1 + lower.len() / 4,
            set: letters_of(lower.as_bytes()),
            sets_of_words: words.iter().map(|word| letters_of(word.as_bytes())).collect(),
            min_shared: (words.len() / 2 + 1).max(2),
            lower,
            words,
        }
    }

    /// Returns false for most names that are not near, in less time than [`MissingName::distance`].
    fn may_be_near(&self, name: &[u8]) -> bool {
        if name.len() > MAX_NAME {
            return false;
        }
        if !name.is_ascii() {
            return true;
        }

        let own = letters_of(name);
        let has_words =
            || self.sets_of_words.iter().filter(|word| **word & !own == 0).count() >= self.min_shared;
        self.may_be_edited(name, own) || has_words()
    }

    /// Returns whether an ASCII name with this set of letters may be few edits away. An edit adds at most one
    /// letter, and takes at most one away.
    fn may_be_edited(&self, name: &[u8], own: u32) -> bool {
        let (missing, added) = ((self.set & !own).count_ones(), (own & !self.set).count_ones());
        name.len().abs_diff(self.lower.len()) <= self.max_distance
            && missing.max(added) as usize <= self.max_distance
            && self.letters.n_edits_at_least(name) <= self.max_distance
    }

    /// Returns the distance of `name`: in edits, or from 10 on if it only shares most words. `None` if it is
    /// not near.
    fn distance(&self, name: &str) -> Option<usize> {
        self.edits(name).or_else(|| self.shared_words(name))
    }

    /// Returns the number of edits between the names; `None` if they are too many.
    fn edits(&self, name: &str) -> Option<usize> {
        let distance = strsim::osa_distance(&name.to_lowercase(), &self.lower);
        (distance <= self.max_distance).then_some(distance)
    }

    /// Returns the distance of a name that has more than half of the words, and at least two; `None` of
    /// others.
    fn shared_words(&self, name: &str) -> Option<usize> {
        let is_word = |part: &&str| part.len() > 1;
        let has = |word: &String| parts_of(name).filter(is_word).any(|part| is_equal(part, word));
        let n_shared = self.words.iter().filter(|word| has(word)).count();
        let most = self.words.len().max(parts_of(name).filter(is_word).count());
        (n_shared >= 2 && n_shared * 2 > most).then(|| 10 + most - n_shared)
    }
}

/// The number of times that each letter and digit is in a name. Some digits share a count, as do all other
/// bytes.
struct LetterCounts([i16; 32]);

impl LetterCounts {
    fn new(name: &str) -> LetterCounts {
        let mut counts = [0i16; 32];
        for byte in name.bytes() {
            let count = &mut counts[letter(byte)];
            *count = count.saturating_add(1);
        }
        LetterCounts(counts)
    }

    /// A lower bound of the number of edits that make `name` of this one: an edit adds at most one letter,
    /// and takes at most one away.
    fn n_edits_at_least(&self, name: &[u8]) -> usize {
        let mut left = self.0;
        for &byte in name {
            let count = &mut left[letter(byte)];
            *count = count.saturating_sub(1);
        }

        let missing: u32 = left.iter().map(|&count| u32::from(count.max(0).unsigned_abs())).sum();
        let added: u32 = left.iter().map(|&count| u32::from(count.min(0).unsigned_abs())).sum();
        missing.max(added) as usize
    }
}

/// The place of a byte in [`LetterCounts`], without regard to case.
fn letter(byte: u8) -> usize {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' => usize::from((byte | 0x20) - b'a'),
        b'0'..=b'9' => usize::from(26 + byte % 5),
        _ => 31,
    }
}

/// Returns whether `part` is the word `lower`, without regard to case.
fn is_equal(part: &str, lower: &str) -> bool {
    if part.is_ascii() { part.eq_ignore_ascii_case(lower) } else { part.to_lowercase() == lower }
}

/// Returns existing names that are similar to `symbol`: by edit distance, or because they share most words.
pub fn nearest(view: &View, symbol: &str, filters: &Filters) -> Vec<String> {
    let last = segments(symbol).last().unwrap_or(symbol);
    let missing = MissingName::new(last);
    if missing.lower.len() > MAX_NAME || missing.lower.len() < 3 {
        return Vec::new();
    }

    let is_near = |name: &str, _: &str| missing.distance(name).is_some();
    let found = scan_some(view, filters, &|name| missing.may_be_near(name), &is_near);

    // A name that several definitions have is listed once.
    let mut by_name: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    for symbol in found {
        // The scan returns no distances, so those of the few names found are computed again.
        if let Some(distance) = missing.distance(&symbol.name) {
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

/// Returns the letters and digits of an ASCII name as a set of bits, without regard to case; some digits
/// share a bit. Bytes outside ASCII have none.
fn letters_of(name: &[u8]) -> u32 {
    name.iter().fold(0, |letters, byte| {
        letters
            | match byte {
                b'a'..=b'z' | b'A'..=b'Z' => 1 << ((byte | 0x20) - b'a'),
                b'0'..=b'9' => 1 << (26 + byte % 6),
                _ => 0,
            }
    })
}

/// Returns the words of a name in lower case: two in `parse_header`, three in `parseHttpHeader` or
/// `parse_http_header`. Single letters are none.
fn words_of(name: &str) -> Vec<String> {
    parts_of(name).map(str::to_lowercase).filter(|word| word.len() > 1).collect()
}

/// The parts of a name: runs of letters and digits, which a capital letter after another letter begins anew.
fn parts_of(name: &str) -> impl Iterator<Item = &str> {
    let runs = name.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let mut last = rest.chars().next()?;
            let end = rest.char_indices().skip(1).find_map(|(at, c)| {
                let starts = c.is_uppercase() && !last.is_uppercase();
                last = c;
                starts.then_some(at)
            });

            let (part, left) = rest.split_at(end.unwrap_or(rest.len()));
            rest = left;
            Some(part)
        })
    })
}

fn segments(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', ':', '\\', '#', '/', ' ']).filter(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_bound_the_number_of_edits_from_below() {
        let long = "a".repeat(300);
        let names =
            ["parser", "parsr", "pa_rser", "PARSER", "key1", "key7", "ab", "ba", "A", "open_session", &long];
        for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))) {
            let bound = LetterCounts::new(a).n_edits_at_least(b.as_bytes());
            let edits = strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase());
            assert!(bound <= edits, "{a} {b}: {bound} > {edits}");
        }

        assert_eq!(LetterCounts::new("parser").n_edits_at_least(b"PARSR"), 1);
        assert_eq!(LetterCounts::new("parser").n_edits_at_least(b"xyz"), 6);
        assert_eq!(letters_of("parseHTTP_2é".as_bytes()), letters_of(b"PARSEHTTP2"));
    }

    #[test]
    fn names_are_near_by_edits_or_by_words() {
        let missing = MissingName::new("call_retry");
        let distances = ["call_retri", "retryCall", "CALL_RETRY_NOW", "retry", "retry_all_calls", "Größe"]
            .map(|name| missing.distance(name));
        assert_eq!(distances, [Some(1), Some(10), Some(11), None, None, None]);
    }

    #[test]
    fn no_near_name_is_left_out() {
        let names = [
            "call_retry",
            "call_retri",
            "retryCall",
            "CALL_RETRY_NOW",
            "all_retry",
            "cal1_retry",
            "Größe",
            "größer",
            "open_file_2",
            "open_file_7",
            "fileOpen2Now",
            "read_read",
            "read",
            "HTTPServer",
            "http_server_name",
        ];

        for missing in names.map(MissingName::new) {
            for name in names.iter().filter(|name| missing.distance(name).is_some()) {
                assert!(missing.may_be_near(name.as_bytes()), "{} {name}", missing.lower);
            }
        }
        assert!(!MissingName::new("nvm_find_project_dir").may_be_near(b"mutex_lock_interruptible"));
    }

    #[test]
    fn places_and_words_are_told_from_names() {
        assert_eq!(place("src/a.rs:12"), Some(("src/a.rs", 12, None)));
        assert_eq!(place("src/a.rs:12-14"), Some(("src/a.rs", 12, None)));
        assert_eq!(place("src/a.rs:12#A::b"), Some(("src/a.rs", 12, Some("A::b"))));
        assert_eq!(place("A::b"), None);
        assert_eq!(words_of("parse_http_header"), ["parse", "http", "header"]);
        assert_eq!(words_of("parseHttpHeader"), ["parse", "http", "header"]);
        assert_eq!(words_of("parseHTTPHeader2x_é_Öse"), ["parse", "httpheader2x", "é", "öse"]);
    }
}
