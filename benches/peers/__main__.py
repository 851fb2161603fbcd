#!/usr/bin/env python3
"""Compares git-codeweaver with other programs on the same trees, in one run:

    python3 benches/peers [--only NAME…] [--runs 5] [--limit SECONDS] [--cache DIR] DIR…

Installs the programs of `programs/` at pinned versions into a cache directory (target/peers), clones HEAD of
each DIR, and runs one program after the other on the clone. Prints one Markdown table: first index, update
after a commit of one file, queries of new processes and of running servers, peak memory, disk use. Files are
in the cache of the system. A program that cannot be installed is a row with the reason; what fails or exceeds
the limit of time is a cell that says so, and then the exit code is 1.

CODEWEAVER_BENCH_BINARY is the git-codeweaver to measure. CODEWEAVER_BENCH_LOCK names a lock file that is held
(`flock`) while something is measured, for at most two minutes at a time, where builds on the same machine
take it as well. CODEWEAVER_BENCH_FOLDER is where clones are made. Needs Linux, git, cargo, and apt-get for
Debian's packages.
"""

import argparse
import os
import platform
import resource
import sys
import tempfile
from pathlib import Path

from measure import Failed, disk_mib, repeat
from programs import ALL
from table import Row, as_markdown
from trees import QUESTIONS, Tree

ABOUT = """\
Median (minimum–maximum). CPU time: median of first index, update and cold query. Peak memory: of the first
index, of a cold query and of the server, which includes mapped files; for the first two it cannot be below
{floor:.0f} MiB, which this bench has. Load of the machine, this bench included: {load}.
"""
ROOT = Path(__file__).resolve().parents[2]


def measure(program, tree, options):
    """Runs one program on a tree. What fails is said in the row, and the rest is still measured."""
    row = Row(tree.name, program.title())
    limit, runs = options.limit, options.runs

    def first_index():
        program.clean(tree)
        return program.index(tree, limit)

    def attempt(cell, action):
        try:
            setattr(row, cell, action())
        except Failed as failure:
            setattr(row, cell, str(failure) if cell != "remarks" else [str(failure)])
            row.failures += 1
            print(f"{tree.name}: {program.name}: {cell}: {failure}\n{failure.detail}", file=sys.stderr)

    questions = tree.questions(program)
    tree.restore()
    if program.has_index:
        attempt("index", lambda: program.prepare(tree) or repeat(first_index, runs))
        row.disk = disk_mib(program.index_paths(tree))
    if not row.failures:
        attempt(
            "cold", lambda: repeat(lambda: program.query(tree, next(questions), limit), runs, warm_up=True)
        )
    # Without a first index or an answer, the rest would fail as well, after as long a time.
    if not row.failures:
        if program.has_session:
            attempt("warm", lambda: program.warm(tree, questions, runs, limit))
        attempt("update", lambda: repeat(lambda: program.update(tree, tree.edit(), limit), runs))
        attempt("remarks", lambda: program.remarks(tree, runs, limit))
    program.clean(tree)
    return row


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directories", nargs="+", metavar="DIR", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[kind.name for kind in ALL])
    parser.add_argument("--runs", type=int, default=int(os.environ.get("CODEWEAVER_BENCH_RUNS", "5")))
    parser.add_argument("--limit", type=float, default=600, help="seconds that a process may take")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / "target/peers", help="where programs are installed"
    )
    options = parser.parse_args()
    programs = [kind(options.cache) for kind in ALL if not options.only or kind.name in options.only]
    missing = {}
    for program in programs:
        print(f"installing {program.name}", file=sys.stderr)
        try:
            program.install()
        except Failed as failure:
            missing[program.name] = str(failure)
            print(f"{program.name}: {failure}\n{failure.detail}", file=sys.stderr)
    rows, loads = [], []
    for source in options.directories:
        with tempfile.TemporaryDirectory(dir=os.environ.get("CODEWEAVER_BENCH_FOLDER")) as scratch:
            tree = Tree(source.resolve(), Path(scratch))
            for program in programs:
                print(f"{tree.name}: {program.name}", file=sys.stderr)
                if program.name in missing:
                    rows.append(Row(tree.name, program.title(), missing=missing[program.name]))
                else:
                    rows.append(measure(program, tree, options))
                loads.append(os.getloadavg()[0])
                print(as_markdown(rows[-1:]), *rows[-1].remarks, sep="\n", file=sys.stderr)
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{os.cpu_count()} cores, {platform.platform()}. Questions: {'; '.join(QUESTIONS)}.")
    print(ABOUT.format(floor=floor, load=f"{min(loads):.1f}–{max(loads):.1f}"))
    print(as_markdown(rows))
    print()
    for row in rows:
        if row.remarks:
            print(f"* {row.tree}, {row.program}: {'; '.join(row.remarks)}")
    print()
    for program in programs:
        about = ", ".join(part for part in (program.licence, program.source, program.note) if part)
        print(f"* {program.title()}: {about}")
    return 1 if any(row.failures for row in rows) else 0


sys.exit(main())
