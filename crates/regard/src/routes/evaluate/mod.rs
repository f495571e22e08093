//! Mean cost of a model over many instances, with its standard error, its gap and its speed.

mod instances;
mod tally;

use rayon::prelude::*;
use regard_routing::registry::with_problem;
use regard_routing::{Instance, Problem, ProblemVisitor, SolverInstance};

use self::instances::{Files, InstanceSet, UnitSquare};
use self::tally::{Outcome, Tally};
use super::decode::{Decode, DecodeOptions, Decoded};
use super::model::AttentionModel;
use super::solve::{TRIVIAL, check_size, check_work, shortest_of_few};
use crate::{Error, Result};

/// Places times views that go through the network together, at most. It bounds memory: one
/// activation of `[places, width 128]` takes 32 MiB at this size.
const MOST_PLACES_AT_ONCE: usize = 1 << 16;

/// Options of an evaluation.
#[derive(Debug, Clone)]
pub struct EvaluateOptions {
    /// Decoding strategy.
    pub decode: Decode,
    /// Views of each instance, 1 or 8.
    pub augment: usize,
    /// If true, each solution is improved by local search.
    pub improve: bool,
    /// Instances that go through the network together, at most; large instances get fewer.
    pub batch: usize,
    /// Mean cost to compare with; without it the best-known costs of the instances are used, if all
    /// have one.
    pub reference: Option<f64>,
    /// Softmax temperature of sampling.
    pub temperature: f32,
    /// Share of the probability that sampling keeps to, the most probable nodes first; 1 for all.
    pub top_p: f32,
    /// Seed of sampling and of the local search.
    pub seed: u64,
}

impl Default for EvaluateOptions {
    fn default() -> Self {
        Self {
            decode: Decode::Greedy,
            augment: 1,
            improve: false,
            batch: 512,
            reference: None,
            temperature: 1.0,
            top_p: 1.0,
            seed: 1234,
        }
    }
}

impl EvaluateOptions {
    /// Instances of `n` places that go through the network together; each batch samples with a seed of its own, which is
    /// [`Self::seed`] plus the number of instances before it.
    pub fn batch_of(&self, n: usize) -> usize {
        let places = n.max(1).saturating_mul(self.augment.max(1));
        self.batch.min(MOST_PLACES_AT_ONCE / places).max(1)
    }

    /// Decoding of the batch that follows `done` instances; each batch draws samples of its own.
    fn decoding(&self, done: usize) -> DecodeOptions {
        let seed = self.seed.wrapping_add(done as u64);
        let Self { decode, augment, temperature, top_p, .. } = *self;
        DecodeOptions { decode, augment, temperature, top_p, seed }
    }
}

/// The result of an evaluation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Evaluation {
    /// Mean cost of the tours.
    pub mean_cost: f64,
    /// Standard error of the mean: sample standard deviation over the root of the count. One instance has none.
    pub std_error: Option<f64>,
    /// Number of instances.
    pub instances: usize,
    /// Mean gap as a fraction: against the reference, or the mean over the instances against their
    /// best-known costs.
    pub gap: Option<f64>,
    /// Mean cost before local search, when there was one.
    pub mean_cost_network: Option<f64>,
    /// Wall time of decoding and local search.
    pub seconds: f64,
    /// Cost of each instance, in the order given.
    pub costs: Vec<f64>,
    /// Solution of each instance, in the order given.
    pub solutions: Vec<Vec<usize>>,
    /// Log-probability of the network's solution of each instance, in the order given.
    pub log_likelihoods: Vec<f32>,
}

impl Evaluation {
    /// Instances per second.
    pub fn instances_per_second(&self) -> f64 {
        self.instances as f64 / self.seconds.max(1e-9)
    }
}

/// Evaluates `model` on instances of its problem in the unit square.
///
/// `progress` is called with the number of instances done.
///
/// # Errors
/// [`crate::Error::Unsupported`] without instances, or for one without places or with too many;
/// errors of the decoder.
pub fn evaluate_problems<P: Problem>(
    model: &AttentionModel,
    problems: &[P],
    options: &EvaluateOptions,
    progress: &mut dyn FnMut(usize),
) -> Result<Evaluation> {
    Ok(evaluate(model, &UnitSquare(problems), options, progress)?.finish(options, None))
}

/// Evaluates `model` on instances of any sizes. Places are shifted and scaled into the unit square
/// for the network; costs are in each instance's own metric.
///
/// `progress` is called with the number of instances done.
///
/// # Errors
/// As [`evaluate_problems`].
pub fn evaluate_instances<S: SolverInstance>(
    model: &AttentionModel,
    instances: &[S],
    options: &EvaluateOptions,
    progress: &mut dyn FnMut(usize),
) -> Result<Evaluation> {
    let tally = evaluate(model, &Files(instances), options, progress)?;
    let sign = if S::Problem::MAXIMISES { -1.0 } else { 1.0 };
    let best: Option<Vec<f64>> =
        instances.iter().map(|instance| instance.sites().best_known().map(|best| sign * best)).collect();
    Ok(tally.finish(options, best.as_deref()))
}

/// [`evaluate_instances`] for instances of any one problem, as files give them. Costs are negative prizes where a prize is
/// maximised.
///
/// # Errors
/// As [`evaluate_problems`]; [`Error::Unsupported`] for instances of different problems.
pub fn evaluate_files(
    model: &AttentionModel,
    instances: &[Instance],
    options: &EvaluateOptions,
    progress: &mut dyn FnMut(usize),
) -> Result<Evaluation> {
    struct Evaluate<'a> {
        model: &'a AttentionModel,
        instances: &'a [Instance],
        options: &'a EvaluateOptions,
        progress: &'a mut dyn FnMut(usize),
    }
    impl ProblemVisitor for Evaluate<'_> {
        type Output = Option<Result<Evaluation>>;

        fn run<I: SolverInstance>(self) -> Self::Output {
            let all: Option<Vec<I>> = self.instances.iter().map(|one| one.downcast_ref::<I>().cloned()).collect();
            Some(evaluate_instances(self.model, &all?, self.options, self.progress))
        }
    }
    let unsupported = |reason: &str| {
        let reason = reason.to_owned();
        Err(Error::Unsupported { what: "the instances".to_owned(), reason })
    };
    let Some(problem) = instances.first().map(Instance::problem) else { return unsupported("there are none") };
    match with_problem(problem, Evaluate { model, instances, options, progress }) {
        Some(Some(evaluation)) => evaluation,
        _ => unsupported("they are of different problems"),
    }
}

/// Instances of one size go through the network together, small sizes first.
fn evaluate<S: InstanceSet>(
    model: &AttentionModel,
    set: &S,
    options: &EvaluateOptions,
    progress: &mut dyn FnMut(usize),
) -> Result<Tally> {
    let mut tally = Tally::new(options, set.len())?;
    let mut order: Vec<usize> = (0..set.len()).collect();
    order.sort_by_key(|&i| set.places(i));
    for group in order.chunk_by(|&a, &b| set.places(a) == set.places(b)) {
        let n = set.places(group[0]);
        check_size(&set.name(group[0]), n)?;
        check_work(n, options.decode, options.augment)?;
        for batch in group.chunks(options.batch_of(n)) {
            let decoding = options.decoding(tally.done());
            let outcomes = run(model, set, batch, n, &decoding, options)?;
            for (&i, outcome) in batch.iter().zip(outcomes) {
                tally.add(i, outcome);
            }
            progress(tally.done());
        }
    }
    Ok(tally)
}

/// Tours for one batch of instances of `n` places, and their costs.
fn run<S: InstanceSet>(
    model: &AttentionModel,
    set: &S,
    batch: &[usize],
    n: usize,
    decoding: &DecodeOptions,
    options: &EvaluateOptions,
) -> Result<Vec<Outcome>> {
    let cost = |item: usize, tour: &[usize]| set.cost(batch[item], tour);
    let tours: Vec<Decoded> = if n <= TRIVIAL && S::Problem::EVERY_NODE_ONCE {
        let shortest = |item| {
            let (cost, tour) = shortest_of_few(n, |tour| cost(item, tour));
            Decoded { cost, tour, log_likelihood: 0.0 }
        };
        (0..batch.len()).map(shortest).collect()
    } else {
        let problems: Vec<S::Problem> = batch.iter().map(|&i| set.problem(i)).collect();
        let decoded = model.decode(&problems, &cost, decoding)?;
        let counted = |(item, found): (usize, Decoded)| {
            let named = |error: Error| Error::Unsupported { what: set.name(batch[item]), reason: error.to_string() };
            let tour = set.feasible(batch[item], found.tour).map_err(named)?;
            Ok(Decoded { cost: cost(item, &tour), tour, log_likelihood: found.log_likelihood })
        };
        decoded.into_par_iter().enumerate().map(counted).collect::<Result<_>>()?
    };
    if !options.improve {
        let outcome = |Decoded { tour: solution, cost: network, log_likelihood }| Outcome {
            network,
            finished: network,
            solution,
            log_likelihood,
        };
        return Ok(tours.into_iter().map(outcome).collect());
    }
    let finish = |(item, found): (usize, Decoded)| {
        let Decoded { tour, cost: network, log_likelihood } = found;
        let (better, finished) = set.improve(batch[item], tour.clone(), options)?;
        Ok(match finished <= network {
            true => Outcome { network, finished, solution: better, log_likelihood },
            false => Outcome { network, finished: network, solution: tour, log_likelihood },
        })
    };
    tours.into_par_iter().enumerate().map(finish).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded() {
        let mut options = EvaluateOptions::default();
        assert_eq!(options.batch_of(100), 512);
        assert_eq!(options.batch_of(1000), 65);
        assert_eq!(options.batch_of(1_000_000), 1);
        options.augment = 8;
        assert_eq!(options.batch_of(100), 81);
    }
}
