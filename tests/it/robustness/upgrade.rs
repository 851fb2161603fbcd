//! Stores and hooks that released programs wrote, as fixtures: this program uses them, or makes the store
//! again from git, and answers right either way.
//!
//! `CODEWEAVER_UPDATE_FIXTURES=1` writes those of the present version (`docs/releasing.md`).

use std::fs;
use std::path::{Path, PathBuf};

use codeweaver_testkit::{FILES, TestRepo, program};

/// Entries of a store that are not kept: those of one machine, and the file that hides the store from git.
const NOT_KEPT: [&str; 5] = ["cache", "locks", "logs", "tmp", ".gitignore"];

/// The repository of the fixtures, whose objects have the same names everywhere.
fn repo() -> TestRepo {
    let date = "2026-01-01T00:00:00Z";
    let repo = TestRepo::init().env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    for (path, text) in FILES {
        repo.write(path, text);
    }
    repo.commit("first");
    repo
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/upgrade")
}

/// Copies a directory without the entries that are not kept.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        let target = to.join(&name);
        if NOT_KEPT.iter().any(|kept| name == *kept) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes the store and a hook of this program.
fn write_fixture() {
    let repo = repo();
    repo.codeweaver(["init"]).success();
    repo.wait_until_current();

    let fixture = fixtures().join(env!("CARGO_PKG_VERSION"));
    let _ = fs::remove_dir_all(&fixture);
    copy(&repo.path(".codeweaver"), &fixture.join("store"));
    let hook = repo.read(".git/hooks/post-commit");
    let hook = hook.replace(program().to_str().unwrap(), "git-codeweaver");
    fs::write(fixture.join("post-commit"), hook).unwrap();
}

/// The fixtures by version, oldest first.
fn versions() -> Vec<PathBuf> {
    let mut versions: Vec<PathBuf> =
        fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()).collect();
    versions.sort();
    assert!(!versions.is_empty(), "there is a fixture");
    versions
}

/// A repository with the store and the hook of a fixture; the program is on the path.
fn with_fixture(fixture: &Path) -> TestRepo {
    let directory = program().parent().unwrap().display().to_string();
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap());
    let repo = repo().env("PATH", &path);
    copy(&fixture.join("store"), &repo.path(".codeweaver"));
    // The one file that a commit of the fixture leaves out.
    repo.write(".codeweaver/.gitignore", "*\n");
    // The store of a repository has the same nonce as its git directory.
    fs::copy(fixture.join("store/nonce"), repo.path(".git/codeweaver-nonce")).unwrap();
    fs::create_dir_all(repo.path(".git/hooks")).unwrap();
    fs::copy(fixture.join("post-commit"), repo.path(".git/hooks/post-commit")).unwrap();
    repo.executable(".git/hooks/post-commit");
    repo
}

#[test]
fn a_store_of_an_earlier_version_is_used_or_made_again() {
    if std::env::var_os("CODEWEAVER_UPDATE_FIXTURES").is_some() {
        write_fixture();
    }

    for fixture in versions() {
        let repo = with_fixture(&fixture);
        assert_eq!(repo.found(&["split a header line"])[0], "src/parse.rs", "{}", fixture.display());
        repo.codeweaver(["search", "--mode", "exact", "ConnectionError"]).success().says(&["src/retry.py"]);
        repo.codeweaver(["graph", "definitions", "parse_header"]).success().says(&["src/parse.rs"]);

        // Whatever was kept of it is sound, and is what a fresh index has.
        repo.codeweaver(["index"]).success();
        repo.codeweaver(["verify", "--recompute", "100%"]).success();
        assert_eq!(repo.found(&["split a header line"])[0], "src/parse.rs");
    }
}

#[test]
fn the_store_of_the_present_version_is_used_as_it_is() {
    let repo = with_fixture(&fixtures().join(env!("CARGO_PKG_VERSION")));
    let printed = repo.codeweaver(["index", "--json"]).success().stdout();
    let done: serde_json::Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!((&done["known"], &done["embedded_chunks"]), (&true.into(), &0.into()), "{printed}");
}

#[test]
fn a_hook_of_an_earlier_version_goes_on_working() {
    for fixture in versions() {
        let repo = with_fixture(&fixture);
        repo.write(
            "src/added.rs",
            "/// Rounds a price to whole cents.\npub fn round_price(price: f64) -> f64 {\n    price\n}\n",
        );
        repo.commit("second");
        repo.wait_until_current();

        assert_eq!(
            repo.found(&["--committed", "round a price to cents"])[0],
            "src/added.rs",
            "{}",
            fixture.display()
        );
    }
}
