#!/usr/bin/env python3
"""Compares `duplicates` with jscpd: benches/clones.py --jscpd PROGRAM REPOSITORY...

Runs jscpd (npm) and `git codeweaver duplicates` on each indexed repository, tests and vendored files included. jscpd reports
ranges of lines with the same tokens, wherever they begin. Of these, the ones are counted that cover two whole functions of
at least --min-tokens tokens without comments, and how many of the two functions are in one group of ours. Prints a line for
each repository and one for all; with --misses, the pairs that are not found.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

CALLABLE = ("function", "method", "constructor")
# Share of a function that a clone covers, and the difference in lines between two functions that are copies.
COVERED, MAX_DIFFERENCE = 0.9, 3
MIN_LINES = 6
COMMENTS = re.compile(r'/\*.*?\*/|""".*?"""', re.S)
TOKEN = re.compile(r"\w+|\"[^\"]*\"|'[^']*'|[^\w\s]")


class Repository:
    def __init__(self, root, program):
        self.root, self.program = root.resolve(), program
        self.functions_of, self.lines_of = {}, {}

    def ours(self, *command):
        done = subprocess.run([self.program, *command], cwd=self.root, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def functions(self, path):
        """First and last lines of the functions of a file."""
        if path not in self.functions_of:
            try:
                symbols = self.ours("outline", path, "-o", "json")["symbols"]
            except subprocess.CalledProcessError:
                symbols = []  # not indexed
            self.functions_of[path] = [tuple(it["span"]) for it in symbols if it["kind"] in CALLABLE]
        return self.functions_of[path]

    def n_tokens(self, path, lines):
        if path not in self.lines_of:
            text = (self.root / path).read_text(errors="replace")
            text = COMMENTS.sub(lambda comment: "\n" * comment[0].count("\n"), text)
            self.lines_of[path] = [re.sub(r"(^|\s)(//|#).*", "", line) for line in text.split("\n")]
        first, last = lines
        return len(TOKEN.findall(" ".join(self.lines_of[path][first - 1 : last])))

    def covered(self, path, start, end):
        """The functions of which a clone covers nearly all."""
        return [
            (first, last)
            for first, last in self.functions(path)
            if last - first + 1 >= MIN_LINES and min(end, last) - max(start, first) + 1 >= COVERED * (last - first + 1)
        ]

    def groups(self, min_similarity):
        """For each file, the lines of its members and the number of their group."""
        options = ["--committed", "--include-tests", "--include-vendored", "--min-similarity", str(min_similarity), "--json"]
        members = {}
        for number, group in enumerate(self.ours("duplicates", *options)["groups"]):
            for member in group["members"]:
                members.setdefault(member["path"], []).append((*member["span"], number))
        return members

    def clones(self, jscpd):
        """Pairs of a path with its first and last line."""
        with tempfile.TemporaryDirectory() as directory:
            command = [jscpd, self.root, "--min-tokens", "50", "--min-lines", "5", "--reporters", "json"]
            options = ["--output", directory, "--silent", "--gitignore", "--max-lines", "20000", "--max-size", "1mb"]
            subprocess.run([*command, *options], check=True, capture_output=True)
            report = json.loads((Path(directory) / "jscpd-report.json").read_text())
        for clone in report["duplicates"]:
            yield tuple(
                (os.path.relpath(os.path.abspath(side["name"]), self.root), side["start"], side["end"])
                for side in (clone["firstFile"], clone["secondFile"])
            )


def numbers(members, path, lines):
    first, last = lines
    return {number for start, end, number in members.get(path, []) if start <= first + 1 and end >= last - 1}


def compare(repository, given):
    """The pairs of whole functions that jscpd has found, each with whether they are in one group."""
    members, pairs = repository.groups(given.min_similarity), {}
    for (one, *of_one), (two, *of_two) in repository.clones(given.jscpd):
        for first, second in zip(repository.covered(one, *of_one), repository.covered(two, *of_two)):
            sizes = [repository.n_tokens(one, first), repository.n_tokens(two, second)]
            lengths = first[1] - first[0], second[1] - second[0]
            is_pair = (one, first) != (two, second) and abs(lengths[0] - lengths[1]) <= MAX_DIFFERENCE
            if is_pair and min(sizes) >= given.min_tokens:
                is_found = bool(numbers(members, one, first) & numbers(members, two, second))
                pairs[one, first, two, second] = is_found
    return pairs


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repositories", type=Path, nargs="+")
    options.add_argument("--jscpd", required=True, help="program of the npm package jscpd")
    options.add_argument("--binary", default=os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver"))
    options.add_argument("--min-similarity", type=float, default=0.9)
    # The two programs count tokens differently, so a function at the limit of ours is left out.
    options.add_argument("--min-tokens", type=int, default=55)
    options.add_argument("--misses", action="store_true")
    given = options.parse_args()

    n_all = n_found = 0
    for root in given.repositories:
        pairs = compare(Repository(root, given.binary), given)
        n_all, n_found = n_all + len(pairs), n_found + sum(pairs.values())
        print(f"{root.name}: {sum(pairs.values())} of {len(pairs)}", flush=True)
        if given.misses:
            print(*(pair for pair, is_found in pairs.items() if not is_found), sep="\n")
    print(f"all: {n_found} of {n_all}")


if __name__ == "__main__":
    main()
