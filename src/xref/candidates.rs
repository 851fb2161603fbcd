//! Which definitions a site can mean by their kind, their parameters and their bodies.

use super::arity;
use super::definitions::{Def, DefId, FileDefs};
use super::dialect::Dialect;
use super::facts::Form;
use super::resolver::{Place, Resolver};
use crate::chunk::SymbolKind;

impl Resolver<'_, '_> {
    /// Of the right kind, with the right number of parameters, declarations only where there is no definition.
    pub(super) fn fitting(&self, place: Place<'_>, mut found: Vec<DefId>) -> Vec<DefId> {
        found.retain(|&id| self.defs.with(id, |_, def| allowed(place, def)).unwrap_or(false));
        if place.dialect.arity
            && let Some(n) = place.site.arguments
        {
            let takes = |id: &DefId| {
                let look = |_: &FileDefs, def: &Def| {
                    let range =
                        if def.kind.is_callable() { arity::of(&def.signature, &def.name) } else { None };
                    let method_by_path = place.dialect.language == "rust" && place.site.form == Form::Path;
                    range.is_none_or(|(least, most)| {
                        (least..=most).contains(&n)
                            || method_by_path && n > 0 && (least..=most).contains(&(n - 1))
                    })
                };
                self.defs.with(*id, look).unwrap_or(false)
            };
            let of_number: Vec<DefId> = found.iter().filter(|id| takes(id)).copied().collect();
            // A signature may be misread: what nothing fits, everything fits.
            if !of_number.is_empty() {
                found = of_number;
            }
        }
        let mut found = self.without_declarations(place.dialect, found);
        let key = |id: &DefId| self.defs.with(*id, |file, def| (file.path.clone(), def.range.start));
        found.sort_by_cached_key(key);
        found.dedup();
        found
    }

    /// Drops what only declares where something of that full name has a body.
    pub fn without_declarations(&self, dialect: &Dialect, found: Vec<DefId>) -> Vec<DefId> {
        if found.len() < 2 || !(dialect.family == "c" || dialect.family == "script") {
            return found;
        }
        let has_body = |id: &DefId| {
            let look = |file: &FileDefs, def: &Def| {
                let facts = self.sources.facts(file);
                let range = def.range.start as usize..def.range.end as usize;
                let text = facts.as_ref().and_then(|facts| facts.text.get(range)).unwrap_or_default();
                let has_body = text.ends_with('}')
                    || text.contains("=>")
                    || !def.kind.is_callable()
                    || def.kind == SymbolKind::Macro;
                (has_body, def.qualified.clone())
            };
            self.defs.with(*id, look).unwrap_or((false, String::new()))
        };
        let known: Vec<(DefId, bool, String)> = found
            .into_iter()
            .map(|id| {
                let (body, name) = has_body(&id);
                (id, body, name)
            })
            .collect();
        let defined = |name: &str| known.iter().any(|(_, body, other)| *body && other == name);
        known.iter().filter(|(_, body, name)| *body || !defined(name)).map(|(id, _, _)| *id).collect()
    }

    /// Definitions reached by an include, or the bodies of the declarations that are.
    pub(super) fn bodies(&self, place: Place<'_>, reached: Vec<DefId>, all: &[DefId]) -> Vec<DefId> {
        let kept = self.without_declarations(place.dialect, all.to_vec());
        let of_reached: Vec<DefId> = kept.iter().filter(|id| reached.contains(id)).copied().collect();
        if of_reached.is_empty() { kept } else { of_reached }
    }

    /// A type that is called or constructed → those of its constructors that fit, where it has any.
    pub(super) fn constructed(&self, place: Place<'_>, found: Vec<DefId>) -> Vec<DefId> {
        let constructs = matches!(place.site.form, Form::New | Form::Bare | Form::Member | Form::Path);
        // Other languages have constructors that are no symbols.
        let named = ["python", "javascript", "typescript", "tsx", "java", "cpp", "csharp", "ruby", "php"];
        if !constructs || !named.contains(&place.dialect.language) {
            return found;
        }
        let mut targets = Vec::new();
        for id in found {
            let constructors: Vec<DefId> = self
                .defs
                .with(
                    id,
                    |file, def| if def.is_type() { self.constructors(file, id.symbol) } else { Vec::new() },
                )
                .unwrap_or_default();
            let fitting = self.fitting(place, constructors);
            if fitting.is_empty() { targets.push(id) } else { targets.extend(fitting) }
        }
        targets
    }

    /// The constructors that a type defines itself.
    pub fn constructors(&self, file: &FileDefs, of: u32) -> Vec<DefId> {
        let own = |def: &Def| def.kind == SymbolKind::Constructor && def.parent == Some(of);
        file.defs.iter().enumerate().filter(|(_, def)| own(def)).map(|(i, _)| file.id(i as u32)).collect()
    }
}

/// A name in a namespace is no member of a value.
pub(crate) fn in_namespace(file: &FileDefs, def: &Def) -> bool {
    match def.parent {
        Some(parent) => matches!(file.def(parent).kind, SymbolKind::Namespace | SymbolKind::Module),
        None => def.owner().is_empty(),
    }
}

/// A function inside of another one belongs to no value.
pub(crate) fn is_local(file: &FileDefs, def: &Def) -> bool {
    let parent = def.parent.map(|parent| file.def(parent)).filter(|parent| parent.kind.is_callable());
    def.kind == SymbolKind::Function && parent.is_some_and(|parent| parent.qualified == def.owner())
}

/// Definitions of `name` in a file.
pub(crate) fn named_in<'f>(file: &'f FileDefs, name: &'f str) -> impl Iterator<Item = (u32, &'f Def)> {
    let named =
        file.defs.iter().enumerate().filter(move |(_, def)| def.name == name && def.kind != SymbolKind::Impl);
    named.map(|(i, def)| (i as u32, def))
}

/// A definition of this kind can be meant in this way.
pub(crate) fn allowed(place: Place<'_>, def: &Def) -> bool {
    use SymbolKind as K;
    // A test that is a call with a text has no name to be called by.
    let is_text = def.kind == K::Test && is_described(def, place.dialect);
    let callable = def.kind.is_callable() && !is_text;
    match place.site.form {
        Form::Mention => def.kind != K::Impl && !is_text,
        Form::Type => def.is_type() || def.kind == K::Module && place.dialect.language == "ruby",
        Form::Macro => def.kind == K::Macro,
        Form::New => {
            def.is_type()
                || def.kind == K::Constructor
                || def.kind == K::EnumMember
                || (callable || def.is_value()) && place.dialect.family == "script"
        }
        Form::Word => callable && def.kind != K::Test || def.kind == K::Property,
        Form::Bare => {
            callable
                || def.kind == K::EnumMember
                || def.is_value()
                || def.is_type() && place.dialect.constructs
        }
        Form::Member | Form::Path => callable || def.is_type() || def.kind == K::EnumMember || def.is_value(),
    }
}

/// True for a test whose name is a description.
fn is_described(def: &Def, dialect: &Dialect) -> bool {
    match dialect.language {
        "javascript" | "typescript" | "tsx" | "scala" => true,
        "ruby" => !def.name.starts_with("test_"),
        "c" | "cpp" => !def.name.chars().all(|c| c.is_alphanumeric() || c == '_'),
        _ => false,
    }
}
