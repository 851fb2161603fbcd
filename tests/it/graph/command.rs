//! `graph`: callers, callees and references of the working tree and of revisions, levels, bounds and notes.

use serde_json::Value;

use codeweaver_testkit::TestRepo;

use crate::support::fixtures;

/// A repository of the files in `fixtures/graph/LANGUAGE`, indexed.
pub fn fixture(language: &str) -> TestRepo {
    let repo = fixtures::fixture(&format!("graph/{language}"));
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

pub fn ask(repo: &TestRepo, args: &[&str]) -> Value {
    let run = repo.codeweaver(["graph"].iter().chain(args).chain(&["--json"]));
    assert!(matches!(run.code(), 0 | 1), "{}", run.explain());
    run.json()
}

/// `grade from -> to (sites)` of every edge; an unresolved one has its written name in parentheses.
pub fn edges(answer: &Value) -> Vec<String> {
    let last = |id: &Value| id.as_str().map(|id| id.rsplit('#').next().unwrap_or(id).to_owned());
    let of = |edge: &Value| {
        let to =
            last(&edge["dstSymbolId"]).unwrap_or_else(|| format!("({})", edge["name"].as_str().unwrap()));
        format!("{} {} -> {to}", edge["grade"].as_str().unwrap(), last(&edge["srcSymbolId"]).unwrap())
    };
    answer["edges"].as_array().unwrap().iter().map(of).collect()
}

#[track_caller]
pub fn has(answer: &Value, expected: &[&str]) {
    let found = edges(answer);
    for edge in expected {
        assert!(found.iter().any(|known| known == edge), "{edge:?} is missing among {found:#?}\n{answer:#}");
    }
}

#[test]
fn an_uncommitted_edit_changes_the_answer_and_a_revision_does_not() {
    let repo = fixture("python");
    repo.write("main.py", "from shop import helper\n\n\ndef fresh():\n    helper(7)\n");
    let now = ask(&repo, &["callers", "helper"]);
    has(&now, &["exact fresh -> helper"]);
    assert!(!edges(&now).iter().any(|edge| edge.contains(" run ")), "{now:#}");
    let fresh = now["nodes"].as_array().unwrap().iter().find(|node| node["name"] == "fresh").unwrap().clone();
    assert_eq!(fresh["state"], "dirty");
    assert_eq!(fresh["blob"].as_str().unwrap(), repo.git_text(["hash-object", "main.py"]).trim());
    let before = ask(&repo, &["callers", "helper", "--rev", "HEAD"]);
    has(&before, &["exact run -> helper"]);
    assert!(!edges(&before).iter().any(|edge| edge.contains("fresh")), "{before:#}");
    has(&ask(&repo, &["callers", "helper", "--committed"]), &["exact run -> helper"]);
    // A definition that is only on disk, and one that is gone from it.
    repo.write("new.py", "from main import fresh\n\n\ndef outer():\n    fresh()\n");
    has(&ask(&repo, &["callers", "fresh"]), &["exact outer -> fresh"]);
    repo.remove("new.py");
    assert!(edges(&ask(&repo, &["callers", "fresh"])).is_empty());
    repo.commit("edit");
    has(&ask(&repo, &["callers", "helper", "--rev", "HEAD~1"]), &["exact run -> helper"]);
}

#[test]
fn files_excluded_by_policy_have_no_edges() {
    let repo = fixture("python");
    repo.write(".codeweaverignore", "main.py\n").commit("ignore");
    // A hidden folder is a folder like any other, in the working tree as in a commit.
    repo.write(".tools/gen.py", "from shop import helper\n\n\ndef gen():\n    helper(1)\n");
    has(&ask(&repo, &["callers", "helper"]), &["exact gen -> helper"]);
    repo.write(".codeweaverignore", "main.py\n.tools/\n").commit("ignore more");
    let answer = ask(&repo, &["callers", "helper"]);
    assert_eq!(edges(&answer), ["exact Shape.scale -> helper"], "{answer:#}");
    assert_eq!(ask(&repo, &["callers", "run"])["status"], "not_found");
}

/// Terms are stems of parts of names, so files have those of a name without having the name.
#[test]
fn files_with_similar_names_only_are_not_read() {
    let similar = "def scheduler(reschedule, schedules):\n    return reschedule.schedules\n";
    let repo = TestRepo::with_files(&[
        ("plan.py", "def schedule(n):\n    return n\n"),
        ("run.py", "from plan import schedule\n\n\ndef run():\n    schedule(1)\n"),
        ("quoted.py", "# Not \u{2192}schedule\u{2190}, which arrows surround.\n"),
        ("other.py", similar),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = ask(&repo, &["callers", "schedule"]);
    assert_eq!(edges(&answer), ["exact run -> schedule"]);
    assert_eq!(answer["coverage"]["candidateFiles"], 3, "{answer:#}");

    repo.write("late.py", "from plan import schedule\n\n\ndef late():\n    schedule(2)\n");
    let answer = ask(&repo, &["callers", "schedule"]);
    assert_eq!(edges(&answer), ["exact late -> schedule", "exact run -> schedule"]);
    assert_eq!(answer["coverage"]["candidateFiles"], 4, "{answer:#}");
}

#[test]
fn levels_end_at_cycles_and_at_the_depth() {
    let repo = TestRepo::with_files(&[(
        "ring.py",
        "def a():\n    b()\n\n\ndef b():\n    c()\n\n\ndef c():\n    a()\n\n\ndef top():\n    a()\n    top()\n",
    )]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(edges(&ask(&repo, &["callees", "a"])), ["exact a -> b"]);
    assert_eq!(edges(&ask(&repo, &["callees", "a", "--depth", "2"])), ["exact a -> b", "exact b -> c"]);
    let whole = ask(&repo, &["callees", "a", "--depth", "5"]);
    assert_eq!(edges(&whole), ["exact a -> b", "exact b -> c", "exact c -> a"]);
    has(&ask(&repo, &["callers", "top"]), &["exact top -> top"]);
    let first = ask(&repo, &["both", "a", "--depth", "3"]);
    assert_eq!(edges(&first), edges(&ask(&repo, &["both", "a", "--depth", "3"])), "the same on every run");
    repo.codeweaver(["graph", "callers", "a", "--depth", "6"]).fails(2).is_an_error("depth", "-h");
    repo.codeweaver(["graph", "callers", "a", "--limit", "0"]).fails(2).is_an_error("limit", "-h");
}

#[test]
fn references_are_calls_and_mentions_but_no_text_and_no_other_symbol() {
    let repo = TestRepo::with_files(&[
        (
            "lib.py",
            "def parse(text):\n    \"\"\"parse parses.\"\"\"\n    return text  # parse\n\n\nTABLE = {'parse': parse}\n",
        ),
        (
            "use.py",
            "from lib import parse as read\n\n\ndef one(parse):\n    return parse\n\n\ndef two():\n    return map(read, [])\n",
        ),
        ("other.py", "def parse():\n    pass\n\n\nparse()\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = ask(&repo, &["references", "lib.py:1"]);
    let sites: Vec<String> = answer["edges"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|edge| edge["sites"].as_array().unwrap().clone())
        .map(|site| format!("{}:{}", site["file"].as_str().unwrap(), site["startLine"]))
        .collect();
    for expected in ["lib.py:6", "use.py:1", "use.py:9"] {
        assert!(sites.contains(&expected.to_owned()), "{expected} is missing: {sites:?}\n{answer:#}");
    }
    for wrong in ["lib.py:1", "lib.py:2", "lib.py:3", "use.py:4", "use.py:5", "other.py:5"] {
        assert!(!sites.contains(&wrong.to_owned()), "{wrong} is no reference: {sites:?}\n{answer:#}");
    }
}

#[test]
fn several_definitions_of_a_name_are_distinguished() {
    let repo = fixture("python");
    let answer = ask(&repo, &["callers", "render"]);
    assert_eq!(answer["status"], "ambiguous");
    assert_eq!(answer["roots"].as_array().unwrap().len(), 2);
    has(&answer, &["exact Label.polish -> Label.render", "ambiguous run -> Shape.render"]);
    let definitions = ask(&repo, &["definitions", "render"]);
    assert_eq!(
        definitions["roots"],
        serde_json::json!(["shop/shapes.py:18#Shape.render", "shop/shapes.py:26#Label.render"])
    );
    // Names in one answer are valid in the next query.
    assert_eq!(ask(&repo, &["callers", "shop/shapes.py:26#Label.render"])["status"], "ok");
    assert_eq!(ask(&repo, &["callers", "shop.shapes.Label.render"])["roots"].as_array().unwrap().len(), 1);
    repo.codeweaver(["graph", "callers", "no_such_name"]).fails(1).says(&[
        "No definition of 'no_such_name' found in the index of HEAD",
        "CALL_GRAPH_NOT_FOUND: no definition was found in what is indexed",
    ]);
    let near = "CALL_GRAPH_NEAR_NAMES: the nearest names to rendr are ";
    repo.codeweaver(["graph", "callers", "rendr"]).fails(1).says(&[near, "render"]);
    repo.codeweaver(["graph", "callers", "shop/shapes.py:4"]).success().says(&[
        "def helper(size)",
        "exact",
        "import",
    ]);
    repo.codeweaver(["graph", "callers", "helper", "-o", "markdown"])
        .success()
        .says(&["| from | to |", "exact"]);
}

#[test]
fn hostile_symbols_are_refused_or_not_found() {
    let repo = fixture("python");
    let long = "x".repeat(600);
    for symbol in ["", " ", "a\u{1b}[31m", &long] {
        repo.codeweaver(["graph", "callers", symbol]).fails(2).is_an_error("symbol", "-h");
    }
    for symbol in ["../../etc/passwd:1", "/etc/passwd:1"] {
        let run = repo.codeweaver(["graph", "callers", "--json", "--", symbol]);
        run.fails(2).is_an_error("outside the repository", "--project");
    }
    for symbol in ["main.py:999999", "main.py:0", "::", "...", "#", "a#b", "λ", "(", "%s", "-"] {
        let run = repo.codeweaver(["graph", "callers", "--json", "--", symbol]);
        assert_eq!(run.code(), 1, "{symbol}: {}", run.explain());
        assert_eq!(run.json()["status"], "not_found", "{symbol}");
    }
    let evil = "def caf\u{e9}():\n    pass\n\n\ndef x():\n    caf\u{e9}()\n";
    repo.write("evil\u{202e}.py", evil).commit("evil");
    let run = repo.codeweaver(["graph", "callers", "caf\u{e9}"]);
    run.success().says(&["exact"]);
    assert!(!run.stdout().contains('\u{202e}'), "{}", run.explain());
}

#[test]
fn names_without_terms_are_found_all_the_same() {
    let repo =
        TestRepo::with_files(&[("a.js", "function q() {}\nfunction f() { q(); }\nfunction _() { f(); }\n")]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(edges(&ask(&repo, &["callers", "q"])), ["exact f -> q"]);
    assert_eq!(edges(&ask(&repo, &["callers", "f"])), ["exact _ -> f"]);
}

#[test]
fn notes_are_cut_with_their_code_and_edges_too() {
    let mut text = String::from(
        "class A:\n    def go(self):\n        pass\n\n\nclass B:\n    def go(self):\n        pass\n\n\n",
    );
    for i in 0..80 {
        text.push_str(&format!("def f{i}(x):\n    x.go()\n\n\n"));
    }
    let repo = TestRepo::with_files(&[("many.py", &text)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = ask(&repo, &["callers", "A.go"]);
    assert_eq!(answer["totalEdgeCount"], 80);
    assert_eq!(answer["totalNoteCount"], 80);
    assert_eq!(answer["returnedNoteCount"], 50);
    assert_eq!(answer["notesTruncated"], true);
    assert_eq!(answer["notes"].as_array().unwrap().len(), 50);
    assert!(answer["warnings"].as_array().unwrap().contains(&"CALL_GRAPH_NOTES_TRUNCATED".into()));
    let few = ask(&repo, &["callers", "A.go", "--limit", "5", "--note-limit", "100"]);
    assert_eq!((few["edges"].as_array().unwrap().len(), few["totalEdgeCount"].as_u64()), (5, Some(80)));
    assert_eq!(few["edgesTruncated"], true);
    assert_eq!(few["totalNoteCount"], 5, "notes on what is returned only");
    assert!(few["warnings"].as_array().unwrap().contains(&"CALL_GRAPH_EDGES_TRUNCATED".into()));
}

#[test]
fn exceeded_bounds_are_reported() {
    use codeweaver_xref::{CallGraphRequest, Direction, Grade, Xref};
    let repo = fixture("python");
    for i in 0..20 {
        repo.write(
            &format!("use_{i:02}.py"),
            format!("from shop import helper\n\n\ndef use_{i}():\n    helper({i})\n"),
        );
    }
    repo.commit("users");
    repo.codeweaver(["index"]).success();
    let searcher =
        codeweaver::query::Searcher::new(codeweaver_index::Codebase::open(repo.root(), &[]).unwrap());
    let ask = |change: &dyn Fn(&mut CallGraphRequest)| {
        let mut request = CallGraphRequest::new("helper", Direction::Callers);
        change(&mut request);
        Xref::new(&searcher).query(&request, &|_, _| false).unwrap()
    };
    let whole = ask(&|_| {});
    assert!(whole.coverage.complete && whole.warnings.is_empty(), "{:?}", whole.warnings);
    assert_eq!(whole.edges.iter().filter(|edge| edge.grade == Grade::Exact).count(), 22);
    let few = ask(&|request| request.max_files = 6);
    assert!(!few.coverage.complete && few.coverage.files_read <= 6);
    let [warning] = few.warnings.as_slice() else { panic!("{:?}", few.warnings) };
    let said = "CALL_GRAPH_FILES_LIMIT: stopped after 6 files; ";
    assert!(
        warning.starts_with(said) && warning.contains(" files that may name it were not read: "),
        "{warning}"
    );
    assert!(few.edges.iter().all(|edge| whole.edges.contains(edge)), "less, and nothing else");
    let few = ask(&|request| request.max_bytes = 300).warnings;
    assert!(
        few.iter().any(|warning| warning.starts_with("CALL_GRAPH_BYTES_LIMIT: stopped after 300 bytes")),
        "{few:?}"
    );
    let late = ask(&|request| request.timeout_ms = 0).warnings;
    assert!(
        late.iter().any(|warning| warning.starts_with("CALL_GRAPH_TIME_LIMIT: stopped after 0 s")),
        "{late:?}"
    );
}

#[test]
fn sources_are_read_before_build_outputs() {
    use codeweaver_xref::{CallGraphRequest, Direction, Xref};
    let code = "export function dispatch() {}\n";
    let user = "import { dispatch } from './core.js';\n\nfunction run() {\n  dispatch();\n}\n";
    let repo = TestRepo::with_files(&[
        ("dist/core.js", code),
        ("dist/use.js", user),
        ("lib/core.js", code),
        ("lib/use.js", user),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let searcher =
        codeweaver::query::Searcher::new(codeweaver_index::Codebase::open(repo.root(), &[]).unwrap());
    let mut request = CallGraphRequest::new("dispatch", Direction::Callers);
    // The definitions themselves are read in any case.
    request.max_files = 3;

    let answer = Xref::new(&searcher).query(&request, &|_, _| false).unwrap();
    let sources: Vec<&str> = answer.edges.iter().map(|edge| edge.src_symbol_id.as_str()).collect();
    assert_eq!(sources, ["lib/use.js:3#run"], "{:?}", answer.warnings);
    let said =
        "CALL_GRAPH_FILES_LIMIT: stopped after 3 files; 1 file that may name it was not read: dist/use.js";
    assert_eq!(answer.warnings, [said]);
}

#[test]
fn gates_are_those_of_search() {
    let repo = TestRepo::with_files(&[("a.py", "def f():\n    pass\n")]);
    let run = repo.codeweaver(["graph", "callers", "f", "--json"]);
    run.fails(2).is_an_error("not indexed", "git codeweaver init");
    assert_eq!(run.json()["reason"], "not_indexed");
    let unsupported = TestRepo::with_files(&[("a.jl", "function f()\n  f()\nend\n")]);
    unsupported.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(ask(&unsupported, &["callers", "f"])["status"], "unsupported");
    assert_eq!(ask(&unsupported, &["callees", "a.jl:2"])["status"], "unsupported");
}

#[test]
fn items_inside_macros_have_definitions_and_callers() {
    let repo = TestRepo::init();
    repo.write(
        "src/lib.rs",
        "macro_rules! cfg_rt { ($($item:item)*) => { $($item)* } }\n\ncfg_rt! {\n    pub fn spawn_blocking() {}\n\n    \
         pub fn spawn() {\n        spawn_blocking();\n    }\n}\n\nfn main() {\n    spawn_blocking();\n}\n",
    );
    repo.commit("macros");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let found = ask(&repo, &["definitions", "spawn_blocking"]);
    assert_eq!(found["roots"], serde_json::json!(["src/lib.rs:4#spawn_blocking"]), "{found:#}");
    has(
        &ask(&repo, &["callers", "spawn_blocking"]),
        &["exact spawn -> spawn_blocking", "exact main -> spawn_blocking"],
    );
    repo.codeweaver(["outline", "src/lib.rs"]).success().says(&["pub fn spawn_blocking()"]);
    let uses = ask(&repo, &["references", "cfg_rt"]);
    assert!(edges(&uses).iter().any(|edge| edge.ends_with("-> cfg_rt")), "{uses:#}");
}
