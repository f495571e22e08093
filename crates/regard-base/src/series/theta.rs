//! The theta method and its optimised and dynamic forms (Assimakopoulos & Nikolopoulos 2000; Fiorucci et al. 2016), as
//! one state-space model; the one with the smallest squared error in the sample is chosen, as AutoTheta does.

use super::simplex_search::minimise;

/// A model of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThetaModel {
    /// Standard theta model: a fixed line, theta 2.
    Standard,
    /// A fixed line, theta fitted.
    Optimised,
    /// A line that follows the values, theta 2.
    Dynamic,
    /// A line that follows the values, theta fitted.
    DynamicOptimised,
}

const MODELS: [ThetaModel; 4] =
    [ThetaModel::Standard, ThetaModel::Optimised, ThetaModel::Dynamic, ThetaModel::DynamicOptimised];

impl ThetaModel {
    fn is_dynamic(self) -> bool {
        matches!(self, Self::Dynamic | Self::DynamicOptimised)
    }

    fn fits_theta(self) -> bool {
        matches!(self, Self::Optimised | Self::DynamicOptimised)
    }
}

/// A fitted model.
#[derive(Debug, Clone)]
pub(super) struct ThetaFit {
    pub(super) model: ThetaModel,
    /// First level, alpha and theta.
    pub(super) parameters: [f64; 3],
    pub(super) error: f64,
}

/// Level, mean of the values, and the line's two coefficients.
#[derive(Clone, Copy)]
struct State {
    level: f64,
    mean: f64,
    line: [f64; 2],
    /// `(1 - alpha)^i`
    power: f64,
}

impl State {
    /// The value one step ahead of row `at`.
    fn next(&self, alpha: f64, theta: f64) -> f64 {
        let [a, b] = self.line;
        let power = self.power;
        self.level + (1.0 - 1.0 / theta) * (a * power + b * (1.0 - power * (1.0 - alpha)) / alpha)
    }

    fn update(&mut self, at: usize, value: f64, alpha: f64, dynamic: bool) {
        let i = at as f64;
        self.level += alpha * (value - self.level);
        let mean = self.mean;
        self.mean = (i * mean + value) / (i + 1.0);
        if dynamic {
            let slope = ((i - 1.0) * self.line[1] + 6.0 * (value - mean) / (i + 1.0)) / (i + 2.0);
            self.line = [self.mean - slope * (i + 2.0) / 2.0, slope];
        }
        self.power *= 1.0 - alpha;
    }
}

/// Runs over the values; gives the state after them and the sum of squared errors from the fourth value on.
fn run(values: &[f64], line: [f64; 2], model: ThetaModel, [level, alpha, theta]: [f64; 3]) -> (State, f64) {
    let first = values[0];
    let line = if model.is_dynamic() { [first, 0.0] } else { line };
    let level = alpha * first + (1.0 - alpha) * level;
    let mut state = State { level, mean: first, line, power: 1.0 - alpha };
    let mut squares = 0.0;
    for (at, value) in values.iter().enumerate().skip(1) {
        let error = value - state.next(alpha, theta);
        if at >= 3 {
            squares += error * error;
        }
        state.update(at, *value, alpha, model.is_dynamic());
    }
    (state, squares)
}

/// The least-squares line over the values, at rows counted from 1: first coefficient and slope.
fn line(values: &[f64]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let product = values.iter().enumerate().map(|(at, value)| (at + 1) as f64 * value).sum::<f64>() / n;
    let slope = 6.0 * (2.0 * product - (1.0 + n) * mean) / (n * n - 1.0);
    [mean - (n + 1.0) * slope / 2.0, slope]
}

/// Fits one model. `start` warms the search up.
fn fit(values: &[f64], model: ThetaModel, start: Option<[f64; 3]>) -> ThetaFit {
    let line = line(values);
    let [level, alpha, theta] = start.unwrap_or([values[0], 0.5, 2.0]);
    let bounds = [[-1e3, 1e3], [0.1, 0.99], [1.0, 1e4]];
    let free = if model.fits_theta() { 3 } else { 2 };
    let of = |point: &[f64]| [point[0], point[1], point.get(2).copied().unwrap_or(2.0)];
    let evaluations = if start.is_some() { 60 } else { 80 * free };
    let found =
        minimise(|point| run(values, line, model, of(point)).1, &[level, alpha, theta][..free], &bounds, evaluations);
    ThetaFit { model, parameters: of(&found.point), error: found.value }
}

/// The best model of the family for values without a season, and at least three of them; `last` is the fit to
/// earlier values, whose model is kept.
pub(super) fn fit_theta(values: &[f64], last: Option<&ThetaFit>) -> ThetaFit {
    match last {
        Some(last) => fit(values, last.model, Some(last.parameters)),
        None => {
            let mut fits: Vec<ThetaFit> = MODELS.iter().map(|&model| fit(values, model, None)).collect();
            fits.sort_by(|a, b| a.error.total_cmp(&b.error));
            fits.swap_remove(0)
        }
    }
}

impl ThetaFit {
    /// The values after the last.
    pub(super) fn forecast(&self, values: &[f64], horizon: usize) -> Vec<f64> {
        let [_, alpha, theta] = self.parameters;
        let (mut state, _) = run(values, line(values), self.model, self.parameters);
        let step = |step: usize| {
            let next = state.next(alpha, theta);
            state.update(values.len() + step, next, alpha, self.model.is_dynamic());
            next
        };
        (0..horizon).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_continued_and_constants_kept() {
        let values: Vec<f64> = (0..60).map(|at| 0.1 + 0.01 * at as f64).collect();
        let forecast = fit_theta(&values, None).forecast(&values, 6);
        for (step, value) in forecast.iter().enumerate() {
            assert!((value - (0.7 + 0.01 * step as f64)).abs() < 0.01, "{forecast:?}");
        }
        let constant = [0.5; 20];
        assert!(fit_theta(&constant, None).forecast(&constant, 5).iter().all(|value| (value - 0.5).abs() < 1e-3));
    }
}
