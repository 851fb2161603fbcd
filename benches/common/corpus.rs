//! Repositories to measure: synthetic ones with fixed content, and clones of real ones.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::process::Program;
use super::{Result, setting};

/// Source of a repository.
#[derive(Debug, Clone)]
pub enum Corpus {
    /// Generated: the same files on every machine.
    Synthetic { name: &'static str, n_files: usize },
    /// Generated documents, about ten chunks in each.
    Documents { name: &'static str, n_files: usize },
    /// A clone of the repository at this path, which is not touched.
    Clone { name: String, path: PathBuf },
}

/// The repositories in CODEWEAVER_BENCH_REPO (separated as in PATH); default: synthetic ones of 100 and 2,000
/// files in seven languages.
pub fn corpora() -> Vec<Corpus> {
    match std::env::var_os("CODEWEAVER_BENCH_REPO") {
        Some(paths) => std::env::split_paths(&paths).map(Corpus::clone_of).collect(),
        None => vec![Corpus::SMALL, Corpus::MIDDLE],
    }
}

impl Corpus {
    pub const SMALL: Corpus = Corpus::Synthetic { name: "synthetic-100", n_files: 100 };
    pub const MIDDLE: Corpus = Corpus::Synthetic { name: "synthetic-2k", n_files: 2000 };

    pub fn clone_of(path: PathBuf) -> Corpus {
        // `…/name`, `…/name.git` and `…/name/.git` all have the name `name`.
        let bare = if path.ends_with(".git") { path.parent().unwrap_or(&path) } else { &path };
        let name = bare.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Corpus::Clone { name, path }
    }

    pub fn name(&self) -> &str {
        match self {
            Corpus::Synthetic { name, .. } | Corpus::Documents { name, .. } => name,
            Corpus::Clone { name, .. } => name,
        }
    }

    /// Creates a fresh repository with this content, committed and checked out, not indexed.
    pub fn make(&self) -> Result<Scratch> {
        let root = tempfile::Builder::new().prefix("codeweaver-bench-").tempdir()?;
        let (home, dir) = (root.path().join("home"), root.path().join("repo"));
        std::fs::create_dir_all(&home)?;
        match self {
            Corpus::Synthetic { .. } | Corpus::Documents { .. } => {
                std::fs::create_dir_all(&dir)?;
                match self {
                    Corpus::Synthetic { n_files, .. } => write_files(&dir, *n_files)?,
                    Corpus::Documents { n_files, .. } => write_documents(&dir, *n_files)?,
                    Corpus::Clone { .. } => {}
                }
                let git = Program::new("git", &dir, &home);
                git.run(["init", "-q", "-b", "main"])?;
                // A background collection would disturb the measurements.
                git.run(["config", "gc.auto", "0"])?;
                git.run(["config", "maintenance.auto", "false"])?;
                git.run(["add", "-A"])?;
                git.run(["commit", "-q", "-m", "all files"])?;
                git.run(["gc", "-q"])?;
            }
            Corpus::Clone { path, .. } => {
                let from = path.to_string_lossy().into_owned();
                let to = dir.to_string_lossy().into_owned();
                Program::new("git", root.path(), &home).run(["clone", "-q", "--shared", "-n", &from, &to])?;
                let git = Program::new("git", &dir, &home);
                git.run(["read-tree", "HEAD"])?;
                // In a partial clone the files of missing blobs are absent; the others are measured.
                git.time(["checkout-index", "-a", "-f", "-q", "-u"])?;
            }
        }
        let git = Program::new("git", &dir, &home);
        let codeweaver = Program::codeweaver(&dir, &home);
        Ok(Scratch { name: self.name().to_owned(), git, codeweaver, dir, home, _root: root })
    }
}

/// A temporary repository; removed when dropped.
pub struct Scratch {
    pub name: String,
    pub git: Program,
    pub codeweaver: Program,
    pub dir: PathBuf,
    pub home: PathBuf,
    _root: tempfile::TempDir,
}

impl Scratch {
    /// `.codeweaver/` of the repository.
    pub fn store(&self) -> PathBuf {
        self.dir.join(".codeweaver")
    }

    /// Tracked, existing files with an extension of the synthetic languages, else of [`OTHER_EXTENSIONS`], in
    /// order.
    pub fn source_files(&self) -> Result<Vec<String>> {
        let all = self.git.text(["-c", "core.quotepath=off", "ls-files"])?;
        let with = |extensions: &[&str]| -> Vec<String> {
            let is_one =
                |path: &&str| extensions.iter().any(|e| path.ends_with(e)) && self.dir.join(path).is_file();
            all.lines().filter(is_one).map(str::to_owned).collect()
        };
        let ours: Vec<&str> =
            SYNTAXES.iter().map(|syntax| syntax.extension).filter(|e| *e != ".md").collect();
        Ok([&ours[..], OTHER_EXTENSIONS]
            .into_iter()
            .map(with)
            .find(|found| !found.is_empty())
            .unwrap_or_default())
    }

    /// Appends a new definition to a file (one line, in languages without a [`Syntax`]), so that its blob is
    /// new.
    pub fn edit(&self, path: &str, number: usize) -> Result<()> {
        let full = self.dir.join(path);
        let mut bytes = std::fs::read(&full)?;
        let name = format!("benchmark_edit_{number}");
        let text = match SYNTAXES.iter().find(|syntax| path.ends_with(syntax.extension)) {
            Some(syntax) => {
                let mut writer = FileWriter::new(syntax, number as u64);
                writer.function(&name);
                writer.text
            }
            None => format!("\n{name} = {number}\n"),
        };
        bytes.extend_from_slice(text.as_bytes());
        Ok(std::fs::write(full, bytes)?)
    }
}

/// Templates of a language; `{n}` is a name, `{a}`, `{b}` and `{c}` are identifiers, `{w}` is prose, `{#}` a
/// number.
struct Syntax {
    extension: &'static str,
    comment: &'static str,
    open: &'static str,
    close: &'static str,
    group_open: &'static str,
    group_close: &'static str,
    indent: &'static str,
    statements: &'static [&'static str],
}

const SYNTAXES: &[Syntax] = &[
    Syntax {
        extension: ".rs",
        comment: "///",
        open: "pub fn {n}({a}: &str, {b}: usize) -> Result<usize, Error> {",
        close: "    Ok({b})\n}",
        group_open: "pub struct {n} {\n    {a}: String,\n    {b}: usize,\n}\n",
        group_close: "",
        indent: "    ",
        statements: &[
            "let {a} = {b}.{c}({#})?;",
            "if {a}.is_empty() {\n        return Err(Error::new(\"{w}\"));\n    }",
            "for {a} in {b}.iter() {\n        {c}({a}, {#});\n    }",
            "let {a}: Vec<usize> = {b}.chars().map(|c| c as usize).collect();",
            "// {w}",
        ],
    },
    Syntax {
        extension: ".py",
        comment: "#",
        open: "def {n}({a}, {b}=None):\n    \"\"\"{w}.\"\"\"",
        close: "    return {b}\n",
        group_open: "class {n}:\n    \"\"\"{w}.\"\"\"\n\n    {a} = {#}\n",
        group_close: "",
        indent: "    ",
        statements: &[
            "{a} = {c}({b}, limit={#})",
            "if not {a}:\n        raise ValueError(\"{w}\")",
            "for {a} in {b}:\n        {c}.append({a})",
            "{a} = [{c}(x) for x in {b} if x != {#}]",
            "# {w}",
        ],
    },
    Syntax {
        extension: ".go",
        comment: "//",
        open: "func {n}({a} string, {b} int) (int, error) {",
        close: "\treturn {b}, nil\n}",
        group_open: "type {n} struct {\n\t{a} string\n\t{b} int\n}\n",
        group_close: "",
        indent: "\t",
        statements: &[
            "{a}, err := {c}({b}, {#})\n\tif err != nil {\n\t\treturn 0, err\n\t}",
            "if len({a}) == {#} {\n\t\treturn 0, errors.New(\"{w}\")\n\t}",
            "for _, {a} := range {b} {\n\t\t{c}({a})\n\t}",
            "// {w}",
        ],
    },
    Syntax {
        extension: ".ts",
        comment: "//",
        open: "export async function {n}({a}: string, {b}: number): Promise<number> {",
        close: "  return {b};\n}",
        group_open: "export interface {n} {\n  {a}: string;\n  {b}: number;\n}\n",
        group_close: "",
        indent: "  ",
        statements: &[
            "const {a} = await {c}({b}, {#});",
            "if (!{a}) {\n    throw new Error(\"{w}\");\n  }",
            "const {a} = {b}.filter((item) => item.{c} > {#});",
            "// {w}",
        ],
    },
    Syntax {
        extension: ".java",
        comment: "    //",
        open: "    public int {n}(String {a}, int {b}) throws IOException {",
        close: "        return {b};\n    }",
        group_open: "public class {n} {\n    private String {a};\n    private int {b} = {#};\n",
        group_close: "}\n",
        indent: "        ",
        statements: &[
            "int {a} = {c}({b}, {#});",
            "if ({a} == null) {\n            throw new IllegalStateException(\"{w}\");\n        }",
            "for (String {a} : {b}) {\n            {c}.add({a});\n        }",
            "// {w}",
        ],
    },
    Syntax {
        extension: ".c",
        comment: "//",
        open: "static int {n}(const char *{a}, size_t {b})\n{",
        close: "\treturn (int){b};\n}",
        group_open: "struct {n} {\n\tchar *{a};\n\tsize_t {b};\n};\n",
        group_close: "",
        indent: "\t",
        statements: &[
            "int {a} = {c}({b}, {#});",
            "if (!{a}) {\n\t\treport_error(\"{w}\");\n\t\treturn -{#};\n\t}",
            "for (size_t i = 0; i < {b}; i++)\n\t\t{c}({a}, i);",
            "/* {w} */",
        ],
    },
    Syntax {
        extension: ".md",
        comment: "",
        open: "## {n}\n\n{w}, {w}.",
        close: "",
        group_open: "# {n}\n",
        group_close: "",
        indent: "",
        statements: &["{w}. {w}, and `{a}` {w}.\n", "* `{b}`: {w}", "```sh\n{c} --{a} {#}\n```\n"],
    },
];

/// Extensions of files to edit in repositories without the synthetic languages.
const OTHER_EXTENSIONS: &[&str] =
    &[".js", ".rb", ".php", ".cs", ".kt", ".swift", ".scala", ".hs", ".ex", ".lua", ".zig", ".sh", ".md"];

const VERBS: &[&str] = &[
    "read", "write", "open", "close", "parse", "format", "load", "store", "find", "match", "merge", "split",
    "encode", "decode", "check", "update", "insert", "remove", "resolve", "schedule", "retry", "connect",
    "listen", "render", "compute", "validate", "register", "flush", "lock", "release", "allocate", "compare",
    "build", "apply", "revert", "dispatch",
];

const NOUNS: &[&str] = &[
    "buffer",
    "config",
    "session",
    "token",
    "request",
    "response",
    "cache",
    "index",
    "queue",
    "worker",
    "socket",
    "packet",
    "header",
    "path",
    "file",
    "directory",
    "commit",
    "branch",
    "tree",
    "node",
    "edge",
    "graph",
    "table",
    "column",
    "row",
    "cursor",
    "query",
    "plan",
    "lease",
    "timer",
    "event",
    "handler",
    "device",
    "driver",
    "page",
    "block",
    "segment",
    "stream",
    "record",
    "schema",
    "user",
    "account",
    "order",
    "invoice",
    "price",
    "report",
    "template",
    "layout",
    "widget",
    "theme",
    "key",
    "hash",
    "signature",
    "certificate",
    "error",
    "warning",
    "metric",
    "trace",
    "span",
    "option",
    "argument",
    "command",
];

const PROSE: &[&str] = &[
    "the",
    "value",
    "is",
    "kept",
    "until",
    "it",
    "expires",
    "when",
    "no",
    "other",
    "thread",
    "holds",
    "a",
    "reference",
    "to",
    "this",
    "only",
    "after",
    "first",
    "call",
    "of",
    "and",
    "returns",
    "what",
    "was",
    "found",
    "before",
    "limit",
    "applies",
    "must",
    "not",
    "be",
    "changed",
    "while",
    "in",
    "use",
    "for",
    "every",
    "client",
    "that",
    "asks",
    "with",
    "an",
    "old",
];

/// Writes `n_files` files, about 32 in a directory. CODEWEAVER_BENCH_FILES overrides the number.
fn write_files(dir: &Path, n_files: usize) -> Result<()> {
    let n_files = setting("CODEWEAVER_BENCH_FILES", n_files);
    let n_folders = (n_files / 32).max(3);
    for i in 0..n_files {
        let mut rng = fastrand::Rng::with_seed(i as u64 + 1);
        let syntax = &SYNTAXES[i % SYNTAXES.len()];
        let folder = rng.usize(0..n_folders);
        let area = NOUNS[folder % NOUNS.len()];
        let name = format!("{}_{}", rng.choice(VERBS).unwrap_or(&""), rng.choice(NOUNS).unwrap_or(&""));
        let path = dir.join(format!("src/{area}{}/{name}_{i}{}", folder / NOUNS.len(), syntax.extension));
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut writer = FileWriter::new(syntax, i as u64);
        // As in real trees, most files are short and a few are long.
        let n_functions = 2 + rng.usize(0..8) + if rng.usize(0..10) == 0 { 30 } else { 0 };
        writer.file(n_functions);
        std::fs::write(path, writer.text)?;
    }
    Ok(())
}

/// Writes `n_files` documents with ten sections each. CODEWEAVER_BENCH_FILES overrides the number.
fn write_documents(dir: &Path, n_files: usize) -> Result<()> {
    let syntax = SYNTAXES.iter().find(|syntax| syntax.extension == ".md").ok_or("no syntax of documents")?;
    for i in 0..setting("CODEWEAVER_BENCH_FILES", n_files) {
        let folder = dir.join(format!("docs/{}", NOUNS[i % NOUNS.len()]));
        std::fs::create_dir_all(&folder)?;
        let mut writer = FileWriter::new(syntax, i as u64);
        writer.file(10);
        std::fs::write(folder.join(format!("{i}.md")), writer.text)?;
    }
    Ok(())
}

struct FileWriter {
    syntax: &'static Syntax,
    rng: fastrand::Rng,
    /// Nouns that occur in this file.
    nouns: Vec<&'static str>,
    text: String,
}

impl FileWriter {
    fn new(syntax: &'static Syntax, seed: u64) -> FileWriter {
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xc0de);
        let nouns = (0..8).map(|_| NOUNS[rng.usize(0..NOUNS.len())]).collect();
        FileWriter { syntax, rng, nouns, text: String::new() }
    }

    fn file(&mut self, n_functions: usize) {
        let name = self.type_name();
        self.line(&format!("{} {{w}}, {{w}}.", self.syntax.comment), &name);
        self.line(self.syntax.group_open, &name);
        for _ in 0..n_functions {
            let name = self.identifier();
            self.function(&name);
        }
        self.line(self.syntax.group_close, &name);
    }

    fn function(&mut self, name: &str) {
        let syntax = self.syntax;
        self.line(&format!("\n{} {{w}}: {{w}}.", syntax.comment), name);
        self.line(syntax.open, name);
        for _ in 0..3 + self.rng.usize(0..14) {
            let statement = syntax.statements[self.rng.usize(0..syntax.statements.len())];
            self.line(&format!("{}{statement}", syntax.indent), name);
        }
        self.line(syntax.close, name);
    }

    /// Appends `template` with its placeholders replaced, and a line end.
    fn line(&mut self, template: &str, name: &str) {
        let mut rest = template;
        while let Some(at) = rest.find('{').filter(|&at| rest[at..].len() >= 3) {
            let (before, place) = rest.split_at(at);
            self.text.push_str(before);
            let filled = match &place[..3.min(place.len())] {
                "{n}" => name.to_owned(),
                "{a}" | "{b}" => self.noun().to_owned(),
                "{c}" => self.identifier(),
                "{w}" => self.prose(),
                "{#}" => self.rng.usize(0..512).to_string(),
                _ => {
                    self.text.push('{');
                    rest = &place[1..];
                    continue;
                }
            };
            let _ = write!(self.text, "{filled}");
            rest = &place[3..];
        }
        self.text.push_str(rest);
        self.text.push('\n');
    }

    fn noun(&mut self) -> &'static str {
        self.nouns[self.rng.usize(0..self.nouns.len())]
    }

    fn identifier(&mut self) -> String {
        let verb = VERBS[self.rng.usize(0..VERBS.len())];
        match self.rng.usize(0..3) {
            0 => format!("{verb}_{}", self.noun()),
            1 => format!("{verb}_{}_{}", self.noun(), self.noun()),
            _ => format!("{verb}_{}{}", self.noun(), self.rng.usize(0..40)),
        }
    }

    fn type_name(&mut self) -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        format!("{}{}", capital(self.noun()), capital(self.noun()))
    }

    fn prose(&mut self) -> String {
        let n_words = 4 + self.rng.usize(0..8);
        let words: Vec<&str> = (0..n_words)
            .map(|i| if i % 4 == 3 { self.noun() } else { PROSE[self.rng.usize(0..PROSE.len())] })
            .collect();
        words.join(" ")
    }
}
