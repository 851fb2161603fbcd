#!/usr/bin/env python3
"""Does tuning on a repository's own history help with commits that came later?

For each repository, commits are mined (`eval mine`: the message is the query, the changed files are the labels, the
parent is searched). `eval tune` learns from the older 70 %, and the newer 30 % are ranked with the built-in weights and
with the learned ones. Printed are NDCG@10 and first places of the newer part before and after, the gain with the 95 %
interval of a paired bootstrap over queries, and the guards that do not hold: with one, `eval tune` writes nothing.

    benches/tune.py --clones DIR [--program PATH] [--queries N] [NAME...]

DIR has clones with history, one directory each, or mirrors `OWNER+NAME/repo`. They are cloned into a temporary
directory and not changed.
"""

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEWER, N_SAMPLES = 0.3, 2000


def run(program, where, *arguments):
    found = subprocess.run([program, *arguments], cwd=where, capture_output=True, text=True)
    if found.returncode > 1:
        raise SystemExit(f"{where}: {' '.join(arguments)}: {found.stdout}{found.stderr}")
    return found


def measure(program, where, queries):
    """The tuning proposal, and the scores of the newer queries with the built-in and the learned weights."""
    run(program, where, "init", "--no-hooks")
    mined = run(program, where, "eval", "mine", "--limit", str(queries)).stdout.splitlines()
    cut = round(len(mined) * NEWER)  # newest first
    newer, older = where.parent / "newer.jsonl", where.parent / "older.jsonl"
    newer.write_text("\n".join(mined[:cut]))
    older.write_text("\n".join(mined[cut:]))
    tuned = json.loads(run(program, where, "eval", "tune", str(older), "--dry-run", "--json").stdout)
    weights = where.parent / "weights.json"
    weights.write_text(json.dumps(tuned["weights"]))
    evaluate = ("eval", "run", str(newer), "--json")
    reports = [run(program, where, *evaluate).stdout, run(program, where, *evaluate, "--weights", str(weights)).stdout]
    scores = [[query["scores"] for query in json.loads(report)["questions"]] for report in reports]
    return tuned, scores


def interval(groups):
    """The mean over groups of their means, with the 95 % interval of a bootstrap over groups and in each."""
    chance = random.Random(1)
    mean = lambda values: sum(values) / max(1, len(values))
    samples = []
    for _ in range(N_SAMPLES):
        drawn = groups if len(groups) == 1 else chance.choices(groups, k=len(groups))
        samples.append(mean([mean(chance.choices(group, k=len(group))) for group in drawn]))
    samples.sort()
    return mean([mean(group) for group in groups]), samples[round(0.025 * N_SAMPLES)], samples[round(0.975 * N_SAMPLES) - 1]


def row(name, scores, note):
    before, after = ([score for pair in part for score in pair] for part in zip(*scores))
    ndcg = [[new["ndcg"] - old["ndcg"] for old, new in zip(*pair)] for pair in scores]
    share = lambda part: 100 * sum(score["hit_at_1"] for score in part) / len(part)
    means = [sum(score["ndcg"] for score in part) / len(part) for part in (before, after)]
    gain, low, high = interval(ndcg)
    print(
        f"{name:24} {len(before):4} {means[0]:6.3f} {means[1]:6.3f} {gain:+7.4f} [{low:+.4f}, {high:+.4f}]"
        f" {share(before):5.1f} % {share(after):5.1f} %  {note}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--program", default=str(ROOT / "target/release/git-codeweaver"))
    parser.add_argument("--queries", type=int, default=200, help="number of mined commits of each repository")
    parser.add_argument("names", nargs="*", help="directories of --clones; all by default")
    args = parser.parse_args()
    print(f"{'':24} {'n':>4} {'before':>6} {'after':>6} {'gain':>7} {'95 % interval':18} {'first before, after':16}  guards")
    all_scores, kept = [], []
    for name in args.names or sorted(path.name for path in args.clones.iterdir() if path.is_dir()):
        source = args.clones / name
        source = source / "repo" if (source / "repo").is_dir() else source
        with tempfile.TemporaryDirectory() as folder:
            where = Path(folder, "clone")
            subprocess.run(["git", "clone", "-q", "--shared", str(source), str(where)], check=True)
            tuned, scores = measure(args.program, where, args.queries)
        failed = [guard["name"] for guard in tuned["guards"] if not guard["holds"]]
        row(name, [scores], "hold" if not failed else f"fail: {', '.join(failed)}")
        all_scores.append(scores)
        # Without weights of one's own nothing changes.
        kept.append(scores if not failed else [scores[0], scores[0]])
    if len(all_scores) > 1:
        row("all, whatever guards say", all_scores, "")
        row("all, as written", kept, "")


if __name__ == "__main__":
    main()
