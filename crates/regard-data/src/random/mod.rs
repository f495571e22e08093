//! Random numbers whose values are fixed for good.

pub mod draws;
pub mod numpy;
