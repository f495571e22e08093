//! Networks on time series: they learn, go on bit for bit, forecast past the end, and say what is wrong.

mod forecasts;
mod measurements;
mod shortcuts;
mod training;

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regard::Device;
use regard::series::SeriesExperiment;
use regard::series::predict::SeriesModel;
use regard::supervised::{Training, train};
use regard::train::{Event, Limits, Trained};

/// A network and batches that take little time.
fn experiment(path: &Path, more: &[&str]) -> SeriesExperiment {
    let path = format!("data.path={}", path.display());
    let small = [
        "task.horizon=8",
        "model.look_back=48",
        "model.patch_len=8",
        "model.stride=4",
        "model.width=16",
        "model.heads=2",
        "model.feedforward_width=32",
        "model.layers=2",
        "model.dropout=0.1",
        "train.batch_size=16",
        "train.epochs=4",
        "train.learning_rate=0.003",
        "train.log_steps=2",
    ];
    let sets: Vec<String> = [path.as_str()].iter().chain(&small).chain(more).map(|set| (*set).to_owned()).collect();
    SeriesExperiment::load("series/forecast", &sets).unwrap()
}

fn run(experiment: &SeriesExperiment, out: &Path, resume: bool, steps: Option<u64>) -> regard::Result<Trained> {
    let limits = Limits { steps, ..Limits::default() };
    let training =
        Training { experiment: experiment.clone(), out: out.to_owned(), resume, limits, command: "test".into() };
    train(&training, &Device::flex(), &mut |_: &Event| {})
}

/// Result of a whole training.
fn trained(experiment: &SeriesExperiment, out: &Path) -> SeriesModel {
    run(experiment, out, false, None).unwrap();
    SeriesModel::open(out, &Device::flex()).unwrap()
}

/// Hours of three series: a day's wave, one against it, and one driven by a price that is known ahead. Every
/// 37th value of the first is missing.
fn hours(folder: &Path, rows: usize, future: usize) -> PathBuf {
    let mut text = "date,sun,shade,sold,price\n".to_owned();
    for hour in 0..rows + future {
        let wave = (TAU * hour as f64 / 24.0).sin();
        // Neither periodic nor smooth, but the same in every run.
        let price = ((hour * 7919 + 13) % 101) as f64 / 101.0;
        // January and February of a leap year are enough.
        let day = hour / 24;
        let (month, day) = if day < 31 { (1, day + 1) } else { (2, day - 30) };
        assert!(month == 1 || day <= 29, "more hours than the two months have");
        write!(text, "2024-{month:02}-{day:02} {:02}:00,", hour % 24).unwrap();
        if hour >= rows {
            writeln!(text, ",,,{price}").unwrap();
            continue;
        }
        let sun = if hour % 37 == 5 { String::new() } else { format!("{}", 50.0 + 20.0 * wave) };
        writeln!(text, "{sun},{},{},{price}", 5.0 - wave, 100.0 - 40.0 * price + wave).unwrap();
    }
    let path = folder.join("hours.csv");
    fs::write(&path, text).unwrap();
    path
}
