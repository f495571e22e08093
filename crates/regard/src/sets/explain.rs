//! What a network on sets computes for one set.

use regard_data::sets::Bags;
use regard_nn::trace::record;

use super::predict::SetModel;
use super::source::features_of;
use crate::explain::{Labels, Trace};
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
            return Err(Error::config("--item", format!("is `{id}`, an empty set: there is nothing to look at")));
        }
        let sets = features_of(&self.config, bags)?.select(&[at]).batch(&self.device).sets;
        let (_, recording) = record(|| self.network.forward(sets));
        let rows = (1..=bags.size(at)).map(|row| format!("row {row}")).collect();
        let mut labels = Labels::from([("row", rows)]);
        labels.insert("feature", self.config.data.features.clone());
        labels.insert("output", self.config.data.classes.clone());
        Ok(Trace::new(name.to_owned(), format!("set {id}"), recording, &labels))
    }
}
