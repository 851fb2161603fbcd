#!/usr/bin/env python3
"""Compares the results of queries with their intent and without.

    benches/intents.py --suite DEVELOPMENT_SET --repositories DIR --binary target/release/git-codeweaver

DIR holds clones with the commits of the development set, each under its name in `repos-dev.json`, indexed with the
default settings. Whole repositories are searched with `search --rev COMMIT`. benches/intents/README.md describes the
queries. Printed for each half and intent: NDCG@10 of the places and of the files, without the intent and with it, and
the mean difference of the places with its 95 % interval (bootstrap over the queries). A label with symbols is found if
one of them is the definition that is shown.

    --stated    state the intent by words of the query instead (STATED), and give it in neither run: the second is of
                another binary (--other), for intents that are guessed
    --json FILE write the results of each query
"""

import argparse
import json
import math
import random
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

QUERIES = Path(__file__).parent / "intents" / "queries.psv"
HALVES = ["tuned", "kept aside"]
DEPTH = 10
N_SAMPLES = 4000
# Two ways to state each intent, which take turns.
STATED = {
    "understand": ["how does {} work", "explain {}"],
    "implement": ["implement {}", "add {}"],
    "debug": ["{} fails with an error", "fix bug: {}"],
    "optimize": ["make {} faster", "{} is slow"],
    "test": ["how is {} tested", "tests of {}"],
    "configure": ["configure {}", "settings for {}"],
    "document": ["documentation of {}", "guide to {}"],
}


def read_queries():
    seen = defaultdict(int)
    for line in QUERIES.read_text().splitlines():
        intent, repository, query, labels = line.split("|")
        number = seen[intent]
        seen[intent] += 1
        stated = STATED[intent][number // 2 % 2].format(query)
        labels = [(path, symbols.split("+") if symbols else []) for path, _, symbols in map(split_label, labels.split(","))]
        yield {
            "half": number % 2,
            "intent": intent,
            "repository": repository,
            "query": query,
            "stated": stated,
            "labels": labels,
        }


def split_label(label):
    return label.partition("#")


def search(binary, repository, revision, query, intent):
    """The paths of the matches, each with the definition that is shown."""
    command = [binary, "search", "--rev", revision, "-o", "json", "--locations", "-l", str(DEPTH), "--min-score", "0"]
    command += ["--token-limit", "100000", *(["--intent", intent] if intent else []), "--", query]
    run = subprocess.run(command, cwd=repository, capture_output=True)
    if run.returncode > 1:
        raise SystemExit(f"{' '.join(command)}: {run.stderr.decode()}")
    return [(found["file"]["path"], found["focus"].get("symbol", "")) for found in json.loads(run.stdout)["matches"]]


def is_shown(symbols, shown):
    """Whether the qualified name `shown` is one of `symbols`, or ends in one."""
    ends = [separator + symbol for symbol in symbols for separator in (".", ":", "#", "\\", "/")]
    return not symbols or shown in symbols or shown.endswith(tuple(ends))


def ndcg(results, labels, with_symbols):
    """As `eval run`: labels of the same rank count once."""
    ranks = set()
    for path, symbols in labels:
        places = (i for i, (at, shown) in enumerate(results) if at == path and (not with_symbols or is_shown(symbols, shown)))
        rank = next(places, None)
        if rank is not None:
            ranks.add(rank)
    gain = lambda rank: 1 / math.log2(rank + 2)
    return sum(map(gain, ranks)) / sum(map(gain, range(min(len(labels), DEPTH))))


def mean(values):
    return sum(values) / max(1, len(values))


def interval(differences):
    """95 % interval of the mean, by resampling the queries."""
    rng = random.Random(1)
    means = sorted(mean(rng.choices(differences, k=len(differences))) for _ in range(N_SAMPLES))
    return means[N_SAMPLES // 40], means[-N_SAMPLES // 40]


def print_line(name, asked):
    places = [(query["before"]["places"], query["after"]["places"]) for query in asked]
    files = [(query["before"]["files"], query["after"]["files"]) for query in asked]
    differences = [after - before for before, after in places]
    low, high = interval(differences)
    means = [mean([pair[i] for pair in pairs]) for pairs in (places, files) for i in (0, 1)]
    print(
        f"  {name:10} {len(asked):3}  places {means[0]:.3f} {means[1]:.3f}  files {means[2]:.3f} {means[3]:.3f}"
        f"  difference {mean(differences):+.3f} ({low:+.3f} to {high:+.3f})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, help="the development set, for the commits")
    parser.add_argument("--repositories", type=Path, required=True, metavar="DIR")
    parser.add_argument("--binary", default="target/release/git-codeweaver")
    parser.add_argument("--other", help="the binary of the second run, if it is another one")
    parser.add_argument("--stated", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    repositories = json.loads((arguments.suite / "repos-dev.json").read_text())
    revisions = {it["name"]: it["revision"] for it in repositories}
    binary, other = (str(Path(it).resolve()) for it in (arguments.binary, arguments.other or arguments.binary))
    asked = list(read_queries())

    def ask(query):
        at = arguments.repositories / query["repository"], revisions[query["repository"]]
        text, intent = (query["stated"], None) if arguments.stated else (query["query"], query["intent"])
        runs = {"before": search(binary, *at, text, None), "after": search(other, *at, text, intent)}
        for run, results in runs.items():
            kinds = {"places": True, "files": False}
            query[run] = {kind: ndcg(results, query["labels"], by_symbol) for kind, by_symbol in kinds.items()}
            query[run]["results"] = results

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(ask, asked))
    for half, name in enumerate(HALVES):
        print(f"{name}: NDCG@{DEPTH}, {'before and after' if arguments.stated else 'without and with the intent'}")
        of_half = [query for query in asked if query["half"] == half]
        for intent in STATED:
            print_line(intent, [query for query in of_half if query["intent"] == intent])
        print_line("all", of_half)
    if arguments.json:
        arguments.json.write_text(json.dumps(asked, indent=1))


if __name__ == "__main__":
    main()
