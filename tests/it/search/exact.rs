//! `search --mode exact|regex`: the lines of `git grep`, filters, forms of output, what is not searched.
//!
//! `CODEWEAVER_PROPERTY_SEQUENCES` sets the number of random patterns in tens, `CODEWEAVER_PROPERTY_SEED`
//! starts from another one.

use std::collections::BTreeSet;

use fastrand::Rng;
use serde_json::{Value, json};

use codeweaver_testkit::{FILES, TestRepo};

/// Lines of files by path; a binary file that matches has the line 0.
type Lines = BTreeSet<(String, u64)>;

/// A repository with files of many kinds, two commits, and uncommitted changes.
fn many_kinds() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.write("crlf.txt", "First line\r\nsecond = value;\r\nlast without end")
        .write("latin1.c", b"/* caf\xe9 cr\xe8me */\nint main_entry(void) { return 0x1F; }\n")
        .write("blob.bin", b"\x00\x01binary main_entry\nvalue\x00")
        .write("late.dat", [vec![b'x'; 9000], b"\nvalue\x00main_entry\n".to_vec()].concat())
        .write("wide.txt", b"\xff\xfev\x00a\x00l\x00u\x00e\x00\n\x00")
        .write("marked.cs", "\u{feff}using System;\nclass Café { string crème = \"value\"; }\n")
        .write("package-lock.json", "{\n  \"name\": \"value\",\n  \"main_entry\": 1\n}\n")
        .write("vendor/lib/main_entry.go", "package lib\n\nfunc MainEntry() int { return 31 }\n")
        .write(
            "dist/app.min.js",
            format!("var main_entry=function(){{return value}};{}\n", "a1b2;".repeat(2000)),
        )
        .write("notes.unknown", "main_entry and First line\n\n\nvalue value\n")
        .write("data/long.txt", format!("{}NEEDLE{}\n", "0123456789abcdef".repeat(40), "x".repeat(500)))
        .write("empty.txt", "")
        .write("ünï.rs", "fn größe() -> u32 { value() }\n")
        .write("tests/test_value.py", "def test_value():\n    assert main_entry(1) == 2\n");
    repo.symlink("link", "crlf.txt");
    repo.commit("kinds");
    repo.git([
        "update-index",
        "--add",
        "--cacheinfo",
        "160000,1234567890123456789012345678901234567890,lib/sub",
    ]);
    repo.git(["commit", "-qm", "submodule"]);
    repo.write("notes.unknown", "main_entry is elsewhere\nvalue\n").remove("crlf.txt").commit("changes");
    repo
}

fn change_working_tree(repo: &TestRepo) {
    repo.write(
        "src/parse.rs",
        repo.read("src/parse.rs").replace("line", "row") + "// value: not committed\n",
    )
    .write("new/untracked.rs", "fn main_entry() { value(); }\n")
    .write("staged.txt", "value of staged\n")
    .write("ignored.log", "value ignored\n")
    .write(".gitignore", "*.log\n")
    .remove("latin1.c");
    repo.git(["add", "staged.txt"]);
    repo.write("staged.txt", "value of staged\nand main_entry again");
}

/// The lines that `git grep` finds; `None` if the pattern is too much for its engine.
fn of_git(repo: &TestRepo, args: &[&str]) -> Option<Lines> {
    let mut command = repo.command("git");
    command.env("LC_ALL", "C.UTF-8").args(["-c", "core.quotePath=false", "grep", "-n", "--null"]).args(args);
    let out = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    if stderr.contains("JIT stack limit") {
        return None;
    }
    assert!(out.status.code().unwrap() < 2, "{stderr}");
    let rev = args.iter().rev().find(|arg| arg.starts_with("HEAD")).map(|rev| format!("{rev}:"));
    let mut lines = Lines::new();
    for line in out.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let text = String::from_utf8_lossy(line);
        let (path, number) = match text.strip_prefix("Binary file ").and_then(|t| t.strip_suffix(" matches"))
        {
            Some(path) => (path, 0),
            None => {
                let mut parts = text.split('\0');
                (parts.next().unwrap(), parts.next().unwrap().parse().unwrap())
            }
        };
        let path = rev.as_ref().and_then(|rev| path.strip_prefix(rev.as_str())).unwrap_or(path);
        lines.insert((path.to_owned(), number));
    }
    Some(lines)
}

fn of_codeweaver(repo: &TestRepo, args: &[&str]) -> Lines {
    let run = repo.codeweaver([&["search", "-o", "json"], args].concat());
    assert!(run.code() < 2, "{}", run.explain());
    let found = run.json();
    let lines = lines_of(&found);
    assert_eq!(found["total_lines"], lines.len(), "{found:#}");
    assert_eq!(run.code() == 0, !lines.is_empty());
    lines
}

fn lines_of(found: &Value) -> Lines {
    let mut lines = Lines::new();
    for file in found["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        if file["binary"] == true {
            lines.insert((path.to_owned(), 0));
        }
        for line in file["lines"].as_array().into_iter().flatten().filter(|line| line["column"].is_u64()) {
            lines.insert((path.to_owned(), line["line"].as_u64().unwrap()));
        }
    }
    lines
}

/// The lines of all files of the working tree, without empty ones; files that cannot be read have none.
fn lines_of_files(repo: &TestRepo) -> Vec<Vec<String>> {
    let files = repo.git_text(["-c", "core.quotePath=false", "ls-files", "-c", "-o", "--exclude-standard"]);
    let read = |path: &str| {
        let bytes = std::fs::read(repo.path(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    files.lines().map(read).collect()
}

/// A part of a line of one of the files, without control characters.
fn random_text(files: &[Vec<String>], rng: &mut Rng) -> String {
    loop {
        let lines = &files[rng.usize(..files.len())];
        if lines.is_empty() {
            continue;
        }
        let line: Vec<char> = lines[rng.usize(..lines.len())].chars().collect();
        let start = rng.usize(..line.len());
        let part: String = line[start..].iter().take(rng.usize(1..16)).collect();
        if part.chars().all(|c| !c.is_control() && c != '\u{fffd}' && c != '\u{feff}') {
            return part;
        }
    }
}

/// A regular expression that is the same in Rust and in Perl.
fn random_regex(files: &[Vec<String>], rng: &mut Rng) -> String {
    let escaped = |text: &str| -> String {
        text.chars()
            .map(|c| match c {
                // Escaped, these two are the ends of a word.
                '<' | '>' => c.to_string(),
                c if c.is_ascii_punctuation() => format!("\\{c}").replace("\\_", "_"),
                ' ' => "[ ]".to_owned(),
                c => c.to_string(),
            })
            .collect()
    };
    let (a, b) = (escaped(&random_text(files, rng)), escaped(&random_text(files, rng)));
    match rng.u8(..10) {
        0 => format!("{a}|{b}"),
        1 => format!("({a}|{b})+"),
        2 => format!("^{a}"),
        3 => format!("{a}$"),
        4 => format!("{a}.*{b}"),
        5 => format!("[a-f]+{a}"),
        6 => format!("{a}\\w*"),
        7 => format!("\\b{a}"),
        8 => format!("(?:{a})?{b}"),
        _ => format!("{a}{{1,2}}[^x]"),
    }
}

fn compare_random_patterns(repo: &TestRepo, rng: &mut Rng, n: usize) {
    let files = lines_of_files(repo);
    let mut n_found = 0;
    for _ in 0..n {
        let is_regex = rng.bool();
        let pattern = if is_regex { random_regex(&files, rng) } else { random_text(&files, rng) };
        let mut ours = vec!["--mode", if is_regex { "regex" } else { "exact" }];
        let mut gits = vec![if is_regex { "-P" } else { "-F" }];
        if pattern.is_ascii() && rng.u8(..3) == 0 {
            ours.push("--ignore-case");
            gits.push("-i");
        }
        if !is_regex && rng.u8(..3) == 0 {
            ours.push("--word");
            gits.push("-w");
        }
        let scope = rng.u8(..5);
        if scope > 2 {
            gits.push("--untracked");
        }
        gits.extend(["-e", &pattern]);
        match scope {
            0 => {
                ours.push("--committed");
                gits.push("HEAD");
            }
            1 => {
                ours.extend(["--rev", "HEAD~1"]);
                gits.push("HEAD~1");
            }
            2 => {
                ours.extend(["--committed", "--path", "src", "--path", "*.txt"]);
                gits.extend(["HEAD", "--", "src", "*.txt"]);
            }
            _ => {}
        }
        ours.extend(["--", &pattern]);
        let Some(expected) = of_git(repo, &gits) else { continue };
        n_found += usize::from(!expected.is_empty());
        let mut shown = if scope > 2 { expected } else { without_rev(expected) };
        let mut found = of_codeweaver(repo, &ours);
        // UTF-16, which git does not decode.
        shown.retain(|(path, _)| path != "wide.txt");
        found.retain(|(path, _)| path != "wide.txt");
        assert_eq!(found, shown, "{ours:?} {gits:?}");
    }
    assert!(n_found > n / 2, "{n_found} of {n} patterns were found at all");
}

/// `git grep` names a file of a revision `REV:PATH`.
fn without_rev(lines: Lines) -> Lines {
    let path = |path: &str| path.split_once(':').map_or(path, |(_, path)| path).to_owned();
    lines.iter().map(|(name, line)| (path(name), *line)).collect()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_patterns_find_the_lines_of_git_grep() {
    let mut rng = Rng::with_seed(number("CODEWEAVER_PROPERTY_SEED").unwrap_or(7));
    let n = 10 * number("CODEWEAVER_PROPERTY_SEQUENCES").unwrap_or(4) as usize;
    let repo = many_kinds();
    repo.codeweaver(["init", "--no-hooks"]).success();
    compare_random_patterns(&repo, &mut rng, n);
    change_working_tree(&repo);
    compare_random_patterns(&repo, &mut rng, n);
    // Not indexed yet: neither the tree nor what was changed.
    repo.commit("all");
    repo.write("src/parse.rs", "fn value() {}\n");
    compare_random_patterns(&repo, &mut rng, n / 2);
}

#[test]
fn definitions_come_first_and_then_shallow_files() {
    let repo = TestRepo::with_files(&[
        ("a/b/c/deep.py", "import fetch_page\n"),
        ("calls.py", "x = fetch_page(1)\n"),
        ("z/y/defines.py", "# fetch_page is old\ndef fetch_page(n):\n    return n\n"),
        ("z/uses.py", "fetch_page(2)\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let run = repo.codeweaver(["search", "--mode", "exact", "--vimgrep", "fetch_page"]);
    let expected = "z/y/defines.py:1:3:# fetch_page is old\nz/y/defines.py:2:5:def fetch_page(n):\n\
                    calls.py:1:5:x = fetch_page(1)\nz/uses.py:1:1:fetch_page(2)\n\
                    a/b/c/deep.py:1:8:import fetch_page\n";
    assert_eq!(run.success().stdout(), expected);
    let run = repo.codeweaver(["search", "--mode", "exact", "--count", "fetch_page"]);
    assert_eq!(run.success().stdout(), "z/y/defines.py:2\ncalls.py:1\nz/uses.py:1\na/b/c/deep.py:1\n");
    let run =
        repo.codeweaver(["search", "--mode", "regex", "--files-with-matches", "-l", "2", r"fetch_\w+\("]);
    assert_eq!(run.success().stdout(), "z/y/defines.py\ncalls.py\n");
    let json =
        repo.codeweaver(["search", "--mode", "exact", "-o", "json", "-C1", "-l1", "(n)"]).success().json();
    assert_eq!(json["files"][0]["lines"][1]["symbol"], "fetch_page", "{json:#}");
    assert_eq!(json["files"][0]["lines"].as_array().unwrap().len(), 3, "{json:#}");
    assert_eq!(json["omitted_lines"], 0);
}

#[test]
fn filters_and_limits_apply_to_lines() {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/many.py", "x = 1\n".repeat(10)).commit("many");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let paths = |args: &[&str]| -> Vec<String> {
        let found = repo.codeweaver([&["search", "-o", "json", "--mode", "exact"], args].concat()).json();
        let files = found["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        paths(&["--lang", "rust", "parse_header"]).len(),
        paths(&["--path", "*.rs", "parse_header"]).len()
    );
    assert!(paths(&["--lang", "python", "parse_header("]).is_empty());
    let page = repo
        .codeweaver(["search", "-o", "json", "--mode", "exact", "-l", "3", "--offset", "8", "x = 1"])
        .json();
    assert_eq!((&page["total_lines"], &page["omitted_lines"]), (&json!(10), &json!(0)));
    assert_eq!(page["files"][0]["lines"][0]["line"], 9, "{page:#}");
    repo.codeweaver(["search", "--mode", "exact", "--path", "nowhere", "x"]).fails(1).says(&["nowhere"]);
}

#[test]
fn patterns_that_cannot_be_searched_for_are_errors() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    for args in [&["--mode", "regex", "a("][..], &["--mode", "regex", "a\\nb"], &["--mode", "exact", "a\nb"]]
    {
        repo.codeweaver([&["search"], args].concat()).is_an_error("cannot be searched for", "--mode exact");
    }
    repo.codeweaver(["search", "--word", "parse"]).is_an_error("--word", "--mode exact");
    repo.codeweaver(["search", "--mode", "exact", "--kind", "function", "x"]).fails(2);
}

#[test]
fn credentials_and_what_the_user_excludes_are_not_searched_and_it_is_said() {
    let repo = TestRepo::with_files(FILES);
    repo.write(".env", "TOKEN=unmistakable\n")
        .write("private/x.txt", "unmistakable\n")
        .write(".codeweaverignore", "private/\n")
        .write("open.txt", "unmistakable\n")
        .commit("secret");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("more/.env", "TOKEN=unmistakable\n");
    let run = repo.codeweaver(["search", "--mode", "exact", "--vimgrep", "unmistakable"]);
    assert_eq!(run.success().stdout(), "open.txt:1:1:unmistakable\n");
    assert!(run.stderr().contains(".env, more/.env are not searched: credentials"), "{}", run.stderr());
    assert!(run.stderr().contains("1 file is not searched"), "{}", run.stderr());

    // They are named once, and again if they may be the reason why nothing was found.
    let run = repo.codeweaver(["search", "--mode", "exact", "unmistakable"]);
    assert!(!run.success().stderr().contains("credentials"), "{}", run.stderr());
    repo.codeweaver(["search", "--mode", "exact", "TOKEN="]).fails(1).says(&[".env, more/.env are not"]);
    // A search of a part names some of them, which is no news.
    repo.write("more/open.txt", "unmistakable\n");
    let run = repo.codeweaver(["search", "--mode", "exact", "--path", "more", "unmistakable"]);
    assert!(!run.success().stderr().contains("credentials"), "{}", run.stderr());
    repo.write("most/.env", "TOKEN=unmistakable\n");
    repo.codeweaver(["search", "--mode", "exact", "unmistakable"]).success().says(&["most/.env"]);
}

#[test]
fn quotes_and_slashes_in_a_query_ask_for_exact_text() {
    let repo = TestRepo::with_files(&[
        ("src/net.py", "def close(c):\n    raise Reset('connection reset by peer')\n"),
        ("src/retry.py", "def retry(c):\n    # after a connection reset by peer\n    return again(c)\n"),
        ("src/other.py", "def retry_again(c):\n    return later(c)\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let lines = |query: &str| repo.codeweaver(["search", "--vimgrep", query]).success().stdout();
    assert_eq!(lines("\"reset by\""), lines("/reset\\sby/"));
    assert_eq!(lines("/RESET by/i").lines().count(), 2);
    let run = repo.codeweaver(["search", "--files-with-matches", "\"reset by\" retry again"]);
    assert_eq!(run.success().stdout(), "src/retry.py\nsrc/net.py\n");
    let run = repo.codeweaver(["search", "--files-with-matches", "\"not anywhere\" retry again"]);
    assert!(run.success().stdout().contains("src/other.py"));
    assert!(run.stderr().contains("no line has \"not anywhere\""), "{}", run.stderr());
    // Lines in what is not indexed are no code by meaning.
    repo.write("Cargo.lock", "name = \"unmistakable-lock\"\n").commit("lock");
    let run = repo.codeweaver(["search", "--files-with-matches", "\"unmistakable-lock\" retry again"]);
    assert_eq!(run.stdout(), "");
    assert!(run.stderr().contains("no indexed code with such a line"), "{}", run.stderr());
}
