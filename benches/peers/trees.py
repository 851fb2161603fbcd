"""The tree that all programs work on: a clone, its edits, and the questions about it."""

import itertools
import os
import subprocess
from collections import Counter
from dataclasses import dataclass

QUESTIONS = [
    "how are errors reported to the user",
    "parse the arguments of a command",
    "where is the configuration read",
    "write the output to a file",
    "compare two versions",
]

# By extension, a function with a given name.
FUNCTIONS = {
    ".py": "\n\ndef {name}(value):\n    return value + 1\n",
    ".ts": "\n\nexport function {name}(value: number): number {{\n  return value + 1\n}}\n",
    ".js": "\n\nexport function {name}(value) {{\n  return value + 1\n}}\n",
    ".kt": "\n\nfun {name}(value: Int): Int {{\n    return value + 1\n}}\n",
    ".java": "\n\nclass Holder {{\n    int {name}(int value) {{\n        return value + 1;\n    }}\n}}\n",
    ".go": "\n\nfunc {name}(value int) int {{\n\treturn value + 1\n}}\n",
    ".rs": "\n\npub fn {name}(value: u32) -> u32 {{\n    value + 1\n}}\n",
    ".c": "\n\nint {name}(int value)\n{{\n\treturn value + 1;\n}}\n",
}

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "bench",
    "GIT_AUTHOR_EMAIL": "bench@example.com",
    "GIT_COMMITTER_NAME": "bench",
    "GIT_COMMITTER_EMAIL": "bench@example.com",
}


def git(directory, *args):
    """The output of git without configuration of the user."""
    command = ["git", "-C", str(directory), *map(str, args)]
    return subprocess.run(
        command, check=True, env={**os.environ, **GIT}, stdout=subprocess.PIPE, text=True
    ).stdout


@dataclass
class Edit:
    """A function that a commit has just added; no other file has its name."""

    path: str
    name: str


class Tree:
    """A clone of a directory's HEAD, with a home of its own for what programs keep."""

    def __init__(self, source, scratch):
        self.name = source.name
        self.root = scratch / source.name
        self.home = scratch / "home"
        self.home.mkdir()
        settings = ["-c", "advice.detachedHead=false", "-c", "init.defaultBranch=main"]
        git(scratch, *settings, "clone", "--quiet", "--shared", source, self.root)
        self.base = git(self.root, "rev-parse", "HEAD").strip()
        self.n_files = len(git(self.root, "ls-files").splitlines())
        self.edited = self.file_to_edit()
        self.n_edits = 0

    def env(self, **variables):
        return {**os.environ, **GIT, "HOME": str(self.home), "NO_COLOR": "1", **variables}

    def file_to_edit(self):
        """The middle one of the sources, in the language that has most. Some programs leave out tests."""
        files = [file for file in git(self.root, "ls-files").splitlines() if not is_test(file)]
        counts = Counter(ending for file in files if (ending := os.path.splitext(file)[1]) in FUNCTIONS)
        if not counts:
            raise SystemExit(f"{self.name}: no file in a language of benches/peers/trees.py")
        ending = max(sorted(counts), key=counts.get)
        matching = [file for file in files if file.endswith(ending)]
        return matching[len(matching) // 2]

    def edit(self):
        """Commits a new function in the file to edit."""
        self.n_edits += 1
        name = f"quokkaweaver{self.n_edits}"
        path = self.root / self.edited
        append(path, FUNCTIONS[path.suffix].format(name=name))
        git(self.root, "commit", "--quiet", "--no-verify", "--message", name, "--", self.edited)
        return Edit(self.edited, name)

    def restore(self):
        """Back to the commit that was cloned."""
        git(self.root, "reset", "--quiet", "--hard", self.base)

    def questions(self, program):
        """An endless cycle of questions, as the program takes them."""
        return itertools.cycle([program.phrase(question) for question in QUESTIONS])


def is_test(path):
    """Whether a path is that of a test, an example, documentation or a declaration without code."""
    folders, name = os.path.split(path.lower())
    asides = {"test", "tests", "spec", "fixtures", "example", "examples", "docs"}
    parts = {part for folder in folders.split("/") for part in (folder, folder.rsplit("-")[-1])}
    return bool(parts & asides) or any(
        mark in name for mark in (".test.", ".spec.", ".d.ts", "test_", "_test.")
    )


def append(path, text):
    """Writes a new file in place of the old one, which may be a hard link into another tree."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content + text.encode())
