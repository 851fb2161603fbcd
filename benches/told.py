#!/usr/bin/env python3
"""Shows what agent products make of what `git codeweaver agent install` tells them.

    python3 benches/told.py --products DIR --repository REPOSITORY

Starts Claude Code, Codex, Gemini CLI and opencode (npm packages, which `clients.py --fetch` installs into
DIR) in a clone of --repository, in which they are told of the program: in files of the project (`init
--agent` and `mcp --install --scope project`), in those of the user (`agent install --global` and `mcp
--install`), or by the plugin for Claude Code, installed from this checkout. The stand-in for their model asks
for their own tools: searches for --name and for what is absent, a read of the lines --place, the same in a
shell, the skill, and for a tool of the server. A program named `git-codeweaver` in front of the real one
records what hooks ask of it.

Prints for each product which of the texts are in the requests to its model, what the hook was asked and
whether its answer is in a request, what became of each call, and the files that are not as before once all
is undone. The records are left below --out. The defaults of --name and --place are for pallets/click at
2c8cd3ac.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from clients import compact, squeezed
from stand_in.model import Script, Step, own_name, serve, turns
from stand_in.products import PRODUCTS, ProductRunner, run_product

ROOT = Path(__file__).resolve().parent.parent
# The products, and what `agent install` calls the files that they read.
GUIDES = {"claude-code": "claude-code", "codex": "agents-md", "gemini": "gemini", "opencode": "agents-md"}
SCOPES = ["project", "global", "plugin"]
# Variables by which `--for-agent` becomes the default.
VARIABLES = "CLAUDECODE|CURSOR_AGENT|GEMINI_CLI|CODEX_THREAD_ID|CODEX_SANDBOX[A-Z_]*|OPENCODE"
# Files as people have them, which the texts are added to. Each has a line by which it is known in a request.
FILES = {
    "AGENTS.md": "# Rules\n\nThe rules of AGENTS.md are kind.\n",
    "GEMINI.md": "The rules of GEMINI.md have no newline",
    ".claude/settings.json": '{\n  "includeCoAuthoredBy": false\n}\n',
}
# A line of the text that every file gets.
GUIDE = "Find and read code with git-codeweaver before"
# What the skill says of itself.
DESCRIPTION = "Finds and reads code of this repository by meaning, name or text, with callers and tests."
# The name of the server in front of its tools, if the plugin brings it.
PLUGIN = "mcp__plugin_git-codeweaver_git-codeweaver"
# Words that no file has.
ABSENT = "zqx_unheard_of_parser"


def steps(name, file, first, last, skill):
    """What the stand-in asks for. Each product has some of the tools, and its own names for arguments."""

    def own(label, tools):
        return Step(label, tuple(tools), tools, is_own=True)

    def shell(label, command):
        tools = {
            "Bash": {"command": command, "description": "run it"},
            "exec_command": {"cmd": command},
            "shell_command": {"command": command},
            "shell": {"command": ["sh", "-c", command]},
            "run_shell_command": {"command": command, "description": "run it"},
            "bash": {"command": command, "description": "run it"},
        }
        return own(label, tools)

    n_lines = last - first + 1
    return [
        own(
            "search for a name",
            {
                "Grep": {"pattern": name, "output_mode": "content"},
                "grep_search": {"pattern": name},
                "search_file_content": {"pattern": name},
                "grep": {"pattern": name},
            },
        ),
        own("search for files", {"Grep": {"pattern": name, "output_mode": "files_with_matches"}}),
        own("search and count", {"Grep": {"pattern": name, "output_mode": "count"}}),
        own(
            "search for what is absent",
            {
                "Grep": {"pattern": ABSENT, "output_mode": "content"},
                "grep_search": {"pattern": ABSENT},
                "grep": {"pattern": ABSENT},
            },
        ),
        own(
            "files by name",
            {"Glob": {"pattern": f"**/*{name}*"}, "glob": {"pattern": f"**/*{name}*"}},
        ),
        own(
            "read lines",
            {
                "Read": {"file_path": file, "offset": first, "limit": n_lines},
                "read_file": {"file_path": file, "start_line": first, "end_line": last},
                "read": {"filePath": file, "offset": first, "limit": n_lines},
            },
        ),
        shell("git grep in the shell", f"git grep -n {name} -- src"),
        shell("grep in the shell", f"grep -rn {name} src | head -3"),
        shell("the shell's variables", f"env | grep -E '^({VARIABLES})=' | sort"),
        shell("our search in the shell", f"git codeweaver search {name}"),
        own(
            "a skill",
            {
                "Skill": {"skill": skill},
                "activate_skill": {"name": "git-codeweaver"},
                "skill": {"name": "git-codeweaver"},
            },
        ),
        Step("our tool", ("find_code",), {"query": name, "max_results": 2}),
    ]


# ---- Runs ----


def recorder(program, record):
    """A program that keeps the input and output of hooks, and the arguments of all calls."""
    quoted = [shlex.quote(str(path)) for path in (program, record)]
    return """#!/bin/sh
program={} record={}
[ "$1 $2" = 'agent hook' ] || exec "$program" "$@"
event=$(mktemp "$record/hook.XXXXXX")
cat > "$event"
"$program" "$@" < "$event" > "$event.out" 2> "$event.err"
status=$?
cat "$event.out"
exit $status
""".format(*quoted)


def snapshot(*places):
    """The bytes of all files below `places`, but for those of git."""
    found = {}
    for place in places:
        for file in place.rglob("*"):
            relative = file.relative_to(place.parent)
            if ".git" not in file.parts and not file.is_symlink():
                found[str(relative)] = file.read_bytes() if file.is_file() else None
    return found


class Runner(ProductRunner):
    def run(self, name, scope):
        """Starts the model and a product that is told; returns what there is to report."""
        script = Script([])
        with serve(script) as address:
            return script, self.tell(name, PRODUCTS[name](address), scope, script)

    def tell(self, name, product, scope, script):
        """Tells a product, runs it with the model of `script`, to which the steps are added, and undoes it."""
        place = self.out / name / scope
        shutil.rmtree(place, ignore_errors=True)
        home, repo, record, bin_dir = (place / part for part in ("home", "repo", "record", "bin"))
        for directory in (home, record, bin_dir, place / "tmp"):
            directory.mkdir(parents=True)
        for path, content in product.files.items():
            write(home / path, content)
        write(bin_dir / "git-codeweaver", recorder(self.binary, record), executable=True)
        if rg := self.ripgrep():
            (bin_dir / "rg").symlink_to(rg)

        programs = self.products / "node_modules/.bin"
        node = Path(shutil.which("node")).parent
        path = f"{bin_dir}:{programs}:{node}:/usr/local/bin:/usr/bin:/bin"
        # Codex starts login shells.
        write(home / ".profile", f"PATH={shlex.quote(path)}\n")
        env = {
            "HOME": str(home),
            "PATH": path,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "TMPDIR": str(place / "tmp"),
            **product.variables,
        }
        source = self.options.repository
        subprocess.run(["git", "clone", "-q", "--no-local", "--depth", "50", f"file://{source}", repo], check=True)
        for path, content in FILES.items():
            write(repo / path, content)

        def ours(*arguments):
            run = subprocess.run([self.binary, *arguments], cwd=repo, env=env, capture_output=True, text=True)
            if run.returncode:
                raise SystemExit(f"{' '.join(arguments)}: {run.stdout}{run.stderr}")
            return run.stdout

        original = snapshot(home, repo)
        if scope == "plugin":
            ours("init", "--no-hooks")
            for arguments in (["marketplace", "add", str(ROOT)], ["install", "git-codeweaver"]):
                subprocess.run(["claude", "plugin", *arguments], cwd=repo, env=env, check=True, capture_output=True)
        elif scope == "global":
            ours("init", "--no-hooks")
            ours("agent", "install", "--global", "--yes", GUIDES[name])
            ours("mcp", "--install", product.id)
        else:
            ours("init", "--no-hooks", "--agent")
            ours("mcp", "--scope", "project", "--install", product.id)
        # What the product itself has written for a plugin is not ours.
        told = original if scope == "plugin" else snapshot(home, repo)

        file, _, lines = self.options.place.partition(":")
        first, last = (int(line) for line in lines.split("-"))
        skill = "git-codeweaver:git-codeweaver" if scope == "plugin" else "git-codeweaver"
        script.steps += steps(self.options.name, str(repo / file), first, last, skill)
        started = time.monotonic()
        more = [*(product.trusting if scope == "project" else ()), *product.permitting]
        status = run_product(product, [*more, PLUGIN] if scope == "plugin" else more, repo, env, place)
        seconds = time.monotonic() - started
        with open(place / "model.jsonl", "w") as out:
            out.writelines(json.dumps(request) + "\n" for request in script.requests)

        after = snapshot(home, repo)
        if scope == "plugin":
            for arguments in (["uninstall", "git-codeweaver"], ["marketplace", "remove", "git-codeweaver"]):
                subprocess.run(["claude", "plugin", *arguments], cwd=repo, env=env, check=True, capture_output=True)
        else:
            ours("mcp", "--scope", "user" if scope == "global" else "project", "--uninstall", product.id)
        if scope == "global":
            ours("agent", "uninstall", "--global", "--yes", GUIDES[name])
        ours("deinit")
        left = differences(original, told, after, snapshot(home, repo))
        shutil.rmtree(repo)
        return {"status": status, "seconds": seconds, "left": left, "record": record}

    def ripgrep(self):
        """opencode searches with it; Codex brings it."""
        packaged = self.products.glob("node_modules/@openai/*/vendor/*/codex-path/rg")
        return shutil.which("rg") or next(packaged, None)


def write(file, content, executable=False):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    if executable:
        file.chmod(0o755)


def differences(original, told, after, now):
    """Files that are not as before, but for those that only the product has changed."""
    for path in sorted(set(original) | set(now)):
        if original.get(path, "absent") == now.get(path, "absent"):
            continue
        # What the product wrote is as it left it, and says nothing of ours.
        is_ours = told.get(path, "absent") != original.get(path, "absent")
        by_product = after.get(path, "absent") != told.get(path, "absent")
        # A directory of ours stays if the product has put something into it.
        is_shared = now.get(path, "absent") is None and any(other.startswith(path + "/") for other in now)
        if (is_ours or path in original or not by_product) and not is_shared:
            yield path + (" (the product has changed it)" if by_product else "")


# ---- The report ----


def report(script, run):
    """Prints what there is to say about a run."""
    print(f"  {'exit status':<28} {run['status']} after {run['seconds']:.0f} s, {len(script.requests)} requests")
    played = list(turns(script))
    first = next((body for body, turn in played if len(turn.tools) > 2), None)
    if first is None:
        print("  NO request with tools has reached the model")
        return
    last, turn = max(played, key=lambda one: len(one[1].results))
    names = [name for name, _ in turn.tools]
    print(f"  {'its tools':<28} {', '.join(name for name in names if not own_name(name))}")
    print(f"  {'tools of the server':<28} {', '.join(filter(None, map(own_name, names))) or 'NONE'}")

    for when, body in (("first", first), ("last", last)):
        text = compact(body)
        n_guides = text.count(GUIDE)
        read = [path for path in FILES if f"The rules of {path}" in text] or ["none of the files"]
        print(f"  {f'in the {when} request':<28} the text {n_guides} times, of the repository {', '.join(read)}")
    skill = DESCRIPTION in compact(first)
    print(f"  {'the skill':<28} {'offered' if skill else 'not offered'}")

    events = []
    for event in sorted(run["record"].glob("hook.??????"), key=lambda file: file.stat().st_mtime_ns):
        said = Path(f"{event}.out").read_text()
        errors = Path(f"{event}.err").read_text()
        events.append((json.loads(event.read_text()), said, errors))
    print(f"  {'hook':<28} run {len(events)} times, answered {sum(bool(said) for _, said, _ in events)} times")
    whole = squeezed(compact(last))
    for event, said, errors in events:
        text = json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""
        where = "" if not text else "REACHED " if squeezed(compact(text)[1:-1]) in whole else "LOST "
        print(f"    {event.get('tool_name', '?'):<26} {where}{' '.join((text or errors).split())[:150]}")

    results = list(turn.results)
    for label, tool in script.asked:
        if tool is None:
            continue
        # Tools that load others are asked for in between.
        while results and results[0][0].split("/")[-1] != tool.split("/")[-1]:
            results.pop(0)
        _, text, is_error = results.pop(0) if results else (tool, "NO RESULT", False)
        print(f"  {label:<28} {tool}{' ERROR' if is_error else ''}: {' '.join(text.split())[:150]}")
    lacking = [label for label, tool in script.asked if tool is None]
    print(f"  {'has no tool for':<28} {', '.join(lacking) or 'nothing'}")
    print(f"  {'not as before':<28} {', '.join(run['left']) or 'nothing'}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--products", required=True, help="directory of the npm packages, see clients.py --fetch")
    options.add_argument("--only", nargs="+", choices=GUIDES, default=list(GUIDES))
    options.add_argument("--binary", default=os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver"))
    options.add_argument("--repository", required=True, help="repository that the products work in")
    options.add_argument("--name", default="get_help_option", help="name that is searched for")
    options.add_argument("--place", default="src/click/core.py:1192-1225", help="lines that are read")
    options.add_argument("--scopes", nargs="+", choices=SCOPES, default=SCOPES, help="where the texts are")
    options.add_argument("--out", default=str(Path(tempfile.gettempdir()) / "codeweaver-told"))
    options = options.parse_args()
    runner = Runner(options)
    for name in options.only:
        version = runner.version(PRODUCTS[name](""))
        for scope in options.scopes:
            if scope == "plugin" and name != "claude-code":
                continue
            print(f"\n## {name} {version}, {scope}\n", flush=True)
            report(*runner.run(name, scope))


if __name__ == "__main__":
    main()
