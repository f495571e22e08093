//! The travelling salesman problem: visit every node once and return.

use std::time::Instant;

use crate::check;
use crate::formats::best_known::BestKnown;
use crate::formats::csv::{self, Sheet};
use crate::formats::sets::{RawSet, SetField};
use crate::formats::solution::SolutionFormat;
use crate::formats::tsplib::{self, TsplibType};
use crate::generate::{self, GeneratorConfig};
use crate::instance::{FileSpec, SolverInstance};
use crate::local_search::vrp::{self, Vrp};
use crate::local_search::{self, LocalSearchOptions};
use crate::paper::{self, PaperSet, PaperSetName};
use crate::problem::{Locations, Problem, VisitOnce, visited};
use crate::{DistanceMatrix, Result, Sites};
use regard_data::Fault;

/// An instance in a metric of its own: its nodes are all there is to know of it.
#[derive(Debug, Clone)]
pub struct Tsp {
    sites: Sites,
}

impl From<Sites> for Tsp {
    fn from(sites: Sites) -> Self {
        Self { sites }
    }
}

impl Tsp {
    /// The nodes with their ids and distances.
    #[must_use]
    pub fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Cost of the closed tour through the nodes in this order, in the file's own metric.
    ///
    /// # Panics
    /// When an index is not that of a node.
    #[must_use]
    pub fn cost(&self, tour: &[usize]) -> f64 {
        self.sites.tour_length(tour)
    }

    /// Checks that `tour` visits every node exactly once, whatever made it.
    ///
    /// # Errors
    /// [`Error::Infeasible`](crate::Error::Infeasible) naming the first violated constraint by the ids of the file.
    pub fn check(&self, tour: &[usize]) -> Result<()> {
        check::tour(self.sites.ids(), tour)
    }
}

/// Instances of more nodes than this get a tour by construction beside the network's.
const CONSTRUCTED_ABOVE: usize = 1000;

impl SolverInstance for Tsp {
    type Problem = TspEnv;

    const FILES: &'static FileSpec = &FileSpec {
        title: "one tour through all nodes",
        tsplib: Some(&TsplibType {
            name: "TSP",
            words: &["TSP", "ATSP"],
            sections: &[],
            marker: None,
            sections_note: "",
            keywords: &[],
            in_tenths: false,
            endings: &["tsp", "atsp"],
        }),
        own: None,
        csv: &[],
        csv_options: &[],
        csv_flag: None,
        best_known: BestKnown::Cost,
        solution: SolutionFormat::Tour,
    };
    const LOCAL_SEARCH: &'static str = "3-opt + EAX";

    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        self.sites.with_best_known(best).into()
    }

    fn in_unit_square(&self) -> TspEnv {
        TspEnv::new(Locations::of(&self.sites))
    }

    fn from_unit_square(_: &TspEnv, sites: Sites, _: f64) -> Result<Self> {
        Ok(sites.into())
    }

    fn value(&self, solution: &[usize]) -> f64 {
        Tsp::cost(self, solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Tsp::check(self, solution)
    }

    fn routes(&self, solution: &[usize]) -> Vec<Vec<usize>> {
        vec![solution.to_vec()]
    }

    const NETWORK_STARTS_UP_TO: usize = CONSTRUCTED_ABOVE;

    /// The routes of one vehicle that never fills, one after another; with a deadline, what is there at once.
    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        if let Some(deadline) = deadline {
            return Some(local_search::quick_tour(&self.sites, deadline));
        }
        let demands = vec![0.0; self.sites.len()];
        let (name, routes) = vrp::construct_named(&Vrp::new(&self.sites, &demands, 1.0), None);
        Some((name, std::iter::once(0).chain(routes.into_iter().flatten()).collect()))
    }

    fn local_search(&self, mut solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize> {
        local_search::improve(&self.sites, &mut solution, options);
        solution
    }

    fn read_tsplib(file: &tsplib::File<'_>) -> Result<Self> {
        file.sites().map(Self::from)
    }

    fn tsplib_fields(&self) -> Option<tsplib::Fields<'_>> {
        Some(tsplib::Fields::default())
    }

    fn read_csv(sheet: &Sheet<'_>, _: &csv::Options) -> Result<Self> {
        sheet.sites(&sheet.all_comments()).map(Self::from)
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        csv::Fields::default()
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        format!("Length {} {}", Tsp::cost(self, solution), self.sites.unit()).trim_end().to_owned()
    }
}

/// `tour` in the direction in which it has more edges of `before`, from the same first node. A policy has a direction of
/// its own; against it, the tour would be an improbable one.
fn in_direction_of(before: &[usize], mut tour: Vec<usize>) -> Vec<usize> {
    let edges = |tour: &[usize]| {
        let ends = tour.iter().copied().zip(tour.iter().copied().cycle().skip(1));
        ends.collect::<Vec<(usize, usize)>>()
    };
    let mut next = vec![usize::MAX; before.len()];
    edges(before).into_iter().for_each(|(node, after)| next[node] = after);
    let kept = edges(&tour).into_iter().filter(|&(node, after)| next[node] == after).count();
    let turned = edges(&tour).into_iter().filter(|&(node, after)| next[after] == node).count();
    if turned > kept && !tour.is_empty() {
        tour[1..].reverse();
    }
    tour
}

/// Points of the unit square, to be visited in a closed tour.
#[derive(Clone, Debug, PartialEq)]
pub struct TspEnv {
    points: Locations,
}

impl TspEnv {
    /// An instance over `points [nodes, 2]`.
    pub fn new(points: impl Into<Locations>) -> Self {
        Self { points: points.into() }
    }
}

impl Problem for TspEnv {
    type State = VisitOnce;

    const NAME: &'static str = "tsp";
    const DEPOT: bool = false;
    const EVERY_NODE_ONCE: bool = true;
    const HAS_LOCAL_SEARCH: bool = true;
    const DRAWS_POINTS: bool = true;
    const PAPER_SETS: &'static [PaperSetName] = &[PaperSetName::new("tsp")];
    const SET_FIELDS: Option<&'static [SetField]> = Some(&[]);

    fn points(&self) -> &[[f32; 2]] {
        &self.points
    }

    fn matrix(&self) -> Option<&DistanceMatrix> {
        self.points.matrix()
    }

    fn features(&self) -> Vec<f32> {
        self.points.iter().flatten().copied().collect()
    }

    fn start(&self) -> VisitOnce {
        VisitOnce::new(self.points.len())
    }

    fn solution(state: &VisitOnce) -> Vec<usize> {
        visited(state.order())
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        let node = |i: usize| solution[i % solution.len()];
        (0..solution.len()).map(|i| self.points.distance(node(i), node(i + 1))).sum()
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Tsp::from(self.points.sites(Self::NAME)?).check(solution)
    }

    fn view(&self, view: usize) -> Self {
        Self { points: self.points.view(view) }
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Result<Vec<usize>> {
        let mut better = solution.clone();
        local_search::improve(&self.points.sites(Self::NAME)?, &mut better, options);
        Ok(if self.points.is_symmetric() { in_direction_of(&solution, better) } else { better })
    }

    fn draw(config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::locations(config.points, seed, count, size).into_iter().map(Self::new).collect()
    }

    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        Some(Self { points: self.points.chosen(nodes) })
    }

    fn draw_paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        Ok(paper::uniform_set(set, limit)?.into_iter().map(Self::new).collect())
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        set.each(|instance| instance.points().map(Self::new))
    }
}
