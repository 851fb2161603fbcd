"""Labelled queries over many repositories served together: python3 benches/federated.py PROGRAM REPOSITORIES LABELS

REPOSITORIES is a directory with the repositories that LABELS/repos-dev.json names, at the revisions there; LABELS has the
queries in annotations/NAME.json. Each repository is indexed by itself and searched, and all are put into one catalogue,
which is served and searched without a filter and with `repo:NAME`. A result is right if its path is a target of the query;
gains are 1, at most ten results count. Whole repositories are searched, and most queries name no repository, so that without
a filter other repositories have right answers too.
"""

import http.client
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

PROGRAM, REPOSITORIES, LABELS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
LIMIT = 10


def run(directory, *args):
    return subprocess.run([PROGRAM, *args], cwd=directory, check=True, capture_output=True, text=True).stdout


def queries(entry):
    root = entry["benchmark_root"] or ""
    for label in json.loads((LABELS / "annotations" / f"{entry['name']}.json").read_text()):
        targets = [t if isinstance(t, str) else t["path"] for t in label["relevant"] + label["secondary"]]
        # Those of one repository are relative to the searched directory.
        yield label["query"], {t if not root or t.startswith(root) else f"{root}/{t}" for t in targets}


def ndcg(paths, targets):
    gain = sum(1 / math.log2(place + 2) for place, path in enumerate(paths) if path in targets)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(len(targets), LIMIT)))


def summary(name, answers):
    n = len(answers)
    mean = lambda figure: sum(figure(*answer) for answer in answers) / n
    hit = lambda k: mean(lambda paths, targets: any(path in targets for path in paths[:k]))
    print(f"| {name} | {n} | {hit(1):.3f} | {hit(5):.3f} | {hit(10):.3f} | {mean(ndcg):.4f} |", flush=True)


def main():
    entries = json.loads((LABELS / "repos-dev.json").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        print("| searched | queries | hit@1 | hit@5 | hit@10 | NDCG@10 |\n|---|---:|---:|---:|---:|---:|")
        alone = []
        for entry in entries:
            clone = scratch / "src" / entry["name"]
            command = ["git", "clone", "--quiet", "--bare", "--shared", REPOSITORIES / entry["name"], clone]
            subprocess.run(command, check=True, capture_output=True)
            run(clone, "init", "--no-hooks")
            for query, targets in queries(entry):
                said = subprocess.run([PROGRAM, "search", "-o", "json", query], cwd=clone, capture_output=True, text=True)
                alone.append(([match["file"]["path"] for match in json.loads(said.stdout)["matches"]], targets))
        summary("each repository by itself", alone)
        catalogue = scratch / "all.git"
        run(scratch, "catalogue", "init", catalogue)
        run(scratch, "catalogue", "add", "--catalogue", catalogue, scratch / "src", "--recursive", "--quiet")
        command = [PROGRAM, "serve", "--catalogue", catalogue, "--port", "0"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        port = int(re.search(r":(\d+)/", server.stderr.readline()).group(1))
        threading.Thread(target=server.stderr.read, daemon=True).start()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(query):
            connection.request("GET", "/api/search?limit=10&q=" + urllib.parse.quote_plus(query))
            return json.loads(connection.getresponse().read())

        together, filtered, repositories, times = [], [], [], []
        for entry in entries:
            name = entry["name"]
            for query, targets in queries(entry):
                full = {f"{name}/{target}" for target in targets}
                started = time.perf_counter()
                found = ask(query)["matches"]
                times.append(time.perf_counter() - started)
                together.append(([match["file"]["path"] for match in found], full))
                repositories.append(any(match["file"]["repo"] == name for match in found))
                found = ask(f"{query} repo:{name}").get("matches", [])
                filtered.append(([match["file"]["path"] for match in found], full))
        server.terminate()
        server.wait()
        summary("together, `repo:NAME`", filtered)
        summary("together, without a filter", together)
        share, median = sum(repositories) / len(repositories), sorted(times)[len(times) // 2]
        print(f"\nWithout a filter, the repository is among the ten results for {share:.1%}; median time {median * 1000:.1f} ms.")


main()
