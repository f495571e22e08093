//! The stages of solving, and the best solution so far.

use std::time::Instant;

use regard_data::stats;

use super::{Author, Finish, SolveOptions, Stage, check_work, describe, plan};
use crate::Result;
use crate::routes::decode::DecodeOptions;
use crate::routes::improve::ImproveOptions;
use crate::routes::model::AttentionModel;
use crate::routes::solvable::Solvable;

/// The best solution so far and what led to it.
pub(super) struct Search<'a, S> {
    pub(super) instance: &'a S,
    pub(super) tour: Vec<usize>,
    pub(super) cost: f64,
    pub(super) stages: Vec<Stage>,
}

impl<S: Solvable> Search<'_, S> {
    /// Asks the network by every stage of the plan, as long as there is time.
    pub(super) fn network(&mut self, model: &AttentionModel, options: &SolveOptions, start: Instant) -> Result<()> {
        let n = self.instance.sites().len();
        if n > plan::NETWORK_UP_TO && options.decode.is_none() {
            return Ok(());
        }
        let stages = plan::stages(n, options);
        for stage in &stages {
            check_work(n, stage.decode, stage.augment)?;
        }
        for decode in stages {
            let over = matches!(options.finish, Finish::Timed(time) if start.elapsed() >= time);
            if over && !self.stages.is_empty() {
                break;
            }
            self.ask(model, &decode)?;
        }
        Ok(())
    }

    /// Asks the network and keeps its solution when it is better.
    fn ask(&mut self, model: &AttentionModel, options: &DecodeOptions) -> Result<()> {
        let start = Instant::now();
        let instance = self.instance;
        let cost = move |_: usize, tour: &[usize]| instance.cost(tour);
        let decoded = model.decode_problems(&[instance.problem()], &cost, options)?;
        let before = self.cost;
        for found in decoded {
            self.offer(found.tour);
        }
        self.record(Author::Network, describe(options.decode, options.augment), before, start);
        Ok(())
    }

    /// Takes a solution when it keeps the rules and is better than what there is.
    fn offer(&mut self, solution: Vec<usize>) {
        let Some(solution) = self.instance.mended(solution) else { return };
        let cost = self.instance.cost(&solution);
        // The first one is taken whatever it costs, so that one is there when costs overflow.
        if self.instance.check(&self.tour).is_err() || self.cost.is_infinite() || cost < self.cost {
            self.cost = cost;
            self.tour = solution;
        }
    }

    /// A solution without the network.
    pub(super) fn construct(&mut self) {
        let (start, before) = (Instant::now(), self.cost);
        if let Some((name, solution)) = self.instance.construct() {
            self.offer(solution);
            self.record(Author::Construct, name.to_owned(), before, start);
        }
    }

    /// Local search from the best solution, until `--time` has passed since `begun`.
    pub(super) fn finish(&mut self, options: &SolveOptions, begun: Instant) {
        let mut work = ImproveOptions { seed: options.seed, ..ImproveOptions::default() };
        match options.finish {
            Finish::Off => return,
            _ if S::SEARCH.is_empty() => return,
            Finish::Bounded => {}
            Finish::Timed(time) => {
                work.kicks_per_node = usize::MAX;
                work.deadline = begun.checked_add(time);
            }
        }
        let start = Instant::now();
        let before = self.cost;
        let found = self.instance.improve(self.tour.clone(), &work);
        let cost = self.instance.cost(&found);
        if cost < self.cost && self.instance.check(&found).is_ok() {
            self.cost = cost;
            self.tour = found;
        }
        self.record(Author::Improve, S::SEARCH.to_owned(), before, start);
    }

    fn record(&mut self, author: Author, name: String, before: f64, start: Instant) {
        let gain = (!self.stages.is_empty()).then(|| stats::gap(self.cost, before).unwrap_or(0.0));
        let seconds = start.elapsed().as_secs_f64();
        self.stages.push(Stage { author, name, cost: self.cost, gain, seconds });
    }
}
