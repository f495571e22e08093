//! Exponential smoothing in state-space form, ETS (Hyndman et al. 2002, 2008): additive and multiplicative errors, trends
//! that are absent, additive or damped, seasons that are absent, additive or multiplicative. All admissible models are
//! fitted by maximum likelihood and combined by their Akaike weights (Kolassa 2011).

use super::decomposition::{Seasonal, classical};
use super::simplex_search::minimise;

/// A season of more steps is left to decompositions.
pub(super) const LONGEST_SEASON: usize = 24;
/// The longest history that is fitted.
pub(super) const MOST_ROWS: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    None,
    Additive,
    Multiplicative,
}

/// A model of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spec {
    multiplicative_error: bool,
    trend: bool,
    damped: bool,
    season: Part,
}

/// A fitted model: its parameters and the states after the last value.
#[derive(Debug, Clone)]
pub(super) struct EtsFit {
    spec: Spec,
    point: Vec<f64>,
    /// Corrected Akaike criterion.
    pub(super) aicc: f64,
    level: f64,
    slope: f64,
    phi: f64,
    /// The next season's parts, `[season]`; empty without a season.
    season: Vec<f64>,
}

/// States before the first value.
#[derive(Debug, Clone)]
struct Start {
    level: f64,
    slope: f64,
    season: Vec<f64>,
    spread: f64,
}

/// Smoothing parameters.
#[derive(Clone, Copy)]
struct Smoothing {
    alpha: f64,
    beta: f64,
    gamma: f64,
    phi: f64,
}

struct States {
    level: f64,
    slope: f64,
    season: Vec<f64>,
}

/// Runs over the values; minus twice the log likelihood, without constants. Not finite where the model breaks down.
fn run(values: &[f64], spec: Spec, smoothing: Smoothing, states: &mut States) -> f64 {
    let Smoothing { alpha, beta, gamma, phi } = smoothing;
    let (mut level, mut slope) = (states.level, states.slope);
    let m = states.season.len();
    let mut place = 0;
    let (mut squares, mut logarithms) = (0.0, 0.0);
    // Products are gathered and their logarithm taken now and then: a logarithm a row would be half the time.
    let mut product = 1.0f64;
    for &value in values {
        let base = level + phi * slope;
        let part = if m > 0 { states.season[place] } else { 0.0 };
        let (fit, without) = match spec.season {
            Part::None => (base, value),
            Part::Additive => (base + part, value - part),
            Part::Multiplicative => (base * part, value / part),
        };
        let error = value - fit;
        if spec.multiplicative_error {
            if fit <= 1e-10 {
                return f64::INFINITY;
            }
            let relative = error / fit;
            squares += relative * relative;
            product *= fit;
            if !(1e-100..1e100).contains(&product) {
                logarithms += product.ln();
                product = 1.0;
            }
        } else {
            squares += error * error;
        }
        let next = base + alpha * (without - base);
        slope = phi * slope + beta * (next - level - phi * slope);
        level = next;
        if m > 0 {
            let target = if spec.season == Part::Multiplicative { value / base } else { value - base };
            states.season[place] = part + gamma * (target - part);
            place += 1;
            if place == m {
                place = 0;
            }
        }
    }
    (states.level, states.slope) = (level, slope);
    if m > 0 {
        states.season.rotate_left(place);
    }
    logarithms += product.ln();
    // A perfect fit has a likelihood without bound.
    let n = values.len() as f64;
    n * (squares / n).max(1e-18).ln() + 2.0 * logarithms
}

/// The least-squares line at rows counted from 1.
fn line(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let (mean, middle) = (values.iter().sum::<f64>() / n, (n + 1.0) / 2.0);
    let (mut product, mut square) = (0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        let x = (at + 1) as f64 - middle;
        product += x * (value - mean);
        square += x * x;
    }
    let slope = if square > 0.0 { product / square } else { 0.0 };
    (mean - slope * middle, slope)
}

fn start(values: &[f64], spec: Spec, season: usize) -> Option<Start> {
    let seasonal = match spec.season {
        Part::None => Seasonal::none(),
        part => classical(values, season, part == Part::Multiplicative)?,
    };
    let first = (2 * season).max(10).min(values.len());
    let without: Vec<f64> = values[..first].iter().enumerate().map(|(at, value)| seasonal.remove(at, *value)).collect();
    let mean = without.iter().sum::<f64>() / first as f64;
    let spread = (without.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / first as f64).sqrt();
    let (level, slope) = if spec.trend { line(&without) } else { (mean, 0.0) };
    let season = if spec.season == Part::None { vec![] } else { seasonal.places };
    Some(Start { level, slope, season, spread })
}

impl Spec {
    /// Searched coordinates: alpha, beta and gamma as shares of what alpha leaves them, phi, then shifts of the first
    /// level and slope in spreads.
    fn bounds(self, free_start: bool) -> Vec<[f64; 2]> {
        let mut bounds = vec![[1e-4, 0.9999]];
        if self.trend {
            bounds.push([1e-4, 0.9999]);
        }
        if self.season != Part::None {
            bounds.push([1e-4, 0.9999]);
        }
        if self.damped {
            bounds.push([0.8, 0.98]);
        }
        if free_start {
            bounds.push([-3.0, 3.0]);
            if self.trend {
                bounds.push([-1.0, 1.0]);
            }
        }
        bounds
    }

    fn read(self, point: &[f64]) -> (Smoothing, [f64; 2]) {
        let mut rest = point.iter().copied();
        let mut next = || rest.next().unwrap_or(0.0);
        let alpha = next();
        let beta = if self.trend { next() } else { 0.0 };
        let gamma = if self.season == Part::None { 0.0 } else { next() * (1.0 - alpha) };
        let phi = if self.damped { next() } else { 1.0 };
        let shift = next();
        let slope_shift = if self.trend { next() } else { 0.0 };
        (Smoothing { alpha, beta, gamma, phi }, [shift, slope_shift])
    }

    /// Parameters and first states, as the criterion counts them.
    fn count(self, season: usize) -> f64 {
        let seasonal = if self.season == Part::None { 0 } else { season };
        let trend = if self.trend { 2 } else { 0 };
        (3 + trend + usize::from(self.damped) + seasonal) as f64
    }
}

/// Fits one model; `warm` is the point where the search begins. `None` where the model does not suit the values.
fn fit(values: &[f64], spec: Spec, season: usize, warm: Option<&[f64]>) -> Option<EtsFit> {
    let n = values.len() as f64;
    let count = spec.count(season);
    if n - count - 1.0 < 1.0 {
        return None;
    }
    let start = start(values, spec, season)?;
    // The first states matter in short series only.
    let free_start = values.len() <= 150;
    let bounds = spec.bounds(free_start);
    let mut first = vec![0.3];
    if spec.trend {
        first.push(0.1);
    }
    if spec.season != Part::None {
        first.push(0.1);
    }
    if spec.damped {
        first.push(0.95);
    }
    first.resize(bounds.len(), 0.0);
    if let Some(warm) = warm {
        first.iter_mut().zip(warm).for_each(|(first, warm)| *first = *warm);
    }
    let mut states = States { level: 0.0, slope: 0.0, season: start.season.clone() };
    let begin = |states: &mut States, [shift, slope_shift]: [f64; 2]| {
        states.level = start.level + shift * start.spread;
        states.slope = start.slope + slope_shift * start.spread;
        states.season.copy_from_slice(&start.season);
    };
    let evaluations = if warm.is_some() { 25 * bounds.len() } else { 50 * bounds.len() };
    let objective = |point: &[f64]| {
        let (smoothing, shifts) = spec.read(point);
        begin(&mut states, shifts);
        run(values, spec, smoothing, &mut states)
    };
    let found = minimise(objective, &first, &bounds, evaluations);
    if found.value >= f64::MAX {
        return None;
    }
    let (smoothing, shifts) = spec.read(&found.point);
    begin(&mut states, shifts);
    run(values, spec, smoothing, &mut states);
    let aicc = found.value + 2.0 * count + 2.0 * count * (count + 1.0) / (n - count - 1.0);
    let States { level, slope, season } = states;
    let sound = level.is_finite() && slope.is_finite() && season.iter().all(|part| part.is_finite());
    (sound && aicc.is_finite()).then_some(EtsFit {
        spec,
        point: found.point,
        aicc,
        level,
        slope,
        phi: smoothing.phi,
        season,
    })
}

/// Fits to a history.
#[derive(Debug, Clone, Default)]
pub(super) struct Ets {
    /// The best first.
    pub(super) fits: Vec<EtsFit>,
}

impl Ets {
    /// Fits all admissible models, the season only where it is at most [`LONGEST_SEASON`] steps long and fits twice
    /// into the values. Of `last`, the fits to earlier values, only the best models are fitted again.
    pub(super) fn fit(values: &[f64], season: usize, positive: bool, last: Option<&Self>) -> Self {
        let values = &values[values.len().saturating_sub(MOST_ROWS)..];
        let seasonal = (2..=LONGEST_SEASON).contains(&season) && values.len() >= 2 * season + 3;
        let mut fits: Vec<EtsFit> = match last.filter(|last| !last.fits.is_empty()) {
            Some(last) => {
                let again = last.fits.iter().take(3);
                again.filter_map(|one| fit(values, one.spec, season, Some(&one.point))).collect()
            }
            None => {
                let specs = specs(seasonal, positive && values.iter().all(|value| *value > 1e-6));
                specs.into_iter().filter_map(|spec| fit(values, spec, season, None)).collect()
            }
        };
        fits.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
        Self { fits }
    }

    /// The mean of the models' forecasts, weighted by `exp(-AICc / 2)`; `None` if no model could be fitted.
    pub(super) fn forecast(&self, horizon: usize) -> Option<Vec<f64>> {
        let best = self.fits.first()?.aicc;
        let mut sum = vec![0.0; horizon];
        let mut total = 0.0;
        for fit in &self.fits {
            let weight = (-0.5 * (fit.aicc - best)).exp();
            if weight < 0.05 {
                break;
            }
            total += weight;
            sum.iter_mut().zip(fit.forecast(horizon)).for_each(|(sum, value)| *sum += weight * value);
        }
        sum.iter_mut().for_each(|value| *value /= total);
        Some(sum)
    }
}

fn specs(seasonal: bool, positive: bool) -> Vec<Spec> {
    let mut all = vec![];
    for multiplicative_error in [false, true] {
        for (trend, damped) in [(false, false), (true, false), (true, true)] {
            for season in [Part::None, Part::Additive, Part::Multiplicative] {
                // Additive errors with a multiplicative season are unstable.
                let error = !multiplicative_error || positive;
                let part = match season {
                    Part::None => true,
                    Part::Additive => seasonal,
                    Part::Multiplicative => seasonal && positive && multiplicative_error,
                };
                if error && part {
                    all.push(Spec { multiplicative_error, trend, damped, season });
                }
            }
        }
    }
    all
}

impl EtsFit {
    fn forecast(&self, horizon: usize) -> Vec<f64> {
        let (mut slopes, mut power) = (0.0, 1.0);
        let step = |step: usize| {
            power *= self.phi;
            slopes += power;
            let base = self.level + slopes * self.slope;
            match self.spec.season {
                Part::None => base,
                Part::Additive => base + self.season[step % self.season.len()],
                Part::Multiplicative => base * self.season[step % self.season.len()],
            }
        };
        (0..horizon).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_lines_and_seasons_are_continued() {
        let constant = [0.5; 30];
        let forecast = Ets::fit(&constant, 1, true, None).forecast(4).unwrap();
        assert!(forecast.iter().all(|value| (value - 0.5).abs() < 1e-6), "{forecast:?}");
        let wave = |at: usize| 0.5 + 0.002 * at as f64 + [0.1, -0.05, 0.0, -0.05][at % 4];
        let values: Vec<f64> = (0..60).map(wave).collect();
        let forecast = Ets::fit(&values, 4, true, None).forecast(8).unwrap();
        (0..8).for_each(|step| assert!((forecast[step] - wave(60 + step)).abs() < 5e-3, "{forecast:?}"));
        let growing = |at: usize| (0.01 + 0.002 * at as f64) * [1.3, 0.7, 0.9, 1.1][at % 4];
        let values: Vec<f64> = (0..80).map(growing).collect();
        let ets = Ets::fit(&values, 4, true, None);
        assert_eq!(ets.fits[0].spec.season, Part::Multiplicative);
        let forecast = ets.forecast(8).unwrap();
        (0..8).for_each(|step| assert!((forecast[step] / growing(80 + step) - 1.0).abs() < 0.05, "{forecast:?}"));
    }

    #[test]
    fn warm_fits_find_what_cold_ones_do() {
        let values: Vec<f64> =
            (0..100).map(|at| 0.4 + 0.003 * at as f64 + 0.05 * ((at * at % 17) as f64 / 17.0 - 0.5)).collect();
        let first = Ets::fit(&values[..80], 1, true, None);
        let (warm, cold) = (Ets::fit(&values, 1, true, Some(&first)), Ets::fit(&values, 1, true, None));
        let (warm, cold) = (warm.forecast(5).unwrap(), cold.forecast(5).unwrap());
        warm.iter().zip(&cold).for_each(|(a, b)| assert!((a - b).abs() < 0.02, "{warm:?} {cold:?}"));
    }

    #[test]
    fn too_short_histories_have_no_model() {
        for n in 0..5 {
            assert!(
                Ets::fit(&vec![0.1; n], 4, true, None).forecast(2).is_none_or(|one| one.iter().all(|v| v.is_finite()))
            );
        }
    }
}
