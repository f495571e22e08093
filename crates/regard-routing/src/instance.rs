//! Instances as files give them, with a metric and rules of their own.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::formats::best_known::BestKnown;
use crate::formats::csv::{self, CsvColumn, CsvOption, Sheet};
use crate::formats::solution::SolutionFormat;
use crate::formats::tsplib::{self, TsplibType};
use crate::itinerary::Times;
use crate::local_search::LocalSearchOptions;
use crate::problem::Problem;
use crate::registry::ProblemSpec;
use crate::{Error, Result, Sites, routes_of, stats};

/// Content of a problem's files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileSpec {
    /// The problem in running text, as "vehicle routing".
    pub title: &'static str,
    /// Files of TSPLIB and its descendants; `None` where none holds the problem.
    pub tsplib: Option<&'static TsplibType>,
    /// A text format of this problem alone; `None` where there is none.
    pub own: Option<&'static OwnFormat>,
    /// Columns of a CSV file beside ids and coordinates.
    pub csv: &'static [CsvColumn],
    /// Numbers of a CSV file that belong to no node.
    pub csv_options: &'static [CsvOption],
    /// The option that must be set for an instance to be of this problem, where two problems have the same columns.
    pub csv_flag: Option<&'static str>,
    /// Where the best-known value of an instance is looked up.
    pub best_known: BestKnown,
    /// The form of a solution in files and reports.
    pub solution: SolutionFormat,
}

/// A text format that holds one problem alone and is known by its content.
#[derive(Clone, Copy, Debug)]
pub struct OwnFormat {
    /// Its name in running text, as "Solomon's format".
    pub title: &'static str,
    /// Ending of its files.
    pub ending: &'static str,
    /// If true, a text is in this format.
    pub recognises: fn(&str) -> bool,
}

impl PartialEq for OwnFormat {
    fn eq(&self, other: &Self) -> bool {
        self.title == other.title
    }
}

/// An instance of a routing problem in its own metric.
///
/// Solutions are lists of nodes as [`Problem::solution`] gives them: with the depot (node 0) between routes.
pub trait SolverInstance: Clone + fmt::Debug + Send + Sync + 'static {
    /// The instance in the unit square, as a policy sees it.
    type Problem: Problem;

    /// Content of the problem's files.
    const FILES: &'static FileSpec;
    /// Name of the local search, for reports; empty where there is none.
    const LOCAL_SEARCH: &'static str;

    /// The nodes with their ids and distances, a depot first.
    fn sites(&self) -> &Sites;
    /// The same instance with another best-known cost or prize.
    #[must_use]
    fn with_best_known(self, best: Option<f64>) -> Self;
    /// The instance in the unit square.
    fn in_unit_square(&self) -> Self::Problem;
    /// The instance that a file holds for one in the unit square: `sites` are its nodes, `scale` times as far apart.
    ///
    /// # Errors
    /// Numbers that no file may hold.
    fn from_unit_square(problem: &Self::Problem, sites: Sites, scale: f64) -> Result<Self>;

    /// Value of a solution: its cost in the instance's own metric, or its prize.
    ///
    /// # Panics
    /// When a node is not one of the instance's.
    fn value(&self, solution: &[usize]) -> f64;
    /// Cost of a solution; where a prize is maximised, its negative.
    fn cost(&self, solution: &[usize]) -> f64 {
        if Self::Problem::MAXIMISES { -self.value(solution) } else { self.value(solution) }
    }
    /// Checks a solution by rules that share nothing with the code that builds solutions.
    ///
    /// # Errors
    /// [`Error::Infeasible`] with the first rule that is broken.
    fn check(&self, solution: &[usize]) -> Result<()>;
    /// The closed routes of a solution, each with its nodes in order, the depot left out.
    fn routes(&self, solution: &[usize]) -> Vec<Vec<usize>> {
        routes_of(solution)
    }
    /// Numbers of the instance beside its places, by name, for reports.
    fn facts(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// The amounts that a vehicle takes in at its stops, by their name and for each node; `None` where there are none.
    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        None
    }
    /// The amount that a route may take in, where there is a bound.
    fn route_bound(&self) -> Option<f64> {
        None
    }

    /// The times by which vehicles drive; `None` where time plays no part.
    fn times(&self) -> Option<Times<'_>> {
        None
    }

    /// A policy's solution repaired so that it keeps the instance's own rules: distances may be rounded, and there
    /// may be limits that the policy does not know. `None` when that fails.
    fn repair(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        self.check(&solution).is_ok().then_some(solution)
    }
    /// Number of nodes up to which a network's solutions are better starts of a local search than constructed ones, so
    /// that a construction is only worth its time where time is limited.
    const NETWORK_STARTS_UP_TO: usize = 0;

    /// A note on an instance that is allowed but hardly meant.
    fn note(&self) -> Option<String> {
        None
    }

    /// A solution without a policy, and the name of the heuristic. A `deadline` makes it simpler where time is short.
    fn construct(&self, _deadline: Option<Instant>) -> Option<(&'static str, Vec<usize>)> {
        None
    }
    /// The same instance with as few vehicles as were found from `start`, or from a construction, and a solution for them;
    /// `None` where the number of vehicles does not count.
    fn with_fewest_vehicles(
        &self,
        _start: Option<&[usize]>,
        _options: &LocalSearchOptions,
    ) -> Option<(Self, Vec<usize>)> {
        None
    }
    /// Local search from a solution; never gives a worse one.
    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Vec<usize>;

    /// Reads an instance from a file of TSPLIB or one of its descendants.
    ///
    /// # Errors
    /// [`Error::Parse`] with line, what was found and what was expected.
    fn read_tsplib(file: &tsplib::File<'_>) -> Result<Self> {
        Err(file.error(0, format!("TSPLIB has no file type for {}", Self::FILES.title)))
    }
    /// Sections of a TSPLIB file beside the nodes; `None` where no such file holds the problem.
    fn tsplib_fields(&self) -> Option<tsplib::Fields<'_>> {
        None
    }
    /// Reads an instance from a text in the problem's own format ([`FileSpec::own`]); `path` names it in errors.
    ///
    /// # Errors
    /// [`Error::Parse`] with line, what was found and what was expected.
    fn read_own(_text: &str, path: &Path) -> Result<Self> {
        Err(Error::parse(path, 0, format!("{} has no format of its own", Self::FILES.title)))
    }
    /// The text of the instance in the problem's own format.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what the format cannot hold.
    fn render_own(&self) -> Result<String> {
        Err(Error::invalid("format", format!("{} has no format of its own", Self::FILES.title)))
    }
    /// Reads an instance from a CSV table.
    ///
    /// # Errors
    /// [`Error::Parse`] naming line and field.
    fn read_csv(sheet: &Sheet<'_>, options: &csv::Options) -> Result<Self>;
    /// Columns of a CSV table beside the nodes.
    fn csv_fields(&self) -> csv::Fields<'_>;
    /// The comment of a solution file: the solution's value in one line.
    fn solution_comment(&self, solution: &[usize]) -> String;
}

/// An instance of any problem, as a file gives it.
#[derive(Clone)]
pub struct Instance(Arc<dyn AnyInstance>);

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<I: SolverInstance> From<I> for Instance {
    fn from(instance: I) -> Self {
        Self(Arc::new(instance))
    }
}

/// The methods of [`SolverInstance`] that need not know the problem's type.
trait AnyInstance: fmt::Debug + Send + Sync {
    fn spec(&self) -> &'static ProblemSpec;
    fn sites(&self) -> &Sites;
    fn with_best_known(&self, best: Option<f64>) -> Instance;
    fn value(&self, solution: &[usize]) -> f64;
    fn check(&self, solution: &[usize]) -> Result<()>;
    fn routes(&self, solution: &[usize]) -> Vec<Vec<usize>>;
    fn facts(&self) -> Vec<(&'static str, f64)>;
    fn note(&self) -> Option<String>;
    fn amounts(&self) -> Option<(&'static str, &[f64])>;
    fn route_bound(&self) -> Option<f64>;
    fn times(&self) -> Option<Times<'_>>;
    fn solution_comment(&self, solution: &[usize]) -> String;
    fn render_own(&self) -> Result<String>;
    fn render_csv(&self) -> Result<String>;
    fn render_tsplib(&self) -> Result<String>;
    fn in_unit_square(&self) -> Box<dyn Any>;
    fn as_any(&self) -> &dyn Any;
}

impl<I: SolverInstance> AnyInstance for I {
    fn spec(&self) -> &'static ProblemSpec {
        const { &ProblemSpec::of_instance::<I>() }
    }

    fn sites(&self) -> &Sites {
        SolverInstance::sites(self)
    }

    fn with_best_known(&self, best: Option<f64>) -> Instance {
        SolverInstance::with_best_known(self.clone(), best).into()
    }

    fn value(&self, solution: &[usize]) -> f64 {
        SolverInstance::value(self, solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        SolverInstance::check(self, solution)
    }

    fn routes(&self, solution: &[usize]) -> Vec<Vec<usize>> {
        SolverInstance::routes(self, solution)
    }

    fn note(&self) -> Option<String> {
        SolverInstance::note(self)
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        SolverInstance::facts(self)
    }

    fn amounts(&self) -> Option<(&'static str, &[f64])> {
        SolverInstance::amounts(self)
    }

    fn route_bound(&self) -> Option<f64> {
        SolverInstance::route_bound(self)
    }

    fn solution_comment(&self, solution: &[usize]) -> String {
        SolverInstance::solution_comment(self, solution)
    }

    fn times(&self) -> Option<Times<'_>> {
        SolverInstance::times(self)
    }

    fn render_own(&self) -> Result<String> {
        SolverInstance::render_own(self)
    }

    fn render_csv(&self) -> Result<String> {
        csv::render(self)
    }

    fn render_tsplib(&self) -> Result<String> {
        tsplib::render(self)
    }

    fn in_unit_square(&self) -> Box<dyn Any> {
        Box::new(SolverInstance::in_unit_square(self))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Instance {
    /// The specification of the instance's problem.
    #[must_use]
    pub fn spec(&self) -> &'static ProblemSpec {
        self.0.spec()
    }

    /// Content of the files of the instance's problem.
    #[must_use]
    pub fn files(&self) -> Option<&'static FileSpec> {
        self.spec().files
    }

    /// Name of the problem, [`Problem::NAME`].
    #[must_use]
    pub fn problem(&self) -> &'static str {
        self.spec().name
    }

    /// The form of a solution in files and reports.
    #[must_use]
    pub fn solution_format(&self) -> SolutionFormat {
        self.files().map_or(SolutionFormat::Tour, |files| files.solution)
    }

    /// The nodes with their distances, ids and name; node 0 is the depot where there is one.
    #[must_use]
    pub fn sites(&self) -> &Sites {
        self.0.sites()
    }

    /// The best cost known, or the highest prize where one is maximised.
    #[must_use]
    pub fn best_known(&self) -> Option<f64> {
        self.sites().best_known()
    }

    /// The same instance with another best-known cost or prize.
    #[must_use]
    pub fn with_best_known(self, best: Option<f64>) -> Self {
        self.0.with_best_known(best)
    }

    /// If true, the value of a solution is a prize, the more the better.
    #[must_use]
    pub fn maximises(&self) -> bool {
        self.spec().maximises
    }

    /// Value of a solution: its cost in the instance's own metric, or its prize.
    ///
    /// A solution is a list of nodes in the order visited; with a depot, node 0 stands between routes and may stand
    /// at the end.
    ///
    /// # Panics
    /// When a node is not one of the instance's.
    #[must_use]
    pub fn value(&self, solution: &[usize]) -> f64 {
        self.0.value(solution)
    }

    /// Gap of a value to the best known one, as a fraction (0.05 is 5 %).
    #[must_use]
    pub fn gap(&self, value: f64) -> Option<f64> {
        let gap = stats::gap(value, self.best_known()?)?;
        // The negative of 0 has a sign.
        Some(if self.maximises() { 0.0 - gap } else { gap })
    }

    /// Checks a solution by rules that share nothing with the code that builds solutions.
    ///
    /// # Errors
    /// [`Error::Infeasible`] with the first rule that is broken.
    pub fn check(&self, solution: &[usize]) -> Result<()> {
        self.0.check(solution)
    }

    /// The closed routes of a solution, each with its nodes in order, the depot left out.
    #[must_use]
    pub fn routes(&self, solution: &[usize]) -> Vec<Vec<usize>> {
        self.0.routes(solution)
    }

    /// Numbers of the instance beside its places, by name.
    #[must_use]
    pub fn facts(&self) -> Vec<(&'static str, f64)> {
        self.0.facts()
    }

    /// A note on an instance that is allowed but hardly meant.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.0.note()
    }

    /// The amounts that a vehicle takes in at its stops, by their name and for each node; `None` where there are none.
    #[must_use]
    pub fn amounts(&self) -> Option<(&'static str, &[f64])> {
        self.0.amounts()
    }

    /// The amount that a route may take in, where there is a bound.
    #[must_use]
    pub fn route_bound(&self) -> Option<f64> {
        self.0.route_bound()
    }

    /// The times by which vehicles drive; `None` where time plays no part.
    #[must_use]
    pub fn times(&self) -> Option<Times<'_>> {
        self.0.times()
    }

    /// The comment of a solution file: the solution's value in one line.
    #[must_use]
    pub fn solution_comment(&self, solution: &[usize]) -> String {
        self.0.solution_comment(solution)
    }

    /// The text of a file of the given ending ([`formats::endings`](crate::formats::endings)) that reads as the same
    /// instance.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a format that cannot hold the instance.
    pub fn render(&self, ending: &str) -> Result<String> {
        if ending == csv::ENDING {
            return self.0.render_csv();
        }
        if self.files().and_then(|files| files.own).is_some_and(|own| own.ending == ending) {
            return self.0.render_own();
        }
        match self.files().and_then(|files| files.tsplib) {
            Some(tsplib) if tsplib.endings.contains(&ending) => self.0.render_tsplib(),
            _ => {
                let reason = format!("a .{ending} file cannot hold an instance of `{}`", self.problem());
                Err(Error::invalid("format", reason).with_hint("CSV can store every problem"))
            }
        }
    }

    /// The instance as that of one problem; `None` when it is another problem's.
    #[must_use]
    pub fn downcast_ref<I: SolverInstance>(&self) -> Option<&I> {
        self.0.as_any().downcast_ref()
    }

    /// The instance in the unit square as one of problem `P`; `None` when it is another problem's.
    #[must_use]
    pub fn in_unit_square<P: Problem>(&self) -> Option<P> {
        self.0.in_unit_square().downcast().ok().map(|problem| *problem)
    }
}
