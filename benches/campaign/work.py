"""The kinds of work that are disturbed, and what must succeed after each."""

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from typing import Callable

from world import PATIENCE, Failure, World, write_sources


class Site(World):
    """A repository, a catalogue of it, and a collection of documents."""

    def __init__(self):
        super().__init__("campaign")
        self.notes = self.root / "notes"
        self.notes.mkdir()
        self.version = 0
        write_sources(self.repo, 8, 6)
        self.change()
        self.program("init", "--no-hooks")
        self.program("catalogue", "init", "all.git", cwd=self.root)
        self.program("catalogue", "add", "--catalogue", "all.git", "-r", "src", cwd=self.root)
        self.program("docs", "add", "notes", "notes", cwd=self.root)

    def change(self):
        """Commits a file and writes a document that no version before had."""
        self.version += 1
        (self.repo / "changed.py").write_text(f"def version_{self.version}():\n    return {self.version}\n")
        (self.notes / "changed.md").write_text(
            f"# Version\n\nThe version{self.version} was released on day {self.version}.\n"
        )
        self.commit(f"version {self.version}")

    def word(self):
        """A name that only the present version has."""
        return f"version_{self.version}"

    def disturbed(self, work, before=(), fault=None, life=None):
        """Does `work` after the command line `before`, with an injected error, or kills it after `life` seconds. Returns
        whether it was killed. What is not disturbed enough to say so must be right."""
        args = work.args(self)
        command = self.command(args, self.root if work.is_beside else self.repo, fault)
        command["args"] = [*before, *command["args"]]
        streams = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        with subprocess.Popen(**command, **streams, start_new_session=True) as child:
            try:
                printed, said = child.communicate(timeout=life or PATIENCE)
            except subprocess.TimeoutExpired:
                end(child, is_tree=bool(before))
                child.communicate()
                if life is None:
                    raise Failure(f"{args} hangs") from None
                return True

        if "panicked" in said:
            raise Failure(f"{args}: {said}")
        if work.is_answer and child.returncode in (0, 1):
            check_answer(printed, self.word())
        return False


def end(child, is_tree):
    """Kills a process, or all that it has started too."""
    try:
        os.killpg(child.pid, signal.SIGKILL) if is_tree else child.kill()
    except ProcessLookupError:
        pass


def check_answer(text, word):
    """Fails if `text`, an answer in JSON, is said to be complete and has not `word`."""
    try:
        answer = json.loads(text)
    except ValueError:
        raise Failure(f"no answer, but success: {text[:500]!r}") from None
    index = answer.get("index", {})
    is_open = answer.get("status") != "ok" or index.get("unchecked_files") or index.get("pending_files")
    if not is_open and word not in text:
        raise Failure(f"an answer is complete without {word}: {text[:2000]}")


def found(site, what, args, cwd, word):
    text = site.program(*args, cwd=cwd, codes=(0, 1))
    if word not in text:
        raise Failure(f"{what} does not find {word}: {text}")


def search(site):
    found(site, "a search", ["search", site.word()], site.repo, site.word())


def index(site):
    site.program("index", "--quiet", codes=(0, 1))
    search(site)
    site.program("verify")


def reindex(site):
    site.program("index", "--quiet", "--reindex")
    index(site)


def sync(site):
    site.program("catalogue", "sync", "--quiet", "--catalogue", "all.git", cwd=site.root)
    args = ["search", "--catalogue", "all.git", site.word()]
    found(site, "the catalogue", args, site.root, site.word())


def catalogue_init(site):
    site.program("catalogue", "init", "new.git", cwd=site.root)
    site.program("catalogue", "add", "--catalogue", "new.git", "-r", "src", cwd=site.root)
    shutil.rmtree(site.root / "new.git")


def ask(site):
    question = f"when was the version{site.version} released"
    found(site, "a question", ["ask", "--index", "notes", question], site.root, f"on day {site.version}")


def docs_remove(site):
    site.program("docs", "add", "notes", "notes", cwd=site.root)
    ask(site)


def deinit(site):
    site.program("init", codes=(0, 1))
    rest = list((site.repo / ".git/hooks").glob(".codeweaver-hook-*"))
    if rest:
        raise Failure(f"hooks leave {rest}")
    index(site)


@dataclass(frozen=True)
class Work:
    """A command, and what must succeed after it, however it ended."""

    words: tuple
    after: Callable
    # Whether it runs in the directory beside the repository.
    is_beside: bool = False
    # Whether it is a search for the word of the present version, in JSON.
    is_answer: bool = False

    def args(self, site):
        return [*self.words, site.word()] if self.is_answer else list(self.words)


WORK = {
    "index": Work(("index", "--quiet"), index),
    "reindex": Work(("index", "--quiet", "--reindex"), reindex),
    "search": Work(("search", "-o", "json"), index, is_answer=True),
    "gc": Work(("gc", "--force"), index),
    "init": Work(("init",), deinit),
    "deinit": Work(("deinit", "--yes"), deinit),
    "sync": Work(("catalogue", "sync", "--catalogue", "all.git"), sync, is_beside=True),
    "catalogue-init": Work(("catalogue", "init", "new.git"), catalogue_init, is_beside=True),
    "ask": Work(("ask", "--index", "notes", "what was released"), ask, is_beside=True),
    "docs-remove": Work(("docs", "remove", "notes"), docs_remove, is_beside=True),
}


class Tries:
    """Tries in one site, which is left behind after a failure."""

    def __init__(self, run):
        self.run, self.site = run, None

    def attempt(self, work):
        """Calls `work` with the site, which returns whether it counts, and a list that it fills with what it does."""
        done = []
        self.site = self.site or Site()
        try:
            self.run.tried(bool(work(self.site, done)))
        except Failure as failure:
            self.run.tried()
            self.run.failed(f"{' '.join(done)}: {failure}\n  kept in {self.site.root}")
            self.site = None

    def end(self):
        if self.site:
            self.site.remove()
