//! Forecasts of a file without a model: base forecasters and small networks that are trained on the file itself,
//! weighed by a rolling-origin back-test.

mod plan;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use burn::tensor::Device;
pub use regard_base::series::{BackTest, Budget, MemberReport, Progress, Stage};
use regard_base::series::{ForecastOptions, Forecasts as BaseForecasts, Member, Members, OriginKind, Plan as Origins};
use regard_data::series::formats::Read;
use regard_data::series::formats::forecasts::{Forecast, Forecasts, Interval};
use regard_data::series::{Series, Window};

use self::plan::Plan;
use super::SeriesLearner;
use super::base;
use super::predict::SeriesModel;
use super::source::Source;
use crate::supervised::base::Only;
use crate::{Error, Result};

/// Options of [`forecast`].
#[derive(Clone, Debug)]
pub struct LocalForecastOptions {
    /// Values after the last of each series.
    pub horizon: usize,
    /// Intervals, in percent.
    pub levels: Vec<f64>,
    /// Season lengths; empty for those of the clock, or where the clock has none, those found in the values.
    pub seasons: Vec<usize>,
    /// The network or the base forecasters alone.
    pub only: Option<Only>,
    /// A model that was trained on generated series ([`SeriesModel::knows_none`]), which takes part unless `only` leaves it
    /// out.
    pub pretrained: Option<Arc<SeriesModel>>,
    /// If true, a single value of the last rows that lies far from all others counts for forecasts.
    pub keep_outliers: bool,
    /// Time for everything. Simple forecasts come first; what does not end in time is left out.
    pub budget: Budget,
    /// Seed of everything random.
    pub seed: u64,
}

/// Forecasts, and the errors of their back-test.
#[derive(Clone, Debug)]
pub struct LocalForecast {
    /// The forecasts.
    pub forecasts: Forecasts,
    /// Errors on the last rows of the file, by which nothing was chosen; `None` for series too short.
    pub back_test: Option<BackTest>,
    /// Forecasters with their weights and errors, the heaviest first.
    pub members: Vec<MemberReport>,
    /// Rule by which the weights were found.
    pub rule: String,
    /// Season lengths, the shortest first.
    pub seasons: Vec<usize>,
    /// Values that the network looks back; 0 without one.
    pub look_back: usize,
    /// If true, the time limit ended a training early.
    pub cut_short: bool,
    /// Filled gaps, forecasters that were left out and why.
    pub warnings: Vec<String>,
}

/// The name of the network among the forecasters.
pub const NETWORK: &str = "network";
/// The name of a network that was trained on generated series.
pub const PRETRAINED: &str = "pretrained network";

/// The parts of the budget at whose ends the base forecasters, a network on generated series, and the first network are done.
const BASE: f64 = 0.5;
const UNSEEN: f64 = 0.6;
const FIRST_NETWORK: f64 = 0.75;
/// The part of the time for a network in which it learns; it forecasts in the rest.
const LEARNING: f64 = 0.95;

/// Forecasts the series of a file.
///
/// # Errors
/// [`Error::Config`] for an impossible horizon, season or level, a file without values, and `only` the network where
/// the series are too short to train one; covariates that are not known for the whole horizon, which a network sees.
pub fn forecast(
    read: &Read,
    options: &LocalForecastOptions,
    device: &Device,
    progress: Progress<'_>,
) -> Result<LocalForecast> {
    let values = base::values(&read.panel);
    let budget = if options.only == Some(Only::Base) { options.budget.clone() } else { options.budget.share(BASE) };
    let settings = ForecastOptions {
        horizon: options.horizon,
        seasons: base::seasons(&read.panel, &options.seasons),
        levels: options.levels.clone(),
        names: base::names(&read.panel),
        budget,
        keep_outliers: options.keep_outliers,
    };
    let origins = Origins::new(&values, &settings)?;
    if options.only != Some(Only::Base) {
        (0..read.panel.len()).try_for_each(|at| Window::last(&read.panel, at, 0, options.horizon).map(drop))?;
    }
    let seen = Read { panel: base::without_rows(&read.panel, |at| origins.outlier(at))?, report: read.report.clone() };
    let mut members = match options.only {
        // The simple forecasts stand in where a network has none.
        Some(Only::Network) => origins.simple_members().only_fallbacks(),
        _ => origins.base_members_with(progress),
    };
    let mut warnings = Vec::new();
    let base_is_late = settings.budget.is_over();
    if let (None, Some(model)) = (options.only, &options.pretrained) {
        match unseen(model, &origins, &options.budget.share(UNSEEN), progress)? {
            Some(member) => members.add(&origins, member)?,
            None => warnings.push(format!("left out: {PRETRAINED}: the time is too short (`--time` gives more)")),
        }
    }
    let mut without_weight = None;
    let (mut look_back, mut cut_short) = (0, false);
    if options.only != Some(Only::Base) {
        let job = Job {
            read: seen,
            origins: origins.clone(),
            others: members.clone(),
            options: options.clone(),
            device: device.clone(),
            base_is_late,
        };
        match job.run(progress) {
            Ok(network) => {
                (look_back, cut_short) = (network.plan.look_back, network.cut_short);
                match network.without_weight {
                    Some(report) => without_weight = Some(report),
                    None => {
                        warnings.extend(left_out(&origins, &network.plan, options.only));
                        members.add(&origins, network.member)?;
                    }
                }
            }
            Err(error) if options.only == Some(Only::Network) => return Err(error),
            Err(error) => warnings.push(format!("left out: {NETWORK}: {error}")),
        }
    }
    let weights = match options.only {
        Some(Only::Network) => origins.weights_of(&members, NETWORK)?,
        _ => origins.weights(&members),
    };
    let found = origins.blend(&members, &weights);
    let BaseForecasts { series, seasons, rule, mut members, back_test, warnings: of_base, short_of_time } = found;
    members.extend(without_weight);
    warnings.splice(0..0, of_base.into_iter().chain(short_of_time));
    let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<f32>>();
    let own = read.panel.series().iter().zip(series).map(|(one, found)| Forecast {
        name: one.name().to_owned(),
        start: one.start() + one.len(),
        values: single(found.values),
        intervals: found
            .intervals
            .into_iter()
            .map(|ends| Interval { level: ends.level, low: single(ends.low), high: single(ends.high) })
            .collect(),
    });
    let forecasts = Forecasts::new(read.panel.clock(), own.collect())?;
    Ok(LocalForecast { forecasts, back_test, members, rule, seasons, look_back, cut_short, warnings })
}

/// A sentence on the series that are too short for the network.
fn left_out(origins: &Origins, plan: &Plan, only: Option<Only>) -> Option<String> {
    let is_short = |series: usize| plan.series.binary_search(&series).is_err();
    let short: Vec<usize> = (0..origins.len()).filter(|series| is_short(*series)).collect();
    let stand_in = match only {
        Some(Only::Network) => "the seasonal naive forecast stands",
        _ => "the other forecasters stand",
    };
    let needed = plan.needed;
    origins
        .named_series(&short, ["has", "have"])
        .map(|series| format!("{series} fewer than the {needed} rows that the {NETWORK} needs: {stand_in} in for it"))
}

/// Histories that a network on generated series sees at a time, between two looks at the time.
const UNSEEN_AT_ONCE: usize = 128;

/// The forecasts of a network that was trained on generated series; `None` where the time is too short.
///
/// # Errors
/// [`Error::Config`] for another model.
fn unseen(model: &SeriesModel, origins: &Origins, budget: &Budget, progress: Progress<'_>) -> Result<Option<Member>> {
    if !model.knows_none() {
        let reason = "is a model of the series of a file, not of generated ones";
        return Err(Error::config("--pretrained", reason).with_hint("`regard train series/pretrained` trains one"));
    }
    if origins.untested() > 0 {
        return Ok(None);
    }
    let mut forecasts = vec![vec![vec![]; origins.origins().len()]; origins.len()];
    // Passes of a history through the network.
    let of: usize = origins.origins().iter().map(|origin| origins.len() * model.passes(origin.steps)).sum();
    let (begun, mut done, of_origins) = (budget.elapsed(), 0, origins.origins());
    for (at, origin) in of_origins.iter().enumerate() {
        let passes = model.passes(origin.steps);
        let histories = (0..origins.len()).filter_map(|series| Some((series, origins.history(series, at)?)));
        let (there, histories): (Vec<usize>, Vec<Vec<f64>>) = histories.unzip();
        for (there, histories) in there.chunks(UNSEEN_AT_ONCE).zip(histories.chunks(UNSEEN_AT_ONCE)) {
            // What cannot end in time takes no time from others.
            let rest = (budget.elapsed() - begun).mul_f64((of - done) as f64 / done.max(1) as f64);
            if budget.is_over() || budget.left().is_some_and(|left| rest > left) {
                return Ok(None);
            }
            progress(Stage { name: PRETRAINED, done, of });
            let Some(found) = model.forecast_unseen_until(histories, origin.steps, &|| budget.is_over()) else {
                return Ok(None);
            };
            there.iter().zip(found).for_each(|(&series, found)| forecasts[series][at] = found);
            done += there.len() * passes;
        }
        // Series that are too short for an origin have no history there.
        done = of_origins[..=at].iter().map(|origin| origins.len() * model.passes(origin.steps)).sum();
    }
    Ok(Some(Member { name: PRETRAINED.into(), forecasts }))
}

/// A network with its forecasts at the origins of a back-test.
struct Network {
    plan: Plan,
    member: Member,
    /// Its report where it has no weight beside the other members.
    without_weight: Option<MemberReport>,
    /// If true, a training ended early.
    cut_short: bool,
}

/// A network with less weight is not worth a second training.
const LEAST_WEIGHT: f64 = 0.02;
/// The switch of the budget is looked at so often while a network is trained.
const LOOK: Duration = Duration::from_millis(50);

/// The training of a network in a thread of its own: steps of a training and forecasts of many series cannot be cut
/// short. A thread that is late is left alone, and ends soon after the budget.
struct Job {
    read: Read,
    origins: Origins,
    others: Members,
    options: LocalForecastOptions,
    device: Device,
    /// If true, the time of the base forecasters was over before they were done.
    base_is_late: bool,
}

/// A message of the thread: steps that are done of how many, or the end.
enum Message {
    Step(usize, usize),
    Done(Result<Network>),
}

impl Job {
    /// Trains and forecasts as long as there is time.
    fn run(self, progress: Progress<'_>) -> Result<Network> {
        let late = || Error::config("--time", "is used up by the other forecasters");
        let alone = self.options.only == Some(Only::Network);
        let budget = self.budget();
        if !alone && (self.base_is_late || budget.is_over()) {
            return Err(late());
        }
        if !alone && self.origins.untested() > 0 {
            let reason = "is too short for a back-test of all series, by which a network gets its weight";
            return Err(Error::config("--time", reason));
        }
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let found = self.network(&sender);
            // Nobody listens to a thread that is late.
            let _ = sender.send(Message::Done(found));
        });
        loop {
            let wait = budget.left().filter(|_| !alone).map_or(LOOK, |left| left.min(LOOK));
            match receiver.recv_timeout(wait) {
                Ok(Message::Step(done, of)) => progress(Stage { name: NETWORK, done, of }),
                Ok(Message::Done(found)) => return found,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::state(NETWORK, "ended without a forecast")),
                Err(RecvTimeoutError::Timeout) if !alone && budget.is_over() => return Err(late()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The time for the network: weights and reports follow it.
    fn budget(&self) -> Budget {
        self.options.budget.without(self.origins.finish())
    }

    /// Trains a network on the rows before the first origin, which forecasts at all origins but the end; where it has
    /// weight beside the other members, another on all rows, which forecasts at the end.
    fn network(&self, sender: &Sender<Message>) -> Result<Network> {
        let Self { read, origins, options, .. } = self;
        let first = origins.origins().first().filter(|origin| origin.kind != OriginKind::End);
        let Some(first) = first else {
            return Err(Error::config("--horizon", "leaves no rows for a back-test of a network"));
        };
        let plan = Plan::of(&read.panel, options, origins.seasons(), first.offset)?;
        // Forecasts after the training and the weights of the network take time as well.
        let budget = self.budget().share(LEARNING).without(origins.finish());
        let seen = Read { panel: read.panel.select_places(&plan.series)?, report: read.report.clone() };
        let (model, early) = self.trained(&plan, &seen, first.offset, &budget.share(FIRST_NETWORK), sender)?;
        // Series that are too short have none.
        let mut forecasts = vec![vec![vec![]; origins.origins().len()]; read.panel.len()];
        for (at, origin) in origins.origins().iter().enumerate().filter(|(_, one)| one.kind != OriginKind::End) {
            for (&series, mut steps) in plan.series.iter().zip(after(&model, &seen, &plan, origin.offset)?) {
                steps.truncate(origin.steps);
                forecasts[series][at] = steps;
            }
        }
        let mut member = Member { name: NETWORK.into(), forecasts };
        let without_weight = match options.only {
            Some(Only::Network) => None,
            _ => self.without_weight(&member)?,
        };
        if without_weight.is_some() {
            return Ok(Network { plan, member, without_weight, cut_short: early });
        }
        let (model, second_early) = self.trained(&plan, &seen, 0, &budget, sender)?;
        let end = origins.origins().len() - 1;
        for (&series, found) in plan.series.iter().zip(after(&model, &seen, &plan, 0)?) {
            member.forecasts[series][end] = found;
        }
        Ok(Network { plan, member, without_weight: None, cut_short: early || second_early })
    }

    /// The report of the network where it has no weight beside the other members.
    fn without_weight(&self, member: &Member) -> Result<Option<MemberReport>> {
        let mut all = self.others.clone();
        all.add(&self.origins, member.clone())?;
        let weights = self.origins.weights(&all);
        let report = self.origins.blend(&all, &weights).members.into_iter().find(|member| member.name == NETWORK);
        Ok(report.filter(|report| report.weight < LEAST_WEIGHT).map(|report| MemberReport { weight: 0.0, ..report }))
    }

    /// A network that has seen all rows of these series but so many at the end; true if its training ended early.
    fn trained(
        &self,
        plan: &Plan,
        seen: &Read,
        unseen: usize,
        budget: &Budget,
        sender: &Sender<Message>,
    ) -> Result<(SeriesModel, bool)> {
        let experiment = plan.experiment([0, unseen], self.options.seed);
        let (source, config) = Source::with_panel(&experiment, seen.clone(), None)?;
        let mut learner = SeriesLearner::with_data(&experiment, source.into(), config, &self.device)?;
        let steps = experiment.train.epochs;
        let mut early = false;
        // A first step is always made, so that there is a network whatever the budget.
        learner.learn_while(|step| {
            // Nobody listens to a thread that is late.
            let _ = sender.send(Message::Step(step as usize, steps));
            early = step > 0 && budget.is_over();
            !early
        })?;
        Ok((SeriesModel::new(learner.config(), learner.evaluated()?, Some(experiment), &self.device), early))
    }
}

/// A model's forecasts of all series after all rows but so many at the end, `[series][horizon]`.
fn after(model: &SeriesModel, read: &Read, plan: &Plan, unseen: usize) -> Result<Vec<Vec<f64>>> {
    let window = |(series, one): (usize, &Series)| Window {
        series,
        start: one.len() - unseen - plan.look_back,
        look_back: plan.look_back,
        horizon: plan.horizon,
    };
    let windows: Vec<Window> = read.panel.series().iter().enumerate().map(window).collect();
    let found = model.forecast_windows(&read.panel, &windows)?;
    Ok(found.iter().map(|one| one.values.iter().map(|value| f64::from(*value)).collect()).collect())
}
