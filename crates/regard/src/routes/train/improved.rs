//! Sampled tours after local search, as further tours that the policy learns from: local search inside training (Pan et
//! al. 2025, "Preference Optimization for Combinatorial Optimization Problems", use it to fine-tune) with self-imitation
//! (Oh et al. 2018, "Self-Imitation Learning").
//!
//! They are no samples of the policy, so they stay out of the baseline, and their gradient is that of imitation: an
//! improved tour becomes more likely, the more the better it is than the instance's sampled tours are on average.

use crate::Result;
use crate::routes::environment::Environment;

/// Costs that differ by a smaller share are those of one tour, summed in another order.
const ROUNDING: f64 = 1e-9;

/// Solutions of each instance, `[instances][solutions]`, node by node.
type Solutions = Vec<Vec<Vec<usize>>>;

/// Improved tours of a batch, the same number of each instance.
#[derive(Debug, Default)]
pub(super) struct Improved {
    /// Number of an instance.
    pub(super) count: usize,
    /// `[batch * count]`; NaN for a tour that repeats another one and does not count.
    pub(super) costs: Vec<f64>,
    /// Log-likelihoods, `[batch * count]`; empty where the loss does not need them.
    pub(super) log_likelihoods: Vec<f32>,
}

/// The `count` best different tours of each instance after local search, `[batch][count]`, and their costs as in
/// [`Improved::costs`]. `tours [batch][trajectories]` were sampled and have these `costs`.
///
/// # Errors
/// Those of the environment.
pub(super) fn improve<E: Environment>(
    environment: &E,
    instances: &[E::Instance],
    tours: &[Vec<&[usize]>],
    costs: &[Vec<f64>],
    count: usize,
) -> Result<(Solutions, Vec<f64>)> {
    let best = tours.iter().zip(costs).map(|(tours, costs)| {
        let places = best_different(costs, count);
        // The best tour takes the place of those that are missing, and does not count twice.
        let places = places.iter().chain(std::iter::repeat(&places[0])).take(count);
        places.map(|&place| tours[place].to_vec()).collect()
    });
    let improved = environment.improve(instances, best.collect())?;
    let solutions: Vec<Vec<&[usize]>> =
        improved.iter().map(|tours| tours.iter().map(Vec::as_slice).collect()).collect();
    let mut costs = environment.costs(instances, &solutions)?;
    costs.iter_mut().for_each(|costs| mark_repeated(costs));
    Ok((improved, costs.concat()))
}

/// Places of the least `count` costs that differ, least first; fewer where there are not as many.
fn best_different(costs: &[f64], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..costs.len()).collect();
    places.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]));
    places.dedup_by(|later, kept| equal(costs[*later], costs[*kept]));
    places.truncate(count);
    places
}

/// Makes costs NaN that equal an earlier one.
fn mark_repeated(costs: &mut [f64]) {
    for place in 1..costs.len() {
        let (before, rest) = costs.split_at_mut(place);
        if before.iter().any(|&cost| equal(cost, rest[0])) {
            rest[0] = f64::NAN;
        }
    }
}

fn equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// Weights of improved tours in REINFORCE: advantage over the instance's `baseline`, times `factor`. A tour that does not
/// count, or is no better than the baseline, has weight 0: imitation has no tours to avoid.
pub(super) fn advantages(improved: &Improved, baseline: impl Iterator<Item = f64>, factor: f64) -> Vec<f64> {
    let instances = improved.costs.chunks_exact(improved.count.max(1)).zip(baseline);
    // The minimum of NaN and 0 is 0.
    let weight = |cost: &f64, baseline: f64| factor * (cost - baseline).min(0.0);
    instances.flat_map(|(costs, baseline)| costs.iter().map(move |cost| weight(cost, baseline))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::environment::ProblemEnvironment;
    use crate::routes::model::{AttentionModel, AttentionModelConfig};
    use burn::tensor::Device;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use regard_nn::State;
    use regard_routing::generate::GeneratorConfig;
    use regard_routing::registry::{PROBLEMS, ProblemVisitor, with_problem};
    use regard_routing::{Problem, SolverInstance};

    #[test]
    fn equal_costs_are_one_tour() {
        let costs = [3.0, 1.0, 2.0, 1.0 + 1e-13, 2.5];
        assert_eq!(best_different(&costs, 3), [1, 2, 4]);
        assert_eq!(best_different(&costs, 9), [1, 2, 4, 0]);
        assert_eq!(best_different(&[2.0, 2.0], 2), [0]);
        let mut costs = [1.0, 1.5, 1.0, 1.5 - 1e-13, 0.5];
        mark_repeated(&mut costs);
        assert!(costs[2].is_nan() && costs[3].is_nan());
        assert_eq!([costs[0], costs[1], costs[4]], [1.0, 1.5, 0.5]);
    }

    #[test]
    fn advantages_are_those_over_the_mean_of_the_samples() {
        let costs = vec![1.0, f64::NAN, 4.0, 2.5];
        let improved = Improved { count: 2, costs, log_likelihoods: vec![] };
        assert_eq!(advantages(&improved, [2.0, 3.0].into_iter(), 10.0), [-10.0, 0.0, 0.0, -5.0]);
    }

    /// A solution of random steps.
    fn random_solution<P: Problem>(problem: &P, random: &mut Pcg64Mcg) -> Vec<usize> {
        let (mut state, mut open) = (problem.start(), vec![false; problem.nodes()]);
        while !state.done() {
            state.allowed(&mut open);
            let nodes: Vec<usize> = (0..open.len()).filter(|&node| open[node]).collect();
            state.step(nodes[random.random_range(0..nodes.len())]);
        }
        P::solution(&state)
    }

    /// Improves random solutions of random instances.
    struct Improve;

    impl ProblemVisitor for Improve {
        type Output = ();

        fn run<I: SolverInstance>(self) {
            let name = I::Problem::NAME;
            assert_eq!(I::Problem::HAS_LOCAL_SEARCH, !I::LOCAL_SEARCH.is_empty(), "{name}");
            let mut random = Pcg64Mcg::seed_from_u64(7);
            for (single_precision, size) in [(false, 6), (true, 15), (false, 30)] {
                let environment = ProblemEnvironment::<I::Problem>::with_precision(single_precision);
                let drawn = environment.draw(&GeneratorConfig::default(), size as u64, 6, size).unwrap();
                let instances: Vec<I::Problem> = drawn.into_iter().map(|one| environment.as_preset(one)).collect();
                let solutions: Vec<Vec<Vec<usize>>> = instances
                    .iter()
                    .map(|problem| (0..4).map(|_| random_solution(problem, &mut random)).collect())
                    .collect();
                let nodes: Vec<Vec<&[usize]>> =
                    solutions.iter().map(|tours| tours.iter().map(Vec::as_slice).collect()).collect();
                let costs = environment.costs(&instances, &nodes).unwrap();
                let on = |threads: usize| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    pool.install(|| improve(&environment, &instances, &nodes, &costs, 3).unwrap())
                };
                let (found, found_costs) = on(1);
                let bits = |costs: &[f64]| costs.iter().map(|cost| cost.to_bits()).collect::<Vec<_>>();
                let again = on(2);
                assert_eq!((&found, bits(&found_costs)), (&again.0, bits(&again.1)), "{name}");
                let mut gain = 0.0;
                for (((problem, costs), found), after) in
                    instances.iter().zip(&costs).zip(&found).zip(found_costs.chunks_exact(3))
                {
                    for ((&place, tour), after) in best_different(costs, 3).iter().zip(found).zip(after) {
                        problem.check(tour).unwrap();
                        assert!(after.is_nan() || *after == problem.cost(tour), "{name}");
                        assert!(problem.cost(tour) <= costs[place], "{name}");
                        gain += costs[place] - problem.cost(tour);
                    }
                }
                assert_eq!(gain > 0.0, I::Problem::HAS_LOCAL_SEARCH, "{name}");
                // Every step of an improved tour is one that the policy may take.
                let found: Vec<Vec<&[usize]>> =
                    found.iter().map(|tours| tours.iter().map(Vec::as_slice).collect()).collect();
                let config = AttentionModelConfig { problem: name.into(), ..AttentionModelConfig::regard_cvrp() };
                let model = AttentionModel::new(&config, &Device::flex()).unwrap();
                let tours = environment.tours(&model.rollout(), &instances, &found, 0).unwrap();
                assert_eq!(tours.shape()[..2], [6, 3], "{name}");
            }
        }
    }

    #[test]
    fn improved_tours_are_feasible_and_never_worse_in_every_problem() {
        for problem in PROBLEMS {
            with_problem(problem.name, Improve).unwrap();
        }
    }
}
