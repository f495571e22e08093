//! Data for attention on structured data: tables and other files, generators, metrics and statistics.
//!
//! Data come in three families: [`sets`] of vectors, [`graphs`] and time [`series`]. Routing problems have a crate of
//! their own, `regard-routing`, which reads its files by the tables, pickles and arrays of this one.
//!
//! Nothing here knows a tensor, so the crate builds quickly and serves programs that have no network in them.

#![forbid(unsafe_code)]

pub mod cancel;
mod error;
pub mod file;
pub mod graphs;
pub mod labels;
pub mod least_squares;
pub mod metrics;
pub mod names;
pub mod npz;
pub mod pickle;
pub mod predictions;
pub mod progress;
pub mod random;
pub mod ranges;
pub mod series;
pub mod sets;
pub mod split;
pub mod stats;
pub mod table;

pub use error::{Error, Fault, Result, shown};
