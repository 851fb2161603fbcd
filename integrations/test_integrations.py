#!/usr/bin/env python3
"""Tests of what runs in the CI and the containers of others: the report of near-copies, the step for GitHub,
the template for GitLab, the hook for pre-commit, and the feature for development containers.
CODEWEAVER_TEST_BINARY names the program, target/debug/git-codeweaver by default; CODEWEAVER_TEST_HOOK_TOOLS
the folder in whose py/bin pre-commit is, if it is not on the PATH."""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = (HERE.parent / "docs/ci.md").read_text(encoding="utf-8")
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

    def test_the_page_and_the_script_know_the_inputs_of_the_step(self):
        action = (HERE.parent / "action.yml").read_text(encoding="utf-8")
        inputs = set(re.findall(r"^  (\w+):$", section(action, "inputs"), re.MULTILINE))
        self.assertEqual(set(re.findall(r"inputs\.(\w+)", action)), inputs)
        self.assertEqual(set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)), inputs)

        examples = re.findall(r"uses: git-codeweaver/\S+\n +with:\n((?: {10}.*\n)+)", PAGE)
        given = {name for example in examples for name in re.findall(r"^ {10}(\w+):", example, re.MULTILINE)}
        self.assertTrue(given)
        self.assertLessEqual(given, inputs)

        script = action.split("$GITHUB_ACTION_PATH/")[1].partition('"')[0]
        read = (HERE.parent / script).read_text(encoding="utf-8")
        for variable in re.findall(r"^ +(CODEWEAVER_\w+):", action, re.MULTILINE):
            self.assertIn(f"${{{variable}", read)

    def test_the_hook_for_pre_commit_fails_on_a_copy(self):
        program = self.pre_commit()
        manifest = HERE.parent / ".pre-commit-hooks.yaml"
        self.call(program, "validate-manifest", manifest)

        # The configuration of the page, with a repository that has the manifest alone.
        config = re.search(r"```yaml\n(repos:\n  - repo: https.*?)```", PAGE, re.DOTALL)[1]
        address, tag = re.search(r"repo: (\S+)\n +rev: (\S+)", config).groups()
        hooks, work = self.home / "hooks", self.home / "work"
        for repository in (hooks, work):
            self.call("git", "init", "--quiet", "--initial-branch=main", repository)
        self.commit(hooks, manifest.name, manifest.read_text(encoding="utf-8"))
        self.call("git", "tag", tag, cwd=hooks)
        (work / ".pre-commit-config.yaml").write_text(config.replace(address, str(hooks)))
        self.commit(work, "cart.py", ORIGINAL)
        self.call("git-codeweaver", "init", "--no-hooks", cwd=work)

        cache = {"PRE_COMMIT_HOME": str(self.home / "cache")}
        self.call(program, "run", cwd=work, **cache)
        (work / "order.py").write_text(COPY)
        self.call("git", "add", "order.py", cwd=work)
        self.assertIn("order_total", self.call(program, "run", cwd=work, code=1, **cache).stdout)

    def pre_commit(self):
        """The program pre-commit. Without it the test fails in CI; elsewhere it is skipped, and counted."""
        tools = os.environ.get("CODEWEAVER_TEST_HOOK_TOOLS")
        path = os.pathsep.join([*([f"{tools}/py/bin"] if tools else []), os.environ["PATH"]])
        if found := shutil.which("pre-commit", path=path):
            return found
        if os.environ.get("CI") == "true":
            self.fail("pre-commit is missing (pip install pre-commit)")
        if skips := os.environ.get("CODEWEAVER_TEST_SKIPS"):
            with open(skips, "a", encoding="utf-8") as file:
                file.write(f"skipped: {self.id()} needs pre-commit (pip install pre-commit)\n")
        self.skipTest("pre-commit is missing")

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


def section(text, name):
    """The indented lines below a key of the outermost level."""
    return re.search(rf"^{name}:\n((?:  .*\n)+)", text, re.MULTILINE)[1]


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
