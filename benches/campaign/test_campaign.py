"""The checks of the campaign notice what they are for."""

import contextlib
import io
import json
import unittest
from pathlib import Path
from types import SimpleNamespace

import concurrency
import hostile
import load
import soak
import times
import tokens
from damages import WAYS
from errors import failing_call
from run import MOST_FAILURES, Run
from work import check_answer
from world import Failure


def quiet(work, *args):
    with contextlib.redirect_stdout(io.StringIO()):
        return work(*args)


class Runs(unittest.TestCase):
    def test_the_same_seed_makes_the_same_tries(self):
        def drawn(seed):
            rng = Run("errors", seed, 1).rng
            return [(failing_call(rng, Path("none")), rng.choice(WAYS)) for _ in range(20)]

        self.assertEqual(drawn(7), drawn(7))
        self.assertNotEqual(drawn(7), drawn(8))

    def test_a_run_ends_by_count_by_time_and_by_failures(self):
        run = Run("kills", 1, 2)
        run.tried()
        self.assertTrue(run.goes_on())
        run.tried()
        self.assertFalse(run.goes_on())

        self.assertFalse(Run("kills", 1, 2, seconds=-1).goes_on())

        run = Run("kills", 1, 1000)
        for n in range(MOST_FAILURES):
            quiet(run.failed, str(n))
        self.assertFalse(run.goes_on())
        self.assertEqual(run.summary()["failures"], MOST_FAILURES)


class Checks(unittest.TestCase):
    def test_a_complete_answer_has_the_word(self):
        ends = {"status": "ok", "matches": [], "index": {}}
        check_answer(json.dumps(ends | {"matches": ["version_3"]}), "version_3")
        check_answer(json.dumps(ends | {"status": "degraded"}), "version_3")
        check_answer(json.dumps(ends | {"index": {"unchecked_files": 4}}), "version_3")
        for text in ("", json.dumps(ends), json.dumps(ends | {"matches": ["version_2"]})):
            with self.assertRaises(Failure):
                check_answer(text, "version_3")

    def test_only_an_answer_that_says_that_it_is_old_may_lack_the_word(self):
        world, args = SimpleNamespace(words=["only_0_7"]), ["search", "-o", "json", "only_0_7"]
        answer = {"status": "degraded", "matches": [], "index": {"freshness": "stale"}}
        concurrency.check(world, 0, args, (0,), 1, json.dumps(answer), "")
        concurrency.check(world, 0, args, (0,), 0, json.dumps(answer | {"matches": ["only_0_6"]}), "")
        concurrency.check(world, 0, ["graph", "definitions", "only_0_7"], (0,), 1, "", concurrency.OLD)
        for code, changed in [
            (1, {"status": "ok"}),
            (0, {"status": "ok"}),
            (1, {"index": {"freshness": "fresh"}}),
            (2, {}),
            (0, {"matches": ["only_1_7"]}),
        ]:
            with self.assertRaises(Failure, msg=changed):
                concurrency.check(world, 0, args, (0,), code, json.dumps(answer | changed), "")

    def test_hidden_characters_and_secrets_are_seen(self):
        asked = hostile.Asked(None, None, lambda: None, ("f", "s", "w"))
        asked.check_text("plain\ttext\n", "\t")
        for text in ("a\tb", "a\u202eb", "a\x9bb", "a\U000e0041b", "fn x() { open_the_vault() }", "a\nforged line"):
            with self.assertRaises(Failure, msg=repr(text)):
                asked.check_text(text)

    def test_names_are_filled_in(self):
        asked = hostile.Asked(None, None, lambda: None, ("a.rs", "parse", "word"))
        self.assertEqual(
            asked.filled({"places": ["SYMBOL", "FILE"], "line": 1}), {"places": ["parse", "a.rs"], "line": 1}
        )

    def test_slow_requests_and_memory_are_failures(self):
        run = Run("hostile", 1, 10)
        asked = hostile.Asked(run, SimpleNamespace(root="here"), lambda: None, ("f", "s", "w"))
        quiet(hostile.exceeded, asked, "the server", hostile.MEMORY + 99, 100)
        self.assertEqual(run.failures, [])
        quiet(hostile.exceeded, asked, "the server", hostile.MEMORY + 101, 100)
        self.assertEqual(len(run.failures), 1)

    def test_growth_is_seen(self):
        for grown, is_leak in [((60, 12), False), ((600, 12), True), ((60, 40), True)]:
            run = Run("soak", 1, 10)
            quiet(soak.check_growth, run, [(60, 10)] * 8 + [grown] * 4)
            self.assertEqual(bool(run.failures), is_leak, grown)

    def test_unanswered_requests_take_for_ever(self):
        times = sorted([5.0] * 97 + [float("inf")] * 3)
        self.assertEqual(load.quantile(times, 0.5), 5)
        self.assertEqual(load.quantile(times, 0.99), float("inf"))

    def test_answers_that_differ_are_failures(self):
        run = Run("tokens", 1, 10)
        world = SimpleNamespace(requests=0)
        world.answer = lambda server, path: (500 if path == "broken" else 200, server if path == "leak" else b"")
        quiet(tokens.compare, run, world, [b"with", b"without"], ["same", "leak", "broken"])
        self.assertEqual((len(run.failures), world.requests), (2, 3))

    def test_times_of_another_distribution_are_told_apart(self):
        rng = Run("times", 1, 1).rng
        one, other = ([rng.expovariate(1) for _ in range(2000)] for _ in range(2))
        self.assertFalse(times.differ(one, other))
        self.assertTrue(times.differ([time + 0.1 for time in one], other))
        self.assertFalse(times.differ([], []))

    def test_words_of_the_same_shape_are_other_words(self):
        rng = Run("times", 1, 1).rng
        words = tokens.made_up_words(rng, 200)
        others = [times.like(rng, word, set(words)) for word in words]
        self.assertFalse(set(others) & set(words))
        self.assertEqual([len(word) for word in others], [len(word) for word in words])

    def test_neighbours_are_other_words(self):
        rng = Run("tokens", 1, 1).rng
        words = tokens.made_up_words(rng, 200)
        self.assertEqual(len(set(words)), 200)
        same = [word for word in words if tokens.neighbour(rng, word) == word]
        self.assertEqual(same, [])


if __name__ == "__main__":
    unittest.main()
