#!/usr/bin/env python3
"""Counts habits of style in the Rust sources; fails if a count is above its limit.

    .ci/style.py            prints the table and compares it with LIMITS
    .ci/style.py --list X   prints the places that count X has

The counts are those that other code bases were measured by (jj, tantivy, ripgrep, gix), so that figures compare. Tests
do not count. Limits may only fall.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# (name, limit, whether the limit is a minimum, unit)
LIMITS = [
    ("relative docs", 1.0, False, "% of doc comments open with What, How, Which, Of, By, Who, Where or That"),
    ("of constructors", 0, False, "functions are called `of`"),
    ("blank lines", 2.5, True, "% of the lines inside functions are blank"),
    ("comment lines", 2.5, True, "% of the lines inside functions are comments"),
    ("one paragraph", 0, False, "functions of more than 12 lines have no blank line"),
    ("named closures", 3.0, False, "named closures for each 1,000 lines of code"),
    ("long closures", 0, False, "named closures have more than five lines"),
    ("std imports first", 0, False, "files do not import the standard library before everything else"),
    ("unrun examples", 0, False, "examples in documentation are not run (`doctest = false` in Cargo.toml)"),
]

RELATIVE = re.compile(r"^\s*//[/!] (What|How|Which|Of|By|Who|Whom|Where|That) ")
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([a-z: ]+\))? )?(?:default |const |async |unsafe |extern \"C\" )*fn (\w+)")
CLOSURE = re.compile(r"^(\s*)let (?:mut )?(\w+)(?:: [^=]+)? = (?:move )?\|")
FENCE = re.compile(r"^\s*//[/!] ?```(.*)$")
IMPORT = re.compile(r"^(?:pub(?:\([a-z: ]+\))? )?use ([a-z_0-9]+)")


def sources():
    for folder in ("src", "crates"):
        for path in sorted((ROOT / folder).rglob("*.rs")):
            parts = path.relative_to(ROOT).parts
            if path.name == "tests.rs" or "tests" in parts or "testing" in path.stem or "benches" in parts:
                continue
            yield path


def code_lines(path):
    """The lines of a file before its unit tests."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines):
        if line == "#[cfg(test)]" and number + 1 < len(lines) and lines[number + 1].startswith("mod tests {"):
            return lines[:number]
    return lines


def function_bodies(lines):
    """Yields (first line, last line, name) of each function that has a body of its own lines; 0-based, both included."""
    for number, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match:
            continue
        end = f"{match.group(1)}}}"
        for last in range(number, len(lines)):
            if lines[last].rstrip() == end:
                yield number, last, match.group(2)
                break
            if last == number and (line.rstrip().endswith(";") or line.rstrip().endswith("}")):
                break
            if last > number and lines[last].strip() and not lines[last].startswith(match.group(1)):
                break


def examples(lines):
    """Yields the numbers of the lines, from 1, at which examples of Rust begin in documentation."""
    is_open = False
    for number, line in enumerate(lines):
        if match := FENCE.match(line):
            if not is_open and match.group(1) not in ("text", "ignore"):
                yield number + 1
            is_open = not is_open


def runs_examples(path):
    """Whether `cargo test` runs the examples of a source file: not those of programs and where it is switched off."""
    manifest = ROOT / "Cargo.toml" if path.is_relative_to(ROOT / "src") else (
        ROOT.joinpath(*path.relative_to(ROOT).parts[:2]) / "Cargo.toml")
    return manifest.parent != ROOT and "doctest = false" not in manifest.read_text(encoding="utf-8")


class Count:
    def __init__(self):
        self.places = {name: [] for name, *_ in LIMITS}
        self.code = self.docs = self.inside = self.blank = self.comments = 0
        self.lengths = []

    def add(self, path):
        lines = code_lines(path)
        where = path.relative_to(ROOT)
        previous_doc = False
        imports = []
        for number, line in enumerate(lines):
            text = line.strip()
            if text and not text.startswith("//"):
                self.code += 1
            is_doc = text.startswith(("///", "//!"))
            if is_doc and not previous_doc:
                self.docs += 1
                if RELATIVE.match(line):
                    self.places["relative docs"].append(f"{where}:{number + 1}: {text}")
            previous_doc = is_doc
            if match := IMPORT.match(line):
                imports.append((match.group(1) in ("std", "core", "alloc"), line.startswith("pub"), number))
            if match := CLOSURE.match(line):
                self.add_closure(where, lines, number, match)
        private = [is_std for is_std, is_pub, _ in imports if not is_pub]
        if True in private and sorted(private, reverse=True) != private:
            self.places["std imports first"].append(f"{where}")
        if not runs_examples(path):
            self.places["unrun examples"] += [f"{where}:{number}" for number in examples(lines)]
        inside = set()
        for first, last, name in function_bodies(lines):
            body = range(first + 1, last)
            inside.update(body)
            self.lengths.append(last - first + 1)
            if name == "of":
                self.places["of constructors"].append(f"{where}:{first + 1}")
            if last - first + 1 > 12 and all(lines[n].strip() for n in body):
                self.places["one paragraph"].append(f"{where}:{first + 1}: {name}, {last - first + 1} lines")
        self.places["of constructors"] += [
            f"{where}:{n + 1}" for n, line in enumerate(lines) if re.search(r"fn of\(.*\}$", line)
        ]
        self.inside += len(inside)
        self.blank += sum(1 for n in inside if not lines[n].strip())
        self.comments += sum(1 for n in inside if lines[n].strip().startswith("//"))

    def add_closure(self, where, lines, number, match):
        self.places["named closures"].append(f"{where}:{number + 1}: {match.group(2)}")
        if not lines[number].rstrip().endswith("{"):
            return
        end = match.group(1) + "};"
        for last in range(number, len(lines)):
            if lines[last].rstrip() == end:
                if last - number - 1 > 5:
                    self.places["long closures"].append(f"{where}:{number + 1}: {match.group(2)}")
                return

    def figures(self):
        figures = {name: len(places) for name, places in self.places.items()}
        figures["relative docs"] = 100 * figures["relative docs"] / self.docs
        figures["named closures"] = 1000 * figures["named closures"] / self.code
        figures["blank lines"] = 100 * self.blank / self.inside
        figures["comment lines"] = 100 * self.comments / self.inside
        return figures


def main():
    count = Count()
    for path in sources():
        count.add(path)
    if len(sys.argv) == 3 and sys.argv[1] == "--list":
        print("\n".join(count.places[sys.argv[2]]))
        return 0
    failed = False
    lengths = sorted(count.lengths)
    quiet = sys.argv[1:] == ["--check"]
    if not quiet:
        print(f"{count.code:8} lines of code, {len(lengths)} functions, p50 {lengths[len(lengths) // 2]}, "
              f"p90 {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]}")
    for name, limit, is_minimum, unit in LIMITS:
        figure = count.figures()[name]
        wrong = figure < limit if is_minimum else figure > limit
        failed |= wrong
        if wrong or not quiet:
            bound = "at least" if is_minimum else "at most"
            print(f"{figure:8.3g} {unit}" + (f" ({bound} {limit}; --list '{name}')" if wrong else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
