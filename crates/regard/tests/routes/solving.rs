//! Solving without a network, and far from what networks have seen.

use std::time::Duration;

use regard::Device;
use regard::routes::AttentionModelConfig;
use regard::routes::decode::Decode;
use regard::routes::model::AttentionModel;
use regard::routes::solve::{Finish, Objective, Solution, SolveOptions, StageKind, solve_instance};
use regard::routing::generate;
use regard::routing::problems::cvrptw::{Cvrptw, TimeWindows};
use regard::routing::problems::{cvrp::Cvrp, tsp::Tsp};
use regard::routing::{Instance, Sites};

fn sites(n: usize) -> Sites {
    let points = generate::uniform(5, 1, n).remove(0);
    Sites::euclidean("random", points.iter().map(|point| point.map(f64::from)).collect()).unwrap()
}

fn off() -> SolveOptions {
    SolveOptions { finish: Finish::Off, ..SolveOptions::default() }
}

#[test]
fn large_instances_are_constructed_in_little_more_than_the_best_length() {
    // Long tours through uniform points measure about 0.7124 √n.
    let n = 5000;
    let found = solve_instance(None, &Tsp::from(sites(n)).into(), &off()).unwrap();
    assert_eq!(found.stages.iter().map(|stage| stage.kind).collect::<Vec<_>>(), [StageKind::Construct]);
    let expected = 0.7124 * (n as f64).sqrt();
    assert!(found.cost < 1.3 * expected, "{} {expected}", found.cost);
}

#[test]
fn more_places_than_an_encoder_takes_are_solved_without_it_unless_it_was_asked_for() {
    let config = AttentionModelConfig { width: 16, heads: 2, distance_bias: true, ..AttentionModelConfig::kool_2019() };
    let model = AttentionModel::new(&config, &Device::flex()).unwrap();
    let tsp: Instance = Tsp::from(sites(5000)).into();
    for finish in [Finish::Off, Finish::Timed(Duration::from_secs(1))] {
        let options = SolveOptions { finish, ..SolveOptions::default() };
        let found = solve_instance(Some(&model), &tsp, &options).unwrap();
        assert!(found.stages.iter().all(|stage| stage.kind != StageKind::Network), "{:?}", found.stages);
        let asked = SolveOptions { decode: Some(Decode::Greedy), ..options };
        let Err(error) = solve_instance(Some(&model), &tsp, &asked) else { panic!("has no room for all pairs") };
        assert!(error.to_string().contains("has 5000 nodes"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("without `--decode`")), "{error:?}");
    }
}

#[test]
fn without_a_network_there_is_a_construction() {
    let found = solve_instance(None, &Tsp::from(sites(20)).into(), &off()).unwrap();
    assert_eq!(found.stages.iter().map(|stage| stage.kind).collect::<Vec<_>>(), [StageKind::Construct]);
}

#[test]
fn with_a_time_limit_construction_and_search_come_before_the_network() {
    let config = AttentionModelConfig { width: 16, heads: 2, ..AttentionModelConfig::kool_2019() };
    let model = AttentionModel::new(&config, &Device::flex()).unwrap();
    let tsp: Instance = Tsp::from(sites(100)).into();
    let solve = |time: Duration| {
        let options = SolveOptions { finish: Finish::Timed(time), ..SolveOptions::default() };
        solve_instance(Some(&model), &tsp, &options).unwrap()
    };
    let kinds = |found: &Solution| found.stages.iter().map(|stage| stage.kind).collect::<Vec<_>>();
    let long = solve(Duration::from_secs(2));
    assert_eq!(kinds(&long)[..3], [StageKind::Construct, StageKind::Improve, StageKind::Network]);
    assert_eq!(kinds(&long).last(), Some(&StageKind::Improve));
    // The network's first tour is far longer, and nothing that was found before is lost.
    let last = long.stages.last().unwrap().cost;
    assert!(long.stages[2].cost > long.stages[1].cost && last <= long.stages[1].cost, "{:?}", long.stages);
    // There is no time for the network, but for an answer.
    let short = solve(Duration::from_millis(1));
    assert_eq!(kinds(&short), [StageKind::Construct, StageKind::Improve]);
}

#[test]
fn a_limit_of_routes_is_kept_and_the_time_too() {
    let n = 60;
    let demands: Vec<f64> = (0..n).map(|node| if node == 0 { 0.0 } else { 1.0 }).collect();
    let cvrp = Cvrp::new(sites(n), demands, 30.0).unwrap().with_limit(3.2, 0.02).unwrap();
    let options = SolveOptions { finish: Finish::Timed(Duration::from_millis(200)), ..SolveOptions::default() };
    let found = solve_instance(None, &cvrp.clone().into(), &options).unwrap();
    cvrp.check(&regard::routing::routes_of(&found.tour)).unwrap();
    assert!(found.stages.last().unwrap().gain.unwrap() <= 0.0);
    assert!(found.seconds < 5.0);
}

/// Customers with windows that follow each other, so that short routes need more vehicles than few routes do.
fn with_windows() -> Cvrptw {
    let points: Vec<[f64; 2]> =
        generate::uniform(8, 1, 41).remove(0).iter().map(|p| p.map(|x| 100.0 * f64::from(x))).collect();
    let n = points.len();
    let sites = Sites::euclidean("windows", points).unwrap();
    let ready: Vec<f64> = (0..n).map(|node| if node == 0 { 0.0 } else { (node * 37 % 900) as f64 }).collect();
    let due = (0..n).map(|node| if node == 0 { 2000.0 } else { ready[node] + 150.0 }).collect();
    let service = (0..n).map(|node| if node == 0 { 0.0 } else { 5.0 }).collect();
    let demands = (0..n).map(|node| if node == 0 { 0.0 } else { 1.0 + (node % 3) as f64 }).collect();
    Cvrptw::new(sites, demands, 100.0, TimeWindows { ready, due, service }).unwrap()
}

#[test]
fn vehicles_are_saved_before_their_routes_are_shortened() {
    let instance: Instance = with_windows().into();
    let solve = |objective: Objective, warm_start: Option<Vec<usize>>, finish: Finish| {
        let options = SolveOptions { objective, warm_start, finish, ..SolveOptions::default() };
        let found = solve_instance(None, &instance, &options).unwrap();
        instance.check(&found.tour).unwrap();
        (instance.routes(&found.tour).len(), found)
    };
    let (of_cost, cheap) = solve(Objective::Cost, None, Finish::Bounded);
    let (of_vehicles, few) = solve(Objective::Vehicles, None, Finish::Bounded);
    assert!(of_vehicles < of_cost && few.cost > cheap.cost, "{of_vehicles} {of_cost} {} {}", few.cost, cheap.cost);
    assert_eq!(few.stages[0].name, "fewest vehicles");
    assert!(few.stages.iter().all(|stage| instance.routes(&stage.solution).len() <= of_vehicles));
    // No worse than a solution that is given, in both respects.
    let again = solve(Objective::Vehicles, Some(few.tour.clone()), Finish::Timed(Duration::from_millis(50)));
    assert!(again.0 < of_vehicles || (again.0 == of_vehicles && again.1.cost <= few.cost));
    let tsp: Instance = Tsp::from(self::sites(9)).into();
    let options = SolveOptions { objective: Objective::Vehicles, ..SolveOptions::default() };
    let error = solve_instance(None, &tsp, &options).unwrap_err().to_string();
    assert!(error.contains("does not count in problem `tsp`"), "{error}");
}

#[test]
fn a_network_that_breaks_a_rule_is_told_at_the_cost_of_what_there_is() {
    let config =
        AttentionModelConfig { problem: "cvrptw".into(), width: 16, heads: 2, ..AttentionModelConfig::kool_2019() };
    let model = AttentionModel::new(&config, &Device::flex()).unwrap();
    let few = SolveOptions { objective: Objective::Vehicles, ..SolveOptions::default() };
    let free: Instance = with_windows().into();
    let few = solve_instance(None, &free, &few).unwrap().tour;
    let vehicles = free.routes(&few).len();
    let limited: Instance = with_windows().with_vehicles(Some(vehicles)).unwrap().into();
    for finish in [Finish::Bounded, Finish::Timed(Duration::from_millis(300))] {
        let warm_start = Some(few.clone());
        let options = SolveOptions { decode: Some(Decode::Greedy), finish, warm_start, ..SolveOptions::default() };
        let found = solve_instance(Some(&model), &limited, &options).unwrap();
        limited.check(&found.tour).unwrap();
        assert!(found.stages.iter().all(|stage| stage.cost.is_finite()), "{:?}", found.stages);
        let network = found.stages.iter().find(|stage| stage.kind == StageKind::Network).unwrap();
        assert_eq!(network.name, "greedy, breaks a rule");
    }
}
