#!/usr/bin/env python3
"""Learns the relevance of long queries from the evidence of messages of commits in their own and in other repositories.

    benches/reports.py --clones DIR --rows rows.jsonl
    benches/reports_fit.py rows.jsonl

Logistic regression on the half that is tuned on, both classes weighing the same, with a pull towards 0. The bias is then
set so that the share `LOST` of the repository's own reports is refused. Printed are the coefficients for
`src/query/report/relevance.rs`, and the share of own and foreign reports that each half refuses with them.
"""

import json
import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "refusal"))
import fit  # noqa: E402

HYBRID = (
    "title_cosine title_coverage text_cosine text_coverage absent_words absent_names has_names rows".split()
)
KEYWORD = [name for name in HYBRID if not name.endswith("cosine")]
LOST = 0.0025
PULL = 1e-4


def learn(rows, names):
    """The coefficients in the order of `names`, and the bias."""
    samples = [([row["evidence"][name] for name in names] + [1.0], row["is_own"]) for row in rows]
    unknowns = fit.fit(samples, [0.0] * len(samples[0][0]), PULL)
    own = sorted(logit(unknowns, values) for values, is_own in samples if is_own)
    limit = math.log(fit.MIN_SCORE / (1 - fit.MIN_SCORE))
    unknowns[-1] += limit - own[int(LOST * len(own))]
    return unknowns


def logit(unknowns, values):
    return sum(unknown * value for unknown, value in zip(unknowns, values))


def main():
    rows = [json.loads(line) for line in open(sys.argv[1])]
    tuned = [row for row in rows if row["half"] == "tuned on"]
    for title, names in (("words and vectors", HYBRID), ("words", KEYWORD)):
        unknowns = learn(tuned, names)
        print(title, {name: round(value, 2) for name, value in zip([*names, "bias"], unknowns)})
        for half in ("tuned on", "kept aside"):
            for is_own in (True, False):
                of = [row["evidence"] for row in rows if (row["half"], row["is_own"]) == (half, is_own)]
                found = [fit.probability(unknowns, [*(row[name] for name in names), 1.0]) for row in of]
                share = 100 * sum(p < fit.MIN_SCORE for p in found) / max(1, len(found))
                print(f"  {half:10} {'own' if is_own else 'foreign':7} {len(of):5}: refused {share:.2f} %")


if __name__ == "__main__":
    main()
