#!/usr/bin/env python3
"""Counts the copies with other names that `duplicates` finds: benches/renamed.py [--copies N] [--seed N] REPOSITORY...

Clones each repository into a temporary directory and chooses functions of at least --min-tokens tokens and --min-lines
lines at random, at most one of a file. A copy of each is written into a file of its own, committed and indexed. Counted are
the copies that are in one group with their original, for two kinds of copies:

    local  the own name, and the parameters and variables that the function declares, have other names
    all    all words have other names except keywords and what is built into the language, such as `int` and `self`

A name has the same new name everywhere in a copy. What is inside strings and comments stays; expressions in strings do not.
Prints a line for each repository and one for all; --misses lists the copies that are not found, and why: `apart` are copies
that are one group if nothing else is compared, otherwise the similarity is printed. --keep leaves the clones there.

tree-sitter tells what a name is: pip install 'tree-sitter-language-pack<1' (later versions fetch grammars from elsewhere).
A copy has the tree of its original. Functions that the grammar cannot read alone, or in a class, are not chosen. Languages:
C, C++, C#, Go, Java, JavaScript, Kotlin, Lua, PHP, Python, Ruby, Rust, Scala, Swift, TypeScript, Zig.
"""

import argparse
import builtins
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

try:
    from tree_sitter_language_pack import get_parser
except ImportError:
    raise SystemExit("renamed: needs tree-sitter: pip install 'tree-sitter-language-pack<1'") from None

ENVIRONMENT = {**os.environ, "CODEWEAVER_DAEMON": "off"}
FOLDER = "renamed"
KINDS = ("local", "all")
CALLABLE = ("function", "method")

WORD = re.compile(rb"([@$:']*)([A-Za-z_]\w*)([?!=:]?)")
TOKEN = re.compile(rb"\w+|[^\w\s]")
COMMENT = re.compile(r"comment")
# Leaves that are names.
NAME = re.compile(r"identifier|IDENTIFIER|^name$|^constant$|_variable$|_symbol$|^label_name$|^implicit_parameter$|^metavariable$")
# Nodes that are one token, whatever is in them.
TEXT = re.compile(r"(_|^)(string|char|rune|regex)(_literal|_expression)?$|^character_literal$|STRINGLITERAL|^heredoc_body$")
KEPT = set("""
    _ true false True False null nil None NULL nullptr undefined NaN Infinity this self Self cls super base crate it parent static
    class arguments iota _GET _POST _SERVER _ENV _SESSION GLOBALS
""".split())

CLASS = "class Wrapper {\n%s\n}\n"
OBJECT = "const wrapper = {\n%s\n};\n"
ALONE = "%s\n"


def absolute(program):
    """The path of a program, which is started in other directories."""
    return str(Path(shutil.which(program) or program).resolve())


@dataclass
class Language:
    """What a grammar calls the names that a function declares.

    A place is a node and the field of it that the name is, such as `let_declaration.pattern`, with the nodes around it before
    `>`. Without a field any name directly in the node is meant, with `[0]` the first one.
    """

    grammar: str
    # Nodes that are a function.
    functions: str
    # Places where variables and the functions that are called by their name alone are declared.
    declared: str
    # Places of the own names of methods.
    own: str = ""
    # Places of names that are not those of variables.
    others: str = ""
    # Places of names of what is called, if these are not those of variables.
    called: str = ""
    # Leaves that are variables.
    variables: str = "identifier"
    # Names that are built in, and no keywords in the grammar.
    builtin: str = ""
    # What a function is put into to be a file, the first with which it can be read.
    wrappers: list = field(default_factory=lambda: [ALONE])


PYTHON_BUILTIN = " ".join(dir(builtins))
RUBY_BUILTIN = """
    raise loop lambda proc require require_relative include extend prepend private protected public attr_reader attr_writer
    attr_accessor module_function block_given puts catch throw define_method new
"""
GO_BUILTIN = """
    any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16
    uint32 uint64 uintptr append cap clear close complex copy delete imag len make max min new panic print println real recover
"""
LUA_BUILTIN = """
    assert error getmetatable io ipairs math next os pairs pcall print require select setmetatable string table tonumber tostring
    type unpack
"""
KOTLIN_BUILTIN = "Any Array Boolean Byte Char Double Float Int List Long Map Nothing Set Short String Unit"
C_BUILTIN = "static_cast dynamic_cast const_cast reinterpret_cast defined __VA_ARGS__"

C_DECLARED = """
    parameter_declaration.declarator pointer_declarator.declarator array_declarator.declarator init_declarator.declarator
    declaration.declarator function_declarator.declarator
"""
SCRIPT = Language(
    grammar="javascript",
    functions="function_declaration function_expression arrow_function method_definition generator_function_declaration"
    " generator_function",
    declared="""
        formal_parameters rest_pattern object_pattern array_pattern object_assignment_pattern.left assignment_pattern.left
        pair_pattern.value variable_declarator.name for_in_statement.left catch_clause.parameter arrow_function.parameter
        required_parameter.pattern optional_parameter.pattern function_declaration.name function_expression.name
        generator_function_declaration.name class_declaration.name
    """,
    own="method_definition.name",
    variables="identifier shorthand_property_identifier shorthand_property_identifier_pattern",
    wrappers=[ALONE, CLASS, OBJECT],
)
LANGUAGES = {
    "c": Language("c", "function_definition", C_DECLARED, builtin=C_BUILTIN),
    "cpp": Language(
        "cpp", "function_definition",
        C_DECLARED + """
            optional_parameter_declaration.declarator reference_declarator structured_binding_declarator
            for_range_loop.declarator lambda_capture_initializer.left variadic_declarator condition_clause>declaration.declarator
        """,
        own="function_declarator.declarator function_declarator>qualified_identifier.name",
        others="struct_specifier.name class_specifier.name",
        # `T x(y);` is read as the declaration of a function.
        variables="identifier type_identifier",
        builtin=C_BUILTIN,
        wrappers=[ALONE, "class Wrapper {\n%s\n};\n"],
    ),
    "csharp": Language(
        "csharp", "method_declaration constructor_declaration local_function_statement",
        """
            parameter.name parameter_list.name variable_declarator.name foreach_statement.left catch_declaration.name
            declaration_expression.name declaration_pattern.name recursive_pattern.name var_pattern.name tuple_pattern.name
            local_function_statement.name from_clause.name let_clause[0] lambda_expression.parameters
            parenthesized_variable_designation
        """,
        own="method_declaration.name",
        others="argument.name initializer_expression>assignment_expression.left subpattern[0]",
        called="invocation_expression.function",
        variables="identifier implicit_parameter",
        wrappers=[CLASS],
    ),
    "go": Language(
        "go", "function_declaration method_declaration",
        """
            parameter_declaration.name variadic_parameter_declaration.name short_var_declaration.left>expression_list
            var_spec.name const_spec.name range_clause.left>expression_list type_switch_statement.alias>expression_list
            receive_statement.left>expression_list function_declaration.name
        """,
        own="method_declaration.name",
        others="keyed_element.key>literal_element",
        builtin=GO_BUILTIN,
        wrappers=["package renamed\n\n%s\n"],
    ),
    "java": Language(
        "java", "method_declaration constructor_declaration",
        """
            formal_parameter.name spread_parameter>variable_declarator.name variable_declarator.name enhanced_for_statement.name
            resource.name catch_formal_parameter.name lambda_expression.parameters inferred_parameters
            instanceof_expression.name type_pattern record_pattern_component
        """,
        own="method_declaration.name",
        others="element_value_pair.key labeled_statement[0] break_statement continue_statement",
        called="method_invocation.name",
        wrappers=[CLASS],
    ),
    "javascript": SCRIPT,
    "kotlin": Language(
        "kotlin", "function_declaration anonymous_function",
        "parameter[0] class_parameter variable_declaration[0] catch_block[0]",
        own="function_declaration",
        others="value_argument=",
        called="call_expression[0]",
        variables="simple_identifier interpolated_identifier",
        builtin=KOTLIN_BUILTIN,
        wrappers=[ALONE, CLASS],
    ),
    "lua": Language(
        "lua", "function_declaration function_definition",
        """
            parameters variable_declaration>assignment_statement>variable_list variable_declaration>variable_list
            for_numeric_clause.name for_generic_clause>variable_list function_declaration.name
        """,
        own="function_declaration>dot_index_expression.field function_declaration>method_index_expression.method",
        others="field.name= dot_index_expression.field method_index_expression.method",
        builtin=LUA_BUILTIN,
        wrappers=[ALONE, "local wrapper = {\n%s\n}\n"],
    ),
    "php": Language(
        "php", "function_definition method_declaration", "variable_name",
        own="function_definition.name method_declaration.name",
        others="scoped_property_access_expression.name>variable_name global_declaration>variable_name",
        variables="name",
        wrappers=["<?php\n%s\n", "<?php\n\nclass Wrapper\n{\n%s\n}\n"],
    ),
    "python": Language(
        "python", "function_definition",
        """
            parameters lambda_parameters default_parameter.name typed_parameter typed_default_parameter.name list_splat_pattern
            dictionary_splat_pattern assignment.left pattern_list tuple_pattern list_pattern for_statement.left
            for_in_clause.left named_expression.name as_pattern_target function_definition.name class_definition.name
            aliased_import.alias
        """,
        others="keyword_argument.name attribute.attribute global_statement",
        builtin=PYTHON_BUILTIN,
    ),
    "ruby": Language(
        "ruby", "method singleton_method",
        """
            method_parameters block_parameters lambda_parameters optional_parameter.name splat_parameter.name
            keyword_parameter.name hash_splat_parameter.name block_parameter.name destructured_parameter assignment.left
            left_assignment_list operator_assignment.left exception_variable for.pattern rest_assignment
        """,
        own="method.name singleton_method.name",
        called="call.method",
        builtin=RUBY_BUILTIN,
    ),
    "rust": Language(
        "rust", "function_item",
        """
            parameter.pattern closure_parameters let_declaration.pattern let_condition.pattern for_expression.pattern
            tuple_pattern tuple_struct_pattern match_pattern field_pattern.pattern field_pattern.name or_pattern ref_pattern
            mut_pattern slice_pattern captured_pattern[0] reference_pattern function_item.name
        """,
        others="tuple_struct_pattern.type macro_invocation.macro scoped_identifier.path scoped_identifier.name",
        variables="identifier shorthand_field_identifier",
        builtin="Some Ok Err",
        wrappers=[ALONE, "impl Wrapper {\n%s\n}\n"],
    ),
    "scala": Language(
        "scala", "function_definition",
        """
            parameter.name val_definition.pattern var_definition.pattern tuple_pattern enumerator[0] typed_pattern.pattern
            case_class_pattern.pattern case_clause.pattern binding.name lambda_expression.parameters function_definition.name
            bindings
        """,
        others="arguments>assignment_expression.left infix_expression.operator interpolated_string_expression.interpolator",
        builtin=KOTLIN_BUILTIN,
        wrappers=[ALONE, "object Wrapper {\n%s\n}\n"],
    ),
    "swift": Language(
        "swift", "function_declaration init_declaration",
        """
            parameter.name pattern.bound_identifier pattern if_statement.bound_identifier guard_statement.bound_identifier
            while_statement.bound_identifier lambda_parameter.name
        """,
        own="function_declaration.name",
        others="parameter.external_name value_argument_label",
        builtin="Any Array Bool Character Dictionary Double Float Int Set String Void",
        called="call_expression[0]",
        variables="simple_identifier",
        wrappers=[ALONE, CLASS],
    ),
    "typescript": Language(**{**vars(SCRIPT), "grammar": "typescript"}),
    "tsx": Language(**{**vars(SCRIPT), "grammar": "tsx"}),
    "zig": Language(
        "zig", "Decl",
        """
            ParamDecl.parameter VarDecl.variable_type_function PtrListPayload.variable PtrPayload.variable Payload.variable
            PtrIndexPayload.variable FnProto.function
        """,
        others="FieldInit.field_member SuffixExpr.field_constant BreakLabel BlockLabel",
        variables="IDENTIFIER",
    ),
}
# In these, a name in a pattern that begins with a capital is a constant.
CONSTANT_PATTERNS = ("rust", "scala")

WORDS = """
    amber anchor apple arrow atlas autumn badge bamboo basin beacon birch blanket border bottle branch breeze bridge bronze
    butter cabin candle canyon carbon castle cedar chalk cherry circle clover cobalt copper coral cotton crystal desert diamond
    dragon eagle ember engine falcon feather fern flint forest fountain garden garnet ginger glacier granite harbor hazel honey
    island ivory jasmine jungle kettle lagoon lantern lemon lily linen magnet maple marble meadow melon mirror mountain
    nectar oasis olive onyx opal orchid otter paddle pearl pebble pepper pine planet plum pocket pollen prairie quartz quill
    raven ribbon river rocket saddle saffron sapphire shadow silver spruce summit sunset temple thistle thunder timber topaz
    tulip tunnel valley velvet violet walnut willow window winter zephyr
""".split()


@dataclass
class Leaf:
    """A leaf of a tree: its node, the types and fields of the nodes around it, and the word in it."""

    node: object
    around: list
    before: bytes
    after: bytes
    word: str

    @property
    def type(self):
        return self.node.type

    def is_at(self, places):
        return any(self.is_at_one(place) for place in places.split())

    def is_at_one(self, place):
        if place.endswith("="):
            return re.match(rb"\s*=[^=]", self.after) and self.is_at_one(place[:-1])
        steps = re.findall(r"([A-Za-z_]+)(?:\.(\w+))?(\[0\])?", place)
        if len(steps) > len(self.around):
            return False
        for (wanted, wanted_field, first), (parent, name, is_first) in zip(reversed(steps), reversed(self.around)):
            if parent != wanted or wanted_field and wanted_field != name or first and not is_first:
                return False
        return True

    def is_member(self):
        before = self.before.rstrip()
        return before.endswith((b"->", b"::")) or before.endswith(b".") and not before.endswith(b"..")


def leaves(root, text):
    """The leaves of a tree that hold a word."""
    found = []

    def visit(node, around):
        if COMMENT.search(node.type):
            return
        match = NAME.search(node.type) and not node.named_child_count and WORD.fullmatch(text, node.start_byte, node.end_byte)
        if match:
            before, after = text[max(0, node.start_byte - 40) : node.start_byte], text[node.end_byte : node.end_byte + 40]
            found.append(Leaf(node, around, before, after, match[2].decode()))
            return
        n_named = 0
        for at, child in enumerate(node.children):
            visit(child, [*around, (node.type, node.field_name_for_child(at), n_named == 0)])
            n_named += child.is_named

    visit(root, [])
    return found


def n_tokens(node, text):
    """Number of words, numbers, strings and marks, as `duplicates` counts them."""
    if COMMENT.search(node.type):
        return 0
    if TEXT.search(node.type):
        is_documentation = node.type == "string" and node.parent.type == "expression_statement"
        return 0 if is_documentation else 1
    if node.child_count == 0:
        return len(TOKEN.findall(text[node.start_byte : node.end_byte]))
    return sum(n_tokens(child, text) for child in node.children)


def shape(node):
    return (node.type, [shape(child) for child in node.children])


class Function:
    """A function that can be read alone."""

    def __init__(self, path, lines, language, wrapper, text, root, n_tokens):
        self.path, self.lines, self.language, self.wrapper = path, lines, language, wrapper
        self.text, self.root, self.n_tokens = text, root, n_tokens
        self.leaves = leaves(root, text)

    def own_names(self):
        """The name of the function; for a function inside it, that of the latter does not count."""
        return [leaf for leaf in self.leaves if self.language.own and leaf.is_at(self.language.own)][:1]

    def is_constant(self, leaf):
        return self.language.grammar in CONSTANT_PATTERNS and leaf.word[0].isupper()

    def is_variable(self, leaf):
        if leaf.type not in self.language.variables.split() or leaf.is_member() and self.language.grammar != "php":
            return False
        return not leaf.is_at(self.language.others) and (self.language.grammar != "php" or leaf.is_at("variable_name"))

    def local(self):
        """The leaves with names that the function declares, and its own name."""
        own = self.own_names()
        variables = [leaf for leaf in self.leaves if self.is_variable(leaf) and leaf.word not in KEPT]
        declaring = [leaf for leaf in variables if leaf.is_at(self.language.declared) and not self.is_constant(leaf)]
        outside = {leaf.word for leaf in self.leaves if leaf.is_at("global_statement global_declaration>variable_name")}
        names = {leaf.word for leaf in declaring if not leaf.is_at(self.language.called)} - outside
        if not names:
            return []

        def is_declared(leaf):
            if leaf.is_at(self.language.called):
                return leaf.word in {name.word for name in own} or self.language.grammar == "csharp" and leaf.word in names
            return leaf.word in names

        return [leaf for leaf in variables if is_declared(leaf) and leaf not in own] + own

    def all(self):
        return [leaf for leaf in self.leaves if leaf.word not in KEPT and leaf.word not in self.language.builtin.split()]

    def renamed(self, kind, seed):
        """The text with other names, `None` if that is not the same function any more."""
        wanted = {leaf.node.start_byte: leaf for leaf in getattr(self, kind)()}
        wanted = {start: leaf for start, leaf in wanted.items() if leaf.word != "Wrapper"}
        names = new_names([leaf.word for _, leaf in sorted(wanted.items())], {leaf.word for leaf in self.leaves}, seed)
        text = self.text
        for start, leaf in sorted(wanted.items(), reverse=True):
            start += text[start : leaf.node.end_byte].index(leaf.word.encode())
            text = text[:start] + names[leaf.word].encode() + text[start + len(leaf.word.encode()) :]
        root = get_parser(self.language.grammar).parse(text).root_node
        return text if wanted and shape(root) == shape(self.root) else None


def new_names(words, taken, seed):
    """A new name for each of `words`, in the same case."""
    chance, names, taken = random.Random(seed), {}, set(taken)
    for word in words:
        while word not in names:
            new = in_case(word, chance.sample(WORDS, 2 if len(word) > 4 else 1))
            if new not in taken:
                names[word] = new
                taken.add(new)
            elif len(taken) > len(WORDS) // 2:
                names[word] = f"{new}{len(taken)}"
    return names


def in_case(word, parts):
    bare = word.strip("_")
    before, after = word[: len(word) - len(word.lstrip("_"))], word[len(word.rstrip("_")) :]
    if bare.isupper() and len(bare) > 1:
        new = "_".join(parts).upper()
    elif "_" in bare:
        new = "_".join(parts)
    else:
        new = parts[0] + "".join(part.capitalize() for part in parts[1:])
    return before + (new[0].upper() if bare[:1].isupper() else new[0]) + new[1:] + after


def dedented(lines):
    """Lines without what all are indented by; those of strings that are not, stay."""
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    common = os.path.commonprefix(indents)
    return "\n".join(line[len(common) :] for line in lines)


def function_in(root, language, n_lines, wrapper):
    """The node of a function from the beginning of a text to its end, if there is one."""
    first, functions = lines_before(wrapper), language.functions.split()

    def visit(node):
        is_labelled = node.type == "labeled_statement"  # a member of an object that is read alone
        if is_labelled or node.end_point[0] < first + n_lines - 1 or node.start_point[0] > first + n_lines // 3:
            return None
        if node.type in functions and node.end_point[0] == first + n_lines - 1:
            return node
        return next(filter(None, map(visit, node.children)), None)

    return visit(root)


def lines_before(wrapper):
    return wrapper[: wrapper.index("%s")].count("\n")


def read_alone(path, span, name, lines):
    """The function at some lines, if it can be read in a file of its own."""
    language = LANGUAGES.get(name)
    if not language:
        return None
    text = re.sub(r"[,;]\s*$", "", dedented(lines[span[0] - 1 : span[1]]))
    for wrapper in language.wrappers:
        whole = (wrapper % text).encode()
        root = get_parser(language.grammar).parse(whole).root_node
        node = None if root.has_error else function_in(root, language, span[1] - span[0] + 1, wrapper)
        if node:
            return Function(path, span, language, wrapper, whole, root, n_tokens(node, whole))
    return None


class Repository:
    """A repository that copies are added to."""

    def __init__(self, root, program):
        self.root, self.program = root, program

    def run(self, *command):
        done = subprocess.run([self.program, *command], cwd=self.root, env=ENVIRONMENT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def git(self, *command):
        name = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *name, *command], cwd=self.root, check=True, capture_output=True)
        return done.stdout

    def paths(self):
        return sorted(os.fsdecode(path) for path in self.git("ls-files", "-z").split(b"\0") if path)

    def functions(self, path):
        """The language of a file, and the lines of its functions."""
        try:
            outline = json.loads(self.run("outline", path, "-o", "json"))
        except RuntimeError:
            return None, []  # not indexed
        return outline["language"], [tuple(it["span"]) for it in outline["symbols"] if it["kind"] in CALLABLE]

    def commit(self, files):
        (self.root / FOLDER).mkdir()
        for name, text in files.items():
            (self.root / FOLDER / name).write_bytes(text)
        self.git("add", "--force", FOLDER)
        self.git("commit", "--quiet", "--no-verify", "--message", "Copies")
        self.run("init", "--no-hooks")

    def remove(self):
        self.git("reset", "--quiet", "--hard", "HEAD~1")

    def groups(self, *options):
        """For each file, the lines of its members, the number of their group, and its class and similarity."""
        options = ["--committed", "--include-tests", "--include-vendored", "--json", *options]
        members = {}
        for number, group in enumerate(json.loads(self.run("duplicates", *options))["groups"]):
            for member in group["members"]:
                found = (*member["span"], number, f"{group['class']}, similarity {group['similarity']}")
                members.setdefault(member["path"], []).append(found)
        return members


def clone_of(source, target, program):
    command = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1"]
    subprocess.run([*command, f"file://{source.resolve()}", target], check=True)
    clone = Repository(target, program)
    clone.run("init", "--no-hooks")
    clone.git("reset", "--quiet", "--hard")
    return clone


def choose(clone, given, chance):
    """Random functions that copies can be made of, one of a file, each with its two copies."""
    paths, chosen = clone.paths(), []
    chance.shuffle(paths)
    for path in paths:
        if len(chosen) >= given.copies:
            break
        if not Path(path).suffix or (clone.root / path).is_symlink():
            continue
        language, spans = clone.functions(path)
        spans = [span for span in spans if span[1] - span[0] + 1 >= given.min_lines]
        chance.shuffle(spans)
        lines = (clone.root / path).read_text(errors="replace").split("\n") if spans else []
        for span in spans:
            function = read_alone(path, span, language, lines)
            if not function or function.n_tokens < given.min_tokens:
                continue
            copies = {kind: function.renamed(kind, f"{given.seed} {path} {kind}") for kind in KINDS}
            if all(copies.values()) and function.local():
                chosen.append((function, copies))
                break
    return chosen


def common(members, one, lines_of_one, two, lines_of_two):
    """What is said of a group with two functions, or with what is around them; `None` if there is none."""

    def numbers(path, lines):
        first, last = lines
        return {number: said for start, end, number, said in members.get(path, []) if start <= first + 1 and end >= last - 1}

    of_one, of_two = numbers(one, lines_of_one), numbers(two, lines_of_two)
    return next((said for number, said in of_one.items() if number in of_two), None)


def why(clone, function, name, text):
    """Why a copy is not found."""
    if not clone.functions(f"{FOLDER}/{name}")[1]:
        return "is no function"
    one, two = (f"{which}{Path(name).suffix}" for which in ("one", "two"))
    with tempfile.TemporaryDirectory(prefix="renamed-") as directory:
        subprocess.run(["git", "init", "--quiet", directory], check=True)
        pair = Repository(Path(directory), clone.program)
        pair.commit({one: function.text, two: text})
        lines, kinds = lines_of(function), ["--kind", "function", "--kind", "method"]

        def said(*options):
            return common(pair.groups(*kinds, *options), f"{FOLDER}/{one}", lines, f"{FOLDER}/{two}", lines)

        if said():
            return "apart"
        if said("--min-tokens", "1"):
            return "few tokens"
        return said("--min-similarity", "0.5") or "is not similar"


def lines_of(function):
    before = lines_before(function.wrapper)
    return before + 1, before + function.lines[1] - function.lines[0] + 1


def count(clone, chosen, kind, given):
    """The number of copies that are found."""
    names = {f"{at:03}{Path(function.path).suffix}": (function, copies) for at, (function, copies) in enumerate(chosen)}
    clone.commit({name: copies[kind] for name, (_, copies) in names.items()})
    members, n_found, misses = clone.groups("--min-similarity", str(given.min_similarity)), 0, []
    for name, (function, copies) in names.items():
        lines = lines_of(function)
        if common(members, function.path, function.lines, f"{FOLDER}/{name}", lines):
            n_found += 1
        elif given.misses:
            place = f"{function.path}:{function.lines[0]}-{function.lines[1]}"
            misses.append(f"  {kind} {name} {place} {function.n_tokens} tokens: {why(clone, function, name, copies[kind])}")
    return n_found, misses


def compare(source, directory, given):
    """The number of functions of a repository, and of their copies of each kind that are found."""
    clone = clone_of(source, Path(directory) / source.name, given.program)
    chosen = choose(clone, given, random.Random(f"{given.seed} {source.name}"))
    found, misses = {}, []
    for kind in KINDS if chosen else ():
        found[kind], missed = count(clone, chosen, kind, given)
        misses += missed
        if given.keep:
            clone.git("tag", kind)
        clone.remove()
    return len(chosen), found, misses


def line(name, n_all, found):
    return f"{name}: " + ", ".join(f"{found.get(kind, 0)} of {n_all} {kind}" for kind in KINDS)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repositories", type=Path, nargs="+")
    options.add_argument("--program", type=absolute, default=os.environ.get("CODEWEAVER_BENCH_BINARY", "git-codeweaver"))
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--copies", type=int, default=40, help="maximum number of copies of each kind, for each repository")
    options.add_argument("--min-tokens", type=int, default=50)
    options.add_argument("--min-lines", type=int, default=8)
    options.add_argument("--min-similarity", type=float, default=0.9)
    options.add_argument("--misses", action="store_true")
    options.add_argument("--keep", type=Path, metavar="DIR", help="where to leave the clones, with a tag for each kind of copies")
    given = options.parse_args()

    n_all, all_found = 0, dict.fromkeys(KINDS, 0)
    for source in given.repositories:
        with tempfile.TemporaryDirectory(prefix="renamed-") as directory:
            n, found, misses = compare(source, given.keep or directory, given)
        n_all, all_found = n_all + n, {kind: all_found[kind] + found.get(kind, 0) for kind in KINDS}
        print(line(source.name, n, found), *misses, sep="\n", flush=True)
    print(line("all", n_all, all_found))


if __name__ == "__main__":
    main()
