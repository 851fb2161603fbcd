#!/usr/bin/env python3
"""Counts how often a string literal, as a query without quotation marks, finds the file that has it.

    python3 benches/literals.py [--seed N] [--per-repository N] [--missing] DIR...

Literals are drawn at random from the indexed source files of each repository: texts between quotation marks on
one line, of 12 to 100 characters, with at least two words. Each is a query of its own. Found is a file that has
the text verbatim. CODEWEAVER_BENCH_BINARY names the binary, otherwise target/release/git-codeweaver.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("CODEWEAVER_BENCH_BINARY", str(ROOT / "target/release/git-codeweaver"))
SOURCES = set(".c .cc .cpp .cs .ex .go .h .hs .java .js .kt .lua .php .py .rb .rs .scala .swift .ts .tsx .zig".split())
LITERAL = re.compile(r'"([^"\\\n]{12,100})"|\'([^\'\\\n]{12,100})\'')
LONGEST = 300
WORD = re.compile(r"[A-Za-z]{2,}")


def literals(repository):
    """Distinct literals of the source files, in order of path."""
    names = subprocess.run(
        ["git", "-C", repository, "ls-files", "-z"], check=True, capture_output=True
    ).stdout.decode(errors="surrogateescape")
    found = {}
    for name in names.split("\0"):
        path = pathlib.Path(repository, name)
        if path.suffix not in SOURCES or not path.is_file() or path.stat().st_size > 300_000:
            continue
        for line in path.read_text(errors="replace").splitlines():
            if len(line) > LONGEST:  # minified
                continue
            for match in LITERAL.finditer(line):
                text = match.group(1) or match.group(2)
                if len(WORD.findall(text)) >= 2 and text == text.strip() and not text.startswith("-"):
                    found.setdefault(text, name)
    return sorted(found)


def rank(repository, text):
    """Rank of the first file that has `text`, 0 if none of the first ten has it."""
    command = [BINARY, "search", "--json", "--limit", "10", "--mode", "hybrid", "--", text]
    run = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    if run.returncode > 1:
        raise SystemExit(f"{repository}: {run.stdout}{run.stderr}")
    for at, match in enumerate(json.loads(run.stdout)["matches"], 1):
        if text in pathlib.Path(repository, match["file"]["path"]).read_text(errors="replace"):
            return at
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="+", metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-repository", type=int, default=10)
    parser.add_argument("--missing", action="store_true", help="print the literals that are not first")
    args = parser.parse_args()
    total = []
    for directory in args.directories:
        known = literals(directory)
        # The name is part of the seed, so that the sample does not depend on the other repositories.
        chosen = random.Random(f"{args.seed} {pathlib.Path(directory).name}").sample(
            known, min(args.per_repository, len(known))
        )
        ranks = [rank(directory, text) for text in chosen]
        total += ranks
        if args.missing:
            for text, at in zip(chosen, ranks):
                if at != 1:
                    print(f"  {at:2} {text}")
        report(pathlib.Path(directory).name, ranks)
    report("all", total)


def report(name, ranks):
    n = max(1, len(ranks))
    first, ten = sum(at == 1 for at in ranks), sum(at > 0 for at in ranks)
    print(f"{name:20} {len(ranks):4} literals, first {first / n:6.1%}, in the first ten {ten / n:6.1%}", flush=True)


if __name__ == "__main__":
    main()
