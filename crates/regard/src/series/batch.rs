//! Windows gathered for a step.

use burn::tensor::{Device, Tensor, TensorData};
use rand::seq::index;
use rand_pcg::Pcg64Mcg;
use regard_data::series::{Panel, Window, Windows, fill_missing};

use super::model::SeriesInput;
use super::source::Source;

/// Windows of one step, with the values after them.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Windows times series of each: `[samples, channels]`.
    pub shape: [usize; 2],
    /// Values of a window.
    pub look_back: usize,
    /// Values after it.
    pub horizon: usize,
    /// The series of each row, `[samples · channels]`.
    pub series: Vec<usize>,
    /// `[samples, channels, look-back]`
    pub inputs: Vec<f32>,
    /// True for values that are not missing; empty where none is.
    pub observed: Vec<bool>,
    /// `[samples, channels, horizon]`
    pub targets: Vec<f32>,
    /// True for values that are not missing; empty where none is.
    pub counted: Vec<bool>,
    /// `[samples, channels, covariates, look-back + horizon]`
    pub covariates: Vec<f32>,
    /// `[samples, channels, statics]`
    pub statics: Vec<f32>,
}

impl Batch {
    /// The windows of some samples, with what follows them.
    pub fn gather(source: &Source, windows: &Windows, samples: &[usize]) -> Self {
        let channels = if source.together { source.panel.len() } else { 1 };
        let window = |&sample: &usize| -> Vec<Window> {
            match source.together {
                true => (0..channels).map(|series| windows.window(series, sample)).collect(),
                false => vec![windows.get(sample)],
            }
        };
        let all: Vec<Window> = samples.iter().flat_map(window).collect();
        Self::of_windows(&source.panel, &all, channels, true)
    }

    /// Some series of each place, drawn from `noise`.
    pub fn some(source: &Source, windows: &Windows, samples: &[usize], count: usize, noise: &mut Pcg64Mcg) -> Self {
        let all = samples.iter().flat_map(|&sample| {
            let mut chosen = index::sample(noise, source.panel.len(), count).into_vec();
            chosen.sort_unstable();
            chosen.into_iter().map(|series| windows.window(series, sample)).collect::<Vec<_>>()
        });
        Self::of_windows(&source.panel, &all.collect::<Vec<_>>(), 1, true)
    }

    /// Windows of a panel, `channels` of them together; `known` where what follows them is known.
    pub fn of_windows(panel: &Panel, windows: &[Window], channels: usize, known: bool) -> Self {
        let [look_back, horizon] = windows.first().map_or([0, 0], |window| [window.look_back, window.horizon]);
        let rows = windows.len();
        let (kinds, statics) = (panel.covariates().len(), panel.statics().len());
        let mut batch = Self {
            shape: [rows / channels.max(1), channels],
            look_back,
            horizon,
            series: windows.iter().map(|window| window.series).collect(),
            inputs: vec![0.0; rows * look_back],
            observed: vec![true; rows * look_back],
            targets: vec![0.0; rows * horizon],
            counted: vec![true; rows * horizon],
            covariates: vec![0.0; rows * kinds * (look_back + horizon)],
            statics: Vec::with_capacity(rows * statics),
        };
        for (row, window) in windows.iter().enumerate() {
            let (from, to) = (row * look_back, (row + 1) * look_back);
            window.copy_look_back(panel, &mut batch.inputs[from..to], &mut batch.observed[from..to]);
            if known {
                let (from, to) = (row * horizon, (row + 1) * horizon);
                window.copy_horizon(panel, &mut batch.targets[from..to], &mut batch.counted[from..to]);
            }
            if kinds > 0 {
                let size = kinds * (look_back + horizon);
                window.copy_covariates(panel, &mut batch.covariates[row * size..(row + 1) * size]);
            }
            batch.statics.extend(panel.series()[window.series].statics());
        }
        for flags in [&mut batch.observed, &mut batch.counted] {
            if flags.iter().all(|&flag| flag) {
                flags.clear();
            }
        }
        batch
    }

    /// Windows of single series with nothing after them, NaN where a value is missing.
    pub fn of_values<'v>(windows: impl Iterator<Item = &'v [f32]>, horizon: usize) -> Self {
        let mut batch = Self::default();
        for (row, window) in windows.enumerate() {
            (batch.look_back, batch.horizon) = (window.len(), horizon);
            batch.series.push(row);
            let from = batch.inputs.len();
            batch.inputs.extend(window);
            batch.observed.resize(batch.inputs.len(), true);
            fill_missing(&mut batch.inputs[from..], &mut batch.observed[from..]);
        }
        batch.shape = [batch.series.len(), 1];
        if batch.observed.iter().all(|&flag| flag) {
            batch.observed.clear();
        }
        batch
    }

    /// The input of the network.
    pub fn input(&self, device: &Device) -> SeriesInput {
        let [samples, channels] = self.shape;
        let length = self.look_back + self.horizon;
        let kinds = self.covariates.len().checked_div(samples * channels * length).unwrap_or(0);
        let statics = self.statics.len().checked_div(samples * channels).unwrap_or(0);
        let covariates = (kinds > 0).then(|| {
            let shape = [samples, channels, kinds, length];
            Tensor::<4>::from_data(TensorData::new(self.covariates.clone(), shape), device).swap_dims(2, 3)
        });
        let numbers = |data: Vec<f32>, width: usize| {
            Tensor::<3>::from_data(TensorData::new(data, [samples, channels, width]), device)
        };
        SeriesInput {
            values: numbers(self.inputs.clone(), self.look_back),
            observed: (!self.observed.is_empty()).then(|| numbers(ones(&self.observed), self.look_back)),
            shown: None,
            covariates,
            statics: (statics > 0).then(|| numbers(self.statics.clone(), statics)),
        }
    }

    /// The values after the windows `[samples, channels, horizon]`, and 1 where they are known; `None` where all are.
    pub fn target(&self, device: &Device) -> (Tensor<3>, Option<Tensor<3>>) {
        let shape = [self.shape[0], self.shape[1], self.horizon];
        let numbers = |data: Vec<f32>| Tensor::<3>::from_data(TensorData::new(data, shape), device);
        let counted = (!self.counted.is_empty()).then(|| numbers(ones(&self.counted)));
        (numbers(self.targets.clone()), counted)
    }

    /// Rows: windows of single series.
    pub fn rows(&self) -> usize {
        self.series.len()
    }
}

fn ones(flags: &[bool]) -> Vec<f32> {
    flags.iter().map(|&flag| f32::from(u8::from(flag))).collect()
}
