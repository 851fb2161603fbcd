//! A grammar that crashes the process costs one file, not the index and not later answers.
//!
//! No grammar is known to crash, so a crash is injected: with `CODEWEAVER_FAULT=parse:WORD` a debug build
//! aborts when it parses a file that contains WORD.

use codeweaver_testkit::{FILES, TestRepo};

/// A repository whose runs abort at files with the word.
fn faulty(files: &[(&str, &str)]) -> TestRepo {
    TestRepo::with_files(files).env("CODEWEAVER_FAULT", "parse:brings_it_down")
}

const BAD: &str = "pub fn brings_it_down() {}\n";

#[test]
#[cfg_attr(not(debug_assertions), ignore = "faults are only injected into debug builds")]
fn a_blob_that_aborts_the_indexer_is_left_out_by_the_next_run() {
    let repo = faulty(FILES);
    repo.write("src/bad.rs", BAD).commit("bad");
    assert_eq!(repo.codeweaver(["init", "--no-hooks"]).code(), -1, "it dies of a signal");
    assert_eq!(repo.codeweaver(["index", "--json"]).success().json()["errors"], 1);
    let status = repo.status();
    assert_eq!((&status["current"], &status["skipped"]["crashed"]), (&true.into(), &1.into()), "{status:#}");
    assert_eq!(repo.found(&["--no-tests", "parse_header"])[0], "src/parse.rs");
    repo.codeweaver(["status", "--files"]).success().says(&["src/bad.rs", "crashed"]);
    // The next commit does not parse it again.
    repo.write("src/more.rs", "pub fn one_more() {}\n").commit("more");
    repo.codeweaver(["index", "--quiet"]).success();
    assert_eq!(repo.found(&["one_more"])[0], "src/more.rs");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "faults are only injected into debug builds")]
fn an_uncommitted_file_that_aborts_a_search_is_left_out_of_the_next() {
    let repo = faulty(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("src/bad.rs", BAD).write("src/good.rs", "pub fn beside_the_bad() {}\n");
    let search = ["search", "-o", "json", "beside_the_bad"];
    assert_eq!(repo.codeweaver(search).code(), -1, "the first query dies");
    for _ in 0..2 {
        let answer = repo.codeweaver(search).success().json();
        assert_eq!(answer["matches"][0]["file"]["path"], "src/good.rs", "{answer:#}");
        assert_eq!(answer["index"]["skipped"]["crashed"], 1, "{}", answer["index"]);
    }
    let files = std::fs::read_dir(repo.path(".codeweaver/cache")).unwrap().flatten();
    let n_journals = files.filter(|file| file.file_name().to_string_lossy().starts_with("asking-")).count();
    assert_eq!(n_journals, 0, "the journal of the dead query is removed");
    // Once the file is another one, it is found.
    repo.write("src/bad.rs", "pub fn harmless_now() {}\n");
    assert_eq!(repo.found(&["harmless_now"])[0], "src/bad.rs");
    // When it is committed, the indexer does not crash first.
    repo.write("src/bad.rs", BAD).commit("bad");
    repo.codeweaver(["index", "--quiet"]).success();
    assert_eq!(repo.status()["skipped"]["crashed"], 1);
}

#[test]
fn a_killed_search_excludes_no_file() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("src/fresh.rs", "pub fn was_being_parsed() {}\n");
    // A killed search leaves the object id of the file that it was parsing.
    let oid = repo.git_text(["hash-object", "src/fresh.rs"]);
    let mut slot = oid.trim().as_bytes().to_vec();
    slot.resize(64, 0);
    let note = repo.path(".codeweaver/cache/asking-main-1-0");
    std::fs::write(&note, slot).unwrap();
    assert_eq!(repo.found(&["was_being_parsed"])[0], "src/fresh.rs");
    assert!(!note.exists(), "it was tried and is settled");
}
