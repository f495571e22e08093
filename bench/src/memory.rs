//! Memory of one piece of work, in a process of its own.

use serde::Serialize;

use crate::{graphs, sets, training, vehicles};

/// Resident memory before the work, and the most there was.
#[derive(Serialize)]
pub(crate) struct Memory {
    pub(crate) before_mib: f64,
    pub(crate) peak_mib: f64,
}

/// Does the work of a cell once with instances of `nodes` nodes, a set of so many points, a graph of so many edges or a
/// batch of so many graphs.
pub(crate) fn measure(cell: &str, nodes: usize) -> Result<Memory, String> {
    let measured = match cell {
        "reinforce" => training::memory(nodes),
        "cvrp" => vehicles::memory(nodes),
        "isab" => sets::memory(nodes),
        "edges" => graphs::memory_of_edges(nodes),
        "train-molecules" | "train-blocks" => graphs::memory_of_step(cell, nodes),
        other => {
            let known = "reinforce, cvrp, isab, edges, train-molecules or train-blocks";
            return Err(format!("no memory of `{other}` is measured, expected {known}"));
        }
    };
    measured.map_err(|error| error.to_string())
}

/// The largest resident size of this process so far; 0 where the system does not say.
pub(crate) fn peak_resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
