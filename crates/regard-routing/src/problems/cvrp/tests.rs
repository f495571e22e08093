use super::*;
use crate::local_search::LocalSearchOptions;
use crate::problems::sdvrp::Sdvrp;
use crate::{Result, Sites, SolverInstance, routes_of};

/// A depot with id 9 in the corner and four customers on a line to its right, ids 1 to 4.
fn line(demands: [f64; 4]) -> Result<Cvrp> {
    let ids = ["9", "1", "2", "3", "4"].map(String::from).to_vec();
    let places = (0..5).map(|i| [f64::from(i), 0.0]).collect();
    let sites = Sites::euclidean("line", places)?.with_ids(ids)?;
    Cvrp::new(sites, [&[0.0], &demands[..]].concat(), 10.0)
}

fn reason(result: Result<()>) -> String {
    result.map_or_else(|e| e.to_string(), |()| String::new())
}

#[test]
fn costs_are_the_lengths_of_the_round_trips() {
    let instance = line([5.0, 5.0, 5.0, 5.0]).unwrap();
    assert_eq!(instance.cost(&[vec![1, 2], vec![], vec![4, 3]]), 12.0);
    assert_eq!(instance.cost(&[]), 0.0);
    assert_eq!((instance.len(), instance.customers()), (5, 4));
}

#[test]
fn the_first_broken_rule_is_named_by_ids() {
    let instance = line([5.0, 5.0, 5.0, 5.0]).unwrap();
    let said = |routes: &[Vec<usize>]| reason(instance.check(routes));
    assert_eq!(said(&[vec![1, 4], vec![], vec![2, 3]]), "");
    for (routes, expected) in [
        (vec![vec![1, 5]], "route 1, position 2: node index 5 is not below 5"),
        (vec![vec![1], vec![2, 0, 3]], "route 2, position 2: the depot (9) is among the customers"),
        (vec![vec![1, 2], vec![2]], "node 2 is visited twice, in route 1 and route 2"),
        (vec![vec![1, 2], vec![3]], "node 4 is not visited (1 of 4 customers missing)"),
        (vec![vec![1, 2, 3], vec![4]], "route 1 carries 15, the capacity is 10"),
    ] {
        assert_eq!(said(&routes), format!("not a solution: {expected}"));
    }
}

#[test]
fn limits_count_length_and_service() {
    let instance = line([1.0; 4]).unwrap().with_limit(12.0, 1.0).unwrap();
    assert_eq!(reason(instance.check(&[vec![1, 2, 3, 4]])), "");
    let tighter = instance.with_limit(11.0, 1.0).unwrap();
    let said = reason(tighter.check(&[vec![1, 2, 3, 4]]));
    assert_eq!(said, "not a solution: route 1 has length 12 with service, the limit is 11");
}

#[test]
fn split_deliveries_take_what_is_left() {
    let sites = Sites::euclidean("two", vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]).unwrap();
    let instance = Sdvrp::new(sites, vec![0.0, 15.0, 5.0], 10.0).unwrap();
    assert_eq!(reason(instance.check(&[vec![1], vec![1, 2]])), "");
    assert_eq!(reason(instance.check(&[vec![2, 1], vec![1]])), "");
    assert_eq!(
        reason(instance.check(&[vec![1], vec![2]])),
        "not a solution: node 2 has 5 of its demand 15 undelivered"
    );
    let sites = instance.routing().sites().clone();
    assert!(Cvrp::new(sites.clone(), vec![0.0, 15.0, 5.0], 10.0).is_err());
    let said = |demands| reason(Sdvrp::new(sites.clone(), demands, 1.0).map(|_| ()));
    assert_eq!(said(vec![0.0, 5e5, 5e5 + 2.0]), "");
    let reason = "with the capacity 1 takes more than 1000000 routes of full vehicles in all";
    assert_eq!(said(vec![0.0, 5e5, 5e5 + 3.0]), format!("demand of node 3: 500003 {reason}"));
}

#[test]
fn split_deliveries_keep_a_limit_on_the_length_of_routes() {
    let corners = vec![[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]];
    let sites = Sites::euclidean("cross", corners).unwrap();
    // Two customers in one route are at least 4 + 2.8 long; the service counts.
    for (limit, service, demand) in [(5.0, 0.0, 2.0), (7.5, 0.5, 2.0), (5.0, 0.0, 12.0)] {
        let demands = vec![0.0, demand, demand, demand, demand];
        let whole = Cvrp::with_any_demands(sites.clone(), demands, 10.0).unwrap().with_limit(limit, service).unwrap();
        let instance = Sdvrp::from(whole);
        let (_, walk) = instance.construct(None).unwrap();
        assert_eq!(reason(SolverInstance::check(&instance, &walk)), "", "{limit} {demand}");
        let found = instance.local_search(walk.clone(), &LocalSearchOptions::default());
        assert_eq!(reason(SolverInstance::check(&instance, &found)), "", "{limit} {demand}");
        assert_eq!(instance.cost(&found), if demand > 10.0 { 32.0 } else { 16.0 });
        assert_eq!(instance.repair(walk.clone()), Some(walk));
        let together = if demand > 10.0 { vec![1, 0, 1, 2, 0, 2, 3, 0, 3, 4, 0, 4] } else { vec![1, 2, 3, 4] };
        let repaired = instance.repair(together).unwrap();
        assert_eq!(reason(SolverInstance::check(&instance, &repaired)), "", "{limit} {demand}");
    }
}

#[test]
fn fractions_may_fill_a_vehicle() {
    let sites = Sites::euclidean("ten", vec![[0.0, 0.0]; 11]).unwrap();
    let demands = [&[0.0], &[0.1; 10][..]].concat();
    let all = [(1..11).collect::<Vec<_>>()];
    for capacity in [1.0, 0.999_999] {
        let instance = Cvrp::new(sites.clone(), demands.clone(), capacity).unwrap();
        assert_eq!(instance.check(&all).is_ok(), capacity == 1.0);
        assert_eq!(Sdvrp::from(instance).check(&all).is_ok(), capacity == 1.0);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let error = line([1.0, 12.0, 1.0, 1.0]).unwrap_err().to_string();
    assert_eq!(error, "demand of node 2: 12 is above the capacity, which is 10");
    assert!(line([1.0, -1.0, 1.0, 1.0]).unwrap_err().to_string().contains("demand of node 2: -1"));
    assert!(line([f64::NAN; 4]).is_err() && line([f64::INFINITY; 4]).is_err());
    let sites = Sites::euclidean("one", vec![[0.0, 0.0]]).unwrap();
    for (demands, capacity) in [(vec![1.0], 5.0), (vec![], 5.0), (vec![0.0], 0.0), (vec![0.0], f64::NAN)] {
        assert!(Cvrp::new(sites.clone(), demands, capacity).is_err());
    }
    let lone = Cvrp::new(sites, vec![0.0], 5.0).unwrap();
    assert!(lone.check(&[]).is_ok());
    assert!(lone.clone().with_limit(0.0, 0.0).is_err() && lone.with_limit(1.0, -1.0).is_err());
}

#[test]
fn walks_are_cut_at_the_depot() {
    assert_eq!(routes_of(&[]), Vec::<Vec<usize>>::new());
    assert_eq!(routes_of(&[1, 2]), [vec![1, 2]]);
    assert_eq!(routes_of(&[0, 0, 1, 0, 2, 0]), [vec![1], vec![2]]);
}
