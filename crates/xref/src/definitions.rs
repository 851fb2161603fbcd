//! Definitions by name and by file, from the symbols of the index.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use codeweaver::query::locate;
use codeweaver::query::view::View;
use codeweaver::query::view::name_docs::NameDocs;
use codeweaver::query::view::term_rows::{TermRows, terms_of};
use codeweaver_chunk::SymbolKind;
use codeweaver_git::{Oid, quoting};
use codeweaver_store::postings::Field;

use super::dialect::{self, Dialect};
use super::word_search;

/// Identifies a definition: a live entry, and the position of the symbol in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DefId {
    pub entry: u32,
    pub symbol: u32,
}

/// A definition in a file.
#[derive(Debug, Clone)]
pub(crate) struct Def {
    pub name: String,
    pub qualified: String,
    pub kind: SymbolKind,
    pub signature: String,
    pub range: Range<u32>,
    pub lines: (u32, u32),
    /// The innermost symbol around it.
    pub parent: Option<u32>,
}

/// All definitions of a file.
#[derive(Debug)]
pub(crate) struct FileDefs {
    pub entry: u32,
    pub path: String,
    pub language: String,
    pub dialect: Option<&'static Dialect>,
    pub oid: Oid,
    pub blob_bytes: u32,
    /// Ordered by position, enclosing definitions before enclosed ones.
    pub defs: Vec<Def>,
    /// The package or namespace declared for the whole file, as opposed to one with a body.
    pub package: Option<u32>,
}

impl Def {
    /// The qualified name without the name.
    pub fn owner(&self) -> &str {
        let owner = self.qualified.strip_suffix(self.name.as_str()).unwrap_or("");
        owner.trim_end_matches(['.', ':', '#', '/', '\\', ' '])
    }

    /// Returns whether the definition is a member of a type, or has an owner in its qualified name.
    pub fn is_member(&self) -> bool {
        use SymbolKind as K;
        matches!(self.kind, K::Method | K::Constructor | K::Property | K::Field | K::EnumMember)
            || !self.owner().is_empty()
    }

    pub fn is_type(&self) -> bool {
        use SymbolKind as K;
        matches!(
            self.kind,
            K::Class | K::Struct | K::Enum | K::Interface | K::Trait | K::TypeAlias | K::Object
        )
    }

    pub fn is_value(&self) -> bool {
        use SymbolKind as K;
        matches!(self.kind, K::Variable | K::Constant | K::Field | K::Property)
    }
}

impl FileDefs {
    pub fn def(&self, symbol: u32) -> &Def {
        &self.defs[symbol as usize]
    }

    pub fn id(&self, symbol: u32) -> DefId {
        DefId { entry: self.entry, symbol }
    }

    /// Definitions of `name` in the file, by position.
    pub fn named<'f>(&'f self, name: &'f str) -> impl Iterator<Item = (u32, &'f Def)> {
        let named = self
            .defs
            .iter()
            .enumerate()
            .filter(move |(_, def)| def.name == name && def.kind != SymbolKind::Impl);
        named.map(|(i, def)| (i as u32, def))
    }

    /// Returns whether a definition of Kotlin extends a type from outside: its qualified name begins with the
    /// type, but it belongs to the package.
    pub fn is_extension(&self, def: &Def) -> bool {
        let is_kotlin = self.dialect.is_some_and(|dialect| dialect.language == "kotlin");
        let is_top = def
            .parent
            .is_none_or(|parent| matches!(self.def(parent).kind, SymbolKind::Namespace | SymbolKind::Module));
        is_kotlin && is_top && !def.is_type() && !def.owner().is_empty()
    }

    /// Segments of the name by which other files import a definition: without the type that an extension
    /// extends.
    pub fn import_name(&self, def: &Def) -> Vec<String> {
        if self.is_extension(def) {
            return self.package_name().into_iter().chain([def.name.clone()]).collect();
        }
        self.full_name(def)
    }

    /// Returns whether a definition stands directly in a namespace or module, or at the top of the file.
    pub fn is_in_namespace(&self, def: &Def) -> bool {
        if self.is_extension(def) {
            return true;
        }
        match def.parent {
            Some(parent) => matches!(self.def(parent).kind, SymbolKind::Namespace | SymbolKind::Module),
            None => def.owner().is_empty(),
        }
    }

    /// Returns whether a definition is a function inside another one, and not a member of a value.
    pub fn is_nested_function(&self, def: &Def) -> bool {
        let parent = def.parent.map(|parent| self.def(parent)).filter(|parent| parent.kind.is_callable());
        def.kind == SymbolKind::Function && parent.is_some_and(|parent| parent.qualified == def.owner())
    }

    /// Definitions around an offset, innermost first.
    pub fn around(&self, at: u32) -> impl Iterator<Item = (u32, &Def)> {
        let end = self.defs.partition_point(|def| def.range.start <= at);
        let here = self.defs[..end]
            .iter()
            .enumerate()
            .rev()
            .find(|(_, def)| def.range.contains(&at))
            .map(|(i, _)| i as u32);
        std::iter::successors(here, |&i| self.def(i).parent).map(|i| (i, self.def(i)))
    }

    /// The innermost callable around an offset.
    pub fn callable_around(&self, at: u32) -> Option<u32> {
        self.around(at)
            .find(|(_, def)| def.kind.is_callable() && def.kind != SymbolKind::Macro)
            .map(|(i, _)| i)
    }

    /// The innermost type around an offset.
    pub fn type_around(&self, at: u32) -> Option<u32> {
        self.around(at).find(|(_, def)| def.kind.has_members()).map(|(i, _)| i)
    }

    /// Segments of the package and of the qualified name.
    pub fn full_name(&self, def: &Def) -> Vec<String> {
        let package = self.package.map(|i| self.def(i).qualified.as_str()).unwrap_or_default();
        segments(package).chain(segments(&def.qualified)).map(str::to_owned).collect()
    }

    pub fn package_name(&self) -> Vec<String> {
        self.package
            .map(|i| segments(&self.def(i).qualified).map(str::to_owned).collect())
            .unwrap_or_default()
    }

    pub fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }
}

/// The segments of a qualified name, with any of the separators of the supported languages.
pub(crate) fn segments(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split(['.', ':', '\\', '#', '/', ' ']).filter(|segment| !segment.is_empty())
}

/// All definitions of a view, read on demand and cached for one request.
pub(crate) struct Definitions<'a> {
    view: &'a View,
    term_rows: OnceCell<TermRows<'a>>,
    files: RefCell<FxHashMap<u32, Option<Rc<FileDefs>>>>,
    names: RefCell<FxHashMap<String, Rc<Vec<DefId>>>>,
    /// The entries that may hold a name, which are asked for by language and then for the others.
    holders: RefCell<FxHashMap<String, Rc<Vec<u32>>>>,
}

impl<'a> Definitions<'a> {
    pub fn new(view: &'a View) -> Definitions<'a> {
        Definitions {
            view,
            term_rows: OnceCell::new(),
            files: RefCell::default(),
            names: RefCell::default(),
            holders: RefCell::default(),
        }
    }

    fn term_rows(&self) -> &TermRows<'a> {
        self.term_rows.get_or_init(|| TermRows::new(self.view))
    }

    /// The definitions in the file of a live entry; `None` if it is not indexed.
    pub fn file(&self, entry: u32) -> Option<Rc<FileDefs>> {
        if let Some(cached) = self.files.borrow().get(&entry) {
            return cached.clone();
        }

        let file = self.read_file(entry).map(Rc::new);
        self.files.borrow_mut().insert(entry, file.clone());
        file
    }

    /// Applies `look` to a definition and its file.
    pub fn with<T>(&self, id: DefId, look: impl FnOnce(&FileDefs, &Def) -> T) -> Option<T> {
        let file = self.file(id.entry)?;
        let def = file.defs.get(id.symbol as usize)?;
        Some(look(&file, def))
    }

    /// Returns whether a definition is there and satisfies `predicate`.
    pub fn satisfies(&self, id: DefId, predicate: impl FnOnce(&FileDefs, &Def) -> bool) -> bool {
        self.with(id, predicate).unwrap_or(false)
    }

    /// All definitions of `name` in languages of `family`, ordered by path and position.
    pub fn named(&self, name: &str, family: &str) -> Vec<DefId> {
        let mut named = self.all_named(name).to_vec();
        named.retain(|id| {
            let dialect = self.file(id.entry).and_then(|file| file.dialect);
            dialect.is_some_and(|dialect| dialect.family == family)
        });
        named
    }

    /// All definitions of `name` in any language, ordered by path and position.
    pub fn all_named(&self, name: &str) -> Rc<Vec<DefId>> {
        if let Some(cached) = self.names.borrow().get(name) {
            return cached.clone();
        }

        let found = Rc::new(self.find_all(name));
        self.names.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }

    /// Live entries of `family` whose text may hold `name`: all of them if `name` yields no terms.
    pub fn mentioning(&self, name: &str, family: &str) -> Vec<u32> {
        let holders = self.holders_of(name);
        holders.iter().copied().filter(|&entry| self.file_family(entry) == Some(family)).collect()
    }

    /// Live entries of other languages than those of `family` whose text may hold `name`, with their
    /// languages; none if `name` yields no terms.
    pub fn mentioning_outside(&self, name: &str, family: &str) -> Vec<(u32, &str)> {
        if terms_of(name).is_empty() {
            return Vec::new();
        }

        let mut found = Vec::new();
        for &entry in self.holders_of(name).iter() {
            let language = self.language_of(entry).unwrap_or_default();
            if dialect::for_language(language).is_none_or(|dialect| dialect.family != family) {
                found.push((entry, language));
            }
        }
        found
    }

    /// Live entries whose text may hold `name`, ordered; all entries if it yields no terms.
    fn holders_of(&self, name: &str) -> Rc<Vec<u32>> {
        if let Some(cached) = self.holders.borrow().get(name) {
            return cached.clone();
        }

        let found = Rc::new(self.find_holders(name));
        self.holders.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }

    fn find_holders(&self, name: &str) -> Vec<u32> {
        let terms = terms_of(name);
        // A name without terms may be in any file.
        if terms.is_empty() {
            return self.view.reader.live_entries(&self.view.snapshot.entries).map(|(id, _, _)| id).collect();
        }

        // Terms are stems of parts of names, so that many files have those of other names only.
        let docs = NameDocs::new(self.view, name, word_search::has_word);
        let mut entries = Vec::new();
        self.term_rows().with_all(Field::Body, &terms, &mut |id| {
            if docs.may_have(self.view, id) {
                entries.extend(self.view.entries_of(self.view.doc_of(id)));
            }
        });

        entries.sort_unstable();
        entries.dedup();
        entries
    }

    /// The language family of a live entry, without reading its definitions.
    fn file_family(&self, entry: u32) -> Option<&'static str> {
        dialect::for_language(self.language_of(entry)?).map(|dialect| dialect.family)
    }

    /// The language of a live entry, without reading its definitions.
    fn language_of(&self, entry: u32) -> Option<&str> {
        let (record, _) = self.view.reader.entry(entry)?;
        let (segment, ordinal) = self.view.reader.locate_doc(record.doc)?;
        let segment = &self.view.reader.segments[segment];
        let doc = segment.docs().get(ordinal as usize)?;
        Some(segment.language(doc.language))
    }

    /// Reads the definitions of a live entry from the index.
    fn read_file(&self, entry: u32) -> Option<FileDefs> {
        let (record, path) = self.view.reader.entry(entry)?;
        let (s, ordinal) = self.view.reader.locate_doc(record.doc)?;
        let segment = &self.view.reader.segments[s];
        let doc = segment.docs().get(ordinal as usize)?;

        let mut defs: Vec<Def> = Vec::new();
        for id in locate::rows(self.view, record.doc) {
            let row = segment.rows().get(id.row as usize)?;
            defs.extend(segment.symbols_of(row).map(|symbol| Def {
                name: segment.name(symbol.name).to_owned(),
                qualified: segment.name(symbol.qualified_name).to_owned(),
                kind: SymbolKind::from_u8(symbol.kind).unwrap_or(SymbolKind::Other),
                signature: segment.signature(&symbol),
                range: symbol.start_byte..symbol.end_byte,
                lines: (symbol.start_line, symbol.end_line),
                parent: None,
            }));
        }

        // Enclosing definitions come before enclosed ones.
        defs.sort_by(|a, b| {
            (a.range.start, b.range.end, &a.name).cmp(&(b.range.start, a.range.end, &b.name))
        });
        defs.dedup_by(|a, b| a.range == b.range && a.name == b.name);
        set_parents(&mut defs);

        // A package with a body encloses definitions; one without is declared for the whole file.
        let package = defs.iter().position(|def| {
            matches!(def.kind, SymbolKind::Module | SymbolKind::Namespace) && def.parent.is_none()
        });
        let package = package.map(|at| at as u32);
        let package = package.filter(|&at| !defs.iter().any(|def| def.parent == Some(at)));

        let language = segment.language(doc.language).to_owned();
        Some(FileDefs {
            entry,
            path: quoting::text(path),
            dialect: dialect::for_language(&language),
            language,
            oid: segment.blob_oid(doc),
            blob_bytes: doc.blob_bytes,
            defs,
            package,
        })
    }

    /// Finds all definitions of `name`, ordered by path and position.
    fn find_all(&self, name: &str) -> Vec<DefId> {
        let mut found: Vec<(u32, u32)> = Vec::new();

        let terms = terms_of(name);
        // A name without terms is in no posting list, so all live rows are scanned.
        if terms.is_empty() {
            for (s, live) in self.view.live().iter().enumerate() {
                let n_rows = self.view.reader.segments[s].n_rows();
                (0..n_rows)
                    .filter(|&row| live.contains(row))
                    .for_each(|row| self.add_row(s, row, name, &mut found));
            }
        } else {
            self.term_rows().with_all(Field::Symbol, &terms, &mut |id| {
                self.add_row(id.segment as usize, id.row, name, &mut found);
            });
        }

        let mut ids: Vec<(String, DefId)> = Vec::new();
        for (entry, start) in found {
            let Some(file) = self.file(entry) else { continue };
            let first = file.defs.partition_point(|def| def.range.start < start);
            let here = file.defs[first..].iter().take_while(|def| def.range.start == start);
            ids.extend(
                here.enumerate()
                    .filter(|(_, def)| def.name == name && def.kind != SymbolKind::Impl)
                    .map(|(i, _)| (file.path.clone(), DefId { entry, symbol: (first + i) as u32 })),
            );
        }

        ids.sort();
        ids.dedup();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Adds the symbols of a row that are called `name`, as live entry and offset.
    fn add_row(&self, s: usize, row: u32, name: &str, found: &mut Vec<(u32, u32)>) {
        let segment = &self.view.reader.segments[s];
        let Some(record) = segment.rows().get(row as usize) else { return };
        let base = self.view.reader.state.segments[s].doc_base;

        for symbol in segment.symbols_of(record).filter(|symbol| segment.name(symbol.name) == name) {
            found.extend(self.view.entries_of(base + record.doc).map(|entry| (entry, symbol.start_byte)));
        }
    }
}

/// Sets the parent of each definition. `defs` are ordered by position, enclosing ones first.
fn set_parents(defs: &mut [Def]) {
    let mut open: Vec<usize> = Vec::new();
    for i in 0..defs.len() {
        while open.last().is_some_and(|&last| defs[last].range.end <= defs[i].range.start) {
            open.pop();
        }

        defs[i].parent =
            open.last().filter(|&&last| defs[last].range.end >= defs[i].range.end).map(|&last| last as u32);
        open.push(i);
    }
}
