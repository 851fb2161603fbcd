#!/usr/bin/env python3
"""Measures how many related symbols of search results are right.

    benches/related.py --suite DEVELOPMENT_SET --repositories DIR --binary target/release/git-codeweaver
    benches/related.py … --show         the sample, with the places that decide and the judgements
    benches/related.py … --unjudged     what has no judgement yet, to be judged

DIR holds clones with the commits of the development set, each under its name in `repos-dev.json`. Whole repositories
are searched by all queries of the set. Of the relations of the best matches, the first few of each kind in each
repository are taken, in the order of a seeded hash, so that a change of the program changes the sample only where it
changes the relations. benches/related/README.md describes the judgements.
"""

import argparse
import hashlib
import json
import re
import subprocess
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path

JUDGED = Path(__file__).parent / "related" / "judged.psv"
SEED = "related"
N_OF_KIND = 2  # of each kind in each repository
N_MATCHES = "3"  # matches that have relations
Z = 1.96  # for 95 %
# Kinds of which the related symbol names the focus; those that the focus names. Of the others, the
# declaration decides.
NAMES_FOCUS, NAMED_BY_FOCUS = {"caller", "test"}, {"callee", "type", "supertype"}


class Clone:
    """A repository at its commit."""

    def __init__(self, binary, directory, revision):
        self.binary, self.directory, self.revision = binary, directory, revision
        self.run(binary, "index", "-q", revision)

    def run(self, *command):
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, errors="replace")
        if done.returncode > 1:  # 1: no match
            raise SystemExit(f"{self.directory}: {' '.join(command)}: {done.stderr}")
        return done.stdout

    def matches(self, query):
        limits = ["-l", N_MATCHES, "--min-score", "0", "--token-limit", "100000"]
        found = self.run(self.binary, "search", "--rev", self.revision, "--json", *limits, "--", query)
        return json.loads(found)["matches"]

    @lru_cache(maxsize=None)
    def lines(self, path):
        return self.run("git", "show", f"{self.revision}:{path}").splitlines()

    @lru_cache(maxsize=None)
    def symbols(self, path):
        found = self.run(self.binary, "outline", "--rev", self.revision, "-o", "json", path)
        return json.loads(found)["symbols"] if found else []

    def span(self, path, line, name):
        """The lines of a definition, from 1."""
        spans = [it["span"] for it in self.symbols(path) if it["qualified_name"] == name]
        return next((span for span in spans if span[0] <= line <= span[1]), [line, line])


def relations(clone, queries):
    """All relations of the answers to `queries`: those of the same two symbols once."""
    found = {}
    for query in queries:
        for match in clone.matches(query):
            focus = match["focus"]
            for related in match.get("relations", []):
                symbol = f"{match['file']['path']}#{focus.get('symbol', '')}"
                other = f"{related['path']}#{related['symbol']}"
                key = (symbol, related["relation"], other)
                spans = ((focus["start_line"], focus["end_line"]), related["line"])
                found.setdefault(key, (query, spans))
    return found


def drawn(repository, found):
    """The sample of a repository: the first of each kind."""
    by_kind = defaultdict(list)
    order = lambda key: hashlib.sha256("\n".join([SEED, repository, *key]).encode()).digest()
    for key in sorted(found, key=order):
        if not any("|" in part for part in key) and len(by_kind[key[1]]) < N_OF_KIND:
            by_kind[key[1]].append(key)
    return [key for kind in sorted(by_kind) for key in by_kind[kind]]


def place(clone, key, spans):
    """File, line and text that decide whether a relation is right."""
    symbol, kind, other = key
    (path, name), (other_path, other_name) = (it.rsplit("#", 1) for it in (symbol, other))
    (first, last), line = spans
    simple = lambda name: re.split(r"[.:#\\/]", name.strip("`"))[-1].split(" ")[-1]
    if kind in NAMES_FOCUS:
        path, (first, last), wanted = other_path, clone.span(other_path, line, other_name), simple(name)
    elif kind in NAMED_BY_FOCUS:
        wanted = simple(other_name)
    else:
        path, first, last, wanted = other_path, line, line, simple(other_name)
    lines = clone.lines(path)
    pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    named = (n for n in range(first, min(last, len(lines)) + 1) if pattern.search(lines[n - 1]))
    at = next(named, first)
    return path, at, lines[at - 1].strip() if at <= len(lines) else ""


def judgements():
    """Whether relations are right, by repository and key."""
    judged = {}
    for line in JUDGED.read_text().splitlines():
        repository, _, symbol, kind, other, right, _ = line.split("|", 6)
        judged[repository, symbol, kind, other] = {"yes": True, "no": False}[right]
    return judged


def wilson(right, n):
    """The interval of a share, by Wilson (1927)."""
    share, denominator = right / n, 1 + Z * Z / n
    centre = (share + Z * Z / (2 * n)) / denominator
    width = Z * (share * (1 - share) / n + Z * Z / (4 * n * n)) ** 0.5 / denominator
    return max(0, centre - width), min(1, centre + width)


def as_listed(by_kind, n_of_kind):
    """The share that is right if each kind weighs as much as it has relations, with the interval of the strata."""
    n_all = sum(n_of_kind[kind] for kind in by_kind)
    share, variance = 0, 0
    for kind, judged in by_kind.items():
        weight, right = n_of_kind[kind] / n_all, sum(judged) / len(judged)
        share += weight * right
        variance += weight**2 * right * (1 - right) / len(judged)
    return share, Z * variance**0.5


def table(title, rows):
    print(title)
    for name, judged in [*sorted(rows.items()), ("all", [it for row in rows.values() for it in row])]:
        right, n = sum(judged), len(judged)
        low, high = wilson(right, n)
        print(f"  {name:14} {right:4} / {n:<4} {right / n:6.1%}  ({low:.0%} to {high:.0%})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, help="the development set")
    parser.add_argument("--repositories", type=Path, required=True, metavar="DIR")
    parser.add_argument("--binary", default="target/release/git-codeweaver")
    parser.add_argument("--show", action="store_true", help="print the sample")
    parser.add_argument("--unjudged", action="store_true", help="print what has no judgement")
    arguments = parser.parse_args()
    binary = str(Path(arguments.binary).resolve())
    judged = judgements()
    by_kind, by_language, n_drawn, n_of_kind = defaultdict(list), defaultdict(list), 0, Counter()
    for entry in json.loads((arguments.suite / "repos-dev.json").read_text()):
        repository = entry["name"]
        clone = Clone(binary, arguments.repositories / repository, entry["revision"])
        asked = json.loads((arguments.suite / "annotations" / f"{repository}.json").read_text())
        found = relations(clone, [it["query"] for it in asked])
        sample = drawn(repository, found)
        n_drawn += len(sample)
        n_of_kind.update(kind for _, kind, _ in found)
        for key in sample:
            query, spans = found[key]
            right = judged.get((repository, *key))
            if right is not None:
                by_kind[key[1]].append(right)
                by_language[entry["language"]].append(right)
            if arguments.show or (arguments.unjudged and right is None):
                path, line, text = place(clone, key, spans)
                verdict = {True: "yes", False: "no", None: "?"}[right]
                print(f"{repository}|{query}|{'|'.join(key)}|{verdict}|")
                print(f"    {path}:{line}: {text}")
    n_judged = sum(map(len, by_kind.values()))
    print(f"{n_of_kind.total()} relations, {n_drawn} drawn, {n_judged} of them judged")
    print("  " + ", ".join(f"{kind} {n}" for kind, n in n_of_kind.most_common()))
    if n_judged:
        share, width = as_listed(by_kind, n_of_kind)
        print(f"right, as often as each kind is listed: {share:.1%} ± {width:.1%}")
        table("right, by kind", by_kind)
        table("right, by language", by_language)


if __name__ == "__main__":
    main()
