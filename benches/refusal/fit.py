#!/usr/bin/env python3
"""Learns the relevance from words and vectors again, from the questions of the part that is tuned on.

    benches/refusal.py DIR --rows rows.jsonl
    benches/refusal/fit.py rows.jsonl [--prior COEFFICIENTS] > coefficients.json

Logistic regression on the evidence of the best results, both classes weighing the same, with a pull towards the
coefficients of COEFFICIENTS (default: src/query/rank/calibration.json), which were learned from other repositories.
Printed are the bias and the coefficients of `hybrid`, and on standard error the figures of every part with them.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

CALIBRATION = Path(__file__).parents[2] / "src/query/rank/calibration.json"
NAMES = ["cosine", "coverage", "absent", "inflected", "definition", "path", "words", "rows"]
PULL = 1e-3
STEPS = 12
MIN_SCORE = 0.3


def probability(unknowns, values):
    total = sum(unknown * value for unknown, value in zip(unknowns, values))
    return 1 / (1 + math.exp(-max(-50, min(50, total))))


def solve(matrix, right):
    """The x with `matrix` · x = `right`, by elimination with pivots."""
    n = len(right)
    for i in range(n):
        pivot = max(range(i, n), key=lambda row: abs(matrix[row][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        right[i], right[pivot] = right[pivot], right[i]
        for row in range(i + 1, n):
            factor = matrix[row][i] / matrix[i][i]
            for column in range(i, n):
                matrix[row][column] -= factor * matrix[i][column]
            right[row] -= factor * right[i]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (right[i] - sum(matrix[i][j] * x[j] for j in range(i + 1, n))) / matrix[i][i]
    return x


def fit(samples, prior, pull=PULL):
    """The unknowns that make `samples`, pairs of values and class, most likely, by Newton's method."""
    n_of = [sum(is_real == of for _, is_real in samples) for of in (False, True)]
    unknowns = list(prior)
    for _ in range(STEPS):
        gradient = [pull * (unknown - before) for unknown, before in zip(unknowns, prior)]
        hessian = [[pull if i == j else 0.0 for j in range(len(prior))] for i in range(len(prior))]
        for values, is_real in samples:
            weight = 0.5 / n_of[is_real]
            p = probability(unknowns, values)
            for i, value in enumerate(values):
                gradient[i] += weight * (p - is_real) * value
                for j, other in enumerate(values):
                    hessian[i][j] += weight * p * (1 - p) * value * other
        unknowns = [unknown - step for unknown, step in zip(unknowns, solve(hessian, gradient))]
    return unknowns


def values_of(row):
    return [row["evidence"].get(name, 0.0) for name in NAMES] + [1.0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--prior", type=Path, default=CALIBRATION)
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.rows.read_text().splitlines()]
    hybrid = json.loads(arguments.prior.read_text())["hybrid"]
    tuned = [(values_of(row), row["is_real"]) for row in rows if row["part"] == "tuned on" and row["evidence"]]
    unknowns = fit(tuned, [*hybrid["coefficients"], hybrid["bias"]])
    counts = defaultdict(lambda: [0, 0])
    for row in rows:
        relevance = probability(unknowns, values_of(row)) if row["evidence"] else 0.0
        kind = row["kind"] if row["is_real"] else "foreign"
        count = counts[row["part"], kind]
        count[0] += relevance < MIN_SCORE
        count[1] += 1
    for (part, kind), (refused, n) in sorted(counts.items()):
        print(f"{part:14} {kind:10} {100 * refused / n:6.2f} % of {n} refused", file=sys.stderr)
    *coefficients, bias = (round(unknown, 3) for unknown in unknowns)
    print(json.dumps({"bias": bias, "coefficients": coefficients}))


if __name__ == "__main__":
    main()
