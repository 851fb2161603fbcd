#!/usr/bin/env python3
"""Times searches as a client for editors asks for them: with a program for each, and with one process.

    python3 benches/editors.py [--limit N] DIR

DIR is an indexed repository. Programs are timed without a daemon and with one. Printed are the median and
the slowest of ten different questions in milliseconds, after one that warms up, and the time from the start
of the one process to its first answer. CODEWEAVER_BENCH_BINARY names the binary, otherwise
target/release/git-codeweaver.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("CODEWEAVER_BENCH_BINARY", str(ROOT / "target/release/git-codeweaver"))
QUESTIONS = [
    "where are cookies parsed",
    "how is memory reclaimed",
    "retry with backoff",
    "parse a header",
    "free a page",
    "schedule a task on another processor",
    "read a block from disk",
    "lock a mutex",
    "handle a page fault",
    "send a packet",
]


class Process:
    """The server for agents, as the clients keep it (`editors/vscode/server.js`)."""

    def __init__(self, root):
        self.root, self.last_id = root, 0
        self.child = subprocess.Popen(
            [BINARY, "mcp"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        about = {"name": "benches/editors.py", "version": "0"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={"roots": {}}, clientInfo=about)
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.child.stdin.flush()

    def ask(self, method, **params):
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params)
        while True:
            message = json.loads(self.child.stdout.readline())
            if message.get("method") == "roots/list":
                self.send(id=message["id"], result={"roots": [{"uri": self.root.as_uri()}]})
            elif message.get("id") == self.last_id and "method" not in message:
                return message["result"]

    def search(self, question, limit):
        arguments = {"query": question, "explore": False, "max_results": limit, "token_limit": 100_000}
        arguments |= {"format": "json", "path": str(self.root)}
        answer = self.ask("tools/call", name="find_code", arguments=arguments)
        if "matches" not in answer.get("structuredContent", {}):
            raise SystemExit(f"no answer: {answer['content'][0]['text'][:500]}")

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def timed(search, question):
    started = time.perf_counter()
    search(question)
    return 1000 * (time.perf_counter() - started)


def measure(name, search):
    timed(search, "warm up")
    times = [timed(search, question) for question in QUESTIONS]
    print(f"  {name:24} {statistics.median(times):7.0f} {max(times):7.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--limit", type=int, default=30)
    options = parser.parse_args()
    root = options.directory.resolve()

    def program(environment):
        def search(question):
            command = [BINARY, "search", "-o", "json", "-l", str(options.limit), "--", question]
            run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
            # An error is JSON as well.
            if "matches" not in json.loads(run.stdout or "{}"):
                raise SystemExit(f"no answer: {run.stdout[:500]}{run.stderr[:500]}")

        return search

    asking = {name: value for name, value in os.environ.items() if name != "CODEWEAVER_DAEMON"}
    print(f"{options.limit} results, ms              median slowest")
    measure("a program for each", program({**asking, "CODEWEAVER_DAEMON": "off"}))

    subprocess.run([BINARY, "daemon", "start"], cwd=root, env=asking, check=True, capture_output=True)
    try:
        measure("the same with a daemon", program(asking))
    finally:
        subprocess.run([BINARY, "daemon", "stop"], cwd=root, env=asking, check=True, capture_output=True)

    started = time.perf_counter()
    process = Process(root)
    process.search("warm up", options.limit)
    first = 1000 * (time.perf_counter() - started)
    measure("one process", lambda question: process.search(question, options.limit))
    process.end()
    print(f"  from its start to the first answer {first:.0f} ms")


if __name__ == "__main__":
    main()
