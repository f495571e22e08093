//! Trace of a network on one set.

use regard_data::sets::Bags;
use regard_nn::trace::record;

use super::predict::SetModel;
use super::source::features_of;
use crate::explain::{Labels, Layout, Trace};
use crate::{Error, Result};

impl SetModel {
    /// Every intermediate of the network on set `at` of the file, from its own forward pass: `encoder.LAYER.…`,
    /// `pooling.…`, `decoder.LAYER.…`, `answer`.
    ///
    /// # Errors
    /// [`Error::Config`] for an empty set; columns that differ from those of training.
    pub fn explain(&self, name: &str, bags: &Bags, at: usize) -> Result<Trace> {
        let id = &bags.ids()[at];
        if bags.size(at) == 0 {
            return Err(Error::config("--example", format!("is `{id}`, an empty set: there is nothing to look at")));
        }
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
