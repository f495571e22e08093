//! The bookkeeping of linked routes under ruin and recreation.

use super::super::{recreate::Recreate, ruin::Ruin};
use super::*;

/// The routes as the stops say, forwards, after a look at every link and sum.
fn routes_of(plan: &Plan) -> Vec<Vec<usize>> {
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
            assert!(!plan.is_depot(stop));
            nodes.push(stop as usize);
        }
        let load: f64 = nodes.iter().map(|&node| plan.amounts[node]).sum();
        assert!((plan.loads[route] - load).abs() < 1e-9 && (plan.lengths[route] - length).abs() < 1e-9);
        assert_eq!(plan.sizes[route] as usize, nodes.len());
        routes.push(nodes);
    }
    routes
}

#[test]
fn every_iteration_keeps_the_rules_and_the_books() {
    let sizes = [(1, 0), (2, 3), (3, 0), (9, 1), (40, 0), (40, 1), (40, 2), (90, 3), (40, 4)];
    for ((customers, kind), splits) in sizes.into_iter().flat_map(|size| [(size, false), (size, true)]) {
        let owned = Owned::random(customers as u64, customers, kind);
        // Vehicles that hold less than two customers share what is left over.
        let small = Vrp { capacity: owned.capacity * 0.4, ..owned.vrp() }.with_split_deliveries();
        let vrp = if splits { small } else { owned.vrp() };
        let distances = Distances::new(vrp.sites, &mut Clock::new(None));
        let neighbours = Neighbours::new(vrp.sites, &distances, 20, Choice::Nearest, &mut Clock::new(None));
        let start = Start::of(&vrp, &alone(customers));
        let mut plan = Plan::new(&vrp, &distances, &start.visits, &start.routes);
        let (mut ruin, mut recreate) = (Ruin::new(), Recreate::new(&plan));
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut shared = 0;
        for iteration in 0..400 {
            let (before, cost) = (routes_of(&plan), plan.cost());
            ruin.ruin(&mut plan, &neighbours, &mut random);
            assert!(!ruin.absent.is_empty() || splits);
            recreate.recreate(&mut plan, &mut ruin, &neighbours, &mut random);
            let after = routes_of(&plan);
            assert!((plan.cost() - cost - plan.change).abs() < 1e-9);
            let solution = start.solution(&vrp, after.clone());
            assert!(vrp.keeps(&solution));
            // A vehicle that has more left than was planned may spare another one a visit.
            let spared = plan.cost() - vrp.cost(&solution);
            assert!(spared.abs() < 1e-9 || splits && (spared > 0.0 || kind & 4 != 0), "{spared}");
            shared += usize::from(after.iter().flatten().any(|&visit| visit > customers));
            if iteration % 3 == 0 {
                plan.take_back();
                let again: Vec<_> = routes_of(&plan).into_iter().take(before.len()).collect();
                assert_eq!(again, before);
            } else {
                assert!(plan.keep());
                plan.save();
                let saved = plan.saved();
                assert!(routes_of(&plan).into_iter().filter(|route| !route.is_empty()).eq(saved));
            }
        }
        assert!(if splits { shared > 0 || customers < 9 } else { shared == 0 });
    }
}

#[test]
fn the_best_routes_stay_saved_while_others_are_tried() {
    let owned = Owned::random(5, 30, 0);
    let vrp = owned.vrp();
    let distances = Distances::new(vrp.sites, &mut Clock::new(None));
    let neighbours = Neighbours::new(vrp.sites, &distances, 20, Choice::Nearest, &mut Clock::new(None));
    let visits = Visits::whole(vrp.demands);
    let mut plan = Plan::new(&vrp, &distances, &visits, &alone(30));
    let (mut ruin, mut recreate) = (Ruin::new(), Recreate::new(&plan));
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
