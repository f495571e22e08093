use std::time::{Duration, Instant};

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::instance::SolverInstance;
use crate::local_search::LocalSearchOptions;
use crate::problem::{Problem, State};
use crate::{DistanceMatrix, Instance, Itinerary, Metric, Result, Sites, routes_of};

fn reason(result: Result<()>) -> String {
    result.map_or_else(|e| e.to_string(), |()| String::new())
}

/// A depot with id 9 in the corner and customers 1, 2, 3 on a line to its right.
fn line(ready: [f64; 4], due: [f64; 4], service: f64) -> Result<Cvrptw> {
    let ids = ["9", "1", "2", "3"].map(String::from).to_vec();
    let sites = Sites::euclidean("line", (0..4).map(|i| [f64::from(i), 0.0]).collect())?.with_ids(ids)?;
    let service = vec![0.0, service, service, service];
    let windows = TimeWindows { ready: ready.to_vec(), due: due.to_vec(), service };
    Cvrptw::new(sites, vec![0.0, 1.0, 1.0, 1.0], 2.0, windows)
}

#[test]
fn the_first_broken_rule_is_named_by_ids() {
    let instance = line([0.0, 5.0, 0.0, 0.0], [20.0, 6.0, 8.0, 12.0], 2.0).unwrap();
    let said = |routes: &[Vec<usize>]| reason(instance.check(routes));
    assert_eq!(said(&[vec![1, 2], vec![], vec![3]]), "");
    for (routes, expected) in [
        (vec![vec![1, 2, 3]], "route 1 carries 3, the capacity is 2"),
        (vec![vec![1], vec![2]], "node 3 is not visited (1 of 3 customers missing)"),
        (vec![vec![2, 1], vec![3], vec![]], ""),
        (vec![vec![3, 1], vec![2]], "route 1 reaches node 1 at 7, its window ends at 6"),
        (vec![vec![1, 2], vec![4]], "route 2, position 1: node index 4 is not below 4"),
    ] {
        let said = said(&routes);
        assert_eq!(said.strip_prefix("not a solution: ").unwrap_or(&said), expected);
    }
    let two = instance.clone().with_vehicles(Some(2)).unwrap();
    let said = reason(two.check(&[vec![1], vec![2], vec![3]]));
    assert_eq!(said, "not a solution: there are 3 routes, the number of vehicles is 2");
    assert!(two.check(&[vec![1, 2], vec![], vec![3]]).is_ok());
    let closing = line([0.0; 4], [9.0, 9.0, 9.0, 9.0], 2.0).unwrap();
    let said = reason(closing.check(&[vec![2, 3], vec![1]]));
    assert_eq!(said, "not a solution: route 1 is back at 10, the depot closes at 9");
}

#[test]
fn what_cannot_be_is_refused() {
    let said = |ready, due, service| line(ready, due, service).unwrap_err().to_string();
    let zeros = [0.0; 4];
    assert_eq!(
        said(zeros, [20.0, 9.0, 1.0, 9.0], 0.0),
        "window of node 2: ends at 1, and a vehicle straight from the depot is there at 2"
    );
    assert!(
        said([0.0, 8.0, 0.0, 0.0], [9.0; 4], 1.0).starts_with("window of node 1: begins at 8: a vehicle is back at 10")
    );
    assert!(
        said(zeros, [20.0, f64::NAN, 9.0, 9.0], 0.0).starts_with("window of node 1: ends at NaN, expected a number")
    );
    assert!(said([0.0, -1.0, 0.0, 0.0], [20.0; 4], 0.0).contains("ready time of node 1: -1"));
    assert!(line([0.0; 4], [f64::INFINITY; 4], 3.0).is_ok());
    let instance = line(zeros, [20.0; 4], 0.0).unwrap();
    assert!(instance.clone().with_vehicles(Some(0)).is_err());
    let mut windows = instance.windows().clone();
    windows.due.pop();
    let sites = instance.sites().clone();
    assert!(Cvrptw::new(sites.clone(), vec![0.0, 1.0, 1.0, 1.0], 2.0, windows.clone()).is_err());
    windows.due.push(20.0);
    windows.service[0] = 1.0;
    assert!(Cvrptw::new(sites, vec![0.0, 1.0, 1.0, 1.0], 2.0, windows).is_err());
}

#[test]
fn a_vehicle_leaves_as_late_as_it_may_without_being_back_later() {
    let instance = Instance::from(line([1.0, 5.0, 9.0, 0.0], [30.0, 6.0, 9.5, 20.0], 2.0).unwrap());
    let stops = &Itinerary::of(&instance, &[1, 2, 0, 3]).routes[0].stops;
    assert_eq!(stops.iter().map(|stop| stop.arrival).collect::<Vec<_>>(), [5.0, 6.0, 9.0, 13.0]);
    assert_eq!(stops.iter().map(|stop| stop.waiting.unwrap()).collect::<Vec<_>>(), [0.0; 4]);
}

/// A random instance in which every customer can be served alone; distances by `tenths` or unrounded.
fn random(seed: u64, customers: usize, tenths: bool) -> Cvrptw {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let points = (0..=customers).map(|_| [0.0, 1.0].map(|_| f64::from(random.random_range(0..50)))).collect::<Vec<_>>();
    let metric = if tenths { Metric::Tenths } else { Metric::Euclidean };
    let sites = Sites::new("random", metric, points.iter().map(|&[x, y]| [x, y, 0.0]).collect()).unwrap();
    random_windows(sites, &mut random)
}

/// The same with ways of random lengths, which differ by direction and of which many are longer than a detour.
fn random_detours(seed: u64, customers: usize) -> Cvrptw {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let nodes = customers + 1;
    let ways =
        (0..nodes * nodes).map(|at| if at % (nodes + 1) == 0 { 0.0 } else { f64::from(random.random_range(1..70)) });
    let matrix = DistanceMatrix::from_rows(nodes, ways.collect()).unwrap();
    random_windows(Sites::new("detours", Metric::Explicit(matrix), vec![]).unwrap(), &mut random)
}

fn random_windows(sites: Sites, random: &mut Pcg64Mcg) -> Cvrptw {
    let (customers, closing) = (sites.len() - 1, 240.0);
    let mut windows = TimeWindows { ready: vec![0.0], due: vec![closing], service: vec![0.0] };
    for node in 1..=customers {
        let (far, back) = (sites.distance(0, node), sites.distance(node, 0));
        let service = f64::from(random.random_range(0..10));
        let ready = (far + random.random::<f64>() * (closing - far - back - service)).floor();
        windows.ready.push(ready);
        windows.due.push((ready + f64::from(random.random_range(1..60))).min(closing - service - back).max(far));
        windows.service.push(service);
    }
    let demands = (0..=customers).map(|node| if node == 0 { 0.0 } else { f64::from(random.random_range(1..10)) });
    Cvrptw::new(sites, demands.collect(), 30.0, windows).unwrap()
}

/// If true, routes keep all rules, worked out by another way than the checker's: backwards, from the latest time at which
/// each customer may be left.
fn feasible(instance: &Cvrptw, routes: &[Vec<usize>]) -> bool {
    let mut visits: Vec<usize> = routes.concat();
    visits.sort_unstable();
    let TimeWindows { ready, due, service } = instance.windows();
    let distance = |a, b| instance.sites().distance(a, b);
    let in_time = |route: &Vec<usize>| {
        let mut latest = due[0];
        let mut next = 0;
        for &node in route.iter().rev() {
            latest = due[node].min(latest - distance(node, next) - service[node]);
            next = node;
            if latest < ready[node] - 1e-7 {
                return false;
            }
        }
        route.is_empty() || ready[0] + distance(0, next) <= latest + 1e-7
    };
    let load = |route: &Vec<usize>| route.iter().map(|&node| instance.routing().demands()[node]).sum::<f64>();
    visits == (1..instance.sites().len()).collect::<Vec<_>>()
        && routes.iter().all(|route| load(route) <= 30.0 && in_time(route))
}

fn few(seed: u64) -> LocalSearchOptions {
    LocalSearchOptions { seed, perturbations_per_node: 1, ..LocalSearchOptions::default() }
}

/// The least cost of routes over these customers, by trying all orders and all cuts.
fn least_cost(instance: &Cvrptw, left: &mut Vec<usize>, route: &mut Vec<usize>) -> f64 {
    let keeps = |route: &Vec<usize>| {
        let all = Instance::from(instance.clone());
        let alone: Vec<usize> = (1..instance.sites().len()).filter(|node| !route.contains(node)).collect();
        let rest = alone.iter().flat_map(|&node| [0, node]);
        all.check(&route.iter().copied().chain(rest).collect::<Vec<_>>()).is_ok()
    };
    let closed = instance.cost(std::slice::from_ref(route));
    let mut best = match (left.is_empty(), route.is_empty()) {
        (true, _) => return closed,
        (false, false) => closed + least_cost(instance, left, &mut Vec::new()),
        (false, true) => f64::INFINITY,
    };
    for at in 0..left.len() {
        let node = left.remove(at);
        route.push(node);
        if keeps(route) {
            best = best.min(least_cost(instance, left, route));
        }
        route.pop();
        left.insert(at, node);
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_checker_agrees_with_driving_backwards(
        seed in any::<u64>(), customers in 1_usize..9, cuts in any::<u16>(), tenths in any::<bool>(),
    ) {
        let instance = random(seed, customers, tenths);
        let mut order: Vec<usize> = (1..=customers).collect();
        let TimeWindows { due, .. } = instance.windows();
        order.sort_by(|&a, &b| due[a].total_cmp(&due[b]));
        let mut routes = vec![Vec::new()];
        for node in order {
            if cuts >> node & 1 == 1 {
                routes.push(Vec::new());
            }
            if let Some(last) = routes.last_mut() {
                last.push(node);
            }
        }
        prop_assert_eq!(instance.check(&routes).is_ok(), feasible(&instance, &routes));
    }

    #[test]
    fn few_customers_are_solved_to_optimality(seed in any::<u64>(), customers in 1_usize..6, tenths in any::<bool>()) {
        let instance = random(seed, customers, tenths);
        let (_, start) = instance.construct(None).unwrap();
        let found = SolverInstance::local_search(&instance, start, &few(1));
        let best = least_cost(&instance, &mut (1..=customers).collect(), &mut Vec::new());
        prop_assert!((SolverInstance::value(&instance, &found) - best).abs() < 1e-9);
    }

    #[test]
    fn never_worse_always_allowed_always_the_same(seed in any::<u64>(), customers in 1_usize..60, tenths in any::<bool>()) {
        let instance = random(seed, customers, tenths);
        let (_, start) = instance.construct(None).unwrap();
        prop_assert!(SolverInstance::check(&instance, &start).is_ok());
        let found = SolverInstance::local_search(&instance, start.clone(), &few(seed));
        prop_assert!(feasible(&instance, &routes_of(&found)));
        prop_assert!(SolverInstance::check(&instance, &found).is_ok());
        prop_assert!(SolverInstance::value(&instance, &found) <= SolverInstance::value(&instance, &start));
        prop_assert_eq!(SolverInstance::local_search(&instance, start, &few(seed)), found);
    }

    #[test]
    fn a_route_may_be_late_without_a_customer(seed in any::<u64>(), customers in 1_usize..60) {
        let instance = random_detours(seed, customers);
        let (_, start) = instance.construct(None).unwrap();
        prop_assert!(feasible(&instance, &routes_of(&start)));
        let (_, fewest) = instance.with_fewest_vehicles(Some(&start), &few(seed)).unwrap();
        prop_assert!(feasible(&instance, &routes_of(&fewest)));
        let shuffled: Vec<usize> = (1..=customers).rev().collect();
        prop_assert!(feasible(&instance, &routes_of(&instance.repair(shuffled).unwrap())));
        let options = few(seed);
        let found = SolverInstance::local_search(&instance, start, &options);
        prop_assert!(feasible(&instance, &routes_of(&found)));
        // Otherwise what the search was proud of was no solution.
        prop_assert!(options.best.get().is_none_or(|best| SolverInstance::value(&instance, &found) <= best + 1e-9));
    }

    #[test]
    fn any_order_of_customers_is_repaired(seed in any::<u64>(), customers in 1_usize..40) {
        let instance = random(seed, customers, true);
        let repaired = instance.repair((1..=customers).collect()).unwrap();
        prop_assert!(SolverInstance::check(&instance, &repaired).is_ok());
    }

    #[test]
    fn a_policy_by_the_mask_alone_gives_solutions_of_the_file(seed in any::<u64>(), customers in 1_usize..40) {
        let instance = random(seed, customers, false);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut state = SolverInstance::in_unit_square(&instance).start();
        let mut open = vec![false; customers + 1];
        while !state.done() {
            state.allowed(&mut open);
            let all: Vec<usize> = (0..=customers).filter(|&node| open[node]).collect();
            state.step(all[random.random_range(0..all.len())]);
        }
        let solution = CvrptwEnv::solution(&state);
        prop_assert!(instance.repair(solution).is_some());
    }
}

#[test]
fn a_demand_as_far_above_the_capacity_as_readers_allow_fits_an_empty_vehicle() {
    let demands = vec![0.0, 100.000_000_08, 50.0];
    let sites = Sites::euclidean("line", (0..3).map(|i| [f64::from(i), 0.0]).collect()).unwrap();
    let windows = TimeWindows { ready: vec![0.0; 3], due: vec![20.0; 3], service: vec![0.0; 3] };
    let instance = Cvrptw::new(sites, demands, 100.0, windows).unwrap();
    let mut state = SolverInstance::in_unit_square(&instance).start();
    let mut open = [false; 3];
    for (node, expected) in [(2, [false, true, true]), (0, [true, false, false]), (1, [false, true, false])] {
        state.allowed(&mut open);
        assert_eq!(open, expected);
        state.step(node);
    }
    assert!(state.done());
    assert!(instance.repair(CvrptwEnv::solution(&state)).is_some());
}

#[test]
fn the_reason_of_a_barred_node_is_named() {
    let points = vec![[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [0.0, 1.0]];
    let windows = TimeWindows {
        ready: vec![0.0, 0.0, 1.0, 0.0],
        due: vec![4.0, 0.6, 3.0, 3.0],
        service: vec![0.0, 0.1, 0.1, 0.1],
    };
    let problem = CvrptwEnv::new(points, vec![0.0, 1.0, 2.0, 2.0], 3.0, windows);
    let mut state = problem.start();
    state.step(2);
    let mut open = [false; 4];
    state.allowed(&mut open);
    assert_eq!(open, [true, false, false, false]);
    assert_eq!([1, 2, 3].map(|node| state.reason(node)), ["time window", "visited", "capacity"]);
    let mut scalars = [0.0; 3];
    state.scalars(&mut scalars);
    assert_eq!(scalars, [1.0 / 3.0, 1.1 / 4.0, 0.25]);
    assert_eq!(problem.features()[12..18], [1.0, 0.0, 2.0 / 3.0, 0.25, 0.75, 0.025]);
}

#[test]
fn so_few_vehicles_are_enough_as_there_are() {
    let instance = random(3, 40, true);
    let routes = |instance: &Cvrptw| routes_of(&instance.construct(None).unwrap().1).len();
    let free = routes(&instance);
    let fewer = instance.with_vehicles(Some(free - 1)).unwrap();
    assert!(routes(&fewer) < free);
    let (_, start) = fewer.construct(None).unwrap();
    let found = SolverInstance::local_search(&fewer, start, &few(1));
    assert!(SolverInstance::check(&fewer, &found).is_ok());
}

#[test]
fn a_deadline_is_kept() {
    let instance = random(5, 400, true);
    let begun = Instant::now();
    let deadline = Some(begun + Duration::from_millis(500));
    let (_, start) = instance.construct(deadline).unwrap();
    let options = LocalSearchOptions { deadline, perturbations_per_node: usize::MAX, ..LocalSearchOptions::default() };
    let found = SolverInstance::local_search(&instance, start, &options);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(SolverInstance::check(&instance, &found).is_ok());
    let past = LocalSearchOptions { deadline: Some(begun), ..options };
    let same = SolverInstance::local_search(&instance, found.clone(), &past);
    assert!(SolverInstance::value(&instance, &same) <= SolverInstance::value(&instance, &found));
}
