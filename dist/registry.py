"""A registry on this machine that serves the artefacts of a folder as PyPI and npm would serve them.

Only what installers ask for: the index of PEP 503 at /simple/, and the documents of packages of npm at /.
"""

import base64
import hashlib
import json
import tarfile
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Registry:
    """Serves `folder` on a free port of the loopback interface until the context ends."""

    def __init__(self, folder):
        self.folder = Path(folder)
        handler = type("Handler", (Handler,), {"registry": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.packages = dict(map(self.npm_document, sorted(self.folder.glob("*.tgz"))))

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def npm_document(self, path):
        """The name of a package and what the registry says of it."""
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        contents = path.read_bytes()
        manifest["dist"] = {
            "tarball": f"{self.address}/files/{path.name}",
            "shasum": hashlib.sha1(contents, usedforsecurity=False).hexdigest(),
            "integrity": f"sha512-{base64.b64encode(hashlib.sha512(contents).digest()).decode()}",
        }
        version = manifest["version"]
        document = {
            "name": manifest["name"],
            "dist-tags": {"latest": version},
            "versions": {version: manifest},
        }
        return manifest["name"], document

    def wheels(self):
        """The page of PEP 503 of the one project."""
        links = []
        for path in sorted(self.folder.glob("*.whl")):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            links.append(f'<a href="/files/{path.name}#sha256={digest}">{path.name}</a><br>')
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"

    def answer(self, path):
        """(type, bytes) at a path, or None."""
        path = urllib.parse.unquote(path)
        if path == "/simple/git-codeweaver/":
            return "text/html", self.wheels().encode()
        if path.startswith("/files/"):
            file = self.folder / Path(path).name
            return ("application/octet-stream", file.read_bytes()) if file.is_file() else None
        document = self.packages.get(path.removeprefix("/"))
        return ("application/json", json.dumps(document).encode()) if document else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        kind, contents = self.registry.answer(urllib.parse.urlsplit(self.path).path) or (None, b"not found")
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(contents)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(contents)

    def log_message(self, *_):
        pass
