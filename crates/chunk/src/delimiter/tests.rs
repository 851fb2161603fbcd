use std::collections::BTreeMap;
use std::path::PathBuf;

use codeweaver_config::Granularity;

use super::scan::{Boundary, scan};
use super::*;
use crate::language::{self, TEXT};
use crate::text_split::split_text;
use crate::tokens;

fn language(name: &str) -> LanguageId {
    LanguageId::by_name(name).unwrap()
}

/// Asserts the invariants of pieces and returns their texts.
fn checked<'a>(text: &'a str, pieces: &[Piece], settings: &ChunkerSettings) -> Vec<&'a str> {
    let mut covered_to = 0;
    let mut last = None;
    let mut texts = Vec::new();
    for piece in pieces {
        let range = piece.byte_range.start as usize..piece.byte_range.end as usize;
        let inside = &text[range.clone()];
        assert!(!inside.trim().is_empty());
        assert!(tokens::count(inside) <= settings.token_limit.max(2), "{} tokens", tokens::count(inside));
        assert!(last < Some(range.start), "order");
        last = Some(range.start);
        if covered_to < range.start {
            assert!(
                text[covered_to..range.start].trim().is_empty(),
                "lost {:?}",
                &text[covered_to..range.start]
            );
        }
        covered_to = covered_to.max(range.end);
        texts.push(inside);
    }
    assert!(text[covered_to..].trim().is_empty(), "lost at the end: {:?}", &text[covered_to..]);
    texts
}

fn pieces_of<'a>(text: &'a str, name: &str, settings: &ChunkerSettings) -> Vec<&'a str> {
    let pieces = chunk_delimited(text, 0, language(name), settings).unwrap_or_default();
    checked(text, &pieces, settings)
}

fn small(target_tokens: u32) -> ChunkerSettings {
    ChunkerSettings { target_tokens, ..Default::default() }
}

/// Family, expectations (`kind first-last`), text.
fn fixtures() -> Vec<(String, Vec<String>, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/delimiter");
    let mut fixtures = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read_to_string(&path).unwrap();
        let (expected, text) = content.split_once("----\n").unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        fixtures.push((name, expected.lines().map(str::to_owned).collect(), text.to_owned()));
    }
    fixtures.sort();
    fixtures
}

fn found(text: &str, family: &Family) -> Vec<(&'static str, usize, usize, u8)> {
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let lines = |b: &Boundary| {
        let kind = family.delimiters[usize::from(b.delimiter)].kind;
        (kind, line(b.start), line(b.end - 1), b.nesting)
    };
    scan(text, family).iter().map(lines).collect()
}

#[test]
fn every_family_has_a_fixture_and_finds_the_pairs_in_it() {
    let fixtures = fixtures();
    let missing: Vec<_> = families::names()
        .into_iter()
        .filter(|name| !fixtures.iter().any(|(other, ..)| other == name))
        .collect();
    assert_eq!(missing, ["brace_base"]);
    let mut problems = Vec::new();
    for (name, expected, text) in &fixtures {
        let found: Vec<String> = found(text, families::by_name(name))
            .iter()
            .map(|(kind, first, last, _)| format!("{kind} {first}-{last}"))
            .collect();
        for wanted in expected.iter().filter(|wanted| !found.contains(wanted)) {
            problems.push(format!("{name}: {wanted} not in {found:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn fixtures_and_their_mutations_keep_the_invariants() {
    let mut random = fastrand::Rng::with_seed(11);
    let noise = [
        "{", "}", "end", "\"", "'", "/*", "*/", "\n", "\n\n", "é", "日本", "(", ")", "class X ", ";", "    ",
        "<a>", "</a>", "\u{a0}", "#", "\r\n", "\0", "begin", "\\",
    ];
    for (name, _, text) in fixtures() {
        let family = families::by_name(&name);
        for round in 0..60 {
            let mut text: String = text.clone();
            for _ in 0..round {
                let mut at = random.usize(..=text.len());
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                if random.bool() && at < text.len() {
                    text.remove(at);
                } else {
                    text.insert_str(at, noise[random.usize(..noise.len())]);
                }
            }
            let settings = ChunkerSettings {
                target_tokens: [5, 20, 500][round % 3],
                token_limit: [30, 60, 4000][round % 3],
                simple_overlap: [0, 4][round % 2],
                granularity: [Granularity::Packed, Granularity::Definition][round / 2 % 2],
                ..Default::default()
            };
            if let Some(pieces) = chunk_with_family(&text, 0, family, &settings) {
                checked(&text, &pieces, &settings);
                assert_eq!(Some(pieces), chunk_with_family(&text, 0, family, &settings));
            }
            checked(&text, &split_text(&text, 0, settings.token_limit, &settings), &settings);
        }
    }
}

#[test]
fn hostile_text_takes_linear_time() {
    let settings = ChunkerSettings::default();
    let deep = format!("{}{}", "{".repeat(300_000), "}".repeat(300_000));
    let rows = format!("{}x{}", "{\n".repeat(100_000), "}\n".repeat(100_000));
    let mut texts = vec![deep, rows];
    for unit in [
        "{",
        "}",
        "begin\n",
        "a",
        "a ",
        "word; ",
        "{}",
        "{a:[1]},",
        "<a>",
        "<a",
        "r#\"",
        "/*",
        "\"",
        "'",
        "[{",
        "\n",
        "if x do\n",
        "é",
        "({)}",
        "  x:\n",
        "class ",
        "\\",
    ] {
        let bytes = if ["{", "a", "begin\n"].contains(&unit) { 1 << 20 } else { 200_000 };
        texts.push(unit.repeat(bytes / unit.len()));
    }
    texts.push((0..2000).map(|n| format!("{}x:\n", " ".repeat(n % 1000))).collect());
    for name in ["c", "ruby", "python", "yaml", "markup", "rust", "pascal", "plain", "lisp", "json"] {
        let name = match name {
            "markup" => "xml",
            "plain" => "text",
            "lisp" => "common_lisp",
            other => other,
        };
        for text in &texts {
            let start = std::time::Instant::now();
            if let Some(pieces) = chunk_delimited(text, 0, language(name), &settings) {
                checked(text, &pieces, &settings);
            }
            let seconds = start.elapsed().as_secs_f32();
            assert!(seconds < 6.0, "{name}: {:?} took {seconds} s", &text[..8]);
        }
    }
}

#[test]
fn nested_functions_have_levels() {
    let text = "function outer() {\n  function inner() {\n    if (true) {\n      console.log('nested');\n    }\n  }\n}\n";
    let found = found(text, families::by_name("js_style"));
    assert!(found.contains(&("function", 1, 7, 0)) && found.contains(&("function", 2, 6, 1)), "{found:?}");
    let pieces = chunk_delimited(text, 10, language("javascript"), &ChunkerSettings::default()).unwrap();
    let delimiter = pieces[0].delimiter.as_ref().unwrap();
    assert_eq!(
        (delimiter.kind, delimiter.start.as_str(), delimiter.end.as_str()),
        ("function", "function", "}")
    );
    assert_eq!((delimiter.priority, delimiter.nesting, pieces[0].byte_range.start), (70, 0, 10));
}

#[test]
fn a_class_takes_precedence_over_the_comment_in_it() {
    let text = "class MyClass {\n    function myMethod() {\n        // comment\n    }\n}\n";
    let pieces = chunk_delimited(text, 0, language("java"), &ChunkerSettings::default()).unwrap();
    assert_eq!(pieces[0].delimiter.as_ref().unwrap().kind, "class");
}

#[test]
fn of_crossing_pairs_the_higher_priority_wins() {
    let delimiter = |start: &str, end: &str, priority| CustomDelimiter {
        starts: vec![start.to_owned()],
        ends: vec![end.to_owned()],
        kind: "block".to_owned(),
        priority,
        inclusive: true,
        take_whole_lines: true,
        nestable: false,
    };
    let text = "<<\na b c\n[[\nd e f\n>>\ng h i\n]]\n";
    let mut settings = small(4);
    let mut kept = |first, second| {
        let mut second = delimiter("[[", "]]", second);
        second.kind = "loop".to_owned();
        let added = vec![delimiter("<<", ">>", first), second];
        settings.custom_delimiters = BTreeMap::from([("tla".to_owned(), added)]);
        let pieces = chunk_delimited(text, 0, language("tla"), &settings).unwrap();
        checked(text, &pieces, &settings);
        pieces
            .iter()
            .filter_map(|piece| piece.delimiter.as_ref())
            .map(|found| found.start.clone())
            .next()
            .unwrap()
    };
    assert_eq!(kept(60, 55), "<<");
    assert_eq!(kept(55, 60), "[[");
    assert_eq!(kept(60, 60), "<<");
}

#[test]
fn custom_delimiters_take_precedence() {
    let custom = CustomDelimiter {
        starts: vec!["START".to_owned(), "OPEN IT".to_owned()],
        ends: vec!["STOP".to_owned()],
        kind: "function".to_owned(),
        priority: 77,
        inclusive: false,
        take_whole_lines: true,
        nestable: true,
    };
    let settings = ChunkerSettings {
        custom_delimiters: BTreeMap::from([("Rust".to_owned(), vec![custom])]),
        granularity: Granularity::Definition,
        ..Default::default()
    };
    let text = "a\nSTART\nb {\n}\nSTOP\nOPEN  IT\nc\nSTOP\n";
    let pieces = chunk_delimited(text, 0, language("rust"), &settings).unwrap();
    let texts = checked(text, &pieces, &settings);
    assert!(texts.iter().any(|text| text.ends_with("b {\n}")), "{texts:?}");
    let described = pieces.iter().find_map(|piece| piece.delimiter.clone()).unwrap();
    assert_eq!((described.priority, described.inclusive, described.start.as_str()), (77, false, "START"));
}

#[test]
fn pieces_are_packed_to_the_target_and_keep_pairs_whole() {
    let function = |n: usize| {
        format!("// Number {n}.\nint f{n}(int a) {{\n{}}}\n\n", "  a = a + 1;\n".repeat(n % 20 + 1))
    };
    let text: String = (0..200).map(function).collect();
    let texts = pieces_of(&text, "c", &ChunkerSettings::default());
    let sizes: Vec<u32> = texts.iter().map(|text| tokens::count(text)).collect();
    let mean = sizes.iter().sum::<u32>() as usize / sizes.len();
    assert!((400..=600).contains(&mean), "{mean} {sizes:?}");
    for text in &texts {
        assert!(text.starts_with("// Number") && text.ends_with('}'), "{text}");
    }
    let definition = ChunkerSettings { granularity: Granularity::Definition, ..Default::default() };
    assert_eq!(pieces_of(&text, "c", &definition).len(), 200);
}

#[test]
fn large_pairs_are_opened_and_then_split() {
    let methods: String =
        (0..60).map(|n| format!("  void f{n}() {{\n{}  }}\n\n", "    call(a, b);\n".repeat(8))).collect();
    let class = format!("class A {{\n{methods}}}\n");
    let texts = pieces_of(&class, "java", &ChunkerSettings::default());
    assert!(texts.len() > 3);
    for text in &texts {
        assert_eq!(
            text.matches("void").count(),
            text.matches("  }\n").count() + usize::from(text.ends_with("  }"))
        );
    }
    // A function of more than the soft size is opened as well: no piece begins inside of a loop.
    let loops = |n: usize| format!("  for (;;) {{\n{}  }}\n", "    call(a, b);\n".repeat(n % 7 + 20));
    let long = format!("void f() {{\n{}}}\n", (0..12).map(loops).collect::<String>());
    let texts = pieces_of(&long, "java", &ChunkerSettings::default());
    assert!(texts.len() > 2, "{texts:#?}");
    for text in &texts {
        assert_eq!(text.matches("for (").count(), text.matches("\n  }").count(), "{text}");
    }

    let flat = format!("void f() {{\n{}}}\n", "  a = a + 1;\n".repeat(3000));
    assert!(pieces_of(&flat, "java", &ChunkerSettings::default()).len() >= 5);
    let minified = format!("var a=[{}];", "{b:1,c:[1,2,3]},".repeat(20_000));
    assert!(pieces_of(&minified, "javascript", &ChunkerSettings::default()).len() > 50);
}

/// The end of a definition that was taken apart does not share a piece with the beginning of the next one.
#[test]
fn definitions_that_are_opened_stay_apart() {
    let sub = |name: &str| {
        format!("sub {name} {{\n{}}}\n\n", "    my $x = shift;\n    push @rows, $x;\n".repeat(90))
    };
    let text = format!("{}{}{}", sub("first"), sub("second"), sub("third"));
    for text in pieces_of(&text, "perl", &ChunkerSettings::default()) {
        let ends = text.matches("\n}").count();
        assert!(ends <= 1 && (ends == 0 || text.ends_with('}')), "{text}");
    }
}

/// The body of a Tcl command is the last of its words in braces, not the first.
#[test]
fn the_last_braces_of_a_line_are_the_body() {
    let pairs = |text: &str| {
        let found = found(text, families::by_name("tcl_style"));
        let matters = found.into_iter().filter(|(kind, ..)| *kind != "block");
        matters.map(|(kind, first, last, _)| (kind, first, last)).collect::<Vec<_>>()
    };
    assert_eq!(pairs("proc f {a {b 1}} {\n  g\n}\nset c {\n  1\n}\n"), [("function", 1, 3)]);
    assert_eq!(
        pairs("proc f {\n  a\n} {\n  g\n}\nproc h args {\n  i\n}\n"),
        [("function", 1, 5), ("function", 6, 8)]
    );
    assert_eq!(pairs("if {$a} {\n  b\n} else {\n  c\n}\n"), [("conditional", 1, 5)]);
    assert_eq!(pairs("test a-1 {b} \\\n  -body {\n  c\n} -result {d}\n"), [("function", 1, 4)]);
    assert_eq!(pairs("proc f {a} {b} ; set c {\n}\n"), [("function", 1, 1)]);
}

#[test]
fn a_proc_of_tcl_is_not_cut_behind_its_arguments() {
    let proc = |name: &str| {
        let branch = |n: usize| format!("    if {{$a > {n}}} {{\n        lappend b $c({n})\n    }}\n");
        format!("proc {name} {{a {{b 1}} args}} {{\n{}}}\n\n", (0..9).map(branch).collect::<String>())
    };
    let text: String = (0..40).map(|n| proc(&format!("p{n}"))).collect();
    let definitions = ChunkerSettings { granularity: Granularity::Definition, ..Default::default() };
    assert_eq!(pieces_of(&text, "tcl", &definitions).len(), 40);
    for piece in pieces_of(&text, "tcl", &ChunkerSettings::default()) {
        assert!(piece.starts_with("proc ") && piece.ends_with("\n}"), "{piece}");
    }
}

/// Documentation may stand above a blank line, as usual in Fortran. It does not belong to the unit before.
#[test]
fn comments_above_a_blank_line_stay_with_the_definition_below() {
    let unit = |n: usize| {
        let body = "    x = x + 1\n".repeat(30);
        format!("!> Adds to x.\n!! Number {n}.\n\nsubroutine f{n}(x)\n{body}end subroutine f{n}\n\n")
    };
    let text: String = (0..20).map(unit).collect();
    let definitions = ChunkerSettings { granularity: Granularity::Definition, ..Default::default() };
    for settings in [definitions, ChunkerSettings::default()] {
        let pieces = pieces_of(&text, "fortran", &settings);
        assert!(pieces.len() > 3);
        for piece in pieces {
            assert!(piece.starts_with("!> Adds") && piece.contains("end subroutine"), "{piece}");
        }
    }

    // Two blank lines separate, and text that is no comment does not belong to what follows.
    for above in ["! A remark.\n\n\n", "use other\n\n"] {
        let text = format!("{above}subroutine f(x)\n  x = 1\nend subroutine f\n");
        let settings = ChunkerSettings { granularity: Granularity::Definition, ..Default::default() };
        assert_eq!(pieces_of(&text, "fortran", &settings).len(), 2, "{above}");
    }
}

#[test]
fn overlap_is_honoured() {
    let text: String = (0..100).map(|n| format!("fn f{n}() {{\n    body();\n}}\n\n")).collect();
    let settings = ChunkerSettings { simple_overlap: 12, target_tokens: 100, ..Default::default() };
    let pieces = chunk_delimited(&text, 0, language("rust"), &settings).unwrap();
    checked(&text, &pieces, &settings);
    assert!(pieces.windows(2).all(|pair| pair[1].byte_range.start < pair[0].byte_range.end));
}

#[test]
fn all_languages_chunk_any_text() {
    let settings = small(20);
    let text: String = fixtures().into_iter().map(|(.., text)| text).collect();
    for language in language::all() {
        if let Some(pieces) = chunk_delimited(&text, 0, language, &settings) {
            checked(&text, &pieces, &settings);
        }
    }
    assert_eq!(chunk_delimited("", 0, TEXT, &settings), None);
    assert_eq!(chunk_delimited(" \n\n", 0, TEXT, &settings), None);
    assert!(chunk_delimited("x = 1;\n", 0, language("c"), &settings).is_none());
}
