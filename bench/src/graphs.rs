//! The cells of graphs: the Graph Transformer with the settings of its paper.

use std::sync::Arc;
use std::time::Duration;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Device;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard::graphs::input::{GraphInput, Places};
use regard::graphs::model::PositionKind;
use regard::graphs::task::{GraphTask, LevelName, Targets, loss};
use regard::graphs::{GraphTransformer, GraphTransformerConfig};
use regard::train::LossOptions;
use regard_nn::ops::EdgeList;

use crate::memory::{Memory, peak_resident_mib};
use crate::model::SEED;
use crate::protocol::{Answer, Request};
use crate::timing::{device, forward, timings};

/// Each node of the graph with many edges is joined with so many next ones.
const REACH: usize = 100;

/// What graphs are like, as in `torch_graphs.py`.
struct Kind {
    nodes: usize,
    /// Every node is joined with so many next ones.
    reach: usize,
    config: GraphTransformerConfig,
}

impl Kind {
    fn of(cell: &str) -> Self {
        let zinc = GraphTransformerConfig::graph_transformer_2021();
        if cell.ends_with("molecules") {
            return Self { nodes: 23, reach: 1, config: zinc };
        }
        let config = GraphTransformerConfig {
            task: GraphTask::Classification,
            level: LevelName::Node,
            node_types: 7,
            edge_types: 0,
            outputs: 6,
            edge_stream: false,
            width: 80,
            positions: PositionKind::Laplacian,
            ..zinc
        };
        Self { nodes: 117, reach: 18, config }
    }

    /// A batch with random types and places.
    fn input(&self, graphs: usize) -> GraphInput {
        let mut random = Pcg64Mcg::seed_from_u64(SEED);
        let (offsets, sources) = self.edges(graphs);
        let (nodes, edges) = (graphs * self.nodes, sources.len());
        let mut types = |count: usize, most: usize| (0..count).map(|_| random.random_range(0..most as u32)).collect();
        let (node_types, edge_types) = (types(nodes, self.config.node_types), types(edges, 4));
        GraphInput {
            edges: Arc::new(EdgeList::new(offsets, sources)),
            offsets: (0..=graphs).map(|graph| graph * self.nodes).collect(),
            node_types,
            node_numbers: vec![],
            edge_types: if self.config.edge_stream { edge_types } else { vec![] },
            edge_numbers: vec![],
            places: Places::Numbers((0..nodes * 8).map(|_| random.random::<f32>() - 0.5).collect()),
        }
    }

    /// Edges by target: rings with reach, and two chords, both ways.
    fn edges(&self, graphs: usize) -> (Vec<usize>, Vec<u32>) {
        let (mut offsets, mut sources) = (vec![0], vec![]);
        for graph in 0..graphs {
            for node in 0..self.nodes {
                let steps = (1..=self.reach).flat_map(|step| [node + step, node + self.nodes - step]);
                let chord = (0..2).filter_map(|chord| {
                    let other = chord + self.nodes / 2;
                    (node == chord).then_some(other).or((node == other).then_some(chord))
                });
                let of_node = steps.map(|other| other % self.nodes).chain(chord);
                sources.extend(of_node.map(|other| (graph * self.nodes + other) as u32));
                offsets.push(sources.len());
            }
        }
        (offsets, sources)
    }

    /// A training step: forward, loss, backward, Adam.
    fn step(&self, graphs: usize) -> regard::Result<impl FnMut(&GraphInput) + use<>> {
        let device = device().autodiff();
        let mut model = GraphTransformer::new(&self.config, &device)?;
        let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
        let (targets, task) = (self.targets(graphs), self.config.task);
        let options = LossOptions::default();
        Ok(move |input: &GraphInput| {
            let gradients = loss(model.forward(input, &device), &targets, task, options).backward();
            let gradients = GradientsParams::from_grads(gradients, &model);
            model = optimizer.step(1e-4, model.clone(), gradients);
        })
    }

    fn targets(&self, graphs: usize) -> Targets {
        let mut random = Pcg64Mcg::seed_from_u64(SEED + 1);
        match self.config.task {
            GraphTask::Classification => {
                Targets::Classes((0..graphs * self.nodes).map(|_| Some(random.random_range(0..6))).collect())
            }
            _ => Targets::Numbers((0..graphs).map(|_| Some(random.random::<f32>())).collect()),
        }
    }
}

/// Runs `molecules`, `blocks`, `train-molecules` or `train-blocks`, `n` being the graphs of a batch.
pub(crate) fn answer(request: &Request) -> Answer {
    measured(request).unwrap_or_else(|error| Answer::Error(error.to_string()))
}

fn measured(request: &Request) -> regard::Result<Answer> {
    let period = Duration::from_secs_f64(request.seconds);
    let kind = Kind::of(&request.cell);
    let input = kind.input(request.n);
    if !request.cell.starts_with("train") {
        let device = device();
        let model = GraphTransformer::new(&kind.config, &device)?;
        return Ok(forward(request, || model.forward(&input, &device)));
    }
    let mut step = kind.step(request.n)?;
    Ok(Answer::Ms(timings(period, || step(&input))))
}

/// A training step of `n` graphs.
pub(crate) fn memory_of_step(cell: &str, n: usize) -> regard::Result<Memory> {
    let kind = Kind::of(cell);
    let (input, mut step) = (kind.input(n), kind.step(n)?);
    let before_mib = peak_resident_mib();
    step(&input);
    Ok(Memory { before_mib, peak_mib: peak_resident_mib() })
}

/// Inference on one graph of so many edges, which have rows of their own; every node is seen by 200 others.
pub(crate) fn memory_of_edges(edges: usize) -> regard::Result<Memory> {
    let kind = Kind { nodes: edges / (2 * REACH), reach: REACH, ..Kind::of("molecules") };
    let (device, input) = (Device::flex(), kind.input(1));
    let model = GraphTransformer::new(&kind.config, &device)?;
    let before_mib = peak_resident_mib();
    drop(model.forward(&input, &device).into_data());
    Ok(Memory { before_mib, peak_mib: peak_resident_mib() })
}
