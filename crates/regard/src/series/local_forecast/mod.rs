//! Forecasts of a file without a model: small networks are trained on the file itself, after a back-test on its last
//! rows against forecasts that need no network.

mod back_test;
mod plan;

use std::time::{Duration, Instant};

use burn::tensor::Device;
use regard_data::series::formats::Read;
use regard_data::series::formats::forecasts::{Forecast, Forecasts, Interval};
use regard_data::series::{Panel, Series, Window};

pub use self::back_test::BackTest;
use self::back_test::{Widths, known_levels, measured, widths};
use self::plan::Plan;
use super::SeriesLearner;
use super::model::PatchTstConfig;
use super::predict::SeriesModel;
use super::source::Source;
use crate::Result;

/// Options of [`forecast`].
#[derive(Clone, Debug)]
pub struct LocalForecastOptions {
    /// Values after the last of each series.
    pub horizon: usize,
    /// Intervals, in percent.
    pub levels: Vec<f64>,
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
    /// Errors of such networks on the last rows of the file, which they had not seen.
    pub back_test: BackTest,
    /// Settings of the networks.
    pub config: PatchTstConfig,
    /// If true, the networks learn logarithms.
    pub logarithms: bool,
    /// Networks whose forecasts are averaged.
    pub networks: usize,
    /// If true, the budget ended a training early.
    pub cut_short: bool,
}

/// Networks whose forecasts are averaged.
const ENSEMBLE: u64 = 3;
/// Parts of the budget at which trainings end, so that one does not eat up the next one's: that of each choice,
/// of the networks that are measured, and of those that forecast.
const CHOICE: f64 = 0.1;
const MEASURED: [f64; 2] = [0.2, 0.6];
const FORECASTING: [f64; 2] = [0.6, 1.0];

/// Trains on the series of a file, measures, and forecasts.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) for series too short to learn from, with the number of rows that
/// are needed; a level beyond 99.
pub fn forecast(read: &Read, options: &LocalForecastOptions, device: &Device) -> Result<LocalForecast> {
    let plan = Plan::of(&read.panel, options)?;
    known_levels(&options.levels)?;
    let clock = Clockwork { begun: Instant::now(), budget: options.budget };
    let seed = options.seed;
    // Which numbers are learnt is chosen on rows before those that measure.
    let mut tried = vec![];
    for (at, transform) in Transform::fitting(&read.panel).into_iter().enumerate() {
        let read = transform.of_read(read)?;
        let part = CHOICE * (at + 1) as f64;
        let network =
            trained(&read, &plan, [plan.horizon, plan.horizon], seed, Deadline { clock: &clock, part }, device)?;
        let off = measured(&[&network], &read, &plan, plan.horizon, transform)?;
        tried.push((off.mase, transform, network, read));
    }
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (_, transform, chooser, read) = tried.swap_remove(0);
    let several = |rows: [usize; 2], [from, to]: [f64; 2]| -> Result<Vec<SeriesModel>> {
        let part = |at: u64| from + (to - from) * (at + 1) as f64 / ENSEMBLE as f64;
        let of = |at: u64| {
            trained(&read, &plan, rows, seed.wrapping_add(at), Deadline { clock: &clock, part: part(at) }, device)
        };
        (0..ENSEMBLE).map(of).collect()
    };
    let before = several([0, plan.horizon], MEASURED)?;
    let back_test = measured(&before.iter().collect::<Vec<_>>(), &read, &plan, 0, transform)?;
    let widths = widths(&chooser, &read, &plan, &options.levels)?;
    let last = several([0, 0], FORECASTING)?;
    let windows: Result<Vec<Window>> = (0..read.panel.len())
        .map(|series| Ok(Window::last(&read.panel, series, plan.look_back, plan.horizon)?))
        .collect();
    let all = averaged(&last.iter().collect::<Vec<_>>(), &read.panel, &windows?)?;
    let forecasts = all.into_iter().map(|forecast| within(forecast, &widths, transform)).collect();
    Ok(LocalForecast {
        forecasts: Forecasts::new(read.panel.clock(), forecasts)?,
        back_test,
        config: last[0].config.clone(),
        logarithms: transform == Transform::Logarithm,
        networks: last.len(),
        cut_short: clock.spent(1.0),
    })
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

/// A network that has seen all rows but so many at the end that choose, and that measure.
fn trained(
    read: &Read,
    plan: &Plan,
    rows: [usize; 2],
    seed: u64,
    deadline: Deadline<'_>,
    device: &Device,
) -> Result<SeriesModel> {
    let experiment = plan.experiment(rows, seed);
    let (source, config) = Source::with_panel(&experiment, read.clone(), None)?;
    let mut learner = SeriesLearner::with_data(&experiment, source.into(), config, device)?;
    // A first step is always made, so that there is a network whatever the budget.
    learner.learn_while(|step| step == 0 || !deadline.passed())?;
    Ok(SeriesModel::new(learner.config(), learner.evaluated()?, Some(experiment), device))
}

/// The mean of several networks' forecasts, in the units of `panel`, whose values no network has scaled.
fn averaged(models: &[&SeriesModel], panel: &Panel, windows: &[Window]) -> Result<Vec<Forecast>> {
    let mut sum: Vec<Forecast> = vec![];
    for model in models {
        let forecasts = model.forecast_windows(panel, windows)?;
        if sum.is_empty() {
            sum = forecasts;
            continue;
        }
        for (sum, forecasts) in sum.iter_mut().zip(forecasts) {
            sum.values.iter_mut().zip(forecasts.values).for_each(|(sum, value)| *sum += value);
        }
    }
    let count = models.len().max(1) as f32;
    sum.iter_mut().for_each(|one| one.values.iter_mut().for_each(|value| *value /= count));
    Ok(sum)
}

/// A forecast with intervals, in the units of the file.
fn within(forecast: Forecast, widths: &[Widths], transform: Transform) -> Forecast {
    let interval = |widths: &Widths| {
        let end = |sign: f32| {
            let ends = forecast.values.iter().zip(widths.of(&forecast.name));
            ends.map(|(value, width)| transform.back(value + sign * width)).collect()
        };
        Interval { level: widths.level, low: end(-1.0), high: end(1.0) }
    };
    let intervals = widths.iter().map(interval).collect();
    let values = forecast.values.iter().map(|&value| transform.back(value)).collect();
    Forecast { intervals, values, ..forecast }
}

/// The number that is learnt of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transform {
    /// The value.
    Same,
    /// Its logarithm.
    Logarithm,
}

impl Transform {
    /// The transforms that every value of a panel allows.
    fn fitting(panel: &Panel) -> Vec<Self> {
        let values = panel.series().iter().flat_map(Series::values);
        match values.filter(|value| !value.is_nan()).all(|&value| value > 0.0) {
            true => vec![Self::Same, Self::Logarithm],
            false => vec![Self::Same],
        }
    }

    fn of(self, value: f32) -> f32 {
        match self {
            Self::Same => value,
            Self::Logarithm => value.ln(),
        }
    }

    /// The value again.
    fn back(self, value: f32) -> f32 {
        match self {
            Self::Same => value,
            Self::Logarithm => value.exp(),
        }
    }

    /// A file whose values are learnt so.
    fn of_read(self, read: &Read) -> Result<Read> {
        let learnt = |one: &Series| one.with_values(one.values().iter().map(|&value| self.of(value)).collect());
        Ok(Read { panel: read.panel.changed(learnt)?, report: read.report.clone() })
    }
}
