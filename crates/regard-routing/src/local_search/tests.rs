//! The laws of the search.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_pcg::Pcg64Mcg;

use super::*;

fn random_points(seed: u64, n: usize) -> Vec<[f64; 2]> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..n).map(|_| [random.random(), random.random()]).collect()
}

fn shuffled(seed: u64, n: usize) -> Vec<usize> {
    let mut tour: Vec<usize> = (0..n).collect();
    tour.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
    tour
}

fn few(perturbations_per_node: usize) -> LocalSearchOptions {
    LocalSearchOptions { perturbations_per_node, ..LocalSearchOptions::default() }
}

fn improved(points: Vec<[f64; 2]>, perturbations_per_node: usize) -> (Sites, Vec<usize>, Improvement) {
    let instance = Sites::euclidean("test", points).unwrap();
    let mut tour = shuffled(1, instance.len());
    let improvement = improve(&instance, &mut tour, &few(perturbations_per_node));
    crate::check::tour(instance.ids(), &tour).unwrap();
    assert_eq!(improvement.after, instance.tour_length(&tour));
    (instance, tour, improvement)
}

/// The shortest of all tours, one after the other.
fn shortest_by_trying_all(instance: &Sites, tour: &mut Vec<usize>, place: usize) -> f64 {
    if place >= tour.len() {
        return instance.tour_length(tour);
    }
    let mut best = f64::INFINITY;
    for other in place..tour.len() {
        tour.swap(place, other);
        best = best.min(shortest_by_trying_all(instance, tour, place + 1));
        tour.swap(place, other);
    }
    best
}

#[test]
fn a_crossing_is_undone() {
    let instance = Sites::euclidean("square", vec![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]).unwrap();
    let mut tour = vec![0, 1, 2, 3];
    let improvement = improve(&instance, &mut tour, &LocalSearchOptions::default());
    assert_eq!((improvement.after, tour), (4.0, vec![0, 2, 1, 3]));
}

#[test]
fn points_on_a_circle_come_out_in_order_by_local_moves_alone() {
    let n = 40;
    let angle = |i: usize| std::f64::consts::TAU * i as f64 / n as f64;
    let (instance, _, improvement) = improved((0..n).map(|i| [angle(i).cos(), angle(i).sin()]).collect(), 5);
    let around: Vec<usize> = (0..n).collect();
    assert!((improvement.after - instance.tour_length(&around)).abs() < 1e-9);
}

#[test]
fn points_that_coincide_and_points_on_a_line_are_no_trouble() {
    for n in [1, 2, 3, 5, 12, 13, 14, 60] {
        let (_, _, improvement) = improved(vec![[2.0, 3.0]; n], 2);
        assert_eq!(improvement, Improvement { before: 0.0, after: 0.0, moves: 0 });
        let (_, _, improvement) = improved((0..n).map(|i| [(i / 2) as f64, 0.0]).collect(), 2);
        assert_eq!(improvement.after, 2.0 * ((n - 1) / 2) as f64, "n = {n}");
    }
}

#[test]
fn a_list_that_is_no_tour_is_left_alone() {
    let instance = Sites::euclidean("three", random_points(1, 3)).unwrap();
    let mut tour = vec![0, 1, 1];
    assert!(improve(&instance, &mut tour, &few(1)).after.is_nan());
    assert_eq!(tour, [0, 1, 1]);
}

#[test]
fn an_optimal_tour_is_returned_as_given() {
    let (instance, mut tour, improvement) = improved(random_points(5, 60), 100);
    tour.rotate_left(17);
    let given = tour.clone();
    let again = improve(&instance, &mut tour, &few(0));
    assert_eq!((tour, again.moves), (given, 0));
    assert!((again.after - improvement.after).abs() < 1e-9);
}

#[test]
fn a_deadline_in_the_past_still_gives_a_tour() {
    let instance = Sites::euclidean("random", random_points(4, 3000)).unwrap();
    let mut tour = shuffled(4, 3000);
    let options = LocalSearchOptions { perturbations_per_node: usize::MAX, deadline: Some(Instant::now()), ..few(0) };
    let improvement = improve(&instance, &mut tour, &options);
    crate::check::tour(instance.ids(), &tour).unwrap();
    assert!(improvement.after <= improvement.before);
}

#[test]
fn large_instances_find_their_neighbours_in_the_tree() {
    let n = 5000;
    let (_, _, improvement) = improved(random_points(9, n), 0);
    // Random uniform optima are near 0.7124 sqrt(n area) (1 + 0.33 / n) plus the border.
    assert!(improvement.after < 0.7124 * (n as f64).sqrt() * 1.08, "{}", improvement.after);
}

#[test]
fn without_time_to_construct_a_tour_follows_a_curve() {
    let (n, now) = (5000, Instant::now());
    let tsp = crate::problems::tsp::Tsp::from(Sites::euclidean("random", random_points(9, n)).unwrap());
    let (_, tour) = crate::SolverInstance::construct(&tsp, Some(now)).unwrap();
    tsp.check(&tour).unwrap();
    // Hilbert's curve is two fifths above the shortest tour; the order of the file is 37 times as long.
    assert!(tsp.cost(&tour) < 0.7124 * (n as f64).sqrt() * 1.5, "{}", tsp.cost(&tour));
}

#[test]
fn more_time_is_used() {
    // A local optimum, then one tour that is perturbed throughout, then a population.
    let instance = Sites::euclidean("random", random_points(12, 400)).unwrap();
    let length = |perturbations| {
        let mut tour = shuffled(3, 400);
        improve(&instance, &mut tour, &few(perturbations)).after
    };
    let lengths = [0, 1, 20].map(length);
    assert!(lengths[0] > lengths[1] && lengths[1] > lengths[2], "{lengths:?}");
}

#[test]
fn distances_below_zero_are_searched_to_an_end() {
    let n = 40;
    let sites = Sites::euclidean("random", random_points(4, n)).unwrap();
    for factor in [1.0, 1.3] {
        let way = |a: usize, b: usize| sites.distance(a, b) * if a < b { 1.0 } else { factor };
        let of = |less: f64| {
            let rows = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
            let rows = rows.map(|(a, b)| if a == b { 0.0 } else { way(a, b) - less }).collect();
            let matrix = crate::DistanceMatrix::from_rows(n, rows).unwrap();
            let instance = Sites::new("matrix", crate::Metric::Explicit(matrix), vec![]).unwrap();
            improve(&instance, &mut shuffled(2, n), &few(20)).after
        };
        // A tour has as many ways as places, so that the same tour is the shortest.
        assert!((of(0.0) - 3.0 * n as f64 - of(3.0)).abs() < 1e-6);
    }
}

/// Distances of random places less a number that makes all of them negative.
fn below_zero(n: usize) -> Sites {
    let sites = Sites::euclidean("random", random_points(6, n)).unwrap();
    let lower = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
    let lower = lower.map(|(a, b)| sites.distance(a, b) - 250.0).collect();
    let matrix = crate::DistanceMatrix::from_lower(n, lower).unwrap();
    Sites::new("matrix", crate::Metric::Explicit(matrix), vec![]).unwrap()
}

#[test]
fn distances_that_cancel_are_searched_to_an_end() {
    // Every tour up and down has the length 0, but for rounding.
    let n = 60;
    let heights: Vec<f64> = random_points(4, n).iter().map(|point| 1000.0 * point[0]).collect();
    let rows = heights.iter().flat_map(|a| heights.iter().map(move |b| b - a)).collect();
    let matrix = crate::DistanceMatrix::from_rows(n, rows).unwrap();
    let instance = Sites::new("heights", crate::Metric::Explicit(matrix), vec![]).unwrap();
    let improvement = improve(&instance, &mut shuffled(2, n), &few(20));
    assert!(improvement.before.abs() < 1e-9 && improvement.after.abs() < 1e-9);
}

#[test]
fn first_tours_of_distances_below_zero_come_to_an_end() {
    let sites = below_zero(200);
    let (_, tour) = quick_tour(&sites, Instant::now() + std::time::Duration::from_secs(60));
    crate::check::tour(sites.ids(), &tour).unwrap();
    assert!(sites.tour_length(&tour) < sites.tour_length(&shuffled(1, 200)));
}

#[test]
fn trips_of_distances_below_zero_come_to_an_end() {
    let sites = below_zero(60);
    let pickups: Vec<Option<usize>> = (0..60).map(|node| (node > 30).then(|| node - 30)).collect();
    let problem = precedence::Problem::new(&sites, &pickups);
    let (_, trip) = precedence::construct(&problem, None);
    let length = |trip: &[usize]| crate::depot::round_trip(&sites, trip);
    let [none, some] = [0, 2000].map(|iterations| {
        let options = precedence::Options { iterations, ..precedence::Options::default() };
        length(&precedence::improve(&problem, trip.clone(), &options, None))
    });
    // Annealing finds what the descent alone does not: its temperatures are above 0.
    assert!(none <= length(&trip) && some < none, "{} {none} {some}", length(&trip));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn few_nodes_are_solved_to_optimality(seed in any::<u64>(), n in 1_usize..=8) {
        let (instance, tour, improvement) = improved(random_points(seed, n), 1);
        let best = shortest_by_trying_all(&instance, &mut tour.clone(), 1);
        prop_assert!((improvement.after - best).abs() < 1e-9);
    }

    #[test]
    fn never_worse_always_a_tour_always_the_same(
        seed in any::<u64>(), n in 1_usize..80, raster in any::<bool>(), perturbations in 0_usize..6,
    ) {
        let mut points = random_points(seed, n);
        if raster {
            points.iter_mut().flatten().for_each(|x| *x = (*x * 6.0).floor());
        }
        let instance = Sites::euclidean("random", points).unwrap();
        let start = shuffled(seed, n);
        let (mut tour, mut twin) = (start.clone(), start.clone());
        let improvement = improve(&instance, &mut tour, &few(perturbations));
        prop_assert!(crate::check::tour(instance.ids(), &tour).is_ok());
        prop_assert_eq!(improvement.before, instance.tour_length(&start));
        prop_assert_eq!(improvement.after, instance.tour_length(&tour));
        prop_assert!(improvement.after <= improvement.before);
        prop_assert_eq!(tour[0], start[0]);
        prop_assert_eq!(improve(&instance, &mut twin, &few(perturbations)), improvement);
        prop_assert_eq!(tour, twin);
    }

    #[test]
    fn twelve_nodes_by_search_are_as_short_as_by_dynamic_programming(seed in any::<u64>()) {
        let points = random_points(seed, exact::EXACT_UP_TO);
        let instance = Sites::euclidean("twelve", points).unwrap();
        let start = shuffled(seed, exact::EXACT_UP_TO);
        let (found, _) = search_from(&instance, &start, &few(2));
        prop_assert!((instance.tour_length(&found) - instance.tour_length(&exact::shortest(&instance))).abs() < 1e-9);
    }
}
