#!/usr/bin/env python3
"""Questions about one function: is it the definition that the best match shows?

benches/functions/questions.tsv has questions as a developer asks them, each with the repository at a commit, the file
and the qualified name of the function that answers; equally right ones are separated by `|`. They were written
from the code of the functions, without their names where the language has other words. Half of them, by hash, are kept
aside: the choice of the function was changed with the other half in view only.

    benches/functions.py --clones DIR [--program PATH] [--half seen|aside] [--show]

DIR has clones under the last part of the repository's name, or mirrors `OWNER+NAME/repo`. Each is cloned into a
temporary directory and indexed at the commit. Printed for each half: how often the file is first, how often the best
match shows the function, and how often it shows or names it (`more_in_file`); of all questions, and of those whose
file is first. `--show` lists the questions that are answered with another function; it refuses the half kept aside.
"""

import argparse
import csv
import hashlib
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

QUESTIONS = Path(__file__).parent / "functions" / "questions.tsv"


def half_of(question):
    """The half that a question is in, which depends on its own text alone."""
    text = f"{question['repository']}\t{question['question']}"
    return "aside" if hashlib.sha256(text.encode()).digest()[0] % 2 else "seen"


def questions():
    with QUESTIONS.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def source_of(clones, repository):
    owner, name = repository.split("/")
    for source in (clones / name, clones / f"{owner}+{name}" / "repo"):
        if source.is_dir():
            return source
    raise SystemExit(f"{clones} has no clone of {repository}")


def ask(program, directory, question):
    """The matches of a question, best first."""
    args = [program, "search", "--rev", question["commit"], "-o", "json", "--locations", "-l", "10", "--min-score", "0"]
    run = subprocess.run([*args, "--", question["question"]], cwd=directory, capture_output=True)
    if run.returncode > 1:  # 1: no match
        raise SystemExit(f"{question['question']}: {run.stderr.decode()}")
    return json.loads(run.stdout)["matches"]


def judge(question, matches):
    """Whether the file is first, whether the function is shown first, and whether it is shown or named first."""
    if not matches:
        return (False, False, False)
    first = matches[0]
    right = question["function"].split("|")
    paths = {first["file"]["path"], *first.get("also_at", [])}
    is_file = not paths.isdisjoint(question["path"].split("|"))
    shown = first["focus"].get("symbol", "")
    named = [shown, *(more.get("symbol", "") for more in first["more_in_file"])]
    return (is_file, is_file and shown in right, is_file and any(name in right for name in named))


def row(label, judged):
    n, n_file, n_shown, n_named = len(judged), *(sum(one[i] for one in judged) for i in range(3))

    def of(part, whole):
        return f"{100 * part / max(1, whole):5.1f} %"

    return (
        f"{label:12} {n:4} questions: file first {of(n_file, n)}, function shown {of(n_shown, n)}, "
        f"shown or named {of(n_named, n)}; in the right file shown {of(n_shown, n_file)}, or named {of(n_named, n_file)}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--program", default="git-codeweaver")
    parser.add_argument("--half", choices=["seen", "aside"])
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if args.show and args.half != "seen":
        parser.error("--show needs --half seen: nobody looks at the questions that are kept aside")

    by_repository = defaultdict(list)
    for question in questions():
        if args.half in (None, half_of(question)):
            by_repository[question["repository"], question["commit"]].append(question)

    judged = {"seen": [], "aside": []}
    with tempfile.TemporaryDirectory() as scratch:
        for (repository, commit), asked in by_repository.items():
            directory = f"{scratch}/{repository.replace('/', '+')}"
            source = source_of(args.clones, repository)
            subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", source, directory], check=True)
            subprocess.run([args.program, "init", "--no-hooks"], cwd=directory, capture_output=True, check=True)
            subprocess.run([args.program, "index", "-q", commit], cwd=directory, check=True)
            for question in asked:
                matches = ask(args.program, directory, question)
                verdict = judge(question, matches)
                judged[half_of(question)].append(verdict)
                if args.show and not verdict[1]:
                    found = matches[0] if matches else {"file": {"path": ""}, "focus": {}}
                    focus = found["focus"].get("symbol", "")
                    print(f"{repository}: {question['question']}\n    {question['function']} in {question['path']}")
                    print(f"    {'named' if verdict[2] else 'not named'}: {found['file']['path']}: {focus}")

    for half, verdicts in judged.items():
        if verdicts:
            print(row({"seen": "in view", "aside": "kept aside"}[half], verdicts))


if __name__ == "__main__":
    main()
