//! Networks on sets.

mod network;
mod rankings;
mod refinements;
