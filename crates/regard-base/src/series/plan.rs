//! Origins of a back-test, and the histories before them.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use regard_data::metrics::forecast::mase_scale;
use regard_data::names::first_of;
use regard_data::{Error, Result};

use super::budget::Budget;
use super::history::{History, Sign, recent_outlier};
use super::seasons::found_seasons;

/// Forecasts are not made for more steps, nor numbers for all series together beyond what fits into memory.
const MOST_STEPS: usize = 1_000_000;
const MOST_NUMBERS: usize = 200_000_000;
/// Few series are validated from more origins than many, since each origin takes time for all series.
const MOST_HISTORIES: usize = 240;
const FEWEST_ORIGINS: usize = 4;
const MOST_ORIGINS: usize = 24;
/// Horizons between the oldest validation origin and the latest. A network is trained on the rows before the oldest one
/// alone, and older errors have little weight.
const LONGEST_SPAN: usize = 9;
/// Warnings name at most so many series.
const MOST_NAMED: usize = 5;
/// Series whose back-test by simple forecasts tells, with a time limit, for how many it can be done; spread over all.
const PILOT: usize = 64;
/// The share of the time that the back-test by simple forecasts may take.
const SIMPLE_SHARE: f64 = 0.4;
/// A back-test of fewer series out of many tells nothing of the others.
const FEWEST_TESTED: usize = 20;
/// All members take so many times the time of the simple ones to be weighed and reported.
const ALL_MEMBERS: u32 = 2;

/// Options of [`forecast`](super::forecast).
#[derive(Clone, Debug)]
pub struct ForecastOptions {
    /// Steps after the last value of each series.
    pub horizon: usize,
    /// Season lengths in steps, as [`clock_seasons`](super::clock_seasons) gives them. If `None`, they are found in
    /// the values; an empty list means no season, and so does 1.
    pub seasons: Option<Vec<usize>>,
    /// Levels of intervals in percent, above 0 and at most 99.9.
    pub levels: Vec<f64>,
    /// Names of the series, as warnings show them; if empty, their numbers, counted from 1.
    pub names: Vec<String>,
    /// Time for everything. Without a limit all members run, and the result is the same on every machine. With one,
    /// simple forecasts of all series come first; other members follow as long as there is time, and with very many
    /// series the back-test is one of some of them.
    pub budget: Budget,
    /// If true, forecasters see a single value of the last rows that lies far from all others. Otherwise it is missing for
    /// them, and errors are those of the value.
    pub keep_outliers: bool,
}

impl Default for ForecastOptions {
    fn default() -> Self {
        Self {
            horizon: 1,
            seasons: None,
            levels: vec![80.0, 95.0],
            names: vec![],
            budget: Budget::unlimited(),
            keep_outliers: false,
        }
    }
}

/// The use of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// Members are weighed by their errors after it.
    Validation,
    /// The back-test's errors are measured after it; nothing is chosen by them.
    HeldOut,
    /// The end of the series: the forecasts begin here.
    End,
}

/// A row after which forecasts begin, counted from the end of each series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Rows at the end of each series that are not seen.
    pub offset: usize,
    /// Steps to forecast.
    pub steps: usize,
    /// Its use.
    pub kind: OriginKind,
}

/// The series without gaps, their seasons, and the origins of the back-test, the oldest first and the end last.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) options: ForecastOptions,
    pub(super) seasons: Vec<usize>,
    pub(super) origins: Vec<Origin>,
    pub(super) series: Vec<Prepared>,
    pub(super) warnings: Vec<String>,
    /// Warnings that a longer time would spare.
    pub(super) short_of_time: Vec<String>,
    /// The time that weights and reports take.
    finish: Duration,
}

/// A series as members see it.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// The whole series.
    full: History,
    /// Histories that are no beginnings of the whole one, since a gap goes across their origin.
    cut: Vec<Option<Vec<f64>>>,
    /// The values in the unit of `full`, NaN where missing.
    known: Vec<f64>,
    /// The error that errors are measured by, in the unit of `full`: above 0.
    pub(super) scale: f64,
    /// The row among `known` of a value that forecasters do not see.
    outlier: Option<usize>,
    /// If false, the series is left out of the back-test, since the time is too short.
    tested: bool,
}

impl Plan {
    /// Finds seasons and places origins. `series` holds the values of each series, `[rows]`; NaN is missing.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a horizon of 0 or beyond any use, a level outside 0 to 99.9, a season below 2, or
    /// where no series has a value.
    pub fn new(series: &[Vec<f64>], options: &ForecastOptions) -> Result<Self> {
        Self::placed(series, options, None)
    }

    /// As [`Plan::new`], with `held_out` rows at the end of each series and several origins in them, each with a whole
    /// horizon; there is none if they are fewer than the horizon. Validation origins lie before these rows.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn with_held_out(series: &[Vec<f64>], options: &ForecastOptions, held_out: usize) -> Result<Self> {
        Self::placed(series, options, Some(held_out))
    }

    fn placed(series: &[Vec<f64>], options: &ForecastOptions, given_rows: Option<usize>) -> Result<Self> {
        check(series, options)?;
        let mut given = options.seasons.clone();
        if let Some(seasons) = &mut given {
            seasons.retain(|&season| season > 1);
        }
        // Gaps are filled with the season of the clock, since seasons are found in values without gaps.
        let clock = given.as_ref().and_then(|seasons| seasons.iter().copied().min()).unwrap_or(1);
        let histories: Vec<History> = series.par_iter().map(|values| History::new(values, clock)).collect();
        let reference = |season: usize| reference(&histories, season, options.horizon);
        let mut seasons = given.unwrap_or_else(|| {
            // No more rows are ever held out, and these choose no season either, not even by filling a gap before.
            let held_out = given_rows.unwrap_or(options.horizon.min(reference(clock) / 3));
            let seen = |values: &Vec<f64>| History::new(&values[..values.len().saturating_sub(held_out)], 1).values;
            found_seasons(series, seen)
        });
        seasons.sort_unstable();
        seasons.dedup();
        let mut warnings = vec![];
        let longest = histories.iter().map(|one| one.values.len()).max().unwrap_or(0);
        let shortest = seasons.first().copied();
        seasons.retain(|&season| {
            // Forecasters that take several seasons apart need two of each.
            let least = match shortest == Some(season) {
                true => fewest_with(season, options.horizon).min(2 * season + 2),
                false => 2 * season + 2,
            };
            if longest < least {
                warnings.push(format!(
                    "no series has the {least} rows for a season of {season} steps; this season is left out \
                     (`--season` gives others)"
                ));
            }
            longest >= least
        });
        let season = seasons.first().copied().unwrap_or(1);
        let reference = reference(season);
        let origins = match given_rows {
            None => origins(reference, season, options.horizon, series.len()),
            Some(held_out) => origins_with_held_out(reference, season, options.horizon, series.len(), held_out),
        };
        let prepare =
            |(values, full): (&Vec<f64>, History)| Prepared::new(values, full, season, &origins, options.keep_outliers);
        let prepared: Vec<Prepared> = series.par_iter().zip(histories).map(prepare).collect();
        let mut plan = Self {
            options: options.clone(),
            seasons,
            origins,
            series: prepared,
            warnings,
            short_of_time: vec![],
            finish: Duration::ZERO,
        };
        plan.warn();
        if options.budget.limit().is_some() {
            plan.fit_into_time();
        }
        Ok(plan)
    }

    /// Measures on some series the time that simple forecasts, weights and a report take, and leaves as many series out
    /// of the back-test as would take too long.
    fn fit_into_time(&mut self) {
        if self.origins.len() < 2 {
            return;
        }
        let all = self.len();
        let chosen: Vec<Prepared> = spread(all, PILOT).map(|at| self.series[at].clone()).collect();
        let count = chosen.len();
        let options = ForecastOptions { budget: Budget::unlimited(), ..self.options.clone() };
        let pilot = Self { options, series: chosen, warnings: vec![], ..self.clone_without_series() };
        let begun = Instant::now();
        let members = pilot.simple_members();
        let forecast = begun.elapsed();
        drop(pilot.blend(&members, &pilot.weights(&members)));
        let took = begun.elapsed();
        let of = |duration: Duration, series: usize| duration.mul_f64(series as f64 / count as f64);
        let left = self.options.budget.left().unwrap_or(Duration::MAX).mul_f64(SIMPLE_SHARE);
        let mut tested = all;
        if of(took, all) > left {
            tested = (left.as_secs_f64() / took.as_secs_f64() * count as f64) as usize;
            tested = if tested < FEWEST_TESTED.min(all) { 0 } else { tested };
            self.series.iter_mut().for_each(|one| one.tested = false);
            spread(all, tested).for_each(|at| self.series[at].tested = true);
            let reason = match self.options.budget.is_stopped() {
                true => "it was interrupted",
                false => "the time is too short (`--time` gives more)",
            };
            self.short_of_time.push(match tested {
                0 => format!(
                    "no back-test of {all} series, which have simple forecasts alone, and intervals from differences \
                     of values: {reason}"
                ),
                _ => format!(
                    "a back-test of {tested} series alone; the other {} of {all} have simple forecasts with their \
                     weights and errors: {reason}",
                    all - tested
                ),
            });
        }
        self.finish = of(took - forecast, tested);
    }

    /// The plan without its series, to be filled with others.
    fn clone_without_series(&self) -> Self {
        Self {
            options: self.options.clone(),
            seasons: self.seasons.clone(),
            origins: self.origins.clone(),
            series: vec![],
            warnings: vec![],
            short_of_time: vec![],
            finish: Duration::ZERO,
        }
    }

    /// The number of series that are left out of the back-test, since the time is too short.
    #[must_use]
    pub fn untested(&self) -> usize {
        self.series.iter().filter(|one| !one.tested).count()
    }

    /// The time that weights, intervals and a report of all members take, as far as it is known.
    #[must_use]
    pub fn finish(&self) -> Duration {
        self.finish * ALL_MEMBERS
    }

    /// Season lengths, the shortest first; the first one scales errors.
    #[must_use]
    pub fn seasons(&self) -> &[usize] {
        &self.seasons
    }

    /// Origins, the oldest first: those of validation, the held-out one, and the end. Series too short for a
    /// back-test have the end alone.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// The number of series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// If true, there is no series; a plan always has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The series' values before an origin, without gaps, in the unit of the file. `None` if fewer than two are left
    /// of a back-test's origin, or the series is not back-tested; the end always has some, if the series has a value.
    #[must_use]
    pub fn history(&self, series: usize, origin: usize) -> Option<Vec<f64>> {
        let prepared = self.series.get(series)?;
        let values = prepared.history(origin, self.origins.get(origin)?)?;
        Some(values.iter().map(|value| value * prepared.full.unit).collect())
    }

    /// The row, counted from the end of a series, of a value that lies far from all others and that forecasters do not see.
    #[must_use]
    pub fn outlier(&self, series: usize) -> Option<usize> {
        let one = self.series.get(series)?;
        one.outlier.map(|row| one.known.len() - row)
    }

    pub(super) fn season(&self) -> usize {
        self.seasons.first().copied().unwrap_or(1)
    }

    /// Indices of the origins of a kind.
    pub(super) fn origins_of(&self, kind: OriginKind) -> impl Iterator<Item = usize> + '_ {
        self.origins.iter().enumerate().filter(move |(_, origin)| origin.kind == kind).map(|(at, _)| at)
    }

    /// Time that is left for members, without that for weights and intervals; `None` without a limit.
    pub(super) fn time_left(&self) -> Option<Duration> {
        self.options.budget.left().map(|left| left.saturating_sub(self.finish()))
    }

    /// If true, the time for members is used up.
    pub(super) fn is_late(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    /// As [`Self::named_series`], of those that hold something.
    fn named(&self, verbs: [&str; 2], holds: impl Fn(&Prepared) -> bool) -> Option<String> {
        let found: Vec<usize> =
            self.series.iter().enumerate().filter(|(_, one)| holds(one)).map(|(at, _)| at).collect();
        self.named_series(&found, verbs)
    }

    fn name(&self, series: usize) -> String {
        self.options.names.get(series).map_or_else(|| (series + 1).to_string(), |name| format!("`{name}`"))
    }

    /// Series by their names, as warnings show them: a few and how many more, followed by the verb for one or for
    /// several; `None` where there are none.
    #[must_use]
    pub fn named_series(&self, found: &[usize], verbs: [&str; 2]) -> Option<String> {
        let names = first_of(MOST_NAMED, found.iter().map(|series| self.name(*series)));
        let [one, several] = verbs;
        match found.len() {
            0 => None,
            1 => Some(format!("series {names} {one}")),
            _ => Some(format!("series {names} {several}")),
        }
    }

    /// The rows below which a series without errors of its own has simple forecasts alone.
    pub(super) fn fewest_rows(&self) -> usize {
        2 * self.season() + 2
    }

    fn warn(&mut self) {
        let filled = self.series.iter().map(|one| one.full.filled).sum::<usize>();
        let gaps = self.series.iter().filter(|one| one.full.filled > 0).count();
        if filled > 0 {
            self.warnings.push(format!("{filled} missing {} in {gaps} series {} interpolated in the input of the forecasters; errors leave them out",
                if filled == 1 { "value" } else { "values" },
                if filled == 1 { "is" } else { "are" }));
        }
        let is_constant = |one: &Prepared| {
            one.full.values.len() > 1 && one.full.values.iter().all(|value| *value == one.full.values[0])
        };
        let outliers: Vec<String> =
            self.series.iter().filter_map(|one| Some((one.known[one.outlier?] * one.full.unit).to_string())).collect();
        let value = if let [one] = &outliers[..] { format!(", {one},") } else { String::new() };
        self.warnings.extend(self.named(["has", "have"], |one| one.outlier.is_some()).map(|series| {
            format!(
                "{series} a value{value} among the last rows that is far from all others: forecasts are made without it, and \
                 errors count it (`--keep-outliers` keeps it)"
            )
        }));
        self.warn_of_ended();
        let empty = self.named(["has", "have"], |one| one.full.values.is_empty());
        let constant = self.named(["has", "have"], is_constant);
        self.warnings.extend(empty.map(|series| format!("{series} no value; the forecast is 0")));
        self.warnings
            .extend(constant.map(|series| format!("{series} one value in all rows; the forecast is that value")));
        let Some(first) = self.origins.first().filter(|origin| origin.kind != OriginKind::End) else {
            self.warnings.push(
                "the series are too short for a back-test; forecasts are means of simple ones, and intervals come \
                 from differences of values"
                    .into(),
            );
            return;
        };
        if first.steps < self.options.horizon {
            self.warnings.push(format!(
                "the series are too short for a back-test of {} steps; it has {}",
                self.options.horizon, first.steps
            ));
        }
        let rows = |one: &Prepared| one.full.values.len();
        let (whole, fewest) = (first.offset + 2, self.fewest_rows());
        // The last validation origin is the one that the shortest series have.
        let validated = self.origins_of(OriginKind::Validation).last().map_or(0, |at| self.origins[at].offset + 2);
        let is_simple = |one: &Prepared| (1..fewest.min(validated)).contains(&rows(one));
        let simple = self.named(["has", "have"], is_simple);
        let short = self.named(["is", "are"], |one| (1..whole).contains(&rows(one)) && !is_simple(one));
        self.warnings.extend(simple.map(|series| {
            format!(
                "{series} fewer than {fewest} rows and no back-test: the forecast is a mean of naive ones, and other \
                 series' errors give its intervals"
            )
        }));
        self.warnings.extend(short.map(|series| {
            format!("{series} too short for all of the back-test; other series' weights and errors stand in")
        }));
    }

    /// Says how many rows without a value all series have at their end, and which series have more.
    fn warn_of_ended(&mut self) {
        let known = self.series.iter().enumerate().filter(|(_, one)| !one.known.is_empty());
        let ended: Vec<(usize, usize)> = known.map(|(series, one)| (series, one.ended(0))).collect();
        let all = ended.iter().map(|(_, rows)| *rows).min().unwrap_or(0);
        if all > 0 {
            let rows = if all == 1 { "row has".to_owned() } else { format!("{all} rows have") };
            self.warnings.push(format!("the last {rows} no value; the forecast begins after them"));
        }
        let earlier: Vec<(usize, usize)> = ended.into_iter().filter(|(_, rows)| *rows > all).collect();
        let with_rows = |(series, rows): &(usize, usize)| format!("{} ({rows})", self.name(*series));
        let rows_have = match &earlier[..] {
            [] => return,
            [(series, 1)] => format!("the last row of series {} has", self.name(*series)),
            [(series, rows)] => format!("the last {rows} rows of series {} have", self.name(*series)),
            _ => format!("the last rows of series {} have", first_of(MOST_NAMED, earlier.iter().map(with_rows))),
        };
        self.warnings.push(format!("{rows_have} no value; intervals are as wide as those of so many steps later"));
    }
}

fn check(series: &[Vec<f64>], options: &ForecastOptions) -> Result<()> {
    let horizon = options.horizon;
    if horizon == 0 || horizon > MOST_STEPS || horizon.saturating_mul(series.len()) > MOST_NUMBERS {
        let reason =
            format!("is {horizon} for {} series, expected 1 to {MOST_STEPS}, and fewer for many series", series.len());
        return Err(Error::invalid("horizon", reason));
    }
    if let Some(level) = options.levels.iter().find(|level| !(**level > 0.0 && **level <= 99.9)) {
        return Err(Error::invalid("levels", format!("has {level}, expected percentages above 0 and at most 99.9")));
    }
    if let Some(season) = options.seasons.iter().flatten().find(|season| !(1..=MOST_STEPS).contains(*season)) {
        return Err(Error::invalid("seasons", format!("has {season}, expected 1 to {MOST_STEPS} steps")));
    }
    if !series.iter().flatten().any(|value| value.is_finite()) {
        return Err(Error::invalid("series", "have no value; expected at least one number"));
    }
    Ok(())
}

/// At most so many of `all` places, evenly spread.
fn spread(all: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = most.min(all);
    (0..count).map(move |at| at * all / count)
}

/// The rows by which origins are placed: those that at least three quarters of the series have. Where these are too few
/// to back-test half of the horizon, those that the series with three quarters of all values have, so that a few short
/// series do not take the back-test from the others.
fn reference(histories: &[History], season: usize, horizon: usize) -> usize {
    let mut lengths: Vec<usize> = histories.iter().map(|one| one.values.len()).filter(|length| *length > 0).collect();
    lengths.sort_unstable();
    let quartile = lengths.get(lengths.len() / 4).copied().unwrap_or(0);
    let steps = |rows: usize| {
        let first = origins(rows, season, horizon, lengths.len())[0];
        if first.kind == OriginKind::End { 0 } else { first.steps }
    };
    if 2 * steps(quartile) >= horizon {
        return quartile;
    }
    let all: usize = lengths.iter().sum();
    let mut values = 0;
    let of_values = lengths.iter().copied().find(|length| {
        values += length;
        4 * values > all
    });
    of_values.filter(|rows| steps(*rows) > steps(quartile)).unwrap_or(quartile)
}

/// The rows by which a season is measured at all: one season, and rows to validate and to hold out, half a horizon in all.
fn fewest_with(season: usize, horizon: usize) -> usize {
    season + 1 + (horizon.min(season) / 2).max(3)
}

/// Origins for series of `rows`: the last `horizon` rows are held out, and validation origins are spread over the
/// rows before, each after at least two fifths of the rows and two seasons, or one where there are no more.
fn origins(rows: usize, season: usize, horizon: usize, series: usize) -> Vec<Origin> {
    let end = Origin { offset: 0, steps: horizon, kind: OriginKind::End };
    let long_season = 2 * season + 3;
    let least = match rows {
        _ if rows > long_season + 2 * horizon.min(season) => long_season,
        _ if rows >= fewest_with(season, horizon) => season + 1,
        _ => 4.min(rows),
    };
    let least = least.max(rows * 2 / 5);
    let steps = horizon.min(rows.saturating_sub(least) / 2);
    if steps == 0 {
        return vec![end];
    }
    // A horizon that can be validated but once is no ground for weights.
    let steps = if rows - least < 2 * steps + steps / 2 { ((rows - least) * 2 / 5).max(1).min(steps) } else { steps };
    let room = rows - least - 2 * steps;
    let most = (MOST_HISTORIES / series.max(1)).clamp(FEWEST_ORIGINS, MOST_ORIGINS);
    let count = most.min(room + 1);
    let step = match count {
        0 | 1 => 1,
        _ => (room.min(LONGEST_SPAN * steps) / (count - 1)).clamp(1, steps.max(1)),
    };
    let validation = (0..count).rev().map(|at| 2 * steps + at * step);
    let mut origins: Vec<Origin> =
        validation.map(|offset| Origin { offset, steps, kind: OriginKind::Validation }).collect();
    origins.push(Origin { offset: steps, steps, kind: OriginKind::HeldOut });
    origins.push(end);
    origins
}

/// Origins for series of `rows`, the last `held_out` of which have several, spread over them. Those of validation lie
/// before, as [`origins`] places them.
fn origins_with_held_out(rows: usize, season: usize, horizon: usize, series: usize, held_out: usize) -> Vec<Origin> {
    // The last rows before stand where those after a single held-out origin would.
    let before = origins(rows.saturating_sub(held_out) + horizon.min(rows), season, horizon, series);
    let before = before.into_iter().filter(|origin| origin.kind == OriginKind::Validation);
    let validation = before.map(|origin| Origin { offset: origin.offset - origin.steps + held_out, ..origin });
    let most = (MOST_HISTORIES / series.max(1)).clamp(FEWEST_ORIGINS, MOST_ORIGINS);
    let room = held_out.checked_sub(horizon);
    let count = room.map_or(0, |room| most.min(room + 1));
    let place = |at: usize| if count > 1 { at * room.unwrap_or(0) / (count - 1) } else { 0 };
    let held_out =
        (0..count).rev().map(|at| Origin { offset: horizon + place(at), steps: horizon, kind: OriginKind::HeldOut });
    let end = Origin { offset: 0, steps: horizon, kind: OriginKind::End };
    validation.chain(held_out).chain([end]).collect()
}

impl Prepared {
    fn new(values: &[f64], full: History, season: usize, origins: &[Origin], keep_outliers: bool) -> Self {
        let first = values.len() - full.values.len();
        let known: Vec<f64> =
            values[first..].iter().map(|value| if value.is_finite() { value / full.unit } else { f64::NAN }).collect();
        let outlier_before = |rows: usize| recent_outlier(&known[..rows], season).filter(|_| !keep_outliers);
        let cut_at = |origin: &Origin| {
            let rows = known.len().checked_sub(origin.offset).filter(|rows| *rows > 0)?;
            let across = known[rows - 1].is_nan();
            let seasonal = full.filled > 0 && season > 1;
            let outlier = outlier_before(rows);
            if !(across || seasonal || outlier.is_some()) {
                return None;
            }
            let mut before = known[..rows].to_vec();
            if let Some(place) = outlier {
                before[place] = f64::NAN;
            }
            let history = History::new(&before, season);
            Some(history.values.iter().map(|value| value * history.unit).collect())
        };
        let cut: Vec<Option<Vec<f64>>> = origins.iter().map(cut_at).collect();
        let outlier = outlier_before(known.len());
        let mut prepared = Self { full, cut, known, scale: 1.0, outlier, tested: true };
        let held_out = origins.iter().find(|origin| origin.kind == OriginKind::HeldOut).map_or(0, |one| one.offset);
        // A series that lies in the held-out rows is not back-tested, and has its scale from all of its rows.
        let rows = Some(prepared.known.len().saturating_sub(held_out)).filter(|rows| *rows > 1);
        prepared.scale = mase_scale(&prepared.known[..rows.unwrap_or(prepared.known.len())], season);
        prepared
    }

    /// If true, the series had one value alone until the end of the targets of an origin, and has others before a later
    /// one: errors after the former say nothing of the latter.
    pub(super) fn was_constant(&self, origin: &Origin, later: &Origin) -> bool {
        let mut known = self.known.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let first = known.next().map(|(_, value)| *value);
        let change = known.find(|(_, value)| Some(**value) != first).map_or(self.known.len(), |(at, _)| at);
        let rows = |offset: usize| self.known.len().saturating_sub(offset);
        rows(origin.offset) + origin.steps <= change && change < rows(later.offset)
    }

    /// Rows without a value before the last `offset` rows, after the last value there; 0 where there is none.
    pub(super) fn ended(&self, offset: usize) -> usize {
        let rows = self.known.len().saturating_sub(offset);
        let last = self.known[..rows].iter().rposition(|value| !value.is_nan());
        last.map_or(0, |last| rows - 1 - last)
    }

    /// The values before an origin in the unit of the whole series; `None` if fewer than two are left, or none at
    /// the end.
    pub(super) fn history(&self, at: usize, origin: &Origin) -> Option<&[f64]> {
        if !self.tested && origin.kind != OriginKind::End {
            return None;
        }
        let rows = self.full.values.len().checked_sub(origin.offset)?;
        let least = if origin.kind == OriginKind::End { 1 } else { 2 };
        let values = self.cut.get(at)?.as_deref().unwrap_or(&self.full.values[..rows]);
        (values.len() >= least).then_some(values)
    }

    /// The signs of the known values before an origin.
    pub(super) fn sign(&self, origin: &Origin) -> Sign {
        let rows = self.known.len().saturating_sub(origin.offset);
        Sign::of(&self.known[..rows])
    }

    /// The ratio of the mean absolute seasonal difference of the last `rows` before an origin to that of all rows before
    /// a later one, at least a twentieth; 1 where there is none.
    pub(super) fn recent_scale(&self, origin: &Origin, later: &Origin, season: usize, rows: usize) -> f64 {
        let known = &self.known[..self.known.len().saturating_sub(later.offset)];
        let lag = if known.len() > season { season } else { 1 };
        let pairs = known.iter().zip(known.get(lag..).unwrap_or(&[]));
        let differences: Vec<f64> = pairs.map(|(a, b)| (a - b).abs()).collect();
        let mean = |values: &[f64]| {
            let finite = values.iter().filter(|one| one.is_finite());
            let (sum, count) = finite.fold((0.0, 0.0), |(sum, count), one| (sum + one, count + 1.0));
            if count > 0.0 { sum / count } else { f64::NAN }
        };
        let end = differences.len().saturating_sub(origin.offset - later.offset);
        let ratio = mean(&differences[end.saturating_sub(rows)..end]) / mean(&differences);
        if ratio.is_finite() { ratio.max(0.05) } else { 1.0 }
    }

    /// The values after an origin, NaN where missing, in the unit of the whole series.
    pub(super) fn truth(&self, origin: &Origin) -> &[f64] {
        let from = self.known.len().saturating_sub(origin.offset);
        &self.known[from..(from + origin.steps).min(self.known.len())]
    }

    pub(super) fn whole(&self) -> &History {
        &self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_leave_histories_and_do_not_overlap_the_held_out_rows() {
        for rows in 0..200 {
            for (season, horizon, series) in [(1, 1, 1), (12, 12, 1), (24, 48, 50), (7, 300, 1), (168, 24, 3)] {
                let all = origins(rows, season, horizon, series);
                assert_eq!(all.last().unwrap().offset, 0);
                for pair in all.windows(2) {
                    assert!(pair[0].offset > pair[1].offset);
                }
                for origin in &all[..all.len() - 1] {
                    assert!(origin.steps >= 1 && origin.steps <= horizon && origin.offset < rows, "{rows} {origin:?}");
                    let past = if origin.kind == OriginKind::Validation { 2 } else { 1 };
                    assert!(origin.offset >= past * origin.steps);
                }
            }
        }
        assert_eq!(origins(144, 12, 12, 1).len(), 26);
        assert!(origins(700, 24, 48, 50).iter().all(|origin| origin.steps == 48));
        assert_eq!(origins(3, 1, 5, 1).len(), 1);
    }

    #[test]
    fn origins_of_held_out_rows_lie_in_them_and_those_of_validation_before() {
        for (rows, held_out, horizon) in [(300, 20, 8), (60, 8, 8), (100, 40, 8), (500, 200, 24), (90, 7, 8), (9, 3, 2)]
        {
            let all = origins_with_held_out(rows, 1, horizon, 3, held_out);
            let of = |kind: OriginKind| all.iter().filter(|origin| origin.kind == kind).collect::<Vec<_>>();
            assert_eq!(of(OriginKind::HeldOut).is_empty(), held_out < horizon);
            for origin in of(OriginKind::Validation) {
                assert!(origin.offset >= held_out + origin.steps && origin.offset < rows, "{rows} {origin:?}");
            }
            assert!(rows < 50 || !of(OriginKind::Validation).is_empty());
            assert!(of(OriginKind::HeldOut).iter().all(|origin| (horizon..=held_out).contains(&origin.offset)));
            assert!(all.windows(2).all(|pair| pair[0].offset > pair[1].offset), "{all:?}");
            assert_eq!(all.last().map(|origin| (origin.offset, origin.kind)), Some((0, OriginKind::End)));
        }
    }

    #[test]
    fn validation_origins_leave_the_oldest_rows_to_a_network() {
        for (rows, horizon, all_rows) in [(5000, 24, 5000), (700, 48, 26 * 700), (400, 13, 400), (80, 12, 80)] {
            let all = origins(rows, 1, horizon, all_rows);
            assert!(all[0].offset <= (2 + LONGEST_SPAN) * all[0].steps, "{all:?}");
        }
    }

    #[test]
    fn the_recent_scale_follows_the_last_rows_before_an_origin() {
        let size = |at: usize| if at < 80 { 1.0 } else { 4.0 };
        let values: Vec<f64> = (0..100).map(|at| 50.0 + size(at) * (at % 2) as f64).collect();
        let options = ForecastOptions { horizon: 4, seasons: Some(vec![]), ..ForecastOptions::default() };
        let plan = Plan::new(&[values, vec![3.0; 100]], &options).unwrap();
        let at = |offset: usize| Origin { offset, steps: 4, kind: OriginKind::Validation };
        let scale = |series: usize, offset: usize| plan.series[series].recent_scale(&at(offset), &at(0), 1, 10);
        let mean = (79.0 + 4.0 * 20.0) / 99.0;
        assert!((scale(0, 0) - 4.0 / mean).abs() < 0.1, "{}", scale(0, 0));
        assert!((scale(0, 30) - 1.0 / mean).abs() < 0.05 && scale(1, 0) == 1.0 && scale(0, 99) == 1.0);
    }

    #[test]
    fn histories_end_before_their_origin() {
        let mut values: Vec<f64> = (0..40).map(|at| at as f64).collect();
        let options = ForecastOptions { horizon: 4, seasons: Some(vec![]), ..ForecastOptions::default() };
        let at = Plan::new(&[values.clone()], &options).unwrap();
        let offset = at.origins()[0].offset;
        values[40 - offset - 1] = f64::NAN;
        let plan = Plan::new(&[values], &options).unwrap();
        let history = plan.history(0, 0).unwrap();
        // The value after the gap is not known at the origin.
        assert_eq!(history.len(), 40 - offset);
        assert_eq!(history.last().copied(), Some((40 - offset - 2) as f64));
        assert!(plan.warnings[0].starts_with("1 missing value in 1 series"));
    }

    #[test]
    fn a_few_short_series_leave_the_origins_of_the_long_ones() {
        let placed = |lengths: &[usize]| {
            let histories: Vec<History> = lengths.iter().map(|rows| History::new(&vec![1.0; *rows], 1)).collect();
            reference(&histories, 7, 14)
        };
        assert_eq!([placed(&[200, 2]), placed(&[2, 200, 3]), placed(&[200, 20, 200])], [200; 3]);
        // Series that can be back-tested are, and many short ones are no exception.
        assert_eq!([placed(&[200, 90]), placed(&[&[8; 40][..], &[90]].concat()), placed(&[2, 3])], [90, 8, 2]);
    }

    #[test]
    fn impossible_options_are_refused() {
        let of = |series: &[Vec<f64>], options: &ForecastOptions| Plan::new(series, options).unwrap_err().to_string();
        let one = [vec![1.0, 2.0]];
        let good = ForecastOptions::default();
        assert!(of(&one, &ForecastOptions { horizon: 0, ..good.clone() }).starts_with("horizon: is 0"));
        assert!(of(&one, &ForecastOptions { levels: vec![f64::NAN], ..good.clone() }).starts_with("levels: has NaN"));
        assert!(of(&one, &ForecastOptions { seasons: Some(vec![0]), ..good.clone() }).starts_with("seasons: has 0"));
        assert!(of(&[], &good).starts_with("series: have no value"));
        assert!(of(&[vec![f64::NAN; 4]], &good).starts_with("series: have no value"));
    }
}
