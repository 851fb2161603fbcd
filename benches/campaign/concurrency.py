"""Concurrency: eight processes at a time in three worktrees of one repository."""

import json
import subprocess
import time

from world import PATIENCE, Failure, World, write_sources

SHORT, SECONDS, LONG = 12, 12, 300
PROCESSES = 8
# Command lines, with the exit codes that they may have beside others, and how often each is drawn.
COMMANDS = [
    (["search", "-o", "json", "WORD"], (0,), 6),
    (["search", "--mode", "exact", "-o", "json", "WORD"], (0,), 2),
    (["graph", "definitions", "WORD"], (0,), 1),
    (["index", "--quiet"], (0, 1), 3),
    (["index", "--quiet", "--reindex"], (0, 1), 1),
    (["status", "--json"], (0,), 1),
    (["verify"], (0,), 1),
    (["gc", "--force"], (0, 1), 1),
    (["init"], (0, 1), 1),
    (None, (0,), 2),
]
# A warning that an answer is of an older state: another worktree was reindexed, and this one has more files of its own
# than a search reads beside the index (200), or its time was up.
OLD = "HEAD is not indexed yet"


class Worktrees(World):
    """A repository with two linked worktrees, each on a branch of its own, and one store."""

    def __init__(self):
        super().__init__("concurrency")
        # No process outlives a round.
        self.env["CODEWEAVER_HOOKS"] = "foreground"
        write_sources(self.repo, 20, 6)
        self.commit("begin")
        self.trees = [self.repo, *(self.root / "src" / f"tree{n}" for n in (1, 2))]
        for n, tree in enumerate(self.trees[1:], 1):
            self.git("worktree", "add", "-q", "-b", f"branch{n}", str(tree))
        for tree in self.trees:
            self.program("init", "--no-hooks", cwd=tree)
        self.words = [None] * 3
        self.number = 0

    def change(self, n):
        """Commits a function in worktree `n` whose name no other has."""
        self.number += 1
        word = f"only_{n}_{self.number}"
        (self.trees[n] / f"{word}.py").write_text(f"def {word}():\n    return {self.number}\n")
        self.commit(word, cwd=self.trees[n])
        return word


def campaign(run):
    world = Worktrees()
    commands = [command for command in COMMANDS for _ in range(command[2])]
    while run.goes_on():
        done = []
        try:
            round_of(run.rng, world, commands, done)
        except Failure as failure:
            run.failed(f"{failure}\n  {done}\n  kept in {world.root}")
            world = Worktrees()
        run.tried()
    run.figures["processes"] = run.tries * PROCESSES
    world.remove()


def round_of(rng, world, commands, done):
    """Starts the processes, and checks what each says, and then each worktree."""
    world.words = [world.change(n) for n in range(3)]
    children = []
    try:
        for _ in range(PROCESSES):
            n, (args, codes, _) = rng.randrange(3), rng.choice(commands)
            args = args and [world.words[n] if arg == "WORD" else arg for arg in args]
            done.append(f"{n}: {' '.join(args) if args else 'commit'}")
            time.sleep(rng.random() * 0.03)
            if args is None:
                world.change(n)
                continue
            streams = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            children.append((n, args, codes, subprocess.Popen(**world.command(args, world.trees[n]), **streams)))
        for n, args, codes, child in children:
            printed, said = child.communicate(timeout=PATIENCE)
            check(world, n, args, codes, child.returncode, printed, said)
    except subprocess.TimeoutExpired:
        raise Failure(f"{args} in worktree {n} hangs") from None
    finally:
        for *_, child in children:
            child.kill()
            child.communicate()

    for n, tree in enumerate(world.trees):
        find(world, n, tree)
    tree = rng.choice(world.trees)
    update(world, tree)
    world.program("verify", cwd=tree)
    state = json.loads(world.program("status", "--json", cwd=tree))["state"]
    if state != "indexed":
        raise Failure(f"the state is {state}")


def find(world, n, tree):
    """Searches for the last word of a worktree, until an update that goes on has brought the index to it."""
    args = ["search", "-o", "json", world.words[n]]
    end = time.monotonic() + PATIENCE
    while True:
        text = world.program(*args, cwd=tree, codes=(0, 1))
        if not is_behind(text) or time.monotonic() > end:
            break
        time.sleep(0.1)
    if is_behind(text):
        raise Failure(f"worktree {n} is not brought up to date: {text[:2000]}")
    check(world, n, args, (0,), 0, text, "")


def is_behind(text):
    """Whether an answer in JSON says that it is of an older state."""
    answer = json.loads(text)
    return answer.get("status") == "degraded" and answer["index"].get("freshness") == "stale"


def update(world, tree):
    """Makes the index current, after the update that a search may have started."""
    end = time.monotonic() + PATIENCE
    while "already in progress" in world.program("index", cwd=tree, codes=(0, 1), errors=True):
        if time.monotonic() > end:
            raise Failure("an update does not end")
        time.sleep(0.1)


def check(world, n, args, codes, code, text, said):
    is_old = code in (0, 1) and (OLD in said or args[0] == "search" and is_behind(text))
    if code not in codes and not is_old or "panicked" in said:
        raise Failure(f"{args} in worktree {n} ended with {code}: {said or text}")
    if args[0] != "search":
        return
    answer = json.loads(text)
    found = json.dumps(answer["files" if "exact" in args else "matches"])
    if world.words[n] not in found and not is_old:
        raise Failure(f"{args} in worktree {n} does not find it: {text[:2000]}")
    # Files of another worktree are in no answer.
    if any(f"only_{other}_" in found for other in range(3) if other != n):
        raise Failure(f"{args} in worktree {n} finds what is in another: {text[:2000]}")
