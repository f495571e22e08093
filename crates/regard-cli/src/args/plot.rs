//! `regard plot`.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// Name of the picture in the folder of the run.
const DEFAULT_NAME: &str = "curves.svg";

/// Arguments of `regard plot`.
#[derive(Debug, Args)]
#[command(after_help = "\
Plots cost, gradient norm and learning rate against the number of training instances. The run may \
still be in progress.

Examples:
  regard plot runs/tsp20
  regard plot runs/tsp20 --out tsp20.png --json")]
pub(crate) struct PlotArgs {
    /// Folder of a training run, with its metrics.jsonl
    #[arg(value_name = "DIR")]
    run: PathBuf,
    /// Image file to write [default: DIR/curves.svg]
    #[arg(long, value_name = "F.svg|F.png")]
    out: Option<PathBuf>,
}

/// `regard plot` with defaults filled in.
#[derive(Debug)]
pub(crate) struct PlotJob {
    /// Folder of the run.
    pub(crate) run: PathBuf,
    /// Picture to write.
    pub(crate) out: PathBuf,
}

impl PlotArgs {
    /// Checks the name of the picture.
    pub(crate) fn check(self) -> anyhow::Result<PlotJob> {
        let out = self.out.unwrap_or_else(|| self.run.join(DEFAULT_NAME));
        let ending = out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if !["svg", "png"].contains(&ending.to_ascii_lowercase().as_str()) {
            return Err(Failure::new(format!("--out {}: expected a name that ends in .svg or .png", out.display()))
                .hint(format!("leave it out to write {}", self.run.join(DEFAULT_NAME).display()))
                .into());
        }
        Ok(PlotJob { run: self.run, out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(out: Option<&str>) -> anyhow::Result<PlotJob> {
        PlotArgs { run: PathBuf::from("runs/a"), out: out.map(PathBuf::from) }.check()
    }

    #[test]
    fn the_picture_lies_in_the_folder_unless_named() {
        assert_eq!(check(None).unwrap().out, PathBuf::from("runs/a/curves.svg"));
        assert_eq!(check(Some("b.PNG")).unwrap().out, PathBuf::from("b.PNG"));
        for bad in ["b.pdf", "b", "folder/"] {
            assert!(check(Some(bad)).unwrap_err().to_string().contains(bad), "{bad}");
        }
    }
}
