//! Blocks of transformers for time series (PatchTST, Nie et al. 2023).

mod decomposition;
mod instance_norm;
mod patch_layer;
mod patching;
mod positions;

pub use decomposition::decompose;
pub use instance_norm::{InstanceNorm, InstanceNormConfig, WindowStatistics};
pub use patch_layer::{NormPlace, PatchDropout, PatchLayer, PatchLayerConfig};
pub use patching::Patching;
pub use positions::{sine_positions, standardised_sine_positions};
