//! What is predicted for bags and their rows, as CSV and JSON.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::file::write_atomic;
use crate::sets::Bags;
use crate::stats::largest;
use crate::table::write::quoted;
use crate::{Error, Result};

/// What is predicted for each bag.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicted {
    /// A number for each bag, `[bags]`.
    Numbers(Vec<f64>),
    /// A probability for each class.
    Classes {
        /// Names of the classes.
        names: Vec<String>,
        /// `[bags, classes]`, row-major.
        probabilities: Vec<f64>,
    },
}

/// Predictions for bags, ready to be written.
///
/// ```
/// use regard_data::sets::formats::predictions::{Predicted, Predictions};
/// use regard_data::sets::{Bags, FeatureNames};
///
/// let bags = Bags::new(FeatureNames::Count(1), vec![1.0, 2.0], vec![0, 2])?;
/// let predictions = Predictions::new(&bags, Some(Predicted::Numbers(vec![0.5])))?;
/// let predictions = predictions.with_rows("importance", vec![0.25, 0.75])?;
/// assert_eq!(predictions.csv(), "id,rows,prediction\n1,2,0.5\n");
/// assert_eq!(predictions.rows_csv(), "id,row,importance\n1,1,0.25\n1,2,0.75\n");
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
        let (found, expected) = match &predicted {
            None => (0, Some(0)),
            Some(Predicted::Numbers(numbers)) => (numbers.len(), Some(bags.len())),
            Some(Predicted::Classes { names, probabilities }) if !names.is_empty() => {
                (probabilities.len(), bags.len().checked_mul(names.len()))
            }
            Some(Predicted::Classes { .. }) => {
                return Err(Error::invalid("classes", "are none, expected at least one"));
            }
        };
        if Some(found) != expected {
            let reason = format!("has {found} values, which do not fit {} bags", bags.len());
            return Err(Error::invalid("predictions", reason));
        }
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
        let mut text = String::from("id,rows");
        match &self.predicted {
            None => {}
            Some(Predicted::Numbers(_)) => text.push_str(",prediction"),
            Some(Predicted::Classes { names, .. }) => {
                text.push_str(",prediction");
                names.iter().for_each(|name| text.push_str(&format!(",{}", quoted(&format!("p({name})")))));
            }
        }
        text.push('\n');
        for bag in 0..self.bags.len() {
            let _ = write!(text, "{},{}", quoted(&self.bags.ids()[bag]), self.bags.size(bag));
            match &self.predicted {
                None => {}
                Some(Predicted::Numbers(numbers)) => text.push_str(&format!(",{}", numbers[bag])),
                Some(Predicted::Classes { names, probabilities }) => {
                    let of_bag = &probabilities[bag * names.len()..(bag + 1) * names.len()];
                    let _ = write!(text, ",{}", quoted(&names[largest(of_bag)]));
                    of_bag.iter().for_each(|p| text.push_str(&format!(",{}", (p * 1e6).round() / 1e6)));
                }
            }
            text.push('\n');
        }
        text
    }

    /// One line for each row: the bag's id, the row's number in its bag from 1, the line of its file
    /// where it has one, and its value. Empty without values of rows.
    #[must_use]
    pub fn rows_csv(&self) -> String {
        match &self.rows {
            Some((name, values)) => rows_csv(self.bags, name, |row| values[row].to_string()),
            None => String::new(),
        }
    }

    /// A list with an object for each bag: `id`, `rows`, `prediction`, `probabilities` by class, and
    /// the list of its rows' values. A number that is not finite is `null`.
    #[must_use]
    pub fn json(&self) -> Value {
        let one = |bag: usize| {
            let mut object = Map::new();
            object.insert("id".into(), json!(self.bags.ids()[bag]));
            object.insert("rows".into(), json!(self.bags.size(bag)));
            match &self.predicted {
                None => {}
                Some(Predicted::Numbers(numbers)) => {
                    object.insert("prediction".into(), json!(numbers[bag]));
                }
                Some(Predicted::Classes { names, probabilities }) => {
                    let of_bag = &probabilities[bag * names.len()..(bag + 1) * names.len()];
                    object.insert("prediction".into(), json!(names[largest(of_bag)]));
                    let by_name = names.iter().zip(of_bag).map(|(name, p)| (name.clone(), json!(p)));
                    object.insert("probabilities".into(), Value::Object(by_name.collect()));
                }
            }
            if let Some((name, values)) = &self.rows {
                let of_bag = &values[self.bags.offsets()[bag]..self.bags.offsets()[bag + 1]];
                object.insert(name.clone(), json!(of_bag));
            }
            Value::Object(object)
        };
        Value::Array((0..self.bags.len()).map(one).collect())
    }

    /// Writes [`Predictions::csv`], under a temporary name first.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        write_atomic(path, |w| w.write_all(self.csv().as_bytes()))
    }

    /// Writes [`Predictions::rows_csv`], under a temporary name first.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_rows_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        write_atomic(path, |w| w.write_all(self.rows_csv().as_bytes()))
    }

    /// Writes [`Predictions::json`], under a temporary name first.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_json(&self, path: impl AsRef<Path>) -> Result<()> {
        let json = self.json();
        write_atomic(path, |w| writeln!(w, "{json}"))
    }
}

/// One line for each row of bags, with what `cell` says of it under `name`.
pub(super) fn rows_csv(bags: &Bags, name: &str, cell: impl Fn(usize) -> String) -> String {
    let lines = bags.line(0).is_some();
    let mut text = format!("id,row{},{}\n", if lines { ",line" } else { "" }, quoted(name));
    for bag in 0..bags.len() {
        let start = bags.offsets()[bag];
        for row in start..bags.offsets()[bag + 1] {
            let _ = write!(text, "{},{}", quoted(&bags.ids()[bag]), row - start + 1);
            if let Some(line) = bags.line(row) {
                let _ = write!(text, ",{line}");
            }
            let _ = writeln!(text, ",{}", cell(row));
        }
    }
    text
}

#[cfg(test)]
mod tests;
