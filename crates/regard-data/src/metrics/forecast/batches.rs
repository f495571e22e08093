//! Mean errors over batches, as published codes compute them.

/// Errors averaged batch by batch, as the codes around PatchTST (Nie et al. 2023) do: the mean of the means of the
/// full batches. The latest windows, which do not fill a batch, are left out. The result depends on the size of
/// batches; [`ForecastErrors`](super::ForecastErrors) does not.
///
/// ```
/// use regard_data::metrics::forecast::BatchMeans;
///
/// let mut means = BatchMeans::new(2);
/// for error in [1.0, 3.0, 6.0] {
///     means.add(&[error], &[0.0], &[true]);
/// }
/// assert_eq!((means.mae(), means.dropped()), (2.0, 1));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BatchMeans {
    batch: usize,
    /// Squared and absolute errors, and targets, of the batch that is being filled.
    open: [f64; 3],
    windows: usize,
    /// Sums of the full batches' means, and how many there are.
    squared: f64,
    absolute: f64,
    full: usize,
}

impl BatchMeans {
    /// No windows yet, in batches of this size.
    ///
    /// # Panics
    /// If the size is 0.
    #[must_use]
    pub fn new(batch: usize) -> Self {
        assert!(batch > 0, "batches of at least one window");
        Self { batch, open: [0.0; 3], windows: 0, squared: 0.0, absolute: 0.0, full: 0 }
    }

    /// Adds a window, all its series together, `[series, horizon]` each.
    ///
    /// # Panics
    /// If lengths differ.
    pub fn add(&mut self, forecast: &[f32], truth: &[f32], observed: &[bool]) {
        assert!(forecast.len() == truth.len() && truth.len() == observed.len(), "a forecast for each target");
        for at in (0..truth.len()).filter(|at| observed[*at]) {
            let error = f64::from(forecast[at]) - f64::from(truth[at]);
            self.open[0] += error * error;
            self.open[1] += error.abs();
            self.open[2] += 1.0;
        }
        self.windows += 1;
        if self.windows == self.batch {
            let [squared, absolute, count] = self.open;
            if count > 0.0 {
                self.squared += squared / count;
                self.absolute += absolute / count;
                self.full += 1;
            }
            (self.open, self.windows) = ([0.0; 3], 0);
        }
    }

    /// Mean squared error; NaN without a batch that counts.
    #[must_use]
    pub fn mse(&self) -> f64 {
        self.squared / self.full as f64
    }

    /// Mean absolute error; NaN without a batch that counts.
    #[must_use]
    pub fn mae(&self) -> f64 {
        self.absolute / self.full as f64
    }

    /// The number of windows that are left out: those after the last full batch.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_without_targets_and_without_windows() {
        let mut means = BatchMeans::new(1);
        assert!(means.mse().is_nan());
        means.add(&[5.0, 1.0], &[0.0, 0.0], &[false, true]);
        means.add(&[5.0], &[0.0], &[false]);
        assert_eq!((means.mse(), means.mae(), means.dropped()), (1.0, 1.0, 0));
        let mut dropped = BatchMeans::new(128);
        (0..2785).for_each(|_| dropped.add(&[2.0], &[0.0], &[true]));
        assert_eq!((dropped.mse(), dropped.dropped()), (4.0, 97));
    }
}
