#!/usr/bin/env python3
"""Measures the call graph against a compiler: python3 benches/call_graph LANGUAGE DIR [--truth FILE] [--wrong N]
[--absences N] PATH…

For every call site in the files of DIR whose path begins with one of PATH, a compiler says which definition is called:
libclang for C (PyPI `libclang`), pyright for Python (PyPI `pyright`), the compiler API for TypeScript (npm `typescript`,
found through NODE_PATH), rust-analyzer for Rust (rustup components `rust-analyzer` and `rust-src`). The answers are
compared with those of `git codeweaver eval calls`; DIR must be indexed. `--truth FILE` keeps the answers of the compiler,
which take minutes, and reads them if the file exists. `--wrong N` prints N wrong sites of each grade, to be read.
CODEWEAVER_BENCH_BINARY names another binary.

`--absences N` asks for the callers of N functions and methods of the call sites' files, drawn at random (all if 0), and
counts the answers that say none (no edge, `coverage.complete`) although the compiler knows a call. Those are printed.

For C, DIR/compile_commands.json says how files are compiled; without it, headers are searched in each `--include`.

A definition of the truth is a function, method, type or macro; anything else that is called is a value, which an edge may
lead to, but need not. Sites that the compiler does not know (code that is not compiled, types that it cannot infer) do not
count.
"""

import argparse
import collections
import importlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

OURS = os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver")
GRADES = ("exact", "unique_name", "ambiguous", "unresolved")
CALLABLE = ("function", "method", "constructor")


def truth_of(language, root, prefixes, includes):
    """Yields (file, line, column, name), kind and definitions (file, line, name) of call sites; columns are
    bytes, from 1.

    The kind is `definition`, `library` (a definition outside of the repository) or `value` (with its place, if known).
    """
    module = importlib.import_module(language)
    return module.truth(root, prefixes, includes) if language == "c" else module.truth(root, prefixes)


def is_target(target, definitions):
    """Whether one of the definitions is the target: the same name in its lines, or its type or
    constructor."""
    names = target["qualifiedName"].replace("::", ".").replace("#", ".").split(".")
    for file, line, name in definitions:
        name = name.lstrip("#")
        if file != target["file"]:
            continue
        first, last = target["span"]
        inside = first <= line <= last
        constructs = target["kind"] == "constructor" and name in names[-2:] or name in ("constructor", "__init__", "default")
        if inside and (name == names[-1] or constructs) or constructs and name in names[-2:]:
            return True
    return False


def percent(part, whole):
    return f"{part}/{whole} {100 * part / whole:.1f} %" if whole else "0/0"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=("c", "python", "typescript", "rust"))
    parser.add_argument("dir", type=Path)
    parser.add_argument("prefixes", nargs="*", metavar="PATH")
    parser.add_argument("--truth", type=Path, metavar="FILE")
    parser.add_argument("--include", action="append", default=[], metavar="DIR")
    parser.add_argument("--wrong", type=int, default=0, metavar="N")
    parser.add_argument("--absences", type=int, metavar="N")
    arguments = parser.parse_args()
    root = arguments.dir.resolve()
    if arguments.truth and arguments.truth.exists():
        truth = json.loads(arguments.truth.read_text())
    else:
        found = truth_of(arguments.language, root, arguments.prefixes, arguments.include)
        truth = [[list(site), kind, sorted(places)] for site, kind, places in found]
        if arguments.truth:
            arguments.truth.write_text(json.dumps(truth))
    run = subprocess.run([OURS, "eval", "calls", *arguments.prefixes], cwd=root, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{OURS} eval calls: exit code {run.returncode}")
    ours = {}
    for line in run.stdout.splitlines():
        site = json.loads(line)
        ours[site["file"], site["line"], site["column"]] = site

    grades = {grade: collections.Counter() for grade in (*GRADES, "none")}
    wrong = collections.defaultdict(list)
    for (file, line, column, name), kind, definitions in truth:
        site = ours.get((file, line, column))
        grade = site["grade"] if site else "none"
        if site and site["name"] != name:
            continue
        hit = bool(site) and any(is_target(t, definitions) for t in site["targets"])
        grades[grade][kind, hit] += 1
        is_right = hit or kind != "definition" and grade in ("unresolved", "none")
        is_of_interest = kind == "definition" or grade != "ambiguous"
        if not is_right and is_of_interest:
            shown = [f"{t['file']}:{t['span'][0]} {t['qualifiedName']}" for t in site["targets"][:3]] if site else []
            evidence = site["evidence"] if site else ""
            wrong[grade].append(f"{file}:{line}:{column} {name}: {kind} {definitions[:2]}, not {shown} ({evidence})")

    total = sum(grades[grade].total() for grade in grades)
    inside = sum(n for grade in grades for (kind, _), n in grades[grade].items() if kind == "definition")
    print(f"{root.name} ({arguments.language}): {total} call sites, {inside} of definitions in the repository")
    for grade in ("exact", "unique_name"):
        right = sum(n for (_, hit), n in grades[grade].items() if hit)
        print(f"  {grade:<12} right              {percent(right, grades[grade].total())}")
    listed, unlisted = grades["ambiguous"]["definition", True], grades["ambiguous"]["definition", False]
    outside = grades["ambiguous"].total() - listed - unlisted
    print(f"  ambiguous    holds the right one {percent(listed, listed + unlisted)}; {outside} more are calls of a library or value")
    missed = grades["unresolved"]["definition", False]
    print(f"  unresolved   right              {percent(grades['unresolved'].total() - missed, grades['unresolved'].total())}")
    resolved = sum(grades[grade]["definition", True] for grade in ("exact", "unique_name"))
    print(f"  recall       exact {percent(grades['exact']['definition', True], inside)}")
    print(f"               exact or unique {percent(resolved, inside)}")
    print(f"               or listed {percent(resolved + listed, inside)}")
    print(f"               not a site {percent(grades['none']['definition', False], inside)}")
    random.seed(1)
    for grade in (*GRADES, "none"):
        sample = random.sample(wrong[grade], min(arguments.wrong, len(wrong[grade])))
        for line in sorted(sample):
            print(f"{grade}: {line}")
    if arguments.absences is not None:
        report_absences(root, truth, arguments.absences)


def report_absences(root, truth, n):
    """Prints how many of the answers that a function has no callers are wrong, and the wrong ones."""
    called = collections.defaultdict(list)
    for (file, line, _, name), kind, places in truth:
        for place in places if kind == "definition" else []:
            called[place[0]].append((place[1], place[2], f"{file}:{line}"))
    functions = []
    for file in sorted({site[0] for site, _, _ in truth}):
        run = subprocess.run([OURS, "outline", file, "--json"], cwd=root, stdout=subprocess.PIPE, text=True)
        if run.returncode == 0:
            symbols = json.loads(run.stdout)["symbols"]
            functions += [(file, symbol) for symbol in symbols if symbol["kind"] in CALLABLE]
    random.seed(1)
    drawn = random.sample(functions, min(n, len(functions))) if n else functions

    n_incomplete, absent, wrong = 0, 0, []
    for file, symbol in drawn:
        first, last = symbol["span"]
        where = f"{file}:{first}#{symbol['qualified_name']}"
        run = subprocess.run([OURS, "graph", "callers", where, "--json"], cwd=root, stdout=subprocess.PIPE, text=True)
        answer = json.loads(run.stdout)
        if answer["edges"] or answer["status"] not in ("ok", "ambiguous"):
            continue
        if not answer["coverage"]["complete"]:
            n_incomplete += 1
            continue
        absent += 1
        sites = [site for line, name, site in called[file] if first <= line <= last and name == symbol["name"]]
        if sites:
            wrong.append(f"none: {where}, called at {', '.join(sites[:3])}")
    print(f"  none         wrong              {percent(len(wrong), absent)}; of {len(drawn)} functions; {n_incomplete} more without edges are not complete")
    for line in wrong:
        print(line)


if __name__ == "__main__":
    main()
