//! Operations with kernels and composed: values and every gradient.

mod agreement;
mod attention;
mod edges;
mod layers;
mod policy_loss;
mod sequences;
