//! Forecasts without a network: simple forecasts, the theta method, exponential smoothing, decompositions and ridge
//! regression on lags, weighed by a rolling-origin back-test, with conformal intervals.
//!
//! [`forecast`] does all of it. Its stages are public, so that a network can be one more member:
//!
//! 1. [`Plan::new`] finds seasons and places origins;
//! 2. [`Plan::base_members`] runs the base members at all origins, the end of the series included;
//! 3. [`Members::add`] takes a member that was computed elsewhere;
//! 4. [`Plan::weights`] fits weights to errors after the validation origins;
//! 5. [`Plan::blend`] gives the forecasts with intervals, and the errors of the held-out rows.
//!
//! Without a time limit the result depends on the values alone, on any number of threads. A series' forecast may
//! depend on the other series, not on their order.

mod blend;
mod budget;
mod decomposition;
mod ets;
mod history;
mod intervals;
mod members;
mod plan;
mod report;
mod ridge;
mod seasons;
mod simple;
mod simplex_search;
mod theta;

use regard_data::Result;

pub use self::blend::Weights;
pub use self::budget::{Budget, Progress, Stage};
pub use self::history::{interpolated, recent_outlier};
pub use self::members::{Member, Members};
pub use self::plan::{ForecastOptions, Origin, OriginKind, Plan};
pub use self::report::{
    BackTest, Forecasts, IntervalCoverage, MemberReport, PinballLoss, PredictionInterval, QuantileLoss, SeriesForecast,
};
pub use self::seasons::clock_seasons;
pub use self::simple::{drift, naive, seasonal_naive, seasonal_window_average, window_average};

/// Forecasts the series of a panel; `series` holds the values of each, `[rows]`, in which NaN is missing.
///
/// # Errors
/// [`Error::Invalid`](regard_data::Error::Invalid) for impossible options, or where no series has a value.
///
/// ```
/// use regard_base::series::{ForecastOptions, forecast};
///
/// let values: Vec<f64> = (0..40).map(|at| 10.0 + [3.0, 0.0, -2.0, -1.0][at % 4]).collect();
/// let options = ForecastOptions { horizon: 4, seasons: Some(vec![4]), ..ForecastOptions::default() };
/// let forecasts = forecast(&[values], &options)?;
/// assert!((forecasts.series[0].values[0] - 13.0).abs() < 0.1);
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn forecast(series: &[Vec<f64>], options: &ForecastOptions) -> Result<Forecasts> {
    forecast_with(series, options, &|_| ())
}

/// As [`forecast`], with a report of the progress.
///
/// # Errors
/// As there.
pub fn forecast_with(series: &[Vec<f64>], options: &ForecastOptions, progress: Progress<'_>) -> Result<Forecasts> {
    let plan = Plan::new(series, options)?;
    let members = plan.base_members_with(progress);
    let weights = plan.weights(&members);
    Ok(plan.blend(&members, &weights))
}
