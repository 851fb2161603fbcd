//! Naming rules of the supported languages.

/// The module system of a language: the way in which its files refer to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modules {
    /// Dotted names below source roots, and relative ones.
    Python,
    /// Specifiers: relative paths, or names of packages (JavaScript, TypeScript).
    Script,
    /// A directory is a package, named below the path of `go.mod`.
    Go,
    /// Paths of modules below the root of a crate.
    Rust,
    /// Every file declares its package; imports are fully qualified names.
    Declared,
    /// Files include headers.
    Include,
    /// Names are global once a file is loaded.
    Global,
    /// Files name other files by path (Lua, Zig, shell).
    Path,
    /// Files declare modules; names are qualified by the module or an alias (Elixir, Haskell).
    Qualified,
}

/// The properties of one language that resolution depends on.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Name of the grammar.
    pub language: &'static str,
    /// Languages of one family can call each other.
    pub family: &'static str,
    pub modules: Modules,
    /// Receivers that stand for the object or type whose member the code is in.
    pub self_names: &'static [&'static str],
    /// Receivers that stand for its bases.
    pub super_names: &'static [&'static str],
    /// Whether an unqualified name may be a member of an enclosing type.
    pub bare_members: bool,
    /// Whether an unqualified name that the file neither defines nor imports cannot refer to another file.
    pub requires_imports: bool,
    /// Whether a type is constructed by calling it.
    pub constructs: bool,
    /// Whether members of a type may be defined in other files than the type.
    pub open_types: bool,
    /// Whether overloads are selected by the number of arguments.
    pub arity: bool,
    /// Values and types that need no import.
    pub globals: &'static [&'static str],
}

const DIALECTS: &[Dialect] = &[
    Dialect {
        language: "python",
        family: "python",
        modules: Modules::Python,
        self_names: &["self", "cls"],
        super_names: &["super()"],
        bare_members: false,
        requires_imports: true,
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
        self_names: &[],
        super_names: &[],
        bare_members: false,
        requires_imports: true,
        constructs: true,
        open_types: true,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "rust",
        family: "rust",
        modules: Modules::Rust,
        self_names: &["self", "Self"],
        super_names: &[],
        bare_members: false,
        requires_imports: true,
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
        self_names: &[],
        super_names: &[],
        bare_members: false,
        requires_imports: false,
        constructs: false,
        open_types: false,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "cpp",
        family: "c",
        modules: Modules::Include,
        self_names: &["this", "(*this)"],
        super_names: &[],
        bare_members: true,
        requires_imports: false,
        constructs: true,
        open_types: true,
        arity: true,
        globals: &[],
    },
    Dialect {
        language: "csharp",
        family: "csharp",
        modules: Modules::Declared,
        self_names: &["this"],
        super_names: &["base"],
        bare_members: true,
        requires_imports: false,
        constructs: false,
        open_types: true,
        arity: true,
        globals: &[],
    },
    Dialect {
        language: "ruby",
        family: "ruby",
        modules: Modules::Global,
        self_names: &["self", "self.class"],
        super_names: &[],
        bare_members: true,
        requires_imports: false,
        constructs: false,
        open_types: true,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "php",
        family: "php",
        modules: Modules::Declared,
        self_names: &["$this", "self", "static"],
        super_names: &["parent"],
        bare_members: false,
        requires_imports: false,
        constructs: false,
        open_types: false,
        arity: false,
        globals: &[],
    },
    Dialect {
        language: "swift",
        family: "swift",
        modules: Modules::Global,
        self_names: &["self", "Self"],
        super_names: &["super"],
        bare_members: true,
        requires_imports: false,
        constructs: true,
        open_types: true,
        arity: false,
        globals: &[],
    },
    untyped("bash", Modules::Path, &[]),
    untyped("elixir", Modules::Qualified, &[]),
    untyped("haskell", Modules::Qualified, &[]),
    untyped("lua", Modules::Path, &["self"]),
    Dialect {
        requires_imports: true,
        bare_members: true,
        ..untyped("zig", Modules::Path, &["self", "Self"])
    },
];

/// A language in which a name that is not declared in the file may be that of any other file.
const fn untyped(language: &'static str, modules: Modules, self_names: &'static [&'static str]) -> Dialect {
    Dialect {
        language,
        family: language,
        modules,
        self_names,

        super_names: &[],
        bare_members: false,
        requires_imports: false,
        constructs: false,
        open_types: false,
        arity: false,
        globals: &[],
    }
}

const fn script(language: &'static str) -> Dialect {
    Dialect {
        language,
        family: "script",
        modules: Modules::Script,
        self_names: &["this"],

        super_names: &["super"],
        bare_members: false,
        requires_imports: true,
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
        self_names: &["this"],
        super_names: &["super"],

        bare_members: true,
        requires_imports: true,
        constructs,
        open_types: false,
        arity,
        globals: &[],
    }
}

/// The dialect of a language, by the name that the index stores; `None` if the language is not supported.
pub(crate) fn for_language(language: &str) -> Option<&'static Dialect> {
    let grammar = codeweaver_chunk::grammar::index_of(language)?;
    let name = codeweaver_chunk::grammar::GRAMMARS[grammar].name;
    DIALECTS.iter().find(|dialect| dialect.language == name)
}

/// All dialects.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Dialect> {
    DIALECTS.iter()
}

/// Returns whether a type of the standard library has a method of that name, so that a receiver of unknown
/// type may be of such a type.
pub(crate) fn is_library_method(family: &str, name: &str) -> bool {
    let line = LIBRARY_METHODS.lines().find_map(|line| line.strip_prefix(family)?.strip_prefix(':'));
    line.is_some_and(|names| names.split_whitespace().any(|known| known == name))
}

const LIBRARY_METHODS: &str = include_str!("data/library_methods.txt");
