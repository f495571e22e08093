//! The instance's part of the solver, and its files: CSV with a column of pickups.

use std::time::Instant;

use super::instance::fault;
use super::{Pdp, PdpEnv};
use crate::formats::best_known::BestKnown;
use crate::formats::csv::{self, ColumnKind, CsvColumn, DepotTable, Sheet};
use crate::formats::solution::SolutionFormat;
use crate::instance::{FileSpec, SolverInstance};
use crate::local_search::LocalSearchOptions;
use crate::local_search::precedence::{self, Options};
use crate::problem::Locations;
use crate::{Result, Sites, visits_of};

/// The column of pickups.
const PICKUP: CsvColumn =
    CsvColumn { names: &["pickup", "pickup_id", "picked_up_at"], words: &[], kind: ColumnKind::Node };

impl SolverInstance for Pdp {
    type Problem = PdpEnv;

    const FILES: &'static FileSpec = &FileSpec {
        title: "pickup and delivery",
        tsplib: None,
        own: None,
        csv: &[PICKUP],
        csv_options: &[],
        csv_flag: None,
        best_known: BestKnown::Cost,
        solution: SolutionFormat::Visits,
    };
    const LOCAL_SEARCH: &'static str = "ruin and recreate";

    fn sites(&self) -> &Sites {
        Pdp::sites(self)
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        Pdp::with_best_known(self, best)
    }

    fn in_unit_square(&self) -> PdpEnv {
        PdpEnv::new(Locations::of(Pdp::sites(self)), self.pickups().to_vec())
    }

    fn from_unit_square(problem: &PdpEnv, sites: Sites, _: f64) -> Result<Self> {
        Self::new(sites, problem.pickups().to_vec())
    }

    fn value(&self, solution: &[usize]) -> f64 {
        self.length(&visits_of(solution))
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Pdp::check(self, &visits_of(solution))
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        vec![("deliveries", self.pickups().iter().flatten().count() as f64)]
    }

    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        Some(precedence::construct(&precedence::Problem::new(Pdp::sites(self), self.pickups()), deadline))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize> {
        let amount = Options::of(self.len(), options);
        let problem = precedence::Problem::new(Pdp::sites(self), self.pickups());
        let progress = |length: f64| options.best.offer(length);
        precedence::improve(&problem, visits_of(&solution), &amount, Some(&progress))
    }

    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self> {
        let table = DepotTable::of(sheet, options, Self::FILES)?;
        let pickups = table.nodes("pickup")?;
        match fault(&pickups) {
            None => Self::new(table.sites()?, pickups),
            Some((node, reason)) => Err(table.error_at(node, "pickup", reason.to_owned())),
        }
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        csv::Fields { nodes: vec![("pickup", self.pickups())], ..csv::Fields::default() }
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        format!("Length {} {}", SolverInstance::value(self, solution), Pdp::sites(self).unit()).trim_end().to_owned()
    }
}
