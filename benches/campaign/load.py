#!/usr/bin/env python3
"""Load: clients that are slow on purpose, in each phase of a request, while other clients ask and are timed.

    python3 benches/campaign/load.py --clients 2000 --seconds 20
    python3 benches/campaign/load.py --only body --seed 7

The slow clients have other addresses of this machine (127.0.0.2 and so on) than the timed one, connect again whenever
they are disconnected, and send their next byte at random moments. The program is that of `benches/campaign`; the server
has a repository of 60 files. Printed are, for each phase, the requests of the timed client, the quantiles of their
times, and the number of those that got no answer 200. The exit code is 1 if the p99 of a phase is above `--p99`
milliseconds.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CODEWEAVER_TEST_BINARY", ROOT / "target/debug/git-codeweaver"))
STREAM = "GET /api/search?q=/alpha/&stream=1 HTTP/1.1\r\nhost: HOST\r\n\r\n"
SESSION = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"load","version":"1"}}}'
)
# Phases: the bytes that are sent at once, and those that follow one by one.
PHASES = {
    "connect": ("", ""),
    "line": ("GE", "T / HTTP/1.1\r\n"),
    "head": ("GET / HTTP/1.1\r\nhost: HOST\r\n", "x-slow: 0123456789\r\n" * 50),
    "body": ("POST /login HTTP/1.1\r\nhost: HOST\r\ncontent-length: 900\r\n\r\nt", "oken" * 200),
    "answer": (STREAM, ""),
    "session": (
        "POST /mcp HTTP/1.1\r\nhost: HOST\r\naccept: application/json, text/event-stream\r\n"
        f"content-type: application/json\r\ncontent-length: {len(SESSION)}\r\n\r\n{SESSION}",
        "",
    ),
}
# Requests of the timed client, in turn.
ASKED = ["/health/", "/api/search?q=alpha", "/api/file?path=f1.py", "/", "/api/search?q=alpha&mode=exact"]
# Pause between two requests of the timed client.
PAUSE = 0.04


def repository(root):
    """A repository with an index, and the environment in which the program runs."""
    env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    env |= {"HOME": str(root / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    repo = root / "repo"
    repo.mkdir()
    for i in range(60):
        body = "".join(f"def alpha_{i}_{j}():\n    return {j}\n\n\n" for j in range(20))
        (repo / f"f{i}.py").write_text(body)
    for command in (["git", "init", "-q"], ["git", "add", "-A"], ["git", "commit", "-qm", "x"]):
        subprocess.run(command, cwd=repo, env=env, check=True)
    subprocess.run([PROGRAM, "init", "--no-hooks"], cwd=repo, env=env, check=True, capture_output=True)
    return repo, env


async def slow(number, address, phase, rng, begun):
    """A client that begins a request and does not finish it, again and again."""
    first, rest = (text.replace("HOST", f"{address[0]}:{address[1]}").encode() for text in PHASES[phase])
    local = (f"127.0.0.{2 + number % 200}", 0)
    while True:
        writer = None
        try:
            reader, writer = await asyncio.open_connection(*address, local_addr=local, limit=1)
            writer.write(first)
            begun.add(number)
            for at in range(len(rest)):
                await asyncio.sleep(rng.uniform(1, 3))
                writer.write(rest[at : at + 1])
                await writer.drain()
            if phase == "answer":
                await asyncio.sleep(rng.uniform(5, 15))
            else:
                # Until the server ends the connection.
                while await reader.read(1):
                    await asyncio.sleep(rng.uniform(1, 3))
        except OSError:
            begun.add(number)
        if writer:
            writer.close()
        await asyncio.sleep(rng.uniform(1, 5))


async def attack(address, phase, seed, n_clients, ready):
    rng, begun = random.Random(seed), set()
    clients = [
        asyncio.create_task(slow(n, address, phase, random.Random(rng.random()), begun)) for n in range(n_clients)
    ]
    while len(begun) < n_clients:
        await asyncio.sleep(0.05)
    ready.set()
    await asyncio.gather(*clients)


def ask(address, path):
    """Asks on a new connection; returns the status, or 0 if there is none."""
    try:
        with socket.create_connection(address, timeout=60) as stream:
            host = f"{address[0]}:{address[1]}"
            stream.sendall(f"GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
            answer = b""
            while part := stream.recv(1 << 16):
                answer += part
        return int(answer.split(b" ", 2)[1])
    except (OSError, IndexError, ValueError):
        return 0


def measured(address, seconds):
    """The sorted times of the requests with an answer, in milliseconds, and the number of the others."""
    times, failed = [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        if ask(address, ASKED[(len(times) + failed) % len(ASKED)]) == 200:
            times.append((time.monotonic() - began) * 1000)
        else:
            failed += 1
        time.sleep(PAUSE)
    return sorted(times), failed


def quantile(times, share):
    return times[min(int(len(times) * share), len(times) - 1)] if times else float("inf")


def run(address, args, rng):
    failures = 0
    base, _ = measured(address, min(args.seconds, 5))
    p50, p99 = quantile(base, 0.5), quantile(base, 0.99)
    print(f"{'idle':8} {len(base):4} asked  p50 {p50:.0f} ms  p99 {p99:.0f} ms", flush=True)
    for phase in [args.only] if args.only else PHASES:
        ready = multiprocessing.Event()
        attacker = multiprocessing.Process(
            target=lambda: asyncio.run(attack(address, phase, rng.random(), args.clients, ready)), daemon=True
        )
        attacker.start()
        ready.wait(60)
        times, failed = measured(address, args.seconds)
        attacker.terminate()
        attacker.join()

        p99 = quantile(times, 0.99)
        failures += p99 > args.p99
        print(
            f"{phase:8} {len(times) + failed:4} asked  p50 {quantile(times, 0.5):.0f} ms  p99 {p99:.0f} ms  "
            f"max {quantile(times, 1):.0f} ms  {failed} without 200",
            flush=True,
        )
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=2000, help="slow clients in each phase [default: 2000]")
    parser.add_argument("--seconds", type=float, default=15, help="time of each phase [default: 15]")
    parser.add_argument("--p99", type=float, default=200, help="milliseconds that are a failure [default: 200]")
    parser.add_argument("--only", choices=list(PHASES), help="this phase alone")
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()

    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}, {args.clients} slow clients", flush=True)
    multiprocessing.set_start_method("fork")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(args.clients * 2 + 500, 1024), hard), hard))

    with tempfile.TemporaryDirectory(prefix="codeweaver-load-") as root:
        repo, env = repository(Path(root))
        streams = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        server = subprocess.Popen([PROGRAM, "serve", "--port", "0"], cwd=repo, env=env, **streams)
        try:
            said = next(line for line in server.stdout if "http://" in line)
            host, port = said.split("http://")[1].split("/")[0].split(":")
            failures = run((host, int(port)), args, random.Random(seed))
        finally:
            server.terminate()
            server.wait()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
