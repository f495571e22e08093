//! Forecasts a table of time series without a network and prints JSON.
//!
//! ```text
//! cargo run --release -p regard-base --example forecast -- FILE --horizon 24 \
//!     [--seasons 24,168 | --seasons none | --seasons find] [--levels 80,95] [--budget SECONDS] [--members]
//! ```
//!
//! FILE is a table that the project's reader knows: `unique_id, ds, y` or one column for each series. Without
//! `--seasons` they come from the clock, and from the values where stamps are whole numbers. `--members` also prints
//! each member's forecasts.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::{Duration, Instant};

use regard_base::series::{Budget, ForecastOptions, Forecasts, Plan, clock_seasons};
use regard_data::series::formats::{ReadOptions, read};
use serde::Serialize;

#[derive(Serialize)]
struct Output {
    unique_id: Vec<String>,
    seconds: f64,
    /// `[member][series][horizon]`
    member_forecasts: Vec<(String, Vec<Vec<f64>>)>,
    #[serde(flatten)]
    forecasts: Forecasts,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut file = None;
    let mut options = ForecastOptions::default();
    let mut seasons = String::new();
    let mut with_members = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--horizon" => options.horizon = value()?.parse()?,
            "--seasons" => seasons = value()?,
            "--levels" => options.levels = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--budget" => options.budget = Budget::of(Duration::try_from_secs_f64(value()?.parse()?)?),
            "--members" => with_members = true,
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
    let plan = Plan::new(&series, &options)?;
    let members = plan.base_members();
    let forecasts = plan.blend(&members, &plan.weights(&members));
    let seconds = begun.elapsed().as_secs_f64();
    let last = |at: usize, series: usize| members.forecasts(&plan, at, series).and_then(|mut all| all.pop());
    let of_member = |(at, name): (usize, &str)| {
        let all = (0..plan.len()).map(|series| last(at, series).unwrap_or_default()).collect();
        (name.to_owned(), all)
    };
    let member_forecasts = members.names().enumerate().filter(|_| with_members).map(of_member).collect();
    let unique_id = read.panel.names().map(str::to_owned).collect();
    let output = Output { unique_id, seconds, member_forecasts, forecasts };
    println!("{}", serde_json::to_string(&output)?);
    Ok(())
}
