//! The linear skip of a forecast: fitted by least squares before the training, and the share of what a network adds to
//! it that the validation windows support.

use burn::tensor::{Device, Tensor};
use regard_data::least_squares::LeastSquares;
use regard_data::stats::{standard_error, standard_errors};

use super::batch::Batch;
use super::measure::{Measuring, WindowsOf, predict};
use super::model::{PatchTst, PatchTstConfig};
use super::source::Source;
use crate::Result;
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
    // Without one whole window the map is 0, and the network predicts alone.
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

/// Stretches of the validation rows that are held against each other, at most and at least.
const STRETCHES: (usize, usize) = (10, 2);

/// Confidence of the lower end of the interval.
const CONFIDENCE: f64 = 0.975;

/// Sums over the windows of a stretch.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// Of what the network adds, times what the map leaves.
    product: f64,
    /// Of the square of what the network adds.
    square: f64,
}

/// The network with its read-out scaled to the share of it that the validation windows support, and that
/// share: the lower end of the 95 % interval that the stretches of the windows give for what least squares
/// give, within 0 and 1. `None` where there is no fitted map, quantiles are predicted, which would be scaled together,
/// or nothing is held out.
///
/// Times change: what betters one stretch of time worsens the next more often than the map does. The
/// lower end of an interval lets the network speak only where stretches agree.
///
/// # Errors
/// None that a network of this crate can cause.
pub(super) fn supported(
    network: &PatchTst,
    config: &PatchTstConfig,
    source: &Source,
    measuring: Measuring,
    device: &Device,
) -> Result<Option<(PatchTst, f64)>> {
    let applies = config.fits_map() && config.quantiles.is_empty();
    let Some(windows) = source.validation.as_ref().filter(|_| applies) else {
        return Ok(None);
    };
    let samples = source.samples(windows);
    let places = if source.together { samples } else { samples / source.panel.len().max(1) };
    let mut stretches = vec![Stretch::default(); (places / config.horizon).clamp(STRETCHES.1, STRETCHES.0)];
    let (count, mut seen) = (stretches.len(), 0);
    let mut watch = |batch: &Batch, answers: &[f32]| {
        let Some(map) = network.mapped(&batch.input(device)) else { return };
        let map: Vec<f32> = map.into_data().iter::<f32>().collect();
        let [of_batch, channels] = batch.shape;
        let size = channels * batch.horizon;
        for sample in 0..of_batch {
            let stretch = &mut stretches[(seen + sample) * count / samples];
            (sample * size..(sample + 1) * size).for_each(|at| {
                if batch.counted.get(at).copied().unwrap_or(true) {
                    stretch.add(answers[at] - map[at], batch.targets[at] - map[at]);
                }
            });
        }
        seen += of_batch;
    };
    predict(network, config, WindowsOf { source, windows }, measuring, device, &mut watch);
    let share = share(&stretches);
    Ok(Some((with_share(network, share)?, share)))
}

/// If true, an array belongs to the head, which adds to a fitted linear skip.
pub(super) fn reads_out(name: &str) -> bool {
    name.contains(".readout.head.")
}

/// The network, whose read-out adds so much of what it has learnt to add.
fn with_share(network: &PatchTst, share: f64) -> Result<PatchTst> {
    let mut weights: Weights = collect(network);
    for (name, array) in &mut weights {
        if reads_out(name) {
            array.data.iter_mut().for_each(|x| *x *= share as f32);
        }
    }
    restore(network.clone(), &weights)
}

impl Stretch {
    fn add(&mut self, added: f32, left: f32) {
        self.product += f64::from(added) * f64::from(left);
        self.square += f64::from(added).powi(2);
    }
}

/// The lower end of the interval of the share of least squares, from pseudo-values of the jackknife.
fn share(stretches: &[Stretch]) -> f64 {
    let sums = stretches.iter().fold(Stretch::default(), |sum, one| Stretch {
        product: sum.product + one.product,
        square: sum.square + one.square,
    });
    let of = |product: f64, square: f64| if square > 0.0 { product / square } else { 0.0 };
    let (whole, count) = (of(sums.product, sums.square), stretches.len() as f64);
    let without = |one: &Stretch| of(sums.product - one.product, sums.square - one.square);
    let pseudo: Vec<f64> = stretches.iter().map(|one| count * whole - (count - 1.0) * without(one)).collect();
    (whole - standard_errors(CONFIDENCE, stretches.len()) * standard_error(&pseudo)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shares: &[f64]) -> f64 {
        share(&shares.iter().map(|&product| Stretch { product, square: 1.0 }).collect::<Vec<Stretch>>())
    }

    #[test]
    fn stretches_that_agree_support_all_they_say() {
        assert!((of(&[0.8, 0.8, 0.8]) - 0.8).abs() < 1e-12);
        assert_eq!((of(&[2.0, 2.0]), of(&[-0.5, -0.5]), of(&[0.0, 0.0])), (1.0, 0.0, 0.0));
        assert_eq!(share(&[Stretch::default(); 3]), 0.0);
    }

    #[test]
    fn stretches_that_do_not_agree_lower_the_share() {
        // A mean of 0.6 of three, a standard error of 0.1 / √3, of which 4.3027 are taken.
        assert!((of(&[0.5, 0.6, 0.7]) - (0.6 - 4.3027 * 0.1 / 3f64.sqrt())).abs() < 1e-4);
        assert!(of(&[1.5, -0.5]) < 1e-12);
    }
}
