//! A run whose checkpoint was changed is resumed or refused, and never ends in the middle.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use regard::Device;
use regard::routes::RouteExperiment;
use regard::routes::train::{Training, train};
use regard::train::{Event, Limits};
use tempfile::TempDir;

const SETTINGS: [&str; 11] = [
    "data.nodes=4",
    "model.width=4",
    "model.heads=1",
    "model.layers=1",
    "model.feedforward_width=4",
    "train.batch_size=4",
    "train.epoch_size=8",
    "train.epochs=2",
    "train.baseline_instances=4",
    "train.log_steps=1",
    "eval.instances=4",
];

/// A run of one step: the files of its folder, by their names within it.
struct Run {
    files: Vec<(PathBuf, Vec<u8>)>,
    experiment: RouteExperiment,
}

static RUN: LazyLock<Run> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = SETTINGS.map(str::to_owned);
    let experiment = RouteExperiment::parse("", Path::new("fuzz.toml"), &settings).expect("settings that fit");
    trained(&experiment, folder.path(), false).expect("a training");
    let mut files = Vec::new();
    collect(folder.path(), folder.path(), &mut files);
    Run { files, experiment }
});

fn collect(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("lies in it").to_owned();
            files.push((name, fs::read(&path).expect("is read")));
        }
    }
}

fn trained(experiment: &RouteExperiment, out: &Path, resume: bool) -> regard::Result<()> {
    let limits = Limits { steps: Some(if resume { 2 } else { 1 }), ..Limits::default() };
    let training =
        Training { experiment: experiment.clone(), out: out.to_owned(), resume, limits, command: "fuzz".into() };
    train(&training, &Device::flex(), &mut |_: &Event| {}).map(drop)
}

/// Changed bytes of one file and its new length.
type Change = (u8, Vec<(u16, u8)>, Option<u16>);

// With checksums every change is refused, and without them what the files hold decides.
fuzz_target!(|input: (bool, Vec<Change>)| {
    let (summed, changes) = input;
    // A panic that the reader catches is not a finding; one that it does not catch still ends the process.
    std::panic::set_hook(Box::new(|_| {}));
    let folder: TempDir = tempfile::tempdir().expect("a temporary folder");
    let mut files = RUN.files.clone();
    let count = files.len();
    for (which, bytes, length) in changes {
        let file = &mut files[usize::from(which) % count].1;
        for (at, byte) in bytes {
            let length = file.len().max(1);
            if let Some(old) = file.get_mut(usize::from(at) % length) {
                *old = byte;
            }
        }
        if let Some(length) = length {
            file.truncate(usize::from(length));
        }
    }
    files.retain(|(name, _)| summed || !name.ends_with("checksums.json"));
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("lies in a folder")).expect("a folder");
        fs::write(path, bytes).expect("is written");
    }
    let _ = trained(&RUN.experiment, folder.path(), true);
});
