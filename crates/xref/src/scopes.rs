//! Lexical scopes around a site: local bindings and the definitions of enclosing scopes.

use codeweaver_chunk::SymbolKind;

use super::definitions::{Def, DefId};
use super::dialect::Modules;
use super::facts::Binding;
use super::members::{MemberLookup, TypeMembers};
use super::site::SiteContext;

/// Definitions of `name` in the innermost enclosing scope that has any. The flag is false if a base that is
/// not known may define the name as well.
pub(super) fn enclosing_definitions(
    types: TypeMembers<'_, '_, '_>,
    ctx: SiteContext<'_>,
    name: &str,
) -> (Vec<DefId>, bool) {
    let file = ctx.file;
    let mut is_certain = true;
    let mut in_type = false;

    for (scope, around) in file.around(ctx.site.at) {
        let mut here: Vec<DefId> = Vec::new();

        if around.kind.has_members() && ctx.dialect.bare_members {
            in_type = true;
            match types.members(file, scope, ctx, name) {
                MemberLookup::Found(found) => here = found,
                MemberLookup::Uncertain(found) => (here, is_certain) = (found, false),
                MemberLookup::External | MemberLookup::Unknown => is_certain = false,
                MemberLookup::Missing => {}
            }
            if ctx.is_in_anonymous_type() {
                is_certain = false;
            }
        } else if !around.kind.has_members() {
            let local = file.named(name).filter(|(_, def)| {
                def.parent == Some(scope) && is_in_scope(ctx, around, def) && ctx.accepts(def)
            });
            here = local.map(|(i, _)| file.id(i)).collect();

            // The method may be defined outside its type.
            if here.is_empty() && ctx.dialect.bare_members && !in_type && around.kind.is_callable() {
                let owner = around.owner();
                let in_parent = around.parent.map_or("", |parent| file.def(parent).qualified.as_str());
                if !owner.is_empty() && owner != in_parent {
                    match types.members_of_named(owner, ctx, name) {
                        MemberLookup::Found(found) => here = found,
                        MemberLookup::Uncertain(found) => (here, is_certain) = (found, false),
                        MemberLookup::External | MemberLookup::Unknown => is_certain = false,
                        MemberLookup::Missing => {}
                    }
                }
            }

            // A module of Rust does not inherit the scope that encloses it.
            let is_module = around.kind == SymbolKind::Module
                || around.kind == SymbolKind::Test && !around.signature.contains("fn ");
            if here.is_empty() && is_module && ctx.dialect.modules == Modules::Rust {
                return (Vec::new(), is_certain);
            }
        }

        if !here.is_empty() {
            return (here, is_certain);
        }
    }

    let top = file.named(name).filter(|(_, def)| {
        let is_free = def.parent.is_none() && def.owner().is_empty();
        ctx.accepts(def) && (is_free || is_in_open_namespace(ctx, def))
    });
    (top.map(|(i, _)| file.id(i)).collect(), is_certain)
}

/// Returns whether a definition directly inside `around` is in its scope. A member of an object inside a
/// function of a script is not in the scope of the function.
fn is_in_scope(ctx: SiteContext<'_>, around: &Def, def: &Def) -> bool {
    use SymbolKind as K;
    let is_member = matches!(def.kind, K::Method | K::Property | K::Field | K::Constructor)
        || def.kind == K::Function && !is_statement(&def.signature);
    ctx.dialect.modules != Modules::Script || !is_member && def.owner() == around.qualified
}

/// Returns whether a definition is in a namespace around the site, in the same block or another one.
fn is_in_open_namespace(ctx: SiteContext<'_>, def: &Def) -> bool {
    let Some(parent) = def.parent.map(|parent| ctx.file.def(parent)) else { return false };
    parent.kind == SymbolKind::Namespace
        && ctx
            .file
            .around(ctx.site.at)
            .any(|(_, other)| other.qualified == parent.qualified && other.kind == parent.kind)
}

/// Returns whether the signature of a function is that of a statement, and not of a member of an object.
fn is_statement(signature: &str) -> bool {
    let rest = signature.trim_start_matches("export ").trim_start_matches("default ");
    let rest = rest.trim_start_matches("declare ").trim_start_matches("async ");
    ["function", "const ", "let ", "var "].iter().any(|word| rest.starts_with(word))
}

/// The local binding of the site's name, if one is in scope.
pub(super) fn local_binding<'f>(ctx: SiteContext<'f>) -> Option<&'f Binding> {
    ctx.facts.binding_at(&ctx.site.name, ctx.site.at).filter(|binding| binding.reach.is_some())
}

/// The definition that a binding names, or the nearest local definition of the site's name.
pub(super) fn local_definition(ctx: SiteContext<'_>, binding: &Binding) -> Option<u32> {
    let reach = binding.reach.as_ref()?;

    let local = ctx.file.named(&ctx.site.name).filter(|(_, def)| {
        let bound = def.range.contains(&binding.at) && def.kind.is_callable()
            || def.kind.is_callable() && def.range.start == binding.at;
        let inside = def.parent.is_some_and(|parent| {
            let parent = ctx.file.def(parent);
            parent.kind.is_callable()
                && parent.range.contains(&ctx.site.at)
                && parent.range.start >= reach.start
        });
        (bound || inside) && ctx.accepts(def)
    });

    // A parameter is inside its function too, but does not name it.
    local.filter(|(_, def)| reach.start <= def.range.start).map(|(symbol, _)| symbol).last()
}
