#!/usr/bin/env python3
"""Density: of the lines that an answer shows for a task, how many belong to the functions that mattered?

A task is the message of a commit that mends something: at least two sentences besides its title, without trailers. It
is asked at the parent of the commit, so nothing of the change is indexed. The functions that mattered are those of the
parent that the commit touched, and those of the repository that they call (edges of the call graph graded `exact` or
`unique_name`). For budgets of 2,000, 4,000 and 8,000 tokens this prints, for the half of the repositories that the
answers were tuned on and for the others:

    density     mean share of the source lines shown that belong to these functions
    pooled      the same over the lines of all answers together
    coverage    mean share of the touched functions of which at least half of the lines (or 20) are shown
    any         share of tasks of which a touched function is shown
    tokens      mean number of tokens of an answer (o200k)

    benches/density.py --clones DIR [--program PATH] [--arms bm25 find_code explore] [--half seen | aside]
    benches/density.py --clones DIR --mine --half seen --repositories OWNER+NAME … >> benches/density/commits.tsv

DIR has mirrors `OWNER+NAME/repo` or clones `OWNER+NAME`. They are cloned into a temporary directory (or `--work DIR`,
which keeps indexes and truths for the next run) and not changed. Arms are answers of the MCP server of the program,
and `bm25`, which fills the budget with the best windows of 30 lines of source files that are no tests. Tokens need
`tiktoken`; see benches/agents.py for `--ranks`.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter as Counts
from pathlib import Path

import reports
from agents import Counter, Server
from reports import FUNCTIONS, LEFT_OUT, TRAILERS, git

PINNED = Path(__file__).parent / "density" / "commits.tsv"
BUDGETS = (2000, 4000, 8000)
ARMS = {
    "find_code": lambda text, budget: {"query": text, "token_limit": budget, "explore": False},
    "explore": lambda text, budget: {"query": text, "token_limit": budget, "explore": True},
}
N_COMMITS, N_HISTORY = 16, 4000
MAX_TOUCHED = 6
WINDOW = 30
MENDS = re.compile(
    r"\b(fix(es|ed|ing)?|bugs?|crash(es|ed)?|wrong(ly)?|incorrect(ly)?|leak(s|ed)?|regression|race|deadlock"
    r"|fail|fails|failed|failure|failing|hang(s|ing)?|panic(s|ked)?|broken|breaks?|invalid(ly)?|unexpected(ly)?|missing|errors?"
    r"|overflow|corrupt(s|ed|ion)?|does(n't| not)|do(n't| not)|was(n't| not)|never|cannot|can't)\b",
    re.I,
)
SENTENCE = re.compile(r"[\w`'\")\]][.?!](\s|$)")


def is_source(path):
    return reports.is_source(path) and not re.search(r"(^|/)t/", path)


def task_of(message):
    """The text of a task, or nothing if a message is none."""
    title, *body = message.strip().split("\n")
    body = [line for line in body if not re.match(TRAILERS, line.strip(), re.I)]
    text = " ".join(body)
    n_words = len(text.split())
    is_task = len(SENTENCE.findall(text)) >= 2 and 25 <= n_words <= 400 and MENDS.search(f"{title} {text}")
    return None if not is_task or re.match(LEFT_OUT, title, re.I) else "\n".join([title, *body]).strip()


def candidates(repo):
    """The commits of a clone that are tasks by their message and the names of the files, newest first."""
    form = "--format=%x01%H%x02%B%x03"
    log = git(repo, "log", "--no-merges", "--date-order", "-n", str(N_HISTORY), form, "--name-status")
    for record in log.split("\x01")[1:]:
        head, names = record.split("\x03", 1)
        commit, message = head.split("\x02", 1)
        changes = [line.split("\t") for line in names.strip().split("\n") if "\t" in line]
        sources = [change for change in changes if is_source(change[-1])]
        if task_of(message) and 1 <= len(sources) <= 3 and any(change[0] == "M" for change in sources):
            yield commit


def spans(server, rev, path):
    """The functions of a file, each as its first and last line."""
    arguments = {"file": path, "rev": rev, "format": "json", "token_limit": 1_000_000}
    found = server.request("tools/call", {"name": "file_outline", "arguments": arguments})
    symbols = (found.get("structuredContent") or {}).get("symbols", [])
    return [tuple(symbol["span"]) for symbol in symbols if symbol["kind"] in FUNCTIONS]


def touched(repo, server, base, commit):
    """The innermost functions of the parent that the lines of a commit are in."""
    found = set()
    for path in git(repo, "diff", "--name-only", "--diff-filter=M", base, commit).split("\n"):
        if not path or not is_source(path):
            continue
        of_file = spans(server, base, path)
        diff = git(repo, "diff", "-U0", "--no-ext-diff", base, commit, "--", path)
        for start, count in re.findall(r"^@@ -(\d+)(?:,(\d+))? ", diff, re.M):
            first, n_lines = int(start), int(count or 1)
            # Lines are inserted after `first`, which may be the last line of the function before.
            last = first + max(n_lines, 1) - 1 + (n_lines == 0)
            around = [span for span in of_file if span[0] <= first and last <= span[1]]
            if around:
                found.add((path, *min(around, key=lambda span: span[1] - span[0])))
    return sorted(found)


def called(server, base, functions):
    """The functions of the repository that `functions` call."""
    found = set()
    for path, first, _ in functions:
        arguments = {"symbol": f"{path}:{first}", "direction": "callees", "rev": base}
        arguments |= {"format": "json", "token_limit": 100_000}
        answer = server.request("tools/call", {"name": "call_graph", "arguments": arguments})
        graph = answer.get("structuredContent") or {}
        nodes = {node["symbolId"]: node for node in graph.get("nodes", [])}
        for edge in graph.get("edges", []):
            node = nodes.get(edge["dstSymbolId"])
            if node and edge["grade"] in ("exact", "unique_name") and node["kind"] in FUNCTIONS:
                found.add((node["file"], *node["span"]))
    return sorted(found - set(functions))


class Windows:
    """Windows of the sources of a repository, ranked by BM25."""

    def __init__(self, repo):
        self.repo = repo
        # Of each blob, its windows: the first line, the lines, and the number of times that they have each word.
        self.blobs = {}

    def at(self, rev):
        """The windows of a revision, each with its path."""
        tree = [line.split(None, 3) for line in git(self.repo, "ls-tree", "-r", rev).split("\n") if line]
        files = [(path, oid) for _, kind, oid, path in tree if kind == "blob" and is_source(path)]
        self.read(sorted({oid for _, oid in files} - self.blobs.keys()))
        return [(path, *window) for path, oid in files for window in self.blobs[oid]]

    def read(self, oids):
        given = "".join(f"{oid}\n" for oid in oids).encode()
        batch = subprocess.run(["git", "-C", self.repo, "cat-file", "--batch"], input=given, capture_output=True).stdout
        at = 0
        for oid in oids:
            end = batch.index(b"\n", at)
            size = int(batch[at:end].split()[-1])
            lines = batch[end + 1 : end + 1 + size].decode("utf8", "replace").split("\n")
            at = end + 1 + size + 1
            parts = [(start + 1, lines[start : start + WINDOW]) for start in range(0, len(lines), WINDOW)]
            self.blobs[oid] = [(first, part, Counts(words("\n".join(part)))) for first, part in parts]

    def ranked(self, rev, query):
        windows = self.at(rev)
        mean = sum(counts.total() for *_, counts in windows) / max(1, len(windows))
        scores = Counts()
        for word in set(words(query)):
            found = [(number, counts[word]) for number, (*_, counts) in enumerate(windows) if word in counts]
            weight = math.log(1 + (len(windows) - len(found) + 0.5) / (len(found) + 0.5))
            for number, n in found:
                length = 0.25 + 0.75 * windows[number][3].total() / mean
                scores[number] += weight * n * 2.2 / (n + 1.2 * length)
        return [windows[number] for number, _ in sorted(scores.items(), key=lambda one: (-one[1], one[0]))]

    def answers(self, rev, query, budgets, count):
        """For each budget, the best windows, as many as fit."""
        found = {budget: "" for budget in budgets}
        used, full = 0, set()
        for path, first, lines, _ in self.ranked(rev, query):
            window = f"{path}:{first}-{first + len(lines) - 1}\n"
            window += "".join(f"{first + n}\t{line}\n" for n, line in enumerate(lines))
            used += count(window)
            full |= {budget for budget in budgets if used > budget}
            if len(full) == len(budgets):
                break
            for budget in set(budgets) - full:
                found[budget] += window
        return found


def words(text):
    """Identifiers and their parts, in lower case."""
    for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text):
        parts = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", word)]
        yield from parts
        if len(parts) > 1:
            yield word.lower()


def shown(answer):
    """The lines of files that an answer shows with their numbers."""
    found, path = set(), None
    for line in answer.split("\n"):
        if head := re.match(r"(\S.*?):\d+(-\d+)?\b", line):
            path = head[1]
        elif (number := re.match(r"(\d+)\t(.*)", line)) and path and number[2].strip():
            found.add((path, int(number[1])))
    return found


def measure(task, answer, n_tokens):
    lines = shown(answer)
    of_functions = task["touched"] + task["called"]
    relevant = {(path, number) for path, first, last in of_functions for number in range(first, last + 1)}
    seen = 0
    for path, first, last in task["touched"]:
        n_shown = sum(first <= number <= last for of, number in lines if of == path)
        seen += n_shown >= min(20, (last - first + 2) / 2)
    return {
        "lines": len(lines),
        "relevant": len(lines & relevant),
        "coverage": seen / len(task["touched"]),
        "tokens": n_tokens,
    }


def figures(rows):
    n = max(1, len(rows))
    density = sum(row["relevant"] / row["lines"] for row in rows if row["lines"]) / n
    pooled = sum(row["relevant"] for row in rows) / max(1, sum(row["lines"] for row in rows))
    coverage = sum(row["coverage"] for row in rows) / n
    is_any = sum(row["coverage"] > 0 for row in rows) / n
    n_lines, n_tokens = (sum(row[name] for row in rows) / n for name in ("lines", "tokens"))
    return (
        f"density {100 * density:5.1f} %  pooled {100 * pooled:5.1f} %  coverage {100 * coverage:5.1f} %  "
        f"any {100 * is_any:5.1f} %  lines {n_lines:5.0f}  tokens {n_tokens:5.0f}"
    )


def clone(source, work, name, program):
    repo = work / name
    if not repo.exists():
        mirror = source / name
        mirror = mirror / "repo" if (mirror / "repo").is_dir() else mirror
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", mirror, repo], check=True)
    subprocess.run([program, "init", "--no-hooks"], cwd=repo, capture_output=True, check=True)
    return repo


def mine(args, work):
    for path in sorted(args.clones.iterdir(), key=lambda path: path.name.lower()):
        if args.repositories and path.name not in args.repositories:
            continue
        repo = clone(args.clones, work, path.name, args.program)
        server, n = Server(args.program, repo), 0
        for commit in candidates(repo):
            truth = truth_of(repo, commit, args.program, server)
            if 1 <= len(truth["touched"]) <= MAX_TOUCHED:
                print(f"{args.half[0]}\t{path.name}\t{commit}", flush=True)
                n += 1
            if n == N_COMMITS:
                break
        server.close()


def truth_of(repo, commit, program, server):
    """A task with the functions that mattered. It is kept in the clone."""
    kept = repo / ".git" / "density" / commit
    if kept.exists():
        return json.loads(kept.read_text())
    base = git(repo, "rev-parse", f"{commit}^").strip()
    subprocess.run([program, "index", "-q", base], cwd=repo, check=True)
    functions = touched(repo, server, base, commit)
    reached = called(server, base, functions) if len(functions) <= MAX_TOUCHED else []
    task = {"base": base, "touched": functions, "called": reached}
    task["text"] = task_of(git(repo, "log", "-1", "--format=%B", commit))
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(task))
    return json.loads(kept.read_text())


def ask(server, arm, task, budget):
    arguments = ARMS[arm](task["text"], budget) | {"rev": task["base"]}
    answer = server.request("tools/call", {"name": "find_code", "arguments": arguments})
    if answer.get("isError") or "error" in answer:
        sys.exit(f"{arm}: {answer}")
    return "\n".join(part.get("text", "") for part in answer.get("content", []))


def run(args, work):
    count = Counter(args.ranks)
    pinned = [line.split("\t") for line in args.commits.read_text().splitlines()]
    half_of = {name: half for half, name, _ in pinned if half in args.half}
    rows = {}
    for name in half_of:
        repo = clone(args.clones, work, name, args.program)
        server, windows = Server(args.program, repo), Windows(repo)
        for commit in [commit for _, of, commit in pinned if of == name]:
            task = truth_of(repo, commit, args.program, server)
            for arm in args.arms:
                if arm == "bm25":
                    answers = windows.answers(task["base"], task["text"], args.budgets, count)
                else:
                    answers = {budget: ask(server, arm, task, budget) for budget in args.budgets}
                for budget, answer in answers.items():
                    row = measure(task, answer, count(answer))
                    rows.setdefault((half_of[name], budget, arm), []).append(row)
                    if args.show:
                        print(f"===== {name} {commit} {arm} {budget}: {row}\n{task['touched']}\n{answer}")
        server.close()
        print(f"{name} done", file=sys.stderr, flush=True)
    for (half, budget, arm), found in sorted(rows.items()):
        print(f"{half:5} {budget:5} {arm:9} {len(found):3} tasks  {figures(found)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--program", default="git-codeweaver")
    parser.add_argument("--work", type=Path, help="directory that keeps clones, indexes and truths")
    parser.add_argument("--mine", action="store_true", help="print the list of commits")
    parser.add_argument("--repositories", nargs="+", help="with --mine: OWNER+NAME, instead of all in --clones")
    parser.add_argument("--commits", type=Path, default=PINNED)
    parser.add_argument("--arms", nargs="+", choices=("bm25", *ARMS), default=["bm25", *ARMS])
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--half", nargs="+", choices=("seen", "aside"), default=["seen", "aside"])
    parser.add_argument("--ranks", default=os.environ.get("CODEWEAVER_BENCH_O200K"), help="table of o200k")
    parser.add_argument("--show", action="store_true", help="print every answer")
    args = parser.parse_args()
    args.clones = args.clones.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        work = (args.work or Path(scratch)).resolve()
        mine(args, work) if args.mine else run(args, work)


if __name__ == "__main__":
    main()
