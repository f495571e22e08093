//! The linear map of a forecast's shortcut by least squares, before anything else is learnt.

use burn::tensor::{Device, Tensor};
use regard_data::least_squares::LeastSquares;

use super::share::reads_out;
use crate::Result;
use crate::series::batch::Batch;
use crate::series::model::{PatchTst, PatchTstConfig};
use crate::series::source::Source;
use crate::store::Weights;
use crate::train::{collect, restore};

/// Windows of single series that are looked at, at most; they are spread over all.
const MOST: usize = 100_000;
/// Windows that are gathered at a time.
const BLOCK: usize = 2048;

/// A network whose shortcut is the ridge regression of what follows the training windows on what is in them,
/// and whose read-out adds nothing yet. A network with another shortcut is left as it is.
///
/// Errors count as the loss does, at the scale of the series: a normalised window by its deviation. Windows
/// after which something is missing are left out. The map has no constant, which would be a drift of all
/// series in one direction: turned over, a series has the forecast turned over.
///
/// # Errors
/// [`Error::Data`](crate::Error::Data) where values are not finite.
pub(super) fn fitted(
    network: PatchTst,
    config: &PatchTstConfig,
    source: &Source,
    penalty: f64,
    device: &Device,
) -> Result<PatchTst> {
    if !config.fits_map() {
        return Ok(network);
    }
    let (look_back, horizon) = (config.look_back, config.horizon);
    let mut equations = LeastSquares::new(look_back, horizon);
    let samples = source.samples(&source.training);
    let channels = if source.together { source.panel.len() } else { 1 };
    let every = (samples * channels).div_ceil(MOST).max(1);
    let chosen: Vec<usize> = (0..samples).step_by(every).collect();
    for samples in chosen.chunks((BLOCK / channels).max(1)) {
        let batch = Batch::gather(source, &source.training, samples);
        let rows = Rows::of(&network, &batch, device);
        equations.add(&rows.seen, &rows.right);
    }
    // Without one whole window the map says nothing, and the network everything.
    let known = equations.rows() > 0;
    let weights = if known { equations.solve(penalty)? } else { vec![0.0; look_back * horizon] };
    let mut ours: Weights = collect(&network);
    for (name, array) in &mut ours {
        match name.rsplit_once("shortcut.") {
            Some((_, "weight")) => array.data = weights.iter().map(|&x| x as f32).collect(),
            Some((_, "bias")) => array.data.fill(0.0),
            _ if known && reads_out(name) => array.data.fill(0.0),
            _ => {}
        }
    }
    restore(network, &ours)
}

/// Rows of the normal equations.
struct Rows {
    /// `[rows, look-back]`
    seen: Vec<f64>,
    /// `[rows, horizon]`
    right: Vec<f64>,
}

impl Rows {
    fn of(network: &PatchTst, batch: &Batch, device: &Device) -> Self {
        let numbers = |x: Tensor<3>| x.into_data().iter::<f32>().map(f64::from).collect::<Vec<f64>>();
        let (values, center, deviation) = network.shortcut_sees(&batch.input(device));
        let (values, center, deviation) = (numbers(values), numbers(center), numbers(deviation));
        let (look_back, horizon) = (batch.look_back, batch.horizon);
        let (mut seen, mut right) = (vec![], vec![]);
        for row in 0..batch.rows() {
            let targets = row * horizon..(row + 1) * horizon;
            if !batch.counted.is_empty() && batch.counted[targets.clone()].contains(&false) {
                continue;
            }
            seen.extend(values[row * look_back..(row + 1) * look_back].iter().map(|x| x * deviation[row]));
            right.extend(batch.targets[targets].iter().map(|&y| f64::from(y) - center[row]));
        }
        Self { seen, right }
    }
}
