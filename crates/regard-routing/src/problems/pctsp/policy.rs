//! The instance in the unit square, as a policy sees it: features, state and mask.

use std::sync::Arc;

use super::Pctsp;
use super::generate::{self, Values};
use crate::formats::sets::{RawInstance, RawSet, SetField};
use crate::generate::GeneratorConfig;
use crate::instance::SolverInstance;
use crate::local_search::LocalSearchOptions;
use crate::paper::{PaperSet, PaperSetName};
use crate::problem::{Locations, Precision, Problem, State, chosen, visited, without_return};
use crate::{DistanceMatrix, Result, Sites};
use regard_data::Fault;

/// A depot, places, prizes and penalties, in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct PctspEnv {
    points: Locations,
    values: Arc<NodeValues>,
}

/// Values of the nodes, prizes as parts of the prize that is required.
#[derive(Clone, Debug, PartialEq)]
struct NodeValues {
    /// Prizes that are known in advance, `[nodes]`.
    expected: Vec<f64>,
    /// Prizes that are collected, `[nodes]`.
    real: Vec<f64>,
    penalties: Vec<f64>,
    precision: Precision,
}

impl PctspEnv {
    /// Places with `prizes` and `penalties`, `[nodes]` each, around the first of `points [nodes]`, the depot; prizes
    /// of 1 in all are required.
    pub fn new(points: impl Into<Locations>, prizes: Vec<f64>, penalties: Vec<f64>) -> Self {
        Self::with_real_prizes(points, prizes.clone(), prizes, penalties)
    }

    /// As [`Self::new`], where a visit collects `real [nodes]` while only the `expected` prizes are known before.
    pub(crate) fn with_real_prizes(
        points: impl Into<Locations>,
        expected: Vec<f64>,
        real: Vec<f64>,
        penalties: Vec<f64>,
    ) -> Self {
        Self {
            points: points.into(),
            values: Arc::new(NodeValues { expected, real, penalties, precision: Precision::Double }),
        }
    }

    /// Places of the nodes, with their distances.
    pub(crate) fn locations(&self) -> &Locations {
        &self.points
    }

    /// The instance with other real prizes.
    pub(crate) fn revealing(&self, real: Vec<f64>) -> Self {
        Self { points: self.points.clone(), values: Arc::new(NodeValues { real, ..(*self.values).clone() }) }
    }

    /// Prizes that are known in advance, `[nodes]`, 0 for the depot.
    pub fn prizes(&self) -> &[f64] {
        &self.values.expected
    }

    /// Prizes that are collected, `[nodes]`.
    pub(crate) fn real_prizes(&self) -> &[f64] {
        &self.values.real
    }

    /// Penalties for leaving a node out, `[nodes]`, 0 for the depot.
    pub fn penalties(&self) -> &[f64] {
        &self.values.penalties
    }

    pub(crate) fn instance(&self, name: &str) -> Result<Pctsp> {
        self.instance_of_prize(name, 1.0)
    }

    /// The instance for checkers: prizes in single precision add up to what is required but for their rounding.
    pub(crate) fn instance_with_rounding(&self, name: &str) -> Result<Pctsp> {
        self.instance_of_prize(name, 1.0 - self.values.precision.room())
    }

    fn instance_of_prize(&self, name: &str, required: f64) -> Result<Pctsp> {
        let NodeValues { expected, penalties, .. } = &*self.values;
        Pctsp::new(self.points.sites(name)?, expected.clone(), penalties.clone(), required)
    }
}

impl From<Values> for PctspEnv {
    fn from(values: Values) -> Self {
        Self::new(values.points, doubles(&values.prizes), doubles(&values.penalties))
    }
}

/// Numbers of single precision as doubles.
pub(crate) fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Values as a policy sees them: prizes as parts of what is required, penalties in lengths of the unit square.
pub(crate) struct Scale {
    required: f64,
    side: f64,
}

impl Scale {
    pub(crate) fn of(sites: &Sites, required: f64) -> Self {
        Self { required: required.max(f64::MIN_POSITIVE), side: sites.positive_side() }
    }

    /// Prizes for a required prize of 1. Far more than is required is as good as that, and stays finite.
    pub(crate) fn prizes(&self, values: &[f64]) -> Vec<f64> {
        const MOST: f64 = 1000.0;
        values.iter().map(|value| (value / self.required).min(MOST)).collect()
    }

    pub(crate) fn penalties(&self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| value / self.side).collect()
    }
}

/// Values of an instance of a set, checked.
pub(crate) fn values_of(instance: &RawInstance) -> Result<Values, String> {
    Ok(Values {
        points: instance.points()?.into(),
        penalties: instance.amounts("penalty", "penalty")?,
        prizes: instance.amounts("deterministic_prize", "prize")?,
        real_prizes: instance.amounts("stochastic_prize", "stochastic prize")?,
    })
}

/// A route from the depot and the prize it has collected.
#[derive(Clone, Debug)]
pub struct PctspState {
    values: Arc<NodeValues>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    /// Nodes left, without the depot.
    left: usize,
    collected: f64,
}

impl State for PctspState {
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

    fn reason(&self, node: usize) -> &'static str {
        if node == 0 { "prize" } else { "visited" }
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

impl Problem for PctspEnv {
    type State = PctspState;

    const NAME: &'static str = "pctsp";
    const ADDED_FEATURES: &'static [&'static str] = &["expected prize", "penalty"];
    const SCALAR_NAMES: &'static [&'static str] = &["prize still to collect"];
    const DEPOT: bool = true;
    const HAS_LOCAL_SEARCH: bool = true;
    const PAPER_SETS: &'static [PaperSetName] = &[PaperSetName::new("pctsp_det").or("pctsp")];
    const SET_FIELDS: Option<&'static [SetField]> = Some(&[
        SetField::per_customer("penalty").marking(),
        SetField::per_customer("deterministic_prize"),
        SetField::per_customer("stochastic_prize").else_as("deterministic_prize"),
    ]);

    fn set_values(&self) -> Vec<Vec<f64>> {
        [self.penalties(), self.prizes(), self.real_prizes()].map(|values| values[1..].to_vec()).into()
    }

    fn points(&self) -> &[[f32; 2]] {
        &self.points
    }

    fn matrix(&self) -> Option<&DistanceMatrix> {
        self.points.matrix()
    }

    fn features(&self) -> Vec<f32> {
        let NodeValues { expected, penalties, .. } = &*self.values;
        let nodes = self.points.iter().zip(expected.iter().zip(penalties));
        nodes.flat_map(|(&[x, y], (&prize, &penalty))| [x, y, prize as f32, penalty as f32]).collect()
    }

    fn start(&self) -> PctspState {
        let nodes = self.points.len();
        let (values, visited) = (self.values.clone(), vec![false; nodes]);
        PctspState { values, visited, walk: Vec::new(), left: nodes.saturating_sub(1), collected: 0.0 }
    }

    fn solution(state: &PctspState) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        let places = without_return(solution);
        let mut left_out = vec![true; self.points.len()];
        places.iter().for_each(|&node| left_out[node] = false);
        let penalties = self.values.penalties.iter().zip(&left_out).skip(1);
        let penalty: f64 = penalties.filter(|(_, out)| **out).map(|(penalty, _)| penalty).sum();
        self.points.round_trip(places) + penalty
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        self.instance_with_rounding(Self::NAME)?.check(without_return(solution))
    }

    fn view(&self, view: usize) -> Self {
        Self { points: self.points.view(view), values: self.values.clone() }
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Result<Vec<usize>> {
        Ok(self.instance(Self::NAME)?.local_search(solution, options))
    }

    fn draw(_: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::draw(seed, count, size).into_iter().map(Self::from).collect()
    }

    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        let NodeValues { expected, real, penalties, precision } = &*self.values;
        let of = |values: &[f64]| chosen(values, nodes);
        let (expected, real, penalties) = (of(expected), of(real), of(penalties));
        let values = NodeValues { expected, real, penalties, precision: *precision };
        Some(Self { points: self.points.chosen(nodes), values: Arc::new(values) })
    }

    fn draw_paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        Ok(generate::paper_set(set.n(), limit)?.into_iter().map(Self::from).collect())
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        set.each(|instance| values_of(instance).map(Self::from))
    }

    fn in_single_precision(self) -> Self {
        let values = NodeValues { precision: Precision::Single, ..(*self.values).clone() };
        Self { points: self.points, values: Arc::new(values) }
    }
}
