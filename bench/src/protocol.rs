//! What the driver asks and what the worker answers, one JSON object a line.

use serde::{Deserialize, Serialize};

/// What can be timed.
const CELLS: &str = "encoder, rollout, cvrp, sampling, isab, molecules, blocks, etth1, etth1-tfb, train-encoder, \
                     reinforce, pomo, train-isab, train-molecules, train-blocks, train-etth1, train-etth1-tfb or peak";

/// The first line the worker writes.
#[derive(Serialize)]
pub(crate) struct Hello {
    worker: &'static str,
    version: &'static str,
    threads: usize,
    /// Instances in a batch.
    batch: usize,
    /// The value of `REGARD_SIMD`, which limits the instructions the kernels use.
    simd: Option<String>,
}

impl Hello {
    /// A greeting that says how the worker was started.
    pub(crate) fn new(threads: usize, batch: usize) -> Self {
        Self {
            worker: "regard",
            version: env!("CARGO_PKG_VERSION"),
            threads,
            batch,
            simd: std::env::var("REGARD_SIMD").ok(),
        }
    }
}

/// One cell to be timed.
#[derive(Deserialize)]
pub(crate) struct Request {
    /// One of [`CELLS`].
    pub(crate) cell: String,
    /// Nodes of each instance, of `cvrp` customers, items of each set, graphs of a batch; not of a `peak` cell.
    #[serde(default)]
    pub(crate) n: usize,
    /// How long iterations are repeated; at least one is timed.
    pub(crate) seconds: f64,
    /// If true, the result in the precision of this process is compared with that in single precision instead.
    #[serde(default)]
    pub(crate) error: bool,
    /// Threads of a `peak` cell.
    #[serde(default = "one")]
    pub(crate) threads: usize,
    /// Instructions of a `peak` cell: `avx512`, `avx2` or `auto`.
    #[serde(default = "auto")]
    pub(crate) simd: String,
}

fn one() -> usize {
    1
}

fn auto() -> String {
    "auto".to_owned()
}

/// The answer to one request.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// Milliseconds of each timed iteration.
    Ms(Vec<f64>),
    /// Root of the mean squared difference of a result from that in single precision, beside the root of its mean square.
    Deviation(f64),
    /// Rate of a `peak` cell in 10^9 operations a second.
    Gflops(f64),
    /// The request could not be run, and why.
    Error(String),
}

impl Answer {
    /// The answer to a cell this worker does not have.
    pub(crate) fn unknown(cell: &str) -> Self {
        Answer::Error(format!("unknown cell `{cell}`, expected {CELLS}"))
    }
}
