//! Resolves paths of Rust to definitions: crates, modules, and the files that hold them.

use std::rc::Rc;
use std::sync::Arc;

use codeweaver_chunk::SymbolKind;

use super::definitions::{DefId, Definitions, FileDefs, segments};
use super::dialect::Modules;
use super::facts::{Facts, Import};
use super::modules::Paths;
use super::resolution::Lookup;
use super::site::SiteContext;
use super::sources::Sources;

/// Maximum number of `use` re-exports followed.
const MAX_HOPS: u32 = 5;

/// A crate, named by its root folder, and a module path in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ModulePath {
    root: String,
    parts: Vec<String>,
}

/// Resolves `path::name` as the compiler would, as far as files and `use` declarations show.
#[derive(Clone, Copy)]
pub(super) struct RustPaths<'a, 'v> {
    pub(super) defs: &'a Definitions<'v>,
    pub(super) sources: &'a Sources<'v>,
    pub(super) paths: &'a Paths<'v>,
}

impl RustPaths<'_, '_> {
    /// Resolves `path::name` as written at a site.
    pub fn resolve(&self, ctx: SiteContext<'_>, path: &str, name: &str) -> Lookup {
        self.follow(ctx, path, name, 0)
    }

    fn follow(&self, ctx: SiteContext<'_>, path: &str, name: &str, hops: u32) -> Lookup {
        if hops > MAX_HOPS {
            return Lookup::Undecided;
        }

        let parts: Vec<&str> = path.split("::").map(str::trim).filter(|part| !part.is_empty()).collect();
        let Some(&first) = parts.first() else { return Lookup::Undecided };
        let here = self.module_at(ctx.file, ctx.site.at);

        let absolute = match first {
            "crate" => ModulePath { root: here.root.clone(), parts: owned(&parts[1..]) },
            "self" => ModulePath { root: here.root.clone(), parts: joined(&here.parts, &parts[1..]) },
            "super" => above(&here, &parts),
            _ => match self.first_name(ctx, &here, &parts, hops) {
                Some(absolute) => absolute,
                None => return self.first_is_type(ctx, first),
            },
        };

        self.in_module(ctx, &absolute, name, hops)
    }

    /// The absolute module path of a path whose first segment is a child module, an imported name or a crate.
    fn first_name(
        &self,
        ctx: SiteContext<'_>,
        here: &ModulePath,
        parts: &[&str],
        hops: u32,
    ) -> Option<ModulePath> {
        let first = parts[0];
        let is_child = ctx.facts.imports.iter().any(|import| import.child && *import.path == *first)
            || ctx.file.named(first).any(|(_, def)| def.kind == SymbolKind::Module);
        if is_child {
            return Some(ModulePath { root: here.root.clone(), parts: joined(&here.parts, parts) });
        }

        let import = ctx
            .facts
            .imports
            .iter()
            .find(|i| !i.all && !i.child && i.local_name(Modules::Rust) == Some(first));
        if let Some(import) = import.filter(|import| *import.path != *first && hops < MAX_HOPS) {
            let whole: Vec<&str> = import.path.split("::").chain(parts[1..].iter().copied()).collect();
            return self.absolute(ctx, here, &whole, hops + 1);
        }

        let crates = self.paths.crates(self.sources, self.defs);
        let (_, root) = crates.iter().find(|(name, _)| name == first)?;
        Some(ModulePath { root: root.clone(), parts: owned(&parts[1..]) })
    }

    /// The module of a path, whose first segment is a keyword or a name in scope.
    fn absolute(
        &self,
        ctx: SiteContext<'_>,
        here: &ModulePath,
        parts: &[&str],
        hops: u32,
    ) -> Option<ModulePath> {
        match *parts.first()? {
            "crate" => Some(ModulePath { root: here.root.clone(), parts: owned(&parts[1..]) }),
            "self" => Some(ModulePath { root: here.root.clone(), parts: joined(&here.parts, &parts[1..]) }),
            "super" => Some(above(here, parts)),

            _ if hops < MAX_HOPS => self.first_name(ctx, here, parts, hops),
            _ => None,
        }
    }

    /// Decides whether a path that begins with a type in scope leads out of the repository.
    fn first_is_type(&self, ctx: SiteContext<'_>, first: &str) -> Lookup {
        let imported = ctx
            .facts
            .imports
            .iter()
            .find(|i| !i.all && !i.child && i.local_name(Modules::Rust) == Some(first));
        if let Some(import) = imported {
            let root = import.path.split("::").next().unwrap_or_default();
            let is_inside = matches!(root, "crate" | "self" | "super") || self.is_crate(root);
            return if is_inside { Lookup::Undecided } else { Lookup::External };
        }

        if matches!(first, "std" | "core" | "alloc") {
            return Lookup::External;
        }
        Lookup::Undecided
    }

    /// Definitions of `name` in a module, or in a type of the module, or re-exported by the module.
    fn in_module(&self, ctx: SiteContext<'_>, module: &ModulePath, name: &str, hops: u32) -> Lookup {
        let mut found = self.defs.named(name, ctx.dialect.family);
        found.retain(|&id| {
            self.defs.satisfies(id, |file, def| {
                let at = self.module_of_file(file);
                let full: Vec<&str> =
                    at.parts.iter().map(String::as_str).chain(segments(&def.qualified)).collect();
                at.root == module.root
                    && full.len() == module.parts.len() + 1
                    && full.iter().zip(&module.parts).all(|(a, b)| a == b)
            })
        });

        if !found.is_empty() {
            return Lookup::Found(found);
        }
        if hops >= MAX_HOPS {
            return Lookup::Undecided;
        }
        self.re_exported(ctx, module, name, hops)
    }

    /// Follows the `use` declarations of the file that holds `module`.
    fn re_exported(&self, ctx: SiteContext<'_>, module: &ModulePath, name: &str, hops: u32) -> Lookup {
        // The file of the longest prefix of the path re-exports the rest.
        for n in (0..=module.parts.len()).rev() {
            let Some(entry) = self.file_of(&module.root, &module.parts[..n]) else { continue };
            let Some((file, facts)) = self.facts_of(entry) else { return Lookup::Undecided };

            let rest = &module.parts[n..];
            let wanted = rest.first().map_or(name, String::as_str);
            let inner = SiteContext { file: &file, facts: &facts, ..ctx };

            // Imports of one name are alternatives, of which a condition selects one.
            let mut named: Vec<DefId> = Vec::new();
            for import in facts.imports.iter().filter(|import| !import.child) {
                let path = match (import.all, import.local_name(Modules::Rust)) {
                    (true, _) => import.path.to_string(),
                    (false, Some(local)) if local == wanted => up_to_last(import),
                    _ => continue,
                };

                let own_name = if import.all { wanted.to_owned() } else { last(import).to_owned() };
                let result = if rest.is_empty() {
                    self.follow(inner, &path, &own_name, hops + 1)
                } else {
                    let longer = [path, own_name]
                        .into_iter()
                        .chain(rest[1..].iter().cloned())
                        .collect::<Vec<_>>()
                        .join("::");
                    self.follow(inner, &longer, name, hops + 1)
                };

                match result {
                    // The first import decides: a wildcard only if no import before it names the definition.
                    Lookup::Found(found) if import.all && named.is_empty() => return Lookup::Found(found),
                    Lookup::Found(found) if !import.all => named.extend(found),
                    Lookup::External if !import.all && named.is_empty() => return Lookup::External,
                    _ => {}
                }
            }

            named.sort();
            named.dedup();
            return if named.is_empty() { Lookup::Undecided } else { Lookup::Found(named) };
        }
        Lookup::Undecided
    }

    /// The definitions and facts of the file of a live entry.
    pub fn facts_of(&self, entry: u32) -> Option<(Rc<FileDefs>, Arc<Facts>)> {
        let file = self.defs.file(entry)?;
        let facts = self.sources.facts(&file)?;
        Some((file, facts))
    }

    /// Returns whether a crate of the repository has that name.
    pub fn is_crate(&self, name: &str) -> bool {
        self.paths.crates(self.sources, self.defs).iter().any(|(known, _)| known == name)
    }

    /// The file that is the root of a module.
    fn file_of(&self, root: &str, parts: &[String]) -> Option<u32> {
        if parts.is_empty() {
            return ["lib.rs", "main.rs"].iter().find_map(|name| self.paths.at(&at(root, name)));
        }
        let stem = at(root, &parts.join("/"));
        self.paths.at(&format!("{stem}.rs")).or_else(|| self.paths.at(&format!("{stem}/mod.rs")))
    }

    /// The module at an offset: that of the file, followed by the inline modules around the offset.
    fn module_at(&self, file: &FileDefs, offset: u32) -> ModulePath {
        let mut module = self.module_of_file(file);
        let modules = file.around(offset).filter(|(_, def)| {
            def.kind == SymbolKind::Module || def.kind == SymbolKind::Test && !def.signature.contains("fn ")
        });

        let mut inner: Vec<String> = modules.map(|(_, def)| def.name.clone()).collect();
        inner.reverse();
        module.parts.extend(inner);
        module
    }

    /// The module of a whole file.
    fn module_of_file(&self, file: &FileDefs) -> ModulePath {
        let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let parts: Vec<&str> = path.split('/').collect();

        // The innermost folder with a root file; a file without one is a crate of its own.
        for n in (0..parts.len()).rev() {
            let root = parts[..n].join("/");
            if ["lib.rs", "main.rs"].iter().any(|name| self.paths.at(&at(&root, name)).is_some()) {
                let mut inside = owned(&parts[n..]);
                if inside.last().is_some_and(|last| {
                    last == "mod" || inside.len() == 1 && (last == "lib" || last == "main")
                }) {
                    inside.pop();
                }
                return ModulePath { root, parts: inside };
            }
        }

        ModulePath { root: path.to_owned(), parts: Vec::new() }
    }
}

/// `path` below the folder `root`.
fn at(root: &str, path: &str) -> String {
    if root.is_empty() { path.to_owned() } else { format!("{root}/{path}") }
}

/// The module of a path that begins with one or more `super`, as seen from the module `here`.
fn above(here: &ModulePath, parts: &[&str]) -> ModulePath {
    let n_up = parts.iter().take_while(|part| **part == "super").count();
    let n_left = here.parts.len().saturating_sub(n_up);
    ModulePath { root: here.root.clone(), parts: joined(&here.parts[..n_left], &parts[n_up..]) }
}

fn owned(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn joined(above: &[String], parts: &[&str]) -> Vec<String> {
    above.iter().cloned().chain(owned(parts)).collect()
}

/// The path of an import without its last segment; `self` if it has only one.
fn up_to_last(import: &Import) -> String {
    import.path.rsplit_once("::").map_or_else(|| "self".to_owned(), |(path, _)| path.to_owned())
}

/// The last segment of the path of an import.
fn last(import: &Import) -> &str {
    import.path.rsplit("::").next().unwrap_or(&import.path)
}
