"""lancedb: the vectors of git-codeweaver in an approximate index, and scanned."""

import json

from measure import QUIET

from .engine import ENGINES, Engine, write_questions


class Lancedb(Engine):
    version = "0.40.0"
    licence = "Apache-2.0"
    kind = ""

    def title(self):
        return f"lancedb {self.version}, {self.kind}"

    def embedded_questions(self, tree):
        """The questions with their vectors, written once for all kinds."""
        path = tree.home / "questions.arrow"
        if not path.exists():
            write_questions(tree, tree.home / "questions")
            self.export(tree.home / "questions", tree, path)
        return path

    def command(self, tree):
        paths = [self.chunks(tree), self.embedded_questions(tree), tree.home / self.name]
        return [self.bin / "python", ENGINES / "vectors.py", *paths, self.kind]

    def remarks(self, tree, runs, limit):
        QUIET.begin()
        with self.start(tree, limit) as session:
            by_kept = json.loads(session.do("recall").output)
        return [
            f"recall@10 {figures['recall']:.3f} with {kept} kept, {figures['median'] * 1000:.1f} ms"
            for kept, figures in by_kept.items()
        ]


class LancedbExact(Lancedb):
    name = "lancedb, exact"
    kind = "exact"
    note = "engine bound: vectors of the same chunks, in process"


class LancedbPq(Lancedb):
    name = "lancedb, IVF_PQ"
    kind = "IVF_PQ"
    note = "refined"


class LancedbHnsw(Lancedb):
    name = "lancedb, IVF_HNSW_SQ"
    kind = "IVF_HNSW_SQ"
