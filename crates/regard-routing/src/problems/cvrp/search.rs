//! Hooks for construction and local search.

use std::time::Instant;

use super::{Cvrp, CvrpEnv};
use crate::formats::best_known::BestKnown;
use crate::formats::csv::{self, Sheet};
use crate::formats::solution::SolutionFormat;
use crate::formats::tsplib;
use crate::instance::{FileSpec, SolverInstance};
use crate::local_search::LocalSearchOptions;
use crate::local_search::vrp::{self, Vrp, VrpOptions};
use crate::problem::Locations;
use crate::{Result, Sites, routes_of};

/// Removals and insertions for one perturbation of the travelling salesman's search.
const ITERATIONS_PER_PERTURBATION: usize = 50;

/// The search of an instance of `nodes` nodes for this much work.
pub(crate) fn vrp_options(nodes: usize, options: &LocalSearchOptions) -> VrpOptions {
    let iterations = options.perturbations_of_routes(nodes).saturating_mul(ITERATIONS_PER_PERTURBATION);
    let threads = if options.deadline.is_some() { rayon::current_num_threads() } else { 1 };
    VrpOptions { seed: options.seed, iterations, deadline: options.deadline, threads }
}

/// Routes one after another, the depot between them.
pub(crate) fn walk_of(routes: &[Vec<usize>]) -> Vec<usize> {
    routes.iter().filter(|route| !route.is_empty()).map(Vec::as_slice).collect::<Vec<_>>().join(&0)
}

fn prepared(instance: &Cvrp) -> Vrp<'_> {
    Vrp::new(instance.sites(), instance.demands(), instance.capacity()).with_limit(instance.limit(), instance.service())
}

/// Routes cut where one more customer would make them too long.
pub(crate) fn cut_to_limit(instance: &Cvrp, routes: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let Some(limit) = instance.limit() else { return routes };
    let total = |route: &[usize]| {
        let length = instance.cost(std::slice::from_ref(&route.to_vec()));
        length + instance.service() * route.len() as f64
    };
    let mut cut: Vec<Vec<usize>> = Vec::new();
    for route in routes {
        let mut part = Vec::new();
        for node in route {
            part.push(node);
            if total(&part) > limit && part.len() > 1 {
                part.pop();
                cut.push(std::mem::replace(&mut part, vec![node]));
            }
        }
        cut.push(part);
    }
    cut
}

impl SolverInstance for Cvrp {
    type Problem = CvrpEnv;

    const FILES: &'static FileSpec = &FileSpec {
        title: "vehicle routing",
        tsplib: Some(&super::files::TSPLIB),
        own: None,
        csv: super::COLUMNS,
        csv_options: super::OPTIONS,
        csv_flag: None,
        best_known: BestKnown::CostOfSet,
        solution: SolutionFormat::Routes,
    };
    const LOCAL_SEARCH: &'static str = "ruin and recreate";

    fn sites(&self) -> &Sites {
        Cvrp::sites(self)
    }

    fn note(&self) -> Option<String> {
        Cvrp::note(self)
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        Cvrp::with_best_known(self, best)
    }

    fn in_unit_square(&self) -> CvrpEnv {
        CvrpEnv::new(Locations::of(Cvrp::sites(self)), self.demands().to_vec(), self.capacity())
    }

    fn from_unit_square(problem: &CvrpEnv, sites: Sites, _: f64) -> Result<Self> {
        Self::new(sites, problem.demands().to_vec(), problem.capacity())
    }

    fn value(&self, solution: &[usize]) -> f64 {
        Cvrp::cost(self, &routes_of(solution))
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Cvrp::check(self, &routes_of(solution))
    }

    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        Some(("demand", self.demands()))
    }

    fn route_bound(&self) -> Option<f64> {
        Some(self.capacity())
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        let mut facts = vec![("capacity", self.capacity()), ("total demand", self.demands().iter().sum())];
        facts.extend(self.limit().map(|limit| ("maximum route length", limit)));
        facts
    }

    fn repair(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        let walk = walk_of(&cut_to_limit(self, routes_of(&solution)));
        SolverInstance::check(self, &walk).is_ok().then_some(walk)
    }

    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        let (name, routes) = vrp::construct_named(&prepared(self), deadline);
        Some((name, walk_of(&routes)))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize> {
        let progress = |_: f64, cost: f64| options.best.offer(cost);
        let work = vrp_options(self.len(), options);
        walk_of(&vrp::improve(&prepared(self), routes_of(&solution), &work, Some(&progress)).routes)
    }

    fn read_tsplib(file: &tsplib::File<'_>) -> Result<Self> {
        super::read_tsplib(file)
    }

    fn tsplib_fields(&self) -> Option<tsplib::Fields<'_>> {
        Some(super::tsplib_fields(self))
    }

    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self> {
        super::read_csv(sheet, options, Self::FILES, false)
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        super::csv_fields(self)
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        format!("Cost {}", SolverInstance::value(self, solution))
    }
}
