//! The report as one page of HTML. It has no script and loads nothing.

use super::escape::escaped;
use super::plot::{self, Series};
use super::{Table, areas, areas_of_all, criteria, iterations, notes, outcome};
use crate::quality::Config;
use crate::quality::artefact::{EvaluatedIssue, Iteration};
use crate::quality::figures::{Figures, Scores};
use crate::quality::verdict::{Actionable, Relevant, Verdict};

const STYLE: &str = include_str!("report.css");

/// Renders the report of the iterations so far. The last iteration comes first.
pub fn html(config: &Config, done: &[Iteration]) -> String {
    // The page shows texts of issues and commands. They are escaped, and the policy forbids scripts as well.
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Search quality</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Search quality</h1>\n"
    );

    if let Some(last) = done.last() {
        page.push_str(&format!("<p>{}</p>\n", escaped(&outcome(&last.learnings))));
    }

    page.push_str("<ul class=\"criteria\">\n");
    for (criterion, is_met) in criteria(config, done) {
        let (class, word) = if is_met { ("met", "met") } else { ("open", "open") };
        page.push_str(&format!("<li><b class=\"{class}\">{word}</b> {}</li>\n", escaped(&criterion)));
    }

    page.push_str("</ul>\n<h2>Iterations</h2>\n");
    page.push_str(&plots(config, done));
    page.push_str(&table(&iterations(done)));
    page.push_str(
        "<p>A dash means that nothing was judged. Overlap is the share of the files of run A that run B found. \
         Dashed lines are the aims.</p>\n",
    );

    let all = areas_of_all(done);
    page.push_str(&format!("<h2>Areas, all iterations</h2>\n{}{}", area_bars(&all), table(&areas(&all))));

    for iteration in done.iter().rev() {
        page.push_str(&section(iteration));
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// Renders the section of an iteration.
fn section(iteration: &Iteration) -> String {
    let mut html = format!("<h2>Iteration {}</h2>\n", iteration.evaluation.iteration);
    html.push_str(&area_bars(&iteration.evaluation.figures));
    html.push_str(&table(&areas(&iteration.evaluation.figures)));

    html.push_str("<ul>\n");
    for note in notes(iteration) {
        html.push_str(&format!("<li>{}</li>\n", escaped(&note)));
    }
    html.push_str("</ul>\n");

    html.push_str(&issues(iteration));
    html
}

/// Renders the plots of the figures by iteration; that of the gestalt only if a judge gave one.
fn plots(config: &Config, done: &[Iteration]) -> String {
    let scores: Vec<&Scores> =
        done.iter().map(|iteration| &iteration.evaluation.figures.aggregate.scores).collect();
    let limits = &config.thresholds;

    let precision = scores.iter().map(|scores| scores.precision).collect();
    let recall = scores.iter().map(|scores| scores.recall).collect();
    let shares = [
        Series { name: "precision", values: precision, aim: limits.precision },
        Series { name: "recall", values: recall, aim: limits.recall },
    ];
    let gestalt = scores.iter().map(|scores| scores.gestalt).collect();
    let gestalt = Series { name: "gestalt", values: gestalt, aim: limits.gestalt };
    let is_judged = gestalt.values.iter().any(Option::is_some);

    let shares = plot::lines("Precision and recall by iteration", 1.0, &shares);
    let gestalt = match is_judged {
        true => format!("<figure>\n{}</figure>\n", plot::lines("Gestalt by iteration", 5.0, &[gestalt])),
        false => String::new(),
    };
    format!("<div class=\"plots\">\n<figure>\n{shares}</figure>\n{gestalt}</div>\n")
}

fn area_bars(figures: &Figures) -> String {
    let rows: Vec<(&str, [Option<f64>; 2])> = figures
        .by_product_area
        .iter()
        .map(|(name, means)| (name.as_str(), [means.scores.precision, means.scores.recall]))
        .collect();
    format!("<figure>\n{}</figure>\n", plot::bars("Precision and recall by area", &rows))
}

/// Renders the issues of an iteration with the files that were found and missed.
fn issues(iteration: &Iteration) -> String {
    let mut html = String::from(
        "<details>\n<summary>Issues</summary>\n<p>Files marked with * were found by one explorer alone.</p>\n\
         <div class=\"wide\"><table>\n<thead><tr>",
    );
    for name in ["issue", "area", "precision", "recall", "found in the truth", "only ours", "missed"] {
        html.push_str(&format!("<th scope=\"col\">{name}</th>"));
    }

    html.push_str("</tr></thead>\n<tbody>\n");
    for (conversation, issue) in
        iteration.conversations.conversations.iter().zip(&iteration.evaluation.issues)
    {
        html.push_str(&format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escaped(&conversation.issue_summary),
            escaped(&issue.product_area),
            super::printed(issue.scores.precision),
            super::printed(issue.scores.recall),
            joined(issue.intersection.iter().map(|path| marked(issue, path))),
            joined(issue.our_unique.iter().map(judged)),
            joined(issue.ground_truth_unique.iter().map(|path| marked(issue, path))),
        ));
    }

    html.push_str("</tbody>\n</table></div>\n</details>\n");
    html
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| escaped(&line)).collect::<Vec<_>>().join("<br>")
}

/// Returns a path of the ground truth, with an asterisk if one run alone found it.
fn marked(issue: &EvaluatedIssue, path: &str) -> String {
    let is_of_one = issue.ground_truth.iter().any(|file| file.one_run && file.path == path);
    format!("{path}{}", if is_of_one { " *" } else { "" })
}

/// Describes a file that only the search found, with the verdict of the judge.
fn judged(verdict: &Verdict) -> String {
    let relevant = match verdict.relevant {
        Relevant::Yes => "relevant",
        Relevant::No => "not relevant",
        Relevant::NotJudged => "not judged",
    };

    let actionable = match verdict.actionable {
        Actionable::Yes => ", actionable",
        Actionable::Maybe => ", maybe actionable",
        Actionable::No | Actionable::NotJudged => "",
    };

    format!("{}: {relevant}{actionable} ({})", verdict.path, verdict.reasoning)
}

fn table(table: &Table) -> String {
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
    let head = cells(&table.head, "th scope=\"col\"");
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// Renders cells with the tag `td` or `th` and its attributes.
fn cells(cells: &[String], tag: &str) -> String {
    // `td` and `th` have two bytes; the end tag has no attributes.
    cells.iter().map(|cell| format!("<{tag}>{}</{}>", escaped(cell), &tag[..2])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_their_case_and_reasons_are_shown() {
        let verdict = Verdict {
            path: "README.md".to_owned(),
            relevant: Relevant::No,
            actionable: Actionable::Maybe,
            reasoning: "an overview".to_owned(),
        };
        assert_eq!(judged(&verdict), "README.md: not relevant, maybe actionable (an overview)");
    }
}
