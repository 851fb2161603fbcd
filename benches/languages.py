#!/usr/bin/env python3
"""Compares the results of queries in other languages with those of the same queries in English.

    benches/languages.py --suite DEVELOPMENT_SET --repositories DIR --binary target/release/git-codeweaver

DIR holds clones with the commits of the development set, each under its name in `repos-dev.json`. Whole repositories
are searched. benches/languages/README.md describes the queries.
"""

import argparse
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

QUERIES = Path(__file__).parent / "languages" / "queries.psv"
LANGUAGES = ["English", "German", "French", "Japanese", "Chinese", "Spanish", "Portuguese", "Russian", "Korean"]
HALVES = ["tuned", "kept aside"]
MIN_RELEVANCE = 0.3  # the default of search.min_score


def originals(suite):
    """The queries that are translated, with their repositories."""
    found = []
    for path in sorted((suite / "annotations").glob("*.json")):
        asked = [it for it in json.loads(path.read_text()) if it["category"] != "symbol"]
        found.extend((path.stem, it) for it in asked[2::5])
    return found


def queries(suite):
    """The queries of each half in all languages, by repository."""
    lines = [line.split("|") for line in QUERIES.read_text().splitlines()]
    all_originals = originals(suite)
    assert len(lines) == len(all_originals), "another version of the development set"
    halves = [defaultdict(list), defaultdict(list)]
    for (repository, original), (number, *translations) in zip(all_originals, lines):
        labels = {key: original[key] for key in ["relevant", "secondary"] if key in original}
        for language, query in zip(LANGUAGES, [original["query"], *translations]):
            row = {"query": query, "category": language, **labels}
            halves[int(number) % 2][repository].append(row)
    return halves


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, help="the development set")
    parser.add_argument("--repositories", required=True, metavar="DIR")
    parser.add_argument("--binary", default="target/release/git-codeweaver")
    arguments = parser.parse_args()
    repositories = json.loads((arguments.suite / "repos-dev.json").read_text())
    for half, by_repository in zip(HALVES, queries(arguments.suite)):
        with tempfile.TemporaryDirectory() as directory:
            suite = Path(directory)
            (suite / "annotations").mkdir()
            known = [it for it in repositories if it["name"] in by_repository]
            (suite / "repos.json").write_text(json.dumps(known))
            for name, asked in by_repository.items():
                (suite / "annotations" / f"{name}.json").write_text(json.dumps(asked, ensure_ascii=False))
            command = [arguments.binary, "eval", "run", suite, "--repos", arguments.repositories, "--whole", "--json"]
            report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        by_language = defaultdict(list)
        for question in report["questions"]:
            by_language[question["category"]].append(question)
        print(f"{half}: NDCG@10, and the share that is answered")
        for language in LANGUAGES:
            asked = by_language[language]
            ndcg = sum(it["scores"]["ndcg"] for it in asked) / len(asked)
            answered = sum((it["relevance"] or 0) >= MIN_RELEVANCE for it in asked) / len(asked)
            print(f"  {language:10} {len(asked):3}  {ndcg:.3f}  {answered:.0%}")


if __name__ == "__main__":
    main()
