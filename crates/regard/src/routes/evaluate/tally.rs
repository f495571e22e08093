//! Costs as they come in, and what they amount to.

use std::time::Instant;

use regard_data::stats;

use super::{EvaluateOptions, Evaluation};
use crate::{Error, Result};

/// Cost of one instance by the network, and after local search when there is one.
pub(super) struct Outcome {
    pub(super) network: f64,
    pub(super) finished: f64,
    /// The solution that costs this.
    pub(super) solution: Vec<usize>,
    /// Log-probability of the network's solution.
    pub(super) log_likelihood: f32,
}

/// Costs by instance; the clock runs from the first to the last.
pub(super) struct Tally {
    start: Instant,
    costs: Vec<f64>,
    network: Vec<f64>,
    solutions: Vec<Vec<usize>>,
    log_likelihoods: Vec<f32>,
    done: usize,
}

impl Tally {
    pub(super) fn new(options: &EvaluateOptions, instances: usize) -> Result<Self> {
        if instances == 0 {
            let (what, reason) = ("evaluation".to_owned(), "there are no instances".to_owned());
            return Err(Error::Unsupported { what, reason });
        }
        let network = if options.improve { vec![0.0; instances] } else { Vec::new() };
        let (costs, solutions) = (vec![0.0; instances], vec![Vec::new(); instances]);
        let log_likelihoods = vec![0.0; instances];
        Ok(Self { start: Instant::now(), costs, network, solutions, log_likelihoods, done: 0 })
    }

    pub(super) fn add(&mut self, index: usize, outcome: Outcome) {
        self.costs[index] = outcome.finished;
        self.solutions[index] = outcome.solution;
        self.log_likelihoods[index] = outcome.log_likelihood;
        if let Some(network) = self.network.get_mut(index) {
            *network = outcome.network;
        }
        self.done += 1;
    }

    /// Number of instances that have come in.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Sums up; `best` are the best-known costs when every instance has one.
    pub(super) fn finish(self, options: &EvaluateOptions, best: Option<&[f64]>) -> Evaluation {
        let seconds = self.start.elapsed().as_secs_f64();
        let mean_cost = stats::mean(&self.costs);
        let gap = match (options.reference, best) {
            (Some(reference), _) => stats::gap(mean_cost, reference),
            (None, Some(best)) => mean_gap(&self.costs, best),
            (None, None) => None,
        };
        Evaluation {
            mean_cost,
            std_error: (self.costs.len() > 1).then(|| stats::standard_error(&self.costs)),
            instances: self.costs.len(),
            gap,
            mean_cost_network: options.improve.then(|| stats::mean(&self.network)),
            seconds,
            costs: self.costs,
            solutions: self.solutions,
            log_likelihoods: self.log_likelihoods,
        }
    }
}

/// Mean of the gaps; `None` when one cannot be told.
fn mean_gap(costs: &[f64], best: &[f64]) -> Option<f64> {
    let gaps: Option<Vec<f64>> = costs.iter().zip(best).map(|(&cost, &best)| stats::gap(cost, best)).collect();
    gaps.map(|gaps| stats::mean(&gaps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_keeps_order_and_error() {
        let options = EvaluateOptions { improve: true, ..EvaluateOptions::default() };
        let mut tally = Tally::new(&options, 2).unwrap();
        tally.add(1, Outcome { network: 5.0, finished: 4.0, solution: vec![1, 0], log_likelihood: -1.0 });
        tally.add(0, Outcome { network: 3.0, finished: 2.0, solution: vec![0], log_likelihood: -0.5 });
        assert_eq!(tally.done(), 2);
        let result = tally.finish(&options, Some(&[2.0, 2.0]));
        assert_eq!(result.costs, [2.0, 4.0]);
        assert_eq!(result.solutions, [vec![0], vec![1, 0]]);
        assert_eq!(result.log_likelihoods, [-0.5, -1.0]);
        assert_eq!((result.mean_cost, result.std_error), (3.0, Some(1.0)));
        assert_eq!((result.gap, result.mean_cost_network), (Some(0.5), Some(4.0)));
    }

    #[test]
    fn one_instance_has_no_standard_error() {
        let options = EvaluateOptions::default();
        let mut tally = Tally::new(&options, 1).unwrap();
        tally.add(0, Outcome { network: 5.0, finished: 4.0, solution: vec![0], log_likelihood: -1.0 });
        let result = tally.finish(&options, None);
        assert_eq!((result.mean_cost, result.std_error), (4.0, None));
    }

    #[test]
    fn nothing_to_evaluate_is_an_error() {
        assert!(Tally::new(&EvaluateOptions::default(), 0).is_err());
    }
}
