"""Measures a catalogue of many small repositories: first index, questions, memory, a push.

The repositories are made of directories of sources, one bare repository for each, such as the crates that cargo has
unpacked. Usage:

    python3 benches/catalogue.py --program target/release/git-codeweaver --folder /tmp/catalogue-bench
        [--repositories 807] --sources ~/.cargo/registry/src/* /usr/lib/python3/dist-packages

The folder is kept, so that a second run makes no repositories again. A cold question is one of a new process
with warm file-system caches, a warm one is asked over MCP. Needs git and Linux.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

QUESTIONS = [
    "retry with exponential backoff",
    "parse an HTTP header",
    "read a file into memory",
    "decode base64",
    "spawn a thread pool",
    "where is the error converted into an exit code",
    "hash map with fast hashing",
    "compare two version numbers",
    "escape a string for JSON",
    "poll a future until it is ready",
]
GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


def git(*args, **kwargs):
    environment = {**os.environ, **GIT, **kwargs.pop("env", {})}
    return subprocess.run(["git", *map(str, args)], check=True, env=environment, capture_output=True, **kwargs)


def make_repositories(parents, folder, wanted):
    """One bare repository for each directory in `parents`, spread over ten groups."""
    children = (child for parent in parents for child in sorted(pathlib.Path(parent).expanduser().iterdir()))
    skipped = ("__pycache__", "bin")
    sources = [it for it in children if it.is_dir() and it.name not in skipped and not it.name.endswith("-info")]
    for number, source in enumerate(sources[:wanted]):
        bare = folder / f"group-{number % 10}" / f"{source.name}-{number}.git"
        if (bare / "packed").exists():
            continue
        shutil.rmtree(bare, ignore_errors=True)
        git("init", "-q", "--bare", "--initial-branch=main", bare)
        there = {"GIT_DIR": str(bare), "GIT_WORK_TREE": str(source)}
        git("-c", "core.bare=false", "add", "--all", "--force", ".", env=there, cwd=source)
        git("-c", "core.bare=false", "commit", "-q", "--allow-empty", "-m", source.name, env=there, cwd=source)
        git("-C", bare, "repack", "-q", "-a", "-d")
        (bare / "packed").touch()
    return len(sources[:wanted])


def run(*args):
    """Runs a command; returns its output, its seconds and the most memory it had in MiB."""
    started = time.monotonic()
    child = subprocess.Popen([str(arg) for arg in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = child.stdout.read()
    err = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{args} failed: {err.decode()}")
    return out, seconds, usage.ru_maxrss / 1024


def median_ms(seconds):
    return f"{1000 * statistics.median(seconds):.0f} ms (worst {1000 * max(seconds):.0f})"


class Mcp:
    """A client of the MCP server of a catalogue."""

    def __init__(self, program, catalogue):
        self.child = subprocess.Popen(
            [program, "mcp", "--catalogue", catalogue],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.number = 0
        info = {"name": "bench", "version": "1"}
        self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def call(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.child.stdout.readline())
            if answer.get("id") == self.number:
                return answer

    def ask(self, **arguments):
        """Returns the seconds that `find_code` takes."""
        started = time.monotonic()
        answer = self.call("tools/call", {"name": "find_code", "arguments": arguments})
        if answer.get("result", {}).get("isError", True):
            raise SystemExit(f"no answer: {answer}")
        return time.monotonic() - started

    def memory(self):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        mib = {name: int(fields[name].split()[0]) // 1024 for name in ("RssAnon", "RssFile")}
        return f"{mib['RssAnon']} MiB of its own, {mib['RssFile']} MiB of mapped files"


def first_match(search, question):
    """The place of the first match, `FILE:LINE`."""
    match = json.loads(run(*search, question)[0])["matches"][0]
    return f"{match['file']['path']}:{match['span'][0]}"


def push(program, catalogue, folder, bare, number, names):
    """Pushes a commit to a member; returns the seconds from its end until it is found."""
    clone = folder / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    git("clone", "-q", bare, clone)
    name = f"freshly_pushed_{number}_{int(time.time())}"
    (clone / f"{name}.rs").write_text(f"/// Pushed.\npub fn {name}() -> u32 {{ 7 }}\n")
    git("-C", clone, "add", "--force", f"{name}.rs")
    git("-C", clone, "commit", "-q", "-m", name)
    git("-C", clone, "push", "-q", "origin", "HEAD")
    started = time.monotonic()
    run(program, "catalogue", "sync", "--catalogue", catalogue, "--quiet", *names)
    synced = time.monotonic() - started
    found = json.loads(run(program, "search", "--catalogue", catalogue, "--json", name)[0])
    if not found["matches"][0]["file"]["path"].endswith(f"{name}.rs"):
        raise SystemExit(f"{name} is not found")
    return synced


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/git-codeweaver")
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--sources", nargs="+", required=True, help="directories whose children become repositories")
    parser.add_argument("--repositories", type=int, default=807)
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    members = args.folder / f"members-{args.repositories}"
    members.mkdir(parents=True, exist_ok=True)
    print(f"repositories: {make_repositories(args.sources, members, args.repositories)}")
    catalogue = args.folder / f"all-{args.repositories}.git"
    shutil.rmtree(catalogue, ignore_errors=True)
    run(program, "catalogue", "init", catalogue)
    _, seconds, _ = run(program, "catalogue", "add", "--catalogue", catalogue, "--no-sync", "-r", members)
    print(f"add: {seconds:.2f} s")
    out, seconds, mib = run(program, "catalogue", "sync", "--catalogue", catalogue, "--json")
    update = json.loads(out)["update"]
    print(f"first index: {seconds:.1f} s, {mib:.0f} MiB, {update['files']} files, {update['chunks']} chunks")
    _, seconds, mib = run(program, "catalogue", "list", "--catalogue", catalogue)
    print(f"list: {1000 * seconds:.0f} ms")
    idle = [run(program, "catalogue", "sync", "--catalogue", catalogue)[1] for _ in range(5)]
    print(f"sync without a change: {median_ms(idle)}")
    ask = (program, "search", "--catalogue", catalogue, "--json")
    cold = [run(*ask, question) for question in QUESTIONS * 2]
    print(f"cold question: {median_ms([it[1] for it in cold])}, {max(it[2] for it in cold):.0f} MiB")
    narrow = [run(*ask, "--repos", "group-3/*", question)[1] for question in QUESTIONS]
    print(f"cold question in one group: {median_ms(narrow)}")
    server = Mcp(program, catalogue)
    for question in QUESTIONS:
        server.ask(query=question)
    warm = [server.ask(query=question) for question in QUESTIONS * 5]
    print(f"warm question: {median_ms(warm)}; {server.memory()}")
    similar = [server.ask(like=place) for place in [first_match(ask, question) for question in QUESTIONS] * 6]
    print(f"warm question for similar code: {median_ms(similar[len(QUESTIONS) :])}")
    server.child.stdin.close()
    server.child.wait()
    bare = sorted(members.glob("*/*.git"))[len(list(members.glob("*/*.git"))) // 2]
    named = [push(program, catalogue, args.folder, bare, n, [bare]) for n in range(3)]
    print(f"push to searchable, by the hook: {median_ms(named)}")
    everything = [push(program, catalogue, args.folder, bare, n, []) for n in range(3)]
    print(f"push to searchable, sync of all: {median_ms(everything)}")


if __name__ == "__main__":
    main()
