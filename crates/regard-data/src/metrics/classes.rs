//! Metrics of classification.

/// Share of predictions that are the true class; NaN when there are none.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn accuracy(predicted: &[usize], truth: &[usize]) -> f64 {
    assert_eq!(predicted.len(), truth.len(), "one prediction for each class");
    predicted.iter().zip(truth).filter(|(p, t)| p == t).count() as f64 / truth.len() as f64
}

/// Mean over the classes that occur in `truth` of the share of each that is found; NaN when there are
/// none.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// use regard_data::metrics::{accuracy, balanced_accuracy};
///
/// let (predicted, truth) = ([0, 0, 0, 0], [0, 0, 0, 1]);
/// assert_eq!((accuracy(&predicted, &truth), balanced_accuracy(&predicted, &truth)), (0.75, 0.5));
/// ```
#[must_use]
pub fn balanced_accuracy(predicted: &[usize], truth: &[usize]) -> f64 {
    assert_eq!(predicted.len(), truth.len(), "one prediction for each class");
    let mut counts = std::collections::BTreeMap::new();
    for (p, t) in predicted.iter().zip(truth) {
        let (found, all) = counts.entry(*t).or_insert((0usize, 0usize));
        *found += usize::from(p == t);
        *all += 1;
    }
    counts.values().map(|(found, all)| *found as f64 / *all as f64).sum::<f64>() / counts.len() as f64
}

/// Area under the receiver operating curve: the probability that a positive has a higher score than a
/// negative, equal scores counting one half. `None` when one of the classes is absent, or a score is
/// NaN.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// assert_eq!(regard_data::metrics::roc_auc(&[0.1, 0.4, 0.4, 0.8], &[false, false, true, true]), Some(0.875));
/// ```
#[must_use]
pub fn roc_auc(scores: &[f64], positive: &[bool]) -> Option<f64> {
    let (mut below, mut area) = (0.0, 0.0);
    for tie in ties(scores, positive)?.iter().rev() {
        area += tie.positives * (below + 0.5 * tie.negatives);
        below += tie.negatives;
    }
    let positives = positive.iter().filter(|p| **p).count() as f64;
    (positives > 0.0 && below > 0.0).then(|| area / (positives * below))
}

/// Average precision: the precision at each score, weighted by the share of positives that have that
/// score; equal scores are taken together, nothing is interpolated (scikit-learn's definition). `None`
/// when there are no positives, or a score is NaN.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn average_precision(scores: &[f64], positive: &[bool]) -> Option<f64> {
    let (mut found, mut taken, mut sum) = (0.0, 0.0, 0.0);
    for tie in ties(scores, positive)? {
        found += tie.positives;
        taken += tie.positives + tie.negatives;
        sum += tie.positives * found / taken;
    }
    (found > 0.0).then(|| sum / found)
}

/// The numbers of positives and negatives of one score.
struct Tie {
    positives: f64,
    negatives: f64,
}

/// All different scores, the highest first.
fn ties(scores: &[f64], positive: &[bool]) -> Option<Vec<Tie>> {
    assert_eq!(scores.len(), positive.len(), "one score for each label");
    if scores.iter().any(|score| score.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let groups = order.chunk_by(|&a, &b| scores[a] == scores[b]);
    let tie = |group: &[usize]| {
        let positives = group.iter().filter(|at| positive[**at]).count();
        Tie { positives: positives as f64, negatives: (group.len() - positives) as f64 }
    };
    Some(groups.map(tie).collect())
}

/// Accuracy of one batch as the published code computes it (`accuracy_SBM` of graphtransformer and
/// benchmarking-gnns), as a share of 1: the mean over classes of the share of each that is found.
///
/// Classes are those that occur among predictions or in truth. The code indexes them by their place among
/// these but compares nodes with the place itself, so that where a class is absent, those above it are
/// counted wrongly; this does the same. The published numbers are means of it over batches, which depend
/// on how batches are cut: [`balanced_accuracy`](super::balanced_accuracy) over all nodes does not. NaN
/// when there are no nodes.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// use regard_data::metrics::accuracy_sbm;
///
/// assert_eq!(accuracy_sbm(&[0, 0, 1, 0], &[0, 0, 1, 1]), 0.75);
/// // Class 1 is absent, so class 2 stands at place 1, where no node is.
/// assert_eq!(accuracy_sbm(&[0, 2], &[0, 2]), 0.5);
/// ```
#[must_use]
pub fn accuracy_sbm(predicted: &[usize], truth: &[usize]) -> f64 {
    assert_eq!(predicted.len(), truth.len(), "one prediction for each class");
    let mut classes: Vec<usize> = predicted.iter().chain(truth).copied().collect();
    classes.sort_unstable();
    classes.dedup();
    let share = |(place, class): (usize, &usize)| {
        let nodes = truth.iter().filter(|t| **t == place).count();
        let found = predicted.iter().zip(truth).filter(|(p, t)| *p == class && *t == class).count();
        if nodes == 0 { 0.0 } else { found as f64 / nodes as f64 }
    };
    classes.iter().enumerate().map(share).sum::<f64>() / classes.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_hand() {
        assert_eq!(accuracy(&[0, 1, 2, 2], &[0, 1, 1, 2]), 0.75);
        assert_eq!(balanced_accuracy(&[0, 1, 2, 2], &[0, 1, 1, 2]), 2.5 / 3.0);
        assert!(accuracy(&[], &[]).is_nan() && balanced_accuracy(&[], &[]).is_nan());
    }

    #[test]
    fn average_precision_is_that_of_scikit_learn() {
        // The example of its documentation.
        let ap = average_precision(&[0.1, 0.4, 0.35, 0.8], &[false, false, true, true]).unwrap();
        assert!((ap - 0.833_333_333).abs() < 1e-9, "{ap}");
        assert_eq!(average_precision(&[1.0; 4], &[true, false, false, false]), Some(0.25));
        assert_eq!(average_precision(&[1.0], &[false]), None);
        assert_eq!(average_precision(&[f64::NAN], &[true]), None);
    }

    #[test]
    fn one_class_alone_has_no_area() {
        assert_eq!(roc_auc(&[1.0, 2.0], &[true, true]), None);
        assert_eq!(roc_auc(&[], &[]), None);
        assert_eq!(roc_auc(&[0.0, -0.0], &[true, false]), Some(0.5));
        assert_eq!(roc_auc(&[f64::NEG_INFINITY, f64::INFINITY], &[false, true]), Some(1.0));
    }

    #[test]
    fn both_agree_where_every_class_occurs() {
        let (predicted, truth) = ([0, 1, 2, 2, 1, 0], [0, 1, 1, 2, 2, 2]);
        assert!((accuracy_sbm(&predicted, &truth) - balanced_accuracy(&predicted, &truth)).abs() < 1e-15);
        assert!(accuracy_sbm(&[], &[]).is_nan());
    }
}
