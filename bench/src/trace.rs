//! The cost of the trace where nothing is recorded: a look at a flag for each step of a forward pass.

use std::hint::black_box;
use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor, TensorData};
use regard::routes::model::{AttentionModel, AttentionModelConfig};
use regard::routing::Problem;
use regard::routing::generate;
use regard::routing::problems::tsp::TspEnv;
use regard_nn::NodeSelection;
use regard_nn::trace::{Operation, record, scope, step};
use serde::Serialize;

use crate::model::SEED;
use crate::timing::timings;

/// Nodes of the instance: the shortest pass of all cells.
const NODES: usize = 20;
/// Steps whose cost is measured together.
const STEPS: u32 = 1_000_000;

/// Shares of the trace in one greedy solution of one instance.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    kind: &'static str,
    nodes: usize,
    /// Microseconds of a pass that is not recorded, the median.
    pass_us: f64,
    /// Steps that a recording of the same pass has.
    steps: usize,
    /// Nanoseconds of a step and a scope that are not recorded.
    step_ns: f64,
    /// Share of all steps in the pass, if kernels left none of them out.
    share: f64,
}

/// Measures it for about a second.
pub(crate) fn measure() -> regard::Result<Cost> {
    let device = Device::flex();
    let model = AttentionModel::new(&AttentionModelConfig::kool_2019(), &device)?;
    let problem = TspEnv::new(generate::uniform(SEED, 1, NODES).remove(0));
    let features = Tensor::<3>::from_data(TensorData::new(problem.features(), [1, NODES, 2]), &device);
    let pass = || {
        let embeddings = model.encode(features.clone());
        model.rollout().construct(embeddings, vec![vec![problem.start()]], NodeSelection::Greedy)
    };
    let mut times = timings(Duration::from_secs(1), || drop(black_box(pass())));
    times.sort_by(f64::total_cmp);
    let pass_us = times[times.len() / 2] * 1e3;
    let steps = record(pass).1.steps.len();
    let begun = Instant::now();
    for _ in 0..STEPS {
        scope(
            || "layer.0".to_owned(),
            || {
                step(black_box("score"), Operation::Softmax)
                    .from(&features)
                    .values(["batch", "node", "feature"], &features)
            },
        );
    }
    let step_ns = begun.elapsed().as_nanos() as f64 / f64::from(STEPS);
    let share = steps as f64 * step_ns / (pass_us * 1e3);
    Ok(Cost { kind: "trace", nodes: NODES, pass_us, steps, step_ns, share })
}
