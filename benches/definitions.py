#!/usr/bin/env python3
"""Counts the definitions that the chunker misses: benches/definitions.py [--files N] [--missing N] [--json] DIR…

For each language, takes up to N files of each git directory (evenly spaced in the order of their paths), lists the
callables and types of each file with universal-ctags (`ctags`), or with a regular expression where ctags has no
parser, and looks each one up among the symbols of `git-codeweaver chunks FILE --json`: found is a symbol of the same
name whose lines include the line of the tag. Needs no index. `--missing N` prints the first N definitions that were not
found in each language, to be read: not every tag is right. Fields, constants and variables are not counted.
CODEWEAVER_BENCH_BINARY names another binary.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

OURS = os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver")

CPP = "function class struct enum union typedef namespace"
SCRIPT = "function class method generator interface enum namespace alias getter setter"
# Language: suffixes of its files, and the kinds of tags that are counted.
LANGUAGES = {
    "C": (".c .h", "function struct enum union typedef"),
    "C++": (".cc .cpp .cxx .hh .hpp .h", CPP),
    "C#": (".cs", "class interface struct enum method typedef"),
    "Elixir": (".ex .exs", "protocol module function delegate guard implementation macro"),
    "Go": (".go", "func type struct interface"),
    "Haskell": (".hs", "function type constructor"),
    "Java": (".java", "class interface enum method annotation"),
    "JavaScript": (".js .cjs .mjs .jsx", SCRIPT),
    "Lua": (".lua", "function"),
    "PHP": (".php", "class function interface trait"),
    "Python": (".py", "class function member"),
    "Ruby": (".rb .rake", "class method module singletonMethod"),
    "Sh": (".sh .bash", "function"),
    "TypeScript": (".ts .tsx .mts", SCRIPT),
}
# Languages without a parser in ctags, and two where it does not serve (in Rust it skips the contents of
# macros, in Kotlin its lines are wrong): suffixes, and a pattern of lines that define a name.
PATTERNS = {
    "Rust": (
        ".rs",
        r"^\s*(?:(?:pub(?:\s*\([^)]*\))?|default|const|async|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*"
        r"(?:fn|struct|enum|union|trait|type|macro_rules!)\s+(\w+)",
    ),
    "Kotlin": (
        ".kt .kts",
        r"^\s*(?:(?:@\w+(?:\([^)]*\))?|public|private|protected|internal|open|abstract|final|override|inline|suspend"
        r"|operator|infix|data|sealed|enum|annotation|value|inner|tailrec|external|fun(?=\s+interface)|companion"
        r"|expect|actual|const|lateinit|reified)\s+)*"
        r"(?:fun|class|interface|object|typealias)\s+(?:<[^>]*>\s*)?(?:[\w<>?, *]+\.)*(\w+)",
    ),
    "Scala": (
        ".scala",
        r"^\s*(?:(?:@\w+(?:\([^)]*\))?|private(?:\[\w+\])?|protected(?:\[\w+\])?|override|implicit|final|sealed"
        r"|abstract|case|inline|lazy)\s+)*(?:def|class|trait|object)\s+(\w+)",
    ),
    "Swift": (
        ".swift",
        r"^\s*(?:(?:@\w+(?:\([^)]*\))?|public|private|fileprivate|internal|open|static|class|final|override|mutating"
        r"|nonisolated|indirect|convenience|required)\s+)*"
        r"(?:func|class(?!\s+(?:func|var|let|subscript))|struct|enum|protocol|typealias|actor)\s+(\w+)",
    ),
    "Zig": (".zig", r"^\s*(?:pub\s+|export\s+|inline\s+|extern\s+)*fn\s+(\w+)"),
}
# Names that ctags makes up, and keywords that it takes for names.
NO_NAME = re.compile(r"^(__anon|anon|AnonymousFunction|AnonymousClass|<lambda>|(class|deriving|instance|where)$|$)")
# Languages in which the equations of one function are one symbol.
MERGED = {"Elixir", "Haskell"}
# Languages in which ctags reads the examples in documentation as code.
QUOTING = {"Elixir", "Kotlin", "Scala", "Swift"}
# Files with a longer line are not written by people.
MAX_LINE = 2_000


def run(command, cwd, text=None):
    done = subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, errors="replace")
    return done.stdout


def sample(tree, language, suffixes, limit):
    """Files of HEAD with one of the suffixes, at most `limit`, evenly spaced."""
    listed = run(["git", "ls-files", "-z"], tree).split("\0")
    paths = sorted(path for path in listed if path.endswith(tuple(suffixes.split())))
    paths = [path for path in paths if is_written(Path(tree) / path)]
    if language in ("C", "C++"):
        paths = [path for path in paths if not path.endswith(".h") or is_cpp(Path(tree) / path) == (language == "C++")]
    step = max(1.0, len(paths) / limit)
    return [paths[int(n * step)] for n in range(min(limit, len(paths)))]


def is_written(file):
    return file.is_file() and not file.is_symlink() and max(map(len, file.open("rb")), default=0) <= MAX_LINE


def is_cpp(header):
    """Whether a header is C++: two lines that only C++ has."""
    text = header.read_text(errors="replace")
    return len(re.findall(r"^\s*(?:template\s*<|namespace\s+\w|class\s+\w|public:|private:)", text, re.M)) > 1


def quoted_lines(file):
    """Numbers of the lines inside of texts in triple quotes."""
    lines, inside = set(), False
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        if inside:
            lines.add(number)
        inside ^= line.count('"""') % 2 == 1
    return lines


def tags(tree, language, kinds, paths):
    """Definitions of each file by ctags: (name, line)."""
    found = collections.defaultdict(set)
    kinds = set(kinds.split())
    command = ["ctags", "--output-format=json", "--fields=+nK", f"--language-force={language}", "-L", "-", "-f", "-"]
    for line in run(command, tree, "\n".join(paths)).splitlines():
        try:
            tag = json.loads(line)
        except json.JSONDecodeError:
            continue
        if tag.get("_type") == "tag" and tag.get("kind") in kinds:
            found[tag["path"]].add((tag["name"], tag["line"]))
    return found


def matched_lines(tree, pattern, paths):
    """Definitions of each file by a pattern: (name, line)."""
    found = {}
    for path in paths:
        lines = (Path(tree) / path).read_text(errors="replace").splitlines()
        hits = ((re.match(pattern, line), number) for number, line in enumerate(lines, 1))
        found[path] = {(hit.group(1), number) for hit, number in hits if hit}
    return found


def symbols(tree, path):
    """Symbols of a file: name → (first line, last line, position) of each."""
    found = collections.defaultdict(set)
    answer = run([OURS, "chunks", path, "--json"], tree)
    if not answer:
        return None
    for chunk in json.loads(answer)["chunked"]["chunks"]:
        for symbol in chunk["symbols"]:
            span = symbol["line_span"]
            place = (span["start"], span["end"], symbol["byte_range"]["start"], symbol["nesting"])
            names = {symbol["name"], re.split(r"[.:#\\]", symbol["name"])[-1], symbol["name"].split(" ")[-1]}
            for name in names:
                found[plain(name)].add(place)
    return found


def plain(name):
    """A name without what the programs write differently."""
    return re.split(r"[.:#\\]", name)[-1].removeprefix("self.").strip("`'\"$@ ").lstrip("~")


def missing(expected, found, merged):
    """Of the expected definitions those that no symbol answers; each symbol answers once, unless `merged`."""
    free = {name: sorted(spans, reverse=True) for name, spans in found.items()}
    out = []
    for name, line in sorted(expected, key=lambda tag: (tag[1], tag[0]), reverse=True):
        spans = free.get(plain(name), [])
        hit = next((span for span in spans if span[0] <= line <= span[1]), None)
        if hit and not merged:
            spans.remove(hit)
        elif not hit:
            out.append((name, line))
    return sorted(out, key=lambda tag: tag[1])


def measure(tree, language, limit):
    """Number of files and of definitions, and those that are missing with their files."""
    suffixes, how = LANGUAGES.get(language) or PATTERNS[language]
    paths = sample(tree, language, suffixes, limit)
    by_file = (tags if language in LANGUAGES else lambda tree, _, how, paths: matched_lines(tree, how, paths))(
        tree, language, how, paths
    )
    total, lost = 0, []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for path, found in zip(paths, pool.map(lambda path: symbols(tree, path), paths)):
            if found is None:
                continue
            quoted = quoted_lines(Path(tree) / path) if language in QUOTING else ()
            tagged = by_file.get(path, ())
            expected = {(name, line) for name, line in tagged if line not in quoted and not NO_NAME.match(name)}
            total += len(expected)
            lost += [(Path(tree).name + "/" + path, name, line) for name, line in missing(expected, found, language in MERGED)]
    return len(paths), total, lost


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=100, help="files of each language and directory")
    options.add_argument("--missing", type=int, default=0, help="print this many that were not found")
    options.add_argument("--only", help="one language")
    options.add_argument("--json", action="store_true")
    options.add_argument("trees", nargs="+")
    given = options.parse_args()
    report = {}
    for language in [*LANGUAGES, *PATTERNS]:
        if given.only and given.only.lower() != language.lower():
            continue
        n_files, total, lost = 0, 0, []
        for tree in given.trees:
            files, definitions, absent = measure(tree, language, given.files)
            n_files, total, lost = n_files + files, total + definitions, lost + absent
        if total == 0:
            continue
        report[language] = {"files": n_files, "definitions": total, "missing": lost}
        if given.json:
            continue
        recall = 100 * (total - len(lost)) / total
        print(f"{language:<12} {n_files:5} files {total:7} definitions {len(lost):6} missing {recall:6.1f} %", flush=True)
        for path, name, line in lost[:: max(1, len(lost) // given.missing)][: given.missing] if given.missing else ():
            print(f"    {path}:{line}: {name}")
    if given.json:
        json.dump(report, sys.stdout, indent=1)


main()
