"""Measures an organisation's index on a real engine beside a catalogue of the same repositories.

    python3 benches/org.py --program target/release/git-codeweaver --engine DIR --catalogue ~/all.git
        [--annotations FOLDER] [--nodes 1] [--heap 1g] [--clients 1 16 64] [--seconds 10] [--every-second]
        [--random 1000] [--keep FOLDER] [--steps push agreement load random commit]

DIR is an installation that `tests/org/engine.py fetch DIR` has made; the catalogue is indexed already. The steps:

    push       the first push with the CPU time of both sides, a push of nothing, the size and memory of the engine
    agreement  the first ten matches beside those of the catalogue, the share of these that the engine has among its
               candidates, and the times of questions that are asked for the first time
    load       the times of questions for some numbers of clients, of the engine and of the catalogue, and their CPU time
    random     --random questions of a reader of one repository about the words of the others; results elsewhere are counted
    commit     pushes of a commit that changes one file of 300

With --keep, the cluster stays in FOLDER and runs on, and a run with other steps goes on with it; `tests/org/engine.py stop
FOLDER` ends it. Questions are those of the annotations (`query` in JSON lists), or a few of everyday.
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
STEPS = ["push", "agreement", "load", "random", "commit"]


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


def percentile(times, share):
    """Of sorted seconds, in milliseconds."""
    return 1000 * times[min(int(len(times) * share), len(times) - 1)]


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


def largest_child():
    """Memory of the largest program that has ended so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024


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
    """Pushes a repository of 300 files, then a commit that changes one of them, five times. Returns seconds and
    bytes."""
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
    # Other steps compare the index with the catalogue, which has no such repository.
    run(program, "org", "remove", "bench/commit", "--org", url, "--project", scratch)
    run(program, "org", "gc", "--org", url, "--project", scratch)
    return sorted(took for took, _ in measured), max(n for _, n in measured)


def texts_of(value):
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of(part)


def foreign(program, url, catalogue, directory, n, clients=4):
    """Asks random questions as a reader of one repository. Returns the numbers of results, and of those
    elsewhere: with a text that begins as a path of another repository."""
    status = json.loads(run(program, "org", "status", "--json", "--org", url, "--catalogue", catalogue))
    own, *others = [repository["name"] for repository in status["repositories"]]
    others = tuple(f"{name}/" for name in others)
    tokens = directory / "tokens"
    tokens.write_text(f"reader-of-everything-0123456789\nreader-of-one-0123456789 {own}\n")
    served = Served(program, "--org", url, "--catalogue", str(catalogue), "--token-file", str(tokens))

    def reader(number):
        chosen = random.Random(41 + number)
        shown = elsewhere = 0
        for _ in range(n // clients):
            question = " ".join(chosen.sample(words, chosen.randint(1, 5)))
            answer = served.ask(question, 20, "reader-of-one-0123456789")
            for match in answer["matches"]:
                shown += 1
                elsewhere += any(text.startswith(others) for text in texts_of(match))
        return shown, elsewhere

    try:
        words = set()
        for question in EVERYDAY:
            answer = served.ask(question, 50, "reader-of-everything-0123456789")
            words.update(re.findall(r"[A-Za-z]{3,}", json.dumps(answer["matches"])))
        words = sorted(words)
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            counts = list(pool.map(reader, range(clients)))
        return sum(shown for shown, _ in counts), sum(elsewhere for _, elsewhere in counts)
    finally:
        served.end()


def agreement(organisation, catalogue, questions):
    same = same_files = 0
    found, wanted = 0, 0
    different, times = [], {"engine": [], "catalogue": []}

    def timed(name, served, question):
        started = time.monotonic()
        answer = served.ask(question)
        times[name].append(time.monotonic() - started)
        return places(answer)

    for question in questions:
        here, there = timed("catalogue", catalogue, question), timed("engine", organisation, question)
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
    for name, seconds in times.items():
        seconds.sort()
        print(f"asked for the first time, {name}: p50 {percentile(seconds, 0.5):.0f} ms, p99 {percentile(seconds, 0.99):.0f} ms",
              flush=True)
    return different


def load(served, questions, clients, seconds, engine_pids):
    """Asks for some seconds with this number of clients. Returns questions a second, p50 and p99 in ms, and the
    CPU time of a question in ms, of the server and of the engine."""
    end = time.monotonic() + seconds

    def client(number):
        times, at = [], number
        while time.monotonic() < end:
            started = time.monotonic()
            served.ask(questions[at % len(questions)])
            times.append(time.monotonic() - started)
            at += 7
        return times

    def used():
        return cpu_of(served.process.pid), sum(map(cpu_of, engine_pids))

    before, started = used(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        times = sorted(one for times in pool.map(client, range(clients)) for one in times)
    took = time.monotonic() - started
    cpu = [1000 * (after - then) / len(times) for then, after in zip(before, used())]
    return len(times) / took, percentile(times, 0.5), percentile(times, 0.99), *cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--engine", type=pathlib.Path, required=True)
    parser.add_argument("--catalogue", type=pathlib.Path, required=True)
    parser.add_argument("--annotations", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--heap", default="1g", help="memory of a node's Java heap")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder of a cluster that runs on")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--random", type=int, default=1000, help="number of random questions of a limited reader")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--every-second", action="store_true", help="ask every second question of the annotations")
    parser.add_argument("--differences", type=pathlib.Path, help="write the answers that differ to this file")
    options = parser.parse_args()
    questions = questions_of(options.annotations, options.every_second)

    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory).chmod(0o755)
        cluster = (options.keep or pathlib.Path(directory) / "cluster").resolve()
        engine.HEAP = options.heap
        if (cluster / "cluster.json").exists():
            urls = [engine.url(node) for node in engine.load(cluster)["nodes"]]
        else:
            urls = engine.start(options.engine.resolve(), options.nodes, cluster)
        try:
            pids = [node["pid"] for node in engine.load(cluster)["nodes"]]
            measure(f"{urls[0]}/bench", pids, pathlib.Path(directory), questions, options)
        finally:
            if not options.keep:
                engine.stop(cluster)


def measure(url, pids, directory, questions, options):
    program, catalogue = options.program.resolve(), options.catalogue.resolve()
    if "push" in options.steps:
        first_push(program, url, pids, catalogue, options)
    if {"agreement", "load"} & set(options.steps):
        served = {"engine": Served(program, "--org", url, "--catalogue", str(catalogue)),
                  "catalogue": Served(program, "--catalogue", str(catalogue))}
        try:
            ask(served, pids, questions, options)
        finally:
            for one in served.values():
                one.end()

    if "random" in options.steps:
        shown, elsewhere = foreign(program, url, catalogue, directory, options.random)
        print(f"{options.random} random questions of a reader of one repository: {shown} results, {elsewhere} elsewhere",
              flush=True)
    if "commit" in options.steps:
        times, most = commit(program, url, directory / "scratch")
        print(f"push of a commit of one file of 300: {1000 * times[2]:.0f} ms ({1000 * times[0]:.0f}-{1000 * times[-1]:.0f}), "
              f"at most {most} bytes")


def first_push(program, url, pids, catalogue, options):
    replicas = 1 if options.nodes > 1 else 0
    run(program, "org", "init", url, "--shards", options.shards, "--replicas", replicas, "--catalogue", catalogue)

    engine_before, program_before = sum(map(cpu_of, pids)), cpu_of_children()
    took, total = push(program, url, "--catalogue", catalogue)
    engine_cpu, program_cpu = sum(map(cpu_of, pids)) - engine_before, cpu_of_children() - program_before
    rate = total["sent_rows"] / took
    print(f"first push: {total['sent_rows']} chunks of {total['sent_files']} files in {took:.1f} s, {rate:.0f} chunks/s, "
          f"{total['sent_bytes'] / 1e6:.1f} MB sent, CPU {engine_cpu:.1f} s of the engine and {program_cpu:.1f} s of the program, "
          f"which took at most {largest_child()} MiB", flush=True)
    took, total = push(program, url, "--catalogue", catalogue)
    print(f"push of nothing: {1000 * took:.0f} ms, {total['sent_bytes']} bytes")

    status = json.loads(run(program, "org", "status", "--json", "--org", url, "--catalogue", catalogue))
    memory = [resident(pid) for pid in pids]
    print(f"engine: {status['rows']} rows, {status['files']} files, {status['bytes'] / 1e6:.1f} MB on disk, "
          f"{memory} MiB resident", flush=True)


def ask(served, pids, questions, options):
    if "agreement" in options.steps:
        different = agreement(served["engine"], served["catalogue"], questions)
        if options.differences:
            options.differences.write_text(json.dumps(different, indent=1))
    if "load" not in options.steps:
        return

    print("| answers from | clients | questions/s | p50 ms | p99 ms | CPU ms of the server | of the engine |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, one in served.items():
        for clients in options.clients:
            rate, p50, p99, server, of_engine = load(one, questions, clients, options.seconds, pids)
            shown = f"{of_engine:.1f}" if name == "engine" else "–"
            print(f"| {name} | {clients} | {rate:.1f} | {p50:.0f} | {p99:.0f} | {server:.1f} | {shown} |", flush=True)
    for name, one in served.items():
        print(f"server of the {name}: {resident(one.process.pid)} MiB resident")


if __name__ == "__main__":
    main()
