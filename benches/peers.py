#!/usr/bin/env python3
"""Compares git-codeweaver with other programs on the same trees: benches/peers.py DIR…

Runs git-codeweaver and those of ripgrep (`rg`), probe-code (`probe`) and semble (`semble`, with SEMBLE_MODEL_NAME set to
an available model) that are on the PATH, one after the other. Prints the median time and the largest peak memory of
whole processes. Works on a clone of each directory's HEAD, so that caches and uncommitted changes do not count.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUERY = "how are errors reported to the user"
WORD = "errors"
RUNS = int(os.environ.get("CODEWEAVER_BENCH_RUNS", "7"))
OURS = os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver")


def run(command, cwd):
    """Returns seconds and peak memory in MB of one process; a failure ends the bench."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    # 1: nothing was found.
    if process.returncode not in (0, 1):
        sys.exit(f"{command[0]}: exit code {process.returncode}\n{errors.decode(errors='replace')}")
    return took, usage.ru_maxrss / 1000


def report(name, what, runs):
    times, memory = zip(*runs)
    print(f"{name:<16} {what:<34} {statistics.median(times) * 1000:10.0f} ms {max(memory):8.0f} MB", flush=True)


def measure(name, tree):
    report(name, "git-codeweaver, first index", [run([OURS, "init", "--no-hooks"], tree)])
    ask = [OURS, "search", "-l", "5", QUERY]
    run(ask, tree)
    report(name, "git-codeweaver, cold query", [run(ask, tree) for _ in range(RUNS)])
    peers = {
        "ripgrep, one word": ["rg", "-n", "-w", WORD, "."],
        "probe-code, query": ["probe", "search", "--max-results", "5", QUERY, "."],
        "semble, index and query": ["semble", "search", QUERY, ".", "-k", "5"],
        "semble, all content": ["semble", "search", QUERY, ".", "-k", "5", "--content", "all"],
    }
    for what, command in peers.items():
        if shutil.which(command[0]) is None or (command[0] == "semble" and "SEMBLE_MODEL_NAME" not in os.environ):
            print(f"{name:<16} {what:<34}   not installed")
            continue
        run(command, tree)
        report(name, what, [run(command, tree) for _ in range(RUNS)])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for source in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch) / source.resolve().name
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", source, tree], check=True)
            measure(tree.name, tree)


main()
