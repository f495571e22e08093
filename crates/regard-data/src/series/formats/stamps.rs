//! The column of stamps.

use super::{Extent, ReadOptions};
use crate::Result;
use crate::error::shown;
use crate::series::clock::{Clock, DAY, First, Layout, Unit};
use crate::table::values::is_missing;
use crate::table::{Beginning, Column, Header, Row, Rows};

/// Names that a column of stamps has.
const NAMES: [&str; 29] = [
    "date",
    "ds",
    "timestamp",
    "datetime",
    "date_time",
    "time",
    "month",
    "year",
    "quarter",
    "week",
    "day",
    "hour",
    "period",
    "index",
    "step",
    "t",
    "observation_date",
    "time_stamp",
    "item_date",
    "unnamed: 0",
    "datum",
    "uhrzeit",
    "zeit",
    "zeitstempel",
    "monat",
    "jahr",
    "tag",
    "fecha",
    "data_hora",
];

/// Further names, under which six digits are a year and a week rather than a month.
const WEEKS: [&str; 7] = ["week", "year_week", "yearweek", "iso_week", "isoweek", "woche", "kw"];

/// Names under which a column holds dates, and text is a date that is not understood.
const DATES: [&str; 22] = [
    "date",
    "ds",
    "timestamp",
    "datetime",
    "date_time",
    "time",
    "month",
    "year",
    "quarter",
    "week",
    "period",
    "observation_date",
    "time_stamp",
    "item_date",
    "datum",
    "uhrzeit",
    "zeit",
    "zeitstempel",
    "monat",
    "jahr",
    "fecha",
    "data_hora",
];

/// Words that the names of such columns have, as `Order Date` does.
const DATE_WORDS: [&str; 6] = ["date", "datum", "datetime", "timestamp", "fecha", "zeitstempel"];

/// Names under which numbers are serial days, or steps of something else.
const NOT_DAYS: [&str; 6] = ["timestamp", "time", "year", "period", "time_stamp", "jahr"];

/// Names of columns that hold parts of dates.
const PARTS: [[&str; 2]; 4] = [["year", "jahr"], ["month", "monat"], ["day", "tag"], ["hour", "stunde"]];

/// Names of a column of days and of one of times of day.
const DAY_AND_TIME: [[&str; 3]; 2] = [["date", "datum", "day"], ["time", "uhrzeit", "zeit"]];

/// Names of the columns that hold dates together, if this column is one of them and there are more.
pub(super) fn parts_of_dates(header: &Header<'_>, column: &str) -> Vec<String> {
    fn of<const N: usize>(header: &Header<'_>, parts: &[[&str; N]], column: &str) -> Option<Vec<String>> {
        let found: Vec<String> =
            parts.iter().filter_map(|names| header.find_any(names)).map(|part| part.name).collect();
        (found.len() > 1 && found.iter().any(|part| part == column)).then_some(found)
    }
    of(header, &PARTS, column).or_else(|| of(header, &DAY_AND_TIME, column)).unwrap_or_default()
}

/// If true, a column of this name holds dates.
pub(super) fn is_called_date(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    DATES.contains(&name.as_str()) || words.any(|word| DATE_WORDS.contains(&word))
}

/// If true, the numbers of a column are days as Excel counts them.
fn holds_excel_days(column: &Column, beginning: &Beginning, options: &ReadOptions) -> bool {
    let steps = options.frequency.is_some_and(|frequency| frequency.unit() == Unit::Step);
    let named = is_called_date(&column.name) && !NOT_DAYS.contains(&column.name.to_lowercase().as_str());
    let fields = beginning.column(column.at);
    named && !steps && !fields.is_empty() && fields.iter().all(|field| Layout::is_excel_day(field))
}

/// If true, a text is a date or a time; a number is not.
pub(super) fn is_date(text: &str) -> bool {
    let is_number = text.parse::<f64>().is_ok();
    !is_number && layouts_of(text).iter().any(|found| found.0 != Layout::Integer)
}

/// The stamps of all rows, in each layout that all rows so far can have.
pub(super) struct Stamps {
    pub(super) column: Option<Column>,
    layouts: Vec<(Layout, First, Vec<i64>)>,
    /// If true, numbers were taken for Excel's days.
    days: bool,
    /// The unit of the frequency that was given.
    unit: Option<Unit>,
    /// The first stamp, as an example of what is expected.
    example: String,
    /// Offsets from universal time of all rows, in seconds; empty where stamps have none.
    offsets: Vec<i64>,
    /// The last row's offset as it is written.
    suffix: String,
    /// The offset that all stamps should have, where other parts of the file were read.
    zone: Option<i64>,
}

/// Stamps of all rows.
pub(super) struct Ticks {
    pub(super) layout: Layout,
    pub(super) ticks: Vec<i64>,
    /// A sentence about stamps that could be read in another way: with different offsets from universal time, or
    /// numbers that are days.
    pub(super) note: Option<String>,
}

impl Stamps {
    /// Stamps in this column; without one, rows are counted.
    pub(super) fn of(column: Option<Column>, options: &ReadOptions, beginning: &Beginning, extent: Extent<'_>) -> Self {
        let pattern = options.date_pattern.as_deref().filter(|_| column.is_some());
        let clock = if let Extent::Rest(clock) = extent { Some(clock) } else { None };
        let known = clock.map(Clock::layout);
        let layout = match (pattern, known, &column) {
            (_, Some(layout), _) => Some(layout.clone()),
            (Some(pattern), ..) => Some(Layout::of_pattern(pattern)),
            (.., Some(column)) if holds_excel_days(column, beginning, options) => Some(Layout::Excel),
            _ => None,
        };
        let days = pattern.is_none() && known.is_none() && layout.is_some();
        let layouts = layout.map(|layout| (layout, First::Neither, Vec::new()));
        let stamp = clock.and_then(|clock| clock.stamp(0).ok());
        let example = stamp.unwrap_or_else(|| if days { "44197" } else { pattern.unwrap_or_default() }.to_owned());
        Self {
            days,
            unit: options.frequency.map(|frequency| frequency.unit()),
            column,
            layouts: layouts.into_iter().collect(),
            example,
            offsets: vec![],
            suffix: String::new(),
            zone: known.map(Layout::zone),
        }
    }

    /// The column of stamps: the one that the options name, or the one that header and first row show: one that is called
    /// so, or the first of the rest whose value is a date. Integers are stamps only under such a name,
    /// or in a first column without a name.
    ///
    /// # Errors
    /// For text in a column that is called like dates, where there are no others: it is a date that is not understood.
    pub(super) fn find(
        header: &Header<'_>,
        rows: &mut Rows<'_>,
        options: &ReadOptions,
        beginning: &Beginning,
    ) -> Result<Option<Column>> {
        if options.without_dates {
            return Ok(None);
        }
        if let Some(name) = &options.date {
            return header.column(name).map(Some);
        }
        let path = rows.path;
        let Some(row) = rows.next()? else {
            return Err(crate::Error::parse(path, 0, "has no rows below its header, expected at least one"));
        };
        let layouts: Vec<_> = (0..header.len()).map(|at| layouts_of(&row.plain(at))).collect();
        // A column of integers may hold what looks like dates without separators.
        let digits = |at: usize| row.text(at).bytes().all(|b| b.is_ascii_digit());
        let date =
            |column: &Column| layouts[column.at].iter().any(|found| found.0 != Layout::Integer) && !digits(column.at);
        let all = || header.columns();
        let known = || NAMES.iter().chain(&WEEKS).filter_map(|name| header.find_any(&[name]));
        let called = || all().filter(|column| is_called_date(&column.name));
        let days = |column: &Column| holds_excel_days(column, beginning, options);
        let pattern = options.date_pattern.as_deref().map(Layout::of_pattern);
        let is_so = |column: &Column| {
            let text = row.text(column.at);
            pattern.as_ref().is_some_and(|pattern| pattern.tick(text).is_some() || pattern.of_any_width(text).is_some())
        };
        let found = known().chain(called()).find(|column| pattern.is_some() || date(column));
        let found = found.or_else(|| all().find(|column| is_so(column) || date(column)));
        let found = found.or_else(|| called().find(days));
        let found = found.or_else(|| known().find(|column| !layouts[column.at].is_empty()));
        let found = found.or_else(|| all().next().filter(|first| first.name.is_empty() && !layouts[0].is_empty()));
        if found.as_ref().is_none_or(|found| pattern.is_none() && !date(found) && !days(found)) {
            let is_text = |column: &Column| {
                let text = row.text(column.at);
                let nothing = is_missing(text);
                if nothing { found.is_none() && called().count() == 1 } else { text.parse::<f64>().is_err() }
            };
            if let Some(column) = called().find(is_text) {
                return Err(no_stamp(&row, &column.name, row.text(column.at), "2020-01-31 12:00:00"));
            }
        }
        rows.unread();
        Ok(found)
    }

    /// If true, a text could be the next stamp.
    pub(super) fn may_be(&self, text: &str) -> bool {
        match (&self.column, self.layouts.is_empty()) {
            (None, _) => text.parse::<f64>().is_ok() || is_missing(text),
            (_, true) => !layouts_of(text).is_empty(),
            _ => self
                .layouts
                .iter()
                .any(|(layout, ..)| layout.tick(text).is_some() || layout.of_any_width(text).is_some()),
        }
    }

    /// Reads the stamp of the next row, the one after `counted` others where rows are counted.
    pub(super) fn push(&mut self, row: Row<'_>, counted: usize) -> Result<()> {
        let Some(column) = &self.column else {
            match self.layouts.first_mut() {
                Some((_, _, ticks)) => ticks.push(counted as i64),
                None => self.layouts.push((Layout::Integer, First::Neither, vec![counted as i64])),
            }
            return Ok(());
        };
        let text = &*row.plain(column.at);
        if let Some((suffix, offset)) = Layout::offset(text) {
            self.offsets.push(offset);
            suffix.clone_into(&mut self.suffix);
        }
        if self.layouts.is_empty() {
            self.layouts =
                layouts_of(text).into_iter().map(|(layout, first, tick)| (layout, first, vec![tick])).collect();
            self.example = text.to_owned();
        } else {
            let next: Vec<Option<i64>> = self.layouts.iter().map(|(layout, ..)| layout.tick(text)).collect();
            if next.iter().any(Option::is_some) {
                let mut next = next.into_iter();
                self.layouts.retain_mut(|(_, _, ticks)| match next.next().flatten() {
                    Some(tick) => {
                        ticks.push(tick);
                        true
                    }
                    None => false,
                });
            } else {
                any_width(&mut self.layouts, text);
            }
        }
        if self.layouts.is_empty() {
            let example = if self.example == text { "2020-01-31 12:00:00" } else { &self.example };
            return Err(no_stamp(&row, &column.name, text, example));
        }
        Ok(())
    }

    /// The layout and the tick of each row.
    pub(super) fn finish(self, header: &Header<'_>) -> Result<Ticks> {
        let mut all = in_order(self.layouts);
        let week = Layout::Week(String::new());
        let name = self.column.as_ref().map_or(String::new(), |column| column.name.to_lowercase());
        let is_week = WEEKS.contains(&name.as_str()) || self.unit == Some(Unit::Week);
        all.retain(|(layout, ..)| *layout != week || is_week || is_called_date(&name));
        // Integers are steps, whatever dates they look like, where steps are asked for.
        let preferred = if self.unit == Some(Unit::Step) { Some(&Layout::Integer) } else { is_week.then_some(&week) };
        all.sort_by_key(|(layout, ..)| Some(layout) != preferred);
        let Some((_, first, ticks)) = all.first() else {
            return Ok(Ticks { layout: Layout::Integer, ticks: Vec::new(), note: None });
        };
        let swapped =
            |other: &(Layout, First, Vec<i64>)| other.1 != *first && other.1 != First::Neither && other.2 != *ticks;
        if *first != First::Neither && all.iter().any(swapped) {
            let name = self.column.map_or(String::new(), |column| column.name);
            let mut ways: Vec<(First, String)> = Vec::new();
            for (layout, first, _) in &all {
                let pattern = layout.pattern().filter(|_| ways.iter().all(|(known, _)| known != first));
                ways.extend(pattern.map(|pattern| (*first, format!("`{pattern}`"))));
            }
            let years = ways.iter().any(|(first, _)| *first == First::Year);
            let what = if years { "day, month and year" } else { "day and month" };
            let error = header.error(format!("has dates whose {what} may be swapped in every row")).in_field(name);
            let ways: Vec<String> = ways.into_iter().map(|(_, way)| way).collect();
            let hint = format!("give their format by `--date-format` (`data.date_format`): {}", ways.join(" or "));
            return Err(error.with_hint(hint));
        }
        let Some((layout, _, ticks)) = all.into_iter().next() else {
            return Ok(Ticks { layout: Layout::Integer, ticks: Vec::new(), note: None });
        };
        if self.days || layout == week {
            let (first, name) = (ticks.first().copied().unwrap_or(0), self.column.map_or(String::new(), |c| c.name));
            let day = Layout::of_pattern("%Y-%m-%d").write(first).unwrap_or_default();
            let number = layout.write(first).unwrap_or_default();
            let what = match self.days {
                true => format!("days as Excel counts them, {number} is {day}"),
                false => format!("years and ISO weeks, {number} begins on {day}"),
            };
            let note = format!("the numbers of `{name}` are {what} (`--frequency step` counts them as steps)");
            return Ok(Ticks { layout, ticks, note: Some(note) });
        }
        Ok(in_one_zone(layout, ticks, self.zone, &self.offsets, &self.suffix))
    }
}

/// The error for a text that is no stamp.
fn no_stamp(row: &Row<'_>, name: &str, text: &str, example: &str) -> crate::Error {
    let found = if text.is_empty() { "is empty".into() } else { format!("found `{}`", shown(text)) };
    let error = row.error(name, format!("{found}, expected a date like `{}`", shown(example)));
    error.with_hint(
        "all dates of a file must have the same format, with an offset from UTC or without; `--date-format` (`data.date_format`) gives one that is not \
         detected, such as `%d.%m.%Y %H:%M` or `excel`, and `--date` (`data.date`) names the column",
    )
}

/// The layouts with the year of two digits first, or the others, where dates run backwards less often in them: years
/// that are taken for days, and days for years, leap back at the end of each month.
fn in_order(mut layouts: Vec<(Layout, First, Vec<i64>)>) -> Vec<(Layout, First, Vec<i64>)> {
    let backwards = |ticks: &[i64]| ticks.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let least = |years: bool| {
        let of = layouts.iter().filter(|(_, first, _)| (*first == First::Year) == years);
        of.map(|(.., ticks)| backwards(ticks)).min()
    };
    if let (Some(years), Some(others)) = (least(true), least(false))
        && years != others
    {
        layouts.retain(|(_, first, _)| (*first == First::Year) == (years < others));
    }
    layouts
}

/// Stamps with different offsets from universal time, as before and after a change to summer time. Those of one time of
/// the day are days and longer, which are counted by the calendar of the place; others are counted in universal time.
fn in_one_zone(layout: Layout, ticks: Vec<i64>, zone: Option<i64>, offsets: &[i64], last: &str) -> Ticks {
    let first = zone.or_else(|| offsets.first().copied()).unwrap_or(0);
    if offsets.len() != ticks.len() || offsets.iter().all(|offset| *offset == first) {
        return Ticks { layout, ticks, note: None };
    }
    let local: Vec<i64> = ticks.iter().zip(offsets).map(|(tick, offset)| tick - (first - offset) * 1000).collect();
    let at_one_time = |ticks: &[i64]| ticks.iter().all(|tick| tick.rem_euclid(DAY) == ticks[0].rem_euclid(DAY));
    if at_one_time(&local) && !at_one_time(&ticks) {
        let zones = format!(
            "time stamps have several offsets from UTC: days are counted by the local calendar and written with `{}`, \
             that of the last row",
            last.trim()
        );
        return Ticks { layout: layout.with_suffix(last), ticks: local, note: Some(zones) };
    }
    let zones = format!(
        "time stamps have several offsets from UTC: they are counted in UTC and written with `{}`, that of the first row",
        layout.suffix().trim()
    );
    Ticks { layout, ticks, note: Some(zones) }
}

/// The layouts of a text, in which all numbers have their full width or none has zeros in front; else those of any
/// width.
fn layouts_of(text: &str) -> Vec<(Layout, First, i64)> {
    let found = Layout::of(text);
    if found.is_empty() { Layout::all_of_any_width(text) } else { found }
}

/// Takes a text whose numbers have other widths than those before; ticks of those stay as they are.
fn any_width(layouts: &mut Vec<(Layout, First, Vec<i64>)>, text: &str) {
    let mut all: Vec<(Layout, First, Vec<i64>)> = Vec::new();
    for (layout, first, mut ticks) in std::mem::take(layouts) {
        if let Some((layout, tick)) = layout.of_any_width(text)
            && all.iter().all(|(known, ..)| *known != layout)
        {
            ticks.push(tick);
            all.push((layout, first, ticks));
        }
    }
    *layouts = all;
}
