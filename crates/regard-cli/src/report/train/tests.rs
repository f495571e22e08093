use std::sync::{Arc, Mutex};

use regard::train::Measure;

use super::*;

const STARTED: Started<'_> = Started {
    experiment: "tsp20",
    steps: 250_000,
    steps_per_epoch: 2500,
    first_step: 0,
    parameters: 710_016,
    device: "cpu",
    threads: 2,
};

fn at(step: u64, seconds: f64) -> Step {
    Step {
        step,
        epoch: (step - 1) / 2500,
        measures: Measures(vec![
            Measure::Mean("cost", 3.871),
            Measure::Mean("baseline", 3.868),
            Measure::Mean("loss", -0.1),
            Measure::Mean("grad_norm", 0.61),
            Measure::Last("learning_rate", 1e-4),
        ]),
        instances_per_second: 3190.2,
        seconds,
    }
}

fn length(started: &Started<'_>) -> Length {
    TrainProgress::with_view(started, View::Nothing).length
}

/// What is written lies where a test can read it.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_start_is_announced() {
    let text = text::started(&STARTED);
    assert_eq!(text, "training tsp20: 710,016 parameters, 250,000 steps in 100 epochs, on cpu with 2 threads");
    let text = text::started(&Started { first_step: 2500, threads: 1, ..STARTED });
    assert!(text.ends_with("1 thread, going on after step 2,500"), "{text}");
}

#[test]
fn the_bar_has_two_lines() {
    let length = length(&STARTED);
    assert_eq!(text::epoch(3, &length), "epoch 3/100");
    let text = text::bar(&at(6834, 273.36), Some(3.8591), &length);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "1,834 of 2,500 steps  3,190 instances/s  eta 2 h 42 min");
    assert_eq!(lines[1], "  cost 3.871  baseline 3.868  valid 3.859  grad 0.61  lr 1.0e-4");
    assert!(!text::bar(&at(1, 0.1), None, &length).contains("valid"));
}

#[test]
fn positions_and_times_fit_the_run() {
    let odd = Started { steps: 6000, first_step: 5000, ..STARTED };
    let length = length(&odd);
    assert_eq!(length.epochs(), 3);
    assert_eq!(length.within_epoch(&at(2500, 1.0)), (2500, 2500));
    assert_eq!(length.within_epoch(&at(5001, 1.0)), (1, 1000));
    assert_eq!(length.seconds_left(&at(5000, 0.0)), None);
    assert_eq!(length.seconds_left(&at(5500, 50.0)), Some(50.0));
    assert_eq!(length.seconds_left(&at(6000, 100.0)), Some(0.0));
    let empty = TrainProgress::with_view(&Started { steps: 0, steps_per_epoch: 0, ..STARTED }, View::Nothing);
    assert_eq!(empty.length.epochs(), 1);
}

#[test]
fn lines_about_steps_keep_their_distance() {
    let paper = Paper::default();
    let mut progress = TrainProgress::with_view(&STARTED, View::Lines(Box::new(paper.clone()), None));
    for (step, seconds) in [(1, 0.5), (50, 20.0), (100, 30.4), (150, 30.5), (200, 45.0), (250, 61.0)] {
        progress.step(&at(step, seconds));
    }
    let (epoch, measures) = (1, Measures::default());
    let valid =
        Valid { epoch, cost: 3.859, previous: Some(3.871), gap: Some(0.0062), measures, baseline_updated: Some(true) };
    progress.valid(&valid);
    let measures = Measures(vec![Measure::Mean("accuracy", 0.875)]);
    progress.valid(&Valid { epoch: 2, previous: None, gap: None, baseline_updated: None, measures, ..valid });
    let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let first = "epoch 1/100  step 1 of 250,000  cost 3.871  baseline 3.868  loss -0.100  grad 0.61  lr 1.0e-4  ";
    assert!(lines[0].starts_with(first), "{text}");
    assert!(lines[1].contains("step 150 ") && lines[2].contains("step 250 "), "{text}");
    assert_eq!(lines[3], "epoch 1/100  valid 3.859 (-0.31 %)  gap 0.62 %  new baseline");
    assert_eq!(lines[4], "epoch 2/100  valid 3.859  accuracy 0.875");
}
