#!/usr/bin/env python3
"""Cuts repositories of 20 files from the clones of a suite, with the queries that they still answer.

    python3 training/small_repositories.py SUITE CLONES OUT

OUT/clones/NAME is a git repository: the labelled files of up to 8 queries of the suite, and other files of the
same languages, chosen at random (seeded). OUT/suite is the suite of those queries. For
`codeweaver-train calibrate`, since relevance must also hold in small repositories.
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys

FILES = 20
MAX_LABELLED_FILES = 16
QUERIES = 8
MAX_BYTES = 200_000


def git(directory, *arguments):
    """Runs git in `directory`; returns what it prints."""
    identity = ["-c", "user.name=small", "-c", "user.email=small@localhost"]
    run = subprocess.run(["git", *identity, *arguments], cwd=directory, capture_output=True, text=True, check=True)
    return run.stdout


def tracked_files(clone):
    """Paths of the readable, tracked files of `clone` below MAX_BYTES."""
    paths = git(clone, "ls-files", "-z").split("\0")
    return [path for path in paths if (clone / path).is_file() and (clone / path).stat().st_size < MAX_BYTES]


def labelled_paths(query):
    """Paths that `query` is answered by."""
    return [label if isinstance(label, str) else label["path"] for label in query["relevant"]]


def choose(queries, paths, chance):
    """A few of `queries`, and FILES of `paths` that include their labelled files."""
    answered = [query for query in queries if all(path in paths for path in labelled_paths(query))]
    chance.shuffle(answered)
    chosen, kept = [], {}
    for query in answered[:QUERIES]:
        more = {**kept, **dict.fromkeys(labelled_paths(query))}
        if len(more) <= MAX_LABELLED_FILES:
            chosen.append(query)
            kept = more
    suffixes = {pathlib.PurePath(path).suffix for path in kept}
    others = [path for path in paths if pathlib.PurePath(path).suffix in suffixes and path not in kept]
    chance.shuffle(others)
    return chosen, [*kept, *others[: max(0, FILES - len(kept))]]


def copy(clone, paths, target):
    """Makes a repository of one commit in `target`; returns the commit."""
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(clone / path, target / path)
    git(target, "init", "-q")
    git(target, "add", "--all", "--force")
    git(target, "commit", "-qm", "Cut")
    return git(target, "rev-parse", "HEAD").strip()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    suite, clones, out = (pathlib.Path(argument) for argument in sys.argv[1:])
    chance = random.Random(7)
    (out / "suite/annotations").mkdir(parents=True)
    repositories = []
    for listed in json.loads(next(suite.glob("repos*.json")).read_text()):
        name = listed["name"]
        queries = json.loads((suite / f"annotations/{name}.json").read_text())
        chosen, paths = choose(queries, tracked_files(clones / name), chance)
        if not chosen:
            print(f"{name}: no query names its files from the root; left out", file=sys.stderr)
            continue
        revision = copy(clones / name, paths, out / "clones" / name)
        repositories.append({**listed, "revision": revision, "benchmark_root": None})
        (out / f"suite/annotations/{name}.json").write_text(json.dumps(chosen, indent=1))
    (out / "suite/repos.json").write_text(json.dumps(repositories, indent=1))


if __name__ == "__main__":
    main()
