//! Learning from which tour is shorter (Pan et al. 2025, "Preference Optimization for Combinatorial
//! Optimization Problems", after Bradley and Terry 1952).

/// Factor of each tour's log-likelihood with which the gradient is that of
/// `−1/(tours − 1) · Σ log σ(scale · (ℓ_i − ℓ_j)) / scale` over all pairs of an instance's tours in
/// which `i` costs less than `j`: `costs` and `log_probabilities` hold `tours` an instance. Pairs of
/// equal cost say nothing.
///
/// Divided by `scale`, the gradient stays of one size however small the scale is. As the policy that
/// sampled is the one that learns, the weights are known before the backward pass.
pub fn preference(costs: &[f64], log_probabilities: &[f32], tours: usize, scale: f64) -> Vec<f64> {
    preference_with_improved(costs, log_probabilities, [tours, 0], scale, 1.0)
}

/// As [`preference`], where `sampled` tours of each instance are followed by `improved` ones, which are no samples. A pair
/// that has one of those counts `factor` times; a cost that is NaN makes no pair.
pub(super) fn preference_with_improved(
    costs: &[f64],
    log_probabilities: &[f32],
    [sampled, improved]: [usize; 2],
    scale: f64,
    factor: f64,
) -> Vec<f64> {
    let tours = sampled + improved;
    let instances = costs.chunks_exact(tours).zip(log_probabilities.chunks_exact(tours));
    instances.flat_map(|(costs, likelihoods)| of_instance(costs, likelihoods, sampled, scale, factor)).collect()
}

fn of_instance(costs: &[f64], likelihoods: &[f32], sampled: usize, scale: f64, factor: f64) -> Vec<f64> {
    let pairs = (sampled.max(2) - 1) as f64;
    let mut weights = vec![0.0; costs.len()];
    for i in 0..costs.len() {
        for j in (0..costs.len()).filter(|&j| costs[i] < costs[j]) {
            // σ(−x): how far the policy is from preferring the shorter one.
            let margin = scale * f64::from(likelihoods[i] - likelihoods[j]);
            let counted = if i.max(j) < sampled { 1.0 } else { factor };
            let surprise = counted / (1.0 + margin.exp()) / pairs;
            weights[i] -= surprise;
            weights[j] += surprise;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: [f64; 4] = [3.0, 1.0, 2.0, 2.0];
    const LIKELIHOODS: [f32; 4] = [-1.0, -4.0, -2.5, -3.0];

    fn loss(likelihoods: [f64; 4], scale: f64) -> f64 {
        let pairs = (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).filter(|&(i, j)| COSTS[i] < COSTS[j]);
        pairs.map(|(i, j)| (1.0 + (-scale * (likelihoods[i] - likelihoods[j])).exp()).ln() / scale / 3.0).sum()
    }

    #[test]
    fn weights_are_the_derivatives_of_the_loss() {
        let scale = 0.7;
        let weights = preference(&COSTS, &LIKELIHOODS, 4, scale);
        for (k, weight) in weights.iter().enumerate() {
            let moved = |by: f64| {
                let mut at = LIKELIHOODS.map(f64::from);
                at[k] += by;
                loss(at, scale)
            };
            let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((weight - expected).abs() < 1e-8, "{k}: {weight} {expected}");
        }
        assert!(weights.iter().sum::<f64>().abs() < 1e-12);
        assert!(weights[1] < 0.0 && weights[0] > 0.0);
    }

    #[test]
    fn instances_do_not_mix_and_equals_say_nothing() {
        let costs = [COSTS, [5.0; 4]].concat();
        let weights = preference(&costs, &[LIKELIHOODS, LIKELIHOODS].concat(), 4, 0.1);
        assert_eq!(weights[..4], preference(&COSTS, &LIKELIHOODS, 4, 0.1));
        assert_eq!(weights[4..], [0.0; 4]);
    }

    #[test]
    fn pairs_with_an_improved_tour_count_by_their_factor() {
        let scale = 0.3;
        let plain = preference(&COSTS, &LIKELIHOODS, 4, scale);
        // The best tour, and one that does not count.
        let costs = [&COSTS[..], &[0.5, f64::NAN]].concat();
        let likelihoods = [&LIKELIHOODS[..], &[-9.0, -1.0]].concat();
        let with = |factor| preference_with_improved(&costs, &likelihoods, [4, 2], scale, factor);
        assert_eq!(with(0.0), [&plain[..], &[0.0, 0.0]].concat());
        let (one, two) = (with(1.0), with(2.0));
        assert!(one[4] < 0.0 && one[5] == 0.0);
        for (tour, plain) in plain.iter().chain(&[0.0, 0.0]).enumerate() {
            assert!((2.0 * (one[tour] - plain) - (two[tour] - plain)).abs() < 1e-12, "{tour}");
        }
    }
}
