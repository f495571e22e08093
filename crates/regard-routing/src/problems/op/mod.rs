//! Orienteering (OP): the highest prize on a tour of bounded length (Kool et al. 2019, appendix C.3).

#[cfg(test)]
mod file_tests;
mod files;
pub mod generate;
mod instance;
mod policy;

pub(crate) use self::files::PRIZE;
pub use self::instance::Op;
pub use self::policy::{OpEnv, OpState};
