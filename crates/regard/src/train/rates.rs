//! How learning rates rise and fall.

/// The part of the full rate at step `step`, of `warm` steps over which it rises.
pub(crate) fn rise(step: u64, warm: f64) -> f64 {
    if warm > 0.0 { ((step + 1) as f64 / warm).min(1.0) } else { 1.0 }
}

/// Half a cosine from 1 down to 0, at this share of the training.
pub(crate) fn half_cosine(share: f64) -> f64 {
    0.5 * (1.0 + (std::f64::consts::PI * share.min(1.0)).cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_rise_to_the_full_one_and_fall_to_nothing() {
        assert_eq!([rise(0, 0.0), rise(0, 4.0), rise(3, 4.0), rise(9, 4.0)], [1.0, 0.25, 1.0, 1.0]);
        assert!(half_cosine(0.0) == 1.0 && (half_cosine(0.5) - 0.5).abs() < 1e-12 && half_cosine(2.0) < 1e-12);
    }
}
