//! Searches as the engine takes them: for candidates of a query, and for counts of terms.
//!
//! All searches of a query are sent in one `_msearch`, and each returns nothing but the names of files.

use serde_json::{Value, json};

use codeweaver::query::engine::{TermTotals, Wanted};
use codeweaver::query::request::Filters;
use codeweaver_chunk::LanguageId;
use codeweaver_text as text;

use super::schema::{Kind, TERM_FIELDS};

/// Number of rows of each kind of evidence. Ranking takes 300 of the best; the others make up for the order
/// of the engine, which knows the lengths of chunks only roughly.
const LEXICAL_ROWS: usize = 450;
const DENSE_ROWS: usize = 450;
/// Width of the search of the graph of vectors. As wide as what is returned, the search misses 10 % of the
/// nearest 300 of 151,317 rows and 22 % of those of 1.25 million; with this width 3 and 9 %.
const GRAPH_REACH: usize = 2_000;
/// Number of files by all their words, and by the words of their paths. Ranking takes 64.
const FILES: usize = 128;
/// Number of rows that define a name, and that have all words of a query.
const NAMED_ROWS: usize = 1_000;
const VERBATIM_ROWS: usize = 160;
/// Number of files for each file that the query names.
const MENTIONED_FILES: usize = 64;
/// Number of files that are searched for one text or expression.
const LINE_FILES: usize = 1_000;
/// Maximum number of paths that are asked for at once.
const MAX_PATHS: usize = 1_000;
/// Maximum number of names that are asked for at once.
const MAX_NAMES: usize = 1_000;
/// Minimum and maximum number of terms of a query that may be written in code as it is.
const VERBATIM_TERMS: std::ops::RangeInclusive<usize> = 2..=48;
/// The fields of a file with its terms, and with those of its paths.
const FILE_FIELDS: [&str; 2] = ["terms", "path_terms"];
/// Maximum number of terms of a search; the rarest decide.
const MAX_TERMS: usize = 64;

/// A search of one index.
pub struct Search {
    pub kind: Kind,
    pub body: Value,
}

/// The repositories and files that a search is limited to.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Conditions on rows and files.
    conditions: Vec<Value>,
    /// True if all repositories are meant.
    are_all: bool,
}

impl Limits {
    /// Limits to the repositories `names`, `None` for all, and to what `filters` allow, as far as the engine
    /// can tell. The filters are applied again to what is found.
    pub fn new(names: Option<&[String]>, filters: Option<&Filters>) -> Limits {
        let mut conditions = vec![match names {
            Some(names) => json!({ "terms": { "repo": names } }),
            // Documents that no repository has are left out.
            None => json!({ "exists": { "field": "repo" } }),
        }];

        if let Some(filters) = filters {
            if !filters.include_tests {
                conditions.push(json!({ "term": { "test": false } }));
            }

            // The files with the lines that a query must have, and those that it is limited to.
            if let Some(lines) = filters.lines.as_ref().filter(|lines| lines.len() <= MAX_PATHS) {
                conditions.push(at_any(lines.keys().filter_map(|path| std::str::from_utf8(path).ok())));
            }
            if let Some(files) = filters.files.as_ref().filter(|files| files.len() <= MAX_PATHS) {
                conditions.push(at_any(files.iter().filter_map(|path| std::str::from_utf8(path).ok())));
            }

            let prefixes: Option<Vec<String>> =
                filters.paths.iter().map(|path| directory_of(&path.to_string())).collect();
            let prefixes = prefixes.filter(|prefixes| !prefixes.is_empty());
            if let Some(prefixes) = prefixes {
                let any = prefixes.iter().map(|prefix| json!({ "prefix": { "path": prefix } }));
                conditions.push(
                    json!({ "bool": { "should": any.collect::<Vec<_>>(), "minimum_should_match": 1 } }),
                );
            }
        }
        Limits { conditions, are_all: names.is_none() }
    }

    /// With the languages of `filters`.
    fn of_rows(&self, filters: &Filters) -> Vec<Value> {
        let mut conditions = self.conditions.clone();
        if !filters.languages.is_empty() {
            let names: Vec<String> = filters.languages.iter().map(|name| canonical(name)).collect();
            conditions.push(json!({ "terms": { "language": names } }));
        }
        conditions
    }
}

/// The condition of files at any of `paths`.
fn at_any<'p>(paths: impl Iterator<Item = &'p str>) -> Value {
    json!({ "terms": { "path": paths.collect::<Vec<_>>() } })
}

/// The name of a language in the language table, or `name` in lower case if it is unknown.
fn canonical(name: &str) -> String {
    LanguageId::by_name(name).map_or_else(|| name.to_lowercase(), |language| language.name().to_owned())
}

/// The beginning of all paths that a pathspec matches, up to its first wildcard. `None` if it does not say:
/// one without a slash also matches names at any depth.
fn directory_of(pathspec: &str) -> Option<String> {
    let end = pathspec.find(['*', '?', '[', '\\', ':']).unwrap_or(pathspec.len());
    Some(pathspec[..end].to_owned()).filter(|prefix| prefix.contains('/'))
}

/// The searches for the candidates of `wanted`. `counts` are those of its terms, and `n_rows` is the number
/// of rows that they were counted in.
pub fn candidates(
    wanted: &Wanted,
    counts: &[TermTotals],
    n_rows: u64,
    limits: &Limits,
    filters: &Filters,
) -> Vec<Search> {
    let of_rows = limits.of_rows(filters);
    let of_files = &limits.conditions;
    let mut searches = Vec::new();

    let mut terms: Vec<(&text::QueryTerm, &TermTotals)> = wanted.terms.iter().zip(counts).collect();
    terms.sort_by_key(|(_, counts)| counts.files);
    terms.retain(|(_, counts)| counts.files > 0 || counts.paths > 0);
    terms.truncate(MAX_TERMS);

    let lexical = lexical(&terms, wanted, n_rows);
    if !lexical.is_empty() {
        searches.push(rows(any_of(lexical.clone()), &of_rows, LEXICAL_ROWS));

        let by_file = terms.iter().map(|(term, _)| boosted("terms", &term.term, term.weight));
        searches.push(files(any_of(by_file.collect()), of_files, FILES));
        let by_path = terms.iter().filter(|(_, counts)| counts.paths > 0).map(|(term, _)| {
            json!({ "constant_score": {
                "filter": { "term": { "path_terms": term.term } }, "boost": term.weight,
            } })
        });
        let mut by_path = files(any_of(by_path.collect()), of_files, FILES);
        // Ranking decides ties by path too.
        by_path.body["sort"] = json!([{ "_score": "desc" }, { "path": "asc" }]);
        searches.push(by_path);
    }

    if let Some(vector) = &wanted.vector {
        let filter = json!({ "bool": { "filter": of_rows } });
        let query = json!({ "knn": { "vector": { "vector": vector, "k": GRAPH_REACH, "filter": filter } } });
        searches.push(search(Kind::Rows, query, DENSE_ROWS));
    }

    if !wanted.names.is_empty() {
        let names = &wanted.names[..wanted.names.len().min(MAX_NAMES)];
        let named = json!({ "terms": { "symbol": names } });
        searches.push(rows(preferring(named, &lexical), &of_rows, NAMED_ROWS));
    }
    for prefix in &wanted.prefixes {
        let named = json!({ "prefix": { "symbol": prefix } });
        searches.push(rows(preferring(named, &lexical), &of_rows, NAMED_ROWS));
    }

    for mention in &wanted.mentions {
        let mut words = Vec::new();
        let name = mention.path.rsplit('/').next().unwrap_or(&mention.path);
        text::path_terms(name, &mut |term| words.push(json!({ "term": { "path_terms": term } })));
        if !words.is_empty() {
            searches.push(files(json!({ "bool": { "filter": words } }), of_files, MENTIONED_FILES));
        }
    }

    // Identifiers are in a chunk whole or in parts, so only their parts are asked for.
    let words: Vec<Value> = terms
        .iter()
        .filter(|(term, _)| term.is_word() && !term.is_identifier)
        .map(|(term, _)| json!({ "term": { "body": term.term } }))
        .collect();
    if wanted.is_verbatim && VERBATIM_TERMS.contains(&words.len()) {
        searches.push(rows(json!({ "bool": { "filter": words } }), &of_rows, VERBATIM_ROWS));
    }

    searches
}

/// The searches for the number of all files that `filters` allow, and for those that meet `condition`.
pub fn with_lines(condition: Option<Value>, limits: &Limits, filters: &Filters) -> [Search; 2] {
    // A file has one language, and that of the file counts for its lines.
    let all = limits.of_rows(filters);
    let mut wanted = all.clone();
    wanted.extend(condition);

    let mut found = search(Kind::Files, json!({ "bool": { "filter": wanted } }), LINE_FILES);
    found.body["track_total_hits"] = true.into();
    // Tests last, as they are shown.
    found.body["sort"] = json!([{ "test": "asc" }, { "path": "asc" }]);
    let query = json!({ "bool": { "filter": all } });
    let count =
        Search { kind: Kind::Files, body: json!({ "size": 0, "track_total_hits": true, "query": query }) };
    [count, found]
}

/// The searches for the files at `paths`.
pub fn at_paths(paths: &[String], limits: &Limits) -> Vec<Search> {
    let search =
        |paths: &[String]| files(json!({ "terms": { "path": paths } }), &limits.conditions, MAX_PATHS);
    paths.chunks(MAX_PATHS).map(search).collect()
}

/// The clauses that score a row as ranking does: the weight of a term and a field times the rarity of the
/// term in any field. The engine multiplies by the rarity in the field, which is divided out.
fn lexical(terms: &[(&text::QueryTerm, &TermTotals)], wanted: &Wanted, n_rows: u64) -> Vec<Value> {
    let n = n_rows.max(1) as f32;
    let idf = |df: u64| {
        let df = df as f32;
        (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln()
    };

    let mut clauses = Vec::new();
    for (term, counts) in terms {
        let most = counts.rows.iter().copied().max().unwrap_or(0);
        for ((field, weight), &df) in TERM_FIELDS.iter().zip(wanted.fields).zip(&counts.rows) {
            if df > 0 && weight > 0.0 {
                let boost = weight * term.weight * idf(most) / idf(df).max(f32::MIN_POSITIVE);
                clauses.push(boosted(field, &term.term, boost));
            }
        }
    }
    clauses
}

/// Number of terms that one search counts.
const COUNTED: usize = 100;

/// The searches that count each of `terms`: in the fields of rows, in files, and in paths. A search counts
/// many, since each has costs of its own.
pub fn counts(terms: &[&str], limits: &Limits) -> Vec<Search> {
    let mut searches = Vec::new();
    for terms in terms.chunks(COUNTED) {
        searches.push(counting(Kind::Rows, json!({ "n": groups(&TERM_FIELDS, terms) }), limits));

        let mut by_path = groups(&FILE_FIELDS[1..], terms);
        // A file counts once for each of its paths, as in a catalogue. Those that a reader may not see are
        // not counted.
        if limits.are_all {
            by_path["aggs"] = json!({ "paths": { "value_count": { "field": "path" } } });
        }
        let groups = json!({ "n": groups(&FILE_FIELDS[..1], terms), "by_path": by_path });
        searches.push(counting(Kind::Files, groups, limits));
    }
    searches
}

/// The groups of the documents with each of `terms` in each of `fields`.
fn groups(fields: &[&str], terms: &[&str]) -> Value {
    let mut filters = serde_json::Map::new();
    for (at, term) in terms.iter().enumerate() {
        for field in fields {
            filters.insert(format!("{at} {field}"), json!({ "term": { *field: term } }));
        }
    }
    json!({ "filters": { "filters": filters } })
}

/// The search that counts the documents of `groups`.
fn counting(kind: Kind, groups: Value, limits: &Limits) -> Search {
    Search {
        kind,
        body: json!({
            "size": 0, "track_total_hits": false, "query": { "bool": { "filter": limits.conditions } },
            "aggs": groups,
        }),
    }
}

/// The totals of `n_terms` terms in the answers to [`counts`].
pub fn totals(answers: &[Value], n_terms: usize) -> Vec<TermTotals> {
    (0..n_terms).map(|n| total(answers, n)).collect()
}

/// The totals of term number `n`.
fn total(answers: &[Value], n: usize) -> TermTotals {
    let (group, at) = (n / COUNTED * 2, n % COUNTED);
    let [rows, files] = [group, group + 1].map(|group| answers.get(group).unwrap_or(&Value::Null));
    let number = |answer: &Value, field: &str| {
        let bucket = &answer["aggregations"]["n"]["buckets"][format!("{at} {field}")];
        bucket["doc_count"].as_u64().unwrap_or(0)
    };
    let by_path = &files["aggregations"]["by_path"]["buckets"][format!("{at} {}", FILE_FIELDS[1])];
    let paths = by_path["paths"]["value"].as_u64().or(by_path["doc_count"].as_u64());

    TermTotals {
        rows: TERM_FIELDS.map(|field| number(rows, field)),
        files: number(files, FILE_FIELDS[0]),
        paths: paths.unwrap_or(0),
    }
}

fn boosted(field: &str, term: &str, boost: f32) -> Value {
    json!({ "term": { field: { "value": term, "boost": boost } } })
}

/// The query for what `query` finds, with what `clauses` score highest first: many rows have a common name,
/// and only some of them are read.
fn preferring(query: Value, clauses: &[Value]) -> Value {
    json!({ "bool": { "filter": query, "should": clauses } })
}

fn any_of(clauses: Vec<Value>) -> Value {
    json!({ "bool": { "should": clauses, "minimum_should_match": 1 } })
}

fn rows(query: Value, conditions: &[Value], size: usize) -> Search {
    search(Kind::Rows, limited(query, conditions), size)
}

fn files(query: Value, conditions: &[Value], size: usize) -> Search {
    search(Kind::Files, limited(query, conditions), size)
}

fn limited(query: Value, conditions: &[Value]) -> Value {
    json!({ "bool": { "must": query, "filter": conditions } })
}

fn search(kind: Kind, query: Value, size: usize) -> Search {
    Search {
        kind,
        body: json!({
            "size": size, "query": query, "_source": false, "docvalue_fields": ["file", "place"],
            "track_total_hits": false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use codeweaver_store::postings::N_FIELDS;

    use super::*;

    #[test]
    fn a_pathspec_limits_to_its_beginning() {
        assert_eq!(directory_of("a/src/**/*.rs").as_deref(), Some("a/src/"));
        assert_eq!(directory_of("a/src").as_deref(), Some("a/src"));
        assert_eq!((directory_of("*.rs"), directory_of("retry.rs")), (None, None));
    }

    #[test]
    fn counts_are_those_of_their_terms_and_fields() {
        check_counts(&Limits::new(None, None));
        // Paths in other repositories are not counted.
        let limits = Limits::new(Some(&["mine".to_owned()]), None);
        assert!(counts(&["term"], &limits).iter().all(|it| !it.body.to_string().contains("value_count")));
        check_counts(&limits);
    }

    fn check_counts(limits: &Limits) {
        let terms: Vec<String> = (0..COUNTED + 2).map(|n| format!("term{n}")).collect();
        let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
        let searches = counts(&terms, limits);
        assert_eq!(searches.len(), 4);
        // Each search is answered by the number in its term, and a digit for its field.
        let answer = |search: &Search| {
            let mut aggregations = serde_json::Map::new();
            for (name, groups) in search.body["aggs"].as_object().unwrap() {
                let filters = groups["filters"]["filters"].as_object().unwrap();
                let buckets = filters.iter().map(|(name, filter)| {
                    let (field, term) = filter["term"].as_object().unwrap().iter().next().unwrap();
                    let n: u64 = term.as_str().unwrap()["term".len()..].parse().unwrap();
                    let of_rows = TERM_FIELDS.iter().position(|known| known == field);
                    let digit = of_rows.or(FILE_FIELDS.iter().position(|known| known == field)).unwrap();
                    let number = 10 * n + digit as u64;
                    let bucket = match groups["aggs"].is_object() {
                        true => json!({ "doc_count": 0, "paths": { "value": number } }),
                        false => json!({ "doc_count": number }),
                    };
                    (name.clone(), bucket)
                });
                let buckets: serde_json::Map<_, _> = buckets.collect();
                aggregations.insert(name.clone(), json!({ "buckets": buckets }));
            }
            json!({ "aggregations": aggregations })
        };

        let answers: Vec<Value> = searches.iter().map(answer).collect();
        let totals = totals(&answers, terms.len());
        for n in [0, 1, COUNTED - 1, COUNTED, COUNTED + 1] {
            let tens = 10 * n as u64;
            let expected =
                TermTotals { rows: [tens, tens + 1, tens + 2, tens + 3], files: tens, paths: tens + 1 };
            assert_eq!(totals[n], expected);
        }
    }

    #[test]
    fn all_searches_are_limited() {
        let wanted = Wanted {
            terms: text::query_terms("read config file"),
            fields: [1.0; N_FIELDS],
            vector: Some(vec![1, 2]),
            names: vec!["read".to_owned()],
            prefixes: vec!["rea".to_owned()],
            mentions: text::mentions("src/config.rs:12"),
            is_verbatim: true,
        };
        let counts = vec![TermTotals { rows: [1; N_FIELDS], files: 1, paths: 1 }; wanted.terms.len()];
        let names = ["mine".to_owned()];
        let limits = Limits::new(Some(&names), None);
        let searches = candidates(&wanted, &counts, 10, &limits, &Filters::default());
        assert_eq!(searches.len(), 8);
        for search in searches {
            assert!(search.body.to_string().contains("{\"terms\":{\"repo\":[\"mine\"]}}"), "{}", search.body);
        }
    }
}
