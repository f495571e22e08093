//! The distance between stamps.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::shown;
use crate::{Error, Result};

/// The unit of a distance between stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Thousandths of a second.
    Millisecond,
    /// Seconds.
    Second,
    /// Minutes.
    Minute,
    /// Hours, of the clock the stamps are written in.
    Hour,
    /// Days.
    Day,
    /// Mondays to Fridays; holidays are gaps.
    BusinessDay,
    /// Weeks, from the weekday of the first stamp.
    Week,
    /// The same day of each month, or the last one where a month is shorter.
    Month,
    /// The last day of each month.
    MonthEnd,
    /// The same day of every third month.
    Quarter,
    /// The same day of each year.
    Year,
    /// Integers instead of dates.
    Step,
}

/// The distance of neighbouring stamps, `15 minutes` or `month end`.
///
/// Its text is read back by [`Frequency::from_str`], which also takes the short names of pandas (`h`,
/// `15min`, `D`, `B`, `W`, `MS`, `ME`, `QS`, `YS`).
///
/// ```
/// use regard_data::series::Frequency;
///
/// let frequency: Frequency = "15min".parse()?;
/// assert_eq!((frequency.to_string(), frequency.season()), ("15 minutes".into(), 96));
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Frequency {
    unit: Unit,
    count: i64,
}

/// Each unit with its name and what pandas calls it, older spellings last.
const NAMES: [(Unit, &str, &[&str]); 12] = [
    (Unit::Millisecond, "millisecond", &["ms", "L"]),
    (Unit::Second, "second", &["s", "S"]),
    (Unit::Minute, "minute", &["min", "T"]),
    (Unit::Hour, "hour", &["h", "H"]),
    (Unit::Day, "day", &["D", "d"]),
    (Unit::BusinessDay, "business day", &["B"]),
    (Unit::Week, "week", &["W"]),
    (Unit::Month, "month", &["MS"]),
    (Unit::MonthEnd, "month end", &["ME", "M"]),
    (Unit::Quarter, "quarter", &["QS", "Q"]),
    (Unit::Year, "year", &["YS", "Y", "A"]),
    (Unit::Step, "step", &["steps"]),
];

impl Frequency {
    /// Every `count` units.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `count` is below 1, not 1 for business days, or beyond any calendar.
    pub fn new(unit: Unit, count: i64) -> Result<Self> {
        // So many that milliseconds of all of them can be counted.
        let most = match unit {
            Unit::BusinessDay => 1,
            Unit::Millisecond | Unit::Step => 1 << 53,
            Unit::Second | Unit::Minute | Unit::Hour => 1_000_000_000_000,
            _ => 1_000_000_000,
        };
        if !(1..=most).contains(&count) {
            let reason = format!("counts {count} of {}, expected 1 to {most}", name(unit));
            return Err(Error::invalid("frequency", reason));
        }
        Ok(Self { unit, count })
    }

    /// A count that is known to fit.
    pub(super) const fn every(unit: Unit, count: i64) -> Self {
        Self { unit, count }
    }

    /// The unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.unit
    }

    /// The number of units between stamps.
    #[must_use]
    pub fn count(self) -> i64 {
        self.count
    }

    /// The number of steps of the season that such data usually has: a day of hours or minutes, a minute of
    /// seconds, a week of days, a year of weeks, months and quarters. 1 where there is none.
    #[must_use]
    pub fn season(self) -> usize {
        const MINUTES_A_DAY: i64 = 24 * 60;
        let (whole, step) = match self.unit {
            Unit::Second => (60, self.count),
            Unit::Minute => (MINUTES_A_DAY, self.count),
            Unit::Hour => (24, self.count),
            Unit::Day => (7, self.count),
            Unit::BusinessDay => (5, 1),
            Unit::Week => (52, self.count),
            Unit::Month | Unit::MonthEnd => (12, self.count),
            Unit::Quarter => (4, self.count),
            Unit::Millisecond | Unit::Year | Unit::Step => (1, 1),
        };
        if whole % step == 0 { usize::try_from(whole / step).unwrap_or(1) } else { 1 }
    }
}

fn name(unit: Unit) -> &'static str {
    NAMES.iter().find(|(known, ..)| *known == unit).map_or("", |(_, name, _)| name)
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str(name(self.unit)),
            count => write!(f, "{count} {}s", name(self.unit)),
        }
    }
}

impl FromStr for Frequency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let unknown = || {
            let reason = "is not a frequency, expected one like `hour`, `15 minutes`, `business day`, `month end`";
            Error::invalid(format!("`{}`", shown(text)), reason)
        };
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let count = if digits == 0 { 1 } else { text[..digits].parse().map_err(|_| unknown())? };
        let word = text[digits..].trim_start();
        let lower = word.to_ascii_lowercase();
        let singular = lower.strip_suffix('s').unwrap_or(&lower);
        let found = NAMES.iter().find(|(_, name, short)| short.contains(&word) || *name == lower || *name == singular);
        Self::new(found.ok_or_else(unknown)?.0, count)
    }
}

impl From<Frequency> for String {
    fn from(frequency: Frequency) -> Self {
        frequency.to_string()
    }
}

impl TryFrom<String> for Frequency {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(text: &str) -> Frequency {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn texts_are_read_back() {
        for (unit, ..) in NAMES {
            for count in [1, 2] {
                if let Ok(frequency) = Frequency::new(unit, count) {
                    assert_eq!(every(&frequency.to_string()), frequency);
                    let json = serde_json::to_string(&frequency).unwrap();
                    assert_eq!(serde_json::from_str::<Frequency>(&json).unwrap(), frequency);
                }
            }
        }
        for (short, long) in [("h", "hour"), ("30min", "30 minutes"), ("B", "business day"), ("ME", "month end")] {
            assert_eq!(every(short).to_string(), long);
        }
        assert_eq!((every("MS"), every("ms")), (every("month"), every("millisecond")));
    }

    #[test]
    fn seasons_are_the_usual_ones() {
        for (text, season) in [
            ("hour", 24),
            ("30 minutes", 48),
            ("15 minutes", 96),
            ("10 minutes", 144),
            ("7 minutes", 1),
            ("second", 60),
            ("6 hours", 4),
            ("day", 7),
            ("business day", 5),
            ("week", 52),
            ("month", 12),
            ("month end", 12),
            ("3 month ends", 4),
            ("quarter", 4),
            ("year", 1),
            ("step", 1),
        ] {
            assert_eq!(every(text).season(), season, "{text}");
        }
    }

    #[test]
    fn what_is_no_frequency_is_refused() {
        let said = |text: &str| text.parse::<Frequency>().unwrap_err().to_string();
        assert!(said("fortnight").starts_with("`fortnight`: is not a frequency, expected one like `hour`"));
        assert_eq!(said("0 hours"), "frequency: counts 0 of hour, expected 1 to 1000000000000");
        assert_eq!(said("2 business days"), "frequency: counts 2 of business day, expected 1 to 1");
        assert!(
            said("99999999999999999999 h").contains("is not a frequency") && said("").contains("is not a frequency")
        );
    }
}
