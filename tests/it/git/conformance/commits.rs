//! Rows about commits, branches, worktrees and operations of git.

use codeweaver_testkit::TestRepo;

use super::Seen::{At, In, Nowhere};
use super::{HERE, Row, function, plumbed};

pub const ROWS: &[Row] = &[
    Row {
        name: "branch switch",
        make: |r| {
            r.git(["switch", "-q", "-c", "other"])
                .write("src/alpha.rs", function("alpha_on_other", 1))
                .commit("other");
            r.git(["switch", "-q", "main"]).write("src/beta.rs", function("beta_on_main", 1)).commit("main");
            vec![
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
                At(HERE, "beta_on_main", "src/beta.rs", "committed"),
                Nowhere(HERE, "alpha_on_other"),
                Nowhere(HERE, "beta_original"),
                In("other", "alpha_on_other", "src/alpha.rs"),
            ]
        },
    },
    Row {
        name: "branch switch and back",
        make: |r| {
            r.git(["switch", "-q", "-c", "other"])
                .write("src/alpha.rs", function("alpha_on_other", 1))
                .commit("other");
            r.codeweaver(["index", "-q"]).success();
            r.git(["switch", "-q", "main"]);
            vec![At(HERE, "alpha_original", "src/alpha.rs", "committed"), Nowhere(HERE, "alpha_on_other")]
        },
    },
    Row {
        name: "detached HEAD",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_second", 1)).commit("second");
            r.codeweaver(["index", "-q"]).success();
            r.git(["checkout", "-q", "--detach", "HEAD~1"]);
            vec![
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
                Nowhere(HERE, "alpha_second"),
                In("main", "alpha_second", "src/alpha.rs"),
            ]
        },
    },
    Row {
        name: "orphan branch without a commit",
        make: |r| {
            r.git(["switch", "-q", "--orphan", "empty"]).write("src/new.rs", function("new_untracked", 1));
            vec![At(HERE, "new_untracked", "src/new.rs", "untracked"), Nowhere(HERE, "alpha_original")]
        },
    },
    Row {
        name: "linked worktree",
        make: |r| {
            r.git(["worktree", "add", "-q", "../side", "-b", "side"]);
            let side = r.at("../side");
            side.write("src/alpha.rs", function("alpha_in_side", 1)).commit("side");
            side.write("src/beta.rs", function("beta_dirty_in_side", 1))
                .write("src/new.rs", function("new_in_side", 1));
            r.write("src/gamma.rs", function("gamma_dirty_here", 1));
            vec![
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
                At(HERE, "gamma_dirty_here", "src/gamma.rs", "dirty"),
                Nowhere(HERE, "alpha_in_side"),
                Nowhere(HERE, "beta_dirty_in_side"),
                Nowhere(HERE, "new_in_side"),
                At("../side", "alpha_in_side", "src/alpha.rs", "committed"),
                At("../side", "beta_dirty_in_side", "src/beta.rs", "dirty"),
                At("../side", "new_in_side", "src/new.rs", "untracked"),
                At("../side", "gamma_original", "src/gamma.rs", "committed"),
                Nowhere("../side", "gamma_dirty_here"),
                Nowhere("../side", "alpha_original"),
            ]
        },
    },
    Row {
        name: "stash",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_stashed", 1)).git(["stash", "-q"]);
            vec![
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
                Nowhere(HERE, "alpha_stashed"),
                In("stash@{0}", "alpha_stashed", "src/alpha.rs"),
            ]
        },
    },
    Row {
        name: "stash pop",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_stashed", 1)).git(["stash", "-q"]);
            r.write("src/beta.rs", function("beta_second", 1)).commit("second").git(["stash", "pop", "-q"]);
            vec![
                At(HERE, "alpha_stashed", "src/alpha.rs", "dirty"),
                At(HERE, "beta_second", "src/beta.rs", "committed"),
                Nowhere(HERE, "alpha_original"),
            ]
        },
    },
    Row {
        name: "rebase stopped by a conflict",
        make: |r| {
            conflicting_branches(r);
            assert!(!r.command("git").args(["rebase", "-q", "main"]).output().unwrap().status.success());
            vec![
                At(HERE, "alpha_on_main", "src/alpha.rs", "dirty"),
                At(HERE, "alpha_on_other", "src/alpha.rs", "dirty"),
                At(HERE, "beta_on_main", "src/beta.rs", "committed"),
                In("other", "alpha_on_other", "src/alpha.rs"),
            ]
        },
    },
    Row {
        name: "rebase finished",
        make: |r| {
            conflicting_branches(r);
            assert!(!r.command("git").args(["rebase", "-q", "main"]).output().unwrap().status.success());
            r.write("src/alpha.rs", function("alpha_resolved", 1))
                .git(["add", "-A"])
                .git(["rebase", "--continue"]);
            vec![
                At(HERE, "alpha_resolved", "src/alpha.rs", "committed"),
                At(HERE, "beta_on_main", "src/beta.rs", "committed"),
                Nowhere(HERE, "alpha_on_other"),
            ]
        },
    },
    Row {
        name: "rebase aborted",
        make: |r| {
            conflicting_branches(r);
            assert!(!r.command("git").args(["rebase", "-q", "main"]).output().unwrap().status.success());
            r.git(["rebase", "--abort"]);
            vec![At(HERE, "alpha_on_other", "src/alpha.rs", "committed"), Nowhere(HERE, "beta_on_main")]
        },
    },
    Row {
        name: "amend",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_mistaken", 1)).commit("second");
            r.codeweaver(["index", "-q"]).success();
            r.write("src/alpha.rs", function("alpha_amended", 2))
                .git(["commit", "-q", "-a", "--amend", "-m", "amended"]);
            vec![At(HERE, "alpha_amended", "src/alpha.rs", "committed"), Nowhere(HERE, "alpha_mistaken")]
        },
    },
    Row {
        name: "merge with conflict stages",
        make: |r| {
            conflicting_branches(r);
            assert!(!r.command("git").args(["merge", "-q", "main"]).output().unwrap().status.success());
            assert_eq!(r.git_text(["ls-files", "-u"]).lines().count(), 3);
            vec![
                At(HERE, "alpha_on_main", "src/alpha.rs", "dirty"),
                At(HERE, "alpha_on_other", "src/alpha.rs", "dirty"),
                At(HERE, "beta_on_main", "src/beta.rs", "staged"),
            ]
        },
    },
    Row {
        name: "merge concluded",
        make: |r| {
            conflicting_branches(r);
            assert!(!r.command("git").args(["merge", "-q", "main"]).output().unwrap().status.success());
            r.write("src/alpha.rs", function("alpha_resolved", 4))
                .git(["commit", "-q", "-a", "-m", "merged"]);
            vec![
                At(HERE, "alpha_resolved", "src/alpha.rs", "committed"),
                At(HERE, "beta_on_main", "src/beta.rs", "committed"),
                Nowhere(HERE, "alpha_on_other"),
            ]
        },
    },
    Row {
        name: "partial commit with other files dirty",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_dirty", 1))
                .write("src/beta.rs", function("beta_committed", 1));
            r.git(["commit", "-q", "-m", "only beta", "src/beta.rs"]);
            vec![
                At(HERE, "alpha_dirty", "src/alpha.rs", "dirty"),
                At(HERE, "beta_committed", "src/beta.rs", "committed"),
                Nowhere(HERE, "alpha_original"),
            ]
        },
    },
    Row {
        name: "part of a file staged",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_staged", 1)).git(["add", "-A"]);
            r.write("src/alpha.rs", function("alpha_after_staging", 2))
                .write("src/beta.rs", function("beta_staged", 5));
            r.git(["add", "src/beta.rs"]);
            vec![
                At(HERE, "alpha_after_staging", "src/alpha.rs", "dirty"),
                Nowhere(HERE, "alpha_staged"),
                At(HERE, "beta_staged", "src/beta.rs", "staged"),
            ]
        },
    },
    Row {
        name: "reset --soft, --mixed, --hard",
        make: |r| {
            for name in ["one", "two", "three"] {
                r.write(&format!("src/{name}.rs"), function(&format!("{name}_added"), 1)).commit(name);
            }
            r.codeweaver(["index", "-q"]).success();
            r.git(["reset", "-q", "--hard", "HEAD~1"])
                .git(["reset", "-q", "--mixed", "HEAD~1"])
                .git(["reset", "-q", "--soft", "HEAD~1"]);
            vec![
                Nowhere(HERE, "three_added"),
                At(HERE, "two_added", "src/two.rs", "untracked"),
                At(HERE, "one_added", "src/one.rs", "staged"),
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
            ]
        },
    },
    Row {
        name: "cherry-pick and revert",
        make: |r| {
            r.git(["switch", "-q", "-c", "other"])
                .write("src/new.rs", function("new_picked", 1))
                .commit("new");
            r.git(["switch", "-q", "main"]).write("src/beta.rs", function("beta_reverted", 1)).commit("beta");
            r.git(["cherry-pick", "other"]).git(["revert", "--no-edit", "HEAD~1"]);
            vec![
                At(HERE, "new_picked", "src/new.rs", "committed"),
                At(HERE, "beta_original", "src/beta.rs", "committed"),
                Nowhere(HERE, "beta_reverted"),
            ]
        },
    },
    Row {
        name: "submodule bump",
        make: |r| {
            let sub = r.path("../module");
            std::fs::create_dir_all(&sub).unwrap();
            let origin = r.at("../module");
            origin
                .git(["init", "-q", "-b", "main"])
                .write("sub.rs", function("sub_first", 1))
                .commit("first");
            r.git([
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "add",
                sub.to_str().unwrap(),
                "sub",
            ])
            .commit("sub");
            r.codeweaver(["index", "-q"]).success();
            let inside = r.at("sub");
            inside.codeweaver(["init", "--no-hooks"]).success();
            inside.write("sub.rs", function("sub_second", 2)).commit("second");
            r.write("src/beta.rs", function("beta_with_bump", 1)).commit("bump");
            vec![
                Nowhere(HERE, "sub_first"),
                Nowhere(HERE, "sub_second"),
                At(HERE, "beta_with_bump", "src/beta.rs", "committed"),
                At("sub", "sub_second", "sub.rs", "committed"),
                Nowhere("sub", "sub_first"),
                Nowhere("sub", "alpha_original"),
            ]
        },
    },
    Row {
        name: "shallow clone",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_second", 1)).commit("second");
            let url = format!("file://{}", r.root().display());
            r.git(["clone", "-q", "--depth=1", &url, "../shallow"]);
            let shallow = r.at("../shallow");
            shallow.codeweaver(["init", "--no-hooks"]).success();
            shallow.write("src/beta.rs", function("beta_in_shallow", 1)).commit("third");
            shallow.codeweaver(["search", "--rev", "HEAD~2", "alpha"]).is_an_error("HEAD~2", "");
            vec![
                At("../shallow", "alpha_second", "src/alpha.rs", "committed"),
                At("../shallow", "beta_in_shallow", "src/beta.rs", "committed"),
                Nowhere("../shallow", "alpha_original"),
            ]
        },
    },
    Row {
        name: "hooks disabled: a commit of a GUI or CI",
        make: |r| {
            r.codeweaver(["init"]).success();
            r.write("src/alpha.rs", function("alpha_unhooked", 1)).git(["add", "-A"]);
            r.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "gui"]);
            vec![At(HERE, "alpha_unhooked", "src/alpha.rs", "committed"), Nowhere(HERE, "alpha_original")]
        },
    },
    Row {
        name: "commit by plumbing, index and files of the parent",
        make: |r| {
            plumbed(r, "src/new.rs", "new_by_plumbing");
            vec![
                In("HEAD", "new_by_plumbing", "src/new.rs"),
                Nowhere(HERE, "new_by_plumbing"),
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
            ]
        },
    },
    Row {
        name: "commit by plumbing, checked out",
        make: |r| {
            plumbed(r, "src/new.rs", "new_by_plumbing");
            r.git(["read-tree", "HEAD"]).git(["checkout-index", "-a", "-f"]);
            vec![
                At(HERE, "new_by_plumbing", "src/new.rs", "committed"),
                At(HERE, "alpha_original", "src/alpha.rs", "committed"),
            ]
        },
    },
    Row {
        name: "branch of the working tree moved by a push",
        make: |r| {
            r.git(["clone", "-q", r.root().to_str().unwrap(), "../clone"]);
            r.at("../clone").write("src/alpha.rs", function("alpha_pushed", 1)).commit("pushed");
            r.git(["config", "receive.denyCurrentBranch", "updateInstead"]);
            r.at("../clone").git(["push", "-q", "origin", "main"]);
            vec![At(HERE, "alpha_pushed", "src/alpha.rs", "committed"), Nowhere(HERE, "alpha_original")]
        },
    },
    Row {
        name: "objects packed and pruned",
        make: |r| {
            r.write("src/alpha.rs", function("alpha_lost", 1)).commit("lost");
            r.codeweaver(["index", "-q"]).success();
            r.git(["reset", "-q", "--hard", "HEAD~1"]).git(["reflog", "expire", "--expire=now", "--all"]);
            r.git(["gc", "-q", "--prune=now"]);
            vec![At(HERE, "alpha_original", "src/alpha.rs", "committed"), Nowhere(HERE, "alpha_lost")]
        },
    },
];

/// `other` is checked out; it and `main` have changed the same line of one file, and `main` another file.
fn conflicting_branches(repo: &TestRepo) {
    repo.git(["switch", "-q", "-c", "other"])
        .write("src/alpha.rs", function("alpha_on_other", 3))
        .commit("other");
    repo.git(["switch", "-q", "main"]).write("src/alpha.rs", function("alpha_on_main", 3));
    repo.write("src/beta.rs", function("beta_on_main", 1)).commit("main").git(["switch", "-q", "other"]);
}
