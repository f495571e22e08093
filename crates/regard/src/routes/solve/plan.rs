//! The decoding stages of the network, in their order.

use std::time::Duration;

use super::SolveOptions;
use crate::routes::decode::{Decode, DecodeOptions};
use crate::routes::model::AttentionModel;
use crate::{Error, Result};

/// The stages of the network for `n` places.
pub(super) fn stages(n: usize, options: &SolveOptions) -> Vec<DecodeOptions> {
    let stage = |decode: Decode, augment: usize| DecodeOptions {
        decode,
        augment,
        temperature: options.temperature,
        top_p: options.top_p,
        seed: options.seed,
    };
    let mut stages = vec![stage(Decode::Greedy, 1)];
    let (decode, augment) = match (options.decode, default_search(n)) {
        (Some(decode), _) => (decode, options.augment.unwrap_or(1)),
        (None, Some((starts, views))) => (Decode::MultiStart(Some(starts.min(n))), options.augment.unwrap_or(views)),
        (None, None) => (Decode::Greedy, options.augment.unwrap_or(1)),
    };
    if !matches!(decode, Decode::Greedy) || augment > 1 {
        stages.push(stage(decode, augment));
    }
    stages
}

/// Instances of more places are constructed without the network unless a way of decoding is asked
/// for: it takes time in `n²` and is far from the sizes it was trained for.
pub(super) const NETWORK_UP_TO: usize = 3000;

/// Starts and views of the second stage of the default plan.
fn default_search(n: usize) -> Option<(usize, usize)> {
    match n {
        0..=300 => Some((16, 8)),
        301..=1000 => Some((4, 8)),
        1001..=3000 => Some((8, 1)),
        _ => None,
    }
}

/// No machine decodes this many times as fast as [`seconds`] says.
const FASTEST: f64 = 40.0;

/// An upper estimate of the seconds that a stage takes with `model`: its multiplications and additions at a rate that old
/// or busy processors reach too.
pub(super) fn seconds(model: &AttentionModel, n: usize, options: &DecodeOptions) -> f64 {
    const RATE: f64 = 4e9;
    let (tours, n) = (trajectories(options.decode, n) as f64, n as f64);
    let [_, width] = model.embedding.weight.dims().map(|size| size as f64);
    let (views, layers) = (options.augment as f64, model.encoder.layers.len() as f64);
    let encoder = layers * (24.0 * n * width * width + 4.0 * n * n * width);
    let decoder = tours * n * (4.0 * n * width + 8.0 * width * width);
    views * (encoder + decoder) / RATE
}

/// Refuses decoding with `model` that was asked for and cannot end in time on any machine.
///
/// # Errors
/// [`Error::Unsupported`] with a decoding that fits.
pub fn check_time(model: &AttentionModel, n: usize, options: &SolveOptions, time: Duration) -> Result<()> {
    let Some(decode) = options.decode else { return Ok(()) };
    let each: Vec<f64> = stages(n, options).iter().map(|stage| seconds(model, n, stage) / FASTEST).collect();
    let (seconds, time) = (each.iter().sum::<f64>(), time.as_secs_f64());
    if seconds <= time {
        return Ok(());
    }
    let augment = options.augment.unwrap_or(1);
    let what = describe(decode, augment);
    let reason = format!("takes more than {seconds:.1} s for {n} nodes; the time is {time:.1} s");
    // What is asked for comes last, and most machines are slower.
    let last = each.last().copied().unwrap_or(0.0);
    let fitting = (trajectories(decode, n) as f64 * (time - (seconds - last)) / last / FASTEST) as usize;
    let hint = match fitting {
        0 => "give more time, or leave out --decode: the network then decodes where the time allows it".to_owned(),
        fitting => format!("give more time, or use fewer, for example --decode sample:{fitting}"),
    };
    Err(Error::Unsupported { what, reason }.with_hint(hint))
}

/// Tours of one view.
fn trajectories(decode: Decode, n: usize) -> usize {
    match decode {
        Decode::Greedy => 1,
        Decode::Sample(k) | Decode::Beam(k) => k,
        Decode::MultiStart(k) => k.unwrap_or(n).min(n),
    }
}

/// Nodes of all tours of one instance that decoding may hold at a time: about 1 GiB.
const MOST_STEPS: usize = 1 << 28;

/// Refuses decoding that would hold more than [`MOST_STEPS`].
pub(crate) fn check_work(n: usize, decode: Decode, augment: usize) -> Result<()> {
    let tours = trajectories(decode, n);
    let steps = tours.checked_mul(augment).and_then(|tours| tours.checked_mul(n));
    if steps.is_some_and(|steps| steps <= MOST_STEPS) {
        return Ok(());
    }
    let most = MOST_STEPS / n.max(1) / augment.max(1);
    let reason = format!("too many for {n} nodes; at most {most} tours fit in memory");
    let hint = format!("use fewer, for example --decode sample:{}", most.min(1280));
    Err(Error::Unsupported { what: describe(decode, augment), reason }.with_hint(hint))
}

/// Words for a way of decoding, for example `16 starts x 8 views`.
pub fn describe(decode: Decode, augment: usize) -> String {
    let what = match decode {
        Decode::Greedy => "greedy".to_owned(),
        Decode::Sample(samples) => format!("{samples} samples"),
        Decode::MultiStart(Some(starts)) => format!("{starts} starts"),
        Decode::MultiStart(None) => "every start".to_owned(),
        Decode::Beam(width) => format!("beam of {width}"),
    };
    if augment > 1 { format!("{what} x {augment} views") } else { what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::model::AttentionModelConfig;
    use burn::tensor::Device;

    fn network(layers: usize) -> AttentionModel {
        let config = AttentionModelConfig { layers, ..AttentionModelConfig::regard_tsp() };
        AttentionModel::new(&config, &Device::flex()).unwrap()
    }

    fn shape(n: usize, options: &SolveOptions) -> Vec<String> {
        stages(n, options).iter().map(|stage| describe(stage.decode, stage.augment)).collect()
    }

    #[test]
    fn the_default_plan_shrinks_with_size() {
        let options = SolveOptions::default();
        assert_eq!(shape(10, &options), ["greedy", "10 starts x 8 views"]);
        assert_eq!(shape(100, &options), ["greedy", "16 starts x 8 views"]);
        assert_eq!(shape(1000, &options), ["greedy", "4 starts x 8 views"]);
        assert_eq!(shape(2392, &options), ["greedy", "8 starts"]);
        assert_eq!(shape(5000, &options), ["greedy"]);
    }

    #[test]
    fn a_way_of_decoding_replaces_the_plan() {
        let mut options = SolveOptions { decode: Some(Decode::Greedy), ..SolveOptions::default() };
        assert_eq!(shape(50, &options), ["greedy"]);
        options.augment = Some(8);
        assert_eq!(shape(50, &options), ["greedy", "greedy x 8 views"]);
        options.decode = Some(Decode::Beam(5));
        options.augment = None;
        assert_eq!(shape(50, &options), ["greedy", "beam of 5"]);
    }

    #[test]
    fn the_estimate_of_time_grows_with_size_and_tours_and_layers() {
        let model = &network(3);
        let all: Vec<f64> = [50, 666, 2392]
            .into_iter()
            .flat_map(|n| stages(n, &SolveOptions::default()).into_iter().map(move |stage| seconds(model, n, &stage)))
            .collect();
        assert!(all[0] < all[1] && all[1] < all[3] && all[2] < all[4], "{all:?}");
        assert!(all[0] < 0.05 && all[2] > 0.1 && all[5] < 60.0, "{all:?}");
        let greedy = &stages(666, &SolveOptions::default())[0];
        assert!(seconds(&network(6), 666, greedy) > 1.5 * all[2]);
    }

    #[test]
    fn decoding_that_cannot_end_in_time_is_refused() {
        let options = |decode| SolveOptions { decode, ..SolveOptions::default() };
        let (model, second) = (network(3), Duration::from_secs(1));
        let error = check_time(&model, 500, &options(Some(Decode::Beam(10_000))), second).unwrap_err().to_string();
        assert!(error.contains("beam of 10000") && error.contains("the time is 1.0 s"), "{error}");
        for (n, decode) in [(500, Some(Decode::Beam(10))), (100, Some(Decode::Sample(1280))), (20_000, None)] {
            assert!(check_time(&model, n, &options(decode), second).is_ok(), "{n} {decode:?}");
        }
    }

    #[test]
    fn what_does_not_fit_in_memory_is_refused() {
        assert!(check_work(2392, Decode::MultiStart(None), 8).is_ok());
        assert!(check_work(100, Decode::Sample(1280), 8).is_ok());
        for (n, decode) in [(1000, Decode::Sample(usize::MAX)), (20_000, Decode::MultiStart(None))] {
            let error = check_work(n, decode, 8).unwrap_err();
            assert!(error.to_string().contains("too many"), "{error}");
        }
    }
}
