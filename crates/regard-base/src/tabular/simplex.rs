//! Convex mixtures of predictions (L. Breiman, "Stacked regressions", 1996).

use regard_data::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Target;
use super::target::LEAST;

/// The weight of the prior that all of a mixture is its best member, in log likelihood: what a mixture has to gain
/// before weight leaves the best.
const PRIOR: f64 = 1.0;

/// Weights below this are 0.
const NEGLIGIBLE: f64 = 0.02;

/// The fewest rows a blend is fitted to.
const FEWEST_ROWS: usize = 30;

/// The fewest rows of each class a blend is fitted to.
const FEWEST_OF_CLASS: usize = 5;

/// Weights of members, and the losses they give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blend {
    /// A weight of each member; none is negative, and they add up to 1.
    pub weights: Vec<f64>,
    /// The mean loss of each member on the rows of the fit: log loss or squared error.
    pub losses: Vec<f64>,
    /// The mean loss of the mixture on the rows of the fit.
    pub loss: f64,
}

/// Fits the weights of a mixture, such as of base learners and a network, to predictions `[rows, outputs]` of rows that
/// no member was trained on.
///
/// The weights minimise the log loss of classes or the squared error of numbers; a small prior keeps all weight with
/// the best member unless mixing gains something. Any member may have the weight 0.
///
/// # Errors
/// [`Error::Invalid`] for predictions that do not fit the target or are not finite, fewer than 30 rows, and fewer than
/// 5 rows of a class that occurs, where weights would say nothing.
///
/// ```
/// use regard_base::tabular::{Target, blend};
///
/// let truth: Vec<f64> = (0..50).map(f64::from).collect();
/// let (low, high): (Vec<f64>, Vec<f64>) = truth.iter().map(|y| (y - 1.0, y + 3.0)).unzip();
/// let found = blend(&[&low, &high], 1, &Target::Numbers(truth))?;
/// assert!((found.weights[0] - 0.75).abs() < 0.02);
/// assert!(blend(&[&[1.0], &[2.0]], 1, &Target::Numbers(vec![1.0])).is_err());
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn blend(predictions: &[&[f64]], outputs: usize, target: &Target) -> Result<Blend> {
    let refused = |reason: String| Err(Error::invalid("blend", reason));
    target.check()?;
    if predictions.is_empty() || outputs != target.outputs() {
        let reason =
            format!("{} members of {outputs} outputs, expected some of {}", predictions.len(), target.outputs());
        return refused(reason);
    }
    for (at, member) in predictions.iter().enumerate() {
        if member.len() != target.len() * outputs {
            let reason = format!("member {at} has {} numbers, expected {}", member.len(), target.len() * outputs);
            return refused(reason);
        }
        if member.iter().any(|value| !value.is_finite()) {
            return refused(format!("member {at} has predictions that are not finite"));
        }
    }
    if target.len() < FEWEST_ROWS {
        return refused(format!("{} rows cannot say which member is better, expected {FEWEST_ROWS}", target.len()));
    }
    if let Some(count) = target.class_counts().into_iter().find(|count| (1..FEWEST_OF_CLASS).contains(count)) {
        return refused(format!(
            "{count} rows of a class cannot say which member is better, expected {FEWEST_OF_CLASS}"
        ));
    }
    let weights = convex(predictions, target, &vec![1.0; target.len()]);
    let loss = target.loss(&mix(predictions, &weights));
    Ok(Blend { losses: predictions.iter().map(|member| target.loss(member)).collect(), loss, weights })
}

/// The weighted sum of predictions.
pub(crate) fn mix(predictions: &[&[f64]], weights: &[f64]) -> Vec<f64> {
    let mut mixed = vec![0.0; predictions.first().map_or(0, |first| first.len())];
    for (member, weight) in predictions.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        mixed.iter_mut().zip(*member).for_each(|(mixed, value)| *mixed += weight * value);
    }
    mixed
}

/// Weights of members that none is negative of and that add up to 1, by predictions `[rows, outputs]` of each; rows
/// have weights.
pub(crate) fn convex(predictions: &[&[f64]], target: &Target, rows: &[f64]) -> Vec<f64> {
    let members = predictions.len();
    if members < 2 || target.is_empty() {
        return vec![1.0 / members.max(1) as f64; members];
    }
    let losses: Vec<f64> = predictions
        .iter()
        .map(|member| target.losses(member).iter().zip(rows).map(|(loss, row)| loss * row).sum())
        .collect();
    let best = (0..members).fold(0, |best, at| if losses[at] < losses[best] { at } else { best });
    let fit = |kept: &[usize]| match target {
        Target::Classes { of, count } => {
            let likelihood = |member: &usize| -> Vec<f64> {
                of.iter().enumerate().map(|(row, class)| predictions[*member][row * count + class].max(LEAST)).collect()
            };
            mixture(&kept.iter().map(likelihood).collect::<Vec<_>>(), rows, place(kept, best))
        }
        Target::Numbers(numbers) => {
            let residuals =
                |member: &usize| -> Vec<f64> { numbers.iter().zip(predictions[*member]).map(|(y, p)| y - p).collect() };
            quadratic(&kept.iter().map(residuals).collect::<Vec<_>>(), rows, place(kept, best))
        }
    };
    let all: Vec<usize> = (0..members).collect();
    let first = fit(&all);
    let kept: Vec<usize> = all.into_iter().filter(|at| first[*at] >= NEGLIGIBLE || *at == best).collect();
    let mut weights = vec![0.0; members];
    let last = if kept.len() == members { first } else { fit(&kept) };
    kept.iter().zip(last).for_each(|(at, weight)| weights[*at] = if weight < NEGLIGIBLE { 0.0 } else { weight });
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

fn place(kept: &[usize], best: usize) -> usize {
    kept.iter().position(|at| *at == best).unwrap_or(0)
}

/// The weights of the greatest likelihood, by expectation and maximisation.
fn mixture(likelihoods: &[Vec<f64>], rows: &[f64], best: usize) -> Vec<f64> {
    let members = likelihoods.len();
    let mut weights = vec![1.0 / members as f64; members];
    let all: f64 = rows.iter().sum::<f64>() + PRIOR;
    for _ in 0..2000 {
        let mut next = vec![0.0; members];
        next[best] = PRIOR;
        for (row, of_row) in rows.iter().enumerate() {
            let sum: f64 = weights.iter().zip(likelihoods).map(|(weight, of)| weight * of[row]).sum();
            next.iter_mut()
                .zip(&weights)
                .zip(likelihoods)
                .for_each(|((next, weight), of)| *next += of_row * weight * of[row] / sum);
        }
        next.iter_mut().for_each(|next| *next /= all);
        let moved = next.iter().zip(&weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        weights = next;
        if moved < 1e-7 {
            break;
        }
    }
    weights
}

/// The weights of the least squared error, moving weight between two members at a time.
fn quadratic(residuals: &[Vec<f64>], rows: &[f64], best: usize) -> Vec<f64> {
    let members = residuals.len();
    let product = |a: usize, b: usize| -> f64 {
        residuals[a].iter().zip(&residuals[b]).zip(rows).map(|((a, b), row)| row * (a * b)).sum()
    };
    let products: Vec<Vec<f64>> = (0..members).map(|a| (0..members).map(|b| product(a, b)).collect()).collect();
    let variance = products[best][best] / rows.iter().sum::<f64>();
    let mut weights = vec![0.0; members];
    weights[best] = 1.0;
    if !(variance > 0.0 && variance.is_finite()) {
        return weights;
    }
    for _ in 0..300 {
        let mut moved = 0.0f64;
        for a in 0..members {
            for b in 0..a {
                // Weight `t` goes from b to a: a parabola, and the logarithm of the best member's weight.
                let slope = |member: usize| -> f64 { (0..members).map(|k| products[member][k] * weights[k]).sum() };
                let linear = (slope(a) - slope(b)) / variance;
                let bend = ((products[a][a] + products[b][b] - 2.0 * products[a][b]) / variance).max(1e-12);
                let sign = if a == best {
                    1.0
                } else if b == best {
                    -1.0
                } else {
                    0.0
                };
                let derivative = |t: f64| {
                    let prior = if sign == 0.0 { 0.0 } else { -PRIOR * sign / (weights[best] + sign * t).max(1e-12) };
                    linear + bend * t + prior
                };
                let (mut low, mut high) = (-weights[a], weights[b]);
                for _ in 0..50 {
                    let middle = 0.5 * (low + high);
                    if derivative(middle) > 0.0 {
                        high = middle;
                    } else {
                        low = middle;
                    }
                }
                let t = 0.5 * (low + high);
                let t = if t - -weights[a] < 1e-9 { -weights[a] } else { t };
                weights[a] = (weights[a] + t).max(0.0);
                weights[b] = (weights[b] - t).max(0.0);
                moved = moved.max(t.abs());
            }
        }
        if moved < 1e-7 {
            break;
        }
    }
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use regard_data::random::Draws;

    #[test]
    fn a_useless_member_has_no_weight_and_members_that_help_each_other_share() {
        let mut draws = Draws::new(1);
        let truth: Vec<f64> = (0..200).map(|_| 3.0 * draws.normal()[0]).collect();
        let mut with = |noise: f64| -> Vec<f64> { truth.iter().map(|y| y + noise * draws.normal()[0]).collect() };
        let (a, b, c) = (with(1.0), with(1.0), with(9.0));
        let found = blend(&[&a, &b, &c], 1, &Target::Numbers(truth.clone())).unwrap();
        assert!(found.weights[2] == 0.0 && found.weights[0] > 0.3 && found.weights[1] > 0.3, "{found:?}");
        assert!(found.loss < found.losses[0] && found.loss < found.losses[1]);
    }

    #[test]
    fn classes_give_the_better_member_its_weight() {
        let of: Vec<usize> = (0..100).map(|at| at % 2).collect();
        let good: Vec<f64> = of.iter().flat_map(|c| if *c == 1 { [0.1, 0.9] } else { [0.9, 0.1] }).collect();
        let found = blend(&[&[0.5; 200], &good], 2, &Target::Classes { of, count: 2 }).unwrap();
        assert_eq!(found.weights, [0.0, 1.0]);
    }

    #[test]
    fn members_that_are_the_same_leave_all_with_the_first() {
        let truth: Vec<f64> = (0..40).map(f64::from).collect();
        let same: Vec<f64> = truth.iter().map(|y| y + (y * 7.0).sin()).collect();
        let found = blend(&[&same, &same], 1, &Target::Numbers(truth)).unwrap();
        assert_eq!(found.weights, [1.0, 0.0]);
    }

    #[test]
    fn parts_that_are_too_small_are_refused() {
        let few = blend(&[&[0.5; 58], &[0.5; 58]], 2, &Target::Classes { of: vec![0; 29], count: 2 });
        assert!(few.unwrap_err().to_string().contains("29 rows"));
        let of: Vec<usize> = (0..40).map(|at| usize::from(at < 4)).collect();
        assert!(blend(&[&[0.5; 80], &[0.5; 80]], 2, &Target::Classes { of, count: 2 }).is_err());
        assert!(blend(&[&[f64::NAN; 40]], 1, &Target::Numbers(vec![0.0; 40])).is_err());
        assert!(blend(&[&[0.0; 39]], 1, &Target::Numbers(vec![0.0; 40])).is_err());
    }
}
