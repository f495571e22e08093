//! Attribution: how much each part of an input changes the answer of a model, and how faithful that is.
//!
//! An input is a list of parts (rows of a set, nodes and edges of a graph, patches or lags of a window). A family computes
//! the answers of variants of its inputs, in which parts are left out or scaled down; everything else is written here,
//! once.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use regard_data::stats::Summary;

use crate::train::{Stream, derived};
use crate::{Error, Result};

/// Parts of all variants that are computed for one call, at most: some hours of a small network. More would never end.
const MOST_WORK: u128 = 1 << 33;
/// Parts of the variants that are kept at the same time; bounds memory.
const AT_ONCE: usize = 1 << 19;
/// The same where gradients are computed, for which a network keeps what every layer computed.
const GRADIENTS_AT_ONCE: usize = 1 << 14;
/// Points of a deletion curve, at most.
const POINTS: usize = 16;
/// The error of the sum of integrated gradients, relative to the difference that they explain, above which the steps of an
/// input are doubled.
const LARGEST_ERROR: f64 = 0.005;
/// Times that they are doubled, at most.
const DOUBLINGS: u32 = 6;
/// Passes through a network that a pass with its gradient counts for.
const PASSES_OF_GRADIENT: usize = 3;
/// Random orders that a deletion curve is compared with.
const ORDERS: u64 = 3;
/// Changes of an answer, relative to it, that are rounding of numbers with 64 bits.
const RESIDUE: f64 = 1e-13;
/// The range of [`AttributionOptions::samples`].
const SAMPLES: std::ops::RangeInclusive<usize> = 2..=100_000;
/// The range of [`AttributionOptions::steps`].
const STEPS: std::ops::RangeInclusive<usize> = 1..=10_000;

/// A method of attribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributionMethod {
    /// The answer with all parts minus the answer without one of them.
    LeaveOneOut,
    /// The same for patches and lags of a time series, which become missing values.
    Occlusion,
    /// Shapley values from sampled permutations (Castro et al. 2009).
    Shapley,
    /// Integrated gradients (Sundararajan et al. 2017, eq. 1) by backpropagation, or by central differences along the path
    /// where a model has no gradient. The steps of an input are doubled while the sum misses the change that it explains by
    /// more than 0.5 %, six times at most.
    IntegratedGradients,
}

impl AttributionMethod {
    /// All methods with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::LeaveOneOut, "leave-one-out"),
        (Self::Occlusion, "occlusion"),
        (Self::Shapley, "shapley"),
        (Self::IntegratedGradients, "integrated-gradients"),
    ];
}

impl fmt::Display for AttributionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(method, _)| method == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for AttributionMethod {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text).map(|(method, _)| *method);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("`{text}` is no method of attribution; expected {}", names.join(", "))
        })
    }
}

/// Options of an attribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributionOptions {
    /// The method.
    pub method: AttributionMethod,
    /// Permutations of [`AttributionMethod::Shapley`], 2 to 100,000.
    pub samples: usize,
    /// Steps of the path of [`AttributionMethod::IntegratedGradients`], 1 to 10,000.
    pub steps: usize,
    /// Seed of permutations and random orders.
    pub seed: u64,
}

impl AttributionOptions {
    /// Options of a method with the default number of samples and steps.
    pub fn new(method: AttributionMethod, seed: u64) -> Self {
        Self { method, samples: 32, steps: 16, seed }
    }
}

/// The parts of an input that a variant keeps.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// True for parts that are there, `[parts]`.
    Present(Vec<bool>),
    /// Position of each part between its baseline (0) and itself (1), a little beyond both included, `[parts]`.
    Scaled(Vec<f32>),
}

/// An input, changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The input.
    pub input: usize,
    /// Its parts.
    pub kept: Kept,
}

/// Inputs of a model whose answers are attributed to their parts.
pub(crate) trait Attributable {
    /// Number of parts of each input.
    fn parts(&self) -> Vec<usize>;
    /// If true, [`Self::gradients`] has them.
    fn has_gradients(&self) -> bool {
        false
    }
    /// The derivatives of [`Self::answers`] of scaled variants by the share of each of their parts, variant by variant;
    /// none without [`Self::has_gradients`].
    ///
    /// # Errors
    /// Those of computing it.
    fn gradients(&self, _variants: &[Variant]) -> Result<Vec<f64>> {
        Ok(vec![])
    }
    /// One number for each variant: the answer whose change is attributed.
    ///
    /// # Errors
    /// Those of computing it.
    fn answers(&self, variants: &[Variant]) -> Result<Vec<f64>>;
}

/// The attribution of one input.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// The answer for the whole input.
    pub answer: f64,
    /// The answer without any part, or at the baseline; `None` where the method needs none.
    pub baseline: Option<f64>,
    /// The change of the answer for each part, `[parts]`.
    pub values: Vec<f64>,
    /// Standard errors of sampled values, `[parts]`; else empty.
    pub standard_errors: Vec<f64>,
    /// Faithfulness; `None` for inputs with fewer than two parts.
    pub faithfulness: Option<Faithfulness>,
    /// Rank correlation with attention weights, where the family has weights of the same parts and they differ.
    pub rank_correlation: Option<f64>,
}

/// Areas under deletion curves: the mean absolute change of the answer while parts are removed one after another. The
/// larger the area of the attribution is than that of random orders, the earlier it removes what counts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Faithfulness {
    /// In the order of falling absolute attribution.
    pub deletion_area: f64,
    /// In random order, the mean of some.
    pub random_area: f64,
}

impl Attribution {
    /// The distance of the sum of all values from the difference that they explain, relative to that difference;
    /// `None` where the method explains none, or there is none.
    pub fn completeness_error(&self) -> Option<f64> {
        let difference = self.answer - self.baseline?;
        let missed = (self.values.iter().sum::<f64>() - difference).abs();
        (difference.abs() > 1e-9).then(|| missed / difference.abs())
    }

    /// Compares with attention weights of the same parts.
    pub(crate) fn compared(mut self, weights: &[f64]) -> Self {
        let sizes: Vec<f64> = self.values.iter().map(|value| value.abs()).collect();
        self.rank_correlation = rank_correlation(&sizes, weights);
        self
    }
}

/// Called with the number of changed inputs whose answer is known, and of all of them.
pub type AttributionProgress<'a> = &'a dyn Fn(usize, usize);

/// The attributions of all inputs.
///
/// # Errors
/// [`Error::Config`] for samples or steps out of range, or where more would be computed than ever ends; those of the
/// family; [`Error::NotFinite`] for answers that are no numbers.
pub(crate) fn attribute(
    inputs: &impl Attributable,
    options: &AttributionOptions,
    progress: AttributionProgress<'_>,
) -> Result<Vec<Attribution>> {
    let AttributionOptions { method, samples, steps, seed } = *options;
    let in_range = |name: &str, value: usize, range: std::ops::RangeInclusive<usize>| match range.contains(&value) {
        true => Ok(()),
        false => {
            let reason = format!("is {value}; expected {} to {}", range.start(), range.end());
            Err(Error::config(name, reason))
        }
    };
    in_range("--samples", samples, SAMPLES)?;
    in_range("--steps", steps, STEPS)?;
    let parts = inputs.parts();
    let of = check_work(&parts, options, inputs.has_gradients())?;
    let engine = Engine { inputs, parts: &parts, progress, done: Cell::new(0), of };
    let mut found = match method {
        AttributionMethod::LeaveOneOut | AttributionMethod::Occlusion => engine.leave_one_out()?,
        AttributionMethod::Shapley => engine.shapley(samples, seed)?,
        AttributionMethod::IntegratedGradients => engine.integrated_gradients(steps)?,
    };
    for one in &mut found {
        // What is left of a difference of equal numbers is no influence.
        let least = RESIDUE * one.answer.abs().max(1e-9);
        one.values.iter_mut().filter(|value| value.abs() <= least).for_each(|value| *value = 0.0);
    }
    let areas = engine.faithfulness(&found, seed)?;
    found.iter_mut().zip(areas).for_each(|(one, area)| one.faithfulness = area);
    Ok(found)
}

/// Refuses what would never end, before anything is computed; the number of variants.
fn check_work(parts: &[usize], options: &AttributionOptions, gradients: bool) -> Result<usize> {
    let variants = |count: usize| match options.method {
        AttributionMethod::LeaveOneOut | AttributionMethod::Occlusion => count + 1,
        AttributionMethod::Shapley => options.samples.saturating_mul(count),
        AttributionMethod::IntegratedGradients if gradients => options.steps,
        AttributionMethod::IntegratedGradients => options.steps.saturating_mul(2).saturating_mul(count),
    };
    let passes = match options.method {
        AttributionMethod::IntegratedGradients if gradients => PASSES_OF_GRADIENT,
        _ => 1,
    };
    let curves = |count: usize| cuts(count).count() * (ORDERS as usize + 1);
    let work = |count: usize| (variants(count) as u128 * passes as u128 + curves(count) as u128) * count as u128;
    let all: u128 = parts.iter().map(|&count| work(count)).sum();
    if all <= MOST_WORK {
        return Ok(parts.iter().map(|&count| variants(count) + curves(count)).sum());
    }
    let most = parts.iter().max().copied().unwrap_or(0);
    let reason = format!(
        "{} would compute {:.0e} parts of changed inputs, at most {:.0e} are computed; the largest input has {most} parts",
        options.method, all as f64, MOST_WORK as f64
    );
    let hint = match options.method {
        AttributionMethod::Shapley => "choose fewer --samples, a part of the file, or leave-one-out",
        AttributionMethod::IntegratedGradients => "choose fewer --steps, a part of the file, or leave-one-out",
        _ => "choose a part of the file",
    };
    Err(Error::config("--attribution", reason).with_hint(hint))
}

/// The methods over the inputs of a family.
struct Engine<'a, A> {
    inputs: &'a A,
    parts: &'a [usize],
    progress: AttributionProgress<'a>,
    /// Variants whose answer is known, and all of them.
    done: Cell<usize>,
    of: usize,
}

impl<A: Attributable> Engine<'_, A> {
    /// Hands variants to `compute` chunk by chunk.
    fn in_chunks(
        &self,
        variants: impl Iterator<Item = Variant>,
        most: usize,
        mut compute: impl FnMut(&[Variant]) -> Result<()>,
    ) -> Result<()> {
        let (mut chunk, mut size) = (Vec::new(), 0);
        let mut whole = |chunk: &mut Vec<Variant>| -> Result<()> {
            regard_data::cancel::check();
            compute(chunk)?;
            self.done.set((self.done.get() + chunk.len()).min(self.of));
            (self.progress)(self.done.get(), self.of);
            chunk.clear();
            Ok(())
        };
        for variant in variants {
            size += self.parts[variant.input] + 1;
            chunk.push(variant);
            if size >= most {
                whole(&mut chunk)?;
                size = 0;
            }
        }
        if chunk.is_empty() { Ok(()) } else { whole(&mut chunk) }
    }

    /// The answers of variants; `take` gets each with its place.
    fn each(&self, variants: impl Iterator<Item = Variant>, mut take: impl FnMut(usize, f64)) -> Result<()> {
        let mut done = 0;
        self.in_chunks(variants, AT_ONCE, |chunk| {
            for (answer, variant) in self.inputs.answers(chunk)?.into_iter().zip(chunk) {
                take(done, finite(answer, variant, "the answer")?);
                done += 1;
            }
            Ok(())
        })
    }

    fn collect(&self, variants: impl Iterator<Item = Variant>) -> Result<Vec<f64>> {
        let mut all = Vec::new();
        self.each(variants, |_, answer| all.push(answer))?;
        Ok(all)
    }

    fn whole(&self, present: bool) -> Result<Vec<f64>> {
        let all = self.parts.iter().enumerate();
        self.collect(all.map(|(input, &parts)| Variant { input, kept: Kept::Present(vec![present; parts]) }))
    }

    fn leave_one_out(&self) -> Result<Vec<Attribution>> {
        let answers = self.whole(true)?;
        let without = self.parts.iter().enumerate().flat_map(|(input, &parts)| {
            (0..parts).map(move |part| {
                let mut present = vec![true; parts];
                present[part] = false;
                Variant { input, kept: Kept::Present(present) }
            })
        });
        let mut left = self.collect(without)?.into_iter();
        let one = |(&parts, answer): (&usize, f64)| {
            let values = left.by_ref().take(parts).map(|without| answer - without).collect();
            Attribution::new(answer, None, values)
        };
        Ok(self.parts.iter().zip(answers).map(one).collect())
    }

    fn shapley(&self, samples: usize, seed: u64) -> Result<Vec<Attribution>> {
        let (answers, baselines) = (self.whole(true)?, self.whole(false)?);
        let orders = |input: usize| {
            let mut random = Pcg64Mcg::seed_from_u64(derived(seed, Stream::Sampling, input as u64));
            let mut order: Vec<usize> = (0..self.parts[input]).collect();
            (0..samples).map(move |_| {
                order.shuffle(&mut random);
                order.clone()
            })
        };
        // The last step of an order gives the whole input, whose answer is known.
        let coalitions = (0..self.parts.len()).flat_map(|input| {
            let parts = self.parts[input];
            orders(input).flat_map(move |order| {
                let mut present = vec![false; parts];
                (0..parts.saturating_sub(1)).map(move |count| {
                    present[order[count]] = true;
                    Variant { input, kept: Kept::Present(present.clone()) }
                })
            })
        });
        let mut found = self.collect(coalitions)?.into_iter();
        let mut all = Vec::with_capacity(self.parts.len());
        for (input, &parts) in self.parts.iter().enumerate() {
            let mut changes = vec![Vec::with_capacity(samples); parts];
            for order in orders(input).filter(|order| !order.is_empty()) {
                let after = found.by_ref().take(parts - 1).chain([answers[input]]);
                after.zip(order).fold(baselines[input], |before, (after, part)| {
                    changes[part].push(after - before);
                    after
                });
            }
            let summaries: Vec<Summary> = changes.iter().map(|changes| Summary::of(changes)).collect();
            let values = summaries.iter().map(|summary| summary.mean).collect();
            let mut one = Attribution::new(answers[input], Some(baselines[input]), values);
            one.standard_errors = summaries.iter().map(|summary| summary.standard_error).collect();
            all.push(one);
        }
        Ok(all)
    }

    /// The mean, over the middles of the steps of the straight path from the baseline to the input, of the derivative of
    /// the answer by the share of each part.
    fn integrated_gradients(&self, steps: usize) -> Result<Vec<Attribution>> {
        let at = |share: f32| {
            let all = self.parts.iter().enumerate();
            self.collect(all.map(|(input, &parts)| Variant { input, kept: Kept::Scaled(vec![share; parts]) }))
        };
        let (answers, baselines) = (at(1.0)?, at(0.0)?);
        let all: Vec<usize> = (0..self.parts.len()).collect();
        let mut found: Vec<Attribution> = match self.inputs.has_gradients() {
            true => self.gradients(&all, steps)?,
            false => self.differences(steps)?,
        }
        .into_iter()
        .zip(answers.into_iter().zip(baselines))
        .map(|(values, (answer, baseline))| Attribution::new(answer, Some(baseline), values))
        .collect();
        if self.inputs.has_gradients() {
            for doubling in 1..=DOUBLINGS {
                let missed = |input: &usize| found[*input].completeness_error().is_some_and(|e| e > LARGEST_ERROR);
                let again: Vec<usize> = all.iter().copied().filter(missed).collect();
                for (&input, values) in again.iter().zip(self.gradients(&again, steps << doubling)?) {
                    found[input].values = values;
                }
            }
        }
        Ok(found)
    }

    /// By backpropagation.
    fn gradients(&self, inputs: &[usize], steps: usize) -> Result<Vec<Vec<f64>>> {
        let along = inputs.iter().flat_map(|&input| {
            let parts = self.parts[input];
            let middle = move |step: usize| (2 * step + 1) as f32 / (2 * steps) as f32;
            (0..steps).map(move |step| Variant { input, kept: Kept::Scaled(vec![middle(step); parts]) })
        });
        let mut sums: Vec<Vec<f64>> = self.parts.iter().map(|_| vec![]).collect();
        self.in_chunks(along, GRADIENTS_AT_ONCE, |chunk| {
            let mut found = self.inputs.gradients(chunk)?.into_iter();
            for variant in chunk {
                let sums = &mut sums[variant.input];
                sums.resize(self.parts[variant.input], 0.0);
                for (sum, slope) in sums.iter_mut().zip(found.by_ref()) {
                    *sum += finite(slope, variant, "the gradient")? / steps as f64;
                }
            }
            Ok(())
        })?;
        Ok(inputs.iter().map(|&input| std::mem::take(&mut sums[input])).collect())
    }

    /// By the difference of the answers half a step behind and before each middle, with the other parts held.
    fn differences(&self, steps: usize) -> Result<Vec<Vec<f64>>> {
        let half = 0.5 / steps as f32;
        let nearby = self.parts.iter().enumerate().flat_map(|(input, &parts)| {
            (0..parts).flat_map(move |part| {
                (0..steps).flat_map(move |step| {
                    let middle = (2 * step + 1) as f32 * half;
                    [middle + half, middle - half].map(|share| {
                        let mut shares = vec![middle; parts];
                        shares[part] = share;
                        Variant { input, kept: Kept::Scaled(shares) }
                    })
                })
            })
        });
        let mut values = vec![0.0; self.parts.iter().sum()];
        self.each(nearby, |place, answer| {
            values[place / (2 * steps)] += if place % 2 == 0 { answer } else { -answer };
        })?;
        let mut values = values.into_iter();
        Ok(self.parts.iter().map(|&parts| values.by_ref().take(parts).collect()).collect())
    }

    /// The areas under the deletion curves of each input.
    fn faithfulness(&self, found: &[Attribution], seed: u64) -> Result<Vec<Option<Faithfulness>>> {
        let orders = |input: usize| {
            let values = &found[input].values;
            let mut falling: Vec<usize> = (0..values.len()).collect();
            falling.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
            let mut random = Pcg64Mcg::seed_from_u64(derived(seed, Stream::Baseline, input as u64));
            let mut order: Vec<usize> = (0..values.len()).collect();
            let mut all = vec![falling];
            for _ in 0..ORDERS {
                order.shuffle(&mut random);
                all.push(order.clone());
            }
            all
        };
        let curves = (0..self.parts.len()).filter(|&input| self.parts[input] > 1).flat_map(|input| {
            let parts = self.parts[input];
            orders(input).into_iter().flat_map(move |order| {
                cuts(parts).map(move |removed| {
                    let mut present = vec![true; parts];
                    order[..removed].iter().for_each(|&part| present[part] = false);
                    Variant { input, kept: Kept::Present(present) }
                })
            })
        });
        let mut answers = self.collect(curves)?.into_iter();
        let mut of_input = |(&parts, one): (&usize, &Attribution)| {
            if parts < 2 {
                return None;
            }
            let count = cuts(parts).count();
            let mut area = || {
                let changes = answers.by_ref().take(count).map(|answer| (answer - one.answer).abs());
                changes.sum::<f64>() / count as f64
            };
            let deletion_area = area();
            let random_area = (0..ORDERS).map(|_| area()).sum::<f64>() / ORDERS as f64;
            Some(Faithfulness { deletion_area, random_area })
        };
        Ok(self.parts.iter().zip(found).map(&mut of_input).collect())
    }
}

fn finite(number: f64, variant: &Variant, what: &str) -> Result<f64> {
    if number.is_finite() {
        return Ok(number);
    }
    let place = format!("input {}, with parts of it left out", variant.input + 1);
    Err(Error::NotFinite { place, what: what.into() })
}

impl Attribution {
    fn new(answer: f64, baseline: Option<f64>, values: Vec<f64>) -> Self {
        Self { answer, baseline, values, standard_errors: vec![], faithfulness: None, rank_correlation: None }
    }
}

/// The derivatives of an answer of each variant by the `outputs` numbers that a network gives for it, `[variants · outputs]`.
/// `answers` takes such numbers, variant by variant, to the answers; it is cheap beside the network, so differences do.
pub(crate) fn slopes(
    numbers: &[f64],
    outputs: usize,
    answers: impl Fn(&[f64]) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    let mut slopes = vec![0.0; numbers.len()];
    for output in 0..outputs {
        let step = |number: f64| 1e-5 * number.abs().max(1.0);
        let moved = |sign: f64| {
            let mut moved = numbers.to_vec();
            moved.iter_mut().skip(output).step_by(outputs).for_each(|number| *number += sign * step(*number));
            answers(&moved)
        };
        for (at, (above, below)) in moved(1.0)?.into_iter().zip(moved(-1.0)?).enumerate() {
            let place = at * outputs + output;
            slopes[place] = (above - below) / (2.0 * step(numbers[place]));
        }
    }
    Ok(slopes)
}

/// Numbers of removed parts at which the answer of a deletion curve is computed: each one, or [`POINTS`] of them; never
/// all parts, where the order no longer matters.
fn cuts(parts: usize) -> impl Iterator<Item = usize> {
    let last = parts.saturating_sub(1);
    let points = POINTS.min(last);
    (1..=points).map(move |point| (point * last).div_ceil(points.max(1)))
}

/// Spearman's rank correlation; `None` for fewer than three values, or where one side has all values equal.
pub(crate) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 3 || a.len() != b.len() {
        return None;
    }
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
        let mut ranks = vec![0.0; values.len()];
        let mut from = 0;
        while from < order.len() {
            let same = order[from..].iter().take_while(|&&at| values[at] == values[order[from]]).count();
            // Equal values share the mean of their ranks.
            order[from..from + same].iter().for_each(|&at| ranks[at] = from as f64 + (same as f64 - 1.0) / 2.0);
            from += same.max(1);
        }
        ranks
    };
    let (a, b) = (ranks(a), ranks(b));
    let middle = (a.len() as f64 - 1.0) / 2.0;
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    let norm = (dot(&a, &a) * dot(&b, &b)).sqrt();
    (norm > 0.0).then(|| dot(&a, &b) / norm)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Gradients of a family agree with differences of its answers, and sum to the difference that they explain.
    ///
    /// Answers have kinks (ReLU), where the differences to both sides are not the same: a gradient lies between them.
    pub(crate) fn check_gradients(inputs: &impl Attributable, found: &[Attribution]) {
        assert!(inputs.has_gradients());
        let (share, step) = (0.6, 0.002);
        for (input, parts) in inputs.parts().into_iter().enumerate() {
            let variant = |shares: Vec<f32>| Variant { input, kept: Kept::Scaled(shares) };
            let gradients = inputs.gradients(&[variant(vec![share; parts])]).unwrap();
            assert_eq!(gradients.len(), parts);
            let scale = gradients.iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
            for part in (0..parts).step_by(parts.div_ceil(16)) {
                let moved = [share - step, share, share + step].map(|moved| {
                    let mut shares = vec![share; parts];
                    shares[part] = moved;
                    variant(shares)
                });
                let answers = inputs.answers(&moved).unwrap();
                let slopes = [0, 1].map(|at| (answers[at + 1] - answers[at]) / f64::from(step));
                let (low, high) = (slopes[0].min(slopes[1]), slopes[0].max(slopes[1]));
                let allowed = low - 0.03 * scale..=high + 0.03 * scale;
                let gradient = gradients[part];
                assert!(allowed.contains(&gradient), "input {input}, part {part}: {gradient} beside {slopes:?}");
            }
            let error = found[input].completeness_error().unwrap();
            assert!(error < 0.01, "input {input}: {error}");
        }
    }

    /// `Σ weight of the parts there + product of the first two`, smooth in the shares.
    struct Game(Vec<Vec<f64>>);

    impl Attributable for Game {
        fn parts(&self) -> Vec<usize> {
            self.0.iter().map(Vec::len).collect()
        }

        fn answers(&self, variants: &[Variant]) -> Result<Vec<f64>> {
            let answer = |variant: &Variant| {
                let shares: Vec<f64> = match &variant.kept {
                    Kept::Present(present) => present.iter().map(|there| f64::from(u8::from(*there))).collect(),
                    Kept::Scaled(shares) => shares.iter().map(|share| f64::from(*share)).collect(),
                };
                let sum: f64 = self.0[variant.input].iter().zip(&shares).map(|(weight, share)| weight * share).sum();
                7.0 + sum + shares.iter().take(2).product::<f64>() * f64::from(u8::from(shares.len() > 1))
            };
            Ok(variants.iter().map(answer).collect())
        }
    }

    fn found(method: AttributionMethod) -> Vec<Attribution> {
        let game = Game(vec![vec![3.0, -1.0, 0.5], vec![], vec![2.0]]);
        attribute(&game, &AttributionOptions { samples: 200, ..AttributionOptions::new(method, 5) }, &|_, _| ())
            .unwrap()
    }

    fn near(found: &[f64], expected: &[f64], by: f64) {
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < by),
            "{found:?}"
        );
    }

    #[test]
    fn leaving_out_takes_the_shared_part_from_both() {
        let all = found(AttributionMethod::LeaveOneOut);
        near(&all[0].values, &[4.0, 0.0, 0.5], 1e-12);
        assert!(all[1].values.is_empty() && all[1].faithfulness.is_none() && all[1].completeness_error().is_none());
        near(&all[2].values, &[2.0], 1e-12);
    }

    #[test]
    fn shapley_values_share_it_and_sum_to_the_difference() {
        let all = found(AttributionMethod::Shapley);
        near(&all[0].values, &[3.5, -0.5, 0.5], 0.15);
        assert!(all[0].standard_errors[0] > 0.0 && all[0].standard_errors[2] < 1e-9, "{all:?}");
        assert!(all[0].completeness_error().unwrap() < 1e-9);
        assert_eq!(found(AttributionMethod::Shapley), all, "a seed gives the same values");
    }

    #[test]
    fn integrated_gradients_are_complete() {
        let all = found(AttributionMethod::IntegratedGradients);
        near(&all[0].values, &[3.5, -0.5, 0.5], 1e-4);
        assert!(all[0].completeness_error().unwrap() < 1e-4, "{all:?}");
    }

    #[test]
    fn a_true_attribution_has_a_larger_area_than_random_orders() {
        let weights: Vec<f64> = (0..40).map(|part| f64::from(part * part)).collect();
        let options = AttributionOptions::new(AttributionMethod::LeaveOneOut, 5);
        let all = attribute(&Game(vec![weights]), &options, &|_, _| ()).unwrap();
        let Faithfulness { deletion_area, random_area } = all[0].faithfulness.unwrap();
        assert!(deletion_area > 1.2 * random_area, "{deletion_area} {random_area}");
        assert_eq!(cuts(3).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((cuts(1).count(), cuts(100).last(), cuts(100).count()), (0, Some(99), POINTS));
    }

    #[test]
    fn what_is_out_of_range_is_refused_before_it_is_computed() {
        let refused = |parts: usize, options: AttributionOptions| {
            attribute(&Game(vec![vec![0.0; parts]]), &options, &|_, _| ()).unwrap_err().to_string()
        };
        let shapley = AttributionOptions::new(AttributionMethod::Shapley, 1);
        assert!(refused(2, AttributionOptions { samples: 0, ..shapley }).contains("`--samples`: is 0; expected 2 to"));
        let path = AttributionOptions::new(AttributionMethod::IntegratedGradients, 1);
        assert!(refused(2, AttributionOptions { steps: 0, ..path }).contains("`--steps`"));
        assert!(refused(100_000, AttributionOptions { samples: 100_000, ..shapley }).contains("would compute"));
        assert!("shaply".parse::<AttributionMethod>().unwrap_err().contains("leave-one-out, occlusion, shapley"));
    }

    #[test]
    fn ranks_of_equal_values_are_their_mean() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 1.0, 1.0], &[3.0, 2.0, 1.0]), None);
        let tied = rank_correlation(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((tied - 0.75_f64.sqrt()).abs() < 1e-12, "{tied}");
    }
}
