//! From an instance to a solution: the network proposes, local search finishes, a checker has the last
//! word.
//!
//! Each stage that ran is kept with its cost and its time, so that its gain can be told.
//!
//! # Default plan
//! The network is asked greedily, then from several starting places in several views. Work of the
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

mod plan;
mod search;

use std::time::{Duration, Instant};

use regard_data::routes::instance::Instance;

pub(super) use self::plan::check_work;
pub use self::plan::describe;
use self::search::Search;
use super::decode::Decode;
use super::model::AttentionModel;
use super::problem::Problem;
use super::solvable::{Solvable, Split, Stochastic};
use crate::{Error, Result};

/// Largest instance [`solve`] accepts.
pub const MOST_PLACES: usize = 20_000;

/// Instances up to this size have one tour only, and the network is not asked.
const TRIVIAL: usize = 3;

/// What [`solve`] shall do.
#[derive(Debug, Clone)]
pub struct SolveOptions {
    /// How tours are read off the network; `None` is the default plan of this module.
    pub decode: Option<Decode>,
    /// Views of the instance, 1 or 8; `None` leaves it to the plan (1 when `decode` is given).
    pub augment: Option<usize>,
    /// Local search after the network.
    pub finish: Finish,
    /// Softmax temperature of sampling.
    pub temperature: f32,
    /// Share of the probability that sampling keeps to, the most probable nodes first; 1 for all.
    pub top_p: f32,
    /// Seed of sampling and of the local search.
    pub seed: u64,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { decode: None, augment: None, finish: Finish::Bounded, temperature: 1.0, top_p: 1.0, seed: 1234 }
    }
}

/// How long the local search goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// No local search.
    Off,
    /// A bounded amount of work: the same seed gives the same tour.
    Bounded,
    /// Until so much time has passed since the first stage began.
    Timed(Duration),
}

/// A tour and how it came about.
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

/// Who shortened the tour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The neural policy.
    Network,
    /// A heuristic that knows nothing of the network.
    Construct,
    /// Local search.
    Improve,
}

impl Author {
    /// The word for reports.
    pub fn name(self) -> &'static str {
        match self {
            Author::Network => "network",
            Author::Construct => "construct",
            Author::Improve => "improve",
        }
    }
}

/// One stage of [`solve`].
#[derive(Debug, Clone)]
pub struct Stage {
    /// Who worked.
    pub author: Author,
    /// What was done, for example `16 starts x 8 views`.
    pub name: String,
    /// Cost of the best tour after this stage.
    pub cost: f64,
    /// Change against the stage before, as a fraction: -0.03 is 3 % shorter. `None` for the first
    /// stage.
    pub gain: Option<f64>,
    /// Time of this stage alone.
    pub seconds: f64,
}

/// Finds a solution of `instance`: by the network where there is a `model`, by construction where
/// the problem has one, and by local search from the better of them.
///
/// Closed tours of 1, 2 and 3 places are one tour, `0, 1, 2`, which is returned without asking the
/// network. The solution is checked by [`Solvable::check`] before it is returned; it is never worse
/// than what an earlier stage found.
///
/// # Errors
/// [`Error::Unsupported`] for an instance without places or with more than [`MOST_PLACES`], for
/// more samples, starts or beams than fit in memory, and where there is neither a model nor a
/// construction; errors of the decoder; [`regard_data::Error::Infeasible`] when nothing that was
/// found keeps the rules.
pub fn solve<S: Solvable>(model: Option<&AttentionModel>, instance: &S, options: &SolveOptions) -> Result<Solution> {
    let start = Instant::now();
    let n = instance.sites().len();
    check_size(instance.sites().name(), n)?;
    let mut search = Search { instance, tour: (0..n).collect(), cost: f64::INFINITY, stages: Vec::new() };
    if n <= TRIVIAL && S::Problem::EVERY_NODE_ONCE {
        search.cost = instance.cost(&search.tour);
    } else {
        if let Some(model) = model {
            search.network(model, options, start)?;
        }
        search.construct();
        if search.stages.is_empty() {
            let what = S::Problem::NAME.to_owned();
            let reason = "there is no model for this problem, and nothing to begin with without one".to_owned();
            return Err(Error::Unsupported { what, reason }.with_hint("name a model folder with --model"));
        }
        search.finish(options, start);
    }
    instance.check(&search.tour)?;
    let Search { tour, cost, stages, .. } = search;
    Ok(Solution { tour, cost, stages, seconds: start.elapsed().as_secs_f64() })
}

/// Refuses instances without places and those too large for the network; `name` is for the message.
pub(super) fn check_size(name: &str, n: usize) -> Result<()> {
    let reason = match n {
        0 => "has no places; a tour needs at least one".to_owned(),
        n if n > MOST_PLACES => format!("has {n} places; at most {MOST_PLACES} can be solved"),
        _ => return Ok(()),
    };
    Err(Error::Unsupported { what: name.to_owned(), reason })
}

/// [`solve`] for an instance of any problem, as a file gives it.
///
/// # Errors
/// As there; [`Error::Unsupported`] for a problem that this version does not solve.
pub fn solve_instance(model: Option<&AttentionModel>, instance: &Instance, options: &SolveOptions) -> Result<Solution> {
    match instance {
        Instance::Tsp(tsp) => solve(model, tsp, options),
        Instance::Cvrp(cvrp) if cvrp.split() => solve(model, &Split(cvrp), options),
        Instance::Cvrp(cvrp) => solve(model, cvrp, options),
        Instance::Orienteering(op) => solve(model, op, options),
        Instance::PrizeCollecting(pctsp) if pctsp.real_prizes().is_some() => solve(model, &Stochastic(pctsp), options),
        Instance::PrizeCollecting(pctsp) => solve(model, pctsp, options),
        other => {
            let reason = "this version does not solve it".to_owned();
            Err(Error::Unsupported { what: other.problem().to_owned(), reason })
        }
    }
}
