#!/usr/bin/env python3
"""Measures how many of the pairs that `duplicates --semantic` shows are copies.

    benches/duplicate_pairs.py [--class CLASS]... [--pairs N] [--most N] [--seed N] REPOSITORY... > FILE
    benches/duplicate_pairs.py … --show        with the code of both, for a reader
    benches/duplicate_pairs.py --count FILE    the table of what a reader has judged
    benches/duplicate_pairs.py --found FILE REPOSITORY...    how many of these are still in a group of their class

Each REPOSITORY is an indexed clone, of which HEAD is searched. Of its groups of the classes, at most --most are drawn, in
the order of a seeded hash, so that a change of the program changes the sample only where it changes the groups. Of a group,
the reference and one random other member are a pair; its class is that of the member, as a group has the class of its least
similar one. A pair is a line of JSON, to which a reader adds a `verdict`, and in `why` a few words:

    copy   a maintainer could reasonably unify them: the same logic, which one definition with parameters could have
    alike  they do the corresponding thing for another type or case by design, and unifying them is not sensible
    no     they have nothing in common, or only their topic

`duplicate_pairs.jsonl` has the pairs that were read so far, without their code.
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

CLASSES = ("identical", "renamed", "near", "semantic")
VERDICTS = ("copy", "alike", "no")
BAND = 2  # width of a band of similarities, in hundredths
Z = 1.96  # for 95 %


def absolute(program):
    """The path of a program, which is started in other directories."""
    return str(Path(shutil.which(program) or program).resolve())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", metavar="REPOSITORY", type=Path, nargs="*")
    parser.add_argument("--program", type=absolute, default="git-codeweaver")
    parser.add_argument("--class", dest="classes", choices=CLASSES, action="append", help="default: semantic")
    parser.add_argument("--pairs", type=int, default=120, help="number of pairs of all repositories")
    parser.add_argument("--most", type=int, default=15, help="maximum number of pairs of a repository")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the code of each pair")
    parser.add_argument("--count", metavar="FILE", type=Path, help="count the verdicts in FILE")
    parser.add_argument("--found", metavar="FILE", type=Path, help="count the pairs in FILE that are still shown")
    given = parser.parse_args()
    if not given.repositories and not given.count:
        parser.error("a REPOSITORY or --count FILE is needed")
    return given


class Clone:
    """An indexed repository at its HEAD."""

    def __init__(self, root, program):
        self.root, self.program = root.resolve(), program
        self.commit = self.run("git", "rev-parse", "HEAD").strip()

    def run(self, *command):
        environment = {**os.environ, "CODEWEAVER_DAEMON": "off"}
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise SystemExit(f"{self.root}: {' '.join(command)}: {done.stderr}")
        return done.stdout

    def url(self):
        """The address of the repository, unless it was cloned from a directory."""
        urls = self.run("git", "remote", "-v").split()[1:2]
        return [it for it in urls if "://" in it and not it.startswith("file:")]

    def groups(self, classes):
        found = self.run(self.program, "duplicates", "--semantic", "--json", "--committed")
        return [group for group in json.loads(found)["groups"] if group["class"] in classes]

    def code(self, place):
        lines = self.run("git", "show", f"{self.commit}:{place['path']}").split("\n")
        return "\n".join(lines[place["first"] - 1 : place["last"]])


def order(seed, *key):
    return hashlib.sha256(json.dumps([seed, *key]).encode()).hexdigest()


def place(member):
    first, last = member["span"]
    return {"path": member["path"], "first": first, "last": last, "name": member["name"]}


def pair(clone, group, seed):
    """The reference of a group and one other member."""
    reference = group["reference"]
    others = group["members"][:reference] + group["members"][reference + 1 :]
    other = min(others, key=lambda member: order(seed, member["path"], member["span"]))
    about = {"repository": clone.root.name, "commit": clone.commit}
    about.update({"url": url for url in clone.url()})
    about.update({"class": other["class"], "similarity": other["similarity"]})
    return {**about, "a": place(group["members"][reference]), "b": place(other)}


def key(pair):
    places = (pair["a"], pair["b"])
    return (pair["repository"], *((place["path"], place["first"], place["last"]) for place in places))


def draw(clones, classes, n_pairs, n_most, seed):
    drawn = []
    for clone in clones:
        pairs = [pair(clone, group, seed) for group in clone.groups(classes)]
        pairs.sort(key=lambda pair: order(seed, key(pair)))
        drawn += [(clone, pair) for pair in pairs[:n_most]]
    drawn.sort(key=lambda drawn: order(seed, "all", key(drawn[1])))
    return sorted(drawn[:n_pairs], key=lambda drawn: key(drawn[1]))


def compact(pair):
    return json.dumps(pair, ensure_ascii=False, separators=(",", ":"))


def show(clone, pair):
    for side in ("a", "b"):
        print(f"\n--- {side}: {pair[side]['path']}:{pair[side]['first']}  {pair[side]['name']}\n{clone.code(pair[side])}")
    print(f"\n{'=' * 100}")


def interval(n, n_all):
    """Wilson score interval of n of n_all, in percent."""
    share, square = n / n_all, Z * Z / n_all
    middle, half = share + square / 2, Z * math.sqrt(share * (1 - share) / n_all + square / n_all / 4)
    return 100 * max(middle - half, 0) / (1 + square), 100 * min((middle + half) / (1 + square), 1)


def band(similarity):
    """Lower bound of the band of a similarity, in hundredths."""
    return round(1000 * similarity) // (10 * BAND) * BAND


def row(name, verdicts):
    n_all = sum(verdicts.values())
    cells = [f"{name:<22}{n_all:>5}", *(f"{verdicts[verdict]:>6}" for verdict in VERDICTS)]
    for n in (verdicts["copy"], verdicts["copy"] + verdicts["alike"]):
        low, high = interval(n, n_all)
        cells.append(f"{100 * n / n_all:>7.0f} % ({low:.0f}–{high:.0f})".ljust(18))
    return "".join(cells).rstrip()


def count(pairs):
    tables = defaultdict(Counter)
    for pair in pairs:
        lower = band(pair["similarity"])
        bounds = "1.00" if lower >= 100 else f"{lower / 100:.2f}–{(lower + BAND) / 100:.2f}"
        for name in (pair["class"], f"{pair['class']} {bounds}"):
            tables[name][pair["verdict"]] += 1
    print(f"{'':<22}{'n':>5}{'copy':>6}{'alike':>6}{'no':>6}   copy (95 %)       copy or alike (95 %)")
    for name in sorted(tables, key=lambda name: (CLASSES.index(name.split()[0]), name)):
        print(row(name, tables[name]))


def members_of(clone, name):
    """Sets of the members of each group of a class, or of all classes but `semantic`, as path and lines."""
    classes = ("semantic",) if name == "semantic" else CLASSES[:3]
    groups = clone.groups(classes)
    return [{(member["path"], *member["span"]) for member in group["members"]} for group in groups]


def found(pairs, clones):
    """For each class and verdict, the number of pairs whose places are in one group, and of all pairs."""
    clones = {clone.root.name: clone for clone in clones}
    known, shown, groups = Counter(), Counter(), {}
    here = [pair for pair in pairs if (clone := clones.get(pair["repository"])) and clone.commit == pair["commit"]]
    if len(here) < len(pairs):
        print(f"{len(pairs) - len(here)} of {len(pairs)} pairs are of other repositories or commits", file=sys.stderr)
    for pair in here:
        clone = clones[pair["repository"]]
        about = (pair["class"], pair["verdict"])
        of_class = (clone, pair["class"] == "semantic")
        if of_class not in groups:
            groups[of_class] = members_of(clone, pair["class"])
        places = {(pair[side]["path"], pair[side]["first"], pair[side]["last"]) for side in ("a", "b")}
        known[about] += 1
        shown[about] += any(places <= members for members in groups[of_class])
    for name in CLASSES:
        cells = [f"{verdict} {shown[name, verdict]} of {known[name, verdict]}" for verdict in VERDICTS]
        print(f"{name:<12}{', '.join(cells)}")


def read(file):
    pairs = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    unjudged = [pair for pair in pairs if pair.get("verdict") not in VERDICTS]
    if unjudged:
        raise SystemExit(f"{file}: {len(unjudged)} of {len(pairs)} pairs have no verdict; the first is {compact(unjudged[0])}")
    return pairs


def main():
    given = arguments()
    if given.count:
        return count(read(given.count))

    clones = [Clone(root, given.program) for root in given.repositories]
    if given.found:
        return found(read(given.found), clones)

    for clone, drawn in draw(clones, given.classes or ["semantic"], given.pairs, given.most, given.seed):
        print(compact(drawn))
        if given.show:
            show(clone, drawn)


if __name__ == "__main__":
    main()
