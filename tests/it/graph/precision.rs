//! Precision of call graph edges: what a compiler would decide, and what it would not.

use codeweaver_testkit::TestRepo;

use crate::graph::command::{ask, edges, has};

fn with(files: &[(&str, &str)]) -> TestRepo {
    let repo = TestRepo::with_files(files);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[track_caller]
fn lacks(answer: &serde_json::Value, forbidden: &str) {
    let found = edges(answer);
    assert!(!found.iter().any(|edge| edge.contains(forbidden)), "{forbidden:?} is among {found:#?}");
}

/// Two archives with a function of one name, which is static in one of them.
const ARCHIVES: &[(&str, &str)] = &[
    ("src/dict.h", "#ifndef DICT_H\n#define DICT_H\nint grow(int n);\n#endif\n"),
    ("src/dict.c", "#include \"dict.h\"\n\nint grow(int n) {\n    return n;\n}\n"),
    ("src/main.c", "#include \"dict.h\"\n\nint main(void) {\n    return grow(1);\n}\n"),
    ("deps/other/dict.h", "static int grow(int *table);\nint fill(int *table);\n"),
    (
        "deps/other/dict.c",
        "#include \"dict.h\"\n\nstatic int grow(int *table) {\n    return *table;\n}\n\nint fill(int *table) {\n    return \
         grow(table);\n}\n",
    ),
    ("deps/other/client.c", "#include \"dict.h\"\n\nint client(int *table) {\n    return fill(table);\n}\n"),
];

#[test]
fn a_static_function_of_c_is_called_from_its_own_file_only() {
    let repo = with(ARCHIVES);
    let own = ask(&repo, &["callers", "src/dict.c:3"]);
    assert_eq!(edges(&own), ["exact main -> grow"], "{own:#}");
    assert_eq!(own["edges"][0]["dstSymbolId"], "src/dict.c:3#grow", "the body, not the declaration");
    let other = ask(&repo, &["callers", "deps/other/dict.c:3"]);
    assert_eq!(edges(&other), ["exact fill -> grow"], "{other:#}");
}

#[test]
fn a_function_of_c_is_the_one_whose_file_sees_the_same_declaration() {
    let mut files = ARCHIVES.to_vec();
    files.push(("deps/third/api.h", "int grow(int n);\n"));
    files.push(("deps/third/grow.c", "#include \"api.h\"\n\nint grow(int n) {\n    return n + n;\n}\n"));
    files.push(("deps/third/use.c", "#include \"api.h\"\n\nint third(void) {\n    return grow(3);\n}\n"));
    let repo = with(&files);
    assert_eq!(edges(&ask(&repo, &["callers", "src/dict.c:3"])), ["exact main -> grow"]);
    assert_eq!(edges(&ask(&repo, &["callers", "deps/third/grow.c:3"])), ["exact third -> grow"]);
    // A declaration that neither file includes proves nothing.
    repo.write("loose.c", "int grow(int n);\n\nint loose(void) {\n    return grow(4);\n}\n").commit("loose");
    let callees = ask(&repo, &["callees", "loose"]);
    let unsure: Vec<String> = edges(&callees);
    assert_eq!(unsure, ["ambiguous loose -> grow", "ambiguous loose -> grow"], "{callees:#}");
}

#[test]
fn what_a_file_of_c_does_not_include_it_does_not_call() {
    let repo = with(&[
        ("compat/windows.h", "#define snprintf(buffer, n) _snprintf(buffer, n)\n"),
        ("lib/assert.h", "#define assert(what) check(what)\n"),
        ("lib/pool.c", "int close(int file) {\n    return file;\n}\n"),
        (
            "src/main.c",
            "#include <assert.h>\n#include <stdio.h>\n\nint main(void) {\n    snprintf(0, 1);\n    assert(1);\n    return \
             close(2);\n}\n",
        ),
    ]);
    let callees = ask(&repo, &["callees", "main"]);
    has(
        &callees,
        &["unresolved main -> (snprintf)", "unresolved main -> (assert)", "unresolved main -> (close)"],
    );
    // With the header, it does.
    repo.write("lib/pool.h", "int close(int file);\n");
    repo.write("src/other.c", "#include \"../lib/pool.h\"\n\nint other(void) {\n    return close(2);\n}\n");
    repo.commit("include");
    has(&ask(&repo, &["callees", "other"]), &["exact other -> close"]);
}

#[test]
fn a_member_function_of_cpp_is_called_where_it_is_defined_and_not_where_it_is_declared() {
    let header = "class Version {\n public:\n  int Pick(int level);\n  void Overlaps(int level);\n};\n";
    let source = "#include \"version.h\"\n\nint Version::Pick(int level) {\n  Overlaps(level + 1);\n  return level;\n}\n\n\
                  void Version::Overlaps(int level) {\n  level++;\n}\n";
    let repo = with(&[("db/version.h", header), ("db/version.cc", source)]);
    let callers = ask(&repo, &["callers", "Version::Overlaps"]);
    assert_eq!(edges(&callers), ["exact Version::Pick -> Version::Overlaps"], "{callers:#}");
    assert_eq!(callers["edges"][0]["dstSymbolId"], "db/version.cc:8#Version::Overlaps");
}

#[test]
fn a_macro_under_a_condition_is_no_proof() {
    let repo = with(&[
        (
            "port.h",
            "#ifndef PORT_H\n#define PORT_H\n#define always(x) (x)\nint after(void);\nint before(void);\nint around(void);\n\
             int again(void);\n#ifdef _WIN32\n#define strcasecmp(a, b) _stricmp(a, b)\n#endif\n#endif\n",
        ),
        (
            "main.c",
            "#include <strings.h>\n#include \"port.h\"\n\nint main(void) {\n    return always(1) + strcasecmp(\"a\", \"b\");\n}\n",
        ),
    ]);
    let callees = ask(&repo, &["callees", "main"]);
    has(&callees, &["exact main -> always", "unique_name main -> strcasecmp"]);
}

#[test]
fn overload_stubs_of_python_are_one_function() {
    let repo = with(&[
        (
            "api.py",
            "import typing as t\nfrom typing import overload\n\n\n@overload\ndef load(x: int) -> int: ...\n\n\n@t.overload\n\
             def load(\n    x: str,\n) -> str: ...\n\n\ndef load(x):\n    return x\n\n\nclass Box:\n    @overload\n    \
             def get(self, x: int) -> int: ...\n    def get(self, x):\n        return x\n\n    def both(self):\n        \
             return self.get(1)\n",
        ),
        ("app.py", "from api import load\n\n\ndef run():\n    return load(1)\n"),
    ]);
    let callees = ask(&repo, &["callees", "run"]);
    assert_eq!(edges(&callees), ["exact run -> load"], "{callees:#}");
    assert_eq!(callees["edges"][0]["dstSymbolId"], "api.py:15#load", "the definition");
    assert_eq!(edges(&ask(&repo, &["callees", "Box.both"])), ["exact Box.both -> Box.get"]);
    // All callers are found under the name, although it has three places.
    has(&ask(&repo, &["callers", "load"]), &["exact run -> load"]);
}

#[test]
fn a_module_of_a_package_is_reached_through_the_package() {
    let repo = with(&[
        ("shop/__init__.py", "from . import codec as codec\n"),
        ("shop/codec.py", "def pack(x):\n    return x\n"),
        ("shop/other.py", "class Other:\n    def pack(self):\n        pass\n"),
        ("app.py", "import shop\n\n\ndef run():\n    shop.codec.pack(1)\n"),
    ]);
    let callees = ask(&repo, &["callees", "run"]);
    assert_eq!(edges(&callees), ["exact run -> pack"], "{callees:#}");
}

#[test]
fn data_of_typescript_is_not_called() {
    let repo = with(&[
        (
            "types.ts",
            "export type Handler = (x: number) => void\nexport interface Options {\n  flag?: string | number\n  map: \
             Source\n  rows: string[]\n  run: () => void\n  handle: Handler\n  send?(x: number): void\n}\nexport interface \
             Source {\n  text: string\n}\n",
        ),
        (
            "app.ts",
            "export function go(x) {\n  x.flag(1)\n  x.map(2)\n  x.rows(3)\n  x.run()\n  x.handle(4)\n  x.send(5)\n}\n",
        ),
    ]);
    let callees = ask(&repo, &["callees", "go"]);
    for data in ["Options.flag", "Options.map", "Options.rows"] {
        lacks(&callees, data);
    }
    for function in ["go -> Options.run", "go -> Options.handle", "go -> Options.send"] {
        assert!(edges(&callees).iter().any(|edge| edge.ends_with(function)), "{function}: {callees:#}");
    }
}

#[test]
fn a_method_of_an_object_is_not_in_scope_around_it() {
    let repo = with(&[(
        "app.ts",
        "function get(x: number) {\n  return x\n}\n\nexport function make() {\n  return {\n    get(x: number) {\n      \
         return get(x)\n    },\n  }\n}\n",
    )]);
    let callers = ask(&repo, &["callers", "app.ts:1"]);
    assert_eq!(edges(&callers), ["exact make.get -> get"], "{callers:#}");
}

#[test]
fn a_receiver_of_a_built_in_type_has_no_members_of_the_repository() {
    let repo = with(&[
        (
            "box.ts",
            "export class Box {\n  push(x: number) {}\n  find(x: number) {}\n  all(x: number) {}\n}\n",
        ),
        (
            "app.ts",
            "export function go(names: string[], known: Map<string, number>, text: string) {\n  names.push('a')\n  \
             known.find(1)\n  text.all(1)\n  const list = [1]\n  list.push(2)\n}\n\nexport function unsure(x) {\n  x.push(1)\n}\n",
        ),
    ]);
    lacks(&ask(&repo, &["callees", "go"]), "-> Box");
    let unsure = ask(&repo, &["callees", "unsure"]);
    assert!(edges(&unsure).iter().any(|edge| edge.ends_with("-> Box.push")), "{unsure:#}");
}

#[test]
fn alternatives_under_conditions_are_not_proven_in_rust() {
    let repo = with(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", "pub mod metrics;\npub mod run;\n"),
        (
            "src/metrics/mod.rs",
            "#[cfg(a)]\nmod real;\n#[cfg(a)]\npub use real::Metrics;\n#[cfg(not(a))]\nmod mock;\n#[cfg(not(a))]\npub use \
             mock::Metrics;\n",
        ),
        (
            "src/metrics/real.rs",
            "pub struct Metrics;\nimpl Metrics {\n    pub fn fresh() -> Self { Metrics }\n}\n",
        ),
        (
            "src/metrics/mock.rs",
            "pub struct Metrics;\nimpl Metrics {\n    pub fn fresh() -> Self { Metrics }\n}\n",
        ),
        ("src/run.rs", "use crate::metrics::Metrics;\n\npub fn run() {\n    Metrics::fresh();\n}\n"),
    ]);
    let callees = ask(&repo, &["callees", "run"]);
    lacks(&callees, "exact run -> Metrics");
    let both = edges(&callees).iter().filter(|edge| edge.ends_with("run -> Metrics::fresh")).count();
    assert_eq!(both, 2, "{callees:#}");
}

#[test]
fn imports_inside_macros_count_in_rust() {
    let repo = with(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n"),
        (
            "src/lib.rs",
            "macro_rules! cfg_rt { ($($item:item)*) => { $($item)* } }\n\ncfg_rt! {\n    pub mod task;\n    pub use \
             task::spawn;\n}\n",
        ),
        ("src/task.rs", "pub fn spawn() {}\n"),
        ("src/other.rs", "pub struct Other;\nimpl Other {\n    pub fn spawn() {}\n}\n"),
        ("tests/run.rs", "fn run() {\n    shop::spawn();\n}\n"),
    ]);
    let callees = ask(&repo, &["callees", "run"]);
    assert_eq!(edges(&callees), ["exact run -> spawn"], "{callees:#}");
    assert_eq!(callees["edges"][0]["dstSymbolId"], "src/task.rs:1#spawn");
}

#[test]
fn a_variable_is_not_in_scope_in_its_own_statement() {
    let repo = with(&[
        ("src/lib.rs", "fn rt() -> u32 { 1 }\n\nfn run() {\n    let rt = rt();\n    rt();\n}\n"),
        ("go.mod", "module shop\n"),
        (
            "use.go",
            "package main\n\nfunc make1() int { return 1 }\n\nfunc use() {\n\tmake1 := make1()\n\t_ = make1\n}\n",
        ),
    ]);
    let callees = ask(&repo, &["callees", "run"]);
    assert_eq!(edges(&callees), ["exact run -> rt", "unresolved run -> (rt)"], "{callees:#}");
    has(&ask(&repo, &["callees", "use"]), &["exact use -> make1"]);
}

#[test]
fn every_call_site_is_printed_for_measurements() {
    let repo = with(ARCHIVES);
    let run = repo.codeweaver(["eval", "calls", "src/"]);
    run.success();
    let sites: Vec<serde_json::Value> =
        run.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [site] = sites.as_slice() else { panic!("{sites:#?}") };
    assert_eq!(
        (&site["file"], &site["line"], &site["column"]),
        (&"src/main.c".into(), &4.into(), &12.into())
    );
    assert_eq!((&site["name"], &site["grade"]), (&"grow".into(), &"exact".into()));
    assert_eq!(site["targets"][0]["file"], "src/dict.c");
    assert_eq!(repo.codeweaver(["eval", "calls", "nowhere/"]).code(), 1);
}
