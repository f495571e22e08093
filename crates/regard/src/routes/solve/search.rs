//! The stages of solving, and the best solution so far.

use std::time::Instant;

use regard_data::stats;
use regard_routing::{LocalSearchOptions, SolverInstance};

use super::{Finish, SolveOptions, Stage, StageKind, check_work, describe, plan};
use crate::Result;
use crate::routes::decode::DecodeOptions;
use crate::routes::model::AttentionModel;

/// The best solution so far and what led to it.
pub(super) struct Search<'a, S> {
    pub(super) instance: &'a S,
    pub(super) tour: Vec<usize>,
    pub(super) cost: f64,
    pub(super) stages: Vec<Stage>,
}

impl<S: SolverInstance> Search<'_, S> {
    /// Decodes by every stage of the plan, as long as there is time.
    pub(super) fn network(&mut self, model: &AttentionModel, options: &SolveOptions, start: Instant) -> Result<()> {
        let n = self.instance.sites().len();
        if n > plan::NETWORK_UP_TO && options.decode.is_none() {
            return Ok(());
        }
        let stages = plan::stages(n, options);
        for stage in &stages {
            check_work(n, stage.decode, stage.augment)?;
        }
        for stage in stages {
            let over = matches!(options.finish, Finish::Timed(time) if start.elapsed() >= time);
            if over && !self.stages.is_empty() {
                break;
            }
            self.decode(model, &stage)?;
        }
        Ok(())
    }

    /// Decodes once and keeps the solution when it is better.
    fn decode(&mut self, model: &AttentionModel, options: &DecodeOptions) -> Result<()> {
        let start = Instant::now();
        let instance = self.instance;
        let cost = move |_: usize, tour: &[usize]| instance.cost(tour);
        let decoded = model.decode(&[instance.in_unit_square()], &cost, options)?;
        let before = self.cost;
        for found in decoded {
            self.offer(found.tour);
        }
        self.record(StageKind::Network, describe(options.decode, options.augment), before, start);
        Ok(())
    }

    /// Takes a solution when it keeps the rules and is better than what there is.
    fn offer(&mut self, solution: Vec<usize>) {
        let Some(solution) = self.instance.repair(solution) else { return };
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
            self.record(StageKind::Construct, name.to_owned(), before, start);
        }
    }

    /// Local search from the best solution, until `--time` has passed since `begun`.
    pub(super) fn finish(&mut self, options: &SolveOptions, begun: Instant) {
        let mut work = LocalSearchOptions { seed: options.seed, ..LocalSearchOptions::default() };
        match options.finish {
            Finish::Off => return,
            _ if S::LOCAL_SEARCH.is_empty() => return,
            Finish::Bounded => {}
            Finish::Timed(time) => {
                work.perturbations_per_node = usize::MAX;
                work.deadline = begun.checked_add(time);
            }
        }
        let start = Instant::now();
        let before = self.cost;
        let found = self.instance.local_search(self.tour.clone(), &work);
        let cost = self.instance.cost(&found);
        if cost < self.cost && self.instance.check(&found).is_ok() {
            self.cost = cost;
            self.tour = found;
        }
        self.record(StageKind::Improve, S::LOCAL_SEARCH.to_owned(), before, start);
    }

    fn record(&mut self, kind: StageKind, name: String, before: f64, start: Instant) {
        let gain = (!self.stages.is_empty()).then(|| stats::gap(self.cost, before).unwrap_or(0.0));
        let seconds = start.elapsed().as_secs_f64();
        self.stages.push(Stage { kind, name, cost: self.cost, gain, seconds });
    }
}
