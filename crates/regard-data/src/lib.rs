//! Data for attention on structured data: problem instances, file formats, exact costs,
//! independent checkers, generators and statistics.
//!
//! Instances and data come in four families: [`routes`], [`sets`] of vectors, [`graphs`] and time
//! [`series`].
//!
//! Nothing here knows a tensor, so the crate builds quickly and serves programs that have no
//! network in them. Distances and costs are `f64` throughout.
//!
//! ```
//! use regard_data::routes::tsp::Tsp;
//!
//! # fn main() -> regard_data::Result<()> {
//! let square = Tsp::euclidean("square", vec![[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0]])?;
//! let tour = [0, 1, 2, 3];
//! square.check(&tour)?;
//! assert_eq!(square.cost(&tour), 14.0);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod error;

pub mod file;
pub mod graphs;
pub mod labels;
pub mod least_squares;
pub mod metrics;
pub mod names;
mod npz;
pub mod pickle;
pub mod predictions;
pub mod random;
pub mod routes;
pub mod series;
pub mod sets;
pub mod split;
pub mod stats;
pub mod table;

pub use error::{Error, Result};
