"""Engines that index the chunks and vectors of git-codeweaver: bounds for what its own retrieval could cost.

They run in a process of their own (`engines/`), which measures its own work.
"""

import json
import shutil
from pathlib import Path

from install import call, python_packages
from measure import Failed, Run
from session import Lines
from trees import QUESTIONS, git

from .codeweaver import Codeweaver
from .program import Program

ENGINES = Path(__file__).parents[1] / "engines"
N_QUESTIONS = 200


class Engine(Program):
    source = "PyPI"
    has_session = True
    # The script below `engines/`, and its arguments after the paths.
    worker = ""

    def install(self):
        self.bin = python_packages(
            self.cache / "engines", ["pyarrow==26.0.1", "lancedb==0.40.0", "tantivy==0.27.0"]
        )
        self.codeweaver = Codeweaver(self.cache)
        self.codeweaver.install()

    def index_paths(self, tree):
        return [tree.home / self.name]

    def command(self, tree):
        raise NotImplementedError

    def chunks(self, tree):
        """The chunks of the tree, written once for all engines."""
        path = tree.home / "chunks.arrow"
        if not path.exists():
            self.export(tree.root, tree, path)
        return path

    def export(self, repository, tree, path):
        program, python = self.codeweaver.program, self.bin / "python"
        call([program, "init", "--no-hooks"], "git-codeweaver init", cwd=repository, env=tree.env())
        call([python, ENGINES / "chunks.py", repository, path], "chunks")
        shutil.rmtree(repository / ".codeweaver")
        (repository / ".git/codeweaver-nonce").unlink()

    def start(self, tree, limit):
        return Session(self.command(tree), tree.root, tree.env(), limit)

    def session(self, tree, limit):
        return self.start(tree, limit)

    def prepare(self, tree):
        # Its paths are written on demand.
        self.command(tree)

    def index(self, tree, limit):
        with self.start(tree, limit) as session:
            return session.do("index")

    def query(self, tree, question, limit):
        """In a new process; its start is not part of the time."""
        with self.start(tree, limit) as session:
            return session.timed(question)

    def update(self, tree, edit, limit):
        with self.start(tree, limit) as session:
            return session.do("update", name=edit.name)


class Session(Lines):
    def do(self, action, **arguments):
        answer = self.request({"do": action, **arguments})
        if answer.get("found") is False:
            raise Failed("the edit was not found")
        seconds, cpu = answer.pop("seconds"), answer.pop("cpu")
        return Run(seconds, cpu, self.memory_mib(), json.dumps(answer))

    def timed(self, question):
        return self.do("ask", text=question)


def write_questions(tree, directory):
    """A repository with a file for each question, so that the same model embeds them: those of the table, and
    further ones from the tree."""
    directory.mkdir()
    git(directory, "init", "--quiet", "--initial-branch=main")
    questions = QUESTIONS + sentences(tree)[:N_QUESTIONS]
    for n, question in enumerate(questions):
        (directory / f"{n}.txt").write_text(question)
    git(directory, "add", ".")
    git(directory, "commit", "--quiet", "--message", "questions")


def sentences(tree):
    """Subjects of commits, newest first, if there are enough; else sentences of comments, from all the
    tree."""
    subjects = [
        line for line in git(tree.root, "log", "-n", "1000", "--format=%s").splitlines() if len(line) > 20
    ]
    if len(subjects) >= N_QUESTIONS:
        return list(dict.fromkeys(subjects))
    pattern = r"^ *(//|#|/?\*+) [A-Z][a-z]+( [a-z]+){4,}\.$"
    lines = git(tree.root, "grep", "--no-line-number", "-h", "-I", "-m", "1", "-E", pattern).splitlines()
    comments = list(dict.fromkeys(line.strip(" /#*") for line in lines))
    step = max(1, len(comments) // N_QUESTIONS)
    return comments[::step]
