//! Predictions of a network: numbers of one or more tasks, or probabilities of classes, and their columns in tables.

use serde_json::{Map, Value, json};

use crate::stats::largest;
use crate::table::write::Cell;
use crate::{Error, Result};

/// The predictions for each row: each set, graph, node or series.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicted {
    /// Numbers of one or more tasks.
    Numbers {
        /// Names of the tasks.
        tasks: Vec<String>,
        /// `[rows, tasks]`, row-major.
        values: Vec<f64>,
    },
    /// A probability for each class.
    Classes {
        /// Names of the classes.
        names: Vec<String>,
        /// `[rows, classes]`, row-major.
        probabilities: Vec<f64>,
        /// Shares of the classes in training, `[classes]`, for [`decide`]; empty where the most probable class is
        /// predicted.
        shares: Vec<f64>,
    },
}

/// A class with a smaller share than this makes two classes unbalanced.
const RARE: f64 = 0.2;

/// If true, a class is so rare in training, where classes have these shares, that the most probable class would hardly
/// ever be that one.
#[must_use]
pub fn is_unbalanced(shares: &[f64]) -> bool {
    // With more classes every class is rarer.
    let limit = RARE * 2.0 / shares.len().max(2) as f64;
    shares.iter().any(|share| *share > 0.0 && *share < limit)
}

/// The class that is predicted: the most probable one, or where a class is rare in training, whose shares are `shares`,
/// the one whose probability is highest relative to its share, so that a rare class is found at all.
#[must_use]
pub fn decide(probabilities: &[f64], shares: &[f64]) -> usize {
    if !is_unbalanced(shares) {
        return largest(probabilities);
    }
    let relative = |(p, share): (&f64, &f64)| if *share > 0.0 { p / share } else { 0.0 };
    largest(&probabilities.iter().zip(shares).map(relative).collect::<Vec<_>>())
}

impl Predicted {
    /// Numbers of one task, which is called `prediction`.
    #[must_use]
    pub fn numbers(values: Vec<f64>) -> Self {
        Self::Numbers { tasks: vec!["prediction".into()], values }
    }

    /// If true, a class is rare in training, and predicted classes are not the most probable ones ([`decide`]).
    #[must_use]
    pub fn has_rare_class(&self) -> bool {
        matches!(self, Self::Classes { shares, .. } if is_unbalanced(shares))
    }

    /// Refuses another number of values than that of the rows, and predictions without tasks or classes.
    pub(crate) fn check(&self, rows: usize, what: &str) -> Result<()> {
        let (found, width) = match self {
            Self::Numbers { tasks, values } => (values.len(), tasks.len()),
            Self::Classes { names, probabilities, .. } => (probabilities.len(), names.len()),
        };
        if width == 0 || rows.checked_mul(width) != Some(found) {
            let reason = format!("has {found} values, expected {width} for each of {rows} {what}");
            return Err(Error::invalid("predictions", reason));
        }
        Ok(())
    }

    /// The columns of a table: the tasks, or `prediction` and the probability `p(NAME)` of each class.
    pub(crate) fn columns(&self) -> Vec<String> {
        match self {
            Self::Numbers { tasks, .. } => tasks.clone(),
            Self::Classes { names, .. } => {
                let probabilities = names.iter().map(|name| format!("p({name})"));
                std::iter::once("prediction".to_owned()).chain(probabilities).collect()
            }
        }
    }

    /// Adds the fields of a row: the numbers, or the predicted class and the probabilities, which are rounded to this
    /// number of decimals where it is given.
    pub(crate) fn fill_cells<'p>(&'p self, row: usize, decimals: Option<i32>, cells: &mut Vec<Cell<'p>>) {
        match self {
            Self::Numbers { tasks, values } => {
                cells.extend(values[row * tasks.len()..(row + 1) * tasks.len()].iter().copied().map(Cell::Number));
            }
            Self::Classes { names, probabilities, shares } => {
                let of_row = &probabilities[row * names.len()..(row + 1) * names.len()];
                let rounded = |value: f64| match decimals {
                    Some(decimals) => (value * 10f64.powi(decimals)).round() / 10f64.powi(decimals),
                    None => value,
                };
                cells.push(Cell::Text(&names[decide(of_row, shares)]));
                cells.extend(of_row.iter().map(|value| Cell::Number(rounded(*value))));
            }
        }
    }

    /// Adds what is predicted for a row to a JSON object: `prediction` (or `predictions` by task), for classes also
    /// `probabilities` by class. A number that is not finite is `null`.
    pub(crate) fn fill_object(&self, row: usize, object: &mut Map<String, Value>) {
        let by_name = |names: &[String], values: &[f64]| {
            Value::Object(names.iter().zip(values).map(|(name, value)| (name.clone(), json!(value))).collect())
        };
        match self {
            Self::Numbers { tasks, values } if tasks.len() == 1 => {
                object.insert("prediction".into(), json!(values[row]));
            }
            Self::Numbers { tasks, values } => {
                let of_row = &values[row * tasks.len()..(row + 1) * tasks.len()];
                object.insert("predictions".into(), by_name(tasks, of_row));
            }
            Self::Classes { names, probabilities, shares } => {
                let of_row = &probabilities[row * names.len()..(row + 1) * names.len()];
                object.insert("prediction".into(), json!(names[decide(of_row, shares)]));
                object.insert("probabilities".into(), by_name(names, of_row));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_class_is_predicted_by_its_probability_relative_to_its_share() {
        assert_eq!((decide(&[0.8, 0.2], &[]), decide(&[0.8, 0.2], &[0.5, 0.5])), (0, 0));
        assert_eq!((decide(&[0.8, 0.2], &[0.95, 0.05]), decide(&[0.97, 0.03], &[0.95, 0.05])), (1, 0));
        // A class that training did not have is never predicted.
        assert_eq!(decide(&[0.5, 0.1, 0.4], &[0.95, 0.05, 0.0]), 1);
        assert!(is_unbalanced(&[0.05, 0.95]) && !is_unbalanced(&[0.3, 0.7]) && !is_unbalanced(&[]));
        assert!(!is_unbalanced(&[0.15; 6]), "sixths are as even as six classes can be");
    }
}
