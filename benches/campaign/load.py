"""Load: clients that are slow on purpose, in each phase of a request, while another client asks and is timed.

The slow clients have other addresses of this machine (127.0.0.2 and so on) than the timed one, connect again whenever
they are disconnected, and send their next byte at random moments. In each phase, 99 of 100 requests of the timed client
must get their answer, with the status 200, within the limit.
"""

import asyncio
import base64
import json
import multiprocessing
import os
import random
import resource
import signal
import socket
import time
from dataclasses import dataclass

from server import Server
from world import Failure, World, write_sources

# Slow clients of each phase.
SHORT, SECONDS, LONG = 100, 18, 2000
# Time of a phase, in seconds, and what 99 of 100 requests may take, in milliseconds.
PHASE, LIMIT = 15, 200
SHORT_PHASE, SHORT_LIMIT = 1.5, 1000
STREAM = "GET /api/search?q=/alpha/&stream=1 HTTP/1.1\r\nhost: HOST\r\n\r\n"
SESSION = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"load","version":"1"}}}'
)
UPGRADE = (
    "GET / HTTP/1.1\r\nhost: HOST\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    "sec-websocket-key: KEY\r\n\r\n"
)
# Requests of the timed client, in turn.
ASKED = ["/health/", "/api/search?q=alpha", "/api/file?path=file_1.py", "/", "/api/search?q=alpha&mode=exact"]
# Pause between two requests of the timed client.
PAUSE = 0.04


@dataclass(frozen=True)
class Phase:
    """What slow clients do: the bytes that they send at once, and those that follow one by one."""

    first: str
    rest: str = ""
    # Whether they read nothing.
    is_deaf: bool = False
    # Whether they are those of `serve --ask`.
    is_ask: bool = False


PHASES = {
    "connect": Phase(""),
    "line": Phase("GE", "T / HTTP/1.1\r\n"),
    "head": Phase("GET / HTTP/1.1\r\nhost: HOST\r\n", "x-slow: 0123456789\r\n" * 50),
    "body": Phase("POST /login HTTP/1.1\r\nhost: HOST\r\ncontent-length: 900\r\n\r\nt", "oken" * 200),
    "answer": Phase(STREAM, is_deaf=True),
    "session": Phase(
        "POST /mcp HTTP/1.1\r\nhost: HOST\r\naccept: application/json, text/event-stream\r\n"
        f"content-type: application/json\r\ncontent-length: {len(SESSION)}\r\n\r\n{SESSION}"
    ),
    "handshake": Phase("GET / HTTP/1.1\r\nhost: HOST\r\nupgrade: webso", "cket\r\n" * 20, is_ask=True),
    "socket": Phase(UPGRADE, is_ask=True),
}


def campaign(run):
    multiprocessing.set_start_method("fork", force=True)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(run.wanted * 2 + 500, 1024), hard), hard))
    world = World("load")
    write_sources(world.repo, 60, 20)
    (world.repo / "notes.md").write_text("# Rent\n\nThe rent is due on the third of the month.\n")
    world.commit("begin")
    world.program("init", "--no-hooks")

    n_clients, run.wanted = run.wanted, 1 << 60
    for is_ask in (False, True):
        server = Server(world, ["--ask"], begin="ws://") if is_ask else Server(world, [])
        if is_ask:
            wait_until_ready(server)
        question = ask_socket if is_ask else ask_http
        name = "idle socket" if is_ask else "idle"
        measure(run, server, name, question, 1 if run.is_short() else 5)
        for name, phase in PHASES.items():
            if phase.is_ask == is_ask and run.goes_on():
                attacked(run, server, name, phase, question, n_clients)
        server.end()
    world.remove()


def wait_until_ready(server):
    """`serve --ask` listens before it has its index."""
    for number in range(600):
        if ask_socket(server.address, number):
            return
        time.sleep(0.1)
    raise Failure(f"questions are not answered: {''.join(server.said)}")


def attacked(run, server, name, phase, question, n_clients):
    """Times the requests beside slow clients of one phase."""
    ready = multiprocessing.Event()
    seed = run.rng.random()
    attacker = multiprocessing.Process(
        target=run_attack, args=(server.address, phase, seed, n_clients, ready), daemon=True
    )
    attacker.start()
    ready.wait(60)
    measure(run, server, name, question, SHORT_PHASE if run.is_short() else PHASE)
    attacker.terminate()
    attacker.join()


def measure(run, server, name, question, seconds):
    """Asks for some time and records the quantiles; a request without an answer takes for ever."""
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        is_answered = question(server.address, len(times))
        times.append((time.monotonic() - began) * 1000 if is_answered else float("inf"))
        time.sleep(PAUSE)
    times.sort()
    run.tried(len(times))

    p50, p99 = (quantile(times, share) for share in (0.5, 0.99))
    refused = sum(t == float("inf") for t in times)
    run.figures[name] = f"p50 {p50:.0f} ms p99 {p99:.0f} ms ({len(times)} asked, {refused} unanswered)"
    limit = SHORT_LIMIT if run.is_short() else LIMIT
    if p99 > limit:
        run.failed(f"{name}: {run.figures[name]}, more than {limit} ms")


def quantile(times, share):
    return times[min(int(len(times) * share), len(times) - 1)] if times else float("inf")


def ask_http(address, number):
    """Asks on a new connection; returns whether the status is 200."""
    try:
        with socket.create_connection(address, timeout=60) as stream:
            host = f"{address[0]}:{address[1]}"
            path = ASKED[number % len(ASKED)]
            stream.sendall(f"GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
            answer = b""
            while part := stream.recv(1 << 16):
                answer += part
        return answer.split(b" ", 2)[1] == b"200"
    except (OSError, IndexError):
        return False


def ask_socket(address, number):
    """Asks a question over a new WebSocket; returns whether it is answered."""
    try:
        with socket.create_connection(address, timeout=60) as stream:
            stream.sendall(addressed(UPGRADE, address, number))
            said = b""
            is_asked = False
            while part := stream.recv(1 << 16):
                said += part
                # A question before the end of the handshake is an error.
                if not is_asked and b"\r\n\r\n" in said:
                    stream.sendall(frame(json.dumps({"type": "query", "question": "when is the rent due?"}).encode()))
                    is_asked = True
                if b"not_ready" in said:
                    return False
                if b"stream_end" in said:
                    return b"third of the month" in said
        return False
    except OSError:
        return False


def frame(text):
    """A masked text frame of less than 126 bytes."""
    mask = os.urandom(4)
    return bytes([0x81, 0x80 | len(text)]) + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(text))


def addressed(text, address, number):
    key = base64.b64encode(number.to_bytes(16, "big")).decode()
    return text.replace("HOST", f"{address[0]}:{address[1]}").replace("KEY", key).encode()


async def slow(number, address, phase, rng, begun):
    """A client that begins a request and does not finish it, again and again."""
    first, rest = (addressed(text, address, number) for text in (phase.first, phase.rest))
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
            if phase.is_deaf:
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


def run_attack(*args):
    """The slow clients, in a process that `terminate` ends at once."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    asyncio.run(attack(*args))


async def attack(address, phase, seed, n_clients, ready):
    rng, begun = random.Random(seed), set()
    clients = [
        asyncio.create_task(slow(n, address, phase, random.Random(rng.random()), begun)) for n in range(n_clients)
    ]
    while len(begun) < n_clients:
        await asyncio.sleep(0.05)
    ready.set()
    await asyncio.gather(*clients)
