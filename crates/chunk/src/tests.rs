//! The chunker as a whole: fixtures of every language, and invariants.

mod hostile;

use std::path::{Path, PathBuf};

use codeweaver_config::{ChunkerSettings, Granularity};

use super::*;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/languages")
}

const FILES: &[(&str, &str)] = &[
    ("Dockerfile", "dockerfile"),
    ("Makefile", "make"),
    ("malformed.py", "python"),
    ("sample.R", "r"),
    ("sample.c", "c"),
    ("sample.clj", "clojure"),
    ("sample.cpp", "cpp"),
    ("sample.cs", "csharp"),
    ("sample.css", "css"),
    ("sample.dart", "dart"),
    ("sample.erl", "erlang"),
    ("sample.ex", "elixir"),
    ("sample.go", "go"),
    ("sample.hs", "haskell"),
    ("sample.html", "html"),
    ("sample.java", "java"),
    ("sample.jl", "julia"),
    ("sample.js", "javascript"),
    ("sample.json", "json"),
    ("sample.kt", "kotlin"),
    ("sample.lua", "lua"),
    ("sample.ml", "ocaml"),
    ("sample.mli", "ocaml_interface"),
    ("sample.nix", "nix"),
    ("sample.php", "php"),
    ("sample.proto", "proto"),
    ("sample.py", "python"),
    ("sample.rb", "ruby"),
    ("sample.rs", "rust"),
    ("sample.scala", "scala"),
    ("sample.sh", "bash"),
    ("sample.sol", "solidity"),
    ("sample.sql", "sql"),
    ("sample.swift", "swift"),
    ("sample.tf", "hcl"),
    ("sample.toml", "toml"),
    ("sample.ts", "typescript"),
    ("sample.tsx", "tsx"),
    ("sample.yaml", "yaml"),
    ("sample.zig", "zig"),
];

fn read(file: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(file)).unwrap_or_default()
}

/// The language of a grammar under whichever of its names the language table has.
fn language(name: &str) -> LanguageId {
    let names = [&[name][..], &grammar::names_of(name)].concat();
    names.iter().find_map(|name| LanguageId::by_name(name)).unwrap_or_else(|| panic!("no language {name}"))
}

fn chunks(file: &str, name: &str, settings: &ChunkerSettings) -> ChunkedBlob {
    chunk_blob(&read(file), language(name), settings)
}

fn definition_mode() -> ChunkerSettings {
    ChunkerSettings { granularity: Granularity::Definition, ..ChunkerSettings::default() }
}

fn symbols(blob: &ChunkedBlob) -> Vec<&Symbol> {
    blob.chunks.iter().flat_map(|chunk| &chunk.symbols).collect()
}

/// Asserts what holds for the chunks of any bytes: they are in bounds and in order, cover all that is not
/// blank, do not cut a character, keep the limits, and contain their symbols.
fn check(bytes: &[u8], blob: &ChunkedBlob, settings: &ChunkerSettings, what: &str) {
    let blank = |part: &[u8]| {
        part.iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xef | 0xbb | 0xbf))
    };
    let lines = lines::TextIndex::new(bytes);
    let mut end = 0;
    for chunk in &blob.chunks {
        let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
        assert!(range.start < range.end && range.end <= bytes.len(), "{what}: range {range:?}");
        if let Ok(text) = std::str::from_utf8(bytes) {
            let is_aligned = text.is_char_boundary(range.start) && text.is_char_boundary(range.end);
            assert!(is_aligned, "{what}: a character is cut at {range:?}");
        }
        assert!(range.start >= end, "{what}: overlap at {}", range.start);
        assert!(blank(&bytes[end..range.start]), "{what}: lost {end}..{}", range.start);
        assert!(!bytes[range.clone()].trim_ascii().is_empty(), "{what}: empty chunk");
        assert!(chunk.token_count <= settings.token_limit, "{what}: {} tokens", chunk.token_count);
        assert!(!chunk.title.is_empty() && chunk.title.chars().count() <= 200, "{what}: title");
        assert_eq!(chunk.line_span, lines.span(&chunk.byte_range), "{what}: lines");
        for symbol in &chunk.symbols {
            assert!(
                !symbol.name.is_empty() && symbol.byte_range.start < symbol.byte_range.end,
                "{what}: {symbol:?}"
            );
            assert!(
                chunk.byte_range.contains(&symbol.byte_range.start),
                "{what}: {symbol:?} not in its chunk"
            );
            assert!(
                symbol.signature.chars().count() <= 200 && symbol.doc.chars().count() <= 200,
                "{what}: {symbol:?}"
            );
            assert!(symbol.line_span.start <= symbol.line_span.end, "{what}: {symbol:?}");
        }
        end = range.end;
    }
    assert!(blank(&bytes[end..]), "{what}: lost the tail from {end}");
}

/// The symbols of a text as `kind name`.
fn named(language_name: &str, text: &str) -> Vec<String> {
    let blob = chunk_blob(text.as_bytes(), language(language_name), &ChunkerSettings::default());
    symbols(&blob).iter().map(|symbol| format!("{} {}", symbol.kind.name(), symbol.qualified_name)).collect()
}

fn check_both(bytes: &[u8], language: LanguageId, what: &str) {
    for settings in [ChunkerSettings::default(), definition_mode()] {
        let blob = chunk_blob(bytes, language, &settings);
        check(bytes, &blob, &settings, what);
    }
}

#[test]
fn symbols_of_every_language_are_those_expected() {
    let mut found = String::new();
    for (file, name) in FILES {
        found.push_str(&format!("[{file}]\n"));
        for symbol in symbols(&chunks(file, name, &ChunkerSettings::default())) {
            found.push_str(&format!("{} {}\n", symbol.kind.name(), symbol.qualified_name));
        }
    }
    let expected = std::fs::read_to_string(fixtures().join("symbols.expected")).unwrap_or_default();
    if found != expected {
        let different = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
        panic!("first difference (found, expected): {different:?}\nall found:\n{found}");
    }
}

#[test]
fn every_grammar_has_a_fixture_and_a_language() {
    for grammar in grammar::GRAMMARS {
        assert!(FILES.iter().any(|(_, name)| *name == grammar.name), "{} has no fixture", grammar.name);
        language(grammar.name);
    }
}

#[test]
fn signatures_and_documentation_are_kept() {
    let default = ChunkerSettings::default();
    for (file, name, symbol, signature, doc) in [
        ("sample.rs", "rust", "new", "pub fn new() -> Self", "Creates an empty counter."),
        ("sample.rs", "rust", "LIMIT", "pub const LIMIT: usize = 16;", "Most events kept."),
        ("sample.c", "c", "point", "struct point", "A point in the plane."),
        ("sample.py", "python", "Reader", "class Reader(Base)", "Reads a file."),
        ("sample.py", "python", "size", "def size(self) -> int", "Size in bytes."),
        ("sample.js", "javascript", "parseHeader", "export function parseHeader(text)", "Parses a header."),
        ("sample.go", "go", "Store", "type Store[T any] struct", "Store keeps items."),
        ("sample.hs", "haskell", "total", "total :: [Int] -> Int", "Sums all prices."),
        (
            "sample.cs",
            "csharp",
            "Order",
            "[Serializable] public class Order : IOrder",
            "An order of a customer.",
        ),
        ("sample.ts", "typescript", "Store", "export abstract class Store<T>", "Keeps things."),
        ("sample.sql", "sql", "shop.customers", "CREATE TABLE shop.customers", "Customers of the shop."),
        ("sample.zig", "zig", "move", "pub fn move(self: *Point, dx: i32) void", "Moves it."),
    ] {
        let blob = chunks(file, name, &default);
        let found = symbols(&blob).into_iter().find(|found| found.name == symbol);
        let found = found.unwrap_or_else(|| panic!("{file}: no {symbol}"));
        assert_eq!((found.signature.as_str(), found.doc.as_str()), (signature, doc), "{file}");
    }
}

#[test]
fn tests_are_classified_as_tests() {
    for (file, name, test) in [
        ("sample.rs", "rust", "counts"),
        ("sample.py", "python", "test_reader"),
        ("sample.go", "go", "TestKeep"),
        ("sample.js", "javascript", "renders a label"),
        ("sample.java", "java", "sortsItems"),
        ("sample.cs", "csharp", "AddsTax"),
        ("sample.cpp", "cpp", "ShapeTest.HasArea"),
        ("sample.ex", "elixir", "adds tax"),
        ("sample.rb", "ruby", "is paid"),
        ("sample.swift", "swift", "testArea"),
        ("sample.zig", "zig", "moves"),
        ("sample.clj", "clojure", "adds"),
    ] {
        let blob = chunks(file, name, &ChunkerSettings::default());
        let is_test = |symbol: &&Symbol| symbol.name == test && symbol.class == SemanticClass::DefinitionTest;
        assert!(symbols(&blob).iter().any(is_test), "{file}: {test}");
    }
}

/// The names of the tests among the definitions of a text.
fn test_names(text: &str, name: &str) -> Vec<String> {
    let blob = chunk_blob(text.as_bytes(), language(name), &ChunkerSettings::default());
    let tests = symbols(&blob).into_iter().filter(|symbol| symbol.class == SemanticClass::DefinitionTest);
    tests.map(|symbol| symbol.qualified_name.clone()).collect()
}

#[test]
fn a_name_alone_makes_no_test() {
    for (name, text) in [
        ("python", "class Flask(App):\n    def test_client(self):\n        return FlaskClient(self)\n"),
        ("python", "class TestResponse(Response):\n    def json(self):\n        return self.test_mode\n"),
        ("python", "def test_connection(url):\n    return connect(url).ok\n"),
        ("go", "package db\n\nfunc TestConnection(url string) error { return dial(url) }\n"),
        ("php", "<?php\nclass Connection {\n    public function testAddress($a) { return ping($a); }\n}\n"),
        ("ruby", "class Connection\n  def test_address(a)\n    ping(a)\n  end\nend\n"),
        ("swift", "class Connection {\n    func testAddress() -> Bool { ping() }\n}\n"),
        ("c", "int bit_test(int bits, int at) { return bits >> at & 1; }\n"),
        ("bash", "test_address() {\n  ping -c 1 \"$1\"\n}\n"),
        ("csharp", "class A {\n    [Factory]\n    public A Make() { return new A(); }\n}\n"),
        ("java", "class A {\n    @TestOnly\n    int peek() { return 1; }\n}\n"),
        (
            "javascript",
            "const spec = load(); const contest = open(spec); function latest() { return spec; }\n",
        ),
    ] {
        assert_eq!(test_names(text, name), [""; 0], "{name}: {text}");
    }
}

#[test]
fn tests_are_told_by_their_surroundings() {
    for (name, text, tests) in [
        (
            "python",
            "class TestApp:\n    def test_get(self, client):\n        client.get('/')\n",
            &["TestApp", "TestApp.test_get"][..],
        ),
        (
            "python",
            "class AppTests(TestCase):\n    def test_get(self):\n        pass\n",
            &["AppTests.test_get"],
        ),
        ("python", "import pytest\n\ndef test_get(client):\n    client.get('/')\n", &["test_get"]),
        ("python", "def test_sum():\n    assert 1 + 1 == 2\n", &["test_sum"]),
        ("go", "package db\n\nimport \"testing\"\n\nfunc TestDial(t *testing.T) {}\n", &["TestDial"]),
        ("go", "package db_test\n\nfunc ExampleDial() {\n\tdial()\n\t// Output: ok\n}\n", &["ExampleDial"]),
        (
            "php",
            "<?php\nclass DialTest extends TestCase {\n    public function testDial() {}\n}\n",
            &["DialTest::testDial"],
        ),
        (
            "ruby",
            "class DialTest < Minitest::Test\n  def test_dial\n    dial\n  end\nend\n",
            &["DialTest::test_dial"],
        ),
        ("swift", "class DialTests: XCTestCase {\n    func testDial() {}\n}\n", &["DialTests.testDial"]),
        (
            "csharp",
            "class A {\n    [Fact]\n    public void Adds() {}\n    [Test, Category(\"x\")]\n    public void Subtracts() {}\n}\n",
            &["A.Adds", "A.Subtracts"],
        ),
    ] {
        assert_eq!(test_names(text, name), tests, "{name}: {text}");
    }
}

#[test]
fn invariants_hold_on_all_fixtures() {
    for (file, name) in FILES {
        check_both(&read(file), language(name), file);
    }
}

/// Names of the symbols of a text.
fn names(text: &str, of_language: &str) -> Vec<String> {
    let blob = chunk_blob(text.as_bytes(), language(of_language), &ChunkerSettings::default());
    check_both(text.as_bytes(), language(of_language), text);
    symbols(&blob).iter().map(|symbol| symbol.qualified_name.clone()).collect()
}

#[test]
fn items_inside_macros_of_rust_are_symbols() {
    let text = "cfg_rt! {\n    /// Spawns it.\n    pub fn spawn_blocking() {}\n}\n\nimpl A {\n    cfg_net! {\n        \
                fn b(&self) {}\n    }\n}\n\ncfg_if::cfg_if! {\n    if #[cfg(unix)] {\n        fn c() {}\n    } \
                else {\n        fn d() {}\n    }\n}\n";
    assert_eq!(names(text, "rust"), ["spawn_blocking", "A", "A::b", "c", "d"]);
    let blob = chunk_blob(text.as_bytes(), language("rust"), &ChunkerSettings::default());
    assert_eq!(symbols(&blob)[0].doc, "Spawns it.");
    assert_eq!(symbols(&blob)[0].signature, "pub fn spawn_blocking()");
}

#[test]
fn a_text_that_cannot_be_parsed_hides_no_definition_after_it() {
    for (of_language, text, expected) in [
        (
            "c",
            "#if A\nint a(int x) {\n#else\nint a(long x) {\n#endif\n  b();\n}\nint c(void) { return 1; }\n",
            &["a", "c"][..],
        ),
        (
            "cpp",
            "A_BEGIN_NAMESPACE\nA_EXPORT template <typename T> class A_API B {\n public:\n  A_CONSTEXPR B(int c) \
             A_NOEXCEPT { d(); }\n  A_CONSTEXPR20 auto e() -> int { return 1; }\n};\nA_END_NAMESPACE\n",
            &["B", "B::B", "B::e"][..],
        ),
        (
            "csharp",
            "class A {\n  void B() { %% ( }\n  void C() { D(); }\n}\nclass E { }\n",
            &["A", "A.B", "A.C", "E"][..],
        ),
        ("haskell", "#if A\na = 1\n#else\nb = 2\n#endif\nc = 3\n", &["a", "b", "c"][..]),
        ("lua", "new {\n  a = function() b() end,\n}\nf({ c = function() end })\n", &["a", "c"][..]),
        ("javascript", "define(a, 'b', function c() { d(function e() {}) });\n", &["c"][..]),
    ] {
        assert_eq!(names(text, of_language), expected, "{text}");
    }
}

#[test]
fn malformed_python_still_gives_chunks_and_symbols() {
    let blob = chunks("malformed.py", "python", &ChunkerSettings::default());
    assert!(!blob.chunks.is_empty());
    assert!(symbols(&blob).iter().any(|symbol| symbol.name == "sound"));
}

#[test]
fn a_huge_function_is_opened_at_its_statements() {
    let mut text = String::from("def huge(items):\n    \"\"\"Does much.\"\"\"\n");
    for n in 0..600 {
        text.push_str(&format!("    if items[{n}] > {n}:\n        process(items[{n}], mode=\"m{n}\")\n"));
    }
    let settings = ChunkerSettings::default();
    let blob = chunk_blob(text.as_bytes(), language("python"), &settings);
    check(text.as_bytes(), &blob, &settings, "huge function");
    assert!(blob.chunks.len() > 10, "{} chunks", blob.chunks.len());
    assert_eq!(blob.boundaries, blob.boundaries_on_nodes);
    for chunk in &blob.chunks[1..] {
        assert_eq!(chunk.enclosing, ["huge"]);
        assert_eq!(chunk.parent_semantic_node.as_deref(), Some("function huge"));
        let context = SemanticContext {
            classification: SemanticClass::DefinitionCallable,
            kind: "function_definition",
        };
        assert_eq!(chunk.semantic_context, Some(context));
        let text = &text[chunk.byte_range.start as usize..];
        assert!(text.starts_with("    if "), "a statement was cut: {:?}", &text[..20]);
    }
    assert!(blob.chunks.iter().all(|chunk| chunk.token_count <= 800));
}

#[test]
fn a_function_and_a_class_are_two_chunks_in_definition_mode() {
    let text =
        "import os\n\ndef first():\n    return 1\n\n\nclass Second:\n    def method(self):\n        pass\n";
    let blob = chunk_blob(text.as_bytes(), language("python"), &definition_mode());
    let titles: Vec<&str> = blob.chunks.iter().map(|chunk| chunk.title.as_str()).collect();
    assert_eq!(titles, ["import os", "function first", "class Second"]);
    let packed = chunk_blob(text.as_bytes(), language("python"), &ChunkerSettings::default());
    assert_eq!(packed.chunks.len(), 1);
}

/// A language without a grammar has the same granularity: each definition is a chunk.
#[test]
fn definition_mode_acts_on_delimiters_too() {
    // `N` is a number.
    const UNITS: &[(&str, &str)] = &[
        ("perl", "sub fN {\n    my $x = shift;\n    return $x + N;\n}\n"),
        ("tcl", "proc fN {x} {\n    return [expr $x + N]\n}\n"),
        ("verilog", "module mN(input a, output b);\n  assign b = a;\nendmodule\n"),
        ("systemverilog", "package pN;\n  parameter A = N;\nendpackage\n"),
        ("vhdl", "entity eN is\n  port (a : in bit);\nend entity eN;\n"),
        ("pascal", "procedure TA.FN(x: Integer);\nbegin\n  x := N;\nend;\n"),
        ("ada", "procedure FN (X : Integer) is\nbegin\n  null;\nend FN;\n"),
        ("fortran", "subroutine fN(x)\n  integer :: x\n  x = N\nend subroutine fN\n"),
        ("fortran", "module mN\n  integer :: x = N\nend module mN\n"),
        ("cobol", "       PARA-N.\n           DISPLAY \"N\".\n"),
        ("vbnet", "Module MN\n    Public X As Integer = N\nEnd Module\n"),
        ("vbnet", "Public Sub FN()\n    x = N\nEnd Sub\n"),
        ("objective_c", "- (int)fN:(int)x {\n    return x + N;\n}\n"),
        ("powershell", "function F-N {\n    return N\n}\n"),
        ("common_lisp", "(defun f-N (x)\n  (+ x N))\n"),
        ("elm", "fN : Int -> Int\nfN x =\n    x + N\n"),
        ("coffeescript", "fN = (x) ->\n  x + N\n"),
        ("coffeescript", "class CN\n  constructor: (@x) ->\n    @y = N\n"),
    ];

    for (name, unit) in UNITS {
        let text: String = (0..6).map(|n| unit.replace('N', &n.to_string()) + "\n").collect();
        let chunks = |granularity| {
            let settings = ChunkerSettings { granularity, ..Default::default() };
            chunk_blob(text.as_bytes(), LanguageId::by_name(name).unwrap(), &settings).chunks
        };
        assert_eq!(chunks(Granularity::Packed).len(), 1, "{name}");
        let definitions = chunks(Granularity::Definition);
        let n_lines: Vec<usize> = definitions.iter().map(|chunk| n_lines(&text, chunk)).collect();
        assert_eq!(n_lines, [unit.lines().count(); 6], "{name}: {unit}");
        assert!(definitions.iter().all(|chunk| chunk.source == ChunkSource::Delimiter), "{definitions:#?}");
    }
}

fn n_lines(text: &str, chunk: &Chunk) -> usize {
    let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
    text[range].trim_end().lines().count()
}

#[test]
fn comments_and_attributes_stay_with_their_definition() {
    let mut text = String::new();
    for n in 0..60 {
        text.push_str(&format!(
            "/// Adds {n}.\n#[inline]\npub fn add_{n}(x: u32) -> u32 {{\n    let y = x + {n};\n    y\n}}\n\n"
        ));
    }
    for settings in [ChunkerSettings::default(), definition_mode()] {
        let blob = chunk_blob(text.as_bytes(), language("rust"), &settings);
        assert!(blob.chunks.len() > 2);
        for chunk in &blob.chunks {
            assert!(text[chunk.byte_range.start as usize..].starts_with("/// Adds"), "{}", chunk.title);
        }
    }
}

#[test]
fn a_large_class_is_a_container_and_its_members() {
    let mut text = String::from("class Big {\n  constructor() {}\n");
    for n in 0..80 {
        text.push_str(&format!(
            "  method{n}(a, b) {{\n    const sum = a + b + {n};\n    return this.other(sum);\n  }}\n\n"
        ));
    }
    text.push_str("}\n");
    let blob = chunk_blob(text.as_bytes(), language("javascript"), &ChunkerSettings::default());
    assert!(blob.chunks[0].is_container);
    assert!(blob.chunks[1..].iter().all(|chunk| chunk.enclosing == ["Big"] && !chunk.symbols.is_empty()));
    assert!(blob.chunks[1..].iter().all(|chunk| chunk.parent_semantic_node.as_deref() == Some("class Big")));
}

#[test]
fn byte_ranges_are_those_of_the_blob_where_it_is_not_utf8() {
    let bytes = b"// caf\xe9\nint a(void) { return 1; }\n";
    let blob = chunk_blob(bytes, language("c"), &ChunkerSettings::default());
    assert_eq!(blob.degradations[0].reason, DegradationReason::NotUtf8);
    let symbol = &blob.chunks[0].symbols[0];
    let range = symbol.byte_range.start as usize..symbol.byte_range.end as usize;
    assert_eq!(&bytes[range], b"int a(void) { return 1; }");
}

#[test]
fn degradations_are_counted_with_their_reason() {
    let reasons = |text: &str, settings: &ChunkerSettings| -> Vec<DegradationReason> {
        let blob = chunk_blob(text.as_bytes(), language("rust"), settings);
        blob.degradations.iter().map(|degradation| degradation.reason).collect()
    };
    let forced =
        ChunkerSettings { force_delimiter_for_languages: vec!["rust".into()], ..ChunkerSettings::default() };
    assert!(reasons("fn a() {}\n", &forced).contains(&DegradationReason::Forced));
    let default = ChunkerSettings::default();
    assert!(reasons(&"(".repeat(5000), &default).contains(&DegradationReason::TooDeep));
    assert!(reasons("%% ?? ,, ;; ] ) } @@ $$\n", &default).contains(&DegradationReason::ErrorShare));
    assert_eq!(reasons("fn a() {}\n", &default), []);
}

#[test]
fn a_heading_belongs_to_the_part_it_begins_in() {
    let text = format!("# t.{}\n## Second\n", "#i1".repeat(40));
    let settings = ChunkerSettings { target_tokens: 32, token_limit: 64, ..ChunkerSettings::default() };
    let blob = chunk_blob(text.as_bytes(), language("markdown"), &settings);
    check(text.as_bytes(), &blob, &settings, "long heading");
    assert!(symbols(&blob).iter().any(|symbol| symbol.name == "Second"));
}

#[test]
fn the_same_blob_gives_the_same_chunks_in_parallel() {
    let settings = ChunkerSettings::default();
    let once: Vec<ChunkedBlob> = FILES.iter().map(|(file, name)| chunks(file, name, &settings)).collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for ((file, name), expected) in FILES.iter().rev().zip(once.iter().rev()) {
                    assert_eq!(&chunks(file, name, &settings), expected);
                }
            });
        }
    });
}

#[test]
fn methods_behind_a_modifier_or_with_a_computed_name_are_found_in_ruby() {
    let text = "class A\n  # Doc.\n  private def one\n    1\n  end\n  private memoize def two = 2\n  private_class_method \
                def self.three; end\n  define_method(:four) { 4 }\n  define_method \"five\" do\n    5\n  end\n  \
                define_method(\"a_#{b}\") { 1 }\n  alias six one\n  alias_method :seven, :one\n  alias $c $d\n  private \
                attr_reader :eight, :nine\n  delegate :ten, :eleven, to: :one\n  foo(bar { def no; end })\nend\n";
    let expected = [
        "class A",
        "method A::one",
        "method A::two",
        "method A::three",
        "method A::four",
        "method A::five",
        "method A::six",
        "method A::seven",
        "property A::eight",
        "property A::nine",
        "method A::ten",
        "method A::eleven",
    ];
    assert_eq!(named("ruby", text), expected);

    let blob = chunk_blob(text.as_bytes(), language("ruby"), &ChunkerSettings::default());
    let one = symbols(&blob)[1];
    assert_eq!((one.signature.as_str(), one.doc.as_str()), ("private def one", "Doc."));
}

#[test]
fn every_name_of_one_declaration_is_found_once() {
    for (language, text, expected) in [
        ("java", "class A { int b, c = 1; }", &["class A", "field A.b", "field A.c"][..]),
        (
            "go",
            "package a\n\nconst b, c = 1, 2\n\ntype D struct {\n\tE, F int\n}\n",
            &["module a", "constant b", "constant c", "struct D", "field D.E", "field D.F"],
        ),
        ("csharp", "class A { int b, c; }", &["class A", "field A.b", "field A.c"]),
        (
            "php",
            "<?php\nclass A { public $b, $c; const D = 1, E = 2; }\n",
            &["class A", "property A::b", "property A::c", "constant A::D", "constant A::E"],
        ),
        (
            "kotlin",
            "class A(val b: Int, c: Int, private var d: Int) {\n    fun e() = 1\n}\n",
            &["class A", "property A.b", "property A.d", "method A.e"],
        ),
    ] {
        assert_eq!(named(language, text), expected, "{text}");
    }
}

#[test]
fn the_fingerprint_follows_language_and_settings() {
    let default = ChunkerSettings::default();
    let (rust, python) = (language("rust"), language("python"));
    assert_eq!(fingerprint(rust, &default), fingerprint(rust, &default.clone()));
    assert_ne!(fingerprint(rust, &default), fingerprint(python, &default));
    assert_ne!(fingerprint(rust, &default), fingerprint(rust, &definition_mode()));
}

#[test]
fn the_threshold_decides_what_may_start_a_chunk() {
    let mut text = String::new();
    for n in 0..200 {
        text.push_str(&format!("print(some_value_{n}, other_value_{n}, 'text')\n\n"));
    }
    let only_definitions =
        ChunkerSettings { semantic_importance_threshold: 0.99, ..ChunkerSettings::default() };
    let blob = chunk_blob(text.as_bytes(), language("python"), &only_definitions);
    check(text.as_bytes(), &blob, &only_definitions, "threshold");
    let settings = ChunkerSettings::default();
    let default = chunk_blob(text.as_bytes(), language("python"), &settings);
    assert_ne!(blob.chunks, default.chunks);
}
