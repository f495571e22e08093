//! All metrics of a task at once, and their intervals.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{accuracy, average_precision, balanced_accuracy, mean_absolute_error, roc_auc, root_mean_squared_error};

/// Names and values of metrics, in the order they are shown.
pub type Metrics = Vec<(&'static str, f64)>;

/// Metrics of the class probabilities `[rows, classes]`: `accuracy`, `balanced_accuracy`, `auc`, `average_precision`,
/// `f1`, `log_loss` and `calibration_error`. `predicted` has the class that is decided for in each row, which is not
/// always the most probable one. With more than two classes `auc`, `average_precision` and `f1` are means over the
/// classes, each against all others. Metrics that are not defined for these rows are left out: `auc` needs
/// examples of both sides.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// use regard_data::metrics::class_metrics;
///
/// let found = class_metrics(&[0.9, 0.1, 0.2, 0.8], 2, &[0, 1], &[0, 1]);
/// assert_eq!(found[0], ("accuracy", 1.0));
/// ```
#[must_use]
pub fn class_metrics(probabilities: &[f64], classes: usize, predicted: &[usize], truth: &[usize]) -> Metrics {
    assert_eq!(probabilities.len(), truth.len() * classes, "a probability for each class of each row");
    let ranked = |metric: fn(&[f64], &[bool]) -> Option<f64>| {
        let of_class = |class: usize| {
            let scores: Vec<f64> = probabilities.chunks(classes).map(|row| row[class]).collect();
            metric(&scores, &truth.iter().map(|found| *found == class).collect::<Vec<_>>())
        };
        match classes {
            2 => of_class(1),
            _ => mean_of((0..classes).filter(|class| truth.contains(class)).filter_map(of_class)),
        }
    };
    let losses = probabilities.chunks(classes).zip(truth).map(|(row, class)| -row[*class].max(1e-12).ln());
    let mut all = vec![
        ("accuracy", accuracy(predicted, truth)),
        ("balanced_accuracy", balanced_accuracy(predicted, truth)),
        ("auc", ranked(roc_auc).unwrap_or(f64::NAN)),
        ("average_precision", ranked(average_precision).unwrap_or(f64::NAN)),
        ("f1", f1(predicted, truth, classes)),
        ("log_loss", mean_of(losses).unwrap_or(f64::NAN)),
        ("calibration_error", calibration_error(probabilities, classes, truth)),
    ];
    all.retain(|(_, value)| value.is_finite());
    all
}

/// Metrics of numbers: `mae`, `rmse` and `r2`; `r2` is left out where all true values are the same.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// let found = regard_data::metrics::number_metrics(&[1.0, 2.0], &[1.0, 3.0]);
/// assert_eq!(found[..2], [("mae", 0.5), ("rmse", 0.5f64.sqrt())]);
/// assert!((found[2].1 - 0.5).abs() < 1e-9);
/// ```
#[must_use]
pub fn number_metrics(predicted: &[f64], truth: &[f64]) -> Metrics {
    let rmse = root_mean_squared_error(predicted, truth);
    let variance = crate::stats::variance(truth) * truth.len().saturating_sub(1) as f64 / truth.len() as f64;
    let r2 = if variance > 0.0 { 1.0 - rmse * rmse / variance } else { f64::NAN };
    let mut all = vec![("mae", mean_absolute_error(predicted, truth)), ("rmse", rmse), ("r2", r2)];
    all.retain(|(_, value)| value.is_finite());
    all
}

/// The harmonic mean of precision and recall: of class 1 where there are two classes, else the mean over the classes
/// that occur.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn f1(predicted: &[usize], truth: &[usize], classes: usize) -> f64 {
    let counts = confusion(predicted, truth, classes);
    let of_class = |class: usize| {
        let right = counts[class * classes + class];
        let found: usize = (0..classes).map(|row| counts[row * classes + class]).sum();
        let all: usize = (0..classes).map(|column| counts[class * classes + column]).sum();
        if found + all == 0 { 0.0 } else { 2.0 * right as f64 / (found + all) as f64 }
    };
    match classes {
        2 => of_class(1),
        _ => mean_of((0..classes).filter(|class| truth.contains(class)).map(of_class)).unwrap_or(f64::NAN),
    }
}

/// Confusion matrix `[true class, predicted class]`: rows of each true class by the class that was predicted.
///
/// # Panics
/// If the lengths differ, or there is no such class.
#[must_use]
pub fn confusion(predicted: &[usize], truth: &[usize], classes: usize) -> Vec<usize> {
    assert_eq!(predicted.len(), truth.len(), "one prediction for each class");
    let mut counts = vec![0; classes * classes];
    predicted.iter().zip(truth).for_each(|(predicted, truth)| counts[truth * classes + predicted] += 1);
    counts
}

/// Bins of a reliability plot.
const BINS: usize = 10;

/// A bin of a reliability plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReliabilityBin {
    /// Mean probability of the predicted class.
    pub confidence: f64,
    /// Share of rows where it is the true one.
    pub accuracy: f64,
    /// Number of rows.
    pub rows: usize,
}

/// The reliability of probabilities `[rows, classes]`: of the most probable class, in 10 bins of equal width; empty
/// bins are left out (Guo et al. 2017, section 2).
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn reliability(probabilities: &[f64], classes: usize, truth: &[usize]) -> Vec<ReliabilityBin> {
    assert_eq!(probabilities.len(), truth.len() * classes, "a probability for each class of each row");
    let mut bins = vec![(0.0, 0usize, 0usize); BINS];
    for (row, truth) in probabilities.chunks(classes.max(1)).zip(truth) {
        let class = crate::stats::largest(row);
        let bin = &mut bins[((row[class] * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + row[class], bin.1 + usize::from(class == *truth), bin.2 + 1);
    }
    let of_bin = |(sum, right, rows): (f64, usize, usize)| ReliabilityBin {
        confidence: sum / rows as f64,
        accuracy: right as f64 / rows as f64,
        rows,
    };
    bins.into_iter().filter(|bin| bin.2 > 0).map(of_bin).collect()
}

/// Expected calibration error: the mean distance between confidence and accuracy over the bins of [`reliability`],
/// weighted by their rows.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn calibration_error(probabilities: &[f64], classes: usize, truth: &[usize]) -> f64 {
    let off = |bin: &ReliabilityBin| bin.rows as f64 * (bin.confidence - bin.accuracy).abs();
    reliability(probabilities, classes, truth).iter().map(off).sum::<f64>() / truth.len() as f64
}

/// Samples of a bootstrap.
const SAMPLES: usize = 400;

/// 95 % intervals of metrics over rows, by the percentile bootstrap with 400 samples: name, lower and upper end.
/// `metrics` computes the metrics of some rows. Metrics that are not defined in a tenth of the samples are left out.
#[must_use]
pub fn bootstrap_intervals(
    rows: usize,
    seed: u64,
    metrics: impl Fn(&[usize]) -> Metrics,
) -> Vec<(&'static str, [f64; 2])> {
    let mut found: Vec<(&'static str, Vec<f64>)> = Vec::new();
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for _ in 0..if rows > 1 { SAMPLES } else { 0 } {
        let sample: Vec<usize> = (0..rows).map(|_| random.random_range(0..rows)).collect();
        for (name, value) in metrics(&sample) {
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => found.push((name, vec![value])),
            }
        }
    }
    found.retain(|(_, values)| values.len() * 10 >= SAMPLES * 9);
    let ends = |(name, mut values): (&'static str, Vec<f64>)| {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        (name, [at(0.025), at(0.975)])
    };
    found.into_iter().map(ends).collect()
}

/// The mean; `None` of nothing.
fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_by_hand() {
        let probabilities = [0.8, 0.2, 0.6, 0.4, 0.3, 0.7, 0.9, 0.1];
        let (predicted, truth) = ([0, 0, 1, 0], [0, 1, 1, 0]);
        let found = class_metrics(&probabilities, 2, &predicted, &truth);
        let get = |name| found.iter().find(|(known, _)| *known == name).unwrap().1;
        assert_eq!((get("accuracy"), get("balanced_accuracy"), get("auc")), (0.75, 0.75, 1.0));
        assert!((get("f1") - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(confusion(&predicted, &truth, 2), [2, 0, 1, 1]);
        // Bins at 0.8, 0.6, 0.7 and 0.9: off by 0.2, 0.6, 0.3 and 0.1.
        assert!((get("calibration_error") - 0.3).abs() < 1e-12);
    }

    #[test]
    fn a_metric_that_is_not_defined_is_left_out() {
        let found = class_metrics(&[0.9, 0.1], 2, &[0], &[0]);
        assert!(found.iter().all(|(name, _)| *name != "auc") && found.iter().any(|(name, _)| *name == "accuracy"));
        assert!(number_metrics(&[1.0, 2.0], &[3.0, 3.0]).iter().all(|(name, _)| *name != "r2"));
        assert!(number_metrics(&[], &[]).is_empty());
    }

    #[test]
    fn intervals_hold_the_value_and_narrow_with_rows() {
        let width = |rows: usize| {
            let truth: Vec<f64> = (0..rows).map(|row| (row % 7) as f64).collect();
            let predicted: Vec<f64> = (0..rows).map(|row| (row % 7) as f64 + (row % 3) as f64).collect();
            let pick = |all: &[f64], rows: &[usize]| rows.iter().map(|row| all[*row]).collect::<Vec<_>>();
            let found =
                bootstrap_intervals(rows, 1, |rows| number_metrics(&pick(&predicted, rows), &pick(&truth, rows)));
            let (_, [low, high]) = found.into_iter().find(|(name, _)| *name == "mae").unwrap();
            let mae = mean_absolute_error(&predicted, &truth);
            assert!(low <= mae && mae <= high);
            high - low
        };
        assert!(width(2_000) < width(50) / 3.0);
        assert!(bootstrap_intervals(1, 1, |_| vec![("mae", 1.0)]).is_empty());
    }
}
