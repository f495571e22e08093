//! Metrics of rankings.

/// Normalised discounted cumulative gain of the first `k` rows of one query, as LightGBM computes it:
/// gain 2^label - 1, discount 1 / log2(1 + place), rows of equal scores in the order they have.
///
/// A query without relevant rows (or without rows) counts 1.0, as in LightGBM; other programs leave
/// such queries out or count 0, so that their means are lower. A score of NaN comes last.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// let perfect = regard_data::metrics::ndcg(&[0.9, 0.5, 0.1], &[2.0, 1.0, 0.0], 5);
/// assert_eq!(perfect, 1.0);
/// ```
#[must_use]
pub fn ndcg(scores: &[f64], labels: &[f64], k: usize) -> f64 {
    assert_eq!(scores.len(), labels.len(), "one score for each label");
    let mut order: Vec<usize> = (0..scores.len()).collect();
    let key = |at: usize| if scores[at].is_nan() { f64::NEG_INFINITY } else { scores[at] + 0.0 };
    order.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
    let mut best = labels.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    let ideal = gain(best.into_iter().take(k));
    if ideal <= 0.0 {
        return 1.0;
    }
    gain(order.into_iter().take(k).map(|at| labels[at])) / ideal
}

/// Mean over queries of [`ndcg`]; rows of query `q` are `offsets[q]..offsets[q + 1]`. NaN when there
/// are no queries.
///
/// # Panics
/// If lengths or offsets do not fit.
#[must_use]
pub fn mean_ndcg(scores: &[f64], labels: &[f64], offsets: &[usize], k: usize) -> f64 {
    let of_query = |pair: &[usize]| ndcg(&scores[pair[0]..pair[1]], &labels[pair[0]..pair[1]], k);
    offsets.windows(2).map(of_query).sum::<f64>() / offsets.len().saturating_sub(1) as f64
}

/// Discounted gain of labels in this order.
fn gain(labels: impl Iterator<Item = f64>) -> f64 {
    labels.enumerate().map(|(at, label)| (label.exp2() - 1.0) / ((at + 2) as f64).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_by_hand() {
        // In order of scores the labels are 0, 2, 1; ideally 2, 1, 0.
        let (scores, labels) = ([0.5, 0.2, 0.9], [2.0, 1.0, 0.0]);
        let ideal = 3.0 + 1.0 / 3f64.log2();
        let found = 3.0 / 3f64.log2() + 1.0 / 2.0;
        assert!((ndcg(&scores, &labels, 3) - found / ideal).abs() < 1e-15);
        assert!((ndcg(&scores, &labels, 2) - 3.0 / 3f64.log2() / ideal).abs() < 1e-15);
        assert_eq!(ndcg(&scores, &labels, 1), 0.0);
    }

    #[test]
    fn queries_without_relevant_rows_count_one() {
        assert_eq!(ndcg(&[0.3, 0.1], &[0.0, 0.0], 5), 1.0);
        assert_eq!(ndcg(&[], &[], 5), 1.0);
        assert_eq!(mean_ndcg(&[0.3, 0.1], &[0.0, 1.0], &[0, 0, 2], 1), 0.5);
        assert!(mean_ndcg(&[], &[], &[0], 1).is_nan());
    }

    #[test]
    fn equal_scores_keep_their_order_and_nan_comes_last() {
        assert_eq!(ndcg(&[1.0, 1.0], &[1.0, 0.0], 1), 1.0);
        assert_eq!(ndcg(&[1.0, 1.0], &[0.0, 1.0], 1), 0.0);
        assert_eq!(ndcg(&[f64::NAN, 1.0], &[1.0, 0.0], 1), 0.0);
    }
}
