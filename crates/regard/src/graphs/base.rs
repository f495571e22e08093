//! Graphs and nodes as base learners see them.

use regard_base::features::graphs::{COUNTS, GraphFeatures, node_view};
use regard_base::tabular::Target;
use regard_data::graphs::{Graphs, Level, Part, Targets};

use super::examples::DataSplit;
use super::model::GraphTransformerConfig;
use super::task::GraphTask;
use crate::supervised::base::{BaseModel, BaseProblem, BaseTask, TaskPredictions, is_small, too_large};
use crate::train::probabilities;
use crate::{Error, Result};

/// The most nodes of a file that base learners are fitted to: more would take longer than the network. They predict any
/// number.
const MOST_NODES: usize = 100_000;
/// Graphs whose features are in memory together in a prediction. Base learners predict rows in blocks, of which this is
/// a multiple, so that answers are to the bit those of all graphs at once.
const TOGETHER: usize = 4096;

/// The graphs or nodes of a data set with their targets, and how their features were chosen; `None` where there are too
/// many nodes. Views with too many values are left out.
pub(super) fn problem(
    config: &GraphTransformerConfig,
    graphs: &Graphs,
) -> Result<Option<(GraphFeatures, BaseProblem)>> {
    let (Some(level), Some(tasks)) = (graphs.targets().map(Targets::level), tasks_of(config, graphs)?) else {
        return Ok(None);
    };
    let (features, mut left_out) = (GraphFeatures::of(graphs), vec![]);
    let views = match level {
        Level::Graph => features.views_where(graphs, |name, columns| {
            // Counts are few, and base learners need one view at least.
            let fits = name == COUNTS || is_small(graphs.len(), columns);
            if !fits {
                left_out.push(too_large(name, graphs.len(), columns));
            }
            fits
        })?,
        Level::Node if graphs.nodes() > MOST_NODES => return Ok(None),
        Level::Node => match node_view(graphs)? {
            // Graphs are predicted whole, unless the data's own split cuts one.
            Some(view) if !has_cut_graphs(graphs) => {
                let graph_of = (0..graphs.len()).flat_map(|graph| graphs.nodes_of(graph).map(move |_| graph as u64));
                vec![view.grouped(graph_of.collect())?]
            }
            Some(view) => vec![view],
            None => return Ok(None),
        },
    };
    Ok(Some((features, BaseProblem { views, left_out, tasks })))
}

/// If true, nodes of one graph are in different parts of the data's own split.
fn has_cut_graphs(graphs: &Graphs) -> bool {
    let Some(parts) = graphs.parts().filter(|parts| parts.level == Level::Node) else { return false };
    (0..graphs.len()).any(|graph| {
        let mut of_nodes = graphs.nodes_of(graph).map(|node| parts.of[node]).filter(|part| *part != Part::None);
        let first = of_nodes.next();
        of_nodes.any(|part| Some(part) != first)
    })
}

/// Predictions of base learners for some graphs, or for some nodes.
///
/// # Errors
/// [`Error::Config`] for nodes with more values than a view takes; features that differ from those of training.
pub(super) fn predictions(
    base: &BaseModel<GraphFeatures>,
    level: Level,
    graphs: &Graphs,
    rows: &[usize],
) -> Result<TaskPredictions> {
    if level == Level::Node {
        let Some(view) = node_view(graphs)? else {
            let reason = format!(
                "has to be `network` for {} nodes: base learners cannot hold as many numbers of neighbourhoods",
                graphs.nodes()
            );
            return Err(Error::config("--only", reason));
        };
        return base.predict_rows(&[view], rows);
    }
    let mut all: TaskPredictions = vec![vec![]; base.stacks.len()];
    for rows in rows.chunks(TOGETHER) {
        regard_data::cancel::check();
        let views = base.features.views_where(&graphs.select(rows), |name, _| base.uses(name))?;
        let found = base.predict_rows(&views, &(0..rows.len()).collect::<Vec<_>>())?;
        all.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
    }
    Ok(all)
}

/// Predictions of base learners for all graphs, or for all nodes.
///
/// # Errors
/// As [`predictions`].
pub(super) fn all_predictions(
    base: &BaseModel<GraphFeatures>,
    level: Level,
    graphs: &Graphs,
) -> Result<TaskPredictions> {
    let rows = if level == Level::Graph { graphs.len() } else { graphs.nodes() };
    predictions(base, level, graphs, &(0..rows).collect::<Vec<_>>())
}

/// The targets of graphs or nodes; `None` where there are none.
pub(super) fn tasks_of(config: &GraphTransformerConfig, graphs: &Graphs) -> Result<Option<Vec<BaseTask>>> {
    let Some(targets) = graphs.targets() else { return Ok(None) };
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
    Ok(Some(tasks))
}

/// Rows of a split: its graphs, or their nodes that count.
pub(in crate::graphs) fn rows_of(graphs: &Graphs, level: Level, split: &DataSplit) -> Vec<usize> {
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::time::Duration;

    use regard_base::tabular::View;
    use regard_data::graphs::formats::{self, ReadOptions};

    use super::*;
    use crate::graphs::model::PRESETS;
    use crate::supervised::base::BlendOptions;

    const OPTIONS: BlendOptions =
        BlendOptions { only_base: true, members: 1, seed: 0, base_time: Duration::from_secs(60), deadline: None };

    fn config() -> GraphTransformerConfig {
        GraphTransformerConfig { task: GraphTask::Regression, ..GraphTransformerConfig::preset(PRESETS[0]).unwrap() }
    }

    /// Base learners of some graphs, fitted to the first 40 rows.
    fn fitted(graphs: &Graphs) -> BaseModel<GraphFeatures> {
        let (features, problem) = problem(&config(), graphs).unwrap().unwrap();
        let fits = problem.fit(&(0..40).collect::<Vec<_>>(), &OPTIONS).unwrap();
        let reports = fits.iter().map(|fit| fit.report([0.0, 1.0])).collect();
        BaseModel::new(features, fits.into_iter().map(|fit| fit.stack).collect(), reports, vec![vec![]])
    }

    fn read(path: &Path, options: ReadOptions) -> Graphs {
        formats::read(path, &ReadOptions { targets: vec!["y".into()], ..options }).unwrap()
    }

    /// A graph of so many nodes in a ring.
    fn ring(folder: &Path, nodes: usize) -> Graphs {
        let (mut table, mut edges) = ("id,x,y\n".to_owned(), "source,target\n".to_owned());
        for node in 0..nodes {
            writeln!(table, "{node},{},{}", node % 7, node % 7 * 2).unwrap();
            writeln!(edges, "{node},{}", (node + 1) % nodes).unwrap();
        }
        std::fs::write(folder.join("nodes.csv"), table).unwrap();
        std::fs::write(folder.join("edges.csv"), edges).unwrap();
        read(&folder.join("nodes.csv"), ReadOptions::default())
    }

    /// So many molecules of few kinds.
    fn molecules(folder: &Path, count: usize) -> Graphs {
        let kinds = ["CCO", "C", "c1ccccc1", "CC(=O)N", "CCCC"];
        let mut text = "smiles,y\n".to_owned();
        (0..count).for_each(|at| writeln!(text, "{},{}", kinds[at % 5], kinds[at % 5].len()).unwrap());
        std::fs::write(folder.join("m.csv"), text).unwrap();
        read(&folder.join("m.csv"), ReadOptions { smiles: Some("smiles".into()), ..ReadOptions::default() })
    }

    #[test]
    fn base_learners_predict_more_nodes_than_they_are_fitted_to() {
        let folder = tempfile::tempdir().unwrap();
        let base = fitted(&ring(folder.path(), 60));
        let large = ring(folder.path(), MOST_NODES + 1);
        assert!(problem(&config(), &large).unwrap().is_none());
        let found = all_predictions(&base, Level::Node, &large).unwrap();
        assert_eq!(found[0].len(), MOST_NODES + 1);
        let error = |at: usize| (found[0][at] - (at % 7 * 2) as f64).abs();
        assert!((10..100).all(|at| error(MOST_NODES - at) < 1.0), "{:?}", &found[0][..20]);
    }

    #[test]
    fn predictions_of_parts_are_those_of_all_graphs() {
        let folder = tempfile::tempdir().unwrap();
        let base = fitted(&molecules(folder.path(), 60));
        let graphs = molecules(folder.path(), TOGETHER + 300);
        let views = base.features.views(&graphs).unwrap();
        assert_eq!(all_predictions(&base, Level::Graph, &graphs).unwrap(), base.predict(&views).unwrap());
    }

    #[test]
    fn views_with_too_many_values_are_named_and_not_computed() {
        let folder = tempfile::tempdir().unwrap();
        let (_, problem) = problem(&config(), &molecules(folder.path(), 15_000)).unwrap().unwrap();
        assert_eq!(problem.views.iter().map(View::name).collect::<Vec<_>>(), [COUNTS]);
        let left_out: Vec<&str> = problem.left_out.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(left_out, ["base learners of Morgan fingerprint", "base learners of all columns"]);
        assert!(
            problem.left_out[0].reason.starts_with("15000 rows of 2048 columns, at most"),
            "{:?}",
            problem.left_out
        );
    }
}
