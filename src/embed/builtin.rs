//! The model in the binary, for now: `builtin-interim-v0`, a fixed random projection of a bag of terms. It is not trained.
//!
//! Each distinct term of a text, each of its prefixes of four and six letters, and each concept that a small hand-written
//! table gives it, is a feature with a weight. Its hash chooses 16 of the 256 components and a sign for each; a text is
//! the sum of its features, of length 1. Dot products therefore estimate how much two texts share in words, beginnings of
//! words and concepts: more forgiving than a keyword match, no knowledge of the world. Method: random indexing
//! (Achlioptas, "Database-friendly random projections", 2003).
//!
//! Sums are integers and the remaining steps single IEEE operations in a fixed order, so every machine computes the same
//! bytes. A trained model replaces this by replacing this file.

use std::cell::RefCell;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::quantise::{QUANTISATION, quantise, scale_for};
use super::recipe::RECIPE_VERSION;
use super::{EmbedCost, EmbedError, Embedder};
use crate::text::{TERMS_VERSION, TermKind, path_terms, stem, visit_terms};

const NAME: &str = "builtin-interim-v0";
const DIM: usize = 256;
/// Components a feature touches. A text of a single feature has components of ±1/4, which just fit the int8 range.
const POSITIONS: usize = 16;
const PREFIX_BYTES: [usize; 2] = [4, 6];

/// Weights in 1/256.
const PREFIX_SHARE: i32 = 130;
const CONCEPT_SHARE: i32 = 100;
/// A word left with less is too common for its prefixes and concepts to count.
const MIN_SPECIFIC_SHARE: u8 = 128;

/// Stems found in more than 4 % of pieces of 1,600 bytes of C, JavaScript, Python and Rust (about 42,000 pieces, each
/// language counting alike), with what is left of their weight, in 1/256: the logarithm of their rarity.
static COMMON: &[(u8, &[&str])] = &[
    (64, &["for", "the", "if", "to", "is", "in"]),
    (80, &["of", "and", "return"]),
    (96, &["use", "not", "type", "from", "this", "with"]),
    (112, &["as", "self", "or", "be", "valu", "const", "error", "name"]),
    (128, &["get", "set", "that", "class", "by", "els", "defin", "fn", "none", "all", "def", "it"]),
    (144, &["an", "function", "new", "on", "string", "let", "struct", "are"]),
    (
        160,
        &[
            "true", "result", "data", "no", "can", "int", "mut", "file", "str", "size", "list", "pub",
            "object", "default",
        ],
    ),
    (
        176,
        &[
            "any", "at", "check", "fals", "impl", "add", "len", "key", "id", "code", "only", "copy",
            "option", "char", "will", "we", "match", "map", "number", "item", "creat", "start",
        ],
    ),
    (
        192,
        &[
            "http", "version", "includ", "call", "format", "rn", "byte", "end", "bool", "but", "import",
            "some", "one", "into", "try", "crate", "null", "which", "when", "std", "endif", "length",
            "index", "have", "see", "base", "html", "has", "void", "assert", "should", "rais",
        ],
    ),
    (
        208,
        &[
            "path", "core", "debug", "method", "do", "may", "arg", "other", "max", "info", "must", "so",
            "window", "time", "sourc", "eq", "except", "field", "first", "contain", "test", "where", "init",
            "case", "ptr", "need",
        ],
    ),
    (
        224,
        &[
            "pars", "exampl", "read", "you", "input", "iter", "array", "write", "support", "org", "flag",
            "inlin", "free", "element", "more", "ifndef", "block", "bit", "clone", "state", "open", "line",
            "trait", "allow", "ok", "attribut", "while", "ref", "then", "zero", "openssl", "note", "enum",
            "modul", "licens", "each", "static", "cfg", "ossl", "usiz", "text", "next", "rang", "header",
            "push", "reserv", "pass", "out", "u8", "same", "param", "stack",
        ],
    ),
    (
        240,
        &[
            "find",
            "requir",
            "parameter",
            "target",
            "vec",
            "argument",
            "num",
            "current",
            "entry",
            "empty",
            "u32",
            "make",
            "order",
            "featur",
            "unsign",
            "user",
            "extern",
            "count",
            "given",
            "err",
            "re",
            "non",
            "mode",
            "right",
            "also",
            "remov",
            "deriv",
            "os",
            "handl",
            "macro",
            "provid",
            "node",
            "func",
            "hash",
            "copyright",
            "offset",
            "output",
            "append",
            "internal",
            "referenc",
            "without",
            "optional",
            "token",
            "dict",
            "ignor",
            "buffer",
            "identifier",
            "its",
            "exception",
            "there",
            "event",
            "last",
            "befor",
            "doe",
            "under",
            "typedef",
            "api",
            "href",
            "after",
            "long",
            "build",
            "run",
            "than",
            "encod",
            "py",
            "part",
            "insert",
            "cmp",
            "elif",
            "titl",
            "replac",
            "attr",
            "tupl",
            "load",
            "expect",
            "context",
            "unsaf",
            "updat",
            "doc",
            "io",
            "these",
            "like",
            "follow",
            "pointer",
            "integer",
            "iterator",
            "up",
            "warn",
            "delet",
        ],
    ),
];

/// Words that often stand for one another in code and in questions about it.
static CONCEPTS: &[&[&str]] = &[
    &["delete", "remove", "erase", "drop", "destroy", "unlink", "purge", "evict", "discard"],
    &[
        "create",
        "make",
        "build",
        "construct",
        "generate",
        "init",
        "initialize",
        "instantiate",
        "spawn",
        "setup",
    ],
    &["error", "exception", "failure", "fail", "panic", "fault", "err"],
    &["auth", "authenticate", "authentication", "authenticator", "login", "signin", "credential", "password"],
    &["authorize", "authorization", "permission", "access", "role", "acl", "privilege"],
    &["config", "configuration", "configure", "setting", "option", "preference", "cfg"],
    &["parse", "parser", "tokenize", "tokenizer", "lexer", "scanner", "decode", "deserialize", "unmarshal"],
    &["serialize", "serializer", "encode", "marshal", "dump", "encoder"],
    &["fetch", "retrieve", "load", "read", "download", "query", "lookup", "find", "search"],
    &["send", "emit", "publish", "dispatch", "transmit", "post", "notify", "broadcast"],
    &["receive", "consume", "subscribe", "listen", "recv", "listener", "subscriber"],
    &["write", "save", "store", "persist", "put", "flush", "commit"],
    &["update", "modify", "change", "edit", "patch", "mutate", "replace"],
    &["start", "begin", "launch", "run", "execute", "exec", "open"],
    &["stop", "end", "close", "shutdown", "terminate", "kill", "abort", "cancel", "halt"],
    &["connection", "connect", "socket", "session", "link", "conn"],
    &["thread", "concurrent", "concurrency", "parallel", "worker", "pool", "async", "task"],
    &["lock", "mutex", "semaphore", "synchronize", "synchronized", "atomic"],
    &["cache", "memoize", "lru", "buffer"],
    &["log", "logger", "logging", "trace", "print", "debug"],
    &["test", "spec", "assertion", "mock", "fixture", "stub"],
    &["validate", "validation", "validator", "check", "verify", "sanitize", "ensure"],
    &["convert", "transform", "cast", "translate", "map", "conversion", "coerce"],
    &["compare", "equal", "equality", "comparator", "compar", "diff", "difference"],
    &["sort", "order", "rank", "ordering"],
    &["route", "router", "routing", "endpoint", "handler", "url", "path"],
    &["request", "req", "http", "client", "fetch"],
    &["response", "resp", "reply", "answer"],
    &["database", "db", "sql", "table", "record", "row"],
    &["file", "directory", "folder", "filesystem", "fs", "path"],
    &["user", "account", "profile", "member"],
    &["time", "timeout", "date", "timestamp", "clock", "duration", "deadline", "timer"],
    &["retry", "backoff", "attempt", "reconnect"],
    &["memory", "alloc", "allocate", "allocator", "heap", "malloc", "free"],
    &["encrypt", "decrypt", "cipher", "crypto", "hash", "digest", "signature"],
    &["render", "draw", "paint", "display", "show", "view"],
    &["event", "signal", "hook", "callback", "trigger", "handler"],
    &["middleware", "interceptor", "filter", "plugin", "decorator"],
    &["compress", "decompress", "zip", "gzip", "deflate", "inflate"],
    &["argument", "parameter", "param", "arg", "flag"],
    &["message", "packet", "frame", "payload"],
    &["queue", "stack", "deque", "fifo"],
    &["append", "push", "add", "insert", "concat", "join"],
    &["split", "slice", "chunk", "segment", "partition"],
    &["copy", "clone", "duplicate", "dup"],
    &["merge", "combine", "union", "unify"],
    &["iterate", "iterator", "loop", "traverse", "walk", "visit", "visitor"],
    &["format", "formatter", "stringify", "pretty"],
    &["directory", "dir", "folder"],
    &["dependency", "inject", "injection", "container", "provider"],
    &["migrate", "migration", "schema", "upgrade"],
    &["schedule", "scheduler", "cron", "timer", "job"],
    &["wait", "sleep", "block", "await", "poll"],
    &["count", "number", "total", "sum"],
    &["match", "regex", "pattern", "glob"],
    &["limit", "max", "maximum", "throttle", "bound"],
];

/// By the hash of a stem: what is left of its weight, and the concepts it belongs to.
struct Lexicon {
    common: FxHashMap<u64, u8>,
    concepts: FxHashMap<u64, Vec<u16>>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let key = |stem: &str| hash(stem.as_bytes(), TERM);
    let common =
        COMMON.iter().flat_map(|(share, stems)| stems.iter().map(move |stem| (key(stem), *share))).collect();
    let mut concepts: FxHashMap<u64, Vec<u16>> = FxHashMap::default();
    for (number, words) in CONCEPTS.iter().enumerate() {
        for word in *words {
            let of_word = concepts.entry(key(&stem(word))).or_default();
            if of_word.last() != Some(&(number as u16)) {
                of_word.push(number as u16);
            }
        }
    }
    Lexicon { common, concepts }
});

/// Kinds of features have hashes of their own.
const TERM: u64 = 1;
const PREFIX: u64 = 2;
const CONCEPT: u64 = 3;

/// See the module.
#[derive(Debug)]
pub(super) struct Builtin {
    fingerprint: String,
}

impl Builtin {
    pub(super) fn new() -> Self {
        Self { fingerprint: fingerprint() }
    }
}

/// Identity of the vector space.
pub(super) fn fingerprint() -> String {
    format!("{NAME}-{DIM}-{QUANTISATION}-t{TERMS_VERSION}-r{RECIPE_VERSION}")
}

impl Embedder for Builtin {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn name(&self) -> &str {
        NAME
    }

    fn dim(&self) -> usize {
        DIM
    }

    fn scale(&self) -> f32 {
        scale_for(DIM)
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Table
    }

    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError> {
        out.reserve(inputs.len() * DIM);
        for input in inputs {
            with_bag(|bag| {
                visit_terms(input, |term, kind| bag.add(term, kind));
                bag.finish(out);
            });
        }
        Ok(())
    }

    fn embed_query(&self, query: &str) -> Result<Vec<i8>, EmbedError> {
        let mut row = Vec::with_capacity(DIM);
        self.embed_documents(&[query], &mut row)?;
        Ok(row)
    }

    fn embed_path(&self, path: &str) -> Option<Vec<i8>> {
        let mut row = Vec::with_capacity(DIM);
        with_bag(|bag| {
            path_terms(path, &mut |term| bag.add(term, TermKind::Word));
            bag.finish(&mut row);
        });
        Some(row)
    }
}

fn with_bag(fill: impl FnOnce(&mut Bag)) {
    thread_local! {
        static BAG: RefCell<Bag> = RefCell::new(Bag::default());
    }
    // A visitor never calls back into the model, so the cell is free.
    BAG.with_borrow_mut(fill);
}

/// Distinct terms of one text with their counts.
#[derive(Default)]
struct Bag {
    /// Open addressing over `terms`: index + 1, or 0.
    slots: Vec<u32>,
    terms: Vec<Counted>,
    /// The first six bytes of each term are all that later steps need of its text.
    heads: Vec<[u8; PREFIX_BYTES[1]]>,
}

struct Counted {
    hash: u64,
    count: u32,
    length: u8,
    share: u8,
}

impl Bag {
    fn add(&mut self, term: &str, kind: TermKind) {
        let hash = hash(term.as_bytes(), TERM);
        if self.terms.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                index => {
                    let counted = &mut self.terms[index as usize - 1];
                    if counted.hash == hash {
                        counted.count = counted.count.saturating_add(1);
                        counted.share = counted.share.max(share_of(kind));
                        return;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
        let mut head = [0; PREFIX_BYTES[1]];
        let bytes = term.as_bytes();
        let n = bytes.len().min(head.len());
        head[..n].copy_from_slice(&bytes[..n]);
        self.heads.push(head);
        self.terms.push(Counted { hash, count: 1, length: bytes.len() as u8, share: share_of(kind) });
        self.slots[slot] = self.terms.len() as u32;
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1024);
        self.slots.clear();
        self.slots.resize(size, 0);
        for (index, counted) in self.terms.iter().enumerate() {
            let mut slot = counted.hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = index as u32 + 1;
        }
    }

    /// Appends the row of the text to `out` and empties the bag. A text without terms is the zero vector.
    fn finish(&mut self, out: &mut Vec<i8>) {
        let mut sum = [0i64; DIM];
        let lexicon = &*LEXICON;
        for (counted, head) in self.terms.iter().zip(&self.heads) {
            // Square roots are exact to the last bit everywhere, so the integer is, too.
            let mut weight = ((counted.count as f32).sqrt() * 256.0) as i32 * i32::from(counted.share) / 256;
            let mut specific = true;
            if let Some(&share) = lexicon.common.get(&counted.hash) {
                weight = weight * i32::from(share) / 256;
                specific = share >= MIN_SPECIFIC_SHARE;
            }
            project(counted.hash, weight, &mut sum);
            if !specific || !head[..3].iter().all(u8::is_ascii_lowercase) {
                continue;
            }
            for length in PREFIX_BYTES {
                if counted.length as usize >= length || length == PREFIX_BYTES[0] {
                    let end = length.min(counted.length as usize);
                    project(hash(&head[..end], PREFIX), weight * PREFIX_SHARE / 256, &mut sum);
                }
            }
            for concept in lexicon.concepts.get(&counted.hash).into_iter().flatten() {
                project(hash(&concept.to_le_bytes(), CONCEPT), weight * CONCEPT_SHARE / 256, &mut sum);
            }
        }
        self.clear();
        let squares: i64 = sum.iter().map(|component| component * component).sum();
        let norm = if squares == 0 { 1.0 } else { (squares as f64).sqrt() };
        let unit = sum.map(|component| (component as f64 / norm) as f32);
        quantise(&unit, scale_for(DIM), out);
    }

    fn clear(&mut self) {
        if self.slots.len() > 1 << 14 {
            *self = Self::default(); // one huge text should not be paid for ever after
            return;
        }
        self.slots.fill(0);
        self.terms.clear();
        self.heads.clear();
    }
}

/// How much a kind of term says, in 1/256.
fn share_of(kind: TermKind) -> u8 {
    match kind {
        TermKind::Word | TermKind::Part => 255,
        TermKind::Whole => 140,
        TermKind::Pair => 200,
        TermKind::Prefix => 100,
        TermKind::Number => 60,
        TermKind::Character => 80,
    }
}

/// Adds `weight` with the signs of a feature to its components.
fn project(feature: u64, weight: i32, sum: &mut [i64; DIM]) {
    let weight = i64::from(weight);
    let mut signs = mix(feature ^ 0x9e37_79b9_7f4a_7c15);
    for half in 0..POSITIONS as u64 / 8 {
        for position in mix(feature.wrapping_add(half + 1)).to_le_bytes() {
            let sign = 1 - 2 * (signs & 1) as i64;
            sum[position as usize] += sign * weight;
            signs >>= 1;
        }
    }
}

/// FNV-1a with a finaliser; written out because it is part of the model.
fn hash(bytes: &[u8], kind: u64) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325 ^ kind.wrapping_mul(0x100_0000_01b3);
    for &byte in bytes {
        state = (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    mix(state)
}

/// The finaliser of splitmix64.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Vec<i8> {
        Builtin::new().embed_query(text).unwrap()
    }

    fn cosine(a: &str, b: &str) -> f32 {
        let (a, b) = (row(a), row(b));
        let dot = |a: &[i8], b: &[i8]| {
            a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>() as f32
        };
        dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt().max(1.0)
    }

    #[test]
    fn related_texts_are_nearer_than_unrelated_ones() {
        let code = "fn parse_header(input: &str) -> Result<Header, ParseError> { let mut tokens = tokenize(input); }";
        let other =
            "def render_template(name, context): return environment.get_template(name).render(context)";
        let query = "how are headers parsed";
        assert!(cosine(query, code) > cosine(query, other) + 0.2);
        assert!(
            cosine("remove a user", "delete_account(member)")
                > cosine("remove a user", "sort_rows(column)") + 0.1
        );
        assert!(cosine("authentication", "authenticate") > 0.25);
    }

    #[test]
    fn rows_are_unit_vectors_and_nothing_is_zero() {
        let builtin = Builtin::new();
        for text in
            ["one", "two words", "fn main() { println!(\"hello\"); }", &"many different words ".repeat(3000)]
        {
            let length: f32 =
                row(text).iter().map(|x| (f32::from(*x) / builtin.scale()).powi(2)).sum::<f32>().sqrt();
            assert!((0.9..1.1).contains(&length), "{length} {}", &text[..3]);
        }
        assert_eq!(row(""), vec![0; DIM]);
        assert_eq!(row("+ - *"), vec![0; DIM]);
    }

    #[test]
    fn batches_and_threads_do_not_matter() {
        let builtin = Builtin::new();
        let texts: Vec<String> =
            (0..200).map(|n| format!("text {n} {}", "word other thing ".repeat(n % 7))).collect();
        let inputs: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut together = Vec::new();
        builtin.embed_documents(&inputs, &mut together).unwrap();
        assert_eq!(together.len(), inputs.len() * DIM);
        let alone: Vec<i8> = inputs.iter().flat_map(|input| builtin.embed_query(input).unwrap()).collect();
        assert_eq!(together, alone);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut again = Vec::new();
                    builtin.embed_documents(&inputs, &mut again).unwrap();
                    assert_eq!(again, together);
                });
            }
        });
    }

    /// Bytes of a known text: if this changes, so must the name of the model or a version in its fingerprint.
    #[test]
    fn the_model_is_pinned() {
        let row = row("fn parse_header(input: &str) -> Header // Überschrift 日本");
        let bytes: Vec<u8> = row.iter().map(|x| x.cast_unsigned()).collect();
        assert_eq!(blake3::hash(&bytes).to_hex()[..16], *"9ea7a2b415332579");
    }

    #[test]
    fn paths_share_a_space_with_text() {
        let builtin = Builtin::new();
        let path = builtin.embed_path("src/http/request_parser.rs").unwrap();
        let dot =
            |text: &str| row(text).iter().zip(&path).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>();
        assert!(dot("http request parser") > 3 * dot("unicode tables").abs());
        assert_eq!(builtin.embed_path("").unwrap(), vec![0; DIM]);
    }

    /// `cargo test --release -- --ignored --nocapture speed` prints chunks per second of one core.
    #[test]
    #[ignore = "a measurement, not a check"]
    fn speed() {
        let source = include_str!("builtin.rs").repeat(8);
        let texts: Vec<&str> =
            source.as_bytes().chunks(1600).filter_map(|c| std::str::from_utf8(c).ok()).collect();
        let started = std::time::Instant::now();
        let mut terms = 0u64;
        for _ in 0..20 {
            texts.iter().for_each(|text| visit_terms(text, |term, _| terms += term.len() as u64));
        }
        let seconds = started.elapsed().as_secs_f64();
        let bytes = 20.0 * texts.iter().map(|text| text.len()).sum::<usize>() as f64;
        println!("terms: {:.0} MB/s ({terms})", bytes / seconds / 1e6);
        let started = std::time::Instant::now();
        let mut out = Vec::new();
        for _ in 0..20 {
            out.clear();
            Builtin::new().embed_documents(&texts, &mut out).unwrap();
        }
        let seconds = started.elapsed().as_secs_f64();
        println!("embed: {:.0} chunks/s of 1,600 bytes", 20.0 * texts.len() as f64 / seconds);
    }
}
