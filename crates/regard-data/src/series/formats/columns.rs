//! Long tables whose columns are in memory, without a file.

use std::collections::HashMap;
use std::path::Path;

use super::covariates::Covariates;
use super::long::{Columns, Constant, Table};
use super::stamps::Ticks;
use super::timeline::Placing;
use super::{Extent, Read, ReadOptions, ReadReport};
use crate::series::clock::{DAY, Layout};
use crate::table::{Column, Header, Precision, Spread};
use crate::{Error, Result};

/// The stamps of rows in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum StampColumn {
    /// Milliseconds since 1970-01-01, as a clock on the wall shows them.
    Milliseconds(Vec<i64>),
    /// Integers.
    Integers(Vec<i64>),
}

impl StampColumn {
    fn len(&self) -> usize {
        match self {
            Self::Milliseconds(stamps) | Self::Integers(stamps) => stamps.len(),
        }
    }
}

/// A row for each value, by columns.
///
/// ```
/// use regard_data::series::formats::{LongColumns, ReadOptions, StampColumn};
///
/// let table = LongColumns {
///     id: "unique_id".into(),
///     date: "ds".into(),
///     target: "y".into(),
///     names: vec!["a".into(), "b".into()],
///     series: vec![0, 0, 1, 1],
///     stamps: StampColumn::Integers(vec![1, 2, 1, 2]),
///     values: vec![1.0, 2.0, 5.0, f32::NAN],
///     covariates: vec![],
///     statics: vec![],
/// };
/// let read = table.read(&ReadOptions::default())?;
/// assert_eq!((read.panel.len(), read.panel.steps(), read.panel.series()[1].missing()), (2, 2, 1));
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LongColumns {
    /// Name of the column of ids.
    pub id: String,
    /// Name of the column of stamps.
    pub date: String,
    /// Name of the column of values.
    pub target: String,
    /// Names of the series.
    pub names: Vec<String>,
    /// The series of each row, an index of `names`, `[rows]`.
    pub series: Vec<u32>,
    /// The stamp of each row, `[rows]`.
    pub stamps: StampColumn,
    /// The value of each row, `[rows]`, NaN where it is missing or in the future.
    pub values: Vec<f32>,
    /// Names of covariates that are known in the future, with a value for each row.
    pub covariates: Vec<(String, Vec<f32>)>,
    /// Names of static columns, with a text for each series; numbers are texts too.
    pub statics: Vec<(String, Vec<String>)>,
}

impl LongColumns {
    /// The panel of the rows, as of a file with them: rows may be in any order, stamps without a row are missing values.
    /// Of the options, those count that say how rows are read: frequency, duplicates and static features of training.
    ///
    /// # Errors
    /// [`Error::Invalid`] for columns of different lengths, and a series without rows; [`Error::Parse`] naming the row,
    /// counted from 0, in place of a file.
    pub fn read(self, options: &ReadOptions) -> Result<Read> {
        let count = self.series.len();
        self.check(count)?;
        // Errors name this in place of a file, and rows by their lines.
        let path = Path::new(FRAME);
        let (table, columns, names) = self.table(count, path)?;
        let header = Header::of_names(path, 0, names);
        let (mut table, ticks, date) = table;
        let lines = std::mem::take(&mut table.lines);
        let width = 1 + columns.covariates.len();
        let placing = Placing { path, header: &header, options, lines: &lines, names: &table.names, ids: &[], width };
        let rows = std::mem::take(&mut table.rows);
        let read = placing
            .place_ticks(&date, ticks, rows)
            .and_then(|timeline| table.finish(&timeline, &header, &columns, options, Extent::Whole))
            .map_err(of_rows)?;
        Ok(Read { report: ReadReport { rows: count, date: Some(date), ..read.report }, ..read })
    }

    fn check(&self, count: usize) -> Result<()> {
        let columns = [(&self.date, self.stamps.len()), (&self.target, self.values.len())];
        let all = columns.into_iter().chain(self.covariates.iter().map(|(name, values)| (name, values.len())));
        for (name, length) in all {
            if length != count {
                return Err(Error::invalid(format!("`{name}`"), format!("has {length} values for {count} rows")));
            }
        }
        if count == 0 {
            return Err(Error::invalid("rows", "there are none, expected at least one"));
        }
        if let Some((name, texts)) = self.statics.iter().find(|(_, texts)| texts.len() != self.names.len()) {
            let reason = format!("has {} values for {} series", texts.len(), self.names.len());
            return Err(Error::invalid(format!("`{name}`"), reason));
        }
        let most = self.series.iter().max().map_or(0, |most| *most as usize);
        if most >= self.names.len() {
            let reason = format!("has series {most}, but there are {} names", self.names.len());
            return Err(Error::invalid(format!("`{}`", self.id), reason));
        }
        Ok(())
    }

    /// The rows as those of a file, with their ticks and the name of their column; the columns, and all names.
    #[expect(clippy::type_complexity, reason = "parts that its one caller takes apart at once")]
    fn table(self, count: usize, path: &Path) -> Result<((Table, Ticks, String), Columns, Vec<String>)> {
        let Self { id, date, target, names, series, stamps, values, covariates, statics } = self;
        let all: Vec<String> = [id.clone(), date.clone(), target.clone()]
            .into_iter()
            .chain(covariates.iter().map(|(name, _)| name.clone()))
            .chain(statics.iter().map(|(name, _)| name.clone()))
            .collect();
        let column = |at: usize| Column::new(at, &all[at]);
        let first_static = 3 + covariates.len();
        let columns = Columns {
            id: column(0),
            target: column(2),
            label: None,
            statics: (first_static..all.len()).map(column).collect(),
            covariates: (3..first_static).map(column).collect(),
            skipped: Vec::new(),
        };
        // Series in the order of their first rows, as of a file.
        let mut places: HashMap<u32, usize> = HashMap::new();
        let (mut order, mut rows): (Vec<usize>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
        for (row, of) in series.iter().enumerate() {
            let place = *places.entry(*of).or_insert_with(|| {
                order.push(*of as usize);
                rows.push(Vec::new());
                rows.len() - 1
            });
            rows[place].push(row as u32);
        }
        if let Some(empty) = (0..names.len()).find(|at| !places.contains_key(&(*at as u32))) {
            return Err(Error::invalid(format!("series `{}`", names[empty]), "has no row"));
        }
        let in_order = |texts: Vec<String>| Constant(order.iter().map(|at| (text_of(&texts[*at]), 0)).collect());
        let static_columns = columns.statics.clone();
        let values_of = covariates.into_iter().map(|(_, values)| values);
        let of_numbers = columns.covariates.iter().cloned().zip(values_of).collect();
        let table = Table {
            names: order.iter().map(|at| names[*at].clone()).collect(),
            rows,
            lines: (1..=count as u32).collect(),
            values,
            covariates: Covariates::of_numbers(of_numbers),
            statics: statics.into_iter().map(|(_, texts)| in_order(texts)).collect(),
            static_columns,
            path: path.to_path_buf(),
            labels: Constant::default(),
            footer: None,
            precision: Precision::new(Spread::Changes),
        };
        Ok(((table, ticks_of(stamps), date), columns, all))
    }
}

/// The place that errors name where there is no file.
const FRAME: &str = "the table";

/// A text as a file's: `1` is `1.0`.
fn text_of(text: &str) -> String {
    text.parse::<f32>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}

fn ticks_of(stamps: StampColumn) -> Ticks {
    match stamps {
        StampColumn::Integers(ticks) => Ticks { layout: Layout::Integer, ticks, note: None },
        StampColumn::Milliseconds(ticks) => {
            let days = ticks.iter().all(|tick| tick.rem_euclid(DAY) == 0);
            let seconds = ticks.iter().all(|tick| tick.rem_euclid(1000) == 0);
            let pattern = match (days, seconds) {
                (true, _) => "%Y-%m-%d",
                (false, true) => "%Y-%m-%d %H:%M:%S",
                (false, false) => "%Y-%m-%d %H:%M:%S%.f",
            };
            Ticks { layout: Layout::of_pattern(pattern), ticks, note: None }
        }
    }
}

/// The error of a file as one of rows in memory, which are counted from 0.
fn of_rows(error: Error) -> Error {
    match error {
        Error::Parse { line, field, reason, other_line, hint, .. } => {
            let reason = match other_line {
                Some(line) => format!("{reason} in row {}", line.saturating_sub(1)),
                None => reason,
            };
            let path = if line == 0 { FRAME.into() } else { format!("row {}", line - 1).into() };
            Error::Parse { path, line: 0, field, reason, other_line: None, hint }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::formats::{Duplicates, parse};

    fn table(series: Vec<u32>, days: Vec<i64>, values: Vec<f32>) -> LongColumns {
        LongColumns {
            id: "unique_id".into(),
            date: "ds".into(),
            target: "y".into(),
            names: vec!["b".into(), "a".into()],
            series,
            stamps: StampColumn::Milliseconds(days.into_iter().map(|day| day * DAY).collect()),
            values,
            covariates: vec![],
            statics: vec![],
        }
    }

    #[test]
    fn rows_give_the_panel_of_the_same_file() {
        let text = "unique_id,ds,y,price,town\na,1970-01-02,1,3,Ulm\na,1970-01-04,2,4,Ulm\nb,1970-01-03,5,1,Bonn\n\
                    b,1970-01-02,4,2,Bonn\nb,1970-01-04,,7,Bonn\n";
        let options = ReadOptions {
            covariates: vec!["price".into()],
            statics: vec!["town".into()],
            frequency: Some("day".parse().unwrap()),
            ..ReadOptions::default()
        };
        let file = parse(text, "long.csv".as_ref(), &options).unwrap();
        let memory = LongColumns {
            covariates: vec![("price".into(), vec![3.0, 4.0, 1.0, 2.0, 7.0])],
            statics: vec![("town".into(), vec!["Bonn".into(), "Ulm".into()])],
            ..table(vec![1, 1, 0, 0, 0], vec![1, 3, 2, 1, 3], vec![1.0, 2.0, 5.0, 4.0, f32::NAN])
        };
        let memory = memory.read(&options).unwrap();
        assert_eq!(format!("{:?}", memory.panel), format!("{:?}", file.panel));
        assert_eq!(memory.report, file.report);
    }

    #[test]
    fn errors_name_the_row() {
        let twice = table(vec![0, 1, 1], vec![1, 5, 5], vec![1.0; 3]);
        let error = twice.clone().read(&ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "row 2: field `ds`: stamp `1970-01-06` of series `a` already occurs in row 1");
        assert!(error.hint().is_some_and(|hint| hint.contains("duplicates")));
        let frequency = Some("day".parse().unwrap());
        let options = ReadOptions { duplicates: Duplicates::Last, frequency, ..ReadOptions::default() };
        assert_eq!(twice.read(&options).unwrap().report.duplicates, 1);
        let error = table(vec![0, 0], vec![1, 2], vec![1.0; 2]).read(&ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "series `a`: has no row");
        let error = table(vec![0, 1], vec![1, 2], vec![1.0; 3]).read(&ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "`y`: has 3 values for 2 rows");
        let error = table(vec![0, 1, 1], vec![1, 2, 3], vec![1.0, f32::NAN, f32::NAN]).read(&ReadOptions::default());
        assert!(error.unwrap_err().to_string().contains("series `a` has no value in any row"));
    }
}
