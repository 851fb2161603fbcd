//! What an answer without edges proves: what names a symbol and was not resolved is counted and shown.

use codeweaver::query::Searcher;
use codeweaver_testkit::TestRepo;
use codeweaver_xref::{
    CallGraphRequest, CallGraphResponse, Direction, Grade, UnlistedReason as Reason, Xref,
};

use crate::support::mcp_client::McpClient;

/// An indexed repository that is asked in this process.
struct Asked {
    repo: TestRepo,
    searcher: Searcher,
}

impl Asked {
    fn new(files: &[(&str, &str)]) -> Asked {
        let repo = TestRepo::with_files(files);
        repo.codeweaver(["init", "--no-hooks"]).success();
        let searcher = Searcher::new(codeweaver_index::Codebase::open(repo.root(), &[]).unwrap());
        Asked { repo, searcher }
    }

    fn ask(&self, direction: Direction, symbol: &str) -> CallGraphResponse {
        let request = CallGraphRequest::new(symbol, direction);
        Xref::new(&self.searcher).query(&request, &|_, _| false).unwrap()
    }

    fn callers(&self, symbol: &str) -> CallGraphResponse {
        self.ask(Direction::Callers, symbol)
    }

    fn callers_of_all(&self, symbols: &[&str]) -> CallGraphResponse {
        let symbols = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        let request = CallGraphRequest { symbols, ..CallGraphRequest::new("", Direction::Callers) };
        Xref::new(&self.searcher).query(&request, &|_, _| false).unwrap()
    }
}

/// `reason file:lines` of every unlisted place.
fn unlisted(answer: &CallGraphResponse) -> Vec<String> {
    let files = answer.unlisted.iter().flat_map(|unlisted| &unlisted.files);
    files.map(|file| format!("{:?} {}:{:?}", file.reason, file.file, file.lines)).collect()
}

/// `grade from -> to` of every edge, by qualified names.
fn edges(answer: &CallGraphResponse) -> Vec<String> {
    let last = |id: &str| id.rsplit('#').next().unwrap_or_default().to_owned();
    let of = |edge: &codeweaver_xref::Edge| {
        let to = edge.dst_symbol_id.as_deref().map_or_else(String::new, last);
        format!("{} {} -> {to}", edge.grade.name(), last(&edge.src_symbol_id))
    };
    answer.edges.iter().map(of).collect()
}

#[track_caller]
fn has(answer: &CallGraphResponse, expected: &[&str]) {
    let found = edges(answer);
    for edge in expected {
        assert!(
            found.iter().any(|known| known == edge),
            "{edge:?} is missing among {found:#?}: {:?}",
            unlisted(answer)
        );
    }
}

#[test]
fn an_absence_is_claimed_only_if_nothing_names_the_symbol() {
    let asked = Asked::new(&[
        (
            "src/shop.ts",
            "// saveOrder is called elsewhere\nexport function saveOrder() {}\nexport function dropOrder() {}\n\
             export function onClick() {}\nexport function Banner() {}\nexport const LIMIT = 1;\nfunction neverUsed() {}\n",
        ),
        ("src/App.vue", "<template>\n  <a @click=\"saveOrder(1)\">x</a>\n</template>\n"),
        (
            "src/page.tsx",
            "import { Banner, onClick } from './shop';\n\nexport const page = <Banner run={onClick} />;\n",
        ),
        ("src/late.ts", "export const late = (shop: any) => shop['dropOrder'];\n"),
        ("filters.py", "def shorten_url(text):\n    return text\n\n\ndef plot_all():\n    return 1\n"),
        ("page.jinja", "{{ url | shorten_url }}\n"),
        ("study.ipynb", "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"plot_all()\\n\"]}]}\n"),
        ("README.md", "Call `neverUsed` or `saveOrder` when you like.\n"),
    ]);

    let vue = asked.callers("saveOrder");
    assert_eq!(unlisted(&vue), ["OtherFile src/App.vue:[2]"]);
    assert!(vue.edges.is_empty() && !vue.coverage.complete);
    assert_eq!(unlisted(&asked.callers("shorten_url")), ["OtherFile page.jinja:[1]"]);
    assert_eq!(unlisted(&asked.callers("plot_all")), ["OtherFile study.ipynb:[1]"]);
    assert_eq!(unlisted(&asked.callers("dropOrder")), ["Literal src/late.ts:[1]"]);

    // A callback and an element of a page are references, and no calls.
    for symbol in ["onClick", "Banner"] {
        let callers = asked.callers(symbol);
        assert_eq!(unlisted(&callers)[0], "NotACall src/page.tsx:[3]", "{symbol}");
        assert!(!callers.coverage.complete);
        let references = asked.ask(Direction::References, symbol);
        assert!(!references.edges.is_empty() && references.coverage.complete, "{:?}", unlisted(&references));
    }

    // Comments and documentation use nothing.
    let never = asked.callers("neverUsed");
    assert_eq!((never.unlisted.as_ref(), never.coverage.complete), (None, true), "{:?}", unlisted(&never));
    assert_eq!(asked.ask(Direction::References, "neverUsed").unlisted, None);

    let said = "named in files whose calls are not read: src/App.vue:2";
    asked
        .repo
        .codeweaver(["graph", "callers", "saveOrder"])
        .fails(1)
        .says(&["0 edges, 1 file names it", said]);
    let json = asked.repo.codeweaver(["graph", "callers", "saveOrder", "--json"]).json();
    assert_eq!(json["unlisted"]["files"][0]["reason"], "other_file");

    let mut client = McpClient::start(&asked.repo);
    let text = client.text("call_graph", serde_json::json!({ "symbol": "saveOrder" }));
    assert!(text.starts_with("callers of saveOrder: none resolved, 1 file names it\n"), "{text}");
    assert!(text.ends_with(&format!("{said}\n")), "{text}");
    let text = client.text("find_symbol", serde_json::json!({ "symbol": "saveOrder" }));
    assert!(text.contains(said), "{text}");
}

#[test]
fn files_that_are_left_out_are_searched_for_callers() {
    let bundle = format!("/* x */\n{}used_in_vendor();", "var a=1;".repeat(2_000));
    let asked = Asked::new(&[
        (
            "app.py",
            "def used_in_vendor():\n    pass\n\n\ndef unused_anywhere():\n    pass\n\n\ndef own_of_both():\n    pass\n\n\n\
             def called():\n    pass\n\n\ncalled()\n",
        ),
        (
            "vendor/x/v.py",
            "from app import used_in_vendor, called\n\n\ndef own_of_both():\n    # unused_anywhere\n    used_in_vendor()\n    called()\n\n\nown_of_both()\n\n\n\
             def only_in_vendor():\n    pass\n",
        ),
        ("src/bundle.js", &bundle),
    ]);

    let used = asked.callers("used_in_vendor");
    assert_eq!(unlisted(&used), ["LeftOut src/bundle.js:[2]", "LeftOut vendor/x/v.py:[1, 6]"]);
    assert!(used.edges.is_empty() && !used.coverage.complete);
    let references = asked.ask(Direction::References, "used_in_vendor");
    assert!(!references.coverage.complete, "{:?}", references.coverage);

    // Beside edges, further callers may be left out as well.
    let called = asked.callers("called");
    assert!(called.edges.len() == 1 && !called.coverage.complete, "{:?}", unlisted(&called));

    // A comment calls nothing, and a file that defines the name means its own.
    for name in ["unused_anywhere", "own_of_both"] {
        let callers = asked.callers(name);
        assert_eq!((unlisted(&callers), callers.coverage.complete), (Vec::new(), true), "{name}");
    }

    let said = "named in files that are not indexed: src/bundle.js:2; vendor/x/v.py:1,6";
    asked.repo.codeweaver(["graph", "callers", "used_in_vendor"]).fails(1).says(&[said]);
    let mut client = McpClient::start(&asked.repo);
    let text = client.text("call_graph", serde_json::json!({ "symbol": "used_in_vendor" }));
    assert!(text.starts_with("callers of used_in_vendor: none resolved, 2 files name it\n"), "{text}");
    assert!(text.contains(said), "{text}");
    let text = client.text("find_symbol", serde_json::json!({ "symbol": "used_in_vendor" }));
    assert!(text.contains(said), "{text}");

    // Defined and named only there.
    let only = asked.callers("only_in_vendor");
    assert_eq!(unlisted(&only), ["LeftOut vendor/x/v.py:[13]"]);
    let text = client.text("find_symbol", serde_json::json!({ "symbol": "only_in_vendor" }));
    assert!(
        text.contains("1 file names it: named in files that are not indexed: vendor/x/v.py:13"),
        "{text}"
    );
}

#[test]
fn left_out_files_are_searched_for_several_names_at_once() {
    let asked = Asked::new(&[
        (
            "app.py",
            "def used_one():\n    pass\n\n\ndef used_two():\n    pass\n\n\ndef used_by_none():\n    pass\n",
        ),
        ("model.rb", "class Model\n  def only_vendor?\n    true\n  end\nend\n"),
        ("vendor/x/v.py", "used_one()\nx.used_two()\nnot_defined_here()\n"),
        ("vendor/x/v.rb", "model.only_vendor?\n"),
    ]);

    let all = asked.callers_of_all(&["used_one", "used_two", "not_defined_here", "Model.only_vendor?"]);
    assert_eq!(unlisted(&all), ["LeftOut vendor/x/v.py:[1, 2, 3]", "LeftOut vendor/x/v.rb:[1]"]);
    assert!(!all.coverage.complete);

    // A name of several words in the syntax of its language is searched for as well.
    assert_eq!(unlisted(&asked.callers("only_vendor?")), ["LeftOut vendor/x/v.rb:[1]"]);
    let none = asked.callers("used_by_none");
    assert_eq!((unlisted(&none), none.coverage.complete), (Vec::new(), true));
}

#[test]
fn a_symbol_may_be_written_as_a_call() {
    let asked = Asked::new(&[("a.py", "def called(x):\n    pass\n\n\ncalled(1)\n")]);
    for symbol in ["called()", "called(x)", "a.called()"] {
        assert_eq!(edges(&asked.callers(symbol)), ["exact a.py -> called"], "{symbol}");
    }
}

#[test]
fn a_declaration_at_a_location_stands_for_its_definition() {
    let asked = Asked::new(&[
        (
            "a.h",
            "void far_one(void);\nstatic void near_one(void);\nvoid *table[] = { near_one };\nstatic void near_one(void) {}\n",
        ),
        ("a.c", "#include \"a.h\"\nvoid far_one(void) {}\n"),
        ("b.c", "#include \"a.h\"\nvoid go(void) { far_one(); }\n"),
    ]);

    assert_eq!(edges(&asked.callers("a.h:1")), ["exact go -> far_one"]);
    assert_eq!(unlisted(&asked.callers("a.h:2")), ["NotACall a.h:[3]"]);
}

#[test]
fn a_method_of_a_constant_is_called_through_its_enum() {
    let asked = Asked::new(&[(
        "S.java",
        "enum S {\n  A { S next() { return null; } };\n  abstract S next();\n  S twice() { return next(); }\n}\n",
    )]);
    assert!(!asked.callers("S.A.next").coverage.complete);
}

#[test]
fn a_symbol_without_edges_keeps_its_imports_beside_one_with_edges() {
    let asked = Asked::new(&[
        ("a.py", "def called():\n    pass\n\n\ndef only_imported():\n    pass\n\n\ncalled()\n"),
        ("b.py", "from a import only_imported\n"),
    ]);

    assert!(!asked.callers("only_imported").coverage.complete);
    let both = asked.callers_of_all(&["called", "only_imported"]);
    assert_eq!((both.edges.len(), both.coverage.complete), (1, false));
    assert_eq!(unlisted(&both), ["Import b.py:[1]"]);
}

#[test]
fn calls_between_the_symbols_of_a_request_are_no_uses_of_the_caller() {
    let asked = Asked::new(&[
        ("a.py", "def called():\n    pass\n\n\ndef only_imported():\n    called()\n"),
        ("b.py", "from a import only_imported\n"),
        (
            "c.py",
            "from app import app\n\n\ndef used():\n    pass\n\n\n@app.route('/')\ndef page():\n    used()\n",
        ),
    ]);

    let both = asked.callers_of_all(&["called", "only_imported"]);
    assert_eq!((both.edges.len(), both.coverage.complete), (1, false));
    assert!(asked.callers("used").coverage.complete);
    assert!(!asked.callers_of_all(&["used", "page"]).coverage.complete);
}

#[test]
fn sources_that_no_search_covers_are_told_with_callers() {
    let lib = TestRepo::with_files(&[("lib.py", "shared_one()\n")]);
    let repo = TestRepo::with_files(&[(
        "app.py",
        "def shared_one():\n    pass\n\n\ndef called():\n    shared_one()\n",
    )]);
    let url = lib.root().to_str().unwrap();
    repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    repo.git(["commit", "--quiet", "-m", "Add a submodule"]);
    repo.codeweaver(["init", "--no-hooks"]).success();

    let said = "1 submodule (sub) is not part of this index";
    for args in [["graph", "callers", "shared_one"], ["graph", "references", "shared_one"]] {
        repo.codeweaver(args).success().says(&[said]);
    }
    repo.codeweaver(["graph", "callers", "called"]).fails(1).says(&[said]);
    let json = repo.codeweaver(["graph", "callers", "called", "--json"]).json();
    assert_eq!(json["coverage"]["complete"], false);
    let mut client = McpClient::start(&repo);
    let text = client.text("call_graph", serde_json::json!({ "symbol": "called" }));
    assert!(text.starts_with("callers of called: none resolved\n") && text.contains(said), "{text}");
    // What a function calls is in its text.
    let callees = repo.codeweaver(["graph", "callees", "called", "--json"]).json();
    assert_eq!(
        (&callees["coverage"]["complete"], &callees["warnings"]),
        (&true.into(), &serde_json::json!([]))
    );

    let asked = Asked::new(&[
        ("app.py", "def used_in_old():\n    pass\n"),
        ("old/o.py", "used_in_old()\n"),
        ("old/notes.md", "used_in_old\n"),
        ("far.py", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
        (".codeweaverignore", "old/\n"),
    ]);
    let callers = asked.callers("used_in_old");
    assert!(!callers.coverage.complete);
    let said = "CALL_GRAPH_NOT_SEARCHED: 1 source file (old/o.py) is not searched";
    assert!(callers.warnings[0].starts_with(said), "{:?}", callers.warnings);
    let said =
        "CALL_GRAPH_NOT_SEARCHED: 1 source file (far.py) is not searched: what git has of it is no text";
    assert_eq!(callers.warnings[1], said);
}

#[test]
fn functions_that_code_outside_may_call_are_not_without_callers() {
    let asked = Asked::new(&[
        ("web.py", "@app.route('/x')\ndef page():\n    pass\n\n\ndef plain():\n    pass\n"),
        ("A.java", "class A {\n  @EventListener\n  void heard() {}\n\n  @Deprecated\n  void quiet() {}\n}\n"),
        ("lib.rs", "#[get(\"/x\")]\nfn routed() {}\n\n#[inline]\nfn never_routed() {}\n"),
        ("a.go", "package a\n\ntype S struct{}\n\nfunc (s S) ServeAll() {}\n\nfunc (s S) servePart() {}\n"),
        (
            "s.ex",
            "defmodule S do\n  use GenServer\n  def handle_it(x), do: x\n  defp own_it(x), do: x\nend\n",
        ),
        ("b.rb", "class B\n  def amount=(v)\n  end\n\n  def amount_of\n  end\nend\n"),
    ]);

    for name in ["page", "heard", "routed", "ServeAll", "handle_it", "amount="] {
        let callers = asked.callers(name);
        let warned = callers.warnings.iter().any(|warning| warning.starts_with("CALL_GRAPH_FOREIGN_CALLS"));
        assert!(warned && !callers.coverage.complete, "{name}: {:?}", callers.warnings);
    }
    for name in ["plain", "quiet", "never_routed", "servePart", "own_it", "amount_of"] {
        let callers = asked.callers(name);
        assert_eq!(
            (callers.warnings.len(), callers.coverage.complete),
            (0, true),
            "{name}: {:?}",
            callers.warnings
        );
    }
}

#[test]
fn uses_that_are_written_in_other_ways_are_counted() {
    let asked = Asked::new(&[
        ("src/pages/Cart.js", "export default function CartPage() {}\n"),
        ("src/routes.js", "export const routes = [() => import('./pages/Cart')];\n"),
        ("src/Own.js", "export default function OwnPage() {}\n"),
        ("src/App.vue", "<script>\nimport Anything from './Own'\n</script>\n"),
        ("go.mod", "module ex.com/m\n"),
        ("a/a.go", "package a\n\nfunc linked() {}\n\n// unlinked is for b.unlinked\nfunc unlinked() {}\n"),
        ("b/b.go", "package b\n\nimport _ \"unsafe\"\n\n//go:linkname own ex.com/m/a.linked\nfunc own()\n"),
        ("c.ex", "defmodule C do\n  def passed(x), do: x\nend\n"),
        ("d.ex", "defmodule D do\n  defdelegate passed(x), to: C\nend\n"),
        ("J.java", "class J {\n  void setup() {}\n}\n"),
        ("beans.xml", "<bean class=\"J\" init-method=\"setup\"/>\n"),
    ]);

    for (name, place) in [
        ("CartPage", "Unresolved src/routes.js:[1]"),
        ("OwnPage", "OtherFile src/App.vue:[2]"),
        ("linked", "Unresolved b/b.go:[5]"),
        ("C.passed", "Unresolved d.ex:[2]"),
        ("J.setup", "OtherFile beans.xml:[1]"),
    ] {
        let callers = asked.callers(name);
        assert!(unlisted(&callers).iter().any(|found| found == place), "{name}: {:?}", unlisted(&callers));
        assert!(!callers.coverage.complete, "{name}");
    }
    for name in ["unlinked", "D.passed"] {
        let callers = asked.callers(name);
        assert_eq!((unlisted(&callers), callers.coverage.complete), (Vec::new(), true), "{name}");
    }
}

#[test]
fn a_name_without_a_definition_of_its_own_is_resolved_or_counted() {
    let asked = Asked::new(&[
        ("lib/shape.ts", "export function getShape() {}\n"),
        ("lib/index.ts", "export { getShape as getPublicShape } from './shape';\n"),
        (
            "lib/use.ts",
            "import { getPublicShape } from './index';\n\nfunction far() {\n  getPublicShape();\n}\n",
        ),
        ("lib/own.ts", "function inner() {}\nexport { inner as outerName };\n"),
        (
            "lib/http.js",
            "import { getProxyForUrl } from 'proxy-from-env';\n\nfunction set(url) {\n  // getProxyForUrl\n  return getProxyForUrl(url);\n}\n",
        ),
        ("rs/Cargo.toml", "[package]\nname = \"rs\"\n"),
        (
            "rs/src/lib.rs",
            "mod deep;\npub use deep::inside as outside_name;\n\npub fn go() {\n    outside_name();\n}\n",
        ),
        ("rs/src/deep.rs", "pub fn inside() {}\n"),
        ("app/scaffold.py", "class Scaffold:\n    def before_it(self, f):\n        return f\n"),
        (
            "app/app.py",
            "from app.scaffold import Scaffold\n\n\nclass Flask(Scaffold):\n    pass\n\n\ndef build():\n    app = Flask()\n    app.before_it(1)\n",
        ),
    ]);

    for (name, edge) in [
        ("getPublicShape", "exact far -> getShape"),
        ("outside_name", "exact go -> inside"),
        ("Flask.before_it", "exact build -> Scaffold.before_it"),
    ] {
        let callers = asked.callers(name);
        has(&callers, &[edge]);
        assert!(callers.stands_for().is_some_and(|said| said.starts_with(name)), "{:?}", callers.warnings);
    }
    assert_eq!(asked.callers("outerName").roots, ["lib/own.ts:1#inner"]);

    let library = asked.callers("getProxyForUrl");
    assert_eq!(library.status, codeweaver_xref::CallGraphStatus::NotFound);
    assert_eq!(unlisted(&library), ["Import lib/http.js:[1]", "Unresolved lib/http.js:[5]"]);
    let said = "No definition of 'getProxyForUrl' found in the index of HEAD, 1 file names it";
    asked.repo.codeweaver(["graph", "callers", "getProxyForUrl"]).fails(1).says(&[said, "lib/http.js:5"]);

    let mut client = McpClient::start(&asked.repo);
    let text = client.text("find_symbol", serde_json::json!({ "symbol": "getProxyForUrl" }));
    assert!(
        text.contains("1 file names it: imported: lib/http.js:1; named and not resolved: lib/http.js:5"),
        "{text}"
    );
    let text = client.text("find_symbol", serde_json::json!({ "symbol": "Flask.before_it" }));
    assert!(
        text.contains("note: Flask.before_it is inherited: Scaffold.before_it\napp/scaffold.py:2-3"),
        "{text}"
    );
    let text = client.text("call_graph", serde_json::json!({ "symbol": "getPublicShape" }));
    assert!(text.contains("getPublicShape is another name of getShape"), "{text}");
    assert!(asked.callers("no_such_name_at_all").unlisted.is_none());
}

#[test]
fn a_call_that_may_mean_very_many_definitions_is_counted_and_no_edge() {
    let mut types = String::new();
    for i in 0..14 {
        types.push_str(&format!("class T{i}:\n    def render(self):\n        pass\n\n\n"));
    }
    let asked = Asked::new(&[
        ("types.py", &types),
        (
            "two.py",
            "class A:\n    def close_all(self):\n        pass\n\n\nclass B:\n    def close_all(self):\n        pass\n",
        ),
        ("use.py", "def run(x):\n    x.render()\n    x.close_all()\n"),
        ("one.py", "def once():\n    pass\n\n\nclass Once:\n    def only(self):\n        pass\n"),
        (
            "stub.py",
            "from typing import overload\n\n\n@overload\ndef load(x: int) -> int: ...\n\n\ndef load(x):\n    return x\n\n\n\
             def reads():\n    load(1)\n",
        ),
        ("value.py", "only = 1\n\n\ndef go(x):\n    x.only()\n"),
    ]);

    let callers = asked.callers("T3.render");
    assert!(callers.edges.is_empty() && !callers.coverage.complete, "{:?}", edges(&callers));
    assert_eq!(unlisted(&callers), ["ManyCandidates use.py:[2]"]);
    assert_eq!(callers.unlisted.unwrap().candidates, Some(14));
    assert_eq!(edges(&asked.callers("A.close_all")), ["ambiguous run -> A.close_all"]);
    let callees = asked.ask(Direction::Callees, "run");
    assert_eq!(unlisted(&callees), ["ManyCandidates use.py:[2]"]);

    // A stub is called where its function is.
    assert_eq!(edges(&asked.callers("stub.py:5")), ["exact reads -> load"]);

    // A variable has the name as well, so the method is not the only definition of it.
    let only = asked.callers("Once.only");
    assert_eq!(only.edges[0].grade, Grade::UniqueName);
    assert_eq!(only.edges[0].evidence, "the only definition of that name that fits");
}

#[test]
fn functions_that_are_applied_renamed_or_aliased_have_callers() {
    let asked = Asked::new(&[
        ("lib/core.js", "export default function dispatch(x) {}\nexport function plain() {}\n"),
        (
            "lib/use.js",
            "import dispatch from './core.js';\nimport { plain } from './core.js';\n\nfunction chain() {\n  dispatch.call(this, 1);\n  \
             return [plain.bind(this), Array.prototype.slice.call([])];\n}\n",
        ),
        ("lib/other.js", "import send from './core.js';\n\nfunction sends() {\n  send(1);\n}\n"),
        ("lib/index.js", "export { plain as simple } from './core.js';\n"),
        ("lib/far.js", "import { simple } from './index.js';\n\nfunction far() {\n  simple();\n}\n"),
        ("lib/slice.js", "class Cake {\n  slice() {}\n}\n"),
        (
            "web/tsconfig.json",
            "{\n  // aliases\n  \"extends\": \"./tsconfig.base.json\",\n  \"compilerOptions\": { \"strict\": true, },\n}\n",
        ),
        (
            "web/tsconfig.base.json",
            "{ \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@acme/*\": [\"packages/*/main\"], \"~/*\": [\"./src/*\"] } } }\n",
        ),
        ("web/packages/money/main.ts", "export function priceOf() {}\n"),
        ("web/src/label.ts", "export function labelOf() {}\n"),
        (
            "web/src/app.ts",
            "import { priceOf } from '@acme/money';\nimport { labelOf } from '~/label';\nimport { labelOf as named } from 'src/label';\n\
             import { outside } from '@acme/unknown';\n\nfunction app() {\n  priceOf();\n  labelOf();\n  named();\n  outside();\n}\n",
        ),
    ]);

    has(&asked.callers("dispatch"), &["exact chain -> dispatch", "exact sends -> dispatch"]);
    has(&asked.callers("plain"), &["exact chain -> plain", "exact far -> plain"]);
    has(&asked.callers("priceOf"), &["exact app -> priceOf"]);
    let labels = asked.callers("labelOf");
    has(&labels, &["exact app -> labelOf"]);
    assert_eq!(labels.edges.iter().map(|edge| edge.site_count).sum::<usize>(), 2, "{:?}", labels.edges);
    assert!(edges(&asked.callers("Cake.slice")).is_empty(), "a method of the language is applied");
}

#[test]
fn implicit_receivers_modules_and_namespaces_are_followed() {
    let asked = Asked::new(&[
        (
            "net/Ping.kt",
            "package net\n\nclass Scope\n\nfun Scope.ponger(x: Int): Int {\n    return x\n}\n\nfun Scope.pinger(x: Int): Int {\n    return x\n}\n",
        ),
        (
            "net/Session.kt",
            "package net\n\nimport other.Base\n\nclass Session : Base() {\n    private val pinger = atomic(null)\n\n    fun start() {\n        \
             ponger(1)\n        pinger(2)\n    }\n}\n",
        ),
        (
            "far/Far.kt",
            "package far\n\nimport net.Scope\nimport net.ponger\n\nfun Scope.far() {\n    ponger(3)\n}\n",
        ),
        (
            "far/Hex.kt",
            "package far\n\nfun show(bytes: ByteArray): String {\n    return bytes.toHexText()\n}\n\n\
             fun ByteArray.toHexText(): String = \"\"\n",
        ),
        (
            "lib/deps.rb",
            "module Acme\n  module Deps\n    LIMIT = 3\n\n    def self.load_all\n    end\n  end\nend\n",
        ),
        ("lib/more.rb", "module Acme\n  module Deps\n    def self.clear_all\n    end\n  end\nend\n"),
        (
            "lib/use.rb",
            "module Acme\n  class User\n    def run\n      Acme::Deps.load_all\n      Deps.clear_all\n      Deps::LIMIT\n    end\n  end\nend\n",
        ),
        ("src/functions.php", "<?php\nnamespace Acme;\n\nfunction describe_type($x) {\n    return 1;\n}\n"),
        (
            "tests/DescribeTest.php",
            "<?php\nnamespace Acme\\Tests;\n\nuse Acme;\n\nclass DescribeTest {\n    function run() {\n        return Acme\\describe_type(1) + \
             \\Acme\\describe_type(2);\n    }\n}\n",
        ),
        ("rs/Cargo.toml", "[package]\nname = \"rs\"\n"),
        ("rs/src/lib.rs", "pub mod error;\npub mod run;\n"),
        ("rs/src/error.rs", "pub const MISSING: &str = \"x\";\n"),
        (
            "rs/src/run.rs",
            "pub fn first() {\n    panic!(\"{}\", crate::error::MISSING);\n}\n\npub fn second() {\n    own!(error, crate::error::MISSING);\n}\n",
        ),
    ]);

    let ponger = asked.callers("ponger");
    has(&ponger, &["unique_name Session.start -> Scope.ponger", "exact Scope.far -> Scope.ponger"]);
    let pinger = edges(&asked.callers("pinger"));
    assert!(pinger.iter().any(|edge| edge.ends_with("Session.start -> Scope.pinger")), "{pinger:?}");
    assert!(!pinger.iter().any(|edge| edge.starts_with("exact")), "a property is no function: {pinger:?}");

    // An extension of a type of the language.
    let hex = asked.callers("toHexText");
    assert_eq!(unlisted(&hex), ["Unresolved far/Hex.kt:[4]"]);

    let deps = asked.ask(Direction::References, "Acme::Deps");
    let lines: usize = deps
        .edges
        .iter()
        .filter(|edge| edge.dst_symbol_id.as_deref() == Some("lib/deps.rb:2#Acme::Deps"))
        .map(|edge| edge.site_count)
        .sum();
    assert_eq!(lines, 3, "{:?}", deps.edges);
    assert!(deps.coverage.complete, "{:?}", unlisted(&deps));
    has(&asked.callers("Acme::Deps.clear_all"), &["exact Acme::User::run -> Acme::Deps::clear_all"]);

    let described = asked.callers("Acme\\describe_type");
    has(&described, &["exact DescribeTest::run -> describe_type"]);

    let missing = asked.ask(Direction::References, "MISSING");
    has(&missing, &["exact first -> MISSING", "exact second -> MISSING"]);
}

#[test]
fn references_of_a_base_include_what_overrides_it() {
    let asked = Asked::new(&[
        (
            "app/Response.java",
            "package app;\n\ninterface Response {\n    void upgrade(int x);\n    void close();\n}\n\nabstract class Base implements Response {\n    \
             void run(Response other) {\n        other.upgrade(1);\n    }\n}\n\nclass Netty extends Base {\n    public void upgrade(int x) {\n    }\n\n    \
             public void upgrade(int x, int y) {\n    }\n\n    void own() {\n        this.upgrade(2);\n    }\n}\n\nclass Stranger {\n    void upgrade(int x) {\n    }\n}\n",
        ),
        ("rs/Cargo.toml", "[package]\nname = \"rs\"\n"),
        (
            "rs/src/lib.rs",
            "pub trait Draw {\n    fn draw(&self);\n}\n\npub struct Dot;\n\nimpl Draw for Dot {\n    fn draw(&self) {}\n}\n\nimpl Dot {\n    fn other(&self) {}\n}\n",
        ),
        ("go.mod", "module acme\n"),
        (
            "shape/shape.go",
            "package shape\n\ntype Shape interface {\n\tArea() int\n\tName() string\n}\n\ntype Box struct{}\n\nfunc (b Box) Area() int { return 1 }\n\
             func (b Box) Name() string { return \"\" }\n\ntype Line struct{}\n\nfunc (l Line) Area() int { return 0 }\n",
        ),
    ]);

    let upgrade = asked.ask(Direction::References, "Response.upgrade");
    let overriding: Vec<String> = upgrade
        .edges
        .iter()
        .filter(|edge| edge.kind == codeweaver_xref::EdgeKind::Override)
        .map(|edge| format!("{} {}", edge.grade.name(), edge.src_symbol_id))
        .collect();
    assert_eq!(overriding, ["exact app/Response.java:15#Netty.upgrade"]);
    has(&upgrade, &["exact Base.run -> Response.upgrade", "exact Netty.own -> Netty.upgrade"]);

    // A call of the interface may be a call of the class.
    let callers = asked.callers("app/Response.java:15");
    has(&callers, &["exact Netty.own -> Netty.upgrade", "ambiguous Base.run -> Netty.upgrade"]);

    has(&asked.ask(Direction::References, "Draw.draw"), &["exact Dot::draw -> Draw::draw"]);
    let area = asked.ask(Direction::References, "Shape.Area");
    assert_eq!(
        edges(&area),
        ["unique_name Box.Area -> Shape.Area"],
        "a type without all methods is no shape"
    );

    let reasons: Vec<Reason> =
        area.unlisted.iter().flat_map(|it| it.files.iter().map(|file| file.reason)).collect();
    assert_eq!(reasons, []);
}
