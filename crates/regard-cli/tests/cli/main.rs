//! The program as a user meets it: whole commands, both streams and the exit code.

mod attribution;
mod book;
mod data;
mod errors;
mod eval;
mod explain;
mod files;
mod golden;
mod graphs;
mod help;
mod hostile;
mod journeys;
mod model;
mod problems;
mod program;
mod ranks;
mod series;
#[cfg(feature = "serve")]
mod serve;
mod sets;
mod shards;
mod solve;
mod streams;
mod train;
