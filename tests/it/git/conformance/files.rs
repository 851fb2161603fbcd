//! Rows about files: types, conversions and times.

use codeweaver_testkit::TestRepo;

use super::Seen::{At, In, Nowhere};
use super::{HERE, Row, function};

pub const ROWS: &[Row] = &[
    Row {
        name: "file shrunk",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_behind_much", 400)).commit("long");
            r.codeweaver(["index", "-q"]).success();
            r.write("src/alpha.rs", function("alpha_behind_much", 0));
            vec![At(HERE, "alpha_behind_much", "src/alpha.rs", "dirty")]
        },
    },
    Row {
        name: "file deleted, staged for deletion, deleted by a commit",
        make: |r| {
            r.remove("src/alpha.rs").git(["rm", "-q", "src/beta.rs"]);
            r.git(["commit", "-q", "-m", "gone", "src/beta.rs"]).git(["rm", "-q", "src/gamma.rs"]);
            vec![
                Nowhere(HERE, "alpha_original"),
                Nowhere(HERE, "beta_original"),
                Nowhere(HERE, "gamma_original"),
                In("HEAD", "gamma_original", "src/gamma.rs"),
                In("HEAD~1", "beta_original", "src/beta.rs"),
            ]
        },
    },
    Row {
        name: "file deleted but kept in the working tree",
        make: |r| {
            r.git(["rm", "-q", "--cached", "src/alpha.rs"]);
            vec![At(HERE, "alpha_original", "src/alpha.rs", "committed")]
        },
    },
    Row {
        name: "renamed with edits",
        make: |r| {
            r.git(["mv", "src/alpha.rs", "src/moved.rs"]).write("src/moved.rs", function("alpha_moved", 5));
            r.git(["mv", "src/beta.rs", "src/also.rs"]).git([
                "commit",
                "-q",
                "-m",
                "moved",
                "src/also.rs",
                "src/beta.rs",
            ]);
            vec![
                At(HERE, "alpha_moved", "src/moved.rs", "dirty"),
                Nowhere(HERE, "alpha_original"),
                At(HERE, "beta_original", "src/also.rs", "committed"),
            ]
        },
    },
    Row {
        name: "case-only rename",
        make: |r| {
            r.git(["mv", "src/alpha.rs", "src/Alpha.rs"]).commit("case");
            vec![At(HERE, "alpha_original", "src/Alpha.rs", "committed")]
        },
    },
    Row {
        name: "file and directory swapped",
        make: |r| {
            r.remove("src/alpha.rs").write("src/alpha.rs/inner.rs", function("inner_of_directory", 1));
            vec![
                At(HERE, "inner_of_directory", "src/alpha.rs/inner.rs", "untracked"),
                Nowhere(HERE, "alpha_original"),
            ]
        },
    },
    Row {
        name: "mode change",
        make: |r| {
            set_mode(r, "src/alpha.rs", 0o755);
            set_mode(r, "src/beta.rs", 0o755);
            r.git(["commit", "-q", "-m", "mode", "src/beta.rs"]);
            vec![
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
                At(HERE, "beta_original", "src/beta.rs", "committed"),
            ]
        },
    },
    Row {
        name: "symlink swapped for a file and back",
        make: |r| {
            std::os::unix::fs::symlink("beta.rs", r.path("src/link.rs")).unwrap();
            r.commit("link").remove("src/link.rs").write("src/link.rs", function("link_made_a_file", 1));
            r.remove("src/alpha.rs");
            std::os::unix::fs::symlink("gamma.rs", r.path("src/alpha.rs")).unwrap();
            vec![
                At(HERE, "link_made_a_file", "src/link.rs", "dirty"),
                Nowhere(HERE, "alpha_original"),
                At(HERE, "gamma_original", "src/gamma.rs", "committed"),
                At(HERE, "beta_original", "src/beta.rs", "committed"),
            ]
        },
    },
    Row {
        name: "line endings converted by attributes",
        make: |r| {
            r.write(".gitattributes", "*.rs text eol=crlf\n").commit("attributes");
            for name in ["alpha", "beta", "gamma"] {
                r.remove(&format!("src/{name}.rs"));
            }
            r.git(["checkout", "-q", "--", "src"]);
            assert!(r.read("src/alpha.rs").contains("\r\n"));
            r.write("src/beta.rs", function("beta_with_crlf", 2).replace('\n', "\r\n"));
            vec![
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
                At(HERE, "beta_with_crlf", "src/beta.rs", "dirty"),
            ]
        },
    },
    Row {
        name: "encoding converted by attributes",
        make: |r| {
            let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
            r.write(".gitattributes", "wide.rs working-tree-encoding=UTF-16LE\n");
            r.write("wide.rs", utf16(&function("wide_committed", 1)))
                .write("src/beta.rs", function("beta_beside", 1))
                .commit("wide");
            vec![In("HEAD", "wide_committed", "wide.rs"), At(HERE, "beta_beside", "src/beta.rs", "committed")]
        },
    },
    Row {
        name: "sparse checkout",
        make: |r| {
            r.git(["sparse-checkout", "set", "--no-cone", "/docs/", "/src/beta.rs"]);
            assert!(!r.path("src/alpha.rs").exists());
            r.write("src/beta.rs", function("beta_dirty", 1));
            vec![
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
                At(HERE, "beta_dirty", "src/beta.rs", "dirty"),
            ]
        },
    },
    Row {
        name: "clock skew: an edit that keeps size and time",
        make: |r| {
            let path = r.path("src/alpha.rs");
            let then = std::fs::metadata(&path).unwrap().modified().unwrap();
            r.write("src/alpha.rs", function("alpha_originel", 3));
            let file = std::fs::File::options().append(true).open(path).unwrap();
            file.set_modified(then).unwrap();
            vec![At(HERE, "alpha_originel", "src/alpha.rs", "dirty"), Nowhere(HERE, "alpha_original")]
        },
    },
    Row {
        name: "clock skew: files and commits of another time",
        make: |r| {
            for (name, year) in [("alpha", 1_u64), ("beta", 200)] {
                r.write(&format!("src/{name}.rs"), function(&format!("{name}_of_another_time"), 1));
                let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(year * 365 * 24 * 3600);
                std::fs::File::options()
                    .append(true)
                    .open(r.path(&format!("src/{name}.rs")))
                    .unwrap()
                    .set_modified(at)
                    .unwrap();
            }
            let dates =
                [("GIT_AUTHOR_DATE", "@9999999999 +0000"), ("GIT_COMMITTER_DATE", "@9999999999 +0000")];
            let done = r
                .command("git")
                .args(["commit", "-q", "-m", "skew", "src/alpha.rs"])
                .envs(dates)
                .status()
                .unwrap();
            assert!(done.success());
            vec![
                At(HERE, "alpha_of_another_time", "src/alpha.rs", "committed"),
                At(HERE, "beta_of_another_time", "src/beta.rs", "dirty"),
            ]
        },
    },
    Row {
        name: "ignored files",
        make: |r| {
            r.write(".gitignore", "*.tmp.rs\n").write("src/a.tmp.rs", function("ignored_word", 1));
            r.write("src/b.rs", function("untracked_word", 1));
            vec![Nowhere(HERE, "ignored_word"), At(HERE, "untracked_word", "src/b.rs", "untracked")]
        },
    },
];

fn set_mode(repo: &TestRepo, path: &str, mode: u32) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(repo.path(path), mode).unwrap();
}
