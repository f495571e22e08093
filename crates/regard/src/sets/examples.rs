//! Sets and their targets, as a network takes them.

use regard_data::sets::generate::Truth;
use regard_nn::Ragged;

use super::mixture::sets_of;
use super::task::{Batch, Targets};
use burn::tensor::Device;

/// Sets as numbers, with their targets and, for generated points, the mixtures they were drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    /// Numbers of an item.
    pub width: usize,
    /// `[items, width]`, NaN where a value is missing.
    pub features: Vec<f32>,
    /// `[sets + 1]`.
    pub offsets: Vec<usize>,
    /// The targets.
    pub targets: Targets,
    /// The mixtures of clustered points.
    pub truth: Vec<Truth>,
}

impl Examples {
    /// Number of sets.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// If true, there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of a set, `[items, width]`.
    pub fn set(&self, at: usize) -> &[f32] {
        &self.features[self.offsets[at] * self.width..self.offsets[at + 1] * self.width]
    }

    /// Sets `from..to`.
    pub fn part(&self, from: usize, to: usize) -> Self {
        self.select(&(from..to).collect::<Vec<_>>())
    }

    /// Some of the sets, in this order.
    pub fn select(&self, chosen: &[usize]) -> Self {
        let mut offsets = vec![0];
        let mut features = Vec::new();
        for &set in chosen {
            features.extend_from_slice(self.set(set));
            offsets.push(features.len() / self.width.max(1));
        }
        let rows = |all: &[f32]| {
            chosen.iter().flat_map(|&set| all[self.offsets[set]..self.offsets[set + 1]].to_vec()).collect()
        };
        let targets = match &self.targets {
            Targets::Numbers(numbers) => {
                let each = numbers.len() / self.len().max(1);
                let of = |&set: &usize| numbers[set * each..(set + 1) * each].to_vec();
                Targets::Numbers(chosen.iter().flat_map(of).collect())
            }
            Targets::Classes(classes) => Targets::Classes(chosen.iter().map(|&set| classes[set]).collect()),
            Targets::Relevance(all) => Targets::Relevance(rows(all)),
            Targets::Odd(odd) => Targets::Odd(chosen.iter().map(|&set| odd[set]).collect()),
            Targets::Points => Targets::Points,
        };
        let truth = chosen.iter().filter_map(|&set| self.truth.get(set).cloned()).collect();
        Self { width: self.width, features, offsets, targets, truth }
    }

    /// These sets, and behind them others of the same task.
    pub(crate) fn followed_by(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.append(other);
        all
    }

    /// Adds sets of the same task behind these.
    pub(crate) fn append(&mut self, other: &Self) {
        let items = self.offsets.last().copied().unwrap_or(0);
        self.features.extend_from_slice(&other.features);
        self.offsets.extend(other.offsets.iter().skip(1).map(|offset| offset + items));
        match (&mut self.targets, &other.targets) {
            (Targets::Numbers(own), Targets::Numbers(more)) | (Targets::Relevance(own), Targets::Relevance(more)) => {
                own.extend_from_slice(more);
            }
            (Targets::Classes(own), Targets::Classes(more)) | (Targets::Odd(own), Targets::Odd(more)) => {
                own.extend_from_slice(more);
            }
            _ => {}
        }
        self.truth.extend(other.truth.iter().cloned());
    }

    /// The sets on `device`, with their targets. What is missing has the mean of its standardised feature, 0.
    pub fn batch(self, device: &Device) -> Batch {
        let mut features = self.features;
        features.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
        let sets: Ragged = sets_of(features, self.width, self.offsets, device);
        Batch { sets, targets: self.targets }
    }
}
