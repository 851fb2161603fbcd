"""What git-codeweaver takes for one repository."""

import itertools
import json
import os
from dataclasses import dataclass

from measure import Run, Samples, disk_mib, repeat, run
from programs.codeweaver import Codeweaver
from trees import FUNCTIONS, GIT, QUESTIONS, append, git


@dataclass
class Measure:
    """A column of the table, and a line of the plot."""

    title: str
    unit: str
    field: str
    is_drawn: bool = True

    def value(self, point):
        measured = getattr(point, self.field)
        if isinstance(measured, Samples):
            return measured.seconds * (1000 if self.unit == "ms" else 1)
        return measured

    def text(self, point):
        measured, value = getattr(point, self.field), self.value(point)
        if not isinstance(measured, Samples) or len(measured.runs) == 1:
            return short(value)
        times = [part.seconds * (1000 if self.unit == "ms" else 1) for part in measured.runs]
        return f"{short(value)} ({short(min(times))}–{short(max(times))})"


def short(value):
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


MEASURES = [
    Measure("first index", "s", "index"),
    Measure("its CPU time", "s", "index_cpu", is_drawn=False),
    Measure("published after a one-file commit", "ms", "published"),
    Measure("whole update", "ms", "update"),
    Measure("cold query", "ms", "cold"),
    Measure("cold query, committed", "ms", "committed"),
    Measure("warm query", "ms", "warm"),
    Measure("disk", "MiB", "disk"),
    Measure("memory of the first index", "MiB", "index_memory"),
    Measure("memory of the server", "MiB", "server_memory"),
]


@dataclass
class Point:
    chunks: int
    files: int
    index: Samples
    index_cpu: float
    published: Samples
    update: Samples
    cold: Samples
    committed: Samples
    warm: Samples
    disk: float
    index_memory: float
    server_memory: float

    def __str__(self):
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())


class Corpus:
    """A repository that is indexed, edited and searched, in place of a Tree of benches/peers."""

    def __init__(self, root):
        self.root = root
        self.base = (root / ".git/codeweaver-bench-made").read_text().strip()
        git(root, "reset", "--quiet", "--hard", self.base)
        files = git(root, "ls-files", "-z").split("\0")
        editable = [path for path in files if os.path.splitext(path)[1] in FUNCTIONS]
        # Spread over the tree, in an order that is the same in each run.
        self.to_edit = itertools.cycle(editable[:: max(1, len(editable) // 20)])
        self.n_edits = 0

    def env(self):
        return {**os.environ, **GIT}

    def edit(self):
        """Commits a new function in one of the files."""
        self.n_edits += 1
        path = self.root / next(self.to_edit)
        append(path, FUNCTIONS[path.suffix].format(name=f"quokkaweaver{self.n_edits}"))
        git(self.root, "commit", "--quiet", "--no-verify", "--message", "edit", "--", path)


def measure(root, options):
    """Everything about one repository, whose index is removed before and after."""
    program = Codeweaver(None)
    program.install()
    corpus = Corpus(root)
    limit, runs = options.limit, options.runs
    questions = itertools.cycle(QUESTIONS)

    def first_index():
        program.clean(corpus)
        return program.index(corpus, limit)

    def updated():
        corpus.edit()
        return run([program.program, "index", "--json"], root, corpus.env(), limit)

    def committed():
        command = [program.program, "search", "--committed", "-l", "10", next(questions)]
        return run(command, root, corpus.env(), limit, success=(0, 1))

    index = repeat(first_index, min(runs, 3))
    disk = disk_mib(program.index_paths(corpus))
    about = json.loads(run([program.program, "status", "--json"], root, corpus.env(), limit).output)
    cold = repeat(lambda: program.query(corpus, next(questions), limit), runs, warm_up=True)
    quick = repeat(committed, runs, warm_up=True)
    warm = program.warm(corpus, questions, runs, limit)
    updates = repeat(updated, runs)
    program.clean(corpus)
    git(root, "reset", "--quiet", "--hard", corpus.base)
    return Point(
        chunks=about["chunks"],
        files=about["files"],
        index=index,
        index_cpu=index.cpu,
        published=Samples([Run(published_seconds(update.output)) for update in updates.runs]),
        update=updates,
        cold=cold,
        committed=quick,
        warm=warm,
        disk=disk,
        index_memory=index.memory_mib,
        server_memory=warm.memory_mib,
    )


def published_seconds(output):
    """When the new index answered, by the program's own count, which starts with the update."""
    events = [json.loads(line) for line in output.splitlines()]
    done = next(event for event in events if event.get("event") == "done")
    return max(done["duration_ms"], 1) / 1000
