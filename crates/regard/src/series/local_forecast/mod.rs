//! Forecasts of a file without a model: base forecasters and small networks that are trained on the file itself,
//! weighed by a rolling-origin back-test.

mod plan;

use std::time::{Duration, Instant};

use burn::tensor::Device;
pub use regard_base::series::{BackTest, MemberReport};
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
    /// Training ends when it is used up.
    pub budget: Duration,
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

/// The part of the budget that base forecasters may take, and that at whose end the first network is trained.
const BASE: f64 = 0.5;
const FIRST_NETWORK: f64 = 0.75;

/// Forecasts the series of a file.
///
/// # Errors
/// [`Error::Config`] for an impossible horizon, season or level, a file without values, and `only` the network where
/// the series are too short to train one.
pub fn forecast(read: &Read, options: &LocalForecastOptions, device: &Device) -> Result<LocalForecast> {
    let begun = Instant::now();
    let values = base::values(&read.panel);
    let settings = ForecastOptions {
        horizon: options.horizon,
        seasons: base::seasons(&read.panel, &options.seasons),
        levels: options.levels.clone(),
        budget: Some(options.budget.mul_f64(BASE)),
    };
    let origins = Origins::new(&values, &settings)?;
    let mut members = origins.base_members();
    let mut warnings = Vec::new();
    let mut without_weight = None;
    let (mut look_back, mut cut_short) = (0, false);
    if options.only != Some(Only::Base) {
        let clock = Clockwork { begun, budget: options.budget };
        match Network::new(read, &origins, options, &clock, device) {
            Ok(mut network) => {
                if options.only == Some(Only::Network) {
                    members = members.only_fallbacks();
                } else {
                    without_weight = network.without_weight(&members, &origins)?;
                }
                if without_weight.is_none() {
                    network.train_for_end(read, &origins, options, &clock, device)?;
                    members.add(&origins, network.member)?;
                }
                (look_back, cut_short) = (network.plan.look_back, clock.spent(1.0));
            }
            Err(error) if options.only == Some(Only::Network) => return Err(error),
            Err(error) => warnings.push(format!("left out: {NETWORK}: {error}")),
        }
    }
    let weights = match options.only {
        Some(Only::Network) => origins.weights_of(&members, NETWORK)?,
        _ => origins.weights(&members),
    };
    let BaseForecasts { series, seasons, rule, mut members, back_test, warnings: of_base } =
        origins.blend(&members, &weights);
    members.extend(without_weight);
    warnings.splice(0..0, of_base);
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

/// A network with its forecasts at the origins of a back-test.
struct Network {
    plan: Plan,
    member: Member,
}

/// A network with less weight is not worth a second training.
const LEAST_WEIGHT: f64 = 0.02;

impl Network {
    /// Trains a network on the rows before the first origin, which forecasts at all origins but the end.
    fn new(
        read: &Read,
        origins: &Origins,
        options: &LocalForecastOptions,
        clock: &Clockwork,
        device: &Device,
    ) -> Result<Self> {
        let first = origins.origins().first().filter(|origin| origin.kind != OriginKind::End);
        let Some(first) = first else {
            return Err(Error::config("--horizon", "leaves no rows for a back-test of a network"));
        };
        if clock.spent(BASE) {
            return Err(Error::config("--time", "is used up by the other forecasters"));
        }
        let plan = Plan::of(&read.panel, options, origins.seasons(), first.offset)?;
        let deadline = Deadline { clock, part: FIRST_NETWORK };
        let model = trained(read, &plan, first.offset, options.seed, deadline, device)?;
        let mut forecasts = vec![vec![]; read.panel.len()];
        for origin in origins.origins() {
            if origin.kind == OriginKind::End {
                forecasts.iter_mut().for_each(|all| all.push(vec![]));
                continue;
            }
            let found = after(&model, read, &plan, origin.offset)?;
            forecasts.iter_mut().zip(found).for_each(|(all, mut steps)| {
                steps.truncate(origin.steps);
                all.push(steps);
            });
        }
        Ok(Self { plan, member: Member { name: NETWORK.into(), forecasts } })
    }

    /// The report of the network where it has no weight beside the other members.
    fn without_weight(&self, members: &Members, origins: &Origins) -> Result<Option<MemberReport>> {
        let mut all = members.clone();
        all.add(origins, self.member.clone())?;
        let weights = origins.weights(&all);
        let report = origins.blend(&all, &weights).members.into_iter().find(|member| member.name == NETWORK);
        Ok(report.filter(|report| report.weight < LEAST_WEIGHT).map(|report| MemberReport { weight: 0.0, ..report }))
    }

    /// Trains a network on all rows, which forecasts at the end.
    fn train_for_end(
        &mut self,
        read: &Read,
        origins: &Origins,
        options: &LocalForecastOptions,
        clock: &Clockwork,
        device: &Device,
    ) -> Result<()> {
        let model = trained(read, &self.plan, 0, options.seed, Deadline { clock, part: 1.0 }, device)?;
        let end = origins.origins().len() - 1;
        for (all, found) in self.member.forecasts.iter_mut().zip(after(&model, read, &self.plan, 0)?) {
            all[end] = found;
        }
        Ok(())
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

/// The time that is left.
struct Clockwork {
    begun: Instant,
    budget: Duration,
}

impl Clockwork {
    /// If true, a part of the budget is used up.
    fn spent(&self, part: f64) -> bool {
        self.begun.elapsed().as_secs_f64() >= self.budget.as_secs_f64() * part
    }
}

/// The part of the budget at whose end a training stops.
#[derive(Clone, Copy)]
struct Deadline<'a> {
    clock: &'a Clockwork,
    part: f64,
}

impl Deadline<'_> {
    fn passed(self) -> bool {
        self.clock.spent(self.part)
    }
}

/// A network that has seen all rows but so many at the end.
fn trained(
    read: &Read,
    plan: &Plan,
    unseen: usize,
    seed: u64,
    deadline: Deadline<'_>,
    device: &Device,
) -> Result<SeriesModel> {
    let experiment = plan.experiment([0, unseen], seed);
    let (source, config) = Source::with_panel(&experiment, read.clone(), None)?;
    let mut learner = SeriesLearner::with_data(&experiment, source.into(), config, device)?;
    // A first step is always made, so that there is a network whatever the budget.
    learner.learn_while(|step| step == 0 || !deadline.passed())?;
    Ok(SeriesModel::new(learner.config(), learner.evaluated()?, Some(experiment), device))
}
