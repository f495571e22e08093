//! Options of an attribution, in `regard predict` and `regard forecast`.

use clap::Args;
use regard::explain::attribution::{AttributionMethod, AttributionOptions};

use crate::failure::Failure;

/// Options of an attribution.
#[derive(Debug, Args)]
pub(crate) struct AttributionArgs {
    /// Report how much each part of the input changes the answer, instead of the answer: rows of a set, nodes and edges of a
    /// graph, patches and lags of a series [possible values: leave-one-out, occlusion, shapley, integrated-gradients]
    #[arg(long, value_name = "METHOD")]
    pub(crate) attribution: Option<AttributionMethod>,
    /// Sampled permutations of --attribution shapley [default: 32]
    #[arg(long, value_name = "N", value_parser = super::integer, requires = "attribution")]
    samples: Option<usize>,
    /// Steps along the path of --attribution integrated-gradients [default: 16]
    #[arg(long, value_name = "N", value_parser = super::integer, requires = "attribution")]
    steps: Option<usize>,
    /// Seed of permutations and random orders.
    #[arg(skip)]
    pub(crate) seed: u64,
}

impl AttributionArgs {
    /// The options of the library; `None` where no attribution is asked for.
    pub(crate) fn options(&self) -> anyhow::Result<Option<AttributionOptions>> {
        let Some(method) = self.attribution else { return Ok(None) };
        let of_others = [
            ("--samples", self.samples.is_some(), AttributionMethod::Shapley),
            ("--steps", self.steps.is_some(), AttributionMethod::IntegratedGradients),
        ];
        for (name, given, of) in of_others {
            if given && method != of {
                return Err(Failure::new(format!("{name} applies only to --attribution {of}"))
                    .hint("leave it out")
                    .into());
            }
        }
        let default = AttributionOptions::new(method, self.seed);
        let (samples, steps) = (self.samples.unwrap_or(default.samples), self.steps.unwrap_or(default.steps));
        Ok(Some(AttributionOptions { samples, steps, ..default }))
    }
}
