//! Ranges that settings have to lie in, refused in the same words everywhere.
//!
//! Every function returns [`Error::Config`] with the first setting that lies outside and what was expected.

use std::ops::RangeInclusive;

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
    fn no_number_is_in_no_range() {
        for range in [above_zero, not_negative, shares] {
            assert!(range(&[("a", f64::NAN)]).is_err() && range(&[("a", 0.5)]).is_ok());
        }
        assert!(not_negative(&[("a", 0.0)]).is_ok() && shares(&[("a", 0.0)]).is_ok());
    }
}
