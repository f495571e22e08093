//! The split of graphs or nodes into training, validation and test.

use std::sync::Arc;

use regard_base::features::graphs::scaffolds;
use regard_data::graphs::{Graphs, Level, Part};
use regard_data::split::{Holdout, group_folds, holdout_of, others, stratified_folds};

use crate::Result;
use crate::graphs::examples::DataSplit;
use crate::graphs::experiment::{GraphData, GraphExperiment};
use crate::graphs::task::GraphTask;

/// Training, validation and test split.
pub(crate) type DataSplits = [DataSplit; 3];

/// The split of the data, else a random one, stratified by class for classification.
pub(super) fn splits(experiment: &GraphExperiment, graphs: &Graphs, task: GraphTask) -> Result<DataSplits> {
    if let Some(parts) = graphs.parts() {
        let places = [Part::Training, Part::Validation, Part::Test].map(|part| parts.places(part));
        return Ok(places.map(|places| split(graphs, parts.level, places)));
    }
    let level = cut_level(graphs);
    Ok(cut(&experiment.data, &strata(graphs, level, task)?)?.map(|places| split(graphs, level, places)))
}

/// Places of the training, validation and test split of a random one, stratified by class.
pub(super) fn cut(data: &GraphData, classes: &[usize]) -> Result<[Vec<usize>; 3]> {
    let GraphData { validation_fraction: held_out, test_fraction: tested, seed, .. } = *data;
    let all: Vec<usize> = (0..classes.len()).collect();
    let Holdout { training: rest, held_out: test } = holdout_of(&all, classes, tested, seed)?;
    let share = (held_out / (1.0 - tested)).min(1.0);
    let Holdout { training, held_out } = holdout_of(&rest, classes, share, seed.wrapping_add(1))?;
    Ok([training, held_out, test])
}

/// The level at which data without a split of its own are cut: nodes of a single graph, else graphs. Nodes of several
/// graphs are not split: that would train on the graphs that are tested.
fn cut_level(graphs: &Graphs) -> Level {
    let of_nodes = graphs.targets().is_some_and(|targets| targets.level() == Level::Node);
    if of_nodes && graphs.len() == 1 { Level::Node } else { Level::Graph }
}

/// `k` folds without validation: graphs, or the nodes of one, stratified by class.
pub(crate) fn folds(graphs: &Graphs, task: GraphTask, k: usize, seed: u64) -> Result<Vec<DataSplits>> {
    let level = cut_level(graphs);
    let classes = strata(graphs, level, task)?;
    let cut = stratified_folds(&classes, k, seed)?;
    Ok(cut.into_iter().map(|test| fold(graphs, level, others(classes.len(), &test), test)).collect())
}

/// `k` folds without validation, molecules of one scaffold in one fold.
pub(crate) fn scaffold_folds(graphs: &Graphs, k: usize, seed: u64) -> Result<Vec<DataSplits>> {
    let cut = group_folds(&scaffolds(graphs), k, seed)?;
    let of = |test: Vec<usize>| fold(graphs, Level::Graph, others(graphs.len(), &test), test);
    Ok(cut.into_iter().map(of).collect())
}

/// A fold without validation.
pub(crate) fn fold(graphs: &Graphs, level: Level, training: Vec<usize>, test: Vec<usize>) -> DataSplits {
    [training, vec![], test].map(|places| split(graphs, level, places))
}

fn split(graphs: &Graphs, level: Level, places: Vec<usize>) -> DataSplit {
    match level {
        _ if places.is_empty() => DataSplit::default(),
        Level::Graph => DataSplit { graphs: places, nodes: None },
        Level::Node => {
            let mut counts = vec![false; graphs.nodes()];
            places.iter().for_each(|&node| counts[node] = true);
            let any = |graph: &usize| graphs.nodes_of(*graph).any(|node| counts[node]);
            DataSplit { graphs: (0..graphs.len()).filter(any).collect(), nodes: Some(Arc::from(counts)) }
        }
    }
}

/// Classes of a stratified split; one class where there are none.
fn strata(graphs: &Graphs, level: Level, task: GraphTask) -> Result<Vec<usize>> {
    let count = if level == Level::Graph { graphs.len() } else { graphs.nodes() };
    match graphs.targets() {
        Some(targets) if task == GraphTask::Classification && targets.level() == level => {
            Ok(targets.classes(0)?.of.into_iter().map(|class| class.unwrap_or(0)).collect())
        }
        _ => Ok(vec![0; count]),
    }
}
