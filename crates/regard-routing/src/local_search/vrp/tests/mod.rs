//! The laws of the search, and few customers solved to optimality.

mod books;
mod long_routes;

use std::time::Duration;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::{DistanceMatrix, Metric};

/// A problem that owns its data.
struct Owned {
    sites: Sites,
    demands: Vec<f64>,
    capacity: f64,
    limit: Option<f64>,
    service: f64,
}

impl Owned {
    /// Random places and demands; `kind` chooses fractions, a limit, and distances that differ by direction.
    fn random(seed: u64, customers: usize, kind: u8) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let points: Vec<[f64; 2]> = (0..=customers).map(|_| [random.random(), random.random()]).collect();
        let part = if kind & 1 == 0 { 1.0 } else { 0.1 };
        let demand = |random: &mut Pcg64Mcg| f64::from(random.random_range(0..10)) * part;
        let demands = (0..=customers).map(|node| if node == 0 { 0.0 } else { demand(&mut random) }).collect();
        let sites = Sites::euclidean("random", points).unwrap();
        let sites = if kind & 4 == 0 { sites } else { uphill(&sites, &mut random) };
        let service = 0.05;
        let farthest = (1..=customers).map(|node| sites.distance(0, node) + sites.distance(node, 0));
        let limit = (kind & 2 != 0).then_some(farthest.fold(0.0, f64::max) + 0.7);
        Self { sites, demands, capacity: 30.0 * part, limit, service }
    }

    fn vrp(&self) -> Vrp<'_> {
        Vrp::new(&self.sites, &self.demands, self.capacity).with_limit(self.limit, self.service)
    }
}

/// The same places at random heights, every way longer that leads up.
fn uphill(sites: &Sites, random: &mut Pcg64Mcg) -> Sites {
    let heights: Vec<f64> = (0..sites.len()).map(|_| random.random()).collect();
    let pairs = (0..sites.len()).flat_map(|from| (0..sites.len()).map(move |to| (from, to)));
    let rows = pairs.map(|(from, to)| sites.distance(from, to) + (heights[to] - heights[from]).max(0.0)).collect();
    let matrix = DistanceMatrix::from_rows(sites.len(), rows).unwrap();
    Sites::new("uphill", Metric::Explicit(matrix), vec![]).unwrap()
}

fn alone(customers: usize) -> Vec<Vec<usize>> {
    (1..=customers).map(|node| vec![node]).collect()
}

fn few(iterations: usize) -> VrpOptions {
    VrpOptions { iterations, ..VrpOptions::default() }
}

#[test]
fn distances_below_zero_are_searched_to_an_end() {
    for (seed, less) in [(1, 1.0), (2, 2.0)] {
        let mut problem = Owned::random(seed, 20, 4);
        let sites = &problem.sites;
        let pairs = (0..sites.len()).flat_map(|from| (0..sites.len()).map(move |to| (from, to)));
        let rows = pairs.map(|(from, to)| if from == to { 0.0 } else { sites.distance(from, to) - less }).collect();
        let matrix = DistanceMatrix::from_rows(sites.len(), rows).unwrap();
        problem.sites = Sites::new("below zero", Metric::Explicit(matrix), vec![]).unwrap();
        let vrp = problem.vrp();
        let found = improve(&vrp, alone(20), &few(2000), None);
        assert!(vrp.keeps(&found.routes) && found.after <= found.before, "{found:?}");
        assert!(found.after < 0.0 && (vrp.cost(&found.routes) - found.after).abs() < 1e-9, "{found:?}");
    }
}

/// The least cost by dynamic programming: over the last route's customers, and within a route over
/// the order of visits.
fn least_cost(vrp: &Vrp, customers: usize) -> f64 {
    let all = 1_usize << customers;
    let members = |set: usize| (0..customers).filter(|i| set >> i & 1 == 1).map(|i| i + 1).collect::<Vec<_>>();
    let routes: Vec<f64> = (0..all).map(|set| shortest_route(vrp, &mut members(set), 0)).collect();
    let mut best = vec![0.0; all];
    for set in 1..all {
        best[set] = f64::INFINITY;
        let mut part = set;
        while part > 0 {
            best[set] = best[set].min(routes[part] + best[set & !part]);
            part = (part - 1) & set;
        }
    }
    best[all - 1]
}

fn shortest_route(vrp: &Vrp, route: &mut Vec<usize>, place: usize) -> f64 {
    if place >= route.len() {
        return if vrp.allows(route) { vrp.cost(std::slice::from_ref(route)) } else { f64::INFINITY };
    }
    let mut best = f64::INFINITY;
    for other in place..route.len() {
        route.swap(place, other);
        best = best.min(shortest_route(vrp, route, place + 1));
        route.swap(place, other);
    }
    best
}

#[test]
fn one_two_and_three_nodes_are_no_trouble() {
    for customers in 0..3 {
        let owned = Owned::random(7, customers, 0);
        let vrp = owned.vrp();
        for routes in [construct(&vrp, None), alone(customers)] {
            let improved = improve(&vrp, routes, &few(1000), None);
            assert!(vrp.keeps(&improved.routes) && improved.after <= improved.before);
            assert!((improved.after - least_cost(&vrp, customers)).abs() < 1e-12, "{customers}");
        }
    }
}

#[test]
fn full_loads_leave_every_customer_alone() {
    let owned = Owned::random(8, 25, 0);
    let demands = [vec![0.0], vec![4.0; 25]].concat();
    let vrp = Vrp::new(&owned.sites, &demands, 4.0);
    let improved = improve(&vrp, construct(&vrp, None), &few(2000), None);
    assert_eq!((improved.routes.len(), improved.after), (25, improved.before));
}

#[test]
fn without_demands_one_route_goes_around() {
    let n = 31;
    let angle = |i: usize| std::f64::consts::TAU * i as f64 / n as f64;
    let sites = Sites::euclidean("circle", (0..n).map(|i| [angle(i).cos(), angle(i).sin()]).collect()).unwrap();
    let demands = vec![0.0; n];
    let vrp = Vrp::new(&sites, &demands, 1.0);
    let improved = improve(&vrp, alone(n - 1), &few(20_000), None);
    assert_eq!(improved.routes.len(), 1);
    assert!((improved.after - sites.tour_length(&(0..n).collect::<Vec<_>>())).abs() < 1e-9);
}

#[test]
fn customers_at_the_depot_cost_nothing() {
    let sites = Sites::euclidean("one place", vec![[2.0, 3.0]; 12]).unwrap();
    let demands = vec![1.0; 12];
    let vrp = Vrp::new(&sites, &demands, 3.0);
    let improved = improve(&vrp, alone(11), &few(100), None);
    assert_eq!((improved.before, improved.after), (0.0, 0.0));
}

#[test]
fn routes_that_break_a_rule_come_back_untouched() {
    let owned = Owned::random(9, 4, 2);
    let vrp = owned.vrp();
    let broken =
        [vec![vec![1, 2, 3]], vec![vec![1, 2], vec![2, 3, 4]], vec![vec![1, 2, 3, 4, 5]], vec![vec![0, 1, 2, 3, 4]]];
    for routes in broken {
        let improved = improve(&vrp, routes.clone(), &few(100), None);
        assert!(improved.after.is_nan());
        assert_eq!(improved.routes, routes);
    }
    let full = Vrp::new(&owned.sites, &[0.0, 4.0, 4.0, 4.0, 4.0], 15.9);
    assert!(improve(&full, vec![vec![1, 2, 3, 4]], &few(100), None).after.is_nan());
}

#[test]
fn a_limit_that_whole_numbers_meet_exactly_is_kept_and_used() {
    let sites = Sites::euclidean("line", (0..7).map(|x| [f64::from(x), 0.0]).collect()).unwrap();
    let demands = vec![1.0; 7];
    // Out to 6 and back is 12, and 6 customers take 3 more.
    let vrp = Vrp::new(&sites, &demands, 10.0).with_limit(Some(15.0), 0.5);
    let improved = improve(&vrp, alone(6), &few(500), None);
    assert_eq!((improved.routes.len(), improved.after), (1, 12.0));
    let vrp = Vrp::new(&sites, &demands, 10.0).with_limit(Some(14.9), 0.5);
    let improved = improve(&vrp, alone(6), &few(500), None);
    assert_eq!((improved.routes.len(), improved.after), (2, 14.0));
}

#[test]
fn more_chains_are_never_worse_and_give_the_same_every_time() {
    let owned = Owned::random(10, 60, 0);
    let vrp = owned.vrp();
    let run = |threads| improve(&vrp, alone(60), &VrpOptions { threads, ..few(500) }, None);
    let (one, three) = (run(1), run(3));
    assert!(three.after <= one.after && three.iterations == 3 * one.iterations);
    assert_eq!(run(3), three);
}

#[test]
fn distances_that_cancel_are_searched_to_an_end() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let heights: Vec<f64> = (0..60).map(|_| 1000.0 * random.random::<f64>()).collect();
    let rows = heights.iter().flat_map(|a| heights.iter().map(move |b| b - a)).collect();
    let matrix = DistanceMatrix::from_rows(60, rows).unwrap();
    let sites = Sites::new("heights", Metric::Explicit(matrix), vec![]).unwrap();
    let demands = [1.0; 60];
    let vrp = Vrp::new(&sites, &demands, 10.0);
    let start: Vec<Vec<usize>> = (1..60).collect::<Vec<_>>().chunks(10).map(<[usize]>::to_vec).collect();
    let improved = improve(&vrp, start, &few(500), None);
    assert!(vrp.keeps(&improved.routes) && improved.after.abs() < 1e-9);
}

#[test]
fn a_panic_of_one_chain_is_that_of_the_search() {
    let owned = Owned::random(10, 60, 0);
    let progress = |_: f64, _: f64| panic!("in a chain");
    let search = || improve(&owned.vrp(), alone(60), &VrpOptions { threads: 2, ..few(500) }, Some(&progress));
    let fault = std::panic::catch_unwind(std::panic::AssertUnwindSafe(search)).unwrap_err();
    assert_eq!(fault.downcast_ref(), Some(&"in a chain"));
}

#[test]
fn progress_goes_up_and_the_cost_down() {
    let owned = Owned::random(11, 40, 0);
    let reports = std::sync::Mutex::new(Vec::new());
    let record = |done: f64, best: f64| reports.lock().unwrap().push((done, best));
    let improved = improve(&owned.vrp(), alone(40), &few(20_000), Some(&record));
    let reports = reports.into_inner().unwrap();
    assert!((90..=101).contains(&reports.len()), "{}", reports.len());
    assert!(reports.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1));
    assert!(reports.iter().all(|&(_, best)| best >= improved.after - 1e-9));
}

#[test]
fn ten_thousand_customers_meet_a_deadline() {
    let owned = Owned::random(12, 10_000, 2);
    let vrp = owned.vrp();
    let start = construct(&vrp, None);
    assert!(vrp.keeps(&start));
    // Every customer alone costs 2 * 0.77 each; savings must find the most of it.
    assert!(vrp.cost(&start) < 0.35 * vrp.cost(&alone(10_000)));
    let begun = Instant::now();
    let options = VrpOptions { deadline: Some(begun + Duration::from_millis(600)), ..few(usize::MAX) };
    let improved = improve(&vrp, start, &options, None);
    assert!(vrp.keeps(&improved.routes) && improved.after < improved.before);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_deadline_in_the_past_gives_the_routes_back() {
    let owned = Owned::random(13, 50, 0);
    let options = VrpOptions { deadline: Some(Instant::now()), ..few(usize::MAX) };
    let improved = improve(&owned.vrp(), alone(50), &options, None);
    assert!(owned.vrp().keeps(&improved.routes) && improved.after <= improved.before);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn few_customers_are_solved_to_optimality(seed in any::<u64>(), customers in 1_usize..=6, kind in 0_u8..8) {
        let owned = Owned::random(seed, customers, kind);
        let vrp = owned.vrp();
        let improved = improve(&vrp, alone(customers), &few(3000), None);
        prop_assert!((improved.after - least_cost(&vrp, customers)).abs() < 1e-9);
    }

    #[test]
    fn never_worse_always_allowed_always_the_same(
        seed in any::<u64>(), customers in 1_usize..120, kind in 0_u8..8, iterations in 0_usize..600, saved in any::<bool>(),
    ) {
        let owned = Owned::random(seed, customers, kind);
        let vrp = owned.vrp();
        let start = if saved { construct(&vrp, None) } else { alone(customers) };
        prop_assert!(vrp.keeps(&start));
        let improved = improve(&vrp, start.clone(), &few(iterations), None);
        prop_assert!(vrp.keeps(&improved.routes));
        prop_assert_eq!(improved.before, vrp.cost(&start));
        prop_assert_eq!(improved.after, vrp.cost(&improved.routes));
        prop_assert!(improved.after <= improved.before);
        prop_assert_eq!(improve(&vrp, start, &few(iterations), None), improved);
    }
}
