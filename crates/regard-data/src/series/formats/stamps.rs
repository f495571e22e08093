//! The column of stamps.

use super::ReadOptions;
use crate::Result;
use crate::error::shown;
use crate::series::clock::{DAY, First, Layout};
use crate::table::{Column, Header, Row, Rows};

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

/// If true, a text is a date or a time; a number is not.
pub(super) fn is_date(text: &str) -> bool {
    let is_number = text.parse::<f64>().is_ok();
    !is_number && layouts_of(text).iter().any(|found| found.0 != Layout::Integer)
}

/// The stamps of all rows, in each layout that all rows so far can have.
pub(super) struct Stamps {
    pub(super) column: Option<Column>,
    layouts: Vec<(Layout, First, Vec<i64>)>,
    /// The first stamp, as an example of what is expected.
    example: String,
    /// Offsets from universal time of all rows, in seconds; empty where stamps have none.
    offsets: Vec<i64>,
    /// The last row's offset as it is written.
    suffix: String,
}

/// Stamps of all rows.
pub(super) struct Ticks {
    pub(super) layout: Layout,
    pub(super) ticks: Vec<i64>,
    /// A sentence about different offsets from universal time, where stamps have them.
    pub(super) zones: Option<String>,
}

impl Stamps {
    /// Stamps in this column; without one, rows are counted.
    pub(super) fn of(column: Option<Column>, options: &ReadOptions) -> Self {
        let pattern = options.date_pattern.as_deref().filter(|_| column.is_some());
        let layouts = pattern.map(|pattern| (Layout::of_pattern(pattern), First::Neither, Vec::new()));
        Self {
            column,
            layouts: layouts.into_iter().collect(),
            example: pattern.unwrap_or_default().to_owned(),
            offsets: vec![],
            suffix: String::new(),
        }
    }

    /// The column of stamps: the one that the options name, or the one that header and first row show: one that is called
    /// so, or the first of the rest whose value is a date. Integers are stamps only under such a name,
    /// or in a first column without a name.
    pub(super) fn find(header: &Header<'_>, rows: &mut Rows<'_>, options: &ReadOptions) -> Result<Option<Column>> {
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
        let layouts: Vec<_> = (0..header.len()).map(|at| layouts_of(row.text(at))).collect();
        // A column of integers may hold what looks like dates without separators.
        let digits = |at: usize| row.text(at).bytes().all(|b| b.is_ascii_digit());
        let date =
            |column: &Column| layouts[column.at].iter().any(|found| found.0 != Layout::Integer) && !digits(column.at);
        let all = || header.columns();
        let known = || NAMES.iter().filter_map(|name| header.find_any(&[name]));
        let pattern = options.date_pattern.is_some();
        let found = known().find(|column| pattern || date(column));
        let found =
            found.or_else(|| all().find(date)).or_else(|| known().find(|column| !layouts[column.at].is_empty()));
        let found = found.or_else(|| all().next().filter(|first| first.name.is_empty() && !layouts[0].is_empty()));
        rows.unread();
        Ok(found)
    }

    /// If true, a text could be the next stamp.
    pub(super) fn may_be(&self, text: &str) -> bool {
        match (&self.column, self.layouts.is_empty()) {
            (None, _) => text.parse::<f64>().is_ok(),
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
        let text = row.text(column.at);
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
            return Err(self.no_stamp(&row, &column.name, text));
        }
        Ok(())
    }

    fn no_stamp(&self, row: &Row<'_>, name: &str, text: &str) -> crate::Error {
        let example = if self.example == text { "2020-01-31 12:00:00" } else { &self.example };
        let found = if text.is_empty() { "is empty".into() } else { format!("found `{}`", shown(text)) };
        let error = row.error(name, format!("{found}, expected a date like `{}`", shown(example)));
        error.with_hint(
            "all dates of a file must have the same format, with an offset from UTC or without; `--date-format` (`data.date_format`) gives one that is not \
             detected, such as `%d.%m.%Y %H:%M`",
        )
    }

    /// The layout and the tick of each row.
    pub(super) fn finish(self, header: &Header<'_>) -> Result<Ticks> {
        let mut found = self.layouts.into_iter();
        let Some((layout, first, ticks)) = found.next() else {
            return Ok(Ticks { layout: Layout::Integer, ticks: Vec::new(), zones: None });
        };
        let swapped =
            |other: &(Layout, First, Vec<i64>)| other.1 != first && other.1 != First::Neither && other.2 != ticks;
        if first != First::Neither && found.any(|other| swapped(&other)) {
            let name = self.column.map_or(String::new(), |column| column.name);
            let reason = "has dates whose day and month may be swapped in every row";
            let error = header.error(reason).in_field(name);
            return Err(
                error.with_hint("give their format by `--date-format` (`data.date_format`): `%d/%m/%Y` or `%m/%d/%Y`")
            );
        }
        Ok(in_one_zone(layout, ticks, &self.offsets, &self.suffix))
    }
}

/// Stamps with different offsets from universal time, as before and after a change to summer time. Those of one time of
/// the day are days and longer, which are counted by the calendar of the place; others are counted in universal time.
fn in_one_zone(layout: Layout, ticks: Vec<i64>, offsets: &[i64], last: &str) -> Ticks {
    let first = offsets.first().copied().unwrap_or(0);
    if offsets.len() != ticks.len() || offsets.iter().all(|offset| *offset == first) {
        return Ticks { layout, ticks, zones: None };
    }
    let local: Vec<i64> = ticks.iter().zip(offsets).map(|(tick, offset)| tick - (first - offset) * 1000).collect();
    let at_one_time = |ticks: &[i64]| ticks.iter().all(|tick| tick.rem_euclid(DAY) == ticks[0].rem_euclid(DAY));
    if at_one_time(&local) && !at_one_time(&ticks) {
        let zones = format!(
            "time stamps have several offsets from UTC: days are counted by the local calendar and written with `{}`, \
             that of the last row",
            last.trim()
        );
        return Ticks { layout: layout.with_suffix(last), ticks: local, zones: Some(zones) };
    }
    let zones = format!(
        "time stamps have several offsets from UTC: they are counted in UTC and written with `{}`, that of the first row",
        layout.suffix().trim()
    );
    Ticks { layout, ticks, zones: Some(zones) }
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
