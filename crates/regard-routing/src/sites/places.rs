//! From any metric to places in the plane.

use super::Sites;
use super::metric::{EARTH_RADIUS_KM, Metric};
use super::scaling;

/// Places of the nodes, see [`Sites::places`].
pub(super) fn of(instance: &Sites) -> Vec<[f64; 2]> {
    let metric = instance.metric();
    let points = instance.coordinates();
    match metric {
        Metric::Explicit(matrix) => match instance.display() {
            Some(display) => display.to_vec(),
            None if matrix.is_symmetric() => scaling::classical(matrix.len(), |i, j| matrix.get(i, j)),
            None => scaling::classical(matrix.len(), |i, j| 0.5 * (matrix.get(i, j) + matrix.get(j, i))),
        },
        _ if metric.on_sphere() => project(&points.iter().map(|p| metric.degrees(p)).collect::<Vec<_>>()),
        _ if metric.dimensions() == 3 => scaling::principal_plane(points),
        _ => points.iter().map(|&[x, y, _]| [x, y]).collect(),
    }
}

/// Latitude and longitude in degrees to kilometres east and north.
///
/// Longitudes are read from the eastern end of their widest gap, so that places on both sides of
/// the date line stay neighbours; lengths along parallels are right at the mean latitude.
fn project(degrees: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let start = western_end(degrees);
    let mean_latitude = degrees.iter().map(|p| p[0]).sum::<f64>() / degrees.len() as f64;
    let shrink = mean_latitude.to_radians().cos();
    degrees
        .iter()
        .map(|&[lat, lon]| {
            let east = (lon - start).rem_euclid(360.0);
            [EARTH_RADIUS_KM * east.to_radians() * shrink, EARTH_RADIUS_KM * lat.to_radians()]
        })
        .collect()
}

/// The longitude at which the widest range without places ends.
fn western_end(degrees: &[[f64; 2]]) -> f64 {
    let mut longitudes: Vec<f64> = degrees.iter().map(|p| p[1].rem_euclid(360.0)).collect();
    longitudes.sort_by(f64::total_cmp);
    let Some((&first, &last)) = longitudes.first().zip(longitudes.last()) else {
        return 0.0;
    };
    let mut widest = (first + 360.0 - last, first);
    for pair in longitudes.windows(2) {
        if pair[1] - pair[0] > widest.0 {
            widest = (pair[1] - pair[0], pair[1]);
        }
    }
    widest.1
}

fn lowest(places: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|k| places.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min))
}

/// The longer side of the places, see [`Sites::side`].
pub(super) fn side(places: &[[f64; 2]]) -> f64 {
    let low = lowest(places);
    let high = [0, 1].map(|k| places.iter().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max));
    (high[0] - low[0]).max(high[1] - low[1])
}

/// Shift and one scale into the unit square, see [`Sites::unit_square`].
pub(super) fn unit_square(places: &[[f64; 2]]) -> Vec<[f32; 2]> {
    let (low, side) = (lowest(places), side(places));
    if side <= 0.0 || !side.is_finite() {
        return vec![[0.0; 2]; places.len()];
    }
    let scaled = |p: &[f64; 2], k: usize| (((p[k] - low[k]) / side) as f32).clamp(0.0, 1.0);
    places.iter().map(|p| [scaled(p, 0), scaled(p, 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_factor_keeps_the_shape() {
        let square = unit_square(&[[10.0, 5.0], [14.0, 5.0], [10.0, 7.0]]);
        assert_eq!(square, [[0.0, 0.0], [1.0, 0.0], [0.0, 0.5]]);
    }

    #[test]
    fn equal_points_are_all_zero() {
        assert_eq!(unit_square(&[[3.0, 3.0]; 3]), [[0.0; 2]; 3]);
    }

    #[test]
    fn the_date_line_does_not_tear_neighbours_apart() {
        let places = project(&[[0.0, 179.0], [0.0, -179.0], [0.0, 178.0]]);
        let east: Vec<f64> = places.iter().map(|p| p[0]).collect();
        let degree = EARTH_RADIUS_KM.mul_add(1f64.to_radians(), 0.0);
        for (found, expected) in east.iter().zip([1.0, 3.0, 0.0]) {
            assert!((found / degree - expected).abs() < 1e-9, "{east:?}");
        }
    }
}
