//! `regard eval` and `regard predict` for models on graphs.

use std::path::Path;

use regard::Device;
use regard::data::graphs::formats::attention::{self, LayerWeights};
use regard::data::graphs::formats::predictions::{Predicted, Predictions};
use regard::data::graphs::{Graphs, Level};
use regard::data::table::write;
use regard::experiment::DecimalMark;
use regard::explain::attribution::{Attribution, AttributionOptions};
use regard::graphs::attribution::GraphAttribution;
use regard::graphs::examples::Examples;
use regard::graphs::experiment::GraphData;
use regard::graphs::predict::{AttentionWeights, GraphModel, GraphTestPredictions};
use regard::graphs::task::{GraphTask, LevelName};
use regard::supervised::base::BaseModel;
use serde_json::Value;

use super::intervals::with_intervals;
use super::parts::{in_parts, over_parts};
use super::{Outcome, attribution, open_model};
use crate::args::{EvalJob, PredictArgs};
use crate::failure::Failure;
use crate::report::{Printer, graph_plot, measures};

/// Evaluates a model on a file, or on the test data of its experiment's data.
pub(super) fn evaluate(job: &EvalJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    job.refuse_routes("graphs")?;
    job.refuse_limit()?;
    job.columns.only(&["--target", "--smiles", "--id", "--edges"], "graphs")?;
    let folder = job.model.as_deref().unwrap_or(Path::new("."));
    let model: GraphModel = open_model(folder, device, printer)?.with_only(job.only)?;
    let (found, on) = match job.file() {
        Some(file) => {
            let given = &job.columns;
            let targets = if given.target.is_empty() { model.config.data.tasks.clone() } else { given.target.clone() };
            let data = columns(&model);
            let data = GraphData {
                target: String::new(),
                targets,
                skip_bad: job.table.skip_bad,
                smiles: given.smiles.clone().unwrap_or(data.smiles),
                id: given.id.clone().unwrap_or(data.id),
                edges: given.edges.as_ref().map_or(data.edges, |edges| edges.display().to_string()),
                decimal: job.table.decimal.map_or(data.decimal, Into::into),
                ..data
            };
            let tested = |printer: &Printer| -> anyhow::Result<GraphTestPredictions> {
                let examples = model.read(file, &data, true)?;
                examples.warnings().iter().for_each(|warning| printer.note(warning));
                Ok(model.test_predictions(&examples)?)
            };
            let found = match model.config.level {
                // Base learners look at all nodes of a file.
                LevelName::Node => Some(tested(printer)?),
                LevelName::Graph => over_parts(file, data.division(), printer, &tested, GraphTestPredictions::append)?,
            };
            let found = found.map(|found| model.metrics(found));
            (found.unwrap_or_default(), file.display().to_string())
        }
        None => {
            job.refuse_skip_bad("graphs, without --data")?;
            let data = model.experiment.as_ref().map(|experiment| &experiment.data);
            let paths = data.map(|data| [data.path.as_str(), data.edges.as_str(), data.cache.as_str()]);
            job.check_paths(folder, &paths.unwrap_or_default())?;
            (model.measure_test()?, "the test data of its experiment".to_owned())
        }
    };
    measures::write(folder, &on, &found, printer)?;
    Ok(Outcome::Done)
}

/// Predicts for the graphs or nodes of a file.
pub(super) fn predict(args: &PredictArgs, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let model: GraphModel = open_model(&args.model, device, printer)?.with_only(args.only)?;
    let text = |examples: &Examples, printer: &Printer| -> anyhow::Result<String> {
        let answer = GraphAnswer::of(args, &model, examples, None, printer)?;
        Ok(if printer.json() { answer.json().to_string() } else { answer.csv() })
    };
    // Base learners look at all nodes of a file.
    let of_nodes = model.config.level == LevelName::Node;
    if of_nodes || args.plot.is_some() || args.attention.is_some() || args.shard.shard.is_some() {
        let mut examples = read(args, &model, printer)?;
        let places = args.shard.places("predict", examples.graphs.len(), "graphs")?;
        if let Some(places) = &places {
            examples = examples.select(&places.range.clone().collect::<Vec<_>>());
        }
        if args.attribution.attribution.is_none() {
            write_attention(args, &model, &examples, printer)?;
        }
        printer.result(&text(&examples, printer)?)?;
        printer.end_of_part(places.as_ref())?;
        return Ok(Outcome::Done);
    }
    let data = columns_of(args, &model);
    in_parts(&args.file, data.division(), printer, &|printer| text(&read(args, &model, printer)?, printer))?;
    Ok(Outcome::Done)
}

/// Reads the graphs of a file.
pub(crate) fn read(args: &PredictArgs, model: &GraphModel, printer: &Printer) -> anyhow::Result<Examples> {
    args.check_for_graphs()?;
    let examples = model.read(&args.file, &columns_of(args, model), false)?;
    examples.warnings().iter().for_each(|warning| printer.note(warning));
    Ok(examples)
}

/// The columns of the file: those of the command line, else those of the model.
fn columns_of(args: &PredictArgs, model: &GraphModel) -> GraphData {
    let data = columns(model);
    GraphData {
        smiles: args.smiles.clone().unwrap_or(data.smiles),
        id: args.id.clone().unwrap_or(data.id),
        edges: args.edges.as_ref().map_or(data.edges, |edges| edges.display().to_string()),
        skip_bad: args.skip_bad,
        decimal: args.decimal.unwrap_or(data.decimal),
        ..data
    }
}

/// If true, the answer follows from one pass through the network.
pub(crate) fn forward_pass(args: &PredictArgs) -> bool {
    args.attribution.attribution.is_none()
}

/// The answer for the graphs of a file.
pub(crate) enum GraphAnswer<'g> {
    /// A prediction for each graph or node.
    Predictions(Predictions<'g>),
    /// The attribution of each prediction to the nodes and edges of its graph.
    Attributions { graphs: &'g Graphs, found: Vec<GraphAttribution> },
}

impl<'g> GraphAnswer<'g> {
    /// Computes the answer; `found` are the predictions of [`forward_pass`] where they are known.
    pub(crate) fn of(
        args: &PredictArgs,
        model: &GraphModel,
        examples: &'g Examples,
        found: Option<Predicted>,
        printer: &Printer,
    ) -> anyhow::Result<Self> {
        if let Some(options) = args.attribution.options()? {
            return attributions(model, examples, &options, printer);
        }
        let level = Level::from(model.config.level);
        let found = match found {
            Some(found) => found,
            None => model.predict(examples)?,
        };
        if found.has_rare_class() {
            printer.note(measures::BALANCED);
        }
        let numeric = model.config.task == GraphTask::Regression;
        let found = with_intervals(found, model, numeric, args, printer)?;
        let predictions = Predictions::new(&examples.graphs, level, found).map_err(regard::Error::from)?;
        Ok(Self::Predictions(predictions))
    }

    /// A list with an object for each graph.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Predictions(predictions) => predictions.json(),
            Self::Attributions { graphs, found } => {
                attribution::graphs_json(graphs.ids(), found, &|graph, node| node_name(graphs, graph, node))
            }
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Predictions(predictions) => predictions.csv(),
            Self::Attributions { graphs, found } => {
                let name = |graph, node| node_name(graphs, graph, node);
                write::csv(&attribution::GraphTable { ids: graphs.ids(), all: found, name: &name })
            }
        }
    }
}

fn node_name(graphs: &Graphs, graph: usize, node: usize) -> String {
    graphs.node_name(graphs.nodes_of(graph).start + node)
}

/// The attribution of the prediction for each graph to its nodes and edges.
fn attributions<'g>(
    model: &GraphModel,
    examples: &'g Examples,
    options: &AttributionOptions,
    printer: &Printer,
) -> anyhow::Result<GraphAnswer<'g>> {
    let found = model.attribute(examples, options, &attribution::progress(printer))?;
    let what = match model.config.task {
        GraphTask::Regression => format!("`{}`", model.config.data.tasks.first().map_or("", String::as_str)),
        GraphTask::Classification => "the probability of the predicted class".to_owned(),
        GraphTask::Labels => {
            format!("the probability of `{}`", model.config.data.tasks.first().map_or("", String::as_str))
        }
    };
    let part = attribution::part(model.network_has_no_weight(), model.base.is_some());
    let of_trees = model.network_has_no_weight() && model.base.as_ref().is_some_and(BaseModel::has_trees);
    let all: Vec<&Attribution> = found.iter().map(|one| &one.found).collect();
    attribution::report(options.method, &format!("{what}; {part}"), &all, of_trees, printer);
    Ok(GraphAnswer::Attributions { graphs: &examples.graphs, found })
}

/// Writes and draws the attention weights, where the arguments ask for it.
fn write_attention(
    args: &PredictArgs,
    model: &GraphModel,
    examples: &Examples,
    printer: &Printer,
) -> anyhow::Result<()> {
    if args.attention.is_none() && args.plot.is_none() {
        return Ok(());
    }
    if model.network_has_no_weight() {
        printer.note(measures::NO_WEIGHT);
    }
    let (graphs, seen) = (&examples.graphs, model.attention(examples));
    let heads = model.config.heads;
    if let Some(file) = &args.plot {
        let graph = chosen(args, graphs)?;
        graph_plot::draw(file, graphs, graph, &means(graphs, graph, &seen, heads))?;
        printer.note(&format!("wrote {}", file.display()));
    }
    let Some(file) = &args.attention else { return Ok(()) };
    let layers: Vec<LayerWeights<'_>> = seen
        .iter()
        .map(|seen| LayerWeights { graphs: &seen.graphs, layer: seen.layer, heads, weights: &seen.weights })
        .collect();
    attention::write(file, graphs, &layers).map_err(regard::Error::from)?;
    printer.note(&format!("wrote {}", file.display()));
    Ok(())
}

/// The graph that is drawn.
fn chosen(args: &PredictArgs, graphs: &Graphs) -> anyhow::Result<usize> {
    let found = args.example_to_draw(graphs.ids(), "graph")?;
    let nodes = graphs.nodes_of(found).len();
    if nodes > graph_plot::MOST_NODES {
        let what = format!(
            "--plot: `{}` has {nodes} nodes; at most {} can be drawn",
            graphs.ids()[found],
            graph_plot::MOST_NODES
        );
        return Err(Failure::new(what).hint("--attention FILE writes the weights as a table").into());
    }
    Ok(found)
}

/// The mean attention weight of each edge of a graph over layers and heads.
fn means(graphs: &Graphs, graph: usize, layers: &[AttentionWeights], heads: usize) -> Vec<f64> {
    let mut sums = vec![0.0; graphs.edges_of(graph).len()];
    let mut count = 0.0;
    for layer in layers {
        let Some(place) = layer.graphs.iter().position(|&other| other == graph) else { continue };
        let before: usize = layer.graphs[..place].iter().map(|&other| graphs.edges_of(other).len()).sum();
        let weights = layer.weights[before * heads..].chunks(heads);
        sums.iter_mut().zip(weights).for_each(|(sum, weights)| *sum += f64::from(weights.iter().sum::<f32>()));
        count += heads as f64;
    }
    sums.iter_mut().for_each(|sum| *sum /= f64::max(count, 1.0));
    sums
}

/// The columns of a file for a model: those of its training. Paths are not taken over.
pub(super) fn columns(model: &GraphModel) -> GraphData {
    let data = model.experiment.as_ref().map(|experiment| experiment.data.clone()).unwrap_or_default();
    // A file of predictions has no split and is read strictly, and the decimal mark of training is that of numbers that do
    // not tell theirs.
    GraphData {
        split: String::new(),
        path: String::new(),
        edges: String::new(),
        cache: String::new(),
        decimal: DecimalMark::Auto,
        ..data
    }
}
