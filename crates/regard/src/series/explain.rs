//! Trace of a network on the window at the end of one series.

use burn::tensor::{Tensor, TensorData};
use regard_data::series::{Panel, Window};
use regard_nn::trace::{self, Operation, Recording, record};

use super::batch::Batch;
use super::measure::medians;
use super::predict::SeriesModel;
use super::task::SeriesTask;
use crate::Result;
use crate::explain::{Labels, Trace, check_size};

/// The name of the step with the forecast of the linear map alone.
const OF_MAP: &str = "forecast_of_map";

impl SeriesModel {
    /// Every intermediate of the network on the last window of series `at` of a panel at its scale, or of all series where
    /// it has something of its own for each: `window.…`, `patches`, `layer.LAYER.…`, `network`, `linear_map`, `forecast`.
    /// Values
    /// are in deviations of the series; the last steps, `….in_units`, are in the unit of the file.
    ///
    /// # Errors
    /// Series that are shorter than the look-back; [`crate::Error::Unsupported`] for more series together than fit into
    /// memory.
    pub fn explain(&self, name: &str, panel: &Panel, at: usize) -> Result<Trace> {
        let config = &self.config;
        let channels = config.channels.max(1);
        let chosen: Vec<usize> = if channels > 1 { (0..panel.len()).collect() } else { vec![at] };
        check_size("the window", "series", chosen.len(), |series| {
            let patches = config.patches();
            // Scores and weights of pairs of patches, rows of a layer, read-out.
            let layer = patches * (3 * config.heads * patches + 10 * config.width + 2 * config.feedforward_width);
            series * (config.layers * layer + patches * config.width + 3 * config.look_back + 5 * config.horizon)
        })?;
        let horizon = if config.task == SeriesTask::Classification { 0 } else { config.horizon };
        let windows = chosen.iter().map(|&series| Ok(Window::last(panel, series, config.look_back, horizon)?));
        let windows: Vec<Window> = windows.collect::<Result<_>>()?;
        let input = Batch::of_windows(panel, &windows, channels, false).input(&self.device);
        // The map alone, brought back as the forecast is; where parts have a map each, none is all of it.
        let mapped = (config.decomposition_kernel == 0).then(|| self.network.mapped(&input)).flatten();
        let (unit, mut recording) = record(|| {
            let forecast = self.network.forward(input);
            if config.task == SeriesTask::Forecast {
                self.record_in_own_unit(forecast, mapped, &chosen)
            } else {
                Ok(())
            }
        });
        unit?;
        link_map(&mut recording);
        let names: Vec<String> = chosen.iter().map(|&series| panel.series()[series].name().to_owned()).collect();
        let patching = config.patching();
        let patch = |at: usize| {
            let first = at * patching.stride;
            let last = (first + patching.patch).min(config.look_back);
            format!("lags {} to {}", config.look_back - first.min(config.look_back - 1), config.look_back - last + 1)
        };
        let mut labels = Labels::from([("patch", (0..config.patches()).map(patch).collect())]);
        let (clock, end) = (panel.clock(), windows[0].start + config.look_back);
        // Stamps of all that are written, or none: a clock may end before a forecast does.
        let stamps: Vec<String> = match clock.has_dates() {
            true => (end - config.look_back..end + horizon).map_while(|step| clock.stamp(step).ok()).collect(),
            false => vec![],
        };
        let stamp = |at: usize| stamps.get(at).map_or_else(String::new, |stamp| format!(" at {stamp}"));
        let lag = |at: usize| format!("lag {}{}", config.look_back - at, stamp(at));
        labels.insert("lag", (0..config.look_back).map(lag).collect());
        let ahead = |step: usize| format!("{}{}", step + 1, stamp(config.look_back + step));
        labels.insert("step ahead", (0..horizon).map(ahead).collect());
        labels.insert("class", config.data.classes.clone());
        let input = if channels > 1 { "all series".to_owned() } else { format!("series {}", names[0]) };
        labels.insert("series", names);
        Ok(Trace::new(name.to_owned(), input, recording, &labels))
    }

    /// Records the forecast `[1, series, horizon · levels]`, which is in deviations of each series, in the unit of the file:
    /// the median where there are levels, and, where a linear map is part of the network, what is of the map and what of
    /// the rest.
    fn record_in_own_unit(&self, forecast: Tensor<3>, mapped: Option<Tensor<3>>, chosen: &[usize]) -> Result<()> {
        let (config, scaler) = (&self.config, self.scaler()?);
        const AHEAD: [&str; 3] = ["batch", "series", "step ahead"];
        const ONE: [&str; 3] = ["batch", "series", ""];
        let column = |values: &[f64]| {
            let values: Vec<f32> = chosen.iter().map(|&series| values[series] as f32).collect();
            Tensor::<3>::from_data(TensorData::new(values, [1, chosen.len(), 1]), &self.device)
        };
        let [mean, deviation] = [column(scaler.mean()), column(scaler.deviation())];
        trace::step("series.mean", Operation::Input).values(ONE, &mean);
        trace::step("series.deviation", Operation::Input).values(ONE, &deviation);
        let values: Vec<f32> = forecast.to_data().iter::<f32>().collect();
        let medians = medians(config, &values).into_owned();
        let median = if medians.len() == values.len() { "x" } else { "median of x" };
        let shape = [1, chosen.len(), config.horizon];
        let middle = Tensor::<3>::from_data(TensorData::new(medians, shape), &self.device);
        let whole = middle.clone() * deviation.clone() + mean.clone();
        trace::step("forecast.in_units", Operation::Formula(format!("{median} · z + y").into()))
            .from(&forecast)
            .from(&mean)
            .from(&deviation)
            .values(AHEAD, &whole);
        if let Some(mapped) = mapped.filter(|mapped| mapped.dims() == shape) {
            let of_map = mapped.clone() * deviation.clone() + mean.clone();
            trace::step(OF_MAP, Operation::Input).values(AHEAD, &mapped);
            trace::step("forecast_of_map.in_units", Operation::Formula("x · z + y".into()))
                .from(&mapped)
                .from(&mean)
                .from(&deviation)
                .values(AHEAD, &of_map);
            let rest = whole.clone() - of_map.clone();
            trace::step("forecast_of_network.in_units", Operation::Formula("x - y".into()))
                .from(&whole)
                .from(&of_map)
                .values(AHEAD, &rest);
        }
        Ok(())
    }
}

/// Says that the forecast of the map is brought back as the forecast is, from the map instead of the answer.
fn link_map(recording: &mut Recording) {
    let whole = recording.steps.iter().find(|step| step.name == "forecast").cloned();
    let Some(of_map) = recording.steps.iter_mut().find(|step| step.name == OF_MAP) else { return };
    of_map.from = vec!["linear_map".to_owned()];
    of_map.operation = Operation::Sum;
    if let Some(whole) = whole {
        of_map.from.extend(whole.from.into_iter().skip(1));
        (of_map.operation, of_map.source, of_map.parameters) = (whole.operation, whole.source, whole.parameters);
    }
}
