//! The timing worker of `compare.py`: our side of the comparison with PyTorch.
//!
//! Reads one JSON object a line and answers with one:
//!
//! ```text
//! {"cell": "encoder", "n": 20, "seconds": 0.5}   ->   {"ms": [27.1, 27.0, ...]}
//! {"cell": "peak", "threads": 2, "simd": "avx512", "seconds": 0.5}   ->   {"gflops": 485.2}
//! ```
//!
//! With `--memory CELL N` it does the work of a cell once, `reinforce` or `cvrp` with instances of N nodes, `isab` with
//! a set of N points, `edges` with a graph of N edges or `train-molecules` and `train-blocks` with N graphs, and prints
//! what that took. With `--vehicles FOLDER` it writes what both sides of the `cvrp` cell read. With
//! `--trace` it prints what the steps of a trace cost where nothing is recorded.
//!
//! The first iteration of every request is not timed: after a pause the caches hold another process's data.

mod allocator;
mod graphs;
mod memory;
mod model;
mod peak;
mod protocol;
mod series;
mod sets;
mod timing;
mod trace;
mod training;
mod vehicles;

use std::io::{self, BufRead, Write};
use std::path::Path;

use model::{Model, SEED};
use protocol::{Answer, Hello, Request};
use regard::nn::precision::{Precision, set_precision};
use regard::nn::with_seed;

fn main() -> io::Result<()> {
    allocator::configure();
    let threads = std::env::var("BENCH_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(io::Error::other)?;
    if let Some(precision) = std::env::var("BENCH_PRECISION").ok().and_then(|name| Precision::of_name(&name)) {
        set_precision(precision).map_err(|_| io::Error::other("this processor does not have that precision"))?;
    }
    let mut output = io::stdout().lock();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => serve(threads, &mut output),
        ["--memory", cell, nodes] => {
            let nodes = nodes.parse().map_err(io::Error::other)?;
            write_line(&mut output, &memory::measure(cell, nodes).map_err(io::Error::other)?)
        }
        ["--vehicles", folder] => vehicles::write(Path::new(folder)).map_err(io::Error::other),
        ["--trace"] => write_line(&mut output, &trace::measure().map_err(io::Error::other)?),
        _ => Err(io::Error::other("expected no arguments, --memory CELL N, --vehicles FOLDER or --trace")),
    }
}

/// Answers requests until the input ends. Weights are those of a seed, so that errors are the same in every run.
fn serve(threads: usize, output: &mut impl Write) -> io::Result<()> {
    let device = timing::device();
    let model = with_seed(&device, SEED, Model::new).map_err(io::Error::other)?;
    write_line(output, &Hello::new(threads, model::BATCH))?;
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => with_seed(&device, SEED, || answer(&model, &request)),
            Err(error) => Answer::Error(error.to_string()),
        };
        write_line(output, &answer)?;
    }
    Ok(())
}

/// Runs one request.
fn answer(model: &Model, request: &Request) -> Answer {
    match request.cell.as_str() {
        "peak" => peak::answer(request),
        "train-encoder" | "reinforce" | "pomo" => training::answer(request),
        "cvrp" => vehicles::answer(request),
        "isab" | "train-isab" => sets::answer(request),
        "molecules" | "blocks" | "train-molecules" | "train-blocks" => graphs::answer(request),
        "etth1" | "etth1-tfb" | "train-etth1" | "train-etth1-tfb" => series::answer(request),
        _ => model.answer(request),
    }
}

fn write_line(output: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string(value)?)?;
    output.flush()
}
