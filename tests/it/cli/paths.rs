//! Paths on the command line are git's pathspecs: relative to the current directory, in and out.

use codeweaver_testkit::{FILES, Run, TestRepo};

use crate::support::mcp_client::McpClient;

/// A file of each of three directories defines `connect`.
fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.write("lib/active/pool.rb", "def connect(pool)\n  pool.open\nend\n")
        .write("lib/active/user.rb", "def sign_in(user)\n  connect(user)\nend\n")
        .write("app/[id]/connect.ts", "export function connect(id: string) {\n  return id;\n}\n")
        .write("connect.go", "package main\n\nfunc connect() int {\n\treturn 1\n}\n")
        .write("vendor/blob.bin", b"\0\x01\x02")
        .commit("connect");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The paths of the files in which a search below `dir` finds `connect`, as JSON names them.
fn found(repo: &TestRepo, dir: &str, args: &[&str]) -> Vec<String> {
    let mut paths = repo.at(dir).found(&[args, &["connect"]].concat());
    paths.sort();
    paths
}

#[test]
fn path_filters_are_relative_to_the_current_directory() {
    let repo = indexed();
    let lib = ["lib/active/pool.rb", "lib/active/user.rb"];
    let root = repo.root().to_str().unwrap();
    let absolute = repo.path("lib/active");
    for (dir, args) in [
        ("lib", &["--path", "active"][..]),
        ("lib", &["--path", "./active/"]),
        ("lib/active", &["--path", "."]),
        ("lib", &["--path", "."]),
        ("lib", &["--path", "*.rb"]),
        ("app", &["--path", "../lib"]),
        ("app/[id]", &["--path", "../../lib/*/*.rb"]),
        ("app", &["--path", ":/lib"]),
        ("app", &["--path", ":(top)lib"]),
        (".", &["--path", "lib"]),
        ("app", &["--path", absolute.to_str().unwrap()]),
        ("lib", &["--path", ":/", "--exclude", "../app", "--exclude", ":/connect.go"]),
        ("lib", &["--path", ":!../app", "--path", ":^/connect.go"]),
    ] {
        let mut paths = found(&repo, dir, args);
        paths.retain(|path| !path.starts_with("src/") && !path.starts_with("tests/"));
        assert_eq!(paths, lib, "{args:?} in {dir}");
    }
    assert_eq!(found(&repo, "app/[id]", &["--path", "."]), ["app/[id]/connect.ts"]);
    assert_eq!(found(&repo, "app/[id]", &["--path", "*.ts"]), ["app/[id]/connect.ts"]);
    assert_eq!(found(&repo, "app", &["--path", "[id]"]), ["app/[id]/connect.ts"]);
    assert_eq!(found(&repo, "lib", &["--path", root]), found(&repo, ".", &[]));
    assert_eq!(found(&repo, ".", &["-p", repo.path("lib").to_str().unwrap(), "--path", "active"]), lib);
}

/// As a pattern, such a name stands for files of one letter.
#[test]
fn a_file_with_brackets_in_its_name_is_found_by_its_path() {
    let repo = TestRepo::with_files(&[
        ("src/[id].tsx", "export function connect(id: string) {\n  return id;\n}\n"),
        ("src/all.tsx", "export function connect_all(ids: string[]) {\n  return ids;\n}\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();

    for (dir, path) in [(".", "src/[id].tsx"), (".", ":/src/[id].tsx"), ("src", "[id].tsx")] {
        let here = repo.at(dir);
        assert_eq!(here.found(&["--path", path, "connect"]), ["src/[id].tsx"], "{path} in {dir}");
        assert_eq!(here.found(&[&format!("path:{path} connect")]), ["src/[id].tsx"], "{path} in {dir}");
        assert_eq!(here.found(&["--exclude", path, "connect"]), ["src/all.tsx"], "{path} in {dir}");

        let lines = here.codeweaver(["search", "--mode", "exact", "--path", path, "export function"]);
        lines.success().says(&["Found 1 line in 1 file", "[id].tsx"]);
        here.codeweaver(["read", path]).success().says(&["export function connect(id: string)"]);
        here.codeweaver(["outline", path]).success().says(&["[id].tsx (tsx, 1 definition)"]);
    }
}

#[test]
fn printed_paths_are_relative_to_the_current_directory_and_json_paths_to_the_root() {
    let repo = indexed();
    let lib = repo.at("lib");
    lib.codeweaver(["search", "--path", ":/", "connect"]).success().says(&[
        ". active/pool.rb:1-",
        ". ../connect.go:",
        ". ../app/[id]/connect.ts:",
    ]);
    lib.codeweaver(["search", "-o", "markdown", "connect"]).success().says(&["`../connect.go:"]);
    lib.codeweaver(["similar", "active/pool.rb:1"]).success().says(&["../connect.go:"]);
    lib.codeweaver(["graph", "callers", "active/pool.rb:1"]).success().says(&[
        "Callers of active/pool.rb:1:",
        "\nactive/pool.rb:1-3",
        " active/user.rb:1-3",
    ]);
    lib.codeweaver(["outline", "../connect.go"]).success().says(&["../connect.go (go"]);
    lib.codeweaver(["read", "-o", "markdown", "active/pool.rb:1"]).success().says(&["`active/pool.rb:1-1`"]);
    lib.codeweaver(["chunks", "active/pool.rb"]).success().says(&["active/pool.rb (ruby"]);
    assert_eq!(lib.codeweaver(["outline", "--json", "active/pool.rb"]).json()["path"], "lib/active/pool.rb");
    assert_eq!(lib.codeweaver(["read", "--json", "active/pool.rb"]).json()["path"], "lib/active/pool.rb");
    // Every location that is printed can be given back.
    for (path, line) in [("../connect.go", 3), ("active/user.rb", 1), ("../app/[id]/connect.ts", 1)] {
        lib.codeweaver(["read", path]).success();
        lib.codeweaver(["outline", path]).success();
        lib.codeweaver(["similar", &format!("{path}:{line}")]).success();
    }
}

#[test]
fn links_open_the_file_wherever_the_command_runs() {
    let repo = indexed();
    let file = format!("file://{}/lib/active/pool.rb#L1", repo.root().display());
    let lib = repo.at("lib");
    let pool = ["search", "--color", "always", "--path", "active/pool.rb", "connect"];
    lib.codeweaver(pool).success().says(&[&file]);
    let of_revision = lib.codeweaver([&pool[..], &["--rev", "HEAD"]].concat());
    assert!(!of_revision.success().stdout().contains("file://"), "{}", of_revision.explain());
}

#[test]
fn paths_that_lead_out_of_the_repository_are_refused() {
    let repo = indexed();
    let lib = repo.at("lib");
    for path in ["../..", "../../x.rb", "/etc", "/", ":/../x", repo.beside("home").to_str().unwrap()] {
        lib.codeweaver(["search", "--path", path, "connect"])
            .fails(2)
            .is_an_error("outside the repository", "--project");
        lib.codeweaver(["search", "--exclude", path, "connect"]).fails(2);
        lib.codeweaver(["read", path]).fails(2).is_an_error("outside the repository", "--project");
        lib.codeweaver(["similar", &format!("{path}:1")]).fails(2);
    }
}

#[test]
fn magic_that_is_not_supported_is_refused() {
    let lib = indexed().at("lib");
    for path in [":(icase)ACTIVE", ":(attr:x)active", ":(nonsense)active", ":(top", ""] {
        let run = lib.codeweaver(["search", "--path", path, "connect"]);
        run.fails(2).is_an_error(path.trim_start_matches(":("), "");
    }
    lib.codeweaver(["read", ":!active/pool.rb"]).fails(2).is_an_error("does not name one file", ":/PATH");
}

#[test]
fn a_path_filter_without_files_says_so() {
    let repo = indexed();
    let lib = repo.at("lib");
    let none = lib.codeweaver(["search", "--path", "nowhere", "connect"]);
    none.fails(1).says(&["no indexed file matches the path 'lib/nowhere'"]);
    assert!(!none.stdout().contains("No results"), "{}", none.explain());
    lib.codeweaver(["search", "--path", "vendor", "connect"])
        .fails(1)
        .says(&["no indexed file matches the path 'lib/vendor'", "--path :/vendor"]);
    lib.codeweaver(["search", "--path", ":/vendor", "connect"])
        .fails(1)
        .says(&["the only file that matches the path 'vendor' is not indexed"]);
    lib.codeweaver(["similar", "--path", "nowhere", "active/pool.rb:1"])
        .fails(1)
        .says(&["no indexed file matches the path 'lib/nowhere'"]);
    // One of two filters.
    let one = lib.codeweaver(["search", "--path", "active", "--path", "nowhere", "connect"]);
    one.success().says(&["warning: no indexed file matches the path 'lib/nowhere'"]);
    let response = lib.codeweaver(["search", "--json", "--path", "nowhere", "connect"]).json();
    assert!(response["summary"].as_str().unwrap().contains("no indexed file matches"), "{response:#}");
}

#[test]
fn a_file_that_is_named_from_the_root_is_pointed_out() {
    let lib = indexed().at("lib");
    for args in [&["read", "connect.go"][..], &["outline", "connect.go"], &["similar", "connect.go:3"]] {
        lib.codeweaver(args).fails(2).is_an_error("there is no file", ":/connect.go names the file");
    }
    lib.codeweaver(["read", "active"]).fails(2).is_an_error("'active' is a directory", "--path");
}

#[test]
fn a_bare_repository_has_paths_from_the_root_of_the_tree() {
    let repo = indexed();
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.at("../bare.git");
    bare.codeweaver(["init", "--no-hooks"]).success();
    for dir in [".", "refs/heads"] {
        let here = bare.at(dir);
        assert_eq!(here.found(&["--path", "lib/active/pool.rb", "connect"]), ["lib/active/pool.rb"]);
        assert_eq!(here.found(&["--path", ":/lib/active/pool.rb", "connect"]), ["lib/active/pool.rb"]);
        here.codeweaver(["read", "lib/active/pool.rb"]).success().says(&["def connect"]);
        let inside = bare.path("lib");
        here.codeweaver(["search", "--path", inside.to_str().unwrap(), "connect"])
            .fails(2)
            .is_an_error("outside the repository", "git ls-tree");
        let linked = here.codeweaver(["search", "--color", "always", "connect"]);
        assert!(!linked.success().stdout().contains("file://"), "{}", linked.explain());
    }
}

#[test]
fn git_runs_the_command_in_the_directory_of_its_caller() {
    let repo = indexed();
    let lib = repo.at("lib");
    let bin = codeweaver_testkit::program().parent().unwrap().to_owned();
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let run = |args: &[&str]| Run::new(lib.command("git").env("PATH", &path).args(args));
    run(&["codeweaver", "search", "--path", "active", "connect"]).success().says(&[". active/pool.rb:"]);
    run(&["-C", "active", "codeweaver", "search", "--path", ".", "connect"]).success().says(&[". pool.rb:"]);
    let git_dir = repo.path(".git");
    let with_git_dir = ["--git-dir", git_dir.to_str().unwrap(), "--work-tree", repo.root().to_str().unwrap()];
    run(&[&with_git_dir[..], &["codeweaver", "search", "--path", "active", "connect"]].concat())
        .success()
        .says(&[". active/pool.rb:"]);
}

#[test]
fn places_may_have_lines_and_columns() {
    let repo = TestRepo::with_files(&[(
        "a.py",
        "class A:\n    def f(self):\n        return 1\n\n\ndef g():\n    return 2\n",
    )]);
    repo.codeweaver(["init", "--no-hooks"]).success();

    for place in ["a.py:7:5", "a.py:7:5-12", "a.py:7"] {
        let read = repo.codeweaver(["read", "--json", place]).success().json();
        assert_eq!(
            (&read["text"], &read["span"]),
            (&"    return 2\n".into(), &serde_json::json!([7, 7])),
            "{place}"
        );
        repo.codeweaver(["graph", "definitions", place]).success().says(&["a.py:6-7"]);

        let outline = repo.codeweaver(["outline", "--json", place]).success().json();
        let names: Vec<&str> = outline["symbols"]
            .as_array()
            .unwrap()
            .iter()
            .map(|symbol| symbol["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["g"], "{place}");
    }
    let outline = repo.codeweaver(["outline", "a.py:3"]).success().stdout();
    assert!(outline.contains("class A") && !outline.contains("def g"), "{outline}");

    let mut client = McpClient::start(&repo);
    let ask = |client: &mut McpClient, tool: &str, key: &str| {
        client.text(tool, serde_json::json!({ key: "a.py:7:5-12" }))
    };
    assert!(ask(&mut client, "file_outline", "file").contains("def g"));
    assert!(ask(&mut client, "find_symbol", "symbol").starts_with("a.py:6-7"));
    assert!(ask(&mut client, "call_graph", "symbol").contains("a.py:6-7 def g()"));

    // A file may have such a name, except on Windows.
    if cfg!(unix) {
        repo.write("a.py:7", "def in_it():\n    pass\n").commit("named");
        repo.codeweaver(["outline", "a.py:7"]).success().says(&["\"a.py:7\" (text"]);
    }
}
