"""Measures an organisation's index on a real engine beside a catalogue of the same repositories.

    python3 benches/org.py --program target/release/git-codeweaver --engine DIR --catalogue ~/all.git
        [--annotations FOLDER] [--nodes 1] [--heap 1g] [--clients 1 16 64] [--seconds 10] [--every-second]
        [--random 1000]

DIR is an installation that `tests/org/engine.py fetch DIR` has made; the catalogue is indexed already. Prints the first
push with the CPU time of both sides, a push of nothing and of a commit that changes one file, the size and memory of the
engine, the agreement of the first ten matches with those of the catalogue, the share of these that the engine has among its
candidates, and the times of questions for some numbers of clients, of the engine and of the catalogue. With --random, a
reader of one repository asks so many random questions of the words of the others, and results elsewhere are counted.
Questions are those of the annotations (`query` in JSON lists), or a few of everyday.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "org"))
import engine  # noqa: E402

EVERYDAY = [
    "retry with exponential backoff", "parse an HTTP header", "read a file into memory", "decode base64",
    "spawn a thread pool", "where is the error converted into an exit code", "compare two version numbers",
    "escape a string for JSON", "route a request to its handler", "format a date",
]


class Served:
    """A server of the program."""

    def __init__(self, program, *arguments):
        command = [program, "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"Serving http://[^:]+:(\d+)/", line)
            if found:
                self.port = int(found.group(1))
                break
        else:
            sys.exit("the server did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def ask(self, question, limit=10, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        query = urllib.parse.urlencode({"q": question, "limit": limit, "locations": "true"})
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", f"/api/search?{query}", headers=headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body[:300]}")
        return json.loads(body)

    def end(self):
        self.process.terminate()
        self.process.wait()


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def places(answer):
    return [(it["file"]["path"], tuple(it["span"]) if isinstance(it["span"], list) else str(it["span"]))
            for it in answer["matches"]]


def cpu_of(pid):
    """CPU time of a process so far, in seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) // 1024


def questions_of(folder, every_second):
    if folder is None:
        return EVERYDAY
    questions = [it["query"] for path in sorted(folder.glob("*.json")) for it in json.loads(path.read_text())]
    return questions[::2] if every_second else questions


def push(program, url, *where):
    started = time.monotonic()
    lines = run(program, "org", "push", "--json", "--org", url, *where).splitlines()
    took = time.monotonic() - started
    reports = [json.loads(line) for line in lines]
    total = {key: sum(report[key] for report in reports) for key in ("sent_files", "sent_rows", "sent_bytes")}
    return took, total


def commit(program, url, scratch):
    """Pushes a repository of 300 files, then a commit that changes one of them, five times. Returns seconds and bytes."""
    def git(*arguments):
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
        subprocess.run(["git", "-C", scratch, *identity, *arguments], check=True, capture_output=True)

    def text(n, word):
        functions = (f"def {word}_{n}_{k}(items):\n    \"\"\"Sorts the items of part {k}.\"\"\"\n    return sorted(items)[{k}:]\n"
                     for k in range(8))
        return "\n\n".join(functions)

    scratch.mkdir()
    git("init", "-q", "-b", "main")
    for n in range(300):
        (scratch / f"part_{n}.py").write_text(text(n, "order"))
    git("add", ".")
    git("commit", "-q", "-m", "first")
    where = ("--name", "bench/commit", "--project", scratch)
    run(program, "init", "--no-hooks", "--project", scratch)
    push(program, url, *where)

    measured = []
    for n in range(5):
        (scratch / f"part_{n}.py").write_text(text(n, "rank"))
        git("commit", "-q", "-a", "-m", f"change {n}")
        run(program, "index", "--quiet", "--project", scratch)
        took, total = push(program, url, *where)
        assert total["sent_files"] == 1, total
        measured.append((took, total["sent_bytes"]))
    return sorted(took for took, _ in measured), max(n for _, n in measured)


def foreign(program, url, catalogue, directory, n):
    """Asks random questions as a reader of one repository. Returns the numbers of results, and of those elsewhere."""
    status = json.loads(run(program, "org", "status", "--json", "--org", url, "--catalogue", catalogue))
    own = status["repositories"][0]["name"]
    tokens = directory / "tokens"
    tokens.write_text(f"reader-of-everything-0123456789\nreader-of-one-0123456789 {own}\n")
    served = Served(program, "--org", url, "--catalogue", str(catalogue), "--token-file", str(tokens))
    words = set()
    try:
        for question in EVERYDAY:
            answer = served.ask(question, 50, "reader-of-everything-0123456789")
            words.update(re.findall(r"[A-Za-z]{3,}", json.dumps(answer["matches"])))
        words, chosen = sorted(words), random.Random(41)
        shown = elsewhere = 0
        for _ in range(n):
            question = " ".join(chosen.sample(words, chosen.randint(1, 5)))
            answer = served.ask(question, 20, "reader-of-one-0123456789")
            for match in answer["matches"]:
                paths = [match["file"]["path"], *match.get("also_at", [])]
                paths += [other["path"] for kind in ("near_copies", "relations") for other in match.get(kind, [])]
                shown += 1
                elsewhere += any(not path.startswith(f"{own}/") for path in paths)
        return shown, elsewhere
    finally:
        served.end()


def agreement(organisation, catalogue, questions):
    same = same_files = 0
    found, wanted = 0, 0
    different = []
    for question in questions:
        here, there = places(catalogue.ask(question)), places(organisation.ask(question))
        same += here == there
        files = [path for path, _ in here]
        same_files += files == [path for path, _ in there]
        more = {path for path, _ in places(organisation.ask(question, 100))}
        found += sum(path in more for path in files)
        wanted += len(files)
        if here != there:
            different.append((question, here, there))
    n = len(questions)
    print(f"first tens identical: {same} of {n} ({100 * same / n:.1f} %); by file: {same_files} ({100 * same_files / n:.1f} %)")
    print(f"matches of the catalogue that are among the first 100 of the engine: {100 * found / max(wanted, 1):.2f} %")
    return different


def load(served, questions, clients, seconds):
    """Asks for some seconds with this number of clients; returns questions a second, p50 and p99 in ms."""
    end = time.monotonic() + seconds

    def client(number):
        times, at = [], number
        while time.monotonic() < end:
            started = time.monotonic()
            served.ask(questions[at % len(questions)])
            times.append(time.monotonic() - started)
            at += 7
        return times

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        times = sorted(one for times in pool.map(client, range(clients)) for one in times)
    return len(times) / seconds, 1000 * times[len(times) // 2], 1000 * times[int(len(times) * 0.99)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--engine", type=pathlib.Path, required=True)
    parser.add_argument("--catalogue", type=pathlib.Path, required=True)
    parser.add_argument("--annotations", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--heap", default="1g", help="memory of a node's Java heap")
    parser.add_argument("--random", type=int, default=0, help="number of random questions of a limited reader")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--every-second", action="store_true", help="ask every second question of the annotations")
    parser.add_argument("--differences", type=pathlib.Path, help="write the answers that differ to this file")
    options = parser.parse_args()
    program, questions = options.program.resolve(), questions_of(options.annotations, options.every_second)

    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory).chmod(0o755)
        cluster = pathlib.Path(directory) / "cluster"
        engine.HEAP = options.heap
        url = engine.start(options.engine.resolve(), options.nodes, cluster)[0] + "/bench"
        try:
            measure(program, url, pathlib.Path(directory), questions, options)
        finally:
            engine.stop(cluster)


def measure(program, url, directory, questions, options):
    replicas = 1 if options.nodes > 1 else 0
    nodes = [node["pid"] for node in engine.load(directory / "cluster")["nodes"]]
    run(program, "org", "init", url, "--replicas", replicas, "--catalogue", options.catalogue)

    engine_before, program_before = sum(map(cpu_of, nodes)), cpu_of_children()
    took, total = push(program, url, "--catalogue", options.catalogue)
    engine_cpu, program_cpu = sum(map(cpu_of, nodes)) - engine_before, cpu_of_children() - program_before
    rate = total["sent_rows"] / took
    print(f"first push: {total['sent_rows']} chunks of {total['sent_files']} files in {took:.1f} s, {rate:.0f} chunks/s, "
          f"{total['sent_bytes'] / 1e6:.1f} MB sent, CPU {engine_cpu:.1f} s of the engine and {program_cpu:.1f} s of the program",
          flush=True)
    took, total = push(program, url, "--catalogue", options.catalogue)
    print(f"push of nothing: {1000 * took:.0f} ms, {total['sent_bytes']} bytes")

    status = json.loads(run(program, "org", "status", "--json", "--org", url, "--catalogue", options.catalogue))
    memory = [resident(pid) for pid in nodes]
    print(f"engine: {status['rows']} rows, {status['bytes'] / 1e6:.1f} MB on disk, {memory} MiB resident", flush=True)

    organisation = Served(program, "--org", url, "--catalogue", str(options.catalogue))
    catalogue = Served(program, "--catalogue", str(options.catalogue))
    try:
        different = agreement(organisation, catalogue, questions)
        if options.differences:
            options.differences.write_text(json.dumps(different, indent=1))
        print("| answers from | clients | questions/s | p50 ms | p99 ms |\n|---|---:|---:|---:|---:|")
        for name, served in (("engine", organisation), ("catalogue", catalogue)):
            for clients in options.clients:
                rate, p50, p99 = load(served, questions, clients, options.seconds)
                print(f"| {name} | {clients} | {rate:.1f} | {p50:.0f} | {p99:.0f} |", flush=True)
    finally:
        organisation.end()
        catalogue.end()

    if options.random:
        shown, elsewhere = foreign(program, url, options.catalogue, directory, options.random)
        print(f"{options.random} random questions of a reader of one repository: {shown} results, {elsewhere} elsewhere")
    times, most = commit(program, url, directory / "scratch")
    print(f"push of a commit of one file of 300: {1000 * times[2]:.0f} ms ({1000 * times[0]:.0f}-{1000 * times[-1]:.0f}), "
          f"at most {most} bytes")


if __name__ == "__main__":
    main()
