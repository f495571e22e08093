//! The instance's part of the solver, and its files: OPLib (`.oplib`) and CSV.
//!
//! OPLib is TSPLIB95 with `COST_LIMIT`, `NODE_SCORE_SECTION` and `DEPOT_SECTION` (G. Kobeaga, M. Merino and
//! J. A. Lozano, "An efficient evolutionary algorithm for the orienteering problem", Computers & Operations Research
//! 90, 2018). The score of the depot counts, as in their solver.

use std::time::Instant;

use super::{Op, OpEnv};
use crate::formats::best_known::BestKnown;
use crate::formats::csv::{self, ColumnKind, CsvColumn, CsvOption, DepotTable, Sheet};
use crate::formats::solution::SolutionFormat;
use crate::formats::tsplib::{self, TsplibType};
use crate::generate::{decimal, decimals};
use crate::instance::{FileSpec, SolverInstance};
use crate::local_search::LocalSearchOptions;
use crate::local_search::orienteering::{self, Objective};
use crate::problem::Locations;
use crate::{Result, Sites, depot, visits_of};

const SECTION: &str = "NODE_SCORE_SECTION";

/// The column of prizes.
pub(crate) const PRIZE: CsvColumn = CsvColumn {
    names: &["prize", "score", "profit"],
    words: &[
        "reward",
        "value",
        "gain",
        "points",
        "benefit",
        "wert",
        "gewinn",
        "punkte",
        "nutzen",
        "ertrag",
        "valeur",
        "prix",
        "valor",
        "premio",
        "beneficio",
        "waarde",
        "winst",
    ],
    kind: ColumnKind::Amount,
};

fn prepared(instance: &Op, deadline: Option<Instant>) -> orienteering::Problem<'_> {
    let objective = Objective::MaxPrize { prizes: instance.prizes(), max_length: instance.max_length() };
    orienteering::Problem::of_sites(instance.sites(), objective, deadline)
}

impl SolverInstance for Op {
    type Problem = OpEnv;

    const FILES: &'static FileSpec = &FileSpec {
        title: "orienteering",
        tsplib: Some(&TsplibType {
            name: "OP",
            words: &["OP"],
            sections: &[SECTION, tsplib::DEPOT_SECTION],
            marker: Some(SECTION),
            sections_note: "scores belong to orienteering",
            keywords: &["COST_LIMIT"],
            in_tenths: false,
            endings: &["oplib"],
        }),
        own: None,
        csv: &[PRIZE],
        csv_options: &[CsvOption::above_zero("max_length")],
        csv_flag: None,
        best_known: BestKnown::Score,
        solution: SolutionFormat::Visits,
    };
    const LOCAL_SEARCH: &'static str = "insert, drop and replace";

    fn sites(&self) -> &Sites {
        Op::sites(self)
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        Op::with_best_known(self, best)
    }

    fn in_unit_square(&self) -> OpEnv {
        let sites = Op::sites(self);
        let most = self.prizes().iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        // The depot's prize is collected in any case.
        let prize = |(node, prize): (usize, &f64)| if node == 0 { 0.0 } else { prize / most };
        let prizes = self.prizes().iter().enumerate().map(prize).collect();
        OpEnv::new(Locations::of(sites), prizes, self.max_length() / sites.positive_side())
    }

    fn from_unit_square(problem: &OpEnv, sites: Sites, scale: f64) -> Result<Self> {
        Self::new(sites, decimals(problem.prizes()), decimal(problem.max_length()) * scale)
    }

    fn value(&self, solution: &[usize]) -> f64 {
        self.prize(&visits_of(solution))
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Op::check(self, &visits_of(solution))
    }

    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        Some(("prize", self.prizes()))
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        vec![("maximum tour length", self.max_length()), ("total prize", self.prizes().iter().sum())]
    }

    fn repair(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        if SolverInstance::check(self, &solution).is_ok() {
            return Some(visits_of(&solution));
        }
        let options = orienteering::Options { iterations: 0, ..orienteering::Options::default() };
        let visits = orienteering::improve(&prepared(self, options.deadline), visits_of(&solution), &options).visits;
        SolverInstance::check(self, &visits).is_ok().then_some(visits)
    }

    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        Some(orienteering::construct_named(&prepared(self, orienteering::construction_end(deadline))))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize> {
        let options = orienteering::Options::of(self.len(), options);
        orienteering::improve(&prepared(self, options.deadline), visits_of(&solution), &options).visits
    }

    fn read_tsplib(file: &tsplib::File<'_>) -> Result<Self> {
        let sites = file.sites()?;
        let limit = file.required_amount("COST_LIMIT", "maximum length of a tour")?;
        let mut scores = file.amounts(SECTION, sites.ids(), "score")?;
        let depot = file.depot(sites.ids())?;
        scores[..=depot].rotate_right(1);
        Self::new(depot::first(sites, depot)?, scores.iter().map(|score| score.value).collect(), limit)
    }

    fn tsplib_fields(&self) -> Option<tsplib::Fields<'_>> {
        Some(tsplib::Fields {
            keywords: vec![("COST_LIMIT", self.max_length())],
            sections: vec![(SECTION, vec![self.prizes()])],
        })
    }

    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self> {
        let table = DepotTable::of(sheet, options, Self::FILES)?;
        let max_length = table.required_option("max_length", "40")?;
        let prizes = table.amounts("prize", false)?;
        Self::new(table.sites()?, prizes, max_length)
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        csv::Fields {
            options: vec![("max_length", self.max_length().to_string())],
            columns: vec![("prize", self.prizes())],
            ..csv::Fields::default()
        }
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        let visits = visits_of(solution);
        format!("Prize {}, length {}", self.prize(&visits), self.length(&visits))
    }
}
