#!/usr/bin/env python3
"""Counts what coding agents spend for an answer: benches/agents.py --repositories DIR [--fetch]

Runs the tasks of benches/agents/ (a question about a pinned commit of a public repository, with an answer that can be
checked) by three policies and counts their calls, the tokens that they send and receive, and whether the facts of the
answer have been received:

  ours    the plan of the task's kind in plans.toml, as calls of the MCP server of --binary, over stdio
  expert  the calls of that server that are written in the task
  grep    the shell commands that are written in the task: grep, git and reading of ranges

Tokens are those of o200k (`tiktoken` from PyPI). Where its table cannot be downloaded, --ranks names the file
`dist/ranks/o200k_base.js` of the npm package `js-tiktoken`. benches/agents/README.md describes the format of the tasks, the
rules for plans and --agent.
"""

import argparse
import base64
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent / "agents"
SETS = ("tuning", "kept_aside")
# The policies that call the server, and the one to which they are compared.
OURS, OTHER = ("ours", "expert"), "grep"
# What a task gives to the plan of its kind. An argument with one of them is left out if the task does not
# have it.
WORDS = ("question", "query", "symbol", "within", "text", "file", "from", "to")
# An expert's git shows the function around a match in every language.
ATTRIBUTES = "*.c *.h *.cc *.cpp=cpp *.py=python *.rb=ruby *.rs=rust *.go=golang *.php=php *.ex *.exs=elixir *.kt=kotlin *.java=java *.cs=csharp"


class Counter:
    """Counts tokens of o200k."""

    def __init__(self, ranks):
        import tiktoken

        self.encoding = read_ranks(Path(ranks), tiktoken) if ranks else tiktoken.get_encoding("o200k_base")

    def __call__(self, text):
        return len(self.encoding.encode(text, disallowed_special=()))


def read_ranks(file, tiktoken):
    """The encoding of a table of js-tiktoken: lines of a first rank and the base64 of tokens of ascending
    rank."""
    source = file.read_text()
    table = json.loads(source[source.index("{") : source.rindex("}") + 1])
    ranks = {}
    for line in table["bpe_ranks"].splitlines():
        _, first, *tokens = line.split(" ")
        ranks |= {base64.b64decode(token): int(first) + n for n, token in enumerate(tokens)}
    return tiktoken.Encoding(
        "o200k_base", pat_str=table["pat_str"], mergeable_ranks=ranks, special_tokens=table["special_tokens"]
    )


class Server:
    """An MCP server of one repository over stdio."""

    def __init__(self, binary, tree):
        self.process = subprocess.Popen(
            [binary, "--project", str(tree), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.requests = 0
        client = {"name": "benches/agents.py", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        )
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        """The result of a request, or its error as `{"error": …}`. Notifications in between are dropped."""
        self.requests += 1
        self.send({"id": self.requests, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.requests:
                return answer.get("result") or {"error": answer.get("error")}
        sys.exit(f"the server ended during {method}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Tree:
    """A clone at the pinned commit: its files and their lines."""

    def __init__(self, root):
        self.root = root
        self.files = set(git(root, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")) - {""}

    def lines(self, path, first, last):
        """The lines of a range of a file that are long enough to be told from others."""
        text = (self.root / path).read_text(errors="replace").splitlines()[first - 1 : last]
        return [line.strip() for line in text if len(line.strip()) >= 12]

    def paths_in(self, line, folder=""):
        """The files that a line names, with the offset of each; a name alone is one of `folder`, or of the
        folder that the line names before it."""
        context = re.match(r"(.+?)[-=](\d+)[-=]", line)
        if context and context[1] in self.files:
            return [(context[1], 0)]
        found = []
        for hit in re.finditer(r"[\w./+@-]+", line):
            token = hit[0].removeprefix("a/").removeprefix("b/")
            if token.endswith("/"):
                folder = token
            found += [(name, hit.start()) for name in (token, folder + token) if name in self.files][:1]
        return found


class Policy:
    """Calls of one task and what they returned."""

    def __init__(self, task, count, words=()):
        self.count = count
        self.question = task["question"]
        self.words = {word: task[word] for word in words if word in task}
        self.taken = {}
        self.answers = []
        self.calls = self.sent = self.received = self.structured = 0

    def record(self, call, text, structured=None):
        self.answers.append((call, text))
        self.calls += 1
        self.sent += self.count(call)
        self.received += self.count(text)
        self.structured += self.count(structured if structured is not None else text)

    def take(self, step, text):
        """Keeps the named groups of a match of a step's expression in its answer: of the first, or with
        `closest` of those, at most that many, whose last group shares most letters of words with the
        question."""
        hits = list(re.finditer(step["take"], text, re.MULTILINE)) if "take" in step else []
        if "closest" in step:
            asked = stems(self.question)
            hits.sort(key=lambda hit: -nearness(stems(last_group(hit)), asked))
        for hit in hits if "closest" in step else hits[:1]:
            for name, value in hit.groupdict().items():
                values = self.taken.setdefault(name, [])
                if value and value not in values and len(values) < step.get("closest", 1):
                    values.append(value)

    def fill(self, template):
        """The template with the values of `{name}`, `{name+5}` and `{name-5}`. KeyError for a word that the
        task lacks."""

        def value(hit):
            known = self.known(hit[1])
            return str(int(known) + int(hit[2])) if hit[2] else known

        return re.sub(r"\{([a-z_]+)([+-]\d+)?\}", value, template)

    def known(self, name):
        if self.taken.get(name):
            return self.taken[name][0]
        if name in WORDS and self.words:
            return self.words[name]
        raise Skip

    def fill_list(self, templates):
        """The templates filled; one that is nothing but `{name}` gives all values that were taken."""
        out = []
        for template in templates:
            name = template[1:-1]
            out += self.taken[name] if self.taken.get(name) and template == f"{{{name}}}" else [self.fill(template)]
        return out


def stems(text):
    """The beginnings of the words of a text; `setExpireAt` and `set_expire_at` are three words."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    return {part.lower()[:5] for part in parts if len(part) > 2}


def last_group(hit):
    return next((group for group in reversed(hit.groups()) if group), "")


def nearness(words, asked):
    """Number of letters of the words that begin one of the asked words, or begin with one."""
    return sum(max((min(len(word), len(one)) for one in asked if one.startswith(word) or word.startswith(one)), default=0) for word in words)


class Skip(Exception):
    """A step cannot be made, because an earlier answer did not have what it needs."""


def git(root, *command):
    done = subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, errors="replace")
    return done.stdout


def run_grep(policy, task, tree):
    """Runs the shell commands of a task."""
    for step in task["grep"]:
        if step.get("if_open") and not missing(task, tree, policy.answers):
            continue
        try:
            command = policy.fill(step["run"])
        except Skip:
            continue
        done = subprocess.run(
            ["bash", "-c", command], cwd=tree.root, env=shell_environment(), capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if "command not found" in done.stderr:
            sys.exit(f"agents.py: {task['id']}: {done.stderr.strip()}")
        text = done.stdout + done.stderr
        policy.take(step, text)
        policy.record(command, text)
    return policy


def shell_environment():
    settings = {"core.attributesFile": str(attributes_file()), "core.pager": "cat"}
    pairs = {f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(settings)}
    pairs |= {f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(settings.values())}
    return os.environ | pairs | {"GIT_CONFIG_COUNT": str(len(settings)), "NO_COLOR": "1"}


def attributes_file():
    file = Path(tempfile.gettempdir()) / "codeweaver-bench-attributes"
    names, lines = [], []
    for word in ATTRIBUTES.split():
        name, _, driver = word.partition("=")
        names.append(name)
        if driver:
            lines += [f"{name} diff={driver}" for name in names]
            names = []
    file.write_text("\n".join(lines) + "\n")
    return file


def run_tools(steps, policy, task, tree, server):
    """Makes the calls of a plan."""
    for step in steps:
        if step.get("if_open") and not missing(task, tree, policy.answers):
            continue
        if any(word not in policy.words for word in step.get("with", [])):
            continue
        if any(word in policy.words or word in policy.taken for word in step.get("without", [])):
            continue
        try:
            arguments = filled(policy, step["arguments"])
        except Skip:
            continue
        call = {"name": step["tool"], "arguments": arguments}
        result = server.request("tools/call", call)
        text = "\n".join(part.get("text", "") for part in result.get("content", [])) or json.dumps(result)
        structured = result.get("structuredContent")
        policy.take(step, located(tree, compact(call), text) if step.get("located") else text)
        policy.record(compact(call), text, compact(structured) if structured else None)
    return policy


def filled(policy, arguments):
    """Arguments with their templates filled; those with a word that the task does not have are left out."""
    out = {}
    for name, value in arguments.items():
        try:
            if isinstance(value, list):
                out[name] = policy.fill_list(value)
            else:
                out[name] = number(value, policy.fill(value)) if isinstance(value, str) else value
        except KeyError:
            continue
    return out


def number(template, text):
    """What a template gave: a number, if it is nothing but a placeholder of one."""
    return int(text) if text.isdecimal() and re.fullmatch(r"\{[^{}]*\}", template) else text


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def missing(task, tree, answers):
    """The facts of the answer that have not been received."""
    located = [line for call, text in answers for line in locate(tree, call, text)]
    whole = "\n".join(text for _, text in answers)
    return [fact for fact in task["answer"] if not holds(fact, tree, located, whole)]


def located(tree, call, text):
    """The lines of an answer that do not begin with their file, with it: `FILE:LINE`."""
    lines = ((paths - {None}, line) for paths, line in locate(tree, call, text))
    return "\n".join(f"{paths.pop()}:{line}" if len(paths) == 1 else line for paths, line in lines)


def locate(tree, call, text):
    """Each line of an answer with the files that it is about: those that it names, else the last one that
    began a line or whose number (`#2`) did, else the one that the call names."""
    named = {path for path, _ in tree.paths_in(call)}
    current, folder, numbered = named.pop() if len(named) == 1 else None, "", {}
    for line in text.splitlines():
        if re.fullmatch(r"[\w./+@-]+/", line):
            folder = line
        elif re.match(r"[\w./+@-]+[./]", line):
            folder = ""
        paths = tree.paths_in(line, folder)
        if paths and paths[0][1] <= 14 and not line[0].isdigit():
            current = paths[0][0]
        number = re.match(r"#\d+\b", line)
        if number:
            current = numbered.setdefault(number[0], current)
        yield {path for path, _ in paths} | {current}, line


def holds(fact, tree, located, whole):
    if fact.startswith("="):
        return fact[1:] in whole
    path, _, needles = fact.partition(":")
    lines = [line for paths, line in located if path in paths]
    if not needles:
        return bool(lines)
    return any(shows(needle.strip(), path, tree, lines) for needle in needles.split(" | "))


def shows(needle, path, tree, lines):
    span = re.fullmatch(r"(\d+)(?:-(\d+))?", needle)
    if span:
        first, last = int(span[1]), int(span[2] or span[1])
        wanted = tree.lines(path, first, last)
        return any(any(text in line for text in wanted) or numbered(line, path, first, last) for line in lines)
    if re.fullmatch(r"\w+", needle):
        return any(re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", line) for line in lines)
    return any(needle in line for line in lines)


def numbered(line, path, first, last):
    """Whether a line of an answer gives the number of a line of a range: `PATH:12`, `PATH:12,40`, `PATH: 12
    name, 40`, `12:`, `line 12`."""
    lists = re.findall(rf"{re.escape(path)}[:=]([\d, -]+)", line)
    lists += re.findall(r"\blines? ([\d, -]+)", line)
    lists += re.findall(r"^\W*((?:\d+(?:-\d+)?(?:, ?)?)+)(?=\W|$)", line)
    if line.startswith(path + ": "):
        lists += re.findall(r"(?:: |, ?)(\d+)(?=\??[ ,]|\??$)", line)
    numbers = [int(number) for text in lists for number in re.findall(r"(?<![-\d])\d+", text)]
    return any(first <= number <= last for number in numbers)


def doubtful(task, tree):
    """The facts of an answer of which the clone has no trace: a file, line, text or commit that does not
    exist."""
    return [fact for fact in task["answer"] if not exists(fact, tree, task.get("to", "HEAD"))]


def exists(fact, tree, rev):
    if fact.startswith("="):
        return bool(git(tree.root, "rev-parse", "--verify", "--quiet", fact[1:] + "^{commit}"))
    path, _, needles = fact.partition(":")
    if path not in tree.files:
        return False
    text = git(tree.root, "show", f"{rev}:{path}")
    located = [({path}, f"{path}:{number}:{line}") for number, line in enumerate(text.splitlines(), 1)]
    return all(holds(f"{path}:{needle}", tree, located, text) for needle in needles.split(" | ") if needle)


def run_policy(name, task, tree, server, plans, count):
    """Runs a scripted policy. Only a plan for a kind of task is filled with words of the task."""
    policy = Policy(task, count, WORDS if name == "ours" else ())
    if name == OTHER:
        return run_grep(policy, task, tree)
    return run_tools(plans[task["kind"]] if name == "ours" else task["expert"], policy, task, tree, server)


def run_agent(task, tree, command):
    """Gives the question to a command on stdin; its output is the answer. It may report `calls` and `tokens`
    as JSON in the file that CODEWEAVER_BENCH_USAGE names."""
    with tempfile.NamedTemporaryFile("r") as usage:
        environment = os.environ | {"CODEWEAVER_BENCH_USAGE": usage.name, "CODEWEAVER_BENCH_TASK": task["id"]}
        done = subprocess.run(
            command, shell=True, cwd=tree.root, env=environment, input=task["question"], capture_output=True, text=True
        )
        spent = json.loads(usage.read() or "{}")
    lost = missing(task, tree, [("", done.stdout)])
    return {"calls": spent.get("calls", 0), "tokens": spent.get("tokens", 0), "missing": lost}


def outcome(policy, task, tree):
    return {
        "calls": policy.calls,
        "tokens": policy.sent + policy.received,
        "tokens_structured": policy.sent + policy.structured,
        "missing": missing(task, tree, policy.answers),
    }


def read_tasks(sets, only):
    tasks = []
    for name in sets:
        for task in tomllib.loads((HERE / f"{name}.toml").read_text())["task"]:
            if not only or task["id"] in only:
                tasks.append(task | {"set": name})
    return tasks


def prepare(name, repository, given):
    """The clone of a repository at its commit, indexed. Fetches it if that was asked for."""
    root = given.repositories / name
    if not root.exists() and given.fetch:
        subprocess.run(["git", "clone", "--quiet", repository["url"], root], check=True)
        subprocess.run(["git", "-C", root, "checkout", "--quiet", repository["commit"]], check=True)
    if git(root, "rev-parse", "HEAD").strip() != repository["commit"]:
        sys.exit(f"{root} is not at {repository['commit']}: check it out, or run with --fetch and without {root}")
    if set(OURS) & set(given.policies):
        done = subprocess.run([given.binary, "--project", root, "init", "--no-hooks"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{root}: {done.stderr}")
    return Tree(root)


def show(task, name, policy):
    print(f"\n===== {task['id']} ({task['kind']}) by {name}: {task['question']}")
    for call, text in policy.answers:
        print(f"----- {call}  [{policy.count(text)} tokens]\n{text}")


def run(given):
    """The results of all tasks, and the tokens of the list of tools."""
    count = Counter(given.ranks)
    repositories = tomllib.loads((HERE / "repositories.toml").read_text())
    plans = tomllib.loads((given.plans or HERE / "plans.toml").read_text())["plan"]
    results, listed = [], None
    tasks = read_tasks(given.sets, given.task)
    for name in dict.fromkeys(task["repository"] for task in tasks):
        tree = prepare(name, repositories[name], given)
        server = Server(given.binary, tree.root) if set(OURS) & set(given.policies) else None
        if server and listed is None:
            listed = count(compact(server.request("tools/list", {})["tools"]))
        for task in [task for task in tasks if task["repository"] == name]:
            for fact in doubtful(task, tree) if given.check else ():
                print(f"{task['id']}: not in the clone: {fact}")
            result = {key: task[key] for key in ("id", "set", "kind", "repository")}
            for policy in given.policies:
                if policy == "agent":
                    result[policy] = run_agent(task, tree, given.agent)
                    continue
                done = run_policy(policy, task, tree, server, plans, count)
                result[policy] = outcome(done, task, tree)
                if given.show:
                    show(task, policy, done)
            results.append(result)
        if server:
            server.close()
    return results, listed


def table(results, policies):
    """Prints a line for each task."""
    heads = (f"{name + ': calls':>15} {'tokens':>6} {'found':>5}" + f" {'ratio':>5}" * compared(name, policies) for name in policies)
    print(f"{'task':<31} {'kind':<9}" + "".join(heads))
    for result in results:
        line = f"{result['id']:<31} {result['kind']:<9}"
        for name in policies:
            cell = result[name]
            line += f"{cell['calls']:15} {cell['tokens']:6} {'no' if cell['missing'] else 'yes':>5}"
            line += f" {ratio(result, name):5.2f}" if compared(name, policies) else ""
        print(line)


def compared(name, policies):
    return name in OURS and OTHER in policies


def ratio(result, name):
    return result[name]["tokens"] / result[OTHER]["tokens"]


def summary(results, policies):
    """Of each policy: found, calls, tokens, and the ratios to grep."""
    out = {}
    for name in policies:
        cells = [result[name] for result in results]
        tokens = [cell["tokens"] for cell in cells]
        out[name] = {
            "tasks": len(cells),
            "found": sum(not cell["missing"] for cell in cells),
            "calls": sum(cell["calls"] for cell in cells),
            "tokens": sum(tokens),
            "tokens_structured": sum(cell.get("tokens_structured", 0) for cell in cells),
            "median": statistics.median(tokens),
        }
        if compared(name, policies):
            ratios = [ratio(result, name) for result in results]
            out[name]["ratio"] = {
                "median": round(statistics.median(ratios), 3),
                "worst": round(max(ratios), 3),
                "above_1.2": sum(one > 1.2 for one in ratios),
            }
    return out


def summaries(results, given):
    """The summaries of each set and of each kind of its tasks."""
    out = {}
    for name in given.sets:
        part = [result for result in results if result["set"] == name]
        if part:
            kinds = dict.fromkeys(result["kind"] for result in part)
            of_kinds = {kind: summary([one for one in part if one["kind"] == kind], given.policies) for kind in kinds}
            out[name] = {"all": summary(part, given.policies), "kinds": of_kinds}
    return out


def print_summary(title, found):
    """Prints the summary of a set: a line for each policy, then one for each kind, with the median of the
    tokens, and the median and the worst ratio."""
    print(f"\n{title}")
    for name, cell in found["all"].items():
        line = (
            f"  {name:<6} found {cell['found']} of {cell['tasks']} ({100 * cell['found'] / cell['tasks']:.0f} %), "
            f"{cell['calls']} calls, {cell['tokens']:,} tokens, median {cell['median']:,.0f}"
        )
        if "ratio" in cell:
            one = cell["ratio"]
            line += f"; ratio: median {one['median']:.2f}, worst {one['worst']:.2f}, above 1.2: {one['above_1.2']}"
        if name in OURS and cell["tokens_structured"] != cell["tokens"]:
            line += f"; as structuredContent: {cell['tokens_structured']:,} tokens"
        print(line)
    for kind, cells in found["kinds"].items():
        line = f"  {kind:<10}"
        for name, cell in cells.items():
            line += f"{name:>8} {cell['found']:2}/{cell['tasks']:<2} {cell['median']:6,.0f}"
            line += f" {cell['ratio']['median']:5.2f} {cell['ratio']['worst']:5.2f}" if "ratio" in cell else ""
        print(line)


def report(results, listed, given):
    table(results, given.policies)
    if given.missing:
        for result in results:
            for name in given.policies:
                for fact in result[name]["missing"]:
                    print(f"missing {result['id']} by {name}: {fact}")
    for name, found in summaries(results, given).items():
        print_summary(name, found)
    if listed:
        print(f"\nlist of tools: {listed:,} tokens")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repositories", type=Path, required=True, help="directory of clones, each under its name in repositories.toml")
    options.add_argument("--fetch", action="store_true", help="clone what is missing")
    options.add_argument("--binary", default=os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver"))
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    options.add_argument("--policies", nargs="+", choices=(*OURS, OTHER, "agent"), default=[*OURS, OTHER])
    options.add_argument("--plans", type=Path, help="another file than benches/agents/plans.toml")
    options.add_argument("--agent", help="command that answers a question on its stdin; implies the policy `agent`")
    options.add_argument("--task", nargs="+", help="only these tasks")
    options.add_argument("--ranks", default=os.environ.get("CODEWEAVER_BENCH_O200K"), help="table of o200k")
    options.add_argument("--show", action="store_true", help="print every call and its answer")
    options.add_argument("--missing", action="store_true", help="print the facts that were not received")
    options.add_argument("--check", action="store_true", help="name the facts of answers that the clones do not have")
    options.add_argument("--json", type=Path, help="write the results to a file")
    given = options.parse_args()
    given.repositories = given.repositories.resolve()
    if given.agent:
        given.policies = ["agent"]
    results, listed = run(given)
    report(results, listed, given)
    if given.json:
        given.json.write_text(json.dumps({"tools": listed, "summary": summaries(results, given), "tasks": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
