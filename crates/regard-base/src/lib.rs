//! Base learners: strong and cheap predictions without a network, measured beside every network and blended with it.

pub mod features;
pub mod series;
pub mod tabular;
