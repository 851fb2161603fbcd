//! Looks up names that come from other files: imports, re-exports, packages, headers.

use codeweaver_chunk::SymbolKind;

use super::definitions::{Def, DefId, Definitions, FileDefs, segments};
use super::dialect::Modules;
use super::facts::{Form, Import};
use super::module_names;
use super::modules::{Module, Paths};
use super::resolution::Lookup;
use super::rust_paths::RustPaths;
use super::site::SiteContext;
use super::sources::Sources;

/// Maximum number of re-exports followed.
pub(super) const MAX_HOPS: u32 = 4;
/// Maximum number of headers followed from one file.
const MAX_HEADERS: usize = 60;

/// Resolves names through the imports and packages of a file.
#[derive(Clone, Copy)]
pub(super) struct NameLookup<'a, 'v> {
    defs: &'a Definitions<'v>,
    sources: &'a Sources<'v>,
    paths: &'a Paths<'v>,
    pub(super) rust: RustPaths<'a, 'v>,
}

impl<'a, 'v> NameLookup<'a, 'v> {
    pub fn new(
        defs: &'a Definitions<'v>,
        sources: &'a Sources<'v>,
        paths: &'a Paths<'v>,
    ) -> NameLookup<'a, 'v> {
        NameLookup { defs, sources, paths, rust: RustPaths { defs, sources, paths } }
    }

    /// The definitions to which the imports of the file bind `name`.
    pub fn imported(&self, ctx: SiteContext<'_>, name: &str) -> Lookup {
        let mut found = Vec::new();
        let mut outside = false;

        for import in ctx.facts.imports.iter().filter(|import| !import.all && !import.child) {
            if import.local_name(ctx.dialect.modules) != Some(name) || import.path.is_empty() {
                continue;
            }
            match self.import_target(ctx, import, 0) {
                Lookup::Found(targets) => found.extend(targets),
                Lookup::External => outside = true,
                Lookup::Undecided => {}
            }
        }

        found.sort();
        found.dedup();

        match (found.is_empty(), outside) {
            (false, _) => Lookup::Found(found),
            (true, true) => Lookup::External,
            (true, false) => Lookup::Undecided,
        }
    }

    /// The definitions that one import refers to.
    pub fn import_target(&self, ctx: SiteContext<'_>, import: &Import, hops: u32) -> Lookup {
        match ctx.dialect.modules {
            Modules::Declared => self.by_full_name(ctx, &segments(&import.path).collect::<Vec<_>>()),
            Modules::Rust => {
                let Some((path, name)) = import.path.rsplit_once("::") else { return Lookup::Undecided };
                let found = self.rust.resolve(ctx, path, name);

                // A path whose first segment is not defined in the repository leads to another crate.
                let first = path.split("::").next().unwrap_or(path);
                let is_inside = matches!(first, "crate" | "self" | "super")
                    || ctx.file.named(first).next().is_some()
                    || ctx.facts.imports.iter().any(|i| (i.child && *i.path == *first) || i.all)
                    || self.rust.is_crate(first);
                if found == Lookup::Undecided && !is_inside { Lookup::External } else { found }
            }
            Modules::Qualified => match &import.name {
                Some(name) if !import.module => {
                    module_names::in_module(self.defs, ctx.dialect.family, &import.path, name)
                }
                _ => Lookup::Undecided,
            },
            Modules::Python | Modules::Script | Modules::Path => {
                match self.paths.resolve(&import.path, ctx.file, self.defs, self.sources) {
                    Module::External => Lookup::External,
                    Module::Unknown => Lookup::Undecided,
                    Module::Files(files) => match &import.name {
                        Some(name) => self.exported(ctx, &files, name, hops),
                        None => self.default_export(ctx, &files, hops),
                    },
                }
            }
            _ => Lookup::Undecided,
        }
    }

    /// The default export of a module.
    pub fn default_export(&self, ctx: SiteContext<'_>, files: &[u32], hops: u32) -> Lookup {
        for file in files.iter().filter_map(|&entry| self.defs.file(entry)) {
            let Some(facts) = self.sources.facts(&file) else { continue };
            if let Some(name) = &facts.default_export {
                return self.exported(ctx, &[file.entry], name, hops);
            }

            // The default export is a re-export by name.
            if let Some(import) = facts
                .imports
                .iter()
                .find(|i| i.export && (i.default || i.alias.as_deref() == Some("default")))
            {
                let inner = SiteContext { file: &file, facts: &facts, ..ctx };
                return self.import_target(inner, import, hops + 1);
            }
        }
        Lookup::Undecided
    }

    /// Top-level definitions of `name` in `files`, or else the definitions that the files re-export under it.
    pub fn exported(&self, ctx: SiteContext<'_>, files: &[u32], name: &str, hops: u32) -> Lookup {
        let mut found = Vec::new();

        for file in files.iter().filter_map(|&entry| self.defs.file(entry)) {
            let named = file.named(name).filter(|(_, def)| self.is_top_level(ctx, &file, def));
            found.extend(named.map(|(i, _)| file.id(i)));
        }
        if !found.is_empty() {
            return Lookup::Found(found);
        }
        // Re-exports can be cyclic.
        if hops >= MAX_HOPS {
            return Lookup::Undecided;
        }

        let mut outside = false;
        for file in files.iter().filter_map(|&entry| self.defs.file(entry)) {
            let Some(facts) = self.sources.facts(&file) else { continue };
            let inner = SiteContext { file: &file, facts: &facts, ..ctx };

            for import in facts.imports.iter().filter(|import| import.export) {
                let passed = if import.path.is_empty() {
                    // `export { a as b }` of a definition in this file.
                    match (&import.alias, &import.name) {
                        (Some(alias), Some(own)) if **alias == *name => {
                            self.exported(ctx, &[file.entry], own, hops + 1)
                        }
                        _ => continue,
                    }
                } else if import.all {
                    match self.paths.resolve(&import.path, &file, self.defs, self.sources) {
                        Module::Files(files) => self.exported(ctx, &files, name, hops + 1),
                        _ => continue,
                    }
                } else if import.local_name(ctx.dialect.modules) == Some(name) {
                    self.import_target(inner, import, hops + 1)
                } else {
                    continue;
                };

                match passed {
                    Lookup::Found(targets) => return Lookup::Found(targets),
                    Lookup::External => outside = true,
                    Lookup::Undecided => {}
                }
            }
        }

        if outside { Lookup::External } else { Lookup::Undecided }
    }

    /// Returns whether a definition stands at the top of its file, or in the object that a script exports.
    fn is_top_level(&self, ctx: SiteContext<'_>, file: &FileDefs, def: &Def) -> bool {
        if def.parent.is_some() {
            return false;
        }
        if def.owner().is_empty() {
            return true;
        }

        matches!(ctx.dialect.modules, Modules::Script | Modules::Path)
            && self
                .sources
                .facts(file)
                .is_some_and(|facts| facts.default_export.as_deref() == Some(def.owner()))
    }

    /// Returns whether an import of the file binds `name`.
    pub fn is_imported(&self, ctx: SiteContext<'_>, name: &str) -> bool {
        // `export { a as b }` binds nothing.
        let mut imports = ctx.facts.imports.iter().filter(|import| !import.path.is_empty());
        imports.any(|import| import.local_name(ctx.dialect.modules) == Some(name))
    }

    /// The module that a receiver names through an import, with the segments of the receiver after the
    /// module.
    pub fn module_of_receiver(&self, ctx: SiteContext<'_>, receiver: &str) -> Option<(Module, Vec<String>)> {
        let parts: Vec<&str> = receiver.split('.').collect();
        let rest =
            |n: usize| parts[n.min(parts.len())..].iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let resolve = |path: &str| self.paths.resolve(path, ctx.file, self.defs, self.sources);

        for import in ctx.facts.imports.iter().filter(|import| !import.all && !import.path.is_empty()) {
            let whole = import.name.is_none() && (import.module || ctx.dialect.modules == Modules::Python);

            match (&import.name, &import.alias) {
                (None, Some(alias)) if whole && **alias == *parts[0] => {
                    return Some((resolve(&import.path), rest(1)));
                }
                (None, None) if whole && import.path.split('.').next() == Some(parts[0]) => {
                    let n = import.path.split('.').zip(&parts).take_while(|(a, b)| a == *b).count();
                    // A package makes its modules visible as attributes.
                    let submodule = (n + 1..=parts.len()).rev().find_map(|n| {
                        let module = resolve(&parts[..n].join("."));
                        matches!(module, Module::Files(_)).then(|| (module, rest(n)))
                    });
                    return Some(submodule.unwrap_or_else(|| (resolve(&parts[..n].join(".")), rest(n))));
                }
                (Some(name), alias)
                    if alias.as_ref().unwrap_or(name).as_ref() == parts[0]
                        && ctx.dialect.modules == Modules::Python =>
                {
                    // `from package import module`
                    match resolve(&import.path) {
                        Module::External => return Some((Module::External, Vec::new())),
                        Module::Files(files) => {
                            let is_defined = matches!(self.exported(ctx, &files, name, 0), Lookup::Found(_));
                            let child = self.paths.python_child(&files, name).filter(|_| !is_defined);
                            if let Some(child) = child {
                                return Some((Module::Files(vec![child]), rest(1)));
                            }
                        }
                        Module::Unknown => {
                            let path = format!(
                                "{}{}{name}",
                                import.path,
                                if import.path.ends_with('.') { "" } else { "." }
                            );
                            if let Module::Files(files) = resolve(&path) {
                                return Some((Module::Files(files), rest(1)));
                            }
                        }
                    }
                }
                (None, Some(alias)) if import.default && **alias == *parts[0] => {
                    // A default import that is not a definition stands for the module.
                    if let Module::External = resolve(&import.path) {
                        return Some((Module::External, Vec::new()));
                    }
                }
                (Some(name), alias) if alias.as_ref().unwrap_or(name).as_ref() == parts[0] => {
                    if let Module::External = resolve(&import.path) {
                        return Some((Module::External, Vec::new()));
                    }
                }
                _ => {}
            }
        }

        None
    }

    /// The Go package that a receiver names. `Unknown` if no import has that name and no file of the package
    /// defines it.
    pub fn go_package_of_receiver(&self, ctx: SiteContext<'_>, receiver: &str) -> Option<Module> {
        if receiver.contains('.') || ctx.facts.binding_at(receiver, ctx.site.at).is_some() {
            return None;
        }

        let mut guess = None;
        for import in ctx.facts.imports.iter().filter(|import| !import.all) {
            let module = self.paths.resolve(&import.path, ctx.file, self.defs, self.sources);

            let is_named = match (&import.alias, &module) {
                (Some(alias), _) => **alias == *receiver,
                (None, Module::Files(files)) => {
                    let file = files.first().and_then(|&entry| self.defs.file(entry));
                    file.is_some_and(|file| file.package_name().last().is_some_and(|name| name == receiver))
                }
                (None, _) => {
                    // The name of a package outside the repository is not known; it is usually a part of the
                    // path.
                    let parts = import.path.split(['/', '.', '-']);
                    parts.clone().any(|part| part == receiver)
                }
            };

            if is_named {
                guess = Some(module);
            }
        }

        guess.or_else(|| {
            let files = self.paths.in_directory(ctx.file.directory());
            let is_defined = files.iter().any(|&entry| {
                self.defs.file(entry).is_some_and(|file| file.named(receiver).next().is_some())
            });
            (!is_defined).then_some(Module::Unknown)
        })
    }

    /// Definitions of `name` in the package or namespace of the site.
    pub fn same_package(&self, ctx: SiteContext<'_>, name: &str) -> Lookup {
        match ctx.dialect.modules {
            Modules::Go => self.same_go_package(ctx, name),
            Modules::Declared => self.same_namespace(ctx, name),
            Modules::Global => self.enclosing_names(ctx, name),
            _ => Lookup::Undecided,
        }
    }

    /// Definitions of `name` in the Go package of the site; tests see those of tests too.
    fn same_go_package(&self, ctx: SiteContext<'_>, name: &str) -> Lookup {
        let mut files = self.paths.go_package(ctx.file.directory());
        if ctx.file.path.ends_with("_test.go") {
            files = self.paths.in_directory(ctx.file.directory()).to_vec();
        }

        let own = ctx.file.package_name();
        files.retain(|&entry| self.defs.file(entry).is_some_and(|file| file.package_name() == own));
        self.exported(ctx, &files, name, MAX_HOPS)
    }

    /// Definitions of `name` in the package of the file, or else in the namespaces around the site.
    fn same_namespace(&self, ctx: SiteContext<'_>, name: &str) -> Lookup {
        let mut spaces = vec![ctx.file.package_name()];
        let around = ctx.file.around(ctx.site.at).filter(|(_, def)| def.kind == SymbolKind::Namespace);
        for (_, def) in around {
            let full: Vec<String> = segments(&def.qualified).map(str::to_owned).collect();
            spaces.extend((1..=full.len()).rev().map(|n| full[..n].to_vec()));
        }

        let named = self.defs.named(name, ctx.dialect.family);
        for space in spaces {
            let mut found = named.clone();
            found.retain(|&id| {
                self.defs.satisfies(id, |file, def| {
                    let full = file.import_name(def);
                    // In Java only types are members of a package.
                    let is_possible = ctx.dialect.language != "java" || def.is_type();
                    full[..full.len() - 1] == space[..]
                        && file.is_in_namespace(def)
                        && ctx.accepts(def)
                        && is_possible
                })
            });
            if !found.is_empty() {
                return Lookup::Found(found);
            }
        }

        Lookup::Undecided
    }

    /// Definitions of `name` in the enclosing definitions, from the inside out, or else in the global scope.
    fn enclosing_names(&self, ctx: SiteContext<'_>, name: &str) -> Lookup {
        let mut spaces: Vec<Vec<String>> = Vec::new();
        for (_, def) in ctx.file.around(ctx.site.at).filter(|(_, def)| !def.kind.is_callable()) {
            spaces.push(segments(&def.qualified).map(str::to_owned).collect());
        }
        spaces.push(Vec::new());

        let is_swift = ctx.dialect.language == "swift";
        let named = self.defs.named(name, ctx.dialect.family);
        for space in spaces {
            let mut found = named.clone();
            found.retain(|&id| {
                self.defs.satisfies(id, |file, def| {
                    let is_possible = def.is_type()
                        || def.kind == SymbolKind::Module
                        || is_swift && def.kind == SymbolKind::Function;
                    is_possible
                        && ctx.accepts(def)
                        && segments(def.owner()).eq(space.iter().map(String::as_str))
                        && def.parent.is_none_or(|parent| !file.def(parent).kind.is_callable())
                })
            });
            if !found.is_empty() {
                return Lookup::Found(found);
            }
        }

        Lookup::Undecided
    }

    /// Definitions of `name` that wildcard imports bring into scope.
    pub fn wildcard_imported(&self, ctx: SiteContext<'_>, name: &str) -> Lookup {
        let mut found = Vec::new();

        for import in ctx.facts.imports.iter().filter(|import| import.all && !import.path.is_empty()) {
            let here = match ctx.dialect.modules {
                Modules::Python | Modules::Go | Modules::Path => {
                    match self.paths.resolve(&import.path, ctx.file, self.defs, self.sources) {
                        Module::Files(files) => self.exported(ctx, &files, name, 0),
                        _ => Lookup::Undecided,
                    }
                }
                Modules::Declared => {
                    let path: Vec<&str> = segments(&import.path).chain([name]).collect();
                    self.by_full_name(ctx, &path)
                }
                Modules::Rust => self.rust.resolve(ctx, &import.path, name),
                Modules::Qualified => {
                    module_names::in_module(self.defs, ctx.dialect.family, &import.path, name)
                }
                _ => Lookup::Undecided,
            };

            if let Lookup::Found(targets) = here {
                found.extend(targets);
            }
        }

        found.sort();
        found.dedup();
        Lookup::Found(found)
    }

    /// The definitions with a fully qualified name; `External` if no file defines it.
    pub fn by_full_name(&self, ctx: SiteContext<'_>, path: &[&str]) -> Lookup {
        let Some(last) = path.last() else { return Lookup::Undecided };

        let mut found = self.defs.named(last, ctx.dialect.family);
        found.retain(|&id| self.defs.satisfies(id, |file, def| file.import_name(def).iter().eq(path.iter())));
        if found.is_empty() { Lookup::External } else { Lookup::Found(found) }
    }

    /// The definitions with a qualified name of PHP, as the namespace and the imports of the file complete
    /// it.
    pub fn php_qualified(&self, ctx: SiteContext<'_>, receiver: &str) -> Lookup {
        let is_name = !receiver.starts_with('$') && !matches!(receiver, "self" | "static" | "parent" | "");
        if ctx.dialect.language != "php" || ctx.site.form != Form::Path || !is_name {
            return Lookup::Undecided;
        }

        let written: Vec<&str> = segments(receiver).collect();
        let Some((&first, rest)) = written.split_first() else { return Lookup::Undecided };
        let package = ctx.file.package_name();
        let mut imports = ctx.facts.imports.iter();
        let imported = imports.find(|import| import.local_name(ctx.dialect.modules) == Some(first));

        let mut full: Vec<&str> = match imported {
            _ if receiver.starts_with('\\') => written,
            _ if first == "namespace" => {
                package.iter().map(String::as_str).chain(rest.iter().copied()).collect()
            }
            Some(import) => segments(&import.path).chain(rest.iter().copied()).collect(),
            None => package.iter().map(String::as_str).chain(written.iter().copied()).collect(),
        };
        full.push(&ctx.site.name);

        match self.by_full_name(ctx, &full) {
            Lookup::Found(found) => Lookup::Found(found),
            // The member may be inherited, or the namespace be completed in another way.
            _ => Lookup::Undecided,
        }
    }

    /// The `candidates` that are in the file or in headers it includes, directly or not.
    pub fn reached_by_includes(&self, file: &FileDefs, candidates: &[DefId]) -> Vec<DefId> {
        if candidates.is_empty() {
            return Vec::new();
        }

        let mut seen = vec![file.entry];
        let mut at = 0;
        while at < seen.len() && seen.len() < MAX_HEADERS {
            let header = self.defs.file(seen[at]);
            at += 1;
            let Some(header) = header else { continue };
            let Some(facts) = self.sources.facts(&header) else { continue };

            for import in &facts.imports {
                if let Module::Files(files) =
                    self.paths.resolve(&import.path, &header, self.defs, self.sources)
                    // A name that fits several headers proves nothing.
                    && let [only] = files[..]
                    && !seen.contains(&only)
                {
                    seen.push(only);
                }
            }
        }

        candidates.iter().filter(|id| seen.contains(&id.entry)).copied().collect()
    }
}
