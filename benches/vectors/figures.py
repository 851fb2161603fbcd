"""The figures of `cargo bench --bench vectors`."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scale"))

from plot import Line  # noqa: E402

# The recalls of the best 10 and the best 300 that crates/index/src/hnsw/certify.rs demands.
MIN_RECALL = {10: 0.985, 300: 0.95}
EXACT, SIGNS, HNSW = "exact scan", "binary quantisation", "HNSW"


@dataclass
class Figure:
    """The times of one method, in ms, for a number of rows of which `keep` are retrieved."""

    corpus: str
    # Rows that are not synthetic.
    indexed: int
    rows: int
    method: str
    keep: int
    # Size of the list of candidates, of HNSW only.
    ef: int | None
    # Of the best `keep` rows.
    recall: float
    ms: float
    min_ms: float
    p95_ms: float


def read(text):
    figures = [Figure(**json.loads(it)) for it in text.splitlines()]
    if len({it.corpus for it in figures}) != 1:
        raise ValueError("the figures are not of one repository")
    return figures


def chosen(figures, method, keep):
    """One figure for each number of rows: of HNSW that with the least sufficient list."""
    of_method = [it for it in figures if (it.method, it.keep) == (method, keep)]
    if method == HNSW:
        of_method = [it for it in of_method if it.recall >= MIN_RECALL[keep]]
    by_rows = {}
    for figure in sorted(of_method, key=lambda it: it.ef or 0):
        by_rows.setdefault(figure.rows, figure)
    return dict(sorted(by_rows.items()))


def lines(figures):
    """A line for each method and number of rows retrieved; dashed unless that is the largest."""
    keeps = sorted({it.keep for it in figures}, reverse=True)
    drawn = [
        Line(
            f"{method}, best {keep}, ms",
            [(it.rows, it.ms) for it in chosen(figures, method, keep).values()],
            is_dashed=keep != keeps[0],
        )
        for keep in keeps
        for method in (EXACT, SIGNS, HNSW)
    ]
    return [it for it in drawn if it.points]


def rows_title(figures):
    indexed = figures[0].indexed
    is_synthetic = any(it.rows > indexed for it in figures)
    return f"rows, synthetic beyond {indexed:,}" if is_synthetic else "rows"


def table(figures, keep):
    exact, signs, hnsw = (chosen(figures, method, keep) for method in (EXACT, SIGNS, HNSW))
    out = [["rows", EXACT, SIGNS, f"recall@{keep}", HNSW, f"recall@{keep}", "list"]]
    out.append(["---:"] * len(out[0]))
    for rows in sorted(exact):
        of_graph = hnsw.get(rows)
        ef = f"{of_graph.ef:,}" if of_graph else ""
        out.append([f"{rows:,}", *cells(exact[rows])[:1], *cells(signs.get(rows)), *cells(of_graph), ef])
    return "\n".join(f"| {' | '.join(line)} |" for line in out)


def cells(figure):
    """Time and recall; empty without a figure."""
    if not figure:
        return ["", ""]
    return [f"{figure.ms:.2f} ms" if figure.ms < 1 else f"{figure.ms:.1f} ms", f"{figure.recall:.3f}"]
