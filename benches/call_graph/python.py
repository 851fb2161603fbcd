"""The truth of Python, from pyright; call sites from `ast`."""

import ast
import re
import sys

from lsp import Server


def names_of(path):
    """Lines of functions and classes by name, and the calls: line, byte column and name."""
    text = path.read_bytes()
    lines = text.split(b"\n")
    defined, calls = set(), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            line = next(n for n in range(node.lineno, len(lines) + 1) if node.name.encode() in lines[n - 1])
            defined.add((line, node.name))
            called = [d for d in node.decorator_list if not isinstance(d, ast.Call)]
        else:
            called = [node.func] if isinstance(node, ast.Call) else []
        for callee in called:
            if isinstance(callee, ast.Name):
                calls.append((callee.lineno, callee.col_offset, callee.id))
            elif isinstance(callee, ast.Attribute):
                calls.append((callee.end_lineno, callee.end_col_offset - len(callee.attr.encode()), callee.attr))
    return defined, calls


def truth(root, prefixes):
    server = Server(["pyright-langserver", "--stdio"], root, {"python": {"pythonPath": sys.executable}})
    known = {}

    def names(path):
        if path not in known:
            try:
                known[path] = names_of(path)
            except (SyntaxError, ValueError):
                known[path] = (set(), [])
        return known[path]

    for path in sorted(root.rglob("*.py")):
        file = str(path.relative_to(root))
        if prefixes and not file.startswith(tuple(prefixes)):
            continue
        server.open(path, "python")
        lines = path.read_bytes().split(b"\n")
        for line, column, name in sorted(set(names(path)[1])):
            character = len(lines[line - 1][:column].decode().encode("utf-16-le")) // 2
            found, values, outside = set(), set(), False
            for target, at, start in server.definitions(path, line - 1, character):
                if not target.is_relative_to(root):
                    outside = True
                    continue
                word = re.match(r"\w*", target.read_text().split("\n")[at][start:])[0]
                place = (str(target.relative_to(root)), at + 1, word)
                (found if place[1:] in names(target)[0] else values).add(place)
            if found or values or outside:
                kind = "definition" if found else "library" if outside else "value"
                yield (file, line, column + 1, name), kind, found or values
        server.close(path)
    server.stop()
