//! Base forecasters beside a trained network, and the blend of both.

use std::collections::HashSet;
use std::time::Duration;

use burn::tensor::Device;
use regard_base::series::{Budget, ForecastOptions, Members, OriginKind, Plan, Weights, clock_seasons, recent_outlier};
use regard_data::metrics::Metrics;
use regard_data::series::{Panel, Part, Window};
use serde::{Deserialize, Serialize};

use super::TimeSeries;
use super::batch::Batch;
use super::local_forecast::NETWORK;
use super::measure::{ErrorSummary, Errors, medians};
use super::model::{PatchTst, PatchTstConfig};
use super::predict::{SeriesModel, together as together_at};
use super::source::Source;
use crate::supervised::Context;
use crate::supervised::base::{BaseRecord, Beside, BesideNetwork, not_fitted_note, note};
use crate::{Error, Result};

/// The longest time for base forecasters beside a training or an evaluation.
pub(super) const BASE_TIME: Duration = Duration::from_secs(60);
/// The version of [`BaseForecasters`].
const FORMAT: u32 = 1;
/// Weights of the network that are tried, from 0 to 1.
const WEIGHTS: u32 = 20;
/// Rows whose errors are ground enough for a weight between 0 and 1.
const ENOUGH_ROWS: usize = 20;

/// The weights of a network and of base forecasters, which are fitted to each file anew.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BaseForecasters {
    /// Version of this record.
    format: u32,
    /// Weights of network and base forecasters.
    pub weights: [f64; 2],
    /// Origins in the validation rows, after which both were measured.
    pub origins: usize,
    /// Why no weights were fitted, where there were too few rows: the better part then has all weight.
    pub not_fitted: Option<String>,
    /// Mean absolute scaled errors of network, base forecasters and blend after these origins.
    pub mase: [f64; 3],
    /// Base forecasters with their mean weights among each other in the validation rows, the heaviest first.
    pub members: Vec<(String, f64)>,
}

impl BaseRecord for BaseForecasters {
    fn formats(&self) -> [u32; 2] {
        [self.format, FORMAT]
    }

    fn is_sound(&self) -> bool {
        self.mase.iter().all(|mase| mase.is_finite())
    }

    fn weights(&self) -> [f64; 2] {
        self.weights
    }

    fn set_base_only(&mut self) -> Result<()> {
        self.weights = [0.0, 1.0];
        Ok(())
    }

    fn reasons(&self) -> Vec<String> {
        self.not_fitted.iter().map(|reason| not_fitted_note(reason)).collect()
    }
}

/// Errors of a network, of base forecasters and of their blend after the same origins.
#[derive(Clone, Debug, Serialize)]
pub struct BlendErrors {
    /// Weights of network and base forecasters.
    pub weights: [f64; 2],
    /// Origins after which forecasts are compared.
    pub origins: usize,
    /// Errors of the network.
    pub network: ErrorSummary,
    /// Errors of the base forecasters.
    pub base: ErrorSummary,
    /// Errors of the blend.
    pub blend: ErrorSummary,
}

/// Season lengths for base forecasters: those that are given, else those of the clock; `None` to find them in the
/// values.
pub(super) fn seasons(panel: &Panel, given: &[usize]) -> Option<Vec<usize>> {
    let of_clock = clock_seasons(panel.clock().frequency());
    match (given, of_clock.as_slice()) {
        ([], []) => None,
        ([], clock) => Some(clock.to_vec()),
        (given, _) => Some(given.to_vec()),
    }
}

/// Season lengths for base forecasters by `data.season_length`: those of the clock, or found ones, where it is 0; none
/// where it is 1.
pub(super) fn seasons_of(panel: &Panel, season_length: usize) -> Option<Vec<usize>> {
    match season_length {
        0 => seasons(panel, &[]),
        1 => Some(vec![]),
        given => Some(vec![given]),
    }
}

/// The panel without the values that lie far from all others among the last rows, and the number of series that have one;
/// `None` where none has.
pub(super) fn without_outliers(panel: &Panel, seasons: Option<&[usize]>) -> Result<Option<(Panel, usize)>> {
    let season = seasons.unwrap_or_default().iter().copied().min().unwrap_or(1);
    let of_series = |values: &Vec<f64>| recent_outlier(values, season).map(|row| values.len() - row);
    let rows: Vec<Option<usize>> = values(panel).iter().map(of_series).collect();
    match rows.iter().flatten().count() {
        0 => Ok(None),
        outliers => Ok(Some((without_rows(panel, |series| rows[series])?, outliers))),
    }
}

/// The panel with a row of each series missing, which is counted from the end; `None` for a series that stays.
pub(super) fn without_rows(panel: &Panel, row: impl Fn(usize) -> Option<usize>) -> Result<Panel> {
    let mut series = 0..;
    Ok(panel.changed(|one| {
        let Some(from_end) = series.next().and_then(&row) else { return one.clone() };
        let mut values = one.values().to_vec();
        values[one.len() - from_end] = f32::NAN;
        one.with_values(values)
    })?)
}

/// Values of each series as base forecasters see them, `[rows]`.
pub(super) fn values(panel: &Panel) -> Vec<Vec<f64>> {
    panel.series().iter().map(|one| one.values().iter().map(|value| f64::from(*value)).collect()).collect()
}

/// Names of the series, for warnings of base forecasters.
pub(super) fn names(panel: &Panel) -> Vec<String> {
    panel.names().map(str::to_owned).collect()
}

/// Base forecasters after origins in the last rows of a part of a source.
#[derive(Clone, Debug)]
pub struct BaseBackTest {
    plan: Plan,
    members: Members,
    weights: Weights,
    /// Rows of each series that the plan knows, and how many of them are held out.
    ends: Vec<[usize; 2]>,
}

impl BaseBackTest {
    /// Base forecasters after origins in the validation or test rows of a source, weighed in the rows before. `None`
    /// where half of the series have too few rows there for one horizon, or the network no whole window.
    ///
    /// # Errors
    /// Those of [`Plan::with_held_out`].
    pub(super) fn new(
        source: &Source,
        config: &PatchTstConfig,
        part: Part,
        season_length: usize,
        budget: Duration,
    ) -> Result<Option<Self>> {
        let ends = source.parts.iter().map(|parts| parts.of(part)).map(|rows| [rows.end, rows.len()]);
        let ends: Vec<[usize; 2]> = ends.collect();
        let mut lengths: Vec<usize> = ends.iter().map(|[_, rows]| *rows).collect();
        lengths.sort_unstable();
        // Half of the series have as many.
        let rows = lengths[(lengths.len() - 1) / 2];
        if rows < config.horizon {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(ends.len());
        for (series, (one, [end, _])) in source.panel.series().iter().zip(&ends).enumerate() {
            let mut own = one.values()[..*end].to_vec();
            source.scaler.unscale(series, &mut own);
            values.push(own.into_iter().map(f64::from).collect());
        }
        let options = ForecastOptions {
            horizon: config.horizon,
            seasons: seasons_of(&source.panel, season_length),
            levels: vec![],
            names: vec![],
            budget: Budget::of(budget),
            keep_outliers: false,
        };
        let plan = Plan::with_held_out(&values, &options, rows)?;
        // The latest origin is one horizon before the end.
        let whole = ends.iter().filter(|[end, _]| *end >= config.horizon + config.look_back).count();
        if whole < if config.channels > 0 { ends.len() } else { 1 } {
            return Ok(None);
        }
        let members = plan.base_members();
        let weights = plan.weights(&members);
        Ok(Some(Self { plan, members, weights, ends }))
    }

    /// Names and mean weights of the base forecasters, the heaviest first; those without weight are left out.
    fn heaviest(&self) -> Vec<(String, f64)> {
        let names = self.members.names().map(str::to_owned);
        let mut all: Vec<(String, f64)> = names.zip(self.weights.mean()).filter(|(_, weight)| *weight > 0.0).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Forecasts of both parts after all origins in the held-out rows.
    fn compared(&self, source: &Source, network: &PatchTst, config: &PatchTstConfig, device: &Device) -> Comparison {
        let mut comparison = Comparison { origins: 0, rows: 0, batches: vec![], network: vec![], base: vec![] };
        let channels = config.channels.max(1);
        let mut targets = HashSet::new();
        let origins = self.plan.origins().iter().enumerate();
        for (at, origin) in origins.filter(|(_, origin)| origin.kind == OriginKind::HeldOut) {
            let base = self.plan.blended(&self.members, &self.weights, at);
            let window = |(series, [end, rows]): (usize, &[usize; 2])| {
                let start = end.checked_sub(origin.offset + config.look_back)?;
                let found = !base[series].is_empty() && origin.offset <= *rows;
                found.then_some(Window { series, start, look_back: config.look_back, horizon: config.horizon })
            };
            let windows: Vec<Window> = self.ends.iter().enumerate().filter_map(window).collect();
            let together = if windows.len() == self.ends.len() { channels } else { 1 };
            if windows.is_empty() || together != channels {
                continue;
            }
            comparison.origins += 1;
            let rows = (0..origin.steps).map(|step| origin.offset - step);
            targets.extend(rows.flat_map(|row| windows.iter().map(move |window| (window.series, row))));
            for chosen in windows.chunks(together_at(channels)) {
                let batch = Batch::of_windows(&source.panel, chosen, channels, true);
                let numbers: Vec<f32> = network.forward(batch.input(device)).into_data().iter::<f32>().collect();
                comparison.network.push(medians(config, &numbers).into_owned());
                let of_base = chosen.iter().flat_map(|window| {
                    let mut own: Vec<f32> = base[window.series].iter().map(|value| *value as f32).collect();
                    source.scaler.scale(window.series, &mut own);
                    own
                });
                comparison.base.push(of_base.collect());
                comparison.batches.push(batch);
            }
        }
        comparison.rows = targets.len();
        comparison
    }
}

/// Weights of a network and of base forecasters by their errors in the validation rows of a source; `None` as
/// [`BaseBackTest::new`].
///
/// # Errors
/// As there.
pub(super) fn fitted_weights(model: &SeriesModel, source: &Source, season_length: usize) -> Result<Option<[f64; 2]>> {
    let (config, device) = (&model.config, &model.device);
    let back_test = BaseBackTest::new(source, config, Part::Validation, season_length, BASE_TIME)?;
    Ok(back_test.map(|back_test| {
        let compared = back_test.compared(source, &model.network, config, device);
        let weight = compared.best_weight(source).0;
        [weight, 1.0 - weight]
    }))
}

/// Errors of a model's network, of base forecasters and of their blend with these weights in the test rows of a
/// source; `None` as [`BaseBackTest::new`].
///
/// # Errors
/// As there.
pub(super) fn test_errors(
    model: &SeriesModel,
    source: &Source,
    season_length: usize,
    weights: [f64; 2],
) -> Result<Option<BlendErrors>> {
    let (config, device) = (&model.config, &model.device);
    let back_test = BaseBackTest::new(source, config, Part::Test, season_length, BASE_TIME)?;
    Ok(back_test.map(|back_test| {
        let compared = back_test.compared(source, &model.network, config, device);
        compared.summary(source, weights)
    }))
}

/// Forecasts of a network and of base forecasters after the same origins, at the network's scale.
struct Comparison {
    /// Number of origins.
    origins: usize,
    /// Different rows of series that are forecast.
    rows: usize,
    batches: Vec<Batch>,
    network: Vec<Vec<f32>>,
    base: Vec<Vec<f32>>,
}

impl Comparison {
    /// Errors of a blend in which the network has this weight.
    fn errors(&self, source: &Source, weight: f64) -> ErrorSummary {
        let horizon = self.batches.first().map_or(1, |batch| batch.horizon);
        let mut errors = Errors::new(source.panel.len(), horizon, 1);
        for (batch, (network, base)) in self.batches.iter().zip(self.network.iter().zip(&self.base)) {
            let mixed: Vec<f32> = network.iter().zip(base).map(|(a, b)| mixed([*a, *b], weight)).collect();
            errors.add_batch(source, batch, &mixed);
        }
        errors.errs(source)
    }

    /// The weight of the network with the smallest scaled error, the smallest of equals; with few rows 0 or 1, and the
    /// reason. On few rows a network that was chosen by them may look better by chance, so that it has to be better by
    /// a share of one over the root of the rows.
    fn best_weight(&self, source: &Source) -> (f64, Option<String>) {
        let error = |weight: f64| self.errors(source, weight).mase;
        if self.rows < ENOUGH_ROWS {
            let margin = 1.0 - 1.0 / (self.rows.max(1) as f64).sqrt();
            let better = error(1.0) < margin * error(0.0);
            let reason = format!("the validation part has {} rows, at least {ENOUGH_ROWS} are needed", self.rows);
            return (f64::from(u8::from(better)), Some(reason));
        }
        let weights = (0..=WEIGHTS).map(|at| f64::from(at) / f64::from(WEIGHTS));
        let found = weights.map(|weight| (weight, error(weight)));
        (found.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |found| found.0), None)
    }

    /// Errors of both parts, and of a blend in which the network has this weight.
    fn summary(&self, source: &Source, weights: [f64; 2]) -> BlendErrors {
        let [network, base, blend] = [1.0, 0.0, weights[0]].map(|weight| self.errors(source, weight));
        BlendErrors { weights, origins: self.origins, network, base, blend }
    }
}

/// A network's value and a base forecaster's, weighed; the value of one with all weight as it is.
pub(super) fn mixed([network, base]: [f32; 2], weight: f64) -> f32 {
    match weight {
        1.0 => network,
        0.0 => base,
        _ => (weight * f64::from(network) + (1.0 - weight) * f64::from(base)) as f32,
    }
}

fn metrics(errors: &ErrorSummary) -> Metrics {
    vec![("mase", errors.mase), ("mae", errors.mae), ("mse", errors.mse)]
}

impl BesideNetwork<TimeSeries> for BaseBackTest {
    type Record = BaseForecasters;

    fn note(&self) -> Option<String> {
        let all = self.heaviest();
        Some(note(&all.first()?.0, all.len() - 1, &[]))
    }

    fn beside(&self, network: &PatchTst, context: &Context<'_, TimeSeries>) -> Result<Beside<BaseForecasters>> {
        let Some(source) = context.data.windows() else {
            return Err(Error::state(NETWORK, "base forecasters stand beside forecasts only"));
        };
        let compared = self.compared(source, network, context.config, context.device);
        let (weight, not_fitted) = compared.best_weight(source);
        let found = compared.summary(source, [weight, 1.0 - weight]);
        let record = BaseForecasters {
            format: FORMAT,
            weights: found.weights,
            origins: found.origins,
            not_fitted,
            mase: [found.network.mase, found.base.mase, found.blend.mase],
            members: self.heaviest(),
        };
        let metrics = [&found.network, &found.base, &found.blend].map(metrics);
        // Intervals of forecasts are those of the network's settings.
        Ok(Beside { record, metrics, errors: vec![] })
    }
}
