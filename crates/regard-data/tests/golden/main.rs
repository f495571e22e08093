//! Readers and generators against the original projects, by their recorded values.

mod graphs;
mod mixture;
mod numpy;
