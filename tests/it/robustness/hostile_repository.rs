//! Hostile repositories: nothing in them is executed, nothing outside is read or changed, nothing acts on the
//! terminal, and every command ends with an answer or an error with a fix.
//!
//! Each world is a home directory: `repo` is hostile, `outside` contains a secret that must not be shown, and
//! the canary is a file that any command of the repository would create.

mod stores;

use std::path::{Path, PathBuf};
use std::process::Command;

use gix::objs::{Kind, Write as _};

use codeweaver_testkit::{FILES, Run, TestRepo, program};

const SECRET: &str = "fn the_secret_outside_of_it_all() {}";

struct World {
    repo: TestRepo,
    /// Writes objects of any content, without a process for each.
    objects: gix::Repository,
    outside: PathBuf,
    canary: PathBuf,
}

/// Limits on the time and memory of a run.
const LIMITS: &str = "ulimit -v 6000000; exec timeout -k 5 120 \"$@\"";

impl World {
    fn new() -> World {
        let repo = TestRepo::with_files(FILES);
        let outside = repo.root().with_file_name("outside");
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("secret.rs"), format!("/// Secret.\n{SECRET}\n")).unwrap();
        let canary = repo.root().with_file_name("canary");
        let objects = gix::open_opts(repo.root(), gix::open::Options::isolated()).unwrap();
        let world = World { repo, objects, outside, canary };
        let script = format!("#!/bin/sh\ntouch '{}'\ncat 2>/dev/null\n", world.canary.display());
        world.script("evil", &script);
        world
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.repo.root().with_file_name(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn evil(&self) -> String {
        self.repo.root().with_file_name("evil").display().to_string()
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        let path = self.repo.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn set(&self, key: &str, value: &str) {
        self.repo.git(["config", key, value]);
    }

    /// Writes an object of any content and returns its id.
    fn object(&self, kind: Kind, bytes: &[u8]) -> String {
        self.objects.write_buf(kind, bytes).unwrap().to_string()
    }

    /// Writes a tree of `entries` (mode, name, id), which nothing checks.
    fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut tree = Vec::new();
        for (mode, name, oid) in entries {
            tree.extend_from_slice(mode.as_bytes());
            tree.push(b' ');
            tree.extend_from_slice(name);
            tree.push(0);
            let digit = |at: usize| u8::from_str_radix(&oid[at..at + 2], 16).unwrap();
            tree.extend((0..oid.len()).step_by(2).map(digit));
        }
        self.object(Kind::Tree, &tree)
    }

    /// Makes an unchecked commit of `entries` the head of `main`, and returns its tree.
    fn commit_tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let tree = self.tree(entries);
        let commit = format!(
            "tree {tree}\nauthor \x1b[31mE <e@e> 1 +0000\ncommitter E <e@e> 1 +0000\n\n\x1b]0;owned\x07\n"
        );
        let commit = self.object(Kind::Commit, commit.as_bytes());
        std::fs::write(self.repo.path(".git/refs/heads/main"), format!("{commit}\n")).unwrap();
        tree
    }

    /// A run under limits; its exit code and what it wrote.
    fn run(&self, args: &[&str], input: &[u8]) -> (i32, String, String) {
        let stdin = self.repo.root().with_file_name("input");
        std::fs::write(&stdin, input).unwrap();
        let mut command: Command = self.repo.command("sh");
        command.args(["-c", LIMITS, "sh"]).arg(program()).args(args);
        // Background processes must not outlive the run.
        command.env("CODEWEAVER_HOOKS", "foreground").stdin(std::fs::File::open(&stdin).unwrap());
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// Runs every command as an unsuspecting user would.
    fn use_all(&self, what: &str) {
        self.use_few(what);
        let more: &[&[&str]] = &[
            &["similar", "src/parse.rs:2"],
            &["read", "src/link.rs"],
            &["chunks", "--stats"],
            &["doctor"],
            &["config"],
            &["hook", "post-commit"],
            &["gc"],
            &["index", "main"],
            &["deinit"],
        ];
        self.use_commands(what, more);
    }

    /// Runs the commands that read the repository in different ways.
    fn use_few(&self, what: &str) {
        let commands: &[&[&str]] = &[
            &["init"],
            &["status", "--files"],
            &["search", "parse header"],
            &["search", "--rev", "HEAD", "-o", "json", "the_secret_outside_of_it_all"],
            &["outline", "src/parse.rs"],
            &["graph", "callers", "parse_header"],
            &["read", "--rev", "HEAD", "src/parse.rs"],
            &["verify"],
            &["mcp"],
        ];
        self.use_commands(what, commands);
    }

    fn use_commands(&self, what: &str, commands: &[&[&str]]) {
        let before = contents(&self.outside);
        for args in commands {
            let input = if *args == ["mcp"] { requests() } else { Vec::new() };
            self.check(what, args, &self.run(args, &input));
        }
        assert_eq!(contents(&self.outside), before, "{what}: something outside was changed");
    }

    fn check(&self, what: &str, args: &[&str], (code, stdout, stderr): &(i32, String, String)) {
        let told = format!("{what}: {args:?} ended with {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        assert!(matches!(code, 0..=2), "{told}");
        assert!(!stderr.contains("panicked"), "{told}");
        assert!(!self.canary.exists(), "a command of the repository was run: {told}");
        if *code == 2 {
            for label in ["error: ", "  why: ", "  fix: "] {
                assert!(stderr.lines().any(|line| line.starts_with(label)), "no {label:?}: {told}");
            }
        }
        let is_bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        let terminal = if *args == ["mcp"] { stderr.clone() } else { format!("{stdout}{stderr}") };
        assert!(!terminal.contains(is_bad), "something for the terminal: {told:?}");
        // The query itself names it.
        let shown = format!("{stdout}{stderr}").replace("\"the_secret_outside_of_it_all\"", "");
        assert!(!shown.contains(SECRET), "the secret was shown: {told}");
    }
}

/// An MCP session that calls every tool.
fn requests() -> Vec<u8> {
    let call = |id: u32, name: &str, arguments: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\",\"arguments\":{arguments}}}}}\n"
        )
    };
    let mut text = String::from(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\
         \"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
    );
    text += &call(2, "find_code", "{\"query\":\"parse header\"}");
    text += &call(3, "read_file", "{\"file\":\"src/link.rs\"}");
    text += &call(4, "read_file", "{\"file\":\"../outside/secret.rs\"}");
    text += &call(5, "file_outline", "{\"file\":\"src/parse.rs\"}");
    text += &call(6, "call_graph", "{\"symbol\":\"parse_header\"}");
    text += &call(7, "read_file", "{\"file\":\"src/parse.rs\",\"rev\":\"--output=x\"}");
    text += &call(8, "manage_index", "{\"action\":\"status\"}");
    text.into_bytes()
}

/// Every file below `dir` with its content.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn commands_in_the_configuration_are_never_run() {
    let world = World::new();
    let evil = world.evil();
    let hooks = world.repo.root().join("evilhooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in
        ["post-commit", "post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"]
    {
        std::fs::copy(&evil, hooks.join(hook)).unwrap();
    }
    world.repo.write(".gitattributes", "* filter=evil diff=evil merge=evil\n*.py filter=process\n");
    world.repo.write("src/dirty.rs", "pub fn dirty() {}\n");
    world.repo.git(["add", "-A"]).git(["commit", "-q", "-m", "attributes"]);
    world
        .repo
        .write("src/parse.rs", "pub fn parse_header() { changed() }\n")
        .write("src/retry.py", "changed = 1\n");
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.process.process",
        "merge.evil.driver",
        "credential.helper",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "sequence.editor",
        "interactive.diffFilter",
        "pager.config",
        "pager.rev-parse",
        "alias.rev-parse",
        "alias.config",
        "hook.evil.command",
        "remote.origin.uploadpack",
        "remote.origin.vcs",
    ] {
        world.set(key, &evil);
    }
    world.set("alias.version", &format!("!{evil}"));
    world.set("hook.evil.event", "post-commit");
    world.set("filter.evil.required", "true");
    world.set("filter.process.required", "true");
    world.set("remote.origin.url", &format!("ext::{evil}"));
    world.set("core.hooksPath", "evilhooks");
    world.set("core.untrackedCache", "true");
    world.use_all("commands in the configuration");
}

#[test]
fn a_missing_object_of_a_promisor_is_not_fetched() {
    let world = World::new();
    world.set("remote.origin.url", &format!("ext::{}", world.evil()));
    world.set("remote.origin.promisor", "true");
    world.set("remote.origin.partialclonefilter", "blob:none");
    world.set("extensions.partialClone", "origin");
    world.set("core.repositoryFormatVersion", "1");
    let oid = world.repo.git_text(["rev-parse", "HEAD:src/parse.rs"]).trim().to_owned();
    std::fs::remove_file(world.repo.path(&format!(".git/objects/{}/{}", &oid[..2], &oid[2..]))).unwrap();
    std::fs::remove_file(world.repo.path("src/parse.rs")).unwrap();
    world.use_all("a promisor");
}

#[test]
fn settings_of_a_repository_load_no_code() {
    let hostile = "[model]\nname = \"potion-base-8m\"\npath = \"/tmp/model\"\nort_library = \"/tmp/evil.so\"\n[hooks]\nmode = \"foreground\"\n[search]\nlimit = 3\n";
    let world = World::new();
    world.repo.write("codeweaver.toml", hostile);
    let (code, stdout, stderr) = world.run(&["config"], b"");
    assert_eq!(code, 0, "{stderr}");
    for line in ["model.name = \"builtin\"", "hooks.mode = \"background\"", "search.limit = 3"] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    assert!(stderr.contains("`model.ort_library` is ignored"), "{stderr}");
    world.use_all("user's keys in a repository");
    std::fs::remove_file(world.repo.path("codeweaver.toml")).unwrap();
    let laughs: String =
        (1..9).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "))).collect();
    world.repo.write("codeweaver.yaml", format!("a0: &a0 [x, x]\n{laughs}"));
    world.use_few("aliases of aliases");

    for target in ["../outside/secret.rs", "/dev/zero", "/dev/stdin", "/nonexistent"] {
        let world = World::new();
        world.link(target, "codeweaver.toml");
        world.repo.commit("settings elsewhere");
        world.use_few(&format!("settings that are a link to {target}"));
    }
    let world = World::new();
    // At most 1 MiB is read.
    world.repo.write("codeweaver.toml", vec![b'#'; 2 << 20]);
    world.use_few("settings of 2 MB");
    let pipe = world.repo.path("codeweaver.toml");
    std::fs::remove_file(&pipe).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    world.use_few("settings that are a pipe");
}

/// The pipes have no writer, so that git would wait for ever.
#[test]
fn pipes_in_place_of_pattern_files_are_not_waited_for() {
    for name in [".gitignore", "src/.gitignore", ".gitattributes", "src/.gitattributes"] {
        let world = World::new();
        assert!(Command::new("mkfifo").arg(world.repo.path(name)).status().unwrap().success());
        world.repo.write("src/parse.rs", "pub fn parse_header() { changed() }\n");
        world.repo.write("src/untracked.rs", "pub fn parse_header_again() {}\n");
        world.use_few(&format!("a pipe {name}"));
    }
}

#[test]
fn links_do_not_lead_out() {
    for target in ["../../outside/secret.rs", "/dev/zero", "link.rs", "../../../../../../../../etc/passwd"] {
        let world = World::new();
        world.link(target, "src/link.rs");
        world.link("../outside", "elsewhere");
        world.repo.commit("links");
        world.repo.write("untracked.txt", "x\n");
        world.link(target, "src/untracked.rs");
        let reads: &[&[&str]] = &[
            &["read", "elsewhere/secret.rs"],
            &["read", "src/untracked.rs"],
            &["read", "../outside/secret.rs"],
            &["read", "--rev", "HEAD", "elsewhere/secret.rs"],
            &["outline", "elsewhere/secret.rs"],
            &["chunks", "src/link.rs"],
            &["chunks", "elsewhere/secret.rs"],
            &["similar", "elsewhere/secret.rs:2"],
        ];
        for args in reads {
            world.check("a link", args, &world.run(args, b""));
        }
        world.use_few(&format!("links to {target}"));
    }
}

#[test]
fn files_that_are_read_by_name_may_be_links() {
    let names = [
        ".gitattributes",
        ".gitignore",
        ".codeweaverignore",
        ".gitmodules",
        "lefthook.yml",
        ".pre-commit-config.yaml",
        ".husky/post-commit",
        "src/.gitattributes",
        "src/.gitignore",
        ".mailmap",
    ];
    for target in ["/dev/zero", "../outside/secret.rs"] {
        let world = World::new();
        names.iter().for_each(|name| world.link(target, name));
        world.repo.git(["config", "core.hooksPath", ".husky"]);
        // Git itself refuses a link of this name in a tree.
        world.repo.git(["add", "-A", ":!.gitmodules"]).git(["commit", "-q", "--no-verify", "-m", "links"]);
        world.use_few(&format!("files of rules that lead to {target}"));
    }
}

#[test]
fn trees_that_git_would_not_make() {
    let blob = |world: &World| world.object(Kind::Blob, b"pub fn parse_header() {}\n");
    let long = vec![b'n'; 70_000];
    let names: Vec<(&str, Vec<Vec<u8>>)> = vec![
        (
            "names of git",
            vec![b".git".to_vec(), b".GIT".to_vec(), b"git~1".to_vec(), b".git\xe2\x80\x8c".to_vec()],
        ),
        (
            "ways out",
            vec![
                b"..".to_vec(),
                b".".to_vec(),
                b"../outside/secret.rs".to_vec(),
                b"/etc/passwd".to_vec(),
                b"a/../../b.rs".to_vec(),
                b"".to_vec(),
            ],
        ),
        (
            "escapes",
            vec![
                b"\x1b]0;owned\x07.rs".to_vec(),
                b"\xc2\x9b31m.rs".to_vec(),
                "\u{202e}sr.x".into(),
                b"a\nb.rs".to_vec(),
                b"\xff\xfe.rs".to_vec(),
            ],
        ),
        ("options", vec![b"-p.rs".to_vec(), b"--exec=touch.rs".to_vec(), b"--".to_vec()]),
        ("the same name", vec![b"a.rs".to_vec(), b"a.rs".to_vec(), b"a.rs".to_vec()]),
        ("no order", vec![b"z.rs".to_vec(), b"a.rs".to_vec(), b"m.rs".to_vec()]),
        ("a long name", vec![long]),
        (
            "names of Windows",
            vec![
                b"a\\..\\..\\b.rs".to_vec(),
                b"c:evil.rs".to_vec(),
                b"con".to_vec(),
                b"x.rs::$DATA".to_vec(),
            ],
        ),
    ];
    for (what, names) in names {
        let world = World::new();
        let blob = blob(&world);
        let entries: Vec<(&str, &[u8], &str)> =
            names.iter().map(|name| ("100644", name.as_slice(), blob.as_str())).collect();
        let tree = world.commit_tree(&entries);
        world.use_few(what);
        // The same as a folder.
        let entries: Vec<(&str, &[u8], &str)> =
            names.iter().map(|name| ("40000", name.as_slice(), tree.as_str())).collect();
        world.commit_tree(&entries);
        world.use_few(&format!("{what}, as folders"));
    }
    let world = World::new();
    let blob = blob(&world);
    for (what, mode) in [
        ("unknown modes", "177777"),
        ("no mode", ""),
        ("a long mode", "00000000000000000000100644"),
        ("a mode of letters", "rwxr-x"),
    ] {
        world.commit_tree(&[(mode, b"a.rs", &blob)]);
        world.use_few(what);
    }
    world.commit_tree(&[
        ("40000", b"folder", &blob),
        ("100644", b"missing.rs", &"1".repeat(40)),
        ("160000", b"module", &"2".repeat(40)),
    ]);
    world.use_few("a folder that is a file, and what is missing");
    world.object(Kind::Tree, b"garbage");
    let commit = world.object(Kind::Commit, b"tree 0123\n\n");
    std::fs::write(world.repo.path(".git/refs/heads/main"), format!("{commit}\n")).unwrap();
    world.use_few("a commit of nothing");
}

#[test]
fn depth_and_size_are_bounded() {
    let world = World::new();
    let mut tree = world.tree(&[("100644", b"deep.rs", &world.object(Kind::Blob, b"pub fn deep() {}\n"))]);
    // Of 1,000 levels all files are read.
    for _ in 0..1_100 {
        tree = world.tree(&[("40000", b"d", &tree)]);
    }
    world.commit_tree(&[("40000", b"d", &tree)]);
    world.use_all("a tree of 1101 levels");

    let world = World::new();
    // Compressed it is a thousandth. More than is read of any blob, which is 32 MiB for exact text.
    let size =
        std::env::var("CODEWEAVER_TEST_BOMB_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(40u64)
            << 20;
    let bomb = world.repo.root().with_file_name("bomb");
    std::fs::File::create(&bomb).unwrap().set_len(size).unwrap();
    let blob = world
        .repo
        .git_text(["-c", "core.compression=1", "hash-object", "-w", bomb.to_str().unwrap()])
        .trim()
        .to_owned();
    let blob = blob.as_str();
    world.commit_tree(&[
        ("100644", b".codeweaverignore", blob),
        ("100644", b".gitattributes", blob),
        ("100644", b"a.rs", blob),
        ("100644", b"codeweaver.toml", blob),
    ]);
    let (code, _, stderr) = world.run(&["read", "--rev", "HEAD", "a.rs"], b"");
    assert!(matches!(code, 0..=2), "{stderr}");
    world.use_all("blobs that are large once they are inflated");

    let world = World::new();
    let link = "x".repeat(3_000_000);
    let blob = world.object(Kind::Blob, link.as_bytes());
    world.commit_tree(&[("120000", b"link.rs", &blob), ("100644", b"\xf0\x9f\x98\x80.rs", &blob)]);
    world.use_all("a long link");
}

#[test]
fn garbage_in_the_git_directory() {
    let garbage: Vec<u8> = (0..4_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let texts: &[(&str, &[u8])] = &[
        (".git/packed-refs", &garbage),
        (".git/packed-refs", b"# pack-refs with: peeled\n0123 refs/heads/\x1b[31m\n^\n"),
        (".git/HEAD", b"ref: ../../outside/secret.rs\n"),
        (".git/HEAD", b"ref: refs/heads/\x1b]0;owned\x07\n"),
        (".git/HEAD", &garbage),
        (".git/HEAD", b""),
        (".git/index", &garbage),
        (".git/index", b"DIRC\0\0\0\x02\xff\xff\xff\xff"),
        (".git/refs/heads/main", b"not an id\n"),
        (".git/refs/heads/\u{202e}", b"ref: refs/heads/main\n"),
        (".git/config", b"[core\n"),
        (".git/config", b"[core]\n\trepositoryformatversion = 99\n"),
        (".git/config", b"[core]\n\tbare = maybe\n[include]\n\tpath = ../../outside/secret.rs\n"),
        (".git/config", b"[include]\n\tpath = config\n"),
        (".git/config", b"[core]\n\tworktree = ../../outside\n"),
        (".git/config", b"[core]\n\tattributesFile = /dev/zero\n\texcludesFile = /dev/zero\n"),
        (".git/objects/info/alternates", b"../../../outside/objects\n/dev\n\x1b[31m\n"),
        (".git/objects/info/alternates", b"../../.git/objects\n"),
        (".git/objects/pack/pack-0123456789012345678901234567890123456789.idx", &garbage),
        (".git/objects/pack/multi-pack-index", &garbage),
        (".git/info/exclude", &garbage),
        (".git/info/attributes", b"* filter=evil\n[attr]a a\n[attr]b a b\n* b\n"),
        (".git/info/sparse-checkout", &garbage),
        (".git/shallow", &garbage),
        (".git/MERGE_HEAD", &garbage),
        (".git/rebase-merge/git-rebase-todo", &garbage),
        (".git/BISECT_LOG", b"\x1b[31m"),
        (".git/commondir", b"../../outside\n"),
        (".git/codeweaver-nonce", b"\x1b[31m"),
        (".git/hooks/post-commit", &garbage),
        (".gitmodules", b"[submodule \"x\"]\n\tpath = ../outside\n\turl = --upload-pack=touch\n[submodule \"-\"]\n\turl = ext::sh\n"),
    ];
    for (path, bytes) in texts {
        let world = World::new();
        world.repo.write(path, bytes);
        world.use_few(&format!("{path} of {} bytes", bytes.len()));
    }
}

#[test]
fn names_that_look_like_options() {
    let world = World::new();
    let oid = world.repo.git_text(["rev-parse", "HEAD"]).trim().to_owned();
    for name in ["--upload-pack=evil", "-c", "--help", "\u{202e}evil"] {
        world.repo.git(["update-ref", &format!("refs/heads/{name}"), &oid]);
    }
    std::fs::write(world.repo.path(".git/HEAD"), "ref: refs/heads/--help\n").unwrap();
    world.use_all("a branch that looks like an option");
    let long = "HEAD~".repeat(20_000) + "1";
    let revs = [
        "--upload-pack=evil",
        "-c",
        "--",
        "\u{202e}evil",
        ":/x",
        "HEAD^{/.*}",
        "@{-1}",
        "@{upstream}",
        "HEAD@{yesterday}",
        "a..b",
        "^HEAD",
        "HEAD:../outside",
        "HEAD:src/../../x",
        "\x1b[31m",
        ":0:src/parse.rs",
        "HEAD^{commit}^{tree}",
        "HEAD~99999999999999999999",
        "stash@{0}",
        long.as_str(),
        "",
        " ",
    ];
    for rev in revs {
        for args in [
            &["search", "--rev", rev, "x"][..],
            &["read", "--rev", rev, "src/parse.rs"],
            &["outline", "--rev", rev, "src/parse.rs"],
            &["graph", "callers", "--rev", rev, "parse_header"],
            &["index", "--", rev],
            &["chunks", "--stats", "--", rev],
        ] {
            world.check("a revision", args, &world.run(args, b""));
        }
    }
    for path in [
        "-rf",
        "--",
        "src//parse.rs",
        "src/./parse.rs",
        "/etc/passwd",
        "src/parse.rs/",
        "src",
        ".git/config",
        ".git/../src/parse.rs",
        "\x1b",
        "",
        "a\\..\\b",
        "~/x",
        "%00",
    ] {
        for args in [
            &["read", "--", path][..],
            &["outline", "--", path],
            &["chunks", "--", path],
            &["similar", "--", &format!("{path}:1")],
            &["search", "--path", path, "x"],
        ] {
            world.check("a path", args, &world.run(args, b""));
        }
    }
}

#[test]
fn a_working_tree_outside_of_the_repository_is_not_used() {
    let world = World::new();
    world.set("core.worktree", world.outside.to_str().unwrap());
    for args in [&["init"][..], &["status"], &["search", "secret"], &["read", "secret.rs"], &["doctor"]] {
        let run = world.repo.codeweaver(args);
        assert_ne!(run.code(), 0, "{}", run.explain());
        let said = run.stdout() + &run.stderr();
        assert!(!said.contains(SECRET), "{}", run.explain());
    }
    world.repo.codeweaver(["init"]).says(&["names the working tree", "safe.directory"]);
    let left: Vec<_> =
        std::fs::read_dir(&world.outside).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(left, ["secret.rs"]);

    // The user can allow it, as for git.
    let mut command = world.repo.command(program());
    command.args(["read", "secret.rs"]).env("GIT_CONFIG_COUNT", "1");
    command.env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", world.repo.root());
    Run::new(&mut command).success();
}
