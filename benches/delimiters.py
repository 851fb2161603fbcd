#!/usr/bin/env python3
"""Measures whether chunks of languages without a grammar are whole: benches/delimiters.py --clones DIR [--binary PATH]

DIR has clones of REPOSITORIES, as `NAME` or as mirrors `OWNER+NAME/repo`. Each is chunked as it is at HEAD, and the
chunks of its delimiter language are compared with the indentation of their text, which most of their families do not
read. A chunk is whole if it is a sequence of complete siblings, or the head of a unit that was too large: no line of it
is less indented than its first one. Otherwise it begins in the middle of a unit and goes on behind its end. Lines that
only close something (`}`, `end`, `)`) may be less indented at the end of a chunk, and none begins with one. Files of one
chunk are not counted: they have no boundary. Printed for each repository and for all: chunks, the share that is whole,
and the mean number of tokens.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

# Repository, language in the table of languages; permissive licences.
REPOSITORIES = [
    ("mojolicious/mojo", "perl"),
    ("PerlDancer/Dancer2", "perl"),
    ("fortran-lang/stdlib", "fortran"),
    ("jacobwilliams/json-fortran", "fortran"),
    ("AdaCore/Ada_Drivers_Library", "ada"),
    ("onox/orka", "ada"),
    ("stnolting/neorv32", "vhdl"),
    ("alexforencich/verilog-ethernet", "verilog"),
    ("YosysHQ/picorv32", "verilog"),
    ("lowRISC/ibex", "systemverilog"),
    ("HashLoad/horse", "pascal"),
    ("fukamachi/clack", "common_lisp"),
    ("ashinn/chibi-scheme", "scheme"),
    ("racket/drracket", "racket"),
    ("janet-lang/spork", "janet"),
    ("tcltk/tcllib", "tcl"),
    ("spockframework/spock", "groovy"),
    ("pester/Pester", "powershell"),
    ("AFNetworking/AFNetworking", "objective_c"),
    ("nim-lang/nimble", "nim"),
    ("crystal-lang/shards", "crystal"),
    ("dlang-community/D-Scanner", "d"),
    ("fsprojects/FSharp.Data", "fsharp"),
    ("elm/core", "elm"),
    ("jashkenas/coffeescript", "coffeescript"),
    ("bitwes/Gut", "gdscript"),
    ("altmany/export_fig", "matlab"),
    ("puppetlabs/puppetlabs-apache", "puppet"),
    ("cpm-cmake/CPM.cmake", "cmake"),
    ("jorgebucaran/fisher", "fish"),
    ("junegunn/vim-plug", "vim_script"),
    ("aws-samples/aws-mainframe-modernization-carddemo", "cobol"),
]
CLOSER = re.compile(r"^(?:[\])}>;,]+|end\b.*|fi|done|esac|else\b.*|elsif\b.*|\)\s*\{?)\s*;?,?\)*$", re.IGNORECASE)
TAB = 8


def source_of(clones, repository):
    owner, name = repository.split("/")
    for source in (clones / name, clones / f"{owner}+{name}" / "repo"):
        if source.is_dir():
            return source
    return None


def indent(line):
    expanded = line.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip())


def is_whole(lines, first, last):
    """Whether the lines from `first` to `last` (1-based, both included) are complete siblings."""
    text = [line for line in lines[first - 1 : last] if line.strip()]
    if not text:
        return True
    own = indent(text[0])
    while len(text) > 1 and CLOSER.match(text[-1].strip()):
        text.pop()
    return not CLOSER.match(text[0].strip()) and all(indent(line) >= own for line in text)


def texts_of(directory, paths):
    """The lines of each file at HEAD."""
    names = "".join(f"HEAD:{path}\n" for path in paths).encode()
    run = subprocess.run(["git", "cat-file", "--batch"], input=names, cwd=directory, capture_output=True, check=True)
    texts, at = {}, 0
    for path in paths:
        end = run.stdout.index(b"\n", at)
        size = int(run.stdout[at:end].split()[2])
        texts[path] = run.stdout[end + 1 : end + 1 + size].decode("utf-8", "replace").split("\n")
        at = end + size + 2
    return texts


def measure(binary, source, language, directory):
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(source), str(directory)], check=True)
    command = [binary, "chunks", "--stats", "HEAD", "--sample", "1000000", "--json"]
    report = json.loads(subprocess.run(command, cwd=directory, capture_output=True, check=True).stdout)
    by_path = {}
    for chunk in report["samples"].get(language, []):
        by_path.setdefault(chunk["path"], []).append(chunk)
    by_path = {path: chunks for path, chunks in by_path.items() if len(chunks) > 1 and "\n" not in path}
    texts = texts_of(directory, list(by_path))
    n = whole = tokens = 0
    for path, chunks in by_path.items():
        for chunk in chunks:
            n, tokens = n + 1, tokens + chunk["tokens"]
            whole += is_whole(texts[path], *chunk["span"])
    return n, whole, tokens


def row(name, language, figures):
    n, whole, tokens = figures
    share = f"{100 * whole / n:6.1f} %" if n else "     –  "
    print(f"{name:52} {language:14} {n:7} {share} {tokens / max(1, n):6.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--binary", default="target/release/git-codeweaver")
    arguments = parser.parse_args()
    binary = str(Path(arguments.binary).resolve())
    print(f"{'repository':52} {'language':14} {'chunks':>7} {'whole':>8} {'tokens':>6}")
    total = (0, 0, 0)
    shares = []
    with tempfile.TemporaryDirectory(prefix="codeweaver-bench-") as scratch:
        for number, (repository, language) in enumerate(REPOSITORIES):
            source = source_of(arguments.clones, repository)
            if source is None:
                print(f"{repository:52} {language:14} no clone")
                continue
            figures = measure(binary, source, language, Path(scratch) / str(number))
            row(repository, language, figures)
            total = tuple(map(sum, zip(total, figures)))
            if figures[0]:
                shares.append(figures[1] / figures[0])
    row("all chunks", "", total)
    if shares:
        print(f"mean over {len(shares)} repositories: {100 * sum(shares) / len(shares):.1f} %")


if __name__ == "__main__":
    main()
