//! Trains an Attention Model on TSP by imitation: uniform instances of mixed sizes, solved by
//! local search, are shown in random views, directions and starting places, and the policy learns
//! to make those tours likely. This is how the first shipped model, `models/regard-tsp`, was made.
//!
//! ```text
//! cargo run --release -p regard --example supervised_tsp -- OUT_DIR [MINUTES] [FROM_DIR]
//! ```

// A program of its own: its progress goes to standard error.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use regard::nn::clip_gradient_norm;
use regard::routes::AttentionModelConfig;
use regard::routes::decode::DecodeOptions;
use regard::routes::model::AttentionModel;
use regard::routes::model::ModelDir;
use regard::routing::Sites;
use regard::routing::local_search::{LocalSearchOptions, improve};
use regard::routing::problem::symmetry;
use regard::routing::problems::tsp::TspEnv;
use regard::store::manifest::Manifest;

const SIZES: [usize; 5] = [20, 35, 50, 75, 100];
const INSTANCES: usize = 4_000;
const VALIDATION: usize = 256;
/// Nodes of a batch: instances of any size take the same time.
const BATCH_NODES: usize = 10_000;
const RATE: f64 = 5e-4;
const WARM_UP: f64 = 200.0;
const SEED: u64 = 20_261_121;

/// Solved instances of one size.
struct Lesson {
    points: Vec<Vec<[f32; 2]>>,
    tours: Vec<Vec<usize>>,
}

impl Lesson {
    fn new(seed: u64, instances: usize, n: usize) -> Result<Self> {
        let points = regard::routing::generate::uniform(seed, instances, n);
        let solve = |points: &Vec<[f32; 2]>| -> Result<Vec<usize>> {
            let instance = Sites::euclidean("lesson", points.iter().map(|p| p.map(f64::from)).collect())?;
            let mut tour: Vec<usize> = (0..n).collect();
            improve(
                &instance,
                &mut tour,
                &LocalSearchOptions { seed, perturbations_per_node: 4, ..LocalSearchOptions::default() },
            );
            Ok(tour)
        };
        let tours = points.par_iter().map(solve).collect::<Result<_>>()?;
        Ok(Self { points, tours })
    }

    /// A batch of points and tours, each in a random view, direction and starting place.
    fn batch(&self, generator: &mut Pcg64Mcg) -> (Vec<f32>, Vec<Vec<usize>>, [usize; 3]) {
        let n = self.points[0].len();
        let count = BATCH_NODES / n;
        let (mut points, mut tours) = (Vec::with_capacity(count * n * 2), Vec::with_capacity(count));
        for _ in 0..count {
            let pick = generator.random_range(0..self.points.len());
            let view = generator.random_range(0..8);
            points.extend(self.points[pick].iter().flat_map(|&point| symmetry(view, point)));
            let mut tour = self.tours[pick].clone();
            tour.rotate_left(generator.random_range(0..n));
            if generator.random::<bool>() {
                tour.reverse();
            }
            tours.push(tour);
        }
        (points, tours, [count, n, 2])
    }
}

fn length(points: &[[f32; 2]], tour: &[usize]) -> f64 {
    let at = |i: usize| points[tour[i % tour.len()]].map(f64::from);
    (0..tour.len()).map(|i| (at(i), at(i + 1))).map(|([ax, ay], [bx, by])| (ax - bx).hypot(ay - by)).sum()
}

/// Mean greedy cost and the teacher's, on instances never trained on.
fn validate(model: &AttentionModel, lesson: &Lesson) -> Result<(f64, f64)> {
    let cost = |b: usize, tour: &[usize]| length(&lesson.points[b], tour);
    let problems: Vec<TspEnv> = lesson.points.iter().cloned().map(TspEnv::new).collect();
    let decoded = model.decode(&problems, &cost, &DecodeOptions::default())?;
    let count = decoded.len() as f64;
    let teacher: f64 = lesson.tours.iter().enumerate().map(|(b, tour)| cost(b, tour)).sum();
    Ok((decoded.iter().map(|found| found.cost).sum::<f64>() / count, teacher / count))
}

fn save(
    model: &AttentionModel,
    out: &Path,
    config: &AttentionModelConfig,
    steps: usize,
    seconds: f64,
    valid: &[Lesson],
) -> Result<()> {
    let mut manifest = Manifest::now("cargo run --release -p regard --example supervised_tsp");
    manifest.description = Some(format!(
        "Imitation of 2-opt + Or-opt tours on uniform instances of {SIZES:?} nodes ({INSTANCES} of each), {steps} \
         batches of {BATCH_NODES} nodes. A first model, to be replaced by one trained with REINFORCE."
    ));
    manifest.seed = Some(SEED);
    manifest.wall_seconds = Some(seconds);
    manifest.metrics.insert("steps".into(), steps as f64);
    for (lesson, n) in valid.iter().zip(SIZES) {
        let (cost, teacher) = validate(model, lesson)?;
        manifest.metrics.insert(format!("tsp{n}_greedy_cost"), cost);
        manifest.metrics.insert(format!("tsp{n}_greedy_gap_to_local_search"), cost / teacher - 1.0);
        eprintln!("  n = {n:3}  greedy {cost:.4}  teacher {teacher:.4}  gap {:.2} %", 100.0 * (cost / teacher - 1.0));
    }
    ModelDir::save(out, config, &model.to_weights(), &manifest)?;
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().context("usage: supervised_tsp OUT_DIR [MINUTES] [FROM_DIR]")?);
    let minutes: f64 = arguments.next().map_or(Ok(20.0), |text| text.parse()).context("MINUTES is a number")?;
    let device = Device::flex().autodiff();
    device.seed(SEED);
    let config = AttentionModelConfig::regard_tsp();
    let mut model = match arguments.next() {
        Some(from) => AttentionModel::load(Path::new(&from), &device)?.0,
        None => AttentionModel::new(&config, &device)?,
    };
    let start = Instant::now();
    let lessons = SIZES.iter().map(|&n| Lesson::new(SEED + n as u64, INSTANCES, n)).collect::<Result<Vec<_>>>()?;
    let valid = SIZES.iter().map(|&n| Lesson::new(n as u64, VALIDATION, n)).collect::<Result<Vec<_>>>()?;
    eprintln!("lessons ready after {:.0} s", start.elapsed().as_secs_f64());

    let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    let mut generator = Pcg64Mcg::seed_from_u64(SEED);
    let budget = Duration::from_secs_f64(60.0 * minutes);
    let (begin, mut reported) = (Instant::now(), Instant::now());
    let mut steps = 0;
    while begin.elapsed() < budget {
        let done = begin.elapsed().as_secs_f64() / budget.as_secs_f64();
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        let rate = RATE * cosine.max(0.01) * ((steps + 1) as f64 / WARM_UP).min(1.0);
        let (points, tours, shape) = lessons[generator.random_range(0..SIZES.len())].batch(&mut generator);
        let nodes = (shape[0] * shape[1]) as f32;
        let points = Tensor::from_data(TensorData::new(points, shape), &device);
        let loss = model.log_likelihood_of(points, &tours)?.sum().mul_scalar(-1.0 / nodes);
        let value = loss.clone().into_scalar::<f32>();
        anyhow::ensure!(value.is_finite(), "step {steps}: the loss is {value}");
        let mut gradients = GradientsParams::from_grads(loss.backward(), &model);
        clip_gradient_norm(&model, &mut gradients, 1.0);
        model = optimizer.step(rate, model, gradients);
        steps += 1;
        if reported.elapsed() > Duration::from_secs(60) {
            reported = Instant::now();
            eprintln!("{steps:6} steps  {:5.1} min  loss {value:.4} a node", begin.elapsed().as_secs_f64() / 60.0);
            save(&model.valid(), &out, &config, steps, start.elapsed().as_secs_f64(), &valid)?;
        }
    }
    save(&model.valid(), &out, &config, steps, start.elapsed().as_secs_f64(), &valid)
}
