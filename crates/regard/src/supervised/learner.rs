//! The learner of all supervised families: a network, its optimiser, and the step that trains it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use burn::module::Module;
use burn::tensor::Device;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::base::{self, BaseRecord, Beside, BesideNetwork, BlendOptions};
use super::intervals::ValidationErrors;
use super::{BatchPosition, Context, Done, Family, Network, ShardLoss, SupervisedExperiment};
use crate::experiment::Sections;
use crate::store::{Companion, Manifest, NetworkConfig, NetworkDir, Weights};
use crate::train::{
    Checkpoint, EarlyStopping, Learning, Measure, Measures, Observer, Pace, Plateau, Position, Ranks, Schedule, Select,
    Settings, Shard, ShardSums, Shuffled, Stream, Trained, Trainee, Training, ValidationMetrics, collect, derived,
    digest, fresh, isolated, restore, train_from,
};
use crate::{Error, Result};

/// Trains until all epochs are done, validation no longer improves, or a limit is reached. The folder then holds the
/// model and a checkpoint to resume from.
///
/// # Errors
/// [`Error::Unsupported`] when the folder holds a run and `resume` is not set, or none and it is;
/// [`Error::Config`] when that run had other settings, or for settings and data that do not fit together;
/// [`Error::Diverged`]; [`Error::Io`]; those of reading the data.
pub fn train<F: Family>(
    training: &Training<SupervisedExperiment<F>>,
    device: &Device,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    Sections::validate(&training.experiment)?;
    train_from(training, device, observer, training.experiment.data_files(), |experiment, device, end| {
        Learner::<F>::new(experiment, device)?.beside_base(end)
    })
}

/// As [`train`], on examples that are in memory, with the network's settings that follow from them.
///
/// # Errors
/// As there, but for those of reading the data.
pub fn train_on<F: Family>(
    training: &Training<SupervisedExperiment<F>>,
    data: F::TrainingData,
    config: F::Config,
    device: &Device,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    Sections::validate(&training.experiment)?;
    train_from(training, device, observer, None, |experiment, device, end| {
        Learner::with_data(experiment, data, config, device)?.beside_base(end)
    })
}

/// The longest time base learners take for one task before a training.
const BASE_TIME: Duration = Duration::from_secs(300);
/// The share of a time limit, as far as it is left, that base learners may take: a third.
const BASE_SHARE: u32 = 3;

/// The name of the best network in checkpoints.
const BEST: &str = "best";

/// A network in training.
pub struct Learner<F: Family> {
    experiment: SupervisedExperiment<F>,
    config: F::Config,
    device: Device,
    data: F::TrainingData,
    trainee: Trainee<F::Network>,
    /// The weights with the lowest validation loss, where those are kept.
    best: Option<Weights>,
    /// If true, the network that is kept is the one that was validated last.
    keeps_validated: bool,
    counters: Counters<F::Calibration>,
    /// The examples of the epoch in their order.
    order: Shuffled,
    /// The state of [`Family::with_frozen_body`], once it was set.
    frozen: Option<bool>,
    /// Base learners beside the network, where the run has them.
    base: Option<F::Base>,
    /// The time that base learners took of a time limit.
    base_took: Option<Duration>,
    /// The schedule, where a time limit shortened it.
    pace: Option<Pace>,
    /// Parts that `train.init_from` leaves at random.
    fresh: Vec<String>,
}

/// The numbers of a learner that are not weights.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counters<C> {
    step: u64,
    plateau: Plateau,
    stopping: EarlyStopping,
    /// The calibration of the network that is kept.
    calibration: C,
}

/// A fresh network with the weights of the model in `folder`, and what stays at random: a head of another shape, and the rows
/// of kinds and columns that the model does not know.
///
/// # Errors
/// Those of opening the folder; [`Error::Config`] for a network of other settings or sizes.
fn initialised_from<F: Family>(
    fresh: F::Network,
    config: &F::Config,
    folder: &str,
) -> Result<(F::Network, Vec<String>)> {
    let fault = |reason: String| Error::config("train.init_from", format!("`{folder}` {reason}"));
    let found = NetworkDir::<F::Config>::open(Path::new(folder))?;
    if let Some(key) = differing(config, found.config(), F::NOT_INHERITED) {
        let hint = format!("`regard model show {folder}` lists its settings");
        return Err(fault(format!("has another `{key}` in its `config.json`")).with_hint(hint));
    }
    let device = Device::flex();
    let theirs = collect(&F::Network::from_weights(found.config(), &found.weights()?, &device)?);
    let (mut ours, mut unknown) = (collect(&fresh), vec![]);
    for (name, own) in &mut ours {
        let other = theirs.get(name);
        let rows = F::row_names(config, name).zip(F::row_names(found.config(), name));
        match (other, rows) {
            (Some(other), Some((names, known))) if own.shape[1..] == other.shape[1..] => {
                let width = own.shape[1..].iter().product();
                for (row, row_name) in own.data.chunks_mut(width).zip(&names) {
                    match known.iter().position(|known| known == row_name) {
                        Some(at) => row.copy_from_slice(&other.data[at * width..][..width]),
                        None => unknown.push(format!("`{row_name}`")),
                    }
                }
            }
            (Some(other), _) if other.shape == own.shape => *own = other.clone(),
            _ if F::is_of_head(name) => unknown.push("the head".into()),
            _ => return Err(fault(format!("does not have the sizes of `[model]`, at `{name}`"))),
        }
    }
    let mut seen = BTreeSet::new();
    unknown.retain(|name| seen.insert(name.clone()));
    Ok((restore(fresh, &ours)?, unknown))
}

/// The first setting in which two networks differ, but for those of `free` and of the sections there.
fn differing<C: Serialize>(one: &C, other: &C, free: &[&str]) -> Option<String> {
    let settings = |config: &C| match serde_json::to_value(config) {
        Ok(Value::Object(settings)) => settings,
        _ => Map::new(),
    };
    let (ours, theirs) = (settings(one), settings(other));
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    keys.into_iter().filter(|key| !free.contains(&key.as_str())).find_map(|key| {
        match (ours.get(key), theirs.get(key)) {
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
                let named = |inner: &String| format!("{key}.{inner}");
                let differs =
                    |inner: &&String| ours.get(*inner) != theirs.get(*inner) && !free.contains(&named(inner).as_str());
                keys.into_iter().find(differs).map(named)
            }
            (ours, theirs) => (ours != theirs).then(|| key.clone()),
        }
    })
}

impl<F: Family> Learner<F> {
    /// A learner at its first step, on `device` with gradients.
    ///
    /// # Errors
    /// Those of reading the data; [`Error::Config`] for settings that do not fit together.
    pub fn new(experiment: &SupervisedExperiment<F>, device: &Device) -> Result<Self> {
        let (data, config) = F::load(experiment)?;
        Self::with_data(experiment, data, config, device)
    }

    /// A learner on data that is loaded.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that do not fit together or to the data.
    pub fn with_data(
        experiment: &SupervisedExperiment<F>,
        data: F::TrainingData,
        config: F::Config,
        device: &Device,
    ) -> Result<Self> {
        config.validate()?;
        let train = &experiment.train;
        let device = device.clone().autodiff();
        let context = Context { experiment, config: &config, data: &data, device: &device };
        F::check(&context)?;
        let seed = derived(train.seed, Stream::Weights, 0);
        let network = fresh(seed, &device, |device| F::Network::new(&config, device))?;
        let network = F::initial(network, &context)?;
        let (network, fresh) = match train.init_from.as_str() {
            "" => (network, vec![]),
            folder => initialised_from::<F>(network, &config, folder)?,
        };
        let learner = Self {
            trainee: Trainee::new(network, train.optimizer_options(), train.ema_decay),
            experiment: experiment.clone(),
            config,
            device,
            data,
            best: None,
            keeps_validated: true,
            counters: Counters::default(),
            order: Shuffled::default(),
            frozen: None,
            base: None,
            base_took: None,
            pace: None,
            fresh,
        };
        match learner.epoch_length() {
            0 => {
                let samples = F::samples(&learner.data).unwrap_or(0);
                let reason = format!(
                    "is {}, but there are only {samples} training examples, less than one batch",
                    train.batch_size
                );
                Err(Error::config("train.batch_size", reason))
            }
            _ => Ok(learner),
        }
    }

    /// The network's settings, with everything that was learnt of the data.
    pub fn config(&self) -> F::Config {
        F::calibrated(&self.config, &self.counters.calibration)
    }

    /// The experiment, the data and the device, for measuring a network.
    pub(crate) fn evaluation<'a>(&'a self, device: &'a Device) -> Context<'a, F> {
        Context { experiment: &self.experiment, config: &self.config, data: &self.data, device }
    }

    /// The device without gradients.
    pub(crate) fn plain_device(&self) -> Device {
        self.device.clone().inner()
    }

    /// The learner with base learners beside its network, where the task has them; they belong to the rank that writes.
    /// `end` is when a time limit ends the training.
    fn beside_base(mut self, end: Option<Instant>) -> Result<Self> {
        if !Ranks::current().is_first() {
            return Ok(self);
        }
        let (plain, seed) = (self.plain_device(), self.experiment.train.seed);
        let begun = Instant::now();
        let deadline = end.map(|end| begun + end.saturating_duration_since(begun) / BASE_SHARE);
        let options = BlendOptions { only_base: false, members: 1, seed, base_time: BASE_TIME, deadline };
        self.base = Ranks::alone(|| F::base(&self.evaluation(&plain), &options))?;
        self.base_took = (deadline.is_some() && self.base.is_some()).then(|| begun.elapsed());
        Ok(self)
    }

    /// Steps done.
    pub fn steps(&self) -> u64 {
        self.counters.step
    }

    /// Steps of an epoch.
    fn epoch_length(&self) -> u64 {
        let train = &self.experiment.train;
        let Some(samples) = F::samples(&self.data) else { return train.steps_per_epoch as u64 };
        let all = if train.drop_last { samples / train.batch_size } else { samples.div_ceil(train.batch_size) };
        (if train.steps_per_epoch > 0 { all.min(train.steps_per_epoch) } else { all }) as u64
    }

    /// Number of epochs.
    fn epochs(&self) -> u64 {
        let least = F::least_steps(&self.experiment, &self.data);
        self.experiment.train.epochs_of(self.epoch_length(), least)
    }

    /// Steps of a training that nothing ends early.
    pub(crate) fn all_steps(&self) -> u64 {
        self.epoch_length().saturating_mul(self.epochs())
    }

    /// The network that is kept, in evaluation.
    ///
    /// # Errors
    /// None that a learner of this crate can cause.
    pub fn evaluated(&self) -> Result<F::Network> {
        match &self.best {
            Some(weights) => restore(self.trainee.model.valid(), weights),
            None => self.trainee.evaluated(),
        }
    }

    /// As [`Self::learn_while`] without a condition; the observer of a cross-validation gets every step.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn learn_observed(&mut self, observer: Done<'_>) -> Result<()> {
        let all = self.epoch_length().saturating_mul(self.epochs());
        self.learn_while(|step| {
            observer.step(step, all);
            true
        })
    }

    /// Trains until all epochs are done or validation no longer improves, as long as `go_on` is true of the steps done.
    ///
    /// # Errors
    /// Those of [`Self::learn`].
    pub fn learn_while(&mut self, mut go_on: impl FnMut(u64) -> bool) -> Result<()> {
        let train = &self.experiment.train;
        // Without validation examples the last network is the one to keep.
        let validates = F::has_validation(&self.data) || train.schedule == Schedule::Plateau;
        // Where no epoch is chosen by its validation, that of the last one is enough.
        let chooses =
            train.select == Select::Best || train.schedule == Schedule::Plateau || train.early_stopping_patience > 0;
        let (steps, epochs) = (self.epoch_length(), self.epochs());
        while self.counters.step < steps.saturating_mul(epochs) && !Learning::done(self) && go_on(self.counters.step) {
            self.learn()?;
            let due = if chooses { steps } else { steps.saturating_mul(epochs) };
            if validates && self.counters.step.is_multiple_of(due) {
                self.finish_epoch()?;
            }
        }
        Ok(())
    }

    /// One step of the optimiser on the next batch: loss, norm of the gradient and learning rate.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a loss or a gradient that is not finite, and those of reading examples from the disk; the
    /// learner is then as it was before the step.
    pub fn learn(&mut self) -> Result<Measures> {
        let (step, steps_per_epoch, epochs) = (self.counters.step, self.epoch_length(), self.epochs());
        let place = self.pace.map_or(step, |pace| pace.place(step));
        self.freeze(place / steps_per_epoch);
        let train = &self.experiment.train;
        let shards = Ranks::current().shards_of(train.shards);
        let shards = Ranks::current().shards(shards)?;
        let seed = derived(train.seed, Stream::Sampling, step);
        let context =
            Context { experiment: &self.experiment, config: &self.config, data: &self.data, device: &self.device };
        let order = &mut self.order;
        let mut loss = |network: &F::Network, shard: Shard| {
            let batch = BatchPosition { step, steps_per_epoch, order: &mut *order, shard };
            F::loss(network, &context, batch, &mut Pcg64Mcg::seed_from_u64(shard.seed(seed)))
        };
        let position = Position { step: place, steps_per_epoch, epochs };
        let rate = train.learning_rates(F::ROUNDING).at(position, self.counters.plateau.factor);
        self.trainee.set_beta(rate.beta);
        let (value, norm) = match shards.is_one() {
            true => {
                let Some(found) = loss(&self.trainee.model, Shard::WHOLE)? else {
                    return Err(Error::config("data", "has no training examples"));
                };
                self.trainee.learn(step, rate.rate, found.value)?
            }
            false => {
                let network = &self.trainee.model;
                let (mut sums, mut losses) = (ShardSums::new(), vec![]);
                for shard in shards.mine() {
                    let (found, running) = isolated(network, |network| loss(network, shard));
                    let Some(ShardLoss { value, share }) = found? else {
                        sums.add_empty(network);
                        losses.push(vec![0.0]);
                        continue;
                    };
                    let value = value.mul_scalar(share);
                    losses.push(vec![f64::from(value.clone().into_scalar::<f32>())]);
                    sums.add(network, &value.backward(), &running, share);
                }
                let value = shards.sum(losses)[0];
                (value, self.trainee.learn_sums(step, rate.rate, value, sums, &shards)?)
            }
        };
        self.counters.step += 1;
        Ok(Measures(vec![
            Measure::Mean("loss", value),
            Measure::Mean("grad_norm", norm),
            Measure::Last("learning_rate", rate.rate),
        ]))
    }

    /// Freezes or frees the parts that are not trained in every epoch.
    fn freeze(&mut self, epoch: u64) {
        let frozen = F::trains_head_only(&self.experiment, epoch);
        if let Some(frozen) = frozen.filter(|_| self.frozen != frozen) {
            self.trainee.model = F::with_frozen_body(self.trainee.model.clone(), frozen);
            self.frozen = Some(frozen);
        }
    }
}

impl<F: Family> Learning for Learner<F> {
    type Experiment = SupervisedExperiment<F>;
    type State = Counters<F::Calibration>;

    fn restored(mut self, mut checkpoint: Checkpoint, counters: Self::State) -> Result<Self> {
        self.trainee = self.trainee.restored(&mut checkpoint)?;
        if counters.stopping.has_best() && self.experiment.train.select == Select::Best {
            self.best = Some(checkpoint.weights(BEST)?.clone());
        }
        self.counters = counters;
        self.frozen = None;
        Ok(self)
    }

    fn parameters(&self) -> usize {
        self.config.trainable()
    }

    fn steps(&self) -> u64 {
        self.counters.step
    }

    fn steps_per_epoch(&self) -> Option<u64> {
        Some(self.epoch_length())
    }

    /// The last batch of an epoch may be smaller than the others.
    fn examples(&self, steps: u64) -> Option<u64> {
        let (epoch, batch) = (self.epoch_length(), self.experiment.train.batch_size as u64);
        let of_epoch = (epoch * batch).min(F::samples(&self.data)? as u64);
        Some(steps / epoch * of_epoch + steps % epoch * batch)
    }

    fn epochs(&self) -> Option<u64> {
        Some(self.epochs())
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = F::warnings(&self.evaluation(&self.plain_device()));
        if !self.fresh.is_empty() {
            let (folder, fresh) = (&self.experiment.train.init_from, self.fresh.join(", "));
            warnings.push(format!("`{folder}` has no weights for these, which begin at random: {fresh}"));
        }
        warnings
    }

    /// The base learners' metrics, before the network's first step.
    fn notes(&self) -> Vec<String> {
        let took = self.base_took.map(|took| {
            format!("base learners took {:.1} s of --time; at most a third of it is theirs", took.as_secs_f64())
        });
        self.base.as_ref().and_then(BesideNetwork::note).into_iter().chain(took).collect()
    }

    /// The base learners beside the model that is saved, with their weights.
    fn closing_notes(&self, folder: &Path) -> Result<Vec<String>> {
        let record: Option<<F::Base as BesideNetwork<F>>::Record> = match self.base {
            Some(_) => BaseRecord::open(folder)?,
            None => None,
        };
        Ok(record.map(|record| record.notes()).unwrap_or_default())
    }

    fn holds_out(&self) -> bool {
        F::holds_out(&self.data)
    }

    fn data_digest(&self) -> Result<String> {
        Ok(digest(&self.data))
    }

    fn schedule(&self) -> Option<String> {
        let train = &self.experiment.train;
        let head_first = |epoch| F::trains_head_only(&self.experiment, epoch);
        let name = match train.schedule {
            Schedule::Constant | Schedule::Plateau if head_first(0) != head_first(u64::MAX) => {
                "of the head alone first"
            }
            Schedule::Constant | Schedule::Plateau if train.warmup_epochs > 0.0 => "warm-up",
            Schedule::Constant | Schedule::Plateau => return None,
            Schedule::Step => "step",
            Schedule::Cosine => "cosine",
            Schedule::Halving => "halving",
            Schedule::Tenths => "tenths",
            Schedule::OneCycle => "one-cycle",
        };
        Some(name.to_owned())
    }

    fn set_pace(&mut self, pace: Pace) {
        self.pace = Some(pace);
    }

    fn done(&self) -> bool {
        let (train, counters) = (&self.experiment.train, &self.counters);
        let slow = train.learning_rate * counters.plateau.factor < train.min_learning_rate;
        train.schedule == Schedule::Plateau && slow || counters.stopping.ended(train.early_stopping_patience)
    }

    fn step(&mut self) -> Result<Measures> {
        self.learn()
    }

    /// Validates the network, and keeps it where it is the best so far.
    fn finish_epoch(&mut self) -> Result<ValidationMetrics> {
        let mut current = self.trainee.evaluated()?;
        let device = self.plain_device();
        let adjusted = F::adjusted(&current, &self.evaluation(&device))?;
        let measure = adjusted.map(|(network, measure)| {
            current = network;
            measure
        });
        let (mut found, residuals) = F::validation(&current, &self.evaluation(&device))?;
        found.measures.0.extend(measure);
        let train = &self.experiment.train;
        let better = self.counters.stopping.observe(found.cost);
        let selects_best = train.select == Select::Best;
        if better && selects_best {
            self.best = Some(collect(&current));
        }
        self.keeps_validated = better || !selects_best;
        if self.keeps_validated {
            self.counters.calibration = F::calibrate(residuals);
        }
        self.counters.plateau.observe(found.cost, train.plateau_factor, train.plateau_patience);
        Ok(found)
    }

    fn validate(&self) -> Result<ValidationMetrics> {
        let device = self.plain_device();
        Ok(F::validation(&self.evaluated()?, &self.evaluation(&device))?.0)
    }

    fn saves_validated(&self) -> bool {
        self.keeps_validated
    }

    /// Losses of small data sets rise when a network overfits them.
    fn may_diverge(&self) -> bool {
        false
    }

    fn checkpoint(&self) -> Result<Checkpoint> {
        let mut checkpoint = self.trainee.checkpoint(self.counters.step)?;
        checkpoint.weights.extend(self.best.clone().map(|best| (BEST.to_owned(), best)));
        Ok(checkpoint)
    }

    fn state(&self) -> Self::State {
        self.counters.clone()
    }

    fn save_model(&self, folder: &Path, mut manifest: Manifest) -> Result<()> {
        let config = self.config();
        let network = self.evaluated()?;
        let device = self.plain_device();
        let context = self.evaluation(&device);
        let (record, errors) = if let Some(base) = &self.base {
            let Beside { record, metrics, errors } = base.beside(&network, &context)?;
            let [of_network, of_base] = record.weights();
            for (part, metrics) in ["network", "base", "blend"].into_iter().zip(metrics) {
                manifest.metrics.extend(metrics.into_iter().map(|(name, value)| (format!("{part}_{name}"), value)));
            }
            manifest.metrics.insert("network_weight".into(), of_network);
            manifest.metrics.insert("base_weight".into(), of_base);
            (Some(record), errors)
        } else {
            (None, F::validation_errors(&network, &context))
        };
        let errors = ValidationErrors::new(errors);
        let companions = |weights: &str| {
            let content = record.as_ref().map(|record| Companion::json(record, weights)).transpose()?;
            Ok(vec![Companion { name: base::FILE, content }, errors.companion(weights)?])
        };
        NetworkDir::save_with(folder, &config, &network.to_weights(&config), &manifest, &companions)?;
        Ok(())
    }
}
