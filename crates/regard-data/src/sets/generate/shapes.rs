//! Clouds of points on shapes, to be classified.

use super::{SetBatch, Sizes};
use crate::random::Draws;
use crate::{Error, Result};
use std::f64::consts::TAU;

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
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> SetBatch<usize> {
        let mut draws = Draws::of_batch(seed, batch);
        let sizes = self.sizes.draw(sets, &mut draws);
        let dimension = self.shapes[0].dimension();
        SetBatch::draw(dimension, &sizes, |size, features| {
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

/// A shape around the origin, about 1 in radius.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Circle of radius 1.
    Circle,
    /// Border of the square [-1, 1]^2.
    Square,
    /// Border of the triangle with its corners on the unit circle.
    Triangle,
    /// Two lines of length 2 that cross in the middle.
    Cross,
    /// Two turns from the middle to radius 1.
    Spiral,
    /// Sphere of radius 1.
    Sphere,
    /// Surface of the cube [-1, 1]^3.
    Cube,
    /// Torus of radii 1 and 0.4.
    Torus,
    /// Closed cylinder of radius 0.7 and height 2.
    Cylinder,
    /// Closed cone of radius 1 and height 2.
    Cone,
}

impl Shape {
    /// Shapes in the plane.
    pub const PLANE: [Self; 5] = [Self::Circle, Self::Square, Self::Triangle, Self::Cross, Self::Spiral];
    /// Shapes in space.
    pub const SPACE: [Self; 5] = [Self::Sphere, Self::Cube, Self::Torus, Self::Cylinder, Self::Cone];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Square => "square",
            Self::Triangle => "triangle",
            Self::Cross => "cross",
            Self::Spiral => "spiral",
            Self::Sphere => "sphere",
            Self::Cube => "cube",
            Self::Torus => "torus",
            Self::Cylinder => "cylinder",
            Self::Cone => "cone",
        }
    }

    /// 2 for shapes in the plane, 3 for those in space.
    #[must_use]
    pub fn dimension(self) -> usize {
        if Self::PLANE.contains(&self) { 2 } else { 3 }
    }

    /// A point on the shape, even in length or area; the spiral is even in its angle.
    pub(super) fn point(self, draws: &mut Draws) -> [f64; 3] {
        match self {
            Self::Circle => on_circle(draws.unit(), 1.0, 0.0),
            Self::Square => side(draws, |u| [u, 1.0], 4),
            Self::Triangle => side(draws, |u| [u * 0.75f64.sqrt(), 0.5], 3),
            Self::Cross => side(draws, |u| [u, 0.0], 4),
            Self::Spiral => {
                let u = draws.unit();
                on_circle(2.0 * u, u, 0.0)
            }
            Self::Sphere => {
                let z = draws.between(-1.0, 1.0);
                on_circle(draws.unit(), (1.0 - z * z).sqrt(), z)
            }
            Self::Cube => {
                let (axis, side) = (draws.index(3), if draws.unit() < 0.5 { -1.0 } else { 1.0 });
                let mut point = [draws.between(-1.0, 1.0), draws.between(-1.0, 1.0), draws.between(-1.0, 1.0)];
                point[axis] = side;
                point
            }
            Self::Torus => torus(draws),
            Self::Cylinder => {
                let (radius, half) = (0.7, 1.0);
                // Areas over 2 pi: mantle and both lids.
                let (mantle, lids) = (radius * 2.0 * half, radius * radius);
                if draws.unit() * (mantle + lids) < mantle {
                    on_circle(draws.unit(), radius, draws.between(-half, half))
                } else {
                    let lid = if draws.unit() < 0.5 { -half } else { half };
                    on_circle(draws.unit(), radius * draws.unit().sqrt(), lid)
                }
            }
            Self::Cone => {
                let (height, slope) = (2.0, 5f64.sqrt());
                let share = draws.unit().sqrt();
                let z = if draws.unit() * (slope + 1.0) < slope { height * (0.5 - share) } else { -0.5 * height };
                on_circle(draws.unit(), share, z)
            }
        }
    }
}

/// A point on a circle of that radius; turns are counted in whole ones.
pub(super) fn on_circle(turns: f64, radius: f64, z: f64) -> [f64; 3] {
    [radius * libm::cos(TAU * turns), radius * libm::sin(TAU * turns), z]
}

/// A point of a line, for u from -1 to 1, turned to one of some sides.
fn side(draws: &mut Draws, line: impl Fn(f64) -> [f64; 2], sides: usize) -> [f64; 3] {
    let turn = draws.index(sides) as f64 / sides as f64;
    let [x, y] = line(draws.between(-1.0, 1.0));
    let (cos, sin) = (libm::cos(TAU * turn), libm::sin(TAU * turn));
    [cos * x - sin * y, sin * x + cos * y, 0.0]
}

/// The outer half has more area: angles are kept in proportion to the radius there.
fn torus(draws: &mut Draws) -> [f64; 3] {
    let (large, small) = (1.0, 0.4);
    loop {
        let angle = TAU * draws.unit();
        let radius = large + small * libm::cos(angle);
        if draws.unit() * (large + small) < radius {
            return on_circle(draws.unit(), radius, small * libm::sin(angle));
        }
    }
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

    fn points(shape: Shape) -> Vec<[f64; 3]> {
        let mut draws = Draws::new(9);
        (0..2000).map(|_| shape.point(&mut draws)).collect()
    }

    #[test]
    fn points_lie_on_their_shapes() {
        let flat = |[x, y, _]: [f64; 3]| x.hypot(y);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(points(Shape::Circle).into_iter().all(|p| near(flat(p), 1.0)));
        assert!(points(Shape::Square).into_iter().all(|p| near(p[0].abs().max(p[1].abs()), 1.0)));
        assert!(points(Shape::Triangle).into_iter().all(|p| (0.5 - 1e-9..=1.0 + 1e-9).contains(&flat(p))));
        assert!(points(Shape::Cross).into_iter().all(|p| near(p[0].abs().min(p[1].abs()), 0.0)));
        assert!(points(Shape::Spiral).into_iter().all(|p| flat(p) <= 1.0));
        assert!(points(Shape::Sphere).into_iter().all(|p| near(flat(p).hypot(p[2]), 1.0)));
        assert!(points(Shape::Cube).into_iter().all(|p| near(p.iter().fold(0.0, |m: f64, v| m.max(v.abs())), 1.0)));
        assert!(points(Shape::Torus).into_iter().all(|p| near((flat(p) - 1.0).hypot(p[2]), 0.4)));
        assert!(points(Shape::Cylinder).into_iter().all(|p| near(p[2].abs(), 1.0) || near(flat(p), 0.7)));
        let on_cone = |p: [f64; 3]| near(p[2], -1.0) && flat(p) <= 1.0 || near(flat(p), 0.5 * (1.0 - p[2]));
        assert!(points(Shape::Cone).into_iter().all(on_cone));
    }
}
