//! Metrics of clusterings.

use std::collections::BTreeMap;

/// Adjusted Rand index of two clusterings of the same points (L. Hubert and P. Arabie, "Comparing
/// partitions", 1985): 1 for the same clusters, whatever they are called, about 0 for unrelated ones.
///
/// Two clusterings that both put every point alone, or both all points together, are the same: 1.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// use regard_data::metrics::adjusted_rand_index;
///
/// assert_eq!(adjusted_rand_index(&[0, 0, 1, 1], &[1, 1, 0, 0]), 1.0);
/// assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 0, 1, 2]) - 0.571_428_571).abs() < 1e-9);
/// ```
#[must_use]
pub fn adjusted_rand_index(a: &[usize], b: &[usize]) -> f64 {
    assert_eq!(a.len(), b.len(), "two clusters for each point");
    let (mut both, mut of_a, mut of_b) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (a, b) in a.iter().zip(b) {
        *both.entry((a, b)).or_insert(0u64) += 1;
        *of_a.entry(a).or_insert(0u64) += 1;
        *of_b.entry(b).or_insert(0u64) += 1;
    }
    let pairs = |count: u64| count as f64 * (count as f64 - 1.0) / 2.0;
    let together: f64 = both.into_values().map(pairs).sum();
    let (in_a, in_b) = (of_a.into_values().map(pairs).sum::<f64>(), of_b.into_values().map(pairs).sum::<f64>());
    let all = pairs(a.len() as u64);
    let expected = if all > 0.0 { in_a * in_b / all } else { 0.0 };
    let most = 0.5 * (in_a + in_b);
    if most == expected { 1.0 } else { (together - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::adjusted_rand_index;

    #[test]
    fn trivial_clusterings_are_the_same() {
        assert_eq!(adjusted_rand_index(&[], &[]), 1.0);
        assert_eq!(adjusted_rand_index(&[3], &[5]), 1.0);
        assert_eq!(adjusted_rand_index(&[0, 1, 2], &[2, 0, 1]), 1.0);
        assert_eq!(adjusted_rand_index(&[0, 0, 0], &[1, 1, 1]), 1.0);
        assert_eq!(adjusted_rand_index(&[0, 0, 0], &[0, 1, 2]), 0.0);
    }

    #[test]
    fn worse_than_chance_is_below_zero() {
        // The example of scikit-learn's documentation.
        assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-12);
    }
}
