//! The instance in the unit square, as a policy sees it: features, state and mask.

use std::sync::Arc;

use super::Pdp;
use super::instance::{fault, without_depot};
use crate::formats::sets::{RawInstance, RawSet, SetField};
use crate::generate::{GeneratorConfig, with_depot};
use crate::instance::SolverInstance;
use crate::local_search::LocalSearchOptions;
use crate::problem::{Locations, Problem, State, visited, without_return};
use crate::random::Draws;
use crate::{DistanceMatrix, Result};
use regard_data::Fault;

/// A depot, pickups and deliveries, in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct PdpEnv {
    points: Arc<Locations>,
    loads: Arc<Loads>,
}

#[derive(Debug, PartialEq)]
struct Loads {
    /// The node at which the load of each is picked up, `[nodes]`.
    pickups: Vec<Option<usize>>,
    /// Nodes that are deliveries.
    deliveries: usize,
}

impl PdpEnv {
    /// Nodes at `points [nodes]`, the depot first, with the node at which the load of each is picked up, `[nodes]`. As in
    /// [`Pdp::new`], the depot as a pickup is the same as none: the load is on board from the start.
    ///
    /// # Panics
    /// When the counts differ, a pickup is no node, the depot is a delivery, or a node would have to come after itself.
    pub fn new(points: impl Into<Locations>, pickups: Vec<Option<usize>>) -> Self {
        let points = points.into();
        let pickups = without_depot(pickups);
        assert_eq!(pickups.len(), points.len(), "one entry for each node");
        if let Some((node, reason)) = fault(&pickups) {
            panic!("the pickup of node {node} {reason}");
        }
        let deliveries = pickups.iter().flatten().count();
        Self { points: Arc::new(points), loads: Arc::new(Loads { pickups, deliveries }) }
    }

    /// The node at which the load of each is picked up, `[nodes]`.
    pub fn pickups(&self) -> &[Option<usize>] {
        &self.loads.pickups
    }

    fn instance(&self) -> Result<Pdp> {
        Pdp::new(self.points.sites(Self::NAME)?, self.pickups().to_vec())
    }
}

/// A trip from the depot, with loads on board.
#[derive(Clone, Debug)]
pub struct PdpState {
    loads: Arc<Loads>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    delivered: usize,
}

impl PdpState {
    /// If true, the load of a node is on board, or it has none.
    fn is_on_board(&self, node: usize) -> bool {
        self.loads.pickups[node].is_none_or(|pickup| self.visited[pickup])
    }
}

impl State for PdpState {
    fn done(&self) -> bool {
        self.walk.len() + 1 >= self.visited.len()
    }

    fn allowed(&self, open: &mut [bool]) {
        for (node, open) in open.iter_mut().enumerate() {
            *open = node != 0 && !self.visited[node] && self.is_on_board(node);
        }
    }

    fn reason(&self, node: usize) -> &'static str {
        match node {
            0 => "not all visited",
            _ if self.visited[node] => "visited",
            _ => "not picked up",
        }
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        let pickups = &self.loads.pickups;
        let waiting =
            (1..pickups.len()).filter(|&node| pickups[node].is_some_and(|pickup| self.visited[pickup])).count();
        out[0] = (waiting - self.delivered) as f32 / self.loads.deliveries.max(1) as f32;
    }

    fn step(&mut self, node: usize) {
        self.visited[node] = true;
        self.walk.push(node as u32);
        self.delivered += usize::from(self.loads.pickups[node].is_some());
    }
}

impl Problem for PdpEnv {
    type State = PdpState;

    const NAME: &'static str = "pdp";
    const ADDED_FEATURES: &'static [&'static str] = &["partner x", "partner y", "is pickup", "is delivery"];
    const SCALAR_NAMES: &'static [&'static str] = &["loads on board"];
    const DEPOT: bool = true;
    const HAS_LOCAL_SEARCH: bool = true;
    const DRAWS_POINTS: bool = true;
    const SET_FIELDS: Option<&'static [SetField]> = Some(&[SetField::per_customer("pickup").marking().integers()]);

    fn points(&self) -> &[[f32; 2]] {
        &self.points
    }

    fn matrix(&self) -> Option<&DistanceMatrix> {
        self.points.matrix()
    }

    /// Coordinates of a node and of its partner: the pickup of a delivery, the middle of the deliveries of a pickup.
    fn features(&self) -> Vec<f32> {
        let mut deliveries = vec![([0.0, 0.0], 0_u32); self.points.len()];
        for (node, pickup) in self.pickups().iter().enumerate() {
            if let Some(pickup) = *pickup {
                let ([x, y], count) = &mut deliveries[pickup];
                *x += self.points[node][0];
                *y += self.points[node][1];
                *count += 1;
            }
        }
        let of = |node: usize| {
            let own = self.points[node];
            let ([x, y], count) = deliveries[node];
            let (partner, is_pickup, is_delivery) = match (self.pickups()[node], count) {
                _ if node == 0 => ([0.0, 0.0], 0.0, 0.0),
                (Some(pickup), count) => (self.points[pickup], f32::from(u8::from(count > 0)), 1.0),
                (None, 0) => (own, 0.0, 0.0),
                (None, count) => ([x / count as f32, y / count as f32], 1.0, 0.0),
            };
            [own[0], own[1], partner[0], partner[1], is_pickup, is_delivery]
        };
        (0..self.points.len()).flat_map(of).collect()
    }

    fn start(&self) -> PdpState {
        let nodes = self.points.len();
        PdpState {
            loads: Arc::clone(&self.loads),
            visited: vec![false; nodes],
            walk: Vec::with_capacity(nodes),
            delivered: 0,
        }
    }

    fn solution(state: &PdpState) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.points.round_trip(solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        self.instance()?.check(without_return(solution))
    }

    fn view(&self, view: usize) -> Self {
        Self { points: Arc::new(self.points.view(view)), loads: Arc::clone(&self.loads) }
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Result<Vec<usize>> {
        Ok(SolverInstance::local_search(&self.instance()?, solution, options))
    }

    /// As RL4CO's: the first half of the nodes are pickups, the second half their deliveries in the same order; of an odd
    /// number, the last is only visited.
    fn draw(config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        let mut draws = Draws::new(seed);
        let pairs = size / 2;
        let pickup = |node: usize| (node > pairs && node <= 2 * pairs).then(|| node - pairs);
        let pickups: Vec<Option<usize>> = (0..=size).map(pickup).collect();
        (0..count).map(|_| Self::new(with_depot(&mut draws, config.points, size), pickups.clone())).collect()
    }

    /// Deliveries whose pickup is left out are only visited.
    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        let mut place = vec![None; self.points.len()];
        nodes.iter().enumerate().for_each(|(at, &node)| place[node] = Some(at));
        let pickups = nodes.iter().map(|&node| self.pickups()[node].and_then(|pickup| place[pickup])).collect();
        Some(Self::new(self.points.chosen(nodes), pickups))
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        set.each(of_raw)
    }

    /// For each customer the number of the node at which its load is picked up, 0 where there is none.
    fn set_values(&self) -> Vec<Vec<f64>> {
        vec![self.pickups()[1..].iter().map(|pickup| pickup.unwrap_or(0) as f64).collect()]
    }
}

fn of_raw(instance: &RawInstance) -> Result<PdpEnv, String> {
    let (points, numbers) = (Locations::from(instance.points()?), instance.amounts("pickup", "pickup")?);
    let pickup = |(node, &number): (usize, &f32)| match number {
        0.0 => Ok(None),
        number if number.fract() == 0.0 && (number as usize) < points.len() => Ok(Some(number as usize)),
        _ => Err(format!("pickup {number} of customer {node}, expected a node from 0 to {}", points.len() - 1)),
    };
    let pickups = numbers.iter().enumerate().map(pickup).collect::<Result<Vec<_>, _>>()?;
    let checked = points.sites(PdpEnv::NAME).and_then(|sites| Pdp::new(sites, pickups)).map_err(|e| e.to_string())?;
    Ok(PdpEnv::new(points, checked.pickups().to_vec()))
}
