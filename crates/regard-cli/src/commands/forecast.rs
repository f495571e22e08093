//! `regard forecast`.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use regard::Device;
use regard::data::names::{FeatureNames, first_of};
use regard::data::ranges::ColumnRanges;
use regard::data::series::formats::forecasts::{ForecastRow, Forecasts};
use regard::data::series::formats::{Read, ReadReport};
use regard::data::series::{Panel, Series};
use regard::data::table::write::{self, Cell, TableSource};
use regard::explain::attribution::AttributionOptions;
use regard::series::attribution::SeriesAttribution;
use regard::series::experiment::SeriesData;
use regard::series::local_forecast::{
    BackTest, Budget, LocalForecast, LocalForecastOptions, MemberReport, NETWORK, Stage, forecast,
};
use regard::series::predict::{FileForecastOptions, SeriesModel};
use regard::series::source::read_with;
use schemars::JsonSchema;
use serde::Serialize;

use super::train::interrupt;
use super::{Outcome, attribution, open_model};
use crate::args::ForecastArgs;
use crate::failure::Failure;
use crate::report::progress::{Done, StageProgress};
use crate::report::{Printer, number, series_plot, sparkline};
use crate::shard::Places;

/// The result for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ForecastResult<'a> {
    file: String,
    model: Option<String>,
    horizon: usize,
    frequency: String,
    season: usize,
    look_back: usize,
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    forecast: Vec<ForecastRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    backtest: Option<BackTestResult<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")]
    members: Option<MemberWeights<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seasons: Option<&'a [usize]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_short: Option<bool>,
}

/// Forecasters with their weights, and their errors where a back-test measured them.
#[derive(Serialize)]
#[serde(untagged)]
enum MemberWeights<'a> {
    Measured(&'a [MemberReport]),
    Known(Vec<MemberWeight<'a>>),
}

/// The weight of a forecaster.
#[derive(Serialize)]
struct MemberWeight<'a> {
    name: &'a str,
    weight: f64,
}

/// Errors of a back-test, and those of each forecaster.
#[derive(Serialize)]
struct BackTestResult<'a> {
    #[serde(flatten)]
    back_test: &'a BackTest,
    members: &'a [MemberReport],
}

/// True and forecast values of the held-out rows, with the columns of neuralforecast's and statsforecast's
/// cross-validation.
struct BackTestTable<'a> {
    back_test: &'a BackTest,
    panel: &'a Panel,
}

impl TableSource for BackTestTable<'_> {
    fn columns(&self) -> Vec<String> {
        ["unique_id", "ds", "cutoff", "y", "forecast"].map(str::to_owned).to_vec()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for (at, (one, forecast)) in self.panel.series().iter().zip(&self.back_test.forecasts).enumerate() {
            let Some(first) = one.len().checked_sub(forecast.len()).filter(|first| *first > 0) else { continue };
            let stamp = |row: usize| self.panel.stamp(at, row).map_err(io::Error::other);
            let cutoff = stamp(first - 1)?;
            for (step, forecast) in forecast.iter().enumerate() {
                let (stamp, y) = (stamp(first + step)?, one.values()[first + step]);
                let y = if y.is_finite() { Cell::Single(y) } else { Cell::Missing };
                let texts = [Cell::Text(one.name()), Cell::Text(&stamp), Cell::Text(&cutoff)];
                visit(&[&texts[..], &[y, Cell::Single(*forecast as f32)]].concat())?;
            }
        }
        Ok(())
    }
}

/// The forecasts of a file, and what is needed to show them.
pub(crate) struct Found {
    forecasts: Forecasts,
    /// The series in the units of the file.
    panel: Panel,
    look_back: usize,
    local: Option<LocalForecast>,
    /// Forecasters of a model with their weights.
    members: Vec<(String, f64)>,
    /// The part of the series, where one was asked for.
    places: Option<Places>,
}

impl Found {
    /// Says the errors of the back-test, where there is one, and how much of the answer knows covariates.
    pub(crate) fn note(&self, printer: &Printer) {
        if let Some(local) = &self.local {
            printer.note(&back_test_sentence(local));
        }
        if self.panel.covariates().is_empty() {
            return;
        }
        match 100.0 * self.network_weight() {
            0.0 if self.has_network() => printer.note(
                "covariates have no part in this forecast: only a network knows them, and it has no weight \
                 (`--only network` forecasts with it alone)",
            ),
            0.0 => {
                printer.note("covariates have no part in this forecast: only a network knows them, and there is none")
            }
            weight if weight < 99.5 => printer
                .note(&format!("covariates are known to the network alone, which has {weight:.0} % of the weight")),
            _ => {}
        }
    }

    /// If true, a network takes part in the choice of weights.
    fn has_network(&self) -> bool {
        let local = self.local.iter().flat_map(|local| &local.members).map(|one| one.name.as_str());
        self.members.iter().map(|(name, _)| name.as_str()).chain(local).any(|name| name == NETWORK)
    }

    /// The weight of the network that was trained on these series.
    fn network_weight(&self) -> f64 {
        let known = self.members.iter().map(|(name, weight)| (name.as_str(), *weight));
        let local = self.local.iter().flat_map(|local| &local.members).map(|one| (one.name.as_str(), one.weight));
        known.chain(local).filter(|(name, _)| *name == NETWORK).map(|(_, weight)| weight).sum()
    }

    /// The result for programs.
    pub(crate) fn result(&self, args: &ForecastArgs) -> ForecastResult<'_> {
        let Self { forecasts, panel, look_back, local, members, .. } = self;
        ForecastResult {
            file: args.file.display().to_string(),
            model: args.model.as_ref().map(|folder| folder.display().to_string()),
            horizon: forecasts.rows().len() / panel.len().max(1),
            frequency: panel.clock().frequency().to_string(),
            season: match local {
                Some(local) => local.seasons.first().copied().unwrap_or(1),
                None => panel.clock().season(),
            },
            look_back: *look_back,
            forecast: forecasts.rows(),
            backtest: local.as_ref().and_then(|local| local.back_test.as_ref()).map(|back_test| BackTestResult {
                back_test,
                members: local.as_ref().map_or(&[], |local| &local.members),
            }),
            members: Some(match local {
                Some(local) => MemberWeights::Measured(&local.members),
                None => MemberWeights::Known(
                    members.iter().map(|(name, weight)| MemberWeight { name, weight: *weight }).collect(),
                ),
            }),
            seasons: local.as_ref().map(|local| local.seasons.as_slice()),
            cut_short: local.as_ref().map(|local| local.cut_short),
        }
    }
}

/// Gives the switch that ends the fitting of forecasters.
type Interrupt<'a> = &'a dyn Fn() -> anyhow::Result<Arc<AtomicBool>>;

/// The answer for the series of a file.
pub(crate) enum ForecastAnswer {
    Forecast(Box<Found>),
    /// The attribution of the forecast of a network to patches and lags.
    Attributions(Vec<SeriesAttribution>),
}

impl ForecastAnswer {
    /// Reads the file and forecasts its series with a model, or by what is fitted to them; `interrupt` gives the switch
    /// that ends the fitting.
    pub(crate) fn of(
        args: &ForecastArgs,
        seed: u64,
        model: Option<&SeriesModel>,
        device: &Device,
        interrupt: Interrupt<'_>,
        printer: &Printer,
    ) -> anyhow::Result<Self> {
        args.check()?;
        if let (Some(options), Some(model)) = (args.attribution.options()?, model) {
            return Ok(Self::Attributions(attributions(args, model, &options, printer)?));
        }
        let found = match model {
            Some(model) => by_model(args, model, interrupt, printer)?,
            None => without_model(args, seed, device, interrupt, printer)?,
        };
        Ok(Self::Forecast(Box::new(found)))
    }
}

/// Forecasts the series of a file.
pub(super) fn run(args: &ForecastArgs, seed: u64, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    args.check()?;
    let open = |folder| -> regard::Result<SeriesModel> { open_model(folder, device, printer)?.with_only(args.only) };
    let model = args.model.as_deref().map(open).transpose()?;
    let interrupt = || interrupt("the forecasters that are done");
    match ForecastAnswer::of(args, seed, model.as_ref(), device, &interrupt, printer)? {
        ForecastAnswer::Attributions(found) => {
            let text = match printer.json() {
                true => attribution::series_json(&found).to_string(),
                false => write::csv(&attribution::SeriesTable(&found)),
            };
            printer.result(text.trim_end())?;
        }
        ForecastAnswer::Forecast(found) => print(args, &found, printer)?,
    }
    Ok(Outcome::Done)
}

/// Shows forecasts and writes the files that the arguments ask for.
fn print(args: &ForecastArgs, found: &Found, printer: &mut Printer) -> anyhow::Result<()> {
    show(args, found, printer)?;
    let Found { forecasts, panel, local, .. } = found;
    if let Some(path) = &args.out {
        let json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let written = match (json, args.wide) {
            (true, _) => forecasts.write_json(path),
            (false, true) => forecasts.write_wide(path, &date(args)),
            (false, false) => forecasts.write(path),
        };
        written.map_err(regard::Error::from)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    if printer.json() {
        printer.object(&found.result(args))?;
    } else if args.out.is_none() {
        let text = if args.wide { forecasts.wide_csv(&date(args)) } else { forecasts.csv() };
        printer.result(text.trim_end())?;
    }
    if let Some(path) = &args.keep_backtest {
        let back_test = local.as_ref().and_then(|local| local.back_test.as_ref());
        let Some(back_test) = back_test else {
            return Err(Failure::new("--keep-backtest: the series are too short for a back-test")
                .hint("choose a shorter --horizon")
                .into());
        };
        let table = BackTestTable { back_test, panel };
        write::write(path, &table).map_err(regard::Error::from)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    printer.end_of_part(found.places.as_ref())?;
    Ok(())
}

/// The name of the column of time stamps in what is written.
fn date(args: &ForecastArgs) -> String {
    match args.columns(SeriesData::default()).date {
        name if name.is_empty() => "date".to_owned(),
        name => name,
    }
}

/// Attributes the network's forecast to the patches and lags of the last window of each series.
fn attributions(
    args: &ForecastArgs,
    model: &SeriesModel,
    options: &AttributionOptions,
    printer: &Printer,
) -> anyhow::Result<Vec<SeriesAttribution>> {
    let horizon = args.horizon.unwrap_or(model.config.horizon);
    let columns = args.columns(model.columns());
    let series = model.read_to_forecast(&args.file, args.future.as_deref(), &columns, horizon)?;
    notes(&series.report, &series.unknown, printer);
    check_future(args, &series.own, horizon, printer)?;
    let found = model.attribute_forecast(&series, horizon, options, &attribution::progress(printer))?;
    let what = match model.base.as_ref().map(|base| base.weights[0]) {
        Some(weight) => format!("the network, which has {:.0} % of the weight in the answer", 100.0 * weight),
        None => "the network".to_owned(),
    };
    let what = format!("the mean of the next {horizon} values; {what}");
    attribution::report_series(options.method, &what, &found, printer);
    Ok(found)
}

fn by_model(
    args: &ForecastArgs,
    model: &SeriesModel,
    interrupt: Interrupt<'_>,
    printer: &Printer,
) -> anyhow::Result<Found> {
    let horizon = args.horizon.unwrap_or(model.config.horizon);
    let columns = args.columns(model.columns());
    let mut series = model.read_to_forecast(&args.file, args.future.as_deref(), &columns, horizon)?;
    let places = args.shard.places("forecast", series.own.len(), "series")?;
    notes(&series.report, &series.unknown, printer);
    check_future(args, &series.own, horizon, printer)?;
    drawn(args, &series.own)?;
    let budget = budget(args, series.own.len().saturating_mul(horizon), interrupt()?);
    let part = places.as_ref().map(|places| places.range.clone());
    let options = FileForecastOptions {
        horizon,
        levels: args.levels.clone(),
        budget: budget.clone(),
        keep_outliers: args.keep_outliers,
        part,
    };
    let found = watched(&budget, printer, |progress| model.forecast_file(&series, &options, progress))?;
    found.warnings.iter().for_each(|warning| printer.note(&format!("warning: {warning}")));
    if let (Some(base), None) = (&model.base, args.only) {
        let [network, of_base, blend] = base.mase;
        let not_fitted = base.not_fitted.as_ref().map(|reason| format!("; the better part has all weight: {reason}"));
        printer.note(&format!(
            "blend of {}\non the validation rows of the training: MASE of the network {network:.3}, of base \
             forecasters {of_base:.3}, of the blend {blend:.3}{}",
            shares(found.members.iter().map(|(name, weight)| (name.as_str(), *weight))),
            not_fitted.unwrap_or_default()
        ));
    }
    if let Some(places) = &places {
        let names: Vec<String> = series.own.names().map(str::to_owned).collect();
        series.own = series.own.select(&names[places.range.clone()])?;
    }
    let (forecasts, members) = (found.forecasts, found.members);
    Ok(Found { forecasts, panel: series.own, look_back: model.config.look_back, local: None, members, places })
}

fn without_model(
    args: &ForecastArgs,
    seed: u64,
    device: &Device,
    interrupt: Interrupt<'_>,
    printer: &Printer,
) -> anyhow::Result<Found> {
    let begun = Instant::now();
    let mut read: Read = read_with(&args.file, args.future.as_deref(), &args.columns(SeriesData::default()), None)?;
    if let Some(season) = args.season.iter().min() {
        read.report.season = *season;
    }
    warnings(&read.report, printer);
    if begun.elapsed() > args.time {
        let seconds = number::seconds(begun.elapsed().as_secs_f64());
        printer.note(&format!("reading the file took {seconds}, which is not part of --time"));
    }
    let Some(horizon) = args.horizon else {
        return Err(Failure::new("--horizon is required without --model").into());
    };
    check_future(args, &read.panel, horizon, printer)?;
    far_future(&read.panel, horizon).iter().for_each(|note| printer.note(note));
    drawn(args, &read.panel)?;
    let budget = budget(args, read.panel.len().saturating_mul(horizon), interrupt()?);
    let options = LocalForecastOptions {
        horizon,
        levels: args.levels.clone(),
        seasons: args.season.clone(),
        only: args.only,
        pretrained: args.pretrained(device)?,
        keep_outliers: args.keep_outliers,
        budget: budget.clone(),
        seed,
    };
    let found = watched(&budget, printer, |progress| forecast(&read, &options, device, progress));
    let local = found.map_err(|error| error.in_file(&args.file))?;
    local.warnings.iter().for_each(|warning| printer.note(&format!("warning: {warning}")));
    Ok(Found {
        forecasts: local.forecasts.clone(),
        panel: read.panel,
        look_back: local.look_back,
        local: Some(local),
        members: vec![],
        places: None,
    })
}

/// Time that a number of the answer takes to be written.
const OUTPUT: Duration = Duration::from_nanos(400);

/// The time for so many values and their intervals, without that for writing them; `stopped` ends it.
fn budget(args: &ForecastArgs, values: usize, stopped: Arc<AtomicBool>) -> Budget {
    let numbers = values.saturating_mul(1 + 2 * args.levels.len());
    let output = OUTPUT.saturating_mul(u32::try_from(numbers).unwrap_or(u32::MAX)).min(args.time / 4);
    Budget::of(args.time).without(output).until(stopped)
}

/// Forecasts with a picture of the progress.
fn watched<T>(
    budget: &Budget,
    printer: &Printer,
    run: impl FnOnce(&(dyn Fn(Stage<'_>) + Sync)) -> regard::Result<T>,
) -> regard::Result<T> {
    let progress = StageProgress::new(printer);
    run(&|Stage { name, done, of }| {
        let what = match name {
            NETWORK => "steps",
            name if name.contains("ridge") => "maps",
            _ => "series",
        };
        progress.show(Done { stage: name, done, of, what, limit: budget.left() });
    })
}

/// Refuses covariates that end before the horizon, and says where those of a file of their own go on after it.
fn check_future(args: &ForecastArgs, panel: &Panel, horizon: usize, printer: &Printer) -> anyhow::Result<()> {
    if panel.covariates().is_empty() {
        return Ok(());
    }
    let (file, future) = (&args.file, args.future.as_deref());
    let mut beyond = 0;
    for one in panel.series() {
        let known = one.known_steps();
        if known < horizon {
            let (what, way_out) = without_future(file, future, one, horizon);
            let shorter = if known > 0 { format!(", or --horizon {known}") } else { String::new() };
            return Err(what.hint(format!("{way_out}{shorter}")).into());
        }
        beyond = beyond.max(known - horizon);
    }
    if beyond > 0 {
        let file = future.unwrap_or(file).display();
        let rows = if beyond == 1 { "1 row lies".to_owned() } else { format!("{beyond} rows of a series lie") };
        let change = if beyond == 1 { "changes" } else { "change" };
        printer.note(&format!("{file}: {rows} beyond the horizon and {change} nothing (--horizon)"));
    }
    Ok(())
}

/// Sentences about covariates with values in the horizon that lie far outside those of the past of all series.
fn far_future(panel: &Panel, horizon: usize) -> Vec<String> {
    let names = FeatureNames::Named(panel.covariates().to_vec());
    let rows = |at: usize, of: fn(&Series, usize) -> Range<usize>| {
        panel.series().iter().flat_map(move |one| one.covariates()[at][of(one, horizon)].iter().copied())
    };
    let past = ColumnRanges::of(names.len(), |at| rows(at, |one, _| 0..one.len()));
    past.notes("the past", &names, |at| rows(at, |one, horizon| one.len()..one.len() + horizon))
}

/// The failure of a series whose covariates end before the horizon, and what its user may do.
pub(super) fn without_future(file: &Path, future: Option<&Path>, series: &Series, horizon: usize) -> (Failure, String) {
    let rows = number::of(series.known_steps(), "row");
    let (of_future, given) = match future {
        Some(_) => ("", format!("a row for each of the {horizon} values after its end")),
        None => (
            " with future covariates",
            format!("{horizon} rows after its end, with the target left empty, or a file of them by --future"),
        ),
    };
    let file = future.unwrap_or(file).display();
    let name = series.name();
    let what = format!("{file}: has {rows}{of_future} for series `{name}`, and the horizon is {horizon}");
    (Failure::new(what), format!("give {given}"))
}

/// Says what was read for a model, and which series it does not know.
pub(super) fn notes(report: &ReadReport, unknown: &[String], printer: &Printer) {
    warnings(report, printer);
    if !unknown.is_empty() {
        let names = first_of(5, unknown.iter().cloned());
        printer.note(&format!("no answer for series that are not in the training data: {names}"));
    }
}

/// Says what was read of a file, or of a part of it, filled, sorted and left out.
pub(super) fn warnings(report: &ReadReport, printer: &Printer) {
    // The first line counts rows, which parts of a file do together.
    report.to_string().lines().skip(usize::from(printer.says_once())).for_each(|line| printer.note(line));
}

/// Shows a picture, in the terminal and in a file, and the errors of a back-test.
fn show(args: &ForecastArgs, found: &Found, printer: &Printer) -> anyhow::Result<()> {
    let rows = found.forecasts.rows();
    let names: Vec<&str> = found.panel.names().collect();
    let at = drawn(args, &found.panel)?;
    for (series, name) in names.iter().enumerate().take(if args.series.is_some() { 0 } else { 4 }) {
        let values: Vec<f32> = rows.iter().filter(|row| row.unique_id == *name).map(|row| row.forecast).collect();
        printer.note(&sparkline::line(name, found.panel.series()[series].values(), &values));
    }
    if names.len() > 4 {
        printer.note(&format!("and {} more series", number::count(names.len() - 4)));
    }
    found.note(printer);
    if let Some(path) = &args.plot {
        let values: Vec<&ForecastRow> = rows.iter().filter(|row| row.unique_id == names[at]).collect();
        series_plot::draw(path, &found.panel, at, &values)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// The place of the series that is drawn.
fn drawn(args: &ForecastArgs, panel: &Panel) -> anyhow::Result<usize> {
    let Some(name) = &args.series else { return Ok(0) };
    let place = panel.names().position(|known| known == name);
    place.ok_or_else(|| {
        Failure::new(format!("--series {name}: unknown series"))
            .hint(format!("series of the file: {}", panel.names().take(5).collect::<Vec<_>>().join(", ")))
            .into()
    })
}

/// Forecasters with their weights in percent; those without weight are left out.
fn shares<'a>(members: impl Iterator<Item = (&'a str, f64)>) -> String {
    let parts =
        members.filter(|(_, weight)| *weight >= 0.005).map(|(name, weight)| format!("{name} {:.0} %", 100.0 * weight));
    parts.collect::<Vec<_>>().join(", ")
}

/// The errors of the blend in its back-test, and what it consists of.
fn back_test_sentence(local: &LocalForecast) -> String {
    let parts = shares(local.members.iter().map(|member| (member.name.as_str(), member.weight)));
    let cut = if local.cut_short { "; the time limit ended the training of the network early" } else { "" };
    let blend = format!("blend of {parts}{cut}");
    let Some(BackTest { rows, mase, seasonal_naive_mase, naive_mase, .. }) = &local.back_test else {
        return blend;
    };
    let better = 100.0 * (1.0 - mase / seasonal_naive_mase);
    let (simple, measured) = match local.seasons.is_empty() {
        true => ("naive", format!("{naive_mase:.3}")),
        false => ("seasonal naive", format!("{seasonal_naive_mase:.3}; naive {naive_mase:.3}")),
    };
    let verdict = match better {
        _ if *seasonal_naive_mase == 0.0 => format!("the {simple} forecast has no error on these rows"),
        better if better >= 0.0 => format!("{better:.0} % below the {simple} forecast"),
        _ => format!("{:.0} % above the {simple} forecast on these rows", -better),
    };
    let best = local.members.iter().filter_map(|member| member.mase.map(|mase| (mase, &member.name)));
    let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
    let best = best.map(|(mase, name)| format!("; best single forecaster: {name}, {mase:.3}")).unwrap_or_default();
    let of_network = local.members.iter().find(|member| member.name == NETWORK).and_then(|member| member.mase);
    let of_network = of_network.map(|mase| format!("; network alone: {mase:.3}")).unwrap_or_default();
    format!(
        "on the last {} (held out): MASE {mase:.3}, {verdict} ({measured}){best}{of_network}\n{blend}",
        number::of(*rows, "row")
    )
}
