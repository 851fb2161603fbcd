//! Checks an answer against the text: what holds the name of a symbol, and was not resolved?
//!
//! The postings name the files that hold the words of the name. An occurrence counts unless it is an edge of
//! the answer, a definition or declaration, a comment, or known to mean something else. So an answer without
//! such places proves that nothing in the index uses the name, and one with them says where to look.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use codeweaver_chunk::SymbolKind;

use super::definitions::{Def, DefId, Definitions, FileDefs, segments};
use super::dialect;
use super::extract::{self, Occurrence};
use super::facts::{Facts, Form, Reference};
use super::other_files;
use super::resolution::{OF_LANGUAGE, OF_LIBRARY, Resolution};
use super::resolver::Resolver;
use super::response::UnlistedReason;
use super::sources::Sources;
use super::syntax_position::{Position, is_plain_word};
use super::unlisted::UnlistedPlaces;
use super::word_search;

/// Maximum number of files that are parsed for the check, and of files of other languages that are read.
const MAX_PARSED: usize = 300;
const MAX_OTHERS: usize = 200;

/// The check of one request.
pub(super) struct NameCheck<'c, 'a, 'v> {
    pub defs: &'c Definitions<'v>,
    pub sources: &'c Sources<'v>,
    pub resolver: &'c Resolver<'a, 'v>,
    /// The definitions that the symbol stands for.
    pub wanted: &'c BTreeMap<DefId, DefId>,
    /// Whether a reference that is no call is no edge of the answer.
    pub only_calls: bool,
    /// Number of files parsed.
    pub n_parsed: &'c Cell<usize>,
}

impl NameCheck<'_, '_, '_> {
    /// Adds the places in a file that hold one of `names`, except the offsets in `settled`.
    pub fn check(
        &self,
        (file, facts): (&FileDefs, &Facts),
        names: &BTreeSet<String>,
        settled: &BTreeSet<u32>,
        found: &mut UnlistedPlaces,
    ) {
        if file.dialect.is_none() {
            return;
        }
        for line in self.forwarding_lines(file, names) {
            found.add(UnlistedReason::Unresolved, &file.path, line);
        }
        let local = with_aliases(facts, names);
        let is_open = |at: u32, name: &str| {
            !settled.contains(&at)
                && !facts.fields.iter().any(|field| field.at == at)
                && !is_own_name(file, facts, at, name)
        };
        let has_open = local
            .iter()
            .any(|name| word_search::occurrences(&facts.text, name).any(|at| is_open(at as u32, name)));
        if !has_open {
            return;
        }

        let Some(open) = self.occurrences(file, facts, &local, is_open) else {
            found.n_unchecked += 1;
            return;
        };
        for occurrence in &open {
            if let Some(reason) = self.reason(file, facts, occurrence) {
                found.add(reason, &file.path, occurrence.line);
            }
        }
    }

    /// The occurrences of `names` in a file that are open; `None` if a limit forbids parsing it or it cannot
    /// be parsed.
    fn occurrences(
        &self,
        file: &FileDefs,
        facts: &Facts,
        names: &BTreeSet<String>,
        is_open: impl Fn(u32, &str) -> bool,
    ) -> Option<Vec<Occurrence>> {
        if self.sources.is_out_of_time() {
            return None;
        }
        if let Some(mut known) = self.sources.occurrences(file.entry, names) {
            known.retain(|occurrence| is_open(occurrence.at, &occurrence.name));
            return Some(known);
        }
        if self.n_parsed.get() >= MAX_PARSED {
            return None;
        }

        self.n_parsed.set(self.n_parsed.get() + 1);
        extract::occurrences_of(facts.text.as_bytes(), file.dialect?, names, is_open).ok()
    }

    /// The lines of the definitions in a file that pass calls on to another definition of their name.
    fn forwarding_lines(&self, file: &FileDefs, names: &BTreeSet<String>) -> Vec<u32> {
        let forwards = |def: &Def| {
            let head = def.signature.split([' ', '(']).next().unwrap_or_default();
            names.contains(&def.name)
                && matches!(head, "defdelegate" | "def_delegator" | "def_delegators" | "delegate")
        };
        let found = (0..)
            .zip(&file.defs)
            .filter(|(symbol, def)| forwards(def) && self.wanted.keys().any(|id| *id != file.id(*symbol)));
        found.map(|(_, def)| def.lines.0).collect()
    }

    /// The reason for which an occurrence is unlisted; `None` if it is no use of the symbol.
    fn reason(&self, file: &FileDefs, facts: &Facts, occurrence: &Occurrence) -> Option<UnlistedReason> {
        match occurrence.position {
            Position::Comment if is_linked(file, facts, occurrence.at) => {
                return Some(UnlistedReason::Unresolved);
            }
            Position::Comment | Position::Prose | Position::Name => return None,
            // A name that is taken out of a value is a member of that value, and binds a variable as well.
            Position::Taken => return Some(UnlistedReason::Unresolved),
            _ if facts.bindings.iter().any(|binding| binding.at == occurrence.at) => return None,
            // The key of an object is a use of a field, and no use of a function.
            Position::Key if !self.has_values() => return None,
            Position::Literal => return Some(UnlistedReason::Literal),
            Position::Key | Position::Import | Position::Code => {}
        }

        let is_import = occurrence.position == Position::Import;
        let unresolved = if is_import { UnlistedReason::Import } else { UnlistedReason::Unresolved };
        let Some(reference) = &occurrence.reference else { return Some(unresolved) };

        let call = facts.references.iter().find(|call| call.at == reference.at);
        match self.resolver.resolve(file, facts, call.unwrap_or(reference)) {
            Some(resolution) if resolution.targets.iter().any(|target| self.wanted.contains_key(target)) => {
                let is_edge = !self.only_calls;
                let reason = if is_import { UnlistedReason::Import } else { UnlistedReason::NotACall };
                (!is_edge).then_some(reason)
            }
            resolution if is_settled(self.defs, self.wanted, (facts, reference), resolution.as_ref()) => None,
            _ if !self.may_mean(file, reference) => None,
            _ => Some(unresolved),
        }
    }

    /// Returns whether the syntax of a reference allows it to mean one of the definitions: a method needs a
    /// receiver in many languages, and a function of Rust or C never has one.
    fn may_mean(&self, file: &FileDefs, reference: &Reference) -> bool {
        let Some(dialect) = file.dialect else { return true };
        let is_bare = reference.receiver.is_none() && reference.form != Form::Member;
        let is_of_value = reference.form == Form::Member && matches!(dialect.language, "rust" | "c");

        self.wanted.keys().any(|&id| {
            self.defs.satisfies(id, |file, def| {
                let is_method = def.kind == SymbolKind::Method
                    && def.parent.is_some_and(|parent| file.def(parent).kind.has_members());
                !(is_bare && is_method && !dialect.bare_members || is_of_value && !def.is_member())
            })
        })
    }

    /// Returns whether one of the definitions is a value, which may be written as a key.
    fn has_values(&self) -> bool {
        self.wanted.keys().any(|&id| self.defs.satisfies(id, |_, def| def.is_value()))
    }

    /// Adds the places in files of other languages that hold `name`, a name of `family`.
    pub fn check_others(&self, name: &str, family: &str, found: &mut UnlistedPlaces) {
        let mut n_read = 0;

        for (entry, language) in self.defs.mentioning_outside(name, family) {
            // Another language has the name for itself, or has it by chance.
            let other_family = dialect::for_language(language).map(|dialect| dialect.family);
            let is_foreign = other_family
                .is_some_and(|family| is_plain_word(name) || !self.defs.named(name, family).is_empty());
            if is_foreign || !other_files::may_use(language) {
                continue;
            }

            if n_read >= MAX_OTHERS || self.sources.is_out_of_time() {
                found.n_unchecked += 1;
                continue;
            }
            n_read += 1;

            let Some(file) = self.defs.file(entry) else { continue };
            let Ok(Some(bytes)) = self.sources.bytes(&file.oid) else {
                found.n_unchecked += 1;
                continue;
            };
            for line in other_files::lines_with(&bytes, &file.language, name) {
                found.add(UnlistedReason::OtherFile, &file.path, line);
            }
        }
    }
}

/// Returns whether a comment of Go gives another package the function that it names: `//go:linkname a b.c`.
fn is_linked(file: &FileDefs, facts: &Facts, at: u32) -> bool {
    let before = facts.text.get(..at as usize).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    file.language == "go" && line.starts_with("//go:linkname ") && line.ends_with('.')
}

/// `names`, and the aliases that imports of the file give them.
fn with_aliases(facts: &Facts, names: &BTreeSet<String>) -> BTreeSet<String> {
    let mut local = names.clone();
    for import in &facts.imports {
        let original = import.name.as_deref().or_else(|| segments(&import.path).last());
        if let (Some(alias), Some(original)) = (&import.alias, original)
            && names.contains(original)
        {
            local.insert(alias.to_string());
        }
    }
    local
}

/// Returns whether the name at an offset is the one in a definition itself: the first occurrence in the text
/// of the definition.
pub(super) fn is_own_name(file: &FileDefs, facts: &Facts, at: u32, name: &str) -> bool {
    let mut named = file.around(at).filter(|(_, def)| def.name == name);
    named.any(|(_, def)| {
        let text = facts.text.get(def.range.start as usize..def.range.end as usize).unwrap_or_default();
        word_search::occurrences(text, name).next() == Some((at - def.range.start) as usize)
    })
}

/// Returns whether a site needs no check: it means a definition, or a variable, or a library.
pub(super) fn is_settled(
    defs: &Definitions<'_>,
    wanted: &BTreeMap<DefId, DefId>,
    (facts, site): (&Facts, &Reference),
    resolution: Option<&Resolution>,
) -> bool {
    let Some(resolution) = resolution else {
        return facts.binding_at(&site.name, site.at).is_some();
    };

    resolution.is_settled()
        && !may_be_implemented(defs, wanted, &resolution.targets)
        && !may_be_extended(defs, wanted, resolution.evidence)
}

/// Returns whether a member of a value of a library may be one of the definitions: in these languages, the
/// repository can add members to types of libraries.
fn may_be_extended(defs: &Definitions<'_>, wanted: &BTreeMap<DefId, DefId>, evidence: &str) -> bool {
    let is_of_library = matches!(evidence, OF_LANGUAGE | OF_LIBRARY);

    is_of_library
        && wanted.keys().any(|&id| {
            defs.satisfies(id, |file, def| {
                let language = file.dialect.map_or("", |dialect| dialect.language);
                let is_open = matches!(language, "csharp" | "kotlin" | "ruby" | "rust" | "scala" | "swift");
                is_open && def.is_member()
            })
        })
}

/// Returns whether `targets` are members of an interface of a script, which any object implements that has
/// such members, and one of the definitions is a member.
fn may_be_implemented(defs: &Definitions<'_>, wanted: &BTreeMap<DefId, DefId>, targets: &[DefId]) -> bool {
    let has_interface = targets.iter().any(|&target| {
        defs.satisfies(target, |file, def| {
            let parent = def.parent.map(|parent| file.def(parent).kind);
            let is_script = file.dialect.is_some_and(|dialect| dialect.family == "script");
            is_script && matches!(parent, Some(SymbolKind::Interface | SymbolKind::TypeAlias))
        })
    });

    let is_wanted = targets.iter().any(|target| wanted.contains_key(target));
    has_interface && !is_wanted && wanted.keys().any(|&id| defs.satisfies(id, |_, def| def.is_member()))
}
