//! Putting nodes back greedily, and leaving out what is not worth its detour.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Problem, distances::Node, plan::Plan, route::DEPOT, terms::Sums};

/// The powers of the prize that are weighed against the detour.
pub(super) const POWERS: [f64; 4] = [0.5, 1.0, 1.5, 2.0];

/// Larger instances are built with the plain prize alone.
const ALL_POWERS_UP_TO: usize = 1000;

/// Times that a shortened route is filled again.
const FILLINGS: usize = 3;

/// A walk to the nearest nodes ends when so many were too far for its length.
const TOO_FAR: usize = 64;

/// Nodes without prize count as this share of the required one: they go in only where all must.
const LEAST_PRIZE: f64 = 1e-9;

/// Greediness of the reinsertion of nodes.
pub(super) struct Greed<'a> {
    /// Worth of each node.
    pub(super) worth: &'a [f64],
    /// Worth over detour is multiplied by a number from `1 - noise` to `1 + noise`.
    pub(super) noise: f64,
    /// Nodes that stay out this time.
    pub(super) barred: &'a [Node],
}

/// Every node's weight to some power.
pub(super) fn worths(problem: &Problem, power: f64) -> Vec<f64> {
    problem.terms.weights.iter().map(|&weight| if power == 1.0 { weight } else { weight.powf(power) }).collect()
}

/// The best of greedy routes for each of [`POWERS`], each made short and filled again, and of one to the nearest nodes,
/// which is there whatever time is left; with the name of how it was found.
pub(super) fn greedy(problem: &Problem) -> (&'static str, Plan) {
    let mut random = Pcg64Mcg::seed_from_u64(0);
    let nearest = Plan::nearest_first(problem);
    let mut shortened = nearest.clone();
    shortened.shorten(problem);
    shortened.drop_unworthy(problem);
    shortened.fill(problem, &Greed { worth: problem.terms.weights, noise: 0.0, barred: &[] }, &mut random);
    let powers = if problem.len() <= ALL_POWERS_UP_TO { &POWERS[..] } else { &POWERS[1..2] };
    let inserted = powers.iter().map(|&power| {
        let mut plan = Plan::empty(problem);
        plan.fill(problem, &Greed { worth: &worths(problem, power), noise: 0.0, barred: &[] }, &mut random);
        plan.repair(problem);
        ("insertion", plan)
    });
    let with_cost = |(name, mut plan): (_, Plan)| {
        let sums = plan.sums(problem);
        problem.terms.keeps(&sums).then(|| (problem.terms.cost(&sums), name, plan))
    };
    let others = [("nearest neighbour, descent", shortened), ("nearest neighbour", nearest.clone())];
    let best = inserted.chain(others).filter_map(with_cost).min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(("nearest neighbour", nearest), |(_, name, plan)| (name, plan))
}

impl Plan {
    /// Puts nodes in, shortens the route and drops what does not pay, until that gains no more.
    pub(super) fn fill(&mut self, problem: &Problem, greed: &Greed, random: &mut Pcg64Mcg) {
        self.recreate(problem, greed, random);
        self.shorten(problem);
        self.drop_unworthy(problem);
        let greed = Greed { barred: &[], ..*greed };
        for _ in 0..FILLINGS {
            let count = self.route.left_out().len();
            self.recreate(problem, &greed, random);
            if self.route.left_out().len() == count {
                break;
            }
            self.shorten(problem);
            self.drop_unworthy(problem);
        }
    }

    /// Fills without noise; a plan that then breaks a bound is left as it was.
    pub(super) fn descend(&mut self, problem: &Problem) {
        let worth = worths(problem, 1.0);
        let before = self.clone();
        let mut random = Pcg64Mcg::seed_from_u64(0);
        self.fill(problem, &Greed { worth: &worth, noise: 0.0, barred: &[] }, &mut random);
        if !problem.terms.keeps(&self.sums(problem)) {
            *self = before;
        }
    }

    /// Puts nodes in, the best for its detour first, until none fits or pays or the deadline has passed.
    pub(super) fn recreate(&mut self, problem: &Problem, greed: &Greed, random: &mut Pcg64Mcg) {
        while !problem.is_over() && self.refresh(problem) {
            let (floor, most) = (self.floor(problem), 1.0 + greed.noise);
            let mut best = (floor, None);
            for &node in self.route.left_out() {
                let score = self.score(problem, greed, node);
                if score <= floor || score * most <= best.0 {
                    continue;
                }
                let score = score * (1.0 + greed.noise * (2.0 * random.random::<f64>() - 1.0));
                if score > best.0 && !greed.barred.contains(&node) {
                    best = (score, Some(node));
                }
            }
            let Some(node) = best.1 else { break };
            self.insert(problem, node);
        }
    }

    /// The score above which a node goes in: penalties must outweigh detours once there is enough
    /// prize, anything that fits goes in otherwise.
    fn floor(&self, problem: &Problem) -> f64 {
        if problem.terms.collecting && self.prize >= problem.terms.required { 1.0 } else { 0.0 }
    }

    /// Worth of a node for its detour; 0 keeps it out.
    #[inline]
    fn score(&self, problem: &Problem, greed: &Greed, node: Node) -> f64 {
        let terms = &problem.terms;
        let detour = self.offers.of(node).detour;
        if !terms.collecting {
            if self.length + detour > terms.limit {
                return 0.0;
            }
        } else if self.prize < terms.required {
            let missing = terms.prize(node).max(LEAST_PRIZE * terms.required);
            return missing / (detour - terms.weight(node)).max(problem.tolerance);
        }
        if detour < -problem.tolerance {
            return f64::MAX;
        }
        greed.worth[node as usize] / detour.max(problem.tolerance)
    }

    /// Leaves out nodes whose detour costs more than they are worth, as long as the prize suffices and the time lasts.
    pub(super) fn drop_unworthy(&mut self, problem: &Problem) {
        let terms = &problem.terms;
        let mut position = 1;
        for done in 0.. {
            let Some(&node) = self.route.order().get(position) else { break };
            if problem.is_over_at(done) {
                break;
            }
            let gain = self.saving(problem, position) - terms.worth_in_length(node);
            if gain > problem.tolerance && self.prize - terms.prize(node) >= terms.required {
                self.remove(problem, node);
            } else {
                position += 1;
            }
        }
    }

    /// Keeps the bounds: leaves out what is worth least for its detour while the route is too long,
    /// puts nodes in while the prize does not suffice. Where the deadline passes before, it does not keep them yet.
    pub(super) fn repair(&mut self, problem: &Problem) {
        let mut random = Pcg64Mcg::seed_from_u64(0);
        for _ in 0..2 * problem.len() {
            let sums = self.sums(problem);
            if problem.terms.keeps(&sums) {
                break;
            }
            if problem.is_over() {
                break;
            }
            if problem.terms.collecting {
                let greed = Greed { worth: problem.terms.weights, noise: 0.0, barred: &[] };
                self.recreate(problem, &greed, &mut random);
            } else {
                self.drop_least(problem, None);
            }
        }
    }

    /// Visits the nearest node again and again, as many of them as is best within the bounds; those that are too far for
    /// the length are passed over.
    pub(super) fn nearest_first(problem: &Problem) -> Self {
        let (terms, distances) = (&problem.terms, &problem.distances);
        let mut left = problem.all_nodes();
        left.remove(DEPOT as usize);
        let missed = terms.weights[1..].iter().sum();
        let mut sums = Sums { prize: terms.prize(DEPOT), missed, complete: problem.len() == 1, ..Sums::default() };
        let (mut visits, mut here, mut too_far) = (Vec::new(), DEPOT, 0);
        let mut best = (if terms.keeps(&sums) { terms.cost(&sums) } else { f64::INFINITY }, 0);
        while let Some(node) = left.nearest(here as usize) {
            left.remove(node);
            let next = node as Node;
            let way = sums.length + distances.of(here, next);
            if way + distances.of(next, DEPOT) > terms.limit {
                too_far += 1;
                if too_far == TOO_FAR {
                    break;
                }
                continue;
            }
            visits.push(node);
            here = next;
            sums.length = way;
            sums.prize += terms.prize(next);
            sums.missed -= terms.weight(next);
            sums.complete = visits.len() + 1 == problem.len();
            let closed = Sums { length: way + distances.of(next, DEPOT), ..sums };
            let cost = terms.cost(&closed);
            if terms.keeps(&closed) && cost < best.0 {
                best = (cost, visits.len());
            }
        }
        visits.truncate(best.1);
        Self::of(problem, &visits)
    }

    /// Leaves out the node that is worth least for its detour, but not `kept`.
    pub(super) fn drop_least(&mut self, problem: &Problem, kept: Option<Node>) {
        let order = self.route.order();
        let ratio = |position: usize| {
            problem.terms.weight(order[position]) / self.saving(problem, position).max(problem.tolerance)
        };
        let least = (1..order.len())
            .filter(|&position| Some(order[position]) != kept)
            .min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
        if let Some(position) = least {
            let node = order[position];
            self.remove(problem, node);
        }
    }
}
