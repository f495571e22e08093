//! Properties of the blocks.

mod attention;
mod sets;
