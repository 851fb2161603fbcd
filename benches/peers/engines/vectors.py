"""lancedb over the vectors of git-codeweaver: vectors.py CHUNKS QUESTIONS INDEX KIND (see worker.py)

KIND is `exact`, or a type of index such as IVF_PQ. QUESTIONS is an Arrow file like CHUNKS, of which `ask`
takes the row with the given text.
"""

import sys
import time

import lancedb
import numpy
from pyarrow import Table, feather
from worker import Clock, serve

CHUNKS, QUESTIONS, INDEX, KIND = sys.argv[1:]
KEPT = 10
# The tenth of equal rows may be any of them.
TOLERANCE = 1e-6


def matrix(column):
    column = column.combine_chunks()
    return column.values.to_numpy().reshape(len(column), -1)


def index():
    chunks = feather.read_table(CHUNKS, columns=["row", "blob", "vector"])
    clock = Clock()
    table = lancedb.connect(INDEX).create_table("chunks", chunks)
    if KIND != "exact":
        table.create_index(metric="cosine", index_type=KIND)
    return {"rows": len(chunks), **clock.taken()}


class State:
    """The table and the vectors of questions, opened by the first question."""

    table = None
    questions = None


def open_table():
    return lancedb.connect(INDEX).open_table("chunks")


def search(table, vector, kept=KEPT):
    """The rows nearest to a vector, by the engine's defaults; what IVF_PQ finds is ranked by exact
    distances."""
    query = table.search(vector).distance_type("cosine").select(["row"]).limit(kept)
    if KIND == "exact":
        query = query.bypass_vector_index()
    if KIND == "IVF_PQ":
        query = query.refine_factor(10)
    return query.to_arrow()["row"].to_pylist()


def ask(text):
    if State.questions is None:
        questions = feather.read_table(QUESTIONS, columns=["text", "vector"])
        State.questions = dict(zip(questions["text"].to_pylist(), matrix(questions["vector"])))
    clock = Clock()
    State.table = State.table or open_table()
    rows = search(State.table, State.questions[text])
    return {"rows": rows, **clock.taken()}


def update(name):
    """Replaces the rows of one blob by the same and another one, and looks for it by its vector."""
    chunks = feather.read_table(CHUNKS, columns=["row", "blob", "vector"])
    blob = chunks["blob"][len(chunks) // 2].as_py()
    rows = [chunk for chunk in chunks.to_pylist() if chunk["blob"] == blob]
    seed = int.from_bytes(name.encode(), "little")
    vector = numpy.random.default_rng(seed).standard_normal(len(rows[0]["vector"])).astype(numpy.float32)
    vector /= numpy.linalg.norm(vector)
    rows.append({"row": -1, "blob": blob, "vector": vector.tolist()})
    replaced = Table.from_pylist(rows, schema=chunks.schema)
    del chunks
    clock = Clock()
    table = open_table()
    table.delete(f"blob = '{blob}'")
    table.add(replaced)
    found = search(table, vector)[0] == -1
    return {"found": found, **clock.taken()}


def recall():
    """Recall@10 against the exact order, over all questions, with 10 rows kept and with 300."""
    chunks = matrix(feather.read_table(CHUNKS, columns=["vector"])["vector"])
    questions = matrix(feather.read_table(QUESTIONS, columns=["vector"])["vector"])
    table = open_table()
    hits, times = {}, {}
    for question in questions:
        scores = chunks @ question
        least = numpy.partition(scores, -KEPT)[-KEPT] - TOLERANCE
        for kept in (KEPT, 300):
            started = time.perf_counter()
            rows = search(table, question, kept)
            times.setdefault(kept, []).append(time.perf_counter() - started)
            n_hits = sum(scores[row] >= least for row in rows if row >= 0)
            hits[kept] = hits.get(kept, 0) + min(KEPT, n_hits)
    n_wanted = KEPT * len(questions)
    return {
        kept: {"recall": hits[kept] / n_wanted, "median": float(numpy.median(times[kept]))} for kept in hits
    }


serve({"index": index, "ask": ask, "update": update, "recall": recall})
