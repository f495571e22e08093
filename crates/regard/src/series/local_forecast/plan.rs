//! The sizes of the networks for a file, and their training.

use regard_data::series::Panel;

use super::LocalForecastOptions;
use crate::series::experiment::{
    SeriesData, SeriesEval, SeriesExperiment, SeriesSplit, SeriesTaskSettings, training_preset,
};
use crate::series::model::{PatchTstConfig, Shortcut};
use crate::series::task::SeriesTask;
use crate::train::{NumberLoss, Select, TrainSettings};
use crate::{Error, Result};

/// Rows of a step: windows of single series.
const ROWS: usize = 256;
/// Steps of a training with windows of [`USUAL`] values; fewer with longer ones, whose steps take longer.
const STEPS: usize = 300;
const USUAL: usize = 64;
const FEWEST_STEPS: usize = 80;
/// Windows reach back so many seasons, where there are as many, and so many values where there is no season.
const SEASONS: usize = 3;
const WITHOUT_SEASON: usize = 32;
/// The shortest window, and the longest.
const SHORTEST: usize = 4;
const LONGEST: usize = 512;

/// Sizes of the networks.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) look_back: usize,
    pub(super) horizon: usize,
    pub(super) season: usize,
    /// Windows of a step.
    batch: usize,
}

impl Plan {
    /// The plan for the series of a panel, the last `unseen` rows of which a network does not learn from.
    ///
    /// # Errors
    /// [`Error::Config`] for series too short, with the rows that are needed.
    pub(super) fn of(panel: &Panel, options: &LocalForecastOptions, seasons: &[usize], unseen: usize) -> Result<Self> {
        let horizon = options.horizon;
        let shortest = panel.series().iter().map(|one| one.len()).min().unwrap_or(0);
        // Rows that are not seen, and the targets of some windows to learn from.
        let others = unseen + horizon + (horizon / 2).max(1);
        let needed = others + SHORTEST;
        if shortest < needed {
            let reason = format!(
                "is {horizon}, and the shortest series has {shortest} rows; to learn {horizon} values ahead and to \
                 back-test that takes at least {needed}"
            );
            return Err(Error::config("--horizon", reason).with_hint("choose a shorter horizon"));
        }
        let season = seasons.first().copied().unwrap_or(1);
        // A longer season is looked back for where a window of it leaves half of the rows to learn from.
        let longest = seasons.iter().copied().filter(|season| 2 * season <= (shortest - others) / 2).max();
        let wanted = match season {
            0 | 1 => WITHOUT_SEASON.max(horizon),
            _ => (SEASONS * season).max(longest.unwrap_or(0) + season).max(horizon),
        };
        let look_back = wanted.min(LONGEST).min(shortest - others).max(SHORTEST);
        let together = if panel.is_aligned() { panel.len() } else { 1 };
        Ok(Self { look_back, horizon, season, batch: (ROWS / together).clamp(1, 32) })
    }

    /// An experiment that keeps so many rows at the end for validation and for tests.
    pub(super) fn experiment(&self, [valid_rows, test_rows]: [usize; 2], seed: u64) -> SeriesExperiment {
        let patch = match self.season {
            0 | 1 => (self.look_back / 4).max(1),
            season => season.min(24),
        };
        let patch = patch.min(self.look_back / 2).max(1);
        let model = PatchTstConfig {
            look_back: self.look_back,
            horizon: self.horizon,
            patch_len: patch,
            stride: (patch / 2).max(1),
            layers: 2,
            width: 32,
            heads: 4,
            feedforward_width: 64,
            dropout: 0.1,
            // A few windows are no ground for a map of whole ones.
            linear_skip: Shortcut::None,
            ..PatchTstConfig::regard_series()
        };
        let train = TrainSettings {
            batch_size: self.batch,
            epochs: (STEPS * USUAL / self.look_back).clamp(FEWEST_STEPS, STEPS),
            steps_per_epoch: 1,
            learning_rate: 2e-3,
            loss: NumberLoss::Huber,
            ema_decay: 0.97,
            warmup_epochs: 20.0,
            select: Select::Last,
            seed,
            ..training_preset("regard-series")
        };
        SeriesExperiment {
            task: SeriesTaskSettings { kind: SeriesTask::Forecast, horizon: self.horizon },
            data: SeriesData {
                split: SeriesSplit::Rows,
                validation_rows: valid_rows,
                test_rows,
                ..SeriesData::default()
            },
            model,
            train,
            eval: SeriesEval { intervals: false, ..SeriesEval::default() },
        }
    }
}
