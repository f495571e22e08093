//! Clusters: the mixture of normal distributions in every set of points.

use regard_data::sets::Bags;
use regard_data::sets::mixture::{Covariance, Em, Mixture};

use super::SetModel;
use crate::sets::measure::predict;
use crate::sets::mixture::mixture_of;
use crate::sets::model::Decoding;
use crate::sets::source::features_of;
use crate::sets::task::TaskKind;
use crate::{Error, Result};

/// Deviation of a coordinate of generated mixtures: means uniform in ±4, points normal around them with
/// 0.3 (Lee et al. 2019, §5.3).
const GENERATED_DEVIATION: f64 = 2.328_805;
/// Refining ends when the mean log-likelihood of a point rises by less.
const RISE: f64 = 1e-7;

/// Options of [`SetModel::mixtures`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MixtureOptions {
    /// Largest number of steps of expectation maximisation after the network.
    pub refine: usize,
    /// If true, each set is moved and scaled to mean and deviation of the points that the network was
    /// trained on; what is found is scaled back.
    pub rescale: bool,
}

impl SetModel {
    /// The mixtures of sets of points, by a model that finds clusters; none for an empty set.
    ///
    /// # Errors
    /// [`Error::Config`] for another model.
    pub fn mixtures(&self, bags: &Bags, options: MixtureOptions) -> Result<Vec<Option<Mixture>>> {
        if self.config.task != TaskKind::Clustering {
            let reason = format!("is a model for {}, not for clustering", self.config.task.name());
            return Err(Error::config("--model", reason));
        }
        let mut examples = features_of(&self.config, bags)?;
        let mut scales = vec![Scale { mean: vec![0.0; bags.width()], factor: 1.0 }; bags.len()];
        if options.rescale {
            for (bag, scale) in scales.iter_mut().enumerate() {
                let items = examples.offsets[bag] * bags.width()..examples.offsets[bag + 1] * bags.width();
                *scale = Scale::of(&examples.features[items.clone()], bags.width(), self.usual_deviation());
                scale.remove(&mut examples.features[items]);
            }
        }
        let predicted = predict(&self.network, &examples, false, &self.device).numbers;
        let of_set = |(bag, rows): (usize, &[f64])| match examples.set(bag) {
            [] => Ok(None),
            points => self.mixture(rows, points, options.refine, &scales[bag]).map(Some),
        };
        predicted.chunks(self.config.num_seeds * self.config.outputs).enumerate().map(of_set).collect()
    }

    /// The mixture of the prediction for a set, refined and in the units of the file.
    fn mixture(&self, rows: &[f64], points: &[f32], refine: usize, scale: &Scale) -> Result<Mixture> {
        let width = scale.mean.len();
        let covariance = match self.config.decoding {
            Decoding::DiagonalMixture => Covariance::Diagonal,
            _ => Covariance::Isotropic,
        };
        let mut found = mixture_of(rows, width, &self.config)?;
        if refine > 0 {
            found = Em { covariance, ..Em::default() }.refine(&found, points, refine, RISE).mixture;
        }
        found = found.moved(&vec![scale.factor; width], &scale.mean)?;
        if self.config.data.mean.is_empty() {
            return Ok(found);
        }
        // A feature that never varied has no unit of its own.
        let unit = |&by: &f64| if by > 0.0 { by } else { 1.0 };
        let units: Vec<f64> = self.config.data.std.iter().map(unit).collect();
        Ok(found.moved(&units, &self.config.data.mean)?)
    }

    /// Deviation of a coordinate of the points that the network was trained on.
    fn usual_deviation(&self) -> f64 {
        if self.config.data.mean.is_empty() { GENERATED_DEVIATION } else { 1.0 }
    }
}

/// The mean and the spread of the points of a set: one factor for all coordinates, so that round
/// clusters stay round.
#[derive(Clone, Debug)]
struct Scale {
    mean: Vec<f64>,
    factor: f64,
}

impl Scale {
    /// The scale that gives points `[rows, width]` the mean 0 and this deviation over all coordinates.
    fn of(points: &[f32], width: usize, deviation: f64) -> Self {
        let count = (points.len() / width.max(1)).max(1) as f64;
        let mut mean = vec![0.0; width];
        points.iter().enumerate().for_each(|(at, x)| mean[at % width] += f64::from(*x) / count);
        let square = |(at, x): (usize, &f32)| (f64::from(*x) - mean[at % width]).powi(2);
        let variance = points.iter().enumerate().map(square).sum::<f64>() / (count * width as f64);
        let factor = variance.sqrt() / deviation;
        Self { mean, factor: if factor > 0.0 { factor } else { 1.0 } }
    }

    fn remove(&self, points: &mut [f32]) {
        for (at, x) in points.iter_mut().enumerate() {
            *x = ((f64::from(*x) - self.mean[at % self.mean.len()]) / self.factor) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_brought_to_the_usual_scale_and_back() {
        let mut points = vec![100.0, 7.0, 104.0, 7.0, 96.0, 13.0, 100.0, 1.0];
        let before = points.clone();
        let scale = Scale::of(&points, 2, 2.0);
        scale.remove(&mut points);
        let again = Scale::of(&points, 2, 2.0);
        assert!(again.mean.iter().all(|mean| mean.abs() < 1e-6) && (again.factor - 1.0).abs() < 1e-6, "{again:?}");
        for (at, (x, then)) in points.iter().zip(before).enumerate() {
            assert!((f64::from(*x) * scale.factor + scale.mean[at % 2] - f64::from(then)).abs() < 1e-4);
        }
        assert_eq!(Scale::of(&[3.0, 3.0], 1, 1.0).factor, 1.0);
    }
}
