//! Capacitated vehicle routing (CVRP): every customer once, by vehicles that return to the depot before they run out;
//! with limits on the length of routes (DCVRP) as a variant.

#[cfg(test)]
mod file_tests;
mod files;
pub mod generate;
mod instance;
mod policy;
pub(crate) mod search;
mod sets;
#[cfg(test)]
mod tests;

pub(crate) use self::files::{
    COLUMNS, OPTIONS, TSPLIB, check_demands, csv_fields, read_csv, read_tsplib, tsplib_fields,
};
pub use self::instance::Cvrp;
pub(crate) use self::policy::Demands;
pub use self::policy::{CvrpEnv, CvrpState};
pub(crate) use self::sets::{claims, read};
