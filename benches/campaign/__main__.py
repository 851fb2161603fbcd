#!/usr/bin/env python3
"""Campaign against the program: kills, injected errors and damage in every kind of work, one after the other.

    python3 benches/campaign --short                      # two minutes, as .ci/run calls it
    python3 benches/campaign --kills 3000 --damages 2000 --errors 1000
    python3 benches/campaign --seed 7 --only kills --work sync

Each try does some work in a repository, a catalogue or a collection of documents and disturbs it. Then the same work,
undisturbed, must succeed, a search must find what it is to find, and `verify` must find nothing. The seed is printed;
with the same seed and the same counts the same tries are made, at the same moments as far as the machine allows.
`benches/faults.rs` is the campaign of many processes on one store; this one has the kinds of work that leave more behind
than a store, among them git's own files.

The program is `target/debug/git-codeweaver` or the one that CODEWEAVER_TEST_BINARY names. Only builds with debug
assertions can have errors injected. Failures are printed with their directory, which stays; the exit code is then 1.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CODEWEAVER_TEST_BINARY", ROOT / "target/debug/git-codeweaver"))
# Time after which a command counts as hanging.
PATIENCE = 120
# Kinds of tries, and how many of each the short form makes at most.
SHORT = {"kills": 150, "damages": 40, "errors": 60}
SHORT_SECONDS = 100
# Number of writing steps among which an injected error is placed.
STEPS = 60
ERRORS = ["abort", "io", "full", "stale", "lost"]
# Damage is done to files below these names; locks hold nothing.
DAMAGED = ["state", "state.prev", "hashed", "shards", "segments", "entries", "snapshots", "cache"]


class Failure(Exception):
    """A check that has failed."""


class Site:
    """A directory with a repository, a catalogue of it, documents, and a home of its own."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="codeweaver-campaign-"))
        self.repo = self.root / "src" / "repo"
        self.notes = self.root / "notes"
        self.version = 0
        for directory in (self.repo, self.notes, self.root / "home"):
            directory.mkdir(parents=True)

        keep = ("PATH", "LANG", "TMPDIR")
        self.env = {name: os.environ[name] for name in keep if name in os.environ} | {
            "HOME": str(self.root / "home"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.com",
        }
        self.git("init", "-q", "-b", "main")
        for i in range(8):
            body = "".join(f"def alpha_{i}_{j}():\n    return {j}\n\n\n" for j in range(6))
            (self.repo / f"file_{i}.py").write_text(body)
        self.change()
        self.program("init", "--no-hooks")
        self.program("catalogue", "init", "all.git", cwd=self.root)
        self.program("catalogue", "add", "--catalogue", "all.git", "-r", "src", cwd=self.root)
        self.program("docs", "add", "notes", "notes", cwd=self.root)

    def git(self, *args):
        subprocess.run(["git", *args], cwd=self.repo, env=self.env, check=True, capture_output=True)

    def change(self):
        """Commits a file and writes a document that no version before had."""
        self.version += 1
        (self.repo / "changed.py").write_text(f"def version_{self.version}():\n    return {self.version}\n")
        (self.notes / "changed.md").write_text(
            f"# Version\n\nThe version{self.version} was released on day {self.version}.\n"
        )
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"version {self.version}")

    def command(self, args, cwd=None, fault=None):
        env = self.env | ({"CODEWEAVER_FAULT": fault} if fault else {})
        return dict(args=[PROGRAM, *args], cwd=cwd or self.repo, env=env, stdin=subprocess.DEVNULL)

    def program(self, *args, cwd=None, codes=(0,)):
        """Runs the program; fails unless it ends in time with one of `codes`, and without a panic."""
        try:
            run = subprocess.run(**self.command(args, cwd), capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{args} hangs") from None
        if run.returncode not in codes or "panicked" in run.stderr:
            raise Failure(f"{args} ended with {run.returncode}: {run.stderr or run.stdout}")
        return run.stdout

    def disturbed(self, args, cwd, fault=None, life=None):
        """Runs the program with an injected error, or kills it after `life` seconds. Returns whether it was killed."""
        streams = dict(stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with subprocess.Popen(**self.command(args, cwd, fault), **streams) as child:
            try:
                _, said = child.communicate(timeout=life or PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                if life is None:
                    raise Failure(f"{args} with {fault} hangs") from None
                return True
        if "panicked" in said:
            raise Failure(f"{args} with {fault}: {said}")
        return False

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


def found(site, what, args, cwd, word):
    text = site.program(*args, cwd=cwd, codes=(0, 1))
    if word not in text:
        raise Failure(f"{what} does not find {word}: {text}")


def search(site):
    found(site, "a search", ["search", f"version_{site.version}"], site.repo, f"version_{site.version}")


def index(site):
    site.program("index", "--quiet", codes=(0, 1))
    search(site)
    site.program("verify")


def reindex(site):
    site.program("index", "--quiet", "--reindex")
    index(site)


def sync(site):
    site.program("catalogue", "sync", "--quiet", "--catalogue", "all.git", cwd=site.root)
    word = f"version_{site.version}"
    found(site, "the catalogue", ["search", "--catalogue", "all.git", word], site.root, word)


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


# Names of work: the command that is disturbed, whether it runs beside the repository, and what must succeed afterwards.
WORK = {
    "index": (["index", "--quiet"], False, index),
    "reindex": (["index", "--quiet", "--reindex"], False, reindex),
    "search": (["search", "alpha"], False, index),
    "gc": (["gc", "--force"], False, index),
    "init": (["init"], False, deinit),
    "deinit": (["deinit", "--yes"], False, deinit),
    "sync": (["catalogue", "sync", "--catalogue", "all.git"], True, sync),
    "catalogue-init": (["catalogue", "init", "new.git"], True, catalogue_init),
    "ask": (["ask", "--index", "notes", "what was released"], True, ask),
    "docs-remove": (["docs", "remove", "notes"], True, docs_remove),
}


class Campaign:
    def __init__(self, seed, works):
        self.rng = random.Random(seed)
        self.works = works
        self.counts = dict.fromkeys(SHORT, 0)
        self.failures = []
        # Seconds that each kind of work takes about, over which the moments of death are spread.
        self.lives = dict.fromkeys(WORK, 0.15)
        self.site = None

    def attempt(self, kind):
        """One try of `kind`; a new site after a failure."""
        self.site = self.site or Site()
        site, said = self.site, kind
        try:
            said = getattr(self, kind)(site)
        except Failure as failure:
            self.failures.append(f"{kind}, {self.last}: {failure}\n  kept in {site.root}")
            print(f"FAILED {self.failures[-1]}", flush=True)
            self.site = None
        self.counts[kind] += bool(said)

    def disturb(self, site, **how):
        name = self.rng.choice(self.works)
        command, is_beside, after = WORK[name]
        self.last = f"{name} {how}"
        site.change()
        was_killed = site.disturbed(command, site.root if is_beside else site.repo, **how)
        after(site)
        return name, was_killed

    def kills(self, site):
        life = self.rng.random()
        name = self.rng.choice(self.works)
        command, is_beside, after = WORK[name]
        life *= self.lives[name]
        self.last = f"{name} killed after {life * 1000:.1f} ms"
        site.change()
        was_killed = site.disturbed(command, site.root if is_beside else site.repo, life=max(life, 0.0005))
        # About three of four are to be killed.
        self.lives[name] = min(max(self.lives[name] * (1.04 if was_killed else 0.89), 0.005), 4)
        after(site)
        return was_killed

    def errors(self, site):
        self.disturb(site, fault=f"{self.rng.choice(ERRORS)}:{self.rng.randint(1, STEPS)}")
        return True

    def damages(self, site):
        store = site.repo / ".codeweaver"
        parts = [path for name in DAMAGED for path in store.rglob(name)]
        files = [path for part in parts for path in ([part] if part.is_file() else part.rglob("*")) if path.is_file()]
        path = self.rng.choice(sorted(files))
        how = self.rng.choice(["loss", "emptying", "cut", "flip", "zeros", "pipe", "directory"])
        self.last = f"{how} of {path.relative_to(store)}"
        damage(path, how, self.rng)
        search(site)
        index(site)
        return True


def damage(path, how, rng):
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data)) if data else 0
    path.unlink()
    if how == "loss":
        return
    if how == "pipe":
        os.mkfifo(path)
        return
    if how == "directory":
        path.mkdir()
        return
    if how == "emptying":
        data.clear()
    elif how == "cut":
        del data[at:]
    elif how == "flip" and data:
        data[at] ^= 1 << rng.randrange(8)
    elif how == "zeros":
        data[at : at + 512] = bytes(len(data[at : at + 512]))
    path.write_bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="stop after about two minutes")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=list(SHORT), help="tries of this kind alone")
    parser.add_argument("--work", choices=list(WORK), help="this kind of work alone")
    for kind, count in SHORT.items():
        parser.add_argument(f"--{kind}", type=int, default=count, help=f"number of {kind} [default: {count}]")
    args = parser.parse_args()

    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    wanted = {kind: getattr(args, kind) for kind in SHORT if args.only in (None, kind)}
    campaign = Campaign(seed, [args.work] if args.work else list(WORK))
    started = time.monotonic()

    # Kinds take turns, so that the short form has some of each however slow the machine is.
    while any(campaign.counts[kind] < n for kind, n in wanted.items()) and len(campaign.failures) < 20:
        if args.short and time.monotonic() - started > SHORT_SECONDS:
            break
        for kind in [kind for kind, n in wanted.items() if campaign.counts[kind] < n]:
            campaign.attempt(kind)

    if campaign.site:
        campaign.site.remove()
    counts = ", ".join(f"{campaign.counts[kind]} {kind}" for kind in wanted)
    print(f"{counts}, {len(campaign.failures)} failures in {time.monotonic() - started:.0f} s, seed {seed}")
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    sys.exit(main())
