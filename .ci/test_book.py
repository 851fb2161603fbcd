"""Tests of book.py: `python3 -m unittest discover --start-directory .ci`."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import book


class Book(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root, book.ROOT = book.ROOT, Path(folder.name)
        self.addCleanup(setattr, book, "ROOT", root)
        self.files = set()
        self.write("docs/SUMMARY.md", "# Summary\n\n[Read me](../README.md)\n\n- [Use](use.md)\n")
        self.write(
            "README.md", "# Name\n\nSee [use](docs/use.md#in-ci) and [code](src/main.rs).\n\n## A `b` & C\n"
        )
        self.write("docs/use.md", "# Use\n\n## In CI\n\n[Back](../README.md#a-b--c)\n")
        self.write("src/main.rs", "")
        self.write("book.toml", 'git-repository-url = "https://forge.example/name"\n')

    def write(self, path, text):
        place = book.ROOT / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        self.files.add(path)

    def problems(self):
        return book.check(self.files)[0]

    def test_nothing_is_wrong(self):
        self.assertEqual(book.check(self.files), ([], 3, 5))

    def test_links_to_nothing_are_found(self):
        self.write("docs/use.md", "# Use\n\n[a](gone.md) [b](#gone) [c](../README.md#gone) ![d](gone.svg)\n")
        self.assertEqual(
            self.problems(),
            [
                "README.md: docs/use.md has no heading #in-ci",
                "docs/use.md: there is no docs/gone.md (gone.md)",
                "docs/use.md: docs/use.md has no heading #gone",
                "docs/use.md: README.md has no heading #gone",
                "docs/use.md: there is no docs/gone.svg (gone.svg)",
            ],
        )

    def test_links_in_code_are_examples(self):
        text = "# Use\n\n## In CI\n\n```md\n[a](gone.md)\n```\n\nAs `[a](gone.md)` or https://forge.example/gone\n"
        self.write("docs/use.md", text)
        self.assertEqual(self.problems(), [])

    def test_a_page_that_is_not_in_the_book_is_found(self):
        self.write("docs/more.md", "# More\n")
        self.assertEqual(self.problems(), ["docs/SUMMARY.md: docs/more.md is not in the book"])

    def test_equal_headings_have_numbers(self):
        self.assertEqual(
            book.anchors("# A\n\n## A\n\n```\n# B\n```\n\n### [Link](x.md), too!\n"), {"a", "a-1", "link-too"}
        )

    def test_the_source_of_the_book_has_links_that_lead_somewhere(self):
        out = book.ROOT / "out"
        book.write_source(out, self.files)
        self.assertIn("- [Use](docs/use.md)", (out / "SUMMARY.md").read_text())
        self.assertIn("[Read me](README.md)", (out / "SUMMARY.md").read_text())
        readme = (out / "README.md").read_text()
        self.assertIn("[use](docs/use.md#in-ci)", readme)
        self.assertIn("[code](https://forge.example/name/blob/main/src/main.rs)", readme)

    def test_links_of_the_book_are_those_of_its_html(self):
        text = "# Use\n\n[README.md](../README.md#name) [top](..) [here](use.md#use) [all](.) [web](https://a.example)\n"
        self.write("docs/use.md", text)
        out = book.ROOT / "out"
        book.write_source(out, self.files)
        self.assertEqual(
            (out / "docs/use.md").read_text(),
            "# Use\n\n[README.md](../index.md#name) [top](../index.md) [here](#use) "
            "[all](https://forge.example/name/tree/main/docs) [web](https://a.example)\n",
        )

    def test_dead_links_of_html_are_found(self):
        out = book.ROOT / "out"
        (out / "docs").mkdir(parents=True)
        (out / "index.html").write_text(
            '<h1 id="a-b">A</h1><a href="docs/use.html#in-ci">x</a><img src="x.svg">'
        )
        (out / "docs/use.html").write_text(
            '<a href="../index.html#a-b">x</a><a href="../README.html">x</a><a href="#gone">x</a>'
            '<a href="https://forge.example/gone">x</a>'
        )
        self.assertEqual(
            book.dead_links(out),
            [
                "docs/use.html: there is no README.html (../README.html)",
                "docs/use.html: docs/use.html has no anchor #gone",
                "index.html: docs/use.html has no anchor #in-ci",
                "index.html: there is no x.svg (x.svg)",
            ],
        )

    def test_a_book_that_is_not_built_is_a_problem(self):
        problems = book.build("false", self.files)
        self.assertEqual(problems, ["mdbook: exit code 1"])


if __name__ == "__main__":
    unittest.main()
