"""Measures an organisation's index on a real engine beside a catalogue of the same repositories.

    python3 benches/org.py --program target/release/git-codeweaver --engine DIR --catalogue ~/all.git
        [--annotations FOLDER] [--nodes 1] [--clients 1 16 64] [--seconds 10] [--every-second]

DIR is an installation that `tests/org/engine.py fetch DIR` has made; the catalogue is indexed already. Prints the first
push, a push of nothing, the size and memory of the engine, the agreement of the first ten matches with those of the
catalogue, the share of these that the engine has among its candidates, and the times of questions for some numbers of
clients, of the engine and of the catalogue. Questions are those of the annotations (`query` in JSON lists), or a few of
everyday.
"""

import argparse
import concurrent.futures
import http.client
import json
import pathlib
import re
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

    def ask(self, question, limit=10):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        query = urllib.parse.urlencode({"q": question, "limit": limit, "locations": "true"})
        connection.request("GET", f"/api/search?{query}")
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


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) // 1024


def questions_of(folder, every_second):
    if folder is None:
        return EVERYDAY
    questions = [it["query"] for path in sorted(folder.glob("*.json")) for it in json.loads(path.read_text())]
    return questions[::2] if every_second else questions


def push(program, url, catalogue):
    started = time.monotonic()
    lines = run(program, "org", "push", "--json", "--org", url, "--catalogue", catalogue).splitlines()
    took = time.monotonic() - started
    reports = [json.loads(line) for line in lines]
    total = {key: sum(report[key] for report in reports) for key in ("sent_files", "sent_rows", "sent_bytes")}
    return took, total


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
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--every-second", action="store_true", help="ask every second question of the annotations")
    parser.add_argument("--differences", type=pathlib.Path, help="write the answers that differ to this file")
    options = parser.parse_args()
    program, questions = options.program.resolve(), questions_of(options.annotations, options.every_second)

    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory).chmod(0o755)
        cluster = pathlib.Path(directory) / "cluster"
        url = engine.start(options.engine.resolve(), options.nodes, cluster)[0] + "/bench"
        try:
            measure(program, url, cluster, questions, options)
        finally:
            engine.stop(cluster)


def measure(program, url, cluster, questions, options):
    replicas = 1 if options.nodes > 1 else 0
    run(program, "org", "init", url, "--replicas", replicas, "--catalogue", options.catalogue)
    took, total = push(program, url, options.catalogue)
    rate = total["sent_rows"] / took
    print(f"first push: {total['sent_rows']} chunks of {total['sent_files']} files in {took:.1f} s, {rate:.0f} chunks/s, "
          f"{total['sent_bytes'] / 1e6:.1f} MB sent")
    took, total = push(program, url, options.catalogue)
    print(f"push of nothing: {1000 * took:.0f} ms, {total['sent_bytes']} bytes")

    status = json.loads(run(program, "org", "status", "--json", "--org", url, "--catalogue", options.catalogue))
    memory = [resident(node["pid"]) for node in engine.load(cluster)["nodes"]]
    print(f"engine: {status['rows']} rows, {status['bytes'] / 1e6:.1f} MB on disk, {memory} MiB resident")

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


if __name__ == "__main__":
    main()
