"""Times: how long an answer to a limited token takes, does not tell whether a hidden repository has a word.

Words of a hidden repository, and neighbours of them that no repository has, are asked in random order over one
connection. The times of both must be of one distribution, by a rank-sum test for each form of request. The same test
with a token without limits must tell them apart, which shows that it can. Where hidden and shown repositories share
segments, the postings of a hidden word are still decoded: there the medians may differ by less than `TOLERATED`.
"""

import gc
import http.client
import math
import statistics
import time

from server import ask
from tokens import LIMITED, WHOLE, Catalogues
from world import Failure

SHORT, SECONDS, LONG = 60, 8, 2000
# Deviation of the rank sum from its mean, in standard deviations, from which two distributions are different. Times
# of one distribution reach it once in 16,000 comparisons.
LIMIT = 4
FORMS = [
    "api/search?q={}",
    "api/search?q={}&mode=keyword",
    "api/search?q={}&mode=symbol",
    "api/search?q={}&mode=exact",
    "api/search?q=fetch_remote+{}",
    "api/graph?symbol={}_of_vault",
]
# Difference of the medians in ms that is no failure, by catalogue.
TOLERATED = {"whole": 0, "mixed": 0.15}
# Requests that are made before any is timed, and words of which the token without limits is asked.
WARM_UP, SHOWN = 100, 200


def campaign(run):
    world = Catalogues(run.rng, run.wanted)
    pairs = [(word, like(run.rng, word, set(world.words))) for word in world.words]
    # Half of the words each where hidden repositories have segments of their own, and where they share them.
    half = len(pairs) // 2
    for name, asked in (("whole", pairs[:half]), ("mixed", pairs[half:])):
        compare(run, world, name, asked)
    if not run.failures:
        world.remove()


def compare(run, world, name, pairs):
    server = world.serve(name)
    try:
        shown = timed(run, server, WHOLE, pairs[:SHOWN])
        limited = timed(run, server, LIMITED, pairs, is_tried=True)
    finally:
        server.end()

    run.figures[f"{name} without limits"] = f"deviation {max((abs(deviation(*it)) for it in shown.values()), default=0):.1f}"
    if len(pairs) >= SHOWN and not any(differ(*times) for times in shown.values()):
        raise Failure("the times of a token without limits do not differ, so nothing is shown")
    for form, times in limited.items():
        said = told(*times)
        medians = [statistics.median(one) for one in times if one]
        if differ(*times) and abs(medians[0] - medians[1]) >= TOLERATED[name]:
            run.failed(f"{name}: {form} tells by its time: {said}")
        run.figures[f"{name}: {form}"] = said


def timed(run, server, token, pairs, is_tried=False):
    """Times in ms for the first and the second words of `pairs`, by form."""
    times = {form: ([], []) for form in FORMS}
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    headers = {"authorization": f"Bearer {token}"}
    for n in range(WARM_UP):
        ask(connection, "/" + FORMS[n % len(FORMS)].replace("{}", pairs[n % len(pairs)][n % 2]), headers)

    gc.disable()
    for pair in pairs:
        if is_tried and not run.goes_on():
            break
        requests = [(form, n) for form in FORMS for n in (0, 1)]
        for form, n in run.rng.sample(requests, len(requests)):
            path = "/" + form.replace("{}", pair[n])
            began = time.perf_counter()
            status, body = ask(connection, path, headers)
            took = time.perf_counter() - began
            if status >= 500:
                raise Failure(f"{path}: {status} {body[:500]}")
            times[form][n].append(took * 1000)
        if is_tried:
            run.tried()
    gc.enable()
    connection.close()
    return times


def like(rng, word, taken):
    """A word of the same shape with another consonant that is none of `taken`."""
    while True:
        at = 2 * rng.randrange(len(word) // 2)
        other = word[:at] + rng.choice("bdfglmprstvz") + word[at + 1 :]
        if other not in taken:
            return other


def deviation(one, other):
    """The rank sum of the times in `one` among all, as standard deviations from the mean."""
    ordered = sorted([(value, 1) for value in one] + [(value, 0) for value in other])
    rank_sum = sum(rank for rank, (_, is_one) in enumerate(ordered, 1) if is_one)
    mean = len(one) * (len(ordered) + 1) / 2
    return (rank_sum - mean) / math.sqrt(len(one) * len(other) * (len(ordered) + 1) / 12)


def differ(one, other):
    return bool(one) and abs(deviation(one, other)) >= LIMIT


def told(one, other):
    if not one:
        return "not asked"
    medians = [statistics.median(times) for times in (one, other)]
    return f"{medians[0]:.2f} and {medians[1]:.2f} ms, deviation {deviation(one, other):+.1f}"
