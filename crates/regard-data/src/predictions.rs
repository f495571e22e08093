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
        /// Prediction intervals, in the order they are written.
        intervals: Vec<Intervals>,
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

/// Prediction intervals of one level around numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    /// The share of targets that should lie in them, in per cent.
    pub level: f64,
    /// Half the width for each task, `[tasks]`.
    pub half_widths: Vec<f64>,
}

impl Intervals {
    /// The ends of the interval around a number of a task.
    fn ends(&self, task: usize, value: f64) -> [f64; 2] {
        [value - self.half_widths[task], value + self.half_widths[task]]
    }
}

/// A class with a smaller share than this makes two classes unbalanced.
const RARE: f64 = 0.2;

/// If true, one of two classes is so rare in training, where classes have these shares, that the most probable class would
/// hardly ever be that one. More classes are never unbalanced: relative to their shares, those of which training has
/// hardly an example would win over all others.
#[must_use]
pub fn is_unbalanced(shares: &[f64]) -> bool {
    let mut found = shares.iter().filter(|share| **share > 0.0);
    matches!((found.next(), found.next(), found.next()), (Some(one), Some(two), None) if one.min(*two) < RARE)
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
        Self::Numbers { tasks: vec!["prediction".into()], values, intervals: vec![] }
    }

    /// The predictions cut into parts of so many rows, one after the other.
    ///
    /// # Panics
    /// If there are fewer rows.
    #[must_use]
    pub fn split(self, rows: impl IntoIterator<Item = usize>) -> Vec<Self> {
        let mut from = 0;
        let part = |count: usize| {
            let range = from..from + count;
            from = range.end;
            let of = |all: &[f64], width: usize| all[range.start * width..range.end * width].to_vec();
            match &self {
                Self::Numbers { tasks, values, intervals } => Self::Numbers {
                    tasks: tasks.clone(),
                    values: of(values, tasks.len()),
                    intervals: intervals.clone(),
                },
                Self::Classes { names, probabilities, shares } => Self::Classes {
                    names: names.clone(),
                    probabilities: of(probabilities, names.len()),
                    shares: shares.clone(),
                },
            }
        };
        rows.into_iter().map(part).collect()
    }

    /// The first row with a number that is not finite.
    #[must_use]
    pub fn not_finite(&self) -> Option<usize> {
        let (numbers, width) = match self {
            Self::Numbers { tasks, values, .. } => (values, tasks.len()),
            Self::Classes { names, probabilities, .. } => (probabilities, names.len()),
        };
        numbers.iter().position(|number| !number.is_finite()).map(|at| at / width.max(1))
    }

    /// If true, a class is rare in training, and predicted classes are not the most probable ones ([`decide`]).
    #[must_use]
    pub fn has_rare_class(&self) -> bool {
        matches!(self, Self::Classes { shares, .. } if is_unbalanced(shares))
    }

    /// Refuses another number of values than that of the rows, and predictions without tasks or classes.
    pub(crate) fn check(&self, rows: usize, what: &str) -> Result<()> {
        let (found, width) = match self {
            Self::Numbers { tasks, values, intervals } => {
                if let Some(other) = intervals.iter().find(|one| one.half_widths.len() != tasks.len()) {
                    let found = other.half_widths.len();
                    let reason = format!("have {found} widths at level {}, expected {}", other.level, tasks.len());
                    return Err(Error::invalid("prediction intervals", reason));
                }
                (values.len(), tasks.len())
            }
            Self::Classes { names, probabilities, .. } => (probabilities.len(), names.len()),
        };
        if width == 0 || rows.checked_mul(width) != Some(found) {
            let reason = format!("has {found} values, expected {width} for each of {rows} {what}");
            return Err(Error::invalid("predictions", reason));
        }
        Ok(())
    }

    /// The columns of a table: the tasks, each with the ends of its intervals, or `prediction` and the probability
    /// `p(NAME)` of each class. The ends are `lo-80` and `hi-80`, after the name of the task where there are several.
    pub(crate) fn columns(&self) -> Vec<String> {
        match self {
            Self::Numbers { tasks, intervals, .. } => {
                let of_task = |task: &String| {
                    let name = if tasks.len() == 1 { String::new() } else { format!("{task}-") };
                    let ends = move |one: &Intervals| ["lo", "hi"].map(|end| format!("{name}{end}-{}", one.level));
                    std::iter::once(task.clone()).chain(intervals.iter().flat_map(ends)).collect::<Vec<_>>()
                };
                tasks.iter().flat_map(of_task).collect()
            }
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
            Self::Numbers { tasks, values, intervals } => {
                for (task, value) in values[row * tasks.len()..(row + 1) * tasks.len()].iter().enumerate() {
                    cells.push(Cell::Number(*value));
                    cells.extend(intervals.iter().flat_map(|one| one.ends(task, *value)).map(Cell::Number));
                }
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

    /// Adds what is predicted for a row to a JSON object: `prediction` (or `predictions` by task), for numbers with
    /// intervals also `intervals` (by task where there are several), for classes `probabilities` by class. A number that
    /// is not finite is `null`.
    pub(crate) fn fill_object(&self, row: usize, object: &mut Map<String, Value>) {
        let by_name = |names: &[String], values: &[f64]| {
            Value::Object(names.iter().zip(values).map(|(name, value)| (name.clone(), json!(value))).collect())
        };
        match self {
            Self::Numbers { tasks, values, intervals } => {
                let of_row = &values[row * tasks.len()..(row + 1) * tasks.len()];
                let of_task = |task: usize| -> Value {
                    let one = |one: &Intervals| {
                        let [low, high] = one.ends(task, of_row[task]);
                        json!({ "level": one.level, "low": low, "high": high })
                    };
                    intervals.iter().map(one).collect()
                };
                let several = tasks.len() > 1;
                match several {
                    false => object.insert("prediction".into(), json!(of_row[0])),
                    true => object.insert("predictions".into(), by_name(tasks, of_row)),
                };
                if !intervals.is_empty() {
                    let by_task = || tasks.iter().enumerate().map(|(at, task)| (task.clone(), of_task(at))).collect();
                    object.insert("intervals".into(), if several { Value::Object(by_task()) } else { of_task(0) });
                }
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
    fn intervals_stand_beside_their_task() {
        let one = |level, widths: &[f64]| Intervals { level, half_widths: widths.to_vec() };
        let mut object = Map::new();
        let single = Predicted::Numbers {
            tasks: vec!["y".into()],
            values: vec![1.0, 5.0],
            intervals: vec![one(80.0, &[2.0]), one(97.5, &[3.0])],
        };
        assert_eq!(single.columns(), ["y", "lo-80", "hi-80", "lo-97.5", "hi-97.5"]);
        single.fill_object(1, &mut object);
        let intervals = json!([{"level": 80.0, "low": 3.0, "high": 7.0}, {"level": 97.5, "low": 2.0, "high": 8.0}]);
        assert_eq!(Value::Object(object), json!({"prediction": 5.0, "intervals": intervals}));
        let mut object = Map::new();
        let several = Predicted::Numbers {
            tasks: vec!["u".into(), "v".into()],
            values: vec![1.0, 5.0],
            intervals: vec![one(80.0, &[2.0, 0.5])],
        };
        assert_eq!(several.columns(), ["u", "u-lo-80", "u-hi-80", "v", "v-lo-80", "v-hi-80"]);
        let mut cells = vec![];
        several.fill_cells(0, None, &mut cells);
        let numbers: Vec<f64> =
            cells.iter().map(|cell| if let Cell::Number(value) = cell { *value } else { f64::NAN }).collect();
        assert_eq!(numbers, [1.0, -1.0, 3.0, 5.0, 4.5, 5.5]);
        several.fill_object(0, &mut object);
        assert_eq!(object["intervals"]["v"][0], json!({"level": 80.0, "low": 4.5, "high": 5.5}));
        let wrong = Predicted::Numbers { tasks: vec!["u".into()], values: vec![1.0], intervals: vec![one(80.0, &[])] };
        let error = wrong.check(1, "rows").unwrap_err().to_string();
        assert_eq!(error, "prediction intervals: have 0 widths at level 80, expected 1");
    }

    #[test]
    fn predictions_are_cut_by_rows() {
        let names = || ["u", "v"].map(str::to_owned).to_vec();
        let classes = |probabilities: &[f64]| Predicted::Classes {
            names: names(),
            probabilities: probabilities.to_vec(),
            shares: vec![0.5, 0.5],
        };
        let parts = classes(&[0.1, 0.9, 0.2, 0.8, 0.3, 0.7]).split([1, 0, 2]);
        assert_eq!(parts, [classes(&[0.1, 0.9]), classes(&[]), classes(&[0.2, 0.8, 0.3, 0.7])]);
        let numbers = |values: &[f64]| Predicted::numbers(values.to_vec());
        assert_eq!(numbers(&[1.0, 2.0, 3.0]).split([2, 1]), [numbers(&[1.0, 2.0]), numbers(&[3.0])]);
    }

    #[test]
    fn a_rare_class_is_predicted_by_its_probability_relative_to_its_share() {
        assert_eq!((decide(&[0.8, 0.2], &[]), decide(&[0.8, 0.2], &[0.5, 0.5])), (0, 0));
        assert_eq!((decide(&[0.8, 0.2], &[0.95, 0.05]), decide(&[0.97, 0.03], &[0.95, 0.05])), (1, 0));
        // A class that training did not have is never predicted.
        assert_eq!(decide(&[0.5, 0.1, 0.4], &[0.95, 0.05, 0.0]), 1);
        assert!(is_unbalanced(&[0.05, 0.95]) && !is_unbalanced(&[0.3, 0.7]) && !is_unbalanced(&[]));
        // Of three classes, one example in sixty does not win over two thirds.
        assert!(!is_unbalanced(&[0.49, 0.49, 0.02]) && decide(&[0.28, 0.68, 0.04], &[0.49, 0.49, 0.02]) == 1);
    }
}
