#!/usr/bin/env python3
"""summary.py LOG…: calls, seconds and characters printed, in all and by program, for each log and together.

A call's characters are counted for the program that printed them as well as can be told: for a command
whose parts are all one program, that one; else the first program of the command that reads files (the
source of a pipeline: `grep … | head` counts for grep, `git codeweaver … | sed` for git codeweaver).
`any` counts the calls that a program takes part in at all.
"""

import collections
import json
import sys


def group(program):
    """`git codeweaver tool find_code` → `git codeweaver`, `git grep` → `git`."""
    if program.startswith("git codeweaver"):
        return "git codeweaver"
    return program.split()[0]


def read(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def table(title, rows):
    calls, chars = len(rows), sum(r["chars"] for r in rows)
    seconds = sum(r["seconds"] for r in rows)
    print(f"{title}: {calls} calls, {chars} characters (about {chars // 4} tokens), {seconds:.1f} s, "
          f"{sum(1 for r in rows if r['rc'] not in (0, 1))} failed (status above 1)")

    first, size, part, time = (collections.Counter() for _ in range(4))
    tools, tool_size = collections.Counter(), collections.Counter()
    for r in rows:
        names = r["programs"] or ["(none)"]
        # `echo` and `head` only frame what others print.
        source = next((n for n in names if n not in ("echo", "printf", "head", "tail")), names[0])
        first[group(source)] += 1
        size[group(source)] += r["chars"]
        time[group(source)] += r["seconds"]
        for g in {group(n) for n in names}:
            part[g] += 1
        if group(source) == "git codeweaver":
            tools[source] += 1
            tool_size[source] += r["chars"]

    print(f"  {'program':<34}{'calls':>7}{'any':>7}{'chars':>10}{'share':>8}{'seconds':>9}")
    for g in sorted(part, key=lambda g: (-size[g], -part[g])):
        share = 100 * size[g] / chars if chars else 0
        print(f"  {g:<34}{first[g]:>7}{part[g]:>7}{size[g]:>10}{share:>7.1f}%{time[g]:>9.1f}")
    for t, n in tools.most_common():
        print(f"    {t:<32}{n:>7}{'':>7}{tool_size[t]:>10}")
    print()


def main():
    paths = sys.argv[1:]
    if not paths:
        sys.exit("usage: summary.py LOG…")
    logs = [(p, read(p)) for p in paths]
    for path, rows in logs:
        table(path, rows)
    if len(logs) > 1:
        table("all", [r for _, rows in logs for r in rows])


if __name__ == "__main__":
    main()
