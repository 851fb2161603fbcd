#!/usr/bin/env python3
"""Graphs of hnswlib and usearch beside ours and those of `hnsw_rs`:

    CODEWEAVER_BENCH_VECTORS=FOLDER cargo run --release --package codeweaver-bench-graphs -- DIR
    python3 benches/graphs/graphs.py FOLDER [--threads N] [--library NAME]…

FOLDER has the rows and the questions of one repository as int8. Prints lines to append to the table of the
bench: time to build; bytes a row of the graph, vectors left out; rows that no link leads to, where the
library shows links; recall of the best 10 of stored rows with a list of 64; and the median time of a
question, on one core, with the least list that has the recall, or the highest recall where none has it. Times
are by the clock, as those of the bench, and those of questions include a call from Python. The bench builds
our graph on all cores, so N should be their number. hnswlib has no int8: its rows are the same numbers as
floats. Needs numpy, hnswlib and usearch:

    pip install numpy hnswlib usearch
"""

import argparse
import json
import statistics
import time
from pathlib import Path

# As in benches/graphs/src.
M = 14
EF_CONSTRUCTION = 200
EFS = (64, 100, 200, 300, 400, 600, 800, 1200, 1600, 2400, 4800, 9600, 19_200)
FEW, MANY = 10, 300
GOALS = ((FEW, 0.985), (MANY, 0.95), (MANY, 0.985))
N_STORED, EF_STORED = 1000, 64
# Rows that are scanned at once.
BLOCK = 65_536


class Hnswlib:
    def __init__(self, rows, threads):
        import hnswlib

        self.index = hnswlib.Index(space="ip", dim=rows.shape[1])
        self.index.init_index(max_elements=len(rows), M=M, ef_construction=EF_CONSTRUCTION)
        self.index.set_num_threads(threads)
        self.index.add_items(rows.astype("float32"))
        self.index.set_num_threads(1)
        (self.state,) = self.index.__getstate__()

    def search(self, query, k, ef):
        self.index.set_ef(max(ef, k))
        return self.index.knn_query(query.astype("float32"), k=k)[0][0]

    def bytes_a_row(self):
        state = self.state
        level0 = state["size_data_per_element"] - 4 * self.index.dim
        return level0 + state["link_lists"].nbytes / state["cur_element_count"]

    def rows_without_inbound_link(self):
        """Links are a number of neighbours in two bytes, two bytes of flags, and the neighbours."""
        import numpy

        state = self.state
        n_rows, size = state["cur_element_count"], state["size_data_per_element"]
        data = numpy.frombuffer(state["data_level0"].tobytes(), dtype="uint8")[: n_rows * size]
        data = data.reshape(n_rows, size)[:, state["offset_level0"] :]
        counts = numpy.ascontiguousarray(data[:, :2]).view("uint16")[:, 0]
        links = numpy.ascontiguousarray(data[:, 4 : 4 + 4 * 2 * M]).view("uint32")
        used = links[numpy.arange(2 * M)[None, :] < counts[:, None]]
        return f"{n_rows - len(numpy.unique(used)):,}"


class Usearch:
    def __init__(self, rows, threads):
        import numpy
        from usearch.index import Index

        dim = rows.shape[1]
        self.index = Index(
            ndim=dim, metric="ip", dtype="i8", connectivity=M, expansion_add=EF_CONSTRUCTION
        )
        self.index.add(numpy.arange(len(rows)), rows, threads=threads)
        self.size = self.index.serialized_length / len(rows) - dim

    def search(self, query, k, ef):
        self.index.expansion_search = ef
        return self.index.search(query, k, threads=1).keys

    def bytes_a_row(self):
        return self.size

    def rows_without_inbound_link(self):
        return ""


LIBRARIES = {"hnswlib": Hnswlib, "usearch": Usearch}


class Vectors:
    """Rows and questions, with the products of the best rows of each question and of some stored rows."""

    def __init__(self, folder):
        import numpy

        dim = json.loads((folder / "shape.json").read_text())["dim"]
        self.rows = numpy.fromfile(folder / "rows.i8", dtype="int8").reshape(-1, dim)
        self.questions = numpy.fromfile(folder / "questions.i8", dtype="int8").reshape(-1, dim)
        self.stored = self.rows[:: max(len(self.rows) // N_STORED, 1)]
        self.best_of_questions = self.best_products(self.questions)
        self.best_of_stored = self.best_products(self.stored)

    def best_products(self, queries):
        """The best products, best first. Those of int8 are below 2²⁴, so exact as floats."""
        import numpy

        best = numpy.empty((len(queries), 0), dtype="float32")
        for start in range(0, len(self.rows), BLOCK):
            block = self.rows[start : start + BLOCK].astype("float32")
            best = numpy.hstack([best, queries.astype("float32") @ block.T])
            best = -numpy.sort(-best, axis=1)[:, :MANY]
        return best

    def found(self, search, queries, k):
        """The products of the rows that `search` finds for each query, and the median time in ms."""
        import numpy

        times, products = [], []
        for query in queries:
            started = time.perf_counter()
            keys = search(query, k)
            times.append((time.perf_counter() - started) * 1e3)
            found = self.rows[keys.astype("int64")].astype("int32") @ query.astype("int32")
            # A library may find fewer.
            products.append(numpy.pad(found, (0, k - len(found)), constant_values=-(1 << 30)))
        return -numpy.sort(-numpy.array(products), axis=1), statistics.median(times)


def recall(best, found, keep):
    """Share of the best `keep` rows that were found. Every row as near as the last of them counts."""
    keep = min(keep, best.shape[1])
    return float((found[:, :keep] >= best[:, keep - 1 : keep]).mean())


def goals(vectors, graph):
    """For each goal the time with the least list of candidates that reaches it; if none does, the highest
    recall with its time."""
    cells = []
    for keep, least in GOALS:
        # Recall, time and list.
        best = (0.0, 0.0, 0)
        for ef in (ef for ef in EFS if ef >= keep):
            k = min(keep, len(vectors.rows))
            products, ms = vectors.found(
                lambda query, k, ef=ef: graph.search(query, k, ef), vectors.questions, k
            )
            reached = recall(vectors.best_of_questions, products, keep)
            if reached > best[0]:
                best = (reached, ms, ef)
            if reached >= least:
                break
        cells.append(cell(*best, least))
    return cells


def cell(reached, ms, ef, least):
    if reached >= least:
        return f"{ms:.2f} ms, list of {ef}"
    return f"not reached ({reached:.3f} in {ms:.2f} ms, list of {ef})"


def line(vectors, name, threads):
    started = time.perf_counter()
    graph = LIBRARIES[name](vectors.rows, threads)
    built = time.perf_counter() - started

    stored, _ = vectors.found(lambda query, k: graph.search(query, k, EF_STORED), vectors.stored, FEW)
    cells = [
        name,
        f"{built:.1f} s",
        f"{graph.bytes_a_row():.0f}",
        graph.rows_without_inbound_link(),
        f"{recall(vectors.best_of_stored, stored, FEW):.4f}",
        *goals(vectors, graph),
    ]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=1, help="of the build; default: 1")
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="default: all")
    options = parser.parse_args()
    vectors = Vectors(options.folder)
    for name in options.library or LIBRARIES:
        print(line(vectors, name, options.threads), flush=True)


if __name__ == "__main__":
    main()
