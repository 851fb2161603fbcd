"""Directories with a home of their own, in which git and the program run."""

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CODEWEAVER_TEST_BINARY", ROOT / "target/debug/git-codeweaver"))
# Time after which a command counts as hanging.
PATIENCE = 120
KEPT = ("PATH", "LANG", "TMPDIR")


class Failure(Exception):
    """A check that has failed."""


def started(process):
    """The process, which is killed if it is still there when the campaign ends."""
    atexit.register(process.kill)
    return process


class World:
    """A directory that `remove` removes, the environment of programs in it, and the repository `repo`."""

    def __init__(self, kind):
        self.root = Path(tempfile.mkdtemp(prefix=f"codeweaver-{kind}-"))
        self.repo = self.root / "src" / "repo"
        for directory in (self.repo, self.root / "home"):
            directory.mkdir(parents=True)

        self.env = {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "HOME": str(self.root / "home"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.com",
        }
        self.git("init", "-q", "-b", "main")

    def git(self, *args, cwd=None, text=None):
        """Runs git, which must succeed; returns what it prints."""
        streams = dict(check=True, capture_output=True, text=True, input=text)
        return subprocess.run(["git", *args], cwd=cwd or self.repo, env=self.env, **streams).stdout.strip()

    def commit(self, message, cwd=None):
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "-m", message, cwd=cwd)

    def command(self, args, cwd=None, fault=None):
        """Arguments of `subprocess` for a run of the program."""
        env = self.env | ({"CODEWEAVER_FAULT": fault} if fault else {})
        return dict(args=[PROGRAM, *args], cwd=cwd or self.repo, env=env, stdin=subprocess.DEVNULL)

    def program(self, *args, cwd=None, codes=(0,), errors=False):
        """What the program prints, with its errors if they are wanted; fails unless it ends in time with one of `codes`,
        and without a panic."""
        command = self.command(args, cwd)
        try:
            run = subprocess.run(**command, capture_output=True, text=True, errors="replace", timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{args} hangs") from None
        if run.returncode not in codes or "panicked" in run.stderr:
            raise Failure(f"{args} ended with {run.returncode}: {run.stderr or run.stdout}")
        return run.stdout + (run.stderr if errors else "")

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


def write_sources(directory, n_files, n_functions):
    """Python files with functions that share the word `alpha`."""
    for i in range(n_files):
        body = "".join(f"def alpha_{i}_{j}():\n    return {j}\n\n\n" for j in range(n_functions))
        (directory / f"file_{i}.py").write_text(body)
