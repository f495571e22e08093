//! `regard eval` and `regard predict` for models and experiments on time series.

use std::path::Path;

use regard::Device;
use regard::data::series::Series;
use regard::data::series::formats::forecasts::Forecasts;
use regard::data::sets::formats::predictions::Predictions;
use regard::data::sets::{Bags, FeatureNames};
use regard::data::table::write;
use regard::experiment::DecimalMark;
use regard::series::SeriesExperiment;
use regard::series::attribution::SeriesAttribution;
use regard::series::back_test::{BackTestOptions, BackTestProgress, Origin};
use regard::series::classify::{SeriesTestPredictions, read_whole};
use regard::series::evaluate::SeriesEvaluation;
use regard::series::experiment::SeriesData;
use regard::series::measure::ErrorSummary;
use regard::series::predict::SeriesModel;
use regard::series::task::SeriesTask;
use regard::train::Ranks;
use serde::Serialize;
use serde_json::{Value, json};

use super::forecast::{notes, warnings};
use super::parts::{in_parts, over_parts};
use super::{Outcome, attribution, cross_validation, open_model};
use crate::args::{EvalJob, FoldOptions, PredictArgs};
use crate::failure::Failure;
use crate::report::progress::{Done, StageProgress};
use crate::report::{Align, Printer, Table, measures, number};
use crate::shard::Places;

/// The result for programs.
#[derive(Serialize)]
struct Measured<'a> {
    model: String,
    data: String,
    horizon: usize,
    look_back: usize,
    #[serde(flatten)]
    found: &'a SeriesEvaluation,
}

/// Evaluates a model on the test data of its experiment's data, or of another file with the same series.
pub(super) fn evaluate(job: &EvalJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (folder, file) = (job.model.as_deref().unwrap_or(Path::new(".")), job.file());
    job.refuse_only()?;
    job.refuse_routes("time series")?;
    job.refuse_skip_bad("time series")?;
    job.refuse_limit()?;
    job.columns.only(&["--target", "--id"], "time series")?;
    let model: SeriesModel = open_model(folder, device, printer)?;
    if file.is_none() {
        let path = model.experiment.as_ref().map_or("", |experiment| experiment.data.path.as_str());
        job.check_paths(folder, &[path])?;
    }
    let Some(mut experiment) = model.experiment.clone() else {
        let reason = match &model.experiment_error {
            Some(error) => format!("the experiment in `manifest.json` is unreadable: {error}"),
            None => "the model folder does not record the training data".to_owned(),
        };
        return Err(Failure::new(format!("{}: {reason}", folder.display()))
            .hint("use a model trained with `regard train`")
            .into());
    };
    // That of classes looks at its data itself.
    if file.is_none() && model.config.task != SeriesTask::Classification {
        model.experiment_on_same_data()?;
    }
    if let Some(file) = file {
        let data = &mut experiment.data;
        data.path = file.display().to_string();
        // The mark of training is that of numbers that do not tell theirs.
        data.decimal = job.table.decimal.map_or(DecimalMark::Auto, Into::into);
        data.id = job.columns.id.clone().unwrap_or(std::mem::take(&mut data.id));
        if !job.columns.target.is_empty() {
            data.columns.clone_from(&job.columns.target);
        }
    }
    if model.config.task == SeriesTask::Classification {
        let on = file.map_or("the test data of its experiment".to_owned(), |file| file.display().to_string());
        let found = match file {
            Some(file) => {
                let tested = |printer: &Printer| {
                    let read = read_whole(file, &experiment.data, true, Some(&model.config))?;
                    warnings(&read.report, printer);
                    Ok(model.test_predictions(file, &read)?)
                };
                let division = experiment.data.division();
                let found = over_parts(file, division, printer, &tested, SeriesTestPredictions::append)?;
                found.map(|found| model.class_metrics(&found)).unwrap_or_default()
            }
            None => model.measure_classes()?,
        };
        measures::write(folder, &on, &found.into(), printer)?;
        return Ok(Outcome::Done);
    }
    if let Some(file) = file {
        let note = format!("{}: errors are those of its test rows, split as in training", file.display());
        printer.note(&note);
    }
    let data = model.test_data(&experiment)?;
    if file.is_some() {
        notes(data.report(), &data.unknown, printer);
    }
    if model.config.task != SeriesTask::Forecast {
        let how = match model.config.task {
            SeriesTask::Anomaly => "reconstructed",
            _ => "masked at random and reconstructed",
        };
        let on = format!("the test rows of {}, {how}, at the network's scale", experiment.data.path);
        measures::write(folder, &on, &model.measure_reconstruction(&data)?.into(), printer)?;
        return Ok(Outcome::Done);
    }
    let found = model.measure(&data)?;
    if printer.json() {
        let (look_back, horizon) = (model.config.look_back, model.config.horizon);
        let (model, data) = (folder.display().to_string(), experiment.data.path.clone());
        printer.object(&Measured { model, data, horizon, look_back, found: &found })?;
    } else {
        printer.result(&text(folder, &experiment.data.path, &model, &found))?;
    }
    Ok(Outcome::Done)
}

/// Fills in missing values of a file, scores anomalies, or classifies series.
pub(super) fn predict(args: &PredictArgs, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let model: SeriesModel = open_model(&args.model, device, printer)?;
    let text = |answer: &SeriesAnswer, json: bool| if json { answer.json().to_string() } else { answer.csv() };
    let is_part = args.shard.shard.is_some();
    match model.config.task {
        SeriesTask::Classification if !is_part => {
            let text = |printer: &Printer| Ok(text(&SeriesAnswer::of(args, &model, printer)?, printer.json()));
            in_parts(&args.file, model.columns().division(), printer, &text)?;
        }
        SeriesTask::Classification => {
            let answer = SeriesAnswer::of(args, &model, printer)?;
            printer.result(&text(&answer, printer.json()))?;
            printer.end_of_part(answer.places())?;
        }
        // Models for other tasks know the series of their training, which go through the network together.
        _ if is_part => {
            let what = "--shard: models of series compute all series of a file together, but for models of classes";
            return Err(Failure::new(what).hint("give each process files of its own").into());
        }
        _ => printer.result(&text(&SeriesAnswer::of(args, &model, printer)?, printer.json()))?,
    }
    Ok(Outcome::Done)
}

/// The answer for the series of a file.
pub(crate) enum SeriesAnswer {
    /// A number for each time stamp.
    Numbers {
        found: Forecasts,
        /// Key of the numbers in JSON.
        key: &'static str,
        /// The column of time stamps.
        date: String,
    },
    /// The class of each series, in both forms, and the part of the series where one was asked for.
    Classes { json: Value, csv: String, places: Option<Places> },
    /// The attribution of each class to patches and lags.
    Attributions(Vec<SeriesAttribution>),
}

impl SeriesAnswer {
    /// Reads the file and computes the answer.
    pub(crate) fn of(args: &PredictArgs, model: &SeriesModel, printer: &Printer) -> anyhow::Result<Self> {
        args.check_for_series()?;
        if args.only.is_some() && model.config.task != SeriesTask::Imputation {
            let what = format!("--only does not apply to a model for {}", model.config.task);
            return Err(Failure::new(what).hint("leave it out").into());
        }
        let mut columns = model.columns();
        columns.decimal = args.decimal.unwrap_or(columns.decimal);
        if model.config.task == SeriesTask::Classification {
            return classes(args, model, &columns, printer);
        }
        if args.attribution.options()?.is_some() && model.config.task != SeriesTask::Forecast {
            let what =
                format!("--attribution: a model for {} predicts no single answer for a series", model.config.task);
            return Err(Failure::new(what).hint("it is for forecasts and classes").into());
        }
        let series = model.read(&args.file, &columns)?;
        notes(&series.report, &series.unknown, printer);
        let (found, key) = match model.config.task {
            SeriesTask::Imputation => (filled(args, model, &series, printer)?, "value"),
            SeriesTask::Anomaly => (model.anomalies(&series)?, "score"),
            task => {
                let hint = match task {
                    SeriesTask::Forecast => "use: regard forecast --model DIR FILE",
                    _ => "train one with `--set task.kind=imputation`, `anomaly` or `classification`",
                };
                let what =
                    format!("{}: a model for {task} has no predictions for `regard predict`", args.model.display());
                return Err(Failure::new(what).hint(hint).into());
            }
        };
        let date = if columns.date.is_empty() { "date".to_owned() } else { columns.date };
        Ok(Self::Numbers { found, key, date })
    }

    /// A list with an object for each value or series.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Numbers { found, key, .. } => {
                let rows = found.rows().into_iter();
                rows.map(|row| json!({ "unique_id": row.unique_id, "ds": row.ds, *key: row.forecast })).collect()
            }
            Self::Classes { json, .. } => json.clone(),
            Self::Attributions(found) => attribution::series_json(found),
        }
    }

    fn places(&self) -> Option<&Places> {
        match self {
            Self::Classes { places, .. } => places.as_ref(),
            _ => None,
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Numbers { found, date, .. } => found.wide_csv(date),
            Self::Classes { csv, .. } => csv.clone(),
            Self::Attributions(found) => write::csv(&attribution::SeriesTable(found)),
        }
    }
}

/// Fills the missing values of series, and says how much is the network's.
fn filled(
    args: &PredictArgs,
    model: &SeriesModel,
    series: &regard::series::predict::Series,
    printer: &Printer,
) -> anyhow::Result<Forecasts> {
    let found = model.filled(series, args.only)?;
    let line = if found.season > 1 {
        format!("interpolation around the means of a season of {}", found.season)
    } else {
        "linear interpolation".to_owned()
    };
    let weight = 100.0 * found.network_weight;
    printer.note(&match (found.errors, args.only) {
        (None, None) => format!(
            "{line} alone fills gaps: there are too few known values to compare the network with it (`--only network` takes \
             the network)"
        ),
        (None, Some(_)) => format!("the network has {weight:.0} % of the weight, {line} the rest (`--only`)"),
        (Some(errors), only) => format!(
            "{} known values hidden in such gaps: mean absolute error of the network {:.3}, of {line} {:.3}, of their blend \
             {:.3}, in deviations of each series; the network has {weight:.0} % of the weight{}",
            errors.values,
            errors.network,
            errors.interpolation,
            errors.blend,
            if only.is_some() { " (`--only`)" } else { " (`--only network` gives it all)" }
        ),
    });
    Ok(found.series)
}

/// Classifies the series of a file.
fn classes(
    args: &PredictArgs,
    model: &SeriesModel,
    columns: &SeriesData,
    printer: &Printer,
) -> anyhow::Result<SeriesAnswer> {
    let mut read = read_whole(&args.file, columns, false, Some(&model.config))?;
    let places = args.shard.places("predict", read.panel.len(), "series")?;
    if let Some(places) = &places {
        let names: Vec<String> = read.panel.names().map(str::to_owned).collect();
        read.panel = read.panel.select(&names[places.range.clone()]).map_err(regard::Error::from)?;
    }
    warnings(&read.report, printer);
    if let Some(options) = args.attribution.options()? {
        let found = model.attribute_classes(&read.panel, &options, &attribution::progress(printer))?;
        attribution::report_series(
            options.method,
            "the probability of the predicted class; the network",
            &found,
            printer,
        );
        return Ok(SeriesAnswer::Attributions(found));
    }
    let found = model.classified(&read.panel)?;
    // A series is a set of rows for whoever writes predictions.
    let rows = read.panel.series().iter().map(Series::len);
    let ends = rows.scan(0, |sum, rows| {
        *sum += rows;
        Some(*sum)
    });
    let offsets: Vec<usize> = std::iter::once(0).chain(ends).collect();
    let values = vec![0.0; offsets.last().copied().unwrap_or(0)];
    let bags = Bags::new(FeatureNames::Count(1), values, offsets).map_err(regard::Error::from)?;
    let bags = bags.with_ids(read.panel.names().map(str::to_owned).collect()).map_err(regard::Error::from)?;
    let predictions = Predictions::new(&bags, Some(found)).map_err(regard::Error::from)?;
    Ok(SeriesAnswer::Classes { json: predictions.json(), csv: predictions.csv(), places })
}

/// Evaluates an experiment: by cross-validation for classes, else by a back-test.
pub(super) fn evaluate_experiment(
    experiment: &SeriesExperiment,
    folds: &FoldOptions,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    match experiment.task.kind {
        SeriesTask::Classification => cross_validation::series(experiment, folds, device, printer),
        _ if Ranks::current().are_several() => {
            Err(Failure::new("a back-test of forecasts runs in one process").hint("start it without mpirun").into())
        }
        _ => back_test(experiment, &folds.back_test()?, device, printer),
    }
}

/// Back-tests an experiment from several origins.
fn back_test(
    experiment: &SeriesExperiment,
    options: &BackTestOptions,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let progress = StageProgress::new(printer);
    let interrupted = super::train::interrupt("the windows that are done")?;
    let found = regard::series::back_test::back_test(experiment, options, device, &mut |seen| {
        match seen {
            BackTestProgress::Read(note) | BackTestProgress::Note(note) => printer.note(note),
            BackTestProgress::Training { window, step, of } => {
                let stage = format!("window {} of {}:", window + 1, options.windows);
                progress.show(Done { stage: &stage, done: step, of, what: "steps", limit: None });
            }
            BackTestProgress::Window(_) => {}
        }
        !interrupted.load(std::sync::atomic::Ordering::Relaxed)
    })?;
    drop(progress);
    if found.is_empty() {
        let failure = Failure::new("stopped before the first window was done: there are no errors to show");
        return Err(failure.hint("a back-test with less training (`--set train.epochs=…`) is done sooner").into());
    }
    if found.len() < options.windows {
        printer.note(&format!("stopped: the errors are those of {} of {} windows", found.len(), options.windows));
    }
    if printer.json() {
        let step_size = options.step_size.unwrap_or(experiment.task.horizon);
        printer.object(&serde_json::json!({
            "data": experiment.data.path,
            "step_size": step_size,
            "refit": options.refit,
            "origins": found,
        }))?;
        return Ok(Outcome::Done);
    }
    let blended = found.iter().all(|origin| origin.blended.is_some());
    let columns = |origin: &Origin| -> Vec<(&'static str, f64)> {
        let parts = origin.blended.filter(|_| blended).map(|parts| [("blend", parts.blend), ("base", parts.base)]);
        let network = ("network", origin.network);
        let simple =
            [("seasonal naive", origin.seasonal_naive), ("naive", origin.naive), ("look-back mean", origin.mean)];
        let all = parts.into_iter().flatten().chain([network]).chain(simple);
        all.map(|(name, errs)| (name, errs.mase)).collect()
    };
    let Some(names) = found.first().map(columns) else { return Ok(Outcome::Done) };
    let mut table = Table::new(&[&[Align::Left][..], &vec![Align::Right; names.len() + 1]].concat());
    let head = names.iter().map(|(name, _)| (*name).to_owned());
    table.row(["MASE from".to_owned(), "rows before".to_owned()].into_iter().chain(head).collect::<Vec<_>>());
    let mut sums = vec![0.0; names.len()];
    for origin in &found {
        let values: Vec<f64> = columns(origin).into_iter().map(|(_, mase)| mase).collect();
        sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value / found.len() as f64);
        let cells = [origin.from.clone(), number::count(origin.seen)].into_iter();
        table.row(cells.chain(values.into_iter().map(cell)).collect::<Vec<_>>());
    }
    let last = [String::from("mean"), String::new()].into_iter().chain(sums.into_iter().map(cell));
    table.row(last.collect::<Vec<_>>());
    printer.result(&table.render(0, 2))?;
    Ok(Outcome::Done)
}

/// A table of errors, a row for each forecaster.
fn errors_table(rows: &[(&str, &ErrorSummary)]) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["", "MSE", "MAE", "MASE", "sMAPE %", "MAE in original units"].map(str::to_owned));
    for (name, errs) in rows {
        let cells = [errs.mse, errs.mae, errs.mase, errs.smape, errs.mae_own].map(cell);
        table.row(std::iter::once((*name).to_owned()).chain(cells).collect::<Vec<_>>());
    }
    table.render(0, 2)
}

fn text(folder: &Path, data: &str, model: &SeriesModel, found: &SeriesEvaluation) -> String {
    let mut text = format!(
        "{} on {data}: {} windows, look-back {}, horizon {}\n{}",
        folder.display(),
        found.windows,
        model.config.look_back,
        model.config.horizon,
        errors_table(&[
            (if found.blend.is_some() { "network" } else { "model" }, &found.errs),
            ("naive", &found.naive),
            (&format!("seasonal naive ({})", found.season), &found.seasonal_naive),
            ("look-back mean", &found.mean),
        ])
    );
    if let Some(blend) = &found.blend {
        text += &format!(
            "\nthe answer of `regard forecast` is a blend: network {:.0} %, base forecasters {:.0} %; after {} origins \
             of the test:\n{}",
            100.0 * blend.weights[0],
            100.0 * blend.weights[1],
            blend.origins,
            errors_table(&[("blend", &blend.blend), ("network", &blend.network), ("base", &blend.base)])
        );
    }
    if found.paper_dropped > 0 {
        text += &format!(
            "\nas in the authors' code, without the last {} windows: MSE {} MAE {}",
            found.paper_dropped,
            cell(found.mse_paper),
            cell(found.mae_paper)
        );
    }
    text
}

fn cell(number: f64) -> String {
    if number.abs() >= 100.0 { format!("{number:.1}") } else { format!("{number:.4}") }
}
