//! The frequency of stamps.

use std::collections::HashMap;

use super::grid::{DAY, MonthDay, is_weekend};
use super::{Frequency, Unit};

/// The frequency of the distinct rising ticks of each series: their most common distance, the shorter of
/// two that are equally common, as the calendar counts it. `None` when no series has two ticks.
///
/// Days on which no Saturday or Sunday occurs, though the stamps go over one, are business days. Stamps on
/// the last days of months of different lengths are month ends.
pub(crate) fn frequency<'t>(series: impl Iterator<Item = &'t [i64]> + Clone, dates: bool) -> Option<Frequency> {
    let distance = most_common(series.clone().flat_map(|ticks| ticks.windows(2).map(|pair| pair[1] - pair[0])))?;
    if !dates {
        return Frequency::new(Unit::Step, distance).ok();
    }
    if distance >= 28 * DAY
        && let Some(found) = by_months(series.clone())
    {
        return Some(found);
    }
    let ticks = || series.clone().flatten().copied();
    let over_weekend = || series.clone().any(|ticks| ticks.windows(2).any(|pair| pair[1] - pair[0] == 3 * DAY));
    let midnight = |tick: i64| tick.rem_euclid(DAY);
    if distance == DAY && over_weekend() && !ticks().any(is_weekend) {
        let first = ticks().next().map(midnight);
        if ticks().all(|tick| Some(midnight(tick)) == first) {
            return Some(Frequency::every(Unit::BusinessDay, 1));
        }
    }
    Some(of_distance(distance))
}

/// The longest frequency of equal distances with a step for all ticks; `None` where all are the same.
pub(crate) fn common(ticks: &[i64], dates: bool) -> Option<Frequency> {
    let first = ticks.first()?;
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let distance = ticks.iter().fold(0, |found, tick| divisor(found, tick.abs_diff(*first)));
    let distance = i64::try_from(distance).ok().filter(|distance| *distance > 0)?;
    if dates { Some(of_distance(distance)) } else { Frequency::new(Unit::Step, distance).ok() }
}

/// The largest unit that divides a distance.
fn of_distance(distance: i64) -> Frequency {
    const MINUTE: i64 = 60 * 1000;
    for (unit, length) in [
        (Unit::Week, 7 * DAY),
        (Unit::Day, DAY),
        (Unit::Hour, 60 * MINUTE),
        (Unit::Minute, MINUTE),
        (Unit::Second, 1000),
    ] {
        if distance % length == 0 {
            return Frequency::every(unit, distance / length);
        }
    }
    Frequency::every(Unit::Millisecond, distance)
}

/// The frequency of stamps that stand on one day of their months, or all at their ends. A day that a month does not have is
/// its last one.
fn by_months<'t>(series: impl Iterator<Item = &'t [i64]> + Clone) -> Option<Frequency> {
    let places = || series.clone().map(|ticks| ticks.iter().map(|tick| MonthDay::of(*tick)));
    let mut all = places().flatten();
    let first = all.next()??;
    let (mut same_day, mut ends, mut clamped) = (true, first.day == first.days_in_month, true);
    for place in all {
        let place = place?;
        same_day &= place.day == first.day;
        ends &= place.day == place.days_in_month;
        clamped &= place.day == first.day.min(place.days_in_month);
    }
    let distances = places().flat_map(|of_series| {
        let mut before: Option<i64> = None;
        of_series.flatten().filter_map(move |place| before.replace(place.month).map(|month| place.month - month))
    });
    let months = most_common(distances.filter(|months| *months > 0))?;
    match (same_day || clamped && !ends, ends) {
        (true, _) if months % 12 == 0 => Some(Frequency::every(Unit::Year, months / 12)),
        (true, _) if months % 3 == 0 => Some(Frequency::every(Unit::Quarter, months / 3)),
        (true, _) => Some(Frequency::every(Unit::Month, months)),
        (false, true) => Some(Frequency::every(Unit::MonthEnd, months)),
        (false, false) => None,
    }
}

fn most_common(distances: impl Iterator<Item = i64>) -> Option<i64> {
    let mut counts: HashMap<i64, usize> = HashMap::new();
    distances.for_each(|distance| *counts.entry(distance).or_default() += 1);
    counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0))).map(|(distance, _)| distance)
}

#[cfg(test)]
mod tests {
    use super::super::Layout;
    use super::*;

    fn found(stamps: &str) -> String {
        let ticks: Vec<i64> = stamps.split(' ').map(|text| Layout::of(text)[0].2).collect();
        let dates = Layout::of(stamps.split(' ').next().unwrap())[0].0 != Layout::Integer;
        frequency(std::iter::once(&ticks[..]), dates).map_or("none".into(), |found| found.to_string())
    }

    #[test]
    fn a_common_frequency_has_a_step_for_all_ticks() {
        let minute = 60 * 1000;
        let found = |ticks: &[i64], dates: bool| common(ticks, dates).map_or("none".into(), |found| found.to_string());
        assert_eq!(found(&[90 * minute, 0, 30 * minute, 100 * minute], true), "10 minutes");
        assert_eq!([found(&[0, DAY, 3 * DAY], true), found(&[5, 5], true)], ["day", "none"]);
        assert_eq!([found(&[3, 9, 21], false), found(&[], false)], ["6 steps", "none"]);
    }

    #[test]
    fn the_most_common_distance_is_found() {
        for (stamps, expected) in [
            ("2020-01-01T00:00 2020-01-01T01:00 2020-01-01T02:00 2020-01-01T05:00", "hour"),
            ("2020-01-01T00:00 2020-01-01T00:15 2020-01-01T00:30", "15 minutes"),
            ("2020-01-01 2020-01-02 2020-01-04", "day"),
            ("2024-03-01 2024-03-04 2024-03-05 2024-03-06", "business day"),
            ("2024-03-04 2024-03-05 2024-03-06", "day"),
            ("2002-01-01 2002-01-08 2002-01-15", "week"),
            ("2002-01-01 2002-01-29 2002-02-26", "4 weeks"),
            ("1949-01 1949-02 1949-03", "month"),
            ("1949-02 1949-03", "month"),
            ("2019-01-31 2019-02-28 2019-03-31", "month end"),
            ("2019-03-31 2019-06-30 2019-09-30", "3 month ends"),
            ("2019-01-30 2019-02-28 2019-03-30 2019-04-30", "month"),
            ("2019-12-30 2020-02-29 2020-04-30", "2 months"),
            ("2019Q1 2019Q2 2019Q4", "quarter"),
            ("1990 1991 1992", "year"),
            ("0 1 2 4", "step"),
            ("10 20 40 60 70", "10 steps"),
            ("2020-01-01", "none"),
        ] {
            assert_eq!(found(stamps), expected, "{stamps}");
        }
    }
}
