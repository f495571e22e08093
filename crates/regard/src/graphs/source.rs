//! Where the graphs of an experiment come from, and what of them is learnt from, chosen by and tested
//! with.

use std::path::Path;
use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use regard_data::graphs::formats::{self, ReadOptions};
use regard_data::graphs::generate::{PatternSizes, cluster, csl, pattern};
use regard_data::graphs::molecules::Rule;
use regard_data::graphs::positions::{Encoding, Nulls, Positions};
use regard_data::graphs::{Graphs, Level, Part};
use regard_data::sets::FeatureNames;
use regard_data::sets::split::holdout;

use super::examples::{Examples, Portion};
use super::experiment::{AtomRule, GraphData, GraphExperiment, SourceKind};
use super::model::{GraphPreparation, GraphTransformerConfig, PositionKind};
use super::task::{GraphTask, LevelName, Targets};
use crate::train::{Stream, derived};
use crate::{Error, Result};

/// The graphs of an experiment, in three portions.
#[derive(Debug)]
pub struct Source {
    /// All graphs.
    pub examples: Examples,
    /// To learn from.
    pub training: Portion,
    /// To choose by while learning.
    pub validation: Portion,
    /// To be measured with at the end.
    pub test: Portion,
}

impl Source {
    /// The source of an experiment, and the network's settings with what follows from the data.
    ///
    /// # Errors
    /// What reading a file gives, and [`Error::Config`] for data that cannot be asked what the experiment
    /// asks.
    pub fn of(experiment: &GraphExperiment) -> Result<(Self, GraphTransformerConfig)> {
        let graphs = graphs_of(experiment)?;
        Self::of_graphs(experiment, graphs)
    }

    /// The same for graphs that are known.
    ///
    /// # Errors
    /// As there.
    pub fn of_graphs(experiment: &GraphExperiment, graphs: Graphs) -> Result<(Self, GraphTransformerConfig)> {
        let graphs = if experiment.data.complete { graphs.complete() } else { graphs };
        let [training, validation, test] = portions(experiment, &graphs)?;
        let config = prepared(experiment, &graphs, &training)?;
        let examples = examples(&config, graphs, true)?;
        Ok((Self { examples, training, validation, test }, config))
    }

    /// The graphs of step `step` of `steps` in an epoch: all are shuffled before every epoch, and the last
    /// batch of one is what is left.
    pub(crate) fn step(&self, seed: u64, step: u64, batch: usize) -> Vec<usize> {
        let steps = self.steps(batch);
        let mut order = self.training.graphs.clone();
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(derived(seed, Stream::Instances, step / steps)));
        let first = (step % steps) as usize * batch;
        order[first..(first + batch).min(order.len())].to_vec()
    }

    /// Steps of an epoch.
    pub(crate) fn steps(&self, batch: usize) -> u64 {
        self.training.graphs.len().div_ceil(batch.max(1)).max(1) as u64
    }
}

/// Reads or draws the graphs of an experiment.
fn graphs_of(experiment: &GraphExperiment) -> Result<Graphs> {
    let GraphData { source, path, seed, .. } = &experiment.data;
    Ok(match source {
        SourceKind::File => read_graphs(Path::new(path), &experiment.data, true)?,
        SourceKind::Pattern => pattern(*seed, PatternSizes::published())?,
        SourceKind::Cluster => cluster(*seed, [10_000, 1_000, 1_000])?,
        SourceKind::Csl => csl(*seed)?,
    })
}

/// Reads the graphs of a file; what is asked for need not be in it unless `labelled`.
///
/// # Errors
/// What the reader says, with file, line and column.
pub fn read_graphs(path: &Path, data: &GraphData, labelled: bool) -> Result<Graphs> {
    let named = |column: &str| (!column.is_empty()).then(|| column.to_owned());
    let options = ReadOptions {
        smiles: named(&data.smiles),
        rule: match data.rule {
            AtomRule::Zinc => Rule::Zinc,
            AtomRule::Described => Rule::Described,
        },
        targets: data.targets.clone(),
        targets_optional: !labelled,
        id: named(&data.id),
        split: named(&data.split),
        skip_bad: data.skip_bad,
        edges: named(&data.edges).map(Into::into),
        directed: data.directed,
        ..ReadOptions::default()
    };
    Ok(formats::read(path, &options)?)
}

/// Graphs with positions and, where `labelled`, with what is right by the network's measure.
///
/// # Errors
/// [`Error::Config`] for graphs that do not say what is right.
pub fn examples(config: &GraphTransformerConfig, graphs: Graphs, labelled: bool) -> Result<Examples> {
    let positions = Positions::compute(&graphs, &encoding(config), &|_, _| ());
    let targets = if labelled { Some(targets(config, &graphs)?) } else { None };
    Ok(Examples { graphs, positions, targets })
}

/// What is computed of the graphs for a network.
pub fn encoding(config: &GraphTransformerConfig) -> Encoding {
    let size = config.position_size;
    match config.positions {
        PositionKind::None => Encoding::None,
        PositionKind::Laplacian => Encoding::Laplacian { k: size, nulls: Nulls::SkipFirst },
        PositionKind::LaplacianSafe => Encoding::Laplacian { k: size, nulls: Nulls::SkipAll },
        PositionKind::WeisfeilerLehman => Encoding::WeisfeilerLehman,
        PositionKind::RandomWalk => Encoding::RandomWalk { steps: size },
    }
}

/// Training, validation and test: as the data says, else at random and, where classes are asked for, of
/// each class alike.
fn portions(experiment: &GraphExperiment, graphs: &Graphs) -> Result<[Portion; 3]> {
    let all: Vec<usize> = (0..graphs.len()).collect();
    if let Some(parts) = graphs.parts() {
        let places = [Part::Training, Part::Validation, Part::Test].map(|part| parts.places(part));
        return Ok(match parts.level {
            Level::Graph => places.map(|graphs| Portion { graphs, nodes: None }),
            Level::Node => places.map(|nodes| {
                let mut counts = vec![false; graphs.nodes()];
                nodes.iter().for_each(|&node| counts[node] = true);
                Portion { graphs: all.clone(), nodes: Some(Arc::from(counts)) }
            }),
        });
    }
    let GraphData { held_out, tested, seed, .. } = experiment.data;
    let classes = match (experiment.task.kind, experiment.task.level, graphs.targets()) {
        (GraphTask::Classification, LevelName::Graph, Some(targets)) => {
            targets.classes(0)?.of.into_iter().map(|class| class.unwrap_or(0)).collect()
        }
        _ => vec![0; graphs.len()],
    };
    let cut = |of: &[usize], share: f64, seed: u64| -> Result<[Vec<usize>; 2]> {
        if share == 0.0 {
            return Ok([of.to_vec(), vec![]]);
        }
        let found = holdout(&of.iter().map(|&graph| classes[graph]).collect::<Vec<_>>(), share, seed)?;
        Ok([found.training, found.held_out].map(|places| places.into_iter().map(|place| of[place]).collect()))
    };
    let [rest, test] = cut(&all, tested, seed)?;
    let [training, validation] = cut(&rest, (held_out / (1.0 - tested)).min(1.0), seed.wrapping_add(1))?;
    Ok([training, validation, test].map(|graphs| Portion { graphs, nodes: None }))
}

/// The network's settings with what the data says.
fn prepared(experiment: &GraphExperiment, graphs: &Graphs, training: &Portion) -> Result<GraphTransformerConfig> {
    let (nodes, edges) = (graphs.node_features(), graphs.edge_features());
    let mut config = GraphTransformerConfig {
        node_types: nodes.type_names().len(),
        node_numbers: nodes.width(),
        edge_types: edges.type_names().len(),
        edge_numbers: edges.width(),
        ..experiment.model.clone()
    };
    let missing = || Error::config("data.targets", "names no column, and the file does not say what is right");
    let targets = graphs.targets().ok_or_else(missing)?;
    let level = if targets.level() == Level::Graph { LevelName::Graph } else { LevelName::Node };
    if level != config.level {
        let reason = format!("is not what the data answers: its targets are those of {}s", word(level));
        return Err(Error::config("task.level", reason));
    }
    config.data = GraphPreparation {
        node_types: nodes.type_names().to_vec(),
        edge_types: edges.type_names().to_vec(),
        node_columns: columns(&nodes.kinds().columns),
        edge_columns: columns(&edges.kinds().columns),
        tasks: targets.tasks().to_vec(),
        ..GraphPreparation::default()
    };
    match config.task {
        GraphTask::Classification => {
            if targets.tasks().len() != 1 {
                let reason = format!("names {} columns; expected the one of the class", targets.tasks().len());
                return Err(Error::config("data.targets", reason));
            }
            config.data.classes = targets.classes(0)?.names;
            config.outputs = config.data.classes.len().max(1);
        }
        GraphTask::Regression | GraphTask::Labels => config.outputs = targets.tasks().len(),
    }
    if config.task == GraphTask::Regression && experiment.data.standardise {
        (config.data.target_mean, config.data.target_deviation) = scales(graphs, training, config.outputs)?;
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
fn scales(graphs: &Graphs, training: &Portion, outputs: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let numbers = graphs.target_numbers()?;
    let rows: Vec<usize> = match graphs.targets().map(|targets| targets.level()) {
        Some(Level::Node) => {
            let of = training.graphs.iter().flat_map(|&graph| graphs.nodes_of(graph));
            of.filter(|&node| training.nodes.as_ref().is_none_or(|counts| counts[node])).collect()
        }
        _ => training.graphs.clone(),
    };
    let of_task = |task: usize| {
        let known: Vec<f64> = rows.iter().filter_map(|row| numbers[row * outputs + task]).collect();
        let count = known.len().max(1) as f64;
        let mean = known.iter().sum::<f64>() / count;
        (mean, (known.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt())
    };
    Ok((0..outputs).map(of_task).unzip())
}

/// What is right about graphs, by a network's measure.
fn targets(config: &GraphTransformerConfig, graphs: &Graphs) -> Result<Targets> {
    let missing = || Error::config("data.targets", "names no column, and the file does not say what is right");
    let found = graphs.targets().ok_or_else(missing)?;
    if config.task == GraphTask::Classification {
        return Ok(Targets::Classes(found.classes_among(0, &config.data.classes)?.of));
    }
    let numbers = graphs.target_numbers()?;
    if config.task == GraphTask::Labels
        && let Some(wrong) = numbers.iter().flatten().find(|number| **number != 0.0 && **number != 1.0)
    {
        return Err(Error::config("data.targets", format!("hold {wrong}; expected 0, 1 or nothing")));
    }
    let scaled =
        |(at, number): (usize, &Option<f64>)| number.map(|x| config.data.scaled(at % config.outputs, x) as f32);
    Ok(Targets::Numbers(numbers.iter().enumerate().map(scaled).collect()))
}
