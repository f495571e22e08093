//! Random instances from our own seeded generator.
//!
//! The numbers depend on nothing but the arguments, on every machine: PCG XSL RR 128/64 (`rand_pcg::Pcg64`), each
//! instance drawn after the one before. Asking for more instances of the same size appends to the same sequence.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::formats::sets;
use crate::instance::{Instance, SolverInstance};
use crate::paper::PaperSet;
use crate::problem::{Locations, Problem, distance};
use crate::random::Draws;
use crate::registry::{ProblemVisitor, with_problem};
use crate::{DistanceMatrix, Error, Metric, Result, Sites};

/// Settings of the generator of random instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratorConfig {
    /// Distribution of the nodes in the plane.
    pub points: Points,
    /// Distribution of prizes, for problems that have them.
    pub prizes: Prizes,
}

impl Default for GeneratorConfig {
    fn default() -> Self {
        Self { points: Points::Uniform, prizes: Prizes::Dist }
    }
}

/// The parts of a [`GeneratorConfig`] that a problem draws its instances by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// [`GeneratorConfig::points`].
    pub points: bool,
    /// [`GeneratorConfig::prizes`].
    pub prizes: bool,
}

impl Drawn {
    /// The parts that count for the problem of this name; `None` where there is no such problem.
    ///
    /// ```
    /// use regard_routing::generate::Drawn;
    ///
    /// assert_eq!(Drawn::of("tsp"), Some(Drawn { points: true, prizes: false }));
    /// assert_eq!(Drawn::of("op"), Some(Drawn { points: false, prizes: true }));
    /// ```
    #[must_use]
    pub fn of(problem: &str) -> Option<Self> {
        struct Parts;
        impl ProblemVisitor for Parts {
            type Output = Drawn;

            fn run<I: SolverInstance>(self) -> Drawn {
                Drawn { points: I::Problem::DRAWS_POINTS, prizes: I::Problem::DRAWS_PRIZES }
            }
        }
        with_problem(problem, Parts)
    }
}

/// `instances` times `n` points, uniform in the unit square: `[instances, n, 2]`.
///
/// x before y, each the upper 24 bits of a draw over 2^24.
///
/// ```
/// use regard_routing::generate::uniform;
///
/// let two = uniform(7, 2, 5);
/// assert_eq!(two[..1], uniform(7, 1, 5));
/// assert!(two.iter().flatten().flatten().all(|v| (0.0..1.0).contains(v)));
/// ```
#[must_use]
pub fn uniform(seed: u64, instances: usize, n: usize) -> Vec<Vec<[f32; 2]>> {
    let mut draws = Draws::new(seed);
    (0..instances).map(|_| (0..n).map(|_| draws.point()).collect()).collect()
}

/// A distribution of points within the unit square.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Points {
    /// Uniform.
    Uniform,
    /// As many points around each of some centres, normal with a standard deviation of 0.07; the
    /// centres are uniform in [0.2, 0.8]^2, and coordinates outside the square are moved to its
    /// border (J. Bi et al., "Learning generalizable models for vehicle routing problems via
    /// knowledge distillation", 2022, with 3 centres).
    Cluster {
        /// Number of centres; 0 counts as 1.
        centres: u32,
    },
    /// Each point around a random one of some centres, normal with a standard deviation of 1; the
    /// centres are uniform in [0, `scale`]^2, and each axis is then scaled to [0, 1] (Z. Zhang et
    /// al., "Learning to solve travelling salesman problem with hardness-adaptive curriculum",
    /// 2022; J. Zhou et al., "Towards omni-generalizable neural methods for vehicle routing
    /// problems", 2023, with 3, 5, 7 centres and scales of 10, 30, 50).
    GaussianMixture {
        /// Number of centres; 0 counts as 1.
        centres: u32,
        /// Side of the square the centres lie in, in standard deviations.
        scale: u32,
    },
    /// For each instance one of these with equal chances: uniform, 3 clusters, or a Gaussian mixture, which has with equal
    /// chances 3, 5 or 7 centres and a scale of 10, 30 or 50.
    Mixed,
    /// Uniform, each at a random height; a way is as long as the straight line, and longer by what it climbs, at most by the
    /// side of the square.
    Hills,
    /// Nodes without coordinates: a random matrix of distances that differ by direction, uniform in [0, 1) and then the
    /// lengths of the shortest ways (as Y.-D. Kwon et al., "Matrix encoding networks for neural combinatorial optimization",
    /// 2021, and RL4CO).
    Asymmetric,
}

/// Most nodes of a random instance with a matrix of distances.
pub const MOST_WITH_MATRIX: usize = 1000;

impl Points {
    /// If true, the distances are not straight, so that an instance has a matrix.
    #[must_use]
    pub fn has_matrix(self) -> bool {
        matches!(self, Self::Hills | Self::Asymmetric)
    }

    /// The distribution of that name: "uniform", "cluster" (3 centres), "gaussian-mixture" (3
    /// centres, scale 10), "mixed", "hills", "asymmetric".
    ///
    /// # Errors
    /// [`Error::Invalid`] listing the names.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "uniform" => Ok(Self::Uniform),
            "cluster" => Ok(Self::Cluster { centres: 3 }),
            "gaussian-mixture" => Ok(Self::GaussianMixture { centres: 3, scale: 10 }),
            "mixed" => Ok(Self::Mixed),
            "hills" => Ok(Self::Hills),
            "asymmetric" => Ok(Self::Asymmetric),
            _ => {
                let reason = "no such distribution; expected `uniform`, `cluster`, `gaussian-mixture`, `mixed`, `hills` or \
                              `asymmetric`";
                Err(Error::invalid(format!("points `{name}`"), reason))
            }
        }
    }

    /// The name that [`Self::parse`] reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Cluster { .. } => "cluster",
            Self::GaussianMixture { .. } => "gaussian-mixture",
            Self::Mixed => "mixed",
            Self::Hills => "hills",
            Self::Asymmetric => "asymmetric",
        }
    }

    /// The next `n` nodes, the first of them in the place of a depot if the flag is set.
    fn draw(self, draws: &mut Draws, n: usize, depot: bool) -> Locations {
        if self == Self::Asymmetric {
            return of_matrix(asymmetric(draws, n));
        }
        if self == Self::Mixed {
            return one_of_all(draws).draw(draws, n, depot);
        }
        let nodes = n - usize::from(depot);
        let mut points: Vec<[f32; 2]> = (0..usize::from(depot)).map(|_| draws.point()).collect();
        match self {
            Self::Uniform | Self::Mixed | Self::Hills | Self::Asymmetric => {
                points.extend((0..nodes).map(|_| draws.point()))
            }
            Self::Cluster { centres } => points.extend(clusters(draws, centres.max(1) as usize, nodes)),
            Self::GaussianMixture { centres, scale } => {
                points.extend(mixture(draws, centres.max(1), scale.into(), nodes))
            }
        }
        if self == Self::Hills { uphill(draws, points) } else { points.into() }
    }
}

/// `instances` times `n` points of this distribution: `[instances, n, 2]`; with [`Points::Uniform`] the same as
/// [`uniform`].
///
/// ```
/// use regard_routing::generate::{Points, points};
///
/// let two = points(Points::parse("cluster")?, 7, 2, 50);
/// assert_eq!(two[..1], points(Points::Cluster { centres: 3 }, 7, 1, 50));
/// assert!(two.iter().flatten().flatten().all(|v| (0.0..=1.0).contains(v)));
/// # Ok::<(), regard_routing::Error>(())
/// ```
#[must_use]
pub fn points(points: Points, seed: u64, instances: usize, n: usize) -> Vec<Vec<[f32; 2]>> {
    locations(points, seed, instances, n).iter().map(|nodes| nodes.to_vec()).collect()
}

/// As [`points`], with the distances between the nodes: `[instances, n]`.
#[must_use]
pub fn locations(points: Points, seed: u64, instances: usize, n: usize) -> Vec<Locations> {
    let mut draws = Draws::new(seed);
    (0..instances).map(|_| points.draw(&mut draws, n, false)).collect()
}

/// The distribution of an instance of [`Points::Mixed`].
fn one_of_all(draws: &mut Draws) -> Points {
    match draws.below(3) {
        0 => Points::Uniform,
        1 => Points::Cluster { centres: 3 },
        _ => {
            let (centres, scale) = [(3, 10), (5, 30), (7, 50)][draws.below(3) as usize];
            Points::GaussianMixture { centres, scale }
        }
    }
}

/// Nodes at `points` with random heights.
fn uphill(draws: &mut Draws, points: Vec<[f32; 2]>) -> Locations {
    let heights: Vec<f64> = points.iter().map(|_| draws.unit()).collect();
    let way = |i: usize, j: usize| distance(points[i], points[j]) + (heights[j] - heights[i]).max(0.0);
    let matrix = matrix_of(points.len(), way);
    with_matrix(points, matrix)
}

/// Shortest ways between `n` nodes whose direct ones are uniform in [0, 1).
fn asymmetric(draws: &mut Draws, n: usize) -> DistanceMatrix {
    let mut rows: Vec<f64> = (0..n * n).map(|at| if at % (n + 1) == 0 { 0.0 } else { draws.unit() }).collect();
    // Floyd and Warshall: ways through more and more of the nodes.
    for through in 0..n {
        for from in 0..n {
            let first = rows[from * n + through];
            for to in 0..n {
                rows[from * n + to] = rows[from * n + to].min(first + rows[through * n + to]);
            }
        }
    }
    matrix_of(n, |i, j| rows[i * n + j])
}

/// Nodes of which only distances are known, at places made from them.
fn of_matrix(matrix: DistanceMatrix) -> Locations {
    let sites = Sites::new("matrix", Metric::Explicit(matrix.clone()), vec![]);
    let points = sites.map(|sites| sites.unit_square()).unwrap_or_default();
    with_matrix(points, matrix)
}

fn matrix_of(n: usize, distance: impl Fn(usize, usize) -> f64) -> DistanceMatrix {
    let rows = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| distance(i, j)).collect();
    DistanceMatrix::from_rows(n, rows).unwrap_or_else(|_| unreachable!("random distances are finite"))
}

fn with_matrix(points: Vec<[f32; 2]>, matrix: DistanceMatrix) -> Locations {
    Locations::with_matrix(points, matrix).unwrap_or_else(|_| unreachable!("one place for each node"))
}

/// All centres first, then the points of each in turn; the first ones have one more where the
/// numbers do not divide.
fn clusters(draws: &mut Draws, centres: usize, n: usize) -> Vec<[f32; 2]> {
    const DEVIATION: f64 = 0.07;
    let (low, high) = (0.2, 0.8);
    // More centres than points have no use.
    let centres = centres.min(n);
    let middles: Vec<[f64; 2]> = (0..centres).map(|_| [(); 2].map(|()| low + (high - low) * draws.unit())).collect();
    let mut points = Vec::with_capacity(n);
    for (at, middle) in middles.into_iter().enumerate() {
        let share = n / centres + usize::from(at < n % centres);
        points.extend((0..share).map(|_| {
            let [x, y] = draws.normal();
            [middle[0] + DEVIATION * x, middle[1] + DEVIATION * y].map(|v| v.clamp(0.0, 1.0) as f32)
        }));
    }
    points
}

/// All centres first, then for each point its centre and where it lies.
fn mixture(draws: &mut Draws, centres: u32, scale: f64, n: usize) -> Vec<[f32; 2]> {
    let middles: Vec<[f64; 2]> = (0..centres).map(|_| [(); 2].map(|()| scale * draws.unit())).collect();
    let mut point = || {
        let middle = middles[draws.below(centres) as usize];
        let [x, y] = draws.normal();
        [middle[0] + x, middle[1] + y]
    };
    let points: Vec<[f64; 2]> = (0..n).map(|_| point()).collect();
    filling_the_square(&points)
}

/// Each axis shifted and scaled to [0, 1]; a single value goes to the middle.
fn filling_the_square(points: &[[f64; 2]]) -> Vec<[f32; 2]> {
    let range = |axis: usize| {
        let values = points.iter().map(|point| point[axis]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ranges = [range(0), range(1)];
    let scaled = |value: f64, (low, high): (f64, f64)| {
        if high > low { ((value - low) / (high - low)) as f32 } else { 0.5 }
    };
    points.iter().map(|&[x, y]| [scaled(x, ranges[0]), scaled(y, ranges[1])]).collect()
}

/// A distribution of prizes, for problems that have them (after M. Fischetti, J. J. Salazar González, P. Toth,
/// "Solving the orienteering problem through branch-and-cut", 1998).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prizes {
    /// Every prize is 1.
    Const,
    /// Uniform among 0.01, 0.02, ..., 1.
    Unif,
    /// From 0.01 to 1 with the distance to the depot.
    Dist,
}

impl Prizes {
    /// All of them, in the order of the paper's tables.
    pub const ALL: [Self; 3] = [Self::Const, Self::Unif, Self::Dist];

    /// Name in the paper's files: "const", "unif", "dist".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Const => "const",
            Self::Unif => "unif",
            Self::Dist => "dist",
        }
    }

    /// The prizes of that name.
    ///
    /// # Errors
    /// [`Error::Invalid`] listing the names.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|prizes| prizes.name() == name).ok_or_else(|| {
            let reason = "no such prizes; expected `const`, `unif` or `dist`";
            Error::invalid(format!("prizes `{name}`"), reason)
        })
    }
}

/// A uniform depot, then `n` customers.
pub(crate) fn with_depot(draws: &mut Draws, points: Points, n: usize) -> Locations {
    points.draw(draws, n + 1, true)
}

/// Values of customers as an instance holds them: single precision, the depot's 0 in front.
pub(crate) fn behind_depot(customers: impl IntoIterator<Item = f64>) -> Vec<f32> {
    std::iter::once(0.0).chain(customers).map(|value| value as f32).collect()
}

/// Points rounded to single precision.
pub(crate) fn rounded(points: &[[f64; 2]]) -> Vec<[f32; 2]> {
    points.iter().map(|point| point.map(|v| v as f32)).collect()
}

/// The number with the fewest digits that is this one when read in single precision: 0.1, not 0.10000000149.
pub(crate) fn decimal(value: f64) -> f64 {
    (value as f32).to_string().parse().unwrap_or(value)
}

/// [`decimal`] of every number.
pub(crate) fn decimals(values: &[f64]) -> Vec<f64> {
    values.iter().copied().map(decimal).collect()
}

/// Factor of the coordinates in formats that know whole distances only, which in the unit square would all be 0 or 1.
const ENLARGED: f64 = 1_000_000.0;

/// Builds the instance of a number, with a name; if the flag is set, with enlarged coordinates.
type BuildInstance = dyn Fn(usize, &str, bool) -> Result<Instance>;

/// Writes all instances as a set in a file of an ending.
type RenderSet = dyn Fn(&str) -> Result<Vec<u8>>;

/// Instances in the unit square that become instances of files one by one.
pub struct GeneratedSet {
    instances: usize,
    nodes: usize,
    build: Box<BuildInstance>,
    render: Box<RenderSet>,
}

impl GeneratedSet {
    /// `count` random instances of the problem of that name with `n` nodes, a depot not counted.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such problem, and for more nodes than [`MOST_WITH_MATRIX`] where each instance
    /// has a matrix.
    pub fn random(problem: &str, config: &GeneratorConfig, seed: u64, count: usize, n: usize) -> Result<Self> {
        if config.points.has_matrix() && n > MOST_WITH_MATRIX {
            let reason =
                format!("is {n}; expected at most {MOST_WITH_MATRIX} where each instance has a matrix of distances");
            return Err(Error::invalid("number of nodes", reason));
        }
        struct Random<'a>(&'a GeneratorConfig, u64, usize, usize);
        impl ProblemVisitor for Random<'_> {
            type Output = GeneratedSet;

            fn run<I: SolverInstance>(self) -> GeneratedSet {
                GeneratedSet::of::<I>(I::Problem::draw(self.0, self.1, self.2, self.3))
            }
        }
        with_problem(problem, Random(config, seed, count, n))
            .ok_or_else(|| Error::invalid(format!("problem `{problem}`"), "there is no such problem"))
    }

    /// The instances of one of the paper's test sets; with `limit`, only the first ones.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the set would be too large for memory.
    pub fn paper(set: &PaperSet, limit: Option<usize>) -> Result<Self> {
        struct Paper<'a>(&'a PaperSet, Option<usize>);
        impl ProblemVisitor for Paper<'_> {
            type Output = Result<GeneratedSet>;

            fn run<I: SolverInstance>(self) -> Result<GeneratedSet> {
                I::Problem::paper_set(self.0, self.1).map(GeneratedSet::of::<I>)
            }
        }
        with_problem(set.problem(), Paper(set, limit)).unwrap_or_else(|| Err(set.of_another_problem("a file")))
    }

    fn of<I: SolverInstance>(all: Vec<I::Problem>) -> Self {
        let (instances, nodes) = (all.len(), all.first().map_or(0, Problem::nodes));
        let all = Arc::new(all);
        let set = Arc::clone(&all);
        let render = move |ending: &str| {
            if set.iter().any(|one| one.matrix().is_some()) {
                let reason =
                    "holds coordinates, but these instances have a matrix of distances; write a folder of files";
                return Err(Error::invalid(format!("a .{ending} file"), reason));
            }
            sets::render(&set, ending)
        };
        let build = move |at: usize, name: &str, enlarged: bool| {
            let scale = if enlarged { ENLARGED } else { 1.0 };
            let sites = file_sites(name, &all[at], enlarged)?;
            I::from_unit_square(&all[at], sites, scale).map(Instance::from)
        };
        Self { instances, nodes, build: Box::new(build), render: Box::new(render) }
    }

    /// Number of instances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instances
    }

    /// If true, there are no instances.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instances == 0
    }

    /// Nodes of the first instance, the depot among them.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// All instances in one file of this ending ([`sets::ENDINGS`]).
    ///
    /// # Errors
    /// As of [`sets::render`].
    pub fn render(&self, ending: &str) -> Result<Vec<u8>> {
        (self.render)(ending)
    }

    /// Instance `at` as a file holds it; `enlarged` for formats that know whole distances only.
    ///
    /// # Errors
    /// None that a random instance can cause.
    ///
    /// # Panics
    /// When `at` is not below [`Self::len`].
    pub fn instance(&self, at: usize, name: &str, enlarged: bool) -> Result<Instance> {
        (self.build)(at, name, enlarged)
    }
}

fn file_sites<P: Problem>(name: &str, problem: &P, enlarged: bool) -> Result<Sites> {
    let whole = |value: f64| (value * ENLARGED).round();
    let coordinate = |value: f32| if enlarged { whole(f64::from(value)) } else { decimal(f64::from(value)) };
    let points: Vec<[f64; 2]> = problem.points().iter().map(|point| point.map(coordinate)).collect();
    if let Some(matrix) = problem.matrix() {
        let number = |i, j| if enlarged { whole(matrix.get(i, j)) } else { matrix.get(i, j) };
        let sites =
            Sites::new(name, Metric::Explicit(matrix_of(matrix.len(), number)), vec![])?.with_display(points)?;
        return Ok(if enlarged { sites.with_comment(format!("random, distances times {ENLARGED}")) } else { sites });
    }
    if !enlarged {
        return Sites::euclidean(name, points);
    }
    let sites = Sites::new(name, Metric::Euc2d, points.into_iter().map(|[x, y]| [x, y, 0.0]).collect())?;
    Ok(sites.with_comment(format!("random in the unit square, coordinates times {ENLARGED}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Summary;

    #[test]
    fn empty_sets_and_instances() {
        assert!(uniform(1, 0, 5).is_empty());
        assert_eq!(uniform(1, 2, 0), [[], []] as [[[f32; 2]; 0]; 2]);
    }

    #[test]
    fn the_numbers_never_change() {
        let expected = [[0.341_675_22, 0.312_307_95], [0.495_216_73, 0.129_494_37]];
        assert_eq!(uniform(1234, 1, 2), [expected]);
    }

    #[test]
    fn points_fill_the_square() {
        let points: Vec<f64> = uniform(3, 50, 100).iter().flatten().flatten().map(|v| f64::from(*v)).collect();
        let summary = crate::stats::Summary::of(&points);
        assert!((summary.mean - 0.5).abs() < 5.0 * summary.standard_error);
        assert!((summary.standard_deviation - (1.0f64 / 12.0).sqrt()).abs() < 0.01);
    }

    #[test]
    fn prizes_have_names() {
        for prizes in Prizes::ALL {
            assert_eq!(Prizes::parse(prizes.name()).unwrap(), prizes);
        }
        assert!(Prizes::parse("Dist").unwrap_err().to_string().contains("expected `const`"));
    }

    const ALL: [Points; 4] = [
        Points::Uniform,
        Points::Cluster { centres: 3 },
        Points::GaussianMixture { centres: 5, scale: 30 },
        Points::Mixed,
    ];

    #[test]
    fn uniform_points_are_those_of_uniform() {
        assert_eq!(points(Points::Uniform, 4, 3, 6), uniform(4, 3, 6));
    }

    #[test]
    fn all_lie_in_the_square_and_more_append() {
        for distribution in ALL {
            for n in [0, 1, 2, 7, 100] {
                let set = points(distribution, 3, 20, n);
                assert!(set.iter().all(|i| i.len() == n));
                assert!(set.iter().flatten().flatten().all(|v| (0.0..=1.0).contains(v)), "{distribution:?} {n}");
                assert_eq!(set[..5], points(distribution, 3, 5, n));
            }
        }
    }

    #[test]
    fn clusters_are_close_and_even() {
        let set = points(Points::Cluster { centres: 4 }, 1, 100, 40);
        let deviations = set.iter().flat_map(|points| points.chunks(10)).map(|cluster| {
            let xs: Vec<f64> = cluster.iter().map(|p| f64::from(p[0])).collect();
            Summary::of(&xs).standard_deviation
        });
        let mean = Summary::of(&deviations.collect::<Vec<_>>()).mean;
        assert!((mean - 0.068).abs() < 0.004, "{mean}");
        assert_eq!(Points::Cluster { centres: 0 }.draw(&mut Draws::new(1), 3, false).len(), 3);
    }

    #[test]
    fn the_numbers_of_every_distribution_never_change() {
        let first = ALL.map(|distribution| points(distribution, 1234, 1, 4)[0][0]);
        assert_eq!(first[..3], [[0.341_675_22, 0.312_307_95], [0.484_412_4, 0.388_546_9], [0.613_484, 1.0]]);
        assert_eq!(first[3], [0.388_114, 0.555_053_6]);
    }

    #[test]
    fn mixed_instances_have_every_distribution() {
        // The mean distance of a place to its nearest one is far less in clusters and mixtures of distant centres.
        let nearest = |instance: &Vec<[f32; 2]>| {
            let to_others = |at: usize| {
                let others = instance.iter().enumerate().filter(|(other, _)| *other != at);
                others.map(|(_, place)| distance(instance[at], *place)).fold(f64::INFINITY, f64::min)
            };
            Summary::of(&(0..instance.len()).map(to_others).collect::<Vec<_>>()).mean
        };
        let set = points(Points::Mixed, 3, 300, 50);
        let close = set.iter().filter(|instance| nearest(instance) < 0.05).count();
        assert!((120..=240).contains(&close), "{close}");
        let uniform = points(Points::Uniform, 3, 300, 50);
        assert!(uniform.iter().all(|instance| nearest(instance) > 0.05));
        assert_eq!(Points::parse("mixed").unwrap().name(), "mixed");
    }

    #[test]
    fn ways_over_hills_and_of_matrices_are_shortest_ones_and_differ_by_direction() {
        for distribution in [Points::Hills, Points::Asymmetric] {
            let set = locations(distribution, 5, 3, 20);
            assert_eq!(set[..2], locations(distribution, 5, 2, 20));
            for nodes in &set {
                assert!(!nodes.is_symmetric() && nodes.iter().flatten().all(|v| (0.0..=1.0).contains(v)));
                let far = |a: usize, b: usize| nodes.distance(a, b);
                for (a, b) in (0..20).flat_map(|a| (0..20).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                    assert!((0..20).all(|through| far(a, b) <= far(a, through) + far(through, b) + 1e-12));
                    assert!(far(a, b) > 0.0 && far(a, b) <= if distribution == Points::Hills { 2.5 } else { 1.0 });
                    let straight = distance(nodes[a], nodes[b]);
                    assert!(distribution != Points::Hills || far(a, b).min(far(b, a)) == straight);
                }
            }
        }
        let single = Points::Asymmetric.draw(&mut Draws::new(1), 1, true);
        assert_eq!((single.len(), single.distance(0, 0)), (1, 0.0));
    }

    #[test]
    fn files_of_a_matrix_have_its_costs() {
        let config = GeneratorConfig { points: Points::Hills, ..GeneratorConfig::default() };
        for problem in ["tsp", "cvrp"] {
            let set = GeneratedSet::random(problem, &config, 9, 2, 12).unwrap();
            let instance = set.instance(1, "hills", false).unwrap();
            assert!(!instance.sites().is_symmetric());
            let drawn = locations(Points::Hills, 9, 2, 12).remove(1);
            if problem == "tsp" {
                assert_eq!(instance.sites().distance(3, 4), drawn.distance(3, 4));
            }
            let enlarged = set.instance(1, "hills", true).unwrap();
            let (whole, exact) = (enlarged.sites().distance(3, 4), instance.sites().distance(3, 4));
            assert_eq!(whole, (exact * ENLARGED).round());
            assert!(set.render("npz").unwrap_err().to_string().contains("matrix of distances"));
        }
        let error = GeneratedSet::random("tsp", &config, 9, 1, MOST_WITH_MATRIX + 1).err().unwrap().to_string();
        assert!(error.contains("at most 1000"), "{error}");
    }

    #[test]
    fn mixtures_fill_the_square() {
        for set in points(Points::GaussianMixture { centres: 3, scale: 10 }, 1, 20, 30) {
            for axis in [0, 1] {
                let values = set.iter().map(|p| p[axis]);
                assert_eq!(values.clone().fold(1.0, f32::min), 0.0);
                assert_eq!(values.fold(0.0, f32::max), 1.0);
            }
        }
        assert_eq!(points(Points::GaussianMixture { centres: 0, scale: 0 }, 1, 1, 1), [[[0.5, 0.5]]]);
    }

    #[test]
    fn other_names_are_refused() {
        let error = Points::parse("clusters").unwrap_err().to_string();
        assert!(error.contains("expected `uniform`, `cluster`"), "{error}");
        assert_eq!(Points::parse("uniform").unwrap(), Points::Uniform);
    }
}
