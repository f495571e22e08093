//! Attention models on structured data: train, evaluate, run and explain them.
//!
//! - [`routes`]: networks that construct tours, their training and evaluation, and solving with local search;
//! - [`sets`]: networks on sets of any size: bags of rows, clouds of points;
//! - [`graphs`]: networks on graphs: molecules, networks of any kind;
//! - [`series`]: networks on time series: forecasts, missing values, anomalies, classes;
//! - [`supervised`]: training, models and cross-validation of sets, graphs and series alike;
//! - [`store`]: models on disk; [`import`]: checkpoints of other projects;
//! - [`explain`]: what a model computes, number by number.
//!
//! Below are [`routing`] (routing problems, their files, generators and local search; no tensors), [`data`] (tables of
//! the other families; no tensors) and [`nn`] (attention blocks as Burn modules), all re-exported.

mod error;
pub mod experiment;
pub mod explain;
pub mod graphs;
pub mod import;
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
pub use regard_routing as routing;
