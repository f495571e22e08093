//! Convex weights of members, fitted to their errors after the validation origins. Candidates from simple to flexible are
//! compared by leaving out one origin at a time; a flexible one has to win by a margin.

use std::ops::Range;

use rayon::prelude::*;
use regard_data::{Error, Result};

use super::members::{Member, Members};
use super::plan::{Origin, OriginKind, Plan};

/// A candidate has to be better than a simpler one by this share.
const MARGIN: f64 = 0.004;
/// Members that are worse than the best by this factor have no weight in means.
const PRUNING: f64 = 1.3;
const MOST_MEMBERS: usize = 6;
/// Members with less weight are dropped.
const LEAST_WEIGHT: f64 = 0.02;
const GREEDY_ROUNDS: usize = 24;
/// A member that is bad for most series and good for one gains at most this factor, to the rule's power.
const MOST_PROMOTION: f64 = 1.7;
/// The weight of an origin that lies one horizon further back: the latest errors are the likeliest to come again, and
/// weights follow a break in a series.
pub(super) const DECAY: f64 = 0.8;
/// The weight that a member without shared weight begins from, where series have their own weights.
const FLOOR: f64 = 0.02;

/// Convex weights of the members for each series.
#[derive(Clone, Debug)]
pub struct Weights {
    /// `[series][member]`, at least 0, of sum 1.
    pub(super) of_series: Vec<Vec<f64>>,
    /// The rule they come from.
    pub(super) rule: String,
    /// Forecasts after the validation origins by weights that have not seen the origin: `[series][origin][steps]`;
    /// empty where there is none.
    pub(super) unseen: Vec<Vec<Vec<f64>>>,
}

impl Weights {
    /// Weights of a series' members, in the order of [`Members::names`].
    #[must_use]
    pub fn of(&self, series: usize) -> &[f64] {
        &self.of_series[series]
    }

    /// Mean weights over series.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.of_series.first().map_or(0, Vec::len)];
        for weights in &self.of_series {
            mean.iter_mut().zip(weights).for_each(|(mean, weight)| *mean += weight / self.of_series.len() as f64);
        }
        mean
    }
}

/// A way to find weights.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// Inverse errors to a power, of the best members.
    Inverse { power: i32 },
    /// Greedy selection with replacement (Caruana et al. 2004), half way to inverse errors.
    Greedy,
    /// Greedy weights, changed by each series' own errors, which count as `origins` more of the shared ones.
    Series { power: i32, origins: f64 },
}

const RULES: [Rule; 7] = [
    Rule::Inverse { power: 2 },
    Rule::Inverse { power: 4 },
    Rule::Greedy,
    Rule::Series { power: 2, origins: 4.0 },
    Rule::Series { power: 3, origins: 1.0 },
    Rule::Series { power: 6, origins: 1.0 },
    Rule::Inverse { power: 12 },
];

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inverse { power } => write!(f, "inverse errors to the power {power}"),
            Self::Greedy => f.write_str("greedy selection"),
            Self::Series { power, .. } => write!(f, "greedy selection and errors of each series to the power {power}"),
        }
    }
}

/// A validation origin of a series.
struct Window {
    series: usize,
    /// Index among validation origins.
    origin: usize,
    /// The place of its targets among those of all windows.
    targets: Range<usize>,
    /// The weight of the origin: 1 for the last one.
    weight: f64,
    /// The weight over the series' scale and the sum of weights of its targets in all windows.
    unit: f64,
    /// Mean absolute errors of the members, in scales.
    errors: Vec<f64>,
}

/// Known targets of all windows, and members' forecasts of them.
struct Targets {
    truth: Vec<f64>,
    /// `[member][targets]`
    forecasts: Vec<Vec<f64>>,
}

struct Validation {
    windows: Vec<Window>,
    targets: Targets,
    members: usize,
    series: usize,
    /// Rows between each validation origin and the end.
    offsets: Vec<usize>,
    /// Steps after each.
    steps: usize,
    /// Weights of greedy selection without each origin, and at last with all.
    greedy: Vec<Vec<f64>>,
}

impl Validation {
    fn new(plan: &Plan, members: &Members) -> Self {
        let origins: Vec<usize> = plan.origins_of(OriginKind::Validation).collect();
        let last = origins.last().map_or(0, |at| plan.origins[*at].offset);
        let age = |origin: &Origin| (origin.offset - last) as f64 / origin.steps as f64;
        let mut windows: Vec<Window> = vec![];
        let mut all = Targets { truth: vec![], forecasts: vec![vec![]; members.all.len()] };
        for (series, prepared) in plan.series.iter().enumerate() {
            let begun = windows.len();
            let mut targets = 0.0;
            for (number, &at) in origins.iter().enumerate() {
                if prepared.history(at, &plan.origins[at]).is_none() {
                    continue;
                }
                let truth = prepared.truth(&plan.origins[at]);
                let known: Vec<usize> = (0..truth.len()).filter(|step| !truth[*step].is_nan()).collect();
                if known.is_empty() {
                    continue;
                }
                let first = all.truth.len();
                all.truth.extend(known.iter().map(|&step| truth[step]));
                let range = first..all.truth.len();
                let error = |(member, found): (&Member, &mut Vec<f64>)| {
                    found.extend(known.iter().map(|&step| member.forecasts[series][at][step]));
                    mean_error(&found[range.clone()], &all.truth[range.clone()])
                };
                let errors = members.all.iter().zip(&mut all.forecasts).map(error).collect();
                let weight = DECAY.powf(age(&plan.origins[at]));
                targets += weight * range.len() as f64;
                windows.push(Window { series, origin: number, targets: range, weight, unit: 0.0, errors });
            }
            // A series whose errors are many scales, such as one that was constant before, does not decide for all.
            let own = &mut windows[begun..];
            let naive = own.iter().map(|window| window.errors[0]).sum::<f64>() / own.len().max(1) as f64;
            let scale = prepared.scale.max(0.2 * naive);
            for window in own {
                window.unit = window.weight / (scale * targets);
                window.errors.iter_mut().for_each(|error| *error /= scale);
            }
        }
        let offsets = origins.iter().map(|at| plan.origins[*at].offset).collect();
        let steps = origins.first().map_or(0, |at| plan.origins[*at].steps);
        let mut validation = Self {
            windows,
            targets: all,
            members: members.all.len(),
            series: plan.len(),
            offsets,
            steps,
            greedy: vec![],
        };
        let count = validation.offsets.len();
        let greedy = |at: usize| greedy(&validation.without((at < count).then_some(at)), &validation.targets);
        validation.greedy = (0..=count).into_par_iter().map(greedy).collect();
        validation
    }

    /// Windows of all origins, or those whose targets are no targets of one origin; where all share some, those of
    /// the other origins.
    fn without(&self, origin: Option<usize>) -> Vec<&Window> {
        let Some(origin) = origin else { return self.windows.iter().collect() };
        let away = |window: &&Window| {
            self.offsets[window.origin].abs_diff(self.offsets[origin]) >= self.steps && window.origin != origin
        };
        let apart: Vec<&Window> = self.windows.iter().filter(away).collect();
        match apart.is_empty() {
            true => self.windows.iter().filter(|window| window.origin != origin).collect(),
            false => apart,
        }
    }
}

fn mean_error(forecast: &[f64], truth: &[f64]) -> f64 {
    forecast.iter().zip(truth).map(|(a, b)| (a - b).abs()).sum::<f64>() / truth.len().max(1) as f64
}

/// Members' mean errors over windows, by the weights of the windows.
fn mean_errors(windows: &[&Window], members: usize) -> Vec<f64> {
    let mut means = vec![0.0; members];
    let sum: f64 = windows.iter().map(|window| window.weight).sum();
    for window in windows {
        let share = window.weight / sum;
        means.iter_mut().zip(&window.errors).for_each(|(mean, error)| *mean += error * share);
    }
    means
}

/// Weights by inverse errors to a power, of the members that are nearly as good as the best.
fn inverse(errors: &[f64], power: i32) -> Vec<f64> {
    let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let mut order: Vec<usize> = (0..errors.len()).filter(|at| errors[*at] <= PRUNING * best + 1e-12).collect();
    order.sort_by(|a, b| errors[*a].total_cmp(&errors[*b]));
    order.truncate(MOST_MEMBERS);
    let mut weights = vec![0.0; errors.len()];
    order.iter().for_each(|&at| weights[at] = ((best + 1e-12) / (errors[at] + 1e-12)).powi(power));
    normalised(weights)
}

fn normalised(mut weights: Vec<f64>) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 && sum.is_finite() {
        weights.iter_mut().for_each(|weight| *weight /= sum);
    } else {
        let count = weights.len() as f64;
        weights.iter_mut().for_each(|weight| *weight = 1.0 / count);
    }
    weights
}

/// Adds the member that lowers the error most, again and again; weights are the shares of the rounds.
fn greedy(windows: &[&Window], targets: &Targets) -> Vec<f64> {
    let members = targets.forecasts.len();
    let mut sums = vec![0.0; targets.truth.len()];
    let mut counts = vec![0.0; members];
    for round in 1..=GREEDY_ROUNDS {
        let share = 1.0 / round as f64;
        let error = |forecasts: &Vec<f64>| -> f64 {
            let of_window = |window: &&Window| {
                let range = window.targets.clone();
                let forecast = sums[range.clone()].iter().zip(&forecasts[range.clone()]);
                let off = forecast
                    .zip(&targets.truth[range])
                    .map(|((sum, value), truth)| ((sum + value) * share - truth).abs());
                off.sum::<f64>() * window.unit
            };
            windows.iter().map(of_window).sum()
        };
        let errors: Vec<f64> = targets.forecasts.iter().map(error).collect();
        let best = (0..members).min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0);
        counts[best] += 1.0;
        sums.iter_mut().zip(&targets.forecasts[best]).for_each(|(sum, value)| *sum += value);
    }
    normalised(counts)
}

impl Validation {
    /// Weights `[series][member]` by a rule, without an origin.
    fn weights(&self, rule: Rule, origin: Option<usize>) -> Vec<Vec<f64>> {
        let windows = self.without(origin);
        let errors = mean_errors(&windows, self.members);
        let shrunk = || {
            let inverse = inverse(&errors, 4);
            let greedy = &self.greedy[origin.unwrap_or(self.offsets.len())];
            inverse.iter().zip(greedy).map(|(a, b)| 0.5 * (a + b)).collect::<Vec<f64>>()
        };
        let shared = match rule {
            Rule::Inverse { power } => inverse(&errors, power),
            Rule::Greedy | Rule::Series { .. } => shrunk(),
        };
        let Rule::Series { power, origins } = rule else { return vec![dropped(shared); self.series] };
        let mut own = vec![(vec![0.0; self.members], 0.0); self.series];
        for window in windows {
            let (sums, count) = &mut own[window.series];
            sums.iter_mut().zip(&window.errors).for_each(|(sum, error)| *sum += window.weight * error);
            *count += window.weight;
        }
        let of_series = |(sums, count): &(Vec<f64>, f64)| {
            // Without errors of its own a series has the shared weights.
            if *count == 0.0 {
                return dropped(shared.clone());
            }
            // Shared errors, brought to the level of the series by the members that the shared weights name.
            let weighted =
                |errors: &[f64]| errors.iter().zip(&shared).map(|(error, weight)| error * weight).sum::<f64>();
            let level = weighted(sums) / weighted(&errors).max(1e-12);
            let count = count.max(1e-9);
            let mixed = sums
                .iter()
                .zip(&errors)
                .map(|(sum, error)| (sum + origins * error * level / count) / (count + origins));
            let mixed: Vec<f64> = mixed.collect();
            let best = mixed.iter().copied().fold(f64::INFINITY, f64::min) + 1e-9;
            let factors = mixed.iter().zip(&errors).map(|(mixed, shared)| {
                let relative =
                    (best / (mixed + 1e-9)) * ((shared + 1e-9) / (weighted(&errors) + 1e-9)).min(MOST_PROMOTION);
                relative.powi(power)
            });
            dropped(shared.iter().zip(factors).map(|(weight, factor)| (weight + FLOOR) * factor).collect())
        };
        own.iter().map(of_series).collect()
    }

    /// The rule's mean error over origins that its weights have not seen.
    fn unseen_error(&self, rule: Rule) -> f64 {
        let mut sum = 0.0;
        for origin in 0..self.offsets.len() {
            let weights = self.weights(rule, Some(origin));
            for window in self.windows.iter().filter(|window| window.origin == origin) {
                let range = || window.targets.clone();
                let forecast = |member: usize| &self.targets.forecasts[member][range()];
                let blend = blended(&weights[window.series], forecast, range().len());
                let off: f64 = blend.iter().zip(&self.targets.truth[range()]).map(|(a, b)| (a - b).abs()).sum();
                sum += off * window.unit;
            }
        }
        sum
    }
}

/// Drops members with little weight.
fn dropped(weights: Vec<f64>) -> Vec<f64> {
    let weights = normalised(weights);
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let least = LEAST_WEIGHT.min(largest);
    normalised(weights.into_iter().map(|weight| if weight >= least { weight } else { 0.0 }).collect())
}

/// The weighted mean of members' forecasts.
pub(super) fn blended<'a>(weights: &[f64], forecast: impl Fn(usize) -> &'a [f64], steps: usize) -> Vec<f64> {
    let mut sum = vec![0.0; steps];
    for (member, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        sum.iter_mut().zip(forecast(member)).for_each(|(sum, value)| *sum += weight * value);
    }
    sum
}

/// Fits weights to the errors after the validation origins. Without validation, members that are known to be good
/// without it share the weight.
pub(super) fn fit_weights(plan: &Plan, members: &Members) -> Weights {
    let validation = Validation::new(plan, members);
    if validation.windows.is_empty() {
        return Weights { of_series: vec![prior(members); plan.len()], rule: "no validation".into(), unseen: vec![] };
    }
    let mut rule = RULES[0];
    if validation.offsets.len() > 1 {
        let mut least = f64::INFINITY;
        for candidate in RULES {
            if plan.len() == 1 && matches!(candidate, Rule::Series { .. }) {
                continue;
            }
            let error = validation.unseen_error(candidate);
            if error < least * (1.0 - MARGIN) {
                (rule, least) = (candidate, error);
            }
        }
    }
    let mut of_series = own(validation.weights(rule, None), members);
    // What is fitted to a few rows is worth nothing, whatever it is worth for longer series.
    let mut measured = vec![false; plan.len()];
    validation.windows.iter().for_each(|window| measured[window.series] = true);
    for (at, weights) in of_series.iter_mut().enumerate().filter(|(at, _)| !measured[*at]) {
        if plan.series[at].whole().values.len() < plan.fewest_rows() {
            *weights = of_few_rows(members);
        }
    }
    let mut unseen = vec![vec![vec![]; plan.origins.len()]; plan.len()];
    let origins: Vec<usize> = plan.origins_of(OriginKind::Validation).collect();
    for (number, &at) in origins.iter().enumerate() {
        let weights = match origins.len() {
            1 => of_series.clone(),
            _ => own(validation.weights(rule, Some(number)), members),
        };
        for (series, weights) in weights.iter().enumerate() {
            let origin = &plan.origins[at];
            if plan.series[series].history(at, origin).is_some() {
                unseen[series][at] =
                    blended(weights, |member| members.all[member].forecasts[series][at].as_slice(), origin.steps);
            }
        }
    }
    Weights { of_series, rule: rule.to_string(), unseen }
}

/// Weights `[series][member]` without those of members that have no forecast of a series.
fn own(mut weights: Vec<Vec<f64>>, members: &Members) -> Vec<Vec<f64>> {
    for &(member, series) in &members.without {
        weights[series][member] = 0.0;
    }
    for &(_, series) in &members.without {
        let weights = &mut weights[series];
        *weights = match weights.iter().sum::<f64>() {
            0.0 => prior(members),
            _ => normalised(std::mem::take(weights)),
        };
    }
    weights
}

impl Plan {
    /// All weight on one member.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no member of that name.
    pub fn weights_of(&self, members: &Members, name: &str) -> Result<Weights> {
        let Some(place) = members.names().position(|known| known == name) else {
            return Err(Error::invalid("member", format!("there is no `{name}`")));
        };
        let one: Vec<f64> = (0..members.names().len()).map(|at| f64::from(u8::from(at == place))).collect();
        let mut unseen = vec![vec![vec![]; self.origins.len()]; self.len()];
        for at in self.origins_of(OriginKind::Validation) {
            for (series, origins) in unseen.iter_mut().enumerate() {
                origins[at].clone_from(&members.all[place].forecasts[series][at]);
            }
        }
        Ok(Weights { of_series: vec![one; self.len()], rule: format!("{name} alone"), unseen })
    }
}

/// Weights without any evidence: the naive forecast, and those of its season and its line.
fn prior(members: &Members) -> Vec<f64> {
    let weight = |name: &str| match name {
        "Naive" => 1.0,
        "AutoTheta" | "ETS" | "RandomWalkWithDrift" => 0.5,
        _ if name.starts_with("SeasonalNaive") || name.starts_with("AutoTheta") => 1.0,
        _ => 0.0,
    };
    normalised(members.names().map(weight).collect())
}

/// Weights for a series of a few rows: its last value, that a season before where it has one, and its mean.
fn of_few_rows(members: &Members) -> Vec<f64> {
    let is_simple = |name: &str| matches!(name, "Naive" | "WindowAverage") || name.starts_with("SeasonalNaive");
    normalised(members.names().map(|name| f64::from(u8::from(is_simple(name)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_prefer_small_errors_and_drop_bad_members() {
        let weights = inverse(&[1.0, 1.1, 5.0], 4);
        assert!(weights[0] > weights[1] && weights[2] == 0.0 && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(inverse(&[0.0, 1.0], 4), [1.0, 0.0]);
        assert_eq!(dropped(vec![0.99, 0.01, 0.5]).iter().filter(|weight| **weight > 0.0).count(), 2);
        assert_eq!(normalised(vec![0.0; 2]), [0.5; 2]);
    }

    #[test]
    fn a_member_without_a_forecast_of_a_series_leaves_its_weight_there_to_the_others() {
        let options = super::super::ForecastOptions { horizon: 3, seasons: Some(vec![]), ..Default::default() };
        let rising: Vec<f64> = (0..60).map(f64::from).collect();
        let plan = Plan::new(&[rising.clone(), rising], &options).unwrap();
        let mut members = plan.simple_members();
        let truth = |origin: &Origin| (0..origin.steps).map(|step| (60 - origin.offset + step) as f64).collect();
        let known = plan.origins().iter().map(truth).collect();
        let none = vec![vec![]; plan.origins().len()];
        members.add(&plan, Member { name: "oracle".into(), forecasts: vec![known, none] }).unwrap();
        let weights = plan.weights(&members);
        let last = |series: usize| *weights.of(series).last().unwrap();
        assert!(last(0) > 0.1 && last(1) == 0.0, "{weights:?}");
        assert!((weights.of(1).iter().sum::<f64>() - 1.0).abs() < 1e-9, "{weights:?}");
    }

    #[test]
    fn greedy_selection_finds_the_mixture() {
        let truth: Vec<f64> = (0..20).map(f64::from).collect();
        let forecasts = vec![truth.iter().map(|y| y + 1.0).collect(), truth.iter().map(|y| y - 3.0).collect()];
        let window = Window { series: 0, origin: 0, targets: 0..20, weight: 1.0, unit: 1.0, errors: vec![1.0, 3.0] };
        let weights = greedy(&[&window], &Targets { truth, forecasts });
        assert!((weights[0] - 0.75).abs() < 0.05, "{weights:?}");
    }
}
