//! Forecasts of series, as tables and JSON.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::error::shown;
use crate::file::write_atomic;
use crate::series::Clock;
use crate::table::write::{Cell, TableSource, csv, write};
use crate::{Error, Result};

/// The forecast of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The name of the series.
    pub name: String,
    /// The step of the first value, counted from the clock's first stamp.
    pub start: usize,
    /// A value for each step of the horizon, in the units of the file.
    pub values: Vec<f32>,
    /// Intervals around them; the same levels for all series.
    pub intervals: Vec<Interval>,
}

/// A prediction interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The share of values that should lie in it, in per cent.
    pub level: f64,
    /// The lower end for each step.
    pub low: Vec<f32>,
    /// The upper end for each step.
    pub high: Vec<f32>,
}

/// One step of a forecast, as it stands in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastRow {
    /// The name of the series.
    pub unique_id: String,
    /// The stamp, written as those of the file.
    pub ds: String,
    /// The value; `null` in JSON where it is not finite.
    pub forecast: f32,
    /// Intervals, in the order given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<IntervalRow>,
}

/// One step of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IntervalRow {
    /// The share of values that should lie in it, in per cent.
    pub level: f64,
    /// Its lower end.
    pub low: f32,
    /// Its upper end.
    pub high: f32,
}

/// Forecasts of series on one clock, ready to be written.
///
/// ```
/// use regard_data::series::Clock;
/// use regard_data::series::formats::forecasts::{Forecast, Forecasts, Interval};
///
/// let clock = Clock::new("2020-11", "month".parse()?)?;
/// let interval = Interval { level: 80.0, low: vec![1.0, 1.5], high: vec![3.0, 4.5] };
/// let forecast = Forecast { name: "a".into(), start: 1, values: vec![2.0, 3.0], intervals: vec![interval] };
/// let forecasts = Forecasts::new(&clock, vec![forecast])?;
/// assert_eq!(forecasts.csv(), "unique_id,ds,forecast,lo-80,hi-80\na,2020-12,2,1,3\na,2021-01,3,1.5,4.5\n");
/// assert_eq!(forecasts.wide_csv("date"), "date,a,a-lo-80,a-hi-80\n2020-12,2,1,3\n2021-01,3,1.5,4.5\n");
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Forecasts {
    forecasts: Vec<Forecast>,
    /// The stamps of all steps that are forecast.
    stamps: BTreeMap<usize, String>,
}

impl Forecasts {
    /// Forecasts whose steps are those of this clock.
    ///
    /// # Errors
    /// [`Error::Invalid`] when lengths differ within a forecast, levels between them, or stamps lie beyond the
    /// calendar.
    pub fn new(clock: &Clock, forecasts: Vec<Forecast>) -> Result<Self> {
        let mut stamps = BTreeMap::new();
        let levels = |one: &Forecast| one.intervals.iter().map(|interval| interval.level).collect::<Vec<f64>>();
        for one in &forecasts {
            let wrong = |reason: &str| Err(Error::invalid(format!("forecast of `{}`", shown(&one.name)), reason));
            let horizon = one.values.len();
            if one.intervals.iter().any(|interval| interval.low.len() != horizon || interval.high.len() != horizon) {
                return wrong("has intervals of another length than its values");
            }
            if levels(one) != levels(&forecasts[0]) {
                return wrong("has other levels of intervals than the first");
            }
            for step in one.start..one.start + horizon {
                if let std::collections::btree_map::Entry::Vacant(free) = stamps.entry(step) {
                    free.insert(clock.stamp(step)?);
                }
            }
        }
        Ok(Self { forecasts, stamps })
    }

    /// The forecast of each series.
    #[must_use]
    pub fn all(&self) -> &[Forecast] {
        &self.forecasts
    }

    /// All steps of all series, series after series.
    #[must_use]
    pub fn rows(&self) -> Vec<ForecastRow> {
        let of_series = |one: &Forecast| {
            let row = |at: usize| ForecastRow {
                unique_id: one.name.clone(),
                ds: self.stamps[&(one.start + at)].clone(),
                forecast: one.values[at],
                intervals: one.intervals.iter().map(|i| i.row(at)).collect(),
            };
            (0..one.values.len()).map(row).collect::<Vec<_>>()
        };
        self.forecasts.iter().flat_map(of_series).collect()
    }

    /// One line for each step of each series: `unique_id,ds,forecast`, and the ends of intervals `lo-80,hi-80`.
    #[must_use]
    pub fn csv(&self) -> String {
        csv(self)
    }

    /// One line for each stamp, with the columns of each series beside each other: its name, and the ends of
    /// intervals `name-lo-80,name-hi-80`. `date` is the name of the first column. Where a series is not forecast,
    /// its fields are empty.
    #[must_use]
    pub fn wide_csv(&self, date: &str) -> String {
        csv(&WideTable { forecasts: self, date })
    }

    /// Writes the table of [`Forecasts::csv`] as [`write()`] does.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path, self)
    }

    /// Writes the table of [`Forecasts::wide_csv`] as [`write()`] does.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_wide(&self, path: impl AsRef<Path>, date: &str) -> Result<()> {
        write(path, &WideTable { forecasts: self, date })
    }

    /// Writes the list of [`Forecasts::rows`] as JSON, under a temporary name first.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_json(&self, path: impl AsRef<Path>) -> Result<()> {
        let rows = self.rows();
        write_atomic(path, |w| {
            serde_json::to_writer(&mut *w, &rows)?;
            writeln!(w)
        })
    }
}

impl Interval {
    fn row(&self, at: usize) -> IntervalRow {
        IntervalRow { level: self.level, low: self.low[at], high: self.high[at] }
    }
}

impl TableSource for Forecasts {
    fn columns(&self) -> Vec<String> {
        let mut columns = ["unique_id", "ds", "forecast"].map(str::to_owned).to_vec();
        for interval in self.forecasts.first().map_or(&[][..], |first| &first.intervals) {
            columns.extend(["lo", "hi"].map(|end| format!("{end}-{}", interval.level)));
        }
        columns
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for one in &self.forecasts {
            for at in 0..one.values.len() {
                let mut cells = vec![Cell::Text(&one.name), Cell::Text(&self.stamps[&(one.start + at)])];
                one.fill_cells(Some(at), &mut cells);
                visit(&cells)?;
            }
        }
        Ok(())
    }
}

/// A table with a row for each stamp.
struct WideTable<'f> {
    forecasts: &'f Forecasts,
    /// The name of the first column.
    date: &'f str,
}

impl TableSource for WideTable<'_> {
    fn columns(&self) -> Vec<String> {
        let mut columns = vec![self.date.to_owned()];
        for one in &self.forecasts.forecasts {
            columns.push(one.name.clone());
            for interval in &one.intervals {
                columns.extend(["lo", "hi"].map(|end| format!("{}-{end}-{}", one.name, interval.level)));
            }
        }
        columns
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for (step, stamp) in &self.forecasts.stamps {
            let mut cells = vec![Cell::Text(stamp)];
            for one in &self.forecasts.forecasts {
                one.fill_cells(step.checked_sub(one.start).filter(|at| *at < one.values.len()), &mut cells);
            }
            visit(&cells)?;
        }
        Ok(())
    }
}

impl Forecast {
    /// Adds the value and the ends of intervals at a step; all are missing where there is no such step.
    fn fill_cells(&self, at: Option<usize>, cells: &mut Vec<Cell<'_>>) {
        let cell = |values: &[f32]| match at.map(|at| values[at]) {
            Some(value) if value.is_finite() => Cell::Single(value),
            _ => Cell::Missing,
        };
        cells.push(cell(&self.values));
        for interval in &self.intervals {
            cells.extend([cell(&interval.low), cell(&interval.high)]);
        }
    }
}

#[cfg(test)]
mod tests;
