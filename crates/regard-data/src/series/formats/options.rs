//! What a file of series cannot say itself.

use crate::series::Frequency;

/// How a file of series is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// How the table is laid out.
    pub layout: TableLayout,
    /// The column of stamps; `None` finds it.
    pub date: Option<String>,
    /// There are no stamps: rows are steps counted from 0.
    pub without_dates: bool,
    /// How stamps are written, in the pattern of `strftime`; `None` finds it.
    pub date_pattern: Option<String>,
    /// The distance of stamps; `None` is the most common one.
    pub frequency: Option<Frequency>,
    /// Wide tables: the columns to read as series, in this order; `None` takes all that are nothing else.
    pub columns: Option<Vec<String>>,
    /// Long tables: the column of the series' names; `None` finds it.
    pub id: Option<String>,
    /// Long tables: the column of values; `None` finds it.
    pub target: Option<String>,
    /// Columns that are known in the future.
    pub covariates: Vec<String>,
    /// Long tables: columns of numbers that are the same in all rows of a series.
    pub statics: Vec<String>,
    /// Long tables: the column of a label, the same in all rows of a series.
    pub label: Option<String>,
    /// Labels may be absent, all of them: series to be classified.
    pub label_optional: bool,
    /// What is done with two rows of one series and stamp.
    pub duplicates: Duplicates,
    /// The character between fields; `None` is the one of comma, semicolon and tab that the header has most
    /// of.
    pub delimiter: Option<u8>,
}

/// How a table is laid out.
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

/// What is done with two rows of one series and stamp.
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
