//! Files of series, and of what is forecast for them.

mod constant;
pub mod forecasts;
mod header;
mod long;
mod options;
mod report;
mod rows;
mod stamps;
#[cfg(test)]
mod tests;
mod timeline;
mod wide;

use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use self::header::Header;
pub use self::options::{Duplicates, ReadOptions, TableLayout};
pub use self::report::ReadReport;
use self::rows::Rows;
use self::timeline::Timeline;
use super::Panel;
use crate::{Error, Result};

/// A panel and what was done to make it.
#[derive(Debug, Clone)]
pub struct Read {
    /// The series.
    pub panel: Panel,
    /// What was found in the file.
    pub report: ReadReport,
}

/// Reads series from a file: a table as text, compressed by gzip or not, or Parquet (with the feature of that
/// name). What it is is seen from its first bytes.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] with file, line, column and expectation
/// when it is malformed.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Read> {
    let path = path.as_ref();
    let file = std::fs::File::open(path).map_err(|source| Error::io(path, source))?;
    let mut source = BufReader::with_capacity(1 << 16, file);
    let begin = source.fill_buf().map_err(|source| Error::io(path, source))?;
    if begin.starts_with(b"PAR1") {
        return from_parquet(path, options);
    }
    if begin.starts_with(&[0x1f, 0x8b]) {
        return table(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(source))), path, options);
    }
    table(Box::new(source), path, options)
}

/// Reads series from the text of a table; `path` names it in errors.
///
/// # Errors
/// [`Error::Parse`] naming line and column, e.g.
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
    table(Box::new(text.as_bytes()), path, options)
}

fn table(source: Box<dyn BufRead + '_>, path: &Path, options: &ReadOptions) -> Result<Read> {
    let mut rows = Rows::of(source, path, options.delimiter)?;
    let header = Header::of(&mut rows)?;
    match options.layout {
        TableLayout::Long | TableLayout::Tfb => long::read(rows, &header, options),
        TableLayout::Auto if long::looks_like(&header, options) => long::read(rows, &header, options),
        TableLayout::Auto | TableLayout::Wide => wide::read(rows, &header, options),
    }
}

#[cfg(feature = "parquet")]
fn from_parquet(path: &Path, options: &ReadOptions) -> Result<Read> {
    let commas = ReadOptions { delimiter: Some(b','), ..options.clone() };
    parse(&crate::parquet::as_csv(path)?, path, &commas)
}

#[cfg(not(feature = "parquet"))]
fn from_parquet(path: &Path, _: &ReadOptions) -> Result<Read> {
    let error = Error::parse(path, 0, "is a Parquet file, which this build does not read");
    Err(error.with_hint("build with `--features parquet`, or write the table as CSV"))
}

/// The report of a panel, without what only its reader knows.
fn report_of(panel: &Panel, timeline: &Timeline) -> Result<ReadReport> {
    let clock = panel.clock();
    Ok(ReadReport {
        rows: 0,
        date: None,
        frequency: clock.frequency(),
        season: clock.season(),
        span: (clock.stamp(0)?, clock.stamp(panel.steps().saturating_sub(1))?),
        gaps: timeline.gaps,
        out_of_order: timeline.out_of_order,
        duplicates: timeline.duplicates,
        missing: panel.series().iter().map(|one| (one.name().to_owned(), one.missing())).collect(),
        future: 0,
        skipped: Vec::new(),
        footer: None,
    })
}
