"""Tests of benches/peers and benches/scale without other programs: python3 -m unittest discover
benches/peers"""

import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import measure
import table
from measure import Failed, Run, Samples
from programs import ALL
from programs.program import found
from trees import Edit, Tree, append, git, is_test


def repository(directory, files):
    directory.mkdir()
    git(directory, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(directory, "add", ".")
    git(directory, "commit", "--quiet", "--message", "first")
    return directory


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)


class Processes(Scratch):
    def test_time_memory_and_output_are_those_of_the_process(self):
        grow = "x = bytearray(100 << 20); print('done')"
        result = measure.run([sys.executable, "-c", grow], self.root)
        self.assertEqual(result.output, "done\n")
        self.assertGreater(result.memory_mib, 100)
        self.assertGreater(result.seconds, 0)

    def test_an_unexpected_exit_code_is_a_failure_with_its_message(self):
        command = [sys.executable, "-c", "import sys; sys.exit('no such index')"]
        with self.assertRaises(Failed) as caught:
            measure.run(command, self.root)
        self.assertEqual(str(caught.exception), "exit code 1")
        self.assertIn("no such index", caught.exception.detail)
        self.assertEqual(measure.run(command, self.root, success=(0, 1)).output, "")

    def test_a_process_ends_at_its_limit(self):
        started = time.monotonic()
        with self.assertRaisesRegex(Failed, "not within 1 s"):
            measure.run([sys.executable, "-c", "import time; time.sleep(60)"], self.root, limit=1)
        self.assertLess(time.monotonic() - started, 30)

    def test_a_slow_measurement_is_made_once(self):
        with mock.patch.object(measure, "BUDGET", 0):
            self.assertEqual(len(measure.repeat(lambda: Run(1.0), 5).runs), 1)
            self.assertEqual(len(measure.repeat(lambda: Run(1.0), 5, warm_up=True).runs), 1)
        self.assertEqual(len(measure.repeat(lambda: Run(1.0), 5, warm_up=True).runs), 5)

    def test_the_lock_is_held_for_a_limited_time(self):
        path = self.root / "lock"
        command = ["flock", "--nonblock", path, "true"]
        with (
            mock.patch.dict(os.environ, CODEWEAVER_BENCH_LOCK=str(path)),
            mock.patch.object(measure, "QUIET", measure.Quiet()),
            mock.patch.object(measure, "HOLD", 1),
        ):
            with self.assertRaisesRegex(Failed, "exit code 1"):
                measure.repeat(lambda: measure.run(command, self.root), 1)
            measure.run(["flock", "--timeout", "30", path, "true"], self.root)
            measure.QUIET.file.close()


class Trees(Scratch):
    def test_an_edit_is_committed_to_the_clone_only(self):
        source = repository(self.root / "source", {"a.py": "x = 1\n", "b.py": "y = 2\n", "c.md": "text\n"})
        (self.root / "scratch").mkdir()
        tree = Tree(source, self.root / "scratch")
        edit = tree.edit()
        self.assertIn(f"def {edit.name}(", (tree.root / edit.path).read_text())
        self.assertEqual(git(tree.root, "status", "--porcelain"), "")
        self.assertNotIn(edit.name, (source / edit.path).read_text())
        tree.restore()
        self.assertEqual((tree.root / edit.path).read_text(), (source / edit.path).read_text())

    def test_sources_are_edited_rather_than_tests(self):
        for path in ("test/a.ts", "pkg/core-tests/src/a.kt", "src/a.test.ts", "docs/a.py", "types/a.d.ts"):
            self.assertTrue(is_test(path), path)
        for path in ("packages/vitest/src/a.ts", "src/latest/protest.py", "a.c"):
            self.assertFalse(is_test(path), path)

    def test_appending_leaves_other_links_alone(self):
        (self.root / "one").write_text("a\n")
        os.link(self.root / "one", self.root / "other")
        append(self.root / "one", "b\n")
        self.assertEqual((self.root / "one").read_text(), "a\nb\n")
        self.assertEqual((self.root / "other").read_text(), "a\n")

    def test_an_answer_that_repeats_the_question_is_not_found(self):
        edit = Edit("src/thing.py", "quokkaweaver1")
        self.assertEqual(found(Run(1.0, output="src/thing.py:3 def quokkaweaver1"), edit).seconds, 1.0)
        with self.assertRaisesRegex(Failed, "not found"):
            found(Run(1.0, output="no results for quokkaweaver1"), edit)


class Table(unittest.TestCase):
    def test_each_cell_says_what_happened(self):
        timed = Samples([Run(0.002, 0.001, 10), Run(0.003, 0.02, 30), Run(0.1, 0.03, 20)])
        rows = [
            table.Row("tree", "one", index=Samples([Run(12.0)]), cold=timed, update="exit code 2", disk=1.25),
            table.Row("tree", "two", missing="no a|b"),
        ]
        lines = table.as_markdown(rows).splitlines()
        self.assertEqual(
            lines[2],
            "| tree | one | 12.0 s (1 run) | exit code 2 | 3.0 ms (2.0–100) | – |"
            " 0.00 / – / 0.02 | 0 / 30 / – | 1.2 |",
        )
        self.assertIn("not installed: no a\\|b", lines[3])
        self.assertTrue(all(line.replace("\\|", "").count("|") == 10 for line in lines))

    def test_every_program_names_its_licence_and_source(self):
        for kind in ALL:
            self.assertTrue(kind.name and kind.licence and kind.source, kind)
        self.assertEqual(len({kind.name for kind in ALL}), len(ALL))


if __name__ == "__main__":
    unittest.main()
