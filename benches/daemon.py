#!/usr/bin/env python3
"""Times commands without and with the daemon, and git status, in one run.

    python3 benches/daemon.py [--runs N] [--query TEXT] DIR

DIR is an indexed repository. Commands take turns, so that all see the same load. Printed are the median and the
fastest of N runs in milliseconds, from the start of the process to its end, clean and with one edited file, and the
memory of the daemon. The edited file is restored. CODEWEAVER_BENCH_BINARY names the binary, otherwise
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


def timed(command, directory, environment):
    started = time.perf_counter()
    run = subprocess.run(command, cwd=directory, env=environment, capture_output=True)
    if run.returncode > 1:
        raise SystemExit(f"{command}: {run.stdout.decode()}{run.stderr.decode()}")
    return 1000 * (time.perf_counter() - started)


def status(directory):
    run = subprocess.run([BINARY, "daemon", "status", "--json"], cwd=directory, capture_output=True)
    return json.loads(run.stdout)


def memory_mib(pid):
    """The MiB that a process allocated, and those of the files that it has mapped, which the system takes back
    when it needs them."""
    sizes = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, size = line.split()[:2]
        sizes[name.rstrip(":")] = int(size)
    return sizes["Anonymous"] / 1024, (sizes["Rss"] - sizes["Anonymous"]) / 1024


def measure(title, commands, args):
    times = {name: [] for name in commands}
    for _ in range(args.runs):
        for name, (command, environment) in commands.items():
            times[name].append(timed(command, args.directory, environment))
    print(f"\n{title}: median (fastest) of {args.runs}, ms")
    for name, values in times.items():
        print(f"  {name:34} {statistics.median(values):8.1f} ({min(values):.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--query", default="where is memory freed when a process ends")
    parser.add_argument("--edit", help="tracked file to edit; otherwise the first one that is C, Rust or Python")
    args = parser.parse_args()

    tracked = subprocess.run(["git", "ls-files"], cwd=args.directory, check=True, capture_output=True, text=True)
    sources = [name for name in tracked.stdout.splitlines() if name.endswith((".c", ".rs", ".py"))]
    source = args.edit or sources[0]

    alone = {**os.environ, "CODEWEAVER_DAEMON": "off"}
    asking = {name: value for name, value in os.environ.items() if name != "CODEWEAVER_DAEMON"}
    lines = {
        "search": ["search", "-l", "10", args.query],
        "search --for-agent": ["search", "--for-agent", args.query],
        "tool find_symbol": ["tool", "find_symbol", "main"],
        "read": ["read", f"{source}:1-20"],
        "outline": ["outline", source],
    }
    commands = {"git status": (["git", "status", "--porcelain"], asking)}
    for name, line in lines.items():
        commands[name] = ([BINARY, *line], alone)
        commands[f"{name}, daemon"] = ([BINARY, *line], asking)

    subprocess.run([BINARY, "daemon", "start"], cwd=args.directory, check=True, capture_output=True)
    try:
        for _ in range(3):
            for command, environment in commands.values():
                timed(command, args.directory, environment)
        before = status(args.directory)
        measure("clean", commands, args)

        path = pathlib.Path(args.directory, source)
        text = path.read_bytes()
        try:
            path.write_bytes(text + b"\n")
            for command, environment in commands.values():
                timed(command, args.directory, environment)
            measure(f"{source} edited", commands, args)
        finally:
            path.write_bytes(text)

        after = status(args.directory)
        allocated, mapped = memory_mib(after["pid"])
        print(f"\nserved {after['served'] - before['served']}, declined {after['declined'] - before['declined']}")
        print(f"daemon: {allocated:.0f} MiB allocated, {mapped:.0f} MiB of mapped files")
    finally:
        subprocess.run([BINARY, "daemon", "stop"], cwd=args.directory, check=True, capture_output=True)


if __name__ == "__main__":
    main()
