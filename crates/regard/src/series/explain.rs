//! Trace of a network on the window at the end of one series.

use regard_data::series::{Panel, Window};
use regard_nn::trace::record;

use super::batch::Batch;
use super::predict::SeriesModel;
use crate::Result;
use crate::explain::{Labels, Trace, check_size};

impl SeriesModel {
    /// Every intermediate of the network on the last window of series `at` of a panel at its scale, or of all series where
    /// it has something of its own for each: `window.…`, `patches`, `layer.LAYER.…`, `network`, `linear_map`, `forecast`.
    /// Values are in deviations of the series.
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
        let windows = chosen.iter().map(|&series| Ok(Window::last(panel, series, config.look_back, config.horizon)?));
        let windows: Vec<Window> = windows.collect::<Result<_>>()?;
        let input = Batch::of_windows(panel, &windows, channels, false).input(&self.device);
        let (_, recording) = record(|| self.network.forward(input));
        let names: Vec<String> = chosen.iter().map(|&series| panel.series()[series].name().to_owned()).collect();
        let patching = config.patching();
        let patch = |at: usize| {
            let first = at * patching.stride;
            let last = (first + patching.patch).min(config.look_back);
            format!("lags {} to {}", config.look_back - first.min(config.look_back - 1), config.look_back - last + 1)
        };
        let mut labels = Labels::from([("patch", (0..config.patches()).map(patch).collect())]);
        labels.insert("lag", (0..config.look_back).map(|at| format!("lag {}", config.look_back - at)).collect());
        labels.insert("step ahead", (1..=config.horizon).map(|step| step.to_string()).collect());
        let input = if channels > 1 { "all series".to_owned() } else { format!("series {}", names[0]) };
        labels.insert("series", names);
        Ok(Trace::new(name.to_owned(), input, recording, &labels))
    }
}
