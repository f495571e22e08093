//! Points of mixtures of Gaussians in the plane, to be clustered.

use super::{SetBatch, Sizes};
use crate::random::Draws;
use crate::sets::mixture::{LogWeights, Mixture};

/// Sets of points, each from a mixture of its own (J. Lee et al., "Set Transformer", 2019, section 5.3
/// and `mvn_diag.py`, `mixture_of_mvns.py`): means uniform in [-4, 4]^2, deviations 0.3, weights from
/// the symmetric Dirichlet distribution of parameter 1, the component of each point by these weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mixtures {
    /// Components of every mixture; 0 counts as 1.
    pub components: usize,
    /// Points of a set.
    pub sizes: Sizes,
}

/// The distribution that a set of points was drawn from.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// The mixture.
    pub mixture: Mixture,
    /// The component of each point, `[points]`.
    pub labels: Vec<usize>,
}

/// Largest coordinate of a mean.
const RANGE: f64 = 4.0;
/// Deviation of every component in both dimensions.
const DEVIATION: f64 = 0.3;

impl Mixtures {
    /// 4 components, 100 to 500 points, as the paper's supplement says.
    #[must_use]
    pub fn paper() -> Self {
        Self { components: 4, sizes: Sizes::PerBatch(100, 500) }
    }

    /// 4 components, 300 to 599 points, as the repository draws (`randint(300, 600)`).
    #[must_use]
    pub fn repository() -> Self {
        Self { components: 4, sizes: Sizes::PerBatch(300, 599) }
    }

    /// 6 components, 1000 to 5000 points: the paper's large data set.
    #[must_use]
    pub fn large() -> Self {
        Self { components: 6, sizes: Sizes::PerBatch(1000, 5000) }
    }

    /// A batch: elements `[n, 2]`, the target is what they were drawn from.
    ///
    /// Of each set the means are drawn first, then the weights, then component and place of each point.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> SetBatch<Truth> {
        let mut draws = Draws::of_batch(seed, batch);
        let sizes = self.sizes.draw(sets, &mut draws);
        SetBatch::draw(2, &sizes, |size, features| {
            let mixture = self.mixture(&mut draws);
            let mut point = || {
                let label = drawn_from(mixture.weights(), draws.unit());
                let [x, y] = draws.normal();
                let mean = &mixture.means()[2 * label..2 * label + 2];
                features.extend([mean[0] + DEVIATION * x, mean[1] + DEVIATION * y].map(|v| v as f32));
                label
            };
            let labels = (0..size).map(|_| point()).collect();
            Truth { mixture, labels }
        })
    }

    fn mixture(&self, draws: &mut Draws) -> Mixture {
        let k = self.components.max(1);
        let means = (0..2 * k).map(|_| draws.between(-RANGE, RANGE)).collect();
        // Exponential numbers over their sum; 1 - u is never 0.
        let parts: Vec<f64> = (0..k).map(|_| -libm::log(1.0 - draws.unit())).collect();
        let sum: f64 = parts.iter().sum();
        let weights = if sum > 0.0 { parts.iter().map(|part| part / sum).collect() } else { vec![1.0 / k as f64; k] };
        Mixture::isotropic(weights, means, &vec![DEVIATION; k]).expect("weights add up to 1, deviations are above 0")
    }
}

/// The component that a number in [0, 1) falls on.
fn drawn_from(weights: &[f64], unit: f64) -> usize {
    let mut left = unit;
    for (at, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return at;
        }
    }
    // Only rounding leads here; the last one that has any weight takes it.
    weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0)
}

impl SetBatch<Truth> {
    /// Mean over the sets of the mean log-likelihood of their points under the mixtures they were drawn
    /// from: what a clustering is compared with. Sets without points are left out; NaN when there are
    /// no others.
    #[must_use]
    pub fn oracle(&self, log_weights: LogWeights) -> f64 {
        let sets = (0..self.len()).filter(|set| !self.set(*set).is_empty());
        let of_set = |set: usize| self.targets[set].mixture.mean_log_likelihood(self.set(set), log_weights);
        crate::stats::mean(&sets.map(of_set).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::adjusted_rand_index;
    use crate::sets::mixture::Em;
    use crate::stats::Summary;

    #[test]
    fn parameters_have_the_moments_of_the_paper() {
        let drawn = Mixtures { sizes: Sizes::PerSet(50, 60), ..Mixtures::paper() }.batch(1, 0, 2000);
        let summary =
            |values: fn(&Truth) -> Vec<f64>| Summary::of(&drawn.targets.iter().flat_map(values).collect::<Vec<_>>());
        let means = summary(|truth| truth.mixture.means().to_vec());
        assert!(means.mean.abs() < 0.1 && (means.standard_deviation - 8.0 / 12f64.sqrt()).abs() < 0.03, "{means:?}");
        // The variance of a weight is (k - 1) / (k^2 (k + 1)).
        let weights = summary(|truth| truth.mixture.weights().to_vec());
        let expected = (3.0f64 / 80.0).sqrt();
        assert!(
            (weights.mean - 0.25).abs() < 1e-9 && (weights.standard_deviation - expected).abs() < 0.005,
            "{weights:?}"
        );
        let mut residues = Vec::new();
        for (set, truth) in drawn.targets.iter().enumerate() {
            for (point, label) in drawn.set(set).chunks(2).zip(&truth.labels) {
                residues.push(f64::from(point[0]) - truth.mixture.means()[2 * label]);
            }
        }
        let residues = Summary::of(&residues);
        assert!(residues.mean.abs() < 0.005 && (residues.standard_deviation - 0.3).abs() < 0.003, "{residues:?}");
    }

    #[test]
    fn the_oracle_is_that_of_the_facts() {
        // 300 to 599 points: -1.474 +- 0.005, one step of EM from there -1.452.
        let (mut oracle, mut once) = (Vec::new(), Vec::new());
        for batch in 0..40 {
            let drawn = Mixtures::repository().batch(11, batch, 10);
            oracle.push(drawn.oracle(LogWeights::Repository));
            let em = Em { log_weights: LogWeights::Repository, ..Em::default() };
            once.extend((0..10).map(|set| {
                let next = em.step(&drawn.targets[set].mixture, drawn.set(set));
                next.mean_log_likelihood(drawn.set(set), LogWeights::Repository)
            }));
        }
        let (oracle, once) = (Summary::of(&oracle).mean, Summary::of(&once).mean);
        assert!((oracle + 1.474).abs() < 0.04, "{oracle}");
        assert!((once - oracle - 0.022).abs() < 0.008, "{once} {oracle}");
    }

    #[test]
    fn points_belong_where_they_were_drawn() {
        let drawn = Mixtures::repository().batch(5, 1, 20);
        let index = |set: usize| {
            let truth = &drawn.targets[set];
            adjusted_rand_index(&truth.mixture.assign(drawn.set(set), LogWeights::Exact), &truth.labels)
        };
        let mean = Summary::of(&(0..20).map(index).collect::<Vec<_>>()).mean;
        assert!(mean > 0.9, "{mean}");
    }

    #[test]
    fn batches_are_functions_of_seed_and_number() {
        let sizes =
            |drawn: &SetBatch<Truth>| drawn.offsets.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
        for batch in 0..20 {
            let drawn = Mixtures::repository().batch(2, batch, 2);
            assert!(sizes(&drawn).iter().all(|n| (300..600).contains(n) && *n == sizes(&drawn)[0]));
        }
        let drawn = Mixtures::repository().batch(1234, 5, 2);
        assert_eq!((&drawn.offsets[..], &drawn.features[..2]), (&[0, 466, 932][..], &[3.145_859_7, 3.409_1][..]));
        assert_eq!(drawn.targets[0].labels[..4], [0, 1, 1, 1]);
        assert_eq!(Mixtures::large().batch(2, 9, 1), Mixtures::large().batch(2, 9, 1));
        assert_eq!(Mixtures::large().batch(2, 9, 1).targets[0].mixture.components(), 6);
        assert_eq!(drawn_from(&[0.5, 0.5, 0.0], 0.999_999_999_999_999_9), 1);
    }
}
