//! The `cvrp` cell: greedy vehicle routing with the network and the rules of Kool et al. 2019.
//!
//! How many steps routes take depends on the weights, so that both sides of the comparison have to read the same ones:
//! `--vehicles FOLDER` fills a folder with weights, and for each size with the instances and our walks through them;
//! `BENCH_VEHICLES` names it to the workers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use burn::tensor::Device;
use regard::routes::RouteExperiment;
use regard::routes::decode::{DecodeOptions, Decoded};
use regard::routes::model::AttentionModel;
use regard::routes::model::AttentionModelConfig;
use regard::routes::train::Learner;
use regard::routing::Problem;
use regard::routing::generate::Points;
use regard::routing::problems::cvrp::CvrpEnv;
use regard::routing::problems::cvrp::generate;
use regard::store::{Array, Weights, safetensors};

use crate::memory::{Memory, peak_resident_mib};
use crate::model::{BATCH, SEED};
use crate::protocol::{Answer, Request};
use crate::timing::timings;

/// Customers of the instances that are written.
const SIZES: [usize; 2] = [50, 100];
/// Instances of which the memory is measured.
const MANY: usize = 10_000;
/// The training of the weights: the preset's network on small instances, with the baseline of several tours.
const TRAINING: [&str; 8] = [
    "task.problem=cvrp",
    "data.nodes=20",
    "train.preset=kool-2019",
    "train.baseline=shared",
    "train.num_starts=8",
    "train.first_node=sampled",
    "train.batch_size=64",
    "train.learning_rate=0.0005",
];
/// Steps of it.
const STEPS: usize = 100;
const WEIGHTS: &str = "weights.safetensors";

/// Runs a `cvrp` cell.
pub(crate) fn answer(request: &Request) -> Answer {
    let period = Duration::from_secs_f64(request.seconds);
    let times = model().and_then(|model| {
        let problems = problems(BATCH, request.n);
        routes(&model, &problems)?;
        Ok(timings(period, || drop(routes(&model, &problems))))
    });
    match times {
        Ok(times) => Answer::Ms(times),
        Err(error) => Answer::Error(error.to_string()),
    }
}

/// Greedy routes of 10,000 instances with `customers`, decoded as the product does: in chunks.
pub(crate) fn memory(customers: usize) -> regard::Result<Memory> {
    let model = model()?;
    let before_mib = peak_resident_mib();
    let problems = problems(MANY, customers);
    routes(&model, &problems)?;
    Ok(Memory { before_mib, peak_mib: peak_resident_mib() })
}

/// Writes the folder that both sides read.
pub(crate) fn write(folder: &Path) -> regard::Result<()> {
    let model = trained()?;
    save(&folder.join(WEIGHTS), &model.to_weights())?;
    for customers in SIZES {
        let problems = problems(BATCH, customers);
        let walks = routes(&model, &problems)?.into_iter().map(|decoded| decoded.tour).collect();
        save(&folder.join(format!("cvrp-{customers}.safetensors")), &instances(customers, walks)?)?;
    }
    Ok(())
}

/// The instances of a size as the original code takes them, and walks, filled up with visits of the depot.
fn instances(customers: usize, walks: Vec<Vec<usize>>) -> regard::Result<Weights> {
    let (nodes, drawn) = (customers + 1, generate::draw(Points::Uniform, SEED, BATCH, customers));
    let points = drawn.iter().flat_map(|one| one.points()).flatten().copied().collect();
    let share = |capacity: f64| move |&demand: &f64| demand as f32 / capacity as f32;
    let demands = drawn.iter().flat_map(|one| one.demands().iter().map(share(one.capacity()))).collect();
    let steps = walks.iter().map(Vec::len).max().unwrap_or(0);
    let filled = |walk: Vec<usize>| walk.into_iter().chain(std::iter::repeat(0)).take(steps).map(|node| node as f32);
    let walks = walks.into_iter().flat_map(filled).collect();
    Ok(Weights::from([
        ("points".to_owned(), Array::new(vec![BATCH, nodes, 2], points)?),
        ("demands".to_owned(), Array::new(vec![BATCH, nodes], demands)?),
        ("walks".to_owned(), Array::new(vec![BATCH, steps], walks)?),
    ]))
}

fn save(path: &Path, weights: &Weights) -> regard::Result<()> {
    safetensors::write(path, weights, &BTreeMap::new())
}

/// A network after a short training, some seconds: an untrained one returns to the depot after every customer, which
/// doubles the steps.
fn trained() -> regard::Result<AttentionModel> {
    let sets = TRAINING.map(str::to_owned);
    let experiment = RouteExperiment::parse("", Path::new("bench"), &sets)?;
    let mut learner = Learner::<CvrpEnv>::new(&experiment, &Device::flex())?;
    for _ in 0..STEPS {
        learner.step()?;
    }
    learner.evaluated()
}

fn config() -> AttentionModelConfig {
    AttentionModelConfig { problem: CvrpEnv::NAME.to_owned(), ..AttentionModelConfig::kool_2019() }
}

/// The network with the weights of the folder.
fn model() -> regard::Result<AttentionModel> {
    let folder = std::env::var_os("BENCH_VEHICLES").map(PathBuf::from).unwrap_or_default();
    AttentionModel::from_weights(&config(), &safetensors::read(&folder.join(WEIGHTS))?, &Device::flex())
}

/// Instances whose capacity is checked in single precision, as the original code does.
fn problems(count: usize, customers: usize) -> Vec<CvrpEnv> {
    let drawn = generate::draw(Points::Uniform, SEED, count, customers);
    drawn.into_iter().map(|one| one.in_single_precision()).collect()
}

/// Encoder and greedy routes with their costs.
fn routes(model: &AttentionModel, problems: &[CvrpEnv]) -> regard::Result<Vec<Decoded>> {
    let cost = |instance: usize, walk: &[usize]| problems[instance].cost(walk);
    model.decode(problems, &cost, &DecodeOptions::default())
}
