//! Measures construction and local search on files of vehicle routing, with time windows or without.
//!
//! ```text
//! cargo run --release -p regard-routing --example vrp_gaps -- SECONDS SEED FILE...
//! ```
//!
//! Prints one line of CSV per file: cost after construction, cost and routes after the search, and the gap to the best
//! known cost in per cent where one stands beside the file. The search runs on one thread.

#![allow(clippy::print_stdout, reason = "the numbers are the program's result")]

use std::env;
use std::time::{Duration, Instant};

use regard_routing::formats::read_instance;
use regard_routing::problems::{cvrp::Cvrp, cvrptw::Cvrptw};
use regard_routing::{Instance, LocalSearchOptions, SolverInstance};

type Fault = Box<dyn std::error::Error>;

fn main() -> Result<(), Fault> {
    let mut arguments = env::args().skip(1);
    let seconds: f64 = arguments.next().ok_or("expected SECONDS")?.parse()?;
    let seed: u64 = arguments.next().ok_or("expected SEED")?.parse()?;
    println!("name,constructed,cost,routes,gap_percent");
    for file in arguments {
        let instance = read_instance(&file)?;
        let found = match (instance.downcast_ref::<Cvrp>(), instance.downcast_ref::<Cvrptw>()) {
            (Some(cvrp), _) => search(cvrp, seconds, seed),
            (_, Some(cvrptw)) => search(cvrptw, seconds, seed),
            _ => continue,
        };
        let Some((constructed, solution)) = found else { continue };
        report(&instance, constructed, &solution)?;
    }
    Ok(())
}

/// The cost of a constructed solution, and the solution after the search.
fn search<I: SolverInstance>(instance: &I, seconds: f64, seed: u64) -> Option<(f64, Vec<usize>)> {
    let deadline = Instant::now() + Duration::from_secs_f64(seconds);
    let options = LocalSearchOptions {
        seed,
        perturbations_per_node: usize::MAX,
        deadline: Some(deadline),
        ..LocalSearchOptions::default()
    };
    let (_, start) = instance.construct(Some(deadline))?;
    let constructed = instance.value(&start);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    Some((constructed, pool.install(|| instance.local_search(start, &options))))
}

fn report(instance: &Instance, constructed: f64, solution: &[usize]) -> Result<(), Fault> {
    instance.check(solution)?;
    let cost = instance.value(solution);
    let gap = instance.gap(cost).map(|gap| format!("{:.3}", 100.0 * gap)).unwrap_or_default();
    let (name, routes) = (instance.sites().name(), instance.routes(solution).len());
    println!("{name},{constructed:.1},{cost:.1},{routes},{gap}");
    Ok(())
}
