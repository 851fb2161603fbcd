//! Plots as inline SVG. Colours are those of the page, so that they follow its theme.

use super::html::escaped;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 220.0;
const MARGIN: f64 = 40.0;
/// Height of one bar with its distance.
const BAR: f64 = 24.0;
/// Height of the legend of bars.
const LEGEND: f64 = 24.0;
/// Width of the names of bars.
const NAMES: f64 = 140.0;

/// A line of a plot.
pub struct Series<'a> {
    pub name: &'a str,
    /// By iteration; `None` where nothing was judged.
    pub values: Vec<Option<f64>>,
    /// A value that the line is to reach.
    pub aim: f64,
}

/// Lines over iterations, from 0 to `most`.
pub fn lines(title: &str, most: f64, series: &[Series<'_>]) -> String {
    let n = series.iter().map(|it| it.values.len()).max().unwrap_or(0).max(2);
    let x = |i: usize| MARGIN + (WIDTH - 2.0 * MARGIN) * i as f64 / (n - 1) as f64;
    let y = |value: f64| HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * (value / most).clamp(0.0, 1.0);
    let mut svg = begin(title, HEIGHT);
    for step in 0..=4 {
        let value = most * f64::from(step) / 4.0;
        let at = y(value);
        svg.push_str(&format!(
            "<line class=\"grid\" x1=\"{MARGIN}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>\n",
            WIDTH - MARGIN,
            MARGIN - 6.0,
            at + 4.0,
        ));
    }
    for i in 0..n {
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{i}</text>\n",
            x(i),
            HEIGHT - MARGIN + 18.0
        ));
    }
    for (number, one) in series.iter().enumerate() {
        let aim = y(one.aim);
        svg.push_str(&format!(
            "<line class=\"aim s{number}\" x1=\"{MARGIN}\" x2=\"{:.1}\" y1=\"{aim:.1}\" y2=\"{aim:.1}\"/>\n",
            WIDTH - MARGIN
        ));
        let points: Vec<(usize, f64)> =
            one.values.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))).collect();
        let path: Vec<String> =
            points.iter().map(|(i, value)| format!("{:.1},{:.1}", x(*i), y(*value))).collect();
        svg.push_str(&format!("<polyline class=\"s{number}\" points=\"{}\"/>\n", path.join(" ")));
        for (i, value) in points {
            svg.push_str(&format!(
                "<circle class=\"s{number}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{} {value:.3}</title></circle>\n",
                x(i),
                y(value),
                escaped(one.name)
            ));
        }
        svg.push_str(&format!(
            "<text class=\"s{number}\" x=\"{:.1}\" y=\"20\">{}</text>\n",
            MARGIN + 130.0 * number as f64,
            escaped(one.name)
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Two bars for each name, between 0 and 1: precision and recall.
pub fn bars(title: &str, rows: &[(&str, [Option<f64>; 2])]) -> String {
    let mut svg = begin(title, LEGEND + BAR * rows.len() as f64 + 8.0);
    for (number, name) in ["precision", "recall"].into_iter().enumerate() {
        let x = NAMES + 130.0 * number as f64;
        svg.push_str(&format!("<text class=\"s{number}\" x=\"{x:.1}\" y=\"16\">{name}</text>\n"));
    }
    for (i, (name, values)) in rows.iter().enumerate() {
        let top = LEGEND + BAR * i as f64 + 4.0;
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            NAMES - 8.0,
            top + 14.0,
            escaped(name)
        ));
        for (number, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            svg.push_str(&format!(
                "<rect class=\"s{number}\" x=\"{NAMES}\" y=\"{:.1}\" width=\"{:.1}\" height=\"8\"><title>{value:.3}</title></rect>\n",
                top + 10.0 * number as f64,
                (WIDTH - NAMES - MARGIN) * value.clamp(0.0, 1.0),
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn begin(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_was_not_judged_has_no_point() {
        let series = Series { name: "a<b", values: vec![Some(0.5), None, Some(1.0)], aim: 0.8 };
        let svg = lines("t", 1.0, &[series]);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
        let bars = bars("t", &[("x", [Some(0.5), None])]);
        assert_eq!(bars.matches("<rect").count(), 1);
        assert!(bars.contains(">precision</text>") && bars.contains(">recall</text>"), "a legend");
    }
}
