//! Sets of random instances as the Attention Model's programs write them.
//!
//! The paper's own programs (W. Kool, `attention-learn-to-route`) pickle lists: a travelling
//! salesman instance is a list of points, the others are tuples, `(depot, locs, demand, capacity)`,
//! `(depot, locs, prize, max_length)` or `(depot, locs, penalty, deterministic_prize,
//! stochastic_prize)`. Its successors write the same as arrays, see [`super::npz`].

pub(super) mod instance;
mod shape;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::error::{Fault, shown};
use crate::pickle::{self, Construct, Heap, Rules, Value};
use crate::routes::drawn::{DrawnCvrp, DrawnOrienteering, DrawnPrizeCollecting};
use crate::{Error, Result};

/// Instances of one problem, read from a file.
#[derive(Debug, Clone, PartialEq)]
pub enum KoolSet {
    /// Travelling salesman, `[instances, nodes, 2]`.
    Tsp(Vec<Vec<[f32; 2]>>),
    /// Vehicle routing, with undivided or split deliveries: the file is the same.
    Cvrp(Vec<DrawnCvrp>),
    /// Orienteering.
    Orienteering(Vec<DrawnOrienteering>),
    /// Prize collecting, deterministic or stochastic: the file is the same.
    PrizeCollecting(Vec<DrawnPrizeCollecting>),
}

impl KoolSet {
    /// Number of instances.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Tsp(set) => set.len(),
            Self::Cvrp(set) => set.len(),
            Self::Orienteering(set) => set.len(),
            Self::PrizeCollecting(set) => set.len(),
        }
    }

    /// Whether there are no instances; never true of a set that was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of the problem the file is about: "tsp", "cvrp", "op" or "pctsp".
    #[must_use]
    pub fn problem(&self) -> &'static str {
        match self {
            Self::Tsp(_) => "tsp",
            Self::Cvrp(_) => "cvrp",
            Self::Orienteering(_) => "op",
            Self::PrizeCollecting(_) => "pctsp",
        }
    }
}

/// Reads a set from a pickle, or from an archive of arrays ([`super::npz`]); the content decides.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] as of [`parse`].
pub fn read(path: impl AsRef<Path>) -> Result<KoolSet> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    if super::npz::looks_like(&bytes) { super::npz::parse(&bytes, path) } else { parse(&bytes, path) }
}

/// Reads a set from the bytes of a pickle, protocols 0 to 5; `path` names it in errors.
///
/// Only lists, tuples and numbers are built: a pickle that names or calls anything of Python's is
/// refused. Memory is bounded by a multiple of the file's size. Instances of
/// four parts are vehicle routing when a number of the third part is above 1, or when these numbers
/// are Python integers and the fourth part is whole; else they are orienteering.
///
/// # Errors
/// [`Error::Parse`] naming the byte or the instance, e.g.
/// ``vrp.pkl: field `instance 3`: demand 41 of customer 7 is above the capacity, 40``.
///
/// ```
/// use regard_data::routes::formats::kool::{self, KoolSet};
///
/// let pickle = b"((lp0\n(F0.25\nF0.5\ntp1\na(F0.75\nF0.5\ntp2\natp3\n."; // ([(.25, .5), (.75, .5)],)
/// let set = kool::parse(pickle, "two.pkl".as_ref())?;
/// assert_eq!(set, KoolSet::Tsp(vec![vec![[0.25, 0.5], [0.75, 0.5]]]));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(bytes: &[u8], path: &Path) -> Result<KoolSet> {
    let read = || {
        let (mut heap, mut at) = (Heap::default(), 0);
        let root = pickle::load(bytes, &mut at, &mut heap, &mut Instances)?;
        match bytes.len() - at {
            0 => shape::recognise(root, &heap, bytes.len()),
            left => Err(Fault::at_byte(at, format!("{left} bytes follow the end of the pickle"))),
        }
    };
    read().map_err(|fault: Fault| fault.in_file(path))
}

/// The rules of sets of instances: lists, tuples and numbers, and no name of Python.
struct Instances;

/// The objects of a set of instances, of which there are none.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NoObject {}

impl<'a> Rules<'a> for Instances {
    type Object = NoObject;

    // What a pickle builds is bounded by its size.
    const MOST_VALUES: usize = usize::MAX;
    const INTEGER_BYTES: usize = 8;
    const ALLOWED: &'static [Construct] = &[];

    fn refused(&self, construct: Construct) -> Fault {
        let holds = |what: &str| format!("holds {what}, expected lists, tuples and numbers");
        Fault::whole(match construct {
            Construct::None => holds("None"),
            Construct::Bool => holds("True or False"),
            Construct::Dict => holds("a dict"),
            Construct::Set => holds("a set"),
            Construct::Bytes | Construct::Buffer => holds("bytes"),
            _ => format!("the opcode {} would call a function of Python, which is refused", construct.opcode()),
        })
    }

    fn global(&mut self, _: &str, _: &str) -> Option<NoObject> {
        None
    }

    fn refused_name(&self, module: &str, name: &str) -> Fault {
        let numpy = module == "numpy" || module.starts_with("numpy.");
        let (module, name) = (shown(module), shown(name));
        let fault = Fault::whole(format!("would call the function `{module}.{name}` of Python, which is refused"));
        fault.hint(if numpy {
            "write plain lists and numbers: `.tolist()` of an array, or an `.npz` file"
        } else {
            "a set of instances needs lists, tuples and numbers only; do not open this file in Python"
        })
    }

    fn call(
        &mut self,
        _: &mut Heap<'a, NoObject>,
        _: Value<NoObject>,
        _: Value<NoObject>,
    ) -> Result<Value<NoObject>, Fault> {
        Err(self.refused(Construct::Reduce))
    }

    fn persistent(&mut self, _: &mut Heap<'a, NoObject>, _: Value<NoObject>) -> Result<Value<NoObject>, Fault> {
        Err(self.refused(Construct::PersistentValue))
    }
}
