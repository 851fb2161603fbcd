//! A reference with the file, the facts and the language around it.

use codeweaver_chunk::SymbolKind;

use super::definitions::{Def, FileDefs};
use super::dialect::Dialect;
use super::facts::{Facts, Form, Reference};

/// A reference in its context: the input of every stage of resolution.
#[derive(Clone, Copy)]
pub(crate) struct SiteContext<'a> {
    pub file: &'a FileDefs,
    pub facts: &'a Facts,
    pub dialect: &'static Dialect,
    pub site: &'a Reference,
}

impl SiteContext<'_> {
    /// Returns whether the syntax of the site can refer to a definition of this kind.
    pub fn accepts(self, def: &Def) -> bool {
        use SymbolKind as K;
        // A test that is a call with a description has no name to be called by.
        let is_text = def.kind == K::Test && is_described(def, self.dialect);
        let callable = def.kind.is_callable() && !is_text;

        match self.site.form {
            Form::Mention => def.kind != K::Impl && !is_text,
            Form::Type => def.is_type() || def.kind == K::Module && self.dialect.language == "ruby",
            Form::Macro => def.kind == K::Macro,
            Form::New => {
                def.is_type()
                    || def.kind == K::Constructor
                    || def.kind == K::EnumMember
                    || (callable || def.is_value()) && self.dialect.family == "script"
            }
            Form::Word => callable && def.kind != K::Test || def.kind == K::Property,
            Form::Bare => {
                callable
                    || def.kind == K::EnumMember
                    || def.is_value() && may_be_invoked(def, self.dialect)
                    || def.is_type() && self.dialect.constructs
            }
            Form::Applied => callable,
            Form::Member | Form::Path => {
                let is_module = def.kind == K::Module && self.dialect.language == "ruby";
                callable || def.is_type() || def.kind == K::EnumMember || def.is_value() || is_module
            }
        }
    }

    /// Returns whether the site is in the body of a type without a name.
    pub fn is_in_anonymous_type(self) -> bool {
        self.facts.anonymous_types.iter().any(|range| range.contains(&self.site.at))
    }
}

/// Returns whether a value may be called by its name. In Kotlin, where functions and properties of one name
/// are common, only if it is seen to hold a function.
fn may_be_invoked(def: &Def, dialect: &Dialect) -> bool {
    dialect.language != "kotlin" || def.signature.contains("->") || def.signature.contains("= {")
}

/// Returns whether the name of a test is a description instead of an identifier.
fn is_described(def: &Def, dialect: &Dialect) -> bool {
    match dialect.language {
        "javascript" | "typescript" | "tsx" | "scala" => true,
        "ruby" => !def.name.starts_with("test_"),
        "c" | "cpp" => !def.name.chars().all(|c| c.is_alphanumeric() || c == '_'),
        _ => false,
    }
}
