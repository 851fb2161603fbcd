#!/usr/bin/env python3
"""Dense retrieval by the number of rows, as tables and a plot:

    CODEWEAVER_BENCH_JSON=FILE cargo bench --bench vectors -- DIR
    python3 benches/vectors FILE [--svg FILE]

FILE has the figures of one repository. HNSW is shown with the least list of candidates that has the recall
at which graphs are searched, 0.985 of the best 10 and 0.95 of the best 300, and not at all for numbers of
rows at which no list that was tried has that. Times are medians.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scale"))

from figures import lines, read, rows_title, table  # noqa: E402
from plot import svg  # noqa: E402


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figures", type=Path, metavar="FILE")
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    figures = read(options.figures.read_text())
    for keep in sorted({it.keep for it in figures}, reverse=True):
        print(f"{keep} rows retrieved:\n\n{table(figures, keep)}\n")
    if options.svg:
        options.svg.write_text(svg(lines(figures), rows_title(figures)))


main()
