//! Names and shapes of a network's tensors.

use super::array::Weights;
use super::network::NetworkConfig;
use crate::{Error, Result};

/// A tensor that a network needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamSpec {
    /// Name in the file of weights.
    pub name: String,
    /// Shape; linear weights are `[out, in]`, projections of heads `[heads, in, out]`.
    pub shape: Vec<usize>,
    /// False for running statistics.
    pub trainable: bool,
}

impl ParamSpec {
    /// Number of values.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Checks that the weights are exactly the tensors of the network, with their shapes.
///
/// # Errors
/// [`Error::Weights`] with every tensor that is missing, not expected, or of another shape.
pub fn check<C: NetworkConfig>(config: &C, weights: &Weights) -> Result<()> {
    let slots = config.param_specs();
    let (mut missing, mut wrong) = (vec![], vec![]);
    for ParamSpec { name, shape, .. } in &slots {
        match weights.get(name) {
            None => missing.push(format!("{name} {shape:?}")),
            Some(array) if array.shape != *shape => {
                wrong.push(format!("{name}: expected shape {shape:?}, found {:?}", array.shape));
            }
            Some(array) if name.ends_with(".running_var") && array.data.iter().any(|&variance| variance < 0.0) => {
                wrong.push(format!("{name}: a variance is negative"));
            }
            Some(_) => {}
        }
    }
    let known: std::collections::BTreeSet<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
    let extra: Vec<String> = weights
        .iter()
        .filter(|(name, _)| !known.contains(name.as_str()))
        .map(|(name, array)| format!("{name} {:?}", array.shape))
        .collect();
    if missing.is_empty() && extra.is_empty() && wrong.is_empty() {
        Ok(())
    } else {
        Err(Error::Weights { missing, extra, wrong })
    }
}
