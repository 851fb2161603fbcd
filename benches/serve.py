"""Load on `git codeweaver serve`: python3 benches/serve.py PROGRAM REPOSITORY [--soak SECONDS]

Needs wrk (apt-get install wrk). A clone of REPOSITORY is indexed and served on a free port. Prints a Markdown table: requests
a second, the median and the 99th percentile of the time to answer, responses that were not 200, and the resident memory of
the server, for each kind of request with 1 and with 64 clients; the same for ripgrep, started for each request by a small
server in this process.

With --soak, commits arrive for so many seconds while 8 clients ask. Printed are the number of answers whose HEAD was not one
of those that git had during the request, and memory and open files before and after.
"""

import argparse
import http.client
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

QUERIES = [
    "where are expired sessions removed",
    "parse the header of a request",
    "retry after a failed connection",
    "write the output to a file",
    "how is the configuration loaded",
    "compare two versions",
    "open a socket",
    "error while reading the response",
]
SECONDS = 10

SCRIPT = """
local paths = { %s }
local n = 0
function request()
  n = n + 1
  return wrk.format("GET", paths[n %% #paths + 1])
end
function done(summary, latency)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("RESULT %%f %%d %%d %%d\\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(50), latency:percentile(99), bad))
end
"""


def git(directory, *args):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *args]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


def status(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", text).group(1)) / 1024


def load(port, paths, clients):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT % ", ".join(json.dumps(path) for path in paths))
        script.flush()
        url = f"http://127.0.0.1:{port}"
        command = ["wrk", "-t1", f"-c{clients}", f"-d{SECONDS}s", "--timeout", "30s", "-s", script.name, url]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate, p50, p99, bad = re.search(r"RESULT (\S+) (\d+) (\d+) (\d+)", said).groups()
    return float(rate), int(p50) / 1000, int(p99) / 1000, int(bad)


class Served:
    """A running server."""

    def __init__(self, program, directory):
        command = [program, "serve", "--port", "0"]
        self.process = subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(re.search(r":(\d+)/", line).group(1))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def end(self):
        self.process.terminate()
        return self.process.wait()


def ripgrep_server(directory):
    """Starts ripgrep for the longest word of each query."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["q"][0]
            word = max(query.split(), key=len)
            command = ["rg", "--json", "--max-count", "5", "--fixed-strings", word, "."]
            body = subprocess.run(command, cwd=directory, capture_output=True).stdout[:100_000]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def measure(program, directory):
    queries = [urllib.parse.quote_plus(query) for query in QUERIES]
    words = [max(query.split(), key=len) for query in QUERIES]
    kinds = {
        "search, JSON": [f"/api/search?q={query}&limit=10" for query in queries],
        "results of the page": [f"/results?q={query}" for query in queries],
        "exact text": [f"/api/search?q={word}&mode=exact&limit=50" for word in words],
        "health": ["/health/"],
    }
    served = Served(program, directory)
    print("| request | clients | requests/s | p50 ms | p99 ms | not 200 | memory MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, paths in kinds.items():
        for clients in (1, 64):
            rate, p50, p99, bad = load(served.port, paths, clients)
            memory = status(served.process.pid, "VmRSS")
            print(f"| {name} | {clients} | {rate:.0f} | {p50:.1f} | {p99:.1f} | {bad} | {memory:.0f} |", flush=True)
    served.end()
    try:
        port = ripgrep_server(directory)
        for clients in (1, 64):
            rate, p50, p99, bad = load(port, [f"/?q={query}" for query in queries], clients)
            print(f"| ripgrep, longest word | {clients} | {rate:.0f} | {p50:.1f} | {p99:.1f} | {bad} | |", flush=True)
    except FileNotFoundError:
        print("ripgrep is not installed", file=sys.stderr)


def soak(program, directory, seconds):
    served = Served(program, directory)
    heads, lock = [git(directory, "rev-parse", "HEAD")], threading.Lock()
    answers, stale, failed = [0], [], []
    end = time.time() + seconds

    def ask(n):
        while time.time() < end:
            with lock:
                before = len(heads) - 1
            code, body = served.get("/api/search?limit=3&q=" + urllib.parse.quote_plus(QUERIES[n % len(QUERIES)]))
            with lock:
                possible = heads[before:]
                answers[0] += 1
            if code != 200:
                failed.append((code, body[:200]))
            elif json.loads(body)["index"]["head"] not in possible:
                stale.append(json.loads(body)["index"]["head"])
            n += 1

    def figures():
        files = len(list(pathlib.Path(f"/proc/{served.process.pid}/fd").iterdir()))
        return f"{status(served.process.pid, 'VmRSS'):.0f} MiB, {files} open files"

    served.get("/api/search?q=warm+up")
    before = figures()
    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    while time.time() < end:
        name = f"soak_{len(heads)}"
        (pathlib.Path(directory) / f"{name}.py").write_text(f"def {name}():\n    return {len(heads)}\n")
        git(directory, "add", ".")
        # HEAD moves within this call, so answers may have either commit while the lock is held.
        with lock:
            git(directory, "commit", "--quiet", "--message", name)
            heads.append(git(directory, "rev-parse", "HEAD"))
        time.sleep(1)
    for thread in threads:
        thread.join()
    after = figures()
    print(f"{answers[0]} answers, {len(heads) - 1} commits, {len(stale)} stale, {len(failed)} failed; {before} -> {after}")
    for failure in failed[:5]:
        print(failure)
    served.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("repository")
    parser.add_argument("--soak", type=float)
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch) / "repository"
        subprocess.run(["git", "clone", "--quiet", args.repository, directory], check=True)
        subprocess.run([program, "init"], cwd=directory, check=True, capture_output=True)
        if args.soak:
            soak(program, directory, args.soak)
        else:
            measure(program, directory)


main()
