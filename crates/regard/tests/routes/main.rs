//! Routing problems and their networks: laws, training and solving.

mod attention_model;
mod batch_environment;
mod policy_loss;
mod problems;
mod resampling;
mod solving;
mod training;
