//! Sets of vectors: bags of rows, read from files or generated, and their preparation for training.
//!
//! [`Bags`] hold the rows; [`formats`] reads and writes them; [`Standardiser`] and [`crate::split`] prepare
//! training; [`generate`] draws the sets of the published experiments; [`mixture`] is the mathematics
//! of Gaussian mixtures; [`baseline`] predicts without a network. Predictions are measured by
//! [`crate::metrics`].
//!
//! ```
//! use regard_data::sets::Standardiser;
//! use regard_data::sets::formats::{ReadOptions, csv};
//! use regard_data::split;
//!
//! let text = "1,a,5\n0,b,3\n1,a,7\n0,c,1\n1,d,6\n";
//! let mut bags = csv::parse(text, "mil.csv".as_ref(), &ReadOptions::default())?;
//! let classes = bags.labels().map(|labels| labels.classes()).expect("label is the first column");
//! let folds = split::stratified_folds(&classes.of, 2, 7)?;
//! let training = split::others(bags.len(), &folds[0]);
//! Standardiser::learn(&bags, &training)?.apply(&mut bags)?;
//! # Ok::<(), regard_data::Error>(())
//! ```

mod bags;
pub mod baseline;
pub mod formats;
pub mod generate;
pub mod mixture;
mod standardise;

pub use self::bags::Bags;
pub use self::standardise::Standardiser;
pub use crate::labels::{Classes, Labels};
pub use crate::names::FeatureNames;
