//! Filters candidate definitions by kind, number of parameters and presence of a body.

use super::arity;
use super::definitions::{Def, DefId, Definitions, FileDefs};
use super::dialect::Dialect;
use super::facts::Form;
use super::site::SiteContext;
use super::sources::Sources;
use codeweaver_chunk::SymbolKind;

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
        found.retain(|&id| self.defs.with(id, |_, def| ctx.accepts(def)).unwrap_or(false));
        if ctx.dialect.arity
            && let Some(n) = ctx.site.arguments
        {
            let takes = |id: &DefId| {
                let look = |_: &FileDefs, def: &Def| {
                    let range =
                        if def.kind.is_callable() { arity::of(&def.signature, &def.name) } else { None };
                    let method_by_path = ctx.dialect.language == "rust" && ctx.site.form == Form::Path;
                    range.is_none_or(|(least, most)| {
                        (least..=most).contains(&n)
                            || method_by_path && n > 0 && (least..=most).contains(&(n - 1))
                    })
                };
                self.defs.with(*id, look).unwrap_or(false)
            };
            let of_number: Vec<DefId> = found.iter().filter(|id| takes(id)).copied().collect();
            // Signatures may be misread: if no candidate takes the arguments, all are kept.
            if !of_number.is_empty() {
                found = of_number;
            }
        }
        let mut found = self.without_declarations(ctx.dialect, found);
        found = self.without_overloads(ctx.dialect, found);
        let key = |id: &DefId| self.defs.with(*id, |file, def| (file.path.clone(), def.range.start));
        found.sort_by_cached_key(key);
        found.dedup();
        found
    }

    /// Drops declarations for which a candidate of the same qualified name has a body. Applies to C, C++,
    /// JavaScript and TypeScript.
    pub fn without_declarations(&self, dialect: &Dialect, found: Vec<DefId>) -> Vec<DefId> {
        if found.len() < 2 || !(dialect.family == "c" || dialect.family == "script") {
            return found;
        }
        let qualified = |id: DefId| self.defs.with(id, |_, def| def.qualified.clone()).unwrap_or_default();
        let known: Vec<(DefId, bool, String)> =
            found.into_iter().map(|id| (id, self.has_body(id), qualified(id))).collect();
        let defined = |name: &str| known.iter().any(|(_, body, other)| *body && other == name);
        known.iter().filter(|(_, body, name)| *body || !defined(name)).map(|(id, _, _)| *id).collect()
    }

    /// Replaces member functions of C++ that `found` has as declarations by their definitions outside of the
    /// type, where there are any.
    pub fn members_defined_elsewhere(&self, dialect: &Dialect, found: Vec<DefId>) -> Vec<DefId> {
        if dialect.family != "c" {
            return found;
        }
        let definitions_of = |id: DefId| -> Vec<DefId> {
            let declared = |_: &FileDefs, def: &Def| {
                (def.kind.is_callable() && def.is_member()).then(|| (def.name.clone(), def.qualified.clone()))
            };
            let Some((name, qualified)) = self.defs.with(id, declared).flatten() else { return Vec::new() };
            if self.has_body(id) {
                return Vec::new();
            }
            let is_same = |other: &DefId| {
                self.defs.with(*other, |_, def| def.qualified == qualified).unwrap_or(false)
                    && self.has_body(*other)
            };
            self.defs.named(&name, dialect.family).into_iter().filter(is_same).collect()
        };
        let mut targets = Vec::new();
        for id in found {
            let definitions = definitions_of(id);
            if definitions.is_empty() { targets.push(id) } else { targets.extend(definitions) }
        }
        targets
    }

    /// Drops further declarations of a function of which the language allows several: those marked as
    /// overloads in Python beside their definition, and all but the first of a name in one scope in scripts.
    fn without_overloads(&self, dialect: &Dialect, found: Vec<DefId>) -> Vec<DefId> {
        if found.len() < 2 || !matches!(dialect.family, "python" | "script") {
            return found;
        }
        let declared = |id: DefId| {
            let look = |file: &FileDefs, def: &Def| {
                let is_declaration = match dialect.family {
                    "python" => def.kind.is_callable() && self.is_overload(file, def),
                    _ => def.kind.is_callable() && !self.has_body(id),
                };
                (is_declaration, (id.entry, def.parent, def.qualified.clone()))
            };
            self.defs.with(id, look)
        };
        let known: Vec<_> = found.iter().filter_map(|&id| Some((id, declared(id)?))).collect();
        let is_kept = |at: usize| {
            let (_, (is_declaration, place)) = &known[at];
            let same = |(_, (_, other)): &&(DefId, (bool, _))| other == place;
            let defined = known.iter().filter(same).any(|(_, (is_declaration, _))| !is_declaration);
            !is_declaration || !defined && !known[..at].iter().any(|other| same(&other))
        };
        (0..known.len()).filter(|&at| is_kept(at)).map(|at| known[at].0).collect()
    }

    /// Whether the decorators of a Python function mark it as an overload.
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

    /// Whether a definition is more than a declaration.
    pub fn has_body(&self, id: DefId) -> bool {
        let look = |file: &FileDefs, def: &Def| {
            if !def.kind.is_callable() || def.kind == SymbolKind::Macro {
                return true;
            }
            let facts = self.sources.facts(file);
            let range = def.range.start as usize..def.range.end as usize;
            let text = facts.as_ref().and_then(|facts| facts.text.get(range)).unwrap_or_default();
            text.ends_with('}') || has_arrow(text)
        };
        self.defs.with(id, look).unwrap_or(false)
    }

    /// The definitions among `all` for the declarations in `reached`, or those of `reached` that are
    /// definitions.
    pub fn definitions_of_reached(
        &self,
        ctx: SiteContext<'_>,
        reached: Vec<DefId>,
        all: &[DefId],
    ) -> Vec<DefId> {
        let kept = self.without_declarations(ctx.dialect, all.to_vec());
        let of_reached: Vec<DefId> = kept.iter().filter(|id| reached.contains(id)).copied().collect();
        if of_reached.is_empty() { kept } else { of_reached }
    }

    /// Replaces each type that is called or constructed by its viable constructors, where it has any.
    pub fn constructors_for_call(&self, ctx: SiteContext<'_>, found: Vec<DefId>) -> Vec<DefId> {
        let constructs = matches!(ctx.site.form, Form::New | Form::Bare | Form::Member | Form::Path);
        // In other languages constructors are not symbols.
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
        let own = |def: &Def| def.kind == SymbolKind::Constructor && def.parent == Some(of);
        file.defs.iter().enumerate().filter(|(_, def)| own(def)).map(|(i, _)| file.id(i as u32)).collect()
    }
}

/// Whether a function of a script has an arrow outside of all brackets; that of a callback's type is inside.
fn has_arrow(text: &str) -> bool {
    let mut depth = 0i32;
    let mut last = b' ';
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        let is_arrow = depth == 0 && last == b'=' && byte == b'>';
        last = byte;
        is_arrow
    })
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
