//! Forecasts a table of time series without a network and prints JSON.
//!
//! ```text
//! cargo run --release -p regard-base --example forecast -- FILE --horizon 24 \
//!     [--seasons 24,168 | --seasons none | --seasons find] [--levels 80,95] [--budget SECONDS]
//! ```
//!
//! FILE is a table that the project's reader knows: `unique_id, ds, y` or one column for each series. Without
//! `--seasons` they come from the clock, and from the values where stamps are whole numbers.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::{Duration, Instant};

use regard_base::series::{ForecastOptions, Forecasts, clock_seasons, forecast};
use regard_data::series::formats::{ReadOptions, read};
use serde::Serialize;

#[derive(Serialize)]
struct Output {
    unique_id: Vec<String>,
    seconds: f64,
    #[serde(flatten)]
    forecasts: Forecasts,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut file = None;
    let mut options = ForecastOptions::default();
    let mut seasons = String::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--horizon" => options.horizon = value()?.parse()?,
            "--seasons" => seasons = value()?,
            "--levels" => options.levels = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--budget" => options.budget = Some(Duration::try_from_secs_f64(value()?.parse()?)?),
            _ => file = Some(argument),
        }
    }
    let read = read(file.ok_or("name a file")?, &ReadOptions::default())?;
    let clock = clock_seasons(read.panel.clock().frequency());
    options.seasons = match seasons.as_str() {
        "" if read.panel.clock().has_dates() => Some(clock),
        "" | "find" => None,
        "none" => Some(vec![]),
        list => Some(list.split(',').map(str::parse).collect::<Result<_, _>>()?),
    };
    let of = |one: &regard_data::series::Series| one.values().iter().map(|value| f64::from(*value)).collect();
    let series: Vec<Vec<f64>> = read.panel.series().iter().map(of).collect();
    let begun = Instant::now();
    let forecasts = forecast(&series, &options)?;
    let unique_id = read.panel.names().map(str::to_owned).collect();
    let output = Output { unique_id, seconds: begun.elapsed().as_secs_f64(), forecasts };
    println!("{}", serde_json::to_string(&output)?);
    Ok(())
}
