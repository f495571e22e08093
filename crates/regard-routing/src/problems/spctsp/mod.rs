//! Stochastic prize collecting (SPCTSP): as prize collecting, but before a node is visited only the expectation of its
//! prize is known (Kool et al. 2019, appendix C.5).

mod recourse;

use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use self::recourse::{Known, worth};
use super::pctsp::generate::{self, Values};
use super::pctsp::{self, Pctsp, PctspEnv, PctspState, Scale, collected, doubles, values_of};
use crate::formats::csv::{self, ColumnKind, CsvColumn, DepotTable, Sheet};
use crate::formats::sets::{RawSet, SetField};
use crate::generate::{GeneratorConfig, decimals};
use crate::instance::{FileSpec, SolverInstance};
use crate::local_search::{LocalSearchOptions, orienteering};
use crate::paper::{PaperSet, PaperSetName};
use crate::problem::{Locations, Problem, State, without_return};
use crate::{DistanceMatrix, Result, Sites, depot, visits_of};
use regard_data::Fault;

/// An instance in a metric of its own: one of prize collecting by expected prizes, and the prizes that visits collect.
#[derive(Debug, Clone)]
pub struct Spctsp {
    expected: Pctsp,
    real_prizes: Vec<f64>,
}

impl Spctsp {
    /// An instance where a visit collects `real_prizes [nodes]`, while before only the prizes of `expected` are known.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when the counts differ, a number is negative or not finite, or the
    /// depot has a prize.
    pub fn new(expected: Pctsp, real_prizes: Vec<f64>) -> Result<Self> {
        depot::amounts("real prize", expected.sites(), &real_prizes)?;
        depot::no_amount_at_depot("real prize", expected.sites(), &real_prizes)?;
        Ok(Self { expected, real_prizes })
    }

    /// The instance by expected prizes; its costs are those of this one.
    #[must_use]
    pub fn expected(&self) -> &Pctsp {
        &self.expected
    }

    /// Prizes collected, `[nodes]`.
    #[must_use]
    pub fn real_prizes(&self) -> &[f64] {
        &self.real_prizes
    }

    /// Checks as [`Pctsp::check`] by the prizes collected.
    ///
    /// # Errors
    /// [`Error::Infeasible`](crate::Error::Infeasible) naming the first violated constraint by the ids of the file.
    pub fn check(&self, visits: &[usize]) -> Result<()> {
        self.expected.check_with(&self.real_prizes, visits)
    }
}

/// The column of prizes that are revealed on the way.
const REAL_PRIZE: CsvColumn = CsvColumn { names: &["real_prize"], words: &[], kind: ColumnKind::Amount };

impl SolverInstance for Spctsp {
    type Problem = SpctspEnv;

    const FILES: &'static FileSpec =
        &FileSpec { csv: &[pctsp::COLUMNS[0], pctsp::COLUMNS[1], REAL_PRIZE], ..*Pctsp::FILES };
    /// A search afterwards would know the real prizes in advance.
    const LOCAL_SEARCH: &'static str = "";

    fn sites(&self) -> &Sites {
        self.expected.sites()
    }

    fn with_best_known(self, best: Option<f64>) -> Self {
        Self { expected: self.expected.with_best_known(best), ..self }
    }

    fn in_unit_square(&self) -> SpctspEnv {
        let sites = self.expected.sites();
        let scale = Scale::of(sites, self.expected.required());
        let (expected, real) = (scale.prizes(self.expected.prizes()), scale.prizes(&self.real_prizes));
        SpctspEnv::new(Locations::of(sites), expected, real, scale.penalties(self.expected.penalties()))
    }

    fn from_unit_square(problem: &SpctspEnv, sites: Sites, scale: f64) -> Result<Self> {
        Self::new(Pctsp::from_unit_square(&problem.0, sites, scale)?, decimals(problem.0.real_prizes()))
    }

    fn value(&self, solution: &[usize]) -> f64 {
        self.expected.cost(&visits_of(solution))
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Spctsp::check(self, &visits_of(solution))
    }

    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        Some(("prize", &self.real_prizes))
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        self.expected.facts()
    }

    fn note(&self) -> Option<String> {
        self.expected.note()
    }

    /// A tour planned with the expected prizes, as far as its nodes are worth their way once enough is collected. Where
    /// the whole plan collects too little, nodes that it leaves out follow until there is enough.
    fn construct(&self, deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        let nodes = self.expected.len();
        let mut visits =
            orienteering::construct(&pctsp::prepared(&self.expected, orienteering::construction_end(deadline)));
        let planned = visits.len();
        let mut left: Vec<bool> = vec![true; nodes];
        visits.iter().for_each(|&node| left[node] = false);
        visits.extend((1..nodes).filter(|&node| left[node]));
        // No prize is negative, so that whatever goes on from enough is enough.
        let counts: Vec<usize> = (0..=visits.len()).collect();
        let enough = counts.partition_point(|&count| Spctsp::check(self, &visits[..count]).is_err()).min(visits.len());
        let (walk, rest) = visits[..planned.max(enough)].split_at(enough);
        let (sites, penalties) = (self.expected.sites(), self.expected.penalties());
        let more = worth(walk, rest, |a, b| sites.distance(a, b), |node| penalties[node]);
        visits.truncate(enough + more);
        Some(("insertion by expected prizes", visits))
    }

    fn local_search(&self, solution: Vec<usize>, _: &LocalSearchOptions) -> Vec<usize> {
        solution
    }

    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self> {
        let table = DepotTable::of(sheet, options, Self::FILES)?;
        let expected = pctsp::read_csv(&table)?;
        Self::new(expected, table.amounts("real_prize", true)?)
    }

    fn csv_fields(&self) -> csv::Fields<'_> {
        let mut fields = pctsp::csv_fields(&self.expected);
        fields.columns.push(("real_prize", &self.real_prizes));
        fields
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        let visits = visits_of(solution);
        let (cost, length) = (self.expected.cost(&visits), self.expected.length(&visits));
        format!("Cost {cost}, length {length}, prize {}", collected(&self.real_prizes, &visits))
    }
}

/// A depot, places, expected and real prizes and penalties, in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct SpctspEnv(PctspEnv);

impl SpctspEnv {
    /// Places with `expected` and `real` prizes and `penalties`, `[nodes]` each, around the first of
    /// `points [nodes]`, the depot; prizes of 1 in all are required.
    pub fn new(points: impl Into<Locations>, expected: Vec<f64>, real: Vec<f64>, penalties: Vec<f64>) -> Self {
        Self(PctspEnv::with_real_prizes(points, expected, real, penalties))
    }

    /// The instance for checkers.
    fn instance(&self) -> Result<Spctsp> {
        Spctsp::new(self.0.instance_with_rounding(Self::NAME)?, self.0.real_prizes().to_vec())
    }
}

impl From<Values> for SpctspEnv {
    fn from(values: Values) -> Self {
        let (expected, real) = (doubles(&values.prizes), doubles(&values.real_prizes));
        Self::new(values.points, expected, real, doubles(&values.penalties))
    }
}

impl Problem for SpctspEnv {
    type State = PctspState;

    const NAME: &'static str = "spctsp";
    const ADDED_FEATURES: &'static [&'static str] = &["expected prize", "penalty"];
    const SCALAR_NAMES: &'static [&'static str] = &["prize still to collect"];
    const DEPOT: bool = true;
    /// On the instances of the deterministic problem.
    const PAPER_SETS: &'static [PaperSetName] = &[PaperSetName::new("pctsp_stoch").or("spctsp")];
    const SET_FIELDS: Option<&'static [SetField]> = PctspEnv::SET_FIELDS;

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

    fn start(&self) -> PctspState {
        self.0.start()
    }

    fn solution(state: &PctspState) -> Vec<usize> {
        PctspEnv::solution(state)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.0.cost(solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        self.instance()?.check(without_return(solution))
    }

    fn view(&self, view: usize) -> Self {
        Self(self.0.view(view))
    }

    fn draw(_: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::draw(seed, count, size).into_iter().map(Self::from).collect()
    }

    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        self.0.subset(nodes).map(Self)
    }

    fn draw_paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        Ok(generate::paper_set(set.n(), limit)?.into_iter().map(Self::from).collect())
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        set.each(|instance| values_of(instance).map(Self::from))
    }

    /// A real prize is uniform between 0 and twice the expected one (Kool et al. 2019, appendix C.5).
    fn scenarios(&self, count: usize, seed: u64) -> Option<Vec<Self>> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut scenario = |at: usize| {
            let expected = self.0.prizes().iter();
            let real = expected.map(|&prize| if at == 0 { prize } else { 2.0 * prize * random.random::<f64>() });
            Self(self.0.revealing(real.collect()))
        };
        Some((0..count).map(&mut scenario).collect())
    }

    fn execute_plan(&self, plan: &[usize]) -> Vec<usize> {
        let known = Known { points: self.0.locations(), penalties: self.0.penalties() };
        let mut state = self.start();
        let mut open = vec![false; self.nodes()];
        let walk = known.execute(without_return(plan), |walk| {
            walk.last().into_iter().for_each(|&node| state.step(node));
            state.allowed(&mut open);
            open.first().is_none_or(|depot| *depot)
        });
        let mut state = self.start();
        walk.into_iter().chain([0]).for_each(|node| state.step(node));
        Self::solution(&state)
    }

    fn in_single_precision(self) -> Self {
        Self(self.0.in_single_precision())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_prizes_decide() {
        let sites = Sites::euclidean("line", (0..4).map(|i| [f64::from(i), 0.0]).collect()).unwrap();
        let expected = Pctsp::new(sites, vec![0.0, 2.0, 4.0, 8.0], vec![0.0, 0.5, 1.5, 2.5], 5.0).unwrap();
        let instance = Spctsp::new(expected.clone(), vec![0.0, 5.0, 0.0, 1.0]).unwrap();
        assert!(instance.check(&[1]).is_ok() && instance.check(&[3]).is_err());
        assert_eq!(instance.expected().prizes(), [0.0, 2.0, 4.0, 8.0]);
        assert!(Spctsp::new(expected, vec![1.0; 4]).is_err());
    }

    #[test]
    fn a_plan_goes_on_while_penalties_are_worth_the_way() {
        let sites = Sites::euclidean("line", (0..4).map(|i| [f64::from(i), 0.0]).collect()).unwrap();
        let with = |penalty: f64| {
            let expected =
                Pctsp::new(sites.clone(), vec![0.0, 1.0, 1.0, 1.0], vec![0.0, penalty, penalty, penalty], 1.0);
            let instance = Spctsp::new(expected.unwrap(), vec![0.0, 1.0, 1.0, 1.0]).unwrap();
            let (_, visits) = instance.construct(None).unwrap();
            (instance.value(&visits), visits)
        };
        // All for 6, or one for 2 and two penalties.
        let (cost, visits) = with(100.0);
        assert_eq!((cost, visits.len()), (6.0, 3));
        let (cost, visits) = with(0.1);
        assert!(visits.len() == 1 && (cost - 2.2).abs() < 1e-9, "{cost} {visits:?}");
    }
}
