//! Forecasts of all members at all origins.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use regard_data::{Error, Result};

use super::budget::{Progress, Stage};
use super::decomposition::{Seasonal, classical, is_seasonal, mstl};
use super::ets::{Ets, LONGEST_SEASON};
use super::history::{Sign, logarithms};
use super::plan::{Origin, OriginKind, Plan};
use super::ridge::ridge_members;
use super::simple::{drift, naive, seasonal_naive, seasonal_window_average, window_average};
use super::theta::{ThetaFit, fit_theta};

/// Decompositions and theta models look back at most so far.
const MOST_ROWS: usize = 3000;
/// Rows of a fit by which the time of longer ones is estimated.
const TRIAL_ROWS: usize = 100;

/// A forecaster with its forecasts at the origins of a [`Plan`].
#[derive(Clone, Debug)]
pub struct Member {
    /// The name, as reports show it.
    pub name: String,
    /// Forecasts in the unit of the file: `[series][origin][steps]`. An empty forecast means none: the seasonal
    /// naive forecast stands in for it.
    pub forecasts: Vec<Vec<Vec<f64>>>,
}

/// Members of a blend; the first two are the naive and the seasonal naive forecast.
#[derive(Clone, Debug)]
pub struct Members {
    /// `[member][series][origin][steps]`, in the unit of each prepared series.
    pub(super) all: Vec<Member>,
    /// Members that were left out, since the time was too short.
    pub(super) left_out: Vec<String>,
    /// Members, by their number, and series that they have no forecast of at all.
    pub(super) without: Vec<(usize, usize)>,
}

impl Members {
    /// Names in the order of weights.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.all.iter().map(|member| member.name.as_str())
    }

    /// A member's forecasts of a series, in the unit of the file: `[origin][steps]`, empty where the series is too
    /// short. `None` if there is no such member or series.
    #[must_use]
    pub fn forecasts(&self, plan: &Plan, member: usize, series: usize) -> Option<Vec<Vec<f64>>> {
        let unit = plan.series.get(series)?.whole().unit;
        let origins = self.all.get(member)?.forecasts.get(series)?;
        Some(origins.iter().map(|steps| steps.iter().map(|value| value * unit).collect()).collect())
    }

    /// The naive and the seasonal naive forecast alone, which stand in where another member has no forecast.
    #[must_use]
    pub fn only_fallbacks(mut self) -> Self {
        self.all.truncate(2);
        self
    }

    /// Adds a member that was computed elsewhere, such as a network's forecasts. Values that are not finite are
    /// replaced by the seasonal naive forecast's. Where it has no forecast of a series at any origin, the other members
    /// share its weight there.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the name is taken, or the member has other numbers of series, origins or steps than the
    /// plan.
    pub fn add(&mut self, plan: &Plan, mut member: Member) -> Result<()> {
        if self.names().any(|name| name == member.name) {
            return Err(Error::invalid("member", format!("`{}` is there already; names differ", member.name)));
        }
        let origins = plan.origins.len();
        let fits = |one: &Vec<Vec<f64>>| {
            one.len() == origins
                && one.iter().zip(&plan.origins).all(|(steps, origin)| steps.is_empty() || steps.len() == origin.steps)
        };
        if member.forecasts.len() != plan.len() || !member.forecasts.iter().all(fits) {
            let reason = format!("`{}` has another shape than {} series at {origins} origins", member.name, plan.len());
            return Err(Error::invalid("member", reason));
        }
        let has_none = |origins: &Vec<Vec<f64>>| origins.iter().all(Vec::is_empty);
        let series = member.forecasts.iter().enumerate().filter(|(_, origins)| has_none(origins));
        self.without.extend(series.map(|(series, _)| (self.all.len(), series)));
        for (series, prepared) in member.forecasts.iter_mut().zip(&plan.series) {
            series.iter_mut().flatten().for_each(|value| *value /= prepared.whole().unit);
        }
        self.push(plan, member);
        Ok(())
    }

    /// Takes a member in the units of the prepared series, and keeps its forecasts finite and plausible.
    fn push(&mut self, plan: &Plan, mut member: Member) {
        let stand_in = self.all.get(1).or(self.all.first());
        for (series, forecasts) in member.forecasts.iter_mut().enumerate() {
            for (at, forecast) in forecasts.iter_mut().enumerate() {
                let origin = &plan.origins[at];
                let Some(history) = plan.series[series].history(at, origin) else {
                    forecast.clear();
                    continue;
                };
                let non_negative = plan.series[series].sign(origin) != Sign::Any;
                let [low, high] = plausible(history, origin.steps, non_negative);
                let other = stand_in.map(|other| &other.forecasts[series][at]);
                forecast.resize(origin.steps, f64::NAN);
                for (step, value) in forecast.iter_mut().enumerate() {
                    if !value.is_finite() {
                        *value = other.map_or(history[history.len() - 1], |other| other[step]);
                    }
                    *value = value.clamp(low, high);
                }
            }
        }
        self.all.push(member);
    }
}

/// The range that forecasts are kept in: that of the values, with their spread on both sides, more for a long horizon.
/// It stops forecasts that run away; a steady trend stays inside.
fn plausible(history: &[f64], horizon: usize, non_negative: bool) -> [f64; 2] {
    let low = history.iter().copied().fold(f64::INFINITY, f64::min);
    let high = history.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = (high - low) * (1.0 + 2.0 * horizon as f64 / history.len().max(1) as f64);
    [if non_negative { (low - room).max(0.0) } else { low - room }, high + room]
}

/// Forecasters of one series that share work.
#[derive(Clone, Copy, Debug)]
enum Group {
    Simple,
    Theta { season: usize },
    Ets,
    Mstl { logarithm: bool },
}

/// Fits to the history before an earlier origin, from which the next ones begin.
#[derive(Default)]
struct Earlier {
    theta: Option<ThetaFit>,
    ets: Option<Ets>,
}

/// Values before an origin, and the seasons that fit twice into them.
struct Past<'a> {
    values: &'a [f64],
    seasons: Vec<usize>,
    positive: bool,
    horizon: usize,
    kind: OriginKind,
}

impl Plan {
    /// Runs the base members at all origins: cheap ones first, slower ones while there is time.
    #[must_use]
    pub fn base_members(&self) -> Members {
        self.base_members_with(&|_| ())
    }

    /// As [`Self::base_members`], with a report of the progress.
    #[must_use]
    pub fn base_members_with(&self, progress: Progress<'_>) -> Members {
        let mut members = self.simple_members();
        // The held-out rows do not choose logarithms.
        let last = self.origins_of(OriginKind::HeldOut).next().unwrap_or(self.origins.len() - 1);
        let positive = self.series.iter().all(|one| one.sign(&self.origins[last]) == Sign::Positive);
        let mut groups: Vec<Group> = self.theta_seasons().into_iter().map(|season| Group::Theta { season }).collect();
        if !self.seasons.is_empty() {
            groups.push(Group::Mstl { logarithm: false });
        }
        groups.push(Group::Ets);
        for group in groups {
            match self.run_group(group, progress) {
                Some(found) if positive && matches!(group, Group::Mstl { .. }) => {
                    let logarithms = self.run_group(Group::Mstl { logarithm: true }, progress);
                    self.better_ones(found, logarithms).into_iter().for_each(|member| members.push(self, member));
                }
                Some(found) => found.into_iter().for_each(|member| members.push(self, member)),
                None => members.left_out.push(group.to_string()),
            }
        }
        match ridge_members(self, positive, progress).filter(|_| self.untested() == 0) {
            Some(found) => found.into_iter().for_each(|member| members.push(self, member)),
            None => members.left_out.push("ridge regression on lags".into()),
        }
        members
    }

    /// The simple forecasts alone, which are made whatever the time.
    #[must_use]
    pub fn simple_members(&self) -> Members {
        let mut members = Members { all: vec![], left_out: vec![], without: vec![] };
        let of_series = |series: usize| -> Vec<Vec<Vec<f64>>> {
            let forecasts = |(at, origin): (usize, &Origin)| {
                let past = self.past(series, at, origin);
                past.map_or_else(Vec::new, |past| Group::Simple.forecast(self, &past, &mut Earlier::default()))
            };
            self.origins.iter().enumerate().map(forecasts).collect()
        };
        let mut all: Vec<Vec<Vec<Vec<f64>>>> = (0..self.len()).into_par_iter().map(of_series).collect();
        for (at, name) in Group::Simple.names(self).into_iter().enumerate() {
            let take = |found: &mut Vec<Vec<f64>>| found.get_mut(at).map(std::mem::take).unwrap_or_default();
            let forecasts = all.iter_mut().map(|origins| origins.iter_mut().map(take).collect()).collect();
            members.push(self, Member { name, forecasts });
        }
        members
    }

    /// Of each pair the one with the smaller validation error, the first where there is none.
    fn better_ones(&self, first: Vec<Member>, second: Option<Vec<Member>>) -> Vec<Member> {
        let Some(second) = second else { return first };
        let better = |(first, second): (Member, Member)| {
            let errors = (self.validation_error(&first.forecasts), self.validation_error(&second.forecasts));
            if matches!(errors, (Some(first), Some(second)) if second < first) { second } else { first }
        };
        first.into_iter().zip(second).map(better).collect()
    }

    /// Mean absolute scaled error of `[series][origin][steps]` over validation origins; `None` without any.
    pub(super) fn validation_error(&self, forecasts: &[Vec<Vec<f64>>]) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0.0);
        for (prepared, forecasts) in self.series.iter().zip(forecasts) {
            for at in self.origins_of(OriginKind::Validation) {
                let truth = prepared.truth(&self.origins[at]);
                for (value, truth) in forecasts[at].iter().zip(truth).filter(|(_, truth)| !truth.is_nan()) {
                    // One series that runs away does not decide for all.
                    sum += ((value - truth).abs() / prepared.scale).min(20.0);
                    count += 1.0;
                }
            }
        }
        (count > 0.0).then(|| sum / count)
    }

    fn theta_seasons(&self) -> Vec<usize> {
        if self.seasons.is_empty() { vec![1] } else { self.seasons.clone() }
    }

    /// The members of a group; `None` if the time is too short.
    fn run_group(&self, group: Group, progress: Progress<'_>) -> Option<Vec<Member>> {
        let (names, label) = (group.names(self), group.to_string());
        // The time of one fit, so that none is begun that ends too late.
        let least = if self.time_left().is_some() { self.trial(group) } else { Duration::ZERO };
        let is_late = || self.time_left().is_some_and(|left| left <= least);
        if self.untested() > 0 || is_late() {
            return None;
        }
        let done = AtomicUsize::new(0);
        let of_series = |series: usize| -> Option<Vec<Vec<Vec<f64>>>> {
            let mut forecasts = vec![vec![]; names.len()];
            let mut earlier = Earlier::default();
            for (at, origin) in self.origins.iter().enumerate() {
                if is_late() {
                    return None;
                }
                let found = match self.past(series, at, origin) {
                    Some(past) => group.forecast(self, &past, &mut earlier),
                    None => vec![vec![]; names.len()],
                };
                forecasts.iter_mut().zip(found).for_each(|(all, one)| all.push(one));
            }
            progress(Stage { name: &label, done: done.fetch_add(1, Ordering::Relaxed) + 1, of: self.len() });
            Some(forecasts)
        };
        // The first series tell whether the time is enough for all, so that none is lost to a group that cannot end.
        let begun = Instant::now();
        let first = self.len().min(2 * rayon::current_num_threads());
        let mut all: Vec<_> = (0..first).into_par_iter().map(of_series).collect::<Option<_>>()?;
        let rest = begun.elapsed().mul_f64((self.len() - first) as f64 / first.max(1) as f64);
        if self.time_left().is_some_and(|left| rest > left) {
            return None;
        }
        all.extend((first..self.len()).into_par_iter().map(of_series).collect::<Option<Vec<_>>>()?);
        let mut members: Vec<Member> =
            names.into_iter().map(|name| Member { name, forecasts: Vec::with_capacity(self.len()) }).collect();
        for series in all {
            members.iter_mut().zip(series).for_each(|(member, forecasts)| member.forecasts.push(forecasts));
        }
        Some(members)
    }

    /// The time of a group's longest fit, by one to the last rows of the longest series: it grows with the rows.
    fn trial(&self, group: Group) -> Duration {
        let end = self.origins.len() - 1;
        let past = |series: usize| self.past(series, end, &self.origins[end]);
        let Some(past) = (0..self.len()).filter_map(past).max_by_key(|past| past.values.len()) else {
            return Duration::ZERO;
        };
        let rows = past.values.len();
        let longest = past.seasons.last().copied().unwrap_or(1);
        let short = rows.min(TRIAL_ROWS.max(2 * longest + 2));
        let begun = Instant::now();
        let trial = Past { values: &past.values[rows - short..], ..past };
        group.forecast(self, &trial, &mut Earlier::default());
        begun.elapsed().mul_f64(rows.min(MOST_ROWS.max(6 * longest)) as f64 / short as f64)
    }

    fn past(&self, series: usize, at: usize, origin: &Origin) -> Option<Past<'_>> {
        let prepared = &self.series[series];
        let values = prepared.history(at, origin)?;
        let seasons = self.seasons.iter().copied().filter(|season| values.len() >= 2 * season).collect();
        let positive = prepared.sign(origin) == Sign::Positive;
        Some(Past { values, seasons, positive, horizon: origin.steps, kind: origin.kind })
    }
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simple => f.write_str("simple forecasts"),
            Self::Theta { season } => write!(f, "Theta with season {season}"),
            Self::Ets => f.write_str("ETS"),
            Self::Mstl { logarithm: false } => f.write_str("MSTL"),
            Self::Mstl { logarithm: true } => f.write_str("MSTL of logarithms"),
        }
    }
}

impl Group {
    fn names(self, plan: &Plan) -> Vec<String> {
        match self {
            Self::Simple => {
                let mut names = vec!["Naive".to_owned()];
                names.extend(plan.seasons.iter().map(|season| format!("SeasonalNaive {season}")));
                names.push("RandomWalkWithDrift".into());
                names.push("WindowAverage".into());
                names.extend(plan.seasons.iter().map(|season| format!("SeasonalWindowAverage {season}")));
                names
            }
            Self::Theta { season: 1 } => vec!["AutoTheta".into()],
            Self::Theta { season } => vec![format!("AutoTheta {season}")],
            Self::Ets => vec!["ETS".into()],
            Self::Mstl { logarithm: false } => vec!["MSTL + ETS".into(), "MSTL + Theta".into()],
            Self::Mstl { logarithm: true } => vec!["log MSTL + ETS".into(), "log MSTL + Theta".into()],
        }
    }

    /// Forecasts in the order of the names.
    fn forecast(self, plan: &Plan, past: &Past<'_>, earlier: &mut Earlier) -> Vec<Vec<f64>> {
        let (values, horizon) = (past.values, past.horizon);
        match self {
            Self::Simple => {
                let mut all = vec![naive(values, horizon)];
                all.extend(plan.seasons.iter().map(|&season| seasonal_naive(values, season, horizon)));
                all.push(drift(values, horizon));
                all.push(window_average(values, plan.season().max(8), horizon));
                all.extend(plan.seasons.iter().map(|&season| seasonal_window_average(values, season, 4, horizon)));
                all
            }
            Self::Theta { season } => {
                let values = &values[values.len().saturating_sub(MOST_ROWS.max(4 * season))..];
                vec![theta(values, season, past.positive, horizon, &mut earlier.theta)]
            }
            Self::Ets => {
                let season = past.seasons.iter().copied().find(|season| *season <= LONGEST_SEASON).unwrap_or(1);
                vec![ets(values, season, past, &mut earlier.ets)]
            }
            Self::Mstl { logarithm } => decomposed(past, logarithm, earlier),
        }
    }
}

/// AutoTheta on the values without a season, which is taken out where it is significant.
fn theta(values: &[f64], season: usize, positive: bool, horizon: usize, last: &mut Option<ThetaFit>) -> Vec<f64> {
    if values.len() < 4 {
        return drift(values, horizon);
    }
    let seasonal = match is_seasonal(values, season) {
        true => {
            positive.then(|| classical(values, season, true)).flatten().or_else(|| classical(values, season, false))
        }
        false => None,
    };
    let seasonal = seasonal.unwrap_or_else(Seasonal::none);
    let rest: Vec<f64> = values.iter().enumerate().map(|(at, value)| seasonal.remove(at, *value)).collect();
    let fit = fit_theta(&rest, last.as_ref());
    let forecast = fit.forecast(&rest, horizon);
    *last = Some(fit);
    forecast.into_iter().enumerate().map(|(step, value)| seasonal.add(values.len() + step, value)).collect()
}

/// ETS; models are chosen anew at the end of the series and at the first origin.
fn ets(values: &[f64], season: usize, past: &Past<'_>, last: &mut Option<Ets>) -> Vec<f64> {
    let warm = if past.kind == OriginKind::End { None } else { last.as_ref() };
    let fit = Ets::fit(values, season, past.positive, warm);
    let forecast = fit.forecast(past.horizon).unwrap_or_else(|| drift(values, past.horizon));
    *last = Some(fit);
    forecast
}

/// MSTL, with ETS and Theta without a season for what is left.
fn decomposed(past: &Past<'_>, logarithm: bool, earlier: &mut Earlier) -> Vec<Vec<f64>> {
    let longest = past.seasons.last().copied().unwrap_or(1);
    let values = &past.values[past.values.len().saturating_sub(MOST_ROWS.max(6 * longest))..];
    let values: Cow<'_, [f64]> = if logarithm { logarithms(values).into() } else { values.into() };
    let split = mstl(&values, &past.seasons);
    let seasons = split.seasons_ahead(past.horizon);
    let rest = &split.rest;
    // What is left of a season's removal may be below 0 though the values are not.
    let rest_past = Past { values: rest, seasons: vec![], positive: false, horizon: past.horizon, kind: past.kind };
    let with_ets = ets(rest, 1, &rest_past, &mut earlier.ets);
    let with_theta = theta(rest, 1, false, past.horizon, &mut earlier.theta);
    let back = |rest: Vec<f64>| -> Vec<f64> {
        let sum = rest.into_iter().zip(&seasons).map(|(rest, season)| rest + season);
        sum.map(|value| if logarithm { value.exp() } else { value }).collect()
    };
    vec![back(with_ets), back(with_theta)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A monthly series with a trend, a multiplicative season and a disturbance.
    fn monthly() -> Vec<f64> {
        let season = [0.91, 0.88, 1.02, 0.99, 1.0, 1.11, 1.22, 1.21, 1.06, 0.92, 0.80, 0.90];
        let value = |at: usize| {
            let disturbance = ((at * at * 7 + 3 * at) % 31) as f64 / 31.0 - 0.5;
            (110.0 + 2.6 * at as f64) * season[at % 12] * (1.0 + 0.06 * disturbance)
        };
        (0..144).map(value).collect()
    }

    fn close(forecast: &[f64], expected: &[f64], tolerance: f64) {
        for (value, expected) in forecast.iter().zip(expected) {
            assert!((value / expected - 1.0).abs() < tolerance, "{forecast:?} {expected:?}");
        }
    }

    /// Forecasts of statsforecast 2.1.1 for the same series.
    const AUTO_THETA: [f64; 12] =
        [440.582, 428.031, 498.714, 484.385, 492.778, 550.926, 610.298, 610.5, 536.004, 465.87, 407.879, 461.551];
    const AUTO_ETS: [f64; 12] =
        [438.913, 427.995, 498.685, 484.972, 492.189, 549.549, 609.205, 607.569, 533.57, 465.252, 407.263, 459.969];

    #[test]
    fn theta_and_ets_forecast_what_statsforecast_does() {
        let history = super::super::history::History::new(&monthly(), 12);
        let values = &history.values;
        let file = |forecast: Vec<f64>| -> Vec<f64> { forecast.iter().map(|value| value * history.unit).collect() };
        close(&file(theta(values, 12, true, 12, &mut None)), &AUTO_THETA, 2e-3);
        let past = Past { values, seasons: vec![12], positive: true, horizon: 12, kind: OriginKind::End };
        close(&file(ets(values, 12, &past, &mut None)), &AUTO_ETS, 1e-2);
    }
}
