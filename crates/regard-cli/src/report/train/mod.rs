//! The progress of a training, on standard error: a bar on a terminal, else a line now and then.

mod text;

use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use regard::train::Measures;

use super::Printer;

/// Seconds from one line about a step to the next.
const PAUSE: f64 = 30.0;

/// What is known before the first step.
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
    pub(crate) baseline_updated: Option<bool>,
}

/// Shows how far a training is.
pub(crate) struct TrainProgress {
    length: Length,
    view: View,
    valid: Option<f64>,
}

/// How long a run is.
#[derive(Debug, Clone, Copy)]
struct Length {
    steps: u64,
    steps_per_epoch: u64,
    first_step: u64,
}

/// Where progress is shown.
enum View {
    Bar(ProgressBar),
    /// Lines, and when the last one about a step was written.
    Lines(Box<dyn Write + Send>, Option<f64>),
    Nothing,
}

impl TrainProgress {
    /// A view as the options and the terminal allow it; says what is going to be trained.
    pub(crate) fn new(printer: &Printer, started: &Started<'_>) -> Self {
        printer.note(&text::started(started));
        let view = if printer.progress() {
            View::Bar(bar(started, ProgressDrawTarget::stderr()))
        } else if printer.quiet() {
            View::Nothing
        } else {
            View::Lines(Box::new(io::stderr()), None)
        };
        Self::with_view(started, view)
    }

    fn with_view(started: &Started<'_>, view: View) -> Self {
        let Started { steps, steps_per_epoch, first_step, .. } = *started;
        let length = Length { steps, steps_per_epoch: steps_per_epoch.max(1), first_step };
        Self { length, view, valid: None }
    }

    /// Shows a step.
    pub(crate) fn step(&mut self, step: &Step) {
        match &mut self.view {
            View::Bar(bar) => {
                let (done, of) = self.length.within_epoch(step);
                bar.set_length(of);
                bar.set_prefix(text::epoch(step.epoch + 1, &self.length));
                bar.set_message(text::bar(step, self.valid, &self.length));
                bar.set_position(done);
            }
            View::Lines(out, last) if last.is_none_or(|last| step.seconds - last >= PAUSE) => {
                *last = Some(step.seconds);
                write_line(out, &text::step(step, &self.length));
            }
            View::Lines(..) | View::Nothing => {}
        }
    }

    /// Shows a validation.
    pub(crate) fn valid(&mut self, valid: &Valid) {
        self.valid = Some(valid.cost);
        if let View::Lines(out, _) = &mut self.view {
            write_line(out, &text::valid(valid, &self.length));
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

    /// Seconds to the end of the run at the pace so far, validations included.
    fn seconds_left(&self, step: &Step) -> Option<f64> {
        let done = step.step.saturating_sub(self.first_step);
        let left = self.steps.saturating_sub(step.step);
        (done > 0).then(|| step.seconds / done as f64 * left as f64)
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

#[cfg(test)]
mod tests;
