//! The files of a repository as they are indexed here.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;
use serde_json::{Value, json};

use codeweaver::query::view::Parts;
use codeweaver_git::{BStr, BlobReader, ByteSlice as _, Oid, check_name, walk_tree};
use codeweaver_index::{Codebase, Target, publish};
use codeweaver_store::StoreReader;
use codeweaver_store::rows::DocKey;
use codeweaver_store::shard::{self, ShardData};
use codeweaver_store::snapshot::Snapshot;
use codeweaver_text as text;

use super::error::OrgError;
use super::members::Numbers;
use super::record::{Counts, Doc};
use super::schema::{SEPARATOR, file_id};

/// A codebase with a revision that is indexed.
pub struct Local<'a> {
    /// The codebase.
    pub codebase: &'a Codebase,
    /// Its store.
    pub reader: StoreReader,
    /// The snapshot of the revision.
    pub snapshot: Snapshot,
    /// The tree of the revision.
    pub root: String,
    /// The repositories in it.
    pub members: Vec<LocalMember>,
}

/// A repository, or a member of a catalogue.
#[derive(Debug, Clone)]
pub struct LocalMember {
    /// What its paths begin with in the engine.
    pub name: String,
    /// Its commit, if it has one.
    pub commit: Option<String>,
    /// The tree of the commit.
    pub tree: String,
    /// The branch.
    pub reference: String,
    /// Whether its paths begin with its name here too.
    is_prefixed: bool,
}

/// A path of a file in a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Beginning with the name of the repository.
    pub path: String,
    /// `policy::PathFlags`.
    pub flags: u16,
}

/// The files of a repository by the names of their documents.
pub type Files = BTreeMap<String, LocalFile>;

/// A file with its places in one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// Its number in the local store.
    pub doc: u32,
    /// Sorted.
    pub places: Vec<Place>,
}

impl LocalFile {
    /// The places as the documents in the repository `name` have them; with the words of paths if `words`.
    pub fn to_json(&self, name: &str, words: bool) -> Value {
        let places = self.places.iter().map(|place| {
            let mut at = json!({ "r": name, "p": place.path, "f": place.flags });
            if words {
                let mut terms = Vec::new();
                text::path_terms(&place.path, &mut |term| terms.push(term.to_owned()));
                at["t"] = terms.join(" ").into();
            }
            at
        });
        places.collect()
    }

    /// The places as searches return them.
    pub fn shown_places(&self, name: &str) -> Vec<String> {
        let places = self.places.iter();
        places.map(|Place { path, flags }| format!("{flags}{SEPARATOR}{name}{SEPARATOR}{path}")).collect()
    }
}

impl<'a> Local<'a> {
    /// Reads the index of `target` in `codebase`. A repository that is no catalogue is called `name`.
    ///
    /// # Errors
    /// [`OrgError::Local`] if `target` is not indexed, or if the name cannot be used.
    pub fn open(codebase: &'a Codebase, target: &Target, name: &str) -> Result<Local<'a>, OrgError> {
        let not_pushed = |why: &str| OrgError::Local {
            what: "the repository is not pushed".to_owned(),
            why: why.to_owned(),
        };
        codebase.check_trust()?;
        let reader = StoreReader::open(&codebase.store())?;
        let Some(reader) = reader else { return Err(not_pushed("it is not indexed")) };

        let root = target.tree_oid();
        let snapshot = reader.snapshot(&codebase.snapshot_key(&root))?;
        let snapshot = snapshot.filter(|snapshot| snapshot.totals.complete);
        let Some(snapshot) = snapshot else { return Err(not_pushed("its revision is not indexed")) };

        let members = match codebase.repo.is_catalogue() {
            true => catalogue_members(codebase)?,
            false => {
                check_name(name).map_err(|error| not_pushed(&error.to_string()))?;
                vec![LocalMember {
                    name: name.to_owned(),
                    commit: target.commit.map(|commit| commit.to_string()),
                    tree: root.clone(),
                    reference: target.reference.clone().unwrap_or_else(|| "HEAD".to_owned()),
                    is_prefixed: false,
                }]
            }
        };
        Ok(Local { codebase, reader, snapshot, root, members })
    }

    /// The snapshot of the tree `root`, if it is still here and was made with these settings.
    pub fn earlier(&self, root: &str, settings: &str) -> Result<Option<Snapshot>, OrgError> {
        if settings != self.codebase.settings_fingerprint {
            return Ok(None);
        }
        let snapshot = self.reader.snapshot(&self.codebase.snapshot_key(root))?;
        Ok(snapshot.filter(|snapshot| snapshot.totals.complete))
    }

    /// The files with rows of `member` among the entries of `live`.
    pub fn files(&self, member: &LocalMember, live: &RoaringBitmap) -> Files {
        let mut files = Files::new();

        for (_, record, path) in self.reader.live_entries(live) {
            let Some(path) = member.path(path.as_bstr()) else { continue };
            let Some(key) = self.key_of(record.doc) else { continue };

            let place = Place { path, flags: record.flags };
            let file = files.entry(file_id(&key));
            file.or_insert_with(|| LocalFile { doc: record.doc, places: Vec::new() }).places.push(place);
        }

        files.values_mut().for_each(|file| file.places.sort());
        files
    }

    /// The key of a doc; `None` for one without rows.
    pub fn key_of(&self, doc: u32) -> Option<DocKey> {
        let (segment, ordinal) = self.reader.locate_doc(doc)?;
        let segment = &self.reader.segments[segment];
        let record = segment.docs().get(ordinal as usize).filter(|record| record.n_rows > 0)?;
        Some(segment.key(record))
    }

    /// Sums over the files of `member`.
    pub fn numbers(&self, member: &LocalMember) -> Numbers {
        let is_own = |path: &[u8]| member.path(path.as_bstr()).is_some();
        let own: RoaringBitmap = self
            .reader
            .live_entries(&self.snapshot.entries)
            .filter(|(.., path)| is_own(path))
            .map(|(id, ..)| id)
            .collect();

        // Parts are counted by the paths that the engine has.
        let paths: Vec<(u32, Vec<u8>)> = self
            .reader
            .live_entries(&own)
            .filter_map(|(id, _, path)| Some((id, member.path(path.as_bstr())?.into_bytes())))
            .collect();
        let entries =
            paths.iter().filter_map(|(id, path)| Some((self.reader.entry(*id)?.0, path.as_slice())));
        let parts = Parts::count(entries);
        let mut parts: Vec<(String, u32)> =
            parts.counts().map(|(part, n)| (String::from_utf8_lossy(part).into_owned(), n)).collect();
        parts.sort();

        let snapshot = Snapshot { entries: own, totals: self.snapshot.totals.clone() };
        Numbers { totals: publish::recount(&self.reader, &snapshot), parts }
    }

    /// The content of the shard of segment `s`.
    pub fn shard(&self, s: usize) -> Result<ShardData, OrgError> {
        let name = &self.reader.state.segments[s].name;
        Ok(shard::read(&self.reader.layout.shard(name))?)
    }

    /// Looks up which member of a catalogue has each blob, so that blobs can be read by their ids.
    pub fn find_blobs(&self) -> Result<(), OrgError> {
        if self.codebase.repo.is_catalogue()
            && let Some(tree) = self.codebase.repo.head()?.tree
        {
            walk_tree(&self.codebase.repo, &tree)?;
        }
        Ok(())
    }
}

impl LocalMember {
    /// The path of a file of this repository as the engine has it; `None` if the file is in another one.
    fn path(&self, path: &BStr) -> Option<String> {
        let path = String::from_utf8_lossy(path);
        match self.is_prefixed {
            true => path.strip_prefix(&self.name)?.starts_with('/').then(|| path.into_owned()),
            false => Some(format!("{}/{path}", self.name)),
        }
    }
}

/// The members of a catalogue whose files are in its tree.
fn catalogue_members(codebase: &Codebase) -> Result<Vec<LocalMember>, OrgError> {
    let members = codebase.repo.members()?;
    let present = members.all().iter().filter_map(|member| {
        Some(LocalMember {
            name: member.name.clone(),
            commit: member.commit.clone(),
            tree: member.tree_oid()?.to_string(),
            reference: member.reference.clone(),
            is_prefixed: true,
        })
    });

    Ok(present.collect())
}

/// The docs of a shard one by one, each with its rows and vectors.
pub fn docs_of(data: ShardData) -> impl Iterator<Item = Doc> {
    let dim = data.dim.max(1);
    let mut rows = data.rows.into_iter();
    let vectors = data.vectors;
    let mut at = 0;

    data.docs.into_iter().zip(data.n_rows).map(move |(meta, n_rows)| {
        let n_rows = n_rows as usize;
        let end = at + n_rows * dim;
        let own = vectors[at..end].to_vec();
        at = end;
        Doc { meta, rows: rows.by_ref().take(n_rows).collect(), vectors: own }
    })
}

/// The bytes of a blob in UTF-8, and the terms of each row of its doc.
type BlobTerms = (Vec<u8>, Vec<Counts>);

/// The text of a blob, and the terms of the rows of its doc; `None` if the blob is not in this clone.
pub fn read_blob(blobs: &mut BlobReader, doc: &Doc) -> Result<Option<BlobTerms>, OrgError> {
    let oid: Oid = doc.meta.key.blob_oid;
    let Some(bytes) = blobs.read(&oid)? else { return Ok(None) };
    let text = text::to_utf8(bytes).into_owned();

    let mut table = text::TermTable::default();
    let mut counts = Vec::new();
    let mut bodies = Vec::with_capacity(doc.rows.len());
    for row in &doc.rows {
        let range = row.byte_range.start as usize..row.byte_range.end as usize;
        let chunk = String::from_utf8_lossy(text.get(range).unwrap_or_default());
        counts.clear();
        table.count(&chunk, &mut counts);
        bodies.push(counts.iter().map(|it| (table.term(it.term).to_owned(), it.total())).collect());
    }
    Ok(Some((text, bodies)))
}
