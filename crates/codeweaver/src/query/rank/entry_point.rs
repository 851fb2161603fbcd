//! The entry point of a subject: the type that does what the query names, for readers who want to
//! understand it.
//!
//! A function that is named as the query answers where it is done. To understand a subject, a reader begins
//! one step above, at the type that brings the functions of its module together, goes on to these functions,
//! and then to what the type uses. The type is recognised by its name, whose first words are of the same
//! family as words of the query (`AuthMiddleware` for *authenticate*), by methods of its own, and by its
//! place: beside the best function, or calling it. A type that the best file mentions is what it works on
//! (`User`), not what works with it.

use rustc_hash::FxHashSet;

use codeweaver_chunk::SymbolKind;
use codeweaver_store::postings::Field;
use codeweaver_store::symbols::SymbolRecord;
use codeweaver_text::{self as text, TermKind};

use super::RankedFile;
use super::context::Context;
use super::intent_fit::look_into;
use crate::query::definitions::kind_of;
use crate::query::locate;
use crate::query::view::RowId;

/// Number of best files in which the type is looked for.
const MAX_FILES: usize = 12;
/// Maximum number of chunks of a file that are looked at.
const MAX_ROWS: usize = 64;
/// Maximum number of definitions of a file whose use is looked for.
const MAX_NAMES: usize = 16;
/// Minimum fit of the name of the type.
const MIN_FIT: f32 = 0.3;
/// Number of methods from which a type does something.
const MIN_METHODS: usize = 2;
/// Factor on the weight of the verb of *how to …*.
const DEED_FACTOR: f32 = 2.0;
/// Factor on the fit of a type that calls the best function.
const CALLER_FACTOR: f32 = 1.5;

/// Score of the type as a share of that of the best file.
const ABOVE_BEST: f32 = 1.05;
/// Scores of the files that the type uses, as shares of its own.
const OF_USED: [f32; 3] = [0.7, 0.66, 0.62];

/// A type that does what the query names.
struct EntryPoint {
    /// Position in the list of files.
    at: usize,
    fit: f32,
    n_methods: usize,
    name: String,
    symbol: SymbolRecord,
    /// The chunk in which it begins.
    row: RowId,
}

impl EntryPoint {
    /// Returns whether a reader begins here rather than at `other`, of the same file. Settings and errors
    /// of a subject have its words as well, but fewer methods.
    fn comes_before(&self, other: &EntryPoint) -> bool {
        let weight = |entry: &EntryPoint| entry.fit * (1.0 - 1.0 / (entry.n_methods as f32 + 1.0));
        weight(self) > weight(other)
    }
}

/// Raises the file with the type above the best of `files`, which are sorted, and the files that the type
/// uses above those that have nothing to do with it. If the best file has such a type, the order stays.
pub fn apply(context: &Context<'_>, files: &mut [RankedFile]) {
    // Documentation may be the best of all.
    let Some(best) = files.iter().take(MAX_FILES).position(|file| is_plain_code(context, file)) else {
        return;
    };
    let terms = shares(context);
    let Some(entry) = find(context, files, best, &terms) else { return };

    files[entry.at].reasons.push(format!("its type {}, which does what is asked", entry.name));
    // A query that only names something has chosen what its best file shows.
    if entry.at == best && !asks_how(context) {
        return;
    }

    files[entry.at].entry_point = Some(entry.symbol);
    look_into(&mut files[entry.at], entry.row, 0);
    if entry.at == best {
        return;
    }

    let score = files[best].explanation.score * ABOVE_BEST;
    raise(context, &mut files[entry.at], score);

    let used = used_files(context, files, entry.at, best);
    let score = files[entry.at].explanation.score;
    for (at, share) in used.into_iter().zip(OF_USED) {
        raise(context, &mut files[at], score * share);
        files[at].reasons.push(format!("its use by {}", entry.name));
    }
}

/// Returns whether the query asks how to do something.
fn asks_how(context: &Context<'_>) -> bool {
    context.query.text.trim_start().to_ascii_lowercase().starts_with("how to ")
}

/// Returns the words of the query with their shares of its weight. The rarity of a word does not count: what
/// a small repository is about is frequent in it. The deed after *how to* counts more than what it is done
/// to.
fn shares<'a>(context: &Context<'a>) -> Vec<(&'a str, f32)> {
    let words = context.query.terms.iter().filter(|term| !term.is_identifier);
    let mut shares: Vec<(&str, f32)> = words.map(|term| (term.term.as_str(), term.weight)).collect();

    if let Some((_, weight)) = shares.first_mut().filter(|_| asks_how(context)) {
        *weight *= DEED_FACTOR;
    }

    let total = shares.iter().map(|(_, weight)| weight).sum::<f32>().max(f32::MIN_POSITIVE);
    shares.iter_mut().for_each(|(_, weight)| *weight /= total);
    shares
}

/// Raises the score of `file` to at least `score` by the factor of the intent.
fn raise(context: &Context<'_>, file: &mut RankedFile, score: f32) {
    let own = file.explanation.score;
    if own > 0.0 && own < score {
        file.features.file.intent *= score / own;
        file.explanation = file.features.contributions(context.weights);
    }
}

/// Returns whether a file is neither a test, an example or the like, nor prose or data.
fn is_plain_code(context: &Context<'_>, file: &RankedFile) -> bool {
    file.features.file.roles.prior(context.weights) == 1.0
}

/// Returns the type that does what the query names: one of the file at `best`, or else one in another file of
/// its folder or that calls its best function.
fn find(
    context: &Context<'_>,
    files: &[RankedFile],
    best: usize,
    terms: &[(&str, f32)],
) -> Option<EntryPoint> {
    if let Some(own) = best_type(context, &files[best], best, terms, |_| true) {
        return Some(own);
    }

    let folder = folder_of(context, &files[best]);
    let mentioned = Mentioned::new(context, &files[best]);
    let functions = callables_of_best_chunk(context, &files[best]);

    let mut found: Option<EntryPoint> = None;
    for (at, file) in files.iter().enumerate().take(MAX_FILES) {
        if at == best || !is_plain_code(context, file) {
            continue;
        }
        // The function works on types that its file mentions.
        let is_user = |name: &str| !mentioned.has(name);
        let Some(mut entry) = best_type(context, file, at, terms, is_user) else { continue };

        let caller = Mentioned::new(context, file);
        let calls = functions.iter().any(|name| caller.has(name));
        if !calls && folder_of(context, file) != folder {
            continue;
        }
        if calls {
            entry.fit *= CALLER_FACTOR;
        }
        if found.as_ref().is_none_or(|known| entry.fit > known.fit) {
            found = Some(entry);
        }
    }

    found
}

/// Returns the type of a file, at position `at`, at which a reader begins: of those whose names fit the
/// query, that have methods and that are `wanted`.
fn best_type(
    context: &Context<'_>,
    file: &RankedFile,
    at: usize,
    terms: &[(&str, f32)],
    wanted: impl Fn(&str) -> bool,
) -> Option<EntryPoint> {
    let mut best: Option<EntryPoint> = None;
    for row in locate::rows(context.view, file.doc).take(MAX_ROWS) {
        for symbol in symbols_of(context, row).filter(is_type) {
            let name = name_of(context, row, &symbol);
            let fit = type_fit(name, terms);
            if fit < MIN_FIT || !wanted(name) {
                continue;
            }

            let n_methods = n_methods(context, file, name);
            let entry = EntryPoint { at, fit, n_methods, name: name.to_owned(), symbol, row };
            if n_methods >= MIN_METHODS && best.as_ref().is_none_or(|known| entry.comes_before(known)) {
                best = Some(entry);
            }
        }
    }

    best
}

fn is_type(symbol: &SymbolRecord) -> bool {
    let kind = kind_of(symbol);
    // The statement that names the package of a file is no type.
    let is_module = kind == SymbolKind::Module && symbol.end_line > symbol.start_line;
    (kind.has_members() || is_module) && kind != SymbolKind::Impl && symbol.nesting <= 1
}

/// Returns the fit of the name of a type to the query, 0–1: the share of the query that its words have, times
/// the share of its words that are in the query. Words of one family and abbreviations count nearly as much.
/// The last word of several names its role (`AuthMiddleware`, `JobRunner`), so it need not be in the query.
fn type_fit(name: &str, terms: &[(&str, f32)]) -> f32 {
    let mut fits = vec![0.0f32; terms.len()];
    let (mut n_words, mut n_fit, mut last_fits) = (0u32, 0u32, false);

    text::visit_terms(name, |word, kind| {
        if matches!(kind, TermKind::Word | TermKind::Part) {
            let mut best = 0.0f32;
            for ((term, _), fit) in terms.iter().zip(&mut fits) {
                let near = text::affinity(term, word);
                *fit = fit.max(near);
                best = best.max(near);
            }

            n_words += 1;
            last_fits = best > 0.0;
            n_fit += u32::from(last_fits);
        }
    });

    // The role alone is no subject.
    let n_counted = if n_words > 1 && !last_fits { n_words - 1 } else { n_words };
    let recall: f32 = terms.iter().zip(&fits).map(|((_, share), fit)| share * fit).sum();
    recall.min(1.0) * n_fit as f32 / n_counted.max(1) as f32
}

/// Returns the number of callables of a file whose qualified names say that they belong to the type `name`.
fn n_methods(context: &Context<'_>, file: &RankedFile, name: &str) -> usize {
    let rows = locate::rows(context.view, file.doc).take(MAX_ROWS);
    let symbols = rows.flat_map(|row| symbols_of(context, row).map(move |symbol| (row, symbol)));

    let methods = symbols.filter(|(row, symbol)| {
        let qualified = context.view.row(*row).0.name(symbol.qualified_name);
        let mut parts = qualified.rsplit(['.', ':', '#', '\\', '/']).filter(|part| !part.is_empty());
        kind_of(symbol).is_callable() && parts.nth(1) == Some(name)
    });
    methods.count()
}

/// Returns the positions of the files in the folder of the file at `entry` that define something that it
/// mentions, best first. The file at `best` is not among them.
fn used_files(context: &Context<'_>, files: &[RankedFile], entry: usize, best: usize) -> Vec<usize> {
    let folder = folder_of(context, &files[entry]);
    let mentioned = Mentioned::new(context, &files[entry]);

    let others = files.iter().enumerate().filter(|&(at, file)| {
        at != entry && at != best && is_plain_code(context, file) && folder_of(context, file) == folder
    });
    // Members are used through the definitions around them.
    let used = others.filter(|(_, file)| {
        let rows = locate::rows(context.view, file.doc).take(MAX_ROWS);
        let symbols = rows.flat_map(|row| symbols_of(context, row).map(move |symbol| (row, symbol)));
        let outer = symbols.filter(|(_, symbol)| symbol.nesting == 0).take(MAX_NAMES);
        let mut names = outer.map(|(row, symbol)| name_of(context, row, &symbol));
        names.any(|name| mentioned.has(name))
    });
    used.map(|(at, _)| at).take(OF_USED.len()).collect()
}

/// The names that a file mentions.
struct Mentioned<'a> {
    context: &'a Context<'a>,
    rows: Vec<RowId>,
}

impl<'a> Mentioned<'a> {
    fn new(context: &'a Context<'a>, file: &RankedFile) -> Mentioned<'a> {
        Mentioned { context, rows: locate::rows(context.view, file.doc).take(MAX_ROWS).collect() }
    }

    /// Returns whether one of the chunks has `name`. A name of a single word is no evidence: words occur in
    /// comments, too.
    fn has(&self, name: &str) -> bool {
        let Some(first) = self.rows.first() else { return false };
        let Some(whole) = whole_term(name) else { return false };
        let segment = &self.context.view.reader.segments[first.segment as usize];

        let rows: Vec<u32> = self.rows.iter().map(|id| id.row).collect();
        let mut is_found = false;
        if let Some(list) = segment.list(Field::Body, &whole) {
            list.for_each_of(&rows, |_| is_found = true);
        }
        is_found
    }
}

/// Returns the term of a name of several words, joined.
fn whole_term(name: &str) -> Option<String> {
    let mut whole = None;
    text::visit_terms(name, |term, kind| {
        if kind == TermKind::Whole {
            whole = Some(term.to_owned());
        }
    });
    whole
}

/// Returns the names of the callables in the best chunk of a file.
fn callables_of_best_chunk<'a>(context: &Context<'a>, file: &RankedFile) -> FxHashSet<&'a str> {
    let row = file.chunks[0].id;
    let callables = symbols_of(context, row).filter(|symbol| kind_of(symbol).is_callable());
    callables.map(|symbol| name_of(context, row, &symbol)).collect()
}

fn symbols_of<'a>(context: &Context<'a>, row: RowId) -> impl Iterator<Item = SymbolRecord> + 'a {
    let (segment, record) = context.view.row(row);
    segment.symbols_of(record)
}

fn name_of<'a>(context: &Context<'a>, row: RowId, symbol: &SymbolRecord) -> &'a str {
    context.view.row(row).0.name(symbol.name)
}

fn folder_of<'a>(context: &Context<'a>, file: &RankedFile) -> &'a [u8] {
    let (path, _) = context.view.entry(file.entry);
    &path[..path.iter().rposition(|&byte| byte == b'/').unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_type_names_its_role() {
        let terms = [("authenticat", 0.5), ("user", 0.5)];
        let fit = |name: &str| type_fit(name, &terms);
        assert!(fit("AuthMiddleware") >= MIN_FIT);
        assert!((fit("UserAuthenticator") - 0.95).abs() < 1e-6);
        assert!(fit("BigAuthMiddleware") < fit("AuthMiddleware"));
        assert_eq!((fit("Middleware"), fit("")), (0.0, 0.0));
    }
}
