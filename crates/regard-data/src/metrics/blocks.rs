//! Accuracy of nodes' classes as the stochastic block model benchmarks report it.

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
    use crate::metrics::balanced_accuracy;

    #[test]
    fn both_agree_where_every_class_occurs() {
        let (predicted, truth) = ([0, 1, 2, 2, 1, 0], [0, 1, 1, 2, 2, 2]);
        assert!((accuracy_sbm(&predicted, &truth) - balanced_accuracy(&predicted, &truth)).abs() < 1e-15);
        assert!(accuracy_sbm(&[], &[]).is_nan());
    }
}
