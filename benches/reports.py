#!/usr/bin/env python3
"""Long queries: do commit messages of several lines find the files that the commits changed?

For each repository up to 40 commits, newest first, whose message has at least three lines and 20 words besides its
first line and trailers, and which change one to three source files. They are searched at the parent of the oldest of
at most eight neighbouring commits within 150 days, so nothing of the change is indexed. Printed: the title alone and
the whole message, for every second repository by name (which the weights were tuned on) and for the others. With
`--noise`, messages are made like issue reports: half of their lines, with a template, versions and fifteen lines of a
test of the same repository as a code block.

With `--rows FILE`, each message is also asked, as it is and with noise, of its own repository and of another one of the
same half, to which it is foreign; printed is how many of both are refused at the default `search.min_score`, and FILE
gets the evidence of each for `reports_fit.py`.

    benches/reports.py --clones DIR [--program PATH] [--noise | --rows FILE]

DIR has clones with history, one directory each, or mirrors `OWNER+NAME/repo`. They are cloned into a temporary
directory and not changed.
"""

import argparse
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path

SOURCES = r"\.(py|rs|go|java|kts?|scala|[mc]?js|tsx?|jsx|h|c|cc|cpp|cxx|hpp|cs|rb|php|exs?|lua|swift|zig|hs)$"
OTHERS = (
    r"(^|/)(tests?|testing|specs?|__tests__|testdata|fixtures?|e2e|examples?|docs?|bench(mark)?(es|s)?|site|website"
    r"|commonTest|jvmTest|[a-zA-Z]*Tests?)/|(^|/)(test_[^/]*|conftest|setup|conf)\.py$|[._-](tests?|specs?)\.[a-z]+$"
    r"|Tests?\.(java|kt|cs|swift|scala|php)$|Suite\.scala$|_test\.go$|build\.gradle\.kts|version\.(py|go|rb)$"
)
TRAILERS = (
    r"(signed-off-by|co-authored-by|co-committed-by|reviewed-by|acked-by|change-id|cherry|closes?:?\s|fix(es)?:?\s+#"
    r"|refs?:?\s|pr-url|\(cherry|bug:|reported-by|assisted-by|ref:|tested-by|authored-by|co-developed)"
)
LEFT_OUT = (
    r"(merge|revert|release|prepare|bump|update dependenc|chore\(deps|\[?pre-commit|version|v?\d+\.\d|update changelog"
    r"|build\(deps|ci[:(]|docs?[:(]|tests?[:(]|changelog|copyright|tidy|style|typo|fmt\b|spelling|format|javadoc|refactor)"
)
FUNCTIONS = {"function", "method", "constructor", "macro", "test"}
N_COMMITS, N_GROUP, GROUP_SECONDS = 40, 8, 150 * 86400
MIN_SCORE = 0.3
TEMPLATE = """{title}

### Describe the bug
<!-- A clear and concise description of what the bug is. -->
{body}

### To Reproduce
```
{code}
```

### Expected behavior
It should work as documented, without an error.

### Environment
- OS: Ubuntu 22.04
- Version: 3.2.1

- [x] I agree to follow the code of conduct
"""


def git(repo, *args):
    # Without `check`: the history of a partial mirror ends somewhere.
    run = subprocess.run(["git", "-C", repo, *args], capture_output=True)
    return run.stdout.decode("utf8", "replace")


def is_source(path):
    return re.search(SOURCES, path) and not re.search(OTHERS, path, re.I)


def commits(repo):
    """The commits of a clone that are questions, newest first."""
    log = git(repo, "log", "--no-merges", "--date-order", "-n", "6000", "--format=%x01%H %P%x02%ct%x02%B%x03", "--name-status")
    found = []
    for record in log.split("\x01")[1:]:
        head, names = record.split("\x03", 1)
        commits, seconds, message = head.split("\x02", 2)
        commit, *parents = commits.split()
        title, *body = message.strip().split("\n")
        body = [line for line in body if not re.match(TRAILERS, line.strip(), re.I)]
        lines = [line for line in body if line.strip()]
        n_words = sum(len(line.split()) for line in lines)
        n_items = sum(line.lstrip().startswith(("* ", "- ")) for line in lines)
        is_list = n_items > 0.6 * len(lines) and n_words < 8 * len(lines)
        if not parents or re.match(LEFT_OUT, title, re.I) or len(lines) < 3 or n_words < 20 or is_list:
            continue
        changes = [line.split("\t") for line in names.strip().split("\n") if "\t" in line]
        sources = [change for change in changes if is_source(change[-1])]
        files = [change[1] for change in sources if change[0] == "M"]
        if 1 <= len(files) and len(sources) <= 3:
            text = "\n".join([title, *body]).strip()
            found.append(
                {"id": commit, "title": title, "text": text, "files": files, "seconds": int(seconds), "base": parents[0]}
            )
        if len(found) == N_COMMITS:
            break
    return found


def grouped(found):
    """Neighbouring commits, which are searched at the parent of the oldest."""
    groups = []
    for commit in found:
        if groups and len(groups[-1]) < N_GROUP and groups[-1][0]["seconds"] - commit["seconds"] < GROUP_SECONDS:
            groups[-1].append(commit)
        else:
            groups.append([commit])
    return groups


def noisy(repo, commit, rng):
    """The text of a commit as an issue report."""
    tree = git(repo, "ls-tree", "-r", "--name-only", commit["base"]).split("\n")
    tests = [path for path in tree if re.search(SOURCES, path) and re.search(OTHERS, path, re.I)]
    code = git(repo, "show", f"{commit['base']}:{rng.choice(tests)}").split("\n") if tests else []
    start = rng.randrange(max(1, len(code) - 15))
    body = commit["text"].split("\n")[1:]
    body = "\n".join(body[: max(3, len(body) // 2)])
    return TEMPLATE.format(title=commit["title"], body=body, code="\n".join(code[start : start + 15]))


def outline(program, repo, rev, path):
    run = subprocess.run([program, "outline", "--rev", rev, "-o", "json", path], cwd=repo, capture_output=True)
    return json.loads(run.stdout)["symbols"] if run.returncode == 0 else []


def functions(program, repo, commit, base, files):
    """The functions that a commit changed and that exist at `base`, each as a file and a qualified name."""
    found = set()
    for path in files:
        there = {symbol["qualified_name"] for symbol in outline(program, repo, base, path)}
        before = [symbol for symbol in outline(program, repo, commit["base"], path) if symbol["kind"] in FUNCTIONS]
        diff = git(repo, "diff", "-U0", "--no-ext-diff", commit["base"], commit["id"], "--", path)
        for start, count in re.findall(r"^@@ -(\d+)(?:,(\d+))? ", diff, re.M):
            first, n_lines = int(start), int(count or 1)
            last = first + max(n_lines, 1) - 1
            around = [symbol for symbol in before if symbol["span"][0] <= first and last <= symbol["span"][1]]
            inner = min(around, key=lambda symbol: symbol["span"][1] - symbol["span"][0], default=None)
            if inner and inner["qualified_name"] in there:
                found.add((path, inner["qualified_name"]))
    return found if len(found) <= 4 else set()


def rank(program, repo, base, query, files, changed):
    """The place of the first of `files` among ten, 0 if there is none. If it is the first and functions are `changed`,
    also whether one of them is shown, and whether one is shown or named."""
    args = [program, "search", "--rev", base, "-o", "json", "--locations", "-l", "10", "-"]
    run = subprocess.run(args, cwd=repo, input=query.encode(), capture_output=True)
    for place, found in enumerate(json.loads(run.stdout)["matches"], 1):
        path = found["file"]["path"]
        if not {path, *found.get("also_at", [])}.isdisjoint(files):
            if place > 1 or not any(of == path for of, _ in changed):
                return place, None
            shown = found["focus"].get("symbol", "")
            named = [shown, *(more.get("symbol", "") for more in found["more_in_file"])]
            return place, ((path, shown) in changed, any((path, name) in changed for name in named))
    return 0, None


def evidence(program, repo, base, query):
    """The relevance of the best match and what it follows from; nothing if the query is not a report or has no match."""
    args = [program, "search", "--rev", base, "-o", "json", "--locations", "-l", "1", "--min-score", "0", "--explain", "-"]
    run = subprocess.run(args, cwd=repo, input=query.encode(), capture_output=True, check=True)
    for found in json.loads(run.stdout)["matches"]:
        if report := found["explanation"].get("report"):
            return found["relevance_score"], report
    return None


def ask_others(program, scratch, questions, rng):
    """The evidence of each question in its own repository and in another of the same half, as it is and with noise."""
    for question in questions:
        others = [other for other in questions if other["half"] == question["half"] and other["repo"] != question["repo"]]
        for is_own, asked in ((True, question), (False, rng.choice(others) if others else None)):
            for form in ("text", "noisy"):
                if asked and (found := evidence(program, f"{scratch}/{asked['repo']}", asked["base"], question[form])):
                    yield {"half": question["half"], "is_own": is_own, "relevance": found[0], "evidence": found[1]}


def refused(rows):
    for half in ("tuned on", "kept aside"):
        for is_own in (True, False):
            of = [row["relevance"] for row in rows if (row["half"], row["is_own"]) == (half, is_own)]
            share = 100 * sum(relevance < MIN_SCORE for relevance in of) / max(1, len(of))
            print(f"{half:10} {'own' if is_own else 'foreign':7} {len(of):5} reports: refused {share:.2f} %")


def figures(found):
    ranks = [place for place, _ in found]
    hits = [100 * sum(0 < place <= k for place in ranks) / len(ranks) for k in (1, 5, 10)]
    mrr = sum(1 / place for place in ranks if place) / len(ranks)
    focused = [focus for _, focus in found if focus]
    shown, named = (100 * sum(focus[i] for focus in focused) / max(1, len(focused)) for i in (0, 1))
    return (
        f"{len(ranks):5} queries: first {hits[0]:.1f} %, five {hits[1]:.1f} %, ten {hits[2]:.1f} %, MRR {mrr:.3f}\n"
        f"{len(focused):22} functions: shown {shown:.1f} %, shown or named {named:.1f} %"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--program", default="git-codeweaver")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--noise", action="store_true")
    forms.add_argument("--rows", type=Path)
    args = parser.parse_args()
    clones = sorted((path for path in args.clones.iterdir() if path.is_dir()), key=lambda path: path.name.lower())
    ranks = {(half, form): [] for half in ("tuned on", "kept aside") for form in ("title", "whole")}
    rng = random.Random(7)
    questions = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, clone in enumerate(clones):
            half = "kept aside" if number % 2 else "tuned on"
            source = clone / "repo" if (clone / "repo").is_dir() else clone
            repo = f"{scratch}/{clone.name}"
            subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", source, repo], check=True)
            subprocess.run([args.program, "init", "--no-hooks"], cwd=repo, capture_output=True, check=True)
            for group in grouped(commits(repo)):
                base = group[-1]["base"]
                subprocess.run([args.program, "index", "-q", base], cwd=repo, check=True)
                tree = set(git(repo, "ls-tree", "-r", "--name-only", base).split("\n"))
                for commit in group:
                    files = tree.intersection(commit["files"])
                    if files and args.rows:
                        text = noisy(repo, {**commit, "base": base}, rng)
                        question = {"half": half, "repo": clone.name, "base": base, "text": commit["text"]}
                        questions.append({**question, "noisy": text})
                    elif files:
                        text = noisy(repo, {**commit, "base": base}, rng) if args.noise else commit["text"]
                        changed = functions(args.program, repo, commit, base, files)
                        for form, query in (("title", commit["title"]), ("whole", text)):
                            ranks[half, form].append(rank(args.program, repo, base, query, files, changed))
        if args.rows:
            rows = list(ask_others(args.program, scratch, questions, rng))
            args.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
            refused(rows)
    for (half, form), places in ranks.items():
        if places:
            print(f"{half:10} {form:5} {figures(places)}")


if __name__ == "__main__":
    main()
