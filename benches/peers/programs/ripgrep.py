"""ripgrep: reads every file for each query."""

from install import crate
from measure import run

from .program import Program, longest_word


class Ripgrep(Program):
    name = "ripgrep"
    version = "15.2.0"
    licence = "Unlicense OR MIT"
    source = "crates.io"
    note = "one word, not ranked"
    has_index = False

    def install(self):
        self.program = crate(self.cache, "ripgrep", self.version, "rg")

    def phrase(self, question):
        return longest_word(question)

    def query(self, tree, question, limit):
        command = [self.program, "--line-number", "--with-filename", "--word-regexp", question, "."]
        return run(command, tree.root, tree.env(), limit, success=(0, 1))
