//! `regard plot`.

use std::path::Path;

use super::Outcome;
use crate::args::PlotJob;
use crate::report::Printer;
use crate::report::curves::{self, Metrics, PlotReport};

/// Draws the learning curves of a run.
pub(super) fn run(job: &PlotJob, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let metrics = Metrics::read(&job.run)?;
    curves::draw(&job.out, &title(&job.run), &metrics)?;
    let drawn = PlotReport::new(&job.out, &metrics);
    if printer.json() {
        printer.object(&drawn)?;
    } else {
        printer.result(&drawn.plain())?;
    }
    Ok(Outcome::Done)
}

/// The name of the folder, also when it is written as `.` or `..`.
fn title(run: &Path) -> String {
    let whole = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_the_folders_name() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("tsp20");
        std::fs::create_dir(&run).unwrap();
        assert_eq!(title(&run), "tsp20");
        assert_eq!(title(&run.join(".")), "tsp20");
        assert_eq!(title(&run.join("missing")), "missing");
    }
}
