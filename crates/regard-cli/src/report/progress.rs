//! The progress bar, on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Printer;

/// A bar for a known number of things.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for `total` things called `what`; hidden without progress.
    pub(crate) fn new(printer: &Printer, total: usize, what: &str) -> Self {
        let target = if printer.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target);
        let template = "{bar:20} {human_pos} of {human_len} {msg}  {per_sec}  eta {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("█▌░"));
        }
        bar.set_message(what.to_owned());
        Self { bar }
    }

    /// Runs `body`, which prints, with the bar out of the way.
    pub(crate) fn suspend<T>(&self, body: impl FnOnce() -> T) -> T {
        self.bar.suspend(body)
    }

    /// Sets the number of things done.
    pub(crate) fn set(&self, done: usize) {
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
