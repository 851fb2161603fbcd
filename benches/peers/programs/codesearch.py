"""codesearch: regular expressions over a trigram index; Zoekt's ancestor."""

from install import debian
from measure import run

from .program import Program, found, longest_word, together


class Codesearch(Program):
    name = "codesearch"
    licence = "BSD-3-Clause"
    source = "Debian"
    note = "trigrams, one word, not ranked"

    def install(self):
        self.indexer, self.version = debian(self.cache, "codesearch", "cindex")
        self.program, _ = debian(self.cache, "codesearch", "csearch")

    def index_paths(self, tree):
        return [tree.home / "trigrams"]

    def env(self, tree):
        return tree.env(CSEARCHINDEX=str(tree.home / "trigrams"))

    def phrase(self, question):
        return longest_word(question)

    def index(self, tree, limit):
        return run([self.indexer, tree.root], tree.root, self.env(tree), limit)

    def query(self, tree, question, limit):
        return run([self.program, "-n", rf"\b{question}\b"], tree.root, self.env(tree), limit, success=(0, 1))

    def update(self, tree, edit, limit):
        indexed = run([self.indexer], tree.root, self.env(tree), limit)
        return together(indexed, found(self.query(tree, edit.name, limit), edit))
