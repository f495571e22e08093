//! Labels: numbers, or names of classes.

use std::borrow::Cow;

use crate::error::shown;
use crate::{Error, Result};

/// One label for each thing: a bag, a row, a graph, a node or a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// Finite numbers.
    Numbers(Vec<f64>),
    /// Words, at least one of which is no number, or codes such as `007`.
    Words(Vec<String>),
}

/// Labels as classes, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Names in order: by value where all are numbers, by text otherwise.
    pub names: Vec<String>,
    /// The class of each label, an index of `names`.
    pub of: Vec<usize>,
}

impl Labels {
    /// Numbers where every text is a finite number, words otherwise. Codes, whole numbers of which one begins with a zero
    /// that does not count, are words: `007` stays `007`.
    #[must_use]
    pub fn of_texts(texts: Vec<String>) -> Self {
        match texts.iter().map(|text| number(text)).collect() {
            Some(numbers) if !are_codes(texts.iter().map(String::as_str)) => Self::Numbers(numbers),
            _ => Self::Words(texts),
        }
    }

    /// The number of labels.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Words(words) => words.len(),
        }
    }

    /// If true, there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A label as text.
    ///
    /// # Panics
    /// If there is no label `at`.
    #[must_use]
    pub fn text(&self, at: usize) -> String {
        match self {
            Self::Numbers(numbers) => numbers[at].to_string(),
            Self::Words(words) => words[at].clone(),
        }
    }

    /// The labels at these places.
    ///
    /// # Panics
    /// If one of them is out of range.
    #[must_use]
    pub fn select(&self, places: &[usize]) -> Self {
        match self {
            Self::Numbers(numbers) => Self::Numbers(places.iter().map(|&at| numbers[at]).collect()),
            Self::Words(words) => Self::Words(places.iter().map(|&at| words[at].clone()).collect()),
        }
    }

    /// These labels, and others behind them.
    pub(crate) fn followed_by(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Numbers(first), Self::Numbers(second)) => Self::Numbers([first.as_slice(), second].concat()),
            _ => {
                let texts = |labels: &Self| (0..labels.len()).map(|at| labels.text(at)).collect::<Vec<_>>();
                Self::Words([texts(self), texts(other)].concat())
            }
        }
    }

    /// The labels as numbers, for regression.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first label that is none.
    pub fn numbers(&self) -> Result<Cow<'_, [f64]>> {
        match self {
            Self::Numbers(numbers) => Ok(numbers.into()),
            Self::Words(words) => {
                words.iter().map(|word| number_of("label", word)).collect::<Result<_>>().map(Cow::Owned)
            }
        }
    }

    /// The labels as classes, named by what occurs.
    ///
    /// ```
    /// use regard_data::labels::Labels;
    ///
    /// let classes = Labels::Numbers(vec![10.0, 2.0, 10.0]).classes();
    /// assert_eq!((&classes.names[..], &classes.of[..]), (&["2".into(), "10".into()][..], &[1, 0, 1][..]));
    /// ```
    #[must_use]
    pub fn classes(&self) -> Classes {
        let mut order: Vec<usize> = (0..self.len()).collect();
        match self {
            // Zero has two signs and one name.
            Self::Numbers(numbers) => order.sort_by(|&a, &b| (numbers[a] + 0.0).total_cmp(&(numbers[b] + 0.0))),
            Self::Words(words) => order.sort_by(|&a, &b| words[a].cmp(&words[b])),
        }
        let (mut names, mut of): (Vec<String>, _) = (Vec::new(), vec![0; self.len()]);
        for at in order {
            let name = self.class_name(at);
            if names.last() != Some(&name) {
                names.push(name);
            }
            of[at] = names.len() - 1;
        }
        Classes { names, of }
    }

    /// The labels as these classes, in this order: those of training.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first label that is none of them.
    pub fn classes_among(&self, names: &[String]) -> Result<Classes> {
        let class = |at: usize| {
            let name = self.class_name(at);
            // A number may be written otherwise where other labels are words.
            let same_number = || number(&name).and_then(|of| names.iter().position(|known| number(known) == Some(of)));
            names.iter().position(|known| *known == name).or_else(same_number).ok_or_else(|| {
                let known = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
                Error::invalid(
                    format!("label `{}`", shown(&name)),
                    format!("is not a class of the training data; its classes are {known}"),
                )
            })
        };
        let of = (0..self.len()).map(class).collect::<Result<_>>()?;
        Ok(Classes { names: names.to_vec(), of })
    }

    fn class_name(&self, at: usize) -> String {
        match self {
            Self::Numbers(numbers) => (numbers[at] + 0.0).to_string(),
            Self::Words(words) => words[at].clone(),
        }
    }
}

/// The finite number that a text is. A byte order mark, a sign and exponents are understood as Rust's `f64` understands
/// them, and the typographic minus of some programs as a sign.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    let number = match text.strip_prefix('\u{2212}') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') => format!("-{rest}").parse::<f64>(),
        _ => text.parse::<f64>(),
    };
    number.ok().filter(|value| value.is_finite())
}

/// The number that a word is, for regression; `what` the word is, for the error.
pub(crate) fn number_of(what: &str, word: &str) -> Result<f64> {
    let reason = "is not a number; regression needs numbers, words are classes";
    number(word).ok_or_else(|| Error::invalid(format!("{what} `{}`", shown(word)), reason))
}

/// If true, these numbers are codes: all have digits alone, and one begins with a zero that does not count, as in `007`.
pub(crate) fn are_codes<'t>(texts: impl IntoIterator<Item = &'t str>) -> bool {
    let mut has_zero = false;
    texts.into_iter().all(|text| {
        has_zero |= text.len() > 1 && text.starts_with('0');
        text.bytes().all(|byte| byte.is_ascii_digit())
    }) && has_zero
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&str]) -> Labels {
        Labels::of_texts(texts.iter().map(|t| (*t).to_owned()).collect())
    }

    #[test]
    fn numbers_stay_numbers_and_one_word_makes_words() {
        assert_eq!(words(&["1", "-2.5", "1e3"]), Labels::Numbers(vec![1.0, -2.5, 1000.0]));
        assert_eq!(words(&["1", "b"]), Labels::Words(vec!["1".into(), "b".into()]));
        assert_eq!(words(&["\u{2212}1.5", "2"]), Labels::Numbers(vec![-1.5, 2.0]));
        assert!(matches!(words(&["nan"]), Labels::Words(_)));
        assert!(words(&[]).is_empty());
    }

    #[test]
    fn codes_keep_their_zeros() {
        let codes = words(&["010", "007", "010"]);
        assert_eq!((codes.text(1), codes.classes().names), ("007".into(), vec!["007".into(), "010".into()]));
        assert_eq!(codes.numbers().unwrap()[..], [10.0, 7.0, 10.0]);
        // A program may have dropped the zeros.
        assert_eq!(words(&["7"]).classes_among(&codes.classes().names).unwrap().of, [0]);
        for numbers in [&["0", "1"][..], &["0.5", "0.25"], &["-1", "01"], &["10", "20"]] {
            assert!(matches!(words(numbers), Labels::Numbers(_)), "{numbers:?}");
        }
    }

    #[test]
    fn classes_are_ordered_and_the_same_whatever_the_order() {
        assert_eq!(
            words(&["b", "a", "b"]).classes(),
            Classes { names: vec!["a".into(), "b".into()], of: vec![1, 0, 1] }
        );
        let zero = Labels::Numbers(vec![0.0, -0.0, 1.0]).classes();
        assert_eq!((zero.names.len(), &zero.of[..]), (2, &[0, 0, 1][..]));
    }

    #[test]
    fn classes_of_training_are_kept() {
        let names = ["0".to_owned(), "1".to_owned()];
        assert_eq!(words(&["1", "1"]).classes_among(&names).unwrap().of, [1, 1]);
        // A part of a file may have numbers alone, or a word among them.
        let mixed = ["0.0", "1.0", "unknown"].map(str::to_owned);
        assert_eq!(words(&["1.0", "0.0"]).classes_among(&mixed).unwrap().of, [1, 0]);
        assert!(words(&["1.5"]).classes_among(&mixed).is_err());
        let error = words(&["1", "2"]).classes_among(&names).unwrap_err();
        assert_eq!(error.to_string(), "label `2`: is not a class of the training data; its classes are `0`, `1`");
    }

    #[test]
    fn words_are_no_numbers() {
        let error = words(&["1", "high"]).numbers().unwrap_err();
        assert_eq!(error.to_string(), "label `high`: is not a number; regression needs numbers, words are classes");
        assert_eq!(words(&["1", "2"]).numbers().unwrap()[..], [1.0, 2.0]);
    }
}
