//! `ask` and `ask_docs`: answers that are quoted from documents, and no answer where there is none.
//!
//! Tests named after a scenario of the specification of questions about Markdown say so in their names.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

const HOOKS: &str = "# Handbook\n\nThe handbook of the program.\n\n## Hooks\n\nHooks update the index after each commit. \
    To turn hooks off, run:\n\n```sh\nprogram hooks disable\n```\n\nThe index is then updated by queries.\n\n## Ports\n\n\
    The server listens on port 8765. The port is set with `--port`.\n\n| option | meaning |\n|---|---|\n| `--quiet` | \
    print no progress bar |\n| `--threads` | number of indexing threads |\n";
const BACKUP: &str = "# Backup\n\nA backup copies the archive to another disk. Backups are encrypted with the passphrase \
    of the archive.\n\n## Restore\n\nTo restore a backup, run `program restore FILE`. The port of the server is not part \
    of a backup.\n";

fn repo() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("docs/handbook.md", HOOKS),
        ("docs/backup.md", BACKUP),
        ("src/hooks.rs", "/// Turns hooks off.\npub fn disable_hooks() {}\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn ask(repo: &TestRepo, question: &str) -> Value {
    repo.codeweaver(["ask", "--json", question]).json()
}

/// Asserts that each quote of an answer is exactly what is at its place.
fn quotes_are_exact(repo: &TestRepo, answer: &Value) {
    for quote in ["answer", "passages"].iter().flat_map(|part| answer[part].as_array().unwrap()) {
        let text = repo.read(quote["path"].as_str().unwrap());
        let at = |i: usize| quote["bytes"][i].as_u64().unwrap() as usize;
        assert_eq!(&text[at(0)..at(1)], quote["text"].as_str().unwrap(), "{quote:#}");
        let lines = |end: usize| 1 + text[..end].matches('\n').count() as u64;
        assert_eq!(quote["lines"], json!([lines(at(0)), lines(at(1))]), "{quote:#}");
        let number = quote["source"].as_u64().unwrap() as usize;
        assert_eq!(answer["sources"][number - 1]["path"], quote["path"], "{quote:#}");
    }
}

#[test]
fn scenario_answer_question_with_relevant_content() {
    let repo = repo();
    let answer = ask(&repo, "how do I turn hooks off?");
    assert_eq!(answer["status"], "answered", "{answer:#}");
    let first = answer["answer"][0]["text"].as_str().unwrap();
    assert!(first.contains("To turn hooks off, run:") && first.contains("program hooks disable"), "{first}");
    assert_eq!(answer["answer"][0]["headings"], json!(["Handbook", "Hooks"]));
    assert!(answer["relevance"].as_f64().unwrap() >= 0.3);
    quotes_are_exact(&repo, &answer);
    // Code is no documentation.
    let sources = answer["sources"].as_array().unwrap();
    assert!(sources.iter().all(|source| source["path"] != "src/hooks.rs"), "{answer:#}");
    let text = repo.codeweaver(["ask", "how", "do", "I", "turn", "hooks", "off?"]);
    text.success().says(&[
        "program hooks disable",
        "docs/handbook.md:7-13",
        "Handbook > Hooks",
        "Sources",
        "word for word",
    ]);
}

#[test]
fn facts_and_rows_of_tables_are_quoted_alone() {
    let repo = repo();
    for (question, expected) in [
        ("which port does the server listen on", "The server listens on port 8765."),
        ("which option prints no progress bar", "| `--quiet` | print no progress bar |"),
        ("how are backups encrypted", "Backups are encrypted with the passphrase of the archive."),
    ] {
        let answer = ask(&repo, question);
        let first = answer["answer"][0]["text"].as_str().unwrap_or_default();
        assert!(first.starts_with(expected), "{question}: {answer:#}");
        assert!(first.len() < 200, "{first}");
        quotes_are_exact(&repo, &answer);
    }
}

#[test]
fn scenario_handle_questions_with_no_relevant_content() {
    let repo = repo();
    for question in ["how are kubernetes pods scheduled on nodes", "what is the capital of Mongolia"] {
        let run = repo.codeweaver(["ask", question]);
        run.fails(1).says(&["No relevant information found"]);
        let answer = ask(&repo, question);
        assert_eq!(
            (&answer["status"], &answer["answer"]),
            (&json!("nothing_found"), &json!([])),
            "{answer:#}"
        );
        assert!(!answer["absent_words"].as_array().unwrap().is_empty(), "{answer:#}");
    }
    repo.codeweaver(["ask", " "]).fails(2).is_an_error("there is no question", "git codeweaver ask");
}

#[test]
fn scenario_show_sources_for_answer() {
    let repo = repo();
    let answer = ask(&repo, "how do I restore a backup");
    assert_eq!(answer["sources"][0]["path"], "docs/backup.md", "{answer:#}");
    assert_eq!(answer["sources"][0]["number"], 1);
    repo.codeweaver(["ask", "how do I restore a backup"]).success().says(&["[1] docs/backup.md"]);
}

#[test]
fn scenario_multiple_source_citations() {
    let repo = repo();
    let answer = ask(&repo, "port of the server");
    let paths: Vec<&str> =
        answer["sources"].as_array().unwrap().iter().map(|source| source["path"].as_str().unwrap()).collect();
    let mut unique = paths.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((paths.len(), unique), (2, vec!["docs/backup.md", "docs/handbook.md"]), "{answer:#}");
    quotes_are_exact(&repo, &answer);
}

/// Chunks keep the structure of Markdown: the headings above them and their file. The splitter is the chunker
/// of this program, which keeps blocks of Markdown whole as that of LangChain does.
#[test]
fn scenario_chunk_markdown_using_langchain_splitter() {
    let repo = repo();
    let chunks = repo.codeweaver(["chunks", "--json", "docs/handbook.md"]).success().json();
    let text = chunks.to_string();
    assert!(text.contains("Handbook") && text.contains("Hooks"), "{chunks:#}");
    let answer = ask(&repo, "number of indexing threads");
    assert_eq!(answer["answer"][0]["headings"], json!(["Handbook", "Ports"]), "{answer:#}");
}

/// What is not committed yet is answered from as it is on disk.
#[test]
fn uncommitted_documents_are_quoted_as_they_are() {
    let repo = repo();
    repo.write("docs/handbook.md", HOOKS.replace("port 8765", "port 9999"));
    repo.write("docs/new.md", "# Colours\n\nThe palette is changed with `program palette NAME`.\n");
    let answer = ask(&repo, "which port does the server listen on");
    assert!(answer["answer"][0]["text"].as_str().unwrap().contains("9999"), "{answer:#}");
    assert_eq!(answer["sources"][0]["state"], "dirty");
    let answer = ask(&repo, "how is the palette changed");
    assert_eq!(answer["sources"][0]["path"], "docs/new.md", "{answer:#}");
    quotes_are_exact(&repo, &answer);
}

#[test]
fn agents_get_passages_within_the_limit() {
    let repo = repo();
    let mut client = McpClient::start(&repo);
    let text = client.text("ask_docs", json!({ "question": "how do I turn hooks off?" }));
    assert!(text.contains("docs/handbook.md:7-") && text.contains("Handbook > Hooks"), "{text}");
    assert!(text.contains("program hooks disable") && tokens::count(&text) < 600, "{text}");
    let answer = client.ask("ask_docs", json!({ "question": "how do I turn hooks off?" }));
    assert_eq!(answer["status"], "answered");
    quotes_are_exact(&repo, &answer);
    let only =
        client.ask("ask_docs", json!({ "question": "port of the server", "paths": ["docs/backup.md"] }));
    assert_eq!(only["sources"].as_array().unwrap().len(), 1, "{only:#}");
    let nothing = client.text("ask_docs", json!({ "question": "what is the capital of Mongolia" }));
    assert!(nothing.starts_with("No relevant information found"), "{nothing}");
    let small = client.text("ask_docs", json!({ "question": "port of the server", "token_limit": 60 }));
    assert!(tokens::count(&small) <= 60, "{small}");
}

/// A repository without an index is told what to do, in JSON too.
#[test]
fn a_repository_without_index_names_the_command() {
    let repo = TestRepo::with_files(&[("README.md", "# A\n")]);
    repo.codeweaver(["ask", "anything"]).fails(2).is_an_error("not indexed", "git codeweaver init");
}
