#!/usr/bin/env python3
"""Asks a first index of Linux while it grows, and prints after how many seconds it answers, and how well.

    python3 benches/early.py DIR [BINARY]

DIR is a checkout of Linux in a repository; its index is deleted. An answer is good if one of its first five
matches is in the file, or below the path, that we name here.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

QUESTIONS = [
    ("how does the fair scheduler pick the next task to run", "kernel/sched/fair.c"),
    ("reclaim pages when memory is low", "mm/vmscan.c"),
    ("choose the victim of the out of memory killer", "mm/oom_kill.c"),
    ("mutex_lock_interruptible", "kernel/locking/mutex.c"),
    ("read from a pipe", "fs/pipe.c"),
    ("reduce the tcp congestion window after loss", "net/ipv4/tcp"),
    ("submit an io_uring request", "io_uring/io_uring.c"),
    ("merge bios into a request", "block/blk-merge.c"),
    ("parse the kernel command line at boot", "init/main.c"),
    ("verify a bpf program", "kernel/bpf/verifier.c"),
    ("insert into a radix tree", "lib/radix-tree.c"),
    ("copy the address space on fork", "kernel/fork.c"),
    ("futex wait", "kernel/futex/"),
    ("allocate an inode for ext4", "fs/ext4/ialloc.c"),
    ("nf_conntrack hash table lookup", "net/netfilter/nf_conntrack_core.c"),
    ("usb hub port reset", "drivers/usb/core/hub.c"),
]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    root = Path(sys.argv[1])
    binary = sys.argv[2] if len(sys.argv) == 3 else "target/release/git-codeweaver"
    binary = str(Path(binary).resolve())
    # Without the nonce, the index is a first one and not a lost one.
    (root / ".git/codeweaver-nonce").unlink(missing_ok=True)
    shutil.rmtree(root / ".codeweaver", ignore_errors=True)
    run = subprocess.Popen([binary, "init", "--no-hooks"], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    start, first = time.monotonic(), None
    for at in (*(0.5 * n for n in range(1, 20)), 10, 20, 30, 60, None):
        if at is None:
            run.wait()
        else:
            time.sleep(max(0, start + at - time.monotonic()))
        asked = time.monotonic() - start
        if first is None and ask(binary, root, "mutex lock", "--mode", "keyword"):
            first = asked
            print(f"first keyword answer after {asked:.1f} s", flush=True)
        if at is None or at >= 10:
            good = sum(any(match.startswith(path) for match in ask(binary, root, query)) for query, path in QUESTIONS)
            print(f"{good} of {len(QUESTIONS)} answers good after {asked:.0f} s", flush=True)
    sys.exit(run.returncode)


def ask(binary, root, query, *options):
    """The paths of the first five matches; none if there is no answer."""
    command = [binary, "search", query, "--limit", "5", "--json", *options]
    answer = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if answer.returncode == 2:
        return []
    return [match["file"]["path"] for match in json.loads(answer.stdout)["matches"]]


if __name__ == "__main__":
    main()
