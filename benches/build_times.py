#!/usr/bin/env python3
"""CPU time and memory of builds:

    python3 benches/build_times.py CHECKOUT [--tests] [--crates N]

Builds the release program of CHECKOUT, a clean clone that nobody works in, from nothing, as `cargo install
--locked --path .` does. Then builds it with the profile `incremental`, from nothing and after a statement was
added to a function of each of several files. A change is taken back by the build after it, whose cost includes
that. With --tests, builds the tests in the same way. Prints CPU seconds of all processes together, and the
memory of the largest. With --crates, also the N crates that took longest in the first build, by the clock of
cargo, so their sum exceeds the CPU seconds where two crates compete for a core. The target directory is
CHECKOUT/target/build-times, which is removed first.
"""

import argparse
import collections
import json
import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

# A file of each front-end, and of the ranking.
CHANGED = (
    "src/cli/render.rs",
    "crates/mcp/src/envelope.rs",
    "crates/serve/src/params.rs",
    "crates/codeweaver/src/query/rank/mod.rs",
)
RELEASE = ["cargo", "build", "--quiet", "--locked", "--release", "--bin", "git-codeweaver"]
INCREMENTAL = [*RELEASE[:-3], "--profile", "incremental", *RELEASE[-2:]]
TESTS = ["cargo", "test", "--quiet", "--locked", "--no-run"]


def cost_of(command: list[str], checkout: Path) -> tuple[float, float]:
    """Runs a build in a child of its own. Returns its CPU seconds and the GiB of its largest process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        environment = {**os.environ, "CARGO_TARGET_DIR": str(checkout / "target/build-times")}
        status = subprocess.run(command, cwd=checkout, env=environment).returncode
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(writer, f"{usage.ru_utime + usage.ru_stime} {usage.ru_maxrss}".encode())
        os._exit(status)

    os.close(writer)
    _, status = os.waitpid(child, 0)
    cpu, kibibytes = os.read(reader, 100).decode().split()
    os.close(reader)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return float(cpu), float(kibibytes) / 2**20


def dearest_crates(target: Path) -> list[tuple[str, float]]:
    """The crates of the last build with --timings with their seconds, longest first; grammars are one."""
    report = (target / "cargo-timings/cargo-timing.html").read_text()
    units = json.loads(re.search(r"UNIT_DATA = (\[.*?\]);\n", report, re.DOTALL)[1])

    seconds = collections.Counter()
    for unit in units:
        is_grammar = unit["name"].startswith("tree-sitter-")
        seconds["grammars" if is_grammar else unit["name"]] += unit["duration"]
    return seconds.most_common()


def with_a_statement_more(path: Path, command: list[str], checkout: Path) -> tuple[float, float]:
    """The cost of a build with a statement at the beginning of the first function of a file."""
    text = path.read_text()
    head = re.search(r"\n *(pub(\([a-z]+\))? )?fn [^;{}]*\{\n", text)
    path.write_text(text[: head.end()] + "    std::hint::black_box(7);\n" + text[head.end() :])
    try:
        return cost_of(command, checkout)
    finally:
        path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tests", action="store_true", help="build the tests instead of the program")
    parser.add_argument("--crates", type=int, default=0, metavar="N", help="print the N dearest crates")
    arguments = parser.parse_args()

    checkout = arguments.checkout.resolve()
    first, further = (TESTS, TESTS) if arguments.tests else (RELEASE, INCREMENTAL)
    target = checkout / "target/build-times"
    shutil.rmtree(target, ignore_errors=True)

    print("| built after | CPU seconds | largest process |")
    print("|---|---:|---:|")
    cpu, gibibytes = cost_of([*first, "--timings"], checkout)
    print(f"| nothing | {cpu:.0f} | {gibibytes:.2f} GiB |", flush=True)
    if further != first:
        cpu, gibibytes = cost_of(further, checkout)
        print(f"| nothing, incremental | {cpu:.0f} | {gibibytes:.2f} GiB |", flush=True)
    for changed in CHANGED:
        cpu, gibibytes = with_a_statement_more(checkout / changed, further, checkout)
        print(f"| a statement in {changed} | {cpu:.0f} | {gibibytes:.2f} GiB |", flush=True)

    for name, seconds in dearest_crates(target)[: arguments.crates]:
        print(f"{seconds:7.1f} s  {name}")


if __name__ == "__main__":
    main()
