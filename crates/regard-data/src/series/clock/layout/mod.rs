//! Layouts of stamps as text.

use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday};
use jiff::fmt::strtime::BrokenDownTime;

use super::grid::{DAY, tick_of, time_of};
use super::{Frequency, Unit};

/// A way to write a stamp, with which every stamp of a file is written back as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Of `strftime`, and what follows it: `Z`, or an offset from universal time in seconds as it was
    /// written.
    Pattern { pattern: String, suffix: String, offset: i64 },
    /// A year, this text, and the number of a quarter.
    Quarter(String),
    /// `Q`, the number of a quarter, this text, and a year.
    QuarterFirst(String),
    /// A year, this text, and the number of an ISO week, which begins on Monday; without a text, an integer as well.
    Week(String),
    /// Days since 1899-12-30, with the time of day behind the decimal point, as Excel counts them.
    Excel,
    /// An integer.
    Integer,
}

/// The number that stands first in a date of three numbers that may be read in several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Day,
    Month,
    /// A year of two digits.
    Year,
    Neither,
}

/// The name of [`Layout::Excel`] where a pattern is given.
pub(crate) const EXCEL: &str = "excel";
/// Serial days of the years 1940 to 2100, which numbers in a column of dates may be.
const EXCEL_DAYS: std::ops::Range<f64> = 14_611.0..73_415.0;

/// Dates, with what stands first.
const DATES: [(&str, First); 44] = [
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
    ("%d %B %Y", First::Neither),
    ("%-d %B %Y", First::Neither),
    ("%a, %d %b %Y", First::Neither),
    ("%A, %d %B %Y", First::Neither),
    ("%A, %-d %B %Y", First::Neither),
    ("%A, %B %-d, %Y", First::Neither),
    ("%d.%m.%y", First::Day),
    ("%-d.%-m.%y", First::Day),
    ("%d/%m/%y", First::Day),
    ("%m/%d/%y", First::Month),
    ("%-d/%-m/%y", First::Day),
    ("%-m/%-d/%y", First::Month),
    ("%y/%m/%d", First::Year),
    ("%d-%m-%y", First::Day),
    ("%m-%d-%y", First::Month),
    ("%-d-%-m-%y", First::Day),
    ("%-m-%-d-%y", First::Month),
    ("%y-%m-%d", First::Year),
    ("%d-%b-%y", First::Neither),
    ("%-d-%b-%y", First::Neither),
    ("%d %b %y", First::Neither),
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
const MONTHS: [&str; 14] = [
    "%Y-%m", "%Y/%m", "%Y-%-m", "%m/%Y", "%m-%Y", "%YM%m", "%b %Y", "%b-%Y", "%B %Y", "%B-%Y", "%Y-%b", "%Y %b",
    "%b-%y", "%b %y",
];

/// Layouts whose text is an integer as well, and which are preferred to it.
const DIGITS: [&str; 3] = ["%Y%m%d", "%Y%m", YEAR];

const YEAR: &str = "%Y";

/// Years that records are of, as numbers without separators begin with them.
const YEARS: std::ops::Range<&str> = "1500".."2201";

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
        for between in [" ", "-", "/"] {
            let layout = Self::QuarterFirst(between.to_owned());
            found.extend(layout.tick(text).map(|tick| (layout, First::Neither, tick)));
        }
        for between in ["-W", "W", " W", ""] {
            let layout = Self::Week(between.to_owned());
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

    /// The offset from universal time in seconds; 0 without one.
    pub(crate) fn zone(&self) -> i64 {
        if let Self::Pattern { offset, .. } = self { *offset } else { 0 }
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

    /// The layout of `strftime`'s pattern, or that of Excel's serial days under their name.
    pub(crate) fn of_pattern(pattern: &str) -> Self {
        if pattern.eq_ignore_ascii_case(EXCEL) {
            return Self::Excel;
        }
        Self::Pattern { pattern: pattern.to_owned(), suffix: String::new(), offset: 0 }
    }

    /// The pattern by which a user gives this layout, whatever the width of its numbers.
    pub(crate) fn pattern(&self) -> Option<String> {
        match self {
            Self::Pattern { pattern, .. } => Some(pattern.replace("%-", "%")),
            Self::Excel => Some(EXCEL.to_owned()),
            Self::Quarter(_) | Self::QuarterFirst(_) | Self::Week(_) | Self::Integer => None,
        }
    }

    /// If true, a text may be one of Excel's serial days of the time that records are of.
    pub(crate) fn is_excel_day(text: &str) -> bool {
        text.parse().is_ok_and(|days| EXCEL_DAYS.contains(&days))
    }

    /// The tick of a text; `None` where it is not written so.
    pub(crate) fn tick(&self, text: &str) -> Option<i64> {
        match self {
            Self::Integer => {
                let number: i64 = text.parse().ok()?;
                (number.to_string() == text && number.unsigned_abs() < 1 << 53).then_some(number)
            }
            Self::Excel => {
                let days: f64 = text.parse().ok()?;
                let since = (days * DAY as f64).round();
                (since.abs() < (1_u64 << 53) as f64).then(|| excel_epoch() + since as i64)
            }
            Self::Quarter(between) => self.written(text, quarter(text.split_once(between.as_str())?)?),
            Self::QuarterFirst(between) => {
                let (number, year) = text.strip_prefix('Q')?.split_once(between.as_str())?;
                self.written(text, quarter((year, number))?)
            }
            Self::Week(between) => {
                let (year, week) = if between.is_empty() {
                    text.split_at_checked(4).filter(|_| text.len() == 6 && YEARS.contains(&text))?
                } else {
                    text.split_once(between.as_str())?
                };
                let monday = ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?;
                self.written(text, tick_of(monday.date().at(0, 0, 0, 0)))
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

    /// The tick where it is written as `text`.
    fn written(&self, text: &str, tick: i64) -> Option<i64> {
        (self.write(tick).as_deref() == Some(text)).then_some(tick)
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
            Self::Quarter(_) | Self::QuarterFirst(_) => Unit::Quarter,
            Self::Week(_) => Unit::Week,
            Self::Excel => return None,
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
            Self::QuarterFirst(between) => {
                let day = time_of(tick)?.date();
                Some(format!("Q{}{between}{:04}", (day.month() - 1) / 3 + 1, day.year()))
            }
            Self::Week(between) => {
                let week = time_of(tick)?.date().iso_week_date();
                Some(format!("{:04}{between}{:02}", week.year(), week.week()))
            }
            Self::Excel => Some(((tick - excel_epoch()) as f64 / DAY as f64).to_string()),
            Self::Pattern { pattern, suffix, .. } => Some(write_pattern(pattern, tick)? + suffix),
        }
    }
}

/// The tick of the first day of a quarter, of its year and its number.
fn quarter((year, number): (&str, &str)) -> Option<i64> {
    let month = number.parse::<i8>().ok().filter(|q| (1..=4).contains(q))? * 3 - 2;
    Some(tick_of(Date::new(year.parse().ok()?, month, 1).ok()?.at(0, 0, 0, 0)))
}

/// The tick from which Excel counts days. It holds for dates from March 1900 on, before which Excel has a day too many.
fn excel_epoch() -> i64 {
    tick_of(jiff::civil::date(1899, 12, 30).at(0, 0, 0, 0))
}

/// If true, the year has as many digits as the pattern says: `strftime` takes fewer, and `21` would be the year 21.
fn has_whole_year(pattern: &str, text: &str) -> bool {
    fn parts(text: &str, is_part: impl Fn(char) -> bool + Copy) -> Vec<&str> {
        text.split(|c: char| !is_part(c)).filter(|part| !part.is_empty()).collect()
    }
    let pattern = pattern.replace("%-", "%");
    let (signs, texts) = (parts(&pattern, |c| c == '%' || c.is_alphanumeric()), parts(text, char::is_alphanumeric));
    signs.len() != texts.len()
        || signs.iter().zip(texts).all(|(sign, text)| match *sign {
            "%Y" => text.len() == 4,
            "%y" => text.len() == 2,
            _ => true,
        })
}

/// The tick of a text in a pattern. Numbers are dates only in the years that records are of: others just
/// look like one, `-619405` like May of the year -6194.
fn parse(pattern: &str, text: &str) -> Option<i64> {
    let parsed = BrokenDownTime::parse(pattern, text).ok()?;
    let year = parsed.year()?;
    if !has_whole_year(pattern, text) || (pattern.contains("%Y") && year < 1000) {
        return None;
    }
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
