"""Universal Ctags: a table of definitions and nothing else; a bound for reading and parsing a tree."""

from install import debian
from measure import run

from .program import Program, found, longest_word, together


class Ctags(Program):
    name = "universal-ctags"
    licence = "GPL-2.0-or-later"
    source = "Debian"
    note = "definitions by name, made anew for each update"

    def install(self):
        self.program, self.version = debian(self.cache, "universal-ctags", "ctags-universal")
        self.reader, _ = debian(self.cache, "universal-ctags", "readtags")

    def index_paths(self, tree):
        return [tree.home / "tags"]

    def phrase(self, question):
        return longest_word(question)

    def index(self, tree, limit):
        command = [self.program, "-R", "--exclude=.git", "-f", tree.home / "tags", "."]
        return run(command, tree.root, tree.env(), limit)

    def query(self, tree, question, limit):
        return run([self.reader, "-t", tree.home / "tags", question], tree.root, tree.env(), limit)

    def update(self, tree, edit, limit):
        return together(self.index(tree, limit), found(self.query(tree, edit.name, limit), edit))
