//! The progress of a training on standard error: a bar on a terminal, else a line every 30 s.

use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use regard::train::{BaselineComparison, Measures};

use super::progress::PAUSE;
use super::{Printer, number};

/// Facts known before the first step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started<'a> {
    pub(crate) experiment: &'a str,
    /// Steps of the whole run.
    pub(crate) steps: u64,
    pub(crate) steps_per_epoch: u64,
    /// Steps done already by an earlier part of the run.
    pub(crate) first_step: u64,
    pub(crate) parameters: usize,
    pub(crate) device: &'a str,
    pub(crate) threads: usize,
    /// Seconds after which this part of the run ends.
    pub(crate) time: Option<f64>,
    /// If true, validations measure examples that are not learnt from.
    pub(crate) held_out: bool,
}

/// The training after one step.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Steps done, those of an earlier part of the run among them.
    pub(crate) step: u64,
    /// Whole epochs before this step: 0 in the first.
    pub(crate) epoch: u64,
    pub(crate) measures: Measures,
    pub(crate) instances_per_second: f64,
    /// Seconds since this part of the run began.
    pub(crate) seconds: f64,
}

/// A validation.
#[derive(Debug, Clone)]
pub(crate) struct Valid {
    /// Whole epochs done.
    pub(crate) epoch: u64,
    pub(crate) cost: f64,
    /// Cost of the validation before.
    pub(crate) previous: Option<f64>,
    /// `cost` above the best possible, as a fraction.
    pub(crate) gap: Option<f64>,
    pub(crate) measures: Measures,
    /// The network against the rollout baseline.
    pub(crate) comparison: Option<BaselineComparison>,
}

/// Progress of a training.
pub(crate) struct TrainProgress {
    length: Length,
    view: View,
    valid: Option<f64>,
    verbose: bool,
}

/// The name of the cost of a validation.
fn measured(held_out: bool) -> &'static str {
    if held_out { "valid" } else { "training" }
}

/// Length of a run.
#[derive(Debug, Clone, Copy)]
struct Length {
    steps: u64,
    steps_per_epoch: u64,
    first_step: u64,
    /// Seconds after which this part of the run ends.
    time: Option<f64>,
    /// If true, validations measure examples that are not learnt from.
    held_out: bool,
}

/// Form of the progress.
enum View {
    Bar(ProgressBar),
    /// Lines, and when the last one about a step was written.
    Lines(Box<dyn Write + Send>, Option<f64>),
    Nothing,
}

impl TrainProgress {
    /// Progress in the form that options and terminal allow; prints the first line.
    pub(crate) fn new(printer: &Printer, started: &Started<'_>) -> Self {
        printer.note(&started_text(started));
        let view = if printer.progress() {
            View::Bar(bar(started, ProgressDrawTarget::stderr()))
        } else if printer.quiet() {
            View::Nothing
        } else {
            View::Lines(Box::new(io::stderr()), None)
        };
        let mut progress = Self::with_view(started, view);
        progress.verbose = printer.verbose();
        progress
    }

    fn with_view(started: &Started<'_>, view: View) -> Self {
        let Started { steps, steps_per_epoch, first_step, time, held_out, .. } = *started;
        let length = Length { steps, steps_per_epoch: steps_per_epoch.max(1), first_step, time, held_out };
        Self { length, view, valid: None, verbose: false }
    }

    /// Shows a step.
    pub(crate) fn step(&mut self, step: &Step) {
        match &mut self.view {
            View::Bar(bar) => {
                let (done, of) = self.length.within_epoch(step);
                bar.set_length(of);
                bar.set_prefix(epoch_text(step.epoch + 1, &self.length));
                bar.set_message(bar_text(step, self.valid, &self.length));
                bar.set_position(done);
            }
            View::Lines(out, last) if last.is_none_or(|last| step.seconds - last >= PAUSE) => {
                *last = Some(step.seconds);
                write_line(out, &step_text(step, &self.length));
            }
            View::Lines(..) | View::Nothing => {}
        }
    }

    /// Shows a validation.
    pub(crate) fn valid(&mut self, valid: &Valid) {
        self.valid = Some(valid.cost);
        let text = valid_text(valid, &self.length, self.verbose);
        match &mut self.view {
            View::Lines(out, _) => write_line(out, &text),
            View::Bar(bar) if self.verbose => bar.println(text),
            View::Bar(_) | View::Nothing => {}
        }
    }
}

impl Drop for TrainProgress {
    fn drop(&mut self) {
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
        }
    }
}

impl Length {
    /// Epochs of the whole run; the last one may be short.
    fn epochs(&self) -> u64 {
        self.steps.div_ceil(self.steps_per_epoch).max(1)
    }

    /// Steps done in the epoch of a step, and steps of that epoch.
    fn within_epoch(&self, step: &Step) -> (u64, u64) {
        let before = step.epoch.saturating_mul(self.steps_per_epoch);
        let done = step.step.saturating_sub(before);
        let of = self.steps.saturating_sub(before).clamp(1, self.steps_per_epoch);
        (done.min(of), of)
    }

    /// Seconds to the end of the run at the pace so far, validations included, or to its time limit.
    fn seconds_left(&self, step: &Step) -> Option<f64> {
        let done = step.step.saturating_sub(self.first_step);
        let left = self.steps.saturating_sub(step.step);
        let seconds = (done > 0).then(|| step.seconds / done as f64 * left as f64)?;
        Some(self.time.map_or(seconds, |time| seconds.min((time - step.seconds).max(0.0))))
    }
}

fn bar(started: &Started<'_>, target: ProgressDrawTarget) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(started.steps_per_epoch.max(1)), target);
    if let Ok(style) = ProgressStyle::with_template("{prefix}  {bar:10}  {msg}") {
        bar.set_style(style.progress_chars("█▌░"));
    }
    bar
}

fn write_line(out: &mut impl Write, line: &str) {
    // A line that nobody reads is no reason to stop.
    let _ = writeln!(out, "{line}");
}

/// The line before the first step.
fn started_text(started: &Started<'_>) -> String {
    let Started { experiment, steps, steps_per_epoch, first_step, parameters, device, threads, time: limit, .. } =
        *started;
    let epochs = steps.div_ceil(steps_per_epoch.max(1));
    let mut text = format!(
        "training {experiment}: {}, {} in {}, on {device} with {}",
        counted(parameters as u64, "parameter"),
        counted(steps, "step"),
        counted(epochs, "epoch"),
        counted(threads as u64, "thread"),
    );
    if let Some(limit) = limit {
        text += &format!(", for at most {}", time(limit));
    }
    if first_step > 0 {
        text += &format!(", resuming after step {}", count(first_step));
    }
    text
}

/// For example `epoch 3/100`.
fn epoch_text(epoch: u64, length: &Length) -> String {
    format!("epoch {}/{}", epoch.min(length.epochs()), length.epochs())
}

/// Text to the right of the bar and below it.
fn bar_text(step: &Step, valid: Option<f64>, length: &Length) -> String {
    let (done, of) = length.within_epoch(step);
    let name = measured(length.held_out);
    let valid = valid.map(|cost| format!("  {name} {cost:.3}")).unwrap_or_default();
    format!(
        "{} of {}  {}\n  {}{valid}  {}",
        count(done),
        counted(of, "step"),
        pace(step, length),
        costs(step, false),
        gradient(step)
    )
}

/// A line about a step.
fn step_text(step: &Step, length: &Length) -> String {
    let (steps, of) = (count(step.step), count(length.steps));
    let (epoch, costs, gradient) = (epoch_text(step.epoch + 1, length), costs(step, true), gradient(step));
    format!("{epoch}  step {steps} of {of}  {costs}  {gradient}  {}", pace(step, length))
}

/// A line about a validation.
fn valid_text(valid: &Valid, length: &Length, verbose: bool) -> String {
    let mut text = format!("{}  {} {:.3}", epoch_text(valid.epoch, length), measured(length.held_out), valid.cost);
    if let Some(previous) = valid.previous.filter(|&previous| previous != 0.0) {
        text += &format!(" ({})", number::change(valid.cost / previous - 1.0));
    }
    if let Some(gap) = valid.gap {
        text += &format!("  gap {}", number::gap(gap));
    }
    for measure in &valid.measures.0 {
        text += &format!("  {} {:.3}", measure.name(), measure.value());
    }
    if let Some(comparison) = valid.comparison {
        text += if comparison.baseline_updated { "  new baseline" } else { "  baseline kept" };
        if verbose {
            text += &format!(" ({})", test_text(&comparison));
        }
    }
    text
}

/// For example `mean difference -0.0123, t -2.31, p 0.011`.
pub(crate) fn test_text(comparison: &BaselineComparison) -> String {
    let difference = format!("mean difference {:.4}", comparison.mean_difference);
    match (comparison.t_statistic, comparison.p_value) {
        (Some(t), Some(p)) => format!("{difference}, t {t:.2}, p {}", probability(p)),
        _ => format!("{difference}, no test: no two costs differ"),
    }
}

/// Three decimals; an exponent where these would say nothing.
fn probability(p: f64) -> String {
    if p == 0.0 || p >= 0.001 { format!("{p:.3}") } else { format!("{p:.1e}") }
}

/// Cost and baseline of the policy, and the loss; the bar leaves out the loss if there are costs.
fn costs(step: &Step, with_loss: bool) -> String {
    let value = |name: &str| step.measures.get(name).map(|value| format!("{name} {value:.3}"));
    let costs: Vec<String> = ["cost", "baseline"].into_iter().filter_map(value).collect();
    let loss = if with_loss || costs.is_empty() { value("loss") } else { None };
    costs.into_iter().chain(loss).collect::<Vec<_>>().join("  ")
}

fn gradient(step: &Step) -> String {
    let value = |name: &str| step.measures.get(name).unwrap_or(f64::NAN);
    format!("grad {}  lr {:.1e}", norm(value("grad_norm")), value("learning_rate"))
}

/// Two decimals; an exponent where these would say nothing or too much.
fn norm(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (0.01..1e4).contains(&value.abs());
    if plain { format!("{value:.2}") } else { format!("{value:.1e}") }
}

/// Speed, and time to the end of the run.
fn pace(step: &Step, length: &Length) -> String {
    let speed = speed(step.instances_per_second);
    match length.seconds_left(step) {
        Some(left) => format!("{speed}  eta {}", time(left)),
        None => speed,
    }
}

/// For example `3,190 instances/s`.
fn speed(instances_per_second: f64) -> String {
    if instances_per_second >= 99.95 {
        format!("{} instances/s", number::quantity(instances_per_second.round(), ""))
    } else {
        format!("{instances_per_second:.1} instances/s")
    }
}

/// A time in its two largest units, for example `40 s`, `4 min 10 s`, `2 h 41 min` or `3 d 4 h`.
fn time(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown".to_owned();
    }
    let seconds = seconds.max(0.0).round() as u64;
    let minutes = (seconds + 30) / 60;
    let hours = (seconds + 1800) / 3600;
    if seconds < 60 {
        format!("{seconds} s")
    } else if seconds < 3600 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else if minutes < 24 * 60 {
        format!("{} h {} min", minutes / 60, minutes % 60)
    } else {
        format!("{} d {} h", hours / 24, hours % 24)
    }
}

fn counted(value: u64, one: &str) -> String {
    format!("{} {one}{}", count(value), if value == 1 { "" } else { "s" })
}

fn count(value: u64) -> String {
    number::count(usize::try_from(value).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
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
        time: None,
        held_out: true,
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

    /// Output that a test can read.
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
    fn the_first_line_names_the_run() {
        let text = started_text(&STARTED);
        assert_eq!(text, "training tsp20: 710,016 parameters, 250,000 steps in 100 epochs, on cpu with 2 threads");
        let text = started_text(&Started { first_step: 2500, threads: 1, ..STARTED });
        assert!(text.ends_with("1 thread, resuming after step 2,500"), "{text}");
    }

    #[test]
    fn the_bar_has_two_lines() {
        let length = length(&STARTED);
        assert_eq!(epoch_text(3, &length), "epoch 3/100");
        let text = bar_text(&at(6834, 273.36), Some(3.8591), &length);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "1,834 of 2,500 steps  3,190 instances/s  eta 2 h 42 min");
        assert_eq!(lines[1], "  cost 3.871  baseline 3.868  valid 3.859  grad 0.61  lr 1.0e-4");
        assert!(!bar_text(&at(1, 0.1), None, &length).contains("valid"));
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
        let limited = Length { time: Some(80.0), ..length };
        assert_eq!(limited.seconds_left(&at(5500, 50.0)), Some(30.0));
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
        let valid = Valid {
            epoch,
            cost: 3.859,
            previous: Some(3.871),
            gap: Some(0.0062),
            measures,
            comparison: Some(BaselineComparison {
                baseline_updated: true,
                mean_difference: -0.0123,
                t_statistic: Some(-3.456),
                p_value: Some(0.00028),
            }),
        };
        progress.valid(&valid);
        progress.verbose = true;
        progress.valid(&valid);
        progress.verbose = false;
        let measures = Measures(vec![Measure::Mean("accuracy", 0.875)]);
        progress.valid(&Valid { epoch: 2, previous: None, gap: None, comparison: None, measures, ..valid });
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6, "{text}");
        let first = "epoch 1/100  step 1 of 250,000  cost 3.871  baseline 3.868  loss -0.100  grad 0.61  lr 1.0e-4  ";
        assert!(lines[0].starts_with(first), "{text}");
        assert!(lines[1].contains("step 150 ") && lines[2].contains("step 250 "), "{text}");
        assert_eq!(lines[3], "epoch 1/100  valid 3.859 (-0.31 %)  gap 0.62 %  new baseline");
        let test = "new baseline (mean difference -0.0123, t -3.46, p 2.8e-4)";
        assert!(lines[4].ends_with(test), "{text}");
        assert_eq!(lines[5], "epoch 2/100  valid 3.859  accuracy 0.875");
    }

    #[test]
    fn times_have_two_units() {
        for (seconds, expected) in [
            (0.2, "0 s"),
            (59.4, "59 s"),
            (59.6, "1 min 0 s"),
            (250.0, "4 min 10 s"),
            (3599.7, "1 h 0 min"),
            (9660.0, "2 h 41 min"),
            (86_399.0, "1 d 0 h"),
            (273_600.0, "3 d 4 h"),
            (-3.0, "0 s"),
            (f64::INFINITY, "unknown"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(time(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn speeds_and_norms_have_useful_digits() {
        assert_eq!(speed(3190.4), "3,190 instances/s");
        assert_eq!(speed(99.96), "100 instances/s");
        assert_eq!(speed(3.21), "3.2 instances/s");
        assert_eq!(norm(0.612), "0.61");
        assert_eq!(norm(0.000_04), "4.0e-5");
        assert_eq!(norm(123_456.0), "1.2e5");
        assert_eq!(norm(f64::NAN), "NaN");
    }
}
