//! CPU kernels of `regard`, on plain slices: matrix products, attention, pointer, norms,
//! feed-forward networks, the two sub-layers of an encoder layer, set attention blocks, attention
//! along graph edges and over many short sequences (forward and backward), and the rollout of
//! routing policies.
//!
//! The crate does not depend on a tensor library. Every kernel is generic over the SIMD width through
//! [`pulp`]; the widest instruction set of the machine is chosen once at run time ([`simd`]).
//! All numbers are `f32`, all arrays row-major, heads stay inside the width
//! (`[batch, length, heads · head_width]`), so a caller never transposes anything.
//!
//! The order of every sum depends on the shapes alone, never on the number of threads: the same
//! input gives the same bits with one thread and with sixteen.

pub mod attention;
pub mod buffer;
pub mod dropout;
mod gemm;
pub mod graph;
pub mod norm;
pub mod pointer;
pub mod precision;
pub mod rollout;
pub mod sequence;
pub mod set;
pub mod simd;
pub mod sublayer;
pub mod tour;
mod transpose;
mod vector;
