"""A client of language servers: asks for the definitions at many places."""

import json
import queue
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import unquote, urlparse


class Server:
    """A running language server with a workspace."""

    def __init__(self, command, root, options=None):
        self.root = root
        self.process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.answers, self.ids = queue.Queue(), 0
        self.settings = options or {}
        self.busy = set()
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {
            "general": {"positionEncodings": ["utf-16"]},
            "textDocument": {"definition": {"linkSupport": True}},
            "window": {"workDoneProgress": True},
            "workspace": {"configuration": True},
        }
        folder = {"uri": root.as_uri(), "name": root.name}
        self.call("initialize", processId=None, rootUri=root.as_uri(), workspaceFolders=[folder],
                  capabilities=capabilities, initializationOptions=self.settings)
        self.notify("initialized")

    def _send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _read(self):
        out = self.process.stdout
        while True:
            length = 0
            while (line := out.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                return
            message = json.loads(out.read(length))
            if "method" in message and "id" in message:
                wanted = message.get("params", {}).get("items", []) if message["method"] == "workspace/configuration" else None
                self._send({"id": message["id"], "result": [self.settings for _ in wanted] if wanted is not None else None})
            elif message.get("method") == "$/progress":
                token, value = str(message["params"]["token"]), message["params"]["value"]
                (self.busy.discard if value.get("kind") == "end" else self.busy.add)(token)
            elif "id" in message:
                self.answers.put(message)

    def notify(self, method, **params):
        self._send({"method": method, "params": params})

    def call(self, method, **params):
        self.ids += 1
        self._send({"id": self.ids, "method": method, "params": params})
        while (answer := self.answers.get(timeout=600))["id"] != self.ids:
            pass
        return answer.get("result")

    def wait(self, quiet):
        """Waits until the server has reported no work for `quiet` seconds."""
        since = time.monotonic()
        while time.monotonic() - since < quiet:
            time.sleep(0.5)
            if self.busy:
                since = time.monotonic()

    def open(self, path, language):
        text = path.read_text(errors="replace")
        document = {"uri": path.as_uri(), "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=document)

    def close(self, path):
        self.notify("textDocument/didClose", textDocument={"uri": path.as_uri()})

    def definitions(self, path, line, character):
        """Places of definitions: path, and line and character from 0."""
        found = self.call("textDocument/definition", textDocument={"uri": path.as_uri()},
                          position={"line": line, "character": character}) or []
        for location in found if isinstance(found, list) else [found]:
            uri = location.get("targetUri") or location["uri"]
            start = (location.get("targetSelectionRange") or location["range"])["start"]
            yield Path(unquote(urlparse(uri).path)), start["line"], start["character"]

    def stop(self):
        self.process.kill()


def sites_of(path, pattern):
    """Yields line, byte column and UTF-16 character, from 0, and name of the matches' first group."""
    for number, line in enumerate(path.read_text(errors="replace").split("\n")):
        for found in pattern.finditer(line):
            before = line[: found.start(1)]
            yield number, len(before.encode()), len(before.encode("utf-16-le")) // 2, found[1]
