//! Learning to route by REINFORCE (Kool, van Hoof & Welling 2019, §4; Kwon et al. 2020, §4).
//!
//! Tours are sampled without recording anything, by the fast rollout; then their log-probabilities
//! and the gradient come from one pass over all steps. What the tours are compared with is the
//! business of a [`baseline`].

pub mod baseline;
mod explain;
mod improved;
mod learner;
mod preference;
mod run;
mod sampling;
mod source;
mod validation;

pub use explain::explain_step;
pub use learner::{Learner, Measured, PolicyLearner};
pub use preference::preference;
pub use run::{Training, train, train_in};
pub use source::{InstanceSource, Source};

pub use crate::train::Trained;
