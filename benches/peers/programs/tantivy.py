"""tantivy: BM25 over the chunks of git-codeweaver, without anything else that ranks them."""

from .engine import ENGINES, Engine


class Tantivy(Engine):
    name = "tantivy"
    version = "0.27.0"
    licence = "MIT"
    note = "engine bound: BM25 of the same chunks, in process"

    def command(self, tree):
        return [self.bin / "python", ENGINES / "bm25.py", self.chunks(tree), tree.home / self.name]
