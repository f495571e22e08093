//! Stamps and the steps between them.

mod frequency;
mod grid;
pub(crate) mod infer;
mod layout;

pub use self::frequency::{Frequency, Unit};
pub(crate) use self::grid::DAY;
pub(crate) use self::layout::{First, Layout};
use crate::error::shown;
use crate::{Error, Result};

/// The stamps of a panel: where they begin, how far they lie apart, and how they are written.
///
/// Steps are counted from the first stamp. Clocks have no zone: a stamp is what a clock on the wall shows,
/// and one with an offset from universal time is brought to the offset of the first.
///
/// ```
/// use regard_data::series::Clock;
///
/// let clock = Clock::new("1949-01", "month".parse()?)?;
/// assert_eq!((clock.stamp(144)?, clock.season()), ("1961-01".into(), 12));
/// assert_eq!(clock.step("1949-03")?, 2);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    first: i64,
    frequency: Frequency,
    layout: Layout,
    /// The number of steps of a season, where the frequency does not say it.
    season: Option<usize>,
}

impl Clock {
    /// The clock that begins with this stamp and writes others like it.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is no stamp, one whose day and month may be swapped, or none of the
    /// frequency (a Sunday of business days).
    pub fn new(first: &str, frequency: Frequency) -> Result<Self> {
        let stamp = || format!("stamp `{}`", shown(first));
        let steps = frequency.unit() == Unit::Step;
        let mut found = Layout::of(first);
        found.retain(|(layout, ..)| (*layout == Layout::Integer) == steps);
        let expected = if steps { "an integer" } else { "a date such as 2020-01-31 or 2020-01-31 12:00:00" };
        let Some((layout, _, tick)) = found.first() else {
            return Err(Error::invalid(stamp(), format!("expected {expected}")));
        };
        if found.iter().any(|other| other.2 != *tick && other.1 != First::Neither) {
            return Err(Error::invalid(stamp(), "is ambiguous; write the date with the year first"));
        }
        let clock = Self { first: *tick, frequency, layout: layout.clone(), season: None };
        match clock.step_of(*tick) {
            Some(0) => Ok(clock),
            _ => Err(Error::invalid(stamp(), format!("does not match the frequency `{frequency}`"))),
        }
    }

    /// Integers from 0, for what has no dates.
    #[must_use]
    pub fn steps() -> Self {
        Self { first: 0, frequency: Frequency::every(Unit::Step, 1), layout: Layout::Integer, season: None }
    }

    pub(super) fn of_parts(first: i64, frequency: Frequency, layout: Layout) -> Self {
        Self { first, frequency, layout, season: None }
    }

    /// The same with seasons of so many steps.
    #[must_use]
    pub fn with_season(self, season: usize) -> Self {
        Self { season: Some(season), ..self }
    }

    /// The distance of neighbouring stamps.
    #[must_use]
    pub fn frequency(&self) -> Frequency {
        self.frequency
    }

    /// The number of steps of a season: the one that is given, else that of [`Frequency::season`].
    #[must_use]
    pub fn season(&self) -> usize {
        self.season.unwrap_or_else(|| self.frequency.season())
    }

    /// If true, stamps are dates rather than integers.
    #[must_use]
    pub fn has_dates(&self) -> bool {
        self.layout != Layout::Integer
    }

    /// The stamp so many steps after the first, written as the others are.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it lies after the year 9999.
    pub fn stamp(&self, step: usize) -> Result<String> {
        let written = i64::try_from(step).ok().and_then(|step| self.frequency.tick(self.first, step));
        written.and_then(|tick| self.layout.write(tick)).ok_or_else(|| {
            Error::invalid(
                format!("step {step}"),
                format!("is outside the calendar, with one step per {}", self.frequency),
            )
        })
    }

    /// The stamp so many steps after the first as a number: milliseconds since 1970-01-01 as a clock on the wall shows
    /// them, or the integer where stamps are integers.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it lies after the year 9999.
    pub fn number(&self, step: usize) -> Result<i64> {
        let found = i64::try_from(step).ok().and_then(|step| self.frequency.tick(self.first, step));
        found.ok_or_else(|| {
            let reason = format!("is outside the calendar, with one step per {}", self.frequency);
            Error::invalid(format!("step {step}"), reason)
        })
    }

    /// The first step whose stamp is not before `text`, a stamp as those of this clock or a date written
    /// with the year first.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is no stamp.
    pub fn step(&self, text: &str) -> Result<usize> {
        let tick = self.layout.tick(text).or_else(|| {
            let found = Layout::of(text).into_iter();
            found
                .filter(|(layout, first, _)| {
                    (*layout != Layout::Integer) == self.has_dates() && *first == First::Neither
                })
                .map(|f| f.2)
                .next()
        });
        let Some(tick) = tick else {
            let example = self.layout.write(self.first).unwrap_or_default();
            return Err(Error::invalid(
                format!("`{}`", shown(text)),
                format!("is not a time stamp, expected one like `{example}`"),
            ));
        };
        if tick <= self.first {
            return Ok(0);
        }
        let before = self.frequency.step_before(self.first, tick);
        let exact = self.frequency.tick(self.first, before) == Some(tick);
        Ok(usize::try_from(before).unwrap_or(usize::MAX) + usize::from(!exact))
    }

    /// The number of steps from the first tick to this one; `None` where it lies between two.
    pub(super) fn step_of(&self, tick: i64) -> Option<i64> {
        self.frequency.step(self.first, tick)
    }

    /// The number of steps from the first stamp to that of another clock, which may be before it; `None` where its stamps
    /// are written otherwise, have another distance, or lie between those of this clock.
    pub(super) fn steps_to(&self, other: &Self) -> Option<i64> {
        let is_alike = self.frequency == other.frequency && self.layout == other.layout;
        is_alike.then(|| self.step_of(other.first)).flatten()
    }

    /// The same clock with another first stamp, so many steps later, or before it.
    pub(super) fn moved(self, steps: i64) -> Option<Self> {
        Some(Self { first: self.frequency.tick(self.first, steps)?, ..self })
    }

    /// The layout of the stamps.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The stamps before and after a tick, as texts.
    pub(super) fn around(&self, tick: i64) -> Option<(String, String)> {
        let before = self.frequency.step_before(self.first, tick);
        let write = |step: i64| self.layout.write(self.frequency.tick(self.first, step)?);
        Some((write(before)?, write(before + 1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_and_steps_are_inverse() {
        for (first, frequency) in [
            ("2016-07-01 00:00:00", "hour"),
            ("2019-01-31", "month end"),
            ("2020-01-05T10:00:00Z", "15 minutes"),
            ("1990Q2", "quarter"),
            ("7", "3 steps"),
        ] {
            let clock = Clock::new(first, frequency.parse().unwrap()).unwrap();
            assert_eq!(clock.stamp(0).unwrap(), first);
            for step in [1, 2, 31, 1000] {
                assert_eq!(clock.step(&clock.stamp(step).unwrap()).unwrap(), step, "{first}");
            }
        }
    }

    #[test]
    fn a_date_between_stamps_is_the_next_of_them() {
        let clock = Clock::new("2016-07-01 00:00:00", "hour".parse().unwrap()).unwrap();
        assert_eq!((clock.step("2016-07-02").unwrap(), clock.step("2016-07-01 23:30:00").unwrap()), (24, 24));
        assert_eq!(clock.step("2010-01-01").unwrap(), 0);
        assert_eq!(
            clock.step("soon").unwrap_err().to_string(),
            "`soon`: is not a time stamp, expected one like `2016-07-01 00:00:00`"
        );
    }

    #[test]
    fn first_stamps_that_cannot_be_are_refused() {
        let said = |first: &str, every: &str| Clock::new(first, every.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(said("x", "day"), "stamp `x`: expected a date such as 2020-01-31 or 2020-01-31 12:00:00");
        assert_eq!(said("1.5", "step"), "stamp `1.5`: expected an integer");
        assert_eq!(said("1/2/2020", "day"), "stamp `1/2/2020`: is ambiguous; write the date with the year first");
        assert_eq!(
            said("2024-03-03", "business day"),
            "stamp `2024-03-03`: does not match the frequency `business day`"
        );
        assert_eq!(said("2024-03-03", "month end"), "stamp `2024-03-03`: does not match the frequency `month end`");
        let year = Clock::new("9999-01-01", "year".parse().unwrap()).unwrap();
        assert_eq!(year.stamp(1).unwrap_err().to_string(), "step 1: is outside the calendar, with one step per year");
    }
}
