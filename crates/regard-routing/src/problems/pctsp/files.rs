//! The instance's part of the solver, and its file: CSV.

use std::time::Instant;

use super::{Pctsp, PctspEnv, Scale};
use crate::formats::best_known::BestKnown;
use crate::formats::csv::{self, ColumnKind, CsvColumn, CsvOption, DepotTable, Sheet};
use crate::formats::solution::SolutionFormat;
use crate::generate::decimals;
use crate::instance::{FileSpec, SolverInstance};
use crate::local_search::LocalSearchOptions;
use crate::local_search::orienteering::{self, Objective};
use crate::problem::Locations;
use crate::{Result, Sites, visits_of};

/// Names of the columns, the preferred first.
pub(crate) const COLUMNS: &[CsvColumn] = &[
    crate::problems::op::PRIZE,
    CsvColumn {
        names: &["penalty"],
        words: &["strafe", "kosten_ohne", "penalite", "amende", "penalizacion", "penalita", "missed_cost", "skip_cost"],
        kind: ColumnKind::Amount,
    },
];

const OPTIONS: &[CsvOption] = &[CsvOption::not_negative("required_prize")];

pub(crate) fn prepared(instance: &Pctsp, deadline: Option<Instant>) -> orienteering::Problem<'_> {
    let (prizes, penalties, required) = (instance.prizes(), instance.penalties(), instance.required());
    orienteering::Problem::of_sites(
        instance.sites(),
        Objective::RequiredPrize { prizes, penalties, required },
        deadline,
    )
}

/// Reads the columns and options that the deterministic and the stochastic problem share.
pub(crate) fn read_csv(table: &DepotTable<'_, '_>) -> Result<Pctsp> {
    let required = table.required_option("required_prize", "1")?;
    let prizes = table.amounts("prize", true)?;
    let penalties = table.amounts("penalty", true)?;
    Pctsp::new(table.sites()?, prizes, penalties, required)
}

pub(crate) fn csv_fields(instance: &Pctsp) -> csv::Fields<'_> {
    csv::Fields {
        options: vec![("required_prize", instance.required().to_string())],
        columns: vec![("prize", instance.prizes()), ("penalty", instance.penalties())],
        ..csv::Fields::default()
    }
}

impl SolverInstance for Pctsp {
    type Problem = PctspEnv;

    const FILES: &'static FileSpec = &FileSpec {
        title: "prize collecting",
        tsplib: None,
        own: None,
        csv: COLUMNS,
        csv_options: OPTIONS,
        csv_flag: None,
        best_known: BestKnown::CostOfSet,
        solution: SolutionFormat::Visits,
    };
    const LOCAL_SEARCH: &'static str = "insert, drop and replace";

    fn sites(&self) -> &Sites {
        Pctsp::sites(self)
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        Pctsp::with_best_known(self, best)
    }

    fn in_unit_square(&self) -> PctspEnv {
        let scale = Scale::of(Pctsp::sites(self), self.required());
        let (prizes, penalties) = (scale.prizes(self.prizes()), scale.penalties(self.penalties()));
        PctspEnv::new(Locations::of(Pctsp::sites(self)), prizes, penalties)
    }

    fn from_unit_square(problem: &PctspEnv, sites: Sites, scale: f64) -> Result<Self> {
        let penalties = decimals(problem.penalties()).into_iter().map(|penalty| penalty * scale).collect();
        Self::new(sites, decimals(problem.prizes()), penalties, 1.0)
    }

    fn value(&self, solution: &[usize]) -> f64 {
        Pctsp::cost(self, &visits_of(solution))
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Pctsp::check(self, &visits_of(solution))
    }

    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        Some(("prize", self.prizes()))
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        vec![
            ("required prize", self.required()),
            ("total prize", sum(self.prizes())),
            ("total penalty", sum(self.penalties())),
        ]
    }

    fn note(&self) -> Option<String> {
        Pctsp::note(self)
    }

    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        Some(orienteering::construct_named(&prepared(self, orienteering::construction_end(deadline))))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize> {
        let options = orienteering::Options::of(self.len(), options);
        orienteering::improve(&prepared(self, options.deadline), visits_of(&solution), &options).visits
    }

    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self> {
        read_csv(&DepotTable::of(sheet, options, Self::FILES)?)
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        csv_fields(self)
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        let visits = visits_of(solution);
        let (cost, length, prize) = (self.cost(&visits), self.length(&visits), self.collected(&visits));
        format!("Cost {cost}, length {length}, prize {prize}")
    }
}
