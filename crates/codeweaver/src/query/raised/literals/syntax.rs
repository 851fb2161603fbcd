//! Syntax: the marks of string literals and comments, by the family of a language.

use codeweaver_chunk::LanguageId;

/// The marks that a scan for literals knows.
#[derive(Debug, Clone, Copy)]
pub struct Syntax {
    /// Marks of comments to the end of the line.
    pub line_comments: &'static [&'static str],
    /// Marks of the beginning and the end of a comment.
    pub block_comment: Option<(&'static str, &'static str)>,
    /// Whether `'` begins a literal; otherwise, it begins a character, a lifetime or nothing.
    pub has_single_quotes: bool,
    /// Whether a back-tick begins a literal.
    pub has_back_ticks: bool,
    /// Whether a literal between `"` may have several lines.
    pub is_multiline: bool,
    /// Whether documents follow `<<NAME`.
    pub has_heredocs: bool,
    /// Whether `[[` begins a literal.
    pub has_long_brackets: bool,
    /// Whether lines of a literal begin with `\\`.
    pub has_line_strings: bool,
    /// Whether values stand without quotation marks after `:` or `=`.
    pub has_bare_values: bool,
    /// Whether the text between tags is a literal.
    pub has_tags: bool,
    /// Whether the language has entries in place of statements.
    pub is_data: bool,
}

/// A language with the comments of C and no other literals than `"…"`.
const C_LIKE: Syntax = Syntax {
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    has_single_quotes: false,
    has_back_ticks: false,
    is_multiline: false,
    has_heredocs: false,
    has_long_brackets: false,
    has_line_strings: false,
    has_bare_values: false,
    has_tags: false,
    is_data: false,
};

/// A language with comments after `#`, and literals between both quotation marks.
const HASH: Syntax = Syntax { line_comments: &["#"], block_comment: None, has_single_quotes: true, ..C_LIKE };

impl Syntax {
    /// Returns the syntax of the language called `name`. An unknown language has that of its most similar
    /// family.
    pub fn by_language(name: &str) -> Syntax {
        let family = LanguageId::by_name(name).map_or("c_style", LanguageId::family);

        match family {
            "js_style" => Syntax { has_single_quotes: true, has_back_ticks: true, ..C_LIKE },
            "go_style" => Syntax { has_back_ticks: true, ..C_LIKE },
            "rust_style" => Syntax { is_multiline: true, ..C_LIKE },
            "php_style" => Syntax {
                line_comments: &["//", "#"],
                has_single_quotes: true,
                is_multiline: true,
                has_heredocs: true,
                ..C_LIKE
            },
            "css_style" | "groovy_style" => Syntax { has_single_quotes: true, ..C_LIKE },
            "python_style" => HASH,
            "ruby_style" | "ruby_brace_style" | "perl_style" | "shell" => {
                Syntax { is_multiline: true, has_heredocs: true, ..HASH }
            }
            "elixir_style" | "julia_style" => Syntax { has_single_quotes: false, is_multiline: true, ..HASH },
            "lua_style" => Syntax {
                line_comments: &["--"],
                block_comment: Some(("--[[", "]]")),
                has_single_quotes: true,
                has_long_brackets: true,
                ..C_LIKE
            },
            "sql_style" => {
                Syntax { line_comments: &["--"], has_single_quotes: true, is_multiline: true, ..C_LIKE }
            }
            "haskell_style" => Syntax { line_comments: &["--"], block_comment: Some(("{-", "-}")), ..C_LIKE },
            "ml_style" => {
                Syntax { line_comments: &[], block_comment: Some(("(*", "*)")), is_multiline: true, ..C_LIKE }
            }
            "lisp_style" => {
                Syntax { line_comments: &[";"], block_comment: None, is_multiline: true, ..C_LIKE }
            }
            "erlang_style" | "matlab_style" => {
                Syntax { line_comments: &["%"], block_comment: None, is_multiline: true, ..C_LIKE }
            }
            "yaml_style" | "config_style" => Syntax { has_bare_values: true, is_data: true, ..HASH },
            "data_style" => Syntax { line_comments: &[], block_comment: None, is_data: true, ..C_LIKE },
            "markup_style" => Syntax {
                line_comments: &[],
                block_comment: Some(("<!--", "-->")),
                has_tags: true,
                is_data: true,
                ..C_LIKE
            },
            "powershell_style" | "r_style" | "fish_style" | "cmake_style" | "tcl_style" | "make_style"
            | "docker_style" => Syntax { is_multiline: true, ..HASH },
            "c_style" if name == "zig" => Syntax { has_line_strings: true, ..C_LIKE },
            _ => C_LIKE,
        }
    }
}
