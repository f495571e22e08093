//! Sets of random instances of one problem in one file.
//!
//! The programs of the Attention Model's paper (W. Kool, `attention-learn-to-route`) pickle lists: an instance without a
//! depot is a list of points, the others are tuples, such as `(depot, locs, demand, capacity)`. Its successors write the
//! same as archives of numpy arrays (`numpy.savez`), as RL4CO does:
//!
//! | array | shape |
//! |---|---|
//! | `locs` (or `loc`) | `[instances, nodes, 2]`: places in the unit square |
//! | `depot` | `[instances, 2]`; without it the first of `locs` where the problem has a depot |
//! | what the problem adds | `[instances, customers]` or `[instances]` |
//!
//! Numbers are `float32`, `float64`, `int32`, `int64` or `uint8`. Numbers of instances may have a last dimension of 1,
//! and a single one serves all. Values of customers may have the depot's 0 in front where `locs` has the depot.
//!
//! Each problem declares what it adds ([`Problem::SET_FIELDS`]) and builds its instances ([`Problem::of_set`]).

mod arrays;
mod pickled;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use crate::instance::SolverInstance;
use crate::problem::Problem;
use crate::registry::{PROBLEMS, ProblemVisitor, with_problem};
use crate::{Error, Result, npz};
use regard_data::Fault;
use regard_data::npz::Array;

pub use self::write::render;

/// Endings of files that hold a set of instances.
pub const ENDINGS: [&str; 3] = ["pkl", "pickle", "npz"];

/// A list of numbers that the instances of a set have beside places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetField {
    name: &'static str,
    alias: Option<&'static str>,
    fallback: Option<&'static str>,
    per: Per,
    marks: bool,
    whole: bool,
}

/// Nodes that have a number of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Per {
    Customer,
    Instance,
}

impl SetField {
    /// One number for each customer.
    pub const fn per_customer(name: &'static str) -> Self {
        Self { name, alias: None, fallback: None, per: Per::Customer, marks: false, whole: false }
    }

    /// One number for each instance.
    pub const fn per_instance(name: &'static str) -> Self {
        Self { per: Per::Instance, ..Self::per_customer(name) }
    }

    /// A field by which an archive of arrays is recognised.
    #[must_use]
    pub const fn marking(self) -> Self {
        Self { marks: true, ..self }
    }

    /// A field whose whole numbers are written as integers.
    #[must_use]
    pub const fn integers(self) -> Self {
        Self { whole: true, ..self }
    }

    /// A field whose array may also have another name.
    #[must_use]
    pub const fn or(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// A field that is as another one where it has no array.
    #[must_use]
    pub const fn else_as(self, fallback: &'static str) -> Self {
        Self { fallback: Some(fallback), ..self }
    }
}

/// The layouts of fields that problems declare, each once.
fn with_set_fields() -> Vec<&'static [SetField]> {
    let mut all: Vec<&'static [SetField]> = Vec::new();
    for fields in PROBLEMS.iter().filter_map(|spec| spec.set_fields) {
        if !all.contains(&fields) {
            all.push(fields);
        }
    }
    all
}

/// The numbers of a set, before a problem has made instances of them.
#[derive(Debug, Clone, PartialEq)]
pub struct RawSet {
    fields: &'static [SetField],
    instances: Vec<RawInstance>,
}

impl RawSet {
    /// The instances in the order of the file, at least one.
    #[must_use]
    pub fn instances(&self) -> &[RawInstance] {
        &self.instances
    }

    /// Builds every instance, naming the one that is at fault.
    ///
    /// # Errors
    /// The first one of `build`.
    pub fn each<T>(&self, build: impl Fn(&RawInstance) -> Result<T, String>) -> Result<Vec<T>, Fault> {
        let named = |(at, one)| build(one).map_err(|reason| Fault::of_instance(at, reason));
        self.instances.iter().enumerate().map(named).collect()
    }
}

/// The numbers of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct RawInstance {
    /// Places, the depot first where there is one.
    points: Vec<[f64; 2]>,
    depot: bool,
    /// Numbers of each field, and whether all of them are Python integers.
    fields: Vec<(Vec<f64>, bool)>,
    names: Vec<&'static str>,
}

impl RawInstance {
    /// Places in the unit square, checked.
    ///
    /// # Errors
    /// A coordinate outside the unit square; so for all methods what is wrong, for [`RawSet::each`].
    pub fn points(&self) -> Result<Vec<[f32; 2]>, String> {
        let outside = |v: &&f64| !(0.0..=1.0).contains(*v);
        for (at, point) in self.points.iter().enumerate() {
            if let Some(bad) = point.iter().find(outside) {
                return Err(format!("coordinate {bad} of node {at}, expected 0 to 1"));
            }
        }
        Ok(self.points.iter().map(|point| point.map(|v| v as f32)).collect())
    }

    /// The numbers of a field as they are in the file; empty where there is no such field.
    #[must_use]
    pub fn values(&self, field: &str) -> &[f64] {
        self.field(field).map_or(&[], |(values, _)| values)
    }

    /// The number of a field of instances.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<f64> {
        self.values(field).first().copied()
    }

    /// If true, all numbers of a field are written as integers.
    #[must_use]
    pub fn is_integers(&self, field: &str) -> bool {
        self.field(field).is_some_and(|(_, integers)| *integers)
    }

    fn field(&self, name: &str) -> Option<&(Vec<f64>, bool)> {
        self.names.iter().position(|known| *known == name).and_then(|at| self.fields.get(at))
    }

    /// Numbers of customers with the depot's 0 in front, none negative; `name` is for errors.
    ///
    /// # Errors
    /// As [`Self::points`].
    pub fn amounts(&self, field: &str, name: &str) -> Result<Vec<f32>, String> {
        let values = self.values(field);
        self.check_count(name, values.len())?;
        let mut all = vec![0.0];
        for (at, value) in values.iter().enumerate() {
            let checked = amount(*value);
            all.push(checked.ok_or_else(|| {
                format!("{name} {value} of customer {}, expected a finite number of at least 0", at + 1)
            })?);
        }
        Ok(all)
    }

    /// Checks that there are `found` customers, at least one.
    ///
    /// # Errors
    /// As [`Self::points`].
    pub fn check_count(&self, name: &str, found: usize) -> Result<(), String> {
        let customers = self.points.len().saturating_sub(usize::from(self.depot));
        if customers == 0 {
            return Err("has no customers".to_owned());
        }
        if found == customers {
            return Ok(());
        }
        Err(format!("{found} values of {name} for {customers} customers"))
    }
}

/// A number in single precision that is finite there and not negative.
pub(crate) fn amount(value: f64) -> Option<f32> {
    let single = value as f32;
    (single.is_finite() && single >= 0.0).then_some(single)
}

/// A set of instances that was read from a file: of one problem, or of several that share their files.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceSet {
    raw: RawSet,
    problems: Vec<&'static str>,
}

impl InstanceSet {
    /// Number of instances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.instances.len()
    }

    /// If true, there are no instances; never so for a set that was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.instances.is_empty()
    }

    /// Names of the problems whose instances the file may hold, the first one where nothing else decides.
    #[must_use]
    pub fn problems(&self) -> &[&'static str] {
        &self.problems
    }

    /// The instances as those of problem `P`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the file holds no instances of `P`.
    pub fn instances<P: Problem>(&self) -> Result<Vec<P>> {
        let refused = |reason: String| Error::invalid(format!("set of `{}`", self.problems.join("`, `")), reason);
        if !self.problems.contains(&P::NAME) {
            return Err(refused(format!("holds no instances of `{}`", P::NAME)));
        }
        P::of_set(&self.raw).map_err(|fault| fault.in_file(Path::new(P::NAME)))
    }

    /// The set of arrays in memory, by the names of an archive.
    ///
    /// # Errors
    /// The array or the instance, what was found and what was expected.
    pub fn of_arrays(arrays: &BTreeMap<String, Array>) -> Result<Self, Fault> {
        Self::claimed(vec![arrays::read(arrays)?])
    }

    /// The first of the possible sets that a problem claims, with all problems that share its fields.
    fn claimed(sets: Vec<RawSet>) -> Result<Self, Fault> {
        let several = sets.len() > 1;
        for raw in sets {
            let fields = raw.fields;
            let problems: Vec<&'static str> =
                PROBLEMS.iter().filter(|spec| spec.set_fields == Some(fields)).map(|spec| spec.name).collect();
            let Some(&first) = problems.first() else { continue };
            match with_problem(first, Claim { raw: &raw, several }) {
                Some(Some(Ok(()))) => return Ok(Self { raw, problems }),
                Some(Some(Err(fault))) => return Err(fault),
                _ => {}
            }
        }
        Err(Fault::whole("holds instances of no problem that is known"))
    }
}

/// Checks a set by building its instances; `None` where the problem does not claim it.
struct Claim<'a> {
    raw: &'a RawSet,
    /// If true, other problems may claim the set too.
    several: bool,
}

impl ProblemVisitor for Claim<'_> {
    type Output = Option<Result<(), Fault>>;

    fn run<I: SolverInstance>(self) -> Self::Output {
        let claimed = !self.several || I::Problem::claims_set(self.raw);
        claimed.then(|| I::Problem::of_set(self.raw).map(drop))
    }
}

/// Reads a set from a pickle or an archive of arrays; the content decides.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] as of [`parse`].
pub fn read(path: impl AsRef<Path>) -> Result<InstanceSet> {
    let path = path.as_ref();
    let bytes = regard_data::file::read_bytes(path)?;
    parse(&bytes, path)
}

/// Reads a set from the bytes of a pickle (protocols 0 to 5) or of an archive of arrays; `path` names it in errors.
///
/// Only lists, tuples and numbers are built from a pickle: one that names or calls anything of Python's is refused.
/// Memory is bounded by a multiple of the file's size; an archive that unpacks to more than 64 times its size and a
/// mebibyte is refused before it is unpacked.
///
/// # Errors
/// [`Error::Parse`] naming the byte, the array or the instance, e.g.
/// ``vrp.pkl: field `instance 3`: demand 41 of customer 7 is above the capacity, 40``.
///
/// ```
/// use regard_routing::formats::sets;
/// use regard_routing::problems::tsp::TspEnv;
///
/// let pickle = b"((lp0\n(F0.25\nF0.5\ntp1\na(F0.75\nF0.5\ntp2\natp3\n."; // ([(.25, .5), (.75, .5)],)
/// let set = sets::parse(pickle, "two.pkl".as_ref())?;
/// assert_eq!(set.instances::<TspEnv>()?, [TspEnv::new(vec![[0.25, 0.5], [0.75, 0.5]])]);
/// # Ok::<(), regard_routing::Error>(())
/// ```
pub fn parse(bytes: &[u8], path: &Path) -> Result<InstanceSet> {
    let read = || {
        if npz::looks_like(bytes) {
            return InstanceSet::of_arrays(&npz::arrays(bytes)?);
        }
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npz")) {
            let reason = "is not an archive of numpy arrays (.npz, a zip file): damaged, or of another kind";
            return Err(Fault::whole(reason).hint("`numpy.savez` writes such a file"));
        }
        InstanceSet::claimed(pickled::parse(bytes)?)
    };
    read().map_err(|fault: Fault| fault.in_file(path))
}
