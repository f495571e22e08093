//! Files of models and checkpoints: what is read, and what is refused with which words.

mod checkpoint;
mod import_kool;
mod legacy_torch;
mod model_config;
mod model_dir;
