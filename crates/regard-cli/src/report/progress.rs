//! Progress on standard error: a bar, or lines where it is no terminal.

use std::io::{self, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{Printer, number};

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

    /// A line for things of which there is no known number.
    pub(crate) fn of_stream(printer: &Printer, what: &str) -> Self {
        Self::with_template(printer, 0, what, "{spinner} {human_pos} {msg}  {per_sec}  after {elapsed}")
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

/// Seconds between two lines where standard error is no terminal.
pub(super) const PAUSE: f64 = 30.0;

/// Progress of work in stages, each with its own number of things: forecasters that are fitted to series, windows of a
/// back-test in which a network is trained.
pub(crate) struct StageProgress {
    /// `None` where nothing is shown.
    view: Option<View>,
    bar: ProgressBar,
    state: Mutex<State>,
}

/// Form of the progress.
enum View {
    Bar,
    Lines,
}

/// The stage that is shown.
struct State {
    stage: String,
    /// When it began, and when the last line was written.
    begun: Instant,
    line: Instant,
}

/// Things that are done in a stage.
#[derive(Clone, Copy)]
pub(crate) struct Done<'a> {
    pub(crate) stage: &'a str,
    pub(crate) done: usize,
    pub(crate) of: usize,
    /// `series` or `steps`.
    pub(crate) what: &'a str,
    /// The time that a limit leaves for everything.
    pub(crate) limit: Option<Duration>,
}

impl StageProgress {
    /// Nothing done yet.
    pub(crate) fn new(printer: &Printer) -> Self {
        let view = match (printer.progress(), printer.quiet()) {
            (true, _) => Some(View::Bar),
            (false, quiet) => (!quiet).then_some(View::Lines),
        };
        let target = if printer.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {msg}") {
            bar.set_style(style.progress_chars("█▌░"));
        }
        let now = Instant::now();
        Self { view, bar, state: Mutex::new(State { stage: String::new(), begun: now, line: now }) }
    }

    /// Shows what is done; nothing done is the beginning of a stage.
    pub(crate) fn show(&self, done: Done<'_>) {
        let Ok(mut state) = self.state.lock() else { return };
        let now = Instant::now();
        if state.stage != done.stage || done.done == 0 {
            (state.stage, state.begun) = (done.stage.to_owned(), now);
        }
        let text = done.text(now.duration_since(state.begun));
        match self.view {
            Some(View::Bar) => {
                if self.bar.is_finished() {
                    self.bar.reset();
                }
                self.bar.set_length(done.of.max(1) as u64);
                self.bar.set_position(done.done as u64);
                self.bar.set_message(text);
            }
            Some(View::Lines) if now.duration_since(state.line).as_secs_f64() >= PAUSE => {
                state.line = now;
                // A line that nobody reads is no reason to stop.
                let _ = writeln!(io::stderr(), "{text}");
            }
            Some(View::Lines) | None => {}
        }
    }

    /// Takes it from the screen until more is shown.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for StageProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Done<'_> {
    /// The stage, what is done, and the time to its end at the pace so far or by the limit.
    fn text(&self, taken: Duration) -> String {
        let Self { stage, done, of, what, limit } = *self;
        let pace = (done > 0).then(|| taken.as_secs_f64() / done as f64 * of.saturating_sub(done) as f64);
        let limit = limit.map(|limit| limit.as_secs_f64());
        let eta = match (pace, limit) {
            (Some(pace), Some(limit)) => format!("  eta {}", number::seconds(pace.min(limit))),
            (Some(seconds), None) => format!("  eta {}", number::seconds(seconds)),
            _ => String::new(),
        };
        let limit = limit.map_or(String::new(), |limit| format!(", at most {} for all", number::seconds(limit)));
        format!("{stage}  {} of {} {what}{eta}{limit}", number::count(done), number::count(of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_shows_its_share_and_the_time_that_is_left() {
        let done = Done { stage: "ETS", done: 2500, of: 10_000, what: "series", limit: Some(Duration::from_secs(12)) };
        assert_eq!(done.text(Duration::from_secs(3)), "ETS  2,500 of 10,000 series  eta 9.0 s, at most 12.0 s for all");
        let slow = Done { limit: Some(Duration::from_secs(4)), ..done };
        assert!(slow.text(Duration::from_secs(3)).contains("eta 4.0 s"));
        let begun = Done { done: 0, limit: None, ..done };
        assert_eq!(begun.text(Duration::ZERO), "ETS  0 of 10,000 series");
    }
}
