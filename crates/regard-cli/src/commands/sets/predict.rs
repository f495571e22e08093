//! `regard predict`.

use regard::Device;
use regard::data::predictions::decide;
use regard::data::sets::Bags;
use regard::data::sets::formats::mixtures::Mixtures;
use regard::data::sets::formats::predictions::{Predicted, Predictions};
use regard::explain::attribution::{Attribution, AttributionOptions};
use regard::sets::experiment::SetData;
use regard::sets::predict::{MixtureOptions, SetModel, SetPredictions};
use regard::sets::task::TaskKind;
use regard::supervised::base::BaseModel;
use serde_json::Value;

use super::columns;
use crate::args::PredictArgs;
use crate::commands::intervals::with_intervals;
use crate::commands::parts::in_parts;
use crate::commands::{Outcome, attribution, open_model};
use crate::failure::Failure;
use crate::report::{Printer, measures, sets_plot};

/// Predicts for the sets of a file.
pub(crate) fn predict(args: &PredictArgs, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let model: SetModel = open_model(&args.model, device, printer)?.with_only(args.only)?;
    let text = |bags: &Bags, printer: &Printer| -> anyhow::Result<String> {
        let answer = SetAnswer::of(args, &model, bags, None, printer)?;
        write(args, &answer, bags, printer)?;
        Ok(if printer.json() { answer.json().to_string() } else { answer.csv(args) })
    };
    if args.plot.is_some() || args.rows.is_some() || args.shard.shard.is_some() {
        let mut bags = read(args, &model, printer)?;
        let places = args.shard.places("predict", bags.len(), "sets")?;
        if let Some(places) = &places {
            bags = bags.select(&places.range.clone().collect::<Vec<_>>());
        }
        printer.result(&text(&bags, printer)?)?;
        printer.end_of_part(places.as_ref())?;
        return Ok(Outcome::Done);
    }
    let data = columns_of(args, &model);
    in_parts(&args.file, data.division(), printer, &|printer| text(&read(args, &model, printer)?, printer))?;
    Ok(Outcome::Done)
}

/// Reads the sets of a file.
pub(crate) fn read(args: &PredictArgs, model: &SetModel, printer: &Printer) -> anyhow::Result<Bags> {
    args.check_for_sets()?;
    let bags = model.read(&args.file, &columns_of(args, model), false)?;
    bags.notes().iter().for_each(|note| printer.note(note));
    let empty = (0..bags.len()).filter(|&bag| bags.size(bag) == 0).count();
    if empty > 0 {
        let sets = if empty == 1 { "1 set is".to_owned() } else { format!("{empty} sets are") };
        printer.note(&format!("warning: {sets} empty; predictions for empty sets have no meaning"));
    }
    Ok(bags)
}

/// The columns of the file: those of the command line, else those of the model.
fn columns_of(args: &PredictArgs, model: &SetModel) -> SetData {
    let data = columns(model, args.group_by.clone());
    SetData { decimal: args.decimal.unwrap_or(data.decimal), ..data }
}

/// If the answer follows from one pass through the network, true where the pass also gives the attention weights of rows;
/// `None` for clusters and attributions.
pub(crate) fn forward_pass(args: &PredictArgs, model: &SetModel) -> Option<bool> {
    let one_pass = model.config.task != TaskKind::Clustering && args.attribution.attribution.is_none();
    one_pass.then(|| args.importance || args.plot.is_some())
}

/// The answer for the sets of a file.
pub(crate) enum SetAnswer<'b> {
    /// A prediction for each set, or a score for each row.
    Predictions { predictions: Predictions<'b>, found: SetPredictions, only_rows: bool },
    /// The attribution of each prediction to the rows of its set.
    Attributions { predictions: Predictions<'b>, found: Vec<Attribution> },
    /// The clusters of each set.
    Mixtures(Mixtures<'b>),
}

impl<'b> SetAnswer<'b> {
    /// Computes the answer; `found` are the predictions of [`forward_pass`] where they are known.
    pub(crate) fn of(
        args: &PredictArgs,
        model: &SetModel,
        bags: &'b Bags,
        found: Option<SetPredictions>,
        printer: &Printer,
    ) -> anyhow::Result<Self> {
        match model.config.task {
            TaskKind::Clustering => mixtures(args, model, bags),
            _ => predictions(args, model, bags, found, printer),
        }
    }

    /// A list with an object for each set.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Predictions { predictions, .. } => predictions.json(),
            Self::Attributions { predictions, found } => {
                let mut list = predictions.json();
                let objects = list.as_array_mut().into_iter().flatten().filter_map(|one| one.as_object_mut());
                objects.zip(found).for_each(|(object, found)| attribution::fill(found, object));
                list
            }
            Self::Mixtures(found) => found.json(),
        }
    }

    fn csv(&self, args: &PredictArgs) -> String {
        let (predictions, by_row) = match self {
            Self::Predictions { predictions, only_rows, .. } => {
                (predictions, *only_rows || args.importance && args.rows.is_none())
            }
            Self::Attributions { predictions, .. } => (predictions, args.rows.is_none()),
            Self::Mixtures(found) => return found.csv(),
        };
        if by_row { predictions.rows_csv() } else { predictions.csv() }
    }
}

/// The answer of a model that predicts for sets or rows.
fn predictions<'b>(
    args: &PredictArgs,
    model: &SetModel,
    bags: &'b Bags,
    found: Option<SetPredictions>,
    printer: &Printer,
) -> anyhow::Result<SetAnswer<'b>> {
    let only_rows = model.config.task.of_items();
    if args.refine > 0 || args.rescale {
        return Err(Failure::new("--refine and --rescale apply only to clustering models")
            .hint(format!("`{}` is a model for {}", args.model.display(), model.config.task.name()))
            .into());
    }
    if args.rows.is_some() && !args.importance && !only_rows && args.attribution.attribution.is_none() {
        return Err(Failure::new("--rows does not apply: the model predicts for sets, not for their rows")
            .hint(
                "add --attribution leave-one-out to write how much each row changes the prediction, or --importance to \
                   write its attention weight",
            )
            .into());
    }
    if let Some(options) = args.attribution.options()? {
        return attributions(model, bags, &options, printer);
    }
    let with_attention = args.importance || args.plot.is_some();
    if with_attention && model.network_has_no_weight() {
        printer.note(measures::NO_WEIGHT);
    }
    let mut found = match found {
        Some(found) => found,
        None => model.predict(bags, with_attention)?,
    };
    found.of_sets = match found.of_sets {
        Some(predicted) => Some(with_intervals(predicted, model, true, args, printer)?),
        None if args.levels.is_empty() => None,
        None => {
            return Err(Failure::new("--levels does not apply: the model scores rows")
                .hint("it is for models that predict numbers")
                .into());
        }
    };
    if found.of_sets.as_ref().is_some_and(Predicted::has_rare_class) {
        printer.note(measures::BALANCED);
    }
    let mut predictions = Predictions::new(bags, found.of_sets.clone()).map_err(regard::Error::from)?;
    if let Some(rows) = found.of_items.clone().filter(|_| args.importance || only_rows) {
        let name = if only_rows { "score" } else { "importance" };
        predictions = predictions.with_rows(name, rows).map_err(regard::Error::from)?;
    }
    Ok(SetAnswer::Predictions { predictions, found, only_rows })
}

/// The attribution of the prediction for each set to its rows.
fn attributions<'b>(
    model: &SetModel,
    bags: &'b Bags,
    options: &AttributionOptions,
    printer: &Printer,
) -> anyhow::Result<SetAnswer<'b>> {
    let found = model.attribute(bags, options, &attribution::progress(printer))?;
    let what = match model.config.task {
        TaskKind::Classification => "the probability of the predicted class",
        _ => "the predicted number",
    };
    let part = attribution::part(model.network_has_no_weight(), model.base.is_some());
    let of_trees = model.network_has_no_weight() && model.base.as_ref().is_some_and(BaseModel::has_trees);
    let all: Vec<&Attribution> = found.iter().collect();
    attribution::report(options.method, &format!("{what}; {part}"), &all, of_trees, printer);
    let of_sets = model.predict(bags, false)?.of_sets;
    let values = found.iter().flat_map(|one| one.values.clone()).collect();
    let predictions = Predictions::new(bags, of_sets).and_then(|all| all.with_rows("attribution", values));
    Ok(SetAnswer::Attributions { predictions: predictions.map_err(regard::Error::from)?, found })
}

/// The answer of a model that finds clusters.
fn mixtures<'b>(args: &PredictArgs, model: &SetModel, bags: &'b Bags) -> anyhow::Result<SetAnswer<'b>> {
    if !args.levels.is_empty() {
        return Err(Failure::new("--levels does not apply: a clustering model predicts mixtures")
            .hint("it is for models that predict numbers")
            .into());
    }
    if args.attribution.attribution.is_some() {
        return Err(Failure::new("--attribution: a clustering model predicts mixtures, not one answer for a set")
            .hint("--rows FILE writes the cluster of every row")
            .into());
    }
    if args.importance {
        return Err(Failure::new("--importance: a clustering model has no attention weights of rows")
            .hint("--rows FILE writes the cluster of every row")
            .into());
    }
    let options = MixtureOptions { refine: args.refine, rescale: args.rescale };
    Ok(SetAnswer::Mixtures(Mixtures::new(bags, model.mixtures(bags, options)?).map_err(regard::Error::from)?))
}

/// Draws an example and writes the table of rows, where the arguments ask for it.
fn write(args: &PredictArgs, answer: &SetAnswer<'_>, bags: &Bags, printer: &Printer) -> anyhow::Result<()> {
    if let Some(file) = &args.plot {
        let bag = args.example_to_draw(bags.ids(), "set")?;
        match answer {
            SetAnswer::Predictions { found, .. } => {
                let all = found.of_items.as_deref().unwrap_or_default();
                let weights = &all[bags.offsets()[bag]..bags.offsets()[bag + 1]];
                sets_plot::importances(file, bags, bag, weights, &sentence(found, bag))?;
            }
            SetAnswer::Mixtures(found) => draw_clusters(file, found, bags, bag)?,
            SetAnswer::Attributions { .. } => return Ok(()),
        }
        printer.note(&format!("wrote {}", file.display()));
    }
    let Some(file) = &args.rows else { return Ok(()) };
    let written = match answer {
        SetAnswer::Predictions { predictions, .. } | SetAnswer::Attributions { predictions, .. } => {
            predictions.write_rows(file)
        }
        SetAnswer::Mixtures(found) => found.write_rows(file),
    };
    written.map_err(regard::Error::from)?;
    printer.note(&format!("wrote {}", file.display()));
    Ok(())
}

fn draw_clusters(file: &std::path::Path, found: &Mixtures<'_>, bags: &Bags, bag: usize) -> anyhow::Result<()> {
    let Some(mixture) = found.of(bag) else {
        return Err(Failure::new(format!("--plot: the set `{}` is empty", bags.ids()[bag])).into());
    };
    if bags.width() < 2 {
        return Err(Failure::new("--plot: points need at least two coordinates to be drawn").into());
    }
    sets_plot::clusters(file, bags, bag, mixture, found.components(bag))
}

/// The prediction for a set, for a picture.
fn sentence(found: &SetPredictions, bag: usize) -> String {
    match &found.of_sets {
        None => "scores".to_owned(),
        Some(Predicted::Numbers { values, .. }) => format!("prediction {:.4}", values[bag]),
        Some(Predicted::Classes { names, probabilities, shares }) => {
            let of_bag = &probabilities[bag * names.len()..(bag + 1) * names.len()];
            let best = decide(of_bag, shares);
            format!("{} with {:.1} %", names[best], 100.0 * of_bag[best])
        }
    }
}
