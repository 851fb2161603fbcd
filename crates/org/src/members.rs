//! Repositories, each with the state of its last push.

use serde_json::{Value, json};

use codeweaver_git::{Member, MemberState};
use codeweaver_store::snapshot::Totals;

use super::error::OrgError;
use super::http::{Method, checked};
use super::org::{Org, all_shards};
use super::schema::Kind;

/// Maximum number of repositories of an index.
const MAX_MEMBERS: u32 = 10_000;

/// The state of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushState {
    /// Everything of its commit is there.
    Complete,
    /// A push runs, or has not ended.
    Pushing,
    /// It is being removed.
    Removing,
}

/// A repository in the index.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OrgMember {
    /// What its paths begin with.
    pub name: String,
    /// The commit that was pushed last as a whole.
    pub commit: Option<String>,
    /// The tree of that commit.
    pub tree: String,
    /// The tree of the repository that was pushed: the catalogue, if it is a member of one.
    pub root: String,
    /// The branch.
    pub reference: String,
    /// Fingerprint of the policy and the chunker.
    pub settings: String,
    /// Whether all of it is there.
    pub state: PushState,
    /// The process that changes it.
    pub writer: String,
    /// Counts up while that process works.
    pub beat: u64,
    /// When the last push ended, by the clock of that machine, in seconds since 1970.
    pub pushed: u64,
    /// Number of files.
    pub files: u64,
    /// Its sums.
    pub numbers: Numbers,
}

/// Sums over the files of a repository.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Numbers {
    /// Of the live rows.
    pub totals: Totals,
    /// Source files of each part, by the beginning of its paths.
    pub parts: Vec<(String, u32)>,
}

impl OrgMember {
    /// A repository that was not pushed yet.
    pub fn new(name: &str) -> OrgMember {
        OrgMember {
            name: name.to_owned(),
            commit: None,
            tree: String::new(),
            root: String::new(),
            reference: String::new(),
            settings: String::new(),

            state: PushState::Pushing,
            writer: String::new(),
            beat: 0,
            pushed: 0,
            files: 0,
            numbers: Numbers::default(),
        }
    }

    /// It as a member of a catalogue.
    pub fn to_member(&self) -> Member {
        Member {
            name: self.name.clone(),
            path: std::path::PathBuf::new(),
            reference: self.reference.clone(),
            commit: self.commit.clone(),
            tree: Some(self.tree.clone()),
            updated: self.pushed,
            state: MemberState::Indexed,
            error: String::new(),
        }
    }
}

/// The place of a version of a document, by which the engine refuses to overwrite a newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    sequence: u64,
    term: u64,
}

impl Org {
    /// All repositories, sorted by name.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn members(&self) -> Result<Vec<OrgMember>, OrgError> {
        let request = json!({ "size": MAX_MEMBERS, "query": { "match_all": {} } });
        let path = format!("{}/_search", self.alias(Kind::Repos));
        members_of(&self.connection.ask(Method::Post, &path, Some(&request))?)
    }

    /// A repository with its version; `None` if there is none of this name.
    pub(super) fn member(&self, name: &str) -> Result<Option<(OrgMember, Version)>, OrgError> {
        let path = format!("{}/_doc/{}", self.alias(Kind::Repos), encoded(name));
        let answer = self.connection.send(Method::Get, &path, None)?;
        if answer.status == 404 && answer.body["found"] == json!(false) {
            return Ok(None);
        }

        let found = checked(answer)?;
        let version = version_of(&found)?;
        Ok(Some((member_of(&found["_source"])?, version)))
    }

    /// Writes a repository over the version `over`, `None` for a new one, and makes it visible to searches.
    /// Returns the new version; `None` if another process has written it meanwhile.
    pub(super) fn put_member(
        &self,
        member: &OrgMember,
        over: Option<Version>,
    ) -> Result<Option<Version>, OrgError> {
        // The index is small, and a search shows at once what a push has done.
        self.write_member(member, over, "&refresh=true")
    }

    /// As [`Self::put_member`], for what only the next reader of the document needs to see.
    pub(super) fn touch_member(
        &self,
        member: &OrgMember,
        over: Version,
    ) -> Result<Option<Version>, OrgError> {
        self.write_member(member, Some(over), "")
    }

    fn write_member(
        &self,
        member: &OrgMember,
        over: Option<Version>,
        refresh: &str,
    ) -> Result<Option<Version>, OrgError> {
        let condition = match over {
            Some(Version { sequence, term }) => format!("if_seq_no={sequence}&if_primary_term={term}"),
            None => "op_type=create".to_owned(),
        };
        let path = format!("{}/_doc/{}?{condition}{refresh}", self.alias(Kind::Repos), encoded(&member.name));
        let body = json!(member).to_string();

        let answer = self.connection.send(Method::Put, &path, Some(body.as_bytes()))?;
        match answer.status {
            // It may be this request that has written, by an attempt whose answer was lost.
            409 => {
                let there = self.member(&member.name)?;
                Ok(there.filter(|(there, _)| there == member).map(|(_, version)| version))
            }
            _ => version_of(&checked(answer)?).map(Some),
        }
    }

    /// Has the next push of a repository compare everything. A push that runs now is interrupted at its end.
    pub(super) fn mark_unfinished(&self, name: &str) -> Result<(), OrgError> {
        while let Some((there, version)) = self.member(name)? {
            let marked = OrgMember { state: PushState::Pushing, writer: String::new(), ..there };
            if self.put_member(&marked, Some(version))?.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Removes the document of a repository.
    pub(super) fn delete_member(&self, name: &str) -> Result<(), OrgError> {
        let path = format!("{}/_doc/{}?refresh=true", self.alias(Kind::Repos), encoded(name));
        let answer = self.connection.send(Method::Delete, &path, None)?;
        if answer.status == 404 { Ok(()) } else { checked(answer).map(drop) }
    }
}

/// The repositories in the answer to a search.
fn members_of(answer: &Value) -> Result<Vec<OrgMember>, OrgError> {
    all_shards(answer)?;
    let hits = answer["hits"]["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
    let total = &answer["hits"]["total"];
    if total["relation"] == "gte" || total["value"].as_u64().is_some_and(|n| n > hits.len() as u64) {
        return Err(OrgError::Degraded { why: format!("there are more than {MAX_MEMBERS} repositories") });
    }

    let mut members =
        hits.iter().map(|hit| member_of(&hit["_source"])).collect::<Result<Vec<_>, OrgError>>()?;
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(members)
}

fn member_of(source: &Value) -> Result<OrgMember, OrgError> {
    serde_json::from_value(source.clone()).map_err(|error| OrgError::Answer {
        status: 200,
        why: format!("a repository cannot be read: {error}"),
    })
}

fn version_of(answer: &Value) -> Result<Version, OrgError> {
    match (answer["_seq_no"].as_u64(), answer["_primary_term"].as_u64()) {
        (Some(sequence), Some(term)) => Ok(Version { sequence, term }),
        _ => Err(OrgError::Answer { status: 200, why: "a document has no version".to_owned() }),
    }
}

/// A name as a part of a URL.
fn encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_urls() {
        assert_eq!(encoded("group/repo@main ü"), "group%2Frepo%40main%20%C3%BC");
    }

    #[test]
    fn a_repository_is_read_as_it_was_written() {
        let mut member = OrgMember::new("a");
        member.numbers.totals.vector_sum = vec![-5, 7];
        member.numbers.totals.skipped.insert(3, 1);
        assert_eq!(member_of(&json!(member)).unwrap(), member);
    }
}
