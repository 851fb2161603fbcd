#!/usr/bin/env python3
"""Tests of the clients below this directory: each with the real program and a small repository.

Needs node 20 and nvim; what is missing is skipped, or fails with CI=true. CODEWEAVER_TEST_BINARY names the
program, target/debug/git-codeweaver by default. CODEWEAVER_TEST_TELESCOPE names a folder with clones of
plenary.nvim and telescope.nvim, which are in no package registry; without it, as in CI, the test of the
extension of Telescope is skipped, and counted as such in the file CODEWEAVER_TEST_SKIPS."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

EDITORS = Path(__file__).resolve().parent
PROGRAM = Path(
    os.environ.get("CODEWEAVER_TEST_BINARY", EDITORS.parent / "target/debug/git-codeweaver")
).absolute()
FILES = {
    "src/session.py": (
        "import hmac\n\n\n"
        "def sign_session(user, secret):\n"
        '    """Signs the cookie of a session."""\n'
        "    cookie = f'session={user.name}'\n"
        "    signature = hmac.new(secret, cookie.encode(), 'sha256').hexdigest()\n"
        "    return f'{cookie}.{signature}'\n\n\n"
        "def sign_token(user, secret):\n"
        '    """Signs the token of an interface."""\n'
        "    token = f'token={user.name}'\n"
        "    signature = hmac.new(secret, token.encode(), 'sha256').hexdigest()\n"
        "    return f'{token}.{signature}'\n"
    ),
    "src/login.py": (
        "from session import sign_session\n\n\n"
        "def log_in(user, secret, response):\n"
        '    """Gives a user a session."""\n'
        "    response.cookies.append(sign_session(user, secret))\n"
    ),
    "src/cart.py": (
        "def add_prices(cart):\n"
        '    """Adds the prices of everything in a cart."""\n'
        "    return sum(item.price * item.count for item in cart)\n"
    ),
    # Nothing calls it, and it may be called all the same.
    "src/hooks.py": "def close_cart():\n    return None\n\n\nHOOKS = [close_cart]\n",
    "src/build.sh": "folder=$(pwd)\n",
}


class Editors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.home = Path(folder.name).resolve()
        cls.repository = cls.home / "repository"
        cls.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("GIT_", "XDG_", "CODEWEAVER_"))
            },
            "HOME": str(cls.home),
            "PATH": os.pathsep.join([str(cls.bin_folder()), os.environ["PATH"]]),
            "CODEWEAVER_TEST_BINARY": str(PROGRAM),
            "CODEWEAVER_TEST_REPOSITORY": str(cls.repository),
            "CODEWEAVER_TEST_STAND_IN": str(EDITORS / "stand_in.py"),
        }
        for name, text in FILES.items():
            path = cls.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        cls.call("git", "init", "--quiet")
        cls.call("git", "add", ".")
        cls.call(
            "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "first"
        )
        cls.call("git-codeweaver", "init", "--no-hooks")

    @classmethod
    def bin_folder(cls):
        folder = cls.home / "bin"
        folder.mkdir()
        (folder / "git-codeweaver").symlink_to(PROGRAM)
        return folder

    @classmethod
    def call(cls, *command, **environment):
        """Runs a command in the repository; its output is that of a failure."""
        try:
            done = subprocess.run(
                command,
                cwd=cls.repository,
                env={**cls.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
            )
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"{error}\n{(error.stdout or b'').decode(errors='replace')}") from error
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout

    def need(self, program):
        if not shutil.which(program):
            if os.environ.get("CI") == "true":
                self.fail(f"{program} is missing")
            self.skipTest(f"{program} is missing")

    def test_neovim(self):
        self.need("nvim")
        paths = [EDITORS / "neovim"]
        if telescope := os.environ.get("CODEWEAVER_TEST_TELESCOPE"):
            paths += [Path(telescope).absolute() / name for name in ("plenary.nvim", "telescope.nvim")]
        elif skips := os.environ.get("CODEWEAVER_TEST_SKIPS"):
            with open(skips, "a", encoding="utf-8") as file:
                file.write("skipped: the extension of Telescope needs CODEWEAVER_TEST_TELESCOPE\n")
        runtime = [f"set runtimepath^={path}" for path in paths]
        commands = [
            *runtime,
            "runtime! plugin/**/*.vim plugin/**/*.lua",
            f"luafile {EDITORS / 'neovim/test/run.lua'}",
        ]
        options = [part for command in commands for part in ("-c", command)]
        output = self.call("nvim", "--headless", "-u", "NONE", "-i", "NONE", *options)
        self.wait_for_end(int(output.rpartition("process ")[2]))

    def wait_for_end(self, process):
        """Waits until a process has ended, and fails if it does not."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        self.fail(f"process {process} goes on without its editor")

    def test_vscode(self):
        self.need("node")
        self.call("node", "--test", EDITORS / "vscode/test/extension.test.js")


if __name__ == "__main__":
    unittest.main()
