"""Writes what git-codeweaver has indexed for other engines: chunks.py REPOSITORY OUT

OUT is an Arrow file with a row for each chunk: its number, blob, text, and vector as float32 of length 1.
Needs pyarrow and numpy, and a repository whose index was made at once, so that every chunk of its shards is
current.
"""

import subprocess
import sys
from pathlib import Path

import numpy
import pyarrow
from pyarrow import feather, parquet

COLUMNS = ["blob_oid", "start_byte", "end_byte", "vector"]


def read_chunks(repository):
    """All chunks, in the order of their shards."""
    paths = sorted(Path(repository).glob(".codeweaver/v1/*/shards/*.parquet"))
    return pyarrow.concat_tables(parquet.read_table(path, columns=COLUMNS) for path in paths)


def unit_vectors(column):
    """The vectors of a column of int8 components, as rows of float32 with length 1."""
    rows = [numpy.frombuffer(cell, numpy.int8) for cell in column.to_pylist()]
    vectors = numpy.asarray(rows, numpy.float32)
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / numpy.maximum(lengths, 1e-9)


def texts(repository, chunks):
    """The text of each chunk, out of its blob."""
    command = ["git", "-C", repository, "cat-file", "--batch"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    last, content = None, b""
    for chunk in chunks.select(COLUMNS[:3]).to_pylist():
        if chunk["blob_oid"] != last:
            last = chunk["blob_oid"]
            content = read_blob(process, last)
        yield content[chunk["start_byte"] : chunk["end_byte"]].decode(errors="replace")
    process.stdin.close()
    process.wait()


def read_blob(process, oid):
    """A blob in UTF-8 without a byte order mark, which is what byte ranges count in."""
    process.stdin.write(oid.hex().encode() + b"\n")
    process.stdin.flush()
    size = int(process.stdout.readline().split()[2])
    content = process.stdout.read(size + 1)[:size]
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if content.startswith(mark):
            return content.decode(encoding, errors="replace").encode()
    return content


def main():
    repository, out = sys.argv[1:]
    chunks = read_chunks(repository)
    vectors = unit_vectors(chunks["vector"])
    flat = pyarrow.array(vectors.reshape(-1))
    table = pyarrow.table(
        {
            "row": pyarrow.array(range(len(chunks)), pyarrow.int64()),
            "blob": [oid.hex() for oid in chunks["blob_oid"].to_pylist()],
            "text": pyarrow.array(texts(repository, chunks), pyarrow.large_string()),
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
    )
    feather.write_feather(table, out, compression="uncompressed")


main()
