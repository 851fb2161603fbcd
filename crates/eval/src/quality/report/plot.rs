//! Plots as inline SVG. Colours are those of the page, so that they follow its theme.

use super::escape::escaped;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 220.0;
const MARGIN: f64 = 40.0;
/// Height of the bars of one name, with the distance to the next.
const BAR: f64 = 24.0;
/// Height of the legend of bars.
const LEGEND: f64 = 24.0;
/// Width of the names of bars.
const NAMES: f64 = 140.0;

/// A line of a plot.
pub struct Series<'a> {
    pub name: &'a str,
    /// The value of each iteration; `None` if nothing was judged.
    pub values: Vec<Option<f64>>,
    /// The value that the line should reach, drawn dashed.
    pub aim: f64,
}

/// Draws lines over iterations, from 0 to `most`.
pub fn lines(title: &str, most: f64, series: &[Series<'_>]) -> String {
    // One iteration alone has no width to divide.
    let n = series.iter().map(|it| it.values.len()).max().unwrap_or(0).max(2);
    let scale = Scale { n, most };

    let mut svg = begin(title, HEIGHT);
    grid(&mut svg, &scale);
    for (number, one) in series.iter().enumerate() {
        line(&mut svg, &scale, number, one);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The scale of a plot of lines: `n` iterations from left to right, 0 to `most` upwards.
struct Scale {
    n: usize,
    most: f64,
}

impl Scale {
    fn x(&self, i: usize) -> f64 {
        MARGIN + (WIDTH - 2.0 * MARGIN) * i as f64 / (self.n - 1) as f64
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * (value / self.most).clamp(0.0, 1.0)
    }
}

/// Draws the grid lines with their values, and the numbers of iterations.
fn grid(svg: &mut String, scale: &Scale) {
    for step in 0..=4 {
        let value = scale.most * f64::from(step) / 4.0;
        let at = scale.y(value);
        svg.push_str(&format!(
            "<line class=\"grid\" x1=\"{MARGIN}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>\n",
            WIDTH - MARGIN,
            MARGIN - 6.0,
            at + 4.0,
        ));
    }

    for i in 0..scale.n {
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{i}</text>\n",
            scale.x(i),
            HEIGHT - MARGIN + 18.0
        ));
    }
}

/// Draws the `number`th line with its aim, its points and its name in the legend.
fn line(svg: &mut String, scale: &Scale, number: usize, series: &Series<'_>) {
    let name = escaped(series.name);
    let aim = scale.y(series.aim);
    svg.push_str(&format!(
        "<line class=\"aim s{number}\" x1=\"{MARGIN}\" x2=\"{:.1}\" y1=\"{aim:.1}\" y2=\"{aim:.1}\"/>\n",
        WIDTH - MARGIN
    ));

    // The line skips iterations in which nothing was judged.
    let values = series.values.iter().enumerate();
    let points: Vec<(f64, f64, f64)> =
        values.filter_map(|(i, value)| Some((scale.x(i), scale.y((*value)?), (*value)?))).collect();
    let path: Vec<String> = points.iter().map(|(x, y, _)| format!("{x:.1},{y:.1}")).collect();
    svg.push_str(&format!("<polyline class=\"s{number}\" points=\"{}\"/>\n", path.join(" ")));
    for (x, y, value) in points {
        svg.push_str(&format!(
            "<circle class=\"s{number}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{name} {value:.3}</title></circle>\n"
        ));
    }

    svg.push_str(&format!(
        "<text class=\"s{number}\" x=\"{:.1}\" y=\"20\">{name}</text>\n",
        MARGIN + 130.0 * number as f64
    ));
}

/// Draws two bars for each name, between 0 and 1: precision and recall.
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

/// Returns the opening tag of a plot, with its title for screen readers.
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
