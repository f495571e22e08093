//! The list of routing problems: one line each. Programs that bring a problem of their own [`register`] it.

use std::sync::RwLock;

use crate::formats::sets::SetField;
use crate::instance::{FileSpec, SolverInstance};
use crate::paper::PaperSetName;
use crate::problem::Problem;
use crate::{Error, Result};

/// The facts of a problem that networks, formats and programs ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProblemSpec {
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
    /// [`Problem::MAXIMISES`].
    pub maximises: bool,
    /// [`Problem::HAS_LOCAL_SEARCH`].
    pub local_search: bool,
    /// [`Problem::PAPER_SETS`].
    pub paper_sets: &'static [PaperSetName],
    /// [`Problem::SET_FIELDS`].
    pub set_fields: Option<&'static [SetField]>,
    /// [`SolverInstance::FILES`]; `None` for a problem that no file of one instance holds.
    pub files: Option<&'static FileSpec>,
}

impl ProblemSpec {
    /// The specification of a problem that has no files.
    pub const fn of<P: Problem>() -> Self {
        Self {
            name: P::NAME,
            features: P::FEATURES,
            depot: P::DEPOT,
            every_node_once: P::EVERY_NODE_ONCE,
            scalars: P::SCALARS,
            dynamic: P::DYNAMIC,
            maximises: P::MAXIMISES,
            local_search: P::HAS_LOCAL_SEARCH,
            paper_sets: P::PAPER_SETS,
            set_fields: P::SET_FIELDS,
            files: None,
        }
    }

    /// The specification of the problem whose instances are `I`.
    pub const fn of_instance<I: SolverInstance>() -> Self {
        Self { files: Some(I::FILES), ..Self::of::<I::Problem>() }
    }

    /// Embeddings of a context: first and last node, or the last one alone.
    pub const fn context_nodes(&self) -> usize {
        if self.every_node_once { 2 } else { 1 }
    }
}

/// A task that is generic over the problem; see [`with_problem`].
pub trait ProblemVisitor {
    /// The result of the task.
    type Output;

    /// Runs the task for the problem whose instances are `I`.
    fn run<I: SolverInstance>(self) -> Self::Output;
}

macro_rules! problems {
    ($($instance:ty),+ $(,)?) => {
        /// The problems of this crate, the default one first.
        pub const PROBLEMS: &[ProblemSpec] = &[$(ProblemSpec::of_instance::<$instance>()),+];

        /// Names of the problems of this crate.
        pub const NAMES: [&str; PROBLEMS.len()] = [$(<<$instance as SolverInstance>::Problem as Problem>::NAME),+];

        /// Runs `task` for the problem of that name; `None` when there is none.
        pub fn with_problem<T: ProblemVisitor>(name: &str, task: T) -> Option<T::Output> {
            $(if name == <<$instance as SolverInstance>::Problem as Problem>::NAME {
                return Some(task.run::<$instance>());
            })+
            None
        }
    };
}

problems![
    crate::problems::tsp::Tsp,
    crate::problems::cvrp::Cvrp,
    crate::problems::sdvrp::Sdvrp,
    crate::problems::op::Op,
    crate::problems::pctsp::Pctsp,
    crate::problems::spctsp::Spctsp,
    crate::problems::cvrptw::Cvrptw,
    crate::problems::pdp::Pdp,
];

/// Name of the problem where none is named.
pub const DEFAULT: &str = PROBLEMS[0].name;

/// Specifications of problems of other crates.
static REGISTERED: RwLock<Vec<&'static ProblemSpec>> = RwLock::new(Vec::new());

/// Makes a problem of another crate known by its name, so that networks can be built, trained and loaded for it.
/// [`with_problem`] and with it the program `regard` know only [`PROBLEMS`].
///
/// A name that is known already keeps its meaning.
pub fn register<P: Problem>() {
    if spec(P::NAME).is_none() {
        let spec: &'static ProblemSpec = Box::leak(Box::new(ProblemSpec::of::<P>()));
        REGISTERED.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(spec);
    }
}

/// Makes a problem known whose facts a program finds at run time. It takes the place of another one that was registered
/// under its name; networks that were made for that one keep their specification.
///
/// # Errors
/// [`Error::Invalid`] for the name of a problem of this crate.
pub fn register_spec(found: &ProblemSpec) -> Result<&'static ProblemSpec> {
    if PROBLEMS.iter().any(|known| known.name == found.name) {
        let reason = "is a problem of this crate; choose another name";
        return Err(Error::invalid(format!("problem `{}`", found.name), reason));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(same) = registered.iter().copied().find(|known| *known == found) {
        return Ok(same);
    }
    registered.retain(|known| known.name != found.name);
    let spec: &'static ProblemSpec = Box::leak(Box::new(*found));
    registered.push(spec);
    Ok(spec)
}

/// The specification of the problem of that name.
pub fn spec(name: &str) -> Option<&'static ProblemSpec> {
    let registered = || REGISTERED.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = PROBLEMS.iter().find(|spec| spec.name == name);
    known.or_else(|| registered().iter().copied().find(|spec| spec.name == name))
}

/// The problems of this crate that have files, with what their files hold.
pub(crate) fn with_files() -> impl Iterator<Item = (&'static ProblemSpec, &'static FileSpec)> {
    PROBLEMS.iter().filter_map(|spec| Some((spec, spec.files?)))
}
