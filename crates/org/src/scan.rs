//! The documents that a search finds, one page after the other.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::OrgError;
use super::http::Method;
use super::org::{Org, all_shards};
use super::schema::Kind;

/// Number of documents of a page.
const PAGE: usize = 2_000;

impl Org {
    /// Calls `visit` with all documents of files that match `query`, in the order of their names.
    pub(super) fn scan_files(
        &self,
        query: &Value,
        fields: &[&str],
        mut visit: impl FnMut(&Value) -> Result<(), OrgError>,
    ) -> Result<(), OrgError> {
        let path = format!("{}/_search", self.alias(Kind::Files));
        let mut after: Option<Value> = None;

        loop {
            let mut request = json!({
                "size": PAGE, "query": query, "_source": fields, "sort": [{ "file": "asc" }],
                "track_total_hits": false,
            });
            if let Some(after) = &after {
                request["search_after"] = after.clone();
            }

            let answer = self.connection.ask(Method::Post, &path, Some(&request))?;
            all_shards(&answer)?;
            let hits = answer["hits"]["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
            for hit in hits {
                visit(&hit["_source"])?;
            }

            // A page that is not full is the last.
            match hits.last() {
                Some(last) if hits.len() == PAGE => after = Some(last["sort"].clone()),
                _ => return Ok(()),
            }
        }
    }

    /// The number of rows of each file in the repository `name`, by the names of the files.
    pub(super) fn count_rows(&self, name: &str) -> Result<BTreeMap<String, u64>, OrgError> {
        let path = format!("{}/_search", self.alias(Kind::Rows));
        let mut counts = BTreeMap::new();
        let mut groups = json!({ "size": PAGE, "sources": [{ "file": { "terms": { "field": "file" } } }] });

        loop {
            let request = json!({
                "size": 0, "track_total_hits": false, "query": { "term": { "repo": name } },
                "aggs": { "files": { "composite": groups } },
            });
            let answer = self.connection.ask(Method::Post, &path, Some(&request))?;
            all_shards(&answer)?;
            let found = &answer["aggregations"]["files"];
            let buckets = found["buckets"].as_array().map(Vec::as_slice).unwrap_or_default();
            counts.extend(buckets.iter().filter_map(|bucket| {
                Some((bucket["key"]["file"].as_str()?.to_owned(), bucket["doc_count"].as_u64()?))
            }));

            // A page that is not full is the last.
            if buckets.len() < PAGE || found["after_key"].is_null() {
                return Ok(counts);
            }
            groups["after"] = found["after_key"].clone();
        }
    }
}
