"""The truth of Rust, from rust-analyzer; call sites by a pattern."""

import re

from lsp import Server, sites_of

CALL = re.compile(r"(?<![\w'\"])([A-Za-z_]\w*)(?=!?(?:::<[^()]*>)?[(]|!\s*[\[{])")
OTHER = {"if", "while", "match", "for", "in", "return", "fn", "as", "where", "move", "let", "else", "mut", "ref", "pub", "crate",
         "super", "self", "Self", "impl", "dyn", "loop", "async", "await", "unsafe", "cfg", "derive", "allow", "doc", "any", "all"}
DEFINES = re.compile(r"(?:\b(?:fn|struct|enum|union|type|macro)|macro_rules!)\s+(?:r#)?$")
OPTIONS = {"cargo": {"features": "all", "buildScripts": {"enable": False}}, "procMacro": {"enable": False},
           "checkOnSave": False, "cachePriming": {"enable": False}}


def truth(root, prefixes):
    server = Server(["rust-analyzer"], root, OPTIONS)
    server.wait(20)
    texts = {}
    for path in sorted(root.rglob("*.rs")):
        file = str(path.relative_to(root))
        if prefixes and not file.startswith(tuple(prefixes)):
            continue
        server.open(path, "rust")
        lines = path.read_text(errors="replace").split("\n")
        for line, column, character, name in sites_of(path, CALL):
            before = lines[line][:character]
            if name in OTHER or before.lstrip().startswith(("//", "#")) or "//" in before or DEFINES.search(before):
                continue
            found, values, outside = set(), set(), False
            for target, at, start in server.definitions(path, line, character):
                if not target.is_relative_to(root):
                    outside = True
                    continue
                text = texts.setdefault(target, target.read_text(errors="replace").split("\n"))[at]
                named = re.match(r"(?:r#)?(\w+)", text[start:])
                # An enum member has no keyword.
                is_definition = named and (DEFINES.search(text[:start]) or named[1][0].isupper())
                place = (str(target.relative_to(root)), at + 1, named[1] if named else "")
                (found if is_definition else values).add(place)
            if found or values or outside:
                kind = "definition" if found else "library" if outside else "value"
                yield (file, line + 1, column + 1, name), kind, found or values
        server.close(path)
    server.stop()
