//! Metrics of quantiles and intervals.

/// The pinball loss of quantile forecasts: `level (y - f)` where the truth is above the forecast, `(1 - level)
/// (f - y)` where it is below (Koenker and Bassett 1978). Some programs print twice as much.
///
/// ```
/// use regard_data::metrics::forecast::Pinball;
///
/// let mut loss = Pinball::new(&[0.5, 0.75]);
/// loss.add(&[1.0, 3.0], &[2.0], &[true]);
/// assert_eq!(loss.by_level(), [0.5, 0.25]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pinball {
    levels: Vec<f64>,
    sums: Vec<f64>,
    count: u64,
}

impl Pinball {
    /// No forecasts yet, for these levels between 0 and 1.
    #[must_use]
    pub fn new(levels: &[f64]) -> Self {
        Self { levels: levels.to_vec(), sums: vec![0.0; levels.len()], count: 0 }
    }

    /// Adds a window: forecasts `[levels, horizon]`, truth and which of it is not missing `[horizon]`.
    ///
    /// # Panics
    /// If lengths do not fit.
    pub fn add(&mut self, forecasts: &[f32], truth: &[f32], observed: &[bool]) {
        let horizon = truth.len();
        assert!(forecasts.len() == self.levels.len() * horizon && observed.len() == horizon, "a forecast for each");
        for (at, (level, sum)) in self.levels.iter().zip(&mut self.sums).enumerate() {
            for step in (0..horizon).filter(|step| observed[*step]) {
                let above = f64::from(truth[step]) - f64::from(forecasts[at * horizon + step]);
                *sum += if above > 0.0 { level * above } else { (level - 1.0) * above };
            }
        }
        self.count += observed.iter().filter(|observed| **observed).count() as u64;
    }

    /// Adds what another has summed up.
    ///
    /// # Panics
    /// If it has other levels.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.levels, other.levels, "the same levels");
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
        self.count += other.count;
    }

    /// The mean loss of each level; NaN without targets.
    #[must_use]
    pub fn by_level(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.count as f64).collect()
    }

    /// The mean of all levels' losses.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.by_level().iter().sum::<f64>() / self.levels.len() as f64
    }
}

/// The coverage of intervals, and their mean width.
///
/// ```
/// use regard_data::metrics::forecast::Intervals;
///
/// let mut intervals = Intervals::new(2);
/// intervals.add(&[0.0, 0.0], &[2.0, 4.0], &[1.0, 5.0], &[true, true]);
/// assert_eq!((intervals.coverage(), intervals.width()), (0.5, 3.0));
/// assert_eq!(intervals.coverage_by_step(), [1.0, 0.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    inside: Vec<u64>,
    counts: Vec<u64>,
    width: f64,
}

impl Intervals {
    /// No intervals yet, for so many steps.
    #[must_use]
    pub fn new(horizon: usize) -> Self {
        Self { inside: vec![0; horizon], counts: vec![0; horizon], width: 0.0 }
    }

    /// Adds a window, `[horizon]` each; ends belong to an interval.
    ///
    /// # Panics
    /// If lengths do not fit.
    pub fn add(&mut self, low: &[f32], high: &[f32], truth: &[f32], observed: &[bool]) {
        let horizon = self.counts.len();
        assert!([low.len(), high.len(), truth.len(), observed.len()] == [horizon; 4], "an interval for each target");
        for step in (0..horizon).filter(|step| observed[*step]) {
            self.inside[step] += u64::from((low[step]..=high[step]).contains(&truth[step]));
            self.counts[step] += 1;
            self.width += f64::from(high[step]) - f64::from(low[step]);
        }
    }

    /// Adds what another has summed up.
    ///
    /// # Panics
    /// If it has another number of steps.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.counts.len(), other.counts.len(), "the same horizon");
        self.inside.iter_mut().zip(&other.inside).for_each(|(sum, more)| *sum += more);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, more)| *sum += more);
        self.width += other.width;
    }

    /// The share of targets that lie in their interval; NaN without targets.
    #[must_use]
    pub fn coverage(&self) -> f64 {
        self.inside.iter().sum::<u64>() as f64 / self.count()
    }

    /// The same for each step of the horizon.
    #[must_use]
    pub fn coverage_by_step(&self) -> Vec<f64> {
        self.inside.iter().zip(&self.counts).map(|(inside, count)| *inside as f64 / *count as f64).collect()
    }

    /// The mean width; NaN without targets.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.width / self.count()
    }

    fn count(&self) -> f64 {
        self.counts.iter().sum::<u64>() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_targets_are_left_out_and_merging_is_adding() {
        let mut loss = Pinball::new(&[0.25, 0.75]);
        loss.add(&[4.0, 0.0, 0.0, 0.0], &[0.0, f32::NAN], &[true, false]);
        assert_eq!(loss.by_level(), [3.0, 0.0]);
        let mut more = Pinball::new(&[0.25, 0.75]);
        more.merge(&loss);
        assert_eq!((more.mean(), &more), (1.5, &loss));
        assert!(Pinball::new(&[0.5]).mean().is_nan());

        let mut intervals = Intervals::new(2);
        intervals.add(&[1.0, 0.0], &[1.0, 9.0], &[1.0, f32::NAN], &[true, false]);
        let mut all = Intervals::new(2);
        all.merge(&intervals);
        assert_eq!((all.coverage(), all.width(), &all), (1.0, 0.0, &intervals));
        assert!(all.coverage_by_step()[1].is_nan() && Intervals::new(0).coverage().is_nan());
    }
}
