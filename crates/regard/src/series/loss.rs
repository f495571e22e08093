//! How far off answers are.

use burn::tensor::Tensor;

use super::experiment::SeriesLoss;

/// Beyond this distance a Huber loss grows straight.
const HUBER: f32 = 1.0;

/// The mean loss of `[samples, channels, values]` answers; `counted` is 1 where a target counts.
pub fn distance(answers: Tensor<3>, targets: Tensor<3>, counted: Option<Tensor<3>>, loss: SeriesLoss) -> Tensor<1> {
    let off = answers - targets;
    let each = match loss {
        SeriesLoss::Squared => off.square(),
        SeriesLoss::Absolute => off.abs(),
        SeriesLoss::Huber => {
            let size = off.abs();
            let near = size.clone().clamp_max(HUBER);
            // d²/2 up to the border, straight beyond it.
            near.clone().square().mul_scalar(0.5) + (size - near).mul_scalar(HUBER)
        }
    };
    mean(each, counted)
}

/// The mean quantile loss (Koenker & Bassett 1978) of `[samples, channels, values · levels]` answers, twice
/// it, so that the median's is the absolute error.
pub fn pinball(answers: Tensor<3>, targets: Tensor<3>, counted: Option<Tensor<3>>, levels: &[f64]) -> Tensor<1> {
    let [samples, channels, values] = targets.dims();
    let count = levels.len();
    let device = answers.device();
    let answers = answers.reshape([samples, channels, values, count]);
    let below = targets.reshape([samples, channels, values, 1]) - answers;
    let level: Vec<f32> = levels.iter().map(|&level| level as f32).collect();
    let level = Tensor::<1>::from_floats(level.as_slice(), &device).reshape([1, 1, 1, count]);
    let each = (below.clone() * level.clone()).max_pair(below * (level - 1.0)).mul_scalar(2.0);
    mean(each.mean_dim(3).reshape([samples, channels, values]), counted)
}

fn mean(each: Tensor<3>, counted: Option<Tensor<3>>) -> Tensor<1> {
    match counted {
        None => each.mean(),
        Some(counted) => (each * counted.clone()).sum() / counted.sum().clamp_min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    fn tensor(values: [f32; 4]) -> Tensor<3> {
        Tensor::<1>::from_floats(values, &Device::flex()).reshape([1, 2, 2])
    }

    fn number(loss: Tensor<1>) -> f32 {
        loss.into_scalar::<f32>()
    }

    #[test]
    fn distances_by_hand() {
        let (answers, targets) = (tensor([0.0, 1.0, 3.0, 9.0]), tensor([0.5, 1.0, 1.0, 9.0]));
        let of = |loss| number(distance(answers.clone(), targets.clone(), None, loss));
        assert_eq!(of(SeriesLoss::Squared), (0.25 + 4.0) / 4.0);
        assert_eq!(of(SeriesLoss::Absolute), 2.5 / 4.0);
        assert_eq!(of(SeriesLoss::Huber), (0.125 + 1.5) / 4.0);
        let counted = Some(tensor([1.0, 1.0, 0.0, 0.0]));
        assert_eq!(number(distance(answers, targets, counted, SeriesLoss::Absolute)), 0.25);
    }

    #[test]
    fn quantile_losses_by_hand() {
        let targets = Tensor::<1>::from_floats([2.0, 0.0], &Device::flex()).reshape([1, 1, 2]);
        // Levels 0.1 and 0.5 of two values.
        let answers = tensor([1.0, 2.0, 1.0, 3.0]).reshape([1, 1, 4]);
        let expected = (0.2 * 1.0 + 0.0 + 1.8 * 1.0 + 3.0) / 4.0;
        assert!((number(pinball(answers, targets, None, &[0.1, 0.5])) - expected).abs() < 1e-6);
    }
}
