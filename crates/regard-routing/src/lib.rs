//! Routing problems without tensors: instances, rules, exact costs, independent checkers, files, generators and
//! local search.
//!
//! Everything about one problem stands in one folder of [`problems`], and one line of the [`registry`] makes it
//! known. All other modules know no problem by name: they ask the traits [`Problem`] (what a policy sees: features,
//! a state with its mask, a cost) and [`SolverInstance`] (what a file gives: nodes in a metric of their own, a
//! checker, hooks for files and for local search).
//!
//! Distances and costs are `f64` throughout.
//!
//! ```
//! use regard_routing::Sites;
//! use regard_routing::problems::tsp::Tsp;
//!
//! # fn main() -> regard_routing::Result<()> {
//! let square = Tsp::from(Sites::euclidean("square", vec![[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0]])?);
//! let tour = [0, 1, 2, 3];
//! square.check(&tour)?;
//! assert_eq!(square.cost(&tour), 14.0);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod check;
mod depot;
pub mod formats;
pub mod generate;
pub mod instance;
mod itinerary;
pub mod local_search;
pub mod paper;
pub mod problem;
pub mod problems;
pub mod registry;
pub mod sites;

pub use self::depot::{routes_of, visits_of};
pub use self::instance::{Instance, SolverInstance};
pub use self::itinerary::{Itinerary, Route, Stop, Times};
pub use self::local_search::LocalSearchOptions;
pub use self::problem::{Problem, State, VisitOnce};
pub use self::registry::{ProblemSpec, ProblemVisitor};
pub use self::sites::Sites;
pub use self::sites::matrix::DistanceMatrix;
pub use self::sites::metric::{self, Metric};
pub use regard_data::{Error, Result};

pub(crate) use regard_data::{file, npz, pickle, random, shown, stats, table};
