#!/usr/bin/env python3
"""Shows what agent products make of the MCP server: benches/clients.py --products DIR [--fetch]

Starts Claude Code, Codex, Gemini CLI and opencode (npm packages, which --fetch installs into DIR) in a clone
of --repository, each with a home directory of its own in which `git codeweaver mcp --install` has registered
the server. Their model is a local stand-in: an HTTP server that speaks the Messages, Responses, Chat
Completions and generateContent interfaces, asks for the calls of STEPS one after the other, and records what
it is sent. Between a product and the server, a program named `git-codeweaver` records the messages of both.
No product is given a network address other than the stand-in, and each is told by its documented settings not
to report, update or fetch anything.

Prints a table of what reaches the model; the records are left below --out. Tokens are those of o200k, as in
agents.py.
"""

import argparse
import functools
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from agents import Counter
from stand_in.model import LOADERS, Script, Step, Turn, own_name, serve, turns
from stand_in.products import PRODUCTS, ProductRunner, run_product
from stand_in.recorder import ROOTS

ROOT = Path(__file__).resolve().parent.parent
RECORDER = ROOT / "benches/stand_in/recorder.py"
# Names of the files in which products keep their servers.
SETTINGS = {".claude.json", ".mcp.json", "config.toml", "settings.json", "opencode.json"}

QUERY = "reduce code to signatures when an answer has too many tokens"
# Stand for the paths of repositories without an index: one inside the workspace, and one outside.
OTHER, OUTSIDE = "{other}", "{outside}"
STEPS = [
    Step("find_code", ("find_code",), {"query": QUERY}),
    Step("find_code, locations only", ("find_code",), {"query": QUERY, "locations_only": True}),
    Step("find_code, explore", ("find_code",), {"query": QUERY, "explore": True}),
    Step("find_text", ("find_text",), {"pattern": "token_limit"}),
    Step("find_symbol", ("find_symbol",), {"symbol": "Limits"}),
    Step("find_code, like", ("find_code",), {"like": "crates/mcp/src/message.rs:40"}),
    Step("call_graph", ("call_graph",), {"symbol": "reject"}),
    Step("read_code, 60 lines", ("read_code",), {"places": ["crates/mcp/src/server.rs:1-60"]}),
    Step("read_code, outline", ("read_code",), {"places": ["crates/mcp/src/server.rs"], "outline": True}),
    Step("a long answer", ("find_code",), {"query": QUERY, "token_limit": 60000, "max_results": 400}),
    Step("a number as text", ("find_code",), {"query": QUERY, "max_results": "2"}),
    Step("a wrong value", ("find_code",), {"query": QUERY, "max_results": "many"}),
    Step("an unknown argument", ("find_code",), {"query": QUERY, "maximum": 3}),
    Step("a missing file", ("read_code",), {"places": ["src/none.rs"]}),
    Step("a file outside", ("read_code",), {"places": ["../../etc/passwd"]}),
    Step("a repository outside", ("find_code",), {"query": QUERY, "path": OUTSIDE}),
    Step("no index", ("find_code",), {"query": QUERY, "path": OTHER}),
    Step("create", ("manage_index",), {"action": "create", "path": OTHER}),
    Step("with the index", ("find_code",), {"query": QUERY, "path": OTHER, "locations_only": True}),
]
# A call that takes long, if the repository is large, and one after it.
LONG = [
    Step("create", ("manage_index",), {"action": "create", "path": OTHER}),
    Step("status", ("manage_index",), {"action": "status"}),
]


# ---- Runs ----


@dataclass
class Run:
    script: Script
    wire: list  # of the recorder's lines
    seconds: float
    status: object
    left: list  # files that still name the server after it has been unregistered


class Runner(ProductRunner):
    def fetch(self, products):
        """Installs the newest versions; their installation scripts are run here because npm asks before it
        does."""
        self.products.mkdir(parents=True, exist_ok=True)
        packages = [product.package for product in products]
        subprocess.run(["npm", "install", "--no-fund", "--no-audit", "--prefix", self.products, *packages], check=True)
        for product in products:
            if product.finish:
                package = self.products / "node_modules" / product.package
                subprocess.run(["node", *product.finish], cwd=package, check=True)

    def clone(self, to, indexed, env):
        source = self.options.repository
        subprocess.run(["git", "clone", "-q", "--no-local", "--depth", "50", f"file://{source}", to], check=True)
        if indexed:
            subprocess.run([self.binary, "init", "--no-hooks"], cwd=to, env=env, check=True, capture_output=True)

    def run(self, name, steps, kind, **conditions):
        """Starts the model and a product, and goes through the steps under the conditions of `play`."""
        script = Script([])
        with serve(script) as address:
            return self.play(PRODUCTS[name](address), script, steps, self.out / name / kind, **conditions)

    def play(self, product, script, steps, place, scope="user", impatient=False, interrupt=False, calls=0):
        """Runs a product through the steps, which are added to `script`, in a fresh home and fresh clones.

        `impatient` sets the time limit of a call to two seconds, `interrupt` presses Ctrl-C during the first
        call, and `calls` kills the server after so many.
        """
        shutil.rmtree(place, ignore_errors=True)
        home, repo, record = place / "home", place / "repo", place / "wire.jsonl"
        bin_dir = place / "bin"
        for directory in (home, bin_dir, place / "tmp"):
            directory.mkdir(parents=True)
        for path, content in product.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(content)
        recorder = bin_dir / "git-codeweaver"
        command = shlex.join([sys.executable, str(RECORDER), self.binary, str(record), str(calls)])
        recorder.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        recorder.chmod(0o755)
        programs = self.products / "node_modules/.bin"
        node = Path(shutil.which("node")).parent
        env = {
            "HOME": str(home),
            "PATH": f"{bin_dir}:{programs}:{node}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "TMPDIR": str(place / "tmp"),
            **product.variables,
        }
        self.clone(repo, True, env)
        others = {OTHER: repo / "other", OUTSIDE: place / "outside"}
        for other in others.values():
            self.clone(other, False, env)
        (repo / ".git/info/exclude").write_text("/other/\n")
        for step in steps:
            arguments = dict(step.arguments)
            if "path" in arguments:
                arguments["path"] = str(others[arguments["path"]])
            script.steps.append(Step(step.label, step.tools, arguments))
        before = naming_files(home, repo)
        register = [self.binary, "mcp", "--scope", scope]
        quiet = {"cwd": repo, "env": env, "check": True, "capture_output": True}
        subprocess.run([*register, "--install", product.id], **quiet)
        if impatient and isinstance(product.impatient, dict):
            env |= product.impatient
        elif impatient:
            product.impatient(home)
        started = time.monotonic()
        await_interrupt = functools.partial(await_call, record) if interrupt else None
        more = product.trusting if scope == "project" else ()
        status = run_product(product, more, repo, env, place, await_interrupt)
        seconds = time.monotonic() - started
        # The server may outlive the product by what it needs to end.
        time.sleep(2)
        subprocess.run([*register, "--uninstall", product.id], **quiet)
        with open(place / "model.jsonl", "w") as file:
            for request in script.requests:
                file.write(json.dumps(request) + "\n")
        wire = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
        files = sorted(naming_files(home, repo) - before)
        for clone in (repo, others[OUTSIDE]):
            shutil.rmtree(clone)
        return Run(script, wire, seconds, status, [str(file.relative_to(place)) for file in files])


def naming_files(home, repo):
    """The settings that name the server."""
    found = [file for place in (home, repo) for file in place.glob("**/*") if ".git" not in file.parts]
    settings = [file for file in found if file.name in SETTINGS and file.is_file()]
    return {file for file in settings if "git-codeweaver" in file.read_text()}


def await_call(record, process):
    """Waits until a call is on its way to the server, and a second more."""
    while process.poll() is None:
        if record.exists() and '"tools/call' in record.read_text().replace("\\", ""):
            time.sleep(1)
            return
        time.sleep(0.1)


# ---- The report ----


def parsed(wire, side):
    for entry in wire:
        if entry["from"] == side:
            try:
                yield json.loads(entry["line"])
            except ValueError:
                continue


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def squeezed(text):
    return "".join(text.split()).replace("\\n", "").replace("\\", "")


def describe(run, count):
    """The facts of a run, as (property, value)."""
    yield "exit status", f"{run.status} after {run.seconds:.0f} s"
    client = list(parsed(run.wire, "client"))
    server = list(parsed(run.wire, "server"))
    hello = next(filter(None, map(greeting, client)), None)
    if hello is None:
        yield "handshake", "NONE: the product did not start the server"
        return
    yield "protocol", hello["protocolVersion"]
    yield "capabilities", ", ".join(sorted(hello["capabilities"])) or "none"
    methods = [m["method"] for m in client if "method" in m]
    yield "methods", ", ".join(f"{m} ×{methods.count(m)}" for m in sorted(set(methods)))
    asked = [m["method"] for m in server if "method" in m]
    yield "asked by the server", ", ".join(f"{m} ×{asked.count(m)}" for m in sorted(set(asked))) or "nothing"
    roots = next((m for m in client if m.get("id") == ROOTS), {})
    if "result" in roots:
        yield "roots", ", ".join(root["uri"] for root in roots["result"]["roots"]) or "an empty list"
    else:
        yield "roots", roots.get("error", {}).get("message", "no answer")
    start = next(parsed(run.wire, "start"), {})
    yield "server runs in", start.get("cwd", "?")
    yield "its variables", ", ".join(start.get("variables", []))
    yield "left by --uninstall", ", ".join(run.left) or "nothing"
    calls = [m for m in client if m.get("method") == "tools/call"]
    yield (
        "progress requested",
        str(sum("progressToken" in m["params"].get("_meta", {}) for m in calls)) + f" of {len(calls)}",
    )
    main = [(body, turn) for body, turn in turns(run.script) if any(own_name(tool) for tool, _ in turn.tools)]
    if not main:
        yield "tools", "NONE reach the model"
        return
    body, turn = main[-1]
    ours = [(tool, told) for tool, told in turn.tools if own_name(tool)]
    own = [tool for tool, _ in turn.tools if not own_name(tool)]
    listed = next((m["result"]["tools"] for m in server if "tools" in m.get("result", {})), [])
    yield "tools", f"{len(ours)} of {len(listed)} listed, among {len(own)} of the product"
    yield "loaded on demand", next((tool for tool in LOADERS if tool in own), "no")
    yield "longest name", max((tool for tool, _ in ours), key=len)
    same = sorted({own_name(tool) for tool, _ in ours} & set(own))
    yield "names of its own", ", ".join(same) or "none"
    yield "as the server sends", f"{count(compact(listed))} tokens"
    yield "fields of a tool", ", ".join(ours[0][1])
    welcome = next((m["result"] for m in server if "instructions" in m.get("result", {})), {})
    said = welcome.get("instructions", "")
    whole = squeezed(compact(body))
    parts = [part for part in said.split("\n") if part.strip()]
    reached = sum(squeezed(compact(part)[1:-1]) in whole for part in parts)
    yield "instructions", f"{reached} of {len(parts)} lines reach the model ({count(said)} tokens)"


def greeting(message):
    """What a client says of itself, before or since the protocol of 2026-07-28; None in other messages."""
    if message.get("method") == "initialize":
        return message["params"]
    if message.get("method") == "server/discover":
        meta = message["params"]["_meta"]
        own = "io.modelcontextprotocol/"
        return {"protocolVersion": meta[own + "protocolVersion"], "capabilities": meta[own + "clientCapabilities"]}
    return None


def results(run, count):
    """What the model got for each step: (label, tokens, what it is, first words)."""
    answers = {m["id"]: m for m in parsed(run.wire, "server") if "id" in m and "method" not in m}
    calls = [m for m in parsed(run.wire, "client") if m.get("method") == "tools/call"]
    last = max((turn for _, turn in turns(run.script)), key=lambda turn: len(turn.results), default=Turn([], []))
    got = [result for result in last.results if own_name(result[0])]
    asked = [(step, tool) for step, (_, tool) in zip(run.script.steps, run.script.asked) if tool]
    for i, (step, _) in enumerate(asked):
        if i >= len(got):
            yield step.label, 0, "NO RESULT reached the model", ""
            continue
        _, text, is_error = got[i]
        call = next(
            (call for call in calls if same_arguments(call["params"].get("arguments", {}), step.arguments)), None
        )
        if call is None:
            what = ["not sent to the server"]
        else:
            calls.remove(call)
            what = compared(text, answers.get(call["id"], {}))
            if call["params"].get("arguments", {}) != step.arguments:
                what.append("arguments coerced")
        if is_error:
            what.append("marked as error")
        yield step.label, count(text), ", ".join(what), " ".join(text.split())[:110]


def same_arguments(sent, asked):
    return {name: str(value) for name, value in sent.items()} == {name: str(value) for name, value in asked.items()}


def compared(text, answer):
    """What of the server's answer is in `text`, the result that the model got."""
    if "result" not in answer:
        return ["protocol error" if "error" in answer else "no answer"]
    result = answer["result"]
    said = "".join(part.get("text", "") for part in result.get("content", []))
    structured = result.get("structuredContent")
    what = []
    if squeezed(said) in squeezed(text):
        what.append("text")
    # Products print numbers in their own way.
    values = [value for start in (text.find("{"),) if start >= 0 for value in [first_value(text[start:])]]
    if structured is not None and (structured in values or squeezed(compact(structured)) in squeezed(text)):
        what.append("JSON")
    if not what:
        what.append(f"CUT to {len(text)} characters, of {len(said)} text, {len(compact(structured or ''))} JSON")
    return what + (["isError"] if result.get("isError") else [])


def first_value(text):
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        return None


def report(run, count):
    """Prints what there is to say about a run; returns the tokens of each step."""
    for what, value in describe(run, count):
        print(f"  {what:<20} {value}")
    tokens = {"list of tools": tokens_of_tools(run, count)}
    for label, spent, what, words in results(run, count):
        print(f"  {label:<26} {spent:>6}  {what:<28} {words}")
        tokens[label] = spent
    for failure in run.script.failures:
        print(f"  left out: {failure}")
    return tokens


def tokens_of_tools(run, count):
    """Tokens of the server's tools, as the product tells its model about them."""
    told = [{name: what for name, what in turn.tools if own_name(name)} for _, turn in turns(run.script)]
    return sum(count(compact(what)) for what in max(told, key=len, default={}).values())


def table(tokens):
    """Prints the tokens of each step in each product, in Markdown."""
    labels = list(dict.fromkeys(label for steps in tokens.values() for label in steps))
    print(f"\n| | {' | '.join(tokens)} |\n|---|{'---:|' * len(tokens)}")
    for label in labels:
        print(f"| {label} | {' | '.join(str(steps.get(label, '')) for steps in tokens.values())} |")


def report_long(kind, run):
    """What a product does when a call takes too long, or when it is interrupted."""
    start = next((e["at"] for e in run.wire if e["from"] == "client" and "tools/call" in e["line"]), None)
    print(f"  {kind}: status {run.status} after {run.seconds:.0f} s")
    if start is None:
        return print("    no call was made")
    for entry in run.wire:
        if entry["at"] < start:
            continue
        line = entry["line"]
        if entry["from"] in ("client", "server"):
            message = json.loads(line)
            line = message.get("method") or ("answer" if "result" in message else "error")
            if line in ("notifications/progress", "notifications/message"):
                continue
        print(f"    {entry['at'] - start:6.1f} s  {entry['from']}: {str(line)[:100]}")
    progress = sum(m.get("method") == "notifications/progress" for m in parsed(run.wire, "server"))
    print(f"    {progress} notifications of progress")
    last = max((turn for _, turn in turns(run.script)), key=lambda turn: len(turn.results), default=Turn([], []))
    for _, text, is_error in last.results:
        print(f"    the model got{' an error' if is_error else ''}: {' '.join(text.split())[:160]}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--products", required=True, help="directory of the npm packages")
    options.add_argument("--fetch", action="store_true", help="install the newest versions from npm first")
    options.add_argument("--only", nargs="+", choices=PRODUCTS, default=list(PRODUCTS))
    options.add_argument("--binary", default=os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver"))
    options.add_argument("--repository", default=str(ROOT), help="repository that the products work in")
    options.add_argument("--out", default=str(Path(tempfile.gettempdir()) / "codeweaver-clients"))
    options.add_argument("--ranks", default=os.environ.get("CODEWEAVER_BENCH_O200K"), help="table of o200k")
    options.add_argument("--long", action="store_true", help="also time limits and interruption")
    options.add_argument("--no-steps", action="store_true", help="leave out the steps")
    options = options.parse_args()
    count = Counter(options.ranks)
    runner = Runner(options)
    products = {name: PRODUCTS[name]("") for name in options.only}
    if options.fetch:
        runner.fetch(products.values())
    tokens = {}
    for name, product in products.items():
        print(f"\n## {name} {runner.version(product)}\n", flush=True)
        if not options.no_steps:
            tokens[name] = report(runner.run(name, STEPS, "steps"), count)
            in_project = runner.run(name, STEPS[:1], "project", scope="project")
            is_used = any(m.get("method") == "tools/call" for m in parsed(in_project.wire, "client"))
            print(f"  in a project's file: {'used' if is_used else 'NOT used'}, left: {in_project.left or 'nothing'}")
        if options.long:
            report_long("time limit of 2 s", runner.run(name, LONG, "impatient", impatient=True))
            report_long("interrupted", runner.run(name, LONG, "interrupted", interrupt=True))
            report_long("server killed", runner.run(name, 4 * STEPS[1:2], "killed", calls=1))
    if tokens:
        table(tokens)


if __name__ == "__main__":
    main()
