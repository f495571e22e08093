//! Sets of a file, made ready for a network.

use std::path::Path;

use regard_data::ranges::ColumnRanges;
use regard_data::sets::formats::{self, ReadOptions};
use regard_data::sets::{Bags, FeatureNames, Labels, Standardiser};

use crate::experiment::DecimalMark;
use crate::sets::examples::Examples;
use crate::sets::experiment::{SetData, SetExperiment};
use crate::sets::model::{DataPreparation, Decoding, SetTransformerConfig};
use crate::sets::task::{Targets, TaskKind};
use crate::supervised::check_classes;
use crate::{Error, Result};

/// Sets as the network takes them, and its settings with what was learnt of the data.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// All sets of the file.
    pub examples: Examples,
    /// The network's settings.
    pub config: SetTransformerConfig,
}

/// Reads the sets of a file; targets may be missing unless `labelled`.
///
/// # Errors
/// Those of reading the file, with file, line and column.
pub fn read_bags(path: &Path, data: &SetData, kind: TaskKind, labelled: bool) -> Result<Bags> {
    read_encoded(path, data, kind, labelled, None, DecimalMark::Auto)
}

/// As [`read_bags`], with text columns encoded as the features of training, where their names are given, and the decimal
/// mark of training where the numbers do not tell theirs.
///
/// # Errors
/// As there.
pub fn read_encoded(
    path: &Path,
    data: &SetData,
    kind: TaskKind,
    labelled: bool,
    encoded: Option<&[String]>,
    likely: DecimalMark,
) -> Result<Bags> {
    let named = |column: &str| (!column.is_empty()).then(|| column.to_owned());
    let options = ReadOptions {
        decimal: data.decimal.mark(),
        likely_decimal: likely.mark(),
        group_by: named(&data.group_by),
        target: named(&data.target),
        row_target: named(&data.item_target),
        features: (!data.features.is_empty()).then(|| data.features.clone()),
        encoded: encoded.map(<[String]>::to_vec),
        // The mean that stands in the place of a missing value is that of standardised features.
        may_miss: data.standardise && kind != TaskKind::Clustering,
        target_optional: !labelled || kind.of_items() || kind == TaskKind::Clustering,
        ..ReadOptions::default()
    };
    Ok(formats::read(path, &options)?)
}

/// Classes of the sets for a split that keeps their shares; all the same where there are none.
pub(crate) fn strata(bags: &Bags, kind: TaskKind) -> Vec<usize> {
    match (kind, bags.labels()) {
        (TaskKind::Classification, Some(labels)) => labels.classes().of,
        _ => vec![0; bags.len()],
    }
}

/// The sets of a file with everything that is learnt of data learnt on those at `training`.
///
/// # Errors
/// [`Error::Config`] for a file without the targets of the task, or with one class alone.
pub fn prepared(experiment: &SetExperiment, bags: &Bags, training: &[usize]) -> Result<Prepared> {
    let classes = match experiment.task.kind {
        TaskKind::Classification => labels(bags)?.classes().names,
        _ => vec![],
    };
    let config = settings(experiment, bags, training, classes)?;
    Ok(Prepared { examples: labelled(&config, bags)?, config })
}

/// The network's settings with what is learnt on the sets at `training`; classes are known.
pub(super) fn settings(
    experiment: &SetExperiment,
    bags: &Bags,
    training: &[usize],
    classes: Vec<String>,
) -> Result<SetTransformerConfig> {
    let kind = experiment.task.kind;
    let decimal = bags.decimal().into();
    let of_column = |column: usize| {
        training.iter().flat_map(move |&bag| bags.bag(bag).iter().skip(column).step_by(bags.width()).copied())
    };
    let ranges = ColumnRanges::of(bags.width(), of_column);
    let mut data = DataPreparation { features: names(bags), ranges, decimal, ..DataPreparation::default() };
    if experiment.data.standardise {
        let standardiser = Standardiser::learn(bags, training)?;
        (data.mean, data.std) = (standardiser.mean().to_vec(), standardiser.deviation().to_vec());
    }
    let mut outputs = 1;
    match kind {
        TaskKind::Classification => {
            let column = experiment.data.target.as_str();
            check_classes(&classes, "data.target", column, Path::new(&experiment.data.path))?;
            outputs = classes.len();
            data.classes = classes;
        }
        TaskKind::Regression => {
            let all = labels(bags)?.numbers()?;
            let numbers: Vec<f64> = training.iter().map(|&bag| all[bag]).collect();
            let mean = regard_data::stats::mean(&numbers);
            let square =
                numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / numbers.len().max(1) as f64;
            (data.target_mean, data.target_std) = (mean, square.sqrt());
        }
        TaskKind::Clustering => {
            outputs = match experiment.model.decoding {
                Decoding::DiagonalMixture => 2 * bags.width() + 1,
                _ => bags.width() + 2,
            };
        }
        TaskKind::Anomaly => {
            let reason = "is `anomaly`, which needs generated sets (`data.source = \"odd-digit\"`)";
            return Err(Error::config("task.kind", reason));
        }
        TaskKind::Counting | TaskKind::Ranking => {}
    }
    Ok(SetTransformerConfig { inputs: bags.width(), outputs, data, ..experiment.model.clone() })
}

/// The sets of a file as a network takes them, with their targets.
pub(super) fn labelled(config: &SetTransformerConfig, bags: &Bags) -> Result<Examples> {
    Ok(Examples { targets: targets(config, bags)?, ..features(config, bags)? })
}

/// The sets of a file as a network takes them, without what is right.
pub(crate) fn features(config: &SetTransformerConfig, bags: &Bags) -> Result<Examples> {
    let features = match config.data.mean.is_empty() {
        true => bags.features().to_vec(),
        false => Standardiser::from_arrays(config.data.mean.clone(), config.data.std.clone())?.standardised(bags)?,
    };
    let (width, offsets) = (bags.width(), bags.offsets().to_vec());
    Ok(Examples { width, features, offsets, targets: Targets::Points, truth: vec![] })
}

/// The targets of the sets of a file, at the network's scale.
pub(crate) fn targets(config: &SetTransformerConfig, bags: &Bags) -> Result<Targets> {
    let singles = |numbers: &[f64]| numbers.iter().map(|&number| number as f32).collect::<Vec<f32>>();
    Ok(match config.task {
        TaskKind::Classification => Targets::Classes(labels(bags)?.classes_among(&config.data.classes)?.of),
        TaskKind::Regression => {
            let scaled = |&number: &f64| config.data.scaled(number) as f32;
            Targets::Numbers(labels(bags)?.numbers()?.iter().map(scaled).collect())
        }
        TaskKind::Counting => {
            let numbers = labels(bags)?.numbers()?;
            if let Some(wrong) = numbers.iter().find(|number| **number < 0.0 || number.fract() != 0.0) {
                let reason = format!("has {wrong}; expected counts: integers from 0");
                return Err(Error::config("data.target", reason));
            }
            Targets::Numbers(singles(&numbers))
        }
        TaskKind::Ranking => match bags.row_labels() {
            Some(labels) => {
                let grades = labels.numbers()?;
                if let Some(wrong) = grades.iter().find(|grade| !(0.0..=MOST_RELEVANT).contains(*grade)) {
                    let reason =
                        format!("has {wrong}; expected grades from 0 to {MOST_RELEVANT}: one counts 2^grade - 1");
                    let hint = "move and scale the grades of the file, so that 0 is that of rows that matter least";
                    return Err(Error::config("data.item_target", reason).with_hint(hint));
                }
                Targets::Relevance(singles(&grades))
            }
            None => return Err(Error::config("data.item_target", "is empty; expected the column of relevance")),
        },
        TaskKind::Clustering => Targets::Points,
        TaskKind::Anomaly => return Err(Error::config("task.kind", "is `anomaly`, but files have no targets for it")),
    })
}

/// The largest grade of relevance: sums of the gains 2^grade - 1 of a set are numbers of single precision.
const MOST_RELEVANT: f64 = 64.0;

pub(super) fn labels(bags: &Bags) -> Result<&Labels> {
    let missing = || Error::config("data.target", "gives no column, and the file contains no labels");
    bags.labels().ok_or_else(missing)
}

fn names(bags: &Bags) -> Vec<String> {
    match bags.names() {
        FeatureNames::Count(_) => Vec::new(),
        _ => (0..bags.width()).map(|at| bags.names().name(at)).collect(),
    }
}
