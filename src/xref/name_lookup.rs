//! Where a name comes from: imports, what modules pass on, packages, headers.

use super::candidates::{allowed, in_namespace, named_in};
use super::definitions::{Def, DefId, FileDefs, segments};
use super::dialect::Modules;
use super::facts::{Facts, Import};
use super::members::Members;
use super::modules::Module;
use super::resolver::{Evidence, Place, Resolver, innermost};
use crate::chunk::SymbolKind;

/// Modules that pass a name on and are followed.
pub(super) const MAX_HOPS: u32 = 4;
/// Headers that are followed from one file.
const MAX_HEADERS: usize = 60;

impl Resolver<'_, '_> {
    /// What imports of the file bind `name` to.
    pub(super) fn imported(&self, place: Place<'_>, name: &str) -> Evidence {
        let mut found = Vec::new();
        let mut outside = false;
        for import in place.facts.imports.iter().filter(|import| !import.all && !import.child) {
            if local_name(import, place.dialect.modules) != Some(name) || import.path.is_empty() {
                continue;
            }
            match self.behind(place, import, 0) {
                Evidence::Found(targets) => found.extend(targets),
                Evidence::Outside => outside = true,
                Evidence::Nothing => {}
            }
        }
        found.sort();
        found.dedup();
        match (found.is_empty(), outside) {
            (false, _) => Evidence::Found(found),
            (true, true) => Evidence::Outside,
            (true, false) => Evidence::Nothing,
        }
    }

    /// The definitions that an import stands for.
    pub(super) fn behind(&self, place: Place<'_>, import: &Import, hops: u32) -> Evidence {
        match place.dialect.modules {
            Modules::Declared => self.full_name(place, &segments(&import.path).collect::<Vec<_>>()),
            Modules::Rust => {
                let Some((path, name)) = import.path.rsplit_once("::") else { return Evidence::Nothing };
                let found = self.rust_path(place, path, name);
                // What begins with no name of the repository is another crate.
                let first = path.split("::").next().unwrap_or(path);
                let is_inside = matches!(first, "crate" | "self" | "super")
                    || named_in(place.file, first).next().is_some()
                    || place.facts.imports.iter().any(|i| (i.child && *i.path == *first) || i.all)
                    || self.is_crate(first);
                if found == Evidence::Nothing && !is_inside { Evidence::Outside } else { found }
            }
            Modules::Python | Modules::Script => {
                match self.paths.resolve(&import.path, place.file, self.defs, self.sources) {
                    Module::External => Evidence::Outside,
                    Module::Unknown => Evidence::Nothing,
                    Module::Files(files) => match &import.name {
                        Some(name) => self.in_files(place, &files, name, hops),
                        None => self.default_of(place, &files, hops),
                    },
                }
            }
            _ => Evidence::Nothing,
        }
    }

    /// The default export of a module.
    pub(super) fn default_of(&self, place: Place<'_>, files: &[u32], hops: u32) -> Evidence {
        for file in files.iter().filter_map(|&entry| self.defs.file(entry)) {
            let Some(facts) = self.sources.facts(&file) else { continue };
            if let Some(name) = &facts.default_export {
                return self.in_files(place, &[file.entry], name, hops);
            }
            // `export default` passed on by name.
            if let Some(import) = facts
                .imports
                .iter()
                .find(|i| i.export && (i.default || i.alias.as_deref() == Some("default")))
            {
                let inner = Place { file: &file, facts: &facts, ..place };
                return self.behind(inner, import, hops + 1);
            }
        }
        Evidence::Nothing
    }

    /// Definitions of `name` at the top of some files, or what these pass on under that name.
    pub(super) fn in_files(&self, place: Place<'_>, files: &[u32], name: &str, hops: u32) -> Evidence {
        let mut found = Vec::new();
        for file in files.iter().filter_map(|&entry| self.defs.file(entry)) {
            let facts = || self.sources.facts(&file);
            let top = |def: &Def| {
                def.parent.is_none() && def.owner().is_empty()
                    || def.parent.is_none()
                        && place.dialect.modules == Modules::Script
                        && facts()
                            .and_then(|facts| facts.default_export.clone())
                            .is_some_and(|default| *default == *def.owner())
            };
            found.extend(named_in(&file, name).filter(|(_, def)| top(def)).map(|(i, _)| file.id(i)));
        }
        if !found.is_empty() {
            return Evidence::Found(found);
        }
        if hops >= MAX_HOPS {
            return Evidence::Nothing;
        }
        let mut outside = false;
        for file in files.iter().filter_map(|&entry| self.defs.file(entry)) {
            let Some(facts) = self.sources.facts(&file) else { continue };
            let inner = Place { file: &file, facts: &facts, ..place };
            for import in facts.imports.iter().filter(|import| import.export) {
                let passed = if import.path.is_empty() {
                    // `export { a as b }` of what is here.
                    match (&import.alias, &import.name) {
                        (Some(alias), Some(own)) if **alias == *name => {
                            self.in_files(place, &[file.entry], own, hops + 1)
                        }
                        _ => continue,
                    }
                } else if import.all {
                    match self.paths.resolve(&import.path, &file, self.defs, self.sources) {
                        Module::Files(files) => self.in_files(place, &files, name, hops + 1),
                        _ => continue,
                    }
                } else if local_name(import, place.dialect.modules) == Some(name) {
                    self.behind(inner, import, hops + 1)
                } else {
                    continue;
                };
                match passed {
                    Evidence::Found(targets) => return Evidence::Found(targets),
                    Evidence::Outside => outside = true,
                    Evidence::Nothing => {}
                }
            }
        }
        if outside { Evidence::Outside } else { Evidence::Nothing }
    }

    /// `name`, or `Type.name`, in a module.
    pub(super) fn inside(&self, place: Place<'_>, files: &[u32], rest: &[String], name: &str) -> Evidence {
        let [type_name, ..] = rest else { return self.in_files(place, files, name, 0) };
        let Evidence::Found(types) = self.in_files(place, files, type_name, 0) else {
            return Evidence::Nothing;
        };
        match (types.as_slice(), rest.len()) {
            ([id], 1) => {
                match self.defs.file(id.entry).map(|file| self.members(&file, id.symbol, place, name)) {
                    Some(Members::Found(found) | Members::Doubtful(found)) => Evidence::Found(found),
                    Some(Members::Outside) => Evidence::Outside,
                    _ => Evidence::Nothing,
                }
            }
            _ => Evidence::Nothing,
        }
    }

    pub(super) fn is_import(&self, place: Place<'_>, name: &str) -> bool {
        place.facts.imports.iter().any(|import| local_name(import, place.dialect.modules) == Some(name))
    }

    /// The module that a receiver names, with what follows its name.
    pub(super) fn module_behind(&self, place: Place<'_>, receiver: &str) -> Option<(Module, Vec<String>)> {
        let parts: Vec<&str> = receiver.split('.').collect();
        let rest =
            |n: usize| parts[n.min(parts.len())..].iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let resolve = |path: &str| self.paths.resolve(path, place.file, self.defs, self.sources);
        for import in place.facts.imports.iter().filter(|import| !import.all && !import.path.is_empty()) {
            let whole = import.name.is_none() && (import.module || place.dialect.modules == Modules::Python);
            match (&import.name, &import.alias) {
                (None, Some(alias)) if whole && **alias == *parts[0] => {
                    return Some((resolve(&import.path), rest(1)));
                }
                (None, None) if whole && import.path.split('.').next() == Some(parts[0]) => {
                    let n = import.path.split('.').zip(&parts).take_while(|(a, b)| a == *b).count();
                    let path = parts[..n].join(".");
                    return Some((resolve(&path), rest(n)));
                }
                (Some(name), alias)
                    if alias.as_ref().unwrap_or(name).as_ref() == parts[0]
                        && place.dialect.modules == Modules::Python =>
                {
                    // `from package import module`
                    match resolve(&import.path) {
                        Module::External => return Some((Module::External, Vec::new())),
                        Module::Files(files) => {
                            let is_defined =
                                matches!(self.in_files(place, &files, name, 0), Evidence::Found(_));
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
                    // A default that is no definition: its members are those of the module.
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

    pub(super) fn go_package_named(&self, place: Place<'_>, receiver: &str) -> Option<Module> {
        if receiver.contains('.') || innermost(place.facts, receiver, place.site.at).is_some() {
            return None;
        }
        let mut guess = None;
        for import in place.facts.imports.iter().filter(|import| !import.all) {
            let module = self.paths.resolve(&import.path, place.file, self.defs, self.sources);
            let is_named = match (&import.alias, &module) {
                (Some(alias), _) => **alias == *receiver,
                (None, Module::Files(files)) => {
                    let file = files.first().and_then(|&entry| self.defs.file(entry));
                    file.is_some_and(|file| file.package_name().last().is_some_and(|name| name == receiver))
                }
                (None, _) => {
                    let parts = import.path.split(['/', '.', '-']);
                    parts.clone().any(|part| part == receiver)
                }
            };
            if is_named {
                guess = Some(module);
            }
        }
        let in_package = || {
            self.paths.in_directory(place.file.directory()).iter().any(|&entry| {
                self.defs.file(entry).is_some_and(|file| named_in(&file, receiver).next().is_some())
            })
        };
        guess.or_else(|| (!in_package()).then_some(Module::Unknown))
    }

    /// Definitions of the same package or namespace.
    pub(super) fn package(&self, place: Place<'_>, name: &str) -> Evidence {
        match place.dialect.modules {
            Modules::Go => {
                let mut files = self.paths.go_package(place.file.directory());
                if place.file.path.ends_with("_test.go") {
                    files = self.paths.in_directory(place.file.directory()).to_vec();
                }
                let own = place.file.package_name();
                files.retain(|&entry| self.defs.file(entry).is_some_and(|file| file.package_name() == own));
                self.in_files(place, &files, name, MAX_HOPS)
            }
            Modules::Declared => {
                let mut spaces = vec![place.file.package_name()];
                let around =
                    place.file.around(place.site.at).filter(|(_, def)| def.kind == SymbolKind::Namespace);
                for (_, def) in around {
                    let full: Vec<String> = segments(&def.qualified).map(str::to_owned).collect();
                    spaces.extend((1..=full.len()).rev().map(|n| full[..n].to_vec()));
                }
                let named = self.defs.named(name, place.dialect.family);
                for space in spaces {
                    let here = |id: &DefId| {
                        let look = |file: &FileDefs, def: &Def| {
                            let full = file.full_name(def);
                            let java = place.dialect.language == "java" && !def.is_type();
                            full[..full.len() - 1] == space[..]
                                && in_namespace(file, def)
                                && allowed(place, def)
                                && !java
                        };
                        self.defs.with(*id, look).unwrap_or(false)
                    };
                    let found: Vec<DefId> = named.iter().filter(|id| here(id)).copied().collect();
                    if !found.is_empty() {
                        return Evidence::Found(found);
                    }
                }
                Evidence::Nothing
            }
            Modules::Global => {
                // A name is looked for in what encloses the site, from inside out, and then everywhere.
                let mut spaces: Vec<Vec<String>> = Vec::new();
                for (_, def) in place.file.around(place.site.at).filter(|(_, def)| !def.kind.is_callable()) {
                    spaces.push(segments(&def.qualified).map(str::to_owned).collect());
                }
                spaces.push(Vec::new());
                let swift = place.dialect.language == "swift";
                let named = self.defs.named(name, place.dialect.family);
                for space in spaces {
                    let here = |id: &DefId| {
                        let look = |file: &FileDefs, def: &Def| {
                            let kind = def.is_type()
                                || def.kind == SymbolKind::Module
                                || swift && def.kind == SymbolKind::Function;
                            kind && allowed(place, def)
                                && segments(def.owner()).eq(space.iter().map(String::as_str))
                                && def.parent.is_none_or(|parent| !file.def(parent).kind.is_callable())
                        };
                        self.defs.with(*id, look).unwrap_or(false)
                    };
                    let found: Vec<DefId> = named.iter().filter(|id| here(id)).copied().collect();
                    if !found.is_empty() {
                        return Evidence::Found(found);
                    }
                }
                Evidence::Nothing
            }
            _ => Evidence::Nothing,
        }
    }

    /// What imports of everything bring in.
    pub(super) fn wildcards(&self, place: Place<'_>, name: &str) -> Evidence {
        let mut found = Vec::new();
        for import in place.facts.imports.iter().filter(|import| import.all && !import.path.is_empty()) {
            let here = match place.dialect.modules {
                Modules::Python | Modules::Go => {
                    match self.paths.resolve(&import.path, place.file, self.defs, self.sources) {
                        Module::Files(files) => self.in_files(place, &files, name, 0),
                        _ => Evidence::Nothing,
                    }
                }
                Modules::Declared => {
                    let path: Vec<&str> = segments(&import.path).chain([name]).collect();
                    self.full_name(place, &path)
                }
                Modules::Rust => self.rust_path(place, &import.path, name),
                _ => Evidence::Nothing,
            };
            if let Evidence::Found(targets) = here {
                found.extend(targets);
            }
        }
        found.sort();
        found.dedup();
        Evidence::Found(found)
    }

    /// The definition of a fully qualified name: if no file has it, it is not here.
    pub(super) fn full_name(&self, place: Place<'_>, path: &[&str]) -> Evidence {
        let Some(last) = path.last() else { return Evidence::Nothing };
        let is_it = |id: &DefId| {
            let look = |file: &FileDefs, def: &Def| file.full_name(def).iter().eq(path.iter());
            self.defs.with(*id, look).unwrap_or(false)
        };
        let found: Vec<DefId> =
            self.defs.named(last, place.dialect.family).into_iter().filter(is_it).collect();
        if found.is_empty() { Evidence::Outside } else { Evidence::Found(found) }
    }

    /// Those of `candidates` that the includes of a file lead to.
    pub(super) fn included(&self, file: &FileDefs, candidates: &[DefId]) -> Vec<DefId> {
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
                    && let [only] = files[..]
                    && !seen.contains(&only)
                {
                    seen.push(only);
                }
            }
        }
        candidates.iter().filter(|id| seen.contains(&id.entry)).copied().collect()
    }

    /// Facts of a file by its entry.
    pub(super) fn facts_of(&self, entry: u32) -> Option<(std::rc::Rc<FileDefs>, std::sync::Arc<Facts>)> {
        let file = self.defs.file(entry)?;
        let facts = self.sources.facts(&file)?;
        Some((file, facts))
    }
}

/// The name by which a file knows what it imports.
pub(super) fn local_name(import: &Import, modules: Modules) -> Option<&str> {
    if let Some(alias) = &import.alias {
        return Some(alias);
    }
    match (&import.name, modules) {
        (Some(name), _) => Some(name),
        (None, Modules::Declared | Modules::Rust) => segments(&import.path).last(),
        (None, Modules::Python) => segments(&import.path).next(),
        (None, _) => None,
    }
}
