use super::*;
use crate::testing::{OpenRepo as _, TestRepo};

fn repo() -> TestRepo {
    TestRepo::with_files(&[("lib/a/b.rs", "1\n"), ("src/c.rs", "2\n"), ("lib/[id]/page.ts", "3\n")])
}

#[test]
fn braces_stand_for_alternatives() {
    for (text, expected) in [
        ("src/**", vec!["src/**"]),
        ("{a,b}/**", vec!["a/**", "b/**"]),
        ("x.{c,h}", vec!["x.c", "x.h"]),
        ("{a,b{1,2}}.rs", vec!["a.rs", "b1.rs", "b2.rs"]),
        ("app/{id}/x", vec!["app/{id}/x"]),
        ("{a,b", vec!["{a,b"]),
        ("{id}/{a,b}", vec!["{id}/a", "{id}/b"]),
        ("{,a}x", vec!["x", "ax"]),
    ] {
        assert_eq!(expand_braces(text), expected, "{text}");
    }
    let many = "{0,1,2,3,4,5,6,7,8,9}".repeat(4);
    assert_eq!(expand_braces(&many), [many]);
}

#[test]
fn a_directory_is_entered_only_if_it_may_contain_a_match() {
    let repo = TestRepo::with_files(&[("src/a/x.rs", "")]);
    let root = Prefix::root(&repo.open());
    for (spec, directory, expected) in [
        ("src/a", "src", true),
        ("src/a", "src/a/b", true),
        ("src/a", "src/ab", false),
        ("src/a", "docs", false),
        ("src/*/x.rs", "src/a", true),
        ("src/*/x.rs", "docs", false),
        ("src/a*", "src", true),
        ("*.rs", "docs", true),
        ("**/x.rs", "docs", true),
        ("x.rs", "docs", true),
        ("src/", "src/a", true),
        (":/", "any", true),
    ] {
        let pathspec = root.pathspec(spec).unwrap();
        assert_eq!(pathspec.may_match_below(directory.as_bytes()), expected, "{spec} {directory}");
    }
    let plain = root.pathspec("src").unwrap();
    assert!(plain.matches(b"docs/src") && !plain.clone().rooted().matches(b"docs/src"));
    assert!(plain.clone().rooted().matches(b"src/a/x.rs") && !plain.rooted().may_match_below(b"docs"));
}

#[test]
fn files_are_relative_to_the_current_directory() {
    let repo = repo();
    let prefix = |dir: &str| Prefix::new(&repo.open(), &repo.path(dir));
    let root = repo.root().to_str().unwrap();
    for (dir, typed, expected) in [
        ("lib", "a/b.rs", "lib/a/b.rs"),
        ("lib", "./a//b.rs", "lib/a/b.rs"),
        ("lib/a", "../../src/c.rs", "src/c.rs"),
        ("lib", ":/src/c.rs", "src/c.rs"),
        ("lib", ":(top)src/c.rs", "src/c.rs"),
        ("lib", "[id]/page.ts", "lib/[id]/page.ts"),
        ("lib", "./:odd", "lib/:odd"),
        ("lib", &format!("{root}/src/c.rs"), "src/c.rs"),
        ("lib", &format!("{root}/lib/../src/c.rs"), "src/c.rs"),
        (".git", "src/c.rs", "src/c.rs"),
        ("..", "src/c.rs", "src/c.rs"),
        (".", "src/c.rs", "src/c.rs"),
    ] {
        assert_eq!(prefix(dir).file(typed).as_deref(), Ok(expected), "{typed} in {dir}");
    }
    for typed in ["../../x", "/etc/passwd", ":/../x", "/", &format!("{root}/../x"), &format!("{root}x")] {
        let error = prefix("lib").file(typed).unwrap_err();
        assert!(matches!(error, PathspecError::Outside { .. }), "{typed}: {error:?}");
    }
    for typed in ["", "a\0b", ":!a", ":(glob)a", ":(icase)a", ":(attr:x)a", ":(nonsense)a", ":(top"] {
        assert!(prefix("lib").file(typed).is_err(), "{typed:?}");
    }
}

#[test]
#[cfg(unix)]
fn absolute_paths_through_a_link_to_the_root_are_inside() {
    let repo = repo();
    let link = repo.beside("link");
    std::os::unix::fs::symlink(repo.root(), &link).unwrap();
    let prefix = Prefix::new(&repo.open(), repo.root());
    let typed = link.join("lib/a/none.rs");
    assert_eq!(prefix.file(typed.to_str().unwrap()).as_deref(), Ok("lib/a/none.rs"));
}

#[test]
fn a_bare_repository_has_only_paths_from_its_root() {
    let repo = repo();
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.open_at("../bare.git");
    let prefix = Prefix::new(&bare, &bare.git_dir().join("refs/heads"));
    assert_eq!(prefix.file("src/c.rs").as_deref(), Ok("src/c.rs"));
    assert_eq!(prefix.on_disk("src/c.rs"), None);
    let inside = bare.git_dir().join("src/c.rs");
    assert!(prefix.file(inside.to_str().unwrap()).is_err());
}

#[test]
fn shown_paths_name_the_same_file_from_here() {
    let repo = repo();
    for dir in [".", "lib", "lib/a", "src"] {
        let prefix = Prefix::new(&repo.open(), &repo.path(dir));
        for path in [
            "lib/a/b.rs",
            "lib/[id]/page.ts",
            "src/c.rs",
            "library.rs",
            "lib/a/tab\tbed.rs",
            "src/\"quoted\".rs",
            "\"lib/a/\\377.rs\"",
            "lib/a/-dash.rs",
            ":colon.rs",
            "src/c.rs:12",
        ] {
            assert_eq!(prefix.file(&prefix.shown(path)).as_deref(), Ok(path), "{path} in {dir}");
        }
    }
    let shown = |dir: &str, path| Prefix::new(&repo.open(), &repo.path(dir)).shown(path);
    assert_eq!(shown("lib/a", "lib/a/b.rs"), "b.rs");
    assert_eq!(shown("lib/a", "src/c.rs"), "../../src/c.rs");
    assert_eq!(shown("lib", "library.rs"), "../library.rs");
}

#[test]
fn globs_mean_what_users_expect() {
    let repo = repo();
    let cases = [
        (".", "src", "src/a/b.rs", true),
        (".", "src/", "src/a/b.rs", true),
        (".", "src/", "src", false),
        (".", "sr", "src/a.rs", false),
        (".", "*.rs", "src/a/b.rs", true),
        (".", "*test*", "app/tests/b.rs", true),
        (".", "**/*test*", "app/tests/b.rs", true),
        (".", "app/te*", "app/tests/b.rs", true),
        (".", "te*/", "app/tests/b.rs", true),
        (".", "b*/", "app/tests/b.rs", false),
        (".", "tests", "app/tests/b.rs", false),
        (".", "src/*.rs", "src/a/b.rs", false),
        (".", "src/**/*.rs", "src/a/b.rs", true),
        (".", "src/**", "src/a/b.rs", true),
        (".", "**/b.rs", "src/a/b.rs", true),
        (".", "./src", "src/a.rs", true),
        (".", "*.py", "src/a.rs", false),
        (".", ".", "src/a.rs", true),
        (".", "packages/*/src", "packages/a/src/b.ts", true),
        (".", "packages/*/", "packages/a/src/b.ts", true),
        (".", "packages/*", "packages/a/src/b.ts", false),
        (".", ":(glob)*.rs", "src/b.rs", false),
        (".", ":(glob)*.rs", "b.rs", true),
        (".", ":(literal)*.rs", "b.rs", false),
        (".", "app/[id]", "app/[id]/page.ts", true),
        ("lib", ".", "lib/a.rs", true),
        ("lib", ".", "src/a.rs", false),
        ("lib", "a", "lib/a/b.rs", true),
        ("lib", "*.rs", "lib/a/b.rs", true),
        ("lib", "*.rs", "src/a.rs", false),
        ("lib", "../src", "src/a.rs", true),
        ("lib", "..", "src/a.rs", true),
        ("lib", ":/src", "src/a.rs", true),
        ("lib", ":/", "src/a.rs", true),
        ("lib", ":/*.rs", "src/a/b.rs", true),
        ("lib/[id]", "*.ts", "lib/[id]/page.ts", true),
        ("lib/[id]", "*.ts", "lib/i/page.ts", false),
    ];
    for (dir, typed, path, expected) in cases {
        let spec = Prefix::new(&repo.open(), &repo.path(dir)).pathspec(typed).unwrap();
        assert_eq!(spec.matches(path.as_bytes()), expected, "{typed} in {dir} on {path}");
    }
}

#[test]
fn exclusion_is_part_of_the_pathspec() {
    let repo = repo();
    let prefix = Prefix::new(&repo.open(), &repo.path("lib"));
    for typed in [":!a", ":^a", ":(exclude)a"] {
        let spec = prefix.pathspec(typed).unwrap();
        assert!(spec.is_exclude() && spec.matches(b"lib/a/b.rs"), "{typed}");
    }
    assert_eq!(prefix.pathspec("*.rs").unwrap().to_string(), "lib/*.rs");
    assert_eq!(prefix.pathspec(":/").unwrap().to_string(), ":/");
    assert!(prefix.pathspec(":(icase)x").unwrap_err().why().contains("icase"));
}
