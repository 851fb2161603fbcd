"""semble: static embeddings and BM25. Its model is in no package; a stand-in of the same shape takes its
place."""

from pathlib import Path

from install import call, python_packages
from measure import run
from session import Mcp

from .program import Program

MAKE_MODEL = Path(__file__).parents[1] / "engines/stand_in_model.py"


class Semble(Program):
    name = "semble, code"
    version = "0.7.0"
    licence = "MIT"
    source = "PyPI"
    note = "stand-in for its model: times count, answers do not"
    has_session = True
    content = "code"

    def install(self):
        self.bin = python_packages(self.cache / "semble", [f"semble[mcp]=={self.version}"])
        self.model = self.cache / "semble-stand-in-model"
        if not self.model.exists():
            call([self.bin / "python", MAKE_MODEL, self.model], "stand-in for the model")

    def title(self):
        return f"semble {self.version}, {self.content}"

    def index_paths(self, tree):
        return [tree.home / "semble"]

    def env(self, tree):
        cache = str(tree.home / "semble")
        return tree.env(SEMBLE_MODEL_NAME=str(self.model), SEMBLE_CACHE_LOCATION=cache, HF_HUB_OFFLINE="1")

    def index(self, tree, limit):
        """Its first query makes the index; there is no other command that does."""
        return self.query(tree, "index", limit)

    def query(self, tree, question, limit):
        command = [self.bin / "semble", "search", question, ".", "--top-k", "10", "--content", self.content]
        return run(command, tree.root, self.env(tree), limit)

    def update(self, tree, edit, limit):
        """What is found is not looked at: the stand-in ranks at random."""
        return self.query(tree, edit.name, limit)

    def session(self, tree, limit):
        def find(question):
            return "search", {"query": question, "repo": str(tree.root), "top_k": 10, "content": self.content}

        return Mcp([self.bin / "semble"], tree.root, self.env(tree), limit, find)


class SembleAll(Semble):
    """With documentation and configuration, which is what git-codeweaver indexes."""

    name = "semble, all"
    content = "all"
