//! Paired bootstrap: the interval of the mean of differences that were measured on the same queries.
//!
//! Queries are drawn with replacement (Efron and Tibshirani 1993). With several repositories, the
//! repositories are drawn first, and then the queries of each, since queries of one repository resemble each
//! other.

/// Number of samples.
const N_SAMPLES: usize = 2000;
/// Share of samples outside of the interval, on each side.
const TAIL: f64 = 0.025;

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// Returns the mean of `groups`, each the differences of one repository, with its interval. The mean is that
/// over groups of the means of each. Zeros without differences. Equal arguments give equal results.
pub fn interval(groups: &[Vec<f64>], seed: u64) -> Interval {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    if groups.is_empty() {
        return Interval::default();
    }

    let of_groups = groups.iter().map(|group| group.iter().sum::<f64>() / group.len() as f64);
    let mean = of_groups.sum::<f64>() / groups.len() as f64;

    // The seed is fixed, so that equal arguments give equal intervals.
    let mut random = fastrand::Rng::with_seed(seed);
    let mut means: Vec<f64> = (0..N_SAMPLES).map(|_| resampled_mean(&groups, &mut random)).collect();
    means.sort_by(f64::total_cmp);

    let quantile = |share: f64| means[((N_SAMPLES - 1) as f64 * share).round() as usize];
    Interval { mean, low: quantile(TAIL), high: quantile(1.0 - TAIL) }
}

/// Draws groups, and from each its values, with replacement, and returns their mean.
fn resampled_mean(groups: &[&Vec<f64>], random: &mut fastrand::Rng) -> f64 {
    let mut sum = 0.0;
    for _ in 0..groups.len() {
        let group = groups[random.usize(..groups.len())];
        let drawn: f64 = (0..group.len()).map(|_| group[random.usize(..group.len())]).sum();
        sum += drawn / group.len() as f64;
    }

    sum / groups.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_equal_differences_is_a_point() {
        let found = interval(&[vec![0.25; 10], vec![0.25; 3]], 1);
        assert_eq!(found, Interval { mean: 0.25, low: 0.25, high: 0.25 });
        assert_eq!(interval(&[vec![]], 1), Interval::default());
    }

    #[test]
    fn each_group_counts_once_and_the_interval_holds_the_mean() {
        // 1 and 0: the mean over queries would be 0.1.
        let found = interval(&[vec![1.0], vec![0.0; 9]], 7);
        assert_eq!(found.mean, 0.5);
        assert!(found.low <= 0.0 && found.high >= 1.0, "two groups say little: {found:?}");
        assert_eq!(found, interval(&[vec![1.0], vec![0.0; 9]], 7));
    }

    #[test]
    fn more_queries_give_a_narrower_interval() {
        let group = |n: usize| vec![(0..n).map(|i| if i % 2 == 0 { 0.3 } else { -0.1 }).collect::<Vec<_>>()];
        let (few, many) = (interval(&group(20), 1), interval(&group(2000), 1));
        assert!(many.high - many.low < (few.high - few.low) / 5.0, "{few:?} {many:?}");
        // The standard error of 2,000 values of ±0.2 around 0.1 is 0.0045.
        assert!((many.low - (0.1 - 1.96 * 0.0045)).abs() < 0.001, "{many:?}");
    }
}
