//! Vehicle routing with split deliveries (SDVRP): a customer may be served by several vehicles (Kool et al. 2019,
//! appendix C.2). The remaining demand of a node changes its keys and values.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use super::cvrp::search::{cut_to_limit, vrp_options, walk_of};
use super::cvrp::{self, Cvrp, CvrpEnv, Demands};
use crate::depot;
use crate::formats::csv::{self, Sheet};
use crate::formats::sets::{RawSet, SetField};
use crate::formats::tsplib::{self, TsplibType};
use crate::generate::GeneratorConfig;
use crate::instance::{FileSpec, SolverInstance};
use crate::local_search::LocalSearchOptions;
use crate::local_search::vrp::{self, Vrp, VrpOptions};
use crate::paper::{PaperSet, PaperSetName};
use crate::problem::{Locations, Problem, State, visited};
use crate::{DistanceMatrix, Error, Result, Sites, routes_of};
use regard_data::Fault;

/// Up to this many nodes, a search begins with a construction where that is better than the solution that was given:
/// networks are not used for more.
const TWO_STARTS_UP_TO: usize = 2000;

/// An instance in a metric of its own: as [`Cvrp`], but several vehicles may serve one customer, whose demand may be
/// above the capacity.
#[derive(Debug, Clone)]
pub struct Sdvrp(Cvrp);

impl From<Cvrp> for Sdvrp {
    fn from(whole: Cvrp) -> Self {
        Self(whole)
    }
}

impl Sdvrp {
    /// Instance with `demands [nodes]` of any size, that of the depot being 0, in the unit of `capacity`.
    ///
    /// # Errors
    /// [`Error::Invalid`] as of [`Cvrp::new`], but for demands above the capacity; these may fill a million vehicles in all.
    pub fn new(sites: Sites, demands: Vec<f64>, capacity: f64) -> Result<Self> {
        Cvrp::with_any_demands(sites, demands, capacity).map(Self)
    }

    /// The instance without its permission to split: nodes, demands, capacity, limit and costs.
    #[must_use]
    pub fn routing(&self) -> &Cvrp {
        &self.0
    }

    /// Checks a solution against every rule, whatever made it. Empty routes are ignored.
    ///
    /// Every visit delivers what is left to deliver there, or what is left in the vehicle if that is less. Whole
    /// numbers are compared exactly, fractions with 1e-9 of the capacity or limit.
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint by the ids of the file.
    pub fn check(&self, routes: &[Vec<usize>]) -> Result<()> {
        self.0.check_customers(routes)?;
        self.check_deliveries(routes)?;
        self.0.check_lengths(routes)
    }

    fn check_deliveries(&self, routes: &[Vec<usize>]) -> Result<()> {
        let mut open = self.0.demands().to_vec();
        for route in routes {
            let mut room = self.0.capacity();
            for &node in route {
                let delivered = open[node].min(room);
                open[node] -= delivered;
                room -= delivered;
            }
        }
        // Integers leave nothing or at least 1; fractions may leave what rounding left.
        match open.iter().position(|left| *left > 0.0 && (left.fract() == 0.0 || *left > 1e-9 * self.0.capacity())) {
            Some(node) => {
                let (id, demand) = (&self.0.sites().ids()[node], self.0.demands()[node]);
                let reason = format!("node {id} has {} of its demand {demand} undelivered", open[node]);
                Err(Error::Infeasible { reason })
            }
            None => Ok(()),
        }
    }

    /// Number of customers without demand: no vehicle visits them.
    fn customers_without_demand(&self) -> usize {
        self.0.demands().iter().skip(1).filter(|demand| **demand <= 0.0).count()
    }

    /// The instance of the customers with demand; `None` where that is all of them.
    fn part(&self) -> Option<Part> {
        if self.customers_without_demand() == 0 {
            return None;
        }
        let demands = self.0.demands();
        let nodes: Vec<usize> = (0..demands.len()).filter(|&node| node == 0 || demands[node] > 0.0).collect();
        let amounts = nodes.iter().map(|&node| demands[node]).collect();
        let sites = depot::selected(self.0.sites(), &nodes).ok()?;
        let part = Cvrp::with_any_demands(sites, amounts, self.0.capacity()).ok()?;
        let instance = Self(part.with_service(self.0.limit(), self.0.service()).ok()?);
        Some(Part { instance, nodes })
    }

    /// The problem as the search sees it.
    fn prepared(&self) -> Vrp<'_> {
        let Self(routing) = self;
        Vrp::new(routing.sites(), routing.demands(), routing.capacity())
            .with_limit(routing.limit(), routing.service())
            .with_split_deliveries()
    }
}

/// The customers with demand as an instance of their own, and their nodes in the whole one.
struct Part {
    instance: Sdvrp,
    nodes: Vec<usize>,
}

impl Part {
    /// A solution of the whole instance without its other customers.
    fn of_whole(&self, solution: &[usize]) -> Vec<usize> {
        let place = |node: usize| self.nodes.binary_search(&node).ok();
        let of_route = |route: Vec<usize>| route.into_iter().filter_map(place).collect();
        let routes: Vec<Vec<usize>> = routes_of(solution).into_iter().map(of_route).collect();
        walk_of(&routes.into_iter().filter(|route| !route.is_empty()).collect::<Vec<_>>())
    }

    /// A solution of the part as one of the whole instance.
    fn in_whole(&self, solution: &[usize]) -> Vec<usize> {
        solution.iter().map(|&node| self.nodes[node]).collect()
    }
}

impl SolverInstance for Sdvrp {
    type Problem = SdvrpEnv;

    const FILES: &'static FileSpec = &FileSpec {
        title: "vehicle routing with split deliveries",
        tsplib: Some(&TsplibType { name: "SDVRP", words: &["SDVRP"], marker: None, ..cvrp::TSPLIB }),
        csv_flag: Some("split"),
        ..*Cvrp::FILES
    };
    const LOCAL_SEARCH: &'static str = "ruin and recreate, split deliveries";

    fn sites(&self) -> &Sites {
        self.0.sites()
    }

    fn note(&self) -> Option<String> {
        let unvisited = match self.customers_without_demand() {
            0 => None,
            1 => Some("1 customer without demand is not visited".to_owned()),
            count => Some(format!("{count} customers without demand are not visited")),
        };
        let notes: Vec<String> = unvisited.into_iter().chain(self.0.note()).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        Self(self.0.with_best_known(best))
    }

    fn in_unit_square(&self) -> SdvrpEnv {
        SdvrpEnv::new(Locations::of(self.0.sites()), self.0.demands().to_vec(), self.0.capacity())
    }

    fn from_unit_square(problem: &SdvrpEnv, sites: Sites, scale: f64) -> Result<Self> {
        Cvrp::from_unit_square(&problem.0, sites, scale).map(Self)
    }

    fn value(&self, solution: &[usize]) -> f64 {
        self.0.cost(&routes_of(solution))
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Sdvrp::check(self, &routes_of(solution))
    }

    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        Some(("demand", self.0.demands()))
    }

    fn route_bound(&self) -> Option<f64> {
        Some(self.0.capacity())
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        self.0.facts()
    }

    fn repair(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        let visited = self.part().map(|part| part.in_whole(&part.of_whole(&solution)));
        let shorter = visited.filter(|walk| self.cost(walk) <= self.cost(&solution));
        let solution = shorter.unwrap_or(solution);
        if SolverInstance::check(self, &solution).is_ok() {
            return Some(solution);
        }
        // A vehicle that starts anew delivers no less at any of its visits.
        let walk = walk_of(&cut_to_limit(&self.0, routes_of(&solution)));
        SolverInstance::check(self, &walk).is_ok().then_some(walk)
    }

    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        if let Some(part) = self.part() {
            let (name, walk) = SolverInstance::construct(&part.instance, deadline)?;
            return Some((name, part.in_whole(&walk)));
        }
        let (name, routes) = vrp::construct_named(&self.prepared(), deadline);
        Some((name, walk_of(&routes)))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize> {
        if let Some(part) = self.part() {
            let walk = SolverInstance::local_search(&part.instance, part.of_whole(&solution), options);
            let walk = part.in_whole(&walk);
            let is_better = self.cost(&walk) < self.cost(&solution) && SolverInstance::check(self, &walk).is_ok();
            return if is_better { walk } else { solution };
        }
        let (prepared, work) = (self.prepared(), vrp_options(self.0.len(), options));
        let mut start = routes_of(&solution);
        if self.0.len() <= TWO_STARTS_UP_TO {
            let descent = VrpOptions { iterations: 0, threads: 1, ..work.clone() };
            let descended = |routes| vrp::improve(&prepared, routes, &descent, None);
            let [given, constructed] = [start, vrp::construct(&prepared, options.deadline)].map(descended);
            // A start that does not keep the rules has no cost.
            start = if given.after <= constructed.after { given.routes } else { constructed.routes };
        }
        let progress = |_: f64, cost: f64| options.best.offer(cost);
        let found = vrp::improve(&prepared, start, &work, Some(&progress));
        let walk = walk_of(&found.routes);
        if self.cost(&walk) < self.cost(&solution) { walk } else { solution }
    }

    fn read_tsplib(file: &tsplib::File<'_>) -> Result<Self> {
        cvrp::read_tsplib(file).map(Self)
    }

    fn tsplib_fields(&self) -> Option<tsplib::Fields<'_>> {
        Some(cvrp::tsplib_fields(&self.0))
    }

    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self> {
        cvrp::read_csv(sheet, options, Self::FILES, true).map(Self)
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        let mut fields = cvrp::csv_fields(&self.0);
        fields.options.push(("split", "yes".into()));
        fields
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        format!("Cost {}", self.value(solution))
    }
}

/// A depot, customers and their demands, in the unit square; demands may be above the capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct SdvrpEnv(CvrpEnv);

impl SdvrpEnv {
    /// As [`CvrpEnv::new`], with demands above the capacity too; see [`Sdvrp::new`] for how far.
    pub fn new(points: impl Into<Locations>, demands: Vec<f64>, capacity: f64) -> Self {
        Self(CvrpEnv::new(points, demands, capacity))
    }
}

/// Deliveries so far.
#[derive(Clone, Debug)]
pub struct SdvrpState {
    demands: Arc<Demands>,
    /// Demand that is still to be delivered, `[nodes]`.
    remaining: Vec<f64>,
    walk: Vec<u32>,
    used: f64,
}

impl State for SdvrpState {
    fn done(&self) -> bool {
        self.remaining.iter().all(|&demand| demand <= 0.0)
    }

    fn allowed(&self, open: &mut [bool]) {
        let room = self.used < self.demands.capacity;
        let mut any = false;
        for (open, &demand) in open.iter_mut().zip(&self.remaining).skip(1) {
            *open = room && demand > 0.0;
            any |= *open;
        }
        if let Some(depot) = open.first_mut() {
            *depot = !any || self.last() != Some(0);
        }
    }

    fn reason(&self, node: usize) -> &'static str {
        match node {
            0 => "depot twice",
            _ if self.remaining[node] <= 0.0 => "served",
            _ => "capacity",
        }
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = self.demands.left(self.used);
    }

    fn dynamic(&self, _: &[bool], out: &mut [f32]) {
        for (out, demand) in out.iter_mut().zip(&self.remaining) {
            *out = (demand / self.demands.capacity) as f32;
        }
    }

    fn step(&mut self, node: usize) {
        self.walk.push(node as u32);
        if node == 0 {
            self.used = 0.0;
            return;
        }
        let round = |value| self.demands.precision.round(value);
        let delivered = self.remaining[node].min(round(self.demands.capacity - self.used));
        self.used = round(self.used + delivered);
        self.remaining[node] = round(self.remaining[node] - delivered);
    }
}

impl Problem for SdvrpEnv {
    type State = SdvrpState;

    const NAME: &'static str = "sdvrp";
    const ADDED_FEATURES: &'static [&'static str] = &["demand / capacity"];
    const SCALAR_NAMES: &'static [&'static str] = &["free capacity"];
    const DEPOT: bool = true;
    const DYNAMIC: bool = true;
    const HAS_LOCAL_SEARCH: bool = true;
    const DRAWS_POINTS: bool = true;
    /// On the instances of the undivided problem.
    const PAPER_SETS: &'static [PaperSetName] = &[PaperSetName::new("sdvrp")];
    const SET_FIELDS: Option<&'static [SetField]> = CvrpEnv::SET_FIELDS;

    fn set_values(&self) -> Vec<Vec<f64>> {
        self.0.set_values()
    }

    fn points(&self) -> &[[f32; 2]] {
        self.0.points()
    }

    fn matrix(&self) -> Option<&DistanceMatrix> {
        self.0.matrix()
    }

    fn features(&self) -> Vec<f32> {
        self.0.features()
    }

    fn start(&self) -> SdvrpState {
        let demands = self.0.shared_demands().clone();
        let walk = Vec::with_capacity(2 * self.nodes());
        SdvrpState { remaining: demands.of_nodes.clone(), walk, used: 0.0, demands }
    }

    fn solution(state: &SdvrpState) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.0.cost(solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        self.instance()?.check(&routes_of(solution))
    }

    fn view(&self, view: usize) -> Self {
        Self(self.0.view(view))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Result<Vec<usize>> {
        Ok(self.instance()?.local_search(solution, options))
    }

    fn draw(config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        CvrpEnv::draw(config, seed, count, size).into_iter().map(Self).collect()
    }

    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        self.0.subset(nodes).map(Self)
    }

    fn draw_paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        Ok(cvrp::generate::paper_set(set.n(), limit)?.into_iter().map(Self).collect())
    }

    fn claims_set(set: &RawSet) -> bool {
        cvrp::claims(set)
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        Ok(cvrp::read(set)?.into_iter().map(Self).collect())
    }

    fn in_single_precision(self) -> Self {
        Self(self.0.in_single_precision())
    }
}

impl SdvrpEnv {
    fn instance(&self) -> Result<Sdvrp> {
        let demands = self.0.shared_demands();
        Sdvrp::new(self.0.locations().sites(Self::NAME)?, demands.of_nodes.clone(), demands.capacity_with_rounding())
    }
}
