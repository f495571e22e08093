//! Prize collecting (PCTSP): the shortest tour that collects a required prize, with a penalty for every node left out
//! (Kool et al. 2019, appendix C.4).

mod files;
pub mod generate;
mod instance;
mod policy;

pub(crate) use self::files::{COLUMNS, csv_fields, prepared, read_csv};
pub use self::instance::Pctsp;
pub(crate) use self::instance::collected;
pub use self::policy::{PctspEnv, PctspState};
pub(crate) use self::policy::{Scale, doubles, values_of};
