//! Unit vectors of f32 → int8 with one scale for a whole space.
//!
//! Components of a unit vector of `dim` dimensions have a standard deviation of `1 / sqrt(dim)`. The range is
//! four standard deviations; components outside of it are clipped. One scale for all vectors keeps dot
//! products comparable without a factor per row.

/// Name of the quantisation, part of every fingerprint. Changes when the same vector would be quantised
/// differently.
pub const QUANTISATION: &str = "i8-4sd";

/// The scale of a space of `dim` dimensions: the real value of a component is `int8 / scale`.
pub fn scale_for(dim: usize) -> f32 {
    127.0 * (dim as f32).sqrt() / 4.0
}

/// Appends one row to `out`: `round(component * scale)`, halves away from zero, clipped to ±127; NaN becomes
/// 0.
pub fn quantise(unit: &[f32], scale: f32, out: &mut Vec<i8>) {
    // −128 never occurs, so that a row can be negated.
    out.extend(unit.iter().map(|component| round((component * scale).clamp(-127.0, 127.0))));
}

/// `x.round() as i8` for numbers from −127 to 127. `round` itself is a function call on processors without
/// SSE 4.1.
fn round(x: f32) -> i8 {
    // `as` maps NaN to zero.
    let whole = x as i32;
    let rest = x - whole as f32;
    (whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_clips_and_survives_nan() {
        let mut out = Vec::new();
        quantise(&[0.0, 0.1, -0.1, 2.0, -2.0, f32::NAN, f32::INFINITY], 100.0, &mut out);
        assert_eq!(out, [0, 10, -10, 127, -127, 0, 127]);
    }

    #[test]
    fn rounding_equals_that_of_the_standard_library() {
        let near = |x: f32| [x.next_down(), x, x.next_up()];
        let halves = (-254..=254).map(|half| half as f32 / 2.0);
        for x in halves.flat_map(near).chain(near(0.5)).chain([0.0, -0.0, f32::NAN, f32::MIN_POSITIVE]) {
            assert_eq!(round(x), x.round() as i8, "{x:?}");
        }
    }

    #[test]
    fn dot_products_survive_quantisation() {
        let mut random = fastrand::Rng::with_seed(3);
        let dim = 256;
        let mut unit = || {
            let raw: Vec<f32> = (0..dim).map(|_| (0..12).map(|_| random.f32() - 0.5).sum()).collect();
            let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
            raw.iter().map(|x| x / norm).collect::<Vec<f32>>()
        };
        let scale = scale_for(dim);
        assert_eq!(scale, 508.0);
        for _ in 0..100 {
            let (a, b) = (unit(), unit());
            let b: Vec<f32> = a.iter().zip(&b).map(|(a, b)| (a + b) / 2f32.sqrt()).collect();
            let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let (mut qa, mut qb) = (Vec::new(), Vec::new());
            quantise(&a, scale, &mut qa);
            quantise(&b, scale, &mut qb);
            let dot: i32 = qa.iter().zip(&qb).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            assert!((dot as f32 / (scale * scale) - exact).abs() < 0.01);
        }
    }
}
