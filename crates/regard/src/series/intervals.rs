//! Intervals around forecasts, learnt from what a network was off by on the validation rows (split conformal
//! prediction, Vovk et al. 2005; one width for each step ahead).

use super::batch::Batch;
use crate::supervised::intervals::half_width;

/// Levels whose widths a model keeps, in percent.
pub(super) const LEVELS: [f64; 9] = [50.0, 60.0, 70.0, 80.0, 85.0, 90.0, 95.0, 98.0, 99.0];

/// Numbers that are kept for all steps together, at most.
const MOST: usize = 8_000_000;

/// Absolute errors of forecasts, by step ahead.
#[derive(Clone, Debug)]
pub struct Residuals {
    /// `[horizon][windows]`, in deviations of the series.
    off: Vec<Vec<f32>>,
    /// Every so many samples are kept, each with all its series.
    every: usize,
    /// Samples that were added.
    seen: usize,
}

impl Residuals {
    /// None yet, of so many windows.
    pub(super) fn new(horizon: usize, windows: usize) -> Self {
        let every = (windows * horizon).div_ceil(MOST).max(1);
        Self { off: vec![Vec::new(); horizon], every, seen: 0 }
    }

    /// Adds the forecasts `[rows, horizon]` of a batch.
    pub(super) fn add(&mut self, batch: &Batch, forecasts: &[f32]) {
        let horizon = batch.horizon;
        let channels = batch.shape[1].max(1);
        let first = self.seen;
        self.seen += batch.shape[0];
        for (row, forecast) in forecasts.chunks_exact(horizon).enumerate() {
            // Every so many rows could be those of one series.
            if !(first + row / channels).is_multiple_of(self.every) {
                continue;
            }
            for (step, predicted) in forecast.iter().enumerate() {
                let at = row * horizon + step;
                if batch.counted.get(at).copied().unwrap_or(true) {
                    self.off[step].push((predicted - batch.targets[at]).abs());
                }
            }
        }
    }

    /// Half widths that hold each level's share, `[levels][horizon]`, of the first of [`LEVELS`]: those for which every
    /// step has enough errors.
    pub(super) fn widths(mut self) -> Vec<Vec<f32>> {
        self.off.iter_mut().for_each(|step| step.sort_by(f32::total_cmp));
        let of_level = |&level: &f64| self.off.iter().map(|step| half_width(step, step.len(), level)).collect();
        LEVELS.iter().map_while(of_level).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch of forecasts of three series that are off by 1, 2 and 3.
    fn three_series(residuals: &mut Residuals, samples: usize) {
        let batch = Batch { shape: [samples, 3], horizon: 1, targets: vec![0.0; 3 * samples], ..Batch::default() };
        residuals.add(&batch, &[1.0, 2.0, 3.0].repeat(samples));
    }

    #[test]
    fn levels_that_need_more_windows_have_no_width() {
        let widths = |windows: usize| {
            let targets = vec![0.0; 2 * windows];
            let batch = Batch { shape: [windows, 1], horizon: 2, targets, ..Batch::default() };
            let mut residuals = Residuals::new(2, windows);
            let forecasts: Vec<f32> = (1..=windows).flat_map(|window| [window as f32, 10.0 * window as f32]).collect();
            residuals.add(&batch, &forecasts);
            residuals.widths()
        };
        assert_eq!(widths(0), Vec::<Vec<f32>>::new());
        // 50 to 80 % of 4 windows.
        assert_eq!(widths(4), [[3.0, 30.0], [3.0, 30.0], [4.0, 40.0], [4.0, 40.0]]);
        assert_eq!([1, 8, 9, 18, 19, 98, 99].map(|windows| widths(windows).len()), [1, 5, 6, 6, 7, 8, 9]);
        assert_eq!(widths(99)[8], [99.0, 990.0]);
    }

    #[test]
    fn samples_are_kept_with_all_their_series() {
        let mut residuals = Residuals { off: vec![vec![]], every: 3, seen: 0 };
        [2, 5, 2].into_iter().for_each(|samples| three_series(&mut residuals, samples));
        assert_eq!(residuals.off, [[1.0, 2.0, 3.0].repeat(3)]);
    }
}
