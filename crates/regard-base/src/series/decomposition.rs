//! Decompositions into trend, seasons and remainder: classical, and STL by LOESS for several seasons (Cleveland et al.
//! 1990; MSTL, Bandara et al. 2021).

/// Seasonal factors or terms of a classical decomposition, one for each place in the season, by the row in the series.
#[derive(Debug, Clone)]
pub(super) struct Seasonal {
    /// `[season]`, by the row modulo the season.
    pub(super) places: Vec<f64>,
    pub(super) multiplicative: bool,
}

impl Seasonal {
    pub(super) fn none() -> Self {
        Self { places: vec![0.0], multiplicative: false }
    }

    /// The value without its season.
    pub(super) fn remove(&self, at: usize, value: f64) -> f64 {
        let place = self.places[at % self.places.len()];
        if self.multiplicative { value / place } else { value - place }
    }

    /// The value with its season.
    pub(super) fn add(&self, at: usize, value: f64) -> f64 {
        let place = self.places[at % self.places.len()];
        if self.multiplicative { value * place } else { value + place }
    }
}

/// The centred moving mean over a season, which is missing (NaN) for half a season at both ends.
fn moving_mean(values: &[f64], season: usize) -> Vec<f64> {
    let half = season / 2;
    let mut means = vec![f64::NAN; values.len()];
    for at in half..values.len().saturating_sub(half) {
        let around = &values[at - half..=at + half];
        let sum: f64 = around.iter().sum();
        means[at] = if season % 2 == 1 {
            sum / season as f64
        } else {
            (sum - 0.5 * (around[0] + around[season])) / season as f64
        };
    }
    means
}

/// The classical decomposition's season; `None` where the series has fewer than two seasons, or a factor is too
/// close to 0.
pub(super) fn classical(values: &[f64], season: usize, multiplicative: bool) -> Option<Seasonal> {
    if season < 2 || values.len() < 2 * season {
        return None;
    }
    let trend = moving_mean(values, season);
    let mut sums = vec![(0.0, 0.0); season];
    for (at, (value, trend)) in values.iter().zip(&trend).enumerate().filter(|(_, (_, trend))| !trend.is_nan()) {
        let off = if multiplicative { value / trend } else { value - trend };
        if !off.is_finite() {
            return None;
        }
        sums[at % season].0 += off;
        sums[at % season].1 += 1.0;
    }
    let mut places: Vec<f64> =
        sums.iter().map(|(sum, count)| if *count > 0.0 { sum / count } else { f64::NAN }).collect();
    let mean = places.iter().sum::<f64>() / season as f64;
    places.iter_mut().for_each(|place| *place = if multiplicative { *place / mean } else { *place - mean });
    let sound = places.iter().all(|place| place.is_finite() && (!multiplicative || *place > 0.01));
    sound.then_some(Seasonal { places, multiplicative })
}

/// If true, the autocorrelation at the season is significant at 90 %, as in the M4 benchmarks.
pub(super) fn is_seasonal(values: &[f64], season: usize) -> bool {
    let n = values.len();
    if season < 2 || n < 3 * season {
        return false;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let product = |lag: usize| -> f64 { values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum() };
    let square = product(0);
    if square <= 1e-20 {
        return false;
    }
    let correlations: Vec<f64> = (1..=season).map(|lag| product(lag) / square).collect();
    let squares: f64 = correlations[..season - 1].iter().map(|one| one * one).sum();
    correlations[season - 1].abs() > 1.645 * ((1.0 + 2.0 * squares) / n as f64).sqrt()
}

/// Local regression of evenly spaced values at `from, from + 1, …` (`count` of them, counted from the first value),
/// with `window` neighbours and tricube weights; a line where `linear`, a mean otherwise. Every `jump`-th point is
/// computed and the others lie on lines between them.
fn loess(values: &[f64], window: usize, linear: bool, jump: usize, from: isize, count: usize) -> Vec<f64> {
    let n = values.len();
    if n == 0 {
        return vec![0.0; count];
    }
    let at_point = |x: f64| -> f64 {
        let width = window.min(n);
        let centre = x.round().clamp(0.0, (n - 1) as f64) as usize;
        let left = centre.saturating_sub(width / 2).min(n - width);
        let right = left + width - 1;
        let mut reach = (x - left as f64).abs().max((right as f64 - x).abs());
        if window > n {
            reach += ((window - n) / 2) as f64;
        }
        let reach = reach.max(1.0) * 1.001;
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (at, value) in values.iter().enumerate().take(right + 1).skip(left) {
            let d = at as f64 - x;
            let r = (d / reach).abs();
            let weight = (1.0 - r * r * r).powi(3);
            w += weight;
            wy += weight * value;
            if linear {
                wx += weight * d;
                wxx += weight * d * d;
                wxy += weight * d * value;
            }
        }
        let det = w * wxx - wx * wx;
        if linear && det > 1e-9 * w * w { (wxx * wy - wx * wxy) / det } else { wy / w }
    };
    let jump = jump.max(1);
    let mut smooth = vec![0.0; count];
    let mut at = 0;
    let mut last: Option<(usize, f64)> = None;
    while at < count {
        let value = at_point((from + at as isize) as f64);
        if let Some((before, earlier)) = last {
            for (step, between) in smooth[before + 1..at].iter_mut().enumerate() {
                let part = (step + 1) as f64 / (at - before) as f64;
                *between = earlier + part * (value - earlier);
            }
        }
        smooth[at] = value;
        last = Some((at, value));
        if at + 1 == count {
            break;
        }
        at = (at + jump).min(count - 1);
    }
    smooth
}

fn moving(values: &[f64], width: usize) -> Vec<f64> {
    let mut sum: f64 = values[..width].iter().sum();
    let mut means = Vec::with_capacity(values.len() + 1 - width);
    means.push(sum / width as f64);
    for at in width..values.len() {
        sum += values[at] - values[at - width];
        means.push(sum / width as f64);
    }
    means
}

fn odd(number: usize) -> usize {
    number | 1
}

/// The season's part of the values by STL: cycle-subseries are smoothed over `seasons` neighbours.
fn stl(values: &[f64], season: usize, seasons: usize) -> Vec<f64> {
    let n = values.len();
    let trend_window = odd((1.5 * season as f64 / (1.0 - 1.5 / seasons as f64)).ceil() as usize);
    let low_window = odd(season);
    let mut trend = vec![0.0; n];
    let mut part = vec![0.0; n];
    for _ in 0..2 {
        // Each subseries is extended by one value on both sides: [n + 2 season].
        let mut cycle = vec![0.0; n + 2 * season];
        for place in 0..season {
            let own: Vec<f64> = (place..n).step_by(season).map(|at| values[at] - trend[at]).collect();
            // A mean, as in MSTL: a line carries the last noise on.
            let smooth = loess(&own, seasons, false, 1, -1, own.len() + 2);
            smooth.into_iter().enumerate().for_each(|(at, value)| cycle[place + at * season] = value);
        }
        let low = moving(&moving(&moving(&cycle, season), season), 3);
        let low = loess(&low, low_window, true, low_window.div_ceil(10), 0, n);
        (0..n).for_each(|at| part[at] = cycle[at + season] - low[at]);
        let rest: Vec<f64> = values.iter().zip(&part).map(|(value, part)| value - part).collect();
        trend = loess(&rest, trend_window, true, trend_window.div_ceil(10), 0, n);
    }
    part
}

/// Parts of several seasons and what is left: trend and remainder.
#[derive(Debug, Clone)]
pub(super) struct Decomposition {
    /// Each season's length and its part, `[rows]`.
    pub(super) parts: Vec<(usize, Vec<f64>)>,
    /// `[rows]`
    pub(super) rest: Vec<f64>,
}

/// Decomposes by MSTL over seasons (the shortest first) that fit twice into the values; others are left out.
pub(super) fn mstl(values: &[f64], seasons: &[usize]) -> Decomposition {
    let fitting = seasons.iter().copied().filter(|&season| season > 1 && values.len() >= 2 * season);
    let mut parts: Vec<(usize, Vec<f64>)> = fitting.map(|season| (season, vec![0.0; values.len()])).collect();
    let mut rest = values.to_vec();
    let rounds = if parts.len() > 1 { 2 } else { 1 };
    for _ in 0..rounds {
        for (at, (season, part)) in parts.iter_mut().enumerate() {
            rest.iter_mut().zip(part.iter()).for_each(|(rest, part)| *rest += part);
            *part = stl(&rest, *season, 11 + 4 * at);
            rest.iter_mut().zip(part.iter()).for_each(|(rest, part)| *rest -= part);
        }
    }
    Decomposition { parts, rest }
}

impl Decomposition {
    /// The sum of the seasons' last cycles, for the steps after the last row.
    pub(super) fn seasons_ahead(&self, horizon: usize) -> Vec<f64> {
        let mut ahead = vec![0.0; horizon];
        for (season, part) in &self.parts {
            let last = &part[part.len() - season..];
            ahead.iter_mut().zip(last.iter().cycle()).for_each(|(sum, value)| *sum += value);
        }
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seasons_and_lines_come_apart() {
        let wave = |at: usize| [3.0, -1.0, 0.0, -2.0][at % 4];
        let values: Vec<f64> = (0..40).map(|at| wave(at) + 0.5 * at as f64).collect();
        let season = classical(&values, 4, false).unwrap();
        (0..4).for_each(|at| assert!((season.places[at] - wave(at)).abs() < 1e-9));
        let split = mstl(&values, &[4]);
        for at in 0..40 {
            assert!((split.rest[at] - 0.5 * at as f64).abs() < 0.2, "{at}: {}", split.rest[at]);
        }
        let ahead = split.seasons_ahead(6);
        (0..6).for_each(|at| assert!((ahead[at] - wave(at)).abs() < 0.2));
        assert!(is_seasonal(&values.iter().enumerate().map(|(at, v)| v - 0.5 * at as f64).collect::<Vec<_>>(), 4));
    }

    #[test]
    fn two_seasons_are_told_apart() {
        let day = |at: usize| ((at % 6) as f64 * std::f64::consts::TAU / 6.0).sin();
        let week = |at: usize| if (at / 6).is_multiple_of(5) { 1.0 } else { -0.25 };
        let values: Vec<f64> = (0..300).map(|at| day(at) + week(at) + 5.0).collect();
        let split = mstl(&values, &[6, 30]);
        let off = split.rest.iter().map(|rest| (rest - 5.0).abs()).sum::<f64>() / 300.0;
        assert!(off < 0.15, "{off}");
    }

    #[test]
    fn short_and_constant_series_decompose() {
        assert!(classical(&[1.0; 3], 4, false).is_none());
        assert!(classical(&[0.0; 30], 4, true).is_none());
        assert!(!is_seasonal(&[1.0; 30], 4));
        for n in 0..20 {
            let values = vec![2.0; n];
            let split = mstl(&values, &[4, 7]);
            assert!(split.rest.iter().all(|rest| (rest - 2.0).abs() < 1e-9));
            assert!(split.seasons_ahead(3).iter().all(|part| part.abs() < 1e-9));
        }
    }
}
