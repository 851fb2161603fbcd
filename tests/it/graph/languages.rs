//! `graph` in every language: a small program of each, with an edge of each grade.

use serde_json::Value;

use codeweaver_testkit::TestRepo;

use crate::graph::command::{ask, edges, fixture, has};

/// What `run` of a fixture calls: a function by import, a method of a declared type, a method that only one
/// type has, one that two have, and a library.
#[track_caller]
fn check(
    language: &str,
    run: &str,
    helper: &str,
    area: &str,
    polish: &str,
    renders: [&str; 2],
    library: &str,
) -> TestRepo {
    let repo = fixture(language);
    let answer = ask(&repo, &["callees", run]);
    assert_eq!(answer["status"], "ok", "{answer:#}");
    has(
        &answer,
        &[
            &format!("exact {run} -> {helper}"),
            &format!("exact {run} -> {area}"),
            &format!("unique_name {run} -> {polish}"),
            &format!("ambiguous {run} -> {}", renders[0]),
            &format!("ambiguous {run} -> {}", renders[1]),
            &format!("unresolved {run} -> ({library})"),
        ],
    );
    let local = edges(&answer).into_iter().filter(|edge| edge.contains("callback")).collect::<Vec<_>>();
    assert!(local.iter().all(|edge| edge.starts_with("unresolved")), "{local:?}");
    repo
}

#[test]
fn python() {
    let repo = check(
        "python",
        "run",
        "helper",
        "Shape.area",
        "Label.polish",
        ["Shape.render", "Label.render"],
        "logging.warning",
    );
    has(&ask(&repo, &["callees", "run"]), &["exact run -> Shape.__init__"]);
    has(&ask(&repo, &["callers", "helper"]), &["exact run -> helper", "exact Shape.scale -> helper"]);
    has(&ask(&repo, &["callers", "Shape.scale"]), &["exact Shape.area -> Shape.scale"]);
    has(&ask(&repo, &["callers", "Shape"]), &["exact run -> Shape"]);
    has(
        &ask(&repo, &["callers", "Label.render"]),
        &["exact Label.polish -> Label.render", "ambiguous run -> Label.render"],
    );
}

#[test]
fn javascript() {
    let repo = check(
        "javascript",
        "run",
        "helper",
        "Shape.area",
        "Label.polish",
        ["Shape.render", "Label.render"],
        "fs.readFileSync",
    );
    has(&ask(&repo, &["callers", "helper"]), &["exact run -> helper", "exact Shape.scale -> helper"]);
}

#[test]
fn typescript() {
    let repo = check(
        "typescript",
        "run",
        "helper",
        "Shape.area",
        "Label.polish",
        ["Shape.render", "Label.render"],
        "readFileSync",
    );
    has(&ask(&repo, &["callers", "helper"]), &["exact run -> helper", "exact Shape.scale -> helper"]);
}

#[test]
fn tsx() {
    let repo = check(
        "tsx",
        "run",
        "helper",
        "Shape.area",
        "Label.polish",
        ["Shape.render", "Label.render"],
        "createElement",
    );
    let callers = ask(&repo, &["callers", "helper"]);
    let run =
        callers["edges"].as_array().unwrap().iter().find(|edge| edge["srcSymbolId"] == "main.tsx:5#run");
    assert_eq!(run.unwrap()["siteCount"], 2, "also the call inside an element: {callers:#}");
}

#[test]
fn go() {
    let repo = check(
        "go",
        "run",
        "Helper",
        "Shape.Area",
        "Label.Polish",
        ["Shape.Render", "Label.Render"],
        "fmt.Println",
    );
    has(&ask(&repo, &["callers", "Shape.scale"]), &["exact Shape.Area -> Shape.scale"]);
    has(&ask(&repo, &["callers", "Helper"]), &["exact twice -> Helper", "exact run -> Helper"]);
}

#[test]
fn rust() {
    let repo = check(
        "rust",
        "run",
        "helper",
        "Shape::area",
        "Any::polish",
        ["Shape::render", "Any::render"],
        "std::mem::drop",
    );
    let callers = ask(&repo, &["callers", "helper"]);
    has(&callers, &["exact run -> helper", "exact Shape::scale -> helper"]);
    let lines = |edge: &Value| {
        edge["sites"]
            .as_array()
            .unwrap()
            .iter()
            .map(|site| site["startLine"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let all: Vec<u64> = callers["edges"].as_array().unwrap().iter().flat_map(lines).collect();
    assert!(all.contains(&13), "also the call inside a macro: {callers:#}");
}

#[test]
fn java() {
    let repo = check(
        "java",
        "Main.run",
        "Shape.helper",
        "Shape.area",
        "Label.polish",
        ["Shape.render", "Label.render"],
        "List.of",
    );
    let area = ask(&repo, &["callees", "src/shop/shapes/Shape.java:18"]);
    has(&area, &["exact Shape.area -> Shape.area", "exact Shape.area -> Base.inherited"]);
    let overload = area["edges"].as_array().unwrap().iter().find(|edge| edge["name"] == "area").unwrap();
    assert_eq!(
        overload["dstSymbolId"], "src/shop/shapes/Shape.java:14#Shape.area",
        "by the number of arguments"
    );
    has(&ask(&repo, &["callees", "Main.run"]), &["exact Main.run -> Shape.Shape"]);
}

#[test]
fn c() {
    let repo = fixture("c");
    let undeclared =
        ["unresolved run -> (polish)", "unresolved run -> (render)", "unresolved run -> (printf)"];
    let callees = ask(&repo, &["callees", "run"]);
    has(&callees, &["exact run -> helper", "exact run -> area"]);
    has(&callees, &undeclared);
    has(&ask(&repo, &["callers", "helper"]), &["exact run -> helper", "exact scale -> helper"]);
    let label = ask(&repo, &["callers", "label.c:6"]);
    assert_eq!(edges(&label), ["exact label -> render"], "no other file sees a static function");
    assert!(
        !edges(&label).iter().any(|edge| edge.contains("other ->")),
        "a static function is that of its file"
    );
}

#[test]
fn cpp() {
    let repo = check(
        "cpp",
        "run",
        "shop::helper",
        "shop::Shape::area",
        "shop::Label::polish",
        ["shop::Shape::render", "shop::Label::render"],
        "std::printf",
    );
    has(&ask(&repo, &["callees", "Shape::area"]), &["exact shop::Shape::area -> shop::Shape::scale"]);
}

#[test]
fn csharp() {
    check(
        "csharp",
        "Shop.Main.Run",
        "Shop.Shapes.Shape.Helper",
        "Shop.Shapes.Shape.Area",
        "Shop.Shapes.Label.Polish",
        ["Shop.Shapes.Shape.Render", "Shop.Shapes.Label.Render"],
        "Console.WriteLine",
    );
}

#[test]
fn ruby() {
    check(
        "ruby",
        "run",
        "Shop::helper",
        "Shop::Shape::area",
        "Shop::Label::polish",
        ["Shop::Shape::render", "Shop::Label::render"],
        "warn",
    );
}

#[test]
fn php() {
    check(
        "php",
        "run",
        "helper",
        "Shape::area",
        "Label::polish",
        ["Shape::render", "Label::render"],
        "strlen",
    );
}

#[test]
fn kotlin() {
    check(
        "kotlin",
        "run",
        "helper",
        "Shape.area",
        "Label.polish",
        ["Shape.render", "Label.render"],
        "println",
    );
}

#[test]
fn swift() {
    check("swift", "run", "helper", "Shape.area", "Label.polish", ["Shape.render", "Label.render"], "NSLog");
}

#[test]
fn scala() {
    check(
        "scala",
        "Main.run",
        "Tools.helper",
        "Shape.area",
        "Label.polish",
        ["Shape.render", "Label.render"],
        "sys.error",
    );
}

#[test]
fn languages_without_declared_types() {
    let repo = TestRepo::with_files(&[
        ("lua/app/shapes.lua", "local M = {}\nfunction M.area(a)\n  return a\nend\nreturn M\n"),
        (
            "lua/app/main.lua",
            "local shapes = require(\"app.shapes\")\nlocal M = {}\nlocal function helper(a)\n  return a\nend\n\
             function M.run_lua(box)\n  helper(1)\n  shapes.area(2)\n  print(box)\nend\nreturn M\n",
        ),
        (
            "lib/shapes.ex",
            "defmodule App.Shapes do\n  def area(x), do: x\n\n  def scale(x) when is_map(x) do\n    x |> area()\n  end\nend\n",
        ),
        (
            "lib/main.ex",
            "defmodule App.Main do\n  alias App.Shapes, as: S\n  alias App.{Shapes}\n\n  @spec run_elixir(any) :: any\n  \
             def run_elixir(x) do\n    helper(x)\n    S.area(x)\n    Shapes.scale(x)\n    Enum.map(x, &helper/1)\n  \
             end\n\n  defp helper(x), do: x\nend\n",
        ),
        (
            "src/shapes.zig",
            "pub const Shape = struct {\n    x: u32,\n    pub fn area(self: Shape) u32 {\n        return self.scale();\n    \
             }\n    fn scale(self: Shape) u32 {\n        return self.x;\n    }\n};\npub fn area() void {}\n",
        ),
        (
            "src/main.zig",
            "const std = @import(\"std\");\nconst shapes = @import(\"shapes.zig\");\nfn helper() void {}\n\
             pub fn run_zig() void {\n    helper();\n    shapes.area();\n    std.debug.print(\"\", .{});\n}\n",
        ),
        (
            "src/Shapes.hs",
            "module App.Shapes (area, scale) where\n\narea :: Int -> Int\narea x = x\n\nscale x = area x\n",
        ),
        (
            "src/Main.hs",
            "module Main where\n\nimport qualified Data.List as L\nimport qualified App.Shapes as S\n\
             import App.Shapes (scale)\n\nrunHaskell :: Int -> Int\nrunHaskell x = helper $ S.area (scale (L.sum x))\n\n\
             helper :: Int -> Int\nhelper x = x\n",
        ),
        ("bin/shapes.sh", "area() {\n  echo \"$1\"\n}\n"),
        (
            "bin/main.sh",
            "#!/bin/bash\n. \"$(dirname \"$0\")/shapes.sh\"\nhelper() {\n  true\n}\nrun_shell() {\n  helper a\n  \
             area b | grep c\n}\n",
        ),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let callees = |symbol: &str| {
        let mut found = edges(&ask(&repo, &["callees", symbol]));
        found.sort();
        found
    };

    assert_eq!(
        callees("run_lua"),
        ["exact M.run_lua -> M.area", "exact M.run_lua -> helper", "unresolved M.run_lua -> (print)"]
    );
    assert_eq!(
        callees("run_elixir"),
        [
            "exact App.Main.run_elixir -> App.Main.helper",
            "exact App.Main.run_elixir -> App.Shapes.area",
            "exact App.Main.run_elixir -> App.Shapes.scale",
            "unresolved App.Main.run_elixir -> (Enum.map)"
        ]
    );
    assert_eq!(
        callees("lib/shapes.ex:4"),
        ["exact App.Shapes.scale -> App.Shapes.area", "unresolved App.Shapes.scale -> (is_map)"]
    );
    assert_eq!(
        callees("run_zig"),
        ["exact run_zig -> area", "exact run_zig -> helper", "unresolved run_zig -> (std.debug.print)"]
    );
    assert_eq!(callees("Shape.area"), ["exact Shape.area -> Shape.scale"]);
    assert_eq!(
        callees("runHaskell"),
        [
            "exact runHaskell -> area",
            "exact runHaskell -> helper",
            "exact runHaskell -> scale",
            "unresolved runHaskell -> (L.sum)"
        ]
    );
    assert_eq!(callees("run_shell"), ["exact run_shell -> area", "exact run_shell -> helper"]);
    has(&ask(&repo, &["callers", "src/Shapes.hs:4"]), &["exact runHaskell -> area", "exact scale -> area"]);
}

#[test]
fn javascript_require_resolves_to_the_exporting_file() {
    let repo = TestRepo::with_files(&[
        ("index.js", "module.exports = require('./lib/app');\n"),
        (
            "lib/app.js",
            "exports = module.exports = create;\nfunction create() {}\nexports.use = function () {};\n",
        ),
        (
            "test/t.js",
            "var app = require('..');\nvar other = require('other');\nvar { use } = require('../lib/app');\n\
             function go() {\n  app();\n  other();\n  use();\n}\n",
        ),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = ask(&repo, &["callees", "go"]);
    has(&answer, &["exact go -> create", "unresolved go -> (other)", "exact go -> use"]);
}

#[test]
fn a_test_description_does_not_define_the_names_in_it() {
    let text = "var Router = require('./router');\nfunction go() { return new Router(); }\n\
                describe('Router', function () { it('go', function () { go(); }); });\n";
    let repo = TestRepo::with_files(&[("t.js", text), ("router.js", "module.exports = { a: 1 };\n")]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = ask(&repo, &["callees", "t.js:2"]);
    assert_eq!(edges(&answer), ["exact go -> Router"], "{answer:#}");
    assert_eq!(answer["edges"][0]["dstSymbolId"], "t.js:1#Router", "the variable, not the test: {answer:#}");
    assert_eq!(ask(&repo, &["callers", "t.js:2"])["edges"].as_array().unwrap().len(), 1);
}

#[test]
fn definitions_of_libraries_are_not_resolved() {
    let repo = TestRepo::init();
    repo.write(
        "src/app/Text.java",
        "package app;\n\npublic class Text {\n    public Text setGlyph(int at) {\n        return this;\n    }\n\n    public int nextRoll(int n) {\n        return n;\n    }\n}\n",
    );
    repo.write(
        "src/app/Use.java",
        "package app;\n\npublic class Use {\n    void strings(StringBuilder builder, String name) {\n        builder.setGlyph(1);\n        name.setGlyph(2);\n    }\n\n    void ours(Text text) {\n        text.setGlyph(3);\n    }\n\n    void failing() {\n        try {\n            ours(null);\n        } catch (RuntimeException error) {\n            error.setGlyph(4);\n        }\n    }\n\n    Object dice() {\n        return new Random() {\n            public int nextFace(int n) {\n                return super.nextFace(n);\n            }\n        };\n    }\n\n    <T extends Text> void generic(T item) {\n        item.setGlyph(5);\n    }\n}\n",
    );
    repo.write("lib/rack.rb", "module Rack\n  class Lint\n    def initialize(app)\n    end\n  end\nend\n");
    repo.write("lib/more.rb", "module Rack\n  def self.start\n    Rack::Lint.new(1)\n  end\nend\n");
    repo.write("web/base.ts", "export class Base {\n  included(x: string) {\n    return x\n  }\n}\n");
    repo.write(
        "web/use.ts",
        "import { Base } from '@/base'\n\nexport class Sub extends Base {\n  run(files: Map<string, string>) {\n    this.included('a')\n  }\n}\n",
    );
    repo.commit("libraries");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let callees = |symbol: &str| edges(&ask(&repo, &["callees", symbol]));
    assert_eq!(
        callees("Use.strings"),
        ["unresolved Use.strings -> (builder.setGlyph)", "unresolved Use.strings -> (name.setGlyph)"]
    );
    assert_eq!(callees("Use.ours"), ["exact Use.ours -> Text.setGlyph"]);
    assert!(callees("Use.failing").contains(&"unresolved Use.failing -> (error.setGlyph)".to_owned()));
    assert_eq!(
        callees("Use.generic"),
        ["unique_name Use.generic -> Text.setGlyph"],
        "a parameter is no library"
    );
    let dice = edges(&ask(&repo, &["callees", "src/app/Use.java:24"]));
    assert!(dice.iter().all(|edge| edge.starts_with("unresolved")), "a base is not what asks it: {dice:?}");
    let start = callees("Rack.start");
    assert_eq!(start, callees("Rack::start"), "a singleton method is found by either spelling");
    assert!(
        start.len() == 1 && start[0].starts_with("exact ") && start[0].ends_with("Lint::initialize"),
        "{start:?}"
    );
    assert_eq!(
        callees("Sub.run"),
        ["unique_name Sub.run -> Base.included"],
        "an import that cannot be followed"
    );
}
