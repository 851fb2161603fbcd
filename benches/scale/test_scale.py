"""Tests of what needs no index: python3 -m unittest discover benches/scale"""

import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import corpus  # noqa: E402
import fit  # noqa: E402
from plot import Axis, Line, svg  # noqa: E402
from test_peers import Scratch, repository  # noqa: E402
from trees import git  # noqa: E402


class Growth(Scratch):
    def test_the_exponent_is_that_of_a_power_law(self):
        sizes = [10, 100, 5000]
        self.assertAlmostEqual(fit.exponent(sizes, [3 * size**0.5 for size in sizes]), 0.5)

    def test_a_corpus_has_whole_directories_and_is_the_same_again(self):
        files = [f"d{n}/f{m}.c" for n in range(50) for m in range(10)] + [f"big/f{m}.c" for m in range(400)]
        chosen = corpus.choose(files, 100)
        self.assertEqual(len(chosen), 100)
        self.assertEqual(chosen, corpus.choose(list(reversed(files)), 100))
        self.assertFalse(any(path.startswith("big/") for path in chosen))
        self.assertEqual(corpus.choose(files, len(files)), sorted(files))

    def test_a_corpus_shares_the_files_of_its_source(self):
        source = repository(self.root / "source", {"a/x.c": "int x;\n", "b/y.c": "int y;\n"})
        made = corpus.make(source, self.root / "made", 2)
        self.assertTrue((made / "a/x.c").samefile(source / "a/x.c"))
        self.assertEqual(git(made, "rev-parse", "HEAD^{tree}"), git(source, "rev-parse", "HEAD^{tree}"))
        self.assertEqual(
            git(made, "count-objects").split()[0], "1", "only the commit is an object of its own"
        )

    def test_decades_are_equally_long(self):
        axis = Axis([3, 2000], 0, 400)
        self.assertEqual([axis.place(value) for value, _ in axis.ticks()], [0, 100, 200, 300, 400])

    def test_lines_have_points_of_their_own(self):
        lines = [
            Line("a < b, ms", [(10, 1), (100, 2), (1000, 4)]),
            Line("c, MiB", [(100, 30)], is_dashed=True),
        ]
        root = ElementTree.fromstring(svg(lines, "rows"))
        tag = "{http://www.w3.org/2000/svg}"
        curves = list(root.iter(f"{tag}polyline"))
        self.assertEqual([len(it.get("points").split()) for it in curves], [3, 1])
        self.assertEqual([it.get("stroke-dasharray") for it in curves], [None, "5 4"])
        texts = [it.text for it in root.iter(f"{tag}text")]
        self.assertLessEqual({"a < b, ms", "c, MiB", "rows", "10", "1,000"}, set(texts))


if __name__ == "__main__":
    unittest.main()
