#!/usr/bin/env python3
"""Tests of what runs in the CI and the containers of others: the report of near-copies, the template for
GitLab, and the feature for development containers. CODEWEAVER_TEST_BINARY names the program,
target/debug/git-codeweaver by default."""

import hashlib
import json
import os
import platform
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = Path(
    os.environ.get("CODEWEAVER_TEST_BINARY", HERE.parent / "target/debug/git-codeweaver")
).absolute()
ORIGINAL = """\
def cart_total(cart, discount, taxes):
    total = 0
    for item in cart.items:
        price = item.price * item.count
        if item.is_reduced and discount > 0:
            price = price * (1 - discount / 100)
        for tax in taxes:
            if tax.applies_to(item):
                price = price + price * tax.rate / 100
        total = total + round(price, 2)
    return total
"""
COPY = ORIGINAL.replace("cart", "order").replace("discount", "reduction")


class Integrations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name).resolve()
        (self.home / "bin").mkdir()
        (self.home / "bin/git-codeweaver").symlink_to(PROGRAM)
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("GIT", "CODEWEAVER_"))
            },
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(self.home / "bin"), os.environ["PATH"]]),
        }

    def call(self, *command, cwd=None, code=0, **environment):
        done = subprocess.run(
            command,
            cwd=cwd or self.home,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}\n{done.stderr}")
        return done

    def commit(self, repository, name, text):
        (repository / name).write_text(text)
        self.call("git", "add", ".", cwd=repository)
        author = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        self.call("git", *author, "commit", "--quiet", "-m", name, cwd=repository)

    def clone_with_copy(self):
        """A clone whose branch adds a copy, without the branch that it left, as CI makes them."""
        origin = self.home / "origin"
        self.call("git", "init", "--quiet", "--initial-branch=main", origin)
        self.commit(origin, "cart.py", ORIGINAL)
        self.call("git", "switch", "--quiet", "--create", "topic", cwd=origin)
        self.commit(origin, "order.py", COPY)
        clone = self.home / "clone"
        self.call("git", "clone", "--quiet", "--depth=1", "--branch=topic", f"file://{origin}", clone)
        return clone

    def report(self, clone, code=0, **options):
        """Runs the script; returns its summary and its outputs."""
        summary, outputs = self.home / "summary.md", self.home / "outputs"
        summary.unlink(missing_ok=True)
        outputs.unlink(missing_ok=True)
        self.call(
            "bash",
            HERE / "ci/near-copies.sh",
            cwd=clone,
            code=code,
            CODEWEAVER_SINCE="origin/main",
            GITHUB_STEP_SUMMARY=str(summary),
            GITHUB_OUTPUT=str(outputs),
            **options,
        )
        return summary.read_text(), outputs.read_text()

    def test_the_copies_that_a_branch_adds_are_reported(self):
        clone = self.clone_with_copy()
        summary, outputs = self.report(clone, CODEWEAVER_SARIF="near-copies.sarif")
        self.assertIn("order_total", summary)
        self.assertEqual(outputs, "groups=1\n")
        log = json.loads((clone / "near-copies.sarif").read_text())
        self.assertEqual(len(log["runs"][0]["results"]), 1)

    def test_the_step_fails_on_request_alone(self):
        clone = self.clone_with_copy()
        self.report(clone, code=1, CODEWEAVER_FAIL="true")
        _, outputs = self.report(clone, CODEWEAVER_FAIL="true", CODEWEAVER_PATHS="cart.py")
        self.assertEqual(outputs, "groups=0\n")

    def test_an_index_from_the_cache_saves_the_work(self):
        clone = self.clone_with_copy()
        self.report(clone)
        shards = sorted(path.name for path in (clone / ".codeweaver").rglob("shards/*"))
        self.assertTrue(shards)

        other = self.home / "other"
        self.call("git", "clone", "--quiet", f"file://{self.home / 'origin'}", other)
        self.commit(other, "later.md", "# Later\n\nA document that the cached index does not have.\n")
        (clone / ".codeweaver").rename(other / ".codeweaver")
        _, outputs = self.report(other)
        self.assertEqual(outputs, "groups=1\n")
        kept = sorted(path.name for path in (other / ".codeweaver").rglob("shards/*"))
        self.assertLess(set(shards), set(kept))

    def test_a_store_that_the_repository_brings_along_is_refused(self):
        clone = self.clone_with_copy()
        self.report(clone)
        (clone / ".git/codeweaver-nonce").unlink()
        self.call("git", "add", "--force", ".codeweaver/nonce", cwd=clone)
        self.call("bash", HERE / "ci/near-copies.sh", cwd=clone, code=2, CODEWEAVER_SINCE="origin/main")

    def test_the_template_for_gitlab_names_the_copies(self):
        clone = self.clone_with_copy()
        template = (HERE / "ci/near-copies.gitlab-ci.yml").read_text()
        script = script_of(template)
        self.call("bash", "-ec", script, cwd=clone, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
        issues = json.loads((clone / "gl-code-quality-report.json").read_text())
        self.assertEqual([issue["location"]["path"] for issue in issues], ["order.py"])

    def test_the_feature_installs_a_checked_release(self):
        name = f"git-codeweaver-1.2.3-{platform.machine()}-unknown-linux-gnu"
        downloads = self.home / "downloads/v1.2.3"
        self.pack(downloads, name)
        prefix = self.home / "prefix"
        options = {
            "VERSION": "1.2.3",
            "PREFIX": str(prefix),
            "CODEWEAVER_DOWNLOADS": downloads.parent.as_uri(),
        }
        install = HERE / "devcontainer/git-codeweaver/install.sh"
        self.call("sh", install, **options)
        self.assertEqual(self.call(prefix / "bin/git-codeweaver").stdout, "as released\n")

        (downloads / f"{name}.tar.xz").write_bytes(b"something else")
        self.call("sh", install, code=1, **options)

    def pack(self, downloads, name):
        """A release whose program is a script, with the files of dist/build.py."""
        folder = self.home / "pack" / name
        files = [
            "man/man1/git-codeweaver.1",
            "completions/git-codeweaver.bash",
            "completions/_git-codeweaver",
        ]
        for path in [*files, "completions/git-codeweaver.fish", "LICENSE-MIT", "git-codeweaver"]:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("#!/bin/sh\necho as released\n")
        (folder / "git-codeweaver").chmod(0o755)
        downloads.mkdir(parents=True)
        archive = downloads / f"{name}.tar.xz"
        self.call("tar", "-cJf", archive, "-C", folder.parent, name)
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        (downloads / "SHA256SUMS").write_text(f"{digest}  {archive.name}\n")


def script_of(template):
    """The lines of `script:` of a job, as one script."""
    block = re.search(r"^  script:\n((?:    .*\n|\n)+)", template, re.MULTILINE)[1]
    lines = []
    for line in block.split("\n"):
        line = line[4:]
        if not line.startswith(("- |", "#")):
            lines.append(line[2:])
    return "\n".join(lines)


if __name__ == "__main__":
    unittest.main()
