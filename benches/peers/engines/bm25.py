"""tantivy over the chunks of git-codeweaver: bm25.py CHUNKS INDEX (see worker.py)"""

import re
import sys
from pathlib import Path

import tantivy
from pyarrow import feather
from worker import Clock, serve

CHUNKS, INDEX = map(Path, sys.argv[1:])
HEAP_BYTES = 256 << 20


def document(chunk):
    return tantivy.Document(text=chunk["text"], blob=chunk["blob"], row=chunk["row"])


def index():
    chunks = feather.read_table(CHUNKS, columns=["row", "blob", "text"])
    clock = Clock()
    INDEX.mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text")
    builder.add_text_field("blob", stored=True, tokenizer_name="raw")
    builder.add_integer_field("row", stored=True)
    writer = tantivy.Index(builder.build(), path=str(INDEX)).writer(HEAP_BYTES)
    for batch in chunks.to_batches(1000):
        for chunk in batch.to_pylist():
            writer.add_document(document(chunk))
    writer.commit()
    writer.wait_merging_threads()
    return {"rows": len(chunks), **clock.taken()}


def search(engine, text):
    query = engine.parse_query(" ".join(re.findall(r"\w+", text)), ["text"])
    searcher = engine.searcher()
    return [searcher.doc(place)["row"][0] for _, place in searcher.search(query, 10).hits]


class State:
    """The index, opened by the first question."""

    engine = None


def ask(text):
    State.engine = State.engine or tantivy.Index.open(str(INDEX))
    return {"rows": search(State.engine, text)}


def update(name):
    """Replaces the chunks of one blob by the same and another one with `name`, and looks for it."""
    chunks = feather.read_table(CHUNKS, columns=["row", "blob", "text"])
    blob = chunks["blob"][len(chunks) // 2].as_py()
    rows = [chunk for chunk in chunks.to_pylist() if chunk["blob"] == blob]
    rows.append({"row": -1, "blob": blob, "text": f"def {name}(value):\n    return value + 1\n"})
    del chunks
    clock = Clock()
    engine = tantivy.Index.open(str(INDEX))
    writer = engine.writer(HEAP_BYTES)
    writer.delete_documents("blob", blob)
    for chunk in rows:
        writer.add_document(document(chunk))
    writer.commit()
    engine.reload()
    found = search(engine, name) == [-1]
    return {"found": found, **clock.taken()}


serve({"index": index, "ask": ask, "update": update})
