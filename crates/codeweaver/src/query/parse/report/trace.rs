//! Trace: the frames of stack traces.
//!
//! Each language prints them in its own form ([`FORMS`]). Python, and Ruby with `Traceback`, print the
//! innermost frame last; the JVM prints a cause after its effect. The result has the innermost frame of the
//! cause first.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use codeweaver_text as text;

/// Maximum number of frames that are kept of one trace. Three quarters are the innermost, the others the
/// outermost.
const MAX_FRAMES: usize = 200;
/// Maximum number of traces: a dump of all threads has hundreds.
const MAX_TRACES: usize = 8;

/// A frame of a stack trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// With `/` as separator. For the JVM it consists of the package and the name of the file.
    pub path: Option<String>,
    /// 1-based.
    pub line: Option<u32>,
    /// The function with as many qualifiers as the trace has, without arguments and generics.
    pub function: Option<String>,
    /// Whether its path or its package is in the standard library or an installed package. An installed copy
    /// of the searched code counts as well.
    pub is_library: bool,
    /// Number of the trace in the text.
    pub trace: usize,
}

/// Kind of a line that belongs to a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceLine {
    Frame,
    /// Begins a trace or a cause of one. It may have a message.
    Header,
    /// A line of the source below its frame.
    Source,
}

/// End of a trace that has the innermost frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Innermost {
    First,
    Last,
}

/// Form in which a language prints a frame. The groups of the expression are `path`, `line`, `function`, and
/// for the JVM `class` and `file`.
struct Form {
    regex: Regex,
    innermost: Innermost,
}

/// Returns `pattern` with `\w`, `\d`, `\s` and `\S` restricted to ASCII.
pub fn ascii(pattern: &str) -> String {
    let pattern = pattern.replace(r"\w", "[0-9A-Za-z_]").replace(r"\d", "[0-9]");
    pattern.replace(r"\s", r"[ \t\r]").replace(r"\S", r"[^ \t\r\n]").replace(r"\b", r"(?-u:\b)")
}

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(&ascii(pattern)).ok()
}

/// Forms with a path or a function, the more special first.
const FORMS: &[(&str, Innermost)] = &[
    // Python: `File "a.py", line 1, in f`
    (r#"^[\s|>E]*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?"#, Innermost::Last),
    // JVM: `at a.b.C$D.f(C.java:1)`
    (
        r"^\s*(?:\[[^\]]*\]\s*)?at (?:[\w.@-]*/+)*(?P<class>[\w.$]+)\.(?P<function>[\w$<>-]+)\((?:(?P<file>[\w$-]+\.(?:java|kt|kts|scala|groovy|clj))(?::(?P<line>\d+))?|Native Method|Unknown Source|SourceFile[^)]*)\)",
        Innermost::First,
    ),
    // .NET: `at A.B.F(C c) in D.cs:line 1`
    (
        r"^\s*at (?P<function>[\w.`+<>|\[\], ]+?)(?:\[[^\]]*\])?\([^)]*\) in (?P<path>.+?):line (?P<line>\d+)",
        Innermost::First,
    ),
    // JavaScript: `at f (a.js:1:2)`, `at async a.js:1:2`
    (
        r"^\s*(?:at|❯) (?:async )?(?:new )?(?:(?P<function>[^\s(]+)(?: \[as [^\]]+\])? \(?)?(?:file://)?(?P<path>[^\s()]+?):(?P<line>\d+):\d+\)?\s*$",
        Innermost::First,
    ),
    // .NET without sources: `at A.B.F(C c)`
    (r"^\s*at (?P<function>\w[\w.`+<>|]*\.[\w`<>|.]+)(?:\[[^\]]*\])?\([^)]*\)\s*$", Innermost::First),
    // Firefox and Safari: `f@a.js:1:2`
    (r"^\s*(?P<function>[^\s@]*)@(?P<path>\S+?\.\w{1,5}):(?P<line>\d+):\d+\s*$", Innermost::First),
    // Ruby: `from a.rb:1:in 'f'`; with a number, the innermost is last.
    (r"^\s*\d+: from (?P<path>[^\s:]+):(?P<line>\d+):in [`'](?P<function>[^']+)'", Innermost::Last),
    (
        r"^\s*(?:from )?(?P<path>[^\s:]+\.(?:rb|rake|ru|erb)):(?P<line>\d+)(?::in [`'](?P<function>[^']+)')",
        Innermost::First,
    ),
    // PHP: `#1 a.php(1): C->f()`
    (r"^\s*#\d+ (?P<path>[^\s(]+\.\w+)\((?P<line>\d+)\): (?P<function>[\w\\:>{}-]+)", Innermost::First),
    // Elixir and Erlang: `(app 1.0) lib/a.ex:1: M.f/2`
    (
        r"^\s*(?:\([\w .+-]+\) )?(?P<path>[\w./-]+\.(?:exs?|erl|eex|heex)):(?P<line>\d+): (?P<function>[\w.:!?]+)",
        Innermost::First,
    ),
    // Sanitizers: `#1 0x1 in f a.c:1:2`
    (
        r"^\s*(?:==\d+==)?\s*#\d+\s+0x[0-9a-fA-F]+ in (?P<function>.+?) (?P<path>[^\s(]+?):(?P<line>\d+)(?::\d+)?\s*$",
        Innermost::First,
    ),
    // gdb: `#1 0x1 in f (x=1) at a.c:1`; Dart: `#1 f (package:a/b.dart:1:2)`
    (
        r"^\s*#\d+\s+(?:0x[0-9a-fA-F]+ )?(?:in )?(?P<function>[\w:~<>*&, .$-]+?) *\(.*\) at (?P<path>\S+?):(?P<line>\d+)",
        Innermost::First,
    ),
    (
        r"^\s*#\d+\s+(?P<function>\S+)\s+\((?:package:|file://)?(?P<path>[^:)\s]+\.dart):(?P<line>\d+)",
        Innermost::First,
    ),
    (r"^\s*(?:==\d+==)?\s*#\d+\s+0x[0-9a-fA-F]+ in (?P<function>[\w:~]+)", Innermost::First),
    // valgrind: `by 0x1: f (a.c:1)`
    (
        r"^==\d+==\s+(?:at|by) 0x[0-9A-F]+: (?P<function>\S+)[^(]*(?:\((?P<path>[^:)]+\.\w+):(?P<line>\d+)\))?",
        Innermost::First,
    ),
    // Lua: `a.lua:1: in function 'f'`
    (
        r"^\s*(?:\.\.\.)?(?P<path>[^\s:]+\.lua):(?P<line>\d+): in (?:function|method|upvalue|local|field|main|global)[^'<]*(?:['<](?P<function>[^'>]+)['>])?",
        Innermost::First,
    ),
    // Zig: `a.zig:1:2: 0x1 in f (exe)`
    (r"^\s*(?P<path>\S+\.zig):(?P<line>\d+):\d+: 0x[0-9a-f]+ in (?P<function>\S+)", Innermost::First),
    // Haskell: `f, called at a.hs:1:2 in pkg:M`
    (
        r"^\s*(?:(?P<function>[\w.']+), )?called at (?P<path>\S+\.l?hs):(?P<line>\d+):\d+ in ",
        Innermost::First,
    ),
    // Swift and Objective-C: `3 App 0x1 f + 12 (A.swift:1)`
    (
        r"^\s*\d+\s+[\w.-]+\s+0x[0-9a-f]+ (?P<function>.+?) \+ \d+(?: \((?P<path>[^:)]+):(?P<line>\d+)\))?",
        Innermost::First,
    ),
    // Go, Rust and others: the path alone, below its function.
    (
        r"^\s+(?:at )?(?P<path>\S+\.(?:go|rs|c|cc|cpp|h|hpp|s)):(?P<line>\d+)(?::\d+)?(?: \+0x[0-9a-f]+)?\s*$",
        Innermost::First,
    ),
    // `panicked at a.rs:1:2`, `in a.php:1`, `a.php on line 1`, `file A.swift, line 1`
    (r"panicked at (?:'.*', )?(?P<path>[^\s':,]+\.rs):(?P<line>\d+)", Innermost::First),
    (
        r"(?:\b(?:in|at)|thrown in) (?P<path>(?:[A-Za-z]:)?[/\\]\S+?\.php)(?::| on line |\()(?P<line>\d+)",
        Innermost::First,
    ),
    (
        r"(?:[Ff]atal error|[Pp]recondition failed|[Aa]ssertion failed).*: file (?P<path>\S+\.swift), line (?P<line>\d+)",
        Innermost::First,
    ),
];

static COMPILED: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let mut forms = Vec::with_capacity(FORMS.len());
    for (pattern, innermost) in FORMS {
        if let Some(regex) = regex(pattern) {
            forms.push(Form { regex, innermost: *innermost });
        }
    }
    forms
});

/// Functions above their paths: Rust `12: a::b::c`, Go `a/b.(*T).f(0x1, …)`.
static FUNCTION_LINES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"^\s*\d+:\s+(?:0x[0-9a-f]+ - )?(?P<function>[\w<][^()]*?(?:::[^()]+|main))\s*$",
        r"^(?:created by )?(?P<function>[\w./@~-]*[\w]+\.(?:\(\*?\w+[^)]*\)\.)?[\w.\[\]…-]+)(?:\((?:0x|\{|\.\.\.|\)|\?|[\w, ]*\)).*|\s+in goroutine \d+)$",
    ];
    patterns.iter().filter_map(|pattern| regex(pattern)).collect()
});

/// Lines at the start of a trace or of a cause.
static HEADERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"^\s*(?:Traceback \(most recent call last\)|Caused by:|Suppressed:|Exception in thread |goroutine \d+ \[|stack traceback:|[Ss]tack ?trace:|stack backtrace:|Backtrace:|CallStack \(from|\[C\]: in |\.\.\. \d+ (?:more|common frames)|(?:During handling of|The above exception was)|note: (?:run with|Some details)|Thread \d+ |PHP (?:Fatal|Stack)|--- End of|\*\* \((?:\w|\.)+\)|thread '[^']*' panicked|={2,}\d+={2,} ?ERROR|-{3,} *(?:begin|end|inner exception)|#\d+ \{main\})",
    )
});

/// Parts of paths that belong to installed code.
const LIBRARIES: &str = "\
    site-packages/ dist-packages/ node_modules/ /rustc/ .cargo/registry /usr/lib/ /usr/include/ \
    /usr/local/lib/ node: internal/modules internal/process <frozen <anonymous> /lib/python3 \
    /lib/python2 /lib/ruby/ /gems/ /go/pkg/mod/ /usr/local/go/ /go/src/runtime vendor/ /deps/ \
    /nix/store/ library/std/ library/core/ /libexec/";
/// Beginnings of qualified functions of standard libraries and test runners.
const LIBRARY_PACKAGES: &str = "\
    java. javax. jdk. sun. com.sun. kotlin. kotlinx. scala. org.junit. junit. org.gradle. \
    android. androidx. System. Microsoft. Xunit. NUnit. std:: core:: alloc:: <alloc:: <core:: \
    <std:: __rust rust_begin_unwind runtime. testing. panic __libc _start main.main libsystem";

/// Collects the frames of the lines that it is given.
#[derive(Default)]
pub struct TraceReader {
    /// Frames of the trace that is being read, in sections, each innermost first.
    sections: Vec<Vec<Frame>>,
    is_reversed: bool,
    /// A function whose path is expected in the next line.
    function: Option<String>,
    /// Lines since the last frame.
    n_other: usize,
    n_traces: usize,
    /// The indentation of the last frame, if source lines may follow it.
    indent: Option<usize>,
    frames: Vec<Frame>,
}

impl TraceReader {
    /// Reads a line and returns its kind, if it belongs to a trace.
    pub fn add(&mut self, line: &str) -> Option<TraceLine> {
        if let Some((frame, innermost)) = frame(line) {
            let indent = line.len() - line.trim_start().len();
            self.indent = (innermost == Innermost::Last).then_some(indent);
            self.push(frame, innermost);
            // Some languages print a message and its place on one line.
            let is_sentence = line.contains("panicked at")
                || line.contains("rror") && !line.trim_start().starts_with("at ");

            return Some(if is_sentence { TraceLine::Header } else { TraceLine::Frame });
        }

        if let Some(function) = FUNCTION_LINES.iter().find_map(|regex| regex.captures(line)) {
            // The expression matches other lines too, so it needs a frame nearby or a number in front.
            let is_known = self.n_other <= 1 && (!self.sections.is_empty() || self.function.is_some());
            self.flush_function();
            self.function = function.name("function").map(|it| it.as_str().to_owned());
            self.n_other = 0;
            let is_certain = is_known || line.trim_start().starts_with(|c: char| c.is_ascii_digit());
            return is_certain.then_some(TraceLine::Frame);
        }

        if HEADERS.as_ref().is_some_and(|regex| regex.is_match(line)) {
            if line.trim_start().starts_with("Caused by:") && !self.sections.is_empty() {
                // The frames of a cause come before those of its effect.
                self.sections.insert(0, Vec::new());
            } else if line.contains("Traceback (most") || line.trim_start().starts_with("goroutine ") {
                self.end();
            }
            self.n_other = 0;
            return Some(TraceLine::Header);
        }

        self.n_other += 1;
        // A few other lines may be between two frames.
        if self.n_other > 3 {
            self.end();
        }

        let indent = line.len() - line.trim_start().len();
        let is_source = self.indent.is_some_and(|of_frame| indent > of_frame) && !line.trim().is_empty();
        if !is_source && !line.trim().is_empty() {
            self.indent = None;
        }
        is_source.then_some(TraceLine::Source)
    }

    /// Adds a frame, with the function that the line before named.
    fn push(&mut self, mut frame: Frame, innermost: Innermost) {
        self.n_other = 0;
        match (frame.path.is_some(), frame.function.is_some()) {
            (true, false) => frame.function = self.function.take().map(|it| cleaned(&it)),
            _ => self.flush_function(),
        }

        frame.is_library = is_library(&frame);
        self.is_reversed = innermost == Innermost::Last;

        if self.sections.is_empty() {
            self.sections.push(Vec::new());
        }
        self.sections[0].push(frame);
    }

    /// Adds the function that the line before named as a frame without a path.
    fn flush_function(&mut self) {
        let Some(function) = self.function.take().filter(|_| !self.sections.is_empty()) else { return };
        let mut frame = Frame { function: Some(cleaned(&function)), ..Frame::default() };
        frame.is_library = is_library(&frame) || !function.contains("::");
        self.sections[0].push(frame);
    }

    /// Ends the trace, and adds its frames to those of all traces.
    fn end(&mut self) {
        self.flush_function();
        self.function = None;
        self.indent = None;

        let mut trace: Vec<Frame> = self.sections.drain(..).flatten().collect();
        if trace.is_empty() || self.n_traces == MAX_TRACES {
            return;
        }

        if self.is_reversed {
            trace.reverse();
        }

        // Both ends are kept: the innermost frames failed, and the outermost show the request.
        if trace.len() > MAX_FRAMES {
            trace.drain(MAX_FRAMES / 4 * 3..trace.len() - MAX_FRAMES / 4);
        }

        let number = self.n_traces;
        self.frames.extend(trace.into_iter().map(|frame| Frame { trace: number, ..frame }));
        self.n_traces += 1;
    }

    /// Returns the frames of all traces in the order of the text; of each trace, the innermost first.
    pub fn finish(mut self) -> Vec<Frame> {
        self.end();
        self.frames
    }
}

/// Returns the frame that `line` prints.
fn frame(line: &str) -> Option<(Frame, Innermost)> {
    // A very long line is data, and every form has one of these characters.
    if line.len() > 2000 || !line.contains([':', '(', '#', '@', '"']) {
        return None;
    }

    COMPILED.iter().find_map(|form| Some((frame_of(&form.regex.captures(line)?)?, form.innermost)))
}

/// Returns the frame of a match of a form; `None` if it has neither a path nor a function.
fn frame_of(captures: &Captures<'_>) -> Option<Frame> {
    let group = |name: &str| captures.name(name).map(|it| it.as_str()).filter(|it| !it.is_empty());
    let (path, function) = match group("class") {
        Some(class) => {
            (group("file").map(|file| jvm_path(class, file)), Some(jvm_function(class, group("function")?)))
        }
        None => (group("path").map(cleaned_path), group("function").map(cleaned)),
    };

    let function = function.filter(|it| !it.is_empty() && it.len() < 300);
    let line = group("line").and_then(|line| line.parse().ok()).filter(|&line| line > 0);

    // Some forms have a place where others have the arguments.
    let place = captures.get(0).filter(|_| path.is_none()).and_then(|it| text::mentions(it.as_str()).pop());
    let (path, line) = place.map_or((path, line), |place| (Some(cleaned_path(&place.path)), place.line));

    (path.is_some() || function.is_some()).then_some(Frame { path, line, function, ..Frame::default() })
}

/// Returns `org/a/C.java` for the class `org.a.C$D`.
fn jvm_path(class: &str, file: &str) -> String {
    match class.rsplit_once('.') {
        Some((package, _)) => format!("{}/{file}", package.replace('.', "/")),
        None => file.to_owned(),
    }
}

/// Returns `C.f` for `org.a.C$D$1` and `f`; for a constructor or lambda, `C` alone.
fn jvm_function(class: &str, function: &str) -> String {
    let name = class.rsplit('.').next().unwrap_or(class);
    let outer = name.split('$').rfind(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()));
    let outer = outer.unwrap_or(name).trim_end_matches("Kt");

    let function =
        function.strip_prefix("lambda$").and_then(|rest| rest.split('$').next()).unwrap_or(function);
    let function = function.split(['$', '-']).next().unwrap_or(function);
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    let qualified = if package.is_empty() { outer.to_owned() } else { format!("{package}.{outer}") };

    match function {
        "" | "<init>" | "<clinit>" | "invokeSuspend" | "invoke" => qualified,
        function => format!("{qualified}.{function}"),
    }
}

/// Returns a path of the source with `/` as separator: without scheme, query and compiled forms.
pub fn cleaned_path(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = match path.split_once("://") {
        // `webpack:///./src/a.js`, `http://localhost:80/src/a.js`
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(_, path)| path),
        None => &path,
    };

    // The query of an address, such as a version.
    let path = path.split('?').next().unwrap_or(path).trim_start_matches("./");
    match path.strip_suffix(".pyc").or_else(|| path.strip_suffix(".pyo")) {
        Some(stem) => {
            // `a/__pycache__/b.cpython-311`
            let stem = stem.replace("__pycache__/", "");
            let end = stem.find(".cpython-").or_else(|| stem.find(".pypy")).unwrap_or(stem.len());
            format!("{}.py", &stem[..end])
        }
        None => path.to_owned(),
    }
}

/// Removes arguments, generics, hashes and additions of compilers from a function.
fn cleaned(function: &str) -> String {
    let mut name = function.trim();
    for prefix in [
        "async ",
        "new ",
        "block in ",
        "rescue in ",
        "ensure in ",
        "specialized ",
        "static ",
        "closure #1 in ",
    ] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }

    // `<T as Trait>::f` is a method of T.
    let name = match name.strip_prefix('<').and_then(|rest| rest.split_once(" as ")) {
        Some((type_, rest)) => format!("{type_}{}", rest.rsplit_once('>').map_or("", |(_, rest)| rest)),
        None => name.to_owned(),
    };

    let mut plain = String::with_capacity(name.len());
    let mut depth = 0usize;
    for c in name.replace("(*", "").replace(").", ".").chars() {
        match c {
            '<' | '[' | '{' => depth += 1,
            '>' | ']' | '}' if depth > 0 => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }

    let parts: Vec<&str> = plain.split("::").filter(|part| !part.is_empty() && !is_hash(part)).collect();
    let plain = parts.join("::");

    let plain = plain.rsplit('/').find(|part| part.contains(|c: char| c.is_alphabetic())).unwrap_or(&plain);
    plain.trim_end_matches(['.', ' ', ':']).split(' ').next_back().unwrap_or(plain).to_owned()
}

/// Returns whether a segment is the hash of a Rust symbol.
fn is_hash(part: &str) -> bool {
    part.len() == 17 && part.starts_with('h') && part[1..].bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns whether a frame is in the standard library or an installed package.
fn is_library(frame: &Frame) -> bool {
    let is_library_path = frame
        .path
        .as_ref()
        .is_some_and(|path| LIBRARIES.split_ascii_whitespace().any(|part| path.contains(part)));

    is_library_path
        || frame.function.as_ref().is_some_and(|name| {
            LIBRARY_PACKAGES.split_ascii_whitespace().any(|package| name.starts_with(package))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> Vec<(String, u32, String, bool)> {
        let mut reader = TraceReader::default();
        text.lines().for_each(|line| {
            reader.add(line);
        });
        let shown = |it: Frame| {
            (
                it.path.unwrap_or_default(),
                it.line.unwrap_or(0),
                it.function.unwrap_or_default(),
                it.is_library,
            )
        };
        reader.finish().into_iter().map(shown).collect()
    }

    fn shown(text: &str) -> Vec<String> {
        let shown = |(path, line, function, is_library)| {
            format!("{path}:{line} {function}{}", if is_library { " library" } else { "" })
        };
        frames(text).into_iter().map(shown).collect()
    }

    #[test]
    fn every_form_compiles() {
        assert_eq!(COMPILED.len(), FORMS.len());
        assert_eq!(FUNCTION_LINES.len(), 2);
        assert!(HEADERS.is_some());
    }

    #[test]
    fn python() {
        let text = "Traceback (most recent call last):\n  File \"/srv/app.py\", line 3, in <module>\n    run()\n    ^^^^^\n  File \"/usr/lib/python3/dist-packages/web/jar.py\", line 40, in filter\n    raise ValueError\nValueError: no";
        assert_eq!(
            shown(text),
            ["/usr/lib/python3/dist-packages/web/jar.py:40 filter library", "/srv/app.py:3 "]
        );
        let compiled = "  File \"/a/__pycache__/jar.cpython-311.pyc\", line 7, in f";
        assert_eq!(shown(compiled), ["/a/jar.py:7 f"]);
        assert_eq!(cleaned_path("a/jar.pyc"), "a/jar.py");
    }

    #[test]
    fn jvm_causes_come_first() {
        let text = "Exception in thread \"main\" java.lang.RuntimeException: x\n\tat org.a.Main.main(Main.kt:5)\nCaused by: java.io.IOException: y\n\tat java.base/java.io.Reader.read(Reader.java:1)\n\tat org.a.b.Parser$Token.next(Parser.java:33)\n\tat org.a.b.Parser.lambda$run$0(Parser.java:20)\n\t... 3 more";
        assert_eq!(
            shown(text),
            [
                "java/io/Reader.java:1 java.io.Reader.read library",
                "org/a/b/Parser.java:33 org.a.b.Token.next",
                "org/a/b/Parser.java:20 org.a.b.Parser.run",
                "org/a/Main.kt:5 org.a.Main.main",
            ]
        );
    }

    #[test]
    fn javascript() {
        let text = "TypeError: x\n    at Object.parse [as p] (/srv/lib/parse.js:10:5)\n    at async Promise.all (index 0)\n    at async /srv/lib/run.mjs:7:1\n    at Module._load (node:internal/modules/cjs/loader:12:3)\n    at new Thing (webpack:///./src/thing.ts?ab12:3:4)";
        assert_eq!(
            shown(text),
            [
                "/srv/lib/parse.js:10 Object.parse",
                "/srv/lib/run.mjs:7 ",
                "node:internal/modules/cjs/loader:12 Module._load library",
                "src/thing.ts:3 Thing",
            ]
        );
        assert_eq!(shown("render@http://localhost:80/src/app.js:3:9"), ["src/app.js:3 render"]);
    }

    #[test]
    fn rust() {
        let text = "thread 'main' panicked at src/lex.rs:12:5:\nindex out of bounds\nstack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\n             at /rustc/abc/library/core/src/panicking.rs:64:14\n   2: toy::lex::Lexer::next::h0123456789abcdef\n             at ./src/lex.rs:12:5\n   3: <toy::Parser<T> as core::iter::Iterator>::next\n             at ./src/parse.rs:9:1";
        let found = shown(text);
        assert_eq!(found[0], "src/lex.rs:12 ");
        assert!(found.contains(&"src/lex.rs:12 toy::lex::Lexer::next".to_owned()), "{found:?}");
        assert!(found.contains(&"src/parse.rs:9 toy::Parser::next".to_owned()), "{found:?}");
        assert!(found.iter().any(|it| it.contains("panicking.rs:64") && it.ends_with("library")));
        assert_eq!(shown("thread 'x' panicked at 'no: x', src/a.rs:3:9"), ["src/a.rs:3 "]);
    }

    #[test]
    fn go() {
        let text = "panic: nil\n\ngoroutine 1 [running]:\ngithub.com/a/web/v4.(*Echo).ServeHTTP(0xc000, {0x1, 0x2})\n\t/go/src/web/echo.go:603 +0x1a5\nnet/http.HandlerFunc.ServeHTTP(...)\n\t/usr/local/go/src/net/http/server.go:2122\ncreated by net/http.(*Server).Serve in goroutine 1\n\t/usr/local/go/src/net/http/server.go:3089 +0x5ed";
        assert_eq!(
            shown(text),
            [
                "/go/src/web/echo.go:603 v4.Echo.ServeHTTP",
                "/usr/local/go/src/net/http/server.go:2122 http.HandlerFunc.ServeHTTP library",
                "/usr/local/go/src/net/http/server.go:3089 http.Server.Serve library",
            ]
        );
    }

    #[test]
    fn ruby() {
        let text = "a.rb:3:in `parse': bad (ArgumentError)\n\tfrom lib/rack/utils.rb:9:in 'Rack::Utils.parse'\n\tfrom /usr/lib/ruby/gems/puma/x.rb:1:in `block in run'";
        assert_eq!(
            shown(text),
            [
                "a.rb:3 parse",
                "lib/rack/utils.rb:9 Rack::Utils.parse",
                "/usr/lib/ruby/gems/puma/x.rb:1 run library"
            ]
        );
        let reversed =
            "Traceback (most recent call last):\n\t1: from a.rb:1:in `main'\n\t0: from b.rb:2:in `f'";
        assert_eq!(shown(reversed), ["b.rb:2 f", "a.rb:1 main"]);
    }

    #[test]
    fn php() {
        let text = "PHP Fatal error:  Uncaught Error: x in /srv/src/Log/Logger.php:7\nStack trace:\n#0 /srv/src/Log/Handler.php(12): Log\\Logger->add('x')\n#1 [internal function]: f()\n#2 {main}\n  thrown in /srv/src/Log/Logger.php on line 7";
        assert_eq!(
            shown(text)[..2],
            [
                "/srv/src/Log/Logger.php:7 ".to_owned(),
                "/srv/src/Log/Handler.php:12 Log\\Logger->add".to_owned()
            ]
        );
    }

    #[test]
    fn dot_net() {
        let text = "System.Exception: x\n   at Serilog.Core.Logger.Write(LogEvent e) in C:\\src\\Serilog\\Core\\Logger.cs:line 33\n   at Serilog.Log.Write[T](String t, T p)\n   at System.Threading.Task.Run(Action a)";
        assert_eq!(
            shown(text),
            [
                "C:/src/Serilog/Core/Logger.cs:33 Serilog.Core.Logger.Write",
                ":0 Serilog.Log.Write",
                ":0 System.Threading.Task.Run library",
            ]
        );
    }

    #[test]
    fn elixir_lua_zig_and_haskell() {
        for (text, expected) in [
            (
                "    (phoenix 1.7.2) lib/phoenix/router.ex:406: Phoenix.Router.__call__/5",
                "lib/phoenix/router.ex:406 Phoenix.Router.__call__",
            ),
            ("\t...telescope/pickers.lua:33: in function 'find'", "telescope/pickers.lua:33 find"),
            ("\tlua/a.lua:3: in function <lua/a.lua:1>", "lua/a.lua:3 lua/a.lua:1"),
            ("/home/a/src/analysis.zig:7:3: 0x10a in resolve (zls)", "/home/a/src/analysis.zig:7 resolve"),
            ("  error, called at src/Data/Json.hs:12:5 in aeson-2.0:Data.Json", "src/Data/Json.hs:12 error"),
        ] {
            let found = shown(text);
            assert!(found.len() == 1 && (found[0] == expected || expected.contains("lua:1")), "{found:?}");
        }
    }

    #[test]
    fn debuggers_and_sanitizers() {
        for (text, expected) in [
            ("#0  0x00007f in curl_easy_perform (d=0x1) at easy.c:77", "easy.c:77 curl_easy_perform"),
            ("#1  main (argc=1, argv=0x2) at ../src/tool.c:3", "../src/tool.c:3 main"),
            ("    #0 0x4a1b in uv__read /src/unix/stream.c:1100:3", "/src/unix/stream.c:1100 uv__read"),
            ("==12==    by 0x4C2E: uv_run (core.c:400)", "core.c:400 uv_run"),
            ("#2      Client.get (package:http/src/client.dart:9:3)", "http/src/client.dart:9 Client.get"),
            (
                "3   Alamofire  0x0000000104b1c2d4 specialized Session.request() + 132 (Session.swift:41)",
                "Session.swift:41 Session.request",
            ),
            ("Fatal error: x: file Source/Session.swift, line 12", "Source/Session.swift:12 "),
        ] {
            assert_eq!(shown(text), [expected], "{text}");
        }
    }

    #[test]
    fn prose_has_no_frames() {
        for text in [
            "The parser (see a.rs:12) fails at the second line.",
            "we call foo.bar() at startup",
            "1: first do this",
            "ratio is 3:4",
            "key: value",
        ] {
            assert_eq!(shown(text), [""; 0], "{text}");
        }
    }
}
