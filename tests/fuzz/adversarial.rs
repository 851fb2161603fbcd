//! Sources that attack parsers: deep nesting, endless lines, unclosed constructs, binary data.
//!
//! Every grammar gets all kinds; some are derived from its own sample.

use std::path::Path;

use codeweaver_chunk::language;
use codeweaver_git::BStr;

/// A source with the name of its kind.
pub struct Source {
    pub kind: String,
    pub bytes: Vec<u8>,
}

const OPENERS: &[&str] = &[
    "(",
    "[",
    "{",
    "<",
    "<a>",
    "<a ",
    "((",
    "([{",
    "${",
    "$(",
    "#{",
    "`${",
    "{{",
    "[[",
    "(*",
    "/*",
    "{-",
    "--[[",
    "#|",
    "<!--",
    "<?php ",
    "if x {",
    "if x:\n ",
    "begin\n",
    "do\n",
    "do |x|\n",
    "function f() {",
    "fn f() {",
    "class A {",
    "def f\n",
    "module A\n",
    "case x of\n",
    "let x = ",
    "let\n",
    "x ? ",
    "x => ",
    "-> ",
    "\\x -> ",
    "!",
    "-",
    "~",
    "not ",
    "await ",
    "*",
    "&",
    "a.",
    "a::",
    "a,",
    "a(",
    "a[",
    "a = ",
    "a + ",
    "a || ",
    "@a ",
    "#[a]\n",
    "#if 1\n",
    "#ifdef A\n",
    "case 1:\n",
    "else if x {",
    "- ",
    "? ",
    "&a ",
    "> ",
    "1.",
    "* a\n",
    "\t",
    "|",
    "with x do\n",
    "new ",
    "template<",
    "List<",
    "f<",
    "return ",
    "'a'",
    "\"a\" ",
    "a: ",
    "a:\n",
    "<<A\n",
    "<<~A <<~B\n",
    "\\",
];

/// Tokens that open a construct.
const UNTERMINATED: &[&str] = &[
    "\"",
    "'",
    "`",
    "\"\"\"",
    "'''",
    "r#\"",
    "R\"x(",
    "@\"",
    "$\"{",
    "/*",
    "//",
    "#",
    "--",
    "{-",
    "(*",
    "<!--",
    "<<EOF\n",
    "<<'EOF'\n",
    "<<~EOF\n",
    "<<<EOF\n",
    "%w(",
    "q{",
    "~s\"\"\"",
    "```\n",
    "<script>",
    "<style>",
    "<![CDATA[",
    "[[",
    "[==[",
    "$$",
    "#|",
    "=begin\n",
    "=pod\n",
    "__END__\n",
    "x = \"",
    "f(\"a${",
    "`a${`b${",
    "|\n  ",
    ">\n  ",
    "---\n",
];

/// Words of many languages, in no order.
const GARBAGE: &[&str] = &[
    "if",
    "else",
    "end",
    "begin",
    "then",
    "fi",
    "do",
    "done",
    "case",
    "of",
    "esac",
    "let",
    "in",
    "where",
    "class",
    "struct",
    "enum",
    "def",
    "fn",
    "function",
    "func",
    "fun",
    "return",
    "for",
    "while",
    "match",
    "switch",
    "import",
    "from",
    "use",
    "module",
    "namespace",
    "public",
    "static",
    "const",
    "var",
    "val",
    "int",
    "void",
    "async",
    "await",
    "yield",
    "lambda",
    "try",
    "catch",
    "x",
    "y",
    "A",
    "0",
    "1.5",
    "\"s\"",
    "'c'",
    "`t`",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "=",
    "==",
    "=>",
    "->",
    "<-",
    ":",
    "::",
    ";",
    ",",
    ".",
    "..",
    "...",
    "?",
    "!",
    "@",
    "#",
    "$",
    "%",
    "^",
    "&",
    "&&",
    "*",
    "**",
    "-",
    "--",
    "+",
    "++",
    "|",
    "||",
    "/",
    "//",
    "\\",
    "~",
    "_",
    "\n",
    "\n    ",
    "\t",
    "<<",
    ">>",
    "/*",
    "*/",
    "\"",
    "'",
];

/// All sources for the language `name`, of about `n_bytes` each.
pub fn sources(name: &str, n_bytes: usize) -> Vec<Source> {
    let mut all = Vec::new();
    let mut add = |kind: String, bytes: Vec<u8>| all.push(Source { kind, bytes });
    let times = |unit: &str| n_bytes / unit.len().max(1) + 1;
    for open in OPENERS {
        add(format!("nested {open:?}"), open.repeat(times(open)).into_bytes());
        // On separate lines, which evade limits on line length and on runs of punctuation.
        let unit = format!("{open} a\n");
        add(format!("nested lines {open:?}"), unit.repeat(times(&unit)).into_bytes());
    }
    for start in UNTERMINATED {
        let body = "some text \\ with { marks ( and words\n";
        add(format!("unterminated {start:?}"), format!("{start}{}", body.repeat(times(body))).into_bytes());
        let unit = format!("{start}a\n");
        add(format!("unterminated again {start:?}"), unit.repeat(times(&unit)).into_bytes());
    }
    for (kind, unit) in [
        ("one word", "w"),
        ("one number", "9"),
        ("words", "word "),
        ("list", "1, "),
        ("pairs", "\"k\": [1, {\"a\": null}], "),
        ("statements", "a = b; "),
        ("chain", "a.b(c)."),
        ("sum", "a + "),
        ("nulls", "\0"),
        ("spaces", " "),
        ("tabs", "\t"),
        ("line ends", "\n"),
        ("carriage returns", "\r"),
        ("mixed line ends", "a = 1\r\nb = 2\nc = 3\r"),
        ("byte order marks", "\u{feff}a\n"),
        ("wide", "\u{1f600}\u{202e}\u{e9} "),
        ("backslashes", "\\"),
        ("quotes", "\"'"),
        ("hashes", "#"),
        ("ats", "@"),
        ("lines", "x\n"),
        ("calls", "f(x);\n"),
        ("empty pairs", "()[]{}<>"),
        ("dashes", "-"),
        ("underscores", "_ "),
        ("colons", ":"),
        ("equals", "="),
        ("at end of line", "a \\\n"),
    ] {
        add(kind.to_owned(), unit.repeat(times(unit)).into_bytes());
    }
    let mut rng = fastrand::Rng::with_seed(blake3::hash(name.as_bytes()).as_bytes()[0].into());
    add("random bytes".to_owned(), (0..n_bytes).map(|_| rng.u8(..)).collect());
    add("invalid UTF-8".to_owned(), b"fn a() { \"\xff\xfe\xc3\" }\n".repeat(n_bytes / 20));
    add("random text".to_owned(), (0..n_bytes).map(|_| rng.u8(32..127)).collect());
    for round in 0..4 {
        let mut words = String::new();
        while words.len() < n_bytes {
            words.push_str(GARBAGE[rng.usize(..GARBAGE.len())]);
            words.push(if round % 2 == 0 { ' ' } else { '\n' });
        }
        add(format!("garbage {round}"), words.into_bytes());
    }
    for (kind, width) in [("indents by one", 1), ("indents by four", 4)] {
        let lines = (0..).map(|n: usize| format!("{}if x:\n", " ".repeat(n * width % 4_000)));
        add(kind.to_owned(), upto(lines, n_bytes));
    }
    let teeth = (0..).map(|n: usize| format!("{}- a: b\n", " ".repeat(n * 7 % 97)));
    add("saw of indents".to_owned(), upto(teeth, n_bytes));
    of_sample(name, n_bytes, &mut rng, &mut add);
    all
}

/// Damaged versions of the sample of the language.
fn of_sample(name: &str, n_bytes: usize, rng: &mut fastrand::Rng, add: &mut impl FnMut(String, Vec<u8>)) {
    let sample = sample(name);
    if sample.is_empty() {
        return;
    }
    let again = |part: &[u8]| part.repeat(n_bytes / part.len().max(1) + 1);
    let without =
        |marks: &[u8]| -> Vec<u8> { sample.iter().copied().filter(|byte| !marks.contains(byte)).collect() };
    add("sample many times".to_owned(), again(&sample));
    add("sample without closers".to_owned(), again(&without(b")]}>")));
    add("sample without openers".to_owned(), again(&without(b"([{<")));
    add("sample without line ends".to_owned(), again(&without(b"\n")));
    add("sample without blanks".to_owned(), again(&without(b" \t")));
    add("sample without quotes".to_owned(), again(&without(b"\"'`")));
    add("sample backwards".to_owned(), again(&sample.iter().rev().copied().collect::<Vec<u8>>()));
    let lines: Vec<&[u8]> = sample.split_inclusive(|&byte| byte == b'\n').collect();
    let mut shuffled = Vec::new();
    let mut indented = Vec::new();
    while shuffled.len() < n_bytes {
        shuffled.extend_from_slice(lines[rng.usize(..lines.len())]);
        indented.extend(std::iter::repeat_n(b' ', rng.usize(..60)));
        indented.extend_from_slice(lines[rng.usize(..lines.len())]);
    }
    add("lines of the sample in any order".to_owned(), shuffled);
    add("lines of the sample, indented anyhow".to_owned(), indented);
    let mut words: Vec<&[u8]> =
        sample.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).collect();
    rng.shuffle(&mut words);
    add("words of the sample in any order".to_owned(), again(&words.join(&b' ')));
    // The head of every definition, never its end.
    let heads: Vec<u8> = lines
        .iter()
        .filter(|line| line.trim_ascii_end().ends_with(b"{") || line.trim_ascii_end().ends_with(b":"))
        .copied()
        .collect::<Vec<_>>()
        .concat();
    if !heads.is_empty() {
        add("heads of the sample".to_owned(), again(&heads));
    }
    for line in lines.iter().filter(|line| line.trim_ascii().len() > 4).step_by(5).take(8) {
        add(format!("one line: {}", String::from_utf8_lossy(line).trim()), again(line));
    }
}

fn sample(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/languages");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_of = |path: &&std::path::PathBuf| {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        file_name != "malformed.py"
            && language::by_path(BStr::new(&file_name)).is_some_and(|found| found.name() == name)
    };
    paths.iter().find(is_of).and_then(|path| std::fs::read(path).ok()).unwrap_or_default()
}

fn upto(lines: impl Iterator<Item = String>, n_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        if bytes.len() > n_bytes {
            break;
        }
        bytes.extend_from_slice(line.as_bytes());
    }
    bytes
}
