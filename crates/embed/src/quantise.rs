//! Unit vectors of f32 → int8 with one scale for a whole space.
//!
//! Components of a unit vector of `dim` dimensions have a standard deviation of `1 / sqrt(dim)`. The range is
//! four standard deviations; components outside of it are clipped. One scale for all vectors keeps dot
//! products comparable without a factor per row.

/// Name of the quantisation, part of every fingerprint. Changes when the same vector would be quantised
/// differently.
pub const QUANTISATION: &str = "i8-4sd";

/// Returns the scale of a space of `dim` dimensions: the real value of a component is `int8 / scale`.
pub fn scale_for(dim: usize) -> f32 {
    127.0 * (dim as f32).sqrt() / 4.0
}

/// Cuts `vector` to its first `dim` components, as a unit vector. With `has_layer_norm` all components are
/// standardised first: their mean is subtracted, and they are divided by their standard deviation. The zero
/// vector stays zero.
pub fn shorten(mut vector: Vec<f32>, dim: usize, has_layer_norm: bool) -> Vec<f32> {
    if has_layer_norm && vector.len() > dim {
        let n = vector.len() as f64;
        let mean = vector.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let variance = vector.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n;
        let deviation = variance.sqrt().max(f64::MIN_POSITIVE);
        vector.iter_mut().for_each(|x| *x = ((f64::from(*x) - mean) / deviation) as f32);
    }

    vector.truncate(dim);

    let norm = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / norm) as f32);
    }

    vector
}

/// Appends one row to `out`: `round(component * scale)`, halves away from zero, clipped to ±127; NaN becomes
/// 0.
pub fn quantise(unit: &[f32], scale: f32, out: &mut Vec<i8>) {
    // −128 never occurs, so that a row can be negated.
    out.extend(unit.iter().map(|component| round((component * scale).clamp(-127.0, 127.0))));
}

/// Returns `x.round() as i8` for numbers from −127 to 127. `round` itself is a function call on processors
/// without SSE 4.1.
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
    fn a_cut_vector_is_a_unit_vector_of_its_first_components() {
        assert_eq!(shorten(vec![3.0, 4.0, 12.0], 2, false), [0.6, 0.8]);
        assert_eq!(shorten(vec![0.0, 0.0, 1.0], 2, false), [0.0, 0.0]);
        let [a, b] = shorten(vec![5.0, 1.0, 1.0, 5.0], 2, true)[..] else { panic!() };
        assert!((a - 0.5f32.sqrt()).abs() < 1e-6 && (b + 0.5f32.sqrt()).abs() < 1e-6, "{a} {b}");
    }

    /// The ten nearest by int8 are the ten nearest by f32, but for a few of nearly the same distance, in
    /// spaces of all usual sizes. Points lie in clusters, as texts do.
    #[test]
    fn neighbours_survive_quantisation_in_all_dimensions() {
        const POINTS: usize = 1000;
        for dim in [256, 384, 768, 1024, 1536] {
            let mut random = fastrand::Rng::with_seed(dim as u64);
            let mut normal = move || (0..12).map(|_| random.f32() - 0.5).sum::<f32>();
            let mut point = |centre: &[f32]| {
                let spread = 0.7 / (dim as f32).sqrt();
                shorten(centre.iter().map(|x| x + spread * normal()).collect(), dim, false)
            };
            let centres: Vec<Vec<f32>> = (0..40).map(|_| point(&vec![0.0; dim])).collect();
            let points: Vec<Vec<f32>> = (0..POINTS).map(|i| point(&centres[i % 40])).collect();
            let rows: Vec<Vec<i8>> = points
                .iter()
                .map(|point| {
                    let mut row = Vec::new();
                    quantise(point, scale_for(dim), &mut row);
                    row
                })
                .collect();
            let nearest = |dots: Vec<f64>| {
                let mut all: Vec<usize> = (0..POINTS).collect();
                all.sort_by(|a, b| dots[*b].total_cmp(&dots[*a]));
                all.truncate(11);
                all
            };
            let mut n_common = 0;
            for query in 0..50 {
                let float =
                    |row: &Vec<f32>| points[query].iter().zip(row).map(|(a, b)| f64::from(a * b)).sum();
                let int = |row: &Vec<i8>| {
                    let products = rows[query].iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b));
                    f64::from(products.sum::<i32>())
                };
                let exact = nearest(points.iter().map(float).collect());
                let found = nearest(rows.iter().map(int).collect());
                n_common += found.iter().filter(|i| exact.contains(i)).count();
            }
            let recall = n_common as f64 / (50.0 * 11.0);
            println!("{dim}: recall@10 {recall:.3}");
            assert!(recall > 0.9, "{dim}: {recall}");
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
