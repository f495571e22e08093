//! The source of the sets of an experiment.

mod files;
mod generated;

use std::path::Path;

use regard_data::sets::Bags;
use regard_data::split::holdout;

use super::examples::Examples;
use super::experiment::{SetExperiment, SourceKind};
use super::model::SetTransformerConfig;
use crate::Result;
use crate::supervised::ShardLoss;
use crate::train::{Shard, Shuffled, Stream, derived};
pub use files::{Prepared, prepared, read_bags, read_encoded};
pub(crate) use files::{features as features_of, strata, targets as targets_of};
pub(crate) use generated::Generator;

/// A source of sets.
#[derive(Debug)]
pub enum Source {
    /// Drawn anew for every step.
    #[allow(private_interfaces)]
    Generated(Generator),
    /// Sets of a file: those to train on, and those held out.
    Kept {
        /// To train on.
        training: Examples,
        /// Held out.
        held_out: Examples,
        /// Notes of the reader on columns, a sentence each.
        notes: Vec<String>,
    },
}

impl Source {
    /// The source of an experiment, and the network's settings with what follows from the data.
    ///
    /// # Errors
    /// Those of reading a file; [`Error::Config`](crate::Error::Config) for data that the task does not fit.
    pub fn of(experiment: &SetExperiment) -> Result<(Self, SetTransformerConfig)> {
        if experiment.data.source == SourceKind::File {
            let bags = read_bags(Path::new(&experiment.data.path), &experiment.data, experiment.task.kind, true)?;
            return Self::of_bags(experiment, &bags);
        }
        let generator = Generator::of(experiment)?;
        let config = generator.fill(&experiment.model);
        Ok((Self::Generated(generator), config))
    }

    /// Sets to train on, and sets held out.
    pub(crate) fn kept(training: Examples, held_out: Examples) -> Self {
        Self::Kept { training, held_out, notes: vec![] }
    }

    /// Notes of the reader on columns of the file, a sentence each.
    pub(crate) fn notes(&self) -> &[String] {
        match self {
            Self::Generated(_) => &[],
            Self::Kept { notes, .. } => notes,
        }
    }

    /// The source of an experiment on sets that are known, a share of them held out, and the network's settings with what
    /// follows from the data.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for data that the task does not fit.
    pub fn of_bags(experiment: &SetExperiment, bags: &Bags) -> Result<(Self, SetTransformerConfig)> {
        let (count, share) = (bags.len(), experiment.data.validation_fraction);
        let (training, held_out) = if share > 0.0 {
            let split = holdout(&strata(bags, experiment.task.kind), share, experiment.train.seed)?;
            (split.training, split.held_out)
        } else {
            ((0..count).collect(), Vec::new())
        };
        let Prepared { examples, config } = prepared(experiment, bags, &training)?;
        let (training, held_out) = (examples.select(&training), examples.select(&held_out));
        Ok((Self::Kept { training, held_out, notes: bags.notes().to_vec() }, config))
    }

    /// The sets of a shard of a step, of `[step, sets of a batch]`, and its share of the batch; `None` if it has none. Files
    /// are shuffled, gone through and shuffled again.
    pub(crate) fn batch(
        &self,
        order: &mut Shuffled,
        seed: u64,
        [step, batch]: [u64; 2],
        shard: Shard,
    ) -> Option<(Examples, f64)> {
        match self {
            Self::Generated(generator) => {
                let all = generator.draw(derived(seed, Stream::Instances, 0), step, batch as usize);
                let (part, count) = (shard.range(all.len()), all.len());
                let share = part.len() as f64 / count.max(1) as f64;
                match part.len() {
                    0 => None,
                    length if length == count => Some((all, 1.0)),
                    _ => Some((all.part(part.start, part.end), share)),
                }
            }
            Self::Kept { training, .. } => {
                let chosen = order.batch_of_rounds(training.len(), seed, step, batch as usize);
                let (chosen, share) = ShardLoss::examples(shard, &chosen)?;
                Some((training.select(chosen), share))
            }
        }
    }

    /// If true, the sets of [`Self::validation`] are not those of the training.
    pub(crate) fn has_validation(&self) -> bool {
        match self {
            Self::Generated(_) => true,
            Self::Kept { held_out, .. } => !held_out.is_empty(),
        }
    }

    /// The sets on which a network is validated; the training sets of a file that holds none out.
    pub fn validation(&self, experiment: &SetExperiment) -> Examples {
        match self {
            Self::Generated(generator) => generator.test(experiment),
            Self::Kept { training, held_out, .. } if held_out.is_empty() => training.clone(),
            Self::Kept { held_out, .. } => held_out.clone(),
        }
    }
}
