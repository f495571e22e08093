//! Pickles of Python, read without Python and without running anything.
//!
//! A pickle is a small program that may call any function. [`load`] is a machine for its opcodes (protocols 0 to 5, as in
//! `pickletools.py`) that makes numbers, text, lists, tuples and dicts, and refuses everything else. A reader says with
//! [`Rules`] which of these its files need and which names of Python stand for objects of its own: the sets of
//! the Attention Model's programs need lists, tuples and numbers; files of `torch.save` also tensors.
//!
//! Each opcode takes a bounded amount of memory: what it reads is in the file, and lists, tuples and dicts are held by
//! number, so that a list can hold itself without harm and nothing is dropped recursively.

mod cursor;
mod machine;
mod value;

pub use self::machine::{Construct, Rules, load};
pub use self::value::{Heap, Value};
pub use crate::error::Fault;
