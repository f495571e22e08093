//! What a reader found and did.

use std::fmt;

use serde::Serialize;

use crate::series::Frequency;

/// What was done to make a panel of a file. Nothing is left out of a file without being said here.
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
    /// Text below the table.
    pub footer: Option<String>,
}

impl fmt::Display for ReadReport {
    /// A line for each thing that was found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = &self.span;
        writeln!(
            f,
            "{} rows, {} series, every {} from {first} to {last}",
            self.rows,
            self.missing.len(),
            self.frequency
        )?;
        match &self.date {
            None => writeln!(f, "no column is a date: steps are counted from 0")?,
            Some(_) if self.season > 1 => writeln!(f, "season of {} steps", self.season)?,
            Some(_) => {}
        }
        for (count, what) in [
            (self.gaps, "stamps without a row, filled as missing"),
            (self.out_of_order, "rows out of order, sorted"),
            (self.duplicates, "rows of a stamp seen before, merged"),
            (self.missing.iter().map(|(_, count)| count).sum(), "missing values"),
            (self.future, "rows of the future"),
        ] {
            if count > 0 {
                writeln!(f, "{count} {what}")?;
            }
        }
        if !self.skipped.is_empty() {
            writeln!(f, "columns not read: {}", self.skipped.join(", "))?;
        }
        self.footer.as_ref().map_or(Ok(()), |footer| writeln!(f, "below the table: {footer}"))
    }
}
