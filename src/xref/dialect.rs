//! What a language says about names: what needs no proof, and what would be one.

/// How files of a language refer to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modules {
    /// Dotted names below source roots, and relative ones.
    Python,
    /// Specifiers: paths, or names of packages.
    Script,
    /// A directory is a package, named below the path of `go.mod`.
    Go,
    /// Paths of modules below the root of a crate.
    Rust,
    /// Every file declares its package; imports are fully qualified names.
    Declared,
    /// Files are included.
    Include,
    /// Names are global once a file is loaded.
    Global,
}

/// Facts about one language that resolution rests on.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Name of the grammar.
    pub language: &'static str,
    /// Languages of one family call each other.
    pub family: &'static str,
    pub modules: Modules,
    /// What stands for the object or type whose member the code is in.
    pub selfs: &'static [&'static str],
    /// What stands for its bases.
    pub supers: &'static [&'static str],
    /// An unqualified name may be a member of an enclosing type.
    pub bare_members: bool,
    /// An unqualified name that the file neither defines nor imports is no definition of another file.
    pub closed: bool,
    /// A type is constructed by calling it.
    pub constructs: bool,
    /// Members of a type may stand in other files than the type.
    pub open_types: bool,
    /// The number of arguments tells overloads apart.
    pub arity: bool,
    /// Values and types that are there without an import.
    pub globals: &'static [&'static str],
}

const DIALECTS: &[Dialect] = &[
    Dialect {
        language: "python",
        family: "python",
        modules: Modules::Python,
        selfs: &["self", "cls"],
        supers: &["super()"],
        bare_members: false,
        closed: true,
        constructs: true,
        open_types: false,
        arity: false,
        globals: &[
            "str",
            "int",
            "dict",
            "list",
            "set",
            "bytes",
            "tuple",
            "float",
            "object",
            "type",
            "frozenset",
            "bytearray",
        ],
    },
    script("javascript"),
    script("typescript"),
    script("tsx"),
    Dialect {
        language: "go",
        family: "go",
        modules: Modules::Go,
        selfs: &[],
        supers: &[],
        bare_members: false,
        closed: true,
        constructs: true,
        open_types: true,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "rust",
        family: "rust",
        modules: Modules::Rust,
        selfs: &["self", "Self"],
        supers: &[],
        bare_members: false,
        closed: true,
        constructs: true,
        open_types: true,
        arity: true,
        globals: &[],
    },
    jvm("java", true, false),
    jvm("kotlin", false, true),
    jvm("scala", false, true),
    Dialect {
        language: "c",
        family: "c",
        modules: Modules::Include,
        selfs: &[],
        supers: &[],
        bare_members: false,
        closed: false,
        constructs: false,
        open_types: false,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "cpp",
        family: "c",
        modules: Modules::Include,
        selfs: &["this", "(*this)"],
        supers: &[],
        bare_members: true,
        closed: false,
        constructs: true,
        open_types: true,
        arity: true,
        globals: &[],
    },
    Dialect {
        language: "csharp",
        family: "csharp",
        modules: Modules::Declared,
        selfs: &["this"],
        supers: &["base"],
        bare_members: true,
        closed: false,
        constructs: false,
        open_types: true,
        arity: true,
        globals: &[],
    },
    Dialect {
        language: "ruby",
        family: "ruby",
        modules: Modules::Global,
        selfs: &["self", "self.class"],
        supers: &[],
        bare_members: true,
        closed: false,
        constructs: false,
        open_types: true,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "php",
        family: "php",
        modules: Modules::Declared,
        selfs: &["$this", "self", "static"],
        supers: &["parent"],
        bare_members: false,
        closed: false,
        constructs: false,
        open_types: false,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "swift",
        family: "swift",
        modules: Modules::Global,
        selfs: &["self", "Self"],
        supers: &["super"],
        bare_members: true,
        closed: false,
        constructs: true,
        open_types: true,
        arity: false,
        globals: &[],
    },
];

const fn script(language: &'static str) -> Dialect {
    Dialect {
        language,
        family: "script",
        modules: Modules::Script,
        selfs: &["this"],
        supers: &["super"],
        bare_members: false,
        closed: true,
        constructs: false,
        open_types: false,
        arity: false,
        globals: &[
            "console",
            "window",
            "document",
            "process",
            "globalThis",
            "module",
            "exports",
            "navigator",
            "performance",
        ],
    }
}

const fn jvm(language: &'static str, arity: bool, constructs: bool) -> Dialect {
    Dialect {
        language,
        family: "jvm",
        modules: Modules::Declared,
        selfs: &["this"],
        supers: &["super"],
        bare_members: true,
        closed: true,
        constructs,
        open_types: false,
        arity,
        globals: &[],
    }
}

/// The dialect of a language by the name that the index stores, if its calls can be read.
pub(crate) fn of(language: &str) -> Option<&'static Dialect> {
    let grammar = crate::chunk::grammar::index_of(language)?;
    let name = crate::chunk::grammar::GRAMMARS[grammar].name;
    DIALECTS.iter().find(|dialect| dialect.language == name)
}

/// All dialects.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Dialect> {
    DIALECTS.iter()
}

/// Names of methods that types of the standard library have: a receiver of unknown type may well be one of those.
pub(crate) fn is_library_method(family: &str, name: &str) -> bool {
    let line = LIBRARY_METHODS.lines().find_map(|line| line.strip_prefix(family)?.strip_prefix(':'));
    line.is_some_and(|names| names.split_whitespace().any(|known| known == name))
}

const LIBRARY_METHODS: &str = include_str!("data/library_methods.txt");
