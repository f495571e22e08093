//! Models on disk: the folder of a model and the file formats of weights. No family of models is known here.
//!
//! A model is a folder with `config.json` (everything needed to rebuild the network),
//! `model.safetensors` (weights under the names of the original project), `manifest.json` (how it
//! was made) and `README.md` (the card, generated). Loading needs only the first two.
//!
//! Nothing here knows a tensor library: weights are plain [`Array`]s.

pub mod array;
pub mod built_in;
mod card;
pub(crate) mod file;
pub mod layout;
pub mod legacy_torch;
pub mod manifest;
pub mod model_dir;

pub mod network;
pub(crate) mod ranges;
pub(crate) mod renamed;
pub mod safetensors;

pub use array::{Array, Weights};
pub use manifest::{EarlierTraining, Manifest, Provenance};
pub(crate) use model_dir::Companion;
pub use model_dir::{NetworkDir, kind_of};
pub use network::{FORMAT, NetworkConfig};
