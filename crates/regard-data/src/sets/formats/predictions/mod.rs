//! The predictions for bags and their rows, as tables and JSON.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

pub use crate::predictions::Predicted;
use crate::sets::Bags;
use crate::table::write::{Cell, TableSource, csv, write};
use crate::{Error, Result};

/// Predictions for bags, ready to be written.
///
/// ```
/// use regard_data::sets::formats::predictions::{Predicted, Predictions};
/// use regard_data::sets::{Bags, FeatureNames};
///
/// let bags = Bags::new(FeatureNames::Count(1), vec![1.0, 2.0], vec![0, 2])?;
/// let predictions = Predictions::new(&bags, Some(Predicted::numbers(vec![0.5])))?;
/// let predictions = predictions.with_rows("importance", vec![0.25, 0.75])?;
/// assert_eq!(predictions.csv(), "id,rows,prediction\n1,2,0.5\n");
/// assert_eq!(predictions.rows_csv(), "id,row,prediction,importance\n1,1,0.5,0.25\n1,2,0.5,0.75\n");
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Predictions<'b> {
    bags: &'b Bags,
    predicted: Option<Predicted>,
    rows: Option<(String, Vec<f64>)>,
}

impl<'b> Predictions<'b> {
    /// Predictions for these bags; `None` where only rows have one (a ranking).
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many predictions as bags, or no classes.
    pub fn new(bags: &'b Bags, predicted: Option<Predicted>) -> Result<Self> {
        predicted.iter().try_for_each(|predicted| predicted.check(bags.len(), "bags"))?;
        Ok(Self { bags, predicted, rows: None })
    }

    /// The same with a value for each row, in the order of [`Bags::features`], under this name:
    /// "importance", "score".
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many values as rows.
    pub fn with_rows(mut self, name: &str, values: Vec<f64>) -> Result<Self> {
        if values.len() != self.bags.rows() {
            let reason = format!("has {} values, expected one for each of {} rows", values.len(), self.bags.rows());
            return Err(Error::invalid(name, reason));
        }
        self.rows = Some((name.to_owned(), values));
        Ok(self)
    }

    /// One line for each bag: `id,rows,prediction`, and for classes the probability of each, to the sixth
    /// decimal.
    #[must_use]
    pub fn csv(&self) -> String {
        csv(self)
    }

    /// One line for each row: the bag's id, the row's number in its bag from 1, the line of its file
    /// where it has one, what is predicted for the bag, and the row's value. Empty without values of rows.
    #[must_use]
    pub fn rows_csv(&self) -> String {
        self.row_table(self.predicted.as_ref()).map_or_else(String::new, |table| csv(&table))
    }

    /// A list with an object for each bag: `id`, `rows`, `prediction`, `probabilities` by class, and
    /// the list of its rows' values. A number that is not finite is `null`.
    #[must_use]
    pub fn json(&self) -> Value {
        let one = |bag: usize| {
            let mut object = Map::new();
            object.insert("id".into(), json!(self.bags.ids()[bag]));
            object.insert("rows".into(), json!(self.bags.size(bag)));
            if let Some(predicted) = &self.predicted {
                predicted.fill_object(bag, &mut object);
            }
            if let Some((name, values)) = &self.rows {
                let of_bag = &values[self.bags.offsets()[bag]..self.bags.offsets()[bag + 1]];
                object.insert(name.clone(), json!(of_bag));
            }
            Value::Object(object)
        };
        Value::Array((0..self.bags.len()).map(one).collect())
    }

    /// Writes the table of bags as [`write()`] does.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path, self)
    }

    /// Writes the table of [`Self::rows_csv`] without what is predicted for bags as [`write()`] does; nothing without
    /// values of rows.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_rows(&self, path: impl AsRef<Path>) -> Result<()> {
        self.row_table(None).map_or(Ok(()), |table| write(path, &table))
    }

    fn row_table<'t>(&'t self, predicted: Option<&'t Predicted>) -> Option<RowTable<'t>> {
        let (name, values) = self.rows.as_ref()?;
        Some(RowTable { bags: self.bags, predicted, name, cell: Box::new(|row| Cell::Number(values[row])) })
    }
}

/// Decimals of probabilities in tables.
const DECIMALS: i32 = 6;

impl TableSource for Predictions<'_> {
    fn columns(&self) -> Vec<String> {
        let predicted = self.predicted.as_ref().map_or_else(Vec::new, Predicted::columns);
        ["id", "rows"].into_iter().map(str::to_owned).chain(predicted).collect()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for bag in 0..self.bags.len() {
            let mut cells = vec![Cell::Text(&self.bags.ids()[bag]), Cell::Whole(self.bags.size(bag))];
            if let Some(predicted) = &self.predicted {
                predicted.fill_cells(bag, Some(DECIMALS), &mut cells);
            }
            visit(&cells)?;
        }
        Ok(())
    }
}

/// A row for each row of bags, with a value under `name`.
pub(super) struct RowTable<'t> {
    pub(super) bags: &'t Bags,
    /// Predictions for bags, where their rows repeat them.
    pub(super) predicted: Option<&'t Predicted>,
    pub(super) name: &'t str,
    /// The value of a row.
    pub(super) cell: Box<dyn Fn(usize) -> Cell<'t> + 't>,
}

impl TableSource for RowTable<'_> {
    fn columns(&self) -> Vec<String> {
        let line = self.bags.line(0).map(|_| "line");
        let predicted = self.predicted.map_or_else(Vec::new, Predicted::columns);
        let first = ["id", "row"].into_iter().chain(line).map(str::to_owned);
        first.chain(predicted).chain([self.name.to_owned()]).collect()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        let lines = self.bags.line(0).is_some();
        for bag in 0..self.bags.len() {
            let start = self.bags.offsets()[bag];
            for row in start..self.bags.offsets()[bag + 1] {
                let mut cells = vec![Cell::Text(&self.bags.ids()[bag]), Cell::Whole(row - start + 1)];
                if lines {
                    cells.push(self.bags.line(row).map_or(Cell::Missing, Cell::Whole));
                }
                if let Some(predicted) = self.predicted {
                    predicted.fill_cells(bag, Some(DECIMALS), &mut cells);
                }
                cells.push((self.cell)(row));
                visit(&cells)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
