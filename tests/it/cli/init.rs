//! `init` and `deinit`.

use codeweaver_testkit::{FILES, TestRepo, listing};

#[test]
fn init_sets_up_everything_and_says_what_is_next() {
    let repo = TestRepo::with_files(FILES);
    let run = repo.codeweaver(["init"]);
    run.success().says(&[
        "Created:",
        "post-commit, post-checkout, post-merge, post-rewrite",
        "Next:",
        "git codeweaver search",
    ]);
    let stdout = run.stdout();
    let wide: Vec<&str> = stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than a terminal: {wide:#?}");
    assert_eq!(repo.git_text(["status", "--porcelain"]), "");
    assert!(repo.read(".git/info/exclude").contains("/.codeweaver/"));
    assert!(!repo.path(".gitignore").exists());
    let status = repo.status();
    assert_eq!(status["state"], "indexed");
    assert_eq!(status["files"], FILES.len());
    assert_eq!(status["hooks"]["installed"], true);
    assert_eq!(status["hooks"]["binary_found"], true);
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(repo.path(".codeweaver").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn init_again_changes_nothing() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init"]).success();
    let (hook, exclude) = (repo.read(".git/hooks/post-commit"), repo.read(".git/info/exclude"));
    repo.codeweaver(["init"]).success().says(&["Up to date:"]);
    assert_eq!((repo.read(".git/hooks/post-commit"), repo.read(".git/info/exclude")), (hook, exclude));
}

#[test]
fn deinit_leaves_the_repository_as_it_was() {
    let repo = TestRepo::with_files(FILES);
    repo.write(".git/hooks/post-merge", "#!/bin/sh\necho mine\n");
    std::fs::set_permissions(
        repo.path(".git/hooks/post-merge"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let before = (listing(repo.root()), repo.read(".git/config"), repo.read(".git/hooks/post-merge"));
    repo.codeweaver(["init"]).success();
    // git 2.54 and later take hooks from the configuration.
    let is_told = repo.read(".git/config") != before.1;
    assert!(is_told || repo.read(".git/hooks/post-merge").contains("codeweaver"));
    repo.codeweaver(["deinit"]).success().says(&["Removed:"]);
    assert_eq!((listing(repo.root()), repo.read(".git/config"), repo.read(".git/hooks/post-merge")), before);
    repo.codeweaver(["deinit"]).success();
}

#[test]
fn deinit_can_keep_the_index() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init"]).success();
    repo.codeweaver(["deinit", "--keep-index"]).success();
    assert!(!repo.read(".git/hooks/post-commit").contains("codeweaver"));
    assert_eq!(repo.found(&["parse_header"])[0], "src/parse.rs");
    assert_eq!(repo.git_text(["status", "--porcelain"]), "");
    let report = repo.codeweaver(["init"]).success().stdout();
    assert!(report.contains("Up to date:"), "{report}");
}

#[test]
fn parts_can_be_left_out() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks", "--no-index"]).success();
    assert_eq!(repo.status()["hooks"]["installed"], false);
    assert_eq!(repo.status()["state"], "not_indexed");
    repo.codeweaver(["index"]).success();
    assert_eq!(repo.status()["state"], "indexed");
}

#[test]
fn a_tracked_or_linked_store_is_refused() {
    let repo = TestRepo::with_files(&[(".codeweaver/state", "hostile\n"), ("a.rs", "fn a() {}\n")]);
    repo.codeweaver(["init"]).fails(2).is_an_error(".codeweaver is tracked by git", "git rm");
    let linked = TestRepo::with_files(FILES);
    std::os::unix::fs::symlink("/tmp", linked.path(".codeweaver")).unwrap();
    linked.codeweaver(["init"]).fails(2).is_an_error("must not be used", "init");
    let foreign = TestRepo::with_files(FILES);
    foreign.write(".codeweaver/nonce", "another store\n");
    foreign.codeweaver(["init"]).fails(2).is_an_error("must not be used", "init");
    foreign.codeweaver(["search", "x"]).fails(2).is_an_error("must not be used", "init");
}

#[test]
fn a_deleted_store_is_rebuilt_on_next_use_and_reported_once() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init"]).success();
    std::fs::remove_dir_all(repo.path(".codeweaver")).unwrap();
    let run = repo.codeweaver(["search", "parse_header"]);
    run.success().says(&["is being rebuilt", "src/parse.rs"]);
    assert_eq!(repo.codeweaver(["search", "parse_header"]).success().stderr(), "");
}

/// What `init` says of the hooks, without the heading and what follows.
fn said_of_hooks(said: &str) -> Vec<&str> {
    let ends = |line: &str| line.starts_with("Indexed") || line.starts_with("Up to date") || line.is_empty();
    said.lines().skip(1).take_while(|line| !ends(line)).collect()
}

#[test]
fn tracked_hooks_are_not_touched() {
    let mut files = FILES.to_vec();
    files.push((".githooks/post-commit", "#!/bin/sh\necho mine >>../ran\n"));
    let repo = TestRepo::with_files(&files).env("CODEWEAVER_HOOKS", "foreground");
    repo.executable(".githooks/post-commit");
    repo.commit("executable").git(["config", "core.hooksPath", ".githooks"]);
    let said = repo.codeweaver(["init"]).success().stdout();
    assert_eq!(repo.git_text(["status", "--porcelain"]), "");
    if repo.status()["hooks"]["method"] == "configuration" {
        assert_eq!(repo.status()["hooks"]["installed"], true);
        return;
    }
    for (file, text) in [
        (".githooks/post-commit:", "(git-codeweaver hook post-commit"),
        (".githooks/post-merge:", "#!/bin/sh"),
        ("not installed", "in the working tree"),
    ] {
        assert!(said.contains(file) && said.contains(text), "{said}");
    }
    assert!(!said.contains(env!("CARGO_MANIFEST_DIR")), "no path of this machine: {said}");
    repo.codeweaver(["doctor"]).says(&["warn  hooks", "in the working tree", "init --print-hooks"]);
    let printed = repo.codeweaver(["init", "--print-hooks"]).success().stdout();
    assert_eq!(printed.matches("To install it yourself").count(), 4, "{printed}");

    // The lines do what they should, and are accepted.
    for event in ["post-commit", "post-checkout", "post-merge", "post-rewrite"] {
        let file = format!(".githooks/{event}");
        let line = said.lines().find(|line| line.contains(&format!("(git-codeweaver hook {event}"))).unwrap();
        let old = repo.read(&file);
        let shebang = if old.is_empty() { "#!/bin/sh\n" } else { "" };
        repo.write(&file, old + shebang + line.trim_start() + "\n").executable(&file);
    }
    repo.codeweaver(["doctor"]).says(&["ok    hooks"]);
    let again = repo.codeweaver(["init"]).success().stdout();
    assert!(again.contains("(in .githooks, unchanged)") && !again.contains("To install it"), "{again}");
    repo.write("src/new.rs", "pub fn found_by_the_hook() {}\n").commit("new");
    assert_eq!(repo.wait_until_current()["hooks"]["installed"], true);
    assert!(repo.read("../ran").contains("mine"));
    repo.codeweaver(["deinit"]).success().says(&["Kept:    .githooks/post-commit"]);
    assert_eq!(repo.git_text(["status", "--porcelain"]), "");
}

#[test]
fn hooks_outside_of_the_repository_are_not_touched() {
    let repo = TestRepo::with_files(FILES);
    std::fs::create_dir(repo.beside("shared")).unwrap();
    repo.git(["config", "core.hooksPath", repo.beside("shared").to_str().unwrap()]);
    let said = repo.codeweaver(["init"]).success().stdout();
    assert_eq!(listing(&repo.beside("shared")), "");
    if repo.status()["hooks"]["method"] != "configuration" {
        assert!(said.contains("may serve others too"), "{said}");
        repo.codeweaver(["doctor"]).says(&["may serve other repositories", "init --print-hooks"]);
    }
}

#[test]
fn a_hook_manager_that_needs_no_entry_is_one_line_once() {
    for config in [".pre-commit-config.yaml", "lefthook.yml"] {
        let repo = TestRepo::with_files(FILES);
        repo.write(config, "repos: []\n").commit("manager");
        let said = repo.codeweaver(["init"]).success().stdout();
        assert!(said_of_hooks(&said).len() <= 2, "{said}");
        let again = repo.codeweaver(["init"]).success().stdout();
        assert_eq!(said_of_hooks(&again).len(), 1, "{again}");
        if repo.status()["hooks"]["method"] != "configuration" {
            assert!(said.contains("`init --print-hooks`"), "{said}");
            repo.codeweaver(["init", "--print-hooks"])
                .success()
                .says(&[config, "git-codeweaver hook post-merge"]);
        }
        assert_eq!(repo.git_text(["status", "--porcelain"]), "");
    }
}

#[test]
fn deinit_gives_back_every_byte_of_the_exclude_file() {
    for text in ["", "# mine", "*.log\n", "*.log\r\n*.tmp", "*.log\n\n"] {
        let repo = TestRepo::with_files(FILES);
        repo.write(".git/info/exclude", text).codeweaver(["init", "--no-index"]).success();
        assert_eq!(repo.git_text(["status", "--porcelain"]), "");
        repo.codeweaver(["deinit"]).success();
        assert_eq!(String::from_utf8(repo.read_bytes(".git/info/exclude")).unwrap(), text);
    }
}
