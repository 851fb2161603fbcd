#!/usr/bin/env python3
"""Measures how well questions that a repository does not answer are refused.

    benches/refusal/fetch.sh DIR
    benches/refusal.py DIR --binary target/release/git-codeweaver

DIR holds the repositories of benches/refusal/real.txt, each a git repository under its name. Real are the queries
written for a repository. Foreign to it are those of benches/refusal/foreign.txt, and those written for other
repositories, as far as their distinctive words are in none of its files. Reported are the share of foreign queries
that are refused and of real ones that are lost, and how often queries were answered by the relevance that was stated.
benches/refusal/README.md tells how the queries were made.
"""

import argparse
import bisect
import json
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

DATA = Path(__file__).parent / "refusal"
MIN_SCORE = 0.3
FOREIGN_PER_REPOSITORY = 80
OTHERS_PER_REPOSITORY = 40
# A word of another repository's query is distinctive if at most this share of the repositories has it.
DISTINCTIVE = 0.25
SIZES = [(30, "up to 30 files"), (150, "31 to 150"), (500, "151 to 500"), (10**9, "over 500")]
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
TOKEN = re.compile(r"[A-Za-z0-9]+")
HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def git(directory, *arguments):
    run = subprocess.run(["git", "-C", directory, *arguments], capture_output=True, check=False)
    return run.stdout.decode(errors="replace")


def sections(path):
    """The lines of each section of `path`; a section begins with `= NAME`."""
    found, name = defaultdict(list), None
    for line in path.read_text().splitlines():
        if line.startswith("= "):
            name = line[2:].strip()
        elif line.strip() and not line.startswith("#"):
            found[name].append(line.strip())
    return found


def stem(word):
    """The beginning that forms of a word share."""
    word = word.lower()
    return word[: max(4, len(word) - 3)] if len(word) > 5 else word


class Repository:
    """A clone and the words of its files and paths."""

    def __init__(self, directory):
        self.name = directory.name
        self.directory = directory
        paths = git(directory, "ls-files", "-z").split("\0")[:-1]
        tokens = set(TOKEN.findall("\n".join(paths)))
        for path in paths:
            file = directory / path
            if file.is_file() and not file.is_symlink():
                tokens.update(TOKEN.findall(file.read_bytes().decode(errors="replace")))
        words = {token.lower() for token in tokens}
        words.update(part.lower() for token in tokens for part in HUMP.findall(token))
        self.words = sorted(words)

    def has(self, word):
        """Whether a word, or a part of a name, begins with `word`, in any case."""
        parts = [part.lower() for part in TOKEN.findall(word)]
        return all(self.has_token(part) for part in parts)

    def has_token(self, token):
        at = bisect.bisect_left(self.words, token)
        return at < len(self.words) and self.words[at].startswith(token)


def mark(query):
    """A query without its asterisks, and the words between them."""
    words = [stem(word) for part in re.findall(r"\*([^*]+)\*", query) for word in WORD.findall(part)]
    return query.replace("*", ""), words


def misspelt(query, chance):
    """`query` with a typing error within its longest word, if that has seven letters."""
    word = max(WORD.findall(query), key=len)
    if len(word) < 7:
        return None
    at = chance.randrange(2, len(word) - 2)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    forms = [swapped, swapped, word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    other = chance.choice(forms)
    return query.replace(word, other) if other != word else None


def questions(repositories):
    """Each question as repository, query, kind and whether it is real."""
    present = {repository.name for repository in repositories}
    real = {name.split(":")[0]: lines for name, lines in sections(DATA / "real.txt").items()}
    real = {name: lines for name, lines in real.items() if name in present}
    foreign = [(kind, *mark(line)) for kind, lines in sections(DATA / "foreign.txt").items() for line in lines]
    share = defaultdict(int)
    for word in {stem(word) for lines in real.values() for line in lines for word in WORD.findall(line)}:
        share[word] = sum(repository.has(word) for repository in repositories) / len(repositories)
    for repository in repositories:
        chance = random.Random(repository.name)
        for query in real[repository.name]:
            yield repository, query, "real", True
        for query in real[repository.name]:
            if chance.random() < 0.25 and (other := misspelt(query, chance)):
                yield repository, other, "misspelt", True
        fitting = [it for it in foreign if it[2] and not any(map(repository.has, it[2]))]
        for kind, query, _ in chance.sample(fitting, min(FOREIGN_PER_REPOSITORY, len(fitting))):
            yield repository, query, kind, False
        others = []
        for name, lines in real.items():
            for line in lines if name != repository.name else []:
                rare = [w for w in map(stem, WORD.findall(line)) if share[w] <= DISTINCTIVE]
                if rare and not any(map(repository.has, rare)):
                    others.append(line)
        for query in chance.sample(others, min(OTHERS_PER_REPOSITORY, len(others))):
            yield repository, query, "of other repositories", False


def ask(binary, directory, query, options):
    """The answer to `query`, whatever its relevance."""
    command = [binary, "search", "--json", "--min-score", "0", "--limit", "1", *options, "--", query]
    run = subprocess.run(command, cwd=directory, capture_output=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{directory.name}: {query}: {run.stderr.decode(errors='replace')}")
    return json.loads(run.stdout)


def share(rows, is_counted):
    return 100 * sum(map(is_counted, rows)) / max(1, len(rows))


def table(title, groups):
    """Figures of each group of rows."""
    print(f"\n{title:28} {'repositories':>12} {'real':>6} {'lost':>8} {'foreign':>8} {'refused':>8}")
    for name, rows in groups:
        real = [row for row in rows if row["is_real"]]
        foreign = [row for row in rows if not row["is_real"]]
        lost = f"{share(real, is_refused):6.2f} %" if real else "–"
        refused = f"{share(foreign, is_refused):6.2f} %" if foreign else "–"
        n = len({row["repository"] for row in rows})
        print(f"{name:28} {n:12} {len(real):6} {lost:>8} {len(foreign):8} {refused:>8}")


def is_refused(row):
    return row["relevance"] < MIN_SCORE


def grouped(rows, key):
    groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def reliability(rows, bins=10):
    """How often queries were answered by the relevance that was stated; real and foreign ones weigh the same."""
    print("\nrelevance stated, answered, queries")
    n = [sum(row["is_real"] == is_real for row in rows) for is_real in (False, True)]
    for i in range(bins):
        inside = [row for row in rows if min(bins - 1, int(row["relevance"] * bins)) == i]
        weight = sum(1 / n[row["is_real"]] for row in inside) or 1
        stated = sum(row["relevance"] / n[row["is_real"]] for row in inside) / weight
        answered = sum(1 / n[1] for row in inside if row["is_real"]) / weight
        print(f"{stated:6.3f} {answered:6.3f} {len(inside):6}  {'#' * round(40 * answered)}")


def size_of(row):
    return next(name for limit, name in SIZES if row["files"] <= limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--binary", default="target/release/git-codeweaver")
    parser.add_argument("--rows", type=Path, help="write each question with its relevance to this file")
    parser.add_argument("--mode", default="hybrid", help="hybrid (default), keyword or semantic")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    parts = dict(name.split(": ") for name in sections(DATA / "real.txt"))
    names = sorted(parts, key=str.lower)
    missing = [name for name in names if not (arguments.repositories / name / ".git").exists()]
    if missing:
        print(f"left out, not in {arguments.repositories}: {', '.join(missing)}", file=sys.stderr)
    names = [name for name in names if name not in missing]
    if not names:
        sys.exit("make the repositories with benches/refusal/fetch.sh")
    repositories = [Repository(arguments.repositories / name) for name in names]
    for repository in repositories:
        subprocess.run([binary, "index"], cwd=repository.directory, check=True, capture_output=True)
    rows = []
    for repository, query, kind, is_real in questions(repositories):
        options = ["--mode", arguments.mode, "--explain"]
        answer = ask(binary, repository.directory, query, options)
        best = answer["matches"][0] if answer["matches"] else None
        rows.append({
            "repository": repository.name,
            "part": parts[repository.name],
            "language": best and best["file"]["language"],
            "files": answer["index"]["files"],
            "query": query,
            "kind": kind,
            "is_real": is_real,
            "relevance": best["relevance_score"] if best else 0.0,
            "evidence": best and best.get("evidence"),
            "best": best and best["file"]["path"],
            "absent": answer.get("absent_words", []),
        })
    if arguments.rows:
        arguments.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
    languages = {name: repository_language(arguments.repositories / name) for name in names}
    for part in ["tuned on", "kept aside", "written later"]:
        of_part = [row for row in rows if row["part"] == part]
        table(part, [("all", of_part)])
        table("kind", grouped(of_part, lambda row: row["kind"]))
        order = [name for _, name in SIZES]
        table("size", sorted(grouped(of_part, size_of), key=lambda group: order.index(group[0])))
        table("language", sorted(grouped(of_part, lambda row: languages[row["repository"]])))
        reliability(of_part)


def repository_language(directory):
    """The language that most source files are written in, by their endings."""
    known = {
        "c": "c", "h": "c", "cc": "c++", "cpp": "c++", "hpp": "c++", "cs": "c#", "ex": "elixir", "go": "go",
        "hs": "haskell", "java": "java", "js": "javascript", "kt": "kotlin", "lua": "lua", "php": "php", "pm": "perl",
        "py": "python", "rb": "ruby", "rs": "rust", "scala": "scala", "swift": "swift", "ts": "typescript",
    }
    counts = defaultdict(int)
    for path in git(directory, "ls-files").splitlines():
        counts[known.get(path.rsplit(".", 1)[-1], "")] += 1
    counts.pop("", None)
    return max(counts, key=counts.get, default="shell")


if __name__ == "__main__":
    main()
