"""A running server of the program, and requests to it."""

import http.client
import os
import subprocess
import threading
from pathlib import Path

from world import PATIENCE, Failure, started


class Server:
    """`serve` with `args` in `cwd`. What it prints is kept in `said`."""

    def __init__(self, world, args, cwd=None, begin="http://", before=()):
        command = world.command(["serve", "--port", "0", *args], cwd)
        command["args"] = [*before, *command["args"]]
        streams = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.process = started(subprocess.Popen(**command, **streams))
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if begin in line:
                host, port = line.split(begin)[1].split()[0].rstrip("/,").split(":")
                self.address = (host, int(port))
                break
        else:
            raise Failure(f"the server does not start: {''.join(self.said)}")
        threading.Thread(target=self.said.extend, args=(self.process.stdout,), daemon=True).start()

    def get(self, path, headers=None, body=None, patience=PATIENCE):
        """Status and body of the answer to a request on a new connection."""
        connection = http.client.HTTPConnection(*self.address, timeout=patience)
        try:
            return ask(connection, path, headers, body)
        except (OSError, http.client.HTTPException) as error:
            raise Failure(f"{path}: {error!r}") from None
        finally:
            connection.close()

    def memory(self):
        """Resident memory now, and at most since the start, in MiB."""
        lines = dict(line.split(":", 1) for line in self.proc("status").read_text().splitlines())
        return tuple(int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))

    def descriptors(self):
        return len(os.listdir(self.proc("fd")))

    def proc(self, name):
        return Path(f"/proc/{self.process.pid}/{name}")

    def end(self):
        """Ends the server; fails if it has ended by itself or has panicked."""
        code = self.process.poll()
        self.process.terminate()
        self.process.wait()
        panics = [line for line in self.said if "panicked" in line]
        if code is not None or panics:
            raise Failure(f"the server has ended with {code}: {''.join(panics or self.said[-5:])}")


def ask(connection, path, headers=None, body=None):
    """Status and body of the answer to a request."""
    connection.request("POST" if body is not None else "GET", path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read()
