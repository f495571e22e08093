//! Season lengths: those of a clock, and those found in the values.

use regard_data::series::{Frequency, Unit};

/// The longest season that is looked for in values.
const LONGEST: usize = 400;
/// Steps of a day, where values are hourly or half-hourly.
const DAYS: [usize; 2] = [24, 48];
/// The least excess of the correlation after a week over those a day before and after.
const WEEKLY: f64 = 0.02;
/// Series that are looked at, spread over the file, and values of each.
const SERIES: usize = 64;
const VALUES: usize = 4000;

/// The season lengths that data of a clock usually has, in steps, the shortest first: a day and a week for hours and
/// minutes, a week for days, a year for weeks, months and quarters. Empty if there is none.
///
/// ```
/// let hour: regard_data::series::Frequency = "hour".parse()?;
/// assert_eq!(regard_base::series::clock_seasons(hour), [24, 168]);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[must_use]
pub fn clock_seasons(frequency: Frequency) -> Vec<usize> {
    let lengths: &[i64] = match frequency.unit() {
        Unit::Second => &[60, 3600],
        Unit::Minute => &[60, 1440, 10080],
        Unit::Hour => &[24, 168],
        Unit::Day => &[7, 365],
        Unit::BusinessDay => &[5, 261],
        Unit::Week => &[52],
        Unit::Month | Unit::MonthEnd => &[12],
        Unit::Quarter => &[4],
        Unit::Millisecond | Unit::Year | Unit::Step => &[],
    };
    let count = frequency.count();
    let of = |length: &i64| usize::try_from(length / count).ok().filter(|steps| length % count == 0 && *steps > 1);
    lengths.iter().filter_map(of).collect()
}

/// The season lengths that the series of a panel share, the shortest first, at most two: peaks of the mean
/// autocorrelation of the series' differences from a moving mean. Empty if there is none. `seen` gives the values of a
/// series that may be looked at.
pub(super) fn found_seasons(series: &[Vec<f64>], seen: impl Fn(&Vec<f64>) -> Vec<f64>) -> Vec<usize> {
    let every = series.len().div_ceil(SERIES).max(1);
    let looked = series.iter().step_by(every).map(|values| detrended(&seen(values)));
    let looked: Vec<Vec<f64>> = looked.filter(|values| values.len() >= 8).collect();
    let longest = looked.iter().map(Vec::len).max().unwrap_or(0) / 3;
    let longest = longest.min(LONGEST);
    let mut sums = vec![(0.0, 0.0); longest + 2];
    for values in &looked {
        let own = (values.len() / 3).min(LONGEST);
        let square: f64 = values.iter().map(|value| value * value).sum();
        if square <= 0.0 {
            continue;
        }
        for lag in 1..=own {
            let product: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum();
            // The share of pairs, so that long lags are not shrunk.
            let pairs = (values.len() - lag) as f64 / values.len() as f64;
            sums[lag].0 += (product / square / pairs).clamp(-1.0, 1.0);
            sums[lag].1 += 1.0;
        }
    }
    let mean: Vec<f64> = sums.iter().map(|(sum, count)| if *count > 0.0 { sum / count } else { -1.0 }).collect();
    let values: usize = looked.iter().map(Vec::len).sum();
    peaks(&mean, longest, values)
}

/// Differences from a centred moving mean of the last values, which removes level and trend and keeps seasons.
fn detrended(values: &[f64]) -> Vec<f64> {
    let last = &values[values.len().saturating_sub(VALUES)..];
    let width = (last.len() / 3).clamp(3, LONGEST);
    let mut sums = vec![0.0; last.len() + 1];
    last.iter().enumerate().for_each(|(at, value)| sums[at + 1] = sums[at] + value);
    let around = |at: usize| {
        let (from, to) = (at.saturating_sub(width / 2), (at + width / 2 + 1).min(last.len()));
        (sums[to] - sums[from]) / (to - from) as f64
    };
    last.iter().enumerate().map(|(at, value)| value - around(at)).collect()
}

fn peaks(correlation: &[f64], longest: usize, values: usize) -> Vec<usize> {
    // Below this a peak may be chance.
    let least = 0.15f64.max(3.0 / (values.max(1) as f64).sqrt());
    let is_peak = |lag: usize| {
        lag >= 2
            && lag < longest
            && correlation[lag] > least
            && correlation[lag] > correlation[lag - 1]
            && correlation[lag] >= correlation[lag + 1]
    };
    let candidates: Vec<usize> = (3..longest).filter(|lag| is_peak(*lag)).collect();
    let Some(&strongest) = candidates.iter().max_by(|a, b| correlation[**a].total_cmp(&correlation[**b])) else {
        return vec![];
    };
    // The shortest peak nearly as high as the highest is the season; its multiples are no other ones.
    let first = candidates.iter().copied().find(|lag| correlation[*lag] > 0.8 * correlation[strongest]);
    let daily = candidates.iter().copied().find(|lag| {
        // A weaker short season whose multiple is the strongest: a day within a week.
        strongest % lag == 0 && strongest > *lag && correlation[*lag] > 0.5 * correlation[strongest]
    });
    let first = daily.or(first).unwrap_or(strongest);
    let mut seasons = vec![first];
    if strongest > first && strongest % first == 0 && correlation[strongest] > correlation[first] + 0.03 {
        seasons.push(strongest);
    } else if DAYS.contains(&first) && 8 * first < correlation.len() {
        // A week is weaker than its days, but a day a week ago is more alike than those beside it.
        let beside = (correlation[6 * first] + correlation[8 * first]) / 2.0;
        if correlation[7 * first] > beside + WEEKLY {
            seasons.push(7 * first);
        }
    }
    seasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use regard_data::random::Draws;

    #[test]
    fn seasons_of_clocks_are_the_usual_ones() {
        for (text, seasons) in [
            ("hour", &[24, 168][..]),
            ("30 minutes", &[2, 48, 336]),
            ("minute", &[60, 1440, 10080]),
            ("day", &[7, 365]),
            ("week", &[52]),
            ("month", &[12]),
            ("7 hours", &[24]),
            ("year", &[]),
        ] {
            let expected: Vec<usize> = if text == "7 hours" { vec![24] } else { seasons.to_vec() };
            assert_eq!(clock_seasons(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn seasons_are_found_in_values() {
        let mut draws = Draws::new(3);
        let mut noise = || draws.normal()[0];
        let day = |at: usize| (at as f64 / 24.0 * std::f64::consts::TAU).sin() * 2.0;
        let hourly: Vec<f64> = (0..700)
            .map(|at| day(at) * if (at / 24) % 7 > 4 { 0.3 } else { 1.0 } + 0.01 * at as f64 + 0.3 * noise())
            .collect();
        assert_eq!(found_seasons(&[hourly], Vec::clone), [24, 168]);
        let weak: Vec<f64> = (0..700).map(|at| day(at) * if (at / 24) % 7 > 4 { 0.5 } else { 1.0 }).collect();
        assert_eq!(found_seasons(&[weak], Vec::clone), [24, 168]);
        let daily: Vec<f64> = (0..700).map(|at| day(at) + 0.5 * noise()).collect();
        assert_eq!(found_seasons(&[daily], Vec::clone), [24]);
        let monthly: Vec<f64> =
            (0..120).map(|at| at as f64 + [9.0, 0.0, 3.0, 1.0, 0.0, 2.0][at % 12 / 2] * 3.0 + noise()).collect();
        assert_eq!(found_seasons(&[monthly], Vec::clone), [12]);
        let mut sum = 0.0;
        let walk: Vec<f64> = (0..600)
            .map(|_| {
                sum += noise();
                sum
            })
            .collect();
        assert!(found_seasons(&[walk], Vec::clone).len() <= 1);
        let white: Vec<f64> = (0..600).map(|_| noise()).collect();
        assert!(found_seasons(&[white], Vec::clone).is_empty());
        assert!(found_seasons(&[vec![1.0; 50], vec![], vec![2.0]], Vec::clone).is_empty());
    }
}
