//! Files of series, and of forecasts for them.

mod by_row;
mod columns;
mod covariates;
pub mod forecasts;
mod future;
mod long;
mod parts;
mod stamps;
mod timeline;
mod wide;

use std::fmt;
use std::path::Path;

use serde::Serialize;

pub use self::columns::{LongColumns, StampColumn};
pub use self::future::read_with_future;
use self::timeline::Timeline;
use super::Panel;
use crate::Result;
use crate::series::{Clock, Frequency};
use crate::table::numbers::Decimal;
use crate::table::{Header, Rows};

/// A panel and what was done to make it.
#[derive(Debug, Clone)]
pub struct Read {
    /// The series.
    pub panel: Panel,
    /// A summary of the file.
    pub report: ReadReport,
}

impl Read {
    /// Series that stand in no file.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for steps beyond the calendar.
    pub fn of(panel: Panel) -> Result<Self> {
        let report = report_of(&panel, None)?;
        let rows = panel.series().iter().map(crate::series::Series::len).sum();
        Ok(Self { panel, report: ReadReport { rows, ..report } })
    }
}

/// Reads series from a file: a table as text, compressed by gzip or not, or Parquet (with the feature of that
/// name). Its first bytes decide.
///
/// A file above 256 MiB without covariates, static features and labels may have any size: it is read part by part, and only
/// the values of its series are kept. Its first 16 MiB decide how stamps are written and how far they lie apart.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when the file cannot be read, and [`Error::Parse`](crate::Error::Parse) with file, line, column and expectation
/// when it is malformed.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Read> {
    let path = path.as_ref();
    match parts::read(path, options)? {
        Some(read) => Ok(read),
        None => whole(path, options),
    }
}

fn whole(path: &Path, options: &ReadOptions) -> Result<Read> {
    Ok(table(Rows::open(path, options.delimiter)?, options, Extent::Whole)?.0)
}

/// Reads series from the text of a table; `path` names it in errors.
///
/// # Errors
/// [`Error::Parse`](crate::Error::Parse) naming line and column, e.g.
/// ``load.csv:7: field `OT`: found `abc`, expected a number``.
///
/// ```
/// use regard_data::series::formats::{ReadOptions, parse};
///
/// let text = "date,a,b\n2020-01-01,1,5\n2020-01-02,2,\n2020-01-04,4,8\n";
/// let read = parse(text, "load.csv".as_ref(), &ReadOptions::default())?;
/// assert_eq!((read.panel.len(), read.panel.steps(), read.report.gaps), (2, 4, 1));
/// assert_eq!(read.panel.series()[0].values()[3], 4.0);
/// assert_eq!(read.panel.stamp(0, 4)?, "2020-01-05");
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path, options: &ReadOptions) -> Result<Read> {
    Ok(table(Rows::of_text(text, path, options.delimiter)?, options, Extent::Whole)?.0)
}

/// The rows of a file that a table has.
#[derive(Clone, Copy)]
enum Extent<'c> {
    /// All of them.
    Whole,
    /// The first ones.
    First,
    /// Some after the first ones, with stamps as this clock writes them.
    Rest(&'c Clock),
}

impl Extent<'_> {
    /// If true, what is not in the table is nowhere.
    fn is_whole(self) -> bool {
        matches!(self, Self::Whole)
    }
}

/// The series of a table and its layout; `None` for one with a row for each series.
fn table(rows: Rows<'_>, options: &ReadOptions, extent: Extent<'_>) -> Result<(Read, Option<TableLayout>)> {
    let rows = rows.with_marks(options.decimal, options.likely_decimal)?;
    let (marks, decimal, encoding) = (rows.note().map(str::to_owned), rows.decimal(), rows.encoding());
    let (mut read, layout) = of_rows(rows, options, extent)?;
    (read.report.marks, read.report.decimal) = (marks, decimal);
    read.report.encoding = encoding.get().note().map(str::to_owned);
    Ok((read, layout))
}

fn of_rows(mut rows: Rows<'_>, options: &ReadOptions, extent: Extent<'_>) -> Result<(Read, Option<TableLayout>)> {
    let beginning = rows.beginning()?;
    let header = Header::of(&mut rows, "a header and rows of values")?;
    header.check_distinct()?;
    if is_row_of_values(&header.names) {
        return Err(header
            .error("is a row of values, expected a header that names the columns")
            .with_hint("write a first line with the names of the columns, such as `date,value`"));
    }
    let layout = match options.layout {
        TableLayout::Auto if long::looks_like(&header, options) => TableLayout::Long,
        TableLayout::Auto if by_row::looks_like(&header, &beginning) => {
            return Ok((by_row::read(rows, &header, options)?, None));
        }
        given => given,
    };
    let guessed = match layout {
        TableLayout::Auto => long::guessed(&header, &mut rows, options, &beginning)?,
        _ => None,
    };
    let (mut read, layout) = match (layout, &guessed) {
        (TableLayout::Auto, Some([id, target])) => {
            let (id, target) = (Some(id.clone()), Some(target.clone()));
            let options = ReadOptions { id, target, columns: None, ..options.clone() };
            (long::read(rows, &header, &options, &beginning, extent)?, TableLayout::Long)
        }
        (TableLayout::Auto | TableLayout::Wide, _) => {
            (wide::read(rows, &header, options, &beginning, extent)?, TableLayout::Wide)
        }
        (long, _) => (long::read(rows, &header, options, &beginning, extent)?, long),
    };
    if read.report.date.is_none() && names_dates(&header.names) {
        return Err(header
            .error("has dates in the names of its columns and no column of dates, so its rows would be read as steps of time")
            .with_hint(
                "turn the table, so that a column has the dates and others the values, or one row each series, date and \
                 value; pandas does it by `melt`",
            ));
    }
    read.report.guessed = guessed;
    Ok((read, Some(layout)))
}

/// If true, columns are called by dates, or by years one after the other.
fn names_dates(names: &[String]) -> bool {
    let year = |name: &String| name.parse::<u32>().ok().filter(|year| (1800..2200).contains(year));
    let years: Vec<u32> = names.iter().filter_map(year).collect();
    let is_consecutive = years.len() > 2 && years.windows(2).all(|pair| pair[1] == pair[0] + 1);
    is_consecutive || names.iter().filter(|name| year(name).is_none() && stamps::is_date(name)).count() > 1
}

/// If true, the first row of a table is no header: its values would be lost.
fn is_row_of_values(names: &[String]) -> bool {
    let number = |name: &String| name.parse::<f64>().ok();
    let is_fraction = |name: &String| number(name).is_some_and(|value| value.fract() != 0.0);
    let [first, rest @ ..] = names else { return false };
    if rest.is_empty() {
        return number(first).is_some();
    }
    if rest.iter().all(is_fraction) {
        return true;
    }
    let all_numbers = |names: &[String]| names.iter().map(number).collect::<Option<Vec<f64>>>();
    // Years and months name columns, one after the other.
    let consecutive = |numbers: &[f64]| numbers.windows(2).all(|pair| pair[1] - pair[0] == 1.0);
    match all_numbers(rest) {
        // A column of dates has a name.
        Some(_) if stamps::is_date(first) => true,
        Some(_) => all_numbers(names).is_some_and(|all| !consecutive(&all)),
        // Other columns may hold text.
        None => stamps::is_date(first) && rest.iter().any(|name| number(name).is_some()),
    }
}

/// The report of a panel, without what only its reader knows.
fn report_of(panel: &Panel, timeline: Option<&Timeline>) -> Result<ReadReport> {
    let count = |of: fn(&Timeline) -> usize| timeline.map_or(0, of);
    let clock = panel.clock();
    Ok(ReadReport {
        rows: 0,
        date: None,
        frequency: clock.frequency(),
        season: clock.season(),
        span: (clock.stamp(0)?, clock.stamp(panel.steps().saturating_sub(1))?),
        gaps: count(|timeline| timeline.gaps),
        out_of_order: count(|timeline| timeline.out_of_order),
        duplicates: count(|timeline| timeline.duplicates),
        missing: panel.series().iter().map(|one| (one.name().to_owned(), one.missing())).collect(),
        future: 0,
        skipped: Vec::new(),
        guessed: None,
        marks: None,
        decimal: None,
        stamps: timeline.and_then(|timeline| timeline.note.clone()),
        notes: Vec::new(),
        encoding: None,
        empty_rows: 0,
        footer: None,
    })
}

/// Options of reading a file of series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The layout of the table.
    pub layout: TableLayout,
    /// The column of stamps; `None` finds it.
    pub date: Option<String>,
    /// There are no stamps: rows are steps counted from 0.
    pub without_dates: bool,
    /// The pattern of stamps, that of `strftime`, or `excel` for days as Excel counts them; `None` finds it.
    pub date_pattern: Option<String>,
    /// The distance of stamps; `None` is the most common one.
    pub frequency: Option<Frequency>,
    /// Wide tables: the columns to read as series, in this order; `None` takes all that are nothing else.
    pub columns: Option<Vec<String>>,
    /// Long tables: the column of the series' names; `None` finds it.
    pub id: Option<String>,
    /// Long tables: the column of values; `None` finds it.
    pub target: Option<String>,
    /// Columns that are known in the future: numbers, or few different texts, one feature for each.
    pub covariates: Vec<String>,
    /// Names of these features in training, by which texts are encoded as there.
    pub known_covariates: Option<Vec<String>>,
    /// Long tables: columns that are the same in all rows of a series: numbers, NaN where they are missing, with one
    /// more feature that says where; or few different texts, one feature for each.
    pub statics: Vec<String>,
    /// Long tables: names of these features in training, read in this order instead of `statics`.
    pub known_statics: Option<Vec<String>>,
    /// Long tables: the column of a label, the same in all rows of a series.
    pub label: Option<String>,
    /// Labels may be absent, all of them: series to be classified.
    pub label_optional: bool,
    /// The treatment of two rows of one series and stamp.
    pub duplicates: Duplicates,
    /// Steps at the end of each series that are needed: of a file that is read part by part, no others are kept, and a pipe
    /// is read so too; `None` keeps all.
    pub last: Option<usize>,
    /// The decimal mark of numbers; `None` is the one that they show.
    pub decimal: Option<Decimal>,
    /// The decimal mark of numbers that may be read in both ways, where the file does not tell: that of training, for
    /// example.
    pub likely_decimal: Option<Decimal>,
    /// The character between fields; `None` is the one of comma, semicolon and tab that the header has most
    /// of.
    pub delimiter: Option<u8>,
}

impl ReadOptions {
    /// The column of values of a long table: that which is named, also by the only one of [`Self::columns`].
    fn target_of_long_table(&self) -> Option<String> {
        self.target.clone().or_else(|| match self.columns.as_deref() {
            Some([only]) => Some(only.clone()),
            _ => None,
        })
    }
}

/// The layout of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TableLayout {
    /// [`TableLayout::Tfb`] when the header is `date,data,cols`, [`TableLayout::Long`] when a column of ids
    /// is named in the options or called `unique_id`, `item_id`, `series_id` or `ts_id`, otherwise
    /// [`TableLayout::Wide`].
    #[default]
    Auto,
    /// A column for each series.
    Wide,
    /// A row for each value: id, stamp, value.
    Long,
    /// Long with the columns `date`, `data` and `cols`, as TFB has it.
    Tfb,
}

/// The treatment of two rows of one series and stamp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// They are an error that names both lines.
    #[default]
    Error,
    /// Their mean is taken, missing values left out.
    Mean,
    /// The one that stands last in the file is taken.
    Last,
}

/// A summary of reading a file. It lists all that was left out or changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadReport {
    /// Rows below the header, without the footer.
    pub rows: usize,
    /// The column of stamps; `None` where there is none and steps are counted from 0.
    pub date: Option<String>,
    /// The distance of stamps, given or found.
    pub frequency: Frequency,
    /// Steps of a season that data of this frequency usually has.
    pub season: usize,
    /// The first and the last stamp.
    pub span: (String, String),
    /// Stamps that no row has, filled with missing values, summed over series that have rows of their own.
    pub gaps: usize,
    /// Rows that had to be brought into the order of time.
    pub out_of_order: usize,
    /// Rows of a stamp that had occurred before, merged as the options say.
    pub duplicates: usize,
    /// Missing values of each series, gaps included, in the order of the series.
    pub missing: Vec<(String, usize)>,
    /// Rows at the end that only say what is known of the future, of all series.
    pub future: usize,
    /// Columns that were not read.
    pub skipped: Vec<String>,
    /// The columns of series' names and of values, where they were guessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guessed: Option<[String; 2]>,
    /// A sentence about a title above the header, and about the decimal mark where numbers have commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks: Option<String>,
    /// The decimal mark of the numbers: as given, else the one that they show.
    #[serde(skip)]
    pub decimal: Option<Decimal>,
    /// A sentence about time stamps that could be read in another way: with several offsets from universal time, or days
    /// as Excel counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamps: Option<String>,
    /// Sentences about what else was recognised or left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// A note on the encoding of the file, where it was guessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Rows of separators alone, which are skipped: no steps where steps are counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub empty_rows: usize,
    /// Text below the table.
    pub footer: Option<String>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl fmt::Display for ReadReport {
    /// A line for each thing that was found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = &self.span;
        writeln!(
            f,
            "{} {}, {} series, every {} from {first} to {last}",
            self.rows,
            if self.rows == 1 { "row" } else { "rows" },
            self.missing.len(),
            self.frequency
        )?;
        match &self.date {
            None => writeln!(f, "no column is a date: steps are counted from 0")?,
            Some(_) if self.season > 1 => writeln!(f, "season of {} steps", self.season)?,
            Some(_) => {}
        }
        if let Some([id, target]) = &self.guessed {
            writeln!(
                f,
                "one row for each value: `{id}` names the series, `{target}` has their values; `--id` (`data.id`) and \
                 `--target` (`data.columns`) name other columns"
            )?;
        }
        if let Some(encoding) = &self.encoding {
            writeln!(f, "the file {encoding}")?;
        }
        for note in self.marks.iter().chain(&self.stamps).chain(&self.notes) {
            writeln!(f, "{note}")?;
        }
        let missing = self.missing.iter().map(|(_, count)| count).sum();
        let frequency = " as missing; `--frequency` (`data.frequency`) gives another distance of stamps";
        // A count, its words in the singular and the plural, and their end, which names the option that changes the count.
        let counts = [
            (self.gaps, "stamp without a row, filled", "stamps without a row, filled", frequency),
            (self.out_of_order, "row out of order, sorted", "rows out of order, sorted", ""),
            (
                self.duplicates,
                "row of a stamp seen before, merged",
                "rows of a stamp seen before, merged",
                " as `--duplicates` (`data.duplicates`) says",
            ),
            (missing, "missing value", "missing values", ""),
            (self.future, "row of the future", "rows of the future", ""),
            (
                if self.date.is_none() { self.empty_rows } else { 0 },
                "row without any value, skipped",
                "rows without any value, skipped",
                ": no steps; write `nan` for steps whose values are missing, or give dates",
            ),
        ];
        for (count, one, several, end) in counts.into_iter().filter(|(count, ..)| *count > 0) {
            writeln!(f, "{count} {}{end}", if count == 1 { one } else { several })?;
        }
        if !self.skipped.is_empty() {
            writeln!(
                f,
                "columns not read: {}; `--target` (`data.columns`) and `--covariates` (`data.future_covariates`) name \
                 columns",
                self.skipped.join(", ")
            )?;
        }
        self.footer.as_ref().map_or(Ok(()), |footer| writeln!(f, "below the table: {footer}"))
    }
}

#[cfg(test)]
mod tests;
