//! Random numbers whose values are fixed for good.

pub(crate) mod draws;
pub mod numpy;
