#!/usr/bin/env python3
"""How git-codeweaver grows with the number of chunks:

    python3 benches/scale --source DIR --folder DIR [--sizes 1000 3000 … 1000000] [--runs 7] [--svg FILE]

SOURCE is a large checked-out repository. For each size a repository of whole directories of it, drawn by a
hash of their names, is made in FOLDER, which must be on the same file system: files are hard links, objects
are shared. It is kept, so that a second run does not make it again. Prints a Markdown table of first index,
update after a commit of one file, cold and warm queries, disk use and memory, and the exponents b of a ·
chunks^b that fit them (least squares of logarithms), over all sizes and over those from 100,000 chunks on.
--svg draws them.

CODEWEAVER_BENCH_BINARY and CODEWEAVER_BENCH_LOCK are those of benches/peers.
"""

import argparse
import os
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from corpus import make  # noqa: E402
from fit import exponent  # noqa: E402
from growth import MEASURES, measure  # noqa: E402
from plot import Line, svg  # noqa: E402

SIZES = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
LARGE = 100_000


def table(points):
    lines = [["chunks", "files", *(f"{kind.title}, {kind.unit}" for kind in MEASURES)]]
    lines.append(["---:"] * len(lines[0]))
    for point in points:
        lines.append([f"{point.chunks:,}", f"{point.files:,}", *(kind.text(point) for kind in MEASURES)])
    for what, kept in (
        ("all sizes", points),
        ("from 100,000", [it for it in points if it.chunks >= LARGE * 0.9]),
    ):
        if len(kept) > 1:
            fits = [
                exponent([it.chunks for it in kept], [kind.value(it) for it in kept]) for kind in MEASURES
            ]
            lines.append([f"exponent, {what}", "", *(f"**{fit:.2f}**" for fit in fits)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def line(kind, points):
    is_time = kind.unit in ("s", "ms")
    return Line(f"{kind.title}, {kind.unit}", [(it.chunks, kind.value(it)) for it in points], not is_time)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="approximate numbers of chunks")
    parser.add_argument(
        "--chunks-a-file", type=float, default=4.7, help="of SOURCE, to guess the files of a size"
    )
    parser.add_argument("--runs", type=int, default=int(os.environ.get("CODEWEAVER_BENCH_RUNS", "7")))
    parser.add_argument("--limit", type=float, default=1200, help="seconds that a process may take")
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    points, loads = [], []
    for size in options.sizes:
        repository = make(options.source.resolve(), options.folder, round(size / options.chunks_a_file))
        points.append(measure(repository, options))
        loads.append(os.getloadavg()[0])
        print(f"{repository}: {points[-1]}", file=sys.stderr)
    print(f"{os.cpu_count()} cores, {platform.platform()}, load {min(loads):.1f}–{max(loads):.1f}.")
    print(f"Medians of {options.runs} runs (minimum–maximum).\n")
    print(table(points))
    if options.svg:
        options.svg.write_text(svg([line(kind, points) for kind in MEASURES if kind.is_drawn], "chunks"))


main()
