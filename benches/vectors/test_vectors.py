"""Tests of what needs no index: python3 -m unittest discover benches/vectors"""

import json
import unittest

import figures
from figures import EXACT, HNSW, SIGNS


def figure(rows, method, keep, ms, ef=None, recall=1.0):
    of_run = {"corpus": "c", "indexed": 20_000, "min_ms": ms, "p95_ms": ms}
    return {**of_run, "rows": rows, "method": method, "keep": keep, "ef": ef, "recall": recall, "ms": ms}


FIGURES = [
    figure(10_000, EXACT, 10, 0.1),
    figure(10_000, SIGNS, 10, 0.2, recall=0.999),
    figure(10_000, HNSW, 10, 0.3, 100, 0.9),
    figure(10_000, HNSW, 10, 0.4, 300, 0.985),
    figure(10_000, HNSW, 10, 0.5, 600, 0.99),
    figure(31_622, EXACT, 10, 1),
    figure(31_622, SIGNS, 10, 0.7, recall=0.998),
    figure(31_622, HNSW, 10, 2, 19_200, 0.984),
    figure(10_000, EXACT, 300, 0.11),
]


def read(of_run):
    return figures.read("".join(json.dumps(it) + "\n" for it in of_run))


class Figures(unittest.TestCase):
    def test_hnsw_is_drawn_with_its_least_sufficient_list_and_where_it_has_one(self):
        drawn = {it.title: it for it in figures.lines(read(FIGURES))}
        self.assertEqual(drawn["HNSW, best 10, ms"].points, [(10_000, 0.4)])
        self.assertEqual(drawn["exact scan, best 10, ms"].points, [(10_000, 0.1), (31_622, 1)])
        self.assertTrue(drawn["exact scan, best 10, ms"].is_dashed)
        self.assertFalse(drawn["exact scan, best 300, ms"].is_dashed)
        self.assertNotIn("HNSW, best 300, ms", drawn)

    def test_a_table_leaves_open_what_was_not_reached(self):
        rows = figures.table(read(FIGURES), 10).splitlines()[2:]
        self.assertEqual(rows[0], "| 10,000 | 0.10 ms | 0.20 ms | 0.999 | 0.40 ms | 0.985 | 300 |")
        self.assertEqual(rows[1], "| 31,622 | 1.0 ms | 0.70 ms | 0.998 |  |  |  |")

    def test_synthetic_rows_are_named(self):
        self.assertEqual(figures.rows_title(read(FIGURES)), "rows, synthetic beyond 20,000")
        self.assertEqual(figures.rows_title(read(FIGURES[:5])), "rows")

    def test_figures_of_two_repositories_are_refused(self):
        other = {**FIGURES[0], "corpus": "d"}
        with self.assertRaises(ValueError):
            read([*FIGURES, other])


if __name__ == "__main__":
    unittest.main()
