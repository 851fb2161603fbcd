"""A client of the MCP server, over the standard streams of the program."""

import json
import queue
import subprocess
import threading
from pathlib import Path

from world import PATIENCE, Failure, started


class Agent:
    def __init__(self, world, cwd=None, before=()):
        command = world.command(["mcp"], cwd)
        command["args"] = [*before, *command["args"]]
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = started(subprocess.Popen(**command | streams))
        self.lines = queue.Queue()
        self.errors = []
        self.number = 0
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=self.errors.extend, args=(self.process.stderr,), daemon=True).start()
        client = {"name": "campaign", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0"} | message) + "\n"
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
        except OSError as error:
            raise Failure(f"the MCP server takes no message: {error}") from None

    def request(self, method, params, patience=PATIENCE):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            try:
                line = self.lines.get(timeout=patience)
            except queue.Empty:
                raise Failure(f"{method} {params} is not answered") from None
            if line is None:
                raise Failure(f"the MCP server has ended: {b''.join(self.errors)[-2000:]}")
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                return message

    def call(self, tool, arguments, patience=PATIENCE):
        """The text of the answer of a tool."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments}, patience)
        if "result" not in answer:
            raise Failure(f"{tool} {arguments}: {answer}")
        return "".join(part.get("text", "") for part in answer["result"]["content"])

    def peak(self):
        """The most resident memory since the start, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def end(self):
        self.process.stdin.close()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure("the MCP server does not end with its input") from None
        if code != 0 or b"panicked" in b"".join(self.errors):
            raise Failure(f"the MCP server ended with {code}: {b''.join(self.errors)[-2000:]}")
