//! The grid of stamps of a frequency.
//!
//! Time is counted in ticks: milliseconds of the stamps' own clock since 1970, or the integers
//! themselves.

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};

use super::{Frequency, Unit};

/// Milliseconds of a day.
pub(crate) const DAY: i64 = 24 * 60 * 60 * 1000;

pub(super) fn tick_of(time: DateTime) -> i64 {
    let since = time.duration_since(date(1970, 1, 1).at(0, 0, 0, 0));
    // Years of four digits have fewer milliseconds than 2^53.
    since.as_secs() * 1000 + i64::from(since.subsec_millis())
}

pub(super) fn time_of(tick: i64) -> Option<DateTime> {
    date(1970, 1, 1).at(0, 0, 0, 0).checked_add(SignedDuration::from_millis(tick)).ok()
}

/// A place in the calendar, as months count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MonthDay {
    /// Months since year 0.
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) days_in_month: i64,
    /// Milliseconds since midnight.
    pub(super) within: i64,
}

impl MonthDay {
    pub(super) fn of(tick: i64) -> Option<Self> {
        let day = time_of(tick)?.date();
        Some(Self {
            month: i64::from(day.year()) * 12 + i64::from(day.month()) - 1,
            day: day.day().into(),
            days_in_month: day.days_in_month().into(),
            within: tick.rem_euclid(DAY),
        })
    }
}

impl Frequency {
    /// Milliseconds, or integers, between stamps, where all distances are the same.
    fn fixed(self) -> Option<i64> {
        let unit: i64 = match self.unit() {
            Unit::Millisecond | Unit::Step => 1,
            Unit::Second => 1000,
            Unit::Minute => 60 * 1000,
            Unit::Hour => 60 * 60 * 1000,
            Unit::Day => DAY,
            Unit::Week => 7 * DAY,
            _ => return None,
        };
        unit.checked_mul(self.count())
    }

    /// Months between stamps.
    fn months(self) -> Option<i64> {
        let unit: i64 = match self.unit() {
            Unit::Month | Unit::MonthEnd => 1,
            Unit::Quarter => 3,
            Unit::Year => 12,
            _ => return None,
        };
        unit.checked_mul(self.count())
    }

    /// The tick so many steps after `first`; `None` beyond the calendar.
    pub(super) fn tick(self, first: i64, step: i64) -> Option<i64> {
        if let Some(distance) = self.fixed() {
            return first.checked_add(distance.checked_mul(step)?);
        }
        if let Some(months) = self.months() {
            let start = MonthDay::of(first)?;
            let month = start.month.checked_add(months.checked_mul(step)?)?;
            let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
            let begin = jiff::civil::Date::new(year.try_into().ok()?, month.try_into().ok()?, 1).ok()?;
            let days = i64::from(begin.days_in_month());
            let day = if self.unit() == Unit::MonthEnd { days } else { start.day.min(days) };
            return Some(tick_of(begin.at(0, 0, 0, 0)) + (day - 1) * DAY + start.within);
        }
        let number = business_day(first.div_euclid(DAY))?.checked_add(step)?;
        let day = number.div_euclid(5).checked_mul(7)?.checked_add(number.rem_euclid(5) - MONDAY)?;
        day.checked_mul(DAY)?.checked_add(first.rem_euclid(DAY))
    }

    /// The number of steps from `first` to `tick`; `None` where it lies between two, or before the
    /// calendar.
    pub(crate) fn step(self, first: i64, tick: i64) -> Option<i64> {
        if let Some(distance) = self.fixed() {
            let apart = tick.checked_sub(first)?;
            return (apart % distance == 0).then_some(apart / distance);
        }
        let step = match self.months() {
            Some(months) => (MonthDay::of(tick)?.month - MonthDay::of(first)?.month) / months,
            None => business_day(tick.div_euclid(DAY))? - business_day(first.div_euclid(DAY))?,
        };
        (self.tick(first, step) == Some(tick)).then_some(step)
    }

    /// If true, each stamp of `other` is one of this frequency, too, whatever the first one.
    ///
    /// ```
    /// use regard_data::series::Frequency;
    ///
    /// let [hour, day, month]: [Frequency; 3] = ["hour", "day", "month"].map(|text| text.parse().unwrap());
    /// assert!(hour.covers(day) && day.covers(month) && !day.covers(hour) && !month.covers(day));
    /// ```
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        if (self.unit() == Unit::Step) != (other.unit() == Unit::Step) {
            return false;
        }
        match (self.fixed(), self.months()) {
            // Months, and days of business, are whole days apart.
            (Some(own), _) => other.fixed().unwrap_or(DAY) % own == 0,
            (_, Some(own)) => {
                let ends = |one: Self| one.unit() == Unit::MonthEnd;
                ends(self) == ends(other) && other.months().is_some_and(|months| months % own == 0)
            }
            _ => self == other,
        }
    }

    /// The last step that is not after `tick`, for a tick that is not before `first`.
    pub(super) fn step_before(self, first: i64, tick: i64) -> i64 {
        let (mut low, mut high) = (0, 1);
        while high < i64::MAX / 2 && self.tick(first, high).is_some_and(|at| at <= tick) {
            (low, high) = (high, high * 2);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.tick(first, middle) {
                Some(at) if at <= tick => low = middle,
                _ => high = middle,
            }
        }
        low
    }
}

/// 1970 began on a Thursday.
const MONDAY: i64 = 3;

/// Mondays to Fridays before this day; `None` for a weekend.
fn business_day(day: i64) -> Option<i64> {
    let weekday = (day + MONDAY).rem_euclid(7);
    (weekday < 5).then_some((day + MONDAY).div_euclid(7) * 5 + weekday)
}

/// If true, a tick is a Saturday or a Sunday.
pub(super) fn is_weekend(tick: i64) -> bool {
    business_day(tick.div_euclid(DAY)).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(text: &str) -> i64 {
        tick_of(text.parse().unwrap_or_else(|error| panic!("{error}")))
    }

    fn written(frequency: &str, first: &str, steps: std::ops::Range<i64>) -> Vec<String> {
        let frequency: Frequency = frequency.parse().unwrap();
        let first = tick(first);
        let one = |step| {
            let at = frequency.tick(first, step).unwrap();
            assert_eq!(frequency.step(first, at), Some(step));
            assert_eq!(frequency.step(first, at + 1), None);
            if step >= 0 {
                assert_eq!(frequency.step_before(first, at), step);
                assert_eq!(frequency.step_before(first, at + 1), step);
            }
            time_of(at).unwrap().to_string().trim_end_matches("T00:00:00").to_owned()
        };
        steps.map(one).collect()
    }

    #[test]
    fn steps_follow_the_calendar() {
        assert_eq!(
            written("month end", "2020-01-31", -1..4).join(" "),
            "2019-12-31 2020-01-31 2020-02-29 2020-03-31 2020-04-30"
        );
        assert_eq!(written("month", "2019-12-30", 0..4).join(" "), "2019-12-30 2020-01-30 2020-02-29 2020-03-30");
        assert_eq!(written("quarter", "2019-10-01", -1..2).join(" "), "2019-07-01 2019-10-01 2020-01-01");
        assert_eq!(written("year", "2020-02-29", 0..3).join(" "), "2020-02-29 2021-02-28 2022-02-28");
        assert_eq!(
            written("business day", "2024-02-29", -1..4).join(" "),
            "2024-02-28 2024-02-29 2024-03-01 2024-03-04 2024-03-05"
        );
        assert_eq!(written("week", "1969-12-28", 0..2).join(" "), "1969-12-28 1970-01-04");
        assert_eq!(written("12 hours", "1969-12-31T12:00", 0..2).join(" "), "1969-12-31T12:00:00 1970-01-01");
    }

    #[test]
    fn a_frequency_covers_those_whose_stamps_it_has() {
        let covers = |own: &str, other: &str| {
            let [own, other]: [Frequency; 2] = [own, other].map(|text| text.parse().unwrap());
            own.covers(other)
        };
        for (own, other) in
            [("day", "week"), ("day", "quarter"), ("month", "year"), ("step", "3 steps"), ("hour", "hour")]
        {
            assert!(covers(own, other) && (own == other || !covers(other, own)), "{own} {other}");
        }
        for (own, other) in [("month", "month end"), ("step", "day"), ("week", "month"), ("business day", "week")] {
            assert!(!covers(own, other), "{own} {other}");
        }
    }

    #[test]
    fn the_calendar_ends() {
        let year: Frequency = "year".parse().unwrap();
        assert_eq!(year.tick(tick("9999-01-01"), 1), None);
        assert_eq!(year.tick(tick("9999-01-01"), i64::MAX), None);
        let business: Frequency = "business day".parse().unwrap();
        assert_eq!(business.tick(tick("2024-03-01"), i64::MAX), None);
        assert_eq!(time_of(i64::MAX), None);
        assert!(is_weekend(tick("2024-03-02")) && !is_weekend(tick("2024-03-01T23:00")));
        let step: Frequency = "5 steps".parse().unwrap();
        assert_eq!((step.tick(10, 2), step.step(10, 20), step.step(10, 21)), (Some(20), Some(2), None));
    }
}
