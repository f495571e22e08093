//! Pickup and delivery (PDP): one vehicle brings loads from where they are picked up to where they are delivered, each
//! pickup before its delivery (J. Li et al., "Heterogeneous attentions for solving pickup and delivery problem via deep
//! reinforcement learning", 2021; RL4CO's `pdp`).

mod files;
mod instance;
mod policy;
#[cfg(test)]
mod tests;

pub use self::instance::Pdp;
pub use self::policy::{PdpEnv, PdpState};
