//! Features of ranking, each on a small repository in which it decides alone.

use std::time::{Duration, Instant};

use codeweaver_index::progress::Silent;
use codeweaver_index::{Codebase, Target, UpdateOptions, updater};
use codeweaver_testkit::{TestRepo, outlast_clock_tick};

use codeweaver_text::query_terms;

use super::answer::Ranking;
use super::filters::Filters;
use super::{Mode, QueryError, Request, Searcher, Stage, Stages, Tuning, ViewRequest, WorktreeMode};
use crate::query::rank::WEIGHTS;
use crate::query::retrieve::paths;
use crate::query::view::View;

const FILES: &[(&str, &str)] = &[
    (
        "src/http/server.py",
        "class HttpServer:\n    def accept_connection(self, socket):\n        \"\"\"Waits for a client and answers its request.\"\"\"\n        return self.router.dispatch(socket.read())\n",
    ),
    (
        "src/http/router.py",
        "class Router:\n    def register_route(self, pattern, handler):\n        self.routes.append((pattern, handler))\n\n    def dispatch(self, request):\n        for pattern, handler in self.routes:\n            if pattern.match(request):\n                return handler(request)\n",
    ),
    (
        "src/auth/login.py",
        "def authenticate(user, password):\n    stored = load_hash(user)\n    return verify_hash(stored, password)\n\n\ndef load_hash(user):\n    return DATABASE[user]\n",
    ),
    (
        "tests/test_login.py",
        "from auth.login import authenticate\n\n\ndef test_authenticate_user_password():\n    assert authenticate('user', 'password')\n    assert not authenticate('user', 'wrong password')\n",
    ),
    (
        "src/util/numbers.py",
        "def parse_number(text):\n    return int(text)\n\n\ndef next_prime(n):\n    if n < 0:\n        raise ValueError(f\"a negative number such as {n} has no prime\")\n    return n + 1\n",
    ),
    (
        "include/net/channel.h",
        "namespace net {\n// A channel between two peers.\nclass Channel {\n public:\n  // Opens the channel to a peer.\n  int open_channel(Peer peer);\n};\n}\n",
    ),
    (
        "source/channel.cc",
        "#include \"net/channel.h\"\n\nnamespace net {\n// Opens the channel to a peer.\nint Channel::open_channel(Peer peer) {\n  peer_ = peer;\n  return connect(peer.address);\n}\n}\n",
    ),
    (
        "src/util/tokens.py",
        "class Lexer:\n    def next_token(self):\n        return self.tokens.pop()\n\n\nclass Parser:\n    def next(self):\n        return self.lexer.next_token()\n",
    ),
];

struct Fixture {
    searcher: Searcher,
    _repo: TestRepo,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with_files(FILES)
    }

    fn with_files(files: &[(&str, &str)]) -> Fixture {
        let repo = TestRepo::with_files(files);
        let codebase = Codebase::open(repo.root(), &[]).unwrap();
        updater::run(&codebase, &Target::head(&codebase).unwrap(), UpdateOptions::default(), &Silent)
            .unwrap();
        let searcher = Searcher::new(codebase).with_tuning(Tuning::for_small_indexes());
        Fixture { searcher, _repo: repo }
    }

    /// Paths with their relevance, best first.
    fn search(&self, query: &str, mode: Mode) -> Vec<(String, f32)> {
        let mut request = Request::new(query, &self.searcher.codebase.settings);
        request.mode = mode;
        let view = self.view();
        let found = self.searcher.rank(&request, &view, &WEIGHTS, Instant::now() + Duration::from_secs(60));
        let path = |entry| String::from_utf8_lossy(view.entry(entry).0).into_owned();
        found.files.iter().map(|file| (path(file.entry), file.relevance)).collect()
    }

    fn view(&self) -> View {
        let committed = ViewRequest { worktree: WorktreeMode::Exclude, ..ViewRequest::default() };
        self.searcher.view(&committed, &|_, _| false).unwrap()
    }

    fn first(&self, query: &str, mode: Mode) -> String {
        self.search(query, mode).first().map(|(path, _)| path.clone()).unwrap_or_default()
    }
}

#[test]
fn each_feature_ranks_its_file_first() {
    let fixture = Fixture::new();

    for (query, expected) in [
        ("how are routes registered", "src/http/router.py"),
        ("where is a password verified against the stored hash", "src/auth/login.py"),
        ("authenticate user password", "src/auth/login.py"), // not its test
        ("tests of authenticate", "tests/test_login.py"),
        ("http server", "src/http/server.py"),
        ("next_token", "src/util/tokens.py"),
        ("Parser.next", "src/util/tokens.py"),
        ("Router::dispatch()", "src/http/router.py"),
        ("nextTokne", "src/util/tokens.py"),
        ("src/util/numbers.py", "src/util/numbers.py"),
        ("how is the channel to a peer opened", "source/channel.cc"), // not its header in another folder
        ("File \"/opt/app/src/http/router.py\", line 6, in dispatch: TypeError", "src/http/router.py"),
    ] {
        assert_eq!(fixture.first(query, Mode::Hybrid), expected, "{query}");
    }
}

#[test]
fn a_stage_acts_under_its_name_unless_it_is_switched_off() {
    let fixture = Fixture::new();
    let ranking = |query: &str, stages: Stages| -> Ranking {
        let request = Request { stages, ..Request::new(query, &fixture.searcher.codebase.settings) };
        let committed = ViewRequest { worktree: WorktreeMode::Exclude, ..ViewRequest::default() };
        let view = fixture.searcher.view(&committed, &|_, _| false).unwrap();
        fixture.searcher.rank(&request, &view, &WEIGHTS, Instant::now() + Duration::from_secs(60))
    };

    for (stage, query) in [
        (Stage::Translation, "Wie werden die Passwörter der Benutzer geprüft?"),
        (Stage::Spelling, "authenticate a user by a pasword"),
        (Stage::Raised, "ValueError: a negative number such as -3 has no prime"),
        (Stage::Verbatim, "Waits for a client and answers its request."),
    ] {
        let strategy = stage.strategy().unwrap();
        let acts = |stages| ranking(query, stages).strategies.contains(&strategy);
        assert!(acts(Stages::default()), "{stage:?}");
        assert!(!acts(Stages::default().without(stage)), "{stage:?}");
    }

    let trace = "Login of an unknown user fails\nKeyError: 'user'\n  File \"/srv/app/src/auth/login.py\", line 3, in authenticate\n    stored = load_hash(user)\n";
    let is_apart = |stages| ranking(trace, stages).files[0].explanation.parts.is_some();
    assert!(is_apart(Stages::default()));
    assert!(!is_apart(Stages::default().without(Stage::Report)));

    // Chunks have a similarity, and nothing of their files.
    let is_of_files =
        |stages| ranking("authenticate a user", stages).files.iter().any(|it| it.explanation.file_sum > 0.0);
    assert!(is_of_files(Stages::default()));
    assert!(!is_of_files(Stages::default().without(Stage::Files)));
}

#[test]
fn waiting_for_the_index_leaves_time_to_search() {
    let fixture = Fixture::new();
    let (repo, searcher) = (&fixture._repo, &fixture.searcher);

    // More files than an overlay takes.
    for i in 0..=200 {
        repo.write(
            &format!("src/pool/part_{i}.py"),
            format!("def borrow_connection_{i}(pool):\n    return {i}\n"),
        );
    }
    repo.commit("pool");

    for (revision, is_indexed) in [(None, false), (Some("HEAD".to_owned()), true)] {
        let mut request = Request::new("borrow a connection from the pool", &searcher.codebase.settings);
        request.view.worktree = WorktreeMode::Exclude;
        request.view.revision = revision;
        request.min_score = 0.0;
        request.view.timeout = Duration::from_millis(1000);

        let response = searcher.search(&request, &|target, _| {
            // An update that takes longer than the request may.
            std::thread::sleep(Duration::from_millis(1050));
            is_indexed && updater::run(&searcher.codebase, target, UpdateOptions::default(), &Silent).is_ok()
        });
        let response = response.unwrap();

        let is_cut = response.warnings.iter().any(|warning| warning.contains("time budget"));
        assert!(!is_cut, "{:?}", response.warnings);
        let first = &response.matches[0].file.path;
        assert_eq!(first.starts_with("src/pool/"), is_indexed, "{response:#?}");
    }
}

#[test]
fn a_working_tree_that_cannot_be_compared_in_time_is_compared_by_an_update() {
    let fixture = Fixture::new();
    let root = fixture._repo.root();
    // The stat data of what was just written would not be stored.
    outlast_clock_tick();

    let info = |budget| {
        let searcher = Searcher::new(Codebase::open(root, &[]).unwrap());
        let mut request = Request::new("how are routes registered", &searcher.codebase.settings);
        request.view.budget = budget;
        searcher.search(&request, &|_, _| false).unwrap().index
    };
    let compared = info(Duration::from_secs(60));
    assert_eq!((compared.late_files, compared.needs_update), (0, false));

    let codebase = &fixture.searcher.codebase;
    let lock = std::fs::File::open(codebase.layout.work_lock(&codebase.worktree_key)).unwrap();
    for (age, is_due) in [(0, false), (60, true)] {
        lock.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
        let late = info(Duration::ZERO);
        assert_eq!((late.late_files > 0, late.needs_update), (true, is_due));
    }
}

#[test]
fn pasted_texts_find_the_files_that_they_name() {
    let fixture = Fixture::new();
    let long =
        (0..3000).map(|i| format!("at lib.Unrelated{i}.call(Unrelated{i}.java:{i})\n")).collect::<String>();
    let trace =
        format!("java.lang.IllegalStateException: broken\n{long}\tat router.dispatch(src/http/router.py:6)");

    for (query, expected) in [
        ("src/auth/login.py:2", "src/auth/login.py"),
        ("login.py", "src/auth/login.py"),
        ("why does src/util/tokens.py:3 fail", "src/util/tokens.py"),
        ("for pattern, handler in self.routes:\n    if pattern.match(request):", "src/http/router.py"),
        ("return self.tokens.pop()", "src/util/tokens.py"),
        (
            "Traceback (most recent call last):\n  File \"/srv/run.py\", line 9, in <module>\n    main()\n  File \"/srv/app/src/auth/login.py\", line 3, in authenticate\nKeyError: 'user'",
            "src/auth/login.py",
        ),
        ("AttributeError: 'HttpServer' object has no attribute 'router'", "src/http/server.py"),
        (trace.as_str(), "src/http/router.py"),
        ("where is `next_token` called by the Parser", "src/util/tokens.py"),
        ("LoadHash", "src/auth/login.py"),
        ("load_hsh", "src/auth/login.py"),
        ("accept_conn", "src/http/server.py"),
        ("HttpServer.accept_connection socket timeout", "src/http/server.py"),
        ("registration of routes", "src/http/router.py"),
    ] {
        assert_eq!(fixture.first(query, Mode::Hybrid), expected, "{}", &query[..query.len().min(80)]);
    }
}

#[test]
fn a_path_is_evidence_except_for_foreign_queries() {
    let fixture = Fixture::new();
    let relevance = |query: &str| fixture.search(query, Mode::Hybrid).first().cloned().unwrap_or_default();
    let (path, of_words) = relevance("util numbers");
    assert_eq!(path, "src/util/numbers.py");
    assert!(of_words > 0.3, "{of_words}");
    // The relevance is absolute: the nearest of unrelated paths is still unrelated.
    let (_, foreign) = relevance("simmer tomato soup");
    assert!(foreign < 0.15, "{foreign}");
}

/// Files that are skipped because of their content have paths, and nothing that could be found.
#[test]
fn only_indexed_files_count_and_are_chosen_by_their_paths() {
    let mut files = vec![("stock/tall/lamp.py".to_owned(), "def tall_lamp():\n    return 1\n")];
    files.push(("stock/chair.py".to_owned(), "def chair():\n    return 2\n"));
    files.extend((0..70).map(|n| (format!("stock/lamp_{n}.py"), "\0")));
    files.push(("stock/sofa.py".to_owned(), "\0"));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let fixture = Fixture::with_files(&files);

    let view = fixture.view();
    let found = paths::by_terms(&view, &view.scope(&Filters::default()), &query_terms("lamp"));
    assert_eq!((found.rows.len(), found.term_shares), (1, vec![0.5]));
    assert_eq!(paths::share_with(&view, "lamp"), 0.5);
    assert!(paths::is_in_any(&view, "lamp") && !paths::is_in_any(&view, "sofa"));
}

#[test]
fn symbol_mode_completes_and_corrects_names_only() {
    let fixture = Fixture::new();
    for query in ["next_token", "nextToken", "next_tok", "NEXT_TOKEN", "next_tokn", "next token"] {
        assert_eq!(fixture.first(query, Mode::Symbol), "src/util/tokens.py", "{query}");
    }
    assert_eq!(fixture.search("DATABASE_of_password_rules", Mode::Symbol), []);
}

#[test]
fn every_mode_works_on_its_own_evidence() {
    let fixture = Fixture::new();
    for mode in [Mode::Keyword, Mode::Semantic, Mode::Hybrid] {
        let found = fixture.search("load the stored hash of a user", mode);
        assert_eq!(found[0].0, "src/auth/login.py", "{mode:?}");
        assert!(found.iter().all(|(_, relevance)| (0.0..=1.0).contains(relevance)));
    }
}

#[test]
fn foreign_queries_have_low_relevance() {
    let fixture = Fixture::new();
    let best =
        |query: &str| fixture.search(query, Mode::Hybrid).first().map_or(0.0, |(_, relevance)| *relevance);
    // The list of the crate above, which has the measurements.
    let queries: Vec<&str> = include_str!("../../../eval/src/data/foreign_queries.txt").lines().collect();
    let n_low = queries.iter().filter(|query| best(query) < 0.3).count();
    assert!(n_low * 10 >= queries.len() * 9, "{n_low} of {}", queries.len());
    assert!(best("where is a password verified against the stored hash") > 0.3);
}

#[test]
fn a_panic_becomes_an_internal_error_with_its_message() {
    let result: Result<(), QueryError> = super::error::guarded(|| panic!("broken assumption {}", 7));
    let error = result.unwrap_err();
    assert!(
        matches!(&error, QueryError::Internal { message } if message == "broken assumption 7"),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "internal error: broken assumption 7");
}
