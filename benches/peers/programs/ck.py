"""ck: semantic and lexical search. Its models are downloaded, so its lexical mode (BM25 by tantivy) is
run."""

from install import crate
from measure import run
from session import Mcp

from .program import Program


class Ck(Program):
    name = "ck"
    version = "0.8.1"
    licence = "MIT OR Apache-2.0"
    source = "crates.io, ck-search"
    note = "lexical only, built without models"
    has_session = True

    def install(self):
        self.program = crate(self.cache, "ck-search", self.version, "ck", ["--no-default-features"])

    def index_paths(self, tree):
        return [tree.root / ".ck"]

    def index(self, tree, limit):
        return self.query(tree, "index", limit)

    def query(self, tree, question, limit):
        command = [self.program, "--lex", "--topk", "10", "-n", question, "."]
        return run(command, tree.root, tree.env(), limit, success=(0, 1))

    def session(self, tree, limit):
        def find(question):
            return "lexical_search", {"query": question, "path": str(tree.root), "top_k": 10}

        return Mcp([self.program, "--serve"], tree.root, tree.env(), limit, find)
