//! Relevance: the probability that a repository answers a report.
//!
//! By logistic regression on absolute evidence, as for short queries ([`crate::query::rank::calibration`]),
//! with separate coefficients: nearly every repository has most words of a long text, and lacks a few even if
//! it answers it. `benches/reports_fit.py` learned them from messages of commits, as they are and as reports
//! with noise, for their own and for other repositories.

use crate::query::rank::{RankedFile, calibration};
use crate::query::response::ReportEvidence;

/// Share of the terms of a report that no chunk has.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AbsentTerms {
    /// The share of words that consist of letters, 0–1.
    pub words: f32,
    /// The share of identifiers, 0–1; `None` if there are none.
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

/// With words alone: the cosines are 0. Learned from the evidence of hybrid searches without the cosines.
const KEYWORD: Logistic =
    Logistic { bias: 3.31, coefficients: [0.0, 3.13, 0.0, 7.01, -6.29, -5.04, 3.5, -5.82] };

/// Collects the evidence of the best files for the title and for the text, and of the terms. If one of
/// the searches found nothing, for lack of time, the evidence of the other counts for both.
pub fn evidence(title: &[RankedFile], text: &[RankedFile], absent: AbsentTerms) -> ReportEvidence {
    let best_by_title = title.first().map(|file| file.evidence);
    let best_by_text = text.first().map(|file| file.evidence);
    let title = best_by_title.or(best_by_text).unwrap_or_default();
    let text = best_by_text.or(best_by_title).unwrap_or_default();

    ReportEvidence {
        title_cosine: title.cosine,
        title_coverage: title.coverage,
        text_cosine: text.cosine,
        text_coverage: text.coverage,
        absent_words: absent.words,
        absent_names: absent.names.unwrap_or_default(),
        has_names: f32::from(u8::from(absent.names.is_some())),
        rows: text.rows,
    }
}

/// Returns the probability that the repository answers a report with this evidence, 0–1. `has_vectors` says
/// whether there are cosines.
pub fn probability(evidence: &ReportEvidence, has_vectors: bool) -> f32 {
    let Logistic { bias, coefficients } = if has_vectors { HYBRID } else { KEYWORD };
    calibration::probability(bias, &coefficients, &evidence.values())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evidence of an own report, as it is typical.
    const OWN: ReportEvidence = ReportEvidence {
        title_cosine: 0.5,
        title_coverage: 0.7,
        text_cosine: 0.55,
        text_coverage: 0.5,
        absent_words: 0.1,
        absent_names: 0.1,
        has_names: 1.0,
        rows: 0.8,
    };

    #[test]
    fn each_piece_of_evidence_has_its_effect() {
        for has_vectors in [true, false] {
            let own = probability(&OWN, has_vectors);
            assert!((0.9..=1.0).contains(&own), "{own}");
            for less in [
                ReportEvidence { title_coverage: 0.3, ..OWN },
                ReportEvidence { text_coverage: 0.2, ..OWN },
                ReportEvidence { absent_words: 0.5, ..OWN },
                ReportEvidence { absent_names: 1.0, ..OWN },
                ReportEvidence { rows: 1.0, ..OWN },
            ] {
                assert!(probability(&less, has_vectors) < own, "{less:?}");
            }
        }
        for less in [ReportEvidence { title_cosine: 0.2, ..OWN }, ReportEvidence { text_cosine: 0.2, ..OWN }]
        {
            assert!(probability(&less, true) < probability(&OWN, true), "{less:?}");
            assert_eq!(probability(&less, false), probability(&OWN, false), "there are no vectors");
        }
    }

    #[test]
    fn a_report_about_other_code_is_refused() {
        let foreign = ReportEvidence {
            title_cosine: 0.2,
            title_coverage: 0.3,
            text_cosine: 0.25,
            text_coverage: 0.2,
            absent_words: 0.5,
            absent_names: 0.9,
            ..OWN
        };
        for has_vectors in [true, false] {
            assert!(probability(&foreign, has_vectors) < 0.3);
        }
    }

    #[test]
    fn a_search_that_found_nothing_is_no_evidence() {
        assert_eq!(evidence(&[], &[], AbsentTerms::default()), ReportEvidence::default());
    }
}
