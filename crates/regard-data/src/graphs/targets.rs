//! Targets: one or more values for each graph or for each node, some of them missing.

use std::borrow::Cow;

use crate::labels::{Labels, are_codes, number, number_of};
use crate::{Error, Result};

/// The things that have targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Each graph.
    Graph,
    /// Each node.
    Node,
}

/// Answers of graphs or of nodes; any of them may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    level: Level,
    tasks: Vec<String>,
    values: Values,
}

/// The answers themselves.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Finite numbers, `[rows, tasks]` row-major.
    Numbers(Vec<Option<f64>>),
    /// Words, at least one of which is no number, or codes, `[rows, tasks]` row-major.
    Words(Vec<Option<String>>),
}

/// Answers as classes, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetClasses {
    /// Names in order: by value where all are numbers, by text otherwise.
    pub names: Vec<String>,
    /// The class of each graph or node, an index of `names`; `None` where it is missing.
    pub of: Vec<Option<usize>>,
}

impl Targets {
    /// Numbers `[rows, tasks.len()]`, row-major.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are no tasks, lengths do not fit, or a number is not finite.
    pub fn numbers(level: Level, tasks: Vec<String>, values: Vec<Option<f64>>) -> Result<Self> {
        if tasks.is_empty() || !values.len().is_multiple_of(tasks.len()) {
            let reason = format!("are {}, which does not fit {} tasks", values.len(), tasks.len());
            return Err(Error::invalid("targets", reason));
        }
        if let Some(Some(value)) = values.iter().find(|value| value.is_some_and(|v| !v.is_finite())) {
            return Err(Error::invalid("targets", format!("found {value}, expected finite numbers")));
        }
        Ok(Self { level, tasks, values: Values::Numbers(values) })
    }

    /// One class for each row, named by its number.
    #[must_use]
    pub fn of_classes(level: Level, task: &str, classes: &[usize]) -> Self {
        let values = classes.iter().map(|class| Some(*class as f64)).collect();
        Self { level, tasks: vec![task.to_owned()], values: Values::Numbers(values) }
    }

    /// Texts `[rows, tasks.len()]`; numbers where every text that is there is a finite number, but for codes such as `007` of a
    /// single task. An empty text is missing.
    #[must_use]
    pub fn of_texts(level: Level, tasks: Vec<String>, texts: Vec<Option<String>>) -> Self {
        let texts: Vec<Option<String>> = texts.into_iter().map(|t| t.filter(|text| !text.is_empty())).collect();
        let numbers = texts.iter().map(|text| text.as_deref().map_or(Some(None), |text| number(text).map(Some)));
        let are_classes = tasks.len() == 1 && are_codes(texts.iter().flatten().map(String::as_str));
        let values = match numbers.collect() {
            Some(numbers) if !are_classes => Values::Numbers(numbers),
            _ => Values::Words(texts),
        };
        Self { level, tasks, values }
    }

    /// The things that have them: graphs or nodes.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Names of the tasks.
    #[must_use]
    pub fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// The answers.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The number of graphs or nodes.
    #[must_use]
    pub fn rows(&self) -> usize {
        let all = match &self.values {
            Values::Numbers(values) => values.len(),
            Values::Words(values) => values.len(),
        };
        all / self.tasks.len().max(1)
    }

    /// The number of missing values.
    #[must_use]
    pub fn missing(&self) -> usize {
        match &self.values {
            Values::Numbers(values) => values.iter().filter(|v| v.is_none()).count(),
            Values::Words(values) => values.iter().filter(|v| v.is_none()).count(),
        }
    }

    /// The answers of these rows, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let width = self.tasks.len();
        let places = || rows.iter().flat_map(|row| row * width..(row + 1) * width);
        let values = match &self.values {
            Values::Numbers(values) => Values::Numbers(places().map(|at| values[at]).collect()),
            Values::Words(values) => Values::Words(places().map(|at| values[at].clone()).collect()),
        };
        Self { level: self.level, tasks: self.tasks.clone(), values }
    }

    /// The answers as numbers, `[rows, tasks]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first that is a word.
    pub fn as_numbers(&self) -> Result<Cow<'_, [Option<f64>]>> {
        match &self.values {
            Values::Numbers(values) => Ok(values.into()),
            Values::Words(words) => {
                let of = |word: &Option<String>| word.as_ref().map(|word| number_of("target", word)).transpose();
                words.iter().map(of).collect::<Result<_>>().map(Cow::Owned)
            }
        }
    }

    /// The answers of a task as classes, named by what occurs.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such task.
    pub fn classes(&self, task: usize) -> Result<TargetClasses> {
        let (labels, places) = self.present(task)?;
        let classes = labels.classes();
        Ok(TargetClasses { of: spread(classes.of, &places, self.rows()), names: classes.names })
    }

    /// The answers of a task as these classes, in this order: those of training.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first that is none of them, or when there is no such task.
    pub fn classes_among(&self, task: usize, names: &[String]) -> Result<TargetClasses> {
        let (labels, places) = self.present(task)?;
        let classes = labels.classes_among(names)?;
        Ok(TargetClasses { of: spread(classes.of, &places, self.rows()), names: classes.names })
    }

    /// The answers of a task that are there, and their rows.
    fn present(&self, task: usize) -> Result<(Labels, Vec<usize>)> {
        if task >= self.tasks.len() {
            return Err(Error::invalid(format!("task {task}"), format!("there are {}", self.tasks.len())));
        }
        let column = || (task..self.rows() * self.tasks.len()).step_by(self.tasks.len()).enumerate();
        Ok(match &self.values {
            Values::Numbers(values) => {
                let (places, numbers) = column().filter_map(|(row, at)| Some((row, values[at]?))).unzip();
                (Labels::Numbers(numbers), places)
            }
            Values::Words(values) => {
                let of = |(row, at): (usize, usize)| Some((row, values[at].clone()?));
                let (places, words): (Vec<_>, Vec<_>) = column().filter_map(of).unzip();
                (Labels::of_texts(words), places)
            }
        })
    }
}

/// Classes of the rows in `places`, `None` for all others.
fn spread(classes: Vec<usize>, places: &[usize], rows: usize) -> Vec<Option<usize>> {
    let mut of = vec![None; rows];
    places.iter().zip(classes).for_each(|(row, class)| of[*row] = Some(class));
    of
}

/// A part of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// To learn from.
    Training,
    /// To choose by while learning.
    Validation,
    /// To be measured with at the end.
    Test,
    /// Without a label that counts.
    None,
}

/// The part of each graph, or of each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The things that are split: graphs or nodes.
    pub level: Level,
    /// `[graphs]` or `[nodes]`.
    pub of: Vec<Part>,
}

impl Part {
    /// `train`, `val` (or `valid`, `validation`, `dev`), `test`, or `none` and the empty word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "train" | "training" => Some(Self::Training),
            "val" | "valid" | "validation" | "dev" => Some(Self::Validation),
            "test" => Some(Self::Test),
            "none" | "" => Some(Self::None),
            _ => None,
        }
    }
}

impl Parts {
    /// The graphs or nodes of a part, in rising order.
    #[must_use]
    pub fn places(&self, part: Part) -> Vec<usize> {
        (0..self.of.len()).filter(|at| self.of[*at] == part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<Option<String>> {
        words.iter().map(|word| Some((*word).to_owned())).collect()
    }

    #[test]
    fn some_answers_are_missing() {
        let tasks = vec!["a".to_owned(), "b".to_owned()];
        let targets = Targets::of_texts(Level::Graph, tasks, texts(&["1", "", "0", "2.5"]));
        assert_eq!((targets.rows(), targets.missing()), (2, 1));
        assert_eq!(targets.as_numbers().unwrap()[..], [Some(1.0), None, Some(0.0), Some(2.5)]);
        let classes = targets.classes(1).unwrap();
        assert_eq!((classes.names, classes.of), (vec!["2.5".to_owned()], vec![None, Some(0)]));
        assert_eq!(targets.select(&[1]).as_numbers().unwrap()[..], [Some(0.0), Some(2.5)]);
        assert_eq!(targets.classes(2).unwrap_err().to_string(), "task 2: there are 2");
    }

    #[test]
    fn codes_keep_their_zeros_and_are_numbers_where_these_are_asked_for() {
        let codes = Targets::of_texts(Level::Graph, vec!["y".into()], texts(&["007", "", "010"]));
        assert_eq!(codes.classes(0).unwrap().names, ["007", "010"]);
        assert_eq!(codes.as_numbers().unwrap()[..], [Some(7.0), None, Some(10.0)]);
        let tasks = vec!["a".to_owned(), "b".to_owned()];
        let mixed = Targets::of_texts(Level::Graph, tasks, texts(&["007", "1.5"]));
        assert!(matches!(mixed.values(), Values::Numbers(_)));
    }

    #[test]
    fn words_are_classes_and_no_numbers() {
        let targets = Targets::of_texts(Level::Node, vec!["y".into()], texts(&["b", "", "a"]));
        assert_eq!(targets.classes(0).unwrap().of, [Some(1), None, Some(0)]);
        let error = targets.as_numbers().unwrap_err().to_string();
        assert_eq!(error, "target `b`: is not a number; regression needs numbers, words are classes");
        let names = ["a".to_owned()];
        let error = targets.classes_among(0, &names).unwrap_err().to_string();
        assert_eq!(error, "label `b`: is not a class of the training data; its classes are `a`");
        assert!(Targets::numbers(Level::Graph, vec!["y".into()], vec![Some(f64::NAN)]).is_err());
    }
}
