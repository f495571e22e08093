//! A running average of the weights (Polyak & Juditsky 1992; Tarvainen & Valpola 2017).

use crate::store::Weights;

/// `average = decay · average + (1 − decay) · weights`, after every step.
#[derive(Clone, Debug)]
pub(crate) struct RunningAverage {
    decay: f64,
    pub(crate) weights: Weights,
}

impl RunningAverage {
    /// Begins with the weights themselves.
    pub(crate) fn new(decay: f64, weights: Weights) -> Self {
        Self { decay, weights }
    }

    /// Takes in the weights after `step` steps. Early on the average is short, or the first
    /// weights would stay in it for long.
    pub(crate) fn update(&mut self, step: u64, weights: &Weights) {
        let keep = self.decay.min((1.0 + step as f64) / (10.0 + step as f64));
        let (keep, take) = (keep as f32, (1.0 - keep) as f32);
        for (average, new) in self.weights.values_mut().zip(weights.values()) {
            for (average, new) in average.data.iter_mut().zip(&new.data) {
                *average = keep * *average + take * new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Array;

    #[test]
    fn it_follows_and_settles() {
        let weights = |value: f32| Weights::from([("x".into(), Array { shape: vec![1], data: vec![value] })]);
        let mut average = RunningAverage::new(0.9, weights(5.0));
        average.update(0, &weights(1.0));
        assert!((average.weights["x"].data[0] - 1.4).abs() < 1e-6, "a tenth of the first weights is left");
        for step in 1..400 {
            average.update(step, &weights(1.0));
        }
        assert!((average.weights["x"].data[0] - 1.0).abs() < 1e-6);
    }
}
