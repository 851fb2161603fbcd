//! The same requests through the command line, MCP and HTTP have the same matches or the same error.

use std::path::PathBuf;

use serde_json::{Value, json};

use codeweaver_index::{Codebase, repair, updater};
use codeweaver_store::StoreReader;
use codeweaver_testkit::{FILES, Run, TestRepo};

use crate::support::mcp_client::McpClient;
use crate::support::server::Server;

/// A search, with what a user may get wrong in it.
#[derive(Debug, Clone, Copy, Default)]
struct Search {
    query: &'static str,
    rev: Option<&'static str>,
    language: Option<&'static str>,
}

/// The outcome of a request, in the form in which it is compared.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// Path, lines and relevance of each match.
    Matches(Vec<Value>),
    Error {
        kind: String,
        what: String,
        why: String,
    },
}

impl Outcome {
    fn from_answer(answer: &Value) -> Outcome {
        let matches = answer["matches"].as_array().unwrap_or_else(|| panic!("no answer: {answer:#}"));
        let place = |it: &Value| json!([it["file"]["path"], it["span"], it["relevance_score"]]);
        Outcome::Matches(matches.iter().map(place).collect())
    }

    fn error(kind: &Value, what: &Value, why: &Value) -> Outcome {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
        Outcome::Error { kind: text(kind), what: text(what), why: text(why) }
    }

    /// The kind of an error that is the same for all front-ends.
    fn kind(&self) -> &str {
        match self {
            Outcome::Error { kind, .. } => kind,
            Outcome::Matches(matches) => panic!("no error: {matches:?}"),
        }
    }
}

impl Search {
    fn by_command(self, repo: &TestRepo) -> Outcome {
        let mut args = vec!["search", "--json", self.query];
        self.rev.iter().for_each(|&rev| args.extend(["--rev", rev]));
        self.language.iter().for_each(|&language| args.extend(["--lang", language]));

        let run = repo.codeweaver(args);
        if run.code() != 2 {
            return Outcome::from_answer(&run.json());
        }

        let told = run.json();
        if told["event"] == "error" {
            assert!(!told["fix"].as_str().unwrap().is_empty(), "{told:#}");
            return Outcome::error(&told["kind"], &told["what"], &told["why"]);
        }

        // A gate is the envelope of the MCP server on stdout; its reason is on stderr.
        let stderr = run.stderr();
        let part = |label: &str| {
            let line = stderr.lines().find_map(|line| line.trim_start().strip_prefix(label));
            json!(line.unwrap_or_else(|| panic!("no {label} in {}", run.explain())).trim())
        };
        assert!(!part("fix:").as_str().unwrap().is_empty());
        Outcome::error(&told["status"], &part("error:"), &part("why:"))
    }

    fn over_http(self, server: &Server) -> Outcome {
        let mut path = format!("api/search?token_limit=10000&q={}", self.query.replace(' ', "+"));
        self.rev.iter().for_each(|rev| path.push_str(&format!("&rev={rev}")));
        self.language.iter().for_each(|language| path.push_str(&format!("&lang={language}")));

        let answer = server.get(&path);
        let told = answer.json();
        if answer.status == 200 {
            return Outcome::from_answer(&told);
        }

        let status = match told["kind"].as_str().unwrap() {
            "invalid_arguments" => 400,
            "not_found" => 404,
            "not_ready" | "not_indexed" => 503,
            other => panic!("another kind, {other}: {answer:#?}"),
        };
        assert_eq!(answer.status, status, "{answer:#?}");
        assert!(!told["fix"].as_str().unwrap().is_empty(), "{told:#}");
        Outcome::error(&told["kind"], &told["error"], &told["why"])
    }

    /// Compares the outcome of a call with that of the other front-ends: an agent gets one text.
    #[track_caller]
    fn by_agent(self, client: &mut McpClient, expected: &Outcome) {
        // An agent gets tests only if it asks for them.
        let mut arguments =
            json!({ "query": self.query, "max_results": 10, "token_limit": 10_000, "include_tests": true });
        self.rev.iter().for_each(|rev| arguments["rev"] = json!(rev));
        self.language.iter().for_each(|language| arguments["focus_languages"] = json!([language]));

        let result = client.call("find_code", arguments);
        let told = &result["structuredContent"];
        let Outcome::Error { kind, what, why } = expected else {
            assert_eq!(&Outcome::from_answer(told), expected);
            return;
        };

        assert_eq!(told["status"], kind.as_str(), "{result:#}");
        let message = told["message"].as_str().unwrap();
        if result["isError"] == true {
            let advice = message.strip_prefix(&format!("{what}: {why}; "));
            assert!(advice.is_some_and(|advice| !advice.is_empty()), "{message}");
        } else if kind == "not_indexed" {
            // The message of an envelope has the reason; its hints are the remedy.
            assert!(message.contains(why) && told["hints"]["create"].is_object(), "{told:#}");
        }
    }

    /// The outcome through all front-ends.
    #[track_caller]
    fn everywhere(self, repo: &TestRepo, server: &Server, client: &mut McpClient) -> Outcome {
        let expected = self.by_command(repo);
        assert_eq!(self.over_http(server), expected, "HTTP and the command line: {self:?}");
        self.by_agent(client, &expected);
        expected
    }
}

/// Two commits, of which the last is indexed.
fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/parse.rs", "/// Splits a header.\npub fn split_header() {}\n").commit("second");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn the_same_request_has_the_same_outcome_everywhere() {
    let repo = indexed();
    let (server, mut client) = (Server::start(&repo, &[]), McpClient::start(&repo));
    let mut ask = |search: Search| search.everywhere(&repo, &server, &mut client);

    let hit = Search { query: "split header", ..Search::default() };
    let Outcome::Matches(found) = ask(hit) else { panic!("no matches") };
    assert_eq!(found[0][0], "src/parse.rs", "{found:#?}");

    // A revision that is not indexed answers too.
    let before = Search { query: "parse header", rev: Some("HEAD~1"), ..Search::default() };
    let Outcome::Matches(found) = ask(before) else { panic!("no matches") };
    assert_eq!(found[0][0], "src/parse.rs", "{found:#?}");

    let unknown = ask(Search { rev: Some("nowhere"), ..hit });
    assert_eq!(unknown.kind(), "not_found", "{unknown:?}");

    let invalid = ask(Search { language: Some("pyhton"), ..hit });
    assert_eq!(invalid.kind(), "invalid_arguments", "{invalid:?}");
}

#[test]
fn a_query_means_the_same_everywhere() {
    let repo = indexed();
    repo.write("src/headers.py", "def parse_header(line):\n    return line.split(':')\n");
    let (server, mut client) = (Server::start(&repo, &[]), McpClient::start(&repo));

    for (query, expected) in [
        ("parse header", &["src/headers.py", "src/parse.rs", "tests/parse_test.rs"][..]),
        ("parse header lang:python", &["src/headers.py"]),
        ("lang:rust parse header -path:tests", &["src/parse.rs"]),
        ("parse header path:src lang:rust", &["src/parse.rs"]),
        ("parse header state:untracked", &["src/headers.py"]),
        ("parse header state:committed path:src -retry", &["src/parse.rs"]),
        ("parse header rev:HEAD path:src/*.py path:src/parse.rs", &["src/parse.rs"]),
        ("parse header kind:function -line path:src", &["src/parse.rs"]),
        ("parse header state:staged", &[]),
    ] {
        let outcome = Search { query, ..Search::default() }.everywhere(&repo, &server, &mut client);
        let Outcome::Matches(found) = &outcome else { panic!("{query}: {outcome:?}") };
        let mut paths: Vec<&str> = found.iter().map(|found| found[0].as_str().unwrap()).collect();
        paths.retain(|path| path.contains("parse") || path.contains("headers"));
        paths.sort_unstable();
        assert_eq!(paths, expected, "{query}");
    }

    for (query, kind) in [
        ("header lang:pyhton", "invalid_arguments"),
        ("header kind:functoin", "invalid_arguments"),
        ("header path:../outside", "invalid_arguments"),
        ("header repo:other", "not_found"),
        ("header rev:nowhere", "not_found"),
    ] {
        let outcome = Search { query, ..Search::default() }.everywhere(&repo, &server, &mut client);
        assert_eq!(outcome.kind(), kind, "{query}: {outcome:?}");
    }
}

#[test]
fn a_missing_index_is_the_same_error_everywhere() {
    let repo = TestRepo::with_files(FILES);
    let hit = Search { query: "parse header", ..Search::default() };

    // The first index is being built, by this process as it seems.
    let codebase = Codebase::open(repo.root(), &[]).unwrap();
    codebase.layout.create().unwrap();
    codebase.store().create().unwrap();
    {
        let _lease = updater::lease(&codebase).unwrap();
        let (server, mut client) = (Server::start(&repo, &[]), McpClient::start(&repo));
        let building = hit.everywhere(&repo, &server, &mut client);
        assert_eq!(building.kind(), "not_ready", "{building:?}");
    }

    // No index can be built: a directory is damaged.
    let oid = repo.git_text(["rev-parse", "HEAD:src"]);
    let object = repo.path(&format!(".git/objects/{}/{}", &oid[..2], oid[2..].trim()));
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, b"damaged").unwrap();
    repo.codeweaver(["init", "--no-hooks"]).fails(2);

    // The server tries it once more, and then rests.
    let (server, mut client) = (Server::start(&repo, &[]), McpClient::start(&repo));
    server.process.wait_for("indexing has failed");
    let missing = hit.everywhere(&repo, &server, &mut client);
    assert_eq!(missing.kind(), "not_indexed", "{missing:?}");
}

/// The largest file of the index that is read for every query.
fn segment(repo: &TestRepo) -> PathBuf {
    let codebase = Codebase::open(repo.root(), &[]).unwrap();
    let reader = StoreReader::open(&codebase.store()).unwrap().unwrap();
    reader.layout.segment(&reader.state.segments[0].name)
}

#[test]
fn a_damaged_index_is_repaired_by_every_front_end() {
    let repo = indexed();
    let hit = Search { query: "split header", ..Search::default() };
    let wanted = hit.by_command(&repo);

    let damage = || {
        let file = std::fs::File::options().write(true).open(segment(&repo)).unwrap();
        file.set_len(100).unwrap();
    };
    let is_whole = |front_end: &str| {
        let findings = repair::verify(&Codebase::open(repo.root(), &[]).unwrap()).unwrap();
        assert!(findings.is_empty(), "{front_end}: {findings:?}");
    };

    damage();
    assert_eq!(hit.by_command(&repo), wanted);
    is_whole("command line");

    damage();
    hit.by_agent(&mut McpClient::start(&repo), &wanted);
    is_whole("MCP");

    damage();
    assert_eq!(hit.over_http(&Server::start(&repo, &[])), wanted);
    is_whole("HTTP");
}

#[test]
fn every_front_end_notes_the_revision_that_was_asked_for() {
    let old = Search { query: "parse header", rev: Some("HEAD~1"), ..Search::default() };

    for front_end in ["command line", "MCP", "HTTP"] {
        let repo = indexed();
        let noted = repo.path(".codeweaver/cache/asked-revisions");
        let tree = repo.git_text(["rev-parse", "HEAD~1^{tree}"]);
        assert!(!noted.exists(), "{front_end}");

        let outcome = match front_end {
            "command line" => old.by_command(&repo),
            "HTTP" => old.over_http(&Server::start(&repo, &[])),
            _ => {
                let mut client = McpClient::start(&repo);
                let answer = client.ask("find_code", json!({ "query": old.query, "rev": old.rev }));
                Outcome::from_answer(&answer)
            }
        };

        assert!(matches!(&outcome, Outcome::Matches(found) if !found.is_empty()), "{front_end}: {outcome:?}");
        assert_eq!(std::fs::read_to_string(&noted).unwrap_or_default(), tree, "{front_end}");
    }
}

/// A tool that is called in the shell says what the server says, and its exit code whether it has answered.
#[test]
fn a_tool_called_in_the_shell_has_the_text_of_the_server() {
    let repo = TestRepo::with_files(FILES);
    let refused = repo.codeweaver(["tool", "find_cod", "x"]);
    refused.fails(2);
    assert!(refused.stderr().contains("did you mean `find_code`?"), "{}", refused.stderr());

    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let query = "retry with backoff";
    let in_shell = repo.codeweaver(["tool", "find_code", query, "max_results=2"]);
    let served = client.text("find_code", json!({ "query": query, "max_results": 2 }));
    assert_eq!(in_shell.success().stdout().trim_end(), served.trim_end());

    let listed = repo.codeweaver(["tool"]);
    for tool in ["find_code", "read_code", "changes"] {
        assert!(listed.success().stdout().lines().any(|line| line.starts_with(tool)), "{tool}");
    }
    let help = repo.codeweaver(["tool", "find_code", "--help"]);
    help.success()
        .says(&["Usage: git codeweaver tool find_code [QUERY]...", "  max_results     (integer)\n"]);
    repo.codeweaver(["tool", "--help"]).success().says(&["Usage: git codeweaver tool [OPTIONS] [TOOL]"]);

    // The repository may stand where the values do.
    let root = repo.root().to_str().unwrap();
    let elsewhere = TestRepo::init();
    elsewhere
        .codeweaver(["tool", "find_symbol", "parse_header", "--project", root])
        .success()
        .says(&["src/parse.rs"]);

    repo.codeweaver(["tool", "find_text", "nowhere_at_all"]).fails(1);
    let none = repo.codeweaver(["tool", "read_code", "no/such/file.rs"]);
    none.fails(2);
    assert!(none.stderr().contains("no/such/file.rs"), "{}", none.stderr());

    // An argument by another name, and one that is none.
    repo.codeweaver(["tool", "find_text", "parse_header", "limit=1"]).success().says(&["; showing 1"]);
    let wrong = repo.codeweaver(["tool", "find_text", "parse_header", "colour=1"]);
    wrong.fails(2);
    for part in ["find_text has no argument", "max_results", "`git codeweaver tool find_text --help`"] {
        assert!(wrong.stderr().contains(part), "{part}: {}", wrong.stderr());
    }
}

/// In the shell of an agent, and with `--for-agent`, commands print what the tools say, with exit codes for
/// pipelines.
#[test]
fn agents_in_a_shell_get_the_text_of_the_tools() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let query = "retry with backoff";
    let same = |command: &[&str], tool: &[&str]| {
        let explicit = repo.codeweaver([command, &["--for-agent"][..]].concat());
        let expected = repo.codeweaver([&["tool"][..], tool].concat());
        assert_eq!(explicit.success().stdout(), expected.success().stdout(), "{command:?}");

        let run = |extra: &[&str], value: &str| {
            let mut program = repo.command(codeweaver_testkit::program());
            Run::new(program.args(command).args(extra).env("CLAUDECODE", value)).success().stdout()
        };
        assert_eq!(run(&[], "1"), explicit.stdout(), "{command:?}");
        let printed = repo.codeweaver(command).success().stdout();
        assert!(run(&[], "") != explicit.stdout() && printed != explicit.stdout(), "{command:?}");
        // A format that is given is used.
        assert_eq!(run(&["-o", "markdown"], "1").lines().count(), {
            repo.codeweaver([command, &["-o", "markdown"][..]].concat()).success().stdout().lines().count()
        });
    };
    same(&["search", query, "-l", "2"], &["find_code", query, "max_results=2"]);
    same(&["search", "parse_header", "--mode", "exact"], &["find_text", "parse_header", "regex=false"]);
    same(&["read", "src/parse.rs:1-2", "parse_header"], &["read_code", "src/parse.rs:1-2", "parse_header"]);
    same(
        &["graph", "callees", "retry_with_backoff"],
        &["call_graph", "symbols=retry_with_backoff", "direction=callees", "depth=1"],
    );

    // Codex sets the other variables only in its sandbox.
    let mut in_codex = repo.command(codeweaver_testkit::program());
    let in_codex = Run::new(in_codex.args(["search", query]).env("CODEX_THREAD_ID", "01a2"));
    let explicit = repo.codeweaver(["search", query, "--for-agent"]);
    assert_eq!(in_codex.success().stdout(), explicit.success().stdout());

    repo.codeweaver(["search", "--for-agent", "--mode", "exact", "nowhere_at_all"]).fails(1);
    repo.codeweaver(["search", "--for-agent", "--explain", "x"]).fails(2).is_an_error("--explain", "omit");
    // An agent that asks for more than the tool has gets it in the printed form.
    let mut program = repo.command(codeweaver_testkit::program());
    let run = Run::new(program.args(["search", "--explain", query]).env("CLAUDECODE", "1"));
    assert!(run.success().stdout().contains("Found "), "{}", run.stdout());
}

/// `read` takes several places, and names that are no files.
#[test]
fn several_places_are_read_at_once() {
    let repo = TestRepo::with_files(&[
        ("src/a.rs", "fn first() {}\n\nfn second() {\n    first();\n}\n"),
        ("src/b.rs", "fn last() {}\n"),
    ]);
    // Lines need no index.
    let lines = repo.codeweaver(["read", "src/a.rs:3-4", "src/b.rs"]);
    assert_eq!(
        lines.success().stdout(),
        "src/a.rs:3-4\n3 │ fn second() {\n4 │     first();\n\nsrc/b.rs:1-1\n1 │ fn last() {}\n"
    );
    repo.codeweaver(["init", "--no-hooks"]).success();
    let named = repo.codeweaver(["read", "second", "-o", "json"]).success().json();
    assert_eq!((&named["path"], &named["span"]), (&json!("src/a.rs"), &json!([3, 5])), "{named:#}");
    let several = repo.codeweaver(["read", "second", "src/b.rs:1", "--json"]).success().json();
    assert_eq!(several.as_array().unwrap().len(), 2, "{several:#}");

    let some = repo.codeweaver(["read", "second", "nowhere"]);
    assert!(
        some.fails(1).stdout().contains("second()") && some.stderr().contains("nowhere"),
        "{}",
        some.stderr()
    );
    repo.codeweaver(["read", "nowhere"]).fails(2);
}
