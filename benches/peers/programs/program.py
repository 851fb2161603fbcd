"""What every program has: how it is installed, asked, and updated."""

import shutil

from measure import Failed, Run, Samples, repeat


class Program:
    """A program at a pinned version.

    `install` raises Failed with the reason if it cannot be had. `index` makes the first index, `query`
    answers one question in a new process, `update` brings the index up to date after an edit and finds what
    the edit added.
    """

    name = ""
    version = ""
    licence = ""
    source = ""
    # What else there is to know of it.
    note = ""
    has_index = True
    has_session = False

    def __init__(self, cache):
        self.cache = cache

    def title(self):
        return f"{self.name} {self.version}".strip()

    def install(self):
        raise NotImplementedError

    def phrase(self, question):
        """A question, as it is asked of this program."""
        return question

    def index_paths(self, tree):
        """The files and directories of its index."""
        return []

    def clean(self, tree):
        """Removes the index."""
        for path in self.index_paths(tree):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def prepare(self, tree):
        """What is not part of the first index."""

    def index(self, tree, limit):
        raise NotImplementedError

    def query(self, tree, question, limit):
        raise NotImplementedError

    def update(self, tree, edit, limit):
        """For programs that need no other step than the query."""
        return found(self.query(tree, edit.name, limit), edit)

    def session(self, tree, limit):
        """A running server, in a `with` block, with `ask(question)` that returns the text of the answer."""
        raise NotImplementedError

    def warm(self, tree, questions, runs, limit):
        """Queries of one running server, after one that does not count."""
        with self.session(tree, limit) as session:
            samples = repeat(lambda: session.timed(next(questions)), runs * 4, warm_up=True)
            memory = session.memory_mib()
        return Samples([Run(run.seconds, memory_mib=memory) for run in samples.runs])

    def remarks(self, tree, runs, limit):
        """Further figures, as texts."""
        return []


def longest_word(question):
    """For programs that look for words."""
    return max(question.split(), key=len)


def together(*runs):
    """Processes one after the other as one; the output is that of the last."""
    seconds, cpu = sum(run.seconds for run in runs), sum(run.cpu for run in runs)
    return Run(seconds, cpu, max(run.memory_mib for run in runs), runs[-1].output)


def found(run, edit):
    """The run, if its output has what the edit has added, and not just the question repeated."""
    if edit.name not in run.output or edit.path.rsplit("/", 1)[-1] not in run.output:
        raise Failed("the edit was not found", run.output[:2000])
    return run
