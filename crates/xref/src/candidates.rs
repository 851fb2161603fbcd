//! Filters candidate definitions by kind, number of parameters and presence of a body.

use codeweaver_chunk::SymbolKind;

use super::arity;
use super::definitions::{Def, DefId, Definitions, FileDefs};
use super::dialect::Dialect;
use super::facts::Form;
use super::site::SiteContext;
use super::sources::Sources;

/// The place of a definition: entry of its file, enclosing definition and qualified name.
type Place = (u32, Option<u32>, String);

/// Reduces the definitions of a name to those that a site can refer to.
#[derive(Clone, Copy)]
pub(crate) struct CandidateFilter<'a, 'v> {
    pub(super) defs: &'a Definitions<'v>,
    pub(super) sources: &'a Sources<'v>,
}

impl CandidateFilter<'_, '_> {
    /// Candidates of an accepted kind that take the number of arguments given at the site, without redundant
    /// declarations, ordered by path and position.
    pub fn viable(&self, ctx: SiteContext<'_>, mut found: Vec<DefId>) -> Vec<DefId> {
        found.retain(|&id| self.defs.satisfies(id, |_, def| ctx.accepts(def)));

        if ctx.dialect.arity
            && let Some(n) = ctx.site.arguments
        {
            let fitting: Vec<DefId> = found.iter().filter(|&&id| self.takes(ctx, id, n)).copied().collect();
            // Signatures may be misread: if no candidate takes the arguments, all are kept.
            if !fitting.is_empty() {
                found = fitting;
            }
        }

        let mut found = self.without_declarations(ctx.dialect, found);
        found = self.without_overloads(ctx.dialect, found);
        found.sort_by_cached_key(|&id| self.defs.with(id, |file, def| (file.path.clone(), def.range.start)));
        found.dedup();
        found
    }

    /// Returns whether a definition takes `n` arguments, as far as its signature shows.
    fn takes(&self, ctx: SiteContext<'_>, id: DefId, n: u32) -> bool {
        self.defs.satisfies(id, |_, def| {
            let range =
                if def.kind.is_callable() { arity::from_signature(&def.signature, &def.name) } else { None };
            // A method of Rust that is called by its path has its receiver as the first argument.
            let method_by_path = ctx.dialect.language == "rust" && ctx.site.form == Form::Path;
            range.is_none_or(|(least, most)| {
                (least..=most).contains(&n) || method_by_path && n > 0 && (least..=most).contains(&(n - 1))
            })
        })
    }

    /// Drops declarations for which a candidate of the same qualified name has a body. Applies to C, C++,
    /// JavaScript and TypeScript.
    pub fn without_declarations(&self, dialect: &Dialect, found: Vec<DefId>) -> Vec<DefId> {
        if found.len() < 2 || !(dialect.family == "c" || dialect.family == "script") {
            return found;
        }

        let known: Vec<(DefId, bool, String)> = found
            .into_iter()
            .map(|id| {
                let qualified = self.defs.with(id, |_, def| def.qualified.clone()).unwrap_or_default();
                (id, self.has_body(id), qualified)
            })
            .collect();
        let defined: Vec<&String> =
            known.iter().filter(|(_, has_body, _)| *has_body).map(|(_, _, name)| name).collect();

        known
            .iter()
            .filter(|(_, has_body, name)| *has_body || !defined.contains(&name))
            .map(|(id, _, _)| *id)
            .collect()
    }

    /// Replaces member functions of C++ that `found` has as declarations by their definitions outside of the
    /// type, where there are any.
    pub fn members_defined_elsewhere(&self, dialect: &Dialect, found: Vec<DefId>) -> Vec<DefId> {
        if dialect.family != "c" {
            return found;
        }

        let mut targets = Vec::new();
        for id in found {
            let definitions = self.definitions_outside(dialect, id);
            if definitions.is_empty() { targets.push(id) } else { targets.extend(definitions) }
        }

        targets
    }

    /// The definitions outside of the type of a member function that is only declared there.
    fn definitions_outside(&self, dialect: &Dialect, id: DefId) -> Vec<DefId> {
        let declared = self.defs.with(id, |_, def| {
            (def.kind.is_callable() && def.is_member()).then(|| (def.name.clone(), def.qualified.clone()))
        });
        let Some((name, qualified)) = declared.flatten() else { return Vec::new() };
        if self.has_body(id) {
            return Vec::new();
        }

        let mut definitions = self.defs.named(&name, dialect.family);
        definitions.retain(|&other| {
            self.defs.satisfies(other, |_, def| def.qualified == qualified) && self.has_body(other)
        });
        definitions
    }

    /// Drops further declarations of a function of which the language allows several: those marked as
    /// overloads in Python beside their definition, and all but the first of a name in one scope in scripts.
    fn without_overloads(&self, dialect: &Dialect, found: Vec<DefId>) -> Vec<DefId> {
        if found.len() < 2 || !matches!(dialect.family, "python" | "script") {
            return found;
        }

        let known: Vec<_> =
            found.iter().filter_map(|&id| Some((id, self.declaration(dialect, id)?))).collect();

        let mut targets = Vec::new();
        for (i, (id, (is_declaration, place))) in known.iter().enumerate() {
            let is_defined =
                known.iter().any(|(_, (is_declaration, other))| other == place && !is_declaration);
            let is_first = known[..i].iter().all(|(_, (_, other))| other != place);
            if !is_declaration || !is_defined && is_first {
                targets.push(*id);
            }
        }
        targets
    }

    /// The definition that a marked overload of Python declares; the definition itself if it is none.
    pub fn definition_of_overload(&self, id: DefId) -> DefId {
        let Some(file) = self.defs.file(id.entry) else { return id };
        let Some(dialect) = file.dialect.filter(|dialect| dialect.family == "python") else { return id };
        let Some((true, place)) = self.declaration(dialect, id) else { return id };

        let named = file.named(&file.def(id.symbol).name).map(|(symbol, _)| file.id(symbol));
        let mut defined =
            named.filter(|&other| self.declaration(dialect, other) == Some((false, place.clone())));
        defined.next().unwrap_or(id)
    }

    /// Returns whether a definition only declares a function, and its place.
    fn declaration(&self, dialect: &Dialect, id: DefId) -> Option<(bool, Place)> {
        self.defs.with(id, |file, def| {
            let is_declaration = match dialect.family {
                "python" => def.kind.is_callable() && self.is_overload(file, def),
                _ => def.kind.is_callable() && !self.has_body(id),
            };
            (is_declaration, (id.entry, def.parent, def.qualified.clone()))
        })
    }

    /// Returns whether the decorators of a Python function mark it as an overload.
    fn is_overload(&self, file: &FileDefs, def: &Def) -> bool {
        let Some(facts) = self.sources.facts(file) else { return false };
        let text = facts.text.get(..def.range.end as usize).unwrap_or_default();

        let (before, own) = text.split_at(text.len().min(def.range.start as usize));
        let above = before.lines().rev().skip(usize::from(!before.ends_with('\n')));
        let decorators = above.map(str::trim).take_while(|line| line.starts_with('@'));
        let own = own.lines().map(str::trim).take_while(|line| line.starts_with('@'));

        decorators.chain(own).any(|line| {
            let name = line[1..].trim();
            name == "overload" || name.ends_with(".overload")
        })
    }

    /// Returns whether a definition is more than a declaration.
    pub fn has_body(&self, id: DefId) -> bool {
        self.defs.satisfies(id, |file, def| {
            if !def.kind.is_callable() || def.kind == SymbolKind::Macro {
                return true;
            }

            let facts = self.sources.facts(file);
            let range = def.range.start as usize..def.range.end as usize;
            let text = facts.as_ref().and_then(|facts| facts.text.get(range)).unwrap_or_default();
            text.ends_with('}') || has_arrow(text)
        })
    }

    /// The definitions among `all` for the declarations in `reached`, or those of `reached` that are
    /// definitions.
    pub fn definitions_of_reached(
        &self,
        ctx: SiteContext<'_>,
        reached: Vec<DefId>,
        all: &[DefId],
    ) -> Vec<DefId> {
        let definitions = self.without_declarations(ctx.dialect, all.to_vec());
        let reached_definitions: Vec<DefId> =
            definitions.iter().filter(|id| reached.contains(id)).copied().collect();
        if reached_definitions.is_empty() { definitions } else { reached_definitions }
    }

    /// Replaces each type that is called or constructed by its viable constructors, where it has any.
    pub fn constructors_for_call(&self, ctx: SiteContext<'_>, found: Vec<DefId>) -> Vec<DefId> {
        let constructs = matches!(ctx.site.form, Form::New | Form::Bare | Form::Member | Form::Path);
        // In other languages, constructors are not symbols.
        let named = ["python", "javascript", "typescript", "tsx", "java", "cpp", "csharp", "ruby", "php"];
        if !constructs || !named.contains(&ctx.dialect.language) {
            return found;
        }

        let mut targets = Vec::new();
        for id in found {
            let constructors: Vec<DefId> = self
                .defs
                .with(
                    id,
                    |file, def| {
                        if def.is_type() { self.constructors_of(file, id.symbol) } else { Vec::new() }
                    },
                )
                .unwrap_or_default();

            let fitting = self.viable(ctx, constructors);
            if fitting.is_empty() { targets.push(id) } else { targets.extend(fitting) }
        }

        targets
    }

    /// The constructors that a type itself defines.
    pub fn constructors_of(&self, file: &FileDefs, of: u32) -> Vec<DefId> {
        let constructors = file
            .defs
            .iter()
            .enumerate()
            .filter(|(_, def)| def.kind == SymbolKind::Constructor && def.parent == Some(of));
        constructors.map(|(i, _)| file.id(i as u32)).collect()
    }
}

/// Returns whether a function of a script has an arrow outside of all brackets; the arrow in the type of a
/// callback is inside.
fn has_arrow(text: &str) -> bool {
    let mut depth = 0i32;
    let mut last = b' ';

    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && last == b'=' && byte == b'>' {
            return true;
        }
        last = byte;
    }

    false
}

#[cfg(test)]
mod tests {
    use super::has_arrow;

    #[test]
    fn the_type_of_a_callback_is_no_body() {
        assert!(has_arrow("const add = (a, b) => a + b"));
        assert!(!has_arrow("on(event: string, run: () => void): this;"));
    }
}
