#!/usr/bin/env python3
"""Asks questions about the documentation of public repositories: benches/ask.py --clones DIR [--fetch] [--set NAME]

Runs `git codeweaver ask` on the questions of benches/ask/ and prints, for each set,

  hit@1/3/5      share of the answerable questions of which one of the first 1, 3, 5 passages has a labelled line
  short answer   the same of the short answer before the passages
  refused        share of the unanswerable and of the answerable questions that get no answer

with BM25 over the sections of the same files as the baseline, once with whole sections and once with their first 1,000
characters, which is the most that a passage has. A question that gets no answer has no hit. benches/ask/README.md says
how the questions were made.
"""

import argparse
import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent / "ask"
SETS = ("tuning", "kept_aside")
DEPTHS = (1, 3, 5)
STOP_WORDS = frozenset(
    "a an and are as at be by can do does for from how i if in is it may me my of on one or should so that the they this to was"
    " what when where which who why with you".split()
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True, help="directory of the clones, each named as in repositories.toml")
    parser.add_argument("--fetch", action="store_true", help="clone what is missing")
    parser.add_argument("--set", choices=SETS, action="append", help="default: both")
    parser.add_argument("--binary", default="target/release/git-codeweaver")
    parser.add_argument("--details", action="store_true", help="print the questions without a hit and the wrong refusals")
    arguments = parser.parse_args()
    repositories = tomllib.loads((HERE / "repositories.toml").read_text())
    with tempfile.TemporaryDirectory(prefix="codeweaver-bench-") as scratch:
        corpora = {}
        for name in arguments.set or SETS:
            questions = tomllib.loads((HERE / f"{name}.toml").read_text())["question"]
            for repository in dict.fromkeys(question["repository"] for question in questions):
                source = repositories[repository]
                files = documents(arguments.clones / repository, source, Path(scratch) / repository, arguments.fetch)
                corpora[repository] = Corpus(repository, files, Path(arguments.binary).resolve(), Path(scratch) / "home")
            report(name, questions, corpora, arguments.details)


def documents(clone, source, target, fetch):
    """Checks the documentation of the pinned commit out to `target`, and returns its root."""
    if not clone.is_dir() and fetch:
        subprocess.run(["git", "clone", "-q", "--filter=blob:none", "--no-checkout", source["url"], clone], check=True)
    target.mkdir()
    command = ["git", "-C", str(clone), f"--work-tree={target}", "checkout", "-q", source["commit"], "--", source["directory"]]
    # The index of the clone is not touched.
    done = subprocess.run(command, env=os.environ | {"GIT_INDEX_FILE": str(target) + ".index"})
    if done.returncode != 0:
        sys.exit(f"ask.py: {clone} has no commit {source['commit']}; --fetch clones {source['url']} if it is missing")
    return target / source["directory"]


class Corpus:
    """The documentation of one repository, as a collection and as sections for the baseline."""

    def __init__(self, name, root, binary, home):
        self.name, self.root, self.binary = name, root, binary
        home.mkdir(exist_ok=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        done = subprocess.run([binary, "docs", "add", name, root], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"ask.py: {name}: {done.stderr.strip()}")
        self.bm25 = Bm25(root)

    def ask(self, question):
        """The short answer and the passages as lists of (path, first line, last line); None if there is no answer."""
        command = [self.binary, "ask", "--extractive", "--json", "--index", self.name, question]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"ask.py: {self.name}: {question}: {done.stderr.strip()}")
        answer = json.loads(done.stdout)
        if answer["status"] != "answered":
            return None, None, answer
        return self.places(answer["answer"]), self.places(answer["passages"]), answer

    def places(self, quotes):
        return [(os.path.relpath(quote["path"], self.root), *quote["lines"]) for quote in quotes]


class Bm25:
    """The sections of all documents, ranked by BM25 with k1 = 1.2 and b = 0.75."""

    def __init__(self, root):
        self.sections = []
        for path in sorted(root.rglob("*.md")):
            self.sections += sections(str(path.relative_to(root)), path.read_text(errors="replace"))
        self.counts = [collections.Counter(words(text)) for _, _, text in self.sections]
        self.lengths = [sum(count.values()) for count in self.counts]
        self.mean = sum(self.lengths) / max(1, len(self.lengths))
        self.frequencies = collections.Counter(word for count in self.counts for word in count)

    def ask(self, question, n_characters=None):
        """The best sections as (path, first line, last line), of each the first characters only if their number is given."""
        n = len(self.counts)
        weights = {w: math.log(1 + (n - f + 0.5) / (f + 0.5)) for w in set(words(question)) if (f := self.frequencies[w])}
        scored = []
        for number, (count, length) in enumerate(zip(self.counts, self.lengths)):
            norm = 1.2 * (0.25 + 0.75 * length / self.mean)
            score = sum(weight * count[word] * 2.2 / (count[word] + norm) for word, weight in weights.items())
            if score > 0:
                scored.append((-score, number))
        found = []
        for _, number in sorted(scored)[: max(DEPTHS)]:
            path, first, text = self.sections[number]
            found.append((path, first, first + text[:n_characters].rstrip().count("\n")))
        return found


def words(text):
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]


def sections(path, text):
    """The parts of a document between headings outside of code, as (path, first line, text)."""
    found, start, part, fence = [], 1, [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fence = not fence
        if not fence and re.match("#{1,6} ", line):
            found.append((path, start, "\n".join(part)))
            start, part = number, []
        part.append(line)
    found.append((path, start, "\n".join(part)))
    return [section for section in found if section[2].strip()]


def rank(places, answer):
    """Position of the first place that has a labelled line, from 1; infinity if none has."""
    labels = [(path, *lines(span)) for path, _, span in (label.rpartition(":") for label in answer)]
    has = lambda place: any(place[0] == path and place[1] <= last and first <= place[2] for path, first, last in labels)
    return next((number for number, place in enumerate(places, 1) if has(place)), math.inf)


def lines(span):
    first, _, last = span.partition("-")
    return int(first), int(last or first)


def report(name, questions, corpora, details):
    tally, times = collections.defaultdict(list), []

    def ask(question):
        started = time.monotonic()
        found = corpora[question["repository"]].ask(question["text"])
        times.append(time.monotonic() - started)
        return found

    for question in questions:
        bm25 = corpora[question["repository"]].bm25
        for path in {label.rpartition(":")[0] for label in question["answer"]}:
            if not (corpora[question["repository"]].root / path).is_file():
                sys.exit(f"ask.py: {question['repository']} has no {path}")
        short, passages, answer = ask(question)
        what = f"{question['repository']}: {question['text']}"
        if not question["answer"]:
            tally["unanswerable, refused"].append(short is None)
            if details and short is not None:
                print(f"  ANSWERED {answer['relevance']:.2f} {what}\n    {answer['answer'][0]['text'][:110]!r}")
            continue
        tally["answerable, refused"].append(short is None)
        tally["short answer"].append(rank(short or [], question["answer"]) < math.inf)
        ours = rank(passages or [], question["answer"])
        whole, cut = (rank(bm25.ask(question["text"], size), question["answer"]) for size in (None, 1000))
        for depth in DEPTHS:
            tally[f"hit@{depth}"].append(ours <= depth)
            tally[f"BM25 of sections, hit@{depth}"].append(whole <= depth)
            tally[f"BM25 of 1,000 characters, hit@{depth}"].append(cut <= depth)
        if details and short is None:
            print(f"  REFUSED {answer['relevance']:.2f} {what} (BM25 {whole})")
        elif details and not tally["short answer"][-1]:
            print(f"  short {answer['relevance']:.2f} {what} (rank {ours}, BM25 {whole})\n    {answer['answer'][0]['path'].rpartition('/')[2]} {answer['answer'][0]['text'][:110]!r}")
    print(f"{name}: {len(questions)} questions")
    for what in sorted(tally):
        hits = tally[what]
        print(f"  {what}: {sum(hits)} of {len(hits)}, {100 * sum(hits) / len(hits):.0f} %")


if __name__ == "__main__":
    main()
