//! What the cost of a sampled tour is compared with (Williams 1992).
//!
//! Any number that does not depend on the tour leaves the gradient's mean as it is; a good one
//! makes it less noisy.

mod exponential;
mod frozen;
mod warm_up;

pub use exponential::Exponential;
pub(super) use frozen::{Challenge, Frozen, Set};
pub use warm_up::WarmUp;

/// The mean over each instance's tours (Kwon et al. 2020, §4.2): one value for each of `costs`,
/// which hold `trajectories` tours an instance.
pub fn shared(costs: &[f64], trajectories: usize) -> Vec<f64> {
    let means = costs.chunks_exact(trajectories).map(regard_data::stats::mean);
    means.flat_map(|mean| std::iter::repeat_n(mean, trajectories)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_shared_baseline_is_the_mean_of_an_instance() {
        assert_eq!(super::shared(&[1.0, 3.0, 5.0, 6.0], 2), [2.0, 2.0, 5.5, 5.5]);
    }
}
