//! Time series: panels of data frames, forecasts, training.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use regard::data::series::formats::forecasts::{Forecast, Forecasts};
use regard::data::series::formats::{Duplicates, LongColumns, Read, ReadOptions, StampColumn};
use regard::data::series::{Frequency, Panel};
use regard::experiment::find;
use regard::series::local_forecast::{Budget, LocalForecastOptions, Stage, forecast};
use regard::series::predict::{FileForecastOptions, SeriesModel};
use regard::series::source::Source;
use regard::series::{SeriesExperiment, TimeSeries};
use regard::supervised::base::Only;
use regard::{Device, Result, supervised};

use crate::arrays::{numbers, shaped, wrong_shape};
use crate::arrow::{Frame, Stamps};
use crate::compute::{OnInterrupt, long};
use crate::explain::{Trace, attribution_of, attribution_options};
use crate::failure::{OrRaise, in_python, invalid};
use crate::train::{Run, RunOptions};

/// Series on one clock, as they were read.
#[pyclass(frozen, name = "Panel", module = "regard._regard")]
pub(crate) struct PyPanel(Arc<Read>);

/// Options of reading rows; Python names the parts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    id: String,
    date: String,
    target: String,
    covariates: Vec<String>,
    statics: Vec<String>,
    frequency: Option<String>,
    duplicates: String,
    /// Static features of training, which are read in their place.
    known_statics: Option<Vec<String>>,
}

impl Reading {
    fn options(&self) -> PyResult<ReadOptions> {
        let frequency = self.frequency.as_deref().map(str::parse::<Frequency>).transpose().or_raise()?;
        let duplicates = match self.duplicates.as_str() {
            "error" => Duplicates::Error,
            "mean" => Duplicates::Mean,
            "last" => Duplicates::Last,
            other => {
                return Err(invalid("duplicates", &format!("is {other:?}, expected 'error', 'mean' or 'last'"), None));
            }
        };
        Ok(ReadOptions { frequency, duplicates, known_statics: self.known_statics.clone(), ..ReadOptions::default() })
    }
}

/// The columns of one frame, as they are read.
struct Rows {
    names: Vec<String>,
    series: Vec<u32>,
    stamps: Vec<i64>,
    dates: bool,
    values: Vec<f32>,
    covariates: Vec<Vec<f32>>,
}

fn singles(values: Vec<f64>) -> Vec<f32> {
    values.into_iter().map(|value| value as f32).collect()
}

impl Rows {
    /// The rows of a frame; those of the future have no values.
    fn of_frame(frame: &Frame, reading: &Reading, has_values: bool) -> PyResult<Self> {
        let codes = frame.codes(&reading.id)?;
        let (stamps, dates) = match frame.stamps(&reading.date)? {
            Stamps::Milliseconds(stamps) => (stamps, true),
            Stamps::Integers(stamps) => (stamps, false),
        };
        let values = match has_values {
            true => singles(frame.numbers(&reading.target)?),
            false => vec![f32::NAN; stamps.len()],
        };
        let covariates = reading.covariates.iter().map(|name| Ok(singles(frame.numbers(name)?)));
        let covariates = covariates.collect::<PyResult<_>>()?;
        Ok(Self { names: codes.names, series: codes.of, stamps, dates, values, covariates })
    }

    /// The rows of columns of numpy: names of the series, codes, stamps as milliseconds or integers, values, covariates.
    fn of_columns(columns: &NumpyColumns<'_>, reading: &Reading) -> PyResult<Self> {
        let single = |value: &Bound<'_, PyAny>, name: &str| {
            let found = numbers(value, name)?;
            match found.shape() {
                [_] => Ok(found.singles()),
                shape => Err(wrong_shape(name, shape, "[rows]")),
            }
        };
        let whole = |value: &Bound<'_, PyAny>, name: &str| -> PyResult<Vec<i64>> {
            Ok(value
                .extract::<numpy::PyReadonlyArray1<'_, i64>>()
                .map_err(|_| invalid(name, "is no array of int64", None))?
                .as_array()
                .iter()
                .copied()
                .collect())
        };
        let stamps = whole(&columns.stamps, &reading.date)?;
        let values = match &columns.values {
            Some(values) => single(values, &reading.target)?,
            None => vec![f32::NAN; stamps.len()],
        };
        let named = columns.covariates.iter().zip(&reading.covariates);
        Ok(Self {
            names: columns.names.clone(),
            series: whole(&columns.series, &reading.id)?.into_iter().map(|code| code as u32).collect(),
            dates: columns.dates,
            values,
            covariates: named.map(|(values, name)| single(values, name)).collect::<PyResult<_>>()?,
            stamps,
        })
    }

    /// These rows, followed by those of the future.
    fn followed_by(mut self, future: Self, reading: &Reading) -> PyResult<Self> {
        if self.dates != future.dates {
            let reason = "has dates in one frame and integers in the other";
            return Err(invalid(&format!("`{}`", reading.date), reason, None));
        }
        let place = |name: &String| {
            self.names.iter().position(|known| known == name).map(|at| at as u32).ok_or_else(|| {
                let reason = format!("has the series `{name}`, which has no values");
                invalid("X_df", &reason, None)
            })
        };
        let places = future.names.iter().map(place).collect::<PyResult<Vec<u32>>>()?;
        self.series.extend(future.series.iter().map(|code| places[*code as usize]));
        self.stamps.extend(future.stamps);
        self.values.extend(future.values);
        self.covariates.iter_mut().zip(future.covariates).for_each(|(values, more)| values.extend(more));
        Ok(self)
    }

    fn panel(self, reading: &Reading, statics: Vec<(String, Vec<String>)>) -> PyResult<PyPanel> {
        let stamps = match self.dates {
            true => StampColumn::Milliseconds(self.stamps),
            false => StampColumn::Integers(self.stamps),
        };
        let columns = LongColumns {
            id: reading.id.clone(),
            date: reading.date.clone(),
            target: reading.target.clone(),
            names: self.names,
            series: self.series,
            stamps,
            values: self.values,
            covariates: reading.covariates.iter().cloned().zip(self.covariates).collect(),
            statics,
        };
        Ok(PyPanel(Arc::new(columns.read(&reading.options()?).or_raise()?)))
    }
}

/// The columns of a pandas frame as arrays of numpy; Python names the parts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct NumpyColumns<'py> {
    names: Vec<String>,
    series: Bound<'py, PyAny>,
    stamps: Bound<'py, PyAny>,
    dates: bool,
    values: Option<Bound<'py, PyAny>>,
    covariates: Vec<Bound<'py, PyAny>>,
}

/// Static features of a frame with a row for each series, in the order of the series.
fn statics_of(frame: &Frame, reading: &Reading, names: &[String]) -> PyResult<Vec<(String, Vec<String>)>> {
    let codes = frame.codes(&reading.id)?;
    let texts = reading.statics.iter().map(|name| Ok((name.clone(), frame.texts(name)?)));
    let texts = texts.collect::<PyResult<Vec<_>>>()?;
    ordered_statics(&codes.names, &codes.of, texts, names)
}

fn ordered_statics(
    known: &[String],
    series: &[u32],
    texts: Vec<(String, Vec<String>)>,
    names: &[String],
) -> PyResult<Vec<(String, Vec<String>)>> {
    let row_of = |name: &String| {
        let mut rows = (0..series.len()).filter(|&row| known[series[row] as usize] == *name);
        match (rows.next(), rows.next()) {
            (Some(row), None) => Ok(row),
            (None, _) => Err(invalid("static_df", &format!("has no row of the series `{name}`"), None)),
            _ => Err(invalid("static_df", &format!("has several rows of the series `{name}`"), None)),
        }
    };
    let rows = names.iter().map(row_of).collect::<PyResult<Vec<usize>>>()?;
    let pick = |(name, texts): (String, Vec<String>)| (name, rows.iter().map(|row| texts[*row].clone()).collect());
    Ok(texts.into_iter().map(pick).collect())
}

#[pymethods]
impl PyPanel {
    /// Series of frames that have Arrow's C interface.
    #[staticmethod]
    #[pyo3(signature = (frame, future, statics, reading))]
    fn of_arrow(
        frame: &Bound<'_, PyAny>,
        future: Option<&Bound<'_, PyAny>>,
        statics: Option<&Bound<'_, PyAny>>,
        reading: Reading,
    ) -> PyResult<Self> {
        let mut rows = Rows::of_frame(&Frame::of(frame)?, &reading, true)?;
        if let Some(future) = future {
            rows = rows.followed_by(Rows::of_frame(&Frame::of(future)?, &reading, false)?, &reading)?;
        }
        let statics = match statics {
            Some(statics) => statics_of(&Frame::of(statics)?, &reading, &rows.names)?,
            None => vec![],
        };
        rows.panel(&reading, statics)
    }

    /// Series of columns of numpy; static features come as texts with the name of their series.
    #[staticmethod]
    #[pyo3(signature = (columns, future, statics, reading))]
    fn of_columns(
        columns: NumpyColumns<'_>,
        future: Option<NumpyColumns<'_>>,
        statics: Option<(Vec<String>, Vec<Vec<String>>)>,
        reading: Reading,
    ) -> PyResult<Self> {
        let mut rows = Rows::of_columns(&columns, &reading)?;
        if let Some(future) = future {
            rows = rows.followed_by(Rows::of_columns(&future, &reading)?, &reading)?;
        }
        let statics = match statics {
            Some((names, texts)) => {
                let series: Vec<u32> = (0..names.len() as u32).collect();
                let texts = reading.statics.iter().cloned().zip(texts).collect();
                ordered_statics(&names, &series, texts, &rows.names)?
            }
            None => vec![],
        };
        rows.panel(&reading, statics)
    }

    fn __len__(&self) -> usize {
        self.0.panel.len()
    }

    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.panel.names().collect()
    }

    /// Number of values of each series.
    #[getter]
    fn lengths(&self) -> Vec<usize> {
        self.0.panel.series().iter().map(regard::data::series::Series::len).collect()
    }

    #[getter]
    fn frequency(&self) -> String {
        self.0.panel.clock().frequency().to_string()
    }

    #[getter]
    fn season(&self) -> usize {
        self.0.panel.clock().season()
    }

    /// Everything that was filled, sorted, merged or left out, a line each.
    #[getter]
    fn report(&self) -> String {
        self.0.report.to_string()
    }

    /// Numbers of what was changed on reading: gaps, rows out of order, duplicates, missing values.
    #[getter]
    fn changes(&self) -> [usize; 4] {
        let report = &self.0.report;
        let missing = report.missing.iter().map(|(_, count)| count).sum();
        [report.gaps, report.out_of_order, report.duplicates, missing]
    }

    /// The panel without the last rows of each series.
    fn without_last(&self, rows: usize) -> PyResult<Self> {
        let panel = self.0.panel.without_last(rows).or_raise()?;
        Ok(Self(Arc::new(Read { panel, report: self.0.report.clone() })))
    }

    /// The values of each series between two places before its end, and their stamps: `[series][rows]`.
    #[expect(clippy::type_complexity, reason = "two lists for Python to take apart")]
    fn before_end(&self, first: usize, last: usize) -> PyResult<(Vec<Vec<f32>>, Vec<Vec<i64>>)> {
        let panel = &self.0.panel;
        let (mut values, mut stamps) = (Vec::new(), Vec::new());
        for one in panel.series() {
            let places = one.len().saturating_sub(first)..one.len().saturating_sub(last);
            values.push(one.values()[places.clone()].to_vec());
            let stamp = |at: usize| panel.clock().number(one.start() + at).or_raise();
            stamps.push(places.map(stamp).collect::<PyResult<_>>()?);
        }
        Ok((values, stamps))
    }
}

/// Forecasts as arrays: names, stamps and values `[series, horizon]`, and ends of intervals by level.
fn arrays_of<'py>(py: Python<'py>, panel: &Panel, found: &Forecasts) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let all = found.all();
    let horizon = all.first().map_or(0, |one| one.values.len());
    let shape = [all.len(), horizon];
    let mut stamps = Vec::with_capacity(all.len() * horizon);
    for one in all {
        for step in one.start..one.start + horizon {
            stamps.push(panel.clock().number(step).or_raise()?);
        }
    }
    let together =
        |of: &dyn Fn(&Forecast) -> Vec<f32>| shaped(py, all.iter().flat_map(of).collect::<Vec<f32>>(), &shape);
    result.set_item("names", all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>())?;
    result.set_item("stamps", shaped(py, stamps, &shape)?)?;
    result.set_item("dates", panel.clock().has_dates())?;
    result.set_item("values", together(&|one| one.values.clone())?)?;
    let levels = all.first().map_or(0, |one| one.intervals.len());
    let intervals = (0..levels).map(|at| {
        let level = all.first().map_or(0.0, |one| one.intervals[at].level);
        let low = together(&|one| one.intervals[at].low.clone())?;
        Ok((level, low, together(&|one| one.intervals[at].high.clone())?))
    });
    result.set_item("intervals", intervals.collect::<PyResult<Vec<_>>>()?)?;
    Ok(result)
}

/// A budget that ends with the flag, and the flag.
fn budget(seconds: Option<f64>) -> PyResult<(Budget, Arc<AtomicBool>)> {
    let stopped = Arc::new(AtomicBool::new(false));
    let budget = match seconds {
        None => Budget::unlimited(),
        Some(seconds) => match Duration::try_from_secs_f64(seconds) {
            Ok(time) if seconds > 0.0 => Budget::of(time),
            _ => return Err(invalid("time_limit", &format!("is {seconds}, expected seconds above 0"), None)),
        },
    };
    Ok((budget.until(stopped.clone()), stopped))
}

/// Calls a function of Python with the progress of forecasters.
fn teller(progress: Option<Py<PyAny>>) -> impl Fn(Stage<'_>) + Sync + Send + 'static {
    move |Stage { name, done, of }| {
        if let Some(progress) = &progress {
            // What a progress bar raises has no say in the forecast.
            let _ = Python::attach(|py| progress.call1(py, (name, done, of)));
        }
    }
}

/// Forecasts a panel by forecasters that are fitted to it.
#[pyfunction]
#[pyo3(signature = (panel, horizon, levels, seasons, keep_outliers, only, pretrained, pretrained_model, seconds, seed, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each option; Python names them")]
pub(crate) fn forecast_panel<'py>(
    py: Python<'py>,
    panel: &PyPanel,
    horizon: usize,
    levels: Vec<f64>,
    seasons: Vec<usize>,
    keep_outliers: bool,
    only: Option<&str>,
    pretrained: bool,
    pretrained_model: Option<PathBuf>,
    seconds: Option<f64>,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let only: Option<Only> = only.map(str::parse).transpose().map_err(|error: String| invalid("only", &error, None))?;
    let (budget, stopped) = budget(seconds)?;
    let pretrained = pretrained_model.or_else(SeriesModel::pretrained).filter(|_| pretrained && only.is_none());
    let pretrained = pretrained.map(|folder| SeriesModel::open(&folder, &Device::flex())).transpose().or_raise()?;
    let pretrained = pretrained.map(Arc::new);
    let options = LocalForecastOptions { horizon, levels, seasons, keep_outliers, only, pretrained, budget, seed };
    let (read, report) = (panel.0.clone(), teller(progress));
    let computed = move || forecast(&read, &options, &Device::flex(), &report);
    let found = long(py, OnInterrupt::Wait(stopped), computed)?.or_raise()?;
    let result = arrays_of(py, &panel.0.panel, &found.forecasts)?;
    let json = |text: serde_json::Result<String>| text.map_err(|error| invalid("report", &error.to_string(), None));
    result.set_item("members", json(serde_json::to_string(&found.members))?)?;
    result.set_item("back_test", json(serde_json::to_string(&found.back_test))?)?;
    result.set_item("seasons", found.seasons)?;
    result.set_item("look_back", found.look_back)?;
    result.set_item("cut_short", found.cut_short)?;
    result.set_item("warnings", found.warnings.iter().map(|text| in_python(text)).collect::<Vec<_>>())?;
    Ok(result)
}

/// Trains an experiment on a panel.
#[pyfunction]
pub(crate) fn train_series(
    py: Python<'_>,
    experiment: &str,
    settings: Vec<String>,
    panel: &PyPanel,
    options: RunOptions,
) -> PyResult<Py<PyDict>> {
    let (text, path) = find(experiment).or_raise()?;
    let experiment = SeriesExperiment::parse(&text, &path, &settings).or_raise()?;
    let read = panel.0.clone();
    Run::new(options).run(py, experiment, move |training, device, observer| {
        let (source, config) = Source::with_panel(&training.experiment, Read::clone(&read), None)?;
        supervised::train_on::<TimeSeries>(training, source.into(), config, device, observer)
    })
}

/// A model on time series.
#[pyclass(frozen, name = "SeriesModel", module = "regard._regard")]
pub(crate) struct PySeriesModel {
    model: Arc<SeriesModel>,
    name: String,
}

#[pymethods]
impl PySeriesModel {
    /// Opens a folder, or a built-in model.
    #[staticmethod]
    #[pyo3(signature = (path, only))]
    fn open(py: Python<'_>, path: PathBuf, only: Option<&str>) -> PyResult<Self> {
        let only = only.map(str::parse).transpose().map_err(|error: String| invalid("only", &error, None))?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let opened = move || SeriesModel::open(&path, &Device::flex())?.with_only(only);
        Ok(Self { model: Arc::new(long(py, OnInterrupt::Leave, opened)?.or_raise()?), name })
    }

    #[getter]
    fn horizon(&self) -> usize {
        self.model.config.horizon
    }

    #[getter]
    fn look_back(&self) -> usize {
        self.model.config.look_back
    }

    #[getter]
    fn series(&self) -> Vec<String> {
        self.model.config.data.names.clone()
    }

    #[getter]
    fn static_covariates(&self) -> Vec<String> {
        self.model.config.data.static_covariates.clone()
    }

    #[getter]
    fn future_covariates(&self) -> Vec<String> {
        self.model.config.data.future_covariates.clone()
    }

    /// Forecasts a panel by the network and base forecasters that are fitted to the panel.
    #[pyo3(signature = (panel, horizon, levels, seconds, keep_outliers, progress))]
    #[expect(clippy::too_many_arguments, reason = "one for each option; Python names them")]
    fn forecast<'py>(
        &self,
        py: Python<'py>,
        panel: &PyPanel,
        horizon: usize,
        levels: Vec<f64>,
        seconds: Option<f64>,
        keep_outliers: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (budget, stopped) = budget(seconds)?;
        let options = FileForecastOptions { horizon, levels, budget, keep_outliers, part: None };
        let (model, read, report) = (self.model.clone(), panel.0.clone(), teller(progress));
        let computed = move || {
            let series = model.known_series(Read::clone(&read))?;
            let unknown = series.unknown.clone();
            Ok((model.forecast_file(&series, &options, &report)?, unknown))
        };
        let (found, unknown) = long(py, OnInterrupt::Wait(stopped), move || -> Result<_> { computed() })?.or_raise()?;
        let result = arrays_of(py, &panel.0.panel, &found.forecasts)?;
        result.set_item("members", found.members)?;
        result.set_item("warnings", found.warnings.iter().map(|text| in_python(text)).collect::<Vec<_>>())?;
        result.set_item("unknown", unknown)?;
        Ok(result)
    }

    /// Everything that the network computes on the end of a series.
    fn explain(&self, py: Python<'_>, panel: &PyPanel, at: usize) -> PyResult<Trace> {
        let (model, read, name) = (self.model.clone(), panel.0.clone(), self.name.clone());
        let explained = move || model.explain(&name, &model.known_series(Read::clone(&read))?.panel, at);
        Ok(Trace::new(long(py, OnInterrupt::Leave, explained)?.or_raise()?))
    }

    /// Attribution of the mean of the next values of each series to patches and lags.
    #[pyo3(signature = (panel, horizon, method, samples, steps, seed))]
    #[expect(clippy::too_many_arguments, reason = "one for each option; Python names them")]
    #[expect(clippy::type_complexity, reason = "a tuple for Python to take apart")]
    fn attribute<'py>(
        &self,
        py: Python<'py>,
        panel: &PyPanel,
        horizon: usize,
        method: &str,
        samples: usize,
        steps: usize,
        seed: u64,
    ) -> PyResult<Vec<(String, Vec<[usize; 2]>, Option<Bound<'py, PyDict>>, Option<Bound<'py, PyDict>>)>> {
        let options = attribution_options(method, samples, steps, seed)?;
        let (model, read) = (self.model.clone(), panel.0.clone());
        let attributed =
            move || model.attribute_forecast(&model.known_series(Read::clone(&read))?, horizon, &options, &|_, _| {});
        let found = long(py, OnInterrupt::Leave, attributed)?.or_raise()?;
        found
            .into_iter()
            .map(|one| {
                let of = |part: &Option<_>| part.as_ref().map(|part| attribution_of(py, part)).transpose();
                Ok((one.name, one.patches, of(&one.of_patches)?, of(&one.of_lags)?))
            })
            .collect()
    }
}
