//! The laws every routing problem keeps, and the problems that keep them.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard::Device;
use regard::routes::environment::ProblemEnvironment;
use regard::routes::laws::{self, LawOptions};
use regard::routes::model::AttentionModelConfig;
use regard::routing::LocalSearchOptions;
use regard::routing::generate;
use regard::routing::problems::cvrp::CvrpEnv;
use regard::routing::problems::cvrptw::CvrptwEnv;
use regard::routing::problems::op::OpEnv;
use regard::routing::problems::pctsp::PctspEnv;
use regard::routing::problems::pdp::PdpEnv;
use regard::routing::problems::sdvrp::SdvrpEnv;
use regard::routing::problems::spctsp::SpctspEnv;
use regard::routing::problems::tsp::TspEnv;
use regard::routing::{Problem, State, generate::GeneratorConfig};

#[allow(dead_code, reason = "the program's own part is not looked at")]
#[path = "../../examples/pickup_delivery.rs"]
mod of_another_program;
use of_another_program::PickupDelivery;

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

/// `problem_suite!(name, Problem, mutations)`: `mutations(problem, solution)` are lists of nodes
/// that are no solutions, made from one.
macro_rules! problem_suite {
    ($name:ident, $problem:ty, $mutations:expr) => {
        mod $name {
            use super::*;

            fn drawn(seed: u64, size: usize) -> $problem {
                <$problem>::draw(&GeneratorConfig::default(), seed, 1, size).remove(0)
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(48))]

                #[test]
                fn plans_are_execute_plan(seed in any::<u64>(), size in 1usize..40) {
                    let problem = drawn(seed, size);
                    let scenarios = problem.scenarios(3, seed);
                    let plan = random_solution(scenarios.as_ref().map_or(&problem, |all| &all[2]), seed);
                    let carried_out = problem.execute_plan(&plan);
                    prop_assert!(problem.check(&carried_out).is_ok(), "{plan:?} as {carried_out:?}");
                    match scenarios {
                        None => prop_assert_eq!(carried_out, plan),
                        Some(scenarios) => {
                            prop_assert_eq!(scenarios.len(), 3);
                            // All look alike before the first step, and where all is as planned no plan gets worse.
                            prop_assert!(scenarios.iter().all(|one| one.features() == problem.features()));
                            let cost = scenarios[2].cost(&scenarios[2].execute_plan(&plan));
                            prop_assert!(cost <= scenarios[2].cost(&plan) + 1e-9);
                        }
                    }
                }

                #[test]
                fn a_random_policy_ends_in_a_solution(seed in any::<u64>(), size in 1usize..40) {
                    for problem in [drawn(seed, size), drawn(seed, size).in_single_precision()] {
                        let solution = random_solution(&problem, seed);
                        prop_assert!(problem.check(&solution).is_ok(), "{solution:?} {:?}", problem.check(&solution));
                    }
                }

                #[test]
                fn the_same_seed_gives_the_same_instance_and_solution(seed in any::<u64>(), size in 1usize..40) {
                    let (a, b) = (drawn(seed, size), drawn(seed, size));
                    prop_assert_eq!(a.features(), b.features());
                    prop_assert_eq!(random_solution(&a, seed), random_solution(&b, seed));
                }

                #[test]
                fn all_views_keep_costs_and_solutions(seed in any::<u64>(), size in 1usize..40) {
                    let problem = drawn(seed, size);
                    let solution = random_solution(&problem, seed);
                    let cost = problem.cost(&solution);
                    for view in 0..8 {
                        let seen = problem.view(view);
                        prop_assert!((seen.cost(&solution) - cost).abs() < 1e-5 * (1.0 + cost.abs()));
                        prop_assert!(seen.check(&solution).is_ok());
                    }
                }

                #[test]
                fn the_checker_rejects_mutations(seed in any::<u64>(), size in 3usize..40) {
                    let problem = drawn(seed, size);
                    let solution = random_solution(&problem, seed);
                    let mutations: fn(&[usize]) -> Vec<Vec<usize>> = $mutations;
                    let mut all = mutations(&solution);
                    all.push([&[problem.nodes()][..], &solution].concat());
                    for mutated in all {
                        prop_assert!(problem.check(&mutated).is_err(), "{solution:?} {mutated:?}");
                    }
                }

                #[test]
                fn local_search_never_makes_it_worse(seed in any::<u64>(), size in 1usize..40) {
                    let problem = drawn(seed, size);
                    let solution = random_solution(&problem, seed);
                    let before = problem.cost(&solution);
                    let options = LocalSearchOptions { perturbations_per_node: 1, ..LocalSearchOptions::default() };
                    let better = problem.local_search(solution, &options).unwrap();
                    prop_assert!(problem.check(&better).is_ok());
                    prop_assert!(problem.cost(&better) <= before + 1e-9);
                }
            }

            #[test]
            fn features_have_their_size_and_the_depot_only_coordinates() {
                let problem = drawn(3, 11);
                let (features, wide) = (problem.features(), <$problem>::FEATURES);
                assert_eq!(features.len(), problem.nodes() * wide);
                assert!(problem.nodes() >= 11 + usize::from(<$problem>::DEPOT));
                if <$problem>::DEPOT {
                    assert!(features[2..wide].iter().all(|&number| number == 0.0));
                }
            }

            #[test]
            fn every_way_of_decoding_gives_solutions_alike_on_both_paths() {
                decoding::agrees::<$problem>();
            }

            #[test]
            fn every_parameter_learns() {
                decoding::learns::<$problem>();
            }
        }
    };
}

/// One node visited twice, or one left out.
fn twice_or_never(solution: &[usize]) -> Vec<Vec<usize>> {
    let mut twice = solution.to_vec();
    twice[0] = twice[1];
    vec![twice, solution[1..].to_vec()]
}

/// The first node visited twice; the depot alone when nothing was visited.
fn twice(solution: &[usize]) -> Vec<Vec<usize>> {
    if solution[0] == 0 { vec![] } else { vec![[&solution[..1], solution].concat()] }
}

problem_suite!(tsp, TspEnv, twice_or_never);
problem_suite!(cvrp, CvrpEnv, twice_or_never);
problem_suite!(cvrptw, CvrptwEnv, twice_or_never);
problem_suite!(sdvrp, SdvrpEnv, |solution| vec![solution[..solution.len() - 1].to_vec()]);
problem_suite!(op, OpEnv, twice);
problem_suite!(pdp, PdpEnv, |solution| vec![solution[1..].to_vec()]);
problem_suite!(pctsp, PctspEnv, |solution| [twice(solution), vec![vec![], vec![0]]].concat());
problem_suite!(pickup_delivery, PickupDelivery, |solution| vec![solution[1..].to_vec()]);
problem_suite!(spctsp, SpctspEnv, |solution| [twice(solution), vec![vec![]]].concat());

mod decoding {
    //! Decoding and learning of a network of any problem.

    use std::path::Path;

    use regard::nn::ops::with_kernels;
    use regard::nn::with_seed;
    use regard::routes::AttentionModelConfig;
    use regard::routes::RouteExperiment;
    use regard::routes::decode::{Decode, DecodeOptions};
    use regard::routes::model::AttentionModel;
    use regard::routes::train::Learner;
    use regard::routing::registry;

    use super::*;

    fn model<P: Problem>() -> AttentionModel {
        registry::register::<P>();
        let device = Device::flex();
        let small = AttentionModelConfig { width: 32, heads: 4, layers: 2, ..AttentionModelConfig::regard_tsp() };
        let config = AttentionModelConfig { problem: P::NAME.into(), feedforward_width: 64, ..small };
        with_seed(&device, 17, || AttentionModel::new(&config, &device)).expect("sizes fit")
    }

    pub(super) fn agrees<P: Problem>() {
        let model = model::<P>();
        for size in [1, 2, 7, 20] {
            let problems = P::draw(&GeneratorConfig::default(), size as u64, 4, size);
            for way in [Decode::Greedy, Decode::MultiStart(None), Decode::Sample(5), Decode::Beam(3)] {
                let options = DecodeOptions { decode: way, augment: 8, ..DecodeOptions::default() };
                let cost = |b: usize, solution: &[usize]| problems[b].cost(solution);
                let decode = || model.decode(&problems, &cost, &options).expect("a valid request");
                let (with, without) = (with_kernels(true, decode), with_kernels(false, decode));
                for ((a, b), problem) in with.iter().zip(&without).zip(&problems) {
                    problem.check(&a.tour).expect("a solution");
                    problem.check(&b.tour).expect("a solution");
                    // Samples may part where a probability is on the edge.
                    if !matches!(way, Decode::Sample(_)) {
                        assert!((a.cost - b.cost).abs() < 1e-5, "{size} {way:?} {a:?} {b:?}");
                    }
                }
            }
        }
    }

    /// Some steps of training change every parameter, with kernels and without.
    pub(super) fn learns<P: Problem>() {
        registry::register::<P>();
        let sets = ["task.problem", "data.nodes", "train.batch_size", "train.epoch_size", "model.width", "model.heads"];
        let values = [P::NAME, "9", "8", "64", "16", "2"];
        let sets: Vec<String> = sets.iter().zip(values).map(|(key, value)| format!("{key}={value}")).collect();
        let experiment = RouteExperiment::parse("", Path::new("learns"), &sets).unwrap();
        let learn = || {
            let mut learner = Learner::<P>::new(&experiment, &Device::flex()).unwrap();
            let before = learner.evaluated().unwrap().to_weights();
            for _ in 0..3 {
                assert!(learner.step().unwrap().loss.is_finite());
            }
            (before, learner.evaluated().unwrap().to_weights())
        };
        for kernels in [true, false] {
            let (before, after) = with_kernels(kernels, learn);
            for (name, array) in &after {
                assert_ne!(array.data, before[name].data, "{name} did not learn");
            }
        }
    }
}

mod rollouts {
    //! Solutions of kernels and tensor operations, by every way of decoding.

    use regard::nn::ops::with_kernels;
    use regard::nn::with_seed;
    use regard::routes::AttentionModelConfig;
    use regard::routes::decode::{Decode, DecodeOptions, Decoded};
    use regard::routes::model::AttentionModel;

    use super::*;

    fn model() -> AttentionModel {
        let device = Device::flex();
        let config = AttentionModelConfig {
            width: 32,
            heads: 4,
            layers: 2,
            feedforward_width: 64,
            ..AttentionModelConfig::regard_tsp()
        };
        with_seed(&device, 17, || AttentionModel::new(&config, &device)).expect("sizes fit")
    }

    fn decode(model: &AttentionModel, points: &[Vec<[f32; 2]>], options: &DecodeOptions) -> Vec<Decoded> {
        let problems: Vec<_> = points.iter().cloned().map(TspEnv::new).collect();
        let cost = |b: usize, tour: &[usize]| problems[b].cost(tour);
        let decoded = model.decode(&problems, &cost, options).expect("a valid request");
        for (problem, found) in problems.iter().zip(&decoded) {
            problem.check(&found.tour).expect("a tour");
            assert!((problem.cost(&found.tour) - found.cost).abs() < 1e-9);
        }
        decoded
    }

    #[test]
    fn weights_that_overflow_are_an_error_with_instance_and_step() {
        let model = model();
        let mut weights = model.to_weights();
        weights.get_mut("init_embed.bias").expect("the bias").data.fill(1e38);
        let config = AttentionModelConfig {
            width: 32,
            heads: 4,
            layers: 2,
            feedforward_width: 64,
            ..AttentionModelConfig::regard_tsp()
        };
        let model = AttentionModel::from_weights(&config, &weights, &Device::flex()).expect("finite weights");
        let problems: Vec<_> = generate::uniform(1, 3, 9).into_iter().map(TspEnv::new).collect();
        for decode in [Decode::Greedy, Decode::Sample(7), Decode::MultiStart(Some(4)), Decode::Beam(3)] {
            for (augment, kernels) in [(1, true), (8, true), (1, false)] {
                let options = DecodeOptions { decode, augment, ..DecodeOptions::default() };
                let decoded = with_kernels(kernels, || model.decode(&problems, &|_, _| 0.0, &options));
                let error = decoded.expect_err("no probability is a number").to_string();
                assert!(error.starts_with("instance 1, step "), "{error}");
                assert!(error.contains("the probability of the next node is not a number"), "{error}");
            }
        }
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

#[test]
fn networks_that_see_distances_keep_the_laws() {
    fn check<P: Problem>() {
        let options = LawOptions { nodes: 9, instances: 5, seed: 11, learn: true, distances: true };
        for law in laws::check(&ProblemEnvironment::<P>::default(), &options) {
            assert_eq!(law.broken, None, "{}: {}", P::NAME, law.name);
        }
    }
    check::<TspEnv>();
    check::<CvrpEnv>();
    check::<CvrptwEnv>();
    check::<OpEnv>();
    check::<PctspEnv>();
    check::<SpctspEnv>();
}

/// Directed distances, in every problem whose nodes are drawn by a distribution: rules, costs and search are those of the
/// matrix, and networks see it.
#[test]
fn problems_with_a_matrix_keep_the_laws() {
    use regard::nn::{ops::with_kernels, with_seed};
    use regard::routes::decode::{Decode, DecodeOptions};
    use regard::routes::model::AttentionModel;
    fn check<P: Problem>() {
        for points in [generate::Points::Hills, generate::Points::Asymmetric] {
            let config = GeneratorConfig { points, ..GeneratorConfig::default() };
            let problems = P::draw(&config, 4, 6, 12);
            for (seed, problem) in problems.iter().enumerate() {
                let solution = random_solution(problem, seed as u64);
                problem.check(&solution).unwrap();
                let cost = problem.cost(&solution);
                assert_eq!(problem.view(5).cost(&solution), cost);
                let options = LocalSearchOptions { perturbations_per_node: 1, ..LocalSearchOptions::default() };
                let better = problem.local_search(solution.clone(), &options).unwrap();
                problem.check(&better).unwrap();
                assert!(problem.cost(&better) < cost, "{} {points:?}: {cost}", P::NAME);
                let backwards: Vec<usize> = solution.iter().rev().copied().collect();
                // Over hills, a round trip climbs what it descends.
                let directed = P::EVERY_NODE_ONCE && points == generate::Points::Asymmetric;
                assert!(!directed || (problem.cost(&backwards) - cost).abs() > 1e-6);
            }
            for distances in [false, true] {
                let small =
                    AttentionModelConfig { width: 16, heads: 2, layers: 2, ..AttentionModelConfig::regard_tsp() };
                let sees = distances && !P::DYNAMIC;
                let small = AttentionModelConfig { distances: sees, distance_bias: distances, ..small };
                let config = AttentionModelConfig { problem: P::NAME.into(), feedforward_width: 32, ..small };
                let model = with_seed(&Device::flex(), 3, || AttentionModel::new(&config, &Device::flex())).unwrap();
                let mut weights = model.to_weights();
                let of_distances = |name: &str| name == "project_node_step.weight" || name.ends_with("W_pair");
                for (_, array) in weights.iter_mut().filter(|(name, _)| of_distances(name)) {
                    array.data.iter_mut().enumerate().for_each(|(at, weight)| *weight = (at as f32).sin());
                }
                let model = AttentionModel::from_weights(&config, &weights, &Device::flex()).unwrap();
                let cost = |at: usize, solution: &[usize]| problems[at].cost(solution);
                for decode in [Decode::Greedy, Decode::MultiStart(None), Decode::Beam(3)] {
                    let options = DecodeOptions { decode, augment: 8, ..DecodeOptions::default() };
                    let decode = || model.decode(&problems, &cost, &options).unwrap();
                    let (with, without) = (with_kernels(true, decode), with_kernels(false, decode));
                    for (at, (a, b)) in with.iter().zip(&without).enumerate() {
                        problems[at].check(&a.tour).unwrap();
                        assert!((a.cost - b.cost).abs() < 1e-5, "{} {distances}", P::NAME);
                        let one = problems[at..=at].to_vec();
                        let alone = model.decode(&one, &|_, solution| one[0].cost(solution), &options).unwrap();
                        assert_eq!(alone[0].tour, a.tour, "{}: one by one", P::NAME);
                    }
                }
            }
        }
    }
    check::<TspEnv>();
    check::<CvrpEnv>();
    check::<CvrptwEnv>();
    check::<SdvrpEnv>();
    check::<PdpEnv>();
}

/// A matrix of the straight distances is seen as the places alone are; another one is not.
#[test]
fn networks_see_the_distances_of_a_matrix() {
    use regard::nn::with_seed;
    use regard::routes::decode::DecodeOptions;
    use regard::routes::model::AttentionModel;
    use regard::routing::DistanceMatrix;
    use regard::routing::problem::Locations;
    let places = generate::uniform(8, 1, 15).remove(0);
    let nodes = Locations::from(places.clone());
    let matrix = |distance: &dyn Fn(usize, usize) -> f64| {
        let rows = (0..225).map(|at| distance(at / 15, at % 15)).collect();
        TspEnv::new(Locations::with_matrix(places.clone(), DistanceMatrix::from_rows(15, rows).unwrap()).unwrap())
    };
    let same = matrix(&|a, b| nodes.distance(a, b));
    let other = matrix(&|a, b| nodes.distance(a, b) + if a < b { 1.0 } else { 0.0 });
    let straight = TspEnv::new(places.clone());
    let config = AttentionModelConfig { distances: true, distance_bias: true, ..AttentionModelConfig::regard_tsp() };
    let model = with_seed(&Device::flex(), 3, || AttentionModel::new(&config, &Device::flex())).unwrap();
    for changed in ["project_node_step.weight", "embedder.layers.1.0.module.W_pair"] {
        let mut weights = model.to_weights();
        let array = weights.get_mut(changed).unwrap();
        array.data.iter_mut().enumerate().for_each(|(at, weight)| *weight = (at as f32).sin());
        let model = AttentionModel::from_weights(&config, &weights, &Device::flex()).unwrap();
        let [straight, same, other] = [&straight, &same, &other].map(|problem| {
            let decoded = model.decode(std::slice::from_ref(problem), &|_, _| 0.0, &DecodeOptions::default()).unwrap();
            decoded[0].log_likelihood
        });
        assert!((straight - same).abs() < 1e-3, "{changed}: {straight}, {same}");
        assert!((straight - other).abs() > 1e-2, "{changed}: {straight}, {other}");
    }
}

#[test]
fn distances_beside_a_number_of_the_problem_are_refused() {
    let config =
        AttentionModelConfig { problem: "sdvrp".into(), distances: true, ..AttentionModelConfig::regard_cvrp() };
    let error = config.validate().unwrap_err().to_string();
    assert!(error.contains("distances"), "{error}");
}
