//! The source of the sets of an experiment.

mod files;
mod generated;
mod on_disk;

use std::path::Path;

use regard_data::sets::Bags;
use regard_data::split::holdout_of;

use super::examples::Examples;
use super::experiment::{SetExperiment, SourceKind};
use super::model::SetTransformerConfig;
use crate::Result;
use crate::supervised::ShardLoss;
use crate::train::{Shard, Shuffled, Stream, derived};
pub use files::{Prepared, prepared, read_bags, read_encoded};
pub(crate) use files::{features as features_of, strata, targets as targets_of};
pub(crate) use generated::Generator;
use on_disk::SetsOnDisk;

/// A source of sets.
#[derive(Debug)]
pub enum Source {
    /// Drawn anew for every step.
    #[allow(private_interfaces)]
    Generated(Generator),
    /// Sets of a file: those to train on, and those held out.
    Kept {
        /// To train on.
        training: TrainingSets,
        /// Held out.
        held_out: Examples,
        /// Notes of the reader on columns, a sentence each.
        notes: Vec<String>,
    },
}

/// Sets of a file to train on.
#[derive(Debug)]
pub enum TrainingSets {
    /// In memory.
    InMemory(Examples),
    /// On disk.
    #[allow(private_interfaces)]
    OnDisk(Box<SetsOnDisk>),
}

impl TrainingSets {
    /// Number of sets.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InMemory(examples) => examples.len(),
            Self::OnDisk(sets) => sets.len(),
        }
    }

    /// Those in memory: all, or as many of those on disk as there is room for.
    pub(crate) fn in_memory(&self) -> &Examples {
        match self {
            Self::InMemory(examples) => examples,
            Self::OnDisk(sets) => sets.in_memory(),
        }
    }

    /// Some of the sets, in this order.
    fn select(&self, config: &SetTransformerConfig, chosen: &[usize]) -> Result<Examples> {
        match self {
            Self::InMemory(examples) => Ok(examples.select(chosen)),
            Self::OnDisk(sets) => sets.select(config, chosen),
        }
    }
}

impl Source {
    /// The source of an experiment, and the network's settings with what follows from the data.
    ///
    /// # Errors
    /// Those of reading a file; [`Error::Config`](crate::Error::Config) for data that the task does not fit.
    pub fn of(experiment: &SetExperiment) -> Result<(Self, SetTransformerConfig)> {
        if experiment.data.source == SourceKind::File {
            let path = Path::new(&experiment.data.path);
            if experiment.data.on_disk.keeps(path, experiment.data.division()) {
                return SetsOnDisk::source(experiment, path);
            }
            let bags = read_bags(path, &experiment.data, experiment.task.kind, true)?;
            return Self::of_bags(experiment, &bags);
        }
        let generator = Generator::of(experiment)?;
        let config = generator.fill(&experiment.model);
        Ok((Self::Generated(generator), config))
    }

    /// Sets to train on, and sets held out.
    pub(crate) fn kept(training: Examples, held_out: Examples) -> Self {
        Self::Kept { training: TrainingSets::InMemory(training), held_out, notes: vec![] }
    }

    /// Notes of the reader on columns of the file, a sentence each.
    pub fn notes(&self) -> &[String] {
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
        let [training, held_out] = split(experiment, &strata(bags, experiment.task.kind))?;
        let Prepared { examples, config } = prepared(experiment, bags, &training)?;
        let (training, held_out) = (TrainingSets::InMemory(examples.select(&training)), examples.select(&held_out));
        Ok((Self::Kept { training, held_out, notes: bags.notes().to_vec() }, config))
    }

    /// The sets of a shard of a step, of `[step, sets of a batch]`, and its share of the batch; `None` if it has none. Files
    /// are shuffled, gone through and shuffled again.
    ///
    /// # Errors
    /// Those of reading sets from the disk.
    pub(crate) fn batch(
        &self,
        config: &SetTransformerConfig,
        order: &mut Shuffled,
        seed: u64,
        [step, batch]: [u64; 2],
        shard: Shard,
    ) -> Result<Option<(Examples, f64)>> {
        Ok(match self {
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
                match ShardLoss::examples(shard, &chosen) {
                    Some((chosen, share)) => Some((training.select(config, chosen)?, share)),
                    None => None,
                }
            }
        })
    }

    /// If true, the sets of [`Self::validation`] are not those of the training.
    pub(crate) fn has_validation(&self) -> bool {
        match self {
            Self::Generated(_) => true,
            Self::Kept { held_out, .. } => !held_out.is_empty(),
        }
    }

    /// The sets on which a network is validated; the training sets in memory of a file that holds none out.
    pub fn validation(&self, experiment: &SetExperiment) -> Examples {
        match self {
            Self::Generated(generator) => generator.validation(experiment),
            Self::Kept { training, held_out, .. } if held_out.is_empty() => training.in_memory().clone(),
            Self::Kept { held_out, .. } => held_out.clone(),
        }
    }

    /// The sets on which a trained network is evaluated: generated ones that no training sees, or those that are held out
    /// of a file.
    pub(crate) fn test(&self, experiment: &SetExperiment) -> Examples {
        match self {
            Self::Generated(generator) => generator.test(experiment),
            Self::Kept { .. } => self.validation(experiment),
        }
    }
}

/// Sets to train on and held out, each class in the same share of both.
fn split(experiment: &SetExperiment, strata: &[usize]) -> Result<[Vec<usize>; 2]> {
    let all: Vec<usize> = (0..strata.len()).collect();
    let split = holdout_of(&all, strata, experiment.data.validation_fraction, experiment.train.seed)?;
    Ok([split.training, split.held_out])
}
