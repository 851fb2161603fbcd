//! Any bytes in any language: the chunks satisfy the invariants of the chunker.

use std::path::Path;

use codeweaver_chunk::language::{self, LanguageId};
use codeweaver_chunk::{ChunkSource, ChunkedBlob, chunk_blob};
use codeweaver_config::{ChunkerSettings, CustomDelimiter, Granularity};
use codeweaver_git::BStr;
use codeweaver_store::segment::{Segment, SegmentBuilder};
use codeweaver_store::shard;

use super::doc::push_doc;
use super::mutate::{Material, mutate};
use super::{Case, Pool, Target, behaviour, size_class};

/// Languages with a grammar, and the two with chunkers of their own.
pub const LANGUAGES: [&str; 41] = [
    "bash",
    "c",
    "clojure",
    "cpp",
    "csharp",
    "css",
    "dart",
    "dockerfile",
    "elixir",
    "erlang",
    "go",
    "haskell",
    "hcl",
    "html",
    "java",
    "javascript",
    "json",
    "julia",
    "kotlin",
    "lua",
    "make",
    "nix",
    "ocaml",
    "ocaml_interface",
    "php",
    "proto",
    "python",
    "r",
    "ruby",
    "rust",
    "scala",
    "solidity",
    "sql",
    "swift",
    "toml",
    "tsx",
    "typescript",
    "yaml",
    "zig",
    "markdown",
    "text",
];

/// Tokens that begin, end, nest or escape something in some language.
const TOKENS: &[&[u8]] = &[
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"<",
    b">",
    b"</",
    b"/>",
    b"<!--",
    b"-->",
    b"\"",
    b"'",
    b"`",
    b"\"\"\"",
    b"'''",
    b"```",
    b"~~~\n",
    b"/*",
    b"*/",
    b"//",
    b"#",
    b"--",
    b"--[[",
    b"]]",
    b"(*",
    b"*)",
    b"{-",
    b"-}",
    b"<<EOF\n",
    b"EOF\n",
    b"<<~A\n",
    b"${",
    b"$(",
    b"#{",
    b"\\",
    b"\\\n",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\n  ",
    b"\n        ",
    b"\t",
    b";",
    b",",
    b":",
    b"::",
    b".",
    b"..",
    b"...",
    b"=",
    b"=>",
    b"->",
    b"@",
    b"&",
    b"|",
    b"!",
    b"?",
    b"%",
    b"^",
    b"*",
    b"0",
    b"1e9",
    b"0x",
    b"_",
    b"x",
    b" ",
    b"end\n",
    b"begin ",
    b"do ",
    b"if ",
    b"else ",
    b"then ",
    b"fi\n",
    b"case ",
    b"of ",
    b"let ",
    b"in ",
    b"where ",
    b"class ",
    b"def ",
    b"fn ",
    b"function ",
    b"module ",
    b"struct ",
    b"return ",
    b"for ",
    b"while ",
    b"try ",
    b"catch ",
    b"import ",
    b"<?php ",
    b"?>",
    b"#if 1\n",
    b"#endif\n",
    b"---\n",
    b"...\n",
    b"- ",
    b"? ",
    b"&a ",
    b"*a ",
    b"!!",
    b"|\n",
    b">\n",
    b"# ",
    b"## ",
    b"===\n",
    b"| a | b |\n|---|---|\n",
    b"r#\"",
    b"\"#",
    b"$$",
    b"q{",
    b"%w(",
    b"<% ",
    b"%>",
    b"@\"",
    b"R\"(",
    b")\"",
    "\u{e9}".as_bytes(),
    "\u{65e5}\u{672c}".as_bytes(),
];

/// Valid settings with different behaviour.
const N_SETTINGS: u8 = 7;

fn settings(number: u8) -> ChunkerSettings {
    let default = ChunkerSettings::default();
    match number % N_SETTINGS {
        1 => ChunkerSettings { granularity: Granularity::Definition, ..default },
        2 => ChunkerSettings { target_tokens: 32, token_limit: 64, simple_overlap: 20, ..default },
        3 => ChunkerSettings { prefer_semantic: false, target_tokens: 32, token_limit: 64, ..default },
        4 => ChunkerSettings {
            max_error_share: 1.0,
            semantic_importance_threshold: 0.0,
            target_tokens: 40,
            token_limit: 64,
            granularity: Granularity::Definition,
            ..default
        },
        5 => ChunkerSettings {
            max_error_share: 0.0,
            enable_hybrid_chunking: false,
            token_limit: 64,
            target_tokens: 64,
            ..default
        },
        6 => {
            let delimiter = |starts: &[&str], ends: &[&str], nestable| CustomDelimiter {
                starts: starts.iter().map(|text| (*text).to_owned()).collect(),
                ends: ends.iter().map(|text| (*text).to_owned()).collect(),
                kind: "own".to_owned(),
                priority: 99,
                inclusive: nestable,
                take_whole_lines: !nestable,
                nestable,
            };
            let own = vec![
                delimiter(&["(", "{", "x"], &[")", "}", "\n"], true),
                delimiter(&["x", "xx"], &["x", "\n"], false),
            ];
            ChunkerSettings {
                custom_delimiters: language::all()
                    .map(|language| (language.name().to_owned(), own.clone()))
                    .collect(),
                prefer_semantic: false,
                target_tokens: 32,
                token_limit: 100,
                simple_overlap: 40,
                ..default
            }
        }
        _ => default,
    }
}

pub struct Chunker {
    languages: Vec<Language>,
    /// Of languages without a grammar.
    others: Vec<LanguageId>,
    settings: Vec<ChunkerSettings>,
    n_run: u64,
}

struct Language {
    pool: Pool,
    /// Words and marks of the seeds.
    tokens: Vec<Vec<u8>>,
}

impl Chunker {
    pub fn new() -> Chunker {
        let languages: Vec<Language> = LANGUAGES.iter().map(|name| Language::new(name)).collect();
        let others = language::all().filter(|language| !LANGUAGES.contains(&language.name())).collect();
        Chunker { languages, others, settings: (0..N_SETTINGS).map(settings).collect(), n_run: 0 }
    }
}

impl Language {
    fn new(name: &str) -> Language {
        let seeds: Vec<Case> =
            seeds(name).into_iter().map(|bytes| Case::new(format!("{name} 0"), bytes)).collect();
        let mut tokens: Vec<Vec<u8>> = TOKENS.iter().map(|token| token.to_vec()).collect();
        for seed in seeds.iter().take(2) {
            tokens.extend(words(&seed.bytes));
        }
        Language { pool: Pool::new(seeds), tokens }
    }
}

/// The sample of a language, whole and in windows of a few lines.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files: Vec<Vec<u8>> = Vec::new();
    for entry in std::fs::read_dir(fixtures.join("languages")).into_iter().flatten().flatten() {
        let path = entry.path();
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if language::by_path(BStr::new(&file_name)).is_some_and(|found| found.name() == name) {
            files.extend(std::fs::read(&path));
        }
    }
    if name == "markdown" || files.is_empty() {
        files.extend(std::fs::read(fixtures.join("delimiter/markdown_style.txt")));
        files.push(b"# One\n\ntext\n\n```rust\nfn a() {}\n```\n\n## Two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<!-- x -->\n".to_vec());
    }
    let mut all = Vec::new();
    for file in files {
        let lines: Vec<&[u8]> = file.split_inclusive(|&byte| byte == b'\n').collect();
        for window in [4, 9, 16] {
            all.extend(lines.chunks(window).map(|lines| lines.concat()));
        }
        all.push(file);
    }
    all
}

fn words(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = bytes
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty() && word.len() < 24)
        .map(|word| [word, b" "].concat())
        .collect();
    found.sort();
    found.dedup();
    found
}

impl Target for Chunker {
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case {
        let at = rng.usize(..self.languages.len());
        let number = if rng.u8(..3) == 0 { rng.u8(..N_SETTINGS) } else { 0 };
        // Code of one language under the name of another, which has no grammar.
        let name = if rng.u8(..12) == 0 {
            self.others[rng.usize(..self.others.len())].name()
        } else {
            LANGUAGES[at]
        };
        let max_len = match rng.u16(..1000) {
            0 => 60_000,
            1..20 => 4_000,
            20..200 => 700,
            _ => 200,
        };
        let own = &self.languages[at];
        let foreign = &self.languages[rng.usize(..self.languages.len())];
        let mut bytes = own.pool.any(rng).bytes.clone();
        // A long seed is cut to a place in it, so that most inputs are short and all of it is reached.
        if bytes.len() > max_len {
            let from = rng.usize(..bytes.len() - max_len);
            bytes.drain(..from);
        }
        let tokens: Vec<&[u8]> = own.tokens.iter().map(Vec::as_slice).collect();
        let other = if rng.u8(..8) == 0 { foreign } else { own };
        let other = other.pool.any(rng).bytes.clone();
        mutate(&mut bytes, &Material { tokens: &tokens, other: &other, max_len }, rng);
        if rng.u16(..1000) == 0 {
            // A large file with many small errors.
            bytes = bytes.repeat((max_len * 4 / bytes.len().max(1)).max(1));
        }
        Case::new(format!("{name} {number}"), bytes)
    }

    fn run(&mut self, case: &Case) -> u64 {
        let (name, number) = case.head.split_once(' ').unwrap_or((&case.head, "0"));
        let language = LanguageId::by_name(name).unwrap_or(language::TEXT);
        let settings = &self.settings[number.parse().unwrap_or(0) % self.settings.len()];
        let blob = chunk_blob(&case.bytes, language, settings);
        check(&case.bytes, &blob, settings);
        self.n_run += 1;
        if self.n_run.is_multiple_of(16) {
            assert!(chunk_blob(&case.bytes, language, settings) == blob, "two runs give two results");
        }
        if self.n_run.is_multiple_of(64) {
            store(&case.bytes, language, &blob);
        }
        let reasons: Vec<_> = blob.degradations.iter().map(|step| step.reason as u8).take(8).collect();
        let kinds: Vec<_> =
            blob.chunks.iter().map(|chunk| (chunk.source as u8, chunk.class)).take(4).collect();
        let n_symbols = blob.chunks.iter().map(|chunk| chunk.symbols.len()).sum();
        behaviour((language, reasons, kinds, size_class(n_symbols), size_class(blob.chunks.len())))
    }

    fn keep(&mut self, case: &Case) {
        let name = case.head.split(' ').next().unwrap_or_default();
        // Large cases would slow down all later ones.
        if let Some(at) =
            LANGUAGES.iter().position(|known| *known == name).filter(|_| case.bytes.len() < 4_000)
        {
            self.languages[at].pool.keep(case);
        }
    }
}

/// Asserts the invariants of the chunker.
pub fn check(bytes: &[u8], blob: &ChunkedBlob, settings: &ChunkerSettings) {
    // A gap may cut a byte order mark, and whitespace is not only that of ASCII.
    let nothing = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xef | 0xbb | 0xbf);
    let blank = |part: &[u8]| {
        part.iter().all(nothing) || std::str::from_utf8(part).is_ok_and(|text| text.trim().is_empty())
    };
    let line_starts: Vec<usize> = std::iter::once(0)
        .chain(bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1))
        .collect();
    let line_of = |at: usize| line_starts.partition_point(|&start| start <= at) as u32;
    let (mut covered, mut last_start) = (0, 0);
    for chunk in &blob.chunks {
        let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
        assert!(range.start < range.end && range.end <= bytes.len(), "range {range:?} of {}", bytes.len());
        assert!(range.start >= last_start, "chunks are not in order at {}", range.start);
        let may_overlap = settings.simple_overlap > 0 || chunk.source == ChunkSource::Markdown;
        assert!(may_overlap || range.start >= covered, "overlap at {}", range.start);
        assert!(
            range.start <= covered || blank(&bytes[covered..range.start]),
            "lost {covered}..{}",
            range.start
        );
        assert!(!bytes[range.clone()].trim_ascii().is_empty(), "empty chunk at {}", range.start);
        assert!(chunk.token_count <= settings.token_limit.max(16), "{} tokens", chunk.token_count);
        let n_title = chunk.title.chars().count();
        assert!((1..=200).contains(&n_title), "title of {n_title} characters");
        assert!(!chunk.title.contains('\n'), "title of two lines");
        let lines = (chunk.line_span.start, chunk.line_span.end);
        assert_eq!(lines, (line_of(range.start), line_of(range.end - 1)), "lines of {range:?}");
        for symbol in &chunk.symbols {
            let place = symbol.byte_range.start as usize..symbol.byte_range.end as usize;
            assert!(place.start < place.end && place.end <= bytes.len(), "symbol at {place:?}");
            assert!(!symbol.name.is_empty(), "symbol without a name");
            assert!(range.contains(&place.start), "symbol {place:?} outside its chunk {range:?}");
            assert!(
                symbol.signature.chars().count() <= 200 && symbol.doc.chars().count() <= 200,
                "long excerpt"
            );
            let lines = (symbol.line_span.start, symbol.line_span.end);
            assert_eq!(lines, (line_of(place.start), line_of(place.end - 1)), "lines of a symbol");
        }
        covered = covered.max(range.end);
        last_start = range.start;
    }
    assert!(blank(&bytes[covered..]), "lost the tail from {covered}");
    for step in &blob.degradations {
        assert!(step.byte_range.start <= step.byte_range.end && step.byte_range.end as usize <= bytes.len());
    }
    assert!(blob.boundaries_on_nodes <= blob.boundaries && blob.nodes_unknown <= blob.nodes_classified);
}

/// Asserts that the chunks can be stored and read back.
fn store(bytes: &[u8], language: LanguageId, blob: &ChunkedBlob) {
    const DIM: usize = 8;
    let mut builder = SegmentBuilder::new(DIM);
    push_doc(&mut builder, bytes, language, blob);
    let rows = builder.data.rows.clone();
    let encoded = shard::encode(&builder.data, Path::new("fuzz.parquet")).expect("any chunks make a shard");
    assert!(!encoded.bytes.is_empty());
    let segment = Segment::in_memory(builder).expect("any chunks make a segment");
    assert_eq!(segment.n_rows() as usize, rows.len());
    for (record, row) in segment.rows().iter().zip(&rows) {
        assert_eq!(segment.text(record.title), row.title);
        for (found, symbol) in segment.symbols_of(record).zip(&row.symbols) {
            assert_eq!(segment.name(found.name), symbol.name);
            assert_eq!(segment.name(found.qualified_name), symbol.qualified_name);
        }
    }
}
