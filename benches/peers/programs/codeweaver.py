"""git-codeweaver, of the working tree or as CODEWEAVER_BENCH_BINARY."""

import json
import os
import shutil

from install import call
from measure import Failed, repeat, run
from session import Mcp

from .program import Program, found, together


class Codeweaver(Program):
    name = "git-codeweaver"
    licence = "MIT OR Apache-2.0"
    source = "this repository"
    note = "update: `index`, then `search`"
    has_session = True

    def install(self):
        named = os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver")
        self.program = shutil.which(named)
        if self.program is None:
            raise Failed(f"no program {named}")
        self.program = os.path.abspath(self.program)
        self.version = call([self.program, "--version"], "git-codeweaver").split()[1]

    def index_paths(self, tree):
        return [tree.root / ".codeweaver"]

    def clean(self, tree):
        if (tree.root / ".codeweaver").exists():
            self.settle(tree)
        super().clean(tree)
        (tree.root / ".git/codeweaver-nonce").unlink(missing_ok=True)

    def index(self, tree, limit):
        return run([self.program, "init", "--no-hooks"], tree.root, tree.env(), limit)

    def query(self, tree, question, limit):
        # 1: nothing was found.
        return run(
            [self.program, "search", "-l", "10", question], tree.root, tree.env(), limit, success=(0, 1)
        )

    def update(self, tree, edit, limit):
        return together(self.settle(tree, limit), found(self.query(tree, edit.name, limit), edit))

    def session(self, tree, limit):
        def find(question):
            return "find_code", {"query": question, "max_results": 10}

        return Mcp([self.program, "mcp"], tree.root, tree.env(), limit, find)

    def settle(self, tree, limit=600):
        """Waits for the update that a query may have started in the background."""
        return run([self.program, "index", "--quiet"], tree.root, tree.env(), limit)

    def remarks(self, tree, runs, limit):
        """Without an update of the index, the query itself compares the tree."""

        def search_alone():
            self.settle(tree, limit)
            edit = tree.edit()
            return found(self.query(tree, edit.name, limit), edit)

        alone = repeat(search_alone, runs)
        about = json.loads(run([self.program, "status", "--json"], tree.root, tree.env(), limit).output)
        size = f"{about['chunks']:,} chunks of {about['files']:,} files"
        return [size, f"`search` alone after a one-file commit {alone}"]
