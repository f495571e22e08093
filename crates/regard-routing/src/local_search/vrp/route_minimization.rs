//! Fewer routes: all customers of a route are taken out, and the others make room for them (section 5.6 of the paper).
//!
//! Customers may be absent for a while. How often each has been tells which are hard to place: a change is kept if those
//! left out are easier ones than before.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Neighbours, Node, plan::Plan, recreate::Recreate, ruin::Ruin, schedule::Schedule};

/// The temperature at which changes are kept that leave out equally hard customers, in mean distances between stops.
const WARMTH: f64 = 0.1;

/// The routes with customers, as few as were found, but no fewer than `enough`.
pub(super) fn reduce(
    plan: &mut Plan,
    neighbours: &Neighbours,
    mut schedule: Schedule,
    seed: u64,
    enough: usize,
) -> Vec<Vec<usize>> {
    let nodes = plan.vrp.sites.len();
    if nodes < 2 {
        return plan.saved();
    }
    let temperature = WARMTH * plan.cost().abs() / (nodes - 1 + plan.routes()) as f64;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut ruin, mut recreate) = (Ruin::new(), Recreate::new(plan).until(schedule.clock()));
    let mut absences = vec![1_u64; nodes];
    let mut absent: Vec<Node> = Vec::new();
    let hardness = |absences: &[u64], nodes: &[Node]| nodes.iter().map(|&node| absences[node as usize]).sum::<u64>();
    while schedule.go_on() {
        if absent.is_empty() {
            if plan.routes() <= enough.max(1) {
                break;
            }
            absent = easiest_route(plan, &absences);
            for &node in &absent {
                plan.take_out(node);
            }
            plan.keep();
            plan.vehicles = Some(plan.routes());
        }
        ruin.ruin_and(plan, &absent, neighbours, &mut random);
        recreate.recreate(plan, &mut ruin, neighbours, &mut random);
        let (before, after) = (hardness(&absences, &absent), hardness(&absences, &ruin.absent));
        let bearable = plan.change <= 0.0 || plan.change < -temperature * (1.0 - random.random::<f64>()).ln();
        for &node in &ruin.absent {
            absences[node as usize] += 1;
        }
        if (after < before || (after == before && bearable)) && plan.keep() {
            absent.clone_from(&ruin.absent);
            if absent.is_empty() {
                plan.save();
            }
        } else {
            plan.take_back();
        }
    }
    plan.saved()
}

/// The customers of the route that has been the easiest to place.
fn easiest_route(plan: &Plan, absences: &[u64]) -> Vec<Node> {
    let routes = (1..plan.sizes.len()).filter(|&route| plan.sizes[route] > 0);
    let customers = |route: usize| {
        let depot = plan.depot_of(route as u32);
        let step = |&stop: &Node| Some(plan.stops[stop as usize].after).filter(|&next| next != depot);
        std::iter::successors(step(&depot), step).collect::<Vec<Node>>()
    };
    let hardness = |nodes: &Vec<Node>| nodes.iter().map(|&node| absences[node as usize]).sum::<u64>();
    routes.map(customers).min_by_key(hardness).unwrap_or_default()
}
