//! A problem that a program of its own brings: one vehicle picks goods up and delivers
//! them, every delivery after its pickup. The book's page "Adding a problem" walks through it.
//!
//! ```text
//! cargo run --release -p regard --example pickup_delivery -- 200
//! ```
//!
//! trains for so many steps and prints what the network learnt.

#![allow(clippy::print_stdout, reason = "the numbers are the program's result")]

use std::path::Path;
use std::sync::Arc;

use regard::routes::RouteExperiment;
use regard::routes::decode::{Decode, DecodeOptions};
use regard::routes::train::Learner;
use regard::routing::generate;
use regard::routing::registry;
use regard::routing::{Problem, State, generate::GeneratorConfig, problem::symmetry};
use regard::{Device, Result, routing};

/// A depot (node 0), pickups (nodes 1 to `pairs`) and their deliveries (the `pairs` after them).
#[derive(Clone, Debug)]
pub(crate) struct PickupDelivery {
    points: Arc<Vec<[f32; 2]>>,
}

impl PickupDelivery {
    fn pairs(&self) -> usize {
        self.points.len() / 2
    }
}

/// A way from the depot, with goods on board.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pairs: usize,
    visited: Vec<bool>,
    walk: Vec<u32>,
    on_board: usize,
}

impl State for Way {
    fn done(&self) -> bool {
        self.walk.len() == 2 * self.pairs
    }

    /// Pickups not yet visited, and deliveries whose goods are on board.
    fn allowed(&self, open: &mut [bool]) {
        open[0] = false;
        for node in 1..=self.pairs {
            open[node] = !self.visited[node];
            let delivery = node + self.pairs;
            open[delivery] = self.visited[node] && !self.visited[delivery];
        }
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = self.on_board as f32 / self.pairs as f32;
    }

    fn step(&mut self, node: usize) {
        self.visited[node] = true;
        self.walk.push(node as u32);
        if node <= self.pairs {
            self.on_board += 1;
        } else {
            self.on_board -= 1;
        }
    }
}

impl Problem for PickupDelivery {
    type State = Way;

    const NAME: &'static str = "pickup-delivery";
    const DEPOT: bool = true;
    const ADDED_FEATURES: &'static [&'static str] = &["partner x", "partner y", "is pickup"];
    const SCALAR_NAMES: &'static [&'static str] = &["pairs on board"];

    fn points(&self) -> &[[f32; 2]] {
        &self.points
    }

    fn features(&self) -> Vec<f32> {
        let pairs = self.pairs();
        let of = |node: usize| {
            let [x, y] = self.points[node];
            let (partner, pickup) = match node {
                0 => return [x, y, 0.0, 0.0, 0.0],
                node if node <= pairs => (node + pairs, 1.0),
                node => (node - pairs, 0.0),
            };
            let [px, py] = self.points[partner];
            [x, y, px, py, pickup]
        };
        (0..self.points.len()).flat_map(of).collect()
    }

    fn start(&self) -> Way {
        let pairs = self.pairs();
        Way { pairs, visited: vec![false; self.points.len()], walk: Vec::new(), on_board: 0 }
    }

    fn solution(state: &Way) -> Vec<usize> {
        state.walk.iter().map(|&node| node as usize).collect()
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        let stops = || std::iter::once(0).chain(solution.iter().copied());
        let legs = stops().zip(stops().skip(1).chain([0]));
        let distance = |(a, b): (usize, usize)| {
            let ([ax, ay], [bx, by]) = (self.points[a].map(f64::from), self.points[b].map(f64::from));
            (ax - bx).hypot(ay - by)
        };
        legs.map(distance).sum()
    }

    fn check(&self, solution: &[usize]) -> routing::Result<()> {
        let pairs = self.pairs();
        let broken = |reason: String| Err(routing::Error::Infeasible { reason });
        let mut place = vec![usize::MAX; self.points.len()];
        for (at, &node) in solution.iter().enumerate() {
            if node == 0 || node >= place.len() || place[node] != usize::MAX {
                return broken(format!("position {}: node {node} is unknown or visited twice", at + 1));
            }
            place[node] = at;
        }
        match (1..=pairs).find(|&node| place[node] == usize::MAX || place[node + pairs] == usize::MAX) {
            Some(node) => broken(format!("pair {node} is not served")),
            None => match (1..=pairs).find(|&node| place[node] > place[node + pairs]) {
                Some(node) => broken(format!("pair {node} is delivered before it is picked up")),
                None => Ok(()),
            },
        }
    }

    fn view(&self, view: usize) -> Self {
        Self { points: Arc::new(self.points.iter().map(|&point| symmetry(view, point)).collect()) }
    }

    /// `size` pairs.
    fn draw(_: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        let all = generate::uniform(seed, count, 2 * size + 1);
        all.into_iter().map(|points| Self { points: Arc::new(points) }).collect()
    }
}

fn main() -> Result<()> {
    let steps: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    registry::register::<PickupDelivery>();
    let sets = ["train.preset=regard-cvrp", "task.problem=pickup-delivery", "data.nodes=10", "train.batch_size=32"];
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let experiment = RouteExperiment::parse("", Path::new("pickup_delivery"), &sets)?;
    let mut learner = Learner::<PickupDelivery>::new(&experiment, &Device::flex())?;
    let problems = PickupDelivery::draw(&GeneratorConfig::default(), 99, 500, 10);
    let mean = |learner: &Learner<PickupDelivery>, decode: Decode| -> Result<f64> {
        let options = DecodeOptions { decode, ..DecodeOptions::default() };
        let cost = |item: usize, solution: &[usize]| problems[item].cost(solution);
        let found = learner.evaluated()?.decode(&problems, &cost, &options)?;
        for (problem, found) in problems.iter().zip(&found) {
            problem.check(&found.tour)?;
        }
        Ok(found.iter().map(|found| found.cost).sum::<f64>() / problems.len() as f64)
    };
    println!("before   greedy {:.3}", mean(&learner, Decode::Greedy)?);
    for step in 1..=steps {
        let measured = learner.step()?;
        if step % 50 == 0 {
            println!("step {step:>4}   sampled {:.3}", measured.cost);
        }
    }
    println!("after    greedy {:.3}", mean(&learner, Decode::Greedy)?);
    println!("         best of 16 samples {:.3}", mean(&learner, Decode::Sample(16))?);
    Ok(())
}
