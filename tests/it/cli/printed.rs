//! Printed output as inline snapshots. What differs between runs and machines is replaced by placeholders.
//!
//! After an intended change: `cargo insta test --accept --test it -- printed::` (needs `cargo install
//! cargo-insta`), then review the diff. With `CI=true` a difference is a failure and nothing is written.

use codeweaver_testkit::{FILES, Run, TestRepo, program};

fn indexed() -> TestRepo {
    let repo = repository();
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// Help is wrapped at 100 columns, and variables of MCP clients have no effect.
fn repository() -> TestRepo {
    let repo = TestRepo::with_files(FILES).env("COLUMNS", "100");
    ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT"]
        .iter()
        .fold(repo, |repo, name| repo.env(name, ""))
}

/// The command line, both streams and an exit code other than 0.
fn shown(repo: &TestRepo, args: &[&str]) -> String {
    let run = repo.codeweaver(args);
    let code = if run.code() == 0 { String::new() } else { format!("[exit code {}]\n", run.code()) };
    let text = format!("$ git codeweaver {}\n{}{}{code}", args.join(" "), run.stdout(), run.stderr());
    with_placeholders(&text, repo)
}

/// Replaces what differs between runs and machines, and removes blanks at line ends.
fn with_placeholders(text: &str, repo: &TestRepo) -> String {
    let home = repo.beside("home");
    let text = text
        .replace(&*repo.root().to_string_lossy(), "[REPO]")
        .replace(&*home.to_string_lossy(), "[HOME]")
        .replace(&*program().parent().unwrap().to_string_lossy(), "[BIN]")
        .replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    text.lines().map(line_with_placeholders).collect::<Vec<_>>().join("\n")
}

/// Replaces the version of git, ages, scores, object ids, times and sizes.
fn line_with_placeholders(line: &str) -> String {
    if line.starts_with("ok    git ") {
        return "ok    git         [GIT]".to_owned();
    }
    if let Some((_, rest)) = line.split_once(", ").filter(|_| line.starts_with("Last run  ")) {
        return format!("Last run  [AGO], {}", line_with_placeholders(rest));
    }
    let words: Vec<&str> = line.split(' ').collect();
    let mut replaced: Vec<String> = Vec::new();
    let mut i = 0;
    while let Some(word) = words.get(i) {
        let core = core(word);
        let is_number = core.starts_with(|c: char| c.is_ascii_digit())
            && core.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',');
        let is_id = core.len() >= 7
            && core.chars().all(|c| c.is_ascii_hexdigit())
            && core.contains(|c: char| c.is_ascii_digit());
        let quantity = words.get(i + 1).and_then(|next| quantity(next)).filter(|_| is_number);
        if let Some((placeholder, after)) = quantity {
            replaced.push(word.replace(core, placeholder) + after);
            i += 1;
        } else if is_number && i > 0 && words[i - 1] == "(relevance:" {
            replaced.push(word.replace(core, "[SCORE]"));
        } else if is_id {
            replaced.push(word.replace(core, "[ID]"));
        } else {
            replaced.push((*word).to_owned());
        }
        i += 1;
    }
    replaced.join(" ").trim_end().to_owned()
}

/// A word without punctuation around it.
fn core(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The placeholder of a number before this unit, and the punctuation after the unit.
fn quantity(unit: &str) -> Option<(&'static str, &str)> {
    let placeholder = match core(unit) {
        "ms" | "s" => "[TIME]",
        "bytes" | "KiB" | "MiB" | "GiB" | "TiB" => "[SIZE]",
        _ => return None,
    };
    Some((placeholder, unit.strip_prefix(core(unit))?))
}

#[test]
fn search_prints_a_table_of_matches() {
    let repo = indexed();
    repo.write("src/retry.py", format!("{}\n\ndef uncommitted_helper():\n    return None\n", FILES[1].1));
    insta::assert_snapshot!(shown(&repo, &["search", "-l", "2", "split a header line into name and value"]), @r#"
    $ git codeweaver search -l 2 split a header line into name and value
    Found 2 matches (4 candidates processed in [TIME])

    1. src/parse.rs:2-5 (relevance: [SCORE], type: function)
       pub fn parse_header(line: &str) -> Option<(&str, &str)>
       Splits a header line into its name and value.
       1 │ /// Splits a header line into its name and value.
       2 │ pub fn parse_header(line: &str) -> Option<(&str, &str)> {
       3 │     let (name, value) = line.split_once(':')?;
       4 │     Some((name.trim(), value.trim()))
       5 │ }

    2. tests/parse_test.rs:2-4 (relevance: [SCORE], type: test)
       fn header_is_split()
       1 │ #[test]
       2 │ fn header_is_split() {
       3 │     assert_eq!(parse_header("a: b"), Some(("a", "b")));
       4 │ }
    "#);
    insta::assert_snapshot!(shown(&repo, &["search", "-l", "1", "uncommitted_helper"]), @r"
    $ git codeweaver search -l 1 uncommitted_helper
    Found 1 match (4 candidates processed in [TIME])

    1. src/retry.py:14-15 (relevance: [SCORE], type: function, dirty)
       def uncommitted_helper()
       14 │ def uncommitted_helper():
       15 │     return None
    ");
}

#[test]
fn a_search_without_matches_suggests_what_to_try() {
    let misspelt = indexed().codeweaver(["search", "--path", "srcc", "header"]);
    misspelt
        .fails(1)
        .says(&["no indexed file matches the path 'srcc' (did you mean src/?)", "another --path"]);
    assert!(!misspelt.stdout().contains("--min-score"), "{}", misspelt.explain());
    insta::assert_snapshot!(shown(&indexed(), &["search", "zzqqx_nothing_like_this"]), @r"
    $ git codeweaver search zzqqx_nothing_like_this
    No results found (searched 4 chunks across 4 files); nowhere in it: zzqqx_nothing_like_this
    Languages in this index: rust, markdown, python
    Try:
      a lower --min-score (now 0.3)
      other words, or --intent understand|implement|debug|test
      git codeweaver status          show what is indexed and what is skipped
      git codeweaver config --show   show the settings
    [exit code 1]
    ");
}

#[test]
fn status_prints_the_state_of_the_index() {
    insta::assert_snapshot!(shown(&indexed(), &["status"]), @r"
    $ git codeweaver status
    State     indexed, current
    Codebase  [REPO]
    HEAD      [ID] (main)
    Indexed   [ID] (main)
    Content   4 files, 4 chunks
    Languages rust 2, markdown 1, python 1
    On disk   [SIZE] in .codeweaver (shards [SIZE], search structures [SIZE], paths and snapshots [SIZE])
    Last run  [AGO], took [TIME]: 4 files changed, 4 chunks embedded
    Chunking  1 chunk by markdown in [TIME], 3 chunks by semantic in [TIME]; mostly 51–100 tokens
    Hooks     not installed (post-checkout: missing, post-commit: missing, post-merge: missing, post-rewrite: missing)
    Model     codeweaver-v1
    ");
    insta::assert_snapshot!(shown(&repository(), &["status"]), @r"
    $ git codeweaver status
    State     not indexed; run `git codeweaver init`
    Codebase  [REPO]
    HEAD      [ID] (main)
    Hooks     not installed (post-checkout: missing, post-commit: missing, post-merge: missing, post-rewrite: missing)
    Model     codeweaver-v1
    ");
}

#[test]
fn doctor_prints_one_line_for_each_check() {
    insta::assert_snapshot!(shown(&indexed(), &["doctor"]), @r"
    $ git codeweaver doctor
    ok    git         [GIT]
    ok    repository  worktree [REPO]
    ok    ignored     git ignores .codeweaver
    ok    program     [BIN]/git-codeweaver
    warn  hooks       not installed: post-commit, post-checkout, post-merge, post-rewrite
                      fix: git codeweaver init; without hooks the index is updated at the next search
    ok    hook log    no errors
    ok    settings    valid; `git codeweaver config --show` lists them
    ok    model       codeweaver-v1 (256 dimensions)
    ok    index       4 chunks stored, every file opens; `verify` checks each byte
    ok    lock        free
    ok    permission  .codeweaver is writable
    ok    disk        [SIZE] free
    ok    mcp clients no client has the server; `git codeweaver mcp --install CLIENT` adds it
    ");
}

#[test]
fn help_of_search() {
    insta::assert_snapshot!(shown(&repository(), &["search", "--help"]), @r#"
    $ git codeweaver search --help
    Search code by meaning, name or words

    Usage: git codeweaver search [OPTIONS] [QUERY]...

    Arguments:
      [QUERY]...  Words or a name to search for, or a text of several lines such as an issue report or a
                  stack trace; `-` reads it from standard input. Without it, on a terminal, results are
                  shown while you type

    Options:
      -i, --intent <INTENT>         Task the results are for: understand, implement, debug, optimize,
                                    test, configure, document or review [default: derived from the
                                    query]; before another word, -i is --ignore-case [alias: --task]
      -l, --limit <LIMIT>           Maximum number of matches [default: 10; of lines with --mode exact
                                    or regex: all]
          --offset <N>              Leave out the N best matches: `--offset 10` shows those after the
                                    first ten
          --mode <MODE>             Kind of evidence to use [default: hybrid] [possible values: hybrid,
                                    semantic, keyword, symbol, exact, regex]
          --ann <ANN>               Algorithm of the vector search [default: auto] [possible values:
                                    auto, exact, hnsw]
          --min-score <SCORE>       Minimum relevance of a match, from 0 to 1
          --token-limit <TOKENS>    Maximum number of tokens in the response [default: 10000]
          --locations               Print only locations and names
          --explain                 Print the features behind the score of each match
      -o, --output-format <FORMAT>  Output format [default: table] [alias: --format] [possible values:
                                    table, json, markdown]
          --json                    Same as `-o json`
          --for-agent               Print what the MCP tool says, in few tokens; the default in the
                                    shell of an agent, unless a format is given
          --vimgrep                 Print `path:line:column:text` for each match, for editors and fzf
          --files-with-matches      Print only the paths of the files with matches [alias: --name-only]
      -h, --help                    Print help

    Exact text and regular expressions:
          --ignore-case  Ignore upper and lower case, as searches by meaning do anyway (-i, unless an
                         intent follows)
          --word         With --mode exact or regex: match whole words only
      -C, --context <N>  With --mode exact or regex: show N lines before and after a match
          --count        With --mode exact or regex: print the number of matching lines of each file

    Filters:
          --repos <GLOB>        In a catalogue, search only repositories whose name matches this glob or
                                is in this group; can be repeated
          --lang <LANGUAGE>     Search only files in this language; can be repeated
          --path <PATHSPEC>     Search only this file or directory, or files matching this glob,
                                relative to the current directory (:/PATH: to the root); can be repeated
          --exclude <PATHSPEC>  Exclude files; as --path
          --kind <KIND>         Search only symbols of this kind (function, class, …) or class
                                (DEFINITION_TYPE, …); can be repeated
          --include-tests       Include tests; the default unless `search.include_tests` is false
          --no-tests            Exclude tests
          --rev <REV>           Branch, tag, commit or tree to search instead of HEAD and the working
                                tree
          --committed           Search only committed files, not the working tree
          --org <URL>           Search the repositories of an organisation, in the index at this URL
                                (see `org`)

    Global options:
      -p, --project <PATH>   Directory inside the repository [default: the current directory]
          --catalogue <DIR>  Catalogue of repositories to work on, see `git codeweaver catalogue`
          --color <WHEN>     When to use colours and hyperlinks; auto: only on a terminal [possible
                             values: auto, always, never]
          --no-pager         Do not page long output (in git's configuration: pager.codeweaver)
          --debug            Write debug messages to stderr (CODEWEAVER_LOG selects more finely)

    Examples:
      git codeweaver search "where are expired tokens refreshed"
      git codeweaver search parse_header                    find the definition of a name
      git codeweaver search -i debug "connection reset"     understand, implement, debug, test, …
      git codeweaver search "pagination lang:python path:src/api -mock"
      git codeweaver search "config lookup rev:v1.2"        search any revision without a checkout
      git codeweaver search --mode regex 'TODO|FIXME'       all lines that match, as git grep
      git codeweaver search - < issue.md                     an issue report or stack trace
      git codeweaver search -o json -l 3 "retry" | jq -r '.matches[].file.path'

    A query may have the conditions lang: path: -path: kind: repo: rev: state: and -word (without it).
    The queries '"text"' and '/regex/' list all lines with it.
    Uncommitted and untracked files are searched too; each match shows the state of its file.
    Exit codes: 0 matches found, 1 no match, 2 error or not indexed.
    "#);
}

#[test]
fn help_of_index() {
    insta::assert_snapshot!(shown(&repository(), &["index", "--help"]), @r#"
    $ git codeweaver index --help
    Update the index to HEAD or another revision

    Only new blobs are read and embedded. The hooks do the same after every commit and checkout.

    Usage: git codeweaver index [OPTIONS] [REV]

    Arguments:
      [REV]
              Branch, tag, commit or tree to index instead of HEAD

    Options:
          --reindex
              Discard the stored index and rebuild it

          --resume
              Continue an interrupted first index without asking

          --background
              Return at once; `status` shows the progress

          --dry-run
              Count what would be embedded, and embed nothing

          --allow-huge
              Index a tree of more than 500,000 files

      -q, --quiet
              Print only warnings and errors

          --json
              Print one JSON event per line to stdout

      -h, --help
              Print help (see a summary with '-h')

    Global options:
      -p, --project <PATH>
              Directory inside the repository [default: the current directory]

          --catalogue <DIR>
              Catalogue of repositories to work on, see `git codeweaver catalogue`

          --color <WHEN>
              When to use colours and hyperlinks; auto: only on a terminal

              [possible values: auto, always, never]

          --no-pager
              Do not page long output (in git's configuration: pager.codeweaver)

          --debug
              Write debug messages to stderr (CODEWEAVER_LOG selects more finely)

    Examples:
      git codeweaver index                 update the index to HEAD
      git codeweaver index v1.2            also index v1.2, which makes `search --rev v1.2` instant
      git codeweaver index --reindex       rebuild the whole index
      git codeweaver index --json          print one event per line; "done" has all counters

    Exit codes: 0 done, 1 refused because another run is active, 2 error,
    130 interrupted (finished work is kept).
    "#);
}

#[test]
fn errors_have_three_lines() {
    let repo = indexed();
    insta::assert_snapshot!(shown(&repository(), &["search", "anything"]), @r"
    $ git codeweaver search anything
    error: this repository is not indexed
      why: no index has been completed here
      fix: git codeweaver init
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["search", "--rev", "nonsense", "x"]), @r"
    $ git codeweaver search --rev nonsense x
    error: 'nonsense' does not name a commit or tree here
      why: no branch, tag or commit has this name
      fix: run `git rev-parse --verify REV` to see how git resolves the name
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["search", "--rev", "HEAD~5", "x"]), @r"
    $ git codeweaver search --rev HEAD~5 x
    error: 'HEAD~5' does not name a commit or tree here
      why: 'HEAD' has no ancestor
      fix: run `git rev-parse --verify REV` to see how git resolves the name
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["search", "--kind", "func", "x"]), @r"
    $ git codeweaver search --kind func x
    error: there is no kind 'func'
      why: a filter with this name would find nothing
      fix: did you mean `function`?
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["read", "src/parse.rs:99999"]), @r"
    $ git codeweaver read src/parse.rs:99999
    error: src/parse.rs has no line 99,999
      why: it has 5 lines
      fix: name lines from 1 to 5
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["config", "get", "searh.limit"]), @r"
    $ git codeweaver config get searh.limit
    error: the settings are not valid
      why: command line: unknown key `searh.limit`
      fix: did you mean `search.limit`?
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["outline", "src/nothing.rs"]), @r"
    $ git codeweaver outline src/nothing.rs
    error: there is no such file or line
      why: src/nothing.rs is not in the index of HEAD
      fix: `git codeweaver status --files` lists what is not indexed, and why
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["similar", "src/parse.rs"]), @r"
    $ git codeweaver similar src/parse.rs
    error: 'src/parse.rs' names no line
      why: the search starts from the code at a line of a file
      fix: git codeweaver similar FILE:LINE
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["seach", "x"]), @r"
    $ git codeweaver seach x
    error: there is no command 'seach'
      why: `git codeweaver` does not have it
      fix: did you mean `search`? `git codeweaver -h` shows what there is
    [exit code 2]
    ");
    for (typed, meant) in [("serach", "search"), ("grep", "search"), ("statsu", "status")] {
        let run = repo.codeweaver([typed, "x"]);
        assert!(
            run.fails(2).stderr().contains(&format!("fix: did you mean `{meant}`? `git")),
            "{}",
            run.explain()
        );
    }
    repo.codeweaver(["search", "-n", "x"]).fails(2).says(&["lines always have their numbers"]);
    insta::assert_snapshot!(shown(&repo, &["search", "--pth", "src", "x"]), @r"
    $ git codeweaver search --pth src x
    error: unexpected argument '--pth'
      why: `git codeweaver search` does not have it
      fix: did you mean `--path`? `git codeweaver search -h` shows what there is
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["search"]), @r#"
    $ git codeweaver search
    error: there is nothing to search for
      why: the query is empty
      fix: git codeweaver search "your query"
    [exit code 2]
    "#);
    insta::assert_snapshot!(shown(&repo, &["search", "-l", "many", "x"]), @r"
    $ git codeweaver search -l many x
    error: 'many' is not a value of --limit <LIMIT>
      why: it takes a whole number
      fix: write `--limit 3`, or --files-with-matches for paths only; `git codeweaver search -h` shows the usage
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["search", "--mode", "semantik", "x"]), @r"
    $ git codeweaver search --mode semantik x
    error: 'semantik' is not a value of --mode <MODE>
      why: the values are hybrid, semantic, keyword, symbol, exact, regex
      fix: did you mean `semantic`? `git codeweaver search -h` shows what there is
    [exit code 2]
    ");
    insta::assert_snapshot!(shown(&repo, &["search", "--json", "--vimgrep", "x"]), @r"
    $ git codeweaver search --json --vimgrep x
    error: --json cannot be used with --vimgrep
      why: they exclude each other
      fix: leave one of them out; `git codeweaver search -h` shows the usage
    [exit code 2]
    ");
    let outside = Run::new(repo.command(program()).args(["status"]).current_dir(repo.beside("home")));
    insta::assert_snapshot!(with_placeholders(&outside.stderr(), &repo), @r"
    error: [HOME] is not in a git repository
      why: neither it nor any parent directory contains .git
      fix: git init, or name a repository with --project PATH
    ");
}
