//! Vehicle routing with time windows (CVRPTW): capacitated vehicle routing in which service at every customer begins
//! within a window, and vehicles are back before the depot closes.

#[cfg(test)]
mod file_tests;
mod files;
pub mod generate;
mod instance;
mod policy;
mod search;
mod sets;
mod solomon;
#[cfg(test)]
mod tests;

pub use self::instance::{Cvrptw, TimeWindows};
pub use self::policy::{CvrptwEnv, CvrptwState};
