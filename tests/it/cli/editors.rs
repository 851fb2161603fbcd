//! Output for editors, `fzf` and scripts: one line for each match.

use codeweaver_testkit::{FILES, TestRepo};

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn vimgrep_names_a_line_and_a_column_that_an_editor_can_open() {
    let repo = indexed();
    let run = repo.codeweaver(["search", "--vimgrep", "-l", "1", "parse_header"]);
    assert_eq!(
        run.success().stdout(),
        "src/parse.rs:2:8:pub fn parse_header(line: &str) -> Option<(&str, &str)> {\n"
    );
    for line in
        repo.codeweaver(["search", "--vimgrep", "--lang", "rust", "header"]).success().stdout().lines()
    {
        let [path, number, column, text] = line.splitn(4, ':').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let file = repo.read(path);
        let shown = file.lines().nth(number.parse::<usize>().unwrap() - 1).unwrap();
        assert_eq!(shown.replace('\t', "    "), text);
        let rest = &shown[column.parse::<usize>().unwrap() - 1..];
        assert!(
            ["header", "parse_header"].iter().any(|word| rest.to_lowercase().starts_with(word)),
            "{line}"
        );
    }
    let similar = repo.codeweaver(["similar", "--vimgrep", "src/parse.rs:2"]).success().stdout();
    assert!(similar.lines().all(|line| line.split(':').nth(1).unwrap().parse::<u32>().is_ok()), "{similar}");
}

#[test]
fn paths_for_editors_open_from_the_current_directory() {
    let repo = indexed();
    let first = |dir: &str, args: &[&str]| {
        let run = repo.at(dir).codeweaver([args, &["-l", "1", "parse_header"]].concat());
        run.success().stdout().lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(first("tests", &["search", "--files-with-matches"]), "../src/parse.rs");
    assert_eq!(first("src", &["search", "--name-only"]), "parse.rs");
    assert!(first("src", &["search", "--vimgrep"]).starts_with("parse.rs:2:8:"));
    // With another directory than the current one they are absolute.
    let root = repo.root().to_str().unwrap();
    let absolute = repo.path("src/parse.rs");
    assert_eq!(first("..", &["search", "-p", root, "--name-only"]), absolute.to_str().unwrap());
    // Those of a revision are for `git show`.
    let named = first("src", &["search", "--rev", "HEAD", "--name-only"]);
    assert_eq!(named, "HEAD:src/parse.rs");
    repo.git(["show", &named]);
}

#[test]
fn no_match_is_no_line_and_the_reason_goes_to_stderr() {
    let repo = indexed();
    for form in ["--vimgrep", "--files-with-matches"] {
        let run = repo.codeweaver(["search", form, "--path", "nowhere", "header"]);
        assert_eq!(run.fails(1).stdout(), "");
        run.says(&["no indexed file matches the path 'nowhere'"]);
        repo.codeweaver(["search", form, "--json", "header"]).fails(2);
    }
}

#[test]
fn offset_continues_where_an_earlier_answer_ended() {
    let repo = indexed();
    let all = repo.found(&["header"]);
    assert!(all.len() >= 2, "{all:?}");
    let rest = repo.found(&["--offset", "1", "header"]);
    assert_eq!(rest, all[1..]);
    repo.codeweaver(["search", "--offset", "1", "header"]).success().says(&["\n2. "]);
    let none = repo.codeweaver(["search", "--offset", "40", "header"]);
    none.fails(1).says(&[&format!("there are {}", all.len())]);
    assert!(!none.stdout().contains("No results"), "{}", none.explain());
}
