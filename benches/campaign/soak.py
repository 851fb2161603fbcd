"""Soak: commits, moves and other branches under a server that is asked all the time.

Each commit must be found within a minute. Memory and descriptors of the server must not grow, and at its end every answer
must equal that of a fresh index of a fresh clone.
"""

import json
import threading
import time

from server import Server
from world import Failure, World, write_sources

# Commits at most; the long form ends by time.
SHORT, SECONDS, LONG = 1 << 30, 8, 1 << 30
LONG_SECONDS = 3600
# Pause between two commits, in seconds, and the time after which a commit must be found.
PAUSE, SEEN = 0.5, 60
# Growth from the first third to the last that is a leak: share and MiB of memory, number of descriptors.
GROWTH, GROWTH_MIB, DESCRIPTORS = 1.25, 48, 16
QUESTIONS = [
    "/api/search?q=alpha_3_2",
    "/api/search?q=where+is+the+result+returned",
    "/api/search?q=alpha&mode=keyword&limit=50",
    "/api/search?q=alpha_1&mode=symbol",
    "/api/search?q=return&mode=exact&limit=50",
    "/api/search?q=def+alpha_.*2&mode=regex",
    "/api/graph?symbol=alpha_1_1",
    "/api/outline?path=file_1.py",
    "/api/files",
    "/api/file?path=file_2.py",
]
OTHERS = [
    "/",
    "/health/",
    "/metrics",
    "/api/status",
    "/api/history",
    "/files",
    "/search?q=alpha",
    "/api/file?path=none",
]


class Soak(World):
    def __init__(self, rng):
        super().__init__("soak")
        self.rng = rng
        self.number = 0
        # Seconds after which a commit was found, at most.
        self.longest = 0
        write_sources(self.repo, 60, 8)
        self.commit("begin")
        self.program("init", "--no-hooks")

    def change(self):
        """Commits something; returns a word that the new state has, and no state before."""
        self.number += 1
        files = sorted(self.repo.glob("*.py"))
        how = self.rng.choice(["edit", "edit", "edit", "move", "remove", "branch", "many"])
        word = f"turn_{self.number}"
        # No name is used in more places than the call graph looks at.
        line = f"\n\ndef {word}():\n    return alpha_{self.number % 60}_1()\n"
        path = self.rng.choice(files)
        if how == "move":
            path = path.rename(self.repo / f"moved_{self.number}.py")
        elif how == "remove" and len(files) > 40:
            path.unlink()
            path = self.repo / f"new_{self.number}.py"
        elif how == "branch":
            n_before = int(self.git("rev-list", "--count", "HEAD")) - 1
            self.git("switch", "-q", "-c", f"branch_{self.number}", f"HEAD~{min(3, n_before)}")
            path = self.repo / f"new_{self.number}.py"
        elif how == "many":
            for other in files[::7]:
                other.write_text(other.read_text() + f"\n\ndef {word}_in_{other.stem}():\n    pass\n")
            path = self.repo / f"new_{self.number}.py"
        with open(path, "a") as file:
            file.write(line)
        self.commit(how)
        return word


def campaign(run):
    if not run.is_short():
        run.limit = run.long_seconds or LONG_SECONDS
    world = Soak(run.rng)
    server = Server(world, [])
    asking = Asking(run, server)
    samples = []
    try:
        while run.goes_on():
            attempt(run, world, server)
            samples.append((server.memory()[0], server.descriptors()))
            time.sleep(PAUSE)
    finally:
        asking.end()
    check_growth(run, samples)
    compare(run, world, server)
    server.end()
    run.figures["commits"] = world.number
    run.figures["found after at most"] = f"{world.longest:.1f} s"
    run.figures["questions"] = asking.number
    if not run.failures:
        world.remove()


def attempt(run, world, server):
    """A commit, which must be found."""
    word = world.change()
    began = time.monotonic()
    while word.encode() not in server.get(f"/api/search?q={word}&mode=exact")[1].split(b'"files"', 1)[-1]:
        if time.monotonic() - began > SEEN:
            run.failed(f"{word} is not found after {SEEN} s\n  kept in {world.root}")
            break
        time.sleep(0.05)
    world.longest = max(world.longest, time.monotonic() - began)
    run.tried()


class Asking:
    """Questions in another thread, one after the other."""

    def __init__(self, run, server):
        self.number = 0
        self.run, self.server = run, server
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def ask(self):
        asked = QUESTIONS + OTHERS
        while not self.is_over.wait(0.05):
            path = asked[self.number % len(asked)]
            self.number += 1
            try:
                status, body = self.server.get(path)
                if status not in (200, 404):
                    raise Failure(f"{path}: {status} {body[:500]}")
            except Failure as failure:
                self.run.failed(str(failure))

    def end(self):
        self.is_over.set()
        self.thread.join()


def check_growth(run, samples):
    third = len(samples) // 3
    if not third:
        return
    for at, name in enumerate(("memory", "descriptors")):
        first, last = (middle(sample[at] for sample in part) for part in (samples[third : 2 * third], samples[-third:]))
        run.figures[name] = f"{first:.0f} then {last:.0f}" + (" MiB" if name == "memory" else "")
        limit = first * GROWTH + GROWTH_MIB if name == "memory" else first + DESCRIPTORS
        if last > limit:
            run.failed(f"{name} grows from {first:.0f} to {last:.0f}")


def middle(values):
    values = sorted(values)
    return values[len(values) // 2]


def compare(run, world, server):
    """The answers of the server, and those of a fresh index."""
    until_current(server)
    clone = world.root / "fresh"
    world.git("clone", "-q", "--no-local", str(world.repo), str(clone))
    world.program("init", "--no-hooks", cwd=clone)
    world.program("verify", cwd=world.repo)
    fresh = Server(world, [], cwd=clone)
    until_current(fresh)
    for path in QUESTIONS:
        answers = [answer_of(side, path) for side in (server, fresh)]
        run.tried()
        if answers[0] != answers[1]:
            run.failed(f"{path} differs from a fresh index:\n  {answers[0][:3000]}\n  {answers[1][:3000]}")
    fresh.end()


def until_current(server):
    for _ in range(SEEN * 10):
        if json.loads(server.get("/api/status")[1]).get("current"):
            return
        time.sleep(0.1)
    raise Failure("the index does not become current")


def answer_of(server, path):
    """The answer without its time and without the numbers that depend on how the index came about."""
    status, body = server.get(path)
    answer = json.loads(body)
    for part in ("execution_time_ms", "executionTimeMs", "index"):
        answer.pop(part, None)
    return json.dumps([status, answer], sort_keys=True)
