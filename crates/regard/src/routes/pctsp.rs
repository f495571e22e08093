//! Prize collecting: the shortest tour that collects a required prize, with a penalty for every
//! node left out (Kool et al. 2019, appendices C.4 and C.5). In the stochastic problem only the
//! expectation of a prize is known before a node is visited.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_data::routes::drawn::DrawnPrizeCollecting;
use regard_data::routes::generate;
use regard_data::routes::instance::Instance;
use regard_data::routes::paper::{PaperSet, prize_collecting_set};
use regard_data::routes::prize_collecting as data;

use super::improve::ImproveOptions;
use super::problem::{
    Drawing, Precision, Problem, State, chosen, other_set, places_of, round_trip, sites, symmetry, visited,
};
use super::recourse::Known;
use super::solvable::{Solvable, as_shares};
use crate::Result;

/// A depot, places, prizes and penalties, in the unit square.
#[derive(Clone, Debug)]
pub struct PrizeCollecting<const STOCHASTIC: bool = false> {
    points: Vec<[f32; 2]>,
    values: Arc<Values>,
}

/// Prize collecting where the real prize of a node shows when it is visited.
pub type StochasticPrizeCollecting = PrizeCollecting<true>;

/// What nodes are worth, as parts of the prize that is required.
#[derive(Clone, Debug)]
struct Values {
    /// What is known of the prizes, `[nodes]`.
    expected: Vec<f64>,
    /// What is collected.
    real: Vec<f64>,
    penalties: Vec<f64>,
    precision: Precision,
}

impl<const STOCHASTIC: bool> PrizeCollecting<STOCHASTIC> {
    /// Places with `expected` and `real` prizes and `penalties`, `[nodes]` each, around the first
    /// of `points [nodes]`, the depot; prizes of 1 in all are required.
    pub fn new(points: Vec<[f32; 2]>, expected: Vec<f64>, real: Vec<f64>, penalties: Vec<f64>) -> Self {
        Self { points, values: Arc::new(Values { expected, real, penalties, precision: Precision::Double }) }
    }

    fn instance(&self) -> Result<data::PrizeCollecting> {
        let Values { expected, real, penalties, .. } = &*self.values;
        let sites = sites(Self::NAME, &self.points)?;
        let instance = data::PrizeCollecting::new(sites, expected.clone(), penalties.clone(), 1.0)?;
        Ok(if STOCHASTIC { instance.with_real_prizes(real.clone())? } else { instance })
    }
}

impl<const STOCHASTIC: bool> From<DrawnPrizeCollecting> for PrizeCollecting<STOCHASTIC> {
    fn from(drawn: DrawnPrizeCollecting) -> Self {
        let doubles = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
        let real = if STOCHASTIC { &drawn.real_prizes } else { &drawn.prizes };
        let (real, expected) = (doubles(real), doubles(&drawn.prizes));
        Self::new(drawn.points, expected, real, doubles(&drawn.penalties))
    }
}

/// A way from the depot and what it has collected.
#[derive(Clone, Debug)]
pub struct Collection {
    values: Arc<Values>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    /// Nodes left, without the depot.
    left: usize,
    collected: f64,
}

impl State for Collection {
    fn done(&self) -> bool {
        self.walk.last() == Some(&0) || self.visited.is_empty()
    }

    fn allowed(&self, open: &mut [bool]) {
        for (open, visited) in open.iter_mut().zip(&self.visited).skip(1) {
            *open = !visited;
        }
        if let Some(depot) = open.first_mut() {
            *depot = self.collected >= 1.0 || self.left == 0;
        }
    }

    fn first(&self) -> Option<usize> {
        None
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = self.values.precision.round(1.0 - self.collected).max(0.0) as f32;
    }

    fn step(&mut self, node: usize) {
        self.walk.push(node as u32);
        if node != 0 && !self.visited[node] {
            self.visited[node] = true;
            self.left -= 1;
            self.collected = self.values.precision.round(self.collected + self.values.real[node]);
        }
    }
}

impl<const STOCHASTIC: bool> Problem for PrizeCollecting<STOCHASTIC> {
    type State = Collection;

    const NAME: &'static str = if STOCHASTIC { "spctsp" } else { "pctsp" };
    const FEATURES: usize = 4;
    const DEPOT: bool = true;
    const EVERY_NODE_ONCE: bool = false;
    const SCALARS: usize = 1;
    const DYNAMIC: bool = false;

    fn nodes(&self) -> usize {
        self.points.len()
    }

    fn features(&self) -> Vec<f32> {
        let Values { expected, penalties, .. } = &*self.values;
        let nodes = self.points.iter().zip(expected.iter().zip(penalties));
        nodes.flat_map(|(&[x, y], (&prize, &penalty))| [x, y, prize as f32, penalty as f32]).collect()
    }

    fn start(&self) -> Collection {
        let nodes = self.points.len();
        let (values, visited) = (self.values.clone(), vec![false; nodes]);
        Collection { values, visited, walk: Vec::new(), left: nodes.saturating_sub(1), collected: 0.0 }
    }

    fn solution(state: &Collection) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        let places = places_of(solution);
        let mut left_out = vec![true; self.points.len()];
        places.iter().for_each(|&node| left_out[node] = false);
        let penalties = self.values.penalties.iter().zip(&left_out).skip(1);
        let penalty: f64 = penalties.filter(|(_, out)| **out).map(|(penalty, _)| penalty).sum();
        round_trip(&self.points, places) + penalty
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(self.instance()?.check(places_of(solution))?)
    }

    fn view(&self, view: usize) -> Self {
        let points = self.points.iter().map(|&point| symmetry(view, point)).collect();
        Self { points, values: self.values.clone() }
    }

    fn improve(&self, solution: Vec<usize>, options: &ImproveOptions) -> Result<Vec<usize>> {
        match STOCHASTIC {
            true => Ok(solution),
            false => Ok(self.instance()?.improve(solution, options)),
        }
    }

    fn draw(_: &Drawing, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::prize_collecting(seed, count, size).into_iter().map(Self::from).collect()
    }

    fn of_instance(instance: &Instance) -> Option<Self> {
        match instance {
            Instance::PrizeCollecting(prizes) if prizes.real_prizes().is_some() == STOCHASTIC => {
                Some(as_shares(prizes))
            }
            _ => None,
        }
    }

    fn restricted(&self, nodes: &[usize]) -> Option<Self> {
        let Values { expected, real, penalties, precision } = &*self.values;
        let of = |values: &[f64]| chosen(values, nodes);
        let values = Values { expected: of(expected), real: of(real), penalties: of(penalties), precision: *precision };
        Some(Self { points: chosen(&self.points, nodes), values: Arc::new(values) })
    }

    fn paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        let n = match set {
            PaperSet::PrizeCollecting { n } if !STOCHASTIC => *n,
            PaperSet::StochasticPrizeCollecting { n } if STOCHASTIC => *n,
            _ => return Err(other_set(Self::NAME, set)),
        };
        Ok(prize_collecting_set(n, limit)?.into_iter().map(Self::from).collect())
    }

    /// A real prize is uniform between 0 and twice what is expected (Kool et al. 2019, appendix C.5).
    fn scenarios(&self, count: usize, seed: u64) -> Option<Vec<Self>> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut scenario = |at: usize| {
            let expected = self.values.expected.iter();
            let real = expected.map(|&prize| if at == 0 { prize } else { 2.0 * prize * random.random::<f64>() });
            let values = Values { real: real.collect(), ..(*self.values).clone() };
            Self { points: self.points.clone(), values: Arc::new(values) }
        };
        STOCHASTIC.then(|| (0..count).map(&mut scenario).collect())
    }

    fn carried_out(&self, plan: &[usize]) -> Vec<usize> {
        if !STOCHASTIC {
            return plan.to_vec();
        }
        let known = Known { points: &self.points, penalties: &self.values.penalties };
        let mut state = self.start();
        let mut open = vec![false; self.nodes()];
        let walk = known.carried_out(places_of(plan), |walk| {
            walk.last().into_iter().for_each(|&node| state.step(node));
            state.allowed(&mut open);
            open.first().is_none_or(|home| *home)
        });
        let mut state = self.start();
        walk.into_iter().chain([0]).for_each(|node| state.step(node));
        Self::solution(&state)
    }

    fn in_single_precision(self) -> Self {
        let values = Values { precision: Precision::Single, ..(*self.values).clone() };
        Self { points: self.points, values: Arc::new(values) }
    }
}
