//! The report as Markdown.

use super::{Table, areas, areas_of_all, criteria, iterations, notes, outcome};
use crate::quality::Config;
use crate::quality::artefact::Iteration;

/// Renders the report of the iterations so far.
pub fn markdown(config: &Config, done: &[Iteration]) -> String {
    let mut text = String::from("# Search quality\n\n");

    if let Some(last) = done.last() {
        text.push_str(&format!("{}\n\n", outcome(&last.learnings)));
    }
    for (criterion, is_met) in criteria(config, done) {
        text.push_str(&format!("- [{}] {}\n", if is_met { "x" } else { " " }, escaped(&criterion)));
    }

    text.push_str(&format!("\n{}", table(&iterations(done))));
    text.push_str("\nA dash means that nothing was judged. Overlap is the share of the files of run A that run B found.\n");
    text.push_str(&format!("\n## Areas, all iterations\n\n{}", table(&areas(&areas_of_all(done)))));

    for iteration in done {
        text.push_str(&format!("\n## Iteration {}\n\n", iteration.evaluation.iteration));
        text.push_str(&table(&areas(&iteration.evaluation.figures)));
        text.push('\n');
        for note in notes(iteration) {
            text.push_str(&format!("- {}\n", escaped(&note)));
        }
    }

    text
}

fn table(table: &Table) -> String {
    let rule: Vec<String> = table.head.iter().map(|_| "---".to_owned()).collect();
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    format!("{}{}{rows}", row(&table.head), row(&rule))
}

/// Renders a row of a table.
fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns `text` in one line, with the characters escaped that have a meaning in Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();

    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }

    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_issues_is_no_markup() {
        assert_eq!(escaped("<b>|a_b`\n# x"), "&lt;b&gt;\\|a\\_b\\` \\# x");
    }
}
