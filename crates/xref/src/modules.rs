//! Module resolution: import paths → files of the repository, or the proof that they lead out of it.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use codeweaver::query::view::View;
use codeweaver_git::quoting;
use codeweaver_store::entries::NO_DOC;

use super::definitions::{Definitions, FileDefs};
use super::dialect::Modules;
use super::sources::Sources;
use super::tsconfig::{MAX_EXTENDS, ModuleOptions, join};

/// The target of an import path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Module {
    /// Live entries of the repository, ordered by path.
    Files(Vec<u32>),
    /// A library outside the repository.
    External,
    /// Not decidable; may be in the repository.
    Unknown,
}

const SCRIPT_SUFFIXES: &[&str] = &[
    "",
    ".ts",
    ".tsx",
    ".d.ts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    "/index.ts",
    "/index.tsx",
    "/index.js",
    "/index.jsx",
    "/index.mjs",
    "/index.cjs",
    "/index.mts",
    "/index.d.ts",
];
/// Names of source folders that module names do not include.
const SOURCE_ROOTS: &[&str] = &["src", "lib", "python", "source"];

/// The indexed paths of a view, and the packages declared by their manifests. Tables are built on first use.
pub(crate) struct Paths<'a> {
    view: &'a View,
    tables: OnceCell<Tables<'a>>,
    go_modules: OnceCell<Vec<(String, String)>>,
    packages: OnceCell<FxHashMap<String, String>>,
    crates: OnceCell<Vec<(String, String)>>,
    /// Options of TypeScript by folder.
    options: RefCell<FxHashMap<String, Rc<Vec<ModuleOptions>>>>,
    known: RefCell<FxHashMap<(String, String), Module>>,
}

#[derive(Default)]
struct Tables<'a> {
    by_path: FxHashMap<&'a [u8], u32>,
    by_name: FxHashMap<&'a [u8], Vec<u32>>,
    by_directory: FxHashMap<&'a [u8], Vec<u32>>,
}

impl<'a> Paths<'a> {
    pub fn new(view: &'a View) -> Paths<'a> {
        Paths {
            view,
            tables: OnceCell::new(),
            go_modules: OnceCell::new(),
            packages: OnceCell::new(),
            crates: OnceCell::new(),
            options: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// The live entry of the indexed file at a path.
    pub fn at(&self, path: &(impl AsRef<[u8]> + ?Sized)) -> Option<u32> {
        self.tables().by_path.get(path.as_ref()).copied()
    }

    /// All indexed files, ordered by path.
    pub fn all(&self) -> Vec<u32> {
        let mut all: Vec<(&[u8], u32)> =
            self.tables().by_path.iter().map(|(path, entry)| (*path, *entry)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Indexed files of a directory, ordered by path.
    pub fn in_directory(&self, directory: &str) -> &[u32] {
        self.tables().by_directory.get(directory.as_bytes()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn named(&self, name: &str) -> &[u32] {
        self.tables().by_name.get(name.as_bytes()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn path_of(&self, entry: u32) -> String {
        quoting::text(self.view.entry(entry).0)
    }

    /// Resolves the import path `path` as written in `file`.
    pub fn resolve(
        &self,
        path: &str,
        file: &FileDefs,
        defs: &Definitions<'_>,
        sources: &Sources<'_>,
    ) -> Module {
        let Some(dialect) = file.dialect else { return Module::Unknown };
        let key = (path.to_owned(), file.directory().to_owned());
        if let Some(cached) = self.known.borrow().get(&key) {
            return cached.clone();
        }

        let module = match dialect.modules {
            Modules::Python => self.python(path, file),
            Modules::Script => self.script(path, file, sources, defs),
            Modules::Go => self.go(path, sources, defs),
            Modules::Include => self.include(path, file),
            Modules::Path => self.by_file_path(path, file),
            Modules::Rust | Modules::Declared | Modules::Global | Modules::Qualified => Module::Unknown,
        };

        self.known.borrow_mut().insert(key, module.clone());
        module
    }

    /// The submodule `name` of a Python package.
    pub fn python_child(&self, package: &[u32], name: &str) -> Option<u32> {
        package.iter().find_map(|&entry| {
            let path = self.path_of(entry);
            let directory = path.strip_suffix("__init__.py").or_else(|| path.strip_suffix("__init__.pyi"))?;
            self.python_module(&format!("{directory}{name}"))
        })
    }

    /// The file of a Python module or package.
    fn python_module(&self, stem: &str) -> Option<u32> {
        ["/__init__.py", ".py", "/__init__.pyi", ".pyi"]
            .iter()
            .find_map(|end| self.at(&format!("{stem}{end}")))
    }

    /// Resolves a module of Python: relative to the file, or below a source root.
    fn python(&self, path: &str, file: &FileDefs) -> Module {
        let path: String = path.split_whitespace().collect();
        let n_dots = path.bytes().take_while(|&b| b == b'.').count();
        let rest = path[n_dots..].replace('.', "/");

        if n_dots > 0 {
            let mut directory = file.directory();
            // One dot is the package of the file; each further dot is the package above.
            for _ in 1..n_dots {
                directory = directory.rsplit_once('/').map_or("", |(above, _)| above);
            }

            let stem = match (directory.is_empty(), rest.is_empty()) {
                (true, _) => rest,
                (_, true) => directory.to_owned(),
                _ => format!("{directory}/{rest}"),
            };
            return self.python_module(&stem).map_or(Module::Unknown, |entry| Module::Files(vec![entry]));
        }

        let (first, file_name) =
            (rest.split('/').next().unwrap_or(&rest), rest.rsplit('/').next().unwrap_or(&rest));
        let endings = [format!("{file_name}.py"), format!("{file_name}.pyi")];
        let packages = ["__init__.py".to_owned(), "__init__.pyi".to_owned()];

        let mut found: Vec<(usize, String, u32)> = Vec::new();
        for name in endings.iter().chain(&packages) {
            for &entry in self.named(name) {
                let whole = self.path_of(entry);
                let stem = whole.strip_suffix(".py").or_else(|| whole.strip_suffix(".pyi")).unwrap_or(&whole);
                let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
                let Some(root) = stem.strip_suffix(rest.as_str()) else { continue };
                let Some(root) = root.strip_suffix('/').or(root.is_empty().then_some("")) else { continue };
                if self.is_python_root(root, first, file) {
                    found.push((root.len(), whole, entry));
                }
            }
        }

        // The root nearest to the importing file wins.
        found.sort_by_key(|(root, whole, _)| {
            let shared = whole[..*root].bytes().zip(file.path.bytes()).take_while(|(a, b)| a == b).count();
            (std::cmp::Reverse(shared), *root, whole.clone())
        });
        match found.first() {
            Some(&(_, _, entry)) => Module::Files(vec![entry]),
            None => Module::External,
        }
    }

    /// Returns whether modules are named from the folder `root`: it is not a package, and it contains the
    /// importing file or the package, or has the name of a source folder.
    fn is_python_root(&self, root: &str, first: &str, file: &FileDefs) -> bool {
        let at = |name: &str| if root.is_empty() { name.to_owned() } else { format!("{root}/{name}") };
        if self.at(&at("__init__.py")).is_some() {
            return false;
        }

        let is_package = self.at(&at(&format!("{first}/__init__.py"))).is_some();
        let last = root.rsplit('/').next().unwrap_or(root);
        let around = root.is_empty() || file.path.starts_with(&format!("{root}/"));
        is_package || around || SOURCE_ROOTS.contains(&last)
    }

    /// Resolves a specifier of JavaScript or TypeScript.
    fn script(&self, path: &str, file: &FileDefs, sources: &Sources<'_>, defs: &Definitions<'_>) -> Module {
        if path.starts_with('.') {
            let Some(stem) = join(file.directory(), path) else { return Module::Unknown };
            return self.script_file(&stem).map_or(Module::Unknown, |entry| Module::Files(vec![entry]));
        }

        if let Some(entry) = self.aliased(path, file, sources, defs) {
            return Module::Files(vec![entry]);
        }

        // Such a specifier is mapped by a setting of the build.
        if path.starts_with(['/', '~', '#'])
            || path.starts_with("@/")
            || path.contains(':') && !path.starts_with("node:")
        {
            return Module::Unknown;
        }

        let packages = self.packages.get_or_init(|| self.read_packages(sources, defs));
        let mut parts = path.splitn(if path.starts_with('@') { 3 } else { 2 }, '/');
        let n_name = if path.starts_with('@') { 2 } else { 1 };
        let name: Vec<&str> = parts.by_ref().take(n_name).collect();
        let Some(directory) = packages.get(&name.join("/")) else { return Module::External };

        let inside = parts.next().unwrap_or("index");
        let stems = [
            format!("{directory}/src/{inside}"),
            format!("{directory}/{inside}"),
            format!("{directory}/lib/{inside}"),
        ];
        let found = stems.iter().find_map(|stem| self.script_file(stem.trim_start_matches('/')));
        found.map_or(Module::Unknown, |entry| Module::Files(vec![entry]))
    }

    /// The file that the nearest configurations of TypeScript map a specifier to.
    fn aliased(
        &self,
        path: &str,
        file: &FileDefs,
        sources: &Sources<'_>,
        defs: &Definitions<'_>,
    ) -> Option<u32> {
        let mut directory = file.directory();

        loop {
            let options = self.script_options(directory, sources, defs);
            let candidates = options.iter().flat_map(|options| options.candidates(path));
            if let Some(entry) = candidates.into_iter().find_map(|stem| self.script_file(&stem)) {
                return Some(entry);
            }

            if directory.is_empty() {
                return None;
            }
            directory = directory.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// The options of the configurations in a folder, which may be several (`tsconfig.app.json`).
    fn script_options(
        &self,
        directory: &str,
        sources: &Sources<'_>,
        defs: &Definitions<'_>,
    ) -> Rc<Vec<ModuleOptions>> {
        if let Some(known) = self.options.borrow().get(directory) {
            return known.clone();
        }

        let mut options = Vec::new();
        for &entry in self.in_directory(directory) {
            let path = self.path_of(entry);
            let name = path.rsplit('/').next().unwrap_or_default();
            let is_configuration =
                (name.starts_with("tsconfig") || name == "jsconfig.json") && name.ends_with(".json");
            if is_configuration {
                options.extend(self.read_options(&path, 0, sources, defs));
            }
        }

        let options = Rc::new(options);
        self.options.borrow_mut().insert(directory.to_owned(), options.clone());
        options
    }

    /// The options of one configuration with those that it extends.
    fn read_options(
        &self,
        path: &str,
        depth: usize,
        sources: &Sources<'_>,
        defs: &Definitions<'_>,
    ) -> Option<ModuleOptions> {
        let file = defs.file(self.at(path)?)?;
        let bytes = sources.bytes(&file.oid).ok().flatten()?;
        let mut options = ModuleOptions::parse(&String::from_utf8_lossy(&bytes), file.directory())?;

        // A configuration of a package is outside of the repository.
        let extended: Vec<String> =
            options.extends.iter().filter(|path| path.starts_with('.')).cloned().collect();
        for base in extended.iter().rev().filter(|_| depth < MAX_EXTENDS) {
            let Some(base) = join(file.directory(), base) else { continue };
            let found = [base.clone(), format!("{base}.json"), format!("{base}/tsconfig.json")]
                .iter()
                .find_map(|path| self.read_options(path, depth + 1, sources, defs));
            if let Some(base) = found {
                options.inherit(base);
            }
        }

        Some(options)
    }

    /// The file of a script module, whose name may lack its extension.
    fn script_file(&self, stem: &str) -> Option<u32> {
        let plain =
            SCRIPT_SUFFIXES.iter().find_map(|end| self.at(format!("{stem}{end}").trim_start_matches('/')));

        // A specifier may have the extension of the compiled file.
        plain.or_else(|| {
            let (bare, ending) = stem.rsplit_once('.')?;
            let compiled = matches!(ending, "js" | "jsx" | "mjs" | "cjs");
            compiled
                .then(|| SCRIPT_SUFFIXES.iter().find_map(|suffix| self.at(&format!("{bare}{suffix}"))))
                .flatten()
        })
    }

    /// Maps the package names of a workspace to their folders.
    fn read_packages(&self, sources: &Sources<'_>, defs: &Definitions<'_>) -> FxHashMap<String, String> {
        let mut packages = FxHashMap::default();
        for (directory, text) in self.texts_of("package.json", sources, defs) {
            let name = serde_json::from_str::<serde_json::Value>(&text).ok();
            let name = name.and_then(|json| Some(json.get("name")?.as_str()?.to_owned()));
            packages.extend(name.map(|name| (name, directory)));
        }
        packages
    }

    /// Folders and contents of the files called `name`, sorted; at most 500.
    fn texts_of(&self, name: &str, sources: &Sources<'_>, defs: &Definitions<'_>) -> Vec<(String, String)> {
        const MAX_FILES: usize = 500;

        let mut texts = Vec::new();
        for &entry in self.named(name).iter().take(MAX_FILES) {
            let Some(file) = defs.file(entry) else { continue };
            if let Ok(Some(bytes)) = sources.bytes(&file.oid) {
                texts.push((file.directory().to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
            }
        }

        texts.sort();
        texts
    }

    /// Resolves a package of Go by the paths in `go.mod` files.
    fn go(&self, path: &str, sources: &Sources<'_>, defs: &Definitions<'_>) -> Module {
        let modules = self.go_modules.get_or_init(|| {
            let texts = self.texts_of("go.mod", sources, defs);
            let named = texts.into_iter().map(|(directory, text)| (go_module_name(&text), directory));
            named.filter_map(|(name, directory)| Some((name?, directory))).collect()
        });
        if modules.is_empty() {
            return Module::Unknown;
        }

        let inside = modules.iter().filter_map(|(name, directory)| {
            let rest = path.strip_prefix(name.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (name.len(), format!("{directory}{rest}")))
        });
        let Some((_, directory)) = inside.max() else { return Module::External };

        let files = self.go_package(directory.trim_start_matches('/'));
        if files.is_empty() { Module::Unknown } else { Module::Files(files) }
    }

    /// Go files of a directory without tests.
    pub fn go_package(&self, directory: &str) -> Vec<u32> {
        let files = self.in_directory(directory).iter().copied();
        files
            .filter(|&entry| {
                let path = self.view.entry(entry).0;
                path.ends_with(b".go") && !path.ends_with(b"_test.go")
            })
            .collect()
    }

    /// Resolves an `#include` of C or C++.
    fn include(&self, path: &str, file: &FileDefs) -> Module {
        // A header in angle brackets is not looked for beside the file.
        let system = path.strip_prefix('<').map(|path| path.trim_end_matches('>'));
        let beside = if system.is_none() { join(file.directory(), path) } else { None };
        if let Some(entry) = beside.and_then(|path| self.at(&path)) {
            return Module::Files(vec![entry]);
        }

        let path = system.unwrap_or(path);
        if system.is_some() && is_system_header(path) {
            // Only a C library contains these headers itself.
            let own = self.at(&format!("include/{path}"));
            return own.map_or(Module::External, |entry| Module::Files(vec![entry]));
        }

        let name = path.rsplit('/').next().unwrap_or(path);
        // The include paths of the build are not known, so every path that ends alike may be meant.
        let end = format!("/{path}");
        let mut found: Vec<(String, u32)> = self
            .named(name)
            .iter()
            .map(|&entry| (self.path_of(entry), entry))
            .filter(|(whole, _)| whole == path || whole.ends_with(&end))
            .collect();
        found.sort();

        if found.is_empty() {
            Module::External
        } else {
            Module::Files(found.into_iter().map(|(_, entry)| entry).collect())
        }
    }

    /// Name and root folder (with `lib.rs` or `main.rs`) of every crate.
    pub fn crates(&self, sources: &Sources<'_>, defs: &Definitions<'_>) -> &[(String, String)] {
        self.crates.get_or_init(|| {
            let texts = self.texts_of("Cargo.toml", sources, defs);

            texts
                .iter()
                .filter_map(|(directory, text)| {
                    let root =
                        if directory.is_empty() { "src".to_owned() } else { format!("{directory}/src") };
                    Some((crate_name(text)?, root))
                })
                .collect()
        })
    }

    fn tables(&self) -> &Tables<'a> {
        self.tables.get_or_init(|| {
            let mut tables = Tables::default();
            for (id, record, path) in self.view.reader.live_entries(&self.view.snapshot.entries) {
                if record.doc == NO_DOC {
                    continue;
                }

                let (directory, name) = match path.iter().rposition(|&b| b == b'/') {
                    Some(at) => (&path[..at], &path[at + 1..]),
                    None => (&path[..0], path),
                };

                tables.by_path.insert(path, id);
                tables.by_name.entry(name).or_default().push(id);
                tables.by_directory.entry(directory).or_default().push(id);
            }

            let by_path = |ids: &mut Vec<u32>| ids.sort_by_key(|&id| self.view.entry(id).0);
            tables.by_name.values_mut().for_each(by_path);
            tables.by_directory.values_mut().for_each(by_path);
            tables
        })
    }
}

/// The name in a `go.mod` file.
fn go_module_name(text: &str) -> Option<String> {
    text.lines().find_map(|line| Some(line.strip_prefix("module ")?.trim().to_owned()))
}

/// The name of the crate in a `Cargo.toml` file, as code writes it.
fn crate_name(text: &str) -> Option<String> {
    let package = text.lines().skip_while(|line| line.trim() != "[package]").skip(1);
    let line = package.take_while(|line| !line.starts_with('[')).find(|line| line.starts_with("name"))?;
    Some(line.split('"').nth(1)?.replace('-', "_"))
}

/// Headers of C and POSIX; those in folders are known by the folder.
const SYSTEM_HEADERS: &str = "assert complex cpio ctype dirent dlfcn errno fcntl fenv float fmtmsg fnmatch ftw \
    getopt glob grp iconv inttypes iso646 langinfo libgen limits locale malloc math memory monetary netdb \
    nl_types poll pthread pwd regex sched search semaphore setjmp signal spawn stdalign stdarg stdatomic \
    stdbool stddef stdint stdio stdlib stdnoreturn string strings stropts syslog tar termios tgmath threads \
    time uchar ulimit unistd utime utmpx wait wchar wctype windows winsock2 wordexp";

/// Returns whether `path` is a header of C, POSIX or the operating system.
fn is_system_header(path: &str) -> bool {
    match path.split_once('/') {
        Some((folder, _)) => matches!(folder, "arpa" | "asm" | "linux" | "mach" | "net" | "netinet" | "sys"),
        None => {
            let name = path.strip_suffix(".h").unwrap_or(path);
            SYSTEM_HEADERS.split_whitespace().any(|known| known == name)
        }
    }
}
