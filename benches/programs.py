#!/usr/bin/env python3
"""Compares programs, such as those of two profiles, by the time of their commands in one run.

    python3 benches/programs.py [--runs N] [--query TEXT] --repo DIR PROGRAM...

Each program has a clone of DIR below TMPDIR, and DIR is only read. In each of N runs the programs take turns with a
first index, a search, and an update without change, each a new process without the daemon; another program begins
each run. Printed are the medians in seconds, CPU of all processes and from start to end, and in brackets their ratios
to those of the first program.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

# From nothing: the index is removed before.
FIRST_INDEX = "first index"


def measured(command, directory):
    """Runs a command; returns the CPU seconds of its processes, and the seconds that it took."""
    environment = {**os.environ, "CODEWEAVER_DAEMON": "off"}
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started

        process.returncode = os.waitstatus_to_exitcode(status)
        # 1: a search has found nothing.
        if process.returncode not in (0, 1):
            said.seek(0)
            raise SystemExit(f"{command}: {said.read().decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, wall


def measure(programs, clones, args):
    """The measurements of each command, one list for each program."""
    commands = {FIRST_INDEX: ["index", "-q"], "search": ["search", args.query], "no change": ["index", "-q"]}
    samples = {name: [[] for _ in programs] for name in commands}

    for run in range(args.runs):
        turns = [(run + turn) % len(programs) for turn in range(len(programs))]
        for name, command in commands.items():
            for at in turns:
                if name == FIRST_INDEX:
                    shutil.rmtree(clones[at] / ".codeweaver", ignore_errors=True)
                samples[name][at].append(measured([programs[at], *command], clones[at]))
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--repo", required=True, metavar="DIR", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--query", default="where is memory freed when a process ends")
    args = parser.parse_args()

    programs = [pathlib.Path(program).resolve(strict=True) for program in args.programs]
    with tempfile.TemporaryDirectory() as place:
        clones = [pathlib.Path(place, str(at)) for at in range(len(programs))]
        for clone in clones:
            subprocess.run(["git", "clone", "-q", "--no-hardlinks", args.repo.resolve(), clone], check=True)
        samples = measure(programs, clones, args)

    print(f"{f'median of {args.runs}, s':18}" + "".join(f"{program[-19:]:>20}" for program in args.programs))
    for name, of_programs in samples.items():
        for which, clock in enumerate(("CPU", "wall")):
            medians = [statistics.median(sample[which] for sample in of_one) for of_one in of_programs]
            figures = "".join(f"{median:13.3f} ({median / medians[0]:.2f})" for median in medians)
            print(f"{f'{name}, {clock}':18}{figures}")


if __name__ == "__main__":
    main()
