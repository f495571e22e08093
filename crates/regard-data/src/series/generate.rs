//! Generated series: a network that learns on very many of them forecasts series that it has never seen.
//!
//! A series is a sum, or for positive ones an exponential of a sum, of a trend, seasons, a random walk, a stationary
//! remainder, noise, events and changes of level; others are counts with many zeros. The composition is ours, after the
//! generators of ForecastPFN (Dooley et al. 2023), Chronos (Ansari et al. 2024, section 4.2) and TTM's reading of them.

use crate::random::Draws;

/// Lengths of seasons that clocks have, in steps: those of a series are one of these lists, or a random one.
const CLOCKS: [&[usize]; 12] =
    [&[12], &[7], &[24, 168], &[4], &[52], &[24], &[5], &[48, 336], &[96], &[7, 365], &[60], &[144]];
/// The longest random season.
const LONGEST_RANDOM: usize = 200;

/// The series number `at` of a seed: `[rows]`, with mean 0 and deviation 1. It does not depend on other series.
///
/// ```
/// use regard_data::series::generate::series;
///
/// assert_eq!(series(7, 1000, 300), series(7, 1000, 300));
/// assert_ne!(series(7, 1000, 300), series(7, 1001, 300));
/// ```
#[must_use]
pub fn series(seed: u64, at: u64, rows: usize) -> Vec<f32> {
    let mut draws = Draws::of_batch(seed, at);
    let mut values = if draws.unit() < 0.06 { counts(&mut draws, rows) } else { composed(&mut draws, rows) };
    standardise(&mut values);
    values.into_iter().map(|value| value as f32).collect()
}

/// A trend, seasons, a walk, a remainder, noise, events and changes of level, with random weights.
fn composed(draws: &mut Draws, rows: usize) -> Vec<f64> {
    let mut sum = vec![0.0; rows];
    let mut add = |weight: f64, mut values: Vec<f64>| {
        standardise(&mut values);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
    };
    let normal = |draws: &mut Draws| draws.normal()[0];
    for period in periods(draws, rows) {
        let weight = draws.between(0.3, 1.5);
        add(weight, season(draws, period, rows));
    }
    if draws.unit() < 0.6 {
        let weight = 1.5 * draws.unit();
        add(weight, trend(draws, rows));
    }
    if draws.unit() < 0.5 {
        let weight = 1.5 * draws.unit() * draws.unit();
        add(weight, walk(draws, rows));
    }
    if draws.unit() < 0.5 {
        let (weight, keep) = (0.8 * draws.unit(), draws.between(0.3, 0.98));
        let mut last = 0.0;
        add(
            weight,
            filled(rows, |_| {
                last = keep * last + normal(draws);
                last
            }),
        );
    }
    // From series without noise to noise alone.
    let noise = libm::exp(draws.between(-5.0, 0.2));
    let (heavy, growing) = (draws.unit() < 0.3, draws.unit() < 0.15);
    add(
        noise,
        filled(rows, |row| {
            let [value, other] = draws.normal();
            // A quotient of normal numbers has heavy tails.
            let value = if heavy { value / (0.3 + other.abs()) } else { value };
            if growing { value * (0.3 + row as f64 / rows as f64) } else { value }
        }),
    );
    if draws.unit() < 0.15 {
        let weight = draws.between(0.2, 1.2);
        add(weight, levels(draws, rows));
    }
    if draws.unit() < 0.15 {
        let weight = draws.between(0.1, 0.6);
        add(weight, events(draws, rows));
    }
    standardise(&mut sum);
    match draws.below(10) {
        // Seasons and noise that grow with the level.
        0..=2 => {
            let by = draws.between(0.1, 0.9);
            sum.iter_mut().for_each(|value| *value = libm::exp(by * *value));
        }
        // What cannot be below zero, such as rain or the light of the sun.
        3 => {
            let least = draws.between(-1.2, 0.2);
            sum.iter_mut().for_each(|value| *value = value.max(least));
        }
        // Few whole numbers.
        4 if draws.unit() < 0.5 => {
            let by = draws.between(1.0, 8.0);
            sum.iter_mut().for_each(|value| *value = (*value * by).round());
        }
        _ => {}
    }
    sum
}

/// Lengths of seasons: those of a clock, a random one, or none.
fn periods(draws: &mut Draws, rows: usize) -> Vec<usize> {
    let all = match draws.below(10) {
        0..=1 => vec![],
        2..=3 => vec![3 + draws.index(LONGEST_RANDOM - 2)],
        _ => CLOCKS[draws.index(CLOCKS.len())].to_vec(),
    };
    // A season that is there only once is none.
    all.into_iter().filter(|period| 2 * period <= rows).collect()
}

/// A season: waves, levels of each step, or days that differ, with a size that may change slowly.
fn season(draws: &mut Draws, period: usize, rows: usize) -> Vec<f64> {
    let shape: Vec<f64> = match draws.below(3) {
        0 => {
            let (waves, fall) = (1 + draws.index((period / 2).clamp(1, 6)), draws.between(0.5, 2.0));
            let mut shape = vec![0.0; period];
            for wave in 1..=waves {
                let size = draws.normal()[0] / libm::pow(wave as f64, fall);
                let phase = draws.between(0.0, std::f64::consts::TAU);
                shape.iter_mut().enumerate().for_each(|(step, value)| {
                    *value += size * libm::sin(std::f64::consts::TAU * (wave * step) as f64 / period as f64 + phase);
                });
            }
            shape
        }
        1 => {
            // Neighbours are alike.
            let width = 1 + draws.index((period / 6).max(1));
            let raw = filled(period, |_| draws.normal()[0]);
            filled(period, |step| (0..width).map(|by| raw[(step + by) % period]).sum())
        }
        _ => {
            let (low, high) = (draws.index(period), 1 + draws.index(period));
            filled(period, |step| f64::from(u8::from((step + low) % period < high)))
        }
    };
    let (first, drift) = (draws.index(period), if draws.unit() < 0.3 { 0.03 } else { 0.0 });
    let mut size = 0.0;
    filled(rows, |row| {
        if row % period == 0 {
            size += drift * draws.normal()[0] * (period as f64).sqrt();
        }
        shape[(row + first) % period] * libm::exp(size)
    })
}

/// A straight, bent, saturated or curved trend.
fn trend(draws: &mut Draws, rows: usize) -> Vec<f64> {
    let sign = if draws.unit() < 0.5 { 1.0 } else { -1.0 };
    let share = |row: usize| row as f64 / rows.max(1) as f64;
    match draws.below(4) {
        0 => filled(rows, |row| sign * share(row)),
        1 => {
            let bend = draws.unit();
            let [before, after] = draws.normal();
            filled(rows, |row| before * share(row).min(bend) + after * (share(row) - bend).max(0.0))
        }
        2 => {
            let (middle, steep) = (draws.unit(), draws.between(3.0, 20.0));
            filled(rows, |row| sign / (1.0 + libm::exp(-steep * (share(row) - middle))))
        }
        _ => {
            let power = draws.between(1.2, 3.0);
            filled(rows, |row| sign * libm::pow(share(row), power))
        }
    }
}

/// A random walk, of which the steps or their changes are independent.
fn walk(draws: &mut Draws, rows: usize) -> Vec<f64> {
    let (keep, mut step, mut level) = (if draws.unit() < 0.25 { draws.between(0.8, 0.99) } else { 0.0 }, 0.0, 0.0);
    filled(rows, |_| {
        step = keep * step + draws.normal()[0];
        level += step;
        level
    })
}

/// Levels that change at few places.
fn levels(draws: &mut Draws, rows: usize) -> Vec<f64> {
    let chance = draws.between(1.0, 6.0) / rows.max(1) as f64;
    let mut level = 0.0;
    filled(rows, |_| {
        if draws.unit() < chance {
            level += draws.normal()[0];
        }
        level
    })
}

/// Single values far off, or events that return after the same time and fade.
fn events(draws: &mut Draws, rows: usize) -> Vec<f64> {
    let (size, fade) =
        (if draws.unit() < 0.7 { 1.0 } else { -1.0 }, if draws.unit() < 0.5 { 0.0 } else { draws.between(0.2, 0.9) });
    let returns = (draws.unit() < 0.5).then(|| 5 + draws.index(LONGEST_RANDOM));
    let (first, chance) = (draws.index(LONGEST_RANDOM), draws.between(0.003, 0.03));
    let mut now = 0.0;
    filled(rows, |row| {
        let chance = draws.unit() < chance;
        let is_there = returns.map_or(chance, |returns| (row + first) % returns == 0);
        now = fade * now + if is_there { size * (1.0 + 0.3 * draws.normal()[0]) } else { 0.0 };
        now
    })
}

/// Demand that is zero at most steps.
fn counts(draws: &mut Draws, rows: usize) -> Vec<f64> {
    let (rate, spread) = (draws.between(0.03, 0.6), draws.between(0.1, 0.8));
    let mean = draws.between(1.0, 10.0);
    let period = [1, 7, 12, 24][draws.index(4)];
    let chances = filled(period, |_| (rate * libm::exp(0.5 * draws.normal()[0])).min(1.0));
    filled(rows, |row| {
        let [value, _] = draws.normal();
        let size = (mean * libm::exp(spread * value)).ceil();
        if draws.unit() < chances[row % period] { size } else { 0.0 }
    })
}

fn filled(rows: usize, of: impl FnMut(usize) -> f64) -> Vec<f64> {
    (0..rows).map(of).collect()
}

/// Mean 0 and deviation 1; 0 for values that are all the same.
fn standardise(values: &mut [f64]) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt();
    // What differs by rounding alone is the same.
    let by = if deviation > 1e-9 * mean.abs().max(1e-3) { deviation.recip() } else { 0.0 };
    values.iter_mut().for_each(|value| *value = (*value - mean) * by);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_finite_at_one_scale_and_of_many_kinds() {
        let (mut seasonal, mut walks, mut zeros) = (0, 0, 0);
        for at in 0..400 {
            let values = series(3, at, 600);
            assert!(values.len() == 600 && values.iter().all(|value| value.is_finite()), "{at}");
            let mean = values.iter().sum::<f32>() / 600.0;
            let square = values.iter().map(|value| value * value).sum::<f32>() / 600.0;
            assert!(mean.abs() < 1e-4 && ((square - 1.0).abs() < 1e-3 || square == 0.0), "{at}: {mean} {square}");
            let like = |lag: usize| values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum::<f32>() / 600.0;
            let best = (3..200).map(like).fold(f32::NEG_INFINITY, f32::max);
            seasonal += usize::from(best > like(1).min(like(2)) + 0.1);
            walks += usize::from(like(1) > 0.98 && like(20) > 0.7);
            let least = values.iter().copied().fold(f32::INFINITY, f32::min);
            zeros += usize::from(values.iter().filter(|value| **value == least).count() > 200);
        }
        assert!(seasonal > 60 && walks > 20 && zeros > 10, "{seasonal} {walks} {zeros}");
    }

    #[test]
    fn a_short_series_is_one_too() {
        for at in 0..50 {
            assert!([0, 1, 2, 9].into_iter().all(|rows| series(1, at, rows).iter().all(|value| value.is_finite())));
        }
    }
}
