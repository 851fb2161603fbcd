#!/usr/bin/env python3
"""Runs the search-quality loop over real repositories, and prints its report.

Commits of each repository are mined (`eval mine`) into one pool; history and the BM25 explorer of this folder, which
shares nothing with our search, explore; labels judge; `eval tune` learns.

    benches/quality_loop.py --clones DIR [--program PATH] [--issues N] [--output DIR] NAME... [-- OPTIONS OF eval loop]

DIR has clones with history, one directory each, or mirrors `OWNER+NAME/repo`. They are cloned into a temporary
directory and not changed.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--program", default=str(ROOT / "target/release/git-codeweaver"))
    parser.add_argument("--issues", type=int, default=60, help="number of mined commits of each repository")
    parser.add_argument("--output", type=Path, required=True, help="directory of the loop's artefacts")
    parser.add_argument("names", nargs="+", help="directories of --clones")
    args = parser.parse_args(arguments[:cut])
    explorer = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'benches/explorers/bm25.py'))}"
    with tempfile.TemporaryDirectory() as folder:
        repos, pool = Path(folder, "repos"), Path(folder, "pool.jsonl")
        lines = []
        for name in args.names:
            source = args.clones / name
            source = source / "repo" if (source / "repo").is_dir() else source
            subprocess.run(["git", "clone", "-q", "--shared", str(source), str(repos / name)], check=True)
            run = lambda *command: subprocess.run(
                [args.program, *command], cwd=repos / name, check=True, capture_output=True, text=True
            ).stdout
            run("init", "--no-hooks")
            for line in run("eval", "mine", "--limit", str(args.issues)).splitlines():
                lines.append(json.dumps({**json.loads(line), "repository": name}))
        pool.write_text("\n".join(lines))
        started = time.time()
        command = ["eval", "loop", "--issues", str(pool), "--repos", str(repos), "--output", str(args.output)]
        options = arguments[cut + 1 :] or ["--explorer-a", "history", "--explorer-b", explorer]
        ended = subprocess.run([args.program, *command, *options], cwd=repos / args.names[0], check=False)
        print(f"{len(lines)} issues, {time.time() - started:.0f} s, exit code {ended.returncode}")
    print((args.output / "report.md").read_text())


if __name__ == "__main__":
    main()
