//! Names of declared modules, behind the name of the module or an alias: Elixir, Haskell.

use codeweaver_chunk::SymbolKind;

use super::definitions::{Def, Definitions, FileDefs, segments};
use super::facts::Import;
use super::resolution::Lookup;
use super::site::SiteContext;

/// The definitions of `name` in the module `path`. `External` if the repository has no such module;
/// `Undecided` if the module has no such definition, because it may pass on one of another module.
pub(super) fn in_module(defs: &Definitions<'_>, family: &str, path: &str, name: &str) -> Lookup {
    let module: Vec<&str> = segments(path).collect();
    let mut found = defs.named(name, family);
    found.retain(|&id| defs.satisfies(id, |file, def| is_in(file, def, &module)));

    match (found.is_empty(), is_module(defs, family, &module)) {
        (false, _) => Lookup::Found(found),
        (true, true) => Lookup::Undecided,
        (true, false) => Lookup::External,
    }
}

/// The definitions of the site's name in the module that a receiver names.
pub(super) fn behind_module(defs: &Definitions<'_>, ctx: SiteContext<'_>, receiver: &str) -> Lookup {
    let (family, name) = (ctx.dialect.family, &*ctx.site.name);
    let receiver = receiver.trim_end_matches('.');

    if receiver == "__MODULE__" {
        let around = ctx.file.around(ctx.site.at).find(|(_, def)| def.kind == SymbolKind::Module);
        return around.map_or(Lookup::Undecided, |(_, def)| in_module(defs, family, &def.qualified, name));
    }

    let imports = ctx.facts.imports.iter().filter(|import| import.module);
    let paths: Vec<String> = imports.filter_map(|import| path_behind(import, receiver)).collect();
    // Several modules may have one alias; the name is in one of them.
    let mut is_outside = !paths.is_empty();
    for path in &paths {
        match in_module(defs, family, path, name) {
            Lookup::Found(found) => return Lookup::Found(found),
            Lookup::Undecided => is_outside = false,
            Lookup::External => {}
        }
    }

    match (paths.is_empty(), ctx.dialect.language) {
        (true, "elixir") => in_module(defs, family, receiver, name),
        _ if is_outside => Lookup::External,
        _ => Lookup::Undecided,
    }
}

/// The full path of a module that is written as `receiver`, if the import gives it that name.
fn path_behind(import: &Import, receiver: &str) -> Option<String> {
    let path = match &import.name {
        Some(name) => format!("{}.{name}", import.path),
        None => import.path.to_string(),
    };
    let local = import.alias.as_deref().or_else(|| segments(&path).last())?;

    let rest = receiver.strip_prefix(local)?;
    (rest.is_empty() || rest.starts_with('.')).then(|| format!("{path}{rest}"))
}

/// Returns whether a definition is one of the names of a module: at its top, or in a type there.
fn is_in(file: &FileDefs, def: &Def, module: &[&str]) -> bool {
    let full = file.full_name(def);
    let in_type = def.parent.is_some_and(|parent| file.def(parent).kind.has_members());
    let n_around = if in_type { 2 } else { 1 };
    full.len() == module.len() + n_around && full.iter().zip(module).all(|(a, b)| a == b)
}

/// Returns whether the repository has a module that may be the one at `path`, whose first parts may be
/// implied.
fn is_module(defs: &Definitions<'_>, family: &str, path: &[&str]) -> bool {
    let Some(last) = path.last() else { return false };
    let named = defs.named(last, family);
    named.iter().any(|&id| {
        defs.satisfies(id, |_, def| {
            let is_kind = matches!(def.kind, SymbolKind::Module | SymbolKind::Interface | SymbolKind::Impl);
            is_kind && segments(&def.qualified).rev().zip(path.iter().rev()).all(|(a, b)| a == *b)
        })
    })
}
