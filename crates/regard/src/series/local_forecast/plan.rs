//! The sizes of the networks for a file, and their training.

use regard_data::series::{Panel, are_aligned};

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

/// Sizes of the networks, and their series.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Numbers of the series that the networks learn from and forecast.
    pub(super) series: Vec<usize>,
    /// Rows that each of these has at least.
    pub(super) needed: usize,
    pub(super) look_back: usize,
    pub(super) horizon: usize,
    pub(super) season: usize,
    /// Windows of a step.
    batch: usize,
}

impl Plan {
    /// The plan for the series of a panel, the last `unseen` rows of which a network does not learn from. Series too
    /// short for that are left out.
    ///
    /// # Errors
    /// [`Error::Config`] where most rows are those of series too short, with the rows that are needed.
    pub(super) fn of(panel: &Panel, options: &LocalForecastOptions, seasons: &[usize], unseen: usize) -> Result<Self> {
        let horizon = options.horizon;
        // Rows that are not seen, and the targets of some windows to learn from.
        let others = unseen + horizon + (horizon / 2).max(1);
        let needed = others + SHORTEST;
        let rows = |at: usize| panel.series()[at].len();
        let series: Vec<usize> = (0..panel.len()).filter(|at| rows(*at) >= needed).collect();
        let known = series.iter().map(|at| rows(*at)).sum::<usize>();
        // A few new series do not take the network from the others. Rows count and not series: even many new series
        // have few rows to learn from, and a network that sees most of the rows sees most of what the file says.
        if series.is_empty() || 2 * known < (0..panel.len()).map(rows).sum() {
            return Err(too_short(panel, horizon, needed));
        }
        let shortest = series.iter().map(|at| rows(*at)).min().unwrap_or(0);
        let season = seasons.first().copied().unwrap_or(1);
        // A longer season is looked back for where a window of it leaves half of the rows to learn from.
        let longest = seasons.iter().copied().filter(|season| 2 * season <= (shortest - others) / 2).max();
        let wanted = match season {
            0 | 1 => WITHOUT_SEASON.max(horizon),
            _ => (SEASONS * season).max(longest.unwrap_or(0) + season).max(horizon),
        };
        let look_back = wanted.min(LONGEST).min(shortest - others).max(SHORTEST);
        let is_aligned = are_aligned(series.iter().map(|at| &panel.series()[*at]));
        let together = if is_aligned { series.len() } else { 1 };
        Ok(Self { series, needed, look_back, horizon, season, batch: (ROWS / together).clamp(1, 32) })
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

/// The error of series of which most rows are those of short ones.
fn too_short(panel: &Panel, horizon: usize, needed: usize) -> Error {
    let longest = panel.series().iter().map(|one| one.len()).max().unwrap_or(0);
    let found = match longest < needed {
        true if panel.len() == 1 => format!("the series has {longest} rows"),
        true => format!("the longest series has {longest} rows"),
        false => format!("series with fewer than {needed} rows have most of the rows"),
    };
    let reason = format!(
        "is {horizon}, and {found}; to learn {horizon} values ahead and to back-test that takes at least {needed}"
    );
    Error::config("--horizon", reason).with_hint("choose a shorter horizon")
}

#[cfg(test)]
mod tests {
    use regard_base::series::Budget;
    use regard_data::series::{Clock, Series};

    use super::*;

    fn plan(lengths: &[usize]) -> Result<Plan> {
        let series = lengths.iter().enumerate().map(|(at, rows)| Series::new(at.to_string(), 0, vec![1.0; *rows]));
        let panel = Panel::new(Clock::steps(), series.collect()).unwrap();
        let options = LocalForecastOptions {
            horizon: 7,
            levels: vec![],
            seasons: vec![],
            only: None,
            pretrained: None,
            keep_outliers: false,
            budget: Budget::unlimited(),
            seed: 1,
        };
        Plan::of(&panel, &options, &[7], 40)
    }

    #[test]
    fn short_series_are_left_out_and_do_not_shorten_the_windows() {
        let all = plan(&[200, 200]).unwrap();
        assert_eq!((&all.series[..], all.look_back, all.needed, all.batch), (&[0, 1][..], 21, 54, 32));
        let some = plan(&[3, 200, 53, 200]).unwrap();
        assert_eq!((&some.series[..], some.look_back, some.batch), (&[1, 3][..], 21, all.batch));
        // Many new series have few rows.
        assert_eq!(plan(&[&[3; 20][..], &[200]].concat()).unwrap().series, [20]);
    }

    #[test]
    fn series_of_which_most_rows_are_those_of_short_ones_have_no_network() {
        let said = |lengths: &[usize]| plan(lengths).unwrap_err().to_string();
        assert!(
            said(&[53]).contains("the series has 53 rows") && said(&[53]).contains("at least 54"),
            "{}",
            said(&[53])
        );
        assert!(said(&[3, 50]).contains("the longest series has 50 rows"));
        assert!(said(&[50, 50, 60]).contains("series with fewer than 54 rows have most of the rows"));
    }
}
