#!/usr/bin/env python3
"""Finds circles of files inside a crate; fails if there is one.

    .ci/circles.py          prints the circles, with an import of each arrow
    .ci/circles.py --check  quiet if there are none

A file imports another if it names it in a `use` or `pub use` line, groups included, or in a path of its code. What a file
re-exports belongs to the file that defines it, so importing a name from there is an arrow to that file; a folder's
own file is the folder's face, so arrows between a module and the modules that it declares do not count. The order between
crates is the compiler's matter. Unit tests do not count.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def code(path):
    text = path.read_text(encoding="utf-8")
    # Other attributes may stand between, where the tests are of some platforms.
    tests = re.search(r"#\[cfg\(test\)\]\n(?:#\[[^\n]*\]\n)*mod tests \{", text)
    text = text[:tests.start()] if tests else text
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)


def modules_of(src):
    """Module path (a tuple) to file, of one crate."""
    modules = {}
    for path in sorted(src.rglob("*.rs")):
        parts = list(path.relative_to(src).with_suffix("").parts)
        if parts[-1] == "tests" or "tests" in parts or "testing" in parts:
            continue
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        modules[tuple(parts)] = path
    return modules


def use_trees(text):
    """The paths of all `use` items, groups spread out, with the name each is known by."""
    for match in re.finditer(r"\buse\s+([^;]+);", text):
        yield from spread(match.group(1).strip(), [])


def spread(tree, before):
    depth, start, parts = 0, 0, []
    brace = tree.find("{")
    if brace < 0:
        path, _, alias = tree.partition(" as ")
        names = before + [part.strip() for part in path.split("::")]
        yield [name for name in names if name], alias.strip() or None
        return
    head = [part.strip() for part in tree[:brace].split("::") if part.strip()]
    inner = tree[brace + 1:tree.rindex("}")]
    for at, character in enumerate(inner):
        depth += character == "{"
        depth -= character == "}"
        if character == "," and depth == 0:
            parts.append(inner[start:at])
            start = at + 1
    parts.append(inner[start:])
    for part in parts:
        if part.strip():
            yield from spread(part.strip(), before + head)


class Crate:
    def __init__(self, src):
        self.modules = modules_of(src)
        self.text = {module: code(path) for module, path in self.modules.items()}
        self.reexports = {module: self.find_reexports(module) for module in self.modules}

    def find_reexports(self, module):
        found = {}
        for match in re.finditer(r"\bpub(?:\([a-z: ]+\))?\s+use\s+([^;]+);", self.text[module]):
            for path, alias in spread(match.group(1).strip(), []):
                found[alias or path[-1]] = path
        return found

    def absolute(self, module, path):
        """The path from the root of the crate; `None` for one of another crate."""
        path = list(path)
        base = list(module)
        if path[0] == "crate":
            return path[1:]
        if path[0] in ("super", "self"):
            while path and path[0] in ("super", "self"):
                if path.pop(0) == "super":
                    base = base[:-1]
            return base + path
        if tuple(base + path[:1]) in self.modules:
            return base + path
        return None

    def file_of(self, module, path, depth=0):
        """The module that defines what `path` names."""
        absolute = self.absolute(module, path)
        if absolute is None or depth > 8:
            return None
        at = ()
        for n, name in enumerate(absolute):
            if at + (name,) in self.modules:
                at += (name,)
                continue
            reexported = self.reexports.get(at, {}).get(name)
            if reexported and reexported[-1] != "self":
                return self.file_of(at, reexported + absolute[n + 1:], depth + 1) or at
            break
        return at

    def arrows(self):
        arrows = {}
        for module, text in self.text.items():
            paths = [path for path, _ in use_trees(text)]
            body = re.sub(r"\buse\s+[^;]+;", "", text)
            local = {path[-1]: path for path in paths}
            for written in re.findall(r"(?<![\w:])(?:crate|super|self|\w+)(?:::\w+)+", body):
                path = written.split("::")
                if path[0] in local and path[0] not in ("crate", "super", "self"):
                    path = local[path[0]] + path[1:]
                paths.append(path)
            for path in paths:
                target = self.file_of(module, path) if path else None
                if target is None or target == module or target not in self.modules:
                    continue
                # The face of a folder and what is in the folder.
                if target == module[:len(target)] or module == target[:len(module)]:
                    if target == module[:-1] or module == target[:-1] or target == module[:len(target)]:
                        is_face = target == module[:len(target)]
                        if not is_face:
                            continue
                        # From inside to what the face defines itself: an arrow only if the face defines it.
                        continue
                arrows.setdefault(module, {}).setdefault(target, "::".join(path))
        return arrows


def circles(arrows):
    """Strongly connected components of more than one module (Tarjan)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(node):
        work = [(node, iter(arrows.get(node, {})))]
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        while work:
            at, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(arrows.get(target, {}))))
                    break
                if target in on_stack:
                    low[at] = min(low[at], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    component = []
                    while True:
                        node = stack.pop()
                        on_stack.discard(node)
                        component.append(node)
                        if node == at:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def main():
    failed = False
    for src in [ROOT / "src"] + sorted((ROOT / "crates").glob("*/src")):
        arrows = Crate(src).arrows()
        for component in circles(arrows):
            failed = True
            members = set(component)
            print(f"{src.parent.name}: a circle of {len(component)} files")
            for module in component:
                for target, path in sorted(arrows.get(module, {}).items()):
                    if target in members:
                        print(f"    {'::'.join(module)} -> {'::'.join(target)}  ({path})")
    if not failed and sys.argv[1:] != ["--check"]:
        print("no circles")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
