use std::collections::BTreeMap;

use codeweaver_git::{Oid, Repo, walk_tree};
use codeweaver_testkit::TestRepo;

use super::*;

fn open(repo: &TestRepo) -> Repo {
    Repo::open_isolated(repo.root()).unwrap()
}

fn head_tree(repo: &TestRepo) -> Oid {
    let text = repo.git_text(["rev-parse", "--verify", "HEAD^{tree}"]);
    Oid::from_hex(text.trim().as_bytes()).unwrap()
}

fn policy_with(repo: &TestRepo, settings: &PolicySettings) -> Policy {
    Policy::for_tree(&open(repo), Some(&head_tree(repo)), settings).unwrap()
}

fn policy(repo: &TestRepo) -> Policy {
    policy_with(repo, &PolicySettings::default())
}

fn no_tree(settings: &PolicySettings) -> Policy {
    Policy::for_tree(&open(&TestRepo::init()), None, settings).unwrap()
}

/// `index`, or the name of the reason.
fn decided(policy: &Policy, path: &str) -> &'static str {
    match policy.decide_path(path.into(), Mode::File) {
        PathDecision::Index { .. } => "index",
        PathDecision::Skip(reason) => reason.name(),
    }
}

fn flags(policy: &Policy, path: &str) -> Vec<&'static str> {
    match policy.decide_path(path.into(), Mode::File) {
        PathDecision::Index { flags, .. } => flags.names().collect(),
        PathDecision::Skip(reason) => panic!("{path}: {}", reason.name()),
    }
}

fn language_of(policy: &Policy, path: &str, bytes: &[u8]) -> &'static str {
    match policy.decide_path(path.into(), Mode::File) {
        PathDecision::Index { language, .. } => policy.language(language, path.into(), bytes).name(),
        PathDecision::Skip(reason) => panic!("{path}: {}", reason.name()),
    }
}

#[test]
fn paths_that_git_would_not_check_out_are_excluded() {
    let policy = no_tree(&PolicySettings::default());
    for path in
        ["", "/etc/a.rs", "../a.rs", "a/../b.rs", "a//b.rs", "./a.rs", "a/", ".git/a.rs", "a/.GIT/b.rs"]
    {
        assert_eq!(decided(&policy, path), "excluded", "{path}");
    }
    assert_eq!(decided(&policy, "a/..b/.github/c.rs"), "index");
}

#[test]
fn reasons_keep_their_numbers_and_names() {
    for (number, reason) in SkipReason::all().enumerate() {
        assert_eq!(reason as usize, number);
        assert_eq!(SkipReason::from_u8(number as u8), Some(reason));
        assert_eq!(serde_json::to_string(&reason).unwrap(), format!("\"{}\"", reason.name()));
    }
    assert_eq!(SkipReason::from_u8(200), None);
}

#[test]
fn tables_decide_without_any_rule() {
    let policy = no_tree(&PolicySettings::default());
    for (path, expected) in [
        ("src/main.rs", "index"),
        (".github/workflows/ci.yml", "index"),
        (".hidden/x.py", "index"),
        ("unknown.zzz", "index"),
        ("Makefile", "index"),
        ("Cargo.lock", "lock_file"),
        ("web/package-lock.json", "lock_file"),
        ("static/jquery.min.js", "minified"),
        ("static/app.js.map", "minified"),
        ("api/v1/api.pb.go", "generated"),
        ("proto/x_pb2.py", "generated"),
        ("img/logo.PNG", "binary"),
        ("node_modules/left-pad/index.js", "vendored"),
        ("a/b/third_party/zlib/inflate.c", "vendored"),
        ("vendor/github.com/x/y.go", "vendored"),
        ("app/models/vendor/invoice.rb", "index"),
        ("deps/ours.c", "index"),
        ("external/ours.c", "index"),
        ("lib/ours.c", "index"),
        (".env", "secret"),
        ("deploy/.env.production", "secret"),
        ("deploy/.env.example", "index"),
        ("certs/server.pem", "secret"),
        (".ssh/id_rsa", "secret"),
        (".ssh/id_rsa.pub", "index"),
        (".codeweaver/state", "excluded"),
        (".CodeWeaver/state", "excluded"),
        (".codeweaverignore", "index"),
        ("sub/.codeweaver/x.rs", "index"),
    ] {
        assert_eq!(decided(&policy, path), expected, "{path}");
    }
    assert_eq!(policy.decide_path("a".into(), Mode::Symlink), PathDecision::Skip(SkipReason::Symlink));
    assert_eq!(policy.decide_path("a".into(), Mode::Gitlink), PathDecision::Skip(SkipReason::Submodule));
}

#[test]
fn vendor_is_third_party_beside_a_manifest() {
    let repo = TestRepo::with_files(&[
        ("service/go.mod", "module x\n"),
        ("service/vendor/dep/a.go", "package dep\n"),
        ("shop/vendor/list.go", "package vendor\n"),
        ("tools/vendor/modules.txt", "# x\n"),
        ("tools/vendor/dep/a.go", "package dep\n"),
    ]);
    let policy = policy(&repo);
    assert_eq!(decided(&policy, "service/vendor/dep/a.go"), "vendored");
    assert_eq!(decided(&policy, "tools/vendor/dep/a.go"), "vendored");
    assert_eq!(decided(&policy, "shop/vendor/list.go"), "index");
}

#[test]
fn paths_have_flags_for_their_roles() {
    let policy = no_tree(&PolicySettings::default());
    for (path, expected) in [
        ("src/main.rs", &[][..]),
        ("src/attest.rs", &[]),
        ("tests/it/main.rs", &["test"]),
        ("pkg/server_test.go", &["test"]),
        ("pkg/test_server.py", &["test"]),
        ("web/button.spec.ts", &["test"]),
        ("com/acme/PolicyTest.java", &["test"]),
        ("com/acme/Latest.java", &[]),
        ("latest/contest.py", &[]),
        ("src/flask/testing.py", &[]),
        ("src/werkzeug/test.py", &[]),
        ("lib/action_dispatch/testing/request.rb", &[]),
        ("numpy/testing/utils.py", &["test"]),
        ("src/testing/a.rs", &["test"]),
        ("testing/run.sh", &["test"]),
        ("src/app/tests/a.py", &["test"]),
        ("examples/tests/a.rs", &["test", "example"]),
        ("docs/guide.md", &["docs"]),
        ("src/legacy/a.c", &["compat"]),
        ("benches/scan.rs", &["bench"]),
        ("external/a.c", &["vendored_like"]),
        ("types/index.d.ts", &["stub"]),
        ("pkg/__init__.py", &["reexport"]),
    ] {
        assert_eq!(flags(&policy, path), expected, "{path}");
    }
}

#[test]
fn attributes_of_all_levels_decide() {
    let repo = TestRepo::with_files(&[
        (
            ".gitattributes",
            "[attr]ours -linguist-vendored -linguist-generated\n\
             *.gen linguist-generated\n\
             vendor/** ours\n\
             /out/*.js linguist-generated=true\n\
             *.tpl linguist-language=Rust\n\
             copied/** linguist-vendored\n\
             secret-notes/** codeweaver=off\n\
             internal.txt -codeweaver\n\
             guide/** codeweaver=docs\n\
             checks/** codeweaver=test\n\
             keep.min.js codeweaver\n\
             .env codeweaver\n\
             CHANGES.md -linguist-documentation\n",
        ),
        (
            "copied/own/.gitattributes",
            "*.c -linguist-vendored\n*.h !linguist-vendored\nsub/*.gen linguist-generated=false\n",
        ),
        ("out/app.js", "x\n"),
    ]);
    let policy = policy(&repo);
    for (path, expected) in [
        ("a/b.gen", "generated"),
        ("vendor/a.go", "index"),
        ("vendor/a.pb.go", "index"),
        ("out/app.js", "generated"),
        ("lib/out/app.js", "index"),
        ("copied/a.c", "vendored"),
        ("copied/own/a.c", "index"),
        ("copied/own/a.h", "index"),
        ("copied/own/a.rs", "vendored"),
        ("copied/own/sub/a.gen", "vendored"),
        ("secret-notes/x.md", "ignored"),
        ("x/internal.txt", "ignored"),
        ("keep.min.js", "index"),
        ("other.min.js", "minified"),
        (".env", "secret"),
    ] {
        assert_eq!(decided(&policy, path), expected, "{path}");
    }
    assert_eq!(flags(&policy, "guide/a.rs"), ["docs"]);
    assert_eq!(flags(&policy, "checks/a.rs"), ["test"]);
    assert_eq!(flags(&policy, "CHANGES.md"), [""; 0]);
    assert_eq!(language_of(&policy, "x.tpl", b""), "rust");
}

#[test]
fn globs_of_the_settings_include_and_exclude() {
    let settings = PolicySettings {
        include: vec!["src".into(), "*.md".into()],
        exclude: vec!["src/old/".into(), "**/skip*.rs".into()],
        ..Default::default()
    };
    let policy = no_tree(&settings);
    for (path, expected) in [
        ("src/a/b.rs", "index"),
        ("lib/a.rs", "not_included"),
        ("lib/README.md", "index"),
        ("src/old/a.rs", "excluded"),
        ("src/a/skip_me.rs", "excluded"),
        ("src/node_modules/a.js", "vendored"),
    ] {
        assert_eq!(decided(&policy, path), expected, "{path}");
    }
    let bad = PolicySettings { exclude: vec!["".into()], ..Default::default() };
    let error = Policy::for_tree(&open(&TestRepo::init()), None, &bad).err().unwrap();
    assert!(error.to_string().contains("policy.exclude"), "{error}");
}

#[test]
fn languages_are_decided_by_attributes_settings_path_and_first_line() {
    let extensions = BTreeMap::from([
        ("inc".into(), "cpp".into()),
        (".tmpl.x".into(), "go".into()),
        ("x".into(), "c".into()),
    ]);
    let policy = no_tree(&PolicySettings { file_extensions: extensions, ..Default::default() });
    assert_eq!(language_of(&policy, "a.INC", b""), "cpp");
    assert_eq!(language_of(&policy, "a.tmpl.x", b""), "go");
    assert_eq!(language_of(&policy, "a.x", b""), "c");
    assert_eq!(language_of(&policy, "a.rs", b""), "rust");
    assert_eq!(language_of(&policy, "bin/tool", b"#!/usr/bin/env python3\n"), "python");
    assert_eq!(language_of(&policy, "bin/tool", b"words\n"), "text");
    let unknown = BTreeMap::from([("y".into(), "klingon".into())]);
    let settings = PolicySettings { file_extensions: unknown, ..Default::default() };
    assert!(matches!(
        Policy::for_tree(&open(&TestRepo::init()), None, &settings),
        Err(PolicyError::Language { language, .. }) if language == "klingon"
    ));
}

#[test]
fn secrets_are_indexed_only_if_named() {
    let settings = PolicySettings {
        include_secrets: vec!["tests/data/ca.pem".into(), ".env.ci".into()],
        ..Default::default()
    };
    let policy = no_tree(&settings);
    assert_eq!(decided(&policy, "tests/data/ca.pem"), "index");
    assert_eq!(decided(&policy, "other/ca.pem"), "secret");
    assert_eq!(decided(&policy, "deploy/.env.ci"), "index");
}

#[test]
fn sizes_are_bounded_by_the_setting() {
    let policy = no_tree(&PolicySettings { max_blob_bytes: 10, ..Default::default() });
    assert_eq!(policy.max_blob_bytes(), 10);
    assert_eq!(policy.decide_blob(b"0123456789\n", Exempt::default()), Some(SkipReason::TooLarge));
    assert_eq!(policy.decide_blob(b"012345678\n", Exempt::default()), None);
}

/// `.codeweaverignore` ignores exactly the files that git ignores by the same rules.
#[test]
fn ignore_rules_agree_with_git() {
    let root = "# comment\n*.log\n!important.log\n/build/\ndoc/*.txt\n!doc/keep.txt\n**/cache/**\n/a/**/z.rs\n\
                foo/\nspace\\ name\n\\#hash\ntrailing   \n[ab].c\n?.h\n!/sub/\nsub/deep/*\n!sub/deep/kept/\n";
    let sub = "*.rs\n!main.rs\n/only-here\n";
    let names = [
        "x.log",
        "important.log",
        "build",
        "main.rs",
        "lib.rs",
        "keep.txt",
        "a.txt",
        "cache",
        "z.rs",
        "foo",
        "space name",
        "#hash",
        "trailing",
        "a.c",
        "b.c",
        "c.c",
        "x.h",
        "xy.h",
        "only-here",
        "kept",
    ];
    let directories = [
        "",
        "build/",
        "doc/",
        "doc/x/",
        "cache/",
        "x/cache/y/",
        "a/",
        "a/b/c/",
        "foo/",
        "x/foo/",
        "sub/",
        "sub/deep/",
        "sub/deep/kept/",
        "sub/deep/other/",
    ];
    let repo = TestRepo::with_files(&[
        (".codeweaverignore", root),
        (".gitignore", root),
        ("sub/.codeweaverignore", sub),
        ("sub/.gitignore", sub),
    ]);
    let policy = policy(&repo);
    for directory in directories {
        for name in names {
            let path = format!("{directory}{name}");
            let by_git = repo.try_git(["check-ignore", "-q", "--no-index", "--", &path]);
            assert_eq!(decided(&policy, &path) == "ignored", by_git, "{path}");
        }
    }
}

#[test]
fn a_literal_exception_overrides_the_tables() {
    let repo = TestRepo::with_files(&[(".codeweaverignore", "!vendor/ours/\n!go.sum\n!*.min.js\n!.env\n")]);
    let policy = policy(&repo);
    assert_eq!(decided(&policy, "vendor/ours/a.go"), "index");
    assert_eq!(decided(&policy, "vendor/theirs/a.go"), "vendored");
    assert_eq!(decided(&policy, "go.sum"), "index");
    assert_eq!(decided(&policy, "a.min.js"), "minified", "a wildcard is no exception");
    assert_eq!(decided(&policy, ".env"), "secret");
}

#[test]
fn rules_are_read_from_the_tree_and_not_from_the_working_tree() {
    let repo = TestRepo::with_files(&[("a.rs", "a\n"), (".codeweaverignore", "a.rs\n")]);
    let old = head_tree(&repo);
    repo.write(".codeweaverignore", "b.rs\n");
    let old_policy = Policy::for_tree(&open(&repo), Some(&old), &PolicySettings::default()).unwrap();
    assert_eq!((decided(&old_policy, "a.rs"), decided(&old_policy, "b.rs")), ("ignored", "index"));
    let mut overlaid = Policy::for_tree(&open(&repo), Some(&old), &PolicySettings::default()).unwrap();
    overlaid.replace_file(".codeweaverignore".into(), Some(b"b.rs\n".to_vec()));
    assert_eq!((decided(&overlaid, "a.rs"), decided(&overlaid, "b.rs")), ("index", "ignored"));
    overlaid.replace_file(".codeweaverignore".into(), None);
    overlaid.replace_file("new/.gitattributes".into(), Some(b"* linguist-generated\n".to_vec()));
    assert_eq!((decided(&overlaid, "a.rs"), decided(&overlaid, "new/b.rs")), ("index", "generated"));
}

#[cfg(unix)]
#[test]
fn hostile_policy_files_and_paths_do_no_harm() {
    let repo = TestRepo::with_files(&[(".codeweaverignore", "[\n!\n/\n\\\n***/**\n"), ("a.rs", "a\n")]);
    repo.symlink(".gitattributes", "/etc/passwd");
    repo.commit("link");
    let policy = policy(&repo);
    decided(&policy, "a.rs");
    for path in ["", "/", "a//b", "../x", "/etc/passwd", &"d/".repeat(5_000), "\u{1b}[31m"] {
        policy.decide_path(path.trim_start_matches('/').into(), Mode::File);
    }
}

#[test]
fn changes_of_policy_files_govern_their_directory() {
    for (path, governed) in [
        (".gitattributes", Some("")),
        ("a/b/.codeweaverignore", Some("a/b/")),
        ("a/go.mod", Some("a/vendor/")),
        ("go.mod", None),
        ("a/b.rs", None),
        (".gitignore", None),
    ] {
        assert_eq!(governs(path.into()), governed.map(BString::from), "{path}");
    }
}

#[test]
fn fingerprints_follow_the_settings() {
    let base = settings_fingerprint(&PolicySettings::default());
    assert_eq!(base.len(), 32);
    assert_eq!(base, settings_fingerprint(&PolicySettings::default()));
    let other = PolicySettings { exclude: vec!["x".into()], ..Default::default() };
    assert_ne!(base, settings_fingerprint(&other));
}

#[test]
fn threads_agree() {
    let repo = TestRepo::with_files(&[
        (".codeweaverignore", "gen\n"),
        ("a/b/c/d.rs", "x\n"),
        ("a/gen/x.rs", "x\n"),
        ("e/f/.gitattributes", "* linguist-vendored\n"),
        ("e/f/g/h.rs", "x\n"),
    ]);
    let policy = policy(&repo);
    let files = walk_tree(&open(&repo), &head_tree(&repo)).unwrap();
    let decide = || files.iter().map(|f| policy.decide_path(f.path.as_ref(), f.mode)).collect::<Vec<_>>();
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(decide)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(decided(&policy, "a/gen/x.rs"), "ignored");
    assert_eq!(decided(&policy, "e/f/g/h.rs"), "vendored");
}

/// Each run of `**/` multiplies the time of a match; one line of a hostile repository could take hours.
#[test]
fn runs_of_double_stars_are_one() {
    let deep = format!("{}n.f", "a/b/c/d/".repeat(40));
    for (many, one) in [("**/", "**/"), ("*/**/", "*/**/"), ("x/**/", "x/**/"), ("/**/", "/**/")] {
        for end in ["*.c", "n.f", "d/*"] {
            let pattern = format!("{many}{}{end}", "**/".repeat(60));
            let verdict = |text: String, path: &str| {
                Globs::from_ignore_file(format!("{text}\n").as_bytes()).verdict(path.into(), false)
            };
            for path in [deep.as_str(), "n.f", "x/n.f", "x/y/n.f", "d/n.f", "a.c"] {
                let expected = verdict(format!("{one}{end}"), path);
                assert_eq!(verdict(pattern.clone(), path), expected, "{pattern} {path}");
            }
        }
    }
}

/// A failure here means that the policy is evaluated anew for every existing index.
#[test]
fn the_serialised_settings_are_pinned() {
    let settings = PolicySettings {
        include: vec!["a".into()],
        file_extensions: [("x".to_owned(), "c".to_owned())].into(),
        ..PolicySettings::default()
    };
    let json = r#"{"include":["a"],"exclude":[],"file_extensions":{"x":"c"},"max_blob_bytes":1048576,"include_secrets":[],"include_generated_docs":false}"#;
    assert_eq!(serde_json::to_string(&settings).unwrap(), json);
}
