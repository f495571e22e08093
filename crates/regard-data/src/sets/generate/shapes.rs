//! Clouds of points on shapes, to be told apart.

use super::shape::{Shape, on_circle};
use super::{Drawn, Sizes};
use crate::random::draws::Draws;
use crate::{Error, Result};

/// Clouds of points on a random one of some shapes, turned at random, scaled by 0.8 to 1.25, with noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Shapes {
    shapes: Vec<Shape>,
    sizes: Sizes,
    noise: f64,
}

impl Shapes {
    /// Clouds on these shapes, all of the plane or all of space; `noise` is the deviation of what is
    /// added to each coordinate.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are no shapes, their dimensions differ, or the noise is not a number
    /// of 0 or more.
    ///
    /// ```
    /// use regard_data::sets::generate::{Shape, Shapes, Sizes};
    ///
    /// let shapes = Shapes::new(&Shape::SPACE, Sizes::PerSet(64, 128), 0.05)?;
    /// let clouds = shapes.batch(7, 0, 10);
    /// assert_eq!((clouds.width, clouds.len()), (3, 10));
    /// # Ok::<(), regard_data::Error>(())
    /// ```
    pub fn new(shapes: &[Shape], sizes: Sizes, noise: f64) -> Result<Self> {
        let Some(first) = shapes.first() else {
            return Err(Error::invalid("shapes", "are none, expected at least one"));
        };
        if let Some(other) = shapes.iter().find(|shape| shape.dimension() != first.dimension()) {
            let reason = format!("{} and {} have different dimensions", first.name(), other.name());
            return Err(Error::invalid("shapes", reason));
        }
        if !noise.is_finite() || noise < 0.0 {
            return Err(Error::invalid("noise", format!("is {noise}, expected a number of 0 or more")));
        }
        Ok(Self { shapes: shapes.to_vec(), sizes, noise })
    }

    /// A batch: elements `[n, dimension]`, the target is the place of the shape among those given.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> Drawn<usize> {
        let mut draws = Draws::of_batch(seed, batch);
        let sizes = self.sizes.draw(sets, &mut draws);
        let dimension = self.shapes[0].dimension();
        Drawn::draw(dimension, &sizes, |size, features| {
            let class = draws.index(self.shapes.len());
            let scale = draws.between(0.8, 1.25);
            let turn = if dimension == 2 { turn_in_plane(&mut draws) } else { turn_in_space(&mut draws) };
            for _ in 0..size {
                let point = self.shapes[class].point(&mut draws);
                for row in &turn[..dimension] {
                    let turned: f64 = row.iter().zip(point).map(|(a, b)| a * b).sum();
                    features.push((scale * turned + self.noise * draws.normal()[0]) as f32);
                }
            }
            class
        })
    }
}

fn turn_in_plane(draws: &mut Draws) -> [[f64; 3]; 3] {
    let [cos, sin, _] = on_circle(draws.unit(), 1.0, 0.0);
    [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]
}

/// The rotation of a random unit quaternion: all rotations alike.
fn turn_in_space(draws: &mut Draws) -> [[f64; 3]; 3] {
    let ([a, b], [c, d]) = (draws.normal(), draws.normal());
    let length = (a * a + b * b + c * c + d * d).sqrt();
    let [w, x, y, z] = [a, b, c, d].map(|v| v / length);
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clouds_are_turned_without_being_bent() {
        let shapes = Shapes::new(&[Shape::Sphere], Sizes::PerSet(50, 60), 0.0).unwrap();
        let drawn = shapes.batch(1, 0, 5);
        for set in 0..5 {
            let radii: Vec<f64> =
                drawn.set(set).chunks(3).map(|p| p.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()).collect();
            assert!(radii.iter().all(|r| (r - radii[0]).abs() < 1e-6) && (0.8..=1.25).contains(&radii[0]));
        }
    }

    #[test]
    fn all_classes_occur_and_others_are_refused() {
        for shapes in [Shape::PLANE, Shape::SPACE] {
            let task = Shapes::new(&shapes, Sizes::PerSet(1, 3), 0.1).unwrap();
            let drawn = task.batch(1, 0, 500);
            assert_eq!(drawn, task.batch(1, 0, 500));
            assert!((0..5).all(|class| drawn.targets.iter().filter(|t| **t == class).count() > 60));
            assert!(drawn.features.iter().all(|v| v.abs() < 3.5));
        }
        let pinned = Shapes::new(&Shape::SPACE, Sizes::PerSet(5, 9), 0.1).unwrap().batch(1234, 5, 2);
        assert_eq!((&pinned.targets[..], &pinned.offsets[..]), (&[4, 2][..], &[0, 7, 16][..]));
        assert_eq!(pinned.features[..3], [0.829_624_83, -0.903_310_36, 0.156_253_22]);
        assert!(Shapes::new(&[], Sizes::PerSet(1, 1), 0.0).is_err());
        assert!(Shapes::new(&[Shape::Circle, Shape::Cube], Sizes::PerSet(1, 1), 0.0).is_err());
        assert!(Shapes::new(&[Shape::Circle], Sizes::PerSet(1, 1), f64::NAN).is_err());
    }
}
