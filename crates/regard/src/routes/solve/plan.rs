//! Which questions the network is asked, in which order.

use super::SolveOptions;
use crate::routes::decode::{Decode, DecodeOptions};

/// The stages of the network for `n` places.
pub(super) fn stages(n: usize, options: &SolveOptions) -> Vec<DecodeOptions> {
    let stage = |decode: Decode, augment: usize| DecodeOptions {
        decode,
        augment,
        temperature: options.temperature,
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

/// Starts and views of the second stage of the default plan.
fn default_search(n: usize) -> Option<(usize, usize)> {
    match n {
        0..=300 => Some((16, 8)),
        301..=1000 => Some((4, 8)),
        1001..=3000 => Some((8, 1)),
        _ => None,
    }
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
}
