//! The table of families: the commands for experiments and models of each.

use std::path::{Path, PathBuf};

use regard::Device;
use regard::experiment::{Section, family, find};
use regard::explain::Trace;
use regard::graphs::model::KIND as GRAPH_TRANSFORMER;
use regard::graphs::{GraphExperiment, GraphTransformerConfig, Graphs};
use regard::routes::model::KIND as ATTENTION_MODEL;
use regard::routes::{self, ModelDir, RouteExperiment};
use regard::series::model::KIND as PATCHTST;
use regard::series::{PatchTstConfig, SeriesExperiment, TimeSeries};
use regard::sets::model::KIND as SET_TRANSFORMER;
use regard::sets::{SetExperiment, SetTransformerConfig, Sets};
use regard::store::kind_of;
use regard::supervised::{self, Family, SupervisedExperiment};
use regard::train::{Limits, Observer, Trained, Training};

use super::{Outcome, cross_validation, eval, explain, graphs, model, series, sets};
use crate::args::{EvalJob, ExplainFileArgs, FoldOptions, PredictArgs};
use crate::failure::Failure;
use crate::report::Printer;

/// Reads an experiment: its text, its path for errors, and assignments that override it.
type Parse = fn(&str, &Path, &[String]) -> regard::Result<Box<dyn LoadedExperiment>>;

/// The trace of a model on a file.
type Explain = fn(&Path, &ExplainFileArgs, &Device, &mut Printer) -> anyhow::Result<Trace>;

/// The commands of a family.
pub(super) struct FamilyCommands {
    /// The value of `task.family`.
    name: &'static str,
    /// The kind of its models in `config.json`.
    kind: &'static str,
    /// Reads an experiment, overridden by assignments.
    parse: Parse,
    /// The settings of an experiment, described for readers.
    describe: fn(&str, &Path, &[String]) -> regard::Result<Vec<Section>>,
    /// `regard eval --model`.
    pub(super) evaluate: fn(&EvalJob, &Device, &mut Printer) -> anyhow::Result<Outcome>,
    /// `regard predict`.
    pub(super) predict: fn(&PredictArgs, &Device, &mut Printer) -> anyhow::Result<Outcome>,
    /// `regard explain FILE`.
    pub(super) explain: Explain,
    /// `regard model show` of a folder.
    pub(super) show: fn(&Path, &mut Printer) -> anyhow::Result<Outcome>,
}

static FAMILIES: [FamilyCommands; 4] = [
    FamilyCommands {
        name: "routes",
        kind: ATTENTION_MODEL,
        parse: |text, path, sets| Ok(Box::new(RouteExperiment::parse(text, path, sets)?)),
        describe: RouteExperiment::settings,
        evaluate: eval::run,
        predict: routes_predict,
        explain: explain::routes,
        show: model::show_routes,
    },
    FamilyCommands {
        name: Sets::NAME,
        kind: SET_TRANSFORMER,
        parse: |text, path, sets| Ok(Box::new(SetExperiment::parse(text, path, sets)?)),
        describe: SetExperiment::settings,
        evaluate: sets::evaluate,
        predict: sets::predict,
        explain: explain::set,
        show: model::show_network::<SetTransformerConfig>,
    },
    FamilyCommands {
        name: Graphs::NAME,
        kind: GRAPH_TRANSFORMER,
        parse: |text, path, sets| Ok(Box::new(GraphExperiment::parse(text, path, sets)?)),
        describe: GraphExperiment::settings,
        evaluate: graphs::evaluate,
        predict: graphs::predict,
        explain: explain::graph,
        show: model::show_network::<GraphTransformerConfig>,
    },
    FamilyCommands {
        name: TimeSeries::NAME,
        kind: PATCHTST,
        parse: |text, path, sets| Ok(Box::new(SeriesExperiment::parse(text, path, sets)?)),
        describe: SeriesExperiment::settings,
        evaluate: series::evaluate,
        predict: series::predict,
        explain: explain::series,
        show: model::show_network::<PatchTstConfig>,
    },
];

/// The family of a model's folder; that of routes for a folder that names no kind, whose error then says why.
pub(super) fn of_model(folder: Option<&Path>) -> &'static FamilyCommands {
    let kind = folder.and_then(|folder| kind_of(folder).ok());
    let found = FAMILIES.iter().find(|family| Some(family.kind) == kind.as_deref());
    found.unwrap_or(&FAMILIES[0])
}

/// The experiment found under a name or in a file, overridden by assignments.
pub(super) fn load(name_or_path: &str, sets: &[String]) -> regard::Result<Box<dyn LoadedExperiment>> {
    let (text, path) = find(name_or_path)?;
    (of_experiment(&text, &path)?.parse)(&text, &path, sets)
}

/// The settings of the experiment `text`, overridden by assignments and described for readers.
pub(super) fn describe(text: &str, path: &Path, sets: &[String]) -> regard::Result<Vec<Section>> {
    (of_experiment(text, path)?.describe)(text, path, sets)
}

fn of_experiment(text: &str, path: &Path) -> regard::Result<&'static FamilyCommands> {
    let name = family(text, path)?;
    Ok(FAMILIES.iter().find(|family| family.name == name).unwrap_or(&FAMILIES[0]))
}

/// Options of a training.
pub(super) struct TrainingOptions {
    /// The run's folder.
    pub(super) out: PathBuf,
    /// If true, the run in the folder is resumed.
    pub(super) resume: bool,
    pub(super) limits: Limits,
    /// The command, for the manifest.
    pub(super) command: String,
}

impl TrainingOptions {
    fn of<E>(self, experiment: E) -> Training<E> {
        let Self { out, resume, limits, command } = self;
        Training { experiment, out, resume, limits, command }
    }
}

/// An experiment of any family.
pub(super) trait LoadedExperiment {
    /// Examples of a step.
    fn batch_size(&self) -> usize;
    /// Steps between two lines of metrics.
    fn log_steps(&self) -> usize;
    /// The seed of the training.
    fn seed(&self) -> u64;
    /// `regard train`.
    fn train(
        self: Box<Self>,
        options: TrainingOptions,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> regard::Result<Trained>;
    /// `regard eval EXPERIMENT`.
    fn evaluate(&self, folds: &FoldOptions, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome>;
    /// `regard explain learning`: the next step of `run`, or the first one of the experiment.
    fn explain_step(&self, name: &str, run: Option<&Path>, instances: usize, device: &Device) -> anyhow::Result<Trace>;
}

/// Evaluation of the experiments of a supervised family.
trait EvaluateExperiment: Family {
    /// Trains on parts of the data and measures on the rest.
    fn evaluate(
        experiment: &SupervisedExperiment<Self>,
        folds: &FoldOptions,
        device: &Device,
        printer: &mut Printer,
    ) -> anyhow::Result<Outcome>;
}

impl EvaluateExperiment for Sets {
    fn evaluate(
        experiment: &SetExperiment,
        folds: &FoldOptions,
        device: &Device,
        printer: &mut Printer,
    ) -> anyhow::Result<Outcome> {
        cross_validation::sets(experiment, folds, device, printer)
    }
}

impl EvaluateExperiment for Graphs {
    fn evaluate(
        experiment: &GraphExperiment,
        folds: &FoldOptions,
        device: &Device,
        printer: &mut Printer,
    ) -> anyhow::Result<Outcome> {
        cross_validation::graphs(experiment, folds, device, printer)
    }
}

impl EvaluateExperiment for TimeSeries {
    fn evaluate(
        experiment: &SeriesExperiment,
        folds: &FoldOptions,
        device: &Device,
        printer: &mut Printer,
    ) -> anyhow::Result<Outcome> {
        series::evaluate_experiment(experiment, folds, device, printer)
    }
}

impl<F: EvaluateExperiment> LoadedExperiment for SupervisedExperiment<F> {
    fn batch_size(&self) -> usize {
        self.train.batch_size
    }

    fn log_steps(&self) -> usize {
        self.train.log_steps
    }

    fn seed(&self) -> u64 {
        self.train.seed
    }

    fn train(
        self: Box<Self>,
        options: TrainingOptions,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> regard::Result<Trained> {
        supervised::train(&options.of(*self), device, observer)
    }

    fn evaluate(&self, folds: &FoldOptions, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
        F::evaluate(self, folds, device, printer)
    }

    fn explain_step(&self, name: &str, _: Option<&Path>, _: usize, _: &Device) -> anyhow::Result<Trace> {
        let family = F::NAME;
        let what = format!(
            "{name} is an experiment on {family}, which learns from labels; `regard explain learning` is for \
                            experiments on routes, which learn by reinforcement"
        );
        let hint = format!("regard explain FILE --model DIR looks into a model on {family}");
        Err(Failure::new(what).hint(hint).into())
    }
}

impl LoadedExperiment for RouteExperiment {
    fn batch_size(&self) -> usize {
        self.train.batch_size
    }

    fn log_steps(&self) -> usize {
        self.train.log_steps
    }

    fn seed(&self) -> u64 {
        self.train.seed
    }

    fn train(
        self: Box<Self>,
        options: TrainingOptions,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> regard::Result<Trained> {
        routes::train::train(&options.of(*self), device, observer)
    }

    fn evaluate(&self, _: &FoldOptions, _: &Device, _: &mut Printer) -> anyhow::Result<Outcome> {
        Err(Failure::new("an experiment on routes has no cross-validation: its instances are generated")
            .hint("train it, then: regard eval --model DIR --paper-set tsp20")
            .into())
    }

    fn explain_step(&self, name: &str, run: Option<&Path>, instances: usize, device: &Device) -> anyhow::Result<Trace> {
        Ok(routes::train::explain_step(name, self, run, instances, device)?)
    }
}

/// Refuses a routing model; a folder that is no model's says so.
fn routes_predict(args: &PredictArgs, _: &Device, _: &mut Printer) -> anyhow::Result<Outcome> {
    let problem = ModelDir::open(&args.model)?.config().problem.clone();
    let what = format!("{}: a model for `{problem}` cannot predict for a table", args.model.display());
    Err(Failure::new(what).hint("use: regard solve FILE --model DIR").into())
}
