//! Distances exactly as TSPLIB95 defines them (G. Reinelt, "TSPLIB 95", section 2), and two
//! real-valued ones.

use super::matrix::DistanceMatrix;

/// Mean radius of the Earth in kilometres (IUGG R1), for [`Metric::GreatCircleKm`].
pub const EARTH_RADIUS_KM: f64 = 6371.0088;

/// The value of pi that TSPLIB95 prescribes for GEO; a better one changes distances.
#[allow(clippy::approx_constant, reason = "TSPLIB95 fixes this value")]
const TSPLIB_PI: f64 = 3.141592;

/// The radius of the idealised sphere of TSPLIB95, in kilometres.
const TSPLIB_RADIUS: f64 = 6378.388;

/// Metric of the distance between two nodes.
///
/// The names in capitals are those of TSPLIB's `EDGE_WEIGHT_TYPE`; these give integers. "Rounded"
/// is to the nearest integer, halves upwards.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Metric {
    /// Straight line in the plane, not rounded.
    Euclidean,
    /// Straight line in the plane, cut to one decimal: the rule of the 12th DIMACS Implementation Challenge (2022) for
    /// vehicle routing with time windows.
    Tenths,
    /// `EUC_2D`: straight line in the plane, rounded.
    Euc2d,
    /// `EUC_3D`: straight line in space, rounded.
    Euc3d,
    /// `MAX_2D`: the larger of the rounded differences of x and y.
    Max2d,
    /// `MAX_3D`: the largest of the rounded differences of x, y and z.
    Max3d,
    /// `MAN_2D`: sum of the differences of x and y, rounded.
    Man2d,
    /// `MAN_3D`: sum of the differences of x, y and z, rounded.
    Man3d,
    /// `CEIL_2D`: straight line in the plane, rounded up.
    Ceil2d,
    /// `ATT`: pseudo-Euclidean, the straight line over the square root of ten, rounded up.
    Att,
    /// `GEO`: kilometres on TSPLIB's sphere; coordinates are latitude and longitude in `DDD.MM`.
    Geo,
    /// Kilometres on a sphere of [`EARTH_RADIUS_KM`] by the haversine formula, not rounded;
    /// coordinates are latitude and longitude in decimal degrees.
    GreatCircleKm,
    /// `EXPLICIT`: a table, whose distances may differ by direction.
    Explicit(DistanceMatrix),
}

impl Metric {
    /// TSPLIB's name where there is one; `euclidean`, `euclidean-tenths` and `great-circle` for the real-valued ones.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Tenths => "euclidean-tenths",
            Self::Euc2d => "EUC_2D",
            Self::Euc3d => "EUC_3D",
            Self::Max2d => "MAX_2D",
            Self::Max3d => "MAX_3D",
            Self::Man2d => "MAN_2D",
            Self::Man3d => "MAN_3D",
            Self::Ceil2d => "CEIL_2D",
            Self::Att => "ATT",
            Self::Geo => "GEO",
            Self::GreatCircleKm => "great-circle",
            Self::Explicit(_) => "EXPLICIT",
        }
    }

    /// `"km"` for distances on the Earth, otherwise empty: the unit is the file's own.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        if self.on_sphere() { "km" } else { "" }
    }

    /// Coordinates per node: 3 for the metrics in space, 0 for a table, otherwise 2.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Euc3d | Self::Max3d | Self::Man3d => 3,
            Self::Explicit(_) => 0,
            _ => 2,
        }
    }

    /// If true, coordinates are latitude and longitude.
    #[must_use]
    pub fn on_sphere(&self) -> bool {
        matches!(self, Self::Geo | Self::GreatCircleKm)
    }

    /// Latitude and longitude in radians, as the metric reads its coordinates.
    pub(crate) fn radians(&self, point: &[f64; 3]) -> [f64; 2] {
        match self {
            Self::Geo => [geo_radians(point[0]), geo_radians(point[1])],
            _ => [point[0].to_radians(), point[1].to_radians()],
        }
    }

    /// Latitude and longitude in degrees, as the metric reads its coordinates.
    #[must_use]
    pub fn degrees(&self, point: &[f64; 3]) -> [f64; 2] {
        match self {
            Self::Geo => [geo_degrees(point[0]), geo_degrees(point[1])],
            _ => [point[0], point[1]],
        }
    }

    /// Distance of two points for the metrics in the plane and in space.
    pub(crate) fn flat(&self, a: &[f64; 3], b: &[f64; 3]) -> f64 {
        let [x, y, z] = [(a[0] - b[0]).abs(), (a[1] - b[1]).abs(), (a[2] - b[2]).abs()];
        match self {
            // 4.1 - 1.1 is a little below 3 in binary numbers.
            Self::Tenths => (10.0 * (x * x + y * y).sqrt() + 1e-9).floor() / 10.0,
            Self::Euc2d => nint((x * x + y * y).sqrt()),
            Self::Ceil2d => (x * x + y * y).sqrt().ceil(),
            Self::Att => pseudo_euclidean(x, y),
            Self::Max2d => nint(x).max(nint(y)),
            Self::Man2d => nint(x + y),
            Self::Euc3d => nint((x * x + y * y + z * z).sqrt()),
            Self::Max3d => nint(x).max(nint(y)).max(nint(z)),
            Self::Man3d => nint(x + y + z),
            Self::Euclidean | Self::Geo | Self::GreatCircleKm | Self::Explicit(_) => (x * x + y * y).sqrt(),
        }
    }

    /// Distance of two points on the sphere, both as latitude and longitude in radians.
    pub(crate) fn spherical(&self, a: &[f64; 2], b: &[f64; 2]) -> f64 {
        match self {
            Self::Geo => geo(a, b),
            _ => haversine_km(a, b),
        }
    }
}

/// TSPLIB's `nint`: nearest integer, halves upwards. Its arguments are never negative.
fn nint(x: f64) -> f64 {
    (x + 0.5).floor()
}

/// `ATT`: the nearest integer, or the next one where that lies below.
fn pseudo_euclidean(x: f64, y: f64) -> f64 {
    let exact = ((x * x + y * y) / 10.0).sqrt();
    let near = nint(exact);
    if near < exact { near + 1.0 } else { near }
}

/// `DDD.MM` to degrees: the integer part are degrees, the fraction minutes over 100.
fn geo_degrees(x: f64) -> f64 {
    let degrees = x.trunc();
    degrees + 5.0 * (x - degrees) / 3.0
}

/// `DDD.MM` to radians, in TSPLIB's order of operations.
fn geo_radians(x: f64) -> f64 {
    TSPLIB_PI * geo_degrees(x) / 180.0
}

/// `GEO`, in TSPLIB's order of operations. Rounding can carry the cosine of coinciding points
/// past 1, where no angle exists, hence the clamp.
fn geo(a: &[f64; 2], b: &[f64; 2]) -> f64 {
    let q1 = (a[1] - b[1]).cos();
    let q2 = (a[0] - b[0]).cos();
    let q3 = (a[0] + b[0]).cos();
    let cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3);
    (TSPLIB_RADIUS * cosine.clamp(-1.0, 1.0).acos() + 1.0).trunc()
}

fn haversine_km(a: &[f64; 2], b: &[f64; 2]) -> f64 {
    let half_lat = ((a[0] - b[0]) / 2.0).sin();
    let half_lon = ((a[1] - b[1]) / 2.0).sin();
    let h = half_lat * half_lat + a[0].cos() * b[0].cos() * half_lon * half_lon;
    2.0 * EARTH_RADIUS_KM * h.clamp(0.0, 1.0).sqrt().asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(metric: &Metric, b: [f64; 3]) -> f64 {
        metric.flat(&[0.0; 3], &b)
    }

    #[test]
    fn flat_metrics_round_as_tsplib_says() {
        assert_eq!(flat(&Metric::Euclidean, [3.0, 4.0, 0.0]), 5.0);
        assert_eq!(flat(&Metric::Tenths, [3.0, 4.0, 0.0]), 5.0);
        assert_eq!(flat(&Metric::Tenths, [1.0, 1.0, 0.0]), 1.4);
        assert_eq!(flat(&Metric::Tenths, [4.1 - 1.1, 0.0, 0.0]), 3.0);
        assert_eq!(flat(&Metric::Tenths, [2.0, 5.0, 9.0]), 5.3);
        assert_eq!(flat(&Metric::Euc2d, [1.0, 1.0, 0.0]), 1.0);
        assert_eq!(flat(&Metric::Euc2d, [2.5, 0.0, 0.0]), 3.0);
        assert_eq!(flat(&Metric::Ceil2d, [1.0, 1.0, 0.0]), 2.0);
        assert_eq!(flat(&Metric::Ceil2d, [3.0, 4.0, 0.0]), 5.0);
        assert_eq!(flat(&Metric::Max2d, [1.4, 2.5, 9.0]), 3.0);
        assert_eq!(flat(&Metric::Man2d, [1.4, 1.4, 9.0]), 3.0);
        assert_eq!(flat(&Metric::Euc3d, [1.0, 2.0, 2.0]), 3.0);
        assert_eq!(flat(&Metric::Max3d, [1.0, 2.0, -7.6]), 8.0);
        assert_eq!(flat(&Metric::Man3d, [1.2, 1.2, 1.2]), 4.0);
    }

    #[test]
    fn att_rounds_up_after_dividing_by_ten() {
        assert_eq!(flat(&Metric::Att, [10.0, 0.0, 0.0]), 4.0); // sqrt(10) = 3.16
        assert_eq!(flat(&Metric::Att, [9.0, 3.0, 0.0]), 3.0); // exactly 3
    }

    #[test]
    fn geo_of_two_cities_of_burma14() {
        // Nodes 1 and 2 of burma14, by hand: 16.47/96.10 and 16.47/94.44.
        let radians = |x, y| Metric::Geo.radians(&[x, y, 0.0]);
        assert_eq!(Metric::Geo.spherical(&radians(16.47, 96.10), &radians(16.47, 94.44)), 153.0);
    }

    #[test]
    fn coinciding_points_on_the_sphere() {
        let p = Metric::Geo.radians(&[48.13, 11.57, 0.0]);
        assert_eq!(Metric::Geo.spherical(&p, &p), 1.0); // TSPLIB adds one before truncating
        assert_eq!(Metric::GreatCircleKm.spherical(&p, &p), 0.0);
    }

    #[test]
    fn a_quarter_of_the_equator() {
        let km = Metric::GreatCircleKm.spherical(&[0.0, 0.0], &[0.0, std::f64::consts::FRAC_PI_2]);
        assert!((km - EARTH_RADIUS_KM * std::f64::consts::FRAC_PI_2).abs() < 1e-9);
    }
}
