//! The test sets of the Attention Model paper (W. Kool, H. van Hoof, M. Welling, "Attention, learn to solve routing
//! problems!", 2019), drawn again bit for bit.
//!
//! Every set has [`INSTANCES`] instances from numpy's legacy generator seeded with [`TEST_SEED`], rounded to `f32` as
//! the paper's data set classes do. Sizes other than the paper's are drawn the same way. Each problem declares the
//! names of its sets ([`Problem::PAPER_SETS`](crate::Problem::PAPER_SETS)) and draws them.
//!
//! numpy draws one array for the whole set after the other (all depots, then all customers, ...), so the first
//! instances of a problem with a depot depend on how many there are: the whole set is always drawn, and what lies
//! beyond the limit is dropped.

use std::fmt;

use crate::random::NumpyLegacy;
use crate::registry::{self, ProblemSpec};
use crate::{Error, Result};

/// Seed of the paper's test sets.
pub const TEST_SEED: u32 = 1234;

/// Instances in each of the paper's sets.
pub const INSTANCES: usize = 10_000;

/// The most points one call gives (1 GiB of coordinates).
const MOST_POINTS: usize = 1 << 27;

/// The name of a problem's test sets, without the number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PaperSetName {
    stem: &'static str,
    alias: Option<&'static str>,
    usual: bool,
}

impl PaperSetName {
    /// Sets named `stem` and the number of nodes.
    pub const fn new(stem: &'static str) -> Self {
        Self { stem, alias: None, usual: false }
    }

    /// The same sets, also found under another name.
    #[must_use]
    pub const fn or(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// The same sets as the problem's usual ones, where it has several.
    #[must_use]
    pub const fn usual(self) -> Self {
        Self { usual: true, ..self }
    }
}

/// One of the paper's test sets: a problem, a distribution where there are several, and a number of nodes (of
/// customers, where there is a depot).
///
/// ```
/// use regard_routing::paper::PaperSet;
///
/// let set = PaperSet::parse("op_dist50")?;
/// assert_eq!((set.problem(), set.n()), ("op", 50));
/// assert_eq!(set.to_string(), "op_dist50");
/// # Ok::<(), regard_routing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PaperSet {
    problem: &'static str,
    name: PaperSetName,
    n: usize,
}

/// All names of sets with their problems.
fn names() -> impl Iterator<Item = (&'static ProblemSpec, PaperSetName)> {
    registry::PROBLEMS.iter().flat_map(|spec| spec.paper_sets.iter().map(move |name| (spec, *name)))
}

impl PaperSet {
    /// The set of that name.
    ///
    /// # Errors
    /// [`Error::Invalid`] listing the known names, with the nearest one.
    pub fn parse(name: &str) -> Result<Self> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[stem.len()..];
        let n = digits.parse().ok().filter(|n| *n > 0);
        n.and_then(|n| Self::of(stem, n)).ok_or_else(|| unknown(name, stem, digits))
    }

    fn of(stem: &str, n: usize) -> Option<Self> {
        let (spec, name) = names().find(|(_, name)| name.stem == stem || name.alias == Some(stem))?;
        Some(Self { problem: spec.name, name, n })
    }

    /// The set of `n` nodes of a problem: of the distribution whose name ends in `variant` where the problem has one,
    /// else the usual one. `None` for a problem without sets.
    #[must_use]
    pub fn of_problem(problem: &str, variant: Option<&str>, n: usize) -> Option<Self> {
        let spec = registry::spec(problem)?;
        let ends = |name: &&PaperSetName| variant.is_some_and(|variant| name.stem.ends_with(&format!("_{variant}")));
        let several = spec.paper_sets.len() > 1;
        let named = spec.paper_sets.iter().find(ends).filter(|_| several);
        let usual = || spec.paper_sets.iter().find(|name| name.usual).or(spec.paper_sets.first());
        Some(Self { problem: spec.name, name: *named.or_else(usual)?, n })
    }

    /// Name of the problem.
    #[must_use]
    pub fn problem(self) -> &'static str {
        self.problem
    }

    /// The name without its number: "op_dist" of "op_dist50".
    #[must_use]
    pub fn stem(self) -> &'static str {
        self.name.stem
    }

    /// The number in the name: customers where there is a depot, else nodes.
    #[must_use]
    pub fn n(self) -> usize {
        self.n
    }
}

impl fmt::Display for PaperSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name.stem, self.n)
    }
}

/// The error for a name that is none.
fn unknown(name: &str, stem: &str, digits: &str) -> Error {
    let written = stem.to_lowercase();
    let stems = names().flat_map(|(_, name)| [Some(name.stem), name.alias]).flatten();
    let nearest = stems.map(|known| (strsim::damerau_levenshtein(&written, known), known)).min();
    let size = if digits.bytes().any(|digit| digit != b'0') { digits } else { "20" };
    let meant = match nearest {
        Some((distance, known)) if distance <= known.len().div_ceil(3) && size.len() < 10 => {
            format!(" (did you mean `{known}{size}`?)")
        }
        _ => String::new(),
    };
    let known: Vec<String> = names().map(|(_, name)| format!("{}N", name.stem)).collect();
    let reason = format!("no such set{meant}; there are {}, with N at least 1", known.join(", "));
    Error::invalid(format!("paper set `{name}`"), reason)
}

/// The points of a set without depots, `[instances, n, 2]`; with `limit`, only its first instances.
///
/// # Errors
/// [`Error::Invalid`] when it would be too large for memory.
///
/// ```
/// use regard_routing::paper::{PaperSet, uniform_set};
///
/// let set = uniform_set(&PaperSet::parse("tsp20")?, Some(1))?;
/// assert_eq!(set[0][0], [0.19151945, 0.62210877]);
/// # Ok::<(), regard_routing::Error>(())
/// ```
pub fn uniform_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Vec<[f32; 2]>>> {
    let (n, instances) = (set.n(), limit.unwrap_or(INSTANCES).min(INSTANCES));
    if n.checked_mul(instances.max(1)).is_none_or(|points| points > MOST_POINTS) {
        let reason =
            format!("{instances} instances of {n} nodes are more than {MOST_POINTS} points; give a lower limit");
        return Err(Error::invalid(format!("paper set `{set}`"), reason));
    }
    Ok(uniform(TEST_SEED, instances, n))
}

/// Uniform instances as the paper's `generate_tsp_data` draws them with numpy's legacy generator,
/// rounded to `f32` as its data set class does: `[instances, n, 2]`.
#[must_use]
pub fn uniform(seed: u32, instances: usize, n: usize) -> Vec<Vec<[f32; 2]>> {
    let mut random = NumpyLegacy::new(seed);
    let mut coordinate = || random.uniform() as f32;
    (0..instances).map(|_| (0..n).map(|_| [coordinate(), coordinate()]).collect()).collect()
}

/// A set while it is drawn, array by array.
pub(crate) struct PaperDraws {
    random: NumpyLegacy,
    n: usize,
    kept: usize,
}

impl PaperDraws {
    pub(crate) fn new(name: &str, n: usize, limit: Option<usize>) -> Result<Self> {
        if n == 0 {
            return Err(Error::invalid(format!("paper set `{name}0`"), "needs at least one customer"));
        }
        let most = MOST_POINTS / INSTANCES;
        if n > most {
            let reason = format!("all {INSTANCES} instances are generated at once, expected at most {most} customers");
            return Err(Error::invalid(format!("paper set `{name}{n}`"), reason));
        }
        let kept = limit.unwrap_or(INSTANCES).min(INSTANCES);
        Ok(Self { random: NumpyLegacy::new(TEST_SEED), n, kept })
    }

    /// The rows that are kept of an array `[INSTANCES, width]`, one after the other.
    pub(crate) fn doubles(&mut self, width: usize) -> Vec<f64> {
        (0..self.kept * width).map(|_| self.random.uniform()).collect()
    }

    /// Draws the rows of an array that are not kept.
    pub(crate) fn pass(&mut self, width: usize) {
        for _ in self.kept * width..INSTANCES * width {
            self.random.uniform();
        }
    }

    /// The points of each instance, the depot first.
    pub(crate) fn points(&mut self) -> Vec<Vec<[f64; 2]>> {
        let depots = self.doubles(2);
        self.pass(2);
        let customers = self.doubles(2 * self.n);
        self.pass(2 * self.n);
        let (depots, customers) = (depots.chunks_exact(2), customers.chunks_exact(2 * self.n));
        let pair = |xy: &[f64]| [xy[0], xy[1]];
        let joined = depots.zip(customers).map(|(depot, rest)| depot.chunks_exact(2).chain(rest.chunks_exact(2)));
        joined.map(|points| points.map(pair).collect()).collect()
    }

    /// `numpy.random.randint(low, high)`, for small bounds that are not negative.
    pub(crate) fn below(&mut self, low: u32, high: u32) -> u32 {
        self.random.randint(low.into(), high.into()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEMS: [&str; 10] =
        ["tsp", "cvrp", "sdvrp", "op_const", "op_unif", "op_dist", "pctsp_det", "pctsp_stoch", "pctsp", "spctsp"];

    #[test]
    fn sets_are_prefixes_of_one_another() {
        let set = |name: &str, limit| uniform_set(&PaperSet::parse(name).unwrap(), limit);
        let two = set("tsp7", Some(2)).unwrap();
        assert_eq!(two[..1], set("tsp7", Some(1)).unwrap());
        assert_eq!(set("tsp1", None).unwrap().len(), INSTANCES);
        assert_eq!(set("tsp1", Some(20_000)).unwrap().len(), INSTANCES);
        assert!(set("tsp5", Some(0)).unwrap().is_empty());
        let error = set("tsp4000000000", None).unwrap_err().to_string();
        assert!(error.contains("lower limit"), "{error}");
    }

    #[test]
    fn a_problem_has_a_usual_set_and_variants() {
        let name = |problem, variant| PaperSet::of_problem(problem, variant, 20).map(|set| set.to_string());
        assert_eq!(name("op", None).as_deref(), Some("op_dist20"));
        assert_eq!(name("op", Some("const")).as_deref(), Some("op_const20"));
        assert_eq!(name("pctsp", Some("dist")).as_deref(), Some("pctsp_det20"));
        assert_eq!(name("tsp", Some("dist")).as_deref(), Some("tsp20"));
        assert_eq!(name("jobshop", None), None);
    }

    #[test]
    fn every_name_is_read_and_written() {
        for (at, stem) in STEMS.into_iter().enumerate() {
            let set = PaperSet::parse(&format!("{stem}37")).unwrap();
            let named = PaperSet::parse(&set.to_string()).unwrap();
            assert_eq!((set, set.n()), (named, 37));
            assert_eq!(set.to_string() == format!("{stem}37"), at < 8, "{set}");
        }
        let problems = STEMS.map(|stem| PaperSet::parse(&format!("{stem}1")).unwrap().problem());
        assert_eq!(problems, ["tsp", "cvrp", "sdvrp", "op", "op", "op", "pctsp", "spctsp", "pctsp", "spctsp"]);
    }

    #[test]
    fn other_names_are_refused_with_the_nearest() {
        for (name, meant) in [
            ("op_dits50", "(did you mean `op_dist50`?)"),
            ("vrp20", "(did you mean `cvrp20`?)"),
            ("TSP100", "(did you mean `tsp100`?)"),
            ("tsp", "(did you mean `tsp20`?)"),
            ("cvrp0", "(did you mean `cvrp20`?)"),
            ("tsp-5", "(did you mean `tsp5`?)"),
            ("pctsp_dt20", "(did you mean `pctsp_det20`?)"),
            ("jobshop20", "no such set; there are tspN"),
            ("", "no such set; there are tspN"),
            ("tsp99999999999999999999", "no such set; there are tspN"),
            ("op_20", "there are tspN"),
            ("caf\u{e9}7", "no such set; there are tspN"),
        ] {
            let error = PaperSet::parse(name).unwrap_err().to_string();
            assert!(error.contains(meant), "{name}: {error}");
        }
    }
}
