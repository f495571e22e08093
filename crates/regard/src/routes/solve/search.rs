//! The stages of solving, and the best solution so far.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use regard_data::cancel::{self, CancellationToken, Cancelled};
use regard_data::stats;
use regard_routing::local_search::BestCost;
use regard_routing::{LocalSearchOptions, SolverInstance};

use super::{Finish, Objective, SolveOptions, Stage, StageKind, Watch, check_work, describe, plan};
use crate::Result;
use crate::routes::decode::{DecodeOptions, Decoded};
use crate::routes::model::AttentionModel;

/// Share of the time that construction and local search may take before the network.
const BEFORE_NETWORK: f64 = 0.4;
/// Share of the time that is left which a stage of the network, or the local search from its solution, may take.
const OF_THE_REST: f64 = 0.3;

/// While the network decodes, the search looks so often whether it is stopped.
const LOOK: Duration = Duration::from_millis(20);

/// The time of a solution.
#[derive(Clone, Copy)]
struct Deadline {
    begun: Instant,
    time: Duration,
}

/// The end of a local search.
#[derive(Clone, Copy)]
struct Until {
    /// `None` for a time too long to have an end.
    moment: Option<Instant>,
    /// If true, nothing follows, and the search goes on until then.
    is_last: bool,
}

impl Deadline {
    /// The end of all time.
    fn all(self) -> Until {
        Until { moment: self.begun.checked_add(self.time), is_last: true }
    }

    /// The end of a share of the time.
    fn part(self, share: f64) -> Until {
        Until { moment: self.begun.checked_add(self.time.mul_f64(share)), is_last: false }
    }

    /// The end of a share of the time that is left.
    fn part_of_rest(self, share: f64) -> Until {
        let rest = Duration::try_from_secs_f64(share * self.left()).unwrap_or_default();
        Until { moment: Instant::now().checked_add(rest), is_last: false }
    }

    /// Seconds that are left.
    fn left(self) -> f64 {
        self.time.saturating_sub(self.begun.elapsed()).as_secs_f64()
    }
}

/// The best solution so far and what led to it.
pub(super) struct Search<'a, S> {
    pub(super) instance: &'a S,
    pub(super) tour: Vec<usize>,
    pub(super) cost: f64,
    pub(super) stages: Vec<Stage>,
    /// Is told when a stage begins.
    pub(super) watch: Watch<'a>,
    /// Receives the best cost.
    pub(super) best: BestCost,
    /// If true, a decoding is left alone as soon as the search is stopped.
    pub(super) is_stoppable: bool,
    /// Stages of the network that have no solution, with their seconds: they are told once there is one.
    pub(super) in_vain: Vec<(String, f64)>,
    /// The last solution that breaks a rule, while there is none that keeps all.
    pub(super) refused: Option<Vec<usize>>,
}

impl<S: SolverInstance> Search<'_, S> {
    /// Takes a solution that keeps the rules, known since `start` by the name of the stage that gave it.
    pub(super) fn start(&mut self, name: &str, solution: &[usize], start: Instant) -> Result<()> {
        let before = self.cost;
        self.instance.check(solution)?;
        self.cost = self.instance.cost(solution);
        self.tour = solution.to_vec();
        self.record(StageKind::Start, name.to_owned(), before, start);
        Ok(())
    }

    /// All stages, in the order that the end of the search asks for.
    pub(super) fn run(&mut self, model: Option<&AttentionModel>, options: &SolveOptions, begun: Instant) -> Result<()> {
        if let Finish::Timed(time) = options.finish {
            return self.timed(model, options, Deadline { begun, time });
        }
        if let Some(model) = model {
            self.network(model, options)?;
        }
        let n = self.instance.sites().len();
        if n > S::NETWORK_STARTS_UP_TO || self.stages.is_empty() {
            self.construct(None);
        }
        self.tell_in_vain();
        self.improve(options, None);
        Ok(())
    }

    /// Decodes by every stage of the plan.
    fn network(&mut self, model: &AttentionModel, options: &SolveOptions) -> Result<()> {
        for stage in self.network_stages(model, options)? {
            if cancel::is_cancelled() {
                break;
            }
            self.decode(model, &stage)?;
        }
        Ok(())
    }

    /// The stages of the network, none where it is not worth its time.
    fn network_stages(&self, model: &AttentionModel, options: &SolveOptions) -> Result<Vec<DecodeOptions>> {
        let n = self.instance.sites().len();
        if n > plan::NETWORK_UP_TO && options.decode.is_none() {
            return Ok(vec![]);
        }
        let hint =
            "without `--decode` it is solved without the network; a model without `model.distance_bias` takes it";
        model.check_pairs(self.instance.sites().name(), n).map_err(|error| error.with_hint(hint))?;
        let stages = plan::stages(n, options);
        stages.iter().try_for_each(|stage| check_work(n, stage.decode, stage.augment))?;
        Ok(stages)
    }

    /// Construction and local search first, then the network as far as the time allows or as it was asked for, and local
    /// search from the better of both until the deadline.
    fn timed(&mut self, model: Option<&AttentionModel>, options: &SolveOptions, deadline: Deadline) -> Result<()> {
        let n = self.instance.sites().len();
        let stages = match model {
            Some(model) => {
                plan::check_time(model, n, options, deadline.time)?;
                self.network_stages(model, options)?
            }
            None => vec![],
        };
        // The solution with the fewest vehicles comes from a construction already.
        if options.objective == Objective::Cost || self.stages.is_empty() {
            self.construct(deadline.all().moment);
        }
        let takes_part = |model: &&AttentionModel| {
            let fits = |stage: &DecodeOptions| plan::seconds(model, n, stage) <= OF_THE_REST * deadline.left();
            options.decode.is_some() || self.stages.is_empty() || stages.first().is_some_and(fits)
        };
        let Some(model) = model.filter(takes_part) else {
            self.improve(options, Some(deadline.all()));
            return Ok(());
        };
        if !self.stages.is_empty() {
            self.improve(options, Some(deadline.part(BEFORE_NETWORK)));
        }
        let (constructed, tour) = (self.cost, self.tour.clone());
        let has_start = !self.stages.is_empty();
        self.cost = f64::INFINITY;
        // Seconds a stage took for every second of its estimate: more than 1 on a busy machine.
        let mut slowness = 1.0_f64;
        for stage in stages {
            let optional = options.decode.is_none() && (has_start || self.cost.is_finite());
            let estimate = plan::seconds(model, n, &stage);
            if cancel::is_cancelled() && (has_start || self.cost.is_finite()) {
                break;
            }
            if optional && slowness * estimate > OF_THE_REST * deadline.left() {
                break;
            }
            let share = if optional { OF_THE_REST } else { 1.0 };
            if has_start || self.cost.is_finite() {
                let begun = Instant::now();
                if !self.decode_within(model, &stage, deadline.part_of_rest(share))? {
                    let name = format!("{}, not finished in time", describe(stage.decode, stage.augment));
                    self.in_vain.push((name, begun.elapsed().as_secs_f64()));
                    break;
                }
                slowness = slowness.max(begun.elapsed().as_secs_f64() / estimate);
            } else {
                self.decode(model, &stage)?;
            }
        }
        let by_network = self.cost.is_finite();
        if has_start && by_network && !S::LOCAL_SEARCH.is_empty() {
            self.improve(options, Some(deadline.part_of_rest(OF_THE_REST)));
        }
        if constructed < self.cost {
            (self.cost, self.tour) = (constructed, tour);
        }
        self.tell_in_vain();
        self.improve(options, Some(deadline.all()));
        Ok(())
    }

    /// Lists the stages of the network that have no solution, at the cost of what there is.
    fn tell_in_vain(&mut self) {
        if self.stages.is_empty() {
            return;
        }
        for (name, seconds) in std::mem::take(&mut self.in_vain) {
            let solution = self.tour.clone();
            self.stages.push(Stage { kind: StageKind::Network, name, cost: self.cost, gain: None, seconds, solution });
        }
    }

    /// Decodes once and keeps the solution when it is better; nothing is kept where the search is stopped meanwhile.
    fn decode(&mut self, model: &AttentionModel, options: &DecodeOptions) -> Result<()> {
        if self.is_stoppable {
            return self.decode_within(model, options, Until { moment: None, is_last: true }).map(|_| ());
        }
        (self.watch)(StageKind::Network);
        let start = Instant::now();
        let decoded = decoded(model, self.instance, options)?;
        self.take(decoded, options, start);
        Ok(())
    }

    /// As [`Search::decode`], but no longer than until a moment or until the search is stopped; false if that was too
    /// short. Decoding then goes on in its own thread, and what it finds is lost.
    fn decode_within(&mut self, model: &AttentionModel, options: &DecodeOptions, until: Until) -> Result<bool> {
        let start = Instant::now();
        (self.watch)(StageKind::Network);
        let (sender, receiver) = mpsc::channel();
        let (model, instance, copy) = (model.clone(), self.instance.clone(), options.clone());
        let token = CancellationToken::current();
        // Nobody listens any more when it took too long.
        let decoding = std::thread::spawn(move || {
            cancel::run_under(token, || drop(sender.send(decoded(&model, &instance, &copy))));
        });
        loop {
            let left = until.moment.map_or(LOOK, |moment| moment.saturating_duration_since(Instant::now()));
            match receiver.recv_timeout(left.min(LOOK)) {
                Ok(decoded) => {
                    self.take(decoded?, options, start);
                    return Ok(true);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return match decoding.join() {
                        Err(fault) if !fault.is::<Cancelled>() => std::panic::resume_unwind(fault),
                        _ => Ok(false),
                    };
                }
                Err(mpsc::RecvTimeoutError::Timeout) if left <= LOOK && until.moment.is_some() => return Ok(false),
                Err(mpsc::RecvTimeoutError::Timeout) if cancel::is_cancelled() => return Ok(false),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Takes the best of what a stage found.
    fn take(&mut self, decoded: Vec<Decoded>, options: &DecodeOptions, start: Instant) {
        let (before, name) = (self.cost, describe(options.decode, options.augment));
        let mut kept = false;
        for found in decoded {
            kept |= self.offer(found.tour);
        }
        if !kept {
            return self.in_vain.push((format!("{name}, breaks a rule"), start.elapsed().as_secs_f64()));
        }
        self.record(StageKind::Network, name, before, start);
    }

    /// Takes a solution when it keeps the rules and is better than what there is; false if it breaks one.
    fn offer(&mut self, solution: Vec<usize>) -> bool {
        let copy = self.cost.is_infinite().then(|| solution.clone());
        let Some(solution) = self.instance.repair(solution) else {
            self.refused = copy;
            return false;
        };
        let cost = self.instance.cost(&solution);
        // The first one is taken whatever it costs, so that one is there when costs overflow.
        if self.instance.check(&self.tour).is_err() || self.cost.is_infinite() || cost < self.cost {
            self.cost = cost;
            self.tour = solution;
        }
        true
    }

    /// A solution without the network.
    pub(super) fn construct(&mut self, deadline: Option<Instant>) {
        cancel::check();
        (self.watch)(StageKind::Construct);
        let (start, before) = (Instant::now(), self.cost);
        if let Some((name, solution)) = self.instance.construct(deadline) {
            self.offer(solution);
            self.record(StageKind::Construct, name.to_owned(), before, start);
        }
    }

    /// Local search from the best solution: a bounded amount of work, or until a moment.
    fn improve(&mut self, options: &SolveOptions, until: Option<Until>) {
        if S::LOCAL_SEARCH.is_empty() || options.finish == Finish::Off || self.stages.is_empty() {
            return;
        }
        let best = self.best.clone();
        let mut work = LocalSearchOptions { seed: options.seed, best, ..LocalSearchOptions::default() };
        if let Some(until) = until {
            work.deadline = until.moment;
            if until.is_last {
                work.perturbations_per_node = usize::MAX;
            }
        }
        (self.watch)(StageKind::Improve);
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
        let gain =
            (!self.stages.is_empty() && before.is_finite()).then(|| stats::gap(self.cost, before).unwrap_or(0.0));
        let seconds = start.elapsed().as_secs_f64();
        self.best.offer(self.cost);
        self.stages.push(Stage { kind, name, cost: self.cost, gain, seconds, solution: self.tour.clone() });
    }
}

fn decoded<S: SolverInstance>(model: &AttentionModel, instance: &S, options: &DecodeOptions) -> Result<Vec<Decoded>> {
    let cost = |_: usize, tour: &[usize]| instance.cost(tour);
    model.decode(&[instance.in_unit_square()], &cost, options)
}
