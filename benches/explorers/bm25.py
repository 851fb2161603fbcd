#!/usr/bin/env python3
"""An explorer for `git codeweaver eval loop`: BM25 over whole files, identifiers split at case and underscores.

It shares no code and no index with git-codeweaver. Reads the question as JSON from stdin (docs/quality-loop.md),
reads the files of the tree, and prints the best as JSON.
"""

import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

K1, B = 1.2, 0.75
MAX_BYTES, MAX_FILES, MIN_SHARE = 1 << 20, 8, 0.6
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
COMMON = set("a an and are as at be but by for from has have if in into is it its not of on or that the this to was when with".split())


def terms(text):
    for word in WORD.findall(text):
        parts = PART.findall(word)
        for part in ([word] if len(parts) > 1 else []) + parts:
            part = part.lower()
            if len(part) > 1 and part not in COMMON:
                yield part


def main():
    question = json.load(sys.stdin)
    root = Path(question["tree"])
    wanted = Counter(terms(question["issue"]["text"]))
    files = []
    for path in sorted(root.rglob("*")):
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            continue
        data = path.read_bytes()
        if b"\0" in data[:8000]:
            continue
        name = path.relative_to(root).as_posix()
        # The path says what a file is about; it counts as five mentions.
        counts = Counter(terms(data.decode(errors="replace")))
        length = sum(counts.values())
        for term in set(terms(name)):
            counts[term] += 5
        files.append((name, length, {term: counts[term] for term in wanted if counts[term]}))
    mean = sum(length for _, length, _ in files) / max(1, len(files))
    frequency = Counter(term for _, _, counts in files for term in counts)
    idf = {term: math.log(1 + (len(files) - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}

    def score(file):
        _, length, counts = file
        norm = K1 * (1 - B + B * length / max(1.0, mean))
        return sum(idf[term] * n * (K1 + 1) / (n + norm) for term, n in counts.items())

    ranked = sorted(((score(file), file[0], file[2]) for file in files), key=lambda entry: (-entry[0], entry[1]))
    best = ranked[0][0] if ranked else 0
    found = [
        {"path": name, "why": "has " + ", ".join(sorted(counts))}
        for value, name, counts in ranked[:MAX_FILES]
        if counts and value >= best * MIN_SHARE
    ]
    print(json.dumps({"files": found, "log": [f"{len(files)} files, terms: {' '.join(sorted(wanted))}"]}))


if __name__ == "__main__":
    main()
