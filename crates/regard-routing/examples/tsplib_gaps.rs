//! Measures the local search for the travelling salesman on a folder of TSPLIB files.
//!
//! ```text
//! cargo run --release -p regard-routing --example tsplib_gaps -- FOLDER [--places 400..3000] [--work 5,20,80 | --seconds 1,5] [--seeds 3]
//! ```
//!
//! Every file starts from the tour by savings. Prints one line of CSV per file, amount of work (perturbations per
//! node, or seconds by the clock) and seed: the time of the thread on the processor, which other processes do not change, and the gap to the
//! best known tour; then the means over the files on stderr. Two builds are compared at equal times.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the numbers are the program's result")]

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fmt, fs};

use regard_routing::problems::tsp::Tsp;
use regard_routing::{LocalSearchOptions, SolverInstance, formats};

type Fault = Box<dyn std::error::Error>;

fn main() -> Result<(), Fault> {
    let mut arguments = env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("expected a folder")?);
    let (mut places, mut amounts, mut seeds) = (400..3000, vec![Amount::Work(20)], 1);
    while let (Some(option), Some(value)) = (arguments.next(), arguments.next()) {
        match option.as_str() {
            "--places" => {
                let (low, high) = value.split_once("..").ok_or("expected LOW..HIGH")?;
                places = low.parse()?..high.parse()?;
            }
            "--work" => amounts = list(&value, Amount::Work)?,
            "--seconds" => amounts = list(&value, Amount::Seconds)?,
            "--seeds" => seeds = value.parse()?,
            _ => return Err(format!("no option {option}").into()),
        }
    }
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "tsp"));
    files.sort();
    println!("name,places,amount,seed,cpu_seconds,gap_percent");
    let mut instances = Vec::new();
    for file in files {
        let read = formats::read_instance(&file)?;
        let Some(tsp) = read.downcast_ref::<Tsp>() else { continue };
        if places.contains(&tsp.sites().len()) && tsp.sites().best_known().is_some() {
            instances.push(tsp.clone());
        }
    }
    for amount in amounts {
        let (mut times, mut gaps, mut optimal) = (0.0, 0.0, 0);
        for tsp in &instances {
            for seed in 1..=seeds {
                let (seconds, gap) = measure(tsp, amount, seed)?;
                let sites = tsp.sites();
                println!("{},{},{amount},{seed},{seconds:.3},{:.4}", sites.name(), sites.len(), 100.0 * gap);
                times += seconds;
                gaps += gap;
                optimal += usize::from(gap <= 0.0);
            }
        }
        let runs = instances.len() as f64 * seeds as f64;
        eprintln!("{amount}: {:.2} s, gap {:.4} %, {optimal} of {runs} optimal", times / runs, 100.0 * gaps / runs);
    }
    Ok(())
}

/// Length of a search.
#[derive(Clone, Copy)]
enum Amount {
    /// Perturbations per node.
    Work(usize),
    Seconds(f64),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Work(perturbations) => write!(f, "{perturbations}"),
            Self::Seconds(seconds) => write!(f, "{seconds}s"),
        }
    }
}

fn list<T>(text: &str, amount: impl Fn(T) -> Amount) -> Result<Vec<Amount>, T::Err>
where
    T: std::str::FromStr,
{
    text.split(',').map(|item| item.parse().map(&amount)).collect()
}

/// Seconds and gap of one search.
fn measure(tsp: &Tsp, amount: Amount, seed: u64) -> Result<(f64, f64), Fault> {
    let best = tsp.sites().best_known().ok_or("no best known length")?;
    let (_, start) = tsp.construct(None).ok_or("no construction")?;
    let begun = thread_seconds()?;
    let options = match amount {
        Amount::Work(perturbations_per_node) => {
            LocalSearchOptions { seed, perturbations_per_node, ..LocalSearchOptions::default() }
        }
        Amount::Seconds(seconds) => {
            let deadline = Some(Instant::now() + Duration::try_from_secs_f64(seconds)?);
            LocalSearchOptions { seed, perturbations_per_node: usize::MAX, deadline, ..LocalSearchOptions::default() }
        }
    };
    let tour = tsp.local_search(start, &options);
    let seconds = thread_seconds()? - begun;
    tsp.check(&tour)?;
    Ok((seconds, tsp.cost(&tour) / best - 1.0))
}

/// Seconds that this thread has spent on a processor.
fn thread_seconds() -> Result<f64, Fault> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9)
}
