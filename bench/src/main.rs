//! The timing worker of `compare.py`: our side of the comparison with PyTorch.
//!
//! Reads one JSON object a line and answers with one:
//!
//! ```text
//! {"cell": "encoder", "n": 20, "seconds": 0.5}   ->   {"ms": [27.1, 27.0, ...]}
//! {"cell": "peak", "threads": 2, "simd": "avx512", "seconds": 0.5}   ->   {"gflops": 485.2}
//! ```
//!
//! With `--memory N` it makes one REINFORCE step with instances of N nodes and prints what it took.
//!
//! The first iteration of every request is not timed: after a pause the caches hold another process's data.

mod allocator;
mod model;
mod peak;
mod protocol;
mod timing;
mod training;

use std::io::{self, BufRead, Write};

use model::Model;
use protocol::{Answer, Hello, Request};

fn main() -> io::Result<()> {
    allocator::configure();
    let threads = std::env::var("BENCH_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(io::Error::other)?;
    let mut output = io::stdout().lock();
    if let [_, flag, nodes] = &std::env::args().collect::<Vec<_>>()[..]
        && flag == "--memory"
    {
        let nodes = nodes.parse().map_err(io::Error::other)?;
        return write_line(&mut output, &training::memory(nodes).map_err(io::Error::other)?);
    }
    let model = Model::new().map_err(io::Error::other)?;
    write_line(&mut output, &Hello::new(threads, model::BATCH))?;
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => answer(&model, &request),
            Err(error) => Answer::Error(error.to_string()),
        };
        write_line(&mut output, &answer)?;
    }
    Ok(())
}

/// Runs one request.
fn answer(model: &Model, request: &Request) -> Answer {
    match request.cell.as_str() {
        "peak" => peak::answer(request),
        "train-encoder" | "reinforce" => training::answer(request),
        _ => model.answer(request),
    }
}

fn write_line(output: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string(value)?)?;
    output.flush()
}
