//! Prediction intervals of numbers by split conformal prediction (Vovk et al. 2005; Lei et al. 2018, §2.2): an interval
//! reaches as far from the prediction as that share of the absolute errors on the validation examples.
//!
//! The validation examples also choose the best epoch and the weights of a blend, which makes their errors a little
//! smaller than those of new examples.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::base::Only;
use crate::store::Companion;
use crate::{Error, Result};

/// The file of [`ValidationErrors`] in a model's folder.
pub(super) const FILE: &str = "validation_errors.json";
/// The version of [`ValidationErrors`].
const FORMAT: u32 = 1;
/// The largest file that is read.
const LIMIT: u64 = 256 << 20;
/// Errors that are kept; of more, every so many-th in increasing order.
const MOST_ERRORS: usize = 1000;

/// Absolute errors of one predictor for one task, in the units of the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AbsoluteErrors {
    /// Number of examples.
    count: usize,
    /// In increasing order: all, or at most [`MOST_ERRORS`] evenly spaced ones with the largest.
    errors: Vec<f64>,
}

impl AbsoluteErrors {
    /// The errors of predictions; those that are not finite are left out.
    pub fn new(errors: impl IntoIterator<Item = f64>) -> Self {
        let mut errors: Vec<f64> = errors.into_iter().map(f64::abs).filter(|error| error.is_finite()).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len();
        if count > MOST_ERRORS {
            errors = (1..=MOST_ERRORS).map(|at| errors[(at * count).div_ceil(MOST_ERRORS) - 1]).collect();
        }
        Self { count, errors }
    }

    /// Number of examples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Half the width of an interval that contains a new target with a probability of `level` per cent or more;
    /// `None` where there are too few examples for the level.
    pub fn half_width(&self, level: f64) -> Option<f64> {
        half_width(&self.errors, self.count, level)
    }

    fn is_sound(&self) -> bool {
        let finite = self.errors.iter().all(|error| error.is_finite() && *error >= 0.0);
        let rises = self.errors.windows(2).all(|pair| pair[0] <= pair[1]);
        finite && rises && self.errors.len() == self.count.min(MOST_ERRORS)
    }
}

/// Half the width of an interval of a level in per cent, for all families: the error of the rank (count + 1) · level in
/// increasing order. `errors` are those of all `count` examples, or evenly spaced ones of them; `None` where there are too
/// few examples for the level.
pub(crate) fn half_width<E: Copy>(errors: &[E], count: usize, level: f64) -> Option<E> {
    // A little less, so that a whole number stays one in binary fractions.
    let rank = (level / 100.0 * (count + 1) as f64 - 1e-9).ceil().max(1.0);
    if rank > count as f64 {
        return None;
    }
    let place = (rank * errors.len() as f64 / count as f64).ceil() as usize;
    errors.get(place.max(1) - 1).copied()
}

/// The number of examples that intervals of a level in per cent need.
pub fn examples_needed(level: f64) -> usize {
    (level / (100.0 - level) - 1e-9).ceil() as usize
}

/// Errors for one task: of the answer, and of the parts of a blend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskErrors {
    /// Errors of the answer: the blend, or the network where there are no base learners.
    pub answer: AbsoluteErrors,
    /// Errors of the network in a blend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<AbsoluteErrors>,
    /// Errors of the base learners in a blend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<AbsoluteErrors>,
}

/// Errors of a model on the validation examples of its training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationErrors {
    /// Version of this record.
    format: u32,
    /// The errors of each task of numbers.
    tasks: Vec<TaskErrors>,
}

impl ValidationErrors {
    /// Errors by task.
    pub(crate) fn new(tasks: Vec<TaskErrors>) -> Self {
        Self { format: FORMAT, tasks }
    }

    /// Reads the record of a model's folder; `None` where it has none.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Parse`], also for a record that belongs to other weights; [`Error::Config`] for another
    /// version, or errors that are none.
    pub(super) fn open(folder: &Path) -> Result<Option<Self>> {
        let Some(found) = Companion::read::<Self>(folder, FILE, LIMIT)? else { return Ok(None) };
        let path = folder.join(FILE);
        if found.format != FORMAT {
            let reason = format!("has format {}, expected {FORMAT}", found.format);
            return Err(Error::config("format", reason).in_file(&path));
        }
        let parts = |task: &TaskErrors| {
            [Some(&task.answer), task.network.as_ref(), task.base.as_ref()].map(|part| part.cloned())
        };
        if !found.tasks.iter().flat_map(parts).flatten().all(|part| part.is_sound()) {
            let reason = "are damaged; expected numbers from 0 upwards in increasing order";
            return Err(Error::config("errors", reason).in_file(&path));
        }
        Ok(Some(found))
    }

    /// The record as a file of the model with these weights; without errors there is none.
    ///
    /// # Errors
    /// None for finite numbers.
    pub(super) fn companion(&self, weights_sha256: &str) -> Result<Companion> {
        let content = (!self.tasks.is_empty()).then(|| Companion::json(self, weights_sha256)).transpose()?;
        Ok(Companion { name: FILE, content })
    }

    /// The errors of one part of the answer.
    pub(super) fn of_part(self, part: Only) -> Self {
        let of = |task: TaskErrors| {
            // Without base learners the network is the answer.
            let own = match (part, task.network.is_none()) {
                (Only::Network, true) => Some(task.answer),
                (Only::Network, false) => task.network,
                (Only::Base, _) => task.base,
            };
            TaskErrors { answer: own.unwrap_or_default(), ..TaskErrors::default() }
        };
        Self { format: self.format, tasks: self.tasks.into_iter().map(of).collect() }
    }

    /// The number of examples of each task.
    pub fn counts(&self) -> Vec<usize> {
        self.tasks.iter().map(|task| task.answer.count()).collect()
    }

    /// Half the widths of the intervals of a level in per cent, by task; `None` where a task has too few examples.
    pub fn half_widths(&self, level: f64) -> Option<Vec<f64>> {
        self.tasks.iter().map(|task| task.answer.half_width(level)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::manifest::sha256;

    #[test]
    fn a_width_is_the_error_at_the_corrected_rank() {
        let nine = AbsoluteErrors::new((1..=9).map(f64::from));
        // Rank 8 of 9 for 80 % of 9 + 1.
        assert_eq!(
            [10.0, 50.0, 80.0, 90.0, 91.0].map(|level| nine.half_width(level)),
            [Some(1.0), Some(5.0), Some(8.0), Some(9.0), None]
        );
        assert_eq!([80.0, 90.0, 95.0, 99.0].map(examples_needed), [4, 9, 19, 99]);
        assert_eq!(AbsoluteErrors::default().half_width(50.0), None);
        assert_eq!(AbsoluteErrors::new([-2.0, f64::NAN, 1.0]), AbsoluteErrors { count: 2, errors: vec![1.0, 2.0] });
    }

    #[test]
    fn of_many_errors_a_thousand_are_kept_and_no_interval_is_narrower() {
        let all: Vec<f64> = (0..12_345).map(|at| f64::from(at) * 0.5).collect();
        let kept = AbsoluteErrors::new(all.iter().copied());
        assert!(kept.is_sound() && kept.errors.len() == MOST_ERRORS && kept.count() == 12_345);
        for level in [0.1, 50.0, 80.0, 95.0, 99.9] {
            let exact = all[(level / 100.0 * 12_346.0_f64).ceil() as usize - 1];
            let found = kept.half_width(level).unwrap();
            assert!((exact..exact + 7.0).contains(&found), "{level}: {found} {exact}");
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let errors = |values: &[f64]| AbsoluteErrors::new(values.iter().copied());
        let task = TaskErrors { answer: errors(&[1.0, 3.0]), network: Some(errors(&[2.0, 3.0])), base: None };
        let record = ValidationErrors::new(vec![task]);
        let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
        write(FILE, &record.companion(&sha256(b"weights")).unwrap().content.unwrap());
        write("model.safetensors", b"weights");
        assert_eq!(ValidationErrors::open(folder.path()).unwrap(), Some(record.clone()));
        write("model.safetensors", b"others");
        let error = ValidationErrors::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("belongs to other weights") && error.contains(FILE), "{error}");
        // A record of a version that did not say to which weights it belongs.
        write(FILE, &serde_json::to_vec(&record).unwrap());
        assert_eq!(ValidationErrors::open(folder.path()).unwrap(), Some(record.clone()));
        assert_eq!(record.clone().of_part(Only::Network).half_widths(50.0), Some(vec![3.0]));
        assert_eq!(record.of_part(Only::Base).half_widths(50.0), None);
        for (damaged, expected) in [
            (r#"{"format":2,"tasks":[]}"#, "has format 2, expected 1"),
            (r#"{"format":1,"tasks":[{"answer":{"count":2,"errors":[3.0,1.0]}}]}"#, "are damaged"),
            (r#"{"format":1,"tasks":[{"answer":{"count":2000,"errors":[3.0]}}]}"#, "are damaged"),
            (r#"{"format":1,"tasks":[{"answer":{"count":1,"errors":[-3.0]}}]}"#, "are damaged"),
        ] {
            std::fs::write(folder.path().join(FILE), damaged).unwrap();
            let error = ValidationErrors::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(FILE), "{error}");
        }
        assert!(ValidationErrors::new(vec![]).companion("").unwrap().content.is_none());
    }
}
