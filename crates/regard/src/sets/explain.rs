//! Trace of a network on one set.

use regard_data::sets::Bags;
use regard_nn::trace::record;

use super::predict::SetModel;
use super::source::features_of;
use crate::explain::{Labels, Layout, Trace, check_size};
use crate::sets::model::{EncoderKind, SetTransformerConfig};
use crate::{Error, Result};

impl SetModel {
    /// Every intermediate of the network on set `at` of the file, from its own forward pass: `encoder.LAYER.…`,
    /// `pooling.…`, `decoder.LAYER.…`, `answer`.
    ///
    /// # Errors
    /// [`Error::Config`] for an empty set; [`Error::Unsupported`] for one whose trace would not fit into memory; columns that differ from those of training.
    pub fn explain(&self, name: &str, bags: &Bags, at: usize) -> Result<Trace> {
        let id = &bags.ids()[at];
        if bags.size(at) == 0 {
            return Err(Error::config("--example", format!("is `{id}`, an empty set: there is nothing to look at")));
        }
        check_size(&format!("set {id}"), "rows", bags.size(at), |rows| numbers(&self.config, rows))?;
        let sets = features_of(&self.config, bags)?.select(&[at]).batch(&self.device).sets;
        let (_, recording) = record(|| self.network.forward(sets));
        let rows: Vec<String> = (1..=bags.size(at)).map(|row| format!("row {row}")).collect();
        let mut labels = Labels::from([("row", rows.clone())]);
        labels.insert("feature", self.config.data.features.clone());
        labels.insert("output", self.config.data.classes.clone());
        let trace = Trace::new(name.to_owned(), format!("set {id}"), recording, &labels);
        // A cloud on a plane is drawn as it is.
        let points = trace.step("features").filter(|step| step.recorded.shape == [rows.len(), 2]);
        let places = points.map(|step| step.recorded.values.chunks(2).map(|at| [at[0].into(), at[1].into()]).collect());
        Ok(match places {
            Some(places) => trace.with_layout(Layout { axis: "row", labels: rows, places, ..Layout::default() }),
            None => trace,
        })
    }
}

/// The numbers that the trace of a set holds.
fn numbers(config: &SetTransformerConfig, rows: usize) -> usize {
    // Scores before and after the scale, weights and mask; rows of a block.
    let scores = 3 * config.heads + 1;
    let block = |queries: usize, keys: usize| queries * keys * scores + 12 * config.width * (queries + keys);
    let layer = match config.encoder {
        EncoderKind::Isab => block(config.inducing_points, rows) + block(rows, config.inducing_points),
        _ => block(rows, rows),
    };
    config.layers * layer + (1 + config.seed_refinements) * block(config.num_seeds, rows)
}
