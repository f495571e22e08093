//! Traces, traces of learning, and attributions, each recomputed.

mod attribution;
mod learning;
mod traces;
