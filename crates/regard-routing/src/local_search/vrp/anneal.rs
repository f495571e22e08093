//! Simulated annealing over ruined and recreated routes (section 5.5 of the paper).

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Neighbours, Node, Progress, plan::Plan, recreate::Recreate, ruin::Ruin, schedule::Schedule};

/// The cost is summed afresh once in this many iterations, so that rounding does not add up.
const ITERATIONS_PER_SUM: usize = 1 << 18;

/// `progress` hears this many times of a search.
const REPORTS: f64 = 100.0;

/// Where deliveries are split, the temperature has no higher unit than so many mean distances between near customers:
/// routes of two or three customers are mostly ways from the depot and back, which no change makes shorter.
const NEAR_UNITS: f64 = 2.0;

/// Nor is the unit below this share of the usual one: customers may share their places.
const LEAST_UNIT: f64 = 0.1;

/// So many neighbours of every customer are near.
const NEAR: usize = 3;

/// The mean distance between customers and their nearest neighbours.
fn mean_distance(neighbours: &Neighbours, customers: usize) -> f64 {
    let near = |node: usize| neighbours.of(node as Node).filter(|&(other, _)| other > 0).take(NEAR);
    let (count, sum) = (1..=customers).flat_map(near).fold((0, 0.0), |(n, sum), (_, distance)| (n + 1, sum + distance));
    if count == 0 { f64::INFINITY } else { sum / f64::from(count) }
}

/// The best routes found from `routes`, and the iterations done.
pub(super) fn anneal(
    plan: &mut Plan,
    neighbours: &Neighbours,
    mut schedule: Schedule,
    seed: u64,
    progress: Option<Progress>,
) -> (Vec<Vec<usize>>, u64) {
    let customers = plan.vrp.sites.len().saturating_sub(1);
    let mut cost = plan.cost();
    if customers < 2 || cost == 0.0 {
        return (plan.saved(), 0);
    }
    let unit = cost.abs() / (customers + plan.routes()) as f64;
    let unit = match plan.vrp.splits {
        true => (NEAR_UNITS * mean_distance(neighbours, customers)).clamp(LEAST_UNIT * unit, unit),
        false => unit,
    };
    let tolerance = 1e-12 * cost.abs();
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut ruin, mut recreate) = (Ruin::new(), Recreate::new(plan).until(schedule.clock()));
    let (mut best, mut temperature, mut reports) = (cost, 0.0, 0.0);
    while schedule.go_on() {
        if schedule.looked() {
            temperature = unit * schedule.temperature(customers, plan.vrp.windows.is_some());
            if let Some(progress) = progress.filter(|_| schedule.done * REPORTS >= reports) {
                progress(schedule.done, best);
                reports = (schedule.done * REPORTS).floor() + 1.0;
            }
        }
        if schedule.begun.is_multiple_of(ITERATIONS_PER_SUM) {
            cost = plan.cost();
        }
        ruin.ruin(plan, neighbours, &mut random);
        recreate.recreate(plan, &mut ruin, neighbours, &mut random);
        let change = plan.change;
        let bearable = change <= 0.0 || change < -temperature * (1.0 - random.random::<f64>()).ln();
        if !(bearable && ruin.absent.is_empty() && plan.keep()) {
            plan.take_back();
            continue;
        }
        cost += change;
        if cost < best - tolerance {
            best = cost;
            plan.save();
        }
    }
    (plan.saved(), schedule.begun as u64)
}
