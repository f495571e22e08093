//! Shapes in the plane and in space.

use std::f64::consts::TAU;

use crate::random::draws::Draws;

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
