//! A network's settings and targets, as far as they follow from the data.

use regard_data::graphs::positions::Positions;
use regard_data::graphs::{Graphs, Level, Values};
use regard_data::sets::FeatureNames;

use crate::graphs::base::rows_of;
use crate::graphs::examples::DataSplit;
use crate::graphs::experiment::GraphExperiment;
use crate::graphs::model::{GraphPreparation, GraphTransformerConfig, PositionKind};
use crate::graphs::task::{GraphTask, LevelName, Targets};
use crate::supervised::check_classes;
use crate::{Error, Result};

/// The name of the type that stands for rare types of nodes.
pub(super) const OTHER: &str = "other";

/// The task: that of the experiment, or the one that fits the targets of the data.
pub(super) fn task(experiment: &GraphExperiment, graphs: &Graphs) -> GraphTask {
    let found = graphs.targets().map(|targets| (only_classes(targets.values()), targets.tasks().len()));
    let (has_only_classes, targets) = found.unwrap_or_default();
    experiment.task.kind.for_data(has_only_classes, targets)
}

/// If true, targets are words, or 0 and 1 alone.
pub(super) fn only_classes(values: &Values) -> bool {
    match values {
        Values::Words(_) => true,
        Values::Numbers(numbers) => numbers.iter().flatten().all(|&number| number == 0.0 || number == 1.0),
    }
}

/// The network's settings with the sizes and names of the data; `classes` is empty for those of the graphs.
pub(super) fn prepared(
    experiment: &GraphExperiment,
    graphs: &Graphs,
    training: &DataSplit,
    classes: Vec<String>,
) -> Result<GraphTransformerConfig> {
    let (nodes, edges) = (graphs.node_features(), graphs.edge_features());
    let mut config = GraphTransformerConfig {
        node_types: nodes.type_names().len(),
        node_numbers: nodes.width(),
        edge_types: edges.type_names().len(),
        edge_numbers: edges.width(),
        task: task(experiment, graphs),
        ..experiment.model.clone()
    };
    let missing = || Error::config("data.targets", "gives no column, and the file contains no targets");
    let targets = graphs.targets().ok_or_else(missing)?;
    let level = LevelName::from(targets.level());
    if level != config.level {
        let reason = format!("does not match the data, whose targets are those of {}s", word(level));
        return Err(Error::config("task.level", reason));
    }
    let other = experiment.data.min_type_count > 0 && nodes.type_names().iter().any(|name| name == OTHER);
    config.data = GraphPreparation {
        node_types: nodes.type_names().to_vec(),
        other_node: if other { OTHER.to_owned() } else { String::new() },
        edge_types: edges.type_names().to_vec(),
        node_columns: columns(&nodes.kinds().columns),
        edge_columns: columns(&edges.kinds().columns),
        tasks: targets.tasks().to_vec(),
        decimal: graphs.decimal().into(),
        ..GraphPreparation::default()
    };
    let named = [&nodes.kinds().columns, &edges.kinds().columns].map(|names| matches!(names, FeatureNames::Named(_)));
    // Numbers of atoms are never missing.
    if named.contains(&true) && experiment.data.smiles.is_empty() {
        [config.data.node_mean, config.data.edge_mean] = graphs.means(&training.graphs);
        [config.data.node_ranges, config.data.edge_ranges] = graphs.ranges(&training.graphs);
    }
    match config.task {
        GraphTask::Classification => {
            if targets.tasks().len() != 1 {
                let reason = format!("gives {} columns; expected one column of classes", targets.tasks().len());
                return Err(Error::config("data.targets", reason));
            }
            config.data.classes = if classes.is_empty() { targets.classes(0)?.names } else { classes };
            check_classes(&config.data.classes, "data.target", &targets.tasks()[0], graphs.path())?;
            config.outputs = config.data.classes.len();
        }
        GraphTask::Regression | GraphTask::Labels => config.outputs = targets.tasks().len(),
    }
    if config.task == GraphTask::Regression && experiment.data.standardise {
        (config.data.target_mean, config.data.target_std) = scales(graphs, training, config.outputs)?;
    }
    Ok(config)
}

/// Names of columns that have any.
fn columns(names: &FeatureNames) -> Vec<String> {
    match names {
        FeatureNames::Named(names) => names.clone(),
        FeatureNames::Count(_) => vec![],
    }
}

fn word(level: LevelName) -> &'static str {
    if level == LevelName::Graph { "graph" } else { "node" }
}

/// Mean and deviation of each target over the training rows.
fn scales(graphs: &Graphs, training: &DataSplit, outputs: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let numbers = graphs.target_numbers()?;
    let level = graphs.targets().map_or(Level::Graph, |targets| targets.level());
    let rows = rows_of(graphs, level, training);
    let of_task = |task: usize| {
        let known: Vec<f64> = rows.iter().filter_map(|row| numbers[row * outputs + task]).collect();
        let count = known.len().max(1) as f64;
        let mean = known.iter().sum::<f64>() / count;
        let deviation = (known.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        (mean, if deviation == 0.0 { 1.0 } else { deviation })
    };
    Ok((0..outputs).map(of_task).unzip())
}

/// Mean and deviation of each positional encoding, over the training graphs. The sign
/// of an eigenvector means nothing, so its mean is 0; a number that never changes has deviation 1.
pub(super) fn position_scales(
    graphs: &Graphs,
    positions: &Positions,
    training: &DataSplit,
    kind: PositionKind,
) -> (Vec<f32>, Vec<f32>) {
    let (values, width) = (positions.of(graphs, &training.graphs), positions.width());
    let count = (values.len() / width.max(1)).max(1) as f64;
    let centred = kind == PositionKind::RandomWalk;
    let of_column = |column: usize| {
        let of = || values.iter().skip(column).step_by(width).map(|&x| f64::from(x));
        let mean = if centred { of().sum::<f64>() / count } else { 0.0 };
        let deviation = (of().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        (mean as f32, if deviation > 1e-6 { deviation as f32 } else { 1.0 })
    };
    (0..width).map(of_column).unzip()
}

/// The targets of graphs, at the network's scale.
pub(crate) fn targets(config: &GraphTransformerConfig, graphs: &Graphs) -> Result<Targets> {
    let missing = || Error::config("data.targets", "gives no column, and the file contains no targets");
    let found = graphs.targets().ok_or_else(missing)?;
    let expected = if config.task == GraphTask::Classification { 1 } else { config.outputs };
    if found.tasks().len() != expected {
        let (count, tasks) = (found.tasks().len(), config.data.tasks.join(", "));
        let reason = format!("gives {count} columns; expected {expected} as in training: {tasks}");
        return Err(Error::config("data.targets", reason).with_hint("name them by `--target`"));
    }
    if config.task == GraphTask::Classification {
        return Ok(Targets::Classes(found.classes_among(0, &config.data.classes)?.of));
    }
    let numbers = graphs.target_numbers()?;
    if config.task == GraphTask::Labels
        && let Some(wrong) = numbers.iter().flatten().find(|number| **number != 0.0 && **number != 1.0)
    {
        return Err(Error::config("data.targets", format!("contain {wrong}; expected 0, 1 or an empty value")));
    }
    let scaled =
        |(at, number): (usize, &Option<f64>)| number.map(|x| config.data.scaled(at % config.outputs, x) as f32);
    Ok(Targets::Numbers(numbers.iter().enumerate().map(scaled).collect()))
}
