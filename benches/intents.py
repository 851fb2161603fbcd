#!/usr/bin/env python3
"""Compares the results of queries with their intent and without.

    benches/intents.py --suite DEVELOPMENT_SET --repositories DIR --binary target/release/git-codeweaver

DIR holds clones with the commits of the development set, each under its name in `repos-dev.json`. Whole repositories
are searched. benches/intents/README.md describes the queries.
"""

import argparse
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

QUERIES = Path(__file__).parent / "intents" / "queries.psv"
HALVES = ["tuned", "kept aside"]


def queries():
    """The queries of each half, by repository."""
    seen = defaultdict(int)
    halves = [defaultdict(list), defaultdict(list)]
    for line in QUERIES.read_text().splitlines():
        intent, repository, query, labels = line.split("|")
        halves[seen[intent] % 2][repository].append((intent, query, labels.split(",")))
        seen[intent] += 1
    return halves


def write_suite(directory, by_repository, repositories, is_given):
    (directory / "annotations").mkdir(parents=True)
    known = [dict(it, benchmark_root=None) for it in repositories if it["name"] in by_repository]
    (directory / "repos.json").write_text(json.dumps(known))
    for name, asked in by_repository.items():
        rows = []
        for intent, query, labels in asked:
            row = {"query": query, "category": intent, "relevant": labels, "secondary": []}
            rows.append(dict(row, intent=intent) if is_given else row)
        (directory / "annotations" / f"{name}.json").write_text(json.dumps(rows))


def figures(arguments, directory):
    """NDCG@10 of each query, by intent."""
    command = [arguments.binary, "eval", "run", directory, "--repos", arguments.repositories, "--whole", "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    by_intent = defaultdict(list)
    for question in report["questions"]:
        by_intent[question["category"]].append(question["scores"]["ndcg"])
    return by_intent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, help="the development set, for the commits")
    parser.add_argument("--repositories", required=True, metavar="DIR")
    parser.add_argument("--binary", default="target/release/git-codeweaver")
    arguments = parser.parse_args()
    repositories = json.loads((arguments.suite / "repos-dev.json").read_text())
    for half, by_repository in zip(HALVES, queries()):
        with tempfile.TemporaryDirectory() as directory:
            found = {}
            for is_given in [False, True]:
                suite = Path(directory) / ("given" if is_given else "none")
                write_suite(suite, by_repository, repositories, is_given)
                found[is_given] = figures(arguments, suite)
        print(f"{half}: NDCG@10 without and with the intent")
        for intent, without in sorted(found[False].items()):
            given = found[True][intent]
            mean = lambda values: sum(values) / len(values)
            print(f"  {intent:10} {len(without):3}  {mean(without):.3f}  {mean(given):.3f}")


if __name__ == "__main__":
    main()
