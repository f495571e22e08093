//! Forecasts without a network.
