//! Ranges that settings have to lie in, refused in the same words everywhere.
//!
//! Every function returns [`Error::Config`] with the first setting that lies outside and what was expected.

use std::ops::RangeInclusive;

use regard_data::ranges::ColumnRanges;

use crate::{Error, Result};

/// Settings and their values.
type Named<'a, T> = &'a [(&'a str, T)];

/// An integer in `range`.
pub(crate) fn whole(key: &str, value: usize, range: RangeInclusive<usize>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Error::config(key, format!("is {value}; expected {} to {}", range.start(), range.end())))
}

/// Numbers that may be 0, at most `most`: a size is checked before memory is taken for it.
pub(crate) fn at_most(settings: Named<usize>, most: usize) -> Result<()> {
    settings.iter().try_for_each(|(key, value)| whole(key, *value, 0..=most))
}

/// The time between two checkpoints, in minutes: at most a year, which an experiment of a run cannot exceed.
pub(crate) fn minutes(key: &str, value: f64) -> Result<()> {
    if value > 0.0 && value <= MOST_MINUTES {
        return Ok(());
    }
    Err(Error::config(key, format!("is {value}; expected a number above 0, at most {MOST_MINUTES}")))
}

/// Minutes of a year.
const MOST_MINUTES: f64 = 525_600.0;

/// Numbers of things of which there has to be one.
pub(crate) fn at_least_one(settings: Named<usize>) -> Result<()> {
    every(settings, |value| value > 0, "at least 1")
}

/// Numbers above 0.
pub(crate) fn above_zero(settings: Named<f64>) -> Result<()> {
    every(settings, |value| value.is_finite() && value > 0.0, "a number above 0")
}

/// Numbers that are 0 or more.
pub(crate) fn not_negative(settings: Named<f64>) -> Result<()> {
    every(settings, |value| value.is_finite() && value >= 0.0, "0 or more")
}

/// Shares of something that must not be all of it.
pub(crate) fn shares(settings: Named<f64>) -> Result<()> {
    every(settings, |value| (0.0..1.0).contains(&value), "0 to below 1")
}

/// Means and deviations that were learnt from data, by their key: finite numbers that single precision holds, deviations
/// above 0, and as many of each as there are things they belong to, or none.
pub(crate) fn statistics(key: &str, means: &[f64], deviations: &[f64], count: usize) -> Result<()> {
    let (mean, deviation) = (format!("{key}mean"), format!("{key}std"));
    length(&mean, means.len(), count, true)?;
    length(&deviation, deviations.len(), means.len(), false)?;
    finite(&mean, means)?;
    let good = |by: f64| by > 0.0 && by <= MOST;
    every(&deviations.iter().map(|&by| (deviation.as_str(), by)).collect::<Vec<_>>(), good, "a number above 0")
}

/// Ranges of columns that were learnt from data: finite numbers that rise, as many as there are columns, or none.
pub(crate) fn of_columns(key: &str, ranges: &ColumnRanges, count: usize) -> Result<()> {
    length(key, ranges.len(), count, true)?;
    match ranges.is_sound() {
        true => Ok(()),
        false => Err(Error::config(key, "has a range that is none; expected finite numbers, the smaller one first")),
    }
}

/// Numbers that single precision holds.
pub(crate) fn finite(key: &str, values: &[f64]) -> Result<()> {
    let good = |value: f64| value.abs() <= MOST;
    every(&values.iter().map(|&value| (key, value)).collect::<Vec<_>>(), good, "a finite number of single precision")
}

/// The length of a list of settings; `may_be_empty` if none is also right.
pub(crate) fn length(key: &str, found: usize, expected: usize, may_be_empty: bool) -> Result<()> {
    if found == expected || may_be_empty && found == 0 {
        return Ok(());
    }
    Err(Error::config(key, format!("has {found} values; expected {expected}")))
}

/// Names that differ from each other.
pub(crate) fn distinct(key: &str, names: &[String]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(Error::config(key, format!("has `{}` twice", regard_data::shown(twice)))),
        None => Ok(()),
    }
}

/// The largest number of single precision.
const MOST: f64 = f32::MAX as f64;

fn every<T: Copy + std::fmt::Display>(settings: Named<T>, good: impl Fn(T) -> bool, expected: &str) -> Result<()> {
    match settings.iter().find(|(_, value)| !good(*value)) {
        Some((key, value)) => Err(Error::config(*key, format!("is {value}; expected {expected}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_setting_outside_is_named() {
        let refused = |result: Result<()>| result.unwrap_err().to_string();
        assert_eq!(refused(whole("a.b", 7, 1..=6)), "`a.b`: is 7; expected 1 to 6");
        assert_eq!(refused(at_least_one(&[("a", 1), ("b", 0), ("c", 0)])), "`b`: is 0; expected at least 1");
        assert_eq!(refused(above_zero(&[("a", 0.0)])), "`a`: is 0; expected a number above 0");
        assert_eq!(refused(above_zero(&[("a", f64::INFINITY)])), "`a`: is inf; expected a number above 0");
        assert_eq!(refused(not_negative(&[("a", -1.0)])), "`a`: is -1; expected 0 or more");
        assert_eq!(refused(shares(&[("a", 1.0)])), "`a`: is 1; expected 0 to below 1");
    }

    #[test]
    fn statistics_are_finite_and_as_many_as_needed() {
        let refused =
            |means: &[f64], deviations: &[f64]| statistics("a.", means, deviations, 2).unwrap_err().to_string();
        assert!(statistics("a.", &[], &[], 2).is_ok() && statistics("a.", &[0.0, -5.0], &[1.0, 2.0], 2).is_ok());
        assert_eq!(refused(&[0.0], &[1.0]), "`a.mean`: has 1 values; expected 2");
        assert_eq!(refused(&[], &[1.0]), "`a.std`: has 1 values; expected 0");
        assert_eq!(
            refused(&[0.0, 1e308], &[1.0, 1.0]).split(';').next_back(),
            Some(" expected a finite number of single precision")
        );
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(&[0.0, 0.0], &[1.0, wrong]).ends_with("expected a number above 0"));
        }
        assert!(distinct("a", &["x".into(), "y".into(), "x".into()]).is_err());
    }

    #[test]
    fn no_number_is_in_no_range() {
        for range in [above_zero, not_negative, shares] {
            assert!(range(&[("a", f64::NAN)]).is_err() && range(&[("a", 0.5)]).is_ok());
        }
        assert!(not_negative(&[("a", 0.0)]).is_ok() && shares(&[("a", 0.0)]).is_ok());
    }
}
