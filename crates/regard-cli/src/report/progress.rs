//! The progress bar, on standard error.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::Printer;

/// The time from one drawing to the next while nothing happens.
const TICK: Duration = Duration::from_millis(200);

/// A bar for a known number of things.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for `total` things called `what`; hidden without progress.
    pub(crate) fn new(printer: &Printer, total: usize, what: &str) -> Self {
        Self::with_template(printer, total, what, "{bar:20} {human_pos} of {human_len} {msg}  {per_sec}  eta {eta}")
    }

    /// A bar for things that take long, with the time they have taken so far.
    pub(crate) fn of_long(printer: &Printer, total: usize, what: &str) -> Self {
        let template = "{bar:20} {human_pos} of {human_len} {msg}  after {elapsed}{left}";
        let progress = Self::with_template(printer, total, what, template);
        let left = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // Before the first is done nothing is known.
            if state.pos() > 0 {
                let _ = write!(out, "  eta {:#}", HumanDuration(state.eta()));
            }
        };
        progress.bar.set_style(progress.bar.style().with_key("left", left));
        progress.tick(printer);
        progress
    }

    fn with_template(printer: &Printer, total: usize, what: &str, template: &str) -> Self {
        let target = if printer.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("█▌░"));
        }
        bar.set_message(what.to_owned());
        Self { bar }
    }

    /// Draws the bar from time to time, where it is shown.
    fn tick(&self, printer: &Printer) {
        if printer.progress() {
            self.bar.enable_steady_tick(TICK);
        }
    }

    /// A line for a search whose steps are not known, with its best `cost` and the time that is left of `limit`.
    /// [`Self::describe`] sets what it does.
    pub(crate) fn of_search(
        printer: &Printer,
        limit: Option<Duration>,
        cost: impl Fn() -> Option<String> + Clone + Send + Sync + 'static,
    ) -> Self {
        let progress = Self::with_template(printer, 1, "", "{spinner} {msg}{cost}  {time}");
        let cost = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = cost().map(|cost| write!(out, "  {cost}"));
        };
        let begun = Instant::now();
        let time = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let passed = begun.elapsed();
            // A bar that cannot be drawn is no reason to stop.
            let _ = match limit {
                Some(limit) => write!(out, "{:.0} s left", limit.saturating_sub(passed).as_secs_f64()),
                None => write!(out, "after {} s", passed.as_secs()),
            };
        };
        progress.bar.set_style(progress.bar.style().with_key("time", time).with_key("cost", cost));
        progress.tick(printer);
        progress
    }

    /// Sets the number of things done.
    pub(crate) fn set(&self, done: usize) {
        self.bar.set_position(done as u64);
    }

    /// Sets what is done.
    pub(crate) fn describe(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
