//! The laws every routing problem keeps, and the problems that keep them.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard::Device;
use regard::data::routes::generate;
use regard::routes::problem::{Problem, State};
use regard::routes::tsp::TravellingSalesman;

/// Builds a solution by choosing among the allowed nodes with `pick`; panics where a law breaks.
fn construct<P: Problem>(problem: &P, mut pick: impl FnMut(&[usize]) -> usize) -> Vec<usize> {
    let nodes = problem.nodes();
    let mut state = problem.start();
    let mut open = vec![false; nodes];
    for _ in 0..=4 * nodes + 4 {
        if state.done() {
            return P::solution(&state);
        }
        state.allowed(&mut open);
        let allowed: Vec<usize> = (0..nodes).filter(|&node| open[node]).collect();
        assert!(!allowed.is_empty(), "the mask is empty before the end");
        let node = pick(&allowed);
        state.step(node);
        assert_eq!(state.last(), Some(node), "the last node is the one just visited");
    }
    panic!("the solution does not end");
}

fn random_solution<P: Problem>(problem: &P, seed: u64) -> Vec<usize> {
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    construct(problem, |allowed| allowed[generator.random_range(0..allowed.len())])
}

/// `problem_suite!(name, generator)`: `generator(seed, nodes)` makes an instance.
macro_rules! problem_suite {
    ($name:ident, $generate:expr) => {
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(48))]

                #[test]
                fn a_random_policy_ends_in_a_solution(seed in any::<u64>(), nodes in 1usize..40) {
                    let problem = $generate(seed, nodes);
                    let solution = random_solution(&problem, seed);
                    prop_assert!(problem.check(&solution).is_ok(), "{solution:?}");
                }

                #[test]
                fn the_same_seed_gives_the_same_instance_and_solution(seed in any::<u64>(), nodes in 1usize..40) {
                    let (a, b) = ($generate(seed, nodes), $generate(seed, nodes));
                    prop_assert_eq!(a.features(), b.features());
                    prop_assert_eq!(random_solution(&a, seed), random_solution(&b, seed));
                }

                #[test]
                fn all_views_keep_costs_and_solutions(seed in any::<u64>(), nodes in 1usize..40) {
                    let problem = $generate(seed, nodes);
                    let solution = random_solution(&problem, seed);
                    let cost = problem.cost(&solution);
                    for view in 0..8 {
                        let seen = problem.view(view);
                        prop_assert!((seen.cost(&solution) - cost).abs() < 1e-5 * (1.0 + cost));
                        prop_assert!(seen.check(&solution).is_ok());
                    }
                }

                #[test]
                fn the_checker_rejects_mutations(seed in any::<u64>(), nodes in 3usize..40) {
                    let problem = $generate(seed, nodes);
                    let solution = random_solution(&problem, seed);
                    let mut twice = solution.clone();
                    twice[0] = twice[1];
                    prop_assert!(problem.check(&twice).is_err());
                    prop_assert!(problem.check(&solution[1..]).is_err());
                    let mut outside = solution.clone();
                    outside[0] = nodes;
                    prop_assert!(problem.check(&outside).is_err());
                }
            }

            #[test]
            fn features_have_their_size() {
                let problem = $generate(3, 11);
                assert_eq!(problem.features().len(), problem.nodes() * features(&problem));
            }

            fn features<P: Problem>(_: &P) -> usize {
                P::FEATURES
            }
        }
    };
}

problem_suite!(tsp, |seed, nodes| {
    let [points] = generate::uniform(seed, 1, nodes).try_into().expect("one instance");
    TravellingSalesman::new(points)
});

mod rollouts {
    //! What kernels and tensor operations construct, by every way of decoding.

    use regard::nn::ops::with_kernels;
    use regard::routes::decode::{Decode, DecodeOptions, Decoded};
    use regard::routes::model::AttentionModel;
    use regard::store::config::AttentionModelConfig;

    use super::*;

    fn model() -> AttentionModel {
        let device = Device::flex();
        device.seed(17);
        let config = AttentionModelConfig {
            width: 32,
            heads: 4,
            layers: 2,
            feed_forward: 64,
            ..AttentionModelConfig::regard_tsp()
        };
        AttentionModel::new(&config, &device).expect("sizes fit")
    }

    fn decode(model: &AttentionModel, points: &[Vec<[f32; 2]>], options: &DecodeOptions) -> Vec<Decoded> {
        let problems: Vec<_> = points.iter().cloned().map(TravellingSalesman::new).collect();
        let cost = |b: usize, tour: &[usize]| problems[b].cost(tour);
        let decoded = model.decode(points, &cost, options).expect("a valid request");
        for (problem, found) in problems.iter().zip(&decoded) {
            problem.check(&found.tour).expect("a tour");
            assert!((problem.cost(&found.tour) - found.cost).abs() < 1e-9);
        }
        decoded
    }

    #[test]
    fn kernels_and_tensor_operations_construct_the_same() {
        let model = model();
        for n in [1, 2, 3, 7, 16, 17, 33, 50] {
            let points = generate::uniform(n as u64, 5, n);
            for way in [Decode::Greedy, Decode::MultiStart(Some(4)), Decode::Beam(3)] {
                let options = DecodeOptions { decode: way, augment: 8, ..DecodeOptions::default() };
                let with = with_kernels(true, || decode(&model, &points, &options));
                let without = with_kernels(false, || decode(&model, &points, &options));
                for (a, b) in with.iter().zip(&without) {
                    assert!((a.log_likelihood - b.log_likelihood).abs() < 1e-3, "{n} {way:?} {a:?} {b:?}");
                    assert!((a.cost - b.cost).abs() < 1e-5, "{n} {way:?}");
                }
            }
        }
    }

    #[test]
    fn a_batch_is_its_instances_one_by_one() {
        let model = model();
        let points = generate::uniform(5, 9, 21);
        for way in [Decode::Greedy, Decode::Beam(4), Decode::MultiStart(None)] {
            let options = DecodeOptions { decode: way, ..DecodeOptions::default() };
            let together = decode(&model, &points, &options);
            for (points, found) in points.chunks(1).zip(together) {
                let alone = decode(&model, points, &options).remove(0);
                assert_eq!(alone.tour, found.tour, "{way:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_samples_the_same_tours_whatever_the_threads() {
        let model = model();
        let points = generate::uniform(6, 4, 30);
        let options = DecodeOptions { decode: Decode::Sample(20), ..DecodeOptions::default() };
        let first = decode(&model, &points, &options);
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            assert_eq!(pool.install(|| decode(&model, &points, &options)), first);
        }
        let other = DecodeOptions { seed: 99, ..options };
        assert_ne!(decode(&model, &points, &other), first);
    }

    #[test]
    fn more_trajectories_are_never_worse() {
        let model = model();
        let points = generate::uniform(7, 6, 25);
        let greedy = decode(&model, &points, &DecodeOptions::default());
        let options = DecodeOptions { augment: 8, ..DecodeOptions::default() };
        for (greedy, best) in greedy.iter().zip(decode(&model, &points, &options)) {
            assert!(best.cost <= greedy.cost + 1e-9);
        }
    }
}
