//! The steps of a clock that rows belong to.

use std::borrow::Cow;
use std::path::Path;

use super::stamps::{Stamps, Ticks, parts_of_dates};
use super::{Duplicates, ReadOptions};
use crate::error::shown;
use crate::series::clock::{Clock, Frequency, Layout, Unit, infer};
use crate::table::Header;
use crate::{Error, Result};

/// The steps of the rows of each series.
pub(super) struct Timeline {
    pub(super) clock: Clock,
    pub(super) series: Vec<Track>,
    pub(super) gaps: usize,
    pub(super) out_of_order: usize,
    pub(super) duplicates: usize,
    /// A sentence about stamps that could be read in another way.
    pub(super) note: Option<String>,
}

/// A frequency of more steps for a row is no advice.
const MOST_STEPS_PER_ROW: i64 = 12;

/// The most steps of so many rows, each with so many numbers.
pub(super) fn most_steps(rows: usize, width: usize) -> usize {
    const MOST_PER_ROW: usize = 50;
    const ALWAYS: usize = 1_000_000;
    rows.saturating_mul(MOST_PER_ROW).max(ALWAYS / width.max(1))
}

/// The steps of the rows of one series.
pub(super) struct Track {
    pub(super) start: usize,
    /// Steps from the first to the last row.
    pub(super) len: usize,
    /// Rows in order of time; those of one step in the order of the file.
    rows: Vec<u32>,
    /// The step of each of `rows` after the first.
    steps: Vec<u32>,
    /// If true, rows are the steps themselves, all of the file's.
    identity: bool,
}

/// The data that place rows, and that messages about them name.
pub(super) struct Placing<'a> {
    pub(super) path: &'a Path,
    pub(super) header: &'a Header<'a>,
    pub(super) options: &'a ReadOptions,
    /// The line of each row.
    pub(super) lines: &'a [u32],
    /// Names of the series; empty for a wide table, where all share their rows.
    pub(super) names: &'a [String],
    /// Columns of a wide table that may name series, one or several together.
    pub(super) ids: &'a [String],
    /// Numbers that a row holds, by which the cost of a gap is known.
    pub(super) width: usize,
}

impl Placing<'_> {
    /// Places the rows of each series, given in the order of the file.
    pub(super) fn place(&self, stamps: Stamps, series: Vec<Vec<u32>>) -> Result<Timeline> {
        let column = stamps.column.as_ref().map_or(String::new(), |column| column.name.clone());
        self.place_ticks(&column, stamps.finish(self.header)?, series)
    }

    /// Places the rows of each series by their ticks; `column` has the stamps.
    pub(super) fn place_ticks(&self, column: &str, ticks: Ticks, mut series: Vec<Vec<u32>>) -> Result<Timeline> {
        let Ticks { layout, ticks, note } = ticks;
        let (mut out_of_order, mut duplicates) = (0, 0);
        let mut distinct: Vec<Vec<i64>> = Vec::with_capacity(series.len());
        for (at, rows) in series.iter_mut().enumerate() {
            out_of_order += sort(rows, &ticks);
            let mut seen: Vec<i64> = rows.iter().map(|row| ticks[*row as usize]).collect();
            seen.dedup();
            duplicates += rows.len() - seen.len();
            if seen.len() < rows.len() && self.options.duplicates == Duplicates::Error {
                return Err(self.duplicate(rows, &ticks, at, column, &layout));
            }
            distinct.push(seen);
        }
        let frequency = self.frequency(&distinct, &layout)?;
        let first = distinct.iter().filter_map(|ticks| ticks.first()).min().copied().unwrap_or(0);
        let clock = Clock::of_parts(first, frequency, layout);
        if self.options.frequency.is_some() && clock.stamp(0).ok() == clock.stamp(1).ok() {
            let reason =
                format!("has stamps such as `{}`, in which steps of a {frequency} are the same", clock.stamp(0)?);
            return Err(self
                .header
                .error(reason)
                .with_hint("leave `--frequency` (`data.frequency`) out, or give a coarser one"));
        }
        let (mut gaps, mut steps) = (0, 0);
        let mut tracks = Vec::with_capacity(series.len());
        for (rows, distinct) in series.into_iter().zip(&distinct) {
            let track = self.track(rows, &ticks, &clock, column, &mut steps)?;
            gaps += track.len - distinct.len();
            tracks.push(track);
        }
        Ok(Timeline { clock, series: tracks, gaps, out_of_order, duplicates, note })
    }

    /// Places the rows of one series, which are in order of time. `steps` counts those of all series.
    fn track(&self, rows: Vec<u32>, ticks: &[i64], clock: &Clock, column: &str, steps: &mut usize) -> Result<Track> {
        let at = |row: u32| {
            let step = clock.step_of(ticks[row as usize]).and_then(|step| usize::try_from(step).ok());
            step.ok_or_else(|| self.off_the_grid(clock, column, &rows, ticks))
        };
        let start = rows.first().map_or(Ok(0), |row| at(*row))?;
        let len = rows.last().map_or(Ok(0), |row| at(*row))? - start + 1;
        *steps = steps.saturating_add(len);
        self.fits(*steps, clock)?;
        let steps: Vec<u32> = rows.iter().map(|row| Ok((at(*row)? - start) as u32)).collect::<Result<_>>()?;
        let identity = rows.len() == ticks.len()
            && (0..).zip(rows.iter().zip(&steps)).all(|(at, (row, step))| *row == at && *step == at);
        Ok(Track { start, len, rows, steps, identity })
    }

    fn frequency(&self, distinct: &[Vec<i64>], layout: &Layout) -> Result<Frequency> {
        let dates = *layout != Layout::Integer;
        if let Some(given) = self.options.frequency {
            if dates == (given.unit() != Unit::Step) {
                return Ok(given);
            }
            let (stamps, wanted) = if dates { ("dates", "a frequency of dates") } else { ("integers", "`step`") };
            return Err(self.header.error(format!("has {stamps} as stamps, expected {wanted} instead of `{given}`")));
        }
        let found = infer::frequency(distinct.iter().map(Vec::as_slice), dates).or_else(|| layout.coarsest());
        found.ok_or_else(|| {
            let error =
                Error::parse(self.path, 0, "has no series with two time stamps, so the frequency cannot be derived");
            error.with_hint("give it by `--frequency` (`data.frequency`), such as `day`")
        })
    }

    /// Gaps may be large, but not so large that one wrong date fills the memory.
    fn fits(&self, steps: usize, clock: &Clock) -> Result<()> {
        let most = most_steps(self.lines.len(), self.width);
        if steps <= most {
            return Ok(());
        }
        let reason = format!("has {} rows for {steps} steps of a {}", self.lines.len(), clock.frequency());
        let error = Error::parse(self.path, 0, format!("{reason}, expected at most {most} with gaps filled"));
        Err(error
            .with_hint("a date or the frequency may be wrong; `--frequency` (`data.frequency`) gives a coarser one"))
    }

    fn line(&self, row: u32) -> usize {
        self.lines[row as usize] as usize
    }

    fn duplicate(&self, rows: &[u32], ticks: &[i64], series: usize, column: &str, layout: &Layout) -> Error {
        let pair = rows.windows(2).find(|pair| ticks[pair[0] as usize] == ticks[pair[1] as usize]);
        let (before, row) = pair.map_or((0, 0), |pair| (pair[0], pair[1]));
        let stamp = layout.write(ticks[row as usize]).unwrap_or_default();
        let whose = self.names.get(series).map_or(String::new(), |name| format!(" of series `{}`", shown(name)));
        let reason = format!("stamp `{}`{whose} already occurs", shown(&stamp));
        let error = Error::parse(self.path, self.line(row), reason).on_line(self.line(before)).in_field(column);
        let merged = "`--duplicates mean` or `--duplicates last` (`data.duplicates`) takes the mean or the last row of each stamp";
        let named = |names: &[String], between: &str| {
            names.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(between)
        };
        error.with_hint(match (parts_of_dates(self.header, column).as_slice(), self.ids) {
            (parts @ [_, ..], _) => format!(
                "join {} to one column `date`, with dates such as `2024-05` or `2024-05-17 09:00`",
                named(parts, ", ")
            ),
            (_, []) => merged.to_owned(),
            (_, [one]) => format!(
                "where {} names series, `--id {}` (`data.id`) reads each of them; {merged}",
                named(self.ids, ""),
                shown(one)
            ),
            _ => format!(
                "where {} name series together, join these columns to one and name it by `--id` (`data.id`); {merged}",
                named(self.ids, " and ")
            ),
        })
    }

    /// The error of the first of these rows that is on no step.
    fn off_the_grid(&self, clock: &Clock, column: &str, rows: &[u32], ticks: &[i64]) -> Error {
        let is_off = |row: &u32| clock.step_of(ticks[*row as usize]).is_none();
        let row = rows.iter().copied().find(is_off).or(rows.first().copied()).unwrap_or(0);
        let (tick, every) = (ticks[row as usize], clock.frequency());
        let expected =
            clock.around(tick).map_or(format!("one every {every}"), |(a, b)| format!("`{a}` or `{b}`, every {every}"));
        let reason = format!("does not match the frequency of the other stamps, expected {expected}");
        let error = Error::parse(self.path, self.line(row), reason).in_field(column);
        error.with_hint(self.way_to_the_grid(clock, rows, ticks))
    }

    /// A frequency with a step for all stamps, where these rows leave it few steps without one; else what to do with
    /// the stamps.
    fn way_to_the_grid(&self, clock: &Clock, rows: &[u32], ticks: &[i64]) -> String {
        let found = match self.options.frequency {
            Some(_) => "",
            None => "the frequency is the most common distance between stamps; ",
        };
        let common = infer::common(ticks, clock.frequency().unit() != Unit::Step);
        let last = rows.last().map_or(0, |row| ticks[*row as usize]);
        let steps = rows.first().and_then(|row| common?.step(ticks[*row as usize], last));
        match common.filter(|_| steps.is_some_and(|steps| steps <= MOST_STEPS_PER_ROW * rows.len() as i64)) {
            Some(common) => format!("{found}`--frequency \"{common}\"` (`data.frequency`) has a step for all of them"),
            None => format!(
                "{found}correct this one, or round all of them: a frequency with a step for all would leave most steps \
                 empty"
            ),
        }
    }
}

impl Track {
    /// The values of rows on the steps from `start` on, NaN where no row is.
    pub(super) fn values(&self, of_rows: Cow<'_, [f32]>, duplicates: Duplicates) -> Vec<f32> {
        if self.identity {
            return of_rows.into_owned();
        }
        let mut values = vec![f32::NAN; self.len];
        let places: Vec<(u32, u32)> = self.steps.iter().copied().zip(self.rows.iter().copied()).collect();
        for same in places.chunk_by(|a, b| a.0 == b.0) {
            let mut found = same.iter().map(|(_, row)| of_rows[*row as usize]);
            values[same[0].0 as usize] = match duplicates {
                Duplicates::Mean => mean(found),
                Duplicates::Error | Duplicates::Last => found.next_back().unwrap_or(f32::NAN),
            };
        }
        values
    }
}

/// Brings rows into the order of time, those of one stamp in the order of the file. How many stood behind a
/// later one.
fn sort(rows: &mut [u32], ticks: &[i64]) -> usize {
    let (mut latest, mut behind) = (i64::MIN, 0);
    for row in rows.iter() {
        let tick = ticks[*row as usize];
        behind += usize::from(tick < latest);
        latest = latest.max(tick);
    }
    if behind > 0 {
        rows.sort_by_key(|row| ticks[*row as usize]);
    }
    behind
}

/// The mean of what is not missing.
fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let (sum, count) =
        values.filter(|v| !v.is_nan()).fold((0.0, 0u32), |(sum, count), v| (sum + f64::from(v), count + 1));
    if count == 0 { f32::NAN } else { (sum / f64::from(count)) as f32 }
}
