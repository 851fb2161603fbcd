"""probe-code: ranks by BM25 over blocks of tree-sitter, without an index."""

from install import crate
from measure import run

from .program import Program


class Probe(Program):
    name = "probe-code"
    version = "0.6.0"
    licence = "MIT"
    source = "crates.io"
    note = "no index"
    has_index = False

    def install(self):
        self.program = crate(self.cache, "probe-code", self.version, "probe")

    def query(self, tree, question, limit):
        # Its own limit is 30 s, after which it gives no answer.
        options = ["--max-results", "10", "--format", "plain", "--timeout", int(limit)]
        return run([self.program, "search", *options, question, "."], tree.root, tree.env(), limit)
