#!/usr/bin/env python3
"""Compares `duplicates` with other tools: benches/clones.py [--jscpd PROGRAM] [--pmd DIR] REPOSITORY...

Runs jscpd (npm), the Copy/Paste Detector of PMD, or both, and `git codeweaver duplicates` on each indexed repository, tests and
vendored files included. The others report ranges of lines with the same tokens, wherever they begin. Of these, the ones are
counted that cover two whole functions of at least --min-tokens tokens without comments, and how many of the two functions are
in one group of ours. Prints a line for each repository and one for all; with --misses, the pairs that are not found.

DIR has the jars of PMD and of its languages. They are fetched from Maven Central if there is no such directory, which needs
Maven; running them needs Java. A command such as `pmd` may be named instead. Of a text that PMD finds at several places, the
first place makes a pair with each other one. `PMD without names` are clones in C, C++ and Java in which names and literals
may differ in any way: also functions of the same shape that call something else.
"""

import argparse
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

CALLABLE = ("function", "method", "constructor")
# Share of a function that a clone covers, and the difference in lines between two functions that are copies.
COVERED, MAX_DIFFERENCE = 0.9, 3
MIN_LINES = 6
COMMENTS = re.compile(r'/\*.*?\*/|""".*?"""', re.S)
# The last version of PMD that has been published with all languages.
PMD = "7.20.0"
# Languages of the detector and the endings of their files, by module.
LANGUAGES = {
    "cpp": {"cpp": ".c .cc .cpp .cxx .h .hh .hpp .hxx"},
    "cs": {"cs": ".cs"},
    "go": {"go": ".go"},
    "java": {"java": ".java"},
    "javascript": {"ecmascript": ".js .cjs .mjs .jsx", "typescript": ".ts .cts .mts .tsx"},
    "kotlin": {"kotlin": ".kt"},
    "lua": {"lua": ".lua"},
    "php": {"php": ".php"},
    "python": {"python": ".py"},
    "ruby": {"ruby": ".rb"},
    "rust": {"rust": ".rs"},
    "swift": {"swift": ".swift"},
}
# Those in which it can ignore names.
NAMELESS = ("cpp", "java")
TOKEN = re.compile(r"\w+|\"[^\"]*\"|'[^']*'|`[^`]*`|[^\w\s]")


def absolute(program):
    """The path of a program, which is started in other directories."""
    return str(Path(shutil.which(program) or program).resolve())


class Repository:
    def __init__(self, root, program):
        self.root, self.program = root.resolve(), program
        self.functions_of, self.lines_of = {}, {}

    def ours(self, *command):
        done = subprocess.run([self.program, *command], cwd=self.root, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def functions(self, path):
        """First and last lines of the functions of a file."""
        if path not in self.functions_of:
            try:
                symbols = self.ours("outline", path, "-o", "json")["symbols"]
            except subprocess.CalledProcessError:
                symbols = []  # not indexed
            self.functions_of[path] = [tuple(it["span"]) for it in symbols if it["kind"] in CALLABLE]
        return self.functions_of[path]

    def n_tokens(self, path, lines):
        if path not in self.lines_of:
            text = (self.root / path).read_text(errors="replace")
            text = COMMENTS.sub(lambda comment: "\n" * comment[0].count("\n"), text)
            self.lines_of[path] = [re.sub(r"(^|\s)(//|#).*", "", line) for line in text.split("\n")]
        first, last = lines
        return len(TOKEN.findall(" ".join(self.lines_of[path][first - 1 : last])))

    def covered(self, path, start, end):
        """The functions of which a clone covers nearly all."""
        return [
            (first, last)
            for first, last in self.functions(path)
            if last - first + 1 >= MIN_LINES and min(end, last) - max(start, first) + 1 >= COVERED * (last - first + 1)
        ]

    def groups(self, min_similarity):
        """For each file, the lines of its members and the number of their group."""
        options = ["--committed", "--include-tests", "--include-vendored", "--min-similarity", str(min_similarity), "--json"]
        members = {}
        for number, group in enumerate(self.ours("duplicates", *options)["groups"]):
            for member in group["members"]:
                members.setdefault(member["path"], []).append((*member["span"], number))
        return members

    def clones_of_jscpd(self, jscpd):
        """Pairs of a path with its first and last line."""
        with tempfile.TemporaryDirectory() as directory:
            command = [jscpd, self.root, "--min-tokens", "50", "--min-lines", "5", "--reporters", "json"]
            options = ["--output", directory, "--silent", "--gitignore", "--max-lines", "20000", "--max-size", "1mb"]
            subprocess.run([*command, *options], check=True, capture_output=True)
            report = json.loads((Path(directory) / "jscpd-report.json").read_text())
        for clone in report["duplicates"]:
            yield tuple(
                (os.path.relpath(os.path.abspath(side["name"]), self.root), side["start"], side["end"])
                for side in (clone["firstFile"], clone["secondFile"])
            )

    def files(self, endings):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=self.root, check=True, capture_output=True).stdout
        paths = [self.root / os.fsdecode(path) for path in listed.split(b"\0") if path]
        return [path for path in paths if path.suffix in endings.split() and path.is_file() and not path.is_symlink()]

    def clones_of_pmd(self, pmd, *options, languages=None):
        """The same for PMD."""
        for language, endings in (entry for module in LANGUAGES.values() for entry in module.items()):
            files = self.files(endings)
            if not files or languages and language not in languages:
                continue
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
                listed.write("\n".join(map(str, files)))
                listed.flush()
                command = [*pmd, "cpd", "--language", language, "--minimum-tokens", "50", "--file-list", listed.name, *options]
                command += ["--format", "csv_with_linecount_per_file", "--no-fail-on-violation", "--no-fail-on-error"]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
            # Numbers of tokens and of places, and for each place its first line, number of lines, and path.
            for _, _, *places in list(csv.reader(done.stdout.splitlines()))[1:]:
                sides = [(places[at + 2], int(places[at]), int(places[at + 1])) for at in range(0, len(places) - 2, 3)]
                sides = [(os.path.relpath(path, self.root), first, first + n - 1) for path, first, n in sides]
                yield from ((sides[0], other) for other in sides[1:])


def pmd_command(given):
    """The command that runs PMD, which is fetched if need be."""
    target = Path(given)
    if not target.is_dir() and os.sep not in given:
        return shlex.split(given)
    if not target.is_dir():
        fetch_pmd(target)
    return ["java", "-cp", f"{target}/*", "net.sourceforge.pmd.cli.PmdCli"]


def fetch_pmd(target):
    one = "<dependency><groupId>net.sourceforge.pmd</groupId><artifactId>pmd-{}</artifactId><version>{}</version></dependency>"
    dependencies = "".join(one.format(name, PMD) for name in ("cli", *LANGUAGES))
    with tempfile.TemporaryDirectory() as project:
        Path(project, "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>clones</groupId>'
            "<artifactId>clones</artifactId><version>1</version><packaging>pom</packaging>"
            f"<dependencies>{dependencies}</dependencies></project>"
        )
        command = ["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={target.resolve()}"]
        subprocess.run(command, cwd=project, check=True)


def numbers(members, path, lines):
    first, last = lines
    return {number for start, end, number in members.get(path, []) if start <= first + 1 and end >= last - 1}


def tools(repository, given):
    """The names of the tools to compare with, and the clones that each reports."""
    if given.jscpd:
        yield "jscpd", repository.clones_of_jscpd(given.jscpd)
    if given.pmd:
        pmd = pmd_command(given.pmd)
        yield "PMD", repository.clones_of_pmd(pmd)
        options = "--ignore-identifiers", "--ignore-literals"
        yield "PMD without names", repository.clones_of_pmd(pmd, *options, languages=NAMELESS)


def compare(repository, clones, members, given):
    """The pairs of whole functions in `clones`, each with whether they are in one group."""
    pairs = {}
    for (one, *of_one), (two, *of_two) in clones:
        for first, second in zip(repository.covered(one, *of_one), repository.covered(two, *of_two)):
            sizes = [repository.n_tokens(one, first), repository.n_tokens(two, second)]
            lengths = first[1] - first[0], second[1] - second[0]
            is_pair = (one, first) != (two, second) and abs(lengths[0] - lengths[1]) <= MAX_DIFFERENCE
            if is_pair and min(sizes) >= given.min_tokens:
                is_found = bool(numbers(members, one, first) & numbers(members, two, second))
                pairs[one, first, two, second] = is_found
    return pairs


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repositories", type=Path, nargs="+")
    options.add_argument("--jscpd", help="program of the npm package jscpd")
    options.add_argument("--pmd", metavar="DIR", help="directory of the jars of PMD, or a command")
    options.add_argument("--binary", type=absolute, default=os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver"))
    options.add_argument("--min-similarity", type=float, default=0.9)
    # The two programs count tokens differently, so a function at the limit of ours is left out.
    options.add_argument("--min-tokens", type=int, default=55)
    options.add_argument("--misses", action="store_true")
    given = options.parse_args()
    if not given.jscpd and not given.pmd:
        options.error("--jscpd or --pmd is needed")

    counts = {}
    for root in given.repositories:
        repository = Repository(root, given.binary)
        members = repository.groups(given.min_similarity)
        for tool, clones in tools(repository, given):
            pairs = compare(repository, clones, members, given)
            n_found, n_all = sum(pairs.values()), len(pairs)
            counts.setdefault(tool, []).append((n_found, n_all))
            print(f"{root.name}, {tool}: {n_found} of {n_all}", flush=True)
            for pair, is_found in pairs.items():
                if given.misses and not is_found:
                    print(*pair)
    for tool, of_tool in counts.items():
        n_found, n_all = map(sum, zip(*of_tool))
        print(f"all, {tool}: {n_found} of {n_all}")


if __name__ == "__main__":
    main()
