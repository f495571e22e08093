//! Networks on graphs: they learn, go on bit for bit, and answer alike whatever the order and the batch.

mod files;
mod folds;
mod network;
mod training;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regard::Device;
use regard::graphs::GraphExperiment;
use regard::supervised::{Training, train};
use regard::train::{Event, Limits, Trained};

/// A network and batches that take no time.
fn experiment(name: &str, sets: &[&str]) -> GraphExperiment {
    let small = [
        "model.width=16",
        "model.heads=2",
        "model.layers=2",
        "train.batch_size=8",
        "train.epochs=3",
        "train.log_steps=2",
    ];
    let sets: Vec<String> = small.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    GraphExperiment::load(name, &sets).unwrap()
}

fn run(experiment: &GraphExperiment, out: &Path, resume: bool, steps: Option<u64>) -> regard::Result<Trained> {
    let limits = Limits { steps, ..Limits::default() };
    let training =
        Training { experiment: experiment.clone(), out: out.to_owned(), resume, limits, command: "test".into() };
    train(&training, &Device::flex(), &mut |_: &Event| {})
}

/// Chains of carbon with an oxygen somewhere; what is asked is how long they are, and whether there is an
/// oxygen at all. Some answers are missing.
fn molecules(folder: &Path, count: usize) -> PathBuf {
    let mut text = "name,smiles,length,oxygen\n".to_owned();
    for at in 0..count {
        let (length, oxygen) = (2 + at % 5, at % 3 == 0);
        let smiles: String = (0..length).map(|i| if oxygen && i == at % length { 'O' } else { 'C' }).collect();
        let known = |text: String, gap: usize| if at % 11 == gap { String::new() } else { text };
        let yes = usize::from(oxygen).to_string();
        writeln!(text, "m{at},{smiles},{},{}", known(length.to_string(), 4), known(yes, 7)).unwrap();
    }
    let path = folder.join("molecules.csv");
    fs::write(&path, text).unwrap();
    path
}

fn on_molecules(path: &Path, more: &[&str]) -> GraphExperiment {
    let path = format!("data.path={}", path.display());
    experiment("graphs/molecules", &[&[path.as_str(), "data.smiles=smiles", "data.id=name"], more].concat())
}
