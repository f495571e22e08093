//! From an instance to a tour: the network proposes, local search finishes, a checker has the last
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
//! | more        | greedy only    | 1            |
//!
//! More than [`MOST_PLACES`] places are refused: attention and construction both take time in `n²`.

mod plan;

use std::time::{Duration, Instant};

use regard_data::routes::tsp::Tsp;
use regard_data::stats;

pub(super) use self::plan::check_work;
pub use self::plan::describe;
use super::decode::{Decode, DecodeOptions};
use super::improve::{self, ImproveOptions};
use super::model::AttentionModel;
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
    /// Seed of sampling and of the local search.
    pub seed: u64,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { decode: None, augment: None, finish: Finish::Bounded, temperature: 1.0, seed: 1234 }
    }
}

/// How long the local search goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// No local search.
    Off,
    /// A bounded amount of work: the same seed gives the same tour.
    Bounded,
    /// Until the time is over.
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
    /// Local search.
    Improve,
}

impl Author {
    /// The word for reports.
    pub fn name(self) -> &'static str {
        match self {
            Author::Network => "network",
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

/// Finds a tour through `instance`.
///
/// Instances of 1, 2 and 3 places have one tour, `0, 1, 2`, which is returned without asking the
/// network. The tour is checked by [`Tsp::check`] before it is returned; it is never longer than
/// what an earlier stage found.
///
/// # Errors
/// [`Error::Unsupported`] for an instance without places or with more than [`MOST_PLACES`], and for
/// more samples, starts or beams than fit in memory; errors of the decoder.
pub fn solve(model: &AttentionModel, instance: &Tsp, options: &SolveOptions) -> Result<Solution> {
    let start = Instant::now();
    let n = instance.len();
    check_size(instance.name(), n)?;
    let mut search = Search { instance, tour: (0..n).collect(), cost: f64::INFINITY, stages: Vec::new() };
    if n <= TRIVIAL {
        search.cost = instance.cost(&search.tour);
    } else {
        let stages = plan::stages(n, options);
        for stage in &stages {
            check_work(n, stage.decode, stage.augment)?;
        }
        for decode in stages {
            search.ask(model, &decode)?;
        }
        search.finish(options);
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

/// The best tour so far and what led to it.
struct Search<'a> {
    instance: &'a Tsp,
    tour: Vec<usize>,
    cost: f64,
    stages: Vec<Stage>,
}

impl Search<'_> {
    /// Asks the network and keeps its tour when it is shorter.
    fn ask(&mut self, model: &AttentionModel, options: &DecodeOptions) -> Result<()> {
        let start = Instant::now();
        let instance = self.instance;
        let cost = move |_: usize, tour: &[usize]| instance.cost(tour);
        let decoded = model.decode(&[instance.unit_square()], &cost, options)?;
        let before = self.cost;
        for found in decoded {
            // The first tour is taken whatever it costs, so that one is there when costs overflow.
            if self.stages.is_empty() || found.cost < self.cost {
                self.cost = found.cost;
                self.tour = found.tour;
            }
        }
        self.record(Author::Network, describe(options.decode, options.augment), before, start);
        Ok(())
    }

    /// Local search from the best tour.
    fn finish(&mut self, options: &SolveOptions) {
        let mut work = ImproveOptions { seed: options.seed, ..ImproveOptions::default() };
        match options.finish {
            Finish::Off => return,
            Finish::Bounded => {}
            Finish::Timed(time) => {
                work.kicks_per_node = usize::MAX;
                work.deadline = Instant::now().checked_add(time);
            }
        }
        let start = Instant::now();
        let before = self.cost;
        let mut tour = self.tour.clone();
        improve::improve(self.instance, &mut tour, &work);
        let cost = self.instance.cost(&tour);
        if cost < self.cost {
            self.cost = cost;
            self.tour = tour;
        }
        self.record(Author::Improve, "2-opt + Or-opt".to_owned(), before, start);
    }

    fn record(&mut self, author: Author, name: String, before: f64, start: Instant) {
        let gain = (!self.stages.is_empty()).then(|| stats::gap(self.cost, before).unwrap_or(0.0));
        let seconds = start.elapsed().as_secs_f64();
        self.stages.push(Stage { author, name, cost: self.cost, gain, seconds });
    }
}
