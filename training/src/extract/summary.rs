//! `summary`: totals of an extraction, for the model card.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::{Value, json};

#[derive(clap::Args)]
pub struct Options {
    /// Directory of pairs and reports.
    #[arg(long)]
    pairs: PathBuf,
    /// Output file, JSON.
    #[arg(long)]
    out: PathBuf,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&options.pairs)?.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let reports = paths
        .iter()
        .map(|path| {
            let report = serde_json::from_slice(&std::fs::read(path)?)?;
            anyhow::Ok(report)
        })
        .collect::<anyhow::Result<Vec<Value>>>()
        .context("a report cannot be read")?;
    let summary = summarise(&reports);
    std::fs::write(&options.out, serde_json::to_vec_pretty(&summary)?)?;
    println!(
        "{} pairs of {} repositories, {} refused, {} failed",
        summary["pairs"],
        summary["used"],
        summary["refused"].as_array().map_or(0, Vec::len),
        summary["failed"].as_array().map_or(0, Vec::len),
    );
    for key in ["by_kind", "by_language", "by_licence"] {
        println!("{key}: {}", summary[key]);
    }
    Ok(())
}

fn summarise(reports: &[Value]) -> Value {
    let outcome = |wanted: &'static str| reports.iter().filter(move |report| report["outcome"] == wanted);
    let sum = |key: &str| outcome("used").filter_map(|report| report[key].as_u64()).sum::<u64>();
    let mut licences: BTreeMap<&str, u64> = BTreeMap::new();
    outcome("used")
        .filter_map(|report| report["licence"]["id"].as_str())
        .for_each(|id| *licences.entry(id).or_default() += 1);
    let reasons = |wanted| -> Vec<Value> {
        outcome(wanted)
            .map(|report| json!({ "repository": report["repository"], "reason": report["reason"] }))
            .collect()
    };
    let table: Vec<Value> = outcome("used")
        .map(|report| {
            json!({
                "repository": report["repository"],
                "commit": report["commit"],
                "licence": report["licence"]["id"],
                "evidence": report["licence"]["evidence"],
                "language": report["main_language"],
                "pairs": report["pairs"],
            })
        })
        .collect();
    json!({
        "pairs": sum("pairs"),
        "bytes": sum("bytes"),
        "used": table.len(),
        "by_kind": sums(outcome("used"), "by_kind"),
        "by_language": sums(outcome("used"), "by_language"),
        "by_licence": licences,
        "dropped": sums(outcome("used"), "dropped"),
        "files_skipped": sums(outcome("used"), "files_skipped"),
        "refused": reasons("refused"),
        "failed": reasons("failed"),
        "repositories": table,
    })
}

/// Sums the counts of the object `key` of all reports by name.
fn sums<'a>(reports: impl Iterator<Item = &'a Value>, key: &str) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in reports.filter_map(|report| report[key].as_object()).flatten() {
        *sums.entry(name.clone()).or_default() += count.as_u64().unwrap_or_default();
    }

    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_summed_by_outcome() {
        let used = |name: &str, pairs: u64| {
            json!({ "repository": name, "outcome": "used", "commit": "c", "licence": { "id": "MIT", "evidence": "LICENSE" },
                "pairs": pairs, "bytes": 10, "by_kind": { "doc": pairs }, "by_language": { "rust": pairs } })
        };
        let refused =
            json!({ "repository": "c/d", "outcome": "refused", "reason": "not permissive", "pairs": 0 });
        let summary = summarise(&[used("a/b", 2), used("b/c", 3), refused]);
        assert_eq!(summary["pairs"], 5);
        assert_eq!(summary["used"], 2);
        assert_eq!(summary["by_kind"]["doc"], 5);
        assert_eq!(summary["by_licence"]["MIT"], 2);
        assert_eq!(summary["refused"][0]["repository"], "c/d");
        assert_eq!(summary["repositories"][1]["pairs"], 3);
    }
}
