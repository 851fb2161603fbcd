"""Clients of running servers: JSON lines over stdio, and MCP on top of them."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time

from measure import Failed, Run, peak_memory_mib


class Lines:
    """A process that reads and writes one JSON value a line."""

    def __init__(self, command, cwd, env, limit):
        self.limit = limit
        self.errors = tempfile.TemporaryFile()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        self.process = subprocess.Popen(
            list(map(str, command)), cwd=cwd, env=env, start_new_session=True, bufsize=0, **pipes
        )
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise self.ended("the server ended") from None

    def receive(self):
        end = time.monotonic() + self.limit
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise self.ended(f"no answer within {self.limit:.0f} s")
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise self.ended("the server ended")
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def request(self, message):
        self.send(message)
        return self.receive()

    def ended(self, reason):
        self.errors.seek(0)
        return Failed(reason, self.errors.read().decode(errors="replace")[-2000:])

    def memory_mib(self):
        return peak_memory_mib(self.process.pid)


class Mcp(Lines):
    """A client of an MCP server. `call` makes the name and arguments of a tool from a question."""

    def __init__(self, command, cwd, env, limit, call):
        super().__init__(command, cwd, env, limit)
        self.call = call
        self.n_requests = 0
        client = {"name": "bench", "version": "1"}
        self.rpc("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def rpc(self, method, params):
        self.n_requests += 1
        self.send({"jsonrpc": "2.0", "id": self.n_requests, "method": method, "params": params})
        while True:
            answer = self.receive()
            if answer.get("id") == self.n_requests and "method" not in answer:
                break
        if "error" in answer:
            raise Failed(f"{method} failed", json.dumps(answer["error"]))
        return answer["result"]

    def ask(self, question):
        name, arguments = self.call(question)
        result = self.rpc("tools/call", {"name": name, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in result.get("content", []))
        if result.get("isError"):
            raise Failed("the tool reported an error", text[:2000])
        return text

    def timed(self, question):
        started = time.perf_counter()
        text = self.ask(question)
        return Run(time.perf_counter() - started, output=text)
