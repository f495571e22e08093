//! The answers: each is that of a command, computed by the same functions.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use axum::http::StatusCode;
use clap::Args;
use regard::data::cancel::{self, CancellationToken};
use regard::data::graphs::formats::{ReadOptions, files as files_of_graphs};
use regard::data::sets::Bags;
use regard::explain::{self, AttentionInput, Trace};
use regard::graphs::examples::Examples;
use regard::graphs::predict::GraphModel;
use regard::routes::solve::{Finish, check_time};
use regard::routing::Instance;
use regard::routing::formats::{best_known, solution};
use regard::sets::predict::SetModel;
use regard::supervised::base::Only;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Service;
use super::error::ApiError;
use super::models::ServedNetwork;
use super::options::{self, CommandOptions, Options, Request};
use super::question::{Given, Question};
use super::reading;
use crate::args::{AttentionArgs, ExplainFileArgs, ForecastArgs, PredictArgs, SolveArgs, SolveJob, example};
use crate::commands::attribution::series_json;
use crate::commands::forecast::ForecastAnswer;
use crate::commands::{SEED, explain as explaining, graphs, series, sets, solve};
use crate::failure::Failure;
use crate::report::Printer;
use crate::report::json::{self, SolveResult};

/// Options of tables of places.
macro_rules! with_table {
    ($($own:literal),* $(,)?) => {
        &[$($own,)* "column", "decimal", "depot", "duplicates", "skip_bad", "capacity", "max_length", "required_prize", "distances"]
    };
}

/// `regard solve`.
pub(super) const SOLVE: CommandOptions = CommandOptions {
    name: "solve",
    allowed: with_table![
        "decode",
        "augment",
        "temperature",
        "top_p",
        "no_improve",
        "time",
        "best",
        "warm_start",
        "objective",
        "stage_solutions",
        "seed",
    ],
    of_files: &["warm_start", "distances"],
    has_model: true,
};

/// `regard predict`.
pub(super) const PREDICT: CommandOptions = CommandOptions {
    name: "predict",
    allowed: &[
        "only",
        "levels",
        "group_by",
        "importance",
        "attribution",
        "samples",
        "steps",
        "smiles",
        "skip_bad",
        "id",
        "edges",
        "refine",
        "rescale",
        "decimal",
        "seed",
    ],
    of_files: &["edges"],
    has_model: true,
};

/// `regard forecast`.
pub(super) const FORECAST: CommandOptions = CommandOptions {
    name: "forecast",
    allowed: &[
        "horizon",
        "levels",
        "season",
        "keep_outliers",
        "only",
        "attribution",
        "samples",
        "steps",
        "time",
        "date",
        "date_format",
        "frequency",
        "duplicates",
        "id",
        "target",
        "covariates",
        "future",
        "decimal",
        "seed",
    ],
    of_files: &["future"],
    has_model: true,
};

/// `regard explain FILE`.
pub(super) const EXPLAIN: CommandOptions = CommandOptions {
    name: "explain",
    allowed: with_table!["example", "step", "layer", "head", "filter", "parameters", "group_by", "smiles", "future"],
    of_files: &["distances", "future"],
    has_model: true,
};

/// `regard explain attention`.
pub(super) const ATTENTION: CommandOptions =
    CommandOptions { name: "attention", allowed: &["head", "filter", "parameters"], of_files: &[], has_model: false };

/// The most bytes of a file whose predictions share a pass with others.
const SMALL: usize = 1 << 16;
/// The share of the time limit of a request that fitting takes at most where the client sets no time: the forecast follows.
const FORECAST_SHARE: f64 = 2.0 / 3.0;
/// A solution that may take longer is a long request.
const LONG: Duration = Duration::from_secs(2);

/// A request that is ready to be computed.
pub(super) struct Task {
    pub(super) question: Question,
    pub(super) work: Work,
}

/// The computation of a request.
pub(super) enum Work {
    Solve { job: Box<SolveJob>, formats: Vec<String> },
    Predict { args: Box<PredictArgs>, model: String, pass: Option<Pass> },
    Forecast { args: Box<ForecastArgs>, seed: u64 },
    Explain { args: Box<ExplainFileArgs> },
    Attention { args: Box<AttentionArgs>, input: Option<String> },
    Read(reading::Reading),
}

/// A pass through a network that requests can share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pass {
    model: String,
    only: Option<&'static str>,
    importance: bool,
}

/// The answer to `POST /v1/solve`.
#[derive(Serialize, JsonSchema)]
pub(super) struct SolveAnswer<'a> {
    #[serde(flatten)]
    result: SolveResult<'a>,
    /// Texts of files with the solution, by their endings.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<BTreeMap<String, String>>,
    /// Notes on what was guessed, skipped or not used.
    notes: Vec<String>,
}

/// The answer to `POST /v1/predict`.
#[derive(Serialize, JsonSchema)]
pub(super) struct PredictAnswer {
    /// An object for each set, graph or series.
    #[serde(skip_serializing_if = "Option::is_none")]
    predictions: Option<Value>,
    /// The same with `attribution`.
    #[serde(skip_serializing_if = "Option::is_none")]
    attributions: Option<Value>,
    /// Notes on what was guessed, skipped or not used.
    notes: Vec<String>,
}

/// An answer with its notes.
#[derive(Serialize)]
struct Noted<T> {
    #[serde(flatten)]
    answer: T,
    notes: Vec<String>,
}

fn bytes(answer: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(answer).map_err(|error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the answer cannot be written: {error}"))
    })
}

/// Arguments of a command from a request.
pub(super) fn arguments<A: Args>(command: &CommandOptions, question: &Question) -> Result<Request<A>, ApiError> {
    let of_query;
    let options = match &question.options {
        Given::Typed(options) => options,
        Given::Query(pairs) => {
            of_query = options::of_query::<A>(command, pairs)?;
            &of_query
        }
    };
    check_files(command, question, options)?;
    options::parse(command, Some(&question.name), question.model.as_deref(), options)
}

/// The family of the model that a request names.
fn known_model(service: &Service, question: &Question) -> Result<Option<&'static str>, ApiError> {
    question.model.as_deref().map(|name| Ok(service.models.get(name)?.entry.family)).transpose()
}

/// Refuses an option that names a file which was not sent.
fn check_files(command: &CommandOptions, question: &Question, options: &Options) -> Result<(), ApiError> {
    for name in command.of_files {
        let Some(Value::String(file)) = options.get(*name) else { continue };
        if !question.names.contains(file) {
            let what = format!("the file `{}` was not sent", regard::data::shown(file));
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, what)
                .at(format!("option {name}"))
                .expected("the name of one of `files`"));
        }
    }
    Ok(())
}

/// Notes the files that were sent beside the first and are not read. `options` are those that name a file.
pub(super) fn note_unused_files(options: &[&str], question: &Question, printer: &Printer) {
    let is_named = |file: &str| match &question.options {
        Given::Typed(given) => options.iter().any(|name| given.get(*name).and_then(Value::as_str) == Some(file)),
        // With a query there is one file.
        Given::Query(_) => false,
    };
    let first = &question.name;
    let beside = files_of_graphs(Path::new(first), &ReadOptions::default());
    let is_found = |file: &str| {
        [best_known::TABLE, best_known::OPLIB_TABLE].contains(&file)
            || beside.iter().any(|found| found == Path::new(file))
            // The sizes of queries beside LIBSVM's rows.
            || file.strip_prefix(first.as_str()) == Some(".query")
    };
    for file in question.names.iter().skip(1).filter(|file| !is_named(file) && !is_found(file)) {
        let name = regard::data::shown(file);
        printer.note(&match options {
            [] => format!("the file `{name}` is not used"),
            _ => format!("the file `{name}` is not used; name it in the option `{}`", options.join("` or `")),
        });
    }
}

impl Task {
    /// `POST /v1/solve`.
    pub(super) fn solve(service: &Service, question: Question) -> Result<Self, ApiError> {
        known_model(service, &question)?;
        let request = arguments::<SolveArgs>(&SOLVE, &question)?;
        let job = Box::new(request.args.check(request.seed.unwrap_or(SEED))?);
        if let Finish::Timed(time) = job.options.finish {
            service.check_time("time", time)?;
        }
        let formats = match question.own.get("formats") {
            None | Some(Value::Null) => vec![],
            Some(value) => serde_json::from_value(value.clone()).map_err(|_| formats_error())?,
        };
        if formats.iter().any(|format: &String| !solution::ENDINGS.contains(&format.as_str())) {
            return Err(formats_error());
        }
        Ok(Self { question, work: Work::Solve { job, formats } })
    }

    /// `POST /v1/predict`.
    pub(super) fn predict(service: &Service, question: Question) -> Result<Self, ApiError> {
        let Some(model) = question.model.clone() else {
            return Err(ApiError::bad_request("`model` is missing").expected("the name of a model of /v1/models"));
        };
        let served = service.models.get(&model)?;
        let request = arguments::<PredictArgs>(&PREDICT, &question)?;
        let mut args = Box::new(request.args);
        args.attribution.seed = request.seed.unwrap_or(SEED);
        let importance = match &served.network {
            ServedNetwork::Sets(parts) => sets::forward_pass(&args, parts.get(None).map_err(anyhow::Error::from)?),
            ServedNetwork::Graphs(_) => graphs::forward_pass(&args).then_some(false),
            ServedNetwork::Routes(_) | ServedNetwork::Series(_) => None,
        };
        let only = args.only.map(|only| if only == Only::Base { "base" } else { "network" });
        check_deletion(&question, served.entry.family)?;
        let pass = importance
            .filter(|_| question.bytes <= SMALL && !is_given(&question, DELETE_EDGES))
            .map(|importance| Pass { model: model.clone(), only, importance });
        Ok(Self { question, work: Work::Predict { args, model, pass } })
    }

    /// `POST /v1/forecast`.
    pub(super) fn forecast(service: &Service, question: Question) -> Result<Self, ApiError> {
        known_model(service, &question)?;
        let request = arguments::<ForecastArgs>(&FORECAST, &question)?;
        let (mut args, seed) = (Box::new(request.args), request.seed.unwrap_or(SEED));
        args.attribution.seed = seed;
        if question.options.names().contains(&"time") {
            service.check_time("time", args.time)?;
        } else {
            args.time = args.time.min(service.request_time.mul_f64(FORECAST_SHARE));
        }
        args.check()?;
        Ok(Self { question, work: Work::Forecast { args, seed } })
    }

    /// `POST /v1/explain`.
    pub(super) fn explain(service: &Service, question: Question) -> Result<Self, ApiError> {
        let family = known_model(service, &question)?.unwrap_or("routes");
        let request = arguments::<ExplainFileArgs>(&EXPLAIN, &question)?;
        check_deletion(&question, family)?;
        Ok(Self { question, work: Work::Explain { args: Box::new(request.args) } })
    }

    /// `POST /v1/explain/attention`: the input is the body.
    pub(super) fn attention(question: Question, input: Option<String>) -> Result<Self, ApiError> {
        let Given::Query(pairs) = &question.options else {
            return Err(ApiError::bad_request("options stand in the query"));
        };
        let options = options::of_query::<AttentionArgs>(&ATTENTION, pairs)?;
        let request = options::parse::<AttentionArgs>(&ATTENTION, None, None, &options)?;
        Ok(Self { question, work: Work::Attention { args: Box::new(request.args), input } })
    }

    /// `POST /v1/read`.
    pub(super) fn read(service: &Service, question: Question) -> Result<Self, ApiError> {
        let reading = reading::Reading::of(service, &question)?;
        Ok(Self { question, work: Work::Read(reading) })
    }

    /// If true, the request may take long, and does not take the last worker.
    pub(super) fn is_long(&self) -> bool {
        match &self.work {
            Work::Solve { job, .. } => matches!(job.options.finish, Finish::Timed(time) if time > LONG),
            Work::Predict { args, pass, .. } => args.attribution.attribution.is_some() || pass.is_none(),
            Work::Forecast { args, .. } => args.model.is_none() || args.attribution.attribution.is_some(),
            Work::Explain { .. } => true,
            Work::Attention { .. } | Work::Read(_) => false,
        }
    }

    /// The pass that the request can share.
    pub(super) fn pass(&self) -> Option<&Pass> {
        match &self.work {
            Work::Predict { pass, .. } => pass.as_ref(),
            _ => None,
        }
    }

    /// Computes the answer; files are those that were sent, and no others.
    pub(super) fn compute(&self, service: &Service) -> Result<Vec<u8>, ApiError> {
        self.question.files.open(|| match &self.work {
            Work::Solve { job, formats } => solved(service, &self.question, job, formats),
            Work::Predict { args, model, .. } => predicted(service, &self.question, args, model),
            Work::Forecast { args, seed } => forecast(service, &self.question, args, *seed),
            Work::Explain { args } => explained(service, &self.question, args),
            Work::Attention { args, input } => attention(service, args, input.as_deref()),
            Work::Read(reading) => reading.compute(service, &self.question),
        })
    }
}

fn formats_error() -> ApiError {
    ApiError::bad_request("is no list of formats")
        .at("formats")
        .expected(format!("some of {}", solution::ENDINGS.join(", ")))
}

fn solved(service: &Service, question: &Question, job: &SolveJob, formats: &[String]) -> Result<Vec<u8>, ApiError> {
    let printer = Printer::keeping();
    note_unused_files(SOLVE.of_files, question, &printer);
    let task = &job.tasks[0];
    let instance = solve::read(task, job.best, &printer)?;
    let mut options = job.options.clone();
    if let Some(path) = &job.warm_start {
        options.warm_start = Some(solve::warm_start(path, &instance)?);
    }
    let network = service.models.of_problem(question.model.as_deref(), instance.problem())?;
    if let Some((network, _)) = network {
        check_time(network, instance.sites().len(), &options, service.request_time).map_err(anyhow::Error::from)?;
    }
    let solution = solve::searched(network.map(|(network, _)| network), &task.file, &instance, &options, &printer)?;
    let model = network.map(|(_, info)| info.name.as_str());
    let result = SolveResult::new(&task.file, &instance, &solution, model, &[]);
    let result = if job.stage_solutions { result.with_stage_solutions() } else { result };
    let text = |format: &String| -> anyhow::Result<(String, String)> {
        let text = match format.as_str() {
            "json" => json::solution_text(&instance, &solution)?,
            ending => {
                let name = Path::new("solution").with_extension(ending);
                solution::text(&name, &instance, &solution.tour)?
            }
        };
        Ok((format.clone(), text))
    };
    let files = match formats {
        [] => None,
        formats => Some(formats.iter().map(text).collect::<anyhow::Result<_>>()?),
    };
    bytes(&SolveAnswer { result, files, notes: printer.into_notes() })
}

/// The option of the service that takes edges away from a graph.
pub(super) const DELETE_EDGES: &str = "delete_edges";

fn is_given(question: &Question, option: &str) -> bool {
    question.own.get(option).is_some_and(|value| !value.is_null())
}

/// Refuses edges to be taken away from what is no graph, and what is no list of edges.
fn check_deletion(question: &Question, family: &str) -> Result<(), ApiError> {
    if !is_given(question, DELETE_EDGES) {
        return Ok(());
    }
    if family != "graphs" {
        let what = format!("delete_edges applies only to models on graphs, and the model is one on {family}");
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, what).at(DELETE_EDGES));
    }
    deletion(question).map(|_| ())
}

/// Pairs of nodes whose edges are taken away.
fn deletion(question: &Question) -> Result<Vec<[usize; 2]>, ApiError> {
    match question.own.get(DELETE_EDGES) {
        None | Some(Value::Null) => Ok(vec![]),
        Some(value) => serde_json::from_value(value.clone()).map_err(|_| {
            ApiError::bad_request("is no list of edges").at(DELETE_EDGES).expected("pairs of node numbers: [[0, 1], …]")
        }),
    }
}

/// The graphs without the edges that the request takes away from the graph `chosen`, else from the first.
fn without_edges(
    question: &Question,
    model: &GraphModel,
    examples: Examples,
    chosen: Option<&str>,
) -> Result<Examples, ApiError> {
    let edges = deletion(question)?;
    if edges.is_empty() {
        return Ok(examples);
    }
    let graph = example(chosen, examples.graphs.ids(), Path::new(&question.name), "graph")?;
    Ok(model.without_edges(&examples, graph, &edges).map_err(anyhow::Error::from)?)
}

fn predicted(service: &Service, question: &Question, args: &PredictArgs, model: &str) -> Result<Vec<u8>, ApiError> {
    let printer = Printer::keeping();
    let network = &service.models.get(model)?.network;
    let options = if matches!(network, ServedNetwork::Graphs(_)) { PREDICT.of_files } else { &[] };
    note_unused_files(options, question, &printer);
    let found = match network {
        ServedNetwork::Sets(parts) => {
            let model = parts.get(args.only).map_err(anyhow::Error::from)?;
            let bags = sets::read(args, model, &printer)?;
            sets::SetAnswer::of(args, model, &bags, None, &printer)?.json()
        }
        ServedNetwork::Graphs(parts) => {
            let model = parts.get(args.only).map_err(anyhow::Error::from)?;
            let examples = graphs::read(args, model, &printer)?;
            let chosen = question.own.get("example").and_then(Value::as_str);
            let examples = without_edges(question, model, examples, chosen)?;
            graphs::GraphAnswer::of(args, model, &examples, None, &printer)?.json()
        }
        ServedNetwork::Series(parts) => {
            series::SeriesAnswer::of(args, parts.get(None).map_err(anyhow::Error::from)?, &printer)?.json()
        }
        ServedNetwork::Routes(network) => {
            let problem = &network.1.config.problem;
            let what = format!("{model}: a model for `{problem}` cannot predict for a table");
            return Err(anyhow::Error::from(Failure::new(what).hint("use /v1/solve")).into());
        }
    };
    prediction(args, found, printer)
}

fn prediction(args: &PredictArgs, found: Value, printer: Printer) -> Result<Vec<u8>, ApiError> {
    let notes = printer.into_notes();
    bytes(&match args.attribution.attribution {
        None => PredictAnswer { predictions: Some(found), attributions: None, notes },
        Some(_) => PredictAnswer { predictions: None, attributions: Some(found), notes },
    })
}

/// Answers requests that share a pass; each gets the answer that it would have got alone.
pub(super) fn together(service: &Service, tasks: &[&Task]) -> Vec<Result<Vec<u8>, ApiError>> {
    let alone = || tasks.iter().map(|task| task.compute(service)).collect();
    let Some(pass) = tasks.first().and_then(|task| task.pass()) else { return alone() };
    let Ok(served) = service.models.get(&pass.model) else { return alone() };
    let only = tasks.first().and_then(|task| task.predict_args()).and_then(|args| args.only);
    let found = match &served.network {
        ServedNetwork::Sets(parts) => parts.get(only).ok().and_then(|model| sets_together(model, pass, tasks)),
        ServedNetwork::Graphs(parts) => parts.get(only).ok().and_then(|model| graphs_together(model, tasks)),
        ServedNetwork::Routes(_) | ServedNetwork::Series(_) => None,
    };
    // What fails for all together fails for one of them, whose error the others should not get.
    found.unwrap_or_else(alone)
}

/// A file that was read, with its notes.
type ReadFile<T> = Result<(T, Printer), ApiError>;

impl Task {
    fn predict_args(&self) -> Option<&PredictArgs> {
        match &self.work {
            Work::Predict { args, .. } => Some(args),
            _ => None,
        }
    }

    /// Reads the file of a prediction; `options` are those that name another file.
    fn read_for<T>(&self, options: &[&str], read: impl Fn(&PredictArgs, &Printer) -> anyhow::Result<T>) -> ReadFile<T> {
        let printer = Printer::keeping();
        let Some(args) = self.predict_args() else { return Err(ApiError::bad_request("is no prediction")) };
        let found = self.question.files.open(|| {
            note_unused_files(options, &self.question, &printer);
            read(args, &printer)
        })?;
        Ok((found, printer))
    }
}

/// Finishes each request of a batch whose file was read.
fn finish<T, P>(
    tasks: &[&Task],
    files: Vec<ReadFile<T>>,
    found: Vec<P>,
    answer: impl Fn(&PredictArgs, &T, P, &Printer) -> anyhow::Result<Value>,
) -> Vec<Result<Vec<u8>, ApiError>> {
    let mut found = found.into_iter();
    let one = |(task, file): (&&Task, ReadFile<T>)| {
        let (data, printer) = file?;
        let (Some(args), Some(found)) = (task.predict_args(), found.next()) else {
            return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "a pass had too few answers"));
        };
        let found = answer(args, &data, found, &printer)?;
        prediction(args, found, printer)
    };
    tasks.iter().zip(files).map(one).collect()
}

fn sets_together(model: &SetModel, pass: &Pass, tasks: &[&Task]) -> Option<Vec<Result<Vec<u8>, ApiError>>> {
    let files: Vec<ReadFile<Bags>> =
        tasks.iter().map(|task| task.read_for(&[], |args, printer| sets::read(args, model, printer))).collect();
    let bags: Vec<&Bags> = files.iter().flatten().map(|(bags, _)| bags).collect();
    let found = model.predict_together(&bags, pass.importance).ok()?;
    Some(finish(tasks, files, found, |args, bags, found, printer| {
        Ok(sets::SetAnswer::of(args, model, bags, Some(found), printer)?.json())
    }))
}

fn graphs_together(model: &GraphModel, tasks: &[&Task]) -> Option<Vec<Result<Vec<u8>, ApiError>>> {
    let read = |args: &PredictArgs, printer: &Printer| graphs::read(args, model, printer);
    let files: Vec<ReadFile<Examples>> = tasks.iter().map(|task| task.read_for(PREDICT.of_files, read)).collect();
    let examples: Vec<&Examples> = files.iter().flatten().map(|(examples, _)| examples).collect();
    let found = model.predict_together(&examples).ok()?;
    Some(finish(tasks, files, found, |args, examples, found, printer| {
        Ok(graphs::GraphAnswer::of(args, model, examples, Some(found), printer)?.json())
    }))
}

fn forecast(service: &Service, question: &Question, args: &ForecastArgs, seed: u64) -> Result<Vec<u8>, ApiError> {
    let printer = Printer::keeping();
    note_unused_files(FORECAST.of_files, question, &printer);
    let name = args.model.as_deref().map(|name| name.display().to_string());
    let model = match &name {
        None => None,
        Some(name) => match &service.models.get(name)?.network {
            ServedNetwork::Series(parts) => Some(parts.get(args.only).map_err(anyhow::Error::from)?),
            _ => {
                let what = format!("{name}: the model is not one on time series");
                return Err(
                    anyhow::Error::from(Failure::new(what).hint("choose a model of the family `series`")).into()
                );
            }
        },
    };
    let interrupt = || Ok(CancellationToken::current().unwrap_or_default().flag());
    let answer = ForecastAnswer::of(args, seed, model, &service.device, &interrupt, &printer)?;
    // Forecasters that were cancelled give what they have.
    cancel::check();
    match answer {
        ForecastAnswer::Attributions(found) => {
            let attributions = Some(series_json(&found));
            bytes(&PredictAnswer { predictions: None, attributions, notes: printer.into_notes() })
        }
        ForecastAnswer::Forecast(found) => {
            found.note(&printer);
            bytes(&Noted { answer: found.result(args), notes: printer.into_notes() })
        }
    }
}

fn explained(service: &Service, question: &Question, args: &ExplainFileArgs) -> Result<Vec<u8>, ApiError> {
    let mut printer = Printer::keeping();
    let file = Path::new(&question.name);
    let served = question.model.as_deref().map(|name| service.models.get(name)).transpose()?;
    let of_routes = served.is_none_or(|model| matches!(model.network, ServedNetwork::Routes(_)));
    note_unused_files(if of_routes { EXPLAIN.of_files } else { &[] }, question, &printer);
    let trace = match served.map(|model| (&model.network, model.entry.name.as_str())) {
        Some((ServedNetwork::Sets(parts), name)) => {
            explaining::set_with(file, args, name, parts.get(None).map_err(anyhow::Error::from)?, &printer)?
        }
        Some((ServedNetwork::Graphs(parts), name)) => {
            let model = parts.get(None).map_err(anyhow::Error::from)?;
            let examples = explaining::graphs_of(file, args, model, &printer)?;
            let examples = without_edges(question, model, examples, args.example.as_deref())?;
            explaining::graph_with(file, args, name, model, &examples)?
        }
        Some((ServedNetwork::Series(parts), name)) => {
            explaining::series_with(file, args, name, parts.get(None).map_err(anyhow::Error::from)?, &printer)?
        }
        None | Some((ServedNetwork::Routes(_), _)) => {
            let explain = |instance: &Instance| -> anyhow::Result<Trace> {
                match service.models.of_problem(question.model.as_deref(), instance.problem()) {
                    Ok(Some((network, info))) => Ok(network.explain(&info.name, instance)?),
                    Ok(None) => Err(Failure::new(format!("no model for `{}` is served", instance.problem()))
                        .hint("regard serve --models DIR serves one")
                        .into()),
                    Err(error) => Err(Failure::new(error.report.what).into()),
                }
            };
            explaining::routes_with(file, args, &explain, &service.device, &mut printer)?
        }
    };
    let trace = trace.part(args.step, args.layer).map_err(anyhow::Error::from)?;
    traced(explaining::viewed(trace, &args.view, true)?, printer)
}

/// Numbers of a trace that is answered, at most: more than a hundred megabytes of JSON.
const MOST_NUMBERS: usize = 1 << 24;

fn traced(trace: Trace, printer: Printer) -> Result<Vec<u8>, ApiError> {
    let numbers: usize = trace.steps.iter().map(|step| step.recorded.values.len()).sum();
    if numbers > MOST_NUMBERS {
        let what = format!("the trace has {numbers} numbers, at most {MOST_NUMBERS} are answered");
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, what)
            .hint("`step`, `layer`, `head` or `filter` choose a part"));
    }
    bytes(&Noted { answer: trace, notes: printer.into_notes() })
}

fn attention(service: &Service, args: &AttentionArgs, input: Option<&str>) -> Result<Vec<u8>, ApiError> {
    let (name, input) = match input {
        Some(text) => ("the body", AttentionInput::parse(text, Path::new("the body")).map_err(anyhow::Error::from)?),
        None => ("the example worked by hand", AttentionInput::hand_worked()),
    };
    let trace = explain::attention(name, &input, &service.device).map_err(anyhow::Error::from)?;
    traced(explaining::viewed(trace, &args.view, true)?, Printer::keeping())
}
