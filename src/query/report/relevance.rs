//! Relevance: how likely it is that a repository answers a report.
//!
//! As that of short queries ([`crate::query::rank::calibration`]), the relevance of the best file is a
//! probability, by logistic regression on absolute evidence. Reports have coefficients of their own: any
//! repository has most words of a long text, and that it lacks a few says little. Learned from messages of
//! commits, as they are and as reports with noise, and from the same about other repositories, by
//! `benches/reports_fit.py`.

use crate::query::rank::RankedFile;

/// What the relevance of a report follows from. Values compare between reports and repositories.
#[derive(Debug, Clone, Copy, Default, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct ReportEvidence {
    /// Cosine of the title and the nearest chunk of its best file, −1 to 1.
    pub title_cosine: f32,
    /// Share of the title, weighted by idf, that the best chunk of any file covers, 0–1.
    pub title_coverage: f32,
    /// As `title_cosine`, of the prose.
    pub text_cosine: f32,
    /// As `title_coverage`, of the whole text.
    pub text_coverage: f32,
    /// Share of the words of title and prose that no chunk has, 0–1.
    pub absent_words: f32,
    /// Share of their identifiers that no chunk has, 0–1.
    pub absent_names: f32,
    /// 1 if there are identifiers, else 0.
    pub has_names: f32,
    /// ln(1 + rows of the view) / 10, at most 1.
    pub rows: f32,
}

/// Share of the terms of a report that no chunk has.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AbsentTerms {
    /// Of words that consist of letters, 0–1.
    pub words: f32,
    /// Of identifiers, 0–1; `None` if there are none.
    pub names: Option<f32>,
}

/// Coefficients of one logistic regression.
struct Logistic {
    bias: f32,
    /// In the order of the fields of [`ReportEvidence`].
    coefficients: [f32; 8],
}

/// With words and vectors.
const HYBRID: Logistic =
    Logistic { bias: 0.57, coefficients: [6.75, 1.48, 8.48, 4.56, -4.47, -4.35, 2.46, -6.25] };

/// With words alone: the cosines are 0.
const KEYWORD: Logistic =
    Logistic { bias: 3.31, coefficients: [0.0, 3.13, 0.0, 7.01, -6.29, -5.04, 3.5, -5.82] };

impl ReportEvidence {
    /// The evidence of the best files for the title and for the text, and of the terms.
    pub fn of(title: &[RankedFile], text: &[RankedFile], absent: AbsentTerms) -> ReportEvidence {
        let [title, text] = [title, text].map(|files| files.first().map(|file| file.evidence));
        let rows = text.or(title).unwrap_or_default().rows;
        let (title, text) = (title.unwrap_or_default(), text.unwrap_or_default());
        ReportEvidence {
            title_cosine: title.cosine,
            title_coverage: title.coverage,
            text_cosine: text.cosine,
            text_coverage: text.coverage,
            absent_words: absent.words,
            absent_names: absent.names.unwrap_or_default(),
            has_names: f32::from(u8::from(absent.names.is_some())),
            rows,
        }
    }

    /// Probability that the repository answers the report, 0–1.
    pub fn probability(&self) -> f32 {
        let has_vectors = self.title_cosine != 0.0 || self.text_cosine != 0.0;
        let model = if has_vectors { HYBRID } else { KEYWORD };
        let products = self.values().into_iter().zip(model.coefficients).map(|(value, by)| value * by);
        1.0 / (1.0 + libm::expf(-(model.bias + products.sum::<f32>())))
    }

    fn values(&self) -> [f32; 8] {
        let ReportEvidence {
            title_cosine,
            title_coverage,
            text_cosine,
            text_coverage,
            absent_words,
            absent_names,
            has_names,
            rows,
        } = *self;
        [
            title_cosine,
            title_coverage,
            text_cosine,
            text_coverage,
            absent_words,
            absent_names,
            has_names,
            rows,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_makes_a_report_less_relevant() {
        let words = ReportEvidence {
            title_coverage: 0.5,
            text_coverage: 0.3,
            has_names: 1.0,
            rows: 0.8,
            ..ReportEvidence::default()
        };
        for some in [words, ReportEvidence { title_cosine: 0.3, text_cosine: 0.3, ..words }] {
            let probability = some.probability();
            assert!((0.0..=1.0).contains(&probability));
            for less in [
                ReportEvidence { absent_words: 0.5, ..some },
                ReportEvidence { absent_names: 1.0, ..some },
                ReportEvidence { text_coverage: 0.1, ..some },
            ] {
                assert!(less.probability() < probability, "{less:?}");
            }
        }
    }
}
