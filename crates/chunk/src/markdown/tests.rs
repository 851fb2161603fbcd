use codeweaver_config::Granularity;

use super::*;
use crate::language::MARKDOWN;
use crate::{ChunkSource, LineSpan, SemanticClass, Symbol, tokens};

fn settings(chunk_size: u32, overlap: u32) -> ChunkerSettings {
    let mut settings = ChunkerSettings::default();
    settings.markdown.chunk_size = chunk_size;
    settings.markdown.overlap = overlap;
    settings
}

/// Code becomes one chunk.
fn code(code: &str, language: LanguageId, base: u32) -> Vec<Chunk> {
    if code.trim().is_empty() {
        return Vec::new();
    }
    vec![Chunk {
        byte_range: base..base + code.trim_end().len() as u32,
        line_span: LineSpan { start: 1, end: 1 },
        language,
        source: ChunkSource::Semantic,
        class: SemanticClass::Unknown,
        token_count: tokens::count(code),
        title: "code".to_owned(),
        symbols: Vec::new(),
        enclosing: vec!["inner".to_owned()],
        is_container: false,
        parent_semantic_node: None,
        semantic_context: None,
        delimiter: None,
    }]
}

fn chunks_of(text: &str, language: LanguageId, settings: &ChunkerSettings) -> Vec<Chunk> {
    let chunks = chunk_markdown(text, language, settings, &code);
    let mut covered = vec![false; text.len()];
    for chunk in &chunks {
        let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
        let inside = &text[range.clone()];
        assert!(!inside.trim().is_empty());
        assert!(tokens::count(inside) <= settings.token_limit, "{}", tokens::count(inside));
        let line = |at: usize| text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        assert_eq!(chunk.line_span, LineSpan { start: line(range.start), end: line(range.end - 1) });
        assert!(!chunk.title.is_empty());
        covered[range].fill(true);
    }
    assert!(chunks.is_sorted_by_key(|chunk| chunk.byte_range.start));
    for (at, c) in text.char_indices() {
        assert!(covered[at] || c.is_whitespace(), "{at} {c:?} of {text:?} is in no chunk");
    }
    chunks
}

fn texts<'a>(text: &'a str, chunks: &[Chunk]) -> Vec<&'a str> {
    chunks.iter().map(|chunk| &text[chunk.byte_range.start as usize..chunk.byte_range.end as usize]).collect()
}

#[test]
fn sections_carry_their_heading_path() {
    let text = "# Guide\n\nIntro. More.\n\n## Install\n\nText a.\n\n### From source\n\nText b.\n\n## Use\n\nText c.\n";
    let chunks = chunks_of(text, MARKDOWN, &settings(20, 5));
    let paths: Vec<String> = chunks.iter().map(|chunk| chunk.enclosing.join("/")).collect();
    assert!(paths.contains(&"Guide/Install/From source".to_owned()), "{paths:?}");
    assert!(paths.contains(&"Guide/Use".to_owned()), "{paths:?}");
    let symbols: Vec<&Symbol> = chunks.iter().flat_map(|chunk| &chunk.symbols).collect();
    let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["Guide", "Install", "From source", "Use"]);
    assert_eq!(symbols[2].qualified_name, "Guide > Install > From source");
    assert_eq!((symbols[0].line_span.start, symbols[0].line_span.end), (1, 15));
    assert_eq!((symbols[1].line_span.start, symbols[1].line_span.end), (5, 11));
    assert_eq!(symbols[0].doc, "Intro.");
    assert_eq!(symbols[2].nesting, 2);
    assert_eq!(symbols[2].signature, "### From source");
}

#[test]
fn small_sections_join_under_their_parent() {
    let text = "# A\n\none\n\n## B\n\ntwo\n\n## C\n\nthree\n\n# D\n\nfour\n";
    let chunks = chunks_of(text, MARKDOWN, &settings(1000, 200));
    let paths: Vec<String> = chunks.iter().map(|chunk| chunk.enclosing.join("/")).collect();
    assert_eq!(paths, ["A", "D"]);
    assert_eq!(chunks[0].symbols.len(), 3);
    let definition = ChunkerSettings { granularity: Granularity::Definition, ..Default::default() };
    assert_eq!(chunks_of(text, MARKDOWN, &definition).len(), 4);
}

#[test]
fn large_sections_are_split_with_overlap() {
    let body: String = (0..200).map(|n| format!("Sentence number {n} stands here.\n")).collect();
    let text = format!("# Long\n\n{body}");
    let chunks = chunks_of(&text, MARKDOWN, &ChunkerSettings::default());
    assert!(chunks.len() > 5);
    for pair in chunks.windows(2) {
        let shared = pair[0].byte_range.end as i64 - pair[1].byte_range.start as i64;
        assert!((100..=200).contains(&shared), "{shared}");
    }
    for text in texts(&text, &chunks) {
        assert!(text.chars().count() <= 1000);
    }
    assert!(chunks.iter().all(|chunk| chunk.enclosing == ["Long"]));
    assert_eq!(chunks.iter().map(|chunk| chunk.symbols.len()).sum::<usize>(), 1);
}

#[test]
fn setext_front_matter_tables_and_marks_inside_code() {
    let text = "---\ntitle: x\n# no heading\n---\n\nTitle\n=====\n\nText.\n\nSub *part*\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\n# no heading\n```\n\n- item\n---\n\n## Last `one` [link](http://x) ##\n    # code\n#hashtag\n";
    let chunks = chunks_of(text, MARKDOWN, &settings(40, 0));
    let names: Vec<&str> =
        chunks.iter().flat_map(|chunk| &chunk.symbols).map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["Title", "Sub part", "Last one link"]);
    assert!(chunks[0].enclosing.is_empty());
}

#[test]
fn long_fenced_code_is_chunked_by_its_language() {
    let rust = LanguageId::by_name("rust").unwrap();
    let text = "# A\n\nBefore.\n\n```rust,ignore\nfn a() {}\n\nfn b() {}\n\nfn c() {}\n\nfn d() {}\n```\n\nAfter.\n\n```rust\nlet short = 1;\n```\n\n~~~ {.python}\na = 1\nb = 1\nc = 1\nd = 1\ne = 1\n~~~\n";
    let chunks = chunks_of(text, MARKDOWN, &ChunkerSettings::default());
    let languages: Vec<&str> = chunks.iter().map(|chunk| chunk.language.name()).collect();
    assert_eq!(languages, ["markdown", "rust", "markdown", "python"]);
    assert_eq!(chunks[1].language, rust);
    assert_eq!(chunks[1].enclosing, ["A", "inner"]);
    assert!(texts(text, &chunks)[1].starts_with("```rust") && texts(text, &chunks)[1].ends_with("```"));
    assert!(texts(text, &chunks)[2].contains("short"));
    assert_eq!(chunks[2].enclosing, ["A"]);
}

#[test]
fn an_unclosed_fence_runs_to_the_end() {
    let text = "# A\n```rust\nfn a() {}\n# B\n1\n2\n3\n";
    let chunks = chunks_of(text, MARKDOWN, &ChunkerSettings::default());
    assert_eq!(chunks.last().unwrap().language.name(), "rust");
    chunks_of("```rust", MARKDOWN, &ChunkerSettings::default());
    chunks_of("```rust\n", MARKDOWN, &ChunkerSettings::default());
}

#[test]
fn other_formats_have_headings_too() {
    let names = |text: &str, language: &str| -> Vec<String> {
        let language = LanguageId::by_name(language).unwrap();
        let chunks = chunks_of(text, language, &settings(60, 0));
        chunks.iter().flat_map(|chunk| &chunk.symbols).map(|symbol| symbol.qualified_name.clone()).collect()
    };
    let rst = "=====\nGuide\n=====\n\nText.\n\nInstall\n-------\n\nMore text.\n\nUse\n---\n\nText.\n";
    assert_eq!(names(rst, "restructuredtext"), ["Guide", "Guide > Install", "Guide > Use"]);
    let adoc =
        "= Guide\n\nText.\n\n== Install\n\n[source,rust]\n----\n== no heading\n----\n\n== Use\n\nText.\n";
    assert_eq!(names(adoc, "asciidoc"), ["Guide", "Guide > Install", "Guide > Use"]);
    let org = "* Guide\nText.\n** Install\n#+begin_src sh\n* no heading\n#+end_src\n** Use\n";
    assert_eq!(names(org, "org"), ["Guide", "Guide > Install", "Guide > Use"]);
}

#[test]
fn an_overlined_title_is_shown_without_its_lines_and_has_a_level_of_its_own() {
    let text =
        "=====\nGuide\n=====\n\nInstall\n=======\n\nText.\n\n----\n Use\n----\n\nNext\n====\nLast\n====\n";
    let language = LanguageId::by_name("restructuredtext").unwrap();
    let chunks = chunks_of(text, language, &settings(60, 0));
    let symbols: Vec<(&str, &str)> = chunks
        .iter()
        .flat_map(|chunk| &chunk.symbols)
        .map(|symbol| (symbol.qualified_name.as_str(), symbol.signature.as_str()))
        .collect();
    let expected = [
        ("Guide", "Guide"),
        ("Guide > Install", "Install"),
        ("Guide > Install > Use", "Use"),
        ("Guide > Next", "Next"),
        ("Guide > Last", "Last"),
    ];
    assert_eq!(symbols, expected);
}

#[test]
fn any_text_is_covered() {
    let parts = [
        "# ",
        "## é",
        "\n",
        "\n\n",
        "```",
        "```rust\n",
        "---\n",
        "===\n",
        "a b. ",
        "日本。",
        "\r\n",
        "| x |\n",
        "~~~",
        "    ",
        "> q\n",
        "+++\n",
        "\u{feff}",
        "[x](y)",
        "\u{a0}",
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..600 {
        let text: String = (0..random.usize(..120)).map(|_| parts[random.usize(..parts.len())]).collect();
        let mut settings = settings([1, 7, 40, 1000][round % 4], [0, 3, 39, 200][round % 3]);
        settings.token_limit = [4000, 9][round % 2];
        let name = ["markdown", "restructuredtext", "asciidoc", "org"][round % 4];
        chunks_of(&text, LanguageId::by_name(name).unwrap(), &settings);
    }
    chunks_of("", MARKDOWN, &ChunkerSettings::default());
}

#[test]
fn long_documents_take_linear_time() {
    let start = std::time::Instant::now();
    for unit in ["# a\n", "```\n", "~~~~\n```\n", "a ", "\n", "---\n", "é", "[a](", "# [](", "- a\n---\n"] {
        let text = unit.repeat(300_000 / unit.len());
        chunks_of(&text, MARKDOWN, &ChunkerSettings::default());
        let adoc = LanguageId::by_name("asciidoc").unwrap();
        chunk_markdown(&text, adoc, &ChunkerSettings::default(), &code);
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
