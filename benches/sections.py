#!/usr/bin/env python3
"""Prints what the sections of the segments of a repository take, largest first.

    python3 benches/sections.py DIR

The format is that of `crates/store/src/container.rs`, the sections are those of `segment/mod.rs` there.
"""

import struct
import sys
from collections import Counter
from pathlib import Path

HEADER, ENTRY = struct.Struct("<8sII"), struct.Struct("<IIQQ")
NAMES = {
    1: "header", 2: "chunks", 3: "docs", 4: "docs by key", 5: "docs by key, fanout", 6: "definitions", 7: "names",
    8: "terms", 9: "posting lists", 10: "languages", 11: "sign bits", 12: "words",
    13: "docs of words", 14: "blocks of words", 15: "docs without words", 16: "filters of words", 17: "texts",
    18: "blocks of texts",
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    sizes = Counter()
    for path in Path(sys.argv[1]).glob(".codeweaver/v1/*/segments/*.seg"):
        with path.open("rb") as file:
            magic, _, n = HEADER.unpack(file.read(HEADER.size))
            if magic != b"CWSEG\0\0\0":
                sys.exit(f"{path} is no segment")
            for _ in range(n):
                section, _, _, length = ENTRY.unpack(file.read(ENTRY.size))
                sizes[NAMES.get(section, str(section))] += length
    if not sizes:
        sys.exit(f"no segments in {sys.argv[1]}; make them with `git codeweaver init`")
    for name, size in sizes.most_common():
        print(f"{size / 1e6:9.2f} MB  {name}")
    print(f"{sizes.total() / 1e6:9.2f} MB  in all")


if __name__ == "__main__":
    main()
