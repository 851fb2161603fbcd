//! Questions that no code base answers, to see whether relevance tells them from real ones.

use super::metric::DEPTH;
use super::runner::{Opened, Runner};
use crate::query::rank::Weights;

/// Kitchen, garden, travel, music, law, …: some share words with code on purpose (`string`, `key`, `branch`, `thread`).
pub const QUESTIONS: &[&str] = &[
    "how long to simmer tomato soup with basil",
    "sourdough starter feeding schedule",
    "best way to poach an egg",
    "roast chicken with lemon and thyme",
    "knead pizza dough overnight in the fridge",
    "vegan chocolate cake without sugar",
    "which wine goes with grilled salmon",
    "pruning apple trees in late winter",
    "tomato plants with yellow leaves",
    "how often to water orchids",
    "lawn fertilizer for sandy soil",
    "bird species that migrate over the Sahara",
    "life cycle of the monarch butterfly",
    "what do hedgehogs eat in autumn",
    "how volcanoes form at plate boundaries",
    "moons of Jupiter discovered by Galileo",
    "average rainfall in Scotland in November",
    "symptoms of vitamin D deficiency",
    "stretching exercises for lower back pain",
    "how to treat a sprained ankle",
    "marathon training plan for beginners",
    "offside rule in football explained",
    "opening moves of the Sicilian defence",
    "tuning a violin string by ear",
    "chord progression of twelve bar blues",
    "who painted the Sistine chapel ceiling",
    "causes of the First World War",
    "voting rights of women in Switzerland",
    "tenant deposit return after moving house",
    "inheritance tax for married couples",
    "cheap flights from Lisbon to Madeira",
    "hotels near the railway station in Vienna",
    "how to fold an origami crane",
    "knitting pattern for a wool scarf with cables",
    "repairing a leaking kitchen tap",
    "which paint for a damp bathroom wall",
    "changing the oil of a diesel engine",
    "dog refuses to walk on the leash",
    "branch of an oak that touches the roof",
    "lost the key of my bicycle lock",
    "green thread for sewing a button on a coat",
    "mortgage interest rates compared with last year",
];

/// How well relevance tells real questions from foreign ones.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Separation {
    /// Chance that a real question's best result has a higher relevance than a foreign one's.
    pub auc: f64,
    /// For each threshold: the share of real questions with a result, of real questions whose first result is right that
    /// keep it, and of foreign questions without any result.
    pub thresholds: Vec<Threshold>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Threshold {
    pub min_score: f32,
    pub real_answered: f64,
    pub right_kept: f64,
    pub foreign_refused: f64,
}

const THRESHOLDS: &[f32] = &[0.05, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5];

/// Asks every repository of the suite its own questions and all foreign ones.
pub fn separation(runner: &Runner, weights: &Weights) -> Separation {
    let report = runner.run(weights, DEPTH);
    let real: Vec<f32> = report.questions.iter().map(|asked| asked.relevance).collect();
    let right: Vec<f32> = report
        .questions
        .iter()
        .filter(|asked| asked.scores.hit_at_1 == 1.0)
        .map(|asked| asked.relevance)
        .collect();
    let of = |query: &&str| {
        first_of_each(runner.opened())
            .map(|opened| {
                opened.rank(&opened.request(query), weights).first().map_or(0.0, |file| file.relevance)
            })
            .collect::<Vec<_>>()
    };
    let foreign: Vec<f32> = QUESTIONS.iter().flat_map(of).collect();
    let share = |all: &[f32], min: f32| {
        all.iter().filter(|&&one| one >= min).count() as f64 / all.len().max(1) as f64
    };
    Separation {
        auc: auc(&real, &foreign),
        thresholds: THRESHOLDS
            .iter()
            .map(|&min_score| Threshold {
                min_score,
                real_answered: share(&real, min_score),
                right_kept: share(&right, min_score),
                foreign_refused: 1.0 - share(&foreign, min_score),
            })
            .collect(),
    }
}

/// One revision of each repository.
fn first_of_each(opened: &[Opened]) -> impl Iterator<Item = &Opened> {
    let is_first = |i: usize| i == 0 || opened[i - 1].repository.name != opened[i].repository.name;
    opened.iter().enumerate().filter(move |(i, _)| is_first(*i)).map(|(_, opened)| opened)
}

/// Area under the curve: the chance that one of `above` is larger than one of `below`, ties counting half.
fn auc(above: &[f32], below: &[f32]) -> f64 {
    let wins: f64 = above
        .iter()
        .flat_map(|a| {
            below.iter().map(move |b| {
                if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                }
            })
        })
        .sum();
    wins / ((above.len() * below.len()).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_the_chance_to_win() {
        assert_eq!(auc(&[0.9, 0.8], &[0.1, 0.2]), 1.0);
        assert_eq!(auc(&[0.1], &[0.9]), 0.0);
        assert_eq!(auc(&[0.5], &[0.5]), 0.5);
        assert!(QUESTIONS.len() >= 40);
    }
}
