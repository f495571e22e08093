//! The routing problems there are: one line each. Programs that bring a problem of their own
//! [`announce`] it.

use std::sync::RwLock;

use super::problem::Problem;

/// What a network has to know of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// [`Problem::NAME`].
    pub name: &'static str,
    /// [`Problem::FEATURES`].
    pub features: usize,
    /// [`Problem::DEPOT`].
    pub depot: bool,
    /// [`Problem::EVERY_NODE_ONCE`].
    pub every_node_once: bool,
    /// [`Problem::SCALARS`].
    pub scalars: usize,
    /// [`Problem::DYNAMIC`].
    pub dynamic: bool,
}

impl Outline {
    /// The outline of a problem.
    pub const fn of<P: Problem>() -> Self {
        Self {
            name: P::NAME,
            features: P::FEATURES,
            depot: P::DEPOT,
            every_node_once: P::EVERY_NODE_ONCE,
            scalars: P::SCALARS,
            dynamic: P::DYNAMIC,
        }
    }

    /// Embeddings of a context: first and last node, or the last one alone.
    pub const fn context_nodes(&self) -> usize {
        if self.every_node_once { 2 } else { 1 }
    }
}

/// Something that is done with a problem, whichever it is; see [`with_problem`].
pub trait ForProblem {
    /// What comes of it.
    type Output;

    /// Does it with problem `P`.
    fn run<P: Problem>(self) -> Self::Output;
}

macro_rules! problems {
    ($($problem:ty),+ $(,)?) => {
        /// The problems there are.
        pub const PROBLEMS: &[Outline] = &[$(Outline::of::<$problem>()),+];

        /// Names of the problems there are.
        pub const NAMES: [&str; PROBLEMS.len()] = [$(<$problem>::NAME),+];

        /// Does `task` with the problem of that name; `None` when there is none.
        pub fn with_problem<T: ForProblem>(name: &str, task: T) -> Option<T::Output> {
            $(if name == <$problem>::NAME {
                return Some(task.run::<$problem>());
            })+
            None
        }
    };
}

problems![
    super::tsp::TravellingSalesman,
    super::cvrp::VehicleRouting,
    super::sdvrp::SplitDelivery,
    super::op::Orienteering,
    super::pctsp::PrizeCollecting,
    super::pctsp::StochasticPrizeCollecting,
];

/// Outlines of problems of other crates.
static ANNOUNCED: RwLock<Vec<&'static Outline>> = RwLock::new(Vec::new());

/// Makes a problem of another crate known by its name, so that networks can be built, trained and
/// loaded for it. [`with_problem`] and with it the program `regard` know only [`PROBLEMS`].
///
/// A name that is known already keeps its meaning.
pub fn announce<P: Problem>() {
    if outline(P::NAME).is_none() {
        let outline: &'static Outline = Box::leak(Box::new(Outline::of::<P>()));
        ANNOUNCED.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(outline);
    }
}

/// The outline of the problem of that name.
pub fn outline(name: &str) -> Option<&'static Outline> {
    let announced = || ANNOUNCED.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = PROBLEMS.iter().find(|outline| outline.name == name);
    known.or_else(|| announced().iter().copied().find(|outline| outline.name == name))
}
