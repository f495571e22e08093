//! Mean errors over batches, as published codes compute them.

/// Errors averaged batch by batch, as the codes around PatchTST (Nie et al. 2023) do: the mean of the batches'
/// means, in which windows of a small last batch weigh more, or that batch dropped, in which case the latest
/// windows are not measured at all. Both depend on the size of batches; [`ForecastErrors`](super::ForecastErrors)
/// does not.
///
/// ```
/// use regard_data::metrics::forecast::BatchMeans;
///
/// let (mut all, mut dropped) = (BatchMeans::new(2, false), BatchMeans::new(2, true));
/// for error in [1.0, 3.0, 6.0] {
///     all.add(&[error], &[0.0], &[true]);
///     dropped.add(&[error], &[0.0], &[true]);
/// }
/// assert_eq!((all.mae(), all.dropped()), (4.0, 0));
/// assert_eq!((dropped.mae(), dropped.dropped()), (2.0, 1));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BatchMeans {
    batch: usize,
    drop_last: bool,
    /// Squared and absolute errors, and targets, of the batch that is being filled.
    open: [f64; 3],
    windows: usize,
    /// Sums of the full batches' means, and how many there are.
    squared: f64,
    absolute: f64,
    full: usize,
}

impl BatchMeans {
    /// No windows yet, in batches of this size; `drop_last` leaves out the last one if it is smaller.
    ///
    /// # Panics
    /// If the size is 0.
    #[must_use]
    pub fn new(batch: usize, drop_last: bool) -> Self {
        assert!(batch > 0, "batches of at least one window");
        Self { batch, drop_last, open: [0.0; 3], windows: 0, squared: 0.0, absolute: 0.0, full: 0 }
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
            [self.squared, self.absolute] = self.with_open();
            self.full += usize::from(self.open[2] > 0.0);
            (self.open, self.windows) = ([0.0; 3], 0);
        }
    }

    /// Sums with the batch that is being filled.
    fn with_open(&self) -> [f64; 2] {
        let [squared, absolute, count] = self.open;
        if count == 0.0 {
            return [self.squared, self.absolute];
        }
        [self.squared + squared / count, self.absolute + absolute / count]
    }

    fn mean(&self, of: usize) -> f64 {
        match self.drop_last || self.open[2] == 0.0 {
            true => [self.squared, self.absolute][of] / self.full as f64,
            false => self.with_open()[of] / (self.full + 1) as f64,
        }
    }

    /// Mean squared error; NaN without a batch that counts.
    #[must_use]
    pub fn mse(&self) -> f64 {
        self.mean(0)
    }

    /// Mean absolute error; NaN without a batch that counts.
    #[must_use]
    pub fn mae(&self) -> f64 {
        self.mean(1)
    }

    /// The number of windows that are left out.
    #[must_use]
    pub fn dropped(&self) -> usize {
        if self.drop_last { self.windows } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_without_targets_and_without_windows() {
        let mut means = BatchMeans::new(1, false);
        assert!(means.mse().is_nan());
        means.add(&[5.0, 1.0], &[0.0, 0.0], &[false, true]);
        means.add(&[5.0], &[0.0], &[false]);
        assert_eq!((means.mse(), means.mae(), means.dropped()), (1.0, 1.0, 0));
        let mut dropped = BatchMeans::new(128, true);
        (0..2785).for_each(|_| dropped.add(&[2.0], &[0.0], &[true]));
        assert_eq!((dropped.mse(), dropped.dropped()), (4.0, 97));
    }
}
