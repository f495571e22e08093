//! Simulated annealing over ruined and recreated routes (Kirkpatrick, Gelatt and Vecchi,
//! "Optimization by simulated annealing", Science 220, 1983).

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{
    Options, Problem,
    plan::Plan,
    progress::Progress,
    recreate::{Greed, POWERS, worths},
    terms::Sums,
};

/// Temperatures at the start and at the end, in what one node contributes on average.
const TEMPERATURES: [f64; 2] = [3.0, 0.03];

/// Cost of the whole length in orienteering, as a share of all prizes: of two routes with the
/// same prize, the search goes on from the shorter one.
const LENGTH_COST: f64 = 0.05;

/// Worth over detour is multiplied by up to this much more or less.
const NOISE: f64 = 0.3;

/// Probability that nodes just left out stay out until others had their turn.
const BARRED: f64 = 0.3;

/// Value that the search minimises: the objective, and in orienteering also some of the length.
struct Energy {
    per_length: f64,
    /// Average contribution of one node.
    unit: f64,
}

impl Energy {
    fn new(problem: &Problem, sums: &Sums) -> Self {
        let terms = &problem.terms;
        let nodes = problem.len() as f64;
        if terms.collecting {
            return Self { per_length: 1.0, unit: terms.cost(sums).abs() / nodes };
        }
        let total: f64 = terms.weights.iter().sum();
        let per_length = if terms.limit > 0.0 { LENGTH_COST * total / terms.limit } else { 0.0 };
        Self { per_length, unit: total / nodes }
    }

    fn of(&self, sums: &Sums) -> f64 {
        sums.missed + self.per_length * sums.length
    }

    /// The temperature after a share of the search.
    fn temperature(&self, progress: f64) -> f64 {
        let [first, last] = TEMPERATURES;
        self.unit * first * (last / first).powf(progress)
    }
}

/// The best plan found and the number of iterations. `start` keeps the bounds.
pub(super) fn anneal(problem: &Problem, start: &Plan, options: &Options) -> (Plan, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(options.seed);
    let mut search = Progress::new(options);
    let worth = POWERS.map(|power| worths(problem, power));
    let (mut current, mut trial, mut removed) = (start.clone(), start.clone(), Vec::new());
    let mut sums = current.sums(problem);
    let energy = Energy::new(problem, &sums);
    let (mut best, mut best_sums) = (current.clone(), sums);
    while let Some(progress) = search.tick() {
        trial.clone_from(&current);
        trial.ruin(problem, &mut removed, &mut random);
        let power = if problem.terms.collecting { 1 } else { random.random_range(0..POWERS.len()) };
        let barred = if random.random_bool(BARRED) { removed.as_slice() } else { &[] };
        trial.fill(problem, &Greed { worth: &worth[power], noise: NOISE, barred }, &mut random);
        let after = trial.sums(problem);
        let uphill = -energy.temperature(progress) * (1.0 - random.random::<f64>()).ln();
        if !problem.terms.keeps(&after) || energy.of(&after) >= energy.of(&sums) + uphill {
            continue;
        }
        std::mem::swap(&mut current, &mut trial);
        sums = after;
        let [cost, least] = [sums, best_sums].map(|sums| problem.terms.cost(&sums));
        if cost < least || (cost == least && sums.length < best_sums.length) {
            best.clone_from(&current);
            best_sums = sums;
        }
    }
    (best, search.done())
}
