//! Layouts of stamps as text.

use jiff::civil::{Date, DateTime};
use jiff::fmt::strtime::BrokenDownTime;

use super::grid::{tick_of, time_of};
use super::{Frequency, Unit};

/// A way to write a stamp, with which every stamp of a file is written back as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Of `strftime`, and what follows it: `Z`, or an offset from universal time in seconds as it was
    /// written.
    Pattern { pattern: String, suffix: String, offset: i64 },
    /// A year, this text, and the number of a quarter.
    Quarter(String),
    /// An integer.
    Integer,
}

/// The number that stands first in a date of three numbers that may be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Day,
    Month,
    Neither,
}

/// Dates, with what stands first.
const DATES: [(&str, First); 23] = [
    ("%Y-%m-%d", First::Neither),
    ("%Y/%m/%d", First::Neither),
    ("%Y.%m.%d", First::Neither),
    ("%Y-%-m-%-d", First::Neither),
    ("%Y/%-m/%-d", First::Neither),
    ("%d.%m.%Y", First::Neither),
    ("%-d.%-m.%Y", First::Neither),
    ("%d/%m/%Y", First::Day),
    ("%m/%d/%Y", First::Month),
    ("%-d/%-m/%Y", First::Day),
    ("%-m/%-d/%Y", First::Month),
    ("%d-%m-%Y", First::Day),
    ("%m-%d-%Y", First::Month),
    ("%-d-%-m-%Y", First::Day),
    ("%-m-%-d-%Y", First::Month),
    ("%d %b %Y", First::Neither),
    ("%-d %b %Y", First::Neither),
    ("%d-%b-%Y", First::Neither),
    ("%-d-%b-%Y", First::Neither),
    ("%b %d %Y", First::Neither),
    ("%b %-d %Y", First::Neither),
    ("%b %-d, %Y", First::Neither),
    ("%B %-d, %Y", First::Neither),
];

/// Times after a date.
const TIMES: [&str; 12] = [
    "%H:%M:%S",
    "%H:%M",
    "%-H:%M:%S",
    "%-H:%M",
    "%H:%M:%S%.3f",
    "%H:%M:%S%.6f",
    "%H:%M:%S%.9f",
    "%H:%M:%S%.1f",
    "%I:%M:%S %p",
    "%-I:%M:%S %p",
    "%I:%M %p",
    "%-I:%M %p",
];

/// Months. A year and a month with a point between them are a number.
const MONTHS: [&str; 9] = ["%Y-%m", "%Y/%m", "%Y-%-m", "%m/%Y", "%m-%Y", "%YM%m", "%b %Y", "%b-%Y", "%B %Y"];

/// Layouts whose text is an integer as well, and which are preferred to it.
const DIGITS: [&str; 3] = ["%Y%m%d", "%Y%m", YEAR];

const YEAR: &str = "%Y";

impl Layout {
    /// Every layout in which `text` could be written, with its tick; the preferred ones first.
    pub(crate) fn of(text: &str) -> Vec<(Self, First, i64)> {
        let (body, suffix, offset) = split_offset(text);
        let mut found = Vec::new();
        let mut pattern = |pattern: String, first: First| {
            let layout = Self::Pattern { pattern, suffix: suffix.to_owned(), offset };
            if let Some(tick) = layout.tick(text) {
                found.push((layout, first, tick));
            }
        };
        // Most fields of a table are numbers, which are told apart before all patterns are tried.
        let number = text.parse::<f64>().is_ok();
        match body.find(':') {
            Some(colon) => {
                let between = body[..colon].rfind(['T', ' ']).unwrap_or(colon);
                let separator = &body[between..=between];
                for (date, first) in DATES.iter().filter(|(date, _)| parse(date, &body[..between]).is_some()) {
                    TIMES.iter().for_each(|time| pattern(format!("{date}{separator}{time}"), *first));
                }
            }
            None if number => DIGITS.iter().for_each(|digits| pattern((*digits).to_owned(), First::Neither)),
            None => {
                DATES.iter().for_each(|(date, first)| pattern((*date).to_owned(), *first));
                MONTHS.iter().for_each(|month| pattern((*month).to_owned(), First::Neither));
            }
        }
        for between in ["Q", "-Q", " Q", "q"] {
            let layout = Self::Quarter(between.to_owned());
            found.extend(layout.tick(text).map(|tick| (layout, First::Neither, tick)));
        }
        found.extend(Self::Integer.tick(text).map(|tick| (Self::Integer, First::Neither, tick)));
        found
    }

    /// The offset from universal time at the end of a stamp, as it is written and in seconds; `None` without one.
    pub(crate) fn offset(text: &str) -> Option<(&str, i64)> {
        let (_, suffix, offset) = split_offset(text);
        (!suffix.is_empty()).then_some((suffix, offset))
    }

    /// The offset from universal time as it is written; empty without one.
    pub(crate) fn suffix(&self) -> &str {
        if let Self::Pattern { suffix, .. } = self { suffix } else { "" }
    }

    /// The same with another offset at the end of stamps, whose ticks stay.
    pub(crate) fn with_suffix(self, last: &str) -> Self {
        // `Z` and ` UTC` are no offset in digits.
        let seconds = seconds_of(last.trim()).unwrap_or(0);
        match self {
            Self::Pattern { pattern, .. } => Self::Pattern { pattern, suffix: last.to_owned(), offset: seconds },
            other => other,
        }
    }

    /// The layout of `strftime`'s pattern.
    pub(crate) fn of_pattern(pattern: &str) -> Self {
        Self::Pattern { pattern: pattern.to_owned(), suffix: String::new(), offset: 0 }
    }

    /// The tick of a text; `None` where it is not written so.
    pub(crate) fn tick(&self, text: &str) -> Option<i64> {
        match self {
            Self::Integer => {
                let number: i64 = text.parse().ok()?;
                (number.to_string() == text && number.unsigned_abs() < 1 << 53).then_some(number)
            }
            Self::Quarter(between) => {
                let (year, quarter) = text.split_once(between.as_str())?;
                let month = quarter.parse::<i8>().ok().filter(|q| (1..=4).contains(q))? * 3 - 2;
                let tick = tick_of(Date::new(year.parse().ok()?, month, 1).ok()?.at(0, 0, 0, 0));
                (self.write(tick).as_deref() == Some(text)).then_some(tick)
            }
            Self::Pattern { pattern, suffix, offset } => {
                let (body, own_suffix, own_offset) = split_offset(text);
                // Clocks with an offset and clocks without one cannot be compared.
                (own_suffix.is_empty() == suffix.is_empty()).then_some(())?;
                let local = parse(pattern, body)?;
                (write_pattern(pattern, local).as_deref() == Some(body)).then_some(())?;
                local.checked_add((offset - own_offset) * 1000)
            }
        }
    }

    /// This layout without zeros in front of numbers, and the tick of a text that has some of them or none: `4/9/2021`
    /// and `04/30/2021` stand in one file. `None` for a layout without separators, and where the text is no date.
    pub(crate) fn of_any_width(&self, text: &str) -> Option<(Self, i64)> {
        let Self::Pattern { pattern, suffix, offset } = self else { return None };
        if DIGITS.contains(&pattern.as_str()) {
            return None;
        }
        let mut plain = pattern.clone();
        for (padded, unpadded) in [("%d", "%-d"), ("%m", "%-m"), ("%H", "%-H"), ("%I", "%-I")] {
            plain = plain.replace(padded, unpadded);
        }
        let (body, own_suffix, own_offset) = split_offset(text);
        (own_suffix.is_empty() == suffix.is_empty()).then_some(())?;
        let tick = parse(&plain, body)?.checked_add((offset - own_offset) * 1000)?;
        Some((Self::Pattern { pattern: plain, suffix: suffix.clone(), offset: *offset }, tick))
    }

    /// The layouts of a text whose numbers have zeros in front of them or not, as [`Self::of_any_width`].
    pub(crate) fn all_of_any_width(text: &str) -> Vec<(Self, First, i64)> {
        let (body, suffix, offset) = split_offset(text);
        let times: Vec<String> = match body.find(':') {
            None => vec![String::new()],
            Some(colon) => {
                let between = body[..colon].rfind(['T', ' ']).unwrap_or(colon);
                TIMES.iter().map(|time| format!("{}{time}", &body[between..=between])).collect()
            }
        };
        let mut found: Vec<(Self, First, i64)> = Vec::new();
        for (date, first) in DATES {
            for time in &times {
                let layout = Self::Pattern { pattern: format!("{date}{time}"), suffix: suffix.to_owned(), offset };
                if let Some((layout, tick)) = layout.of_any_width(text)
                    && found.iter().all(|(known, ..)| *known != layout)
                {
                    found.push((layout, first, tick));
                }
            }
        }
        found
    }

    /// The frequency of stamps that say no more than a month, a quarter or a year, or that count.
    pub(crate) fn coarsest(&self) -> Option<Frequency> {
        let unit = match self {
            Self::Integer => Unit::Step,
            Self::Quarter(_) => Unit::Quarter,
            Self::Pattern { pattern, .. } if pattern == YEAR => Unit::Year,
            Self::Pattern { pattern, .. } if pattern == "%Y%m" || MONTHS.contains(&pattern.as_str()) => Unit::Month,
            Self::Pattern { .. } => return None,
        };
        Some(Frequency::every(unit, 1))
    }

    /// The text of a tick; `None` beyond the calendar.
    pub(crate) fn write(&self, tick: i64) -> Option<String> {
        match self {
            Self::Integer => Some(tick.to_string()),
            Self::Quarter(between) => {
                let day = time_of(tick)?.date();
                Some(format!("{:04}{between}{}", day.year(), (day.month() - 1) / 3 + 1))
            }
            Self::Pattern { pattern, suffix, .. } => Some(write_pattern(pattern, tick)? + suffix),
        }
    }
}

/// The tick of a text in a pattern. Numbers are dates only in the years that records are of: others just
/// look like one, `-619405` like May of the year -6194.
fn parse(pattern: &str, text: &str) -> Option<i64> {
    let parsed = BrokenDownTime::parse(pattern, text).ok()?;
    let year = parsed.year()?;
    if text.parse::<f64>().is_ok() && !(1500..=2200).contains(&year) {
        return None;
    }
    let date = Date::new(year, parsed.month().unwrap_or(1), parsed.day().unwrap_or(1)).ok()?;
    let has_time = ["%H", "%-H", "%I", "%-I"].iter().any(|hour| pattern.contains(hour));
    let time = if has_time { parsed.to_time().ok()? } else { jiff::civil::Time::midnight() };
    Some(tick_of(DateTime::from_parts(date, time)))
}

fn write_pattern(pattern: &str, tick: i64) -> Option<String> {
    jiff::fmt::strtime::format(pattern, time_of(tick)?).ok()
}

/// A stamp without the offset from universal time at its end, the offset as it is written and in
/// seconds. Only after a time of day: `2020-01-05` ends in no offset.
fn split_offset(text: &str) -> (&str, &str, i64) {
    for universal in ["Z", " UTC", " Z"] {
        if let Some(body) = text.strip_suffix(universal) {
            return (body, universal, 0);
        }
    }
    let sign = text.find(':').and_then(|colon| text[colon..].rfind(['+', '-']).map(|at| colon + at));
    let Some((at, seconds)) = sign.and_then(|at| Some((at, seconds_of(&text[at..])?))) else {
        return (text, "", 0);
    };
    let body = text[..at].trim_end();
    (body, &text[body.len()..], seconds)
}

/// `+01:00`, `+0100` or `+01` in seconds.
fn seconds_of(offset: &str) -> Option<i64> {
    let digits: String = offset.get(1..)?.chars().filter(|c| *c != ':').collect();
    let well_formed = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: i64 = digits.parse().ok().filter(|_| well_formed)?;
    let (hours, minutes) = if digits.len() == 2 { (number, 0) } else { (number / 100, number % 100) };
    let seconds = hours * 3600 + minutes * 60;
    (hours < 24 && minutes < 60).then_some(if offset.starts_with('-') { -seconds } else { seconds })
}

#[cfg(test)]
mod tests;
