//! `regard forecast`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use regard::Device;
use regard::data::file::check_writable;
use regard::experiment::DecimalMark;
use regard::series::experiment::{SeriesData, SeriesDuplicates, SeriesLayout};
use regard::series::predict::SeriesModel;
use regard::supervised::base::Only;

use super::attribution::AttributionArgs;
use crate::failure::Failure;
use crate::shard::ShardArgs;

/// Arguments of `regard forecast`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --model, simple forecasters (naive, theta, exponential smoothing, decomposition, regression on \
lags) and a small network are fitted to the file itself and weighted by a rolling-origin back-test. \
The last rows are held out to measure the blend. With --model, the network of the model is blended with \
the same forecasters. The forecast goes to standard output as CSV in the units of the file; --json adds \
the evaluation.

Examples:
  regard forecast passengers.csv --horizon 24 --plot passengers.svg
  regard forecast sales.csv --id shop --date day --target sold --horizon 14 --levels 80,95
  regard forecast sales.csv --covariates price,promo --future plan.csv --horizon 14
  regard forecast --model runs/etth1 ETTh1.csv --horizon 96 --json")]
pub(crate) struct ForecastArgs {
    /// Time series: CSV or gzipped CSV, with a column for each series, a row for each value, or a row for each series (M4)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Number of future values [default: the horizon of the model]
    #[arg(long, value_name = "H", value_parser = super::at_least_one)]
    pub(crate) horizon: Option<usize>,
    /// Model folder, or name of a built-in model [default: train on the file]
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Levels of the prediction intervals in percent, for example 80,95
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = super::percent)]
    pub(crate) levels: Vec<f64>,
    /// Lengths of seasons in rows, for example 24,168, or 1 for none [default: those of the time stamps, else found in
    /// the values]
    #[arg(long, value_name = "ROWS", value_delimiter = ',', value_parser = super::integer, conflicts_with = "model")]
    pub(crate) season: Vec<usize>,
    /// Let a single value of the last rows that is far from all others count for forecasts, as a new level would
    /// [default: forecasts are made without it]
    #[arg(long)]
    pub(crate) keep_outliers: bool,
    /// Forecast with the network alone, or without it [possible values: network, base]
    #[arg(long, value_name = "PART")]
    pub(crate) only: Option<Only>,
    /// Network trained on generated series that takes part without --model and --only: a model folder of `regard train
    /// series/pretrained`, or none [default: the built-in one]
    #[arg(long, value_name = "DIR|none", conflicts_with_all = ["model", "only"])]
    pretrained: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) attribution: AttributionArgs,
    /// Time for base forecasters, and for training without --model
    #[arg(long, value_name = "TIME", default_value = "40s", value_parser = super::duration)]
    pub(crate) time: Duration,
    /// Write the forecast to FILE: .csv or .json
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the back-test: true and forecast values of the held-out rows, with the last row before them as cutoff
    #[arg(long, value_name = "FILE.csv", value_parser = super::csv_file, conflicts_with = "model")]
    pub(crate) keep_backtest: Option<PathBuf>,
    /// Write one column for each series instead of one row for each value
    #[arg(long)]
    pub(crate) wide: bool,
    /// Draw a series and its forecast
    #[arg(long, value_name = "F.svg|F.png")]
    pub(crate) plot: Option<PathBuf>,
    /// Series to draw [default: the first]
    #[arg(long, value_name = "NAME", requires = "plot")]
    pub(crate) series: Option<String>,
    /// Column of time stamps [default: detected]
    #[arg(long, value_name = "COLUMN")]
    date: Option<String>,
    /// Format of the time stamps, such as %d/%m/%Y, or excel for days as Excel counts them [default: detected]
    #[arg(long, value_name = "FORMAT")]
    date_format: Option<String>,
    /// Decimal mark of the numbers: point or comma [default: what the numbers of a column show]
    #[arg(long, value_name = "MARK")]
    decimal: Option<DecimalMark>,
    /// Distance of the time stamps, such as day or 15min [default: the most common one]
    #[arg(long, value_name = "FREQUENCY")]
    frequency: Option<String>,
    /// Two rows of one series with the same time stamp: error, mean or last [default: error]
    #[arg(long, value_name = "WHICH")]
    duplicates: Option<SeriesDuplicates>,
    /// Column of series names in a long file [default: detected]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Columns of values; one column in a long file [default: all]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    target: Vec<String>,
    /// Columns of covariates whose future values are known: numbers, or few different texts
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    covariates: Vec<String>,
    /// Table of the future values of the covariates, a row for each time stamp after the end of a series
    /// [default: rows of the file whose values are empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) future: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
}

impl ForecastArgs {
    /// The columns of the file: those of the command line, else those of `data`.
    pub(crate) fn columns(&self, data: SeriesData) -> SeriesData {
        let layout = if self.id.is_some() { SeriesLayout::Long } else { data.layout };
        let given = |list: &[String], before: Vec<String>| if list.is_empty() { before } else { list.to_vec() };
        SeriesData {
            layout,
            date: self.date.clone().unwrap_or(data.date),
            date_format: self.date_format.clone().unwrap_or(data.date_format),
            decimal: self.decimal.unwrap_or(data.decimal),
            frequency: self.frequency.clone().unwrap_or(data.frequency),
            duplicates: self.duplicates.unwrap_or(data.duplicates),
            id: self.id.clone().unwrap_or(data.id),
            columns: given(&self.target, data.columns),
            future_covariates: given(&self.covariates, data.future_covariates),
            ..data
        }
    }

    /// The network that was trained on generated series, if one takes part.
    pub(crate) fn pretrained(&self, device: &Device) -> anyhow::Result<Option<Arc<SeriesModel>>> {
        let folder = match &self.pretrained {
            _ if self.only.is_some() => None,
            Some(word) if word.as_os_str() == "none" => None,
            Some(folder) => Some(folder.clone()),
            None => SeriesModel::pretrained(),
        };
        Ok(folder.map(|folder| SeriesModel::open(&folder, device)).transpose()?.map(Arc::new))
    }

    /// Checks the combination of options.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        super::refuse_same_levels(&self.levels)?;
        self.shard.refuse(&[
            ("--out", self.out.is_some()),
            ("--plot", self.plot.is_some()),
            ("--wide", self.wide),
            ("--attribution", self.attribution.options()?.is_some()),
        ])?;
        if let (Some(part), None) = (self.shard.shard, &self.model) {
            let what =
                format!("--shard {part} needs --model: without one, what is fitted to all series forecasts each");
            return Err(Failure::new(what).hint("train a model with `regard train series/forecast`").into());
        }
        if self.attribution.options()?.is_some() {
            let without = [
                ("--levels", !self.levels.is_empty()),
                ("--out", self.out.is_some()),
                ("--wide", self.wide),
                ("--plot", self.plot.is_some()),
            ];
            if self.model.is_none() || self.only == Some(Only::Base) {
                let what = "--attribution applies only to the network of a model";
                return Err(Failure::new(what).hint("give --model DIR, without --only base").into());
            }
            if let Some((name, _)) = without.iter().find(|(_, given)| *given) {
                return Err(Failure::new(format!("{name} does not apply to an attribution"))
                    .hint(format!("run the command a second time with {name}, without --attribution"))
                    .into());
            }
        }
        if self.model.is_none() && self.horizon.is_none() {
            return Err(Failure::new("--horizon is required without --model")
                .hint("for example --horizon 24 for the next 24 values")
                .into());
        }
        let ends = |path: &PathBuf, endings: &[&str]| {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
            endings.contains(&ending.as_str())
        };
        for (name, path, endings) in [("--out", &self.out, ["csv", "json"]), ("--plot", &self.plot, ["svg", "png"])] {
            if let Some(path) = path.as_ref().filter(|path| !ends(path, &endings)) {
                let [a, b] = endings;
                let what = format!("{name} {}: expected a name that ends in .{a} or .{b}", path.display());
                return Err(Failure::new(what).into());
            }
        }
        // A forecast takes long, and would be lost where it cannot be written.
        for path in [&self.out, &self.plot, &self.keep_backtest].into_iter().flatten() {
            check_writable(path).map_err(regard::Error::from)?;
        }
        Ok(())
    }
}
