//! Errors on the last rows of a file, which no network had seen, and the widths of intervals from them.

use std::collections::BTreeMap;

use regard_data::metrics::forecast::mase_scale;
use regard_data::series::formats::Read;
use regard_data::series::{Series, Window};
use serde::Serialize;

use super::plan::Plan;
use super::{Transform, averaged};
use crate::series::intervals::half_width;
use crate::series::measure::Plain;
use crate::series::predict::SeriesModel;
use crate::{Error, Result};

/// Errors on the last rows of a file, in the units of the seasonal naive forecast's error one step ahead.
#[derive(Clone, Debug, Serialize)]
pub struct BackTest {
    /// Rows at the end that were not seen.
    pub rows: usize,
    /// Mean absolute scaled error of the networks.
    pub mase: f64,
    /// That of the value a season before.
    pub seasonal_naive_mase: f64,
    /// That of the last value.
    pub naive_mase: f64,
    /// That of the mean of the look-back.
    pub mean_mase: f64,
    /// Mean absolute error of the networks, in the units of the file.
    pub mae: f64,
    /// That of the value a season before.
    pub seasonal_naive_mae: f64,
}

/// Networks on the rows before the last `after` of each series; `read` holds what they learn of values.
pub(super) fn measured(
    models: &[&SeriesModel],
    read: &Read,
    plan: &Plan,
    after: usize,
    transform: Transform,
) -> Result<BackTest> {
    let panel = &read.panel;
    let windows: Vec<Window> =
        (0..panel.len()).map(|series| window(plan, panel.series()[series].len(), series, after)).collect();
    let forecasts = averaged(models, panel, &windows)?;
    let back = |values: &[f32]| -> Vec<f32> { values.iter().map(|&value| transform.back(value)).collect() };
    let mut sums = [[0.0; 2]; 4];
    let mut counted = 0.0;
    for (window, forecast) in windows.iter().zip(&forecasts) {
        let values = back(panel.series()[window.series].values());
        let (seen, truth) = values.split_at(window.target());
        let truth = &truth[..plan.horizon];
        let scale = mase_scale(seen, plan.season);
        let (mut inputs, mut observed) = (vec![0.0; plan.look_back], vec![true; plan.look_back]);
        window.copy_look_back(panel, &mut inputs, &mut observed);
        let inputs = back(&inputs);
        let plain = |method: Plain| {
            let mut forecast = vec![0.0; plan.horizon];
            method.forecast(&inputs, plan.season, &mut forecast);
            forecast
        };
        let all = [back(&forecast.values), plain(Plain::SeasonalNaive), plain(Plain::Naive), plain(Plain::Mean)];
        let offs = all.map(|forecast| off(&forecast, truth));
        if offs.iter().any(|off| off.is_nan()) {
            continue;
        }
        sums.iter_mut().zip(offs).for_each(|(sum, off)| {
            sum[0] += off / scale;
            sum[1] += off;
        });
        counted += 1.0;
    }
    if counted == 0.0 {
        return Err(Error::config("the file", "has no value in its last rows, which are held out"));
    }
    let [network, seasonal, naive, mean] = sums.map(|sum| sum.map(|sum| sum / counted));
    Ok(BackTest {
        rows: plan.horizon,
        mase: network[0],
        seasonal_naive_mase: seasonal[0],
        naive_mase: naive[0],
        mean_mase: mean[0],
        mae: network[1],
        seasonal_naive_mae: seasonal[1],
    })
}

fn window(plan: &Plan, length: usize, series: usize, after: usize) -> Window {
    let target = length - after - plan.horizon;
    Window { series, start: target - plan.look_back, look_back: plan.look_back, horizon: plan.horizon }
}

/// Mean distance where the truth is known; not a number where it is nowhere.
fn off(forecast: &[f32], truth: &[f32]) -> f64 {
    let known = forecast.iter().zip(truth).filter(|(_, truth)| !truth.is_nan());
    let (sum, count) = known.fold((0.0, 0.0), |(sum, count), (a, b)| (sum + f64::from((a - b).abs()), count + 1.0));
    sum / count
}

/// Half widths of intervals of one level, series by series.
pub(super) struct Widths {
    pub(super) level: f64,
    /// `[horizon]` by the series' name.
    of: BTreeMap<String, Vec<f32>>,
}

impl Widths {
    /// The half widths of a series.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = f32> {
        self.of.get(name).into_iter().flatten().copied()
    }
}

/// Refuses levels that no width can be forecast for.
pub(super) fn known_levels(levels: &[f64]) -> Result<()> {
    match levels.iter().find(|&&level| !(level > 0.0 && level <= 99.0)) {
        None => Ok(()),
        Some(level) => {
            Err(Error::config("--levels", format!("has {level}; expected percentages above 0 and at most 99")))
        }
    }
}

/// Half widths that held each level's share of what a network was off by, over windows with targets in the
/// rows it had not seen: the last two horizons. Steps that follow each other lend each other what they saw.
pub(super) fn widths(model: &SeriesModel, read: &Read, plan: &Plan, levels: &[f64]) -> Result<Vec<Widths>> {
    let panel = &read.panel;
    let mut scaled = vec![vec![]; plan.horizon];
    let data = &model.config.data;
    let of_series = |(series, one): (usize, &Series)| {
        let length = one.len();
        (0..=plan.horizon).map(move |after| window(plan, length, series, after))
    };
    let windows: Vec<Window> = panel.series().iter().enumerate().flat_map(of_series).collect();
    // All together, since the panel is brought to the network's scale for each call.
    for (window, forecast) in windows.iter().zip(model.forecast_windows(panel, &windows)?) {
        let truth = &panel.series()[window.series].values()[window.target()..];
        for (step, (predicted, truth)) in forecast.values.iter().zip(truth).enumerate() {
            if !truth.is_nan() {
                scaled[step].push((predicted - truth).abs() / data.std[window.series] as f32);
            }
        }
    }
    let near = |step: usize| -> Vec<f32> {
        let mut all: Vec<f32> =
            scaled[step.saturating_sub(2)..(step + 3).min(plan.horizon)].iter().flatten().copied().collect();
        all.sort_by(f32::total_cmp);
        all
    };
    let near: Vec<Vec<f32>> = (0..plan.horizon).map(near).collect();
    let of_level = |&level: &f64| {
        let common: Vec<f32> = near.iter().map(|step| half_width(step, level)).collect();
        let own = |series: usize| common.iter().map(|width| width * data.std[series] as f32).collect();
        let of = data.names.iter().enumerate().map(|(series, name)| (name.clone(), own(series))).collect();
        Widths { level, of }
    };
    Ok(levels.iter().map(of_level).collect())
}
