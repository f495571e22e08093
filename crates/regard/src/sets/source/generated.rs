//! Generated sets.

use regard_data::sets::generate::{
    DigitSum, Digits, MaxRegression, Mixtures, NormalSample, OddOneOut, RotatedEntropy, SetBatch, Shape, Shapes, Sizes,
    Statistic, Truth,
};
use std::path::Path;

use crate::sets::examples::Examples;
use crate::sets::experiment::{SetExperiment, SourceKind};
use crate::sets::model::{Decoding, SetTransformerConfig};
use crate::sets::task::{Targets, TaskKind};
use crate::train::{Stream, derived};
use crate::{Error, Result};

/// Images of digits (UCI, through scikit-learn; `experiments/sets/digits.md`).
static DIGITS: &[u8] = include_bytes!("../../../../../experiments/sets/digits.npz");
/// Share of the images that networks are tested with and never see before.
const HELD_OUT_DIGITS: f64 = 0.2;
/// Digits of a sum.
const SUMMED: Sizes = Sizes::PerSet(2, 10);
/// Images of a set with an odd one (Lee et al. 2019, §5.5).
const WITH_ODD: usize = 8;
/// Points of a shape, and how far they are off.
const OF_SHAPES: (Sizes, f64) = (Sizes::PerSet(30, 100), 0.03);
/// Mixtures are measured in batches of so many, as the authors' code does.
const MEASURED_TOGETHER: usize = 10;

/// Draws sets.
#[derive(Debug)]
pub(crate) struct Generator {
    kind: SourceKind,
    /// Images to train and validate with, and to test with.
    digits: Option<(Digits, Digits)>,
}

impl Generator {
    /// The generator of an experiment.
    pub(super) fn of(experiment: &SetExperiment) -> Result<Self> {
        let kind = experiment.data.source;
        let expected = match kind {
            SourceKind::Mixtures | SourceKind::MixturesRepository | SourceKind::MixturesLarge => TaskKind::Clustering,
            SourceKind::OddDigit => TaskKind::Anomaly,
            SourceKind::Shapes => TaskKind::Classification,
            _ => TaskKind::Regression,
        };
        let task = experiment.task.kind;
        let count = kind == SourceKind::DigitSum && task == TaskKind::Counting;
        if task != expected && !count {
            let reason = format!("is `{}`, but `data.source` generates data for `{}`", task.name(), expected.name());
            return Err(Error::config("task.kind", reason));
        }
        let of_digits = matches!(kind, SourceKind::DigitSum | SourceKind::OddDigit);
        let digits = || Digits::parse(DIGITS, Path::new("digits.npz"))?.split(HELD_OUT_DIGITS, 0);
        let digits = if of_digits { Some(digits()?) } else { None };
        Ok(Self { kind, digits })
    }

    /// The network's settings with the sizes of the data.
    pub(super) fn fill(&self, model: &SetTransformerConfig) -> SetTransformerConfig {
        let (inputs, outputs, seeds) = match self.kind {
            SourceKind::Max | SourceKind::MaxNotebook => (1, 1, 1),
            SourceKind::Mixtures | SourceKind::MixturesRepository => (2, 0, 4),
            SourceKind::MixturesLarge => (2, 0, 6),
            SourceKind::Mean | SourceKind::Variance => (2, 2, 1),
            SourceKind::Entropy => (2, 1, 1),
            SourceKind::DigitSum | SourceKind::OddDigit => (Digits::PIXELS, 1, 1),
            SourceKind::Shapes => (2, Shape::PLANE.len(), 1),
            SourceKind::File => (model.inputs, model.outputs, model.num_seeds),
        };
        let outputs = match model.decoding {
            Decoding::IsotropicMixture => inputs + 2,
            Decoding::DiagonalMixture => 2 * inputs + 1,
            _ => outputs,
        };
        let mut config = SetTransformerConfig { inputs, outputs, num_seeds: seeds, ..model.clone() };
        if self.kind == SourceKind::Shapes {
            config.data.classes = Shape::PLANE.iter().map(|shape| shape.name().to_owned()).collect();
        }
        config
    }

    /// Batch `batch` of the stream that `seed` names.
    pub(super) fn draw(&self, seed: u64, batch: u64, sets: usize) -> Examples {
        self.draw_of(seed, batch, sets, false)
    }

    /// The sets of the experiment's test.
    pub(super) fn test(&self, experiment: &SetExperiment) -> Examples {
        self.measured(experiment.eval.seed, experiment.eval.num_sets, true)
    }

    /// Sets by which a network is chosen, as many as for the test and none of them: of a seed of their own, and of images
    /// to train with.
    pub(super) fn validation(&self, experiment: &SetExperiment) -> Examples {
        let seed = derived(experiment.eval.seed, Stream::Validation, 0);
        self.measured(seed, experiment.eval.num_sets, false)
    }

    /// `count` sets of the stream that `seed` names.
    fn measured(&self, seed: u64, count: usize, test: bool) -> Examples {
        let batches = count.div_ceil(MEASURED_TOGETHER);
        let parts = (0..batches).map(|batch| {
            let sets = MEASURED_TOGETHER.min(count - batch * MEASURED_TOGETHER);
            self.draw_of(seed, batch as u64, sets, test)
        });
        joined(parts.collect())
    }

    fn draw_of(&self, seed: u64, batch: u64, sets: usize, test: bool) -> Examples {
        let number = |drawn: SetBatch<f64>| numbers(drawn, |target| vec![*target]);
        let digits = self.digits.as_ref().map(|(training, held_out)| if test { held_out } else { training });
        match (self.kind, digits) {
            (SourceKind::MaxNotebook, _) => number(MaxRegression::notebook().batch(seed, batch, sets)),
            (SourceKind::Mixtures, _) => points(Mixtures::paper().batch(seed, batch, sets)),
            (SourceKind::MixturesRepository, _) => points(Mixtures::repository().batch(seed, batch, sets)),
            (SourceKind::MixturesLarge, _) => points(Mixtures::large().batch(seed, batch, sets)),
            (SourceKind::Mean, _) => {
                let mean = NormalSample { statistic: Statistic::Mean, ..NormalSample::variance() };
                numbers(mean.batch(seed, batch, sets), Clone::clone)
            }
            (SourceKind::Variance, _) => numbers(NormalSample::variance().batch(seed, batch, sets), Clone::clone),
            (SourceKind::Entropy, _) => number(RotatedEntropy::exact().batch(seed, batch, sets)),
            (SourceKind::DigitSum, Some(digits)) => number(DigitSum { digits, sizes: SUMMED }.batch(seed, batch, sets)),
            (SourceKind::OddDigit, Some(digits)) => odd(digits, seed, batch, sets),
            (SourceKind::Shapes, _) => shapes(seed, batch, sets),
            _ => number(MaxRegression::paper().batch(seed, batch, sets)),
        }
    }
}

fn examples<T>(drawn: &SetBatch<T>, targets: Targets, truth: Vec<Truth>) -> Examples {
    let SetBatch { width, features, offsets, .. } = drawn;
    Examples { width: *width, features: features.clone(), offsets: offsets.clone(), targets, truth }
}

fn numbers<T>(drawn: SetBatch<T>, of: impl Fn(&T) -> Vec<f64>) -> Examples {
    let targets = drawn.targets.iter().flat_map(of).map(|value| value as f32).collect();
    examples(&drawn, Targets::Numbers(targets), Vec::new())
}

fn points(drawn: SetBatch<Truth>) -> Examples {
    let truth = drawn.targets.clone();
    examples(&drawn, Targets::Points, truth)
}

fn odd(digits: &Digits, seed: u64, batch: u64, sets: usize) -> Examples {
    let Ok(generator) = OddOneOut::new(digits, WITH_ODD) else { unreachable!("the images are of ten digits") };
    let drawn = generator.batch(seed, batch, sets);
    let targets = Targets::Odd(drawn.targets.clone());
    examples(&drawn, targets, Vec::new())
}

fn shapes(seed: u64, batch: u64, sets: usize) -> Examples {
    let (sizes, noise) = OF_SHAPES;
    let Ok(generator) = Shapes::new(&Shape::PLANE, sizes, noise) else { unreachable!("shapes of one plane") };
    let drawn = generator.batch(seed, batch, sets);
    let targets = Targets::Classes(drawn.targets.clone());
    examples(&drawn, targets, Vec::new())
}

/// The sets of all parts, which are of one kind.
fn joined(parts: Vec<Examples>) -> Examples {
    let mut parts = parts.into_iter();
    let Some(mut all) = parts.next() else {
        return Examples { width: 1, features: vec![], offsets: vec![0], targets: Targets::Points, truth: vec![] };
    };
    for part in parts {
        let before = all.offsets.last().copied().unwrap_or(0);
        all.features.extend(part.features);
        all.offsets.extend(part.offsets[1..].iter().map(|offset| before + offset));
        all.truth.extend(part.truth);
        match (&mut all.targets, part.targets) {
            (Targets::Numbers(all), Targets::Numbers(more)) => all.extend(more),
            (Targets::Classes(all), Targets::Classes(more)) => all.extend(more),
            (Targets::Odd(all), Targets::Odd(more)) => all.extend(more),
            (Targets::Relevance(all), Targets::Relevance(more)) => all.extend(more),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn drawn(name: &str) -> [Examples; 2] {
        let experiment = SetExperiment::load(name, &["eval.num_sets=12".to_owned()]).unwrap();
        let generator = Generator::of(&experiment).unwrap();
        [generator.validation(&experiment), generator.test(&experiment)]
    }

    #[test]
    fn no_network_is_chosen_by_the_sets_of_its_test() {
        for name in ["sets/max", "sets/clustering", "sets/variance", "sets/shapes"] {
            let [validation, test] = drawn(name);
            assert_eq!((validation.len(), test.len()), (12, 12), "{name}");
            assert_ne!(validation.features, test.features, "{name}");
        }
        for name in ["sets/digit-sum", "sets/odd-digit"] {
            let [validation, test] = drawn(name).map(|sets| {
                let bits = |image: &[f32]| image.iter().map(|pixel| pixel.to_bits()).collect::<Vec<_>>();
                sets.features.chunks(Digits::PIXELS).map(bits).collect::<BTreeSet<_>>()
            });
            assert!(validation.is_disjoint(&test), "{name}");
        }
    }
}
