//! Probabilities from scores (J. Platt, "Probabilistic outputs for support vector machines", 1999).

use serde::{Deserialize, Serialize};

use super::descent::minimise;

/// A slope and a bias of each class, by which scores become probabilities.
///
/// Two classes have one score, that of class 1; more have one each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    slope: f64,
    biases: Vec<f64>,
}

impl Calibration {
    /// Fits slope and biases to `scores [rows, width]` of rows that were not trained on. Targets are pulled from 0 and 1
    /// as in Platt's paper, so that separable scores have a finite slope; the slope is never negative.
    pub(crate) fn fit(scores: &[f64], classes: &[usize], weights: &[f64], count: usize) -> Self {
        let width = if count == 2 { 1 } else { count };
        let mut of_class = vec![0usize; count];
        classes.iter().for_each(|class| of_class[*class] += 1);
        let all: f64 = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        // Scores of one size whatever the learner, so that the start fits.
        let size = (scores.iter().map(|score| score * score).sum::<f64>() / scores.len().max(1) as f64).sqrt();
        let size = if size > 0.0 && size.is_finite() { size } else { 1.0 };
        let fit = |sloped: bool| {
            let mut start = vec![0.0; 1 + width];
            start[0] = f64::from(u8::from(sloped));
            minimise(&start, 200, 1e-10, |at, slope| {
                slope.fill(0.0);
                let mut loss = 0.0;
                let mut p = vec![0.0; count];
                for ((score, class), weight) in scores.chunks(width).zip(classes).zip(weights) {
                    let own = (of_class[*class] as f64 + 1.0) / (of_class[*class] as f64 + 2.0);
                    let other = (1.0 - own) / (count - 1) as f64;
                    let values: Vec<f64> = score.iter().zip(&at[1..]).map(|(s, b)| at[0] * s / size + b).collect();
                    log_probabilities(&values, &mut p);
                    for (k, p) in p.iter().enumerate() {
                        let wanted = if k == *class { own } else { other };
                        loss -= weight / all * wanted * p;
                        let output = if width == 1 { k.checked_sub(1) } else { Some(k) };
                        if let Some(output) = output {
                            let error = weight / all * (p.exp() - wanted);
                            slope[1 + output] += error;
                            slope[0] += error * score[output] / size;
                        }
                    }
                }
                if !sloped {
                    slope[0] = 0.0;
                }
                loss
            })
        };
        let mut found = fit(true);
        if found[0] <= 0.0 || found.iter().any(|value| !value.is_finite()) {
            found = fit(false);
        }
        Self { slope: found[0] / size, biases: found[1..].to_vec() }
    }

    /// The probabilities of one row of scores.
    pub(crate) fn apply(&self, scores: &[f64], output: &mut [f64]) {
        let values: Vec<f64> = scores.iter().zip(&self.biases).map(|(s, b)| self.slope * s + b).collect();
        probabilities(&values, output);
    }
}

/// The probabilities of the values of one row: one value of class 1 for two classes, else one of each.
pub(crate) fn probabilities(values: &[f64], output: &mut [f64]) {
    log_probabilities(values, output);
    output.iter_mut().for_each(|p| *p = p.exp());
}

/// Writes the logarithms of the probabilities.
pub(crate) fn log_probabilities(values: &[f64], output: &mut [f64]) {
    const FARTHEST: f64 = 700.0;
    let finite = |value: f64| if value.is_nan() { 0.0 } else { value.clamp(-FARTHEST, FARTHEST) };
    if let [value] = values {
        output[0] = 0.0;
        output[1] = finite(*value);
    } else {
        output.iter_mut().zip(values).for_each(|(output, value)| *output = finite(*value));
    }
    let highest = output.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let norm = highest + output.iter().map(|value| (value - highest).exp()).sum::<f64>().ln();
    output.iter_mut().for_each(|value| *value -= norm);
}

/// The scores that probabilities of one row are made of: log odds of two classes, else logarithms.
pub(crate) fn scores(probabilities: &[f64]) -> Vec<f64> {
    let log = |p: f64| p.clamp(1e-6, 1.0 - 1e-6).ln();
    match probabilities {
        [a, b] => vec![log(*b) - log(*a)],
        _ => probabilities.iter().map(|p| log(*p)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_become_frequencies() {
        // Half of the rows with the score 1 and all but a tenth of those with 3 are of class 1.
        let mut scores = Vec::new();
        let mut classes = Vec::new();
        for at in 0..2000 {
            scores.push(if at < 1000 { 1.0 } else { 3.0 });
            classes.push(usize::from(if at < 1000 { at % 2 == 0 } else { at % 10 != 0 }));
        }
        let calibration = Calibration::fit(&scores, &classes, &vec![1.0; 2000], 2);
        let mut output = [0.0; 2];
        calibration.apply(&[1.0], &mut output);
        assert!((output[1] - 0.5).abs() < 0.01, "{output:?}");
        calibration.apply(&[3.0], &mut output);
        assert!((output[1] - 0.9).abs() < 0.01, "{output:?}");
        calibration.apply(&[f64::NAN], &mut output);
        assert!(output[1].is_finite());
    }

    #[test]
    fn scores_that_rank_the_wrong_way_are_ignored() {
        let calibration = Calibration::fit(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 0, 0], &[1.0; 4], 2);
        assert_eq!(calibration.slope, 0.0);
    }
}
