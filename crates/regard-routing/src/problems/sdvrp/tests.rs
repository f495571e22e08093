//! The search where deliveries are split: checked, never worse, better than the nearest neighbour.

use std::time::Instant;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::{DistanceMatrix, Metric};

/// Customers around the depot, or in a cluster far from it, with demands of about this share of the capacity.
fn heavy(seed: u64, customers: usize, share: f64, clustered: bool) -> Sdvrp {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut points = vec![if clustered { [0.0, 0.0] } else { [50.0, 50.0] }];
    let (from, width) = if clustered { (75.0, 10.0) } else { (0.0, 100.0) };
    points.extend((0..customers).map(|_| [0, 1].map(|_| from + width * random.random::<f64>())));
    let demand = |_| (100.0 * share) as u32 + random.random_range(0..8) - 4;
    let demands = std::iter::once(0.0).chain((0..customers).map(demand).map(f64::from)).collect();
    Sdvrp::new(Sites::euclidean("heavy", points).unwrap(), demands, 100.0).unwrap()
}

/// Routes to the nearest customer that wants something, each until its vehicle is empty.
fn nearest_neighbour(instance: &Sdvrp) -> Vec<Vec<usize>> {
    let (sites, capacity) = (instance.0.sites(), instance.0.capacity());
    let mut open = instance.0.demands().to_vec();
    let mut routes = Vec::new();
    while open.iter().any(|&demand| demand > 0.0) {
        let (mut route, mut room) = (vec![0], capacity);
        while room > 0.0 {
            let here = route[route.len() - 1];
            let wanting = (1..open.len()).filter(|&node| open[node] > 0.0);
            let nearest = wanting.min_by(|&a, &b| sites.distance(here, a).total_cmp(&sites.distance(here, b)));
            let Some(node) = nearest else { break };
            let amount = open[node].min(room);
            (open[node], room) = (open[node] - amount, room - amount);
            route.push(node);
        }
        routes.push(route[1..].to_vec());
    }
    routes
}

/// Length of a route after 2-opt.
fn two_opt(sites: &Sites, route: &[usize]) -> f64 {
    let mut tour = [&[0], route].concat();
    while let Some(better) = (1..tour.len()).find_map(|from| {
        let turned = |until: usize| {
            let mut other = tour.clone();
            other[from..=until].reverse();
            other
        };
        (from + 1..tour.len()).map(turned).find(|other| sites.tour_length(other) < sites.tour_length(&tour) - 1e-9)
    }) {
        tour = better;
    }
    sites.tour_length(&tour)
}

#[test]
fn solutions_that_split_are_no_worse_than_the_nearest_neighbour_with_2_opt() {
    for (seed, (customers, share)) in (0..).zip([(8, 0.55), (15, 0.7), (30, 0.6), (30, 0.95), (60, 0.7)]) {
        for clustered in [false, true] {
            let instance = heavy(seed, customers, share, clustered);
            let start = nearest_neighbour(&instance);
            let compared: f64 = start.iter().map(|route| two_opt(instance.0.sites(), route)).sum();
            for start in [walk_of(&start), SolverInstance::construct(&instance, None).unwrap().1] {
                let found = SolverInstance::local_search(&instance, start, &LocalSearchOptions::default());
                SolverInstance::check(&instance, &found).unwrap();
                let cost = SolverInstance::value(&instance, &found);
                assert!(cost <= compared + 1e-9, "{customers} {share} {clustered}: {cost}, {compared}");
            }
        }
    }
}

#[test]
fn the_best_known_solution_of_an_instance_of_the_literature_is_found() {
    // SD1 of Chen, Golden and Wasil, "The split delivery vehicle routing problem: applications, algorithms, test problems,
    // and computational results", Networks 49 (2007).
    let ring = |radius: f64| [[radius, 0.0], [0.0, radius], [-radius, 0.0], [0.0, -radius]];
    let points = [vec![[0.0, 0.0]], ring(10.0).to_vec(), ring(20.0).to_vec()].concat();
    let demands = vec![0.0, 60.0, 90.0, 90.0, 60.0, 60.0, 90.0, 90.0, 60.0];
    let instance = Sdvrp::new(Sites::euclidean("SD1", points).unwrap(), demands, 100.0).unwrap();
    let start = SolverInstance::construct(&instance, None).unwrap().1;
    let found = SolverInstance::local_search(&instance, start, &LocalSearchOptions::default());
    SolverInstance::check(&instance, &found).unwrap();
    assert!((SolverInstance::value(&instance, &found) - (200.0 + 20.0 * 2.0_f64.sqrt())).abs() < 1e-9);
}

#[test]
fn an_expired_deadline_leaves_a_solution_that_is_no_worse() {
    let instance = heavy(3, 50, 0.7, false);
    let compared = instance.0.cost(&nearest_neighbour(&instance));
    let deadline = Some(Instant::now());
    let (_, start) = SolverInstance::construct(&instance, deadline).unwrap();
    assert!(SolverInstance::value(&instance, &start) <= compared + 1e-9);
    let options = LocalSearchOptions { deadline, ..LocalSearchOptions::default() };
    let found = SolverInstance::local_search(&instance, start.clone(), &options);
    SolverInstance::check(&instance, &found).unwrap();
    assert!(SolverInstance::value(&instance, &found) <= SolverInstance::value(&instance, &start));
}

#[test]
fn full_loads_are_split_where_routes_have_a_limit() {
    let points = vec![[73.0, 69.0], [48.0, 30.0], [94.0, 67.0], [18.0, 70.0], [98.0, 13.0]];
    let sites = Sites::euclidean("four", points).unwrap();
    let cvrp = Cvrp::with_any_demands(sites, vec![0.0, 5.0, 4.0, 1.0, 4.0], 5.0).unwrap();
    let instance = Sdvrp(cvrp.with_limit(184.0, 0.0).unwrap());
    // The first customer gets a part behind the last one, and the rest before the third: nothing else fits the limit.
    let best = instance.0.cost(&[vec![4, 1], vec![1, 3], vec![2]]);
    let start = SolverInstance::construct(&instance, None).unwrap().1;
    assert!(SolverInstance::value(&instance, &start) > best + 1.0);
    let found = SolverInstance::local_search(&instance, start, &LocalSearchOptions::default());
    SolverInstance::check(&instance, &found).unwrap();
    assert!((SolverInstance::value(&instance, &found) - best).abs() < 1e-9);
}

#[test]
fn customers_without_demand_change_nothing() {
    let wanting = heavy(7, 40, 0.6, false);
    let (sites, demands) = (wanting.0.sites(), wanting.0.demands());
    // One more customer beside each, who wants nothing.
    let beside = sites.places().iter().skip(1).map(|[x, y]| [x + 1.0, y + 1.0]);
    let points: Vec<[f64; 2]> = sites.places().iter().copied().chain(beside).collect();
    let demands = [demands.to_vec(), vec![0.0; 40]].concat();
    let instance = Sdvrp::new(Sites::euclidean("some", points).unwrap(), demands, 100.0).unwrap();
    assert_eq!(SolverInstance::note(&instance).unwrap(), "40 customers without demand are not visited");
    let options = LocalSearchOptions::default();
    let solved = |instance: &Sdvrp| {
        let (_, start) = SolverInstance::construct(instance, None).unwrap();
        SolverInstance::local_search(instance, start, &options)
    };
    let (found, compared) = (solved(&instance), solved(&wanting));
    SolverInstance::check(&instance, &found).unwrap();
    assert_eq!(found, compared);
    let detour: Vec<usize> =
        compared.iter().flat_map(|&node| if node == 0 { vec![0] } else { vec![node, node + 40] }).collect();
    SolverInstance::check(&instance, &detour).unwrap();
    assert_eq!(SolverInstance::repair(&instance, detour).unwrap(), compared);
}

/// Any demands; `kind` chooses fractions, a limit on the length of routes, and distances that differ by direction.
fn any_instance(seed: u64, customers: usize, kind: u8) -> Sdvrp {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let points = (0..=customers).map(|_| [random.random(), random.random()]).collect();
    let plane = Sites::euclidean("any", points).unwrap();
    let part = if kind & 1 == 0 { 1.0 } else { 0.1 };
    let mut demands: Vec<f64> = (0..=customers).map(|_| part * f64::from(random.random_range(0..25))).collect();
    demands[0] = 0.0;
    let nodes = || (0..=customers).flat_map(|a| (0..=customers).map(move |b| (a, b)));
    let rows = nodes().map(|(a, b)| plane.distance(a, b) * if a < b { 1.0 } else { 1.3 }).collect();
    let matrix = Metric::Explicit(DistanceMatrix::from_rows(customers + 1, rows).unwrap());
    let sites = if kind & 4 == 0 { plane } else { Sites::new("directed", matrix, vec![]).unwrap() };
    let farthest = (1..=customers).map(|node| sites.distance(0, node) + sites.distance(node, 0)).fold(0.0, f64::max);
    let cvrp = Cvrp::with_any_demands(sites, demands, 10.0 * part).unwrap();
    Sdvrp(if kind & 2 == 0 { cvrp } else { cvrp.with_limit(farthest + 0.6, 0.05).unwrap() })
}

/// A vehicle that goes to customers in random order and returns whenever it is empty, or where it likes.
fn any_solution(instance: &Sdvrp, seed: u64) -> Vec<usize> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut open, mut walk, mut room) = (instance.0.demands().to_vec(), Vec::new(), instance.0.capacity());
    loop {
        let wanting: Vec<usize> = (1..open.len()).filter(|&node| open[node] > 0.0).collect();
        if wanting.is_empty() {
            return walk_of(&cut_to_limit(&instance.0, routes_of(&walk)));
        }
        if room <= 0.0 || random.random_bool(0.1) {
            walk.push(0);
            room = instance.0.capacity();
        }
        let node = wanting[random.random_range(0..wanting.len())];
        let amount = open[node].min(room);
        (open[node], room) = (open[node] - amount, room - amount);
        walk.push(node);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn never_worse_always_allowed_always_the_same(
        seed in any::<u64>(), customers in 1_usize..30, kind in 0_u8..8, perturbations_per_node in 0_usize..3,
    ) {
        let instance = any_instance(seed, customers, kind);
        let start = any_solution(&instance, seed);
        SolverInstance::check(&instance, &start).unwrap();
        let options = LocalSearchOptions { perturbations_per_node, ..LocalSearchOptions::default() };
        let found = SolverInstance::local_search(&instance, start.clone(), &options);
        SolverInstance::check(&instance, &found).unwrap();
        prop_assert!(SolverInstance::value(&instance, &found) <= SolverInstance::value(&instance, &start));
        prop_assert_eq!(SolverInstance::local_search(&instance, start, &options), found);
        let constructed = SolverInstance::construct(&instance, None).unwrap().1;
        SolverInstance::check(&instance, &constructed).unwrap();
    }
}
