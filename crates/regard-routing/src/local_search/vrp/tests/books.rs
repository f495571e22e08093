//! The bookkeeping of linked routes under ruin and recreation.

use super::super::{recreate::Recreate, ruin::Ruin};
use super::*;

/// The routes as the stops say, forwards, after a look at every link and sum.
fn routes_of(plan: &Plan) -> Vec<Vec<usize>> {
    let n = plan.vrp.sites.len();
    let mut routes = Vec::new();
    for route in 1..plan.sizes.len() {
        let depot = plan.depot_of(route as u32);
        let (mut nodes, mut stop, mut length) = (Vec::new(), depot, 0.0);
        loop {
            let at = plan.stops[stop as usize];
            assert_eq!((at.route as usize, plan.stops[at.after as usize].before), (route, stop));
            let distance = plan.vrp.sites.distance(plan.site(stop) as usize, plan.site(at.after) as usize);
            assert_eq!(at.ahead, distance);
            length += at.ahead;
            stop = at.after;
            if stop == depot {
                break;
            }
            assert!((stop as usize) < n);
            nodes.push(stop as usize);
        }
        let load: f64 = nodes.iter().map(|&node| plan.vrp.demands[node]).sum();
        assert!((plan.loads[route] - load).abs() < 1e-9 && (plan.lengths[route] - length).abs() < 1e-9);
        assert_eq!(plan.sizes[route] as usize, nodes.len());
        routes.push(nodes);
    }
    routes
}

#[test]
fn every_iteration_keeps_the_rules_and_the_books() {
    for (customers, kind) in [(1, 0), (2, 3), (3, 0), (9, 1), (40, 0), (40, 1), (40, 2), (90, 3)] {
        let owned = Owned::random(customers as u64, customers, kind);
        let vrp = owned.vrp();
        let distances = Distances::new(vrp.sites, &mut Clock::new(None));
        let neighbours = Neighbours::new(vrp.sites, &distances, 20, Choice::Nearest, &mut Clock::new(None));
        let mut plan = Plan::new(&vrp, &distances, &alone(customers));
        let (mut ruin, recreate) = (Ruin::new(), Recreate::new(&plan));
        let mut random = Pcg64Mcg::seed_from_u64(3);
        for iteration in 0..400 {
            let before = routes_of(&plan);
            ruin.ruin(&mut plan, &neighbours, &mut random);
            assert!(!ruin.absent.is_empty());
            recreate.recreate(&mut plan, &mut ruin, &neighbours, &mut random);
            let after = routes_of(&plan);
            assert!(vrp.keeps(&after));
            assert!((vrp.cost(&after) - vrp.cost(&before) - plan.change).abs() < 1e-9);
            assert!((plan.cost() - vrp.cost(&after)).abs() < 1e-9);
            if iteration % 3 == 0 {
                plan.take_back();
                let again: Vec<_> = routes_of(&plan).into_iter().take(before.len()).collect();
                assert_eq!(again, before);
            } else {
                assert!(plan.keep());
                plan.save();
                assert!((vrp.cost(&plan.saved()) - plan.cost()).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn the_best_routes_stay_saved_while_others_are_tried() {
    let owned = Owned::random(5, 30, 0);
    let vrp = owned.vrp();
    let distances = Distances::new(vrp.sites, &mut Clock::new(None));
    let neighbours = Neighbours::new(vrp.sites, &distances, 20, Choice::Nearest, &mut Clock::new(None));
    let mut plan = Plan::new(&vrp, &distances, &alone(30));
    let (mut ruin, recreate) = (Ruin::new(), Recreate::new(&plan));
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let saved = plan.saved();
    for _ in 0..100 {
        ruin.ruin(&mut plan, &neighbours, &mut random);
        recreate.recreate(&mut plan, &mut ruin, &neighbours, &mut random);
        assert!(plan.keep());
        assert_eq!(plan.saved(), saved);
    }
    plan.save();
    let kept = routes_of(&plan).into_iter().filter(|route| !route.is_empty());
    assert_eq!(plan.saved(), kept.collect::<Vec<_>>());
}
