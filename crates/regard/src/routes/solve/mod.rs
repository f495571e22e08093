//! From an instance to a solution: the network proposes, local search improves, an independent checker decides.
//!
//! Each stage that ran is kept with its cost and its time, so that its gain can be reported.
//!
//! # Default plan
//! The network decodes greedily, then from several start nodes in several views. Work of the
//! second stage grows with `trajectories · n²`, memory of the encoder with `views · n`, so that
//! large instances get less of both:
//!
//! | places      | starts x views | trajectories |
//! |-------------|----------------|--------------|
//! | up to 300   | 16 x 8         | 128          |
//! | up to 1,000 | 4 x 8          | 32           |
//! | up to 3,000 | 8 x 1          | 8            |
//! | more        | none           | 0            |
//!
//! Larger instances are constructed by savings (Clarke & Wright 1964), as are those of the problems
//! with a depot of any size, beside the network. More than [`MOST_PLACES`] places are refused.
//!
//! # With a time limit
//! Construction and local search come first. The network's stages follow where an estimate of their
//! time leaves most of the rest to the local search; their best solution is another start of it.

mod plan;
mod search;

use std::str::FromStr;
use std::time::{Duration, Instant};

use regard_data::cancel::{self, CancellationToken};
use regard_routing::local_search::BestCost;
use regard_routing::registry::with_problem;
use regard_routing::{Instance, LocalSearchOptions, Problem, ProblemVisitor, SolverInstance};

pub(super) use self::plan::check_work;
pub use self::plan::{check_time, describe};
use self::search::Search;
use super::decode::Decode;
use super::model::AttentionModel;
use crate::{Error, Result};

/// Largest instance [`solve`] accepts.
pub const MOST_PLACES: usize = 100_000;

/// Instances of up to this many nodes have one closed tour in each direction, and nothing to search for.
pub(super) const TRIVIAL: usize = 3;

/// The shorter of the two closed tours through up to [`TRIVIAL`] nodes, with its cost.
pub(super) fn shortest_of_few(n: usize, cost: impl Fn(&[usize]) -> f64) -> (f64, Vec<usize>) {
    let tour: Vec<usize> = (0..n).collect();
    let turned: Vec<usize> = (0..n.min(1)).chain((1..n).rev()).collect();
    let (one, other) = (cost(&tour), cost(&turned));
    // A difference by rounding is none.
    if other < one * (1.0 - 1e-12) { (other, turned) } else { (one, tour) }
}

/// The objective of a solution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Objective {
    /// The cost alone.
    #[default]
    Cost,
    /// Fewer vehicles first, then the cost, for problems whose vehicles can be limited.
    Vehicles,
}

impl Objective {
    /// The words of all objectives.
    pub const NAMES: [&str; 2] = ["cost", "vehicles"];
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "cost" => Ok(Self::Cost),
            "vehicles" => Ok(Self::Vehicles),
            _ => Err(format!("is `{text}`, expected {}", Self::NAMES.join(" or "))),
        }
    }
}

/// Options of [`solve`].
#[derive(Debug, Clone)]
pub struct SolveOptions {
    /// Decoding strategy; `None` is the default plan of this module.
    pub decode: Option<Decode>,
    /// Views of the instance, 1 or 8; `None` leaves it to the plan (1 when `decode` is given).
    pub augment: Option<usize>,
    /// Local search after the network.
    pub finish: Finish,
    /// A solution that the search starts from, which keeps the rules; the result is never worse.
    pub warm_start: Option<Vec<usize>>,
    /// The objective.
    pub objective: Objective,
    /// Softmax temperature of sampling.
    pub temperature: f32,
    /// Share of the probability that sampling keeps to, the most probable nodes first; 1 for all.
    pub top_p: f32,
    /// Seed of sampling and of the local search.
    pub seed: u64,
    /// Receives the cost of the best solution so far, for progress reports.
    pub best: BestCost,
    /// Ends the search early, with the best solution found until then.
    pub stop: Option<CancellationToken>,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self {
            decode: None,
            augment: None,
            finish: Finish::Bounded,
            warm_start: None,
            objective: Objective::Cost,
            temperature: 1.0,
            top_p: 1.0,
            seed: 1234,
            best: BestCost::default(),
            stop: None,
        }
    }
}

/// The end of the local search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// No local search.
    Off,
    /// A bounded amount of work: the same seed gives the same tour.
    Bounded,
    /// Until so much time has passed since the first stage began.
    Timed(Duration),
}

/// A tour and the stages that led to it.
#[derive(Debug, Clone)]
pub struct Solution {
    /// Order in which the places are visited, by index.
    pub tour: Vec<usize>,
    /// Cost of the closed tour in the instance's own metric.
    pub cost: f64,
    /// The stages, in the order they ran. Empty for up to 3 places.
    pub stages: Vec<Stage>,
    /// Time of all stages.
    pub seconds: f64,
}

/// The kind of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageKind {
    /// A solution that was given.
    Start,
    /// The neural policy.
    Network,
    /// A heuristic that knows nothing of the network.
    Construct,
    /// Local search.
    Improve,
}

impl StageKind {
    /// The word for reports.
    pub fn name(self) -> &'static str {
        match self {
            StageKind::Start => "start",
            StageKind::Network => "network",
            StageKind::Construct => "construct",
            StageKind::Improve => "improve",
        }
    }
}

/// One stage of [`solve`].
#[derive(Debug, Clone)]
pub struct Stage {
    /// Kind of the stage.
    pub kind: StageKind,
    /// Description of the stage, for example `16 starts x 8 views`.
    pub name: String,
    /// Cost of the best tour after this stage.
    pub cost: f64,
    /// Change against the stage before, as a fraction: -0.03 is 3 % shorter. `None` for the first
    /// stage, and for the first one of the network after a construction.
    pub gain: Option<f64>,
    /// Time of this stage alone.
    pub seconds: f64,
    /// The best solution after this stage.
    pub solution: Vec<usize>,
}

/// Called when a stage begins.
pub type Watch<'a> = &'a mut dyn FnMut(StageKind);

/// Finds a solution of `instance`: by the network where there is a `model`, by construction where
/// the problem has one, and by local search from the better of them.
///
/// Closed tours of 1, 2 and 3 places are one tour, `0, 1, 2`, which is returned without using the
/// network. The solution is checked by [`SolverInstance::check`] before it is returned; it is never worse
/// than what an earlier stage found.
///
/// # Errors
/// [`Error::Unsupported`] for an instance without places or with more than [`MOST_PLACES`], for
/// more samples, starts or beams than fit in memory, where a network is asked for whose encoder sees
/// distances and takes fewer places, and where there is neither a model nor a construction; errors of
/// the decoder; [`regard_data::Error::Infeasible`] when nothing that was found keeps the rules.
pub fn solve<S: SolverInstance>(
    model: Option<&AttentionModel>,
    instance: &S,
    options: &SolveOptions,
) -> Result<Solution> {
    solve_watched(model, instance, options, &mut |_| {})
}

/// As [`solve`], and `watch` is called at the begin of every stage.
///
/// # Errors
/// As there.
pub fn solve_watched<S: SolverInstance>(
    model: Option<&AttentionModel>,
    instance: &S,
    options: &SolveOptions,
    watch: Watch<'_>,
) -> Result<Solution> {
    let start = Instant::now();
    let n = instance.sites().len();
    check_size(instance.sites().name(), n)?;
    let fewest = match options.objective {
        Objective::Cost => None,
        Objective::Vehicles => Some(fewest_vehicles(instance, options, start)?),
    };
    let (instance, first) = match &fewest {
        Some((limited, solution)) => (limited, Some(solution)),
        None => (instance, options.warm_start.as_ref()),
    };
    let mut search = Search {
        instance,
        tour: (0..n).collect(),
        cost: f64::INFINITY,
        stages: Vec::new(),
        watch,
        best: options.best.clone(),
        is_stoppable: options.stop.is_some(),
        in_vain: vec![],
        refused: None,
    };
    if n <= TRIVIAL && S::Problem::EVERY_NODE_ONCE {
        (search.cost, search.tour) = shortest_of_few(n, |tour| instance.cost(tour));
    } else {
        if let Some(solution) = first {
            let started = match fewest {
                // What was found need not keep a limit of the file.
                Some(_) => {
                    search.start("fewest vehicles", solution, start).map_err(|broken| not_found(instance, broken))
                }
                None => search.start("warm start", solution, start),
            };
            started?;
        }
        let mut run = || search.run(model, options, start);
        match &options.stop {
            // What unwound has left its stages behind.
            Some(stop) => stop.run(run).unwrap_or(Ok(()))?,
            None => run()?,
        }
        if search.stages.is_empty() && options.stop.is_some() {
            // Stopped before there was anything: what is there almost at once.
            cancel::run_under(None, || search.construct(Instant::now().checked_add(AFTER_STOP)));
        }
        if search.stages.is_empty() {
            let what = S::Problem::NAME.to_owned();
            let reason = "there is neither a model nor a construction heuristic for this problem".to_owned();
            return Err(Error::Unsupported { what, reason }.with_hint("give a model folder with --model"));
        }
    }
    // A search that was cancelled ends early, with a solution that nobody waits for.
    regard_data::cancel::check();
    if let Err(broken) = instance.check(&search.tour) {
        // The tour is none that was found: what was refused says more.
        let refused = search.refused.and_then(|solution| instance.check(&solution).err());
        let broken = refused.unwrap_or(broken);
        return Err(not_found(instance, broken.into()));
    }
    let Search { tour, cost, stages, .. } = search;
    Ok(Solution { tour, cost, stages, seconds: start.elapsed().as_secs_f64() })
}

/// The error of a solution that breaks a rule, where no other was found.
fn not_found<S: SolverInstance>(instance: &S, broken: Error) -> Error {
    let vehicles = instance.facts().into_iter().find(|(name, _)| *name == "vehicles");
    let limit = vehicles.map_or_else(String::new, |(_, vehicles)| format!(", or more vehicles than {vehicles}"));
    let hint = format!("more time (`--time`){limit} may allow one; there may be none");
    broken.with_hint(hint)
}

/// Time for a first solution where the search was stopped before there was one.
const AFTER_STOP: Duration = Duration::from_millis(500);

/// Share of the time in which vehicles are saved.
const FOR_VEHICLES: f64 = 0.25;

/// The instance with as few vehicles as are found, and a solution for them.
fn fewest_vehicles<S: SolverInstance>(instance: &S, options: &SolveOptions, start: Instant) -> Result<(S, Vec<usize>)> {
    let deadline = match options.finish {
        Finish::Timed(time) => start.checked_add(time.mul_f64(FOR_VEHICLES)),
        Finish::Off | Finish::Bounded => None,
    };
    let search = LocalSearchOptions { seed: options.seed, deadline, ..LocalSearchOptions::default() };
    let find = || instance.with_fewest_vehicles(options.warm_start.as_deref(), &search);
    let found = match &options.stop {
        // Stopped in the middle: the construction is what there is.
        Some(stop) => stop.run(find).unwrap_or_else(|_| {
            let now = LocalSearchOptions { deadline: Instant::now().checked_add(AFTER_STOP), ..search.clone() };
            cancel::run_under(None, || instance.with_fewest_vehicles(options.warm_start.as_deref(), &now))
        }),
        None => find(),
    };
    found.ok_or_else(|| {
        let what = "the objective `vehicles`".to_owned();
        let reason = format!("the number of vehicles does not count in problem `{}`", S::Problem::NAME);
        Error::Unsupported { what, reason }.with_hint("leave out --objective; it counts where there are time windows")
    })
}

/// Refuses instances without places and those too large for the network; `name` is for the message.
pub(super) fn check_size(name: &str, n: usize) -> Result<()> {
    let reason = match n {
        0 => "has no nodes; a tour needs at least one".to_owned(),
        n if n > MOST_PLACES => format!("has {n} nodes; at most {MOST_PLACES} can be solved"),
        _ => return Ok(()),
    };
    Err(Error::Unsupported { what: name.to_owned(), reason })
}

/// [`solve`] for an instance of any problem, as a file gives it.
///
/// # Errors
/// As there; [`Error::Unsupported`] for a problem that this version does not solve.
pub fn solve_instance(model: Option<&AttentionModel>, instance: &Instance, options: &SolveOptions) -> Result<Solution> {
    solve_instance_watched(model, instance, options, &mut |_| {})
}

/// [`solve_watched`] for an instance of any problem.
///
/// # Errors
/// As [`solve_instance`].
pub fn solve_instance_watched(
    model: Option<&AttentionModel>,
    instance: &Instance,
    options: &SolveOptions,
    watch: Watch<'_>,
) -> Result<Solution> {
    struct Solve<'a> {
        model: Option<&'a AttentionModel>,
        instance: &'a Instance,
        options: &'a SolveOptions,
        watch: Watch<'a>,
    }
    impl ProblemVisitor for Solve<'_> {
        type Output = Option<Result<Solution>>;

        fn run<I: SolverInstance>(self) -> Self::Output {
            Some(solve_watched(self.model, self.instance.downcast_ref::<I>()?, self.options, self.watch))
        }
    }
    with_problem(instance.problem(), Solve { model, instance, options, watch }).flatten().unwrap_or_else(|| {
        let reason = "this version cannot solve it".to_owned();
        Err(Error::Unsupported { what: instance.problem().to_owned(), reason })
    })
}
