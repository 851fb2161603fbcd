#!/usr/bin/env python3
"""Campaign against the program: what is to survive anything, is tried by thousands.

    python3 benches/campaign                              # the long form, which takes hours
    python3 benches/campaign --short                      # at most two minutes, as .ci/run calls it
    python3 benches/campaign --only kills --kills 3000 --seed 7 --work sync
    python3 benches/campaign --only load --load 2000      # number of slow clients
    python3 benches/campaign --only soak --soak-seconds 600 --json FILE

Kinds of tries, each a module of this directory: kills, damages, errors, concurrency, tokens, times, load, hostile,
soak. After each try what was disturbed must work as if nothing had happened. The seed is printed; with the same seed and
counts the same tries are made, at the same moments as far as the machine allows. At the end there is a line for each kind with its
tries and failures, and with --json the same in a file. Failures are printed with their directory, which stays; the exit
code is then 1. Ctrl-C and SIGTERM end the campaign with what it has.

The program is `target/debug/git-codeweaver` or the one that CODEWEAVER_TEST_BINARY names. `benches/faults.rs` is another
campaign, in which many processes on one store are killed.
"""

import argparse
import json
import random
import signal
import sys
from pathlib import Path

import concurrency
import damages
import errors
import hostile
import kills
import load
import soak
import times
import tokens
from run import Run
from work import WORK
from world import PROGRAM, Failure

KINDS = {
    "kills": kills,
    "damages": damages,
    "errors": errors,
    "concurrency": concurrency,
    "tokens": tokens,
    "times": times,
    "load": load,
    "hostile": hostile,
    "soak": soak,
}
# Kinds that disturb one of several works.
DISTURBING = (kills, errors)


def main():
    args = parse()
    if not PROGRAM.is_file():
        sys.exit(f"there is no {PROGRAM}: build it, or set CODEWEAVER_TEST_BINARY")
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}, {PROGRAM}", flush=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    runs = []
    for kind in args.only or KINDS:
        module = KINDS[kind]
        wanted = getattr(args, kind)
        if wanted is None:
            wanted = module.SHORT if args.short else module.LONG
        run = Run(kind, seed, wanted, module.SECONDS if args.short else None)
        run.long_seconds = args.soak_seconds
        runs.append(run)
        is_stopped = attempt(module, run, args)
        print(run.line(), flush=True)
        if args.json:
            report = {"seed": seed} | {run.kind: run.summary() for run in runs}
            args.json.write_text(json.dumps(report, indent=2) + "\n")
        if is_stopped:
            break

    n_failures = sum(len(run.failures) for run in runs)
    print(f"{sum(run.tries for run in runs)} tries, {n_failures} failures, seed {seed}")
    return 1 if n_failures else 0


def attempt(module, run, args):
    """Makes the tries of a kind; returns whether they were stopped. A failure that is none of a try ends the kind."""
    try:
        if module in DISTURBING:
            module.campaign(run, [args.work] if args.work else list(WORK))
        else:
            module.campaign(run)
    except Failure as failure:
        run.failed(str(failure))
    except KeyboardInterrupt:
        run.skipped = "stopped"
        return True
    return False


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="stop after two minutes")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=list(KINDS), nargs="+", help="tries of these kinds alone")
    parser.add_argument("--work", choices=list(WORK), help="kills and errors in this kind of work alone")
    parser.add_argument("--soak-seconds", type=int, default=None, help=f"[default: {soak.LONG_SECONDS}]")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    for kind, module in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, help=f"number of tries [default: {module.LONG}]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
