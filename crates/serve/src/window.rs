//! Window: the last values of a figure, with their percentiles.

use std::collections::VecDeque;

/// Number of values that are kept.
const LEN: usize = 100;

/// The last 100 values.
#[derive(Debug, Clone, Default)]
pub struct Window(VecDeque<f64>);

/// Percentiles of the values of a window.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Percentiles {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

impl Window {
    pub fn new(values: impl IntoIterator<Item = f64>) -> Window {
        let mut window = Window::default();
        values.into_iter().for_each(|value| window.push(value));
        window
    }

    pub fn push(&mut self, value: f64) {
        if self.0.len() == LEN {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The arithmetic mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.iter().sum::<f64>() / self.0.len() as f64)
    }

    /// Percentiles by nearest rank; `None` without values.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);

        let (p50, p95, p99) = (percentile(&sorted, 50)?, percentile(&sorted, 95)?, percentile(&sorted, 99)?);
        Some(Percentiles { p50, p95, p99 })
    }
}

/// The percentile of ascending values by nearest rank; `None` without values.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_last_hundred_by_nearest_rank() {
        let window = Window::new((1..=200).map(f64::from));
        assert_eq!(window.percentiles(), Some(Percentiles { p50: 150.0, p95: 195.0, p99: 199.0 }));
        assert_eq!(window.mean(), Some(150.5));
        let window = Window::new([3.0, 1.0, 2.0]);
        assert_eq!(window.percentiles(), Some(Percentiles { p50: 2.0, p95: 3.0, p99: 3.0 }));
        assert_eq!((Window::default().percentiles(), Window::default().mean()), (None, None));
    }
}
