"""The truth of C, from libclang."""

import collections
import json
import os
import shlex
from ctypes import byref, c_uint
from pathlib import Path

from clang.cindex import Config, CursorKind, File, Index, LinkageKind, TranslationUnit, c_object_p, conf

DETAILED = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD


def commands(root, includes):
    """Yields source files with the arguments that their headers and macros depend on."""
    database = root / "compile_commands.json"
    if database.exists():
        for command in json.loads(database.read_text()):
            words = command.get("arguments") or shlex.split(command["command"])
            kept = [word for word in words[1:] if word.startswith(("-I", "-D", "-std", "-isystem"))]
            yield Path(command["directory"], command["file"]).resolve(), kept
        return
    for source in sorted(root.rglob("*.c")):
        yield source, ["-std=gnu11", "-D_GNU_SOURCE", *(f"-I{root / directory}" for directory in includes)]


def truth(root, prefixes, includes):
    if "LIBCLANG" in os.environ:
        Config.set_library_file(os.environ["LIBCLANG"])
    index = Index.create()
    spelling = conf.lib.clang_getFileLocation

    def place(location):
        """File relative to the root, line and column of the text that was written; None outside of the
        root."""
        file, line, column, offset = c_object_p(), c_uint(), c_uint(), c_uint()
        spelling(location, byref(file), byref(line), byref(column), byref(offset))
        if not file:
            return None
        path = os.path.realpath(File(file).name)
        if not path.startswith(f"{root}/"):
            return None
        return path[len(str(root)) + 1 :], line.value, column.value

    lines = {}

    def is_written(at, name):
        """Whether the name stands at the place: not if a macro made it."""
        file, line, column = at
        if file not in lines:
            lines[file] = (root / file).read_bytes().split(b"\n")
        text = lines[file][line - 1][column - 1 :] if line <= len(lines[file]) else b""
        return text.startswith(name.encode())

    bodies, everywhere, declared_at = collections.defaultdict(set), collections.defaultdict(set), set()
    sites = collections.defaultdict(set)
    for source, arguments in commands(root, includes):
        if not source.exists():
            # It is made by the build.
            continue
        unit = index.parse(str(source), arguments, options=DETAILED)
        macros = {}
        for cursor in unit.cursor.walk_preorder():
            kind = cursor.kind
            if kind == CursorKind.FUNCTION_DECL:
                if here := place(cursor.location):
                    declared_at.add(here)
                    if cursor.is_definition():
                        bodies[place(cursor.canonical.location) or here, cursor.spelling].add(here[:2])
                        if cursor.linkage == LinkageKind.EXTERNAL:
                            everywhere[cursor.spelling].add(here[:2])
            elif kind == CursorKind.MACRO_DEFINITION:
                macros[cursor.spelling] = (place(cursor.location), conf.lib.clang_Cursor_isMacroFunctionLike(cursor))
            elif kind == CursorKind.MACRO_INSTANTIATION:
                at = place(cursor.location)
                defined, has_parameters = macros.get(cursor.spelling, (None, False))
                if at and is_written(at, cursor.spelling) and has_parameters:
                    target = (defined, cursor.spelling) if defined else None
                    sites[(*at, cursor.spelling)].add(("macro" if defined else "library", target))
            elif kind == CursorKind.CALL_EXPR:
                callee = cursor.referenced
                name = callee.spelling if callee else cursor.spelling
                if not name:
                    continue
                # The expression may begin before the name: `a->f()`.
                inner = next(iter(cursor.get_children()), cursor)
                at = place(inner.location)
                if at is None or not is_written(at, name):
                    continue
                if callee is None:
                    continue
                if callee.kind != CursorKind.FUNCTION_DECL:
                    of_value = place(callee.location)
                    sites[(*at, name)].add(("value", (of_value, name) if of_value else None))
                    continue
                own = callee.get_definition()
                if own is not None and place(own.location):
                    sites[(*at, name)].add(("body", (place(own.location), name)))
                elif place(callee.canonical.location):
                    sites[(*at, name)].add(("declared", (place(callee.canonical.location), name)))
                else:
                    sites[(*at, name)].add(("library", None))
    for (file, line, column, name), found in sorted(sites.items()):
        if prefixes and not file.startswith(tuple(prefixes)):
            continue
        kinds = {kind for kind, _ in found}
        definitions, values = set(), set()
        for kind, target in found:
            # A macro hides the function of its name.
            if target is None or "macro" in kinds and kind != "macro":
                continue
            first, called = target
            place_of = (*first[:2], called)
            if kind == "value":
                values.add(place_of)
            elif kind == "declared" and first not in declared_at:
                # The compiler knows the function itself.
                continue
            else:
                known = bodies.get((first, called)) if kind == "declared" else None
                # The file of the body may not include the declaration.
                if kind == "declared" and not known and len(everywhere[called]) == 1:
                    known = everywhere[called]
                definitions |= {(*body, called) for body in known or ()} or {place_of}
        kind = "definition" if definitions else "value" if "value" in kinds else "library"
        yield (file, line, column, name), kind, definitions or values
