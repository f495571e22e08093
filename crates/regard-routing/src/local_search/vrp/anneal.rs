//! Simulated annealing over ruined and recreated routes (section 5.5 of the paper).

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Neighbours, Progress, plan::Plan, recreate::Recreate, ruin::Ruin, schedule::Schedule};

/// The cost is summed afresh once in this many iterations, so that rounding does not add up.
const ITERATIONS_PER_SUM: usize = 1 << 18;

/// `progress` hears this many times of a search.
const REPORTS: f64 = 100.0;

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
    let tolerance = 1e-12 * cost.abs();
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut ruin, recreate) = (Ruin::new(), Recreate::new(plan));
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
