//! Messages as programs print them: the code that prints them comes first, with the line that does.

use codeweaver_testkit::{Run, TestRepo};

/// Code in several languages that raises messages, a test and a document that repeat one, a generated copy,
/// and code that has more of their words.
fn repo() -> TestRepo {
    let pool = "class PoolError(Exception):\n    pass\n\n\ndef start(jobs):\n    jobs.sort()\n    return jobs\n\n\n\
        def acquire(pool, timeout):\n    if timeout < 0:\n        raise PoolError(\n            \
        f\"no slot of {pool.name} is left \"\n            \"after %d seconds\" % timeout\n        )\n    return pool\n";
    let copy =
        "function parse(source) {\n  throw new SyntaxError(`unexpected ${source[0]} in the header`);\n}\n";
    let repo = TestRepo::with_files(&[
        ("src/pool.py", pool),
        (
            "src/seconds.py",
            "def slot_left_after(pool, seconds):\n    \"\"\"No slot of the pool is left.\"\"\"\n    return 1\n",
        ),
        (
            "tests/test_pool.py",
            "def test_acquire():\n    assert run() == \"no slot of main is left after 3 seconds\"\n",
        ),
        ("docs/pool.md", "# Pool\n\nIt says `no slot of main is left after 3 seconds`.\n"),
        ("lib/parse.js", copy),
        ("dist/bundle.js", &copy.replace("parse", "parse2")),
        (
            "server/open.go",
            "package server\n\nfunc Open(name string) error {\n\tif name == \"\" {\n\t\treturn nil\n\t}\n\
             \treturn fmt.Errorf(\"cannot open %q for writing: %w\", name, errClosed)\n}\n",
        ),
        ("config/errors.yml", "en:\n  taken: \"%{field} has already been taken\"\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The path of the first match, its definition, and whether the strategies have the stage.
fn first(run: &Run) -> (String, String, bool) {
    let answer = run.json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let best = &answer["matches"][0];
    let acts = answer["search_strategy"].as_array().unwrap().iter().any(|it| it == "raised_message");
    (text(&best["file"]["path"]), text(&best["focus"]["symbol"]), acts)
}

#[test]
fn the_code_that_prints_a_message_comes_first() {
    let repo = repo();
    for (message, path, symbol) in [
        ("app.PoolError: no slot of main is left after 3 seconds", "src/pool.py", "acquire"),
        ("Error: no slot of main is left after 3 seconds", "src/pool.py", "acquire"),
        (
            "Traceback (most recent call last):\n  File \"/srv/app.py\", line 3, in run\n    start()\n\
             PoolError: no slot of main is left after 3 seconds",
            "src/pool.py",
            "acquire",
        ),
        ("SyntaxError: unexpected } in the header", "lib/parse.js", "parse"),
        ("error: cannot open \"a/b.txt\" for writing: file already closed", "server/open.go", "Open"),
        ("Name has already been taken", "config/errors.yml", "en.taken"),
    ] {
        let run = repo.codeweaver(["search", "--json", message]);
        assert_eq!(first(&run), (path.to_owned(), symbol.to_owned(), true), "{message}: {}", run.explain());
    }

    let explained =
        repo.codeweaver(["search", "--json", "--explain", "SyntaxError: unexpected } in the header"]).json();
    assert_eq!(explained["matches"][0]["reasons"][0], "the message in line 2", "{explained:#}");
}

#[test]
fn questions_and_other_messages_are_not_changed() {
    let repo = repo();
    for query in [
        "how is a slot of the pool acquired",
        "slot of the pool",
        "ValueError: the colour of the sky is unknown",
        "is left after the seconds of the slot",
    ] {
        let (_, _, acts) = first(&repo.codeweaver(["search", "--json", "--min-score", "0", query]));
        assert!(!acts, "{query}");
    }
}
