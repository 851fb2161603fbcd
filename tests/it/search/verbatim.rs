//! Messages and other literals as a query without quotation marks: the file that has them comes first.

use codeweaver_testkit::{Run, TestRepo};

/// A file that has the message of `pool.py` in one literal, several that have more of its words, and prose.
fn repo() -> TestRepo {
    let words = "def free_slot(pool):\n    \"\"\"Frees a slot of the pool. A free slot is left in the pool.\"\"\"\n    \
        left = pool.free\n    return left\n";
    let repo = TestRepo::with_files(&[
        ("src/slots.py", words),
        ("src/free.py", &words.replace("free_slot", "is_free_slot_left_in_pool")),
        (
            "docs/pool.md",
            "# Pool\n\nThe message `no free slot left in pool` means that a slot is not free.\n",
        ),
        ("src/notes.py", "# no free slot left in pool\nslot = 1\n"),
        (
            "src/worker/run.py",
            "import queue\n\n\ndef start(jobs):\n    jobs.sort()\n    return jobs\n\n\ndef acquire(timeout):\n    \
             if timeout < 0:\n        raise RuntimeError(\"no free slot left in pool %s\" % timeout)\n    return queue\n",
        ),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn first(run: &Run) -> String {
    let answer = run.json();
    answer["matches"][0]["file"]["path"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_literal_is_found_by_its_text() {
    let repo = repo();
    let run = repo.codeweaver(["search", "--json", "--explain", "no free slot left in pool"]);
    let answer = run.success().json();
    let best = &answer["matches"][0];
    assert_eq!(best["file"]["path"], "src/worker/run.py", "{answer:#}");
    assert_eq!(best["focus"]["symbol"], "acquire", "{best:#}");
    assert!(answer["search_strategy"].as_array().unwrap().iter().any(|it| it == "verbatim"), "{answer:#}");
    assert_eq!(best["reasons"][0], "its text, which has the query verbatim");

    // Code is compared without quotation marks around it.
    let code = repo.codeweaver(["search", "--json", "slot = 1"]);
    assert_eq!(first(&code), "src/notes.py");
}

#[test]
fn other_words_or_another_order_are_no_literal() {
    let repo = repo();
    for query in ["free slot left no pool in", "pool slot", "no free slot left in the pool"] {
        let answer = repo.codeweaver(["search", "--json", query]).json();
        let strategies = answer["search_strategy"].as_array().unwrap().clone();
        assert!(!strategies.iter().any(|it| it == "verbatim"), "{query}: {answer:#}");
    }
}

#[test]
fn a_literal_is_found_in_changed_files_and_only_where_it_is() {
    let repo = repo();
    let query = ["search", "--json", "socket has gone away"];
    repo.write("src/net.py", "def close():\n    raise OSError('socket has gone away')\n");
    assert_eq!(first(&repo.codeweaver(query)), "src/net.py");
    let filtered = ["search", "--json", "--path", "src/slots.py", "no free slot left in pool"];
    assert_ne!(first(&repo.codeweaver(filtered)), "src/worker/run.py");
}
