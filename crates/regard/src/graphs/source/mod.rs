//! The graphs of an experiment, and their split into training, validation and test.

mod on_disk;
mod prepared;
mod splits;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regard_data::graphs::formats::{self, ReadOptions};
use regard_data::graphs::generate::{PatternSizes, cluster, csl, pattern};
use regard_data::graphs::molecules::Rule;
use regard_data::graphs::positions::{Encoding, Nulls, Positions};
use regard_data::graphs::{Graphs, Kinds};
use regard_data::sets::FeatureNames;

use super::examples::{DataSplit, Examples};
use super::experiment::{AtomRule, GraphData, GraphExperiment, SourceKind};
use super::model::{GraphTransformerConfig, PositionKind};
use super::task::GraphTask;
use crate::Result;
use on_disk::GraphsOnDisk;
use prepared::position_scales;
pub(crate) use prepared::targets;
pub(crate) use splits::{DataSplits, fold, folds, scaffold_folds};

/// The graphs of an experiment and their split.
#[derive(Debug)]
pub struct Source {
    /// All graphs, or as many of those on disk as there is room for.
    pub examples: Examples,
    /// The training split.
    pub training: DataSplit,
    /// The validation split.
    pub validation: DataSplit,
    /// The test split.
    pub test: DataSplit,
    /// All graphs to train on, where they stay on disk.
    #[allow(private_interfaces)]
    pub on_disk: Option<GraphsOnDisk>,
}

impl Source {
    /// The source of an experiment, and the network's settings with what follows from the data.
    ///
    /// # Errors
    /// Those of reading a file; [`Error::Config`](crate::Error::Config) for data that the task does not fit.
    pub fn of(experiment: &GraphExperiment) -> Result<(Self, GraphTransformerConfig)> {
        let GraphData { source, path, on_disk: choice, .. } = &experiment.data;
        let path = Path::new(path);
        if *source == SourceKind::File && choice.keeps(path, experiment.data.division()) {
            return GraphsOnDisk::source(experiment, path);
        }
        Self::of_graphs(experiment, graphs_of(experiment)?)
    }

    /// Number of graphs to train on.
    pub fn training_graphs(&self) -> usize {
        self.on_disk.as_ref().map_or(self.training.graphs.len(), GraphsOnDisk::len)
    }

    /// The same for graphs that are known.
    ///
    /// # Errors
    /// As there.
    pub fn of_graphs(experiment: &GraphExperiment, graphs: Graphs) -> Result<(Self, GraphTransformerConfig)> {
        let placed = Placed::of_graphs(experiment, graphs)?;
        let splits = placed.splits(experiment)?;
        placed.source(experiment, splits)
    }
}

/// The graphs of an experiment and the positions of their nodes, before they are split.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) graphs: Arc<Graphs>,
    pub(crate) positions: Arc<Positions>,
    /// Names of the classes to tell apart, where there are more than these graphs have; empty for those of the graphs.
    classes: Vec<String>,
}

impl Placed {
    /// Reads or generates the graphs of an experiment.
    pub(crate) fn of(experiment: &GraphExperiment) -> Result<Self> {
        Self::of_graphs(experiment, graphs_of(experiment)?)
    }

    fn of_graphs(experiment: &GraphExperiment, graphs: Graphs) -> Result<Self> {
        // Positions are those of the edges the data has, as in the authors' code.
        let (encoding, cache) = (encoding(&experiment.model), &experiment.data.cache);
        let positions = match cache.as_str() {
            "" => Positions::compute(&graphs, &encoding, &|_, _| ()),
            folder => Positions::cached(&graphs, &encoding, folder, &|_, _| ())?,
        };
        let graphs = if experiment.data.complete_graph { graphs.complete() } else { graphs };
        Ok(Self { graphs: Arc::new(graphs), positions: Arc::new(positions), classes: vec![] })
    }

    /// The task on these graphs.
    pub(crate) fn task(&self, experiment: &GraphExperiment) -> GraphTask {
        prepared::task(experiment, &self.graphs)
    }

    /// The split of the data, or of the experiment.
    pub(crate) fn splits(&self, experiment: &GraphExperiment) -> Result<DataSplits> {
        splits::splits(experiment, &self.graphs, self.task(experiment))
    }

    /// The graphs as base learners of a cross-validation take them: rare types are one, and numbers that are missing have
    /// the mean of all graphs. No target has a part in it.
    pub(crate) fn filled(&self, experiment: &GraphExperiment) -> Arc<Graphs> {
        let all: Vec<usize> = (0..self.graphs.len()).collect();
        let graphs = self.with_rare_types(experiment, &all);
        match graphs.has_missing() {
            true => {
                let [nodes, edges] = graphs.means(&all);
                Arc::new(Arc::unwrap_or_clone(graphs).filled([&nodes, &edges]))
            }
            false => graphs,
        }
    }

    /// The graphs with one type for those that are rare in training.
    fn with_rare_types(&self, experiment: &GraphExperiment, training: &[usize]) -> Arc<Graphs> {
        match experiment.data.min_type_count {
            0 => self.graphs.clone(),
            least => Arc::new(Graphs::clone(&self.graphs).with_rare_nodes_as(prepared::OTHER, training, least)),
        }
    }

    /// The graphs in given splits, and the network's settings with what follows from the first.
    pub(crate) fn source(
        &self,
        experiment: &GraphExperiment,
        [training, validation, test]: DataSplits,
    ) -> Result<(Source, GraphTransformerConfig)> {
        let Self { positions, classes, .. } = self.clone();
        let graphs = self.with_rare_types(experiment, &training.graphs);
        let mut config = prepared::prepared(experiment, &graphs, &training, classes)?;
        let graphs = match graphs.has_missing() {
            true => Arc::new(Arc::unwrap_or_clone(graphs).filled([&config.data.node_mean, &config.data.edge_mean])),
            false => graphs,
        };
        if experiment.data.standardise_positions {
            let found = position_scales(&graphs, &positions, &training, config.positions);
            (config.data.position_mean, config.data.position_std) = found;
        }
        config.check_edges(&graphs)?;
        let targets = Some(prepared::targets(&config, &graphs)?);
        let examples = Examples { graphs, positions, targets };
        Ok((Source { examples, training, validation, test, on_disk: None }, config))
    }
}

/// Reads or generates the graphs of an experiment.
fn graphs_of(experiment: &GraphExperiment) -> Result<Graphs> {
    let GraphData { source, path, seed, .. } = &experiment.data;
    Ok(match source {
        SourceKind::File => read_graphs(Path::new(path), &experiment.data, true)?,
        SourceKind::Pattern => pattern(*seed, PatternSizes::published())?,
        SourceKind::Cluster => cluster(*seed, [10_000, 1_000, 1_000])?,
        SourceKind::Csl => csl(*seed)?,
    })
}

/// Reads the graphs of a file; targets may be missing unless `labelled`.
///
/// # Errors
/// Those of reading the file, with file, line and column.
pub fn read_graphs(path: &Path, data: &GraphData, labelled: bool) -> Result<Graphs> {
    read_encoded(path, data, labelled, None)
}

/// As [`read_graphs`], with the features of training, where a model is given.
///
/// # Errors
/// As there.
pub fn read_encoded(
    path: &Path,
    data: &GraphData,
    labelled: bool,
    model: Option<&GraphTransformerConfig>,
) -> Result<Graphs> {
    Ok(formats::read(path, &read_options(data, labelled, model))?)
}

/// The files that are read for the path of an experiment.
pub(crate) fn files(data: &GraphData) -> Vec<PathBuf> {
    formats::files(Path::new(&data.path), &read_options(data, true, None))
}

fn read_options(data: &GraphData, labelled: bool, model: Option<&GraphTransformerConfig>) -> ReadOptions {
    // Without names, features are those of the file in its order.
    let known = |names: &[String], count: usize| (names.len() == count).then(|| names.to_vec());
    let named = |column: &str| (!column.is_empty()).then(|| column.to_owned());
    ReadOptions {
        decimal: data.decimal.mark(),
        likely_decimal: model.and_then(|model| model.data.decimal.mark()),
        smiles: named(&data.smiles),
        rule: match data.atom_features {
            AtomRule::Zinc => Rule::Zinc,
            AtomRule::Described => Rule::Described,
        },
        targets: data.target_columns(),
        targets_optional: !labelled,
        id: named(&data.id),
        split: named(&data.split),
        skip_bad: data.skip_bad,
        edges: named(&data.edges).map(Into::into),
        directed: data.directed,
        node_features: model.and_then(|model| known(&model.data.node_columns, model.node_numbers)),
        edge_features: model.and_then(|model| known(&model.data.edge_columns, model.edge_numbers)),
        ..ReadOptions::default()
    }
}

/// Graphs with positions, without targets.
pub fn unlabelled(config: &GraphTransformerConfig, graphs: Graphs) -> Examples {
    let positions = Positions::compute(&graphs, &encoding(config), &|_, _| ());
    Examples { graphs: Arc::new(graphs), positions: Arc::new(positions), targets: None }
}

/// Graphs with types and columns as in training, without targets; `complete` for an edge between all nodes.
///
/// # Errors
/// Types that training did not have, where it learnt none for rare types; other columns than in training.
pub(crate) fn known(config: &GraphTransformerConfig, graphs: Graphs, complete: bool) -> Result<Examples> {
    let Examples { graphs, positions, .. } = unlabelled(config, graphs);
    // Positions are those of the edges the data has.
    let graphs = if complete { graphs.complete() } else { Arc::unwrap_or_clone(graphs) };
    let kinds = |types: &[String], columns: &[String], count: usize| Kinds {
        types: types.to_vec(),
        columns: match columns {
            [] => FeatureNames::Count(count),
            names => FeatureNames::Named(names.to_vec()),
        },
    };
    let GraphTransformerConfig { data, node_numbers, edge_numbers, .. } = config;
    let nodes = kinds(&data.node_types, &data.node_columns, *node_numbers);
    let edges = kinds(&data.edge_types, &data.edge_columns, *edge_numbers);
    let other = Some(&data.other_node).filter(|name| !name.is_empty());
    let graphs = graphs
        .align(&nodes, &edges, other.map(String::as_str))?
        .with_notes_on_ranges([&data.node_ranges, &data.edge_ranges])
        .filled([&data.node_mean, &data.edge_mean]);
    config.check_edges(&graphs)?;
    Ok(Examples { graphs: Arc::new(graphs), positions, targets: None })
}

/// The positional encoding of a network.
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
