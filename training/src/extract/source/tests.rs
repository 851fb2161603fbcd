use codeweaver_chunk::LanguageId;

use super::*;
use crate::pair::Pair;

fn pairs(path: &str, language: &str, text: &str) -> Vec<Pair> {
    pairs_of(&SourceFile { path, text, language: LanguageId::by_name(language).unwrap(), is_test: false })
}

fn pairs_of(file: &SourceFile<'_>) -> Vec<Pair> {
    let mut collector = Collector::default();
    add_pairs(file, &ChunkerSettings::default(), &mut collector);
    collector.into_pairs(usize::MAX).0
}

fn only(pairs: &[Pair], kind: PairKind) -> &Pair {
    let found: Vec<&Pair> = pairs.iter().filter(|pair| pair.kind == kind).collect();
    assert_eq!(found.len(), 1, "{kind:?} in {pairs:#?}");
    found[0]
}

const RUST: &str = r#"// Copyright 2020 A. Nother
// Licensed under the Apache License, Version 2.0

//! Reads the headers of archive files.

use std::io::Read;

/// Parses the header of an archive. Blocks until it is there.
///
/// # Errors
/// If there is none.
#[must_use]
pub fn parse_archive_header(input: &mut impl Read) -> Option<Header> {
    let mut bytes = [0; 64];
    // The magic number decides the version of the format.
    let magic = read_magic_number(input, &mut bytes)?;
    let version = version_of(magic);

    parse_archive_header_of(version, input)
}
"#;

#[test]
fn a_documented_function_gives_all_kinds() {
    let pairs = pairs("src/archive/header.rs", "rust", RUST);
    let doc = only(&pairs, PairKind::Doc);
    assert_eq!(doc.text, "Parses the header of an archive. Blocks until it is there.");
    assert!(doc.code.starts_with("pub fn parse_archive_header") && !doc.code.contains("//"), "{}", doc.code);
    assert_eq!((doc.language.as_str(), doc.path.as_str()), ("rust", "src/archive/header.rs"));

    let name = only(&pairs, PairKind::Name);
    assert_eq!(name.text, "parse archive header");
    assert!(
        !name.code.contains("parse_archive_header(input: ") && name.code.contains("parse_archive_header_of"),
        "{}",
        name.code
    );

    let inline = only(&pairs, PairKind::Inline);
    assert_eq!(inline.text, "The magic number decides the version of the format.");
    assert!(
        inline.code.contains("read_magic_number") && inline.code.contains("version_of"),
        "{}",
        inline.code
    );
    assert!(!inline.code.contains("parse_archive_header_of"), "{}", inline.code);

    let header = only(&pairs, PairKind::FileHeader);
    assert_eq!(header.text, "Reads the headers of archive files.");
    assert!(header.code.starts_with("use std::io::Read;"), "{}", header.code);

    let path = only(&pairs, PairKind::Path);
    assert_eq!((path.text.as_str(), path.path.as_str()), ("archive header", ""));

    let chunk = only(&pairs, PairKind::Chunk);
    assert_eq!(chunk.text, doc.text);
    assert!(chunk.code.starts_with("function parse_archive_header"), "{}", chunk.code);
    assert!(
        chunk.code.contains("The magic number decides") && chunk.code.contains("If there is none."),
        "{}",
        chunk.code
    );
    assert!(!chunk.code.contains("Parses the header"), "{}", chunk.code);
    assert!(
        pairs.iter().all(|pair| !pair.code.contains("Copyright") && !pair.code.contains("Apache License"))
    );
}

#[test]
fn docstrings_are_documentation() {
    let text = r#"import os


def remove_stale_files(folder, limit):
    """Remove all files that are older than the limit.

    Args:
        folder: where they are
    """
    for name in os.listdir(folder):
        if age_of(os.path.join(folder, name)) > limit:
            os.remove(os.path.join(folder, name))
"#;
    let pairs = pairs("tools/stale.py", "python", text);
    let doc = only(&pairs, PairKind::Doc);
    assert_eq!(doc.text, "Remove all files that are older than the limit.");
    assert!(!doc.code.contains("Remove all") && doc.code.contains("os.listdir"), "{}", doc.code);
    assert!(!only(&pairs, PairKind::Chunk).code.contains("Remove all files"));
    assert_eq!(only(&pairs, PairKind::Name).text, "remove stale files");
}

#[test]
fn documentation_precedes_annotations() {
    let text = r#"package acme;

public class Store {
    /**
     * Saves the {@link Document} under its name.
     *
     * @param document what is saved
     */
    @Override
    @Transactional
    public void saveDocument(Document document) {
        connection.write(document.name(), document.bytes());
        listeners.forEach(listener -> listener.saved(document));
    }
}
"#;
    let pairs = pairs("src/main/java/acme/Store.java", "java", text);
    assert_eq!(only(&pairs, PairKind::Doc).text, "Saves the Document under its name.");
    let chunk = only(&pairs, PairKind::Chunk);
    assert!(!chunk.code.contains("under its name") && chunk.code.contains("what is saved"), "{}", chunk.code);
}

#[test]
fn the_name_of_the_symbol_is_removed_from_its_text() {
    let text = "package acme\n\n// OpenStore opens the store of the given folder.\nfunc OpenStore(folder string) (*Store, error) {\n\tfile, err := os.Open(filepath.Join(folder, \"store\"))\n\treturn &Store{file}, err\n}\n";
    assert_eq!(
        only(&pairs("store.go", "go", text), PairKind::Doc).text,
        "opens the store of the given folder."
    );
    assert_eq!(without_own_name("Opens it", "Open"), "Opens it");
    assert_eq!(without_own_name("open() - opens it", "open"), "opens it");
}

#[test]
fn elixir_attributes_are_documentation() {
    let text = "defmodule Acme.Store do\n  @moduledoc \"\"\"\n  Keeps documents in memory until they expire.\n  \"\"\"\n\n  @doc \"\"\"\n  Fetches a document by its name.\n  \"\"\"\n  @spec fetch_document(t, binary) :: term\n  def fetch_document(store, name) do\n    store.documents\n    |> Map.get(name)\n    |> refresh(store)\n  end\nend\n";
    let pairs = pairs("lib/acme/store.ex", "elixir", text);
    let docs: Vec<&str> =
        pairs.iter().filter(|pair| pair.kind == PairKind::Doc).map(|pair| pair.text.as_str()).collect();
    assert_eq!(docs, ["Fetches a document by its name."]);
    assert_eq!(only(&pairs, PairKind::FileHeader).text, "Keeps documents in memory until they expire.");
}

#[test]
fn tests_give_their_titles() {
    let text = "describe('Store', () => {\n  it('keeps documents until they expire', () => {\n    const store = new Store({ seconds: 1 });\n    store.save('name', 'bytes');\n    expect(store.get('name')).toBe('bytes');\n  });\n});\n";
    let file = SourceFile {
        path: "test/store.test.ts",
        text,
        language: LanguageId::by_name("typescript").unwrap(),
        is_test: true,
    };
    let pairs = pairs_of(&file);
    let test = only(&pairs, PairKind::Test);
    assert_eq!(test.text, "store keeps documents until they expire");
    assert!(!test.code.contains("keeps documents") && test.code.contains("store.save"), "{}", test.code);
    assert!(pairs.iter().all(|pair| pair.kind == PairKind::Test));

    let text = "@test \"keeps documents until they expire\" {\n  run store save name bytes --seconds 1\n  [ \"$status\" -eq 0 ]\n  [ \"$output\" = \"saved\" ]\n}\n";
    let file = SourceFile {
        path: "test/store.bats",
        text,
        language: LanguageId::by_name("bash").unwrap(),
        is_test: true,
    };
    let pairs = pairs_of(&file);
    assert_eq!(only(&pairs, PairKind::Test).text, "keeps documents until they expire");
}

#[test]
fn commented_out_code_is_not_a_text() {
    assert!(looks_like_code("let x = compute(a);"));
    assert!(looks_like_code("if (a == b) {"));
    assert!(!looks_like_code("computes the value of the argument"));
}
