//! Conformal intervals: quantiles of the blend's absolute errors after earlier origins, in units of each series' own
//! error, pooled over series and over neighbouring steps (split conformal prediction, Vovk et al. 2005; for rolling
//! origins, Stankevičiūtė et al. 2021). Units follow the spread of the values before each origin, so that errors from
//! calm and from restless times can be compared (normalised scores, Papadopoulos et al. 2008).

use std::collections::HashSet;

use super::blend::DECAY;
use super::plan::Plan;

/// Errors of one origin count as so many of the shared ones when a series' unit is estimated.
const SHARED_ORIGINS: f64 = 2.0;

/// Units grow by this power of the recent spread over the spread of all values. A short stretch says little about the
/// spread, and only a part of a blend's errors grows with it: of powers from 0 to 1, about a third has the smallest
/// interval scores (Gneiting & Raftery 2007).
const SPREAD_POWER: f64 = 1.0 / 3.0;

/// The unit that leaves an error out is at least this share of the one that has it: an error that is many times all others
/// would else be so many units that intervals hold the series many times over.
const LEAST_LEFT: f64 = 0.5;

/// Absolute errors of a blend after an origin, in the unit of the series; NaN where the target is missing.
pub(super) struct Errors {
    pub(super) series: usize,
    pub(super) origin: usize,
    /// `[steps]`
    pub(super) absolute: Vec<f64>,
}

/// An error in units and growths. Late ones weigh more, as in the weights of members: of a series that changes, they are
/// the likeliest to come again (Barber et al. 2023).
#[derive(Clone, Copy, Debug)]
struct Score {
    error: f64,
    /// Above 0.
    weight: f64,
}

/// Errors of one series after an origin in its unit.
struct Scaled {
    /// Rows between its last value and the origin.
    ended: usize,
    /// `[steps]`
    errors: Vec<f64>,
}

/// Half widths for any series and level.
#[derive(Debug)]
pub(super) struct Widths {
    /// Unit of each series.
    units: Vec<f64>,
    /// Growth of errors over steps after the last value, for the horizon and beyond it as far as series ended before.
    growth: Vec<f64>,
    /// Rows between the last value of each series and the forecast.
    ended: Vec<usize>,
    horizon: usize,
    /// The smallest first.
    scores: Vec<Score>,
    /// Targets whose errors the scores are, of which one that several origins share counts once; `None` without errors.
    targets: Option<f64>,
}

impl Widths {
    /// Calibrates on errors after earlier origins, for forecasts after origin `at`; without any, on differences of
    /// the values.
    pub(super) fn new(plan: &Plan, errors: &[Errors], at: usize) -> Self {
        let horizon = plan.origins[at].steps;
        let season = plan.season();
        let rows = (2 * season).max(plan.options.horizon).max(8);
        let spread = |series: usize, origin: usize| {
            let ratio = plan.series[series].recent_scale(&plan.origins[origin], &plan.origins[at], season, rows);
            ratio.powf(SPREAD_POWER)
        };
        let level = |one: &Errors| {
            let spread = spread(one.series, one.origin);
            let absolute = one.absolute.iter().map(|error| error / spread).collect();
            Errors { series: one.series, origin: one.origin, absolute }
        };
        let says = |one: &&Errors| !plan.series[one.series].was_constant(&plan.origins[one.origin], &plan.origins[at]);
        let errors: Vec<Errors> = errors.iter().filter(says).map(level).collect();
        let sums = errors.iter().map(|one| sum_of(&one.absolute)).collect::<Vec<_>>();
        let ratio = |one: &Errors, (sum, count): (f64, f64)| sum / count.max(1.0) / plan.series[one.series].scale;
        // The typical error in scales, over series.
        let mut ratios: Vec<f64> =
            errors.iter().zip(&sums).filter(|(_, sum)| sum.1 > 0.0).map(|(one, sum)| ratio(one, *sum)).collect();
        if ratios.is_empty() {
            return Self::without_errors(plan, at);
        }
        ratios.sort_by(f64::total_cmp);
        let shared = ratios[ratios.len() / 2].max(1e-12);
        let mut own = vec![(0.0, 0.0); plan.len()];
        for (one, (sum, count)) in errors.iter().zip(&sums).filter(|(_, sum)| sum.1 > 0.0) {
            own[one.series].0 += sum / count;
            own[one.series].1 += 1.0;
        }
        let unit = |series: usize, left_out: Option<f64>| {
            let (mut sum, mut count) = own[series];
            if let Some(error) = left_out {
                sum -= error;
                count -= 1.0;
            }
            let shared = SHARED_ORIGINS * shared * plan.series[series].scale;
            (sum.max(0.0) + shared) / (count + SHARED_ORIGINS)
        };
        let since = |one: &Errors| plan.series[one.series].ended(plan.origins[one.origin].offset);
        // Each error is measured by a unit that has not seen it.
        let scaled: Vec<Scaled> = errors
            .iter()
            .zip(&sums)
            .filter(|(_, sum)| sum.1 > 0.0)
            .map(|(one, (sum, count))| {
                let left = unit(one.series, Some(sum / count)).max(LEAST_LEFT * unit(one.series, None));
                let unit = left.max(1e-300);
                Scaled { ended: since(one), errors: one.absolute.iter().map(|error| error / unit).collect() }
            })
            .collect();
        let ended = ended(plan, at);
        let earliest = ended.iter().copied().chain(scaled.iter().map(|one| one.ended)).max().unwrap_or(0);
        let growth = growth(&scaled, horizon, horizon + earliest);
        let mut scores: Vec<Score> = vec![];
        let measured = errors.iter().zip(&sums).filter(|(_, sum)| sum.1 > 0.0).map(|(one, _)| one.origin);
        for (origin, Scaled { ended, errors }) in measured.zip(&scaled) {
            let origin = &plan.origins[origin];
            let weight = DECAY.powf(origin.offset as f64 / origin.steps as f64);
            let score = |(error, growth): (&f64, &f64)| Score { error: error / growth, weight };
            scores.extend(errors.iter().zip(&growth[*ended..]).map(score).filter(|one| one.error.is_finite()));
        }
        scores.sort_by(|a, b| a.error.total_cmp(&b.error));
        let units = (0..plan.len()).map(|series| unit(series, None) * spread(series, at)).collect();
        Self { units, growth, ended, horizon, scores, targets: Some(targets(plan, &errors)) }
    }

    fn without_errors(plan: &Plan, at: usize) -> Self {
        let (horizon, ended) = (plan.origins[at].steps, ended(plan, at));
        let units = plan.series.iter().map(|one| one.scale).collect();
        let growth = (1..=horizon + ended.iter().max().unwrap_or(&0)).map(|step| (step as f64).sqrt()).collect();
        // Half of a normal distribution, whose mean absolute value is the unit.
        let error = |at: usize| 1.2533 * normal_quantile(0.5 + (at as f64 + 0.5) / 400.0);
        let scores = (0..200).map(|at| Score { error: error(at), weight: 1.0 }).collect();
        Self { units, growth, ended, horizon, scores, targets: None }
    }

    /// The rank of a level in percent among the errors, with the finite-sample correction of split conformal prediction;
    /// above 1 it lies beyond the largest error that is known.
    fn rank(&self, level: f64) -> f64 {
        level / 100.0 * (self.count() + 1.0) / self.count()
    }

    /// The targets that the correction counts.
    fn count(&self) -> f64 {
        self.targets.unwrap_or(10.0).max(1.0)
    }

    /// A sentence on the levels that lie beyond the largest error that is known.
    pub(super) fn beyond(&self, levels: &[f64]) -> Option<String> {
        let beyond: Vec<String> =
            levels.iter().filter(|level| self.rank(**level) > 1.0).map(|level| format!("{level} %")).collect();
        self.targets.filter(|_| !beyond.is_empty()).map(|known| {
            format!(
                "intervals of {} are an estimate beyond the largest of the {known:.0} errors that are known \
                 (`--levels` gives lower ones)",
                beyond.join(", ")
            )
        })
    }

    /// The quantile of the scores that belongs to a level in percent. It is the same for all series, and looking for it
    /// in those of many series takes long.
    pub(super) fn quantile(&self, level: f64) -> f64 {
        let (n, rank) = (self.count(), self.rank(level));
        if rank >= 1.0 {
            self.scores[self.scores.len() - 1].error * (1.0 + 0.5 * (rank - 1.0) * n)
        } else {
            weighted_quantile(&self.scores, rank)
        }
    }

    /// Half widths `[horizon]` of a series at a [`quantile`](Self::quantile), in the unit of the series. The steps of
    /// one that has ended earlier are so much further ahead.
    pub(super) fn half(&self, series: usize, quantile: f64) -> Vec<f64> {
        let (unit, ended) = (self.units[series], self.ended[series]);
        self.growth[ended..][..self.horizon].iter().map(|growth| quantile * growth * unit).collect()
    }
}

/// Rows between the last value of each series and an origin.
fn ended(plan: &Plan, at: usize) -> Vec<usize> {
    plan.series.iter().map(|one| one.ended(plan.origins[at].offset)).collect()
}

/// The number of different rows of series that errors are known for.
fn targets(plan: &Plan, errors: &[Errors]) -> f64 {
    let of = |one: &Errors| -> Vec<(usize, usize)> {
        let offset = plan.origins[one.origin].offset;
        let known = one.absolute.iter().enumerate().filter(|(_, error)| !error.is_nan());
        known.map(|(step, _)| (one.series, offset - step)).collect()
    };
    errors.iter().flat_map(of).collect::<HashSet<_>>().len() as f64
}

/// The quantile at `rank` of scores that are sorted, on lines between the middles of their weights.
fn weighted_quantile(scores: &[Score], rank: f64) -> f64 {
    let wanted = rank * scores.iter().map(|score| score.weight).sum::<f64>();
    let mut below = 0.0;
    let mut last: Option<(f64, f64)> = None;
    for score in scores {
        let middle = below + score.weight / 2.0;
        if middle >= wanted {
            let Some((before, error)) = last else { return score.error };
            return error + (wanted - before) / (middle - before) * (score.error - error);
        }
        last = Some((middle, score.error));
        below += score.weight;
    }
    last.map_or(0.0, |(_, error)| error)
}

fn sum_of(errors: &[f64]) -> (f64, f64) {
    let known = errors.iter().filter(|error| !error.is_nan());
    known.fold((0.0, 0.0), |(sum, count), error| (sum + error, count + 1.0))
}

/// Mean errors by step after the last value: neighbours share theirs, and with few errors steps are drawn to a curve
/// that never falls. Beyond the steps that were measured errors grow with the root of the step, up to step `last`.
fn growth(scaled: &[Scaled], horizon: usize, last: usize) -> Vec<f64> {
    let steps = scaled.iter().map(|one| one.errors.len()).max().unwrap_or(0).min(horizon).max(1);
    let mut sums = vec![(0.0, 0.0); steps];
    for Scaled { ended, errors } in scaled {
        let known = (*ended..steps).zip(errors).filter(|(_, error)| !error.is_nan());
        for (step, error) in known {
            // Single large errors do not make a step.
            sums[step].0 += error.min(6.0);
            sums[step].1 += 1.0;
        }
    }
    let reach = (steps / 12).max(1);
    let around = |step: usize| {
        let near = &sums[step.saturating_sub(reach)..(step + reach + 1).min(steps)];
        near.iter().fold((0.0, 0.0), |(sum, count), one| (sum + one.0, count + one.1))
    };
    let (total, known) = sums.iter().fold((0.0, 0.0), |(sum, count), one| (sum + one.0, count + one.1));
    let mean = if known > 0.0 { total / known } else { 1.0 };
    let near: Vec<(f64, f64)> = (0..steps).map(around).collect();
    let rising = rising(&near, mean);
    let mut growth: Vec<f64> = near
        .iter()
        .zip(&rising)
        .map(|((sum, count), rising)| (sum + 30.0 * rising) / (count + 30.0))
        .map(|value| value.max(0.02 * mean).max(1e-9))
        .collect();
    let measured = rising[steps - 1].max(growth[steps - 1]);
    growth.extend((steps + 1..=last).map(|step| measured * (step as f64 / steps as f64).sqrt()));
    growth
}

/// The curve that never falls and is closest in squares (pool adjacent violators).
fn rising(sums: &[(f64, f64)], mean: f64) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = vec![];
    for (sum, count) in sums {
        // A little of the mean, so that steps without errors have a value.
        blocks.push((sum + 0.5 * mean, count + 0.5, 1));
        while let [.., before, last] = blocks.as_slice()
            && before.0 / before.1 > last.0 / last.1
        {
            let merged = (before.0 + last.0, before.1 + last.1, before.2 + last.2);
            blocks.truncate(blocks.len() - 2);
            blocks.push(merged);
        }
    }
    blocks.into_iter().flat_map(|(sum, count, steps)| std::iter::repeat_n(sum / count, steps)).collect()
}

/// The quantile of the standard normal distribution at `p` above one half (Abramowitz & Stegun 26.2.23).
fn normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * (1.0 - p).max(1e-12).ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    (t - above / below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::ForecastOptions;

    #[test]
    fn targets_of_several_origins_count_once() {
        let options = ForecastOptions { horizon: 6, seasons: Some(vec![]), ..ForecastOptions::default() };
        let plan = Plan::new(&[(0..60).map(f64::from).collect()], &options).unwrap();
        let apart = plan.origins[0].offset - plan.origins[1].offset;
        assert!(apart < 6, "{apart}");
        let of = |origin: usize| Errors { series: 0, origin, absolute: vec![1.0, 1.0, 1.0, f64::NAN, 1.0, 1.0] };
        assert_eq!(targets(&plan, &[of(0)]), 5.0);
        let rows: HashSet<usize> = [0, 1, 2, 4, 5].into_iter().flat_map(|step| [step, step + apart]).collect();
        assert_eq!(targets(&plan, &[of(0), of(1)]), rows.len() as f64);
    }

    #[test]
    fn intervals_of_a_series_that_ended_earlier_are_those_of_later_steps() {
        let mut draws = regard_data::random::Draws::new(5);
        let mut walk = |rows: usize| {
            let mut level = 100.0;
            let mut next = || {
                level += draws.normal()[0];
                level
            };
            (0..200).map(|row| if row < rows { next() } else { f64::NAN }).collect::<Vec<f64>>()
        };
        let series: Vec<Vec<f64>> = (0..12).map(|at| walk(if at < 9 { 200 } else { 138 + at })).collect();
        let options = ForecastOptions { horizon: 5, seasons: Some(vec![]), ..ForecastOptions::default() };
        let plan = Plan::new(&series, &options).unwrap();
        let members = plan.simple_members();
        let found = plan.blend(&members, &plan.weights(&members));
        let width = |series: usize, step: usize| {
            let interval = &found.series[series].intervals[0];
            interval.high[step] - interval.low[step]
        };
        // Series of one scale, of which the second ended 51 rows earlier.
        let ratio = width(11, 0) / width(0, 4);
        assert!((2.2..4.5).contains(&ratio), "{ratio}");
        assert!(width(9, 0) > width(11, 0) * 0.9 && width(11, 4) > width(11, 0));
        let said = "the last rows of series 10 (53), 11 (52), 12 (51) have no value; intervals are as wide as";
        assert!(found.warnings.iter().any(|warning| warning.starts_with(said)), "{:?}", found.warnings);
        // Where all end early, one sentence says it.
        let early: Vec<Vec<f64>> = series[..2].iter().map(|one| [&one[..], &[f64::NAN; 3]].concat()).collect();
        let warnings = Plan::new(&early, &options).unwrap().warnings;
        assert!(warnings.iter().any(|warning| warning.starts_with("the last 3 rows have no value")), "{warnings:?}");
        assert!(!warnings.iter().any(|warning| warning.contains("of series")), "{warnings:?}");
        let one = Plan::new(&[early[0].clone(), early[0][..202].to_vec()], &options).unwrap().warnings;
        assert!(one.iter().any(|warning| warning.starts_with("the last 3 rows of series 1 have no value;")), "{one:?}");
    }

    #[test]
    fn quantiles_lie_between_the_middles_of_weights() {
        let of = |scores: &[(f64, f64)], rank: f64| {
            let scores: Vec<Score> = scores.iter().map(|&(error, weight)| Score { error, weight }).collect();
            weighted_quantile(&scores, rank)
        };
        let equal = [(1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (8.0, 1.0)];
        assert_eq!([0.0, 0.125, 0.5, 0.75, 0.99].map(|rank| of(&equal, rank)), [1.0, 1.0, 3.0, 6.0, 8.0]);
        // The large error is late.
        assert_eq!(of(&[(1.0, 1.0), (2.0, 1.0), (4.0, 2.0)], 0.75), 4.0);
        assert_eq!(of(&[(3.0, 0.1)], 0.8), 3.0);
    }

    #[test]
    fn growth_rises_and_goes_on_beyond_the_measured_steps() {
        let of = |ended: usize| {
            let errors = (ended + 1..=4).map(|step| step as f64 / 4.0).collect();
            Scaled { ended, errors }
        };
        let errors: Vec<Scaled> = (0..50).map(|_| of(0)).collect();
        let found = growth(&errors, 8, 11);
        assert_eq!(found.len(), 11);
        assert!(found.windows(2).all(|pair| pair[1] >= pair[0]), "{found:?}");
        // Errors of series that ended earlier are those of later steps.
        let some: Vec<Scaled> = (0..100).map(|at| of(at % 2)).collect();
        let far = found.iter().zip(growth(&some, 8, 11)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 0.1, "{far}");
        assert!((normal_quantile(0.975) - 1.96).abs() < 1e-2 && normal_quantile(0.5) < 1e-3);
    }
}
