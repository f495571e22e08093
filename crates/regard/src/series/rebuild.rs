//! Reconstruction of windows: missing values are filled in, and values far from their reconstruction are anomalies.

use regard_data::series::formats::forecasts::{Forecast, Forecasts};
use regard_data::series::{Panel, Window};

use super::batch::Batch;
use super::predict::{Series, SeriesModel, together};
use super::task::SeriesTask;
use crate::{Error, Result};

impl SeriesModel {
    /// Series of [`SeriesModel::read`] with their missing values filled, in their own units; what is there
    /// stays as it is.
    ///
    /// # Errors
    /// [`Error::Config`] for a model of another task, or a series shorter than its windows.
    pub fn filled(&self, Series { panel, own, .. }: &Series) -> Result<Forecasts> {
        self.check_task(SeriesTask::Imputation)?;
        let scaler = self.scaler()?;
        let all = self.rebuilt(panel)?.into_iter().enumerate().map(|(series, mut values)| {
            scaler.unscale(series, &mut values);
            let there = own.series()[series].values();
            let values = values.iter().zip(there).map(|(&value, &there)| if there.is_nan() { value } else { there });
            of_series(panel, series, values.collect())
        });
        Ok(Forecasts::new(panel.clock(), all.collect())?)
    }

    /// The anomaly score of each value: its squared distance from the network's reconstruction, in squared
    /// deviations of the series; not a number where a value is missing.
    ///
    /// # Errors
    /// As [`Self::filled`].
    pub fn anomalies(&self, Series { panel, .. }: &Series) -> Result<Forecasts> {
        self.check_task(SeriesTask::Anomaly)?;
        let all = self.rebuilt(panel)?.into_iter().enumerate().map(|(series, rebuilt)| {
            let there = panel.series()[series].values();
            of_series(
                panel,
                series,
                rebuilt.iter().zip(there).map(|(rebuilt, there)| (rebuilt - there).powi(2)).collect(),
            )
        });
        Ok(Forecasts::new(panel.clock(), all.collect())?)
    }

    /// The network's reconstruction of every value, window after window, the last one up to the end; at its scale.
    fn rebuilt(&self, panel: &Panel) -> Result<Vec<Vec<f32>>> {
        let look_back = self.config.look_back;
        let mut windows = vec![];
        for (series, one) in panel.series().iter().enumerate() {
            let Some(last) = one.len().checked_sub(look_back) else {
                let reason = format!(
                    "`{}` has {} rows; the model needs at least {look_back} (its look-back)",
                    one.name(),
                    one.len()
                );
                return Err(Error::config("the file", reason));
            };
            let starts = (0..last).step_by(look_back).chain([last]);
            windows.extend(starts.map(|start| Window { series, start, look_back, horizon: 0 }));
        }
        let channels = self.config.channels.max(1);
        let mut all: Vec<Vec<f32>> = panel.series().iter().map(|one| vec![f32::NAN; one.len()]).collect();
        if channels > 1 {
            // Networks with something of their own for each series look at all of them at one place.
            windows.sort_by_key(|window| (window.start, window.series));
        }
        for chosen in windows.chunks(together(channels)) {
            let batch = Batch::of_windows(panel, chosen, channels, false);
            let numbers = self.answers(&batch);
            for (window, rebuilt) in chosen.iter().zip(numbers.chunks_exact(look_back)) {
                all[window.series][window.start..window.start + look_back].copy_from_slice(rebuilt);
            }
        }
        Ok(all)
    }

    fn check_task(&self, task: SeriesTask) -> Result<()> {
        match self.config.task == task {
            true => Ok(()),
            false => Err(Error::config("--model", format!("was trained for {}, not for {task}", self.config.task))),
        }
    }
}

fn of_series(panel: &Panel, series: usize, values: Vec<f32>) -> Forecast {
    let one = &panel.series()[series];
    Forecast { name: one.name().to_owned(), start: one.start(), values, intervals: vec![] }
}
