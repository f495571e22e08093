//! Hooks for construction and local search.

use std::path::Path;
use std::time::Instant;

use super::{Cvrptw, CvrptwEnv, TimeWindows};
use crate::formats::best_known::BestKnown;
use crate::formats::csv::{self, Sheet};
use crate::formats::solution::SolutionFormat;
use crate::formats::tsplib;
use crate::instance::{FileSpec, SolverInstance};
use crate::itinerary::Times;
use crate::local_search::LocalSearchOptions;
use crate::local_search::vrp::{self, Vrp, Windows};
use crate::problem::Locations;
use crate::problems::cvrp::Cvrp;
use crate::problems::cvrp::search::{vrp_options, walk_of};
use crate::{Result, Sites, routes_of};

fn prepared(instance: &Cvrptw) -> Vrp<'_> {
    let TimeWindows { ready, due, service } = instance.windows();
    let routing = instance.routing();
    Vrp::new(routing.sites(), routing.demands(), routing.capacity())
        .with_windows(Windows { ready, due, service, pace: instance.pace() })
        .with_vehicles(instance.vehicles())
}

impl SolverInstance for Cvrptw {
    type Problem = CvrptwEnv;

    const FILES: &'static FileSpec = &FileSpec {
        title: "vehicle routing with time windows",
        tsplib: Some(&super::files::TSPLIB),
        own: Some(&super::solomon::FORMAT),
        csv: super::files::COLUMNS,
        csv_options: super::files::OPTIONS,
        csv_flag: None,
        best_known: BestKnown::CostOfSet,
        solution: SolutionFormat::Routes,
    };
    const LOCAL_SEARCH: &'static str = "ruin and recreate";

    fn sites(&self) -> &Sites {
        Cvrptw::sites(self)
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        Cvrptw::with_best_known(self, best)
    }

    fn in_unit_square(&self) -> CvrptwEnv {
        let unit = self.pace() * Cvrptw::sites(self).positive_side();
        let TimeWindows { ready, due, service } = self.windows();
        let opening = ready[0];
        let since = |times: &[f64]| times.iter().map(|time| ((time - opening) / unit).max(0.0)).collect();
        let service = service.iter().map(|time| time / unit).collect();
        let windows = TimeWindows { ready: since(ready), due: since(due), service };
        let (demands, capacity) = (self.routing().demands().to_vec(), self.routing().capacity());
        CvrptwEnv::new(Locations::of(Cvrptw::sites(self)), demands, capacity, windows)
    }

    fn from_unit_square(problem: &CvrptwEnv, sites: Sites, scale: f64) -> Result<Self> {
        let TimeWindows { ready, due, service } = problem.windows();
        let scaled = |times: &[f64]| times.iter().map(|time| time * scale).collect();
        let windows = TimeWindows { ready: scaled(ready), due: scaled(due), service: scaled(service) };
        let routing = Cvrp::new(sites.in_tenths(), problem.demands().to_vec(), problem.capacity())?;
        Self::at_pace(routing, windows, 1.0)
    }

    fn value(&self, solution: &[usize]) -> f64 {
        Cvrptw::cost(self, &routes_of(solution))
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Cvrptw::check(self, &routes_of(solution))
    }

    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        Some(("demand", self.routing().demands()))
    }

    fn route_bound(&self) -> Option<f64> {
        Some(self.routing().capacity())
    }

    fn times(&self) -> Option<Times<'_>> {
        Some(Cvrptw::times(self))
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        let mut facts = self.routing().facts();
        facts.extend(Some(self.windows().due[0]).filter(|due| due.is_finite()).map(|due| ("depot closes at", due)));
        facts.extend(self.vehicles().map(|vehicles| ("vehicles", vehicles as f64)));
        facts
    }

    fn note(&self) -> Option<String> {
        Cvrptw::note(self)
    }

    fn repair(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        if SolverInstance::check(self, &solution).is_ok() {
            return Some(solution);
        }
        let walk = walk_of(&vrp::repair(&prepared(self), &routes_of(&solution))?);
        SolverInstance::check(self, &walk).is_ok().then_some(walk)
    }

    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        let (name, routes) = vrp::construct_named(&prepared(self), deadline);
        Some((name, walk_of(&routes)))
    }

    fn with_fewest_vehicles(
        &self,
        start: Option<&[usize]>,
        options: &LocalSearchOptions,
    ) -> Option<(Self, Vec<usize>)> {
        let vrp = prepared(self);
        let LocalSearchOptions { seed, deadline, .. } = *options;
        let routes = start.map_or_else(|| vrp::construct(&vrp, deadline), routes_of);
        let routes = vrp::with_fewest_routes(&vrp, &routes, seed, deadline);
        let found = vrp::routes_with_customers(&routes).max(1);
        let vehicles = self.vehicles().map_or(found, |vehicles| vehicles.min(found));
        Some((self.clone().with_vehicles(Some(vehicles)).ok()?, walk_of(&routes)))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize> {
        let progress = |_: f64, cost: f64| options.best.offer(cost);
        let work = vrp_options(self.routing().len(), options);
        walk_of(&vrp::improve(&prepared(self), routes_of(&solution), &work, Some(&progress)).routes)
    }

    fn read_tsplib(file: &tsplib::File<'_>) -> Result<Self> {
        super::files::read_tsplib(file)
    }

    fn tsplib_fields(&self) -> Option<tsplib::Fields<'_>> {
        super::files::tsplib_fields(self)
    }

    fn read_own(text: &str, path: &Path) -> Result<Self> {
        super::solomon::read(text, path)
    }

    fn render_own(&self) -> Result<String> {
        super::solomon::render(self)
    }

    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self> {
        super::files::read_csv(sheet, options)
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        super::files::csv_fields(self)
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        format!("Cost {}", SolverInstance::value(self, solution))
    }
}
