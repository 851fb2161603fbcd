#!/usr/bin/env python3
"""Pasted error messages: does the file that raises them come first, and is the raising line shown?

    benches/messages.py --checkouts DIR [--program PATH] [--half tuned|aside] [--missing] [--index]

`messages/messages.tsv` has messages as programs print them, with the exception in front, values filled in and several
lines: from issues, logs, and the expectations of tests. `\\n` and `\\t` in a message are line breaks and tabs. Each has
the place that raises it, as path and line; `also` has further places, as PATH:LINE, if several raise the same text.

DIR has a checkout of each repository at the commit of the table, in a directory with the last part of its name. With
`--index` they are indexed first. Nothing is fetched. Half of the messages, by their hash, were not looked at while the search was written.
"""

import argparse
import csv
import hashlib
import json
import subprocess
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "messages" / "messages.tsv"


def rows():
    with TABLE.open(newline="") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            key = f"{row['repository']} {row['message']}"
            row["half"] = "aside" if hashlib.sha256(key.encode()).digest()[0] % 2 else "tuned"
            row["text"] = row["message"].replace("\\n", "\n").replace("\\t", "\t")
            places = [f"{row['path']}:{row['line']}", *row["also"].split()]
            row["places"] = [(path, int(line)) for path, line in (place.rsplit(":", 1) for place in places)]
            yield row


def search(program, checkout, text):
    """The best three matches."""
    command = [program, "search", "-o", "json", "--locations", "-l", "3", "--mode", "hybrid", "-"]
    run = subprocess.run(command, cwd=checkout, input=text.encode(), capture_output=True)
    if run.returncode > 1:
        raise SystemExit(f"{checkout}: {run.stdout.decode()}{run.stderr.decode()}")
    return json.loads(run.stdout)["matches"]


def judge(program, checkout, row):
    """The rank of the file among three, or 0, and whether the focus of its match has the raising line."""
    for rank, match in enumerate(search(program, checkout, row["text"]), 1):
        paths = {match["file"]["path"], *match.get("also_at", [])}
        lines = [line for path, line in row["places"] if path in paths]
        if lines:
            # The text of a match is that of its chunk, and a definition may be longer.
            (start, end), focus = match["span"], match["focus"]
            first, last = max(start, focus["start_line"]), min(end, focus["end_line"])
            return rank, any(first <= line <= last for line in lines)
    return 0, False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--program", default="git-codeweaver")
    parser.add_argument("--half", choices=["tuned", "aside"])
    parser.add_argument("--missing", action="store_true", help="print the messages that are not first")
    parser.add_argument("--index", action="store_true", help="index the checkouts first")
    args = parser.parse_args()
    found, indexed = {}, set()
    for row in rows():
        if args.half not in (None, row["half"]):
            continue
        checkout = args.checkouts / row["repository"].split("/")[1]
        if args.index and checkout not in indexed:
            subprocess.run([args.program, "init", "--no-hooks"], cwd=checkout, check=True, capture_output=True)
            subprocess.run([args.program, "index", "-q"], cwd=checkout, check=True)
            indexed.add(checkout)
        rank, is_shown = judge(args.program, checkout, row)
        found.setdefault(row["half"], []).append((rank, is_shown))
        if args.missing and (rank != 1 or not is_shown):
            print(f"{rank} {'shown' if is_shown else '-':5} {row['repository']} {row['path']}:{row['line']}: {row['message']}")
    for half, of in sorted(found.items(), reverse=True):
        shares = [sum(1 <= rank <= k for rank, _ in of) / len(of) for k in (1, 3)]
        lines = sum(rank == 1 and is_shown for rank, is_shown in of) / len(of)
        print(f"{half:5} {len(of):4} messages: first {shares[0]:.1%}, first three {shares[1]:.1%}, line shown first {lines:.1%}")


if __name__ == "__main__":
    main()
