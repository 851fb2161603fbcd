"""Hostile repositories: every command, tool and endpoint in repositories that are made to do harm.

Tools and endpoints answer within their time limit and a tenth of it, in 256 MiB above what they take anyway. Errors say
why and what to do. Nothing outside is read or changed, no command of the repository runs, and no hidden character is
printed.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

from agent import Agent
from repositories import HARMLESS, HIDDEN, REFUSED, REPOSITORIES, SECRET
from server import Server
from world import PATIENCE, Failure, World

SHORT, SECONDS, LONG = 1, 14, 1
# Seconds that a request may take, and MiB above what the process takes for a harmless one.
BUDGET, MEMORY = 33, 256
# Factor of all sizes in the short form.
SMALL = 0.02
BAD = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in HIDDEN).replace("\\", "") + "]")
COMMANDS = [
    ["search", "WORD"],
    ["search", "-o", "json", "WORD"],
    ["search", "--mode", "exact", "WORD"],
    ["search", "--mode", "exact", "--rev", "HEAD", "-o", "json", "WORD"],
    ["search", "--mode", "regex", "WORD.*"],
    ["graph", "references", "SYMBOL"],
    ["graph", "callers", "SYMBOL"],
    ["outline", "FILE"],
    ["read", "FILE"],
    ["read", "--rev", "HEAD", "FILE"],
    ["similar", "FILE:1"],
    ["duplicates"],
    ["ask", "what is WORD?"],
    ["status", "--files"],
    ["doctor"],
    ["index"],
    ["verify"],
    ["gc"],
]
TOOLS = [
    ("find_code", {"query": "WORD"}),
    ("find_text", {"pattern": "WORD"}),
    ("find_text", {"pattern": "WORD", "rev": "HEAD"}),
    ("find_symbol", {"symbol": "SYMBOL"}),
    ("find_symbol", {"symbol": "*"}),
    ("ask_docs", {"question": "what is WORD?"}),
    ("find_similar", {"file": "FILE", "line": 1}),
    ("find_similar", {}),
    ("file_outline", {"file": "FILE"}),
    ("call_graph", {"symbol": "SYMBOL", "direction": "callers"}),
    ("call_graph", {"symbol": "SYMBOL", "direction": "callees"}),
    ("call_graph", {"symbol": "SYMBOL", "direction": "references"}),
    ("read_code", {"file": "FILE"}),
    ("read_code", {"file": "FILE", "rev": "HEAD"}),
    ("read_code", {"places": ["SYMBOL", "FILE", ".codeweaver/nonce", "../outside/secret.rs"]}),
    ("list_files", {}),
    ("list_files", {"rev": "HEAD", "depth": 3}),
    ("changes", {}),
    ("changes", {"show": "diff"}),
    ("changes", {"show": "commits"}),
    ("changes", {"from": "HEAD~1", "show": "diff"}),
    ("changes", {"paths": ["FILE"]}),
    ("changes", {"symbol": "SYMBOL"}),
    ("manage_index", {"action": "status"}),
]
PATHS = [
    "api/search?q=WORD",
    "api/search?q=WORD&mode=exact",
    "api/search?q=WORD&mode=exact&rev=HEAD&stream=1",
    "api/search?q=WORD&mode=symbol",
    "api/similar?path=FILE&line=1",
    "api/file?path=FILE",
    "api/file?path=FILE&rev=HEAD",
    "api/file?path=../outside/secret.rs",
    "api/outline?path=FILE",
    "api/graph?symbol=SYMBOL",
    "api/ask?q=what+is+WORD",
    "api/history?path=FILE",
    "api/history?symbol=SYMBOL",
    "api/history",
    "api/files",
    "api/files?rev=HEAD",
    "api/status",
    "files",
    "files?path=src&rev=HEAD",
    "status",
    "skipped",
    "search?q=WORD",
    "symbol?symbol=SYMBOL",
    "file?path=FILE",
    "history?path=FILE",
    "health/",
]


class Hostile(World):
    """A repository with an index, a secret beside it, and a file that its commands would create."""

    def __init__(self, rng):
        super().__init__("hostile")
        self.rng = rng
        self.outside = self.root / "src" / "outside"
        self.outside.mkdir()
        (self.outside / "secret.rs").write_text(f"/// Secret.\npub fn {SECRET}() {{ open_the_vault() }}\n")
        self.canary = self.root / "canary"
        for name, text in HARMLESS.items():
            path = self.repo / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.commit("begin")
        self.program("init", "--no-hooks")

    def head(self):
        return (self.repo / ".git/refs/heads/main").read_text().strip()

    def tree(self, lines):
        """The oid of the tree with these lines of `git ls-tree`; its objects need not exist."""
        return self.git("mktree", "--missing", text="".join(lines))

    def commit_entries(self, lines):
        """Commits further entries of the root, which are not in the working tree."""
        tree = self.tree([self.git("ls-tree", "HEAD") + "\n", lines])
        commit = self.git("commit-tree", "-p", "HEAD", "-m", "odd", tree)
        self.git("update-ref", "HEAD", commit)

    def contents(self):
        """Everything outside of the repository that must stay as it is."""
        return sorted((str(path), path.read_bytes()) for path in self.outside.rglob("*") if path.is_file())


class Asked:
    """Requests in one hostile repository, each of which is a try."""

    def __init__(self, run, world, repository, names):
        self.run, self.world, self.what = run, world, repository.__name__.replace("_", " ")
        self.refusal = REFUSED.get(repository)
        self.names = dict(zip(("FILE", "SYMBOL", "WORD"), names))
        self.slowest = (0, "")

    def filled(self, value, form=str):
        """`value` with the file, the symbol and the word."""
        if isinstance(value, dict):
            return {key: self.filled(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.filled(part) for part in value]
        if not isinstance(value, str):
            return value
        for key, name in self.names.items():
            value = value.replace(key, form(name))
        return value

    def attempt(self, what, work):
        """One try; a failure is recorded and ends only this."""
        if not self.run.goes_on():
            return
        began = time.monotonic()
        try:
            work()
            took = time.monotonic() - began
            if took > BUDGET and isinstance(what, tuple):
                raise Failure(f"took {took:.0f} s")
        except Failure as failure:
            self.run.failed(f"{self.what}: {str(what)[:300]}: {str(failure)[:3000]}\n  kept in {self.world.root}")
        took = time.monotonic() - began
        if isinstance(what, tuple):
            self.slowest = max(self.slowest, (took, str(what)[:100]))
        self.run.tried()

    def check_text(self, text, kept=""):
        """Fails if a text has hidden characters, or shows what is outside."""
        hidden = next((c for c in BAD.findall(text) if c not in "\n" + kept), None)
        if hidden:
            at = text.index(hidden)
            raise Failure(f"U+{ord(hidden):04X} after {text[max(0, at - 100) : at]!r}")
        if any(line.startswith("forged line") for line in text.splitlines()):
            raise Failure("a name has begun a line")
        if "open_the_vault" in text:
            raise Failure(f"the secret is shown: {text[:1000]}")

    def check_outside(self, before):
        if self.world.canary.exists():
            self.run.failed(f"{self.what}: a command of the repository was run\n  kept in {self.world.root}")
        if self.world.contents() != before:
            self.run.failed(f"{self.what}: something outside was changed\n  kept in {self.world.root}")


def campaign(run):
    scale = SMALL if run.is_short() else 1
    idle = memory_of_harmless(run)
    repositories = run.rng.sample(REPOSITORIES, len(REPOSITORIES))
    rounds, run.wanted = run.wanted, 1 << 60
    peaks, slowest, seen = {}, (0, ""), 0
    for repository in repositories * rounds:
        if not run.goes_on():
            break
        world = Hostile(run.rng)
        before = world.contents()
        asked = Asked(run, world, repository, repository(world, scale))
        n_failures = len(run.failures)
        peak = [use_tools(asked, idle), use_server(asked, idle), use_commands(asked, idle)]
        asked.check_outside(before)
        peaks[asked.what] = max(peak)
        slowest = max(slowest, (*asked.slowest, asked.what))
        seen += 1
        if len(run.failures) == n_failures:
            world.remove()
    run.figures["repositories"] = seen
    run.figures["most memory above idle"] = f"{max(peaks.values(), default=0):.0f} MiB ({max(peaks, key=peaks.get)})"
    run.figures["slowest request"] = f"{slowest[0]:.1f} s ({slowest[-1]}: {slowest[1]})"


def memory_of_harmless(run):
    """MiB that the three kinds of processes take where there is no harm."""
    world = Hostile(run.rng)
    agent = Agent(world)
    agent.call("find_code", {"query": "header"})
    idle = {"tools": agent.peak()}
    agent.end()
    server = Server(world, [])
    server.get("/api/search?q=header")
    idle["server"] = server.memory()[1]
    server.end()
    idle["commands"] = max(measured(world, ["search", "header"])[3], measured(world, ["index", "--reindex"])[3])
    world.remove()
    return idle


def exceeded(asked, who, peak, idle):
    """Records a process that has taken too much; returns how much it took above the harmless."""
    if peak - idle > MEMORY:
        asked.run.failed(f"{asked.what}: {who} took {peak:.0f} MiB, {idle:.0f} MiB if idle")
    return peak - idle


def use_commands(asked, idle):
    highest = 0
    for args in asked.filled(COMMANDS):
        result = []
        asked.attempt(" ".join(args), lambda args=args, result=result: use_command(asked, args, result))
        if result:
            highest = max(highest, exceeded(asked, f"{args}", result[0], idle["commands"]))
    return highest


def use_command(asked, args, result):
    code, text, said, peak = measured(asked.world, args)
    result.append(peak)
    if code not in (0, 1, 2) or "panicked" in said:
        raise Failure(f"ended with {code}: {said or text}")
    if code == 2 and not all(f"  {label}: " in said for label in ("why", "fix")):
        raise Failure(f"an error without a reason or advice: {said}")
    # Matching lines are printed to programs as they are.
    is_raw = "exact" in args or "regex" in args
    asked.check_text(said if is_raw and "json" not in args else text + said, "\t")


# Starts a program, and writes the most memory of it to a file. A process counts the memory of the one that it was
# forked from, and this one may hold large answers.
LAUNCHER = """
import os, sys
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(usage.ru_maxrss))
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""


def measured(world, args):
    """Exit code, both outputs, and the most resident memory in MiB of a run of the program."""
    with (
        tempfile.TemporaryFile() as printed,
        tempfile.TemporaryFile() as said,
        tempfile.NamedTemporaryFile("r") as usage,
    ):
        command = world.command(args)
        command["args"] = [sys.executable, "-ISc", LAUNCHER, usage.name, *command["args"]]
        child = subprocess.Popen(**command, stdout=printed, stderr=said, start_new_session=True)
        try:
            code = child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise Failure("hangs") from None

        outputs = []
        for file in (printed, said):
            file.seek(0)
            outputs.append(file.read().decode(errors="replace"))
        return code, *outputs, int(usage.read()) / 1024


def use_tools(asked, idle):
    try:
        agent = Agent(asked.world)
    except Failure as failure:
        return refused(asked, failure)

    highest = 0
    for tool, arguments in TOOLS:
        arguments = asked.filled(arguments)
        asked.attempt((tool, arguments), lambda a=arguments, t=tool: use_tool(asked, agent, t, a))
        if agent.process.poll() is not None:
            return highest
        highest = max(highest, agent.peak())
    asked.attempt("the end of the MCP server", agent.end)
    return exceeded(asked, "the MCP server", highest, idle["tools"])


def use_tool(asked, agent, tool, arguments):
    text = agent.call(tool, arguments)
    if not text:
        raise Failure("no text")
    asked.check_text(text, "\t")


def use_server(asked, idle):
    try:
        server = Server(asked.world, [])
    except Failure as failure:
        return refused(asked, failure)

    for path in PATHS:
        path = asked.filled(path, quote)
        asked.attempt(("GET", path), lambda path=path: use_path(asked, server, path))
    peak = server.memory()[1] if server.process.poll() is None else 0
    asked.attempt("the end of the server", server.end)
    return exceeded(asked, "the server", peak, idle["server"])


def use_path(asked, server, path):
    status, body = server.get(f"/{path}")
    text = body.decode(errors="replace")
    is_refusal = asked.refusal is not None and asked.refusal in text
    if status >= 500 and status != 503 and not is_refusal:
        raise Failure(f"{status}: {text[:1000]}")
    if status >= 400 and path.startswith("api/") and not json.loads(text).get("why"):
        raise Failure(f"{status} without a reason: {text[:1000]}")
    # Hidden fields go back to the server, and a command to copy quotes what it has.
    text = re.sub(r'<input type="hidden"[^>]*>', "", text)
    text = re.sub(r'<pre id="copy-command".*?</pre>', "", text, flags=re.DOTALL)
    asked.check_text(text, "\t")


def refused(asked, failure):
    """A server that does not start must say why and what to do."""
    asked.run.tried()
    if not all(label in str(failure) for label in ("why: ", "fix: ")):
        asked.run.failed(f"{asked.what}: {failure}\n  kept in {asked.world.root}")
    return 0
