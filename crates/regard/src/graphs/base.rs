//! Graphs and nodes as base learners see them.

use regard_base::features::graphs::{GraphFeatures, node_view};
use regard_base::tabular::{Target, View};
use regard_data::graphs::{Graphs, Level};

use super::examples::DataSplit;
use super::model::GraphTransformerConfig;
use super::task::GraphTask;
use crate::Result;
use crate::supervised::base::{BaseProblem, BaseTask, TaskPredictions};
use crate::train::probabilities;

/// The most nodes whose targets base learners are fitted to.
const MOST_NODES: usize = 100_000;

/// The views of graphs, or of their nodes; `None` where there are too many nodes.
pub(super) fn views_of(features: &GraphFeatures, level: Level, graphs: &Graphs) -> Result<Option<Vec<View>>> {
    Ok(match level {
        Level::Graph => Some(features.views(graphs)?),
        Level::Node if graphs.nodes() > MOST_NODES => None,
        Level::Node => node_view(graphs)?.map(|view| vec![view]),
    })
}

/// The graphs or nodes of a data set with their targets, and how their features were chosen; `None` where there are too
/// many.
pub(super) fn problem(
    config: &GraphTransformerConfig,
    graphs: &Graphs,
) -> Result<Option<(GraphFeatures, BaseProblem)>> {
    let features = GraphFeatures::of(graphs);
    Ok(problem_of(config, graphs, &features)?.map(|problem| (features, problem)))
}

/// As [`problem`], with features that were chosen before.
pub(super) fn problem_of(
    config: &GraphTransformerConfig,
    graphs: &Graphs,
    features: &GraphFeatures,
) -> Result<Option<BaseProblem>> {
    let Some(targets) = graphs.targets() else { return Ok(None) };
    let Some(views) = views_of(features, targets.level(), graphs)? else { return Ok(None) };
    let mut tasks = Vec::new();
    match config.task {
        GraphTask::Classification => {
            let classes = targets.classes_among(0, &config.data.classes)?.of;
            let known = classes.iter().map(Option::is_some).collect();
            let of = classes.into_iter().map(Option::unwrap_or_default).collect();
            // A single class still has two sides, one of them empty.
            let target = Target::Classes { of, count: config.data.classes.len().max(2) };
            let classes = config.data.classes.clone();
            tasks.push(BaseTask { name: String::new(), classes, target, known });
        }
        GraphTask::Regression | GraphTask::Labels => {
            let numbers = graphs.target_numbers()?;
            let count = targets.tasks().len();
            for (task, name) in targets.tasks().iter().enumerate() {
                let of_task = || numbers.iter().skip(task).step_by(count);
                let known = of_task().map(Option::is_some).collect();
                let target = match config.task {
                    GraphTask::Labels => Target::Classes {
                        of: of_task().map(|number| usize::from(number.is_some_and(|number| number > 0.5))).collect(),
                        count: 2,
                    },
                    _ => Target::Numbers(of_task().map(|number| number.unwrap_or(0.0)).collect()),
                };
                let classes = match config.task {
                    GraphTask::Labels => ["0", "1"].map(String::from).to_vec(),
                    _ => vec![],
                };
                tasks.push(BaseTask { name: name.clone(), classes, target, known });
            }
        }
    }
    Ok(Some(BaseProblem { views, tasks }))
}

/// Rows of a split: its graphs, or their nodes that count.
pub(super) fn rows_of(graphs: &Graphs, level: Level, split: &DataSplit) -> Vec<usize> {
    match level {
        Level::Graph => split.graphs.clone(),
        Level::Node => {
            let nodes = split.graphs.iter().flat_map(|&graph| graphs.nodes_of(graph));
            nodes.filter(|&node| split.nodes.as_ref().is_none_or(|counts| counts[node])).collect()
        }
    }
}

/// Predictions of a network, `[rows, outputs]` with numbers in the units of the targets, by task.
pub(super) fn by_task(config: &GraphTransformerConfig, numbers: &[f64]) -> TaskPredictions {
    let outputs = config.outputs;
    let of_task = |task: usize| numbers.iter().skip(task).step_by(outputs);
    match config.task {
        GraphTask::Classification if outputs < 2 => {
            vec![numbers.iter().flat_map(|_| [1.0, 0.0]).collect()]
        }
        GraphTask::Classification => vec![probabilities(numbers, outputs)],
        GraphTask::Regression => (0..outputs).map(|task| of_task(task).copied().collect()).collect(),
        GraphTask::Labels => {
            let sides = |x: &f64| {
                let yes = 1.0 / (1.0 + (-x).exp());
                [1.0 - yes, yes]
            };
            (0..outputs).map(|task| of_task(task).flat_map(sides).collect()).collect()
        }
    }
}

/// Predictions for the rows of a split, from those for all its graphs or all their nodes, `[rows, outputs]`.
pub(super) fn of_rows(
    config: &GraphTransformerConfig,
    graphs: &Graphs,
    numbers: &[f64],
    split: &DataSplit,
) -> TaskPredictions {
    let Some(counts) = &split.nodes else { return by_task(config, numbers) };
    let nodes = split.graphs.iter().flat_map(|&graph| graphs.nodes_of(graph));
    let rows = numbers.chunks(config.outputs.max(1)).zip(nodes).filter(|(_, node)| counts[*node]);
    by_task(config, &rows.flat_map(|(row, _)| row.to_vec()).collect::<Vec<_>>())
}
