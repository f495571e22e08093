//! Attention models on structured data: train, evaluate, run and explain them.
//!
//! - [`routes`]: neural construction of tours, improvement by local search, evaluation;
//! - [`sets`]: networks on sets of any size: bags of rows, clouds of points;
//! - [`graphs`]: networks on graphs: molecules, networks of any kind;
//! - [`series`]: networks on time series: forecasts, missing values, anomalies, classes;
//! - [`supervised`]: training, models and cross-validation of sets, graphs and series alike;
//! - [`store`]: models on disk and importers;
//! - [`explain`]: what a model computes, number by number.
//!
//! Below are [`data`] (instances, formats, exact costs; no tensors) and [`nn`] (attention blocks as
//! Burn modules), both re-exported.

mod error;
pub mod experiment;
pub mod explain;
pub mod graphs;
pub mod routes;
pub mod series;
pub mod sets;
pub mod store;
pub mod supervised;
pub mod train;

pub use burn::tensor::Device;
pub use error::{Error, Result};
pub use regard_data as data;
pub use regard_nn as nn;
